"""One class against the rest: several solvers, each of which yields its (θ, α), and one proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import Each, FloatArray, IntArray, Matrix
from cotas.certificates import Certificate, DualPoint, HardMarginPoint
from cotas.certificates.core.rows import Rows
from cotas.certificates.sweep import Facts, Sketch
from cotas.design import as_design
from cotas.design.blocks import times, times_transposed
from cotas.fitting.data import Examples
from cotas.fitting.moved import Moved
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk, relative_gap
from cotas.solvers.bias import best_bias, best_smooth_bias
from cotas.solvers.dual_coordinate_ascent import dual_coordinate_ascent
from cotas.solvers.interior_point import PrimalDual, Start, interior_point
from cotas.solvers.iterate import AT_EACH, Iterate, Look
from cotas.solvers.losses import SMOOTH
from cotas.solvers.newton import newton
from cotas.solvers.newton_round import is_small
from cotas.solvers.newton_steps import newton_on_small_table
from cotas.solvers.risks import RowRisk
from cotas.solvers.semismooth_newton import to_the_last_digit

SOLVERS = ("auto", "newton", "interior-point", "dual-coordinate-ascent")
WALK_ALONG_ROWS = ("newton", "dual-coordinate-ascent")
# Starts with a larger relative gap cost the interior point more steps than they save.
NEAR = 0.01
# So many Newton steps that do not halve the gap are a sign of a bad start.
PATIENCE = 6
# A dense matrix with fewer entries than this part, and rows this long, is read faster as CSR.
MOSTLY_ZERO, LONG_ROWS = 0.25, 50


def as_solved(X: Matrix, solver: str) -> Matrix:
    """X as the solver is quickest with it: a copy in CSR of a dense X that is mostly zero."""
    if sparse.issparse(X) or X.shape[1] < LONG_ROWS or solver not in WALK_ALONG_ROWS:
        return X
    some = X[:: max(1, len(X) // 500)]
    filled = np.count_nonzero(some) / some.size
    return sparse.csr_matrix(X) if filled < MOSTLY_ZERO else X


class Ending(NamedTuple):
    """Where an earlier fit ended: αᵢ/sᵢ, which fits into any box, and the θ and θ₀ of its model."""

    share: FloatArray
    theta: FloatArray
    theta0: float
    lam: float


class Solution(NamedTuple):
    """A model of one class against the rest, with its certificate."""

    point: DualPoint | HardMarginPoint
    certificate: Certificate


class Seen(NamedTuple):
    """What a solver sees: the rows with a weight, y = ±1, sᵢ that sum to one, λ, and the bias."""

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
    shares: FloatArray
    used: IntArray | None
    near: Moved
    rows: Rows
    sketch: Sketch
    each: Each = map
    look: Look = AT_EACH
    tol: float = 0.0
    seed: int = 0

    # ---- solved ------------------------------------------------------------------------------

    def iterates(self, solver: str, end: Ending | None = None) -> Iterator[Iterate]:
        """θ and α from the solver, α over all the rows, with the gap that it believes to have."""
        X, signs, shares = self.near.X, self.signs(), self.shares
        if self.used is not None:
            X, signs, shares = X[self.used], signs[self.used], shares[self.used]
        seen = Seen(X, signs, shares, self.problem.lam, float(self.problem.free_bias))
        start = None if end is None else self._start(end)
        if start is not None and self.used is not None:
            start = start._replace(alpha=start.alpha[self.used])
        if isinstance(self.problem.loss, Hinge):
            return map(self._iterate, self._found(solver, seen, start))
        return self._smooth_newton(seen, start)

    def _found(self, solver: str, seen: Seen, start: Start | None) -> Iterator[PrimalDual]:
        if solver == "interior-point":
            return _interior_point(seen, start)
        if solver == "newton":
            return to_the_last_digit(*seen, start, self.each, self.look, self.tol)
        random = np.random.RandomState(self.seed)
        given = (as_design(seen.X), *seen[1:], random, 0.0, start, self.each, self.tol)
        return (found for found, _ in dual_coordinate_ascent(*given))

    def _smooth_newton(self, seen: Seen, known: Start | None) -> Iterator[Iterate]:
        """Newton's method on the loss as it is; α are the slopes."""
        loss = SMOOTH[self.problem.loss.name]
        start = known and (known.theta, np.array([known.theta0 * seen.bias]))
        if is_small(*seen.X.shape):
            given = (as_design(seen.X), loss, *seen[1:])
            points = newton_on_small_table(*given, start, self.look)
        else:
            risk = RowRisk(seen.signs, seen.shares, loss)
            points = newton(seen.X, risk, seen.lam, bool(seen.bias), start)
        for found in points:
            believed = relative_gap(found.gap, found.objective)
            alpha = self._over_all(-seen.signs * found.slopes[:, 0])
            yield Iterate(found.theta[:, 0], alpha, believed, found.steps)

    def _iterate(self, found: PrimalDual) -> Iterate:
        believed = relative_gap(found.primal - found.dual, found.primal)
        return Iterate(found.theta, self._over_all(found.alpha), believed, found.steps)

    def _over_all(self, alpha: FloatArray) -> FloatArray:
        """α with zeros for the rows that were left out."""
        if self.used is None:
            return alpha
        whole = np.zeros(len(self.shares))
        whole[self.used] = alpha
        return whole

    def signs(self) -> FloatArray:
        """y as ±1."""
        return np.where(self.examples.y == self.label, 1.0, -1.0)

    # ---- where it begins ---------------------------------------------------------------------

    def start(self) -> Iterate:
        """θ = 0, where every solver begins."""
        return Iterate(np.zeros(self.examples.X.shape[1]), np.zeros(len(self.shares)), steps=0)

    def first(self, end: Ending) -> Iterate:
        """Where the earlier fit ended, which may be good enough already."""
        start = self._start(end)
        if end.lam == self.problem.lam:
            return Iterate(start.theta, start.alpha)
        return Iterate(self._theta(start.alpha), start.alpha)

    def _start(self, end: Ending) -> Start:
        """The dual point to begin with.

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
        """The θ of a dual point."""
        return times_transposed(self.near.X, alpha * self.signs()) / self.problem.lam

    # ---- proved ------------------------------------------------------------------------------

    def check(self, iterate: Iterate) -> Solution:
        """Prove what can be proved of (θ, α), θ₀ being the best bias for θ."""
        return prove_together([self], [iterate])[0]

    def point(self, iterate: Iterate) -> DualPoint:
        """θ and α with the best bias, to be proved."""
        theta, given, theta0 = iterate.model, self.examples.weights, 0.0
        if self.problem.free_bias:
            values, positive = times(self.near.X, theta), self.examples.y == self.label
            if isinstance(self.problem.loss, Hinge):
                theta0 = best_bias(values, positive, given)
            else:
                theta0 = best_smooth_bias(values, positive, self.shares, self.problem.loss)
            theta0 = self.near.given(theta, theta0)
        share = np.zeros_like(self.shares)
        np.divide(iterate.dual, self.shares, out=share, where=self.shares > 0)
        return DualPoint(
            problem=self.problem,
            coef=theta,
            intercept=theta0,
            positive=self.label,
            multipliers=share,
            weights=given,
        )


def prove_together(parts: Sequence[AgainstTheRest], iterates: Sequence[Iterate]) -> list[Solution]:
    """What is proved of an iterate of each class; the data are read for all at once."""
    one, facts = parts[0], Facts([part.sketch for part in parts], rows=parts[0].rows)
    points = [part.point(iterate) for part, iterate in zip(parts, iterates, strict=True)]
    found = DualPoint.check_all(points, one.examples.X, one.examples.y, facts, one.each)
    return [Solution(*both) for both in zip(points, found, strict=True)]


def begun_together(
    parts: Sequence[AgainstTheRest], solver: str
) -> list[tuple[Iterator[Iterate], Iterate, Solution]]:
    """The solver of each class after its first iterate to look at, all of them proved together."""
    runs = [part.iterates(solver) for part in parts]
    with np.errstate(all="ignore"):
        begun = [
            part.look.first(run) or part.start() for part, run in zip(parts, runs, strict=True)
        ]
        return list(zip(runs, begun, prove_together(parts, begun), strict=True))


def serves(solver: str, certificate: Certificate | None) -> bool:
    """Whether the solver can begin at an end that proves this in its problem.

    The interior point gains nothing from a start that is not near.
    """
    near = certificate is not None and certificate.relative_gap <= NEAR
    return near or solver != "interior-point"


def _interior_point(seen: Seen, start: Start | None) -> Iterator[PrimalDual]:
    """From the start while that gets on, and from the middle of the box otherwise.

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
