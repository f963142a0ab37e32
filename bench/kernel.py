"""Seconds to a proved gap for the kernel support vector machine, against LIBSVM and oneDAL."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import cotas
from bench.data import load, made_one_hot, standardized
from bench.side_by_side import conditions, interleaved
from cotas.kernels import RBF

GAP = 1e-4
CACHE = 500  # megabytes, for all
PREDICTED = 100_000  # rows, those of the set repeated
LIMIT = float(os.environ.get("COTAS_LIMIT", "900"))  # seconds for one fit of a peer


@dataclass(frozen=True)
class Problem:
    """RBF with γ, C in LIBSVM's convention, a free bias."""

    name: str
    X: Any
    y: np.ndarray
    gamma: float
    C: float

    def ours(self, tol: float) -> cotas.KernelSVM:
        return cotas.KernelSVM(RBF(gamma=self.gamma), C=self.C, tol=tol, cache_mb=CACHE)

    def svc(self, kind: type = SVC) -> SVC:
        return kind(gamma=self.gamma, C=self.C, cache_size=CACHE)


def accelerated() -> type | None:
    """The SVC of scikit-learn-intelex, if it is installed."""
    try:
        from sklearnex.svm import SVC as Accelerated
    except ImportError:
        return None
    return Accelerated


def within_limit(work: Callable[[], Any]) -> Any:
    """What `work` returns in a process of its own, or None if that takes longer than `LIMIT`.

    A fit in compiled code cannot be ended otherwise. The data are not copied.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(work()))
    child.start()
    sender.close()
    found = receiver.recv() if receiver.poll(LIMIT) else None
    if found is None:
        child.kill()
    child.join()
    return found


def fit_of_peer(problem: Problem, kind: type) -> tuple[float, SVC] | None:
    """Seconds and the model; a fit of a few rows comes first, so that threads are up."""

    def work() -> tuple[float, SVC]:
        few = np.concatenate([np.flatnonzero(problem.y == c)[:20] for c in np.unique(problem.y)])
        problem.svc(kind).fit(problem.X[few], problem.y[few])
        began = time.perf_counter()
        model = problem.svc(kind).fit(problem.X, problem.y)
        return time.perf_counter() - began, model if kind is SVC else None

    return within_limit(work)


def excess_of(peer: SVC, problem: Problem) -> float:
    """How far above the optimum `SVC(tol=1e-3)` ends, relative to max(1, P), for its worst machine.

    A fit that proves this gap is as good, whatever it is compared with.
    """
    theirs = cotas.certify(peer, problem.X, problem.y)
    best = problem.ours(1e-6).fit(problem.X, problem.y).certificate_
    pairs = zip(theirs.singles, best.singles, strict=True)
    above = [(t.upper - b.lower) / max(1.0, t.upper) for t, b in pairs]
    return max(above)


def seconds_of_ours(problem: Problem, tol: float) -> tuple[float, float]:
    """Of one fit, and the worst gap it proves."""
    model, began = problem.ours(tol), time.perf_counter()
    model.fit(problem.X, problem.y)
    return time.perf_counter() - began, model.certificate_.relative_gap


def fits(problem: Problem, repeats: int) -> None:
    """Two rows: as good as SVC, if that ends in time, and proved to `GAP`."""
    kinds = {"SVC": SVC, "sklearnex": accelerated()}
    goals = [(f"{GAP:g}", GAP)]
    first = fit_of_peer(problem, SVC)
    if first is not None:
        excess = excess_of(first[1], problem)
        goals.insert(0, (f"P of SVC ({excess:.0e} above the best)", excess))
    else:
        del kinds["SVC"]
    times: dict[str, list[float]] = {name: [] for name in ("SVC", "sklearnex", *dict(goals))}
    proved: dict[str, float] = {}
    problem.ours(GAP).fit(*part(problem.X, problem.y, 1500))  # compiles what has to be compiled
    for _ in range(repeats):
        for name, kind in kinds.items():
            found = None if kind is None else fit_of_peer(problem, kind)
            times[name] += [] if found is None else [found[0]]
        for goal, tol in goals:
            seconds, proved[goal] = seconds_of_ours(problem, tol)
            times[goal].append(seconds)
    for goal, _ in goals:
        print_row(problem, goal, times, proved[goal])


def print_row(problem: Problem, goal: str, times: dict[str, list[float]], proved: float) -> None:
    """Medians and ratios; a peer that was ended has the limit in its place."""
    ours, cells = float(np.median(times[goal])), []
    for name in ("SVC", "sklearnex"):
        theirs = float(np.median(times[name])) if times[name] else None
        there = name == "SVC" or accelerated() is not None
        cells.append(("" if not there else f"> {LIMIT:g}") if theirs is None else f"{theirs:.2f}")
        ratio = "" if not there else f"> {LIMIT / ours:.1f}"
        cells.append(ratio if theirs is None else f"{theirs / ours:.1f}")
    svc, svc_ratio, fast, fast_ratio = cells
    row = [problem.name, f"{problem.C:g}", goal, svc, fast, f"{ours:.2f}", svc_ratio, fast_ratio]
    print(f"| {' | '.join(row)} | {proved:.0e} |", flush=True)


def predictions(problem: Problem, repeats: int) -> None:
    """Labels for many rows; LIBSVM gets a tenth of them and its time is multiplied."""
    rows = np.resize(np.arange(problem.X.shape[0]), PREDICTED)
    Z = problem.X[rows]
    mine = problem.ours(1e-3).fit(problem.X, problem.y)

    def of_peer(kind: type, Z: Any) -> float | None:
        def work() -> float:
            model = problem.svc(kind).fit(problem.X, problem.y)
            return interleaved({"peer": lambda: model.predict(Z)}, repeats)["peer"]

        return within_limit(work)

    theirs = of_peer(SVC, Z[: PREDICTED // 10])
    fast = of_peer(kind, Z) if (kind := accelerated()) is not None else None
    ours = interleaved({"cotas": lambda: mine.predict(Z)}, repeats)["cotas"]
    seconds = [None if theirs is None else 10 * theirs, fast]
    cells = [problem.name, f"{problem.C:g}", f"{len(mine.support_):,}"]
    cells += ["" if t is None else f"{t:.2f}" for t in (*seconds, ours)]
    cells += ["" if t is None else f"{t / ours:.1f}" for t in seconds]
    print(f"| {' | '.join(cells)} |", flush=True)


def many_classes() -> None:
    """How the time grows with the rows of ten digits, where the kernel outgrows its cache."""
    print("\nmnist, ten classes, C = 10, gap 1e-3:\n")
    print("| rows | SVC | cotas | ratio |\n|---|---|---|---|")
    X, y = load("mnist")
    for rows in (5_000, 10_000, 20_000):
        chosen, labels = part(X, y, rows)
        chosen = chosen / 255.0
        gamma = 1.0 / (chosen.shape[1] * chosen.var())
        problem = Problem(f"{rows:,}", chosen, labels, gamma, 10.0)
        found, (ours, _) = fit_of_peer(problem, SVC), seconds_of_ours(problem, 1e-3)
        cells = ["", ""] if found is None else [f"{found[0]:.2f}", f"{found[0] / ours:.1f}"]
        print(f"| {rows:,} | {cells[0]} | {ours:.2f} | {cells[1]} |", flush=True)


def part(X: Any, y: np.ndarray, rows: int) -> tuple[Any, np.ndarray]:
    """So many rows by a fixed seed, in their order."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
    return X[chosen], y[chosen]


