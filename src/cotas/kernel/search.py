"""Between a solver and the checker, for one binary problem of a kernel SVM."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cotas.arrays import AnyArray, FloatArray
from cotas.certificates import Certificate, KernelDualPoint, KernelRegion, PairPoint
from cotas.certificates.sweep import Facts
from cotas.fitting.data import Examples
from cotas.fitting.floor import ROUNDING, Floor, why_it_ended
from cotas.fitting.reporting import ProgressBar, SolverReport, as_callbacks, tell_all
from cotas.kernel.choice import is_precomputed
from cotas.kernel.interface import Kernel
from cotas.kernel.problems import BinaryProblem, against
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.solvers.bias import best_bias
from cotas.solvers.kernel_dual import KernelCandidate

if TYPE_CHECKING:
    from cotas.kernel.svm import KernelSVM

PROVED = "the gap asked for is proved"


@dataclass(frozen=True)
class Machine:
    """The best model of a binary problem, with its certificate, and how the solver ended.

    `coef` holds βᵢ = yᵢαᵢ/λ of each row that takes part, or θ of the features.
    """

    coef: FloatArray
    intercept: float
    certificate: Certificate
    iterations: int = 0
    reason: str = ""
    region: KernelRegion | None = None


@dataclass(frozen=True)
class Setting:
    """What all the binary problems of a fit share."""

    model: KernelSVM
    kernel: Kernel
    examples: Examples
    facts: dict[Any, Facts]
    bar: ProgressBar
    stop: Event  # set by Ctrl-C


class Candidate(Protocol):
    """What a solver has reached, and the relative gap that it believes to have."""

    @property
    def relative_gap(self) -> float: ...


class Search(ABC):
    """Shows the candidates of a solver to the checker and keeps the best."""

    def __init__(self, setting: Setting, problem: BinaryProblem) -> None:
        self.setting, self.problem, self.model = setting, problem, setting.model
        self.callbacks = as_callbacks(setting.model.callbacks)
        self.began, self.iteration = time.perf_counter(), 0
        self.floor = Floor()
        self.latest: Any = None
        self.best: Machine | None = None
        self.scores: FloatArray | None = None  # Ka of the latest candidate, if it was computed

    @abstractmethod
    def check(self, candidate: Any) -> Machine:
        """The model of a candidate, and what the checker makes of it."""

    @abstractmethod
    def nothing(self) -> Any:
        """The candidate with all multipliers zero."""

    def follow(self, run: Generator[Any, Any, None], number: int | None) -> Machine:
        """The best of a solver's run, which is ended as soon as it is good enough.

        `number` says for the progress bar how many problems lie behind.
        """
        reason, candidate = None, None
        try:
            candidate = next(run, None)
            while candidate is not None and reason is None:
                if number is not None:
                    self.setting.bar.reach(number + self._share_done(), candidate.relative_gap)
                reason = self.look_at(candidate)
                candidate = None if reason else go_on(run, self.scores)
        except KeyboardInterrupt:
            reason = "interrupted"
            say_interrupted(self.setting)
        return self.machine(reason)

    def look_at(self, candidate: Candidate) -> str | None:
        """Why the search ends here, or None if it goes on.

        The checker reads all the data, and computes the kernel between all rows and the support
        vectors, so it is asked only when the gap that the solver believes in is good enough or
        has not become smaller for a while, or for callbacks.
        """
        model, believed = self.model, candidate.relative_gap
        self.iteration, self.latest, self.scores = self.iteration + 1, candidate, None
        seconds = time.perf_counter() - self.began
        due = self.floor.is_stuck(believed) or believed <= model.tol
        if due or self.callbacks:
            certificate = self._keep_best(candidate)
            report = SolverReport(self.problem.label, self.iteration, seconds, certificate)
            asked = tell_all(self.callbacks, report)
            if certificate.relative_gap <= model.tol:
                return PROVED
            if due and self.floor.reached(certificate, believed):
                return ROUNDING
            if asked:
                return "a callback asked to stop"
        if self.setting.stop.is_set():
            return "interrupted"
        if self.iteration >= model.max_iter:
            return "max_iter reached"
        if model.max_time is not None and seconds > model.max_time:
            return "max_time reached"
        return None

    def machine(self, reason: str | None) -> Machine:
        """The best of all that was seen; there is no reason if the solver ended by itself."""
        if reason != PROVED:  # interrupted before the first look, all multipliers are zero
            last = self._keep_best(self.nothing() if self.latest is None else self.latest)
            reason = PROVED if last.relative_gap <= self.model.tol else reason
        assert self.best is not None
        reason = reason or why_it_ended(self.best.certificate)
        return replace(self.best, iterations=self.iteration, reason=reason)

    def _keep_best(self, candidate: Any) -> Certificate:
        machine = self.check(candidate)
        found = machine.certificate
        if self.best is None or found.relative_gap < self.best.certificate.relative_gap:
            self.best = machine
        return found

    def _share_done(self) -> float:
        """How many of the decades from a gap of one to `tol` lie behind."""
        if self.latest is None or self.latest.relative_gap >= 1:
            return 0.0
        gap, tol = max(self.latest.relative_gap, 1e-300), min(self.model.tol, 0.5)
        return float(min(1.0, np.log(gap) / np.log(tol)))


def go_on(run: Generator[Any, Any, None], scores: FloatArray | None) -> Any:
    """The next candidate, if there is one; what the checker computed may help the solver."""
    try:
        return run.send(scores)
    except StopIteration:
        return None


def say_interrupted(setting: Setting) -> None:
    """Tell the user, and the problems that are still being solved."""
    setting.stop.set()
    warnings.warn(
        "Interrupted: this is the best model so far, and its certificate is about it.",
        stacklevel=6,
    )


class KernelSearch(Search):
    """For solvers of the dual with the kernel itself."""

    def __init__(self, setting: Setting, problem: BinaryProblem, each: Any) -> None:
        super().__init__(setting, problem)
        self.each = each
        self.X = problem.of(setting.examples.X, is_precomputed(setting.kernel))
        self.y = setting.examples.y if problem.rows is None else setting.examples.y[problem.rows]

    def nothing(self) -> KernelCandidate:
        """All multipliers zero."""
        return KernelCandidate(np.zeros(len(self.problem.signs)), -self.problem.signs, 1.0)

    def check(self, candidate: KernelCandidate) -> Machine:
        """The model with the best bias, and what the checker makes of it."""
        problem = self.problem
        signed, theta0 = candidate.signed.copy(), 0.0
        if self.model.fit_intercept:
            given = None if problem.equal else problem.weights
            theta0 = best_bias(candidate.slopes + problem.signs, problem.signs > 0, given)
        point, facts = self._point(signed, theta0), self.setting.facts[problem.positive]
        certificate, self.scores, region = point.survey(self.X, self.y, facts, self.each)
        return Machine(signed, theta0, certificate, region=region)

    def _point(self, signed: FloatArray, theta0: float) -> KernelDualPoint | PairPoint:
        problem, kernel = self.problem, self.setting.kernel
        used = problem.weights > 0
        share: AnyArray = np.zeros(len(signed))
        np.divide(problem.signs * signed * problem.lam, problem.weights, out=share, where=used)
        risk = RegularizedRisk(Hinge(), problem.lam, bool(self.model.fit_intercept))
        pair = problem.rows is not None
        point = KernelDualPoint(
            risk,
            kernel,
            signed,
            theta0,
            problem.positive,
            share,
            weights=None if problem.equal and not pair else problem.weights,
            subject=against(problem.negative, problem.positive) if pair else "",
        )
        if problem.rows is None:
            return point
        return PairPoint(point, problem.rows, self.setting.examples.n_rows)
