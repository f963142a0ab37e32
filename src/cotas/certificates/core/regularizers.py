"""Regularizers Ω(θ): value and conjugate, both rounded up.

What a conjugate is asked about is −u of a `Pull`: û is known, with |uⱼ − ûⱼ| ≤ eⱼ·unitⱼ and
‖e‖ ≤ off. `level` of `radius` bounds Ω; the answer bounds ‖θ‖.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import (
    FloatArray,
    U,
    above,
    below,
    exact_sum,
    norm_up,
    ratio,
    total_up,
    up,
)


class Pull(NamedTuple):
    """u = û ± unit·e with ‖e‖ ≤ off."""

    u: FloatArray
    unit: FloatArray
    off: float

    def largest(self, weights: FloatArray | None, positive: bool) -> float:
        """max |uⱼ|/wⱼ, or max −uⱼ/wⱼ, rounded up; at least zero."""
        sizes = (-self.u if positive else np.abs(self.u)) + self.unit * (self.off * (1 + 4 * U))
        top = float((sizes if weights is None else sizes / weights).max(initial=0.0))
        return math.inf if math.isnan(top) else above(top, 4)


def _refuse_parameters(theta: FloatArray, weights: FloatArray | None, *numbers: float) -> None:
    """Refuse what is negative or not finite, and weights of another length."""
    given = np.append(numbers, () if weights is None else weights)
    if not ((given >= 0) & (given < math.inf)).all():
        raise Objection("parameters")
    if weights is not None and weights.shape != theta.shape:
        raise Objection("parameters")


def _weighted(theta: FloatArray, weights: FloatArray | None) -> FloatArray:
    return theta if weights is None else theta * weights


@dataclass(frozen=True)
class L2:
    """(λ/2) Σ (σⱼθⱼ)², σⱼ = 1 unless given."""

    lam: float
    weights: FloatArray | None = field(default=None, repr=False)
    degree: ClassVar[int] = 2

    def refuse(self, theta: FloatArray) -> None:
        """Every θ is a point of the problem."""
        _refuse_parameters(theta, self.weights, self.lam)

    def value(self, theta: FloatArray) -> float:
        """Ω, rounded up."""
        size = norm_up(_weighted(theta, self.weights))
        return above(0.5 * self.lam * above(size * size), 3)

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """Ω*(−tu·share), rounded up."""
        if self.lam <= 0:
            return math.inf
        units = pull.unit if self.weights is None else pull.unit / self.weights
        u = pull.u if self.weights is None else pull.u / self.weights
        size, mixed = norm_up(u), norm_up(u * units)
        widest = above(float(units.max(initial=0.0)) * pull.off, 3)
        square = up(
            above(size * size, 3) + above(2 * mixed * pull.off, 3) + above(widest * widest, 3)
        )
        factor = above(t * share, 1)
        return above(ratio(above(factor * factor) * square, below(2.0 * self.lam, 0)), 6)

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """No multiple is excluded."""
        return math.inf

    def radius(self, level: float) -> float:
        """‖θ‖ ≤ √(2·level/λ)/min σ"""
        least = 1.0 if self.weights is None else float(self.weights.min(initial=math.inf))
        if not (self.lam > 0 and least > 0):
            return math.inf
        return above(math.sqrt(above(2 * level / self.lam, 2)) / least, 3)


@dataclass(frozen=True)
class ElasticNet:
    """λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)², β ≥ 0 if `positive`; λ₂ = 0 is the Lasso."""

    lam1: float
    lam2: float = 0.0
    positive: bool = False
    weights: FloatArray | None = field(default=None, repr=False)
    degree: ClassVar[int] = 0

    def refuse(self, theta: FloatArray) -> None:
        """Refuse a negative coefficient where there must be none."""
        _refuse_parameters(theta, self.weights, self.lam1, self.lam2)
        if self.positive and (theta < 0).any():
            raise Objection("sign")

    def value(self, theta: FloatArray) -> float:
        """Ω, rounded up."""
        sizes = np.abs(_weighted(theta, self.weights))
        square = norm_up(sizes)
        first = above(self.lam1 * above(total_up(sizes), 2), 2)
        if not self.lam2:
            return first  # the square may be infinite
        return up(first + above(0.5 * self.lam2 * above(square * square), 3))

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """Ω*(−tu·share), rounded up: Σ (|uⱼ|/wⱼ − λ₁)₊²/2λ₂."""
        factor = above(t * share, 1)
        if self.lam2 <= 0:
            inside = above(factor * pull.largest(self.weights, self.positive)) <= self.lam1
            return 0.0 if inside else math.inf
        u = pull.u if self.weights is None else pull.u / self.weights
        units = pull.unit if self.weights is None else pull.unit / self.weights
        sizes = (-u if self.positive else np.abs(u)) * (1 + 4 * U) + units * (
            pull.off * (1 + 8 * U)
        )
        over = np.maximum(factor * sizes * (1 + 8 * U) - self.lam1, 0.0) * (1 + 4 * U)
        size = norm_up(over)
        return above(ratio(above(size * size), below(2 * self.lam2, 0)), 4)

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """The largest multiple inside the domain; with λ₂, a good one: what λ₂β leaves of u."""
        less = self.lam2 / share * (theta if self.weights is None else theta * self.weights**2)
        top = above(share * pull._replace(u=pull.u + less).largest(self.weights, self.positive))
        return max(0.0, self.lam1 / top * (1 - 16 * U)) if top > 0 else math.inf

    def radius(self, level: float) -> float:
        """‖β‖ ≤ ‖β‖₁ ≤ level/λ₁, and as for ℓ2."""
        least = 1.0 if self.weights is None else float(self.weights.min(initial=math.inf))
        if not least > 0:
            return math.inf
        by_first = above(level / self.lam1 / least, 3) if self.lam1 > 0 else math.inf
        return min(by_first, L2(self.lam2, self.weights).radius(level))


@dataclass(frozen=True)
class Ball:
    """Σ wⱼ|βⱼ| ≤ δ, β ≥ 0 if `positive`. A set of models, so Ω is zero or infinite."""

    delta: float
    positive: bool = False
    weights: FloatArray | None = field(default=None, repr=False)
    degree: ClassVar[int] = 1

    def refuse(self, theta: FloatArray) -> None:
        """Refuse what is not proved to lie inside."""
        _refuse_parameters(theta, self.weights, self.delta)
        ElasticNet(0.0, positive=self.positive).refuse(theta)
        sizes = np.abs(_weighted(theta, self.weights))
        if self.weights is not None:
            sizes = np.nextafter(sizes, math.inf)  # above the exact products
        # The sign of a sum by `fsum` is that of the exact sum.
        if not exact_sum([*sizes.tolist(), -self.delta]) <= 0.0:
            raise Objection("ball", length=exact_sum(sizes.tolist()), delta=self.delta)

    def value(self, theta: FloatArray) -> float:
        """Zero inside."""
        return 0.0

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """δ max |tuⱼ·share|/wⱼ, rounded up."""
        largest = pull.largest(self.weights, self.positive)
        return above(self.delta * above(above(t * share) * largest))

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """No multiple is excluded."""
        return math.inf

    def radius(self, level: float) -> float:
        """‖β‖ ≤ δ/min w"""
        least = 1.0 if self.weights is None else float(self.weights.min(initial=math.inf))
        return above(self.delta / least) if least > 0 else math.inf
