"""One class against the rest with a smooth loss: Newton's iterates, and their proofs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, DualPoint, SoftmaxPoint
from cotas.certificates.sweep import Facts
from cotas.fitting.data import Examples
from cotas.fitting.moved import Moved
from cotas.problem import RegularizedRisk, SoftmaxRisk, relative_gap
from cotas.solvers.iterate import Iterate
from cotas.solvers.losses import SMOOTH
from cotas.solvers.newton import newton
from cotas.solvers.proximal_newton import proximal_newton
from cotas.solvers.risks import LogisticRisk, RowRisk, SoftmaxLoss

Start = tuple[FloatArray, FloatArray]  # θ with a column for each score, and θ₀


class ClassSolution(NamedTuple):
    """A model with its certificate, in the shape of `coef_` and `intercept_`."""

    coef: FloatArray
    intercept: FloatArray
    certificate: Certificate


@dataclass(frozen=True)
class AgainstTheRest:
    """One class against the rest: what is minimized, by whom, and how it is proved."""

    examples: Examples
    near: Moved
    label: Any
    problem: RegularizedRisk
    facts: Facts
    each: Each = map

    def iterates(self, start: Start | None) -> Iterator[Iterate]:
        """θ and θ₀, with the slopes of the losses as the dual point."""
        signs = np.where(self.examples.y == self.label, 1.0, -1.0)
        given, name = (signs, self.examples.shares()), self.problem.loss.name
        risk = LogisticRisk(*given) if name == "logistic" else RowRisk(*given, SMOOTH[name])
        return newton_iterates(self.near, risk, self.problem, start)

    def check(self, iterate: Iterate) -> ClassSolution:
        """Prove what can be proved of an iterate."""
        (theta, theta0), slopes, examples = iterate.model, iterate.dual, self.examples
        shares = examples.shares()
        point = DualPoint(
            problem=self.problem,
            coef=theta[:, 0],
            intercept=float(theta0[0]),
            positive=self.label,
            multipliers=np.abs(slopes[:, 0]) / np.where(shares > 0, shares, 1.0),
            weights=examples.weights,
        )
        [found] = DualPoint.check_all([point], examples.X, examples.y, self.facts, self.each)
        return ClassSolution(theta.T, theta0, found)


@dataclass(frozen=True)
class AllClasses:
    """All the classes at once, by softmax."""

    examples: Examples
    near: Moved
    problem: SoftmaxRisk
    facts: Facts
    each: Each = map
    label: None = None  # of all classes

    def iterates(self, start: Start | None) -> Iterator[Iterate]:
        """A column of W for each class, and the biases."""
        examples = self.examples
        risk = SoftmaxLoss(examples.codes, examples.shares(), len(examples.classes))
        return newton_iterates(self.near, risk, self.problem, start)

    def check(self, iterate: Iterate) -> ClassSolution:
        """Prove what can be proved of an iterate; its own probabilities are the dual point."""
        (theta, theta0), examples = iterate.model, self.examples
        coef = np.ascontiguousarray(theta.T)
        model, given = (coef, theta0), (examples.classes, coef, theta0, examples.shares())
        point = SoftmaxPoint(self.problem, *model, *given)
        return ClassSolution(*model, point.check(examples.X, examples.y, self.facts, self.each))


def newton_iterates(
    near: Moved, risk: Any, problem: RegularizedRisk | SoftmaxRisk, start: Start | None
) -> Iterator[Iterate]:
    """The points of Newton's method, or of the proximal one where the penalty has corners."""
    X, start = near.X, start and (start[0], near.seen(*start))
    lam, ratio, free = problem.lam, problem.l1_ratio, problem.free_bias
    if ratio:
        points = proximal_newton(X, risk, lam * ratio, lam * (1.0 - ratio), free, start)
    else:
        points = newton(X, risk, lam, 0.0 if free else None, start)
    for found in points:
        believed = relative_gap(found.gap, found.objective)
        theta0 = near.given(found.theta, found.theta0)
        yield Iterate((found.theta, theta0), found.slopes, believed)
