"""Least squares and ridge against scikit-learn, its Intel extension, and the bare product."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk
from sklearn.linear_model import LinearRegression, SGDRegressor
from sklearn.linear_model import Ridge as PeerRidge

import cotas
from bench.data import made_one_hot
from bench.side_by_side import conditions, interleaved

TALL = ((1_000_000, 20), (300_000, 100), (100_000, 500))
WIDE = ((300, 2400), (1814, 10_346))
MANY = 327_346  # rows whose columns depend on each other
LAM = 1e-3
FEW_EPOCHS, EPOCHS = 5, 20


def problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy linear function of standard normal columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n) + 3.0


def problems() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Title, X and y: tall, wide, with columns that others add up to, and of categories."""
    for n, d in TALL + WIDE:
        yield f"{n:,} × {d:,}", *problem(n, d)
    X, y = problem(MANY, 12)
    yield f"{MANY:,} × 18, redundant columns", np.hstack([X, X[:, :6] + X[:, 6:]]), y
    X, y = made_one_hot(MANY, 151)
    yield f"{MANY:,} × 151, one-hot, dense", X.toarray(), y
    yield f"{MANY:,} × 151, one-hot, CSR", X, y


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


def check_same_model(models: dict[str, Any], X: Any, y: np.ndarray) -> None:
    """The comparison is void unless all predict the same."""
    scores = {name: model.fit(X, y).predict(X) for name, model in models.items()}
    for name, score in scores.items():
        difference = np.linalg.norm(score - scores["cotas"]) / np.linalg.norm(score)
        if difference > 1e-8:
            print(
                f"(the predictions of {name} and cotas differ by {difference:.1e})", file=sys.stderr
            )


def closed_form_row(title: str, X: Any, y: np.ndarray, ridge: bool, repeats: int) -> None:
    models = closed_forms(len(y), ridge)
    if sparse.issparse(X) or X.shape[1] > 5000:
        # It hands sparse rows to scikit-learn, and makes XᵀX of wide ones, which takes minutes.
        models.pop("sklearnex", None)
    check_same_model(models, X, y)
    contestants: dict[str, Callable[[], object]] = {
        name: lambda m=model: m.fit(X, y) for name, model in models.items()
    }
    if isinstance(X, np.ndarray):
        least = X.T if len(y) >= X.shape[1] else X  # the smaller of XᵀX and XXᵀ
        contestants["floor"] = lambda: dsyrk(1.0, least)
    times = interleaved(contestants, repeats)
    if times["cotas"] < 0.1:  # short enough to be disturbed by anything
        times = interleaved(contestants, 5 * repeats)
    mine, peers = times["cotas"], ("scikit-learn", "sklearnex")
    cells = [title, "ridge" if ridge else "least squares"]
    cells += [f"{times[k]:.3g}" if k in times else "" for k in (*peers, "cotas")]
    cells += [f"{times[k] / mine:.2f}" if k in times else "" for k in (*peers, "floor")]
    print(f"| {' | '.join(cells)} |", flush=True)


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
    warnings.simplefilter("ignore")  # columns depend on each other on purpose
    print(
        f"{conditions('scikit-learn-intelex')}; medians of {repeats} interleaved runs, in seconds, "
        "every library with the threads it takes by default. The fits of cotas include the "
        "certificate. Floor: one bare BLAS dsyrk of XᵀX, or XXᵀ if that is smaller.\n"
    )
    print(
        "| data | problem | scikit-learn | sklearnex | cotas | scikit-learn ÷ cotas "
        "| sklearnex ÷ cotas | floor ÷ cotas |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for title, X, y in problems():
        for ridge in (False, True):
            closed_form_row(title, X, y, ridge, repeats)
    print(
        f"\n{EPOCHS} epochs of stochastic steps in order, ridge, with the certificate at the end; "
        f"and one epoch in milliseconds, from the difference to {FEW_EPOCHS} epochs.\n"
    )
    print("| data | SGDRegressor | cotas | ratio | its epoch | our epoch | ratio |")
    print("|---|---|---|---|---|---|---|")
    for n, d in ((500_000, 20), (100_000, 100)):
        stochastic_row(n, d, repeats)
