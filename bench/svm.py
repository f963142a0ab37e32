"""Seconds to a proved gap for the support vector machine, against LIBLINEAR and others."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import cotas
from bench.data import load, made_binary, made_one_hot, made_words, one_hot, standardized
from bench.online import peak_memory
from bench.side_by_side import conditions, interleaved
from bench.svm_peers import Problem, Setting, Settings, linear_svc, other_peers, settings
from cotas.design import as_design
from cotas.running import rows_in_threads
from cotas.solvers.rounded_hinge import HingeRows

GAPS = (1e-3, 1e-6)
LAMBDAS = (1e-3, 1e-4, 1e-5)
LIMIT = 60.0  # seconds for a fit of ours, for each class
SLOW = 20.0  # a fit of LIBLINEAR that took longer is not run again
DENSE = ("covtype", "fars", "magic", "electricity")
SPARSE = (
    "a9a",
    "agaricus",
    "adult",
    "wiki_toxicity_48k",
    "clothing_reviews",
    "sentence_polarity",
    "sms_spam",
)
# Like sets that the solvers were not chosen on; see bench/data.py.
MADE: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "made-binary": lambda: made_binary(37_376, 300, 0.04),
    "made-one-hot": lambda: made_one_hot(199_523, 510),
    "made-words": lambda: made_words(25_000, 27_272, 120),
}
SETS = (*DENSE, *SPARSE, *MADE, "mnist")
# Seconds to look for LIBLINEAR's settings in, for each λ.
ALLOWANCE, ALLOWANCES = 15.0, {"covtype": 60.0, "mnist": 60.0}
# Small enough for the libraries that cannot be stopped.
FOR_OTHER_PEERS, LAMBDA_OF_OTHER_PEERS = ("magic", "sms_spam"), 1e-4


def chosen() -> list[str]:
    """The sets that COTAS_SETS names, with commas between them, or all of them."""
    wanted = os.environ.get("COTAS_SETS", ",".join(SETS)).split(",")
    for name in wanted:
        if name not in SETS:
            sys.exit(f"COTAS_SETS: there is no set {name!r}; there are: {', '.join(SETS)}.")
    return wanted


def examples(name: str) -> tuple[str, Any, np.ndarray]:
    """Title, X and y: the most frequent class against the rest, but all ten digits of mnist."""
    if name in MADE:
        X, signal = MADE[name]()
        return f"{name}, {X.shape[0]:,} × {X.shape[1]:,} CSR", X, (signal > 0).astype(np.int64)
    X, y = one_hot(name) if name == "adult" else load(name)
    kind = "CSR" if sparse.issparse(X) else "dense"
    title = f"{name}, {X.shape[0]:,} × {X.shape[1]:,} {kind}"
    if name == "mnist":
        X /= 255.0
        return f"{title}, ten classes", X, y
    labels, counts = np.unique(y, return_counts=True)
    X = X if sparse.issparse(X) else standardized(X)
    return title, X, (y == labels[counts.argmax()]).astype(np.int64)


def bounds(model: cotas.LinearSVM) -> tuple[float, float]:
    """The objective that a fit has reached, and its lower bound; the mean of all classes."""
    found = model.certificate_.singles
    return float(np.mean([c.upper for c in found])), float(np.mean([c.lower for c in found]))


class Contest:
    """One problem: what it takes us and others to come near its least objective."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.lower = bounds(self.fit(0.2 * min(GAPS)))[1]

    def fit(self, tol: float) -> cotas.LinearSVM:
        return self.problem.ours(tol, LIMIT).fit(self.problem.X, self.problem.y)

    def row(self, gap: float, theirs: Settings, repeats: int) -> None:
        """One row of the table; fits of LIBLINEAR that took long are not run again."""
        problem, known = self.problem, theirs.enough.get(gap)
        mine = self.fit(gap)
        upper, lower = bounds(mine)
        contestants: dict[str, Callable[[], object]] = {}
        if upper - lower <= gap * upper:
            contestants["cotas"] = lambda: self.fit(gap)
        if known is not None and known.seconds <= SLOW:
            contestants["peer"] = lambda: linear_svc(problem, known.tol, known.sweeps)
        times = interleaved(contestants, repeats, untimed=0)  # each has run before
        ours, peer = times.get("cotas"), times.get("peer", known.seconds if known else None)
        shown = f"{peer:.3g}" if peer else f"more than {theirs.longest:.3g}"
        ratio = ""
        if ours:
            ratio = f"{peer / ours:.2f}" if peer else f"more than {theirs.longest / ours:.2f}"
        cells = [problem.name, f"{problem.lam:g}", f"{gap:g}", shown, _setting(known)]
        cells += [f"{ours:.3g}" if ours else "not reached", ratio, mine.solver_, str(mine.n_iter_)]
        print(f"| {' | '.join(cells)} |", flush=True)


def _setting(known: Setting | None) -> str:
    if known is None:
        return ""
    return f"{known.tol:g}, {known.sweeps:,}{', one run' if known.seconds > SLOW else ''}"


