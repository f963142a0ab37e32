"""Features with φ̃(x)·φ̃(x′) ≈ k(x, x′), and the linear machine on them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.certificates import DualPoint, FeaturePoint
from cotas.design.blocks import row_block, row_spans
from cotas.kernel.feature_map import FeatureMap
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel
from cotas.kernel.problems import BinaryProblem
from cotas.kernel.search import Machine
from cotas.losses import Hinge
from cotas.problem import RegularisedRisk
from cotas.solvers.bias import best_bias
from cotas.solvers.semismooth_newton import to_the_last_digit

if TYPE_CHECKING:
    from cotas.kernel.svm import KernelSVM


@dataclass(frozen=True)
class FourierFeatures:
    """cos ω·x and sin ω·x for random ω, whose inner products estimate an RBF without bias.

    k(x, x′) is the mean of cos ω·(x − x′) for ω normal with variance 2γ (Rahimi and Recht 2007).
    """

    frequencies: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, d: int, count: int, random: np.random.RandomState) -> Any:
        """So many features, an even number, for an RBF on d columns."""
        if not isinstance(kernel, RBF):
            raise ValueError(
                f"approximate='fourier' is for an RBF, not for {kernel}: 'nystroem' takes any."
            )
        scale = np.sqrt(2.0) * kernel.inverse_length
        return cls(scale * random.standard_normal((d, max(1, count // 2))))

    def transform(self, X: Matrix) -> FloatArray:
        """The features of each row."""
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
        """So many landmarks by chance, or all the rows."""
        landmarks = np.sort(random.permutation(X.shape[0])[:count])
        return cls(FeatureMap(kernel).fit(X[landmarks]), landmarks)

    def transform(self, X: Matrix) -> FloatArray:
        """The features of each row."""
        return self.map.transform(X)

    def expansion(self, theta: FloatArray) -> FloatArray:
        """The coefficients of the landmarks in θ·φ̃(x) = Σ βᵢ k(xᵢ, x)."""
        return np.asarray(self.map._projection @ theta)


REMARKS = {
    "fourier": "The features are random cosines and sines: nothing is said about the exact kernel.",
    "nystroem": (
        "θ is a combination of the landmarks alone: nothing is said about other θ of the feature "
        "space. certify_exact(X, y) does."
    ),
}


def solve_on_features(
    model: KernelSVM, features: Any, Z: FloatArray, y: Any, problem: BinaryProblem
) -> tuple[FloatArray, Machine]:
    """θ of the features and what is proved about it."""
    began, iteration, reason = time.perf_counter(), 0, "the solver made no further progress"
    part = np.arange(len(Z)) if problem.rows is None else problem.rows
    used = problem.weights > 0
    rows, signs, weights = part[used], problem.signs[used], problem.weights[used]
    own = Z if len(rows) == len(Z) else Z[rows]
    best: tuple[FloatArray, Machine] | None = None
    for theta, alpha, believed in _iterates(model, own, signs, weights, problem.lam):
        iteration += 1
        late = model.max_time is not None and time.perf_counter() - began > model.max_time
        last = late or iteration >= model.max_iterations
        if believed > model.tol and not last:
            continue
        theta0 = best_bias(own @ theta, signs > 0, weights) if model.fit_intercept else 0.0
        spread, shares = np.zeros(len(Z)), np.zeros(len(Z))
        spread[rows], shares[rows] = weights, alpha / weights
        risk = RegularisedRisk(Hinge(), problem.lam, bool(model.fit_intercept))
        point = DualPoint(risk, theta, theta0, problem.positive, shares, weights=spread)
        witness = FeaturePoint(features, point, REMARKS[str(model.approximate)])
        certificate = witness.check_features(Z, y)
        if best is None or certificate.gap < best[1].certificate.gap:
            best = theta, Machine(alpha, theta0, certificate)
        if certificate.relative_gap <= model.tol:
            reason = "the gap asked for is proved"
            break
        if last:
            reason = "max_time reached" if late else "max_iterations reached"
            break
    assert best is not None
    theta, machine = best
    return theta, Machine(machine.signed, machine.intercept, machine.certificate, iteration, reason)


def _iterates(
    model: KernelSVM, Z: FloatArray, signs: FloatArray, weights: FloatArray, lam: float
) -> Iterator[tuple[FloatArray, FloatArray, float]]:
    """θ, α and the relative gap that a solver of the linear machine believes to have."""
    for found in to_the_last_digit(Z, signs, weights, lam, float(model.fit_intercept)):
        yield found.theta, found.alpha, (found.primal - found.dual) / max(1.0, found.primal)
    yield found.theta, found.alpha, 0.0  # the best there is
