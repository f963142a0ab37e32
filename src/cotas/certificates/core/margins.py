"""Losses of the margin that a linear SVM does not need, in the terms of `gap.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gap import L2, Claim, Hinge, Margin, Pair, penalty_of
from cotas.certificates.core.rounding import FloatArray, above, below, ratio


class Curved(Margin):
    """A loss by its `phi`, which is φ, and `dual(a, s)`, − s φ*(−a/s) of a = |c|, and its terms.

    `derivative` is φ', of which any guess will do: to the last digit, so that the same rows prove
    the same whoever multiplies them.
    """

    phi: ClassVar[Callable[..., FloatArray]]
    derivative: ClassVar[Callable[..., FloatArray]]
    dual: ClassVar[Callable[..., Pair]]

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """Compute φ at the lower end of the margins."""
        return self.phi(y * z - off)

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return np.asarray(y * self.derivative(y * z))

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        return self.dual(t * np.abs(c), s)


class SquaredHinge(Curved):
    """The squared hinge max(0, 1 − m)², φ*(−a) = a²/4 − a"""

    steepest, slope_at_zero, reach = math.inf, 2.0, math.inf

    def phi(self, m: FloatArray) -> FloatArray:
        return np.square(np.maximum(0.0, 1.0 - m))

    def derivative(self, m: FloatArray) -> FloatArray:
        return np.maximum(-2.0 * np.maximum(0.0, 1.0 - m), -self.steepest)

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        square = 0.25 * a * (a / s)
        return a - square, a + square


class ModifiedHuber(SquaredHinge):
    """The squared hinge, continued from m = −1 on by its tangent −4m."""

    steepest, reach = 4.0, 1.0

    def phi(self, m: FloatArray) -> FloatArray:
        return np.where(m < -1.0, -4.0 * m, np.square(np.clip(1.0 - m, 0.0, 2.0)))


class Logistic(Curved):
    """The logistic loss log(1 + e⁻ᵐ); −φ*(−p) is the entropy of p"""

    at_zero, slope_at_zero, ulps, quadratic = math.log(2.0), 0.5, 24, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, -m) + np.log1p(np.exp(-np.abs(m)))

    def derivative(self, m: FloatArray) -> FloatArray:
        return np.asarray(-1.0 / (1.0 + np.exp(m)))

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        """Compute the entropy of p, which a unit of p moves by at most p(40 + |log p|) of them."""
        p = np.minimum(np.maximum(a / s, 0.0), 1.0)
        log_p, log_q = np.log(np.where(p > 0, p, 1.0)), np.log1p(-np.where(p < 1, p, 0.0))
        entropy = s * (-p * log_p - (1.0 - p) * log_q)
        return entropy, entropy + s * p * (40.0 - log_p)


class Exponential(Curved):
    """The exponential loss e⁻ᵐ, φ*(−a) = a log a − a"""

    steepest, ulps, reach, quadratic = math.inf, 24, math.inf, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.exp(-m)

    def derivative(self, m: FloatArray) -> FloatArray:
        return np.asarray(-np.exp(-m))

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        log = np.log(np.where(a > 0, a / s, 1.0))
        return a - a * log, a * (4.0 + np.abs(log))


class HardMargin(Hinge):
    """The hard margin: 0 where m ≥ 1, ∞ elsewhere; its conjugate is that of the hinge without an
    upper end."""

    steepest, reach, at_zero, rescaled = math.inf, math.inf, math.inf, True

    def objective(self, claim: Claim, margins: FloatArray) -> float:
        """Compute P of θ/m, rounded up: its margins are at least 1, m being the smallest of θ's."""
        if not isinstance(claim.risk.regularizer, L2):
            raise Objection("parameters")  # other Ω do not shrink with the square of a margin
        smallest = float(margins.min())
        if not smallest > 0:
            raise Objection("not separated")
        return above(ratio(penalty_of(claim), below(smallest * smallest, 2)), 4)


# Those of soft margins, by name.
LOSSES = {
    "hinge": Hinge(),
    "squared hinge": SquaredHinge(),
    "modified Huber": ModifiedHuber(),
    "logistic": Logistic(),
    "exponential": Exponential(),
}