def compare_with_liblinear(names: list[str], repeats: int) -> None:
    print("| data | λ | gap | LIBLINEAR | tol, sweeps | cotas | ratio | solver | steps |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        title, X, y = examples(name)
        for lam in LAMBDAS:
            contest = Contest(Problem(title, X, y, lam))
            allowance = ALLOWANCES.get(name, ALLOWANCE)
            theirs = settings(linear_svc, contest.problem, contest.lower, GAPS, allowance)
            for gap in GAPS:
                contest.row(gap, theirs, repeats)


def compare_with_others(names: list[str]) -> None:
    """Whether other libraries solve the same problem, and in what time."""
    names = [name for name in names if name in FOR_OTHER_PEERS]
    if not names:
        return
    print(
        f"\nOther libraries, λ = {LAMBDA_OF_OTHER_PEERS:g}, one run each, with the largest tol "
        "that suffices. Where none does, the lowest objective that they reached tells how far "
        "they come. snapml gets two threads; liblinear-official converts X in Python, which "
        "counts.\n"
    )
    print("| data | gap | library | seconds | tol | objective | above the best bound, at most |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        title, X, y = examples(name)
        contest = Contest(Problem(title, X, y, LAMBDA_OF_OTHER_PEERS))
        for library, peer in (("LinearSVC", linear_svc), *other_peers()):
            try:
                theirs = settings(peer, contest.problem, contest.lower, GAPS, ALLOWANCE)
            except (TypeError, ValueError) as refused:
                print(f"| {title} | | {library} | it refuses the data: {refused} | | | |")
                continue
            for gap in GAPS:
                known = theirs.enough.get(gap)
                value = known.objective if known else theirs.lowest
                cells = [f"{known.seconds:.3g}", f"{known.tol:g}"] if known else ["not reached", ""]
                above = f"{(value - contest.lower) / value:.1e}"
                shown = [title, f"{gap:g}", library, *cells, f"{value:.8g}", above]
                print(f"| {' | '.join(shown)} |", flush=True)


def size(X: Any) -> int:
    """Bytes of X."""
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes


def memory(names: list[str]) -> None:
    """What a fit allocates beside X at its worst moment."""
    print(
        "\nPeak memory of a fit beside X (tol 1e-4, λ = 1e-4, with a bias) by tracemalloc, in "
        "copies of X; “!!” marks more than two:\n"
    )
    for name in names:
        _, X, y = examples(name)
        for dtype in (np.float64, np.float32):
            given = X.astype(dtype)
            model = cotas.LinearSVM(lam=1e-4, max_time=LIMIT)
            copies = peak_memory(lambda m=model, X=given, y=y: m.fit(X, y)) / size(given)
            print(f"- {name} {np.dtype(dtype).name}: {copies:.2f}{' !!' * (copies > 2)}")


def gram(name: str) -> None:
    """What it costs to add all the rows up in one Newton system."""
    _, X, y = examples(name)
    n, signs = len(y), np.where(y == 1, 1.0, -1.0)

    def passes(n_jobs: int | None) -> Iterator[float]:
        with rows_in_threads(X, n_jobs) as each:
            rows = HingeRows(as_design(X), signs, np.full(n, 1.0 / n), each)
            every = [np.arange(span.start, span.stop) for span in rows.spans]
            theta = np.ones(X.shape[1])
            yield interleaved({"gram": lambda: rows.gram(every)}, 7)["gram"]
            yield interleaved({"scores": lambda: rows.set_direction(theta, 0.0)}, 7)["scores"]

    print(f"\nOne pass over all the rows of {name}, as a Newton step makes it, in milliseconds:\n")
    print("| threads | Σ sᵢxᵢxᵢᵀ | Xθ |")
    print("|---|---|---|")
    for threads, n_jobs in (("one", 1), ("all cores", None)):
        print(f"| {threads} | {' | '.join(f'{1e3 * t:.1f}' for t in passes(n_jobs))} |")


def main(repeats: int = 3) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says what was reached
    names = chosen()
    print(
        f"{conditions('liblinear-official', 'rehline', 'snapml')}; medians of {repeats} "
        "interleaved runs, in seconds, all without bias. cotas: the fit itself proves "
        "P − D ≤ gap·P; it uses all cores, LIBLINEAR uses one. LIBLINEAR: one fit of "
        '`LinearSVC(loss="hinge")` with the largest tol of 1, 0.3, 0.1, …, 1e-7, and the first '
        "limit of sweeps, that bring P so near the best lower bound known; the search for them is "
        f"not counted. A fit that took more than {SLOW:.0f} s there is not run again (“one run”). "
        "“More than”: the longest fit that did not get so near; the search ends when "
        f"{ALLOWANCE:.0f} s are spent ("
        + ", ".join(f"{seconds:.0f} s for {name}" for name, seconds in ALLOWANCES.items())
        + "). P of mnist is the mean over its ten problems. Steps: `n_iter_`, the points that the "
        "solver showed for all the rows: Newton steps, beginnings of a round, rounds of coordinate "
        "ascent. COTAS_SETS=magic,a9a chooses sets.\n"
    )
    compare_with_liblinear(names, repeats)
    compare_with_others(names)
    if large := [name for name in names if name in ("covtype", "wiki_toxicity_48k")]:
        memory(large)
    if "covtype" in names:
        gram("covtype")
