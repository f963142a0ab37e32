"""The dual of kernel support vector machines, for labels and for numbers, in signed multipliers.

With aᵢ = yᵢαᵢ/λ the model is f(x) = Σ aᵢ k(xᵢ, x) + θ₀ and the dual, divided by −λ, is

    min ½ aᵀKa − yᵀa    s.t.  lowᵢ ≤ aᵢ ≤ highᵢ,   Σ aᵢ = 0 with a free bias,

where low = 0, high = sᵢ/λ for y = +1 and low = −sᵢ/λ, high = 0 for y = −1. The slope in aᵢ is
Fᵢ = Σ aⱼ k(xⱼ, xᵢ) − yᵢ. At the optimum no F that may fall by raising its a (aᵢ < high) is below
one that may rise by lowering its a (aⱼ > low); without a bias the first are ≥ 0, the others ≤ 0.

For numbers y and the loss max(0, |y − f| − ε) the box is |aᵢ| ≤ sᵢ/λ and the objective has
ε Σ|aᵢ| besides, which bends where aᵢ is zero (a `Kink`): there the slope upwards is F + ε and the
one downwards F − ε. In both cases the loss of row i in units of λ is, by its conjugate,

    max over low ≤ a ≤ high of a(yᵢ − f) − ε|a|  =  max(0, high(yᵢ − f − ε), low(yᵢ − f + ε)).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import generic, loop_in_place
from cotas.problem import relative_gap
from cotas.solvers.bias import best_bias, best_bias_of_numbers


class Kink(NamedTuple):
    """A kink ε|a| in the objective, which bends at zero; None stands for none."""

    epsilon: float


@generic
def upwards(kink: Any, F: float, a: float) -> float:  # type: ignore[empty-body]
    """Return the slope of the objective to the right of a."""


@generic
def downwards(kink: Any, F: float, a: float) -> float:  # type: ignore[empty-body]
    """Return the slope of the objective to the left of a."""


@generic
def ceiling(kink: Any, a: float, high: float) -> float:  # type: ignore[empty-body]
    """Tell how far a may rise before its slope changes."""


@generic
def floor(kink: Any, a: float, low: float) -> float:  # type: ignore[empty-body]
    """Tell how far a may fall before its slope changes."""


@generic
def width(kink: Any) -> float:  # type: ignore[empty-body]
    """Return ε."""


@upwards.when(type(None))
@downwards.when(type(None))
def smooth_slope(kink: None, F: float, a: float) -> float:
    return F


@ceiling.when(type(None))
@floor.when(type(None))
def end_of_the_box(kink: None, a: float, end: float) -> float:
    return end


@width.when(type(None))
def no_width(kink: None) -> float:
    return 0.0


@upwards.when(Kink)
def kinked_upwards(kink: Kink, F: float, a: float) -> float:
    return F + kink.epsilon if a >= 0.0 else F - kink.epsilon


@downwards.when(Kink)
def kinked_downwards(kink: Kink, F: float, a: float) -> float:
    return F + kink.epsilon if a > 0.0 else F - kink.epsilon


@ceiling.when(Kink)
def kinked_ceiling(kink: Kink, a: float, high: float) -> float:
    return 0.0 if a < 0.0 else high


@floor.when(Kink)
def kinked_floor(kink: Kink, a: float, low: float) -> float:
    return 0.0 if a > 0.0 else low


@width.when(Kink)
def kinked_width(kink: Kink) -> float:
    return kink.epsilon


@loop_in_place
def extremes(
    a: FloatArray, F: FloatArray, low: FloatArray, high: FloatArray, kink: Any
) -> tuple[float, float]:
    """Return the least slope whose a may rise, and the greatest whose a may fall."""
    rising, falling = np.inf, -np.inf
    for i in range(len(a)):
        if a[i] < high[i] and upwards(kink, F[i], a[i]) < rising:
            rising = upwards(kink, F[i], a[i])
        if a[i] > low[i] and downwards(kink, F[i], a[i]) > falling:
            falling = downwards(kink, F[i], a[i])
    return rising, falling


@loop_in_place
def gap_terms(
    a: FloatArray, F: FloatArray, y: FloatArray, low: FloatArray, high: FloatArray, bias: float,
    kink: Any,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the losses, ‖θ‖² = Σ af, and Σ aF + ε Σ|a|, with f = F + y."""
    losses, square, slope, epsilon = 0.0, 0.0, 0.0, width(kink)
    for i in range(len(a)):
        left = -F[i] - bias
        if left > epsilon:
            losses += high[i] * (left - epsilon)
        elif left < -epsilon:
            losses += low[i] * (left + epsilon)
        square += a[i] * (F[i] + y[i])
        slope += a[i] * F[i] + epsilon * abs(a[i])
    return losses, square, slope