def most_frequent(y: np.ndarray) -> np.ndarray:
    labels, counts = np.unique(y, return_counts=True)
    return (y == labels[counts.argmax()]).astype(np.int64)


def problem_of(name: str, rows: int | None = None, C: float = 1.0) -> Problem:
    """γ = 1/(d·variance of X), the dense sets standardized, mnist in units of 255."""
    if name == "made-one-hot":
        X, signal = made_one_hot(rows or 20_000, 510)
        y = (signal > 0).astype(np.int64)
    else:
        X, y = load(name)
    if name == "a9a":
        X, y = X[:32561], y[:32561]  # the official training part
    if rows is not None and rows < len(y):
        X, y = part(X, y, rows)
    if name == "mnist":
        X, y = X / 255.0, y % 2
    elif not sparse.issparse(X):
        X = standardized(X)
    if name not in ("letter", "mnist", "made-one-hot"):
        y = most_frequent(y)
    variance = X.multiply(X).mean() - X.mean() ** 2 if sparse.issparse(X) else X.var()
    title = f"{name}, {X.shape[0]:,} × {X.shape[1]}"
    return Problem(title, X, y, 1.0 / (X.shape[1] * variance), C)


# What COTAS_ONLY may name: the set, its rows and C.
SETS: dict[str, tuple[str, int | None, float]] = {
    "magic": ("magic", None, 1.0),
    "magic-C100": ("magic", None, 100.0),
    "a9a": ("a9a", None, 1.0),
    "covtype-20k": ("covtype", 20_000, 1.0),
    "mnist-20k": ("mnist", 20_000, 1.0),
    "letter": ("letter", None, 10.0),
    "one-hot": ("made-one-hot", 20_000, 1.0),
    "skin": ("skin", None, 1.0),
    "covtype-100k": ("covtype", 100_000, 1.0),
}
LARGE = ("skin", "covtype-100k")


def chosen_sets() -> list[str]:
    """Those that COTAS_ONLY begins to name; without it all, the large ones with COTAS_LARGE."""
    wanted = os.environ.get("COTAS_ONLY", "").split()
    if wanted:
        return [name for name in SETS if any(name.startswith(given) for given in wanted)]
    return [name for name in SETS if name not in LARGE or os.environ.get("COTAS_LARGE")]


def problem_named(name: str) -> Problem:
    """The problem of that name, on fewer rows if COTAS_ROWS says so."""
    source, rows, C = SETS[name]
    most = os.environ.get("COTAS_ROWS")
    return problem_of(source, int(most) if most else rows, C)


def main(repeats: int = 1) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says what was reached
    names = chosen_sets()
    print(
        f"{conditions('scikit-learn-intelex')}; medians of {repeats} interleaved runs, in seconds, "
        f"all with {CACHE} MB for rows of the kernel and the threads they take by themselves. The "
        "fit of cotas includes the proof, in double precision. The peers run with tol=1e-3, their "
        f"default, in every row: they prove nothing, and are ended after {LIMIT:g} s "
        f"(COTAS_LIMIT). COTAS_ONLY names the sets to run, of {', '.join(SETS)}; COTAS_LARGE=1 "
        f"adds {' and '.join(LARGE)}.\n"
    )
    print("| data | C | goal | SVC | sklearnex | cotas | SVC/cotas | sklearnex/cotas | proved |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        fits(problem_named(name), repeats)
    print(f"\nLabels of {PREDICTED:,} rows:\n")
    print("| data | C | support vectors | SVC | sklearnex | cotas | SVC/cotas | sklearnex/cotas |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        predictions(problem_named(name), repeats)
    if not os.environ.get("COTAS_ONLY"):
        many_classes()
