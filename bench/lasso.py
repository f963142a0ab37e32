"""Lasso paths to a proved gap against scikit-learn and celer; stagewise steps against NumPy."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path as sklearn_path
from sklearn.preprocessing import PolynomialFeatures

import cotas
from bench.data import load, made_one_hot, standardized
from bench.side_by_side import conditions, interleaved
from cotas.certificates.certificate import Certificate

NAMES = ("leukemia_golub", "riboflavin", "tecator", "california_housing", "clothing_reviews")
GAP = 1e-6
VALUES, RATIO = 50, 1e-2
PEER_TOLS = tuple(10.0**-k for k in range(4, 10))
LIMIT = 60.0  # seconds after which a peer is not asked for more
STEPS = 10_000


def data(only: str | None) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Dense columns standardized, sparse ones as they are; y standardized. No bias for anyone."""
    for name in NAMES:
        if only is not None and only not in name:
            continue
        X, y = load(name)
        y = (y - y.mean()) / y.std()
        if sparse.issparse(X):
            yield f"{name}, {X.shape[0]:,} × {X.shape[1]:,} sparse", X.tocsc(), y
            continue
        X = X[:, X.std(axis=0) > 0]
        if name == "california_housing":
            X = PolynomialFeatures(3, include_bias=False).fit_transform(standardized(X))
            name = f"{name}, degree 3"
        # Column by column, which is what both peers ask for.
        yield f"{name}, {X.shape[0]:,} × {X.shape[1]:,}", np.asfortranarray(standardized(X)), y


Peer = Callable[[float], tuple[np.ndarray, np.ndarray]]  # tol to coefficients and gaps


def sufficient(path: Peer, best: list[Certificate]) -> float | None:
    """The largest tol with which a peer reports the gap asked for at every λ, if one is in time."""
    allowed = GAP * np.array([max(1.0, certificate.upper) for certificate in best])
    for tol in PEER_TOLS:
        began = time.perf_counter()
        _, gaps = path(tol)
        if (gaps <= allowed).all():
            return tol
        if time.perf_counter() - began > LIMIT:
            return None
    return None


def grid(X: Any, y: np.ndarray) -> np.ndarray:
    """The values of λ of a path."""
    largest = float(np.abs(X.T @ y).max()) / len(y)
    return np.geomspace(largest, RATIO * largest, VALUES)


def path_row(name: str, X: Any, y: np.ndarray, lams: np.ndarray, repeats: int) -> None:
    """One row: a path, or one model where there is one λ."""

    def ours() -> list[Certificate]:
        if len(lams) == 1:
            return [cotas.Lasso(lam=lams[0], fit_intercept=False, tol=GAP).fit(X, y).certificate_]
        return cotas.lasso_path(X, y, lams=lams, fit_intercept=False, tol=GAP).certificates

    def scikit_learn(tol: float) -> tuple[np.ndarray, np.ndarray]:
        return sklearn_path(X, y, alphas=lams, tol=tol, max_iter=100_000)[1:3]

    peers: dict[str, Peer] = {"scikit-learn": scikit_learn}
    try:
        from celer import celer_path

        def celer(tol: float) -> tuple[np.ndarray, np.ndarray]:
            return celer_path(X, y, "lasso", alphas=lams, tol=tol, max_iter=1000)[1:3]

        peers["celer"] = celer
    except ImportError:
        print("celer is not installed: pip install celer")
    best = ours()
    tols = {peer: sufficient(run, best) for peer, run in peers.items()}
    contestants: dict[str, Callable[[], object]] = {"cotas": ours}
    for peer, tol in tols.items():
        if tol is not None:
            contestants[peer] = lambda run=peers[peer], tol=tol: run(tol)
    times = interleaved(contestants, repeats)
    if times["cotas"] < 0.05:  # short enough to be disturbed by anything
        times = interleaved(contestants, 5 * repeats)
    cells = [name, f"{max(c.relative_gap for c in best):.1g}"]
    for peer in ("scikit-learn", "celer"):
        if peer in times:
            ratio = times[peer] / times["cotas"]
            cells += [f"{times[peer]:.4f} (tol {tols[peer]:g})", f"{ratio:.1f}"]
        else:
            cells += ["not reached", ""]
    cells.insert(2, f"{times['cotas']:.4f}")
    print(f"| {' | '.join(cells)} |", flush=True)


def one_model(repeats: int) -> None:
    """A tall sparse table, one λ; all get CSC, which the peers ask for."""
    print("\nOne Lasso on a tall table of categories:\n")
    print("| data | gap proved | cotas | scikit-learn | ratio | celer | ratio |")
    print("|---|---|---|---|---|---|---|")
    X, y = made_one_hot(327_346, 151)
    y = (y - y.mean()) / y.std()
    for share in (0.1, 0.01, 0.001):
        lam = share * grid(X, y)[0]
        name = f"made-one-hot, 327,346 × 151, {share:g}·λ_max"
        path_row(name, X.tocsc(), y, np.array([lam]), repeats)


