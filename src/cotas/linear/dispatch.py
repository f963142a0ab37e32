"""One problem, several solvers: each yields its (θ, α) in the same form, and each is proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import Each, FloatArray, IntArray, Matrix
from cotas.certificates import Certificate, DualPoint, HardMarginPoint
from cotas.certificates.sweep import Facts
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


def serves(solver: str, certificate: Certificate | None) -> bool:
    """Whether the solver can begin at an end that proves this in its problem.

    The interior point gains nothing from a start that is not near.
    """
    near = certificate is not None and certificate.relative_gap <= NEAR
    return near or solver != "interior-point"


@dataclass(frozen=True)
class BinaryTask:
    """One class against the rest, with sᵢ that sum to one, where to begin, and the gap to reach."""

    X: Matrix
    signs: FloatArray
    weights: FloatArray
    problem: RegularizedRisk
    seed: int
    start: Ending | None = None
    each: Each = map
    look: Look = AT_EACH
    tol: float = 0.0

    @property
    def lam(self) -> float:
        """λ"""
        return self.problem.lam

    @property
    def bias(self) -> float:
        """One if there is a bias, else zero."""
        return float(self.problem.free_bias)

    def start_from(self, end: Ending) -> Start:
        """The dual point to begin with.

        Other weights or labels than those of the earlier fit may have put it out of balance:
        with a bias the heavier side is scaled down, so that Σ αᵢyᵢ = 0.
        """
        alpha = np.clip(end.share, 0.0, self.problem.loss.steepest) * self.weights
        if self.bias:
            sides = np.array([alpha[self.signs > 0].sum(), alpha[self.signs < 0].sum()])
            share = sides.min() / np.where(sides > 0, sides, 1.0)
            alpha *= np.where(self.signs > 0, share[0], share[1])
        theta = end.theta
        if len(theta) != self.X.shape[1]:
            theta = times_transposed(self.X, alpha * self.signs) / self.lam
        return Start(alpha, end.theta0, theta)


def first_iterate(task: BinaryTask, end: Ending) -> Iterate:
    """Where the earlier fit ended, which may be good enough already."""
    start = task.start_from(end)
    theta = start.theta
    if end.lam != task.lam:
        theta = times_transposed(task.X, start.alpha * task.signs) / task.lam
    return Iterate(theta, start.alpha)


def iterates(solver: str, task: BinaryTask) -> Iterator[Iterate]:
    """θ and α from the solver, α over all the rows, with the gap that it believes to have."""
    return {
        "newton": _newton if isinstance(task.problem.loss, Hinge) else _smooth_newton,
        "interior-point": _interior_point,
        "dual-coordinate-ascent": _dual_coordinate_ascent,
    }[solver](task)


def _dual_coordinate_ascent(task: BinaryTask) -> Iterator[Iterate]:
    random = np.random.RandomState(task.seed)
    problem = (as_design(task.X), task.signs, task.weights, task.lam, task.bias)
    start = None if task.start is None else task.start_from(task.start)
    rest = (0.0, start, task.each, task.tol)
    for found, _ in dual_coordinate_ascent(*problem, random, *rest):
        believed = relative_gap(found.primal - found.dual, found.primal)
        yield Iterate(found.theta, found.alpha, believed)


def _newton(task: BinaryTask) -> Iterator[Iterate]:
    used = _Used(task)
    rest = (used.start(task), task.each, task.look, task.tol)
    found = to_the_last_digit(*used.problem, *rest)
    return map(used.iterate, found)


def _smooth_newton(task: BinaryTask) -> Iterator[Iterate]:
    """Newton's method on the loss as it is; α are the slopes."""
    end, loss = task.start, SMOOTH[task.problem.loss.name]
    known = end is not None and len(end.theta) == task.X.shape[1]
    start = (end.theta, np.array([end.theta0 * task.bias])) if end and known else None
    if is_small(*task.X.shape):
        given = (as_design(task.X), loss, task.signs, task.weights, task.lam, task.bias)
        points = newton_on_small_table(*given, start, task.look)
    else:
        risk = RowRisk(task.signs, task.weights, loss)
        points = newton(task.X, risk, task.lam, 0.0 if task.bias else None, start)
    for found in points:
        believed = relative_gap(found.gap, found.objective)
        alpha = -task.signs * found.slopes[:, 0]
        yield Iterate(found.theta[:, 0], alpha, believed, found.steps)


