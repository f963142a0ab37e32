"""One problem, several solvers: each shows its candidates (θ, α) in the same form."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import Each, FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.design import as_design
from cotas.design.blocks import times_transposed
from cotas.linear.search import Candidate
from cotas.problem import relative_gap
from cotas.solvers.cutting_planes import cutting_planes
from cotas.solvers.dual_coordinate_ascent import dual_coordinate_ascent
from cotas.solvers.interior_point import Iterate, Start, interior_point
from cotas.solvers.online import Training
from cotas.solvers.pegasos import PegasosRule
from cotas.solvers.quadratic_program import quadratic_program
from cotas.solvers.run import new_run
from cotas.solvers.semismooth_newton import to_the_last_digit

SOLVERS = (
    "auto",
    "newton",
    "interior-point",
    "dual-coordinate-ascent",
    "cutting-planes",
    "qp",
    "pegasos",
)
WALK_ALONG_ROWS = ("newton", "dual-coordinate-ascent", "pegasos")
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
    """Where an earlier fit ended: αᵢ/sᵢ, which fits into any box, and the θ and θ₀ of its model.

    `epochs` is how long PEGASOS took to get there, and `gap` what it had reached.
    """

    share: FloatArray
    theta: FloatArray
    theta0: float
    lam: float
    gap: float
    epochs: int

    def serves(self, solver: str, certificate: Certificate) -> bool:
        """Whether the solver can begin here, given what this end proves in its problem.

        The first step of PEGASOS forgets where it starts, unless its clock goes on. Only the same
        problem, in which the gap is what it was, allows that: its later steps would be too short
        to forget another one. The interior point gains nothing from a start that is not near.
        """
        if solver == "pegasos":
            return self.epochs > 0 and certificate.gap <= self.gap + certificate.charge
        return solver != "interior-point" or certificate.relative_gap <= NEAR


@dataclass(frozen=True)
class Task:
    """One class against the rest, with sᵢ that sum to one, and where to begin."""

    X: Matrix
    signs: FloatArray
    weights: FloatArray
    lam: float
    bias: float
    seed: int
    start: Ending | None = None
    each: Each = map

    def start_from(self, end: Ending) -> Start:
        """The dual point to begin with.

        Other weights or labels than those of the earlier fit may have put it out of balance:
        with a bias the heavier side is scaled down, so that Σ αᵢyᵢ = 0.
        """
        alpha = np.clip(end.share, 0.0, 1.0) * self.weights
        if self.bias:
            sides = np.array([alpha[self.signs > 0].sum(), alpha[self.signs < 0].sum()])
            share = sides.min() / np.where(sides > 0, sides, 1.0)
            alpha *= np.where(self.signs > 0, share[0], share[1])
        theta = end.theta
        if len(theta) != self.X.shape[1]:
            theta = times_transposed(self.X, alpha * self.signs) / self.lam
        return Start(alpha, end.theta0, theta)


def first_candidate(task: Task, end: Ending) -> Candidate:
    """Where the earlier fit ended, which may be good enough already."""
    start = task.start_from(end)
    theta = start.theta
    if end.lam != task.lam:
        theta = times_transposed(task.X, start.alpha * task.signs) / task.lam
    return Candidate(theta, start.alpha, None)


def candidates(solver: str, task: Task) -> Iterator[Candidate]:
    """θ and α from the solver, α over all the rows, with the gap if the solver knows it."""
    return {
        "newton": _newton,
        "interior-point": _interior_point,
        "dual-coordinate-ascent": _dual_coordinate_ascent,
        "cutting-planes": _cutting_planes,
        "qp": _quadratic_program,
        "pegasos": _pegasos,
    }[solver](task)


def _dual_coordinate_ascent(task: Task) -> Iterator[Candidate]:
    random = np.random.RandomState(task.seed)
    problem = (as_design(task.X), task.signs, task.weights, task.lam, task.bias)
    start = None if task.start is None else task.start_from(task.start)
    for found in dual_coordinate_ascent(*problem, random, start=start):
        yield Candidate(found.theta, found.alpha, found.relative_gap)


def _newton(task: Task) -> Iterator[Candidate]:
    used = _Used(task)
    iterates = to_the_last_digit(*used.problem, start=used.start(task), each=task.each)
    return map(used.candidate, iterates)


def _interior_point(task: Task) -> Iterator[Candidate]:
    """From the start while that gets on, and from the middle of the box otherwise.

    A predictor and corrector that begin far from the central path can go in circles.
    """
    used = _Used(task)
    start = used.start(task)
    if start is not None:
        best, idle = np.inf, 0
        for iterate in interior_point(*used.problem, start=start):
            yield used.candidate(iterate)
            gap = iterate.primal - iterate.dual
            idle = 0 if gap < 0.5 * best else idle + 1
            best = min(best, gap)
            if idle == PATIENCE:
                break
    yield from map(used.candidate, interior_point(*used.problem))


def _cutting_planes(task: Task) -> Iterator[Candidate]:
    used = _Used(task)
    for theta, _, alpha in cutting_planes(*used.problem):
        yield Candidate(theta, used.over_all_rows(alpha), None)


def _quadratic_program(task: Task) -> Iterator[Candidate]:
    used = _Used(task)
    theta, _, alpha = quadratic_program(*used.problem)
    yield Candidate(theta, used.over_all_rows(alpha), None)


class _Used:
    """The task without the rows of weight zero, for solvers that have no use for them."""

    def __init__(self, task: Task) -> None:
        self.n = len(task.weights)
        self.rows = np.flatnonzero(task.weights > 0)
        X = task.X if len(self.rows) == self.n else task.X[self.rows]
        self.problem = (X, task.signs[self.rows], task.weights[self.rows], task.lam, task.bias)

    def start(self, task: Task) -> Start | None:
        """Where the earlier fit ended, for the rows that are left."""
        if task.start is None:
            return None
        known = task.start_from(task.start)
        return known._replace(alpha=known.alpha[self.rows])

    def candidate(self, iterate: Iterate) -> Candidate:
        """What a primal–dual solver has found, for all the rows."""
        relative = relative_gap(iterate.primal - iterate.dual, iterate.primal)
        return Candidate(iterate.theta, self.over_all_rows(iterate.alpha), relative)

    def over_all_rows(self, some: FloatArray) -> FloatArray:
        """α with zeros for the rows that were left out."""
        alpha = np.zeros(self.n)
        alpha[self.rows] = some
        return alpha


def _pegasos(task: Task) -> Iterator[Candidate]:
    """After E epochs of steps 1/(λt), αᵢ = sᵢ·(violations of i)/E is feasible and θ = θ(α).

    A run that goes on begins with as many violations as its α stands for.
    """
    n, used = len(task.weights), np.flatnonzero(task.weights > 0)
    run = new_run(np.ones(1, dtype=np.int16), task.X.shape[1], n, np.dtype(np.float64))
    before = 0
    if task.start is not None:
        start, before = task.start_from(task.start), task.start.epochs
        run.w[0] = times_transposed(task.X, start.alpha * task.signs) / task.lam
        run.b[0] = start.theta0 * task.bias
        np.divide(start.alpha * before, task.weights, out=run.ledger[0], where=task.weights > 0)
        run.seen[0] = before * len(used)
    training = Training(
        rule=PegasosRule(task.bias, task.lam, np.inf),
        rows=as_design(task.X),
        labels=(task.signs > 0).astype(np.int16),
        weights=task.weights * len(used),
        run=run,
        average=None,
        sampling="permutation",
        random=np.random.RandomState(task.seed),
        examples=None if len(used) == n else used,
        steps=lambda t: np.divide(1.0, task.lam * t),
        rest=False,
    )
    for epoch in training.epochs(sys.maxsize):
        share = np.minimum(run.ledger[0] / (before + epoch.number), 1.0)
        yield Candidate(run.scale[0] * run.w[0], share * task.weights, None)
