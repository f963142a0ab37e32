"""The ℓ1 norm as a penalty or a ball, in the terms of `gap.py`.

A coefficient of weight zero has no penalty, and the conjugate is infinite unless its uⱼ is zero,
which rounding does not let it be. So uⱼ is charged with a bound of |βⱼ|, as Σ cᵢ is with one of
the bias, which `LIMITS` has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cotas.certificates.core.bounds import Objection, Pull
from cotas.certificates.core.gap import L2, half_square
from cotas.certificates.core.rows import BLOCK_ROWS, pairwise

from cotas.certificates.core.rounding import (  # isort: skip
    SMALL, TINY, FloatArray, IntArray, U, above, below, exact_sum, gamma, norm_up, ratio, total_up,
    up,
)  # fmt: skip

# By the type of a loss, bounds of the coefficients without a penalty from (claim, rows, weights,
# level): `unpenalized.py` adds those of squares.
LIMITS: dict[type, Callable[[Any, Any, Any, float], FloatArray]] = {}


class Sparse:
    """The base of both: weights, by which θ is multiplied and u is divided; None for ones.

    The other fields are numbers ≥ 0.
    """

    weights: FloatArray | None
    positive: bool
    degree: ClassVar[int] = 0

    def refuse(self, theta: FloatArray) -> None:
        """Refuse parameters that are none, and a negative coefficient where there must be none."""
        w = self.weights
        sound = all(0 <= v < math.inf for k, v in vars(self).items() if k != "weights")
        if w is not None:
            sound = sound and w.shape == theta.shape and bool(((w >= 0) & (w < math.inf)).all())
        if not sound:
            raise Objection("parameters")
        if self.positive and (theta < 0).any():
            raise Objection("sign")

    def weighted(self, theta: FloatArray) -> FloatArray:
        """Compute wθ, one rounding each."""
        return theta if self.weights is None else theta * self.weights

    def free(self) -> IntArray:
        """Return the coefficients that have no penalty."""
        return np.flatnonzero([] if self.weights is None else self.weights == 0)

    def penalized(self, u: Any) -> Any:
        """Return the part of a vector, or of a `Pull`, that has a penalty."""
        if not len(self.free()):
            return u
        on = np.asarray(self.weights) != 0
        return u._replace(u=u.u[on], unit=u.unit[on]) if isinstance(u, Pull) else u[on]

    def sizes(self, pull: Pull) -> FloatArray:
        """Compute |uⱼ|/wⱼ, or −uⱼ/wⱼ, rounded up where positive and penalized."""
        w, pull = self.penalized(self.weights), self.penalized(pull)
        sizes = sizes_of(pull, self.positive)
        return np.asarray(sizes if w is None else sizes / w * (1 + 4 * U))

    def largest(self, pull: Pull) -> float:
        """Return the largest of these, rounded up; at least zero."""
        top = float(self.sizes(pull).max(initial=0.0))
        return math.inf if math.isnan(top) else above(top)

    def least(self) -> float:
        """Compute min w, where it is not zero."""
        if self.weights is None:
            return 1.0
        return float(self.penalized(self.weights).min(initial=math.inf))

    def loose(self, claim: Any, rows: Any, w: Any, pull: Pull, level: float) -> float:
        """Return what the coefficients without a penalty take away at most."""
        if not len(self.free()):
            return 0.0
        loss, y = claim.risk.loss, claim.y
        if type(loss) not in LIMITS:
            return math.inf
        losses = total_up(w.s * loss.value(y, np.zeros_like(y), 0.0))
        at_zero = above(losses / w.low, loss.ulps + 4)  # P of θ = 0, b = 0
        limits = LIMITS[type(loss)](claim, rows, w, min(level, at_zero))
        return above(up(1.0 / w.low) * self.taken(pull, limits))

    def taken(self, pull: Pull, limits: FloatArray) -> float:
        """Compute Σ |uⱼ| of these coefficients times bounds of them, rounded up."""
        free = self.free()
        part = pull._replace(u=pull.u[free], unit=pull.unit[free])
        return above(total_up(np.maximum(sizes_of(part, self.positive), 0.0) * limits), 2)


def sizes_of(pull: Pull, positive: bool) -> FloatArray:
    """Compute |uⱼ|, or −uⱼ, rounded up where that is above zero."""
    sizes = (-pull.u if positive else np.abs(pull.u)) + pull.unit * (pull.off * (1 + 4 * U))
    return np.asarray(sizes * (1 + 8 * U))


@dataclass(frozen=True)
class ElasticNetRegularizer(Sparse):
    """The elastic net λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)², β ≥ 0 if `positive`; λ₂ = 0 is the Lasso."""

    lam1: float
    lam2: float = 0.0
    positive: bool = False
    weights: FloatArray | None = field(default=None, repr=False)

    def value(self, theta: FloatArray) -> float:
        """Compute Ω, rounded up."""
        sizes = np.abs(self.weighted(theta))
        first = above(self.lam1 * above(total_up(sizes), 2), 2)
        if not self.lam2:
            return first  # the square may be infinite
        return up(first + half_square(self.lam2, norm_up(sizes)))

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """Compute Ω*(−tu·share), rounded up: Σ (|uⱼ|/wⱼ − λ₁)₊²/2λ₂."""
        factor = above(t * share, 1)
        if self.lam2 <= 0:
            inside = above(factor * self.largest(pull)) <= self.lam1
            return 0.0 if inside else math.inf
        sizes = factor * self.sizes(pull) * (1 + 4 * U)
        size = norm_up(np.maximum(sizes - self.lam1, 0.0))
        return above(ratio(above(size * size, 4), below(2 * self.lam2, 0)), 4)

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """Compute the largest multiple inside the domain; with λ₂ a good one: what λ₂β leaves of
        u."""
        left = pull._replace(u=pull.u + self.lam2 / share * self.weighted(self.weighted(theta)))
        top = above(share * self.largest(left))
        return max(0.0, self.lam1 / top * (1 - 16 * U))

    def radius(self, level: float) -> float:
        """Compute ‖β‖ ≤ ‖β‖₁ ≤ level/λ₁, and as for ℓ2."""
        by_first = (
            ratio(above(level / self.least(), 2), self.lam1) if self.least() > 0 else math.inf
        )
        by_second = ratio(L2(self.lam2).radius(level), self.least())
        return min(above(by_first, 2), above(by_second))


@dataclass(frozen=True)
class Ball(Sparse):
    """The ball Σ wⱼ|βⱼ| ≤ δ, β ≥ 0 if `positive`. A set of models, so Ω is zero or infinite."""

    delta: float
    positive: bool = False
    weights: FloatArray | None = field(default=None, repr=False)
    degree: ClassVar[int] = 1

    def refuse(self, theta: FloatArray) -> None:
        """Refuse also what is not proved to lie inside."""
        super().refuse(theta)
        sizes = np.abs(self.weighted(theta))
        if self.weights is not None:
            sizes = np.nextafter(sizes, math.inf)  # above the exact products
        # The sign of a sum by `fsum` is that of the exact sum.
        if not exact_sum([*sizes.tolist(), -self.delta]) <= 0.0:
            raise Objection("ball", length=exact_sum(sizes.tolist()), delta=self.delta)

    def value(self, theta: FloatArray) -> float:
        """Return zero, which Ω is inside the ball."""
        return 0.0

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """Compute δ max |tuⱼ·share|/wⱼ, rounded up."""
        return above(self.delta * above(above(t * share) * self.largest(pull)))

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """Return the largest t with tu·share in the domain: none is excluded."""
        return math.inf

    def radius(self, level: float) -> float:
        """Compute ‖β‖ ≤ δ/min w"""
        return above(ratio(self.delta, self.least()))


@np.errstate(all="ignore")
def column_lengths(rows: Any, s: FloatArray, low: float) -> tuple[FloatArray, FloatArray]:
    """Compute √(Σ sᵢ(xᵢⱼ − aⱼ)²/S) for a centre a of each column, rounded up, and |a|.

    S ≥ `low`. Sparse columns are measured from zero.
    """
    parts = rows.each(lambda span: rows.read(span).T @ s[span], rows.spans)
    centre = np.zeros(rows.d) if rows.sparse else pairwise(parts)[0] / low

    def read(span: slice) -> FloatArray:
        X = rows.read(span)
        if rows.sparse:
            X = X.copy()
            X.data = np.square(X.data / rows.unit[X.indices])
            return np.asarray(X.T @ s[span])
        return np.asarray(s[span] @ np.square((X - centre) / rows.unit))

    squares, additions = pairwise(rows.each(read, rows.spans))
    lengths = np.sqrt(squares / low) * (1.0 + gamma(BLOCK_ROWS + additions + 12))
    # What underflows is less than SMALL in these units.
    lengths = rows.unit * (lengths + SMALL) * (1.0 + 4 * U) + TINY
    return np.where(np.isfinite(lengths), lengths, math.inf), np.abs(centre)
