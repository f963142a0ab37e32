"""The dual of the kernel support vector machine in signed multipliers.

With aᵢ = yᵢαᵢ/λ the model is f(x) = Σ aᵢ k(xᵢ, x) + θ₀ and the dual, divided by −λ, is

    min ½ aᵀKa − yᵀa    s.t.  lowᵢ ≤ aᵢ ≤ highᵢ,   Σ aᵢ = 0 with a free bias,

where low = 0, high = sᵢ/λ for y = +1 and low = −sᵢ/λ, high = 0 for y = −1. The slope in aᵢ is
Fᵢ = Σ aⱼ k(xⱼ, xᵢ) − yᵢ. At the optimum no F that may fall by raising its a (aᵢ < high) is below
one that may rise by lowering its a (aⱼ > low); without a bias the first are ≥ 0, the others ≤ 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import loop
from cotas.problem import relative_gap
from cotas.solvers.bias import best_bias


@loop
def extremes(
    a: FloatArray, F: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, float]:
    """The least F whose a may rise, and the greatest whose a may fall."""
    rising, falling = np.inf, -np.inf
    for i in range(len(a)):
        if a[i] < high[i] and F[i] < rising:
            rising = F[i]
        if a[i] > low[i] and F[i] > falling:
            falling = F[i]
    return rising, falling


@loop
def gap_terms(
    a: FloatArray, F: FloatArray, y: FloatArray, low: FloatArray, high: FloatArray, bias: float
) -> tuple[float, float, float]:
    """Σ (high − low)·H(y(f + bias)), ‖θ‖² = Σ af and Σ aF, with f = F + y."""
    losses, square, slope = 0.0, 0.0, 0.0
    for i in range(len(a)):
        score = F[i] + y[i]
        losses += (high[i] - low[i]) * max(0.0, 1.0 - y[i] * (score + bias))
        square += a[i] * score
        slope += a[i] * F[i]
    return losses, square, slope


class Gram(Protocol):
    """The matrix of k(xᵢ, xⱼ), any part of it computed on request."""

    def __len__(self) -> int: ...

    def side(self, rows: IntArray, dtype: Any) -> Any:
        """Some rows of X, ready to be compared in that precision."""
        ...

    def block(self, side: Any, columns: slice | IntArray) -> AnyArray:
        """k of each of these rows with each of the given columns."""
        ...


class SignedDual(NamedTuple):
    """The labels ±1, the box, λ, and whether the bias is free."""

    y: FloatArray
    low: FloatArray
    high: FloatArray
    lam: float
    free_bias: bool

    @classmethod
    def of(cls, y: FloatArray, weights: FloatArray, lam: float, free_bias: bool) -> SignedDual:
        """The problem with these weights, which sum to one."""
        bound = weights / lam
        low, high = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
        return cls(np.asarray(y, dtype=np.float64), low, high, lam, free_bias)

    def part(self, rows: IntArray) -> SignedDual:
        """The same for some of the rows."""
        return self._replace(y=self.y[rows], low=self.low[rows], high=self.high[rows])

    def violation(self, a: FloatArray, F: FloatArray) -> float:
        """How far the two that violate the conditions of optimality most are apart."""
        rising, falling = extremes(a, F, self.low, self.high)
        if self.free_bias:
            return falling - rising
        return 2 * max(-rising, falling, 0.0)

    def relative_gap(self, a: FloatArray, F: FloatArray, worth: float = 0.0) -> float:
        """(P − D)/P, by the F at hand and the bias between the two extremes.

        With the best bias where that could bring a gap of up to ten times `worth` down to it.
        """
        rising, falling = extremes(a, F, self.low, self.high)
        gap = self._gap_with(a, F, -(rising + falling) / 2 if self.free_bias else 0.0)
        if not (self.free_bias and worth < gap <= 10 * worth):
            return gap
        return self._gap_with(a, F, best_bias(F + self.y, self.y > 0, self.high - self.low))

    def _gap_with(self, a: FloatArray, F: FloatArray, bias: float) -> float:
        losses, square, slope = gap_terms(a, F, self.y, self.low, self.high, bias)
        primal = self.lam * (losses + 0.5 * square)
        return relative_gap(float(self.lam * (losses + slope)), float(primal))

    def feasible(self, a: FloatArray) -> FloatArray:
        """a moved into the box, the heavier side scaled down where the bias asks for it.

        A difference of rounding is left: what lies at its bound shall stay there.
        """
        a = np.clip(a, self.low, self.high)
        if self.free_bias:
            sides = float(a[a > 0].sum()), float(-a[a < 0].sum())
            if min(sides) == 0:
                return np.zeros_like(a)
            if max(sides) - min(sides) <= 1e-13 * len(a) * max(sides):
                return a
            a[a > 0] *= min(sides) / sides[0]
            a[a < 0] *= min(sides) / sides[1]
        return a
