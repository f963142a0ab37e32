"""From the iterates of a solver to kernel machines that are proved, for one binary problem."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.certificates import Certificate, KernelDualPoint, KernelRegion, PairPoint
from cotas.certificates.device import Maker, computed_by
from cotas.certificates.sweep import Facts
from cotas.fitting.data import Examples
from cotas.fitting.pursuit import Pursuit, end_of_turn
from cotas.kernel.choice import is_precomputed
from cotas.kernel.interface import Kernel
from cotas.kernel.problems import BinaryProblem, named
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.progress import Monitor
from cotas.solvers.bias import best_bias
from cotas.solvers.iterate import Iterate
from cotas.solvers.working_set import Move
from cotas.stops import Reason

if TYPE_CHECKING:
    from cotas.kernel.svm import KernelSVM


@dataclass(frozen=True)
class Machine:
    """A model of a binary problem, with its certificate.

    `coef` holds βᵢ = yᵢαᵢ/λ of each row that takes part, or θ of the features.
    """

    coef: FloatArray
    intercept: float
    certificate: Certificate
    region: KernelRegion | None = None


@dataclass(frozen=True)
class KernelSetting:
    """What all the binary problems of a fit share."""

    model: KernelSVM
    kernel: Kernel
    examples: Examples
    facts: dict[Any, Facts]
    monitor: Monitor
    began: float
    moves: list[list[Move]] | None = None  # of each problem, where someone wants to see them
    maker: Maker | None = None  # of Gram matrices on a device; None for NumPy and Numba

    def pursuit(
        self, problem: BinaryProblem, part: int, parts: int, threads: int = 1
    ) -> Pursuit[Machine]:
        """What follows the solver of one of the problems, of which `threads` go side by side."""
        until = end_of_turn(self.began, self.model.max_time, part, parts, threads)
        limits = (self.model.tol, self.model.max_iter, until)
        return Pursuit(*limits, self.monitor, began=self.began, label=problem.label)


def helped(run: Iterator[Iterate], check: Any) -> Generator[Iterate, None, Reason | None]:
    """The iterates of a solver that is told the scores of a check, if it listens."""
    iterate = next(run, None)
    while iterate is not None:
        check.scores = None
        yield iterate
        told = isinstance(run, Generator) and check.scores is not None
        try:
            iterate = run.send(check.scores) if told else next(run)  # type: ignore[attr-defined]
        except StopIteration as end:
            reason: Reason | None = end.value
            return reason
    return None


class KernelCheck:
    """Proves what it can of yᵢαᵢ/λ, θ₀ being the best bias for them."""

    def __init__(self, setting: KernelSetting, problem: BinaryProblem, each: Each) -> None:
        self.setting, self.problem, self.each = setting, problem, each
        self.free_bias = bool(setting.model.fit_intercept)
        self.X = problem.of(setting.examples.X, is_precomputed(setting.kernel))
        self.y = setting.examples.y if problem.rows is None else setting.examples.y[problem.rows]
        self.scores: FloatArray | None = None  # Ka of the last iterate, if it was checked

    def start(self) -> Iterate:
        """All multipliers zero."""
        return Iterate(np.zeros(len(self.problem.signs)), -self.problem.signs, 1.0)

    def __call__(self, iterate: Iterate) -> Machine:
        problem = self.problem
        signed, slopes, theta0 = iterate.model.copy(), iterate.dual, 0.0
        if self.free_bias:
            given = None if problem.equal else problem.weights
            theta0 = best_bias(slopes + problem.signs, problem.signs > 0, given)
        point, facts = self._point(signed, theta0), self.setting.facts[problem.positive]
        with computed_by(self.setting.maker):
            certificate, self.scores, region = point.survey(self.X, self.y, facts, self.each)
        return Machine(signed, theta0, certificate, region)

    def _point(self, signed: FloatArray, theta0: float) -> KernelDualPoint | PairPoint:
        problem = self.problem
        used = problem.weights > 0
        share: AnyArray = np.zeros(len(signed))
        np.divide(problem.signs * signed * problem.lam, problem.weights, out=share, where=used)
        pair = problem.rows is not None
        point = KernelDualPoint(
            RegularizedRisk(Hinge(), problem.lam, self.free_bias),
            self.setting.kernel,
            signed,
            theta0,
            problem.positive,
            share,
            weights=None if problem.equal and not pair else problem.weights,
            subject=named(problem.negative, problem.positive) if pair else "",
        )
        if problem.rows is None:
            return point
        return PairPoint(point, problem.rows, self.setting.examples.n_rows)