def _interior_point(task: BinaryTask) -> Iterator[Iterate]:
    """From the start while that gets on, and from the middle of the box otherwise.

    A predictor and corrector that begin far from the central path can go in circles.
    """
    used = _Used(task)
    start = used.start(task)
    if start is not None:
        best, idle = np.inf, 0
        for iterate in interior_point(*used.problem, start=start):
            yield used.iterate(iterate)
            gap = iterate.primal - iterate.dual
            idle = 0 if gap < 0.5 * best else idle + 1
            best = min(best, gap)
            if idle == PATIENCE:
                break
    yield from map(used.iterate, interior_point(*used.problem))


class _Used:
    """The task without the rows of weight zero, for solvers that have no use for them."""

    def __init__(self, task: BinaryTask) -> None:
        self.n, used = len(task.weights), task.weights > 0
        X, signs, weights = task.X, task.signs, task.weights
        self.rows: slice | IntArray = slice(None)
        if not used.all():
            self.rows = np.flatnonzero(used)
            X, signs, weights = X[self.rows], signs[self.rows], weights[self.rows]
        self.problem = (X, signs, weights, task.lam, task.bias)

    def start(self, task: BinaryTask) -> Start | None:
        """Where the earlier fit ended, for the rows that are left."""
        if task.start is None:
            return None
        known = task.start_from(task.start)
        return known._replace(alpha=known.alpha[self.rows])

    def iterate(self, found: PrimalDual) -> Iterate:
        """What a primal–dual solver has found, α with zeros for the rows that were left out."""
        alpha = found.alpha
        if len(alpha) < self.n:
            alpha = np.zeros(self.n)
            alpha[self.rows] = found.alpha
        believed = relative_gap(found.primal - found.dual, found.primal)
        return Iterate(found.theta, alpha, believed, found.steps)


@dataclass(frozen=True)
class Solution:
    """A model of one class against the rest, with its certificate."""

    point: DualPoint | HardMarginPoint
    certificate: Certificate
    signed_alpha: FloatArray


@dataclass(frozen=True)
class Check:
    """Proves what it can of (θ, α), θ₀ being the best bias for θ."""

    examples: Examples
    near: Moved
    signs: FloatArray
    weights: FloatArray
    label: Any
    problem: RegularizedRisk
    facts: Facts
    each: Each = map

    def __call__(self, iterate: Iterate) -> Solution:
        return prove_together([self], [iterate], self.facts)[0]

    def start(self) -> Iterate:
        """θ = 0, where every solver begins."""
        return Iterate(np.zeros(self.examples.X.shape[1]), np.zeros(len(self.weights)), steps=0)

    def point(self, theta: FloatArray, alpha: FloatArray) -> DualPoint:
        """θ and α with the best bias, to be proved."""
        given, theta0 = self.examples.weights, 0.0
        if self.problem.free_bias:
            values, positive = times(self.near.X, theta), self.signs > 0
            if isinstance(self.problem.loss, Hinge):
                theta0 = best_bias(values, positive, given)
            else:
                theta0 = best_smooth_bias(values, positive, self.weights, self.problem.loss)
            theta0 = self.near.given(theta, theta0)
        share = np.zeros_like(self.weights)
        np.divide(alpha, self.weights, out=share, where=self.weights > 0)
        return DualPoint(
            problem=self.problem,
            coef=theta,
            intercept=theta0,
            positive=self.label,
            multipliers=share,
            weights=given,
        )


def prove_together(
    checks: Sequence[Check], iterates: Sequence[Iterate], facts: Facts
) -> list[Solution]:
    """What is proved of an iterate of each class; the data are read for all at once."""
    one, pairs = checks[0], list(zip(checks, iterates, strict=True))
    X, y = one.examples.X, one.examples.y
    points = [check.point(iterate.model, iterate.dual) for check, iterate in pairs]
    found = DualPoint.check_all(points, X, y, facts, one.each)
    alphas = [check.signs * iterate.dual for check, iterate in pairs]
    return [Solution(*parts) for parts in zip(points, found, alphas, strict=True)]


def begun_together(
    runs: Sequence[tuple[Check, Iterator[Iterate]]], look: Look, facts: Facts
) -> list[tuple[Iterate, Solution]]:
    """The first iterate to look at of each run, all of them proved together."""
    with np.errstate(all="ignore"):
        begun = [look.first(run) or check.start() for check, run in runs]
        found = prove_together([check for check, _ in runs], begun, facts)
    return list(zip(begun, found, strict=True))
