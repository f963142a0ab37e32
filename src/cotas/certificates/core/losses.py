"""Losses ℓ(y, z) of a score z: an upper bound of the value, and the conjugate rounded the safe way.

`value(y, z, off)` is at least ℓ at every score within `off` of z. The dual variable of a row is
c = s·v, s being its weight, and `gain(y, c, s, t)` gives − s ℓ*(tc/s) and the size of the terms
that it was made of: both up to `ulps` roundings. exp and log are trusted to 4 units in the last
place. `clip` moves c into the domain of ℓ*, exactly; multiples t ≤ `reach` stay inside it.
`slope` guesses v = ℓ'(z); it need not be accurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import FloatArray, U, up

Pair = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Margin:
    """φ(m) of the margin m = yz, y = ±1: convex, never rising, slopes in [−steepest, 0].

    `phi` is φ, and `dual(a, s)` is − s φ*(−a/s) and the size of its terms, of a = |c|.
    """

    steepest: ClassVar[float] = 1.0
    at_zero: ClassVar[float] = 1.0  # φ(0)
    slope_at_zero: ClassVar[float] = 1.0  # |φ'(0)|
    ulps: ClassVar[int] = 8
    reach: ClassVar[float] = 1.0
    quadratic: ClassVar[bool] = True  # t ↦ gain is a quadratic polynomial

    phi: ClassVar[Callable[..., FloatArray]]
    dual: ClassVar[Callable[..., Pair]]

    def refuse(self, y: FloatArray) -> None:
        """Refuse labels that are not ±1."""
        if not (np.abs(y) == 1.0).all():
            raise Objection("labels")

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """φ at the lower end of the margins."""
        return self.phi(y * z - off)

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        m, h = y * z, 1e-6
        return np.asarray(y * (self.phi(m + h) - self.phi(m - h)) / (2 * h))

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        """−yc into [0, steepest·s]; a product with a power of two is exact."""
        most = self.steepest * s if self.steepest < math.inf else math.inf
        return np.asarray(-y * np.clip(-y * c, 0.0, most))

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        return self.dual(t * np.abs(c), s)

    def shortfall(self, level: float) -> float:
        """How far below zero the average margin of a class can be if its φ is `level` on average.

        No farther than (level − φ(0))/|φ'(0)|, since φ(m) ≥ φ(0) − |φ'(0)|m.
        """
        return up(up(max(0.0, level - self.at_zero * (1 - 4 * U))) / self.slope_at_zero)


class Hinge(Margin):
    """max(0, 1 − m), φ*(−a) = −a"""

    def phi(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, 1.0 - m)

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        return a, a


class SquaredHinge(Margin):
    """max(0, 1 − m)², φ*(−a) = a²/4 − a"""

    steepest, slope_at_zero, reach = math.inf, 2.0, math.inf

    def phi(self, m: FloatArray) -> FloatArray:
        return np.square(np.maximum(0.0, 1.0 - m))

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        square = 0.25 * a * (a / s)
        return a - square, a + square


class ModifiedHuber(SquaredHinge):
    """The squared hinge, continued from m = −1 on by its tangent −4m."""

    steepest, reach = 4.0, 1.0

    def phi(self, m: FloatArray) -> FloatArray:
        return np.where(m < -1.0, -4.0 * m, np.square(np.clip(1.0 - m, 0.0, 2.0)))


class Logistic(Margin):
    """log(1 + e⁻ᵐ); −φ*(−p) is the entropy of p"""

    at_zero, slope_at_zero, ulps, quadratic = math.log(2.0), 0.5, 24, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, -m) + np.log1p(np.exp(-np.abs(m)))

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        """One unit of p moves the entropy by at most p(40 + |log p|) of them."""
        p = np.clip(a / s, 0.0, 1.0)
        log_p, log_q = np.log(np.where(p > 0, p, 1.0)), np.log1p(-np.where(p < 1, p, 0.0))
        entropy = s * (-p * log_p - (1.0 - p) * log_q)
        return entropy, entropy + s * p * (40.0 - log_p)


class Exponential(Margin):
    """e⁻ᵐ, φ*(−a) = a log a − a"""

    steepest, ulps, reach, quadratic = math.inf, 24, math.inf, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.exp(-m)

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        log = np.log(np.where(a > 0, a / s, 1.0))
        return a - a * log, a * (4.0 + np.abs(log))


class HardMargin(Hinge):
    """0 where m ≥ 1, ∞ elsewhere; its conjugate is that of the hinge without an upper end."""

    steepest, reach, at_zero = math.inf, math.inf, math.inf
