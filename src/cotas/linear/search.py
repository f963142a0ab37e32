"""Between a solver and the checker: candidates go in, the best proved solution comes out."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, DualPoint, HardMarginPoint
from cotas.certificates.sweep import Facts
from cotas.design.blocks import times
from cotas.fitting.data import Examples
from cotas.fitting.floor import ROUNDING, Floor, why_it_ended
from cotas.fitting.reporting import SolverReport
from cotas.linear.oversight import Oversight
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.solvers.bias import best_bias

if TYPE_CHECKING:
    from cotas.linear.svm import LinearSVM


PROVED = "the gap asked for is proved"
STOPPED = "a callback asked to stop"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Solution:
    """The best model of one class against the rest, and how its solver ended."""

    point: DualPoint | HardMarginPoint
    certificate: Certificate
    signed_alpha: FloatArray
    iterations: int = 0
    reason: str = ""
    epochs: int = 0  # how long PEGASOS has run for it, in this fit and in those it went on from


class Candidate(NamedTuple):
    """θ and α at some moment of a solver, and the relative gap it believes to have reached."""

    theta: FloatArray
    alpha: FloatArray
    relative_gap: float | None


class Search:
    """Shows the candidates of a solver to the checker and keeps the best."""

    def __init__(
        self,
        model: LinearSVM,
        examples: Examples,
        weights: FloatArray,
        label: Any,
        oversight: Oversight,
        facts: Facts,
        each: Each = map,
    ) -> None:
        self.model, self.examples, self.weights, self.label = model, examples, weights, label
        self.oversight, self.callbacks = oversight, oversight.callbacks
        self.facts, self.each = facts, each
        self.began, self.iteration = time.perf_counter(), 0
        self.floor = Floor()
        self.latest: Candidate | None = None
        self.best: Solution | None = None

    def look_at(self, candidate: Candidate) -> str | None:
        """Why the search ends here, or None if it goes on.

        The checker costs as much as a Newton step, so a solver that knows its own gap is checked
        only when that looks good enough or does not become smaller; what counts is what the
        checker says.
        """
        model, believed = self.model, candidate.relative_gap
        self.iteration += 1
        self.latest = candidate
        seconds = time.perf_counter() - self.began
        due = believed is None or self.floor.is_stuck(believed) or believed <= model.tol
        if due or self.callbacks:
            certificate = self._check(candidate)
            report = SolverReport(self.label, self.iteration, seconds, certificate)
            asked = self.oversight.tell(report)
            if certificate.relative_gap <= model.tol:
                return PROVED
            if due and self.floor.reached(certificate, believed):
                return ROUNDING
            if asked:
                return STOPPED
            believed = certificate.relative_gap
        self.oversight.show(believed)
        if self.oversight.interrupted:
            return INTERRUPTED
        if self.iteration >= model.max_iter:
            return "max_iter reached"
        if model.max_time is not None and seconds > model.max_time:
            return "max_time reached"
        return None

    def begin_with(self, candidate: Candidate) -> Certificate:
        """Check where an earlier fit ended; it counts as no iteration."""
        return self._check(candidate)

    def solution(self, reason: str | None) -> Solution:
        """The best of all that was seen; there is no reason if the solver ended by itself."""
        if self.latest is None and self.best is None:
            raise KeyboardInterrupt
        if self.latest is not None and reason != PROVED:
            self._check(self.latest)
        assert self.best is not None
        asked = reason in (INTERRUPTED, STOPPED)
        if self.best.certificate.relative_gap <= self.model.tol and not asked:
            reason = PROVED  # better than the solver believed
        reason = reason or why_it_ended(self.best.certificate)
        return replace(self.best, iterations=self.iteration, reason=reason)

    def _check(self, candidate: Candidate) -> Certificate:
        point = self._point(candidate)
        examples = self.examples
        [certificate] = DualPoint.check_all([point], examples.X, examples.y, self.facts, self.each)
        if self.best is None or certificate.relative_gap < self.best.certificate.relative_gap:
            signs = np.where(examples.y == self.label, 1.0, -1.0)
            self.best = Solution(point, certificate, signs * candidate.alpha)
        return certificate

    def _point(self, candidate: Candidate) -> DualPoint:
        """The model with the best bias for its θ."""
        model, examples, weights = self.model, self.examples, self.weights
        given = examples.weights
        theta, theta0 = candidate.theta, 0.0
        if model.fit_intercept:
            values = times(examples.X, theta)
            theta0 = best_bias(values, examples.y == self.label, given)
        share = np.zeros_like(weights)
        np.divide(candidate.alpha, weights, out=share, where=weights > 0)
        return DualPoint(
            problem=RegularizedRisk(Hinge(), float(model.lam), bool(model.fit_intercept)),
            coef=theta,
            intercept=theta0,
            positive=self.label,
            multipliers=share,
            weights=given,
        )
