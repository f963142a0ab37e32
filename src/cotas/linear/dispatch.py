"""One class against the rest: several solvers, each of which yields its (θ, α), and one proof."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from cotas.arrays import Each, FloatArray, IntArray, Matrix
from cotas.certificates import (
    Certificate,
    DualPoint,
    HardMarginPoint,
    Region,
    optimum_regions,
)
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.passes import Facts, Sketch, class_sketches
from cotas.design import as_design
from cotas.design.blocks import times, times_transposed
from cotas.fitting.data import Examples, Moved
from cotas.fitting.pursuit import Ended, Pursuit, end_of_share, worst_of
from cotas.linear.hard_margin import widest_margin
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk, relative_gap
from cotas.running import WORTH_A_TASK, Monitor, entries_of, rows_in_threads, thread_count
from cotas.solvers.bias import best_bias, best_smooth_bias
from cotas.solvers.dual_coordinate_ascent import dual_coordinate_ascent
from cotas.solvers.interior_point import PrimalDual, Start, interior_point
from cotas.solvers.iterate import AHEAD, AT_EACH, Checkpoint, Iterate
from cotas.solvers.losses import SMOOTH
from cotas.solvers.newton import newton
from cotas.solvers.newton_round import is_small
from cotas.solvers.newton_steps import newton_on_small_table
from cotas.solvers.risks import RowRisk
from cotas.solvers.semismooth_newton import to_the_last_digit
from cotas.stops import Reason, Stop
from cotas.words import say

SOLVERS = ("auto", "newton", "interior-point", "dual-coordinate-ascent")
WALK_ALONG_ROWS = ("newton", "dual-coordinate-ascent")
# Starts with a larger relative gap cost the interior point more steps than they save.
NEAR = 0.01
# So many Newton steps that do not halve the gap are a sign of a bad start.
PATIENCE = 6
# A dense matrix with fewer entries than this part, and rows this long, is read faster as CSR.
MOSTLY_ZERO, LONG_ROWS = 0.25, 50
CLOSED = Reason(Stop.THEORY, say("the working set was closed"))


def solve_all(
    model: Any,
    examples: Examples,
    shares: FloatArray,
    problem: RegularizedRisk,
    starts: list[Ending | None],
    began: float,
) -> tuple[list[Solution], list[Region | None], int, Reason]:
    """Find the best model of each class, where its optimum is, the iterations, and why it ended.

    `model` has the solver and the limits; `shares` are the sᵢ, which sum to one, and `starts` where
    the last fit of each class ended.
    """
    X, count = as_solved(examples.X, model.solver_), len(starts)
    with Monitor(model) as monitor:
        size = entries_of(X)
        threads = thread_count(model.n_jobs, count, size)
        jobs = model.n_jobs if count == 1 and model.solver_ == "newton" else 1
        with rows_in_threads(X, jobs) as each:
            seen = examples if X is examples.X else replace(examples, X=X)
            parts = _parts(model, seen, shares, problem, starts, each, not monitor.watched)
            begun: list[Begun] = []
            # To prove each class of a small table takes most of the time.
            together = model.margin == "soft" and not (monitor.watched or any(starts))
            if together and count > 1 and size < WORTH_A_TASK:
                try:
                    begun = begun_together(parts)
                except KeyboardInterrupt:
                    monitor.interrupt()

            def solve(c: int) -> Ended[Solution]:
                until = end_of_share(began, model.max_time, c, count, threads)
                limits = (model.tol, model.max_iter, until, monitor)
                if model.margin == "hard":
                    limits = (None, None, None, monitor)
                pursuit: Pursuit[Solution] = Pursuit(*limits, began=began, label=parts[c].label)
                return parts[c].pursue(pursuit, begun[c] if begun else None)

            ended = monitor.for_each(solve, range(count), threads)
            found = [one.proved for one in ended]
            certificates = [solution.certificate for solution in found]
            regions = optimum_regions(certificates, examples.X, examples.y, parts[0].rows)
            return found, regions, max(one.iterations for one in ended), worst_of(ended)


def _parts(
    model: Any, examples: Examples, shares: FloatArray, problem: RegularizedRisk,
    starts: list[Ending | None], each: Each, ahead: bool,
) -> list[AgainstTheRest]:  # fmt: skip
    """Return what is to be solved, for each class."""
    checkpoint = Checkpoint(min(AHEAD, int(model.max_iter)), float(model.tol)) if ahead else AT_EACH
    random, seeds = check_random_state(model.random_state), [0] * len(starts)
    if model.solver_ == "dual-coordinate-ascent":
        # One for each class, so that nothing depends on which one is solved first.
        seeds = random.randint(2**31 - 1, size=len(starts)).tolist()
    labels = examples.classes[-len(starts) :]  # of two the second
    used = None if shares.all() else np.flatnonzero(shares)
    X, free = examples.X, problem.free_bias
    rows = rows_in(X, free, each)
    # What is not far for the core, which moves columns sooner, is not for a solver.
    near = Moved(X) if rows.shift is None else Moved.near_zero(X, free)
    sketches = class_sketches(X, examples.y, list(labels), each)
    given = (problem, model.solver_, shares, used, near, rows)
    return [
        AgainstTheRest(examples, label, *given, sketch, start, each, checkpoint, model.tol, seed)
        for label, sketch, start, seed in zip(labels, sketches, starts, seeds, strict=True)
    ]


def as_solved(X: Matrix, solver: str) -> Matrix:
    """Return X as the solver is quickest with it: a copy in CSR of a dense X that is mostly
    zero."""
    if sparse.issparse(X) or X.shape[1] < LONG_ROWS or solver not in WALK_ALONG_ROWS:
        return X
    some = X[:: max(1, len(X) // 500)]
    filled = np.count_nonzero(some) / some.size
    return sparse.csr_matrix(X) if filled < MOSTLY_ZERO else X


class Ending(NamedTuple):
    """The end of an earlier fit: αᵢ/sᵢ, which fits into any box, and the θ and θ₀ of its model."""

    share: FloatArray
    theta: FloatArray
    theta0: float
    lam: float


class Solution(NamedTuple):
    """A model of one class against the rest, with its certificate."""

    point: DualPoint | HardMarginPoint
    certificate: Certificate


class SolverRows(NamedTuple):
    """Data as a solver sees them: the rows with a weight, y = ±1, sᵢ that sum to one, λ, and the
    bias."""

    X: Matrix
    signs: FloatArray
    shares: FloatArray
    lam: float
    bias: float


class AgainstTheRest(NamedTuple):
    """One class against the rest: what is minimized, on which rows, and how to go about it.

    `shares` are the sᵢ of all rows, and `used` the rows with a weight where some have none; `near`
    are the rows as solvers see them, `rows` as the core does.
    """

    examples: Examples
    label: Any
    problem: RegularizedRisk
    solver: str
    shares: FloatArray
    used: IntArray | None
    near: Moved
    rows: Rows
    sketch: Sketch
    end: Ending | None
    each: Each
    checkpoint: Checkpoint
    tol: float
    seed: int

    def pursue(self, pursuit: Pursuit[Solution], begun: Begun | None) -> Ended[Solution]:
        """Follow the solver and keep its best model, by what is proved of it."""
        if begun is not None:
            run, first, found = begun
            pursuit.take(first, found)
            return pursuit.follow(run, self.check)
        if self.solver == "hard-margin":
            given = (self.examples, self.near, self.label, self.problem.free_bias)
            return _shown(widest_margin(*given), pursuit, self.examples)
        end = self.end
        if end is not None:
            certificate = pursuit.begin(self.first(end), self.check)
            near = certificate is not None and certificate.relative_gap <= NEAR
            # The interior point gains nothing from a start that is not near.
            end = end if near or self.solver != "interior-point" else None
        return pursuit.follow(self.iterates(end), self.check, start=self.start())

    # ---- solved ------------------------------------------------------------------------------

    def iterates(self, end: Ending | None = None) -> Iterator[Iterate]:
        """Yield θ and α from the solver, α over all the rows, with the gap that it believes to
        have."""
        X, signs, shares = self.near.X, self.signs(), self.shares
        if self.used is not None:
            X, signs, shares = X[self.used], signs[self.used], shares[self.used]
        seen = SolverRows(X, signs, shares, self.problem.lam, float(self.problem.free_bias))
        start = None if end is None else self._start(end)
        if start is not None and self.used is not None:
            start = start._replace(alpha=start.alpha[self.used])
        if isinstance(self.problem.loss, Hinge):
            return map(self._iterate, self._found(seen, start))
        return self._smooth_newton(seen, start)

    def _found(self, seen: SolverRows, start: Start | None) -> Iterator[PrimalDual]:
        if self.solver == "interior-point":
            return _interior_point(seen, start)
        if self.solver == "newton":
            return to_the_last_digit(*seen, start, self.each, self.checkpoint, self.tol)
        given = (as_design(seen.X), *seen[1:], self.seed, start, self.each, self.tol)
        return (found for found, _ in dual_coordinate_ascent(*given))

    def _smooth_newton(self, seen: SolverRows, known: Start | None) -> Iterator[Iterate]:
        """Run Newton's method on the loss as it is; α are the slopes."""
        loss = SMOOTH[self.problem.loss.name]
        start = known and (known.theta, np.array([known.theta0 * seen.bias]))
        if is_small(*seen.X.shape):
            given = (as_design(seen.X), loss, *seen[1:])
            points = newton_on_small_table(*given, start, self.checkpoint)
        else:
            risk = RowRisk(seen.signs, seen.shares, loss)
            points = newton(seen.X, risk, seen.lam, bool(seen.bias), start)
        for found in points:
            believed = relative_gap(found.gap, found.objective)
            alpha = self._over_all(-seen.signs * found.slopes[:, 0])
            yield Iterate((found.theta[:, 0], found.theta0[0]), alpha, believed, found.steps)

    def _iterate(self, found: PrimalDual) -> Iterate:
        alpha = self._over_all(found.alpha)
        believed = relative_gap(found.primal - found.dual, found.primal)
        return Iterate((found.theta, None), alpha, believed, found.steps)

    def _over_all(self, alpha: FloatArray) -> FloatArray:
        """Compute α with zeros for the rows that were left out."""
        if self.used is None:
            return alpha
        whole = np.zeros(len(self.shares))
        whole[self.used] = alpha
        return whole

    def signs(self) -> FloatArray:
        """Compute y as ±1."""
        return np.where(self.examples.y == self.label, 1.0, -1.0)

    # ---- where it begins ---------------------------------------------------------------------

    def start(self) -> Iterate:
        """Compute θ = 0, where every solver begins."""
        theta = np.zeros(self.examples.X.shape[1])
        return Iterate((theta, None), np.zeros(len(self.shares)), steps=0)

    def first(self, end: Ending) -> Iterate:
        """Tell where the earlier fit ended, which may be good enough already."""
        start = self._start(end)
        theta = start.theta if end.lam == self.problem.lam else self._theta(start.alpha)
        return Iterate((theta, None), start.alpha)

    def _start(self, end: Ending) -> Start:
        """Return the dual point to begin with.

        Other weights or labels than those of the earlier fit may have put it out of balance:
        with a bias the heavier side is scaled down, so that Σ αᵢyᵢ = 0.
        """
        alpha = np.clip(end.share, 0.0, self.problem.loss.steepest) * self.shares
        if self.problem.free_bias:
            signs = self.signs()
            sides = np.array([alpha[signs > 0].sum(), alpha[signs < 0].sum()])
            share = sides.min() / np.where(sides > 0, sides, 1.0)
            alpha *= np.where(signs > 0, share[0], share[1])
        known = len(end.theta) == self.examples.X.shape[1]
        theta0 = self.near.seen(end.theta, end.theta0) if known else 0.0
        return Start(alpha, theta0, end.theta if known else self._theta(alpha))

    def _theta(self, alpha: FloatArray) -> FloatArray:
        """Return the θ of a dual point."""
        return times_transposed(self.near.X, alpha * self.signs()) / self.problem.lam

    # ---- proved ------------------------------------------------------------------------------

    def check(self, iterate: Iterate) -> Solution:
        """Prove what can be proved of (θ, θ₀) and α."""
        return prove_together([self], [iterate])[0]

    def point(self, iterate: Iterate) -> DualPoint:
        """Return the witness of θ and α, with the best bias for θ where the solver has none."""
        (theta, theta0), alpha, given = iterate.model, iterate.dual, self.examples.weights
        if theta0 is None:
            theta0 = self._best_bias(theta) if self.problem.free_bias else 0.0
        shares = self.shares if self.used is None else np.where(self.shares > 0, self.shares, 1.0)
        return DualPoint(
            problem=self.problem,
            coef=theta,
            intercept=float(self.near.given(theta, theta0)),
            positive=self.label,
            multipliers=alpha / shares,
            weights=given,
        )

    def _best_bias(self, theta: FloatArray) -> float:
        scores, positive = times(self.near.X, theta), self.examples.y == self.label
        if isinstance(self.problem.loss, Hinge):
            return best_bias(scores, positive, self.examples.weights)
        return best_smooth_bias(scores, positive, self.shares, self.problem.loss)


