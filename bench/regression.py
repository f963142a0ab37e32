"""Least squares and ridge against scikit-learn, its Intel extension, and the bare product."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.linear_model import LinearRegression, SGDRegressor
from sklearn.linear_model import Ridge as PeerRidge

import cotas
from bench.side_by_side import conditions, interleaved

SHAPES = ((1_000_000, 20), (300_000, 100), (100_000, 500))
LAM = 1e-3
FEW_EPOCHS, EPOCHS = 5, 20


def problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy linear function of standard normal columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n) + 3.0


def extension() -> Any:
    """The linear models of scikit-learn-intelex, if it is installed."""
    try:
        from sklearnex import linear_model
    except ImportError:
        return None
    return linear_model


def closed_forms(n: int, ridge: bool) -> dict[str, Any]:
    """The contestants: the same problem, each with its own default solver."""
    alpha = LAM * n
    models = {
        "cotas": cotas.Ridge(lam=LAM) if ridge else cotas.LeastSquares(),
        "scikit-learn": PeerRidge(alpha=alpha) if ridge else LinearRegression(),
    }
    if (other := extension()) is not None:
        models["sklearnex"] = other.Ridge(alpha=alpha) if ridge else other.LinearRegression()
    return models


def check_same_model(models: dict[str, Any], X: np.ndarray, y: np.ndarray) -> None:
    """The comparison is void unless all find the same vector."""
    thetas = {name: np.ravel(model.fit(X, y).coef_) for name, model in models.items()}
    for name, theta in thetas.items():
        difference = np.linalg.norm(theta - thetas["cotas"]) / np.linalg.norm(theta)
        if difference > 1e-8:
            print(f"(the vectors of {name} and cotas differ by {difference:.1e})")


def closed_form_row(n: int, d: int, ridge: bool, repeats: int) -> None:
    X, y = problem(n, d)
    models = closed_forms(n, ridge)
    check_same_model(models, X, y)
    contestants: dict[str, Callable[[], object]] = {
        "floor": lambda: dsyrk(1.0, X.T),
        **{name: lambda m=model: m.fit(X, y) for name, model in models.items()},
    }
    times = interleaved(contestants, repeats)
    mine = times["cotas"]
    shown = [f"{times[k]:.3f}" if k in times else "" for k in ("scikit-learn", "sklearnex")]
    ratios = [f"{times[k] / mine:.2f}" if k in times else "" for k in ("scikit-learn", "sklearnex")]
    cells = ["ridge" if ridge else "least squares", f"{n:,} × {d}", *shown, f"{mine:.3f}", *ratios]
    print(f"| {' | '.join(cells)} | {times['floor'] / mine:.2f} |", flush=True)


def stochastic_row(n: int, d: int, repeats: int) -> None:
    """Epochs in order with the same constant step: both do the same updates."""
    X, y = problem(n, d)
    step = 0.1 / d

    def ours(epochs: int) -> cotas.Ridge:
        rule = cotas.stops.MaxIterations(epochs)
        return cotas.Ridge(lam=LAM, solver="stochastic", step=step, shuffle=False, stop=rule)

    def theirs(epochs: int) -> SGDRegressor:
        options = {"learning_rate": "constant", "shuffle": False, "tol": None}
        return SGDRegressor(alpha=LAM, eta0=step, max_iter=epochs, **options)

    check_same_model({"cotas": ours(FEW_EPOCHS), "scikit-learn": theirs(FEW_EPOCHS)}, X, y)
    times = interleaved(
        {
            f"{make.__name__} {epochs}": partial(make(epochs).fit, X, y)
            for make in (ours, theirs)
            for epochs in (FEW_EPOCHS, EPOCHS)
        },
        repeats,
    )
    whole = [times[f"{name} {EPOCHS}"] for name in ("theirs", "ours")]
    more = EPOCHS - FEW_EPOCHS
    each = [
        (fit - times[f"{name} {FEW_EPOCHS}"]) / more
        for fit, name in zip(whole, ("theirs", "ours"), strict=True)
    ]
    cells = [f"{n:,} × {d}", *(f"{t:.3f}" for t in whole), f"{whole[0] / whole[1]:.2f}"]
    cells += [*(f"{1000 * t:.1f}" for t in each), f"{each[0] / each[1]:.2f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def main(repeats: int = 3) -> None:
    print(
        f"{conditions('scikit-learn-intelex')}; medians of {repeats} interleaved runs, in seconds, "
        "every library with the threads it takes by default. The fits of cotas include the "
        "certificate. Floor: one bare BLAS dsyrk of XᵀX.\n"
    )
    print(
        "| problem | data | scikit-learn | sklearnex | cotas | scikit-learn ÷ cotas "
        "| sklearnex ÷ cotas | floor ÷ cotas |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for n, d in SHAPES:
        for ridge in (False, True):
            closed_form_row(n, d, ridge, repeats)
    print(
        f"\n{EPOCHS} epochs of stochastic steps in order, ridge, with the certificate at the end; "
        f"and one epoch in milliseconds, from the difference to {FEW_EPOCHS} epochs.\n"
    )
    print("| data | SGDRegressor | cotas | ratio | its epoch | our epoch | ratio |")
    print("|---|---|---|---|---|---|---|")
    for n, d in ((500_000, 20), (100_000, 100)):
        stochastic_row(n, d, repeats)