class GramRows(Protocol):
    """The matrix of k(xᵢ, xⱼ), any part of it computed on request."""

    def __len__(self) -> int: ...

    def side(self, rows: IntArray, dtype: DTypeLike) -> Any:
        """Return some rows of X, ready to be compared in that precision."""
        ...

    def block(self, side: Any, columns: slice | IntArray) -> AnyArray:
        """Compute k of each of these rows with each of the given columns."""
        ...

    def whole(self) -> AnyArray:
        """Return all of it, in double precision."""
        ...


class SignedDual(NamedTuple):
    """The labels ±1 or the numbers to predict, the box, λ, whether the bias is free, and ε."""

    y: FloatArray
    low: FloatArray
    high: FloatArray
    lam: float
    free_bias: bool
    kink: Kink | None = None

    @classmethod
    def of_numbers(
        cls, y: FloatArray, weights: FloatArray, lam: float, free_bias: bool, epsilon: float
    ) -> SignedDual:
        """Return the problem of the loss that is flat within ε; the weights sum to one."""
        bound = weights / lam
        y = np.asarray(y, dtype=np.float64)
        return cls(y, -bound, bound, lam, free_bias, Kink(epsilon))

    @classmethod
    def of(cls, y: FloatArray, weights: FloatArray, lam: float, free_bias: bool) -> SignedDual:
        """Return the problem with these weights, which sum to one."""
        bound = weights / lam
        low, high = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
        return cls(np.asarray(y, dtype=np.float64), low, high, lam, free_bias)

    def part(self, rows: IntArray) -> SignedDual:
        """Return the same for some of the rows."""
        return self._replace(y=self.y[rows], low=self.low[rows], high=self.high[rows])

    def slopes(self, a: FloatArray, F: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return those of the objective to the right of each a, and to the left."""
        if self.kink is None:
            return F, F
        epsilon = self.kink.epsilon
        return F + np.where(a >= 0, epsilon, -epsilon), F + np.where(a > 0, epsilon, -epsilon)

    def violation(self, a: FloatArray, F: FloatArray) -> float:
        """Tell how far the two that violate the conditions of optimality most are apart."""
        rising, falling = extremes(a, F, self.low, self.high, self.kink)
        if self.free_bias:
            return falling - rising
        return 2 * max(-rising, falling, 0.0)

    def relative_gap(self, a: FloatArray, F: FloatArray, worth: float = 0.0) -> float:
        """Compute (P − D)/P, by the F at hand and the bias between the two extremes.

        With the best bias where that could bring a gap of up to ten times `worth` down to it.
        """
        rising, falling = extremes(a, F, self.low, self.high, self.kink)
        gap = self._gap_with(a, F, -(rising + falling) / 2 if self.free_bias else 0.0)
        if not (self.free_bias and worth < gap <= 10 * worth):
            return gap
        return self._gap_with(a, F, self.best_bias(F))

    def best_bias(self, F: FloatArray) -> float:
        """Return the bias with the least loss for the θ that has these F."""
        if self.kink is None:
            room = self.high - self.low
            return best_bias(F + self.y, self.y > 0, None if room.min() == room.max() else room)
        return best_bias_of_numbers(-F, self.high, self.kink.epsilon)

    def _gap_with(self, a: FloatArray, F: FloatArray, bias: float) -> float:
        losses, square, slope = gap_terms(a, F, self.y, self.low, self.high, bias, self.kink)
        primal = self.lam * (losses + 0.5 * square)
        return relative_gap(float(self.lam * (losses + slope)), float(primal))

    def feasible(self, a: FloatArray) -> FloatArray:
        """Compute a moved into the box, the heavier side scaled down where the bias asks for it.

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