def prove_together(parts: Sequence[AgainstTheRest], iterates: Sequence[Iterate]) -> list[Solution]:
    """Return what is proved of an iterate of each class; the data are read for all at once."""
    one, facts = parts[0], Facts([part.sketch for part in parts], rows=parts[0].rows)
    points = [part.point(iterate) for part, iterate in zip(parts, iterates, strict=True)]
    found = DualPoint.check_all(points, one.examples.X, one.examples.y, facts, one.each)
    return [Solution(*both) for both in zip(points, found, strict=True)]


# A solver after its first iterate to look at, that iterate, and what is proved of it.
Begun: TypeAlias = tuple[Iterator[Iterate], Iterate, Solution]


def begun_together(parts: Sequence[AgainstTheRest]) -> list[Begun]:
    """Return the solver of each class after its first iterate to look at, all of them proved
    together."""
    runs = [part.iterates() for part in parts]
    with np.errstate(all="ignore"):
        begun = [
            part.checkpoint.first(run) or part.start()
            for part, run in zip(parts, runs, strict=True)
        ]
        return list(zip(runs, begun, prove_together(parts, begun), strict=True))


def _shown(
    point: HardMarginPoint, pursuit: Pursuit[Solution], examples: Examples
) -> Ended[Solution]:
    """Show callbacks what a solver has found that has nothing to show before its end."""

    def solved() -> Generator[Iterate, None, Reason]:
        yield last
        return CLOSED

    found = Solution(point, point.check(examples.X, examples.y))
    last = Iterate(found, believed_gap=np.inf)  # so that only the solver ends it
    return pursuit.follow(solved(), lambda iterate: iterate.model, start=last)


def _interior_point(seen: SolverRows, start: Start | None) -> Iterator[PrimalDual]:
    """Go on from the start while that gets on, and from the middle of the box otherwise.

    A predictor and corrector that begin far from the central path can go in circles.
    """
    if start is not None:
        best, idle = np.inf, 0
        for iterate in interior_point(*seen, start=start):
            yield iterate
            gap = iterate.primal - iterate.dual
            idle = 0 if gap < 0.5 * best else idle + 1
            best = min(best, gap)
            if idle == PATIENCE:
                break
    yield from interior_point(*seen)
