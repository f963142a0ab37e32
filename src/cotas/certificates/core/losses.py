"""Losses ℓ(y, z) of a score z: an upper bound of the value, and the conjugate rounded the safe way.

`value(y, z, off)` is at least ℓ at every score within `off` of z. The dual variable of a row is
c = s·v, s being its weight, and `gain(y, c, s, t)` gives − s ℓ*(tc/s) and the size of the terms
that it was made of: both up to `ulps` roundings. exp and log are trusted to 4 units in the last
place. `clip` moves c into the domain of ℓ*, exactly; multiples t ≤ `reach` stay inside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import FloatArray, U, up

Pair = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Margin:
    """φ(m) of the margin m = yz, y = ±1: convex, never rising, slopes in [−steepest, 0].

    A φ that is on average at most `level` on a class has an average margin on it of at least
    −`shortfall(level)`, since φ(m) ≥ φ(0) − |φ'(0)|m.
    """

    steepest: ClassVar[float] = 1.0
    at_zero: ClassVar[float] = 1.0  # φ(0)
    slope_at_zero: ClassVar[float] = 1.0  # |φ'(0)|
    ulps: ClassVar[int] = 8
    reach: ClassVar[float] = 1.0
    quadratic: ClassVar[bool] = True  # t ↦ gain is a quadratic polynomial

    def phi(self, m: FloatArray) -> FloatArray:
        """φ(m)"""
        raise NotImplementedError

    def sound(self) -> bool:
        """Whether its parameters are those of a loss; there are none."""
        return True

    def check(self, y: FloatArray) -> None:
        """Refuse labels that are not ±1."""
        if not (np.abs(y) == 1.0).all():
            raise Objection("labels")

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """φ at the lower end of the margins."""
        return self.phi(y * z - off)

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        """A guess of the dual variable v = ℓ'(z); it need not be accurate."""
        m, h = y * z, 1e-6
        return np.asarray(y * (self.phi(m + h) - self.phi(m - h)) / (2 * h))

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        """−yc into [0, steepest·s]; a product with a power of two is exact."""
        most = np.full_like(s, np.inf) if math.isinf(self.steepest) else self.steepest * s
        return np.asarray(-y * np.clip(-y * c, 0.0, most))

    def shortfall(self, level: float) -> float:
        """How far below zero the average margin of a class can be."""
        return up(up(max(0.0, level - self.at_zero * (1 - 4 * U))) / self.slope_at_zero)


class Hinge(Margin):
    """max(0, 1 − m)"""

    def phi(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, 1.0 - m)

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """φ*(−a) = −a"""
        a = t * np.abs(c)
        return a, a


class SquaredHinge(Margin):
    """max(0, 1 − m)²"""

    steepest, slope_at_zero, reach = math.inf, 2.0, math.inf

    def phi(self, m: FloatArray) -> FloatArray:
        return np.square(np.maximum(0.0, 1.0 - m))

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """φ*(−a) = a²/4 − a"""
        a = t * np.abs(c)
        square = 0.25 * a * (a / s)
        return a - square, a + square


class ModifiedHuber(SquaredHinge):
    """The squared hinge, continued from m = −1 on by its tangent −4m."""

    steepest, reach = 4.0, 1.0

    def phi(self, m: FloatArray) -> FloatArray:
        return np.where(m < -1.0, -4.0 * m, np.square(np.clip(1.0 - m, 0.0, 2.0)))


class Logistic(Margin):
    """log(1 + e⁻ᵐ)"""

    at_zero, slope_at_zero, ulps, quadratic = math.log(2.0), 0.5, 24, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, -m) + np.log1p(np.exp(-np.abs(m)))

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """−φ*(−p) is the entropy of p; one unit of p moves it by at most p(40 + |log p|) of them"""
        p = np.clip(t * np.abs(c) / s, 0.0, 1.0)
        log_p, log_q = np.log(np.where(p > 0, p, 1.0)), np.log1p(-np.where(p < 1, p, 0.0))
        entropy = s * (-p * log_p - (1.0 - p) * log_q)
        return entropy, entropy + s * p * (40.0 - log_p)


class Exponential(Margin):
    """e⁻ᵐ"""

    steepest, ulps, reach, quadratic = math.inf, 24, math.inf, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.exp(-m)

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """φ*(−a) = a log a − a"""
        a = t * np.abs(c)
        log = np.log(np.where(a > 0, a / s, 1.0))
        return a - a * log, a * (4.0 + np.abs(log))


class HardMargin(Hinge):
    """0 where m ≥ 1, ∞ elsewhere; its conjugate is that of the hinge without an upper end."""

    steepest, reach = math.inf, math.inf

    def shortfall(self, level: float) -> float:
        """No margin is below zero."""
        return 0.0


@dataclass(frozen=True)
class Squared:
    """½(y − z)²"""

    ulps: ClassVar[int] = 8
    reach: ClassVar[float] = math.inf
    quadratic: ClassVar[bool] = True

    def sound(self) -> bool:
        """Whether its parameters are those of a loss."""
        return True

    def check(self, y: FloatArray) -> None:
        """Refuse targets that are no numbers."""
        if not np.isfinite(y).all():
            raise Objection("targets")

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """The value at the farther end."""
        return np.asarray(0.5 * np.square(np.abs(y - z) + off))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        """v = z − y"""
        return z - y

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        """Every v is in the domain."""
        return c

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """ℓ*(v) = ½v² + vy"""
        linear, square = t * c * y, 0.5 * (t * c) * (t * c / s)
        return -linear - square, np.abs(linear) + square

    def spread(self, level: float) -> float:
        """How large the average |y − z| can be where the average loss is at most `level`."""
        return up(math.sqrt(up(2.0 * level)))


@dataclass(frozen=True)
class Huber(Squared):
    """½r² up to |r| = k, then k|r| − ½k²"""

    k: float = 1.0
    reach: ClassVar[float] = 1.0

    def sound(self) -> bool:
        return 0.0 < self.k < math.inf

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        r = np.abs(y - z) + off
        inside = np.minimum(r, self.k)
        return np.asarray(inside * (0.5 * inside + (r - inside)))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return np.clip(z - y, -self.k, self.k)

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        most = self.k * s * (1.0 - 4 * U)
        return np.clip(c, -most, most)

    def spread(self, level: float) -> float:
        return up(up(level / self.k) + self.k)


@dataclass(frozen=True)
class EpsilonInsensitive(Squared):
    """max(0, |y − z| − ε)"""

    epsilon: float = 0.1
    reach: ClassVar[float] = 1.0

    def sound(self) -> bool:
        return 0.0 <= self.epsilon < math.inf

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """The farther end less ε, the rounding of the residual counted before ε is taken away."""
        return np.asarray(np.maximum(0.0, (np.abs(y - z) + off) * (1 + 4 * U) - self.epsilon))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        r = z - y
        return np.where(np.abs(r) > self.epsilon, np.sign(r), 0.0)

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        return np.clip(c, -s, s)

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """ℓ*(v) = vy + ε|v|"""
        linear, bent = t * c * y, self.epsilon * t * np.abs(c)
        return -linear - bent, np.abs(linear) + bent

    def spread(self, level: float) -> float:
        return up(level + self.epsilon)
