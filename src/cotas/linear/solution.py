"""From the iterates of a solver to models that are proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, DualPoint, HardMarginPoint
from cotas.certificates.sweep import Facts
from cotas.design.blocks import times
from cotas.fitting.data import Examples
from cotas.fitting.moved import Moved
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.solvers.bias import best_bias, best_smooth_bias
from cotas.solvers.iterate import Iterate


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
    weights: FloatArray
    label: Any
    problem: RegularizedRisk
    facts: Facts
    each: Each = map

    def __call__(self, iterate: Iterate) -> Solution:
        X, y = self.examples.X, self.examples.y
        point = self._point(iterate.model, iterate.dual)
        [certificate] = DualPoint.check_all([point], X, y, self.facts, self.each)
        signs = np.where(y == self.label, 1.0, -1.0)
        return Solution(point, certificate, signs * iterate.dual)

    def start(self) -> Iterate:
        """θ = 0, where every solver begins."""
        return Iterate(np.zeros(self.examples.X.shape[1]), np.zeros(len(self.weights)))

    def _point(self, theta: FloatArray, alpha: FloatArray) -> DualPoint:
        given, theta0 = self.examples.weights, 0.0
        if self.problem.free_bias:
            values, positive = times(self.near.X, theta), self.examples.y == self.label
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
