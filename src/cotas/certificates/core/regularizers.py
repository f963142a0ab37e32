"""Regularizers Ω(θ): value and conjugate, both rounded up.

A conjugate is asked about −u of a `Pull`. `level` of `radius` bounds Ω; the answer bounds ‖θ‖.
Coefficients may have weights, by which θ is multiplied, and u is divided; none stands for ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import (
    FloatArray,
    IntArray,
    U,
    above,
    below,
    norm_up,
    ratio,
    up,
)


class Pull(NamedTuple):
    """u = û ± unit·e with ‖e‖ ≤ off."""

    u: FloatArray
    unit: FloatArray
    off: float

    def sizes(self, weights: FloatArray | None, positive: bool) -> FloatArray:
        """|uⱼ|/wⱼ, or −uⱼ/wⱼ, rounded up where that is above zero."""
        sizes = (-self.u if positive else np.abs(self.u)) + self.unit * (self.off * (1 + 4 * U))
        return np.asarray((sizes if weights is None else sizes / weights) * (1 + 8 * U))

    def largest(self, weights: FloatArray | None, positive: bool) -> float:
        """The largest of these, rounded up; at least zero."""
        top = float(self.sizes(weights, positive).max(initial=0.0))
        return math.inf if math.isnan(top) else above(top)


def half_square(lam: float, size: float) -> float:
    """½λ·size², rounded up."""
    return above(0.5 * lam * above(size * size), 3)


class Regularizer:
    """What all have in common; the fields of each are numbers ≥ 0."""

    weights: FloatArray | None
    positive: bool = False
    degree: ClassVar[int] = 0  # Ω*(tu) goes with this power of t

    def refuse(self, theta: FloatArray) -> None:
        """Refuse parameters that are none, and a negative coefficient where there must be none."""
        w = np.ones_like(theta) if self.weights is None else self.weights
        sound = all(0 <= v < math.inf for k, v in vars(self).items() if k != "weights")
        if not (sound and w.shape == theta.shape and ((w >= 0) & (w < math.inf)).all()):
            raise Objection("parameters")
        if self.positive and (theta < 0).any():
            raise Objection("sign")

    def weighted(self, theta: FloatArray) -> FloatArray:
        """wθ, one rounding each."""
        return theta if self.weights is None else theta * self.weights

    def least(self) -> float:
        """min w"""
        return 1.0 if self.weights is None else float(self.weights.min(initial=math.inf))

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """The largest t with tu·share in the domain: none is excluded."""
        return math.inf

    def radius(self, level: float) -> float:
        """A bound of ‖θ‖ where Ω ≤ level."""
        raise NotImplementedError

    def free(self) -> IntArray:
        """The coefficients that have no penalty and are allowed to: none here."""
        return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class L2(Regularizer):
    """(λ/2) Σ (wⱼθⱼ)²"""

    lam: float
    weights: FloatArray | None = field(default=None, repr=False)
    degree: ClassVar[int] = 2

    def value(self, theta: FloatArray) -> float:
        """Ω, rounded up."""
        return half_square(self.lam, norm_up(self.weighted(theta)))

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """Ω*(−tu·share), rounded up: ‖û + unit·e‖² ≤ ‖û‖² + 2‖û·unit‖off + (max unit·off)²."""
        if self.lam <= 0:
            return math.inf
        u, unit, off = pull
        if self.weights is not None:
            u, unit = u / self.weights, unit / self.weights
        size, mixed, widest = (
            norm_up(u),
            norm_up(u * unit),
            above(float(unit.max(initial=0.0)) * off, 3),
        )
        square = up(above(size * size, 3) + above(2 * mixed * off, 3) + above(widest * widest, 3))
        factor = above(t * share, 1)
        return above(ratio(above(factor * factor) * square, below(2.0 * self.lam, 0)), 6)

    def radius(self, level: float) -> float:
        """‖θ‖ ≤ √(2·level/λ)/min w"""
        if not (self.lam > 0 and self.least() > 0):
            return math.inf
        return above(math.sqrt(above(2 * level / self.lam, 2)) / self.least(), 3)