def transcription(X: np.ndarray, y: np.ndarray, eps: float, steps: int) -> np.ndarray:
    """Algorithm 8 as it is printed: every column fitted to the residual, the best one chosen."""
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    beta, r = np.zeros(X.shape[1]), y - y.mean()
    for _ in range(steps):
        u = Z.T @ r
        errors = ((r[:, None] - Z * u) ** 2).sum(axis=0)
        j = errors.argmin()
        beta[j] += eps * u[j]
        r = r - eps * u[j] * Z[:, j]
    return beta


def by_correlation(X: np.ndarray, y: np.ndarray, eps: float, steps: int) -> np.ndarray:
    """The same steps, the column chosen by its correlation: one product with X a step."""
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    beta, r = np.zeros(X.shape[1]), y - y.mean()
    for _ in range(steps):
        u = Z.T @ r
        j = np.abs(u).argmax()
        beta[j] += eps * u[j]
        r = r - eps * u[j] * Z[:, j]
    return beta


def a_step(run: Callable[..., np.ndarray], X: np.ndarray, y: np.ndarray, steps: int) -> float:
    """Seconds for one more step, from two runs of different lengths.

    A large array freed before makes the allocator keep the memory of the temporaries; without
    that, a step of the transcription takes several times as long.
    """
    np.ones(30 << 17)
    run(X, y, 0.1, 1)
    seconds = []
    for m in (steps, 3 * steps):
        began = time.perf_counter()
        run(X, y, 0.1, m)
        seconds.append(time.perf_counter() - began)
    return (seconds[1] - seconds[0]) / (2 * steps)


def step_rows(name: str, X: np.ndarray, y: np.ndarray, steps: int, repeats: int) -> None:
    printed = STEPS * a_step(transcription, X, y, steps)
    quick = STEPS * a_step(by_correlation, X, y, 10 * steps)
    models = {
        "LS-Boost(0.1)": cotas.LSBoost(eps=0.1, max_iter=STEPS),
        "FS_ε, ε = ‖y‖/1000": cotas.ForwardStagewise(
            eps=1e-3 * float(np.linalg.norm(y - y.mean())), max_iter=STEPS
        ),
    }
    for algorithm, model in models.items():
        ours = interleaved({"cotas": lambda model=model: model.fit(X, y)}, repeats)["cotas"]
        cells = [name, algorithm, str(model.n_iter_), f"{ours:.3f}"]
        # A run that converged made fewer steps: the transcriptions are charged for as many.
        share = model.n_iter_ / STEPS
        for other in (printed * share, quick * share):
            cells += [f"{other:.1f}", f"{other / ours:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def main(repeats: int = 5) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says what was reached
    only = os.environ.get("COTAS_ONLY")  # part of the name of one data set, to run it alone
    print(
        f"{conditions('celer')}; medians of {repeats} interleaved runs, in seconds, every library "
        f"with the threads it takes by default. A path of {VALUES} values from λ_max to "
        f"{RATIO:g}·λ_max, no bias, y of unit variance, P − D ≤ {GAP:g}·max(1, P) proved at every "
        "λ. cotas: `lasso_path`, proof "
        "included. The others: the largest tol of 1e-4, 1e-5, …, 1e-9 with which they report "
        "such a gap themselves; the search for it is not counted.\n"
    )
    print("| data | gap proved | cotas | scikit-learn | ratio | celer | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, X, y in data(only):
        path_row(name, X, y, grid(X, y), repeats)
    if only is None or only in "one model":
        one_model(repeats)
    print(
        f"\n{STEPS:,} steps, certificate included, against Algorithm 8 as printed and against a "
        "version that chooses by correlation; both are timed over fewer steps and scaled.\n"
    )
    heads = ["data", "algorithm", "steps", "cotas", "as printed", "ratio", "by correlation"]
    print(f"| {' | '.join(heads)} | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    if only is None or only in "leukemia_golub":
        X, y = load("leukemia_golub")
        X = standardized(X[:, X.std(axis=0) > 0])
        step_rows(f"leukemia_golub, {X.shape[0]} × {X.shape[1]:,}", X, y * 1.0, 50, repeats)
    if only is None or only in "random":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100_000, 1000))
        y = X[:, :20] @ rng.normal(size=20) + rng.normal(size=len(X))
        step_rows("random, 100,000 × 1,000", X, y, 1, min(repeats, 2))
