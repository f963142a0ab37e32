"""LS-Boost with any weak learner: gradient boosting for numbers (Friedman 2001, Algorithms 2, 3).

y are numbers, s are weights that sum to one, F holds the model on all the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray
from cotas.solvers.boosting import CHANCE, NoDescentLeft, Round
from cotas.solvers.weak_learners import Fitted, WeakLearner, weighted_median

MOST_COUNTED = 1 << 18  # rows of equal weight whose residuals trees may round


class SquaredError(NamedTuple):
    """The squared error ½r² of the residual r: the best constant is the mean, and f a least-squares
    fit."""

    name: str = "squared"

    def value(self, r: FloatArray) -> FloatArray:
        """Compute ½r²"""
        return np.asarray(0.5 * r * r)

    def constant(self, y: FloatArray, s: FloatArray) -> float:
        """Find the number with the smallest Σ sᵢℓ(yᵢ − it); of equal numbers, that number
        itself."""
        used = y[s > 0]
        return float(np.clip(s @ y / s.sum(), used.min(), used.max()))

    def total(self, r: FloatArray, s: FloatArray, equal: bool) -> float:
        """Compute Σ sᵢℓ(rᵢ); `equal` if all sᵢ are the same."""
        return 0.5 * (float(s[0]) * float(r @ r) if equal else float(s @ (r * r)))

    def fit(self, weak: WeakLearner, r: FloatArray, s: FloatArray, equal: bool) -> Fitted:
        """Return a function with a small Σ sᵢℓ(rᵢ − f(xᵢ))."""
        return weak.least_squares(s * r, s, equal=equal and len(r) <= MOST_COUNTED)


class AbsoluteError(NamedTuple):
    """The absolute error |r| of the residual r: the best constant is the median, and the leaves
    hold medians."""

    name: str = "absolute"

    def value(self, r: FloatArray) -> FloatArray:
        """Compute |r|"""
        return np.abs(r)

    def constant(self, y: FloatArray, s: FloatArray) -> float:
        """Return the number with the smallest Σ sᵢℓ(yᵢ − it)."""
        return weighted_median(y, s)

    def total(self, r: FloatArray, s: FloatArray, equal: bool) -> float:
        """Compute Σ sᵢℓ(rᵢ)"""
        return float(s @ np.abs(r))

    def fit(self, weak: WeakLearner, r: FloatArray, s: FloatArray, equal: bool) -> Fitted:
        """Return a function with a small Σ sᵢℓ(rᵢ − f(xᵢ))."""
        return weak.least_absolute(r, s)


Error = SquaredError | AbsoluteError


class Residuals:
    """Residuals r = y − F on all the rows, and Σ sℓ(r)."""

    def __init__(self, error: Error, y: FloatArray, s: FloatArray, F: FloatArray) -> None:
        self.error, self.y, self.s, self.F = error, y, s, F
        self.equal = bool((s == s[0]).all())
        self.r, self.room = y - F, np.empty_like(F)
        self.loss = self._loss(self.r)

    def _loss(self, r: FloatArray) -> float:
        return self.error.total(r, self.s, self.equal)

    def fit(self, weak: WeakLearner) -> Fitted:
        """Return a function with a small Σ sℓ(r − f)."""
        return self.error.fit(weak, self.r, self.s, self.equal)

    def left(self, f: FloatArray) -> float:
        """Compute Σ sℓ(r − f)"""
        return self._loss(np.subtract(self.r, f, out=self.room))

    def advance(self, f: FloatArray, a: float) -> None:
        """Update F ← F + a·f"""
        self.F += np.multiply(f, a, out=self.room)
        np.subtract(self.y, self.F, out=self.r)
        self.loss = self._loss(self.r)


def boosted_regression(weak: WeakLearner, residuals: Residuals, rate: float) -> Iterator[Round]:
    """Run LS-Boost with functions in place of columns: F ← F + rate·f, f fitted to r = y − F.

        squared:   f ← least squares of r
        absolute:  f ← a tree for sign(r), its leaves the medians of r

    Algorithm 8 of Rugeles Ospina with f in the place of the best column; for |r| LAD_TreeBoost of
    Friedman 2001. Departures: other learners than trees are fitted to sign(r) and multiplied by
    the number that suits r best. `Round.error` is the share of the loss that f leaves of r.
    Invariant: for 0 < rate ≤ 1 the loss never rises: it is convex along F + t·f and no larger at
    t = 1 than at t = 0. Cost: a learner and O(n) a round.
    """
    while True:
        f, before = residuals.fit(weak), residuals.loss
        left = residuals.left(f.values)
        if not left < (1 - CHANCE) * before:
            raise NoDescentLeft("the learner found nothing that would lower the loss")
        residuals.advance(f.values, rate)
        yield Round((f.learner,), rate, left / before, before - left, residuals.loss)
