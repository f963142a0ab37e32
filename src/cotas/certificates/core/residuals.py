"""Losses of the residual y − z, in the terms of `gap.py`.

Where P ≤ level with the squared loss, the columns A without a penalty and the rest have

    ‖Aγ‖ ≤ ‖y‖ + √(2·level) + ‖Xβ‖,    ‖Xβ‖ ≤ max ‖x‖·‖β‖,    ‖Aγ‖² ≥ μ‖γ‖²,

in the norm Σ sᵢuᵢ²/S, with the smallest curvature μ that `hessian.py` proves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gap import Pair
from cotas.certificates.core.hessian import hessian
from cotas.certificates.core.imbalance import longest
from cotas.certificates.core.rounding import FloatArray, U, above, below, ratio, up
from cotas.certificates.core.sparse_rows import rows_in


@dataclass(frozen=True)
class Squared:
    """½(y − z)²"""

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
        """The value at the farther end."""
        return np.asarray(0.5 * np.square(np.abs(y - z) + off))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return z - y

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        """Every v is in the domain."""
        return c

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """ℓ*(v) = ½v² + vy"""
        linear, square = t * c * y, 0.5 * (t * c) * (t * c / s)
        return -linear - square, np.abs(linear) + square

    def limits(self, claim: Any, rows: Any, w: Any, level: float) -> FloatArray:
        """Bounds of |θⱼ| of the coefficients without a penalty, for models with P ≤ level."""
        regularizer = claim.risk.regularizer
        free = regularizer.free()
        if type(self) is not Squared:
            return np.full(len(free), math.inf)
        part = rows_in(rows.X[:, free], rows.movable, rows.each)
        found = hessian(part, w, np.zeros(len(free)), claim.risk.free_bias, False, None)
        far = above(float(np.abs(np.where(w.s > 0, claim.y, 0.0)).max(initial=0.0)))
        size = up(far + above(math.sqrt(above(2 * level))))
        size = up(size + above(longest(rows) * regularizer.radius(level)))
        reach = above(ratio(size, below(math.sqrt(found.least()))), 2)
        return np.asarray(reach * found.scale[: len(free)] / part.unit * (1 + 4 * U))

    def spread(self, level: float) -> float:
        """How large the average |y − z| can be where the average loss is at most `level`."""
        return up(math.sqrt(up(2.0 * level)))


@dataclass(frozen=True)
class Huber(Squared):
    """½r² up to |r| = k, then k|r| − ½k²"""

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
    """max(0, |y − z| − ε)"""

    epsilon: float = 0.1
    reach: ClassVar[float] = 1.0
    centred: ClassVar[bool] = False

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """The farther end less ε, the rounding of the residual counted before ε is taken away."""
        return np.asarray(np.maximum(0.0, (np.abs(y - z) + off) * (1 + 4 * U) - self.epsilon))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return np.where(np.abs(z - y) > self.epsilon, np.sign(z - y), 0.0)

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        return np.clip(c, -s, s)

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        """ℓ*(v) = vy + ε|v|"""
        linear, bent = t * c * y, self.epsilon * t * np.abs(c)
        return -linear - bent, np.abs(linear) + bent

    def spread(self, level: float) -> float:
        return up(level + self.epsilon)
