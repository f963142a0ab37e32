"""Losses of the residual y − z, in the terms of `gap.py`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gap import Pair
from cotas.certificates.core.rounding import FloatArray, U, up


@dataclass(frozen=True)
class Squared:
    """The squared loss ½(y − z)²"""

    ulps: ClassVar[int] = 8
    reach: ClassVar[float] = math.inf
    quadratic: ClassVar[bool] = True
    moves: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    rescaled: ClassVar[bool] = False

    def refuse(self, y: FloatArray) -> None:
        """Refuse targets that are no numbers, and parameters that are none of a loss."""
        if not np.isfinite(y).all():
            raise Objection("targets")
        if not all(0.0 <= value < math.inf for value in vars(self).values()):
            raise Objection("parameters")

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """Return the value at the farther end."""
        return np.asarray(0.5 * np.square(np.abs(y - z) + off))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return z - y

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        """Return c as it is: every v is in the domain."""
        return c

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """Compute ℓ*(v) = ½v² + vy"""
        linear, square = t * c * y, 0.5 * (t * c) * (t * c / s)
        return -linear - square, np.abs(linear) + square

    def spread(self, level: float) -> float:
        """Tell how large the average |y − z| can be where the average loss is at most `level`."""
        return up(math.sqrt(up(2.0 * level)))


@dataclass(frozen=True)
class Huber(Squared):
    """Huber's loss: ½r² up to |r| = k, then k|r| − ½k²"""

    k: float = 1.0
    reach: ClassVar[float] = 1.0
    centred: ClassVar[bool] = False

    def refuse(self, y: FloatArray) -> None:
        super().refuse(y)
        if not self.k > 0:
            raise Objection("parameters")

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
    """The ε-insensitive loss max(0, |y − z| − ε)"""

    epsilon: float = 0.1
    reach: ClassVar[float] = 1.0
    centred: ClassVar[bool] = False

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """Compute the farther end less ε; the residual's rounding is counted before that."""
        return np.asarray(np.maximum(0.0, (np.abs(y - z) + off) * (1 + 4 * U) - self.epsilon))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return np.where(np.abs(z - y) > self.epsilon, np.sign(z - y), 0.0)

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        return np.clip(c, -s, s)

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """Compute ℓ*(v) = vy + ε|v|"""
        linear, bent = t * c * y, self.epsilon * t * np.abs(c)
        return -linear - bent, np.abs(linear) + bent

    def spread(self, level: float) -> float:
        return up(level + self.epsilon)
