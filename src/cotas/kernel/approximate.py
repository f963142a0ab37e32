"""Features with φ̃(x)·φ̃(x′) ≈ k(x, x′), and the linear machine on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.certificates import DualPoint, FeaturePoint
from cotas.certificates.features import REMARKS
from cotas.design.blocks import row_block, row_spans
from cotas.fitting.pursuit import Ended
from cotas.kernel.feature_map import FeatureMap
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel
from cotas.kernel.training import BinaryProblem, KernelModel, KernelSetting, named
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk, relative_gap
from cotas.refusals import ParameterError
from cotas.solvers.bias import best_bias
from cotas.solvers.iterate import Iterate
from cotas.solvers.semismooth_newton import to_the_last_digit


@dataclass(frozen=True)
class FourierFeatures:
    """Features cos ω·x and sin ω·x for random ω, whose inner products estimate an RBF without bias.

    k(x, x′) is the mean of cos ω·(x − x′) for ω normal with variance 2γ (Rahimi and Recht 2007).
    """

    frequencies: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, d: int, count: int, random: np.random.RandomState) -> Any:
        """Draw so many features, an even number, for an RBF on d columns."""
        if not isinstance(kernel, RBF):
            raise ParameterError(
                "approximate",
                f"approximate='fourier' is for an RBF, not for {kernel}: 'nystroem' takes any.",
            )
        scale = np.sqrt(2.0) * kernel.inverse_length
        return cls(scale * random.standard_normal((d, max(1, count // 2))))

    def transform(self, X: Matrix) -> FloatArray:
        """Return the features of each row."""
        m = self.frequencies.shape[1]
        out = np.empty((X.shape[0], 2 * m))
        for span in row_spans(X):
            angles = np.asarray(row_block(X, span) @ self.frequencies)
            out[span, :m], out[span, m:] = np.cos(angles), np.sin(angles)
        out /= np.sqrt(m)
        return out


@dataclass(frozen=True)
class NystroemFeatures:
    """The projection of φ(x) on the span of some training rows, the landmarks."""

    map: FeatureMap
    landmarks: IntArray

    @classmethod
    def of(cls, kernel: Kernel, X: Matrix, count: int, random: np.random.RandomState) -> Any:
        """Draw so many landmarks, or all the rows."""
        landmarks = np.sort(random.permutation(X.shape[0])[:count])
        return cls(FeatureMap(kernel).fit(X[landmarks]), landmarks)

    def transform(self, X: Matrix) -> FloatArray:
        """Return the features of each row."""
        return self.map.transform(X)

    def expansion(self, theta: FloatArray) -> FloatArray:
        """Return the coefficients of the landmarks in θ·φ̃(x) = Σ βᵢ k(xᵢ, x)."""
        return np.asarray(self.map._projection @ theta)


class FeatureCheck:
    """The check of θ and α on the features Z of all the rows."""

    def __init__(
        self, setting: KernelSetting, problem: BinaryProblem, features: Any, Z: FloatArray
    ) -> None:
        self.setting, self.problem = setting, problem
        self.features, self.Z = features, Z
        used = problem.weights > 0
        part = np.arange(len(Z)) if problem.rows is None else problem.rows
        self.rows, self.signs, self.weights = part[used], problem.signs[used], problem.weights[used]
        self.own = Z if len(self.rows) == len(Z) else Z[self.rows]

    def solve(self, part: int, parts: int) -> Ended[KernelModel]:
        """Find the best θ of Newton's method for one of the problems, and what is proved about
        it."""
        start = Iterate(np.zeros(self.Z.shape[1]), np.zeros(len(self.rows)), 1.0)
        pursuit = self.setting.pursuit(self.problem, part, parts)
        return pursuit.follow(self._iterates(), self, start=start)

    def __call__(self, iterate: Iterate) -> KernelModel:
        theta, model = iterate.model, self.setting.model
        theta0 = 0.0
        if model.fit_intercept:
            theta0 = best_bias(self.own @ theta, self.signs > 0, self.weights)
        spread, shares = np.zeros(len(self.Z)), np.zeros(len(self.Z))
        spread[self.rows], shares[self.rows] = self.weights, iterate.dual / self.weights
        risk = RegularizedRisk(Hinge(), self.problem.lam, bool(model.fit_intercept))
        point = DualPoint(risk, theta, theta0, self.problem.positive, shares, weights=spread)
        name = named(self.problem.negative, self.problem.positive)
        witness = FeaturePoint(self.features, point, REMARKS[str(model.approximate)], name)
        certificate = witness.check_features(self.Z, self.setting.examples.y)
        return KernelModel(theta, theta0, certificate)

    def _iterates(self) -> Iterator[Iterate]:
        bias = float(self.setting.model.fit_intercept)
        given = (self.own, self.signs, self.weights, self.problem.lam, bias)
        for found in to_the_last_digit(*given):
            gap = relative_gap(found.primal - found.dual, found.primal)
            yield Iterate(found.theta, found.alpha, gap)
