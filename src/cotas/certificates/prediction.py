"""Where the exact optimum must lie, and which predictions it therefore shares.

A gap of g proves ‖θ − θ*‖ ≤ r = √(2g/λ), with a free bias too: P minimised over θ₀ is still
λ-strongly convex in θ. Without a bias θ*·x differs from θ·x by at most r‖x‖.

A free bias θ₀* minimises Σ sᵢ max(0, 1 − yᵢ(θ*·xᵢ + θ₀)), whose corners are tᵢ = yᵢ − θ*·xᵢ: it
is a quantile of the tᵢ with weights sᵢ at the level Σ sᵢ over the positive examples. Each tᵢ is
known up to r‖xᵢ‖, and a quantile rises with its numbers, so the quantile of the lowered corners
and that of the raised ones enclose every best θ₀*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.duality import DualPoint
from cotas.certificates.sweep import Block, Sweep, Tally


@dataclass(frozen=True)
class Region:
    """All (θ*, θ₀*) that can be optimal: a ball around θ and an interval for the bias."""

    theta: FloatArray
    radius: float
    lowest_bias: float
    highest_bias: float

    def scores(self, X: Matrix) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest θ*·x + θ₀* that an optimum can give to each row."""
        values = np.asarray(X @ self.theta, dtype=np.float64)
        room = self.radius * row_lengths(X)
        # Rounding of the product itself, generously.
        room = room + 1e-12 * (np.abs(values) + row_lengths(X) * np.linalg.norm(self.theta))
        return values - room + self.lowest_bias, values + room + self.highest_bias


def row_lengths(X: Matrix) -> FloatArray:
    """‖x‖ of each row."""
    if sparse.issparse(X):
        return np.asarray(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()))
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64)))


def optimum_region(certificate: Certificate, X: Matrix, y: AnyArray) -> Region | None:
    """The region that a duality certificate proves, from the data it is about; None if none."""
    point = certificate.witness
    if not isinstance(point, DualPoint) or not certificate.holds or point.problem.bias_scale:
        return None
    radius = math.sqrt(2 * (certificate.gap + certificate.charge) / point.problem.lam)
    if not point.problem.free_bias:
        return Region(point.coef, radius, 0.0, 0.0)
    low, high = _bias_interval(point, radius, X, y)
    return Region(point.coef, radius, low, high)


def _bias_interval(point: DualPoint, radius: float, X: Matrix, y: AnyArray) -> tuple[float, float]:
    sweep = Sweep(X, y, [point.positive], point.coef[:, None])
    n = sweep.X.shape[0]
    weights = np.full(n, 1.0 / n) if point.weights is None else point.weights
    lowered, raised = np.empty(n), np.empty(n)

    def read(block: Block) -> Tally:
        corners = block.signs[:, 0] - block.products[:, 0]
        room = radius * block.norms() + 1e-12 * np.abs(corners)
        lowered[block.span], raised[block.span] = corners - room, corners + room
        positive = block.signs[:, 0] > 0
        return {"sum positive": float(weights[block.span][positive].sum())}

    level = float(sweep.tally(read)["sum positive"])
    return quantile(lowered, weights, level, lower=True), quantile(raised, weights, level)


def quantile(numbers: FloatArray, weights: FloatArray, level: float, lower: bool = False) -> float:
    """The lower or the upper end of the weighted quantiles at this level."""
    used = weights > 0
    if not used.all():
        numbers, weights = numbers[used], weights[used]
    # Equal weights need no sort of the numbers to be added up.
    equal = bool(weights.min() == weights.max())
    order = None if equal else np.argsort(numbers)
    up_to = np.cumsum(weights if order is None else weights[order])
    if lower:
        position = int(np.searchsorted(up_to, level * (1 - 1e-12)))
    else:
        position = int(np.searchsorted(up_to, level * (1 + 1e-12), side="right"))
    position = min(position, len(numbers) - 1)
    if order is None:
        return float(np.partition(numbers, position)[position])
    return float(numbers[order[position]])
