"""The weights wᵢ = sᵢ exp(−yᵢF(xᵢ)) of AdaBoost, kept so that nothing overflows."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from cotas.arrays import FloatArray
from cotas.loops import loop
from cotas.solvers.binning import Each

WORTH_A_THREAD = 1 << 16  # rows


@loop
def advance_rows(
    F: FloatArray,
    y: FloatArray,
    s: FloatArray,
    f: FloatArray,
    a: float,
    shift: float,
    signed: FloatArray,
    w: FloatArray,
) -> tuple[float, float]:
    """F ← F + a·f and w = s·exp(shift − yF); Σ w and the smallest yF of a row with a weight."""
    total, lowest = 0.0, np.inf
    for i in range(len(F)):
        F[i] += a * f[i]
        margin = y[i] * F[i]
        if s[i] > 0:
            lowest = min(lowest, margin)
            w[i] = s[i] * np.exp(shift - margin)
            total += w[i]
        else:
            w[i] = 0.0
        signed[i] = y[i] * w[i]
    return total, lowest


@loop
def wrong_weight(signed: FloatArray, f: FloatArray) -> float:
    """Σ wᵢ over the rows with yᵢ f(xᵢ) < 0."""
    wrong = 0.0
    for i in range(len(f)):
        if signed[i] * f[i] < 0:
            wrong += abs(signed[i])
    return wrong


class ExponentialWeights:
    """F on all the rows and the weights that belong to it, up to a common factor.

    The factor is exp(shift) with shift at most the smallest margin, so that no weight exceeds sᵢ;
    weights that underflow belong to rows whose margin is 700 above the smallest.
    Invariant: w = s·exp(shift − yF) and total = Σ w.
    """

    def __init__(self, y: FloatArray, s: FloatArray, F: FloatArray, each: Each = map) -> None:
        self.y, self.s, self.F = y, s, F
        self.w, self.signed = np.empty_like(F), np.empty_like(F)
        self.each = each
        cuts = 2 if len(F) > WORTH_A_THREAD else 1
        bounds = np.linspace(0, len(F), cuts + 1).astype(int)
        self.parts = [slice(a, b) for a, b in pairwise(bounds)]
        used = s > 0
        self.lowest = float((y[used] * F[used]).min())
        self.advance(np.zeros_like(F), 0.0, 0.0)

    def advance(self, f: FloatArray, a: float, largest: float) -> None:
        """F ← F + a·f, |f| being at most `largest`."""
        self.shift = self.lowest - abs(a) * largest

        def one(part: slice) -> tuple[float, float]:
            return advance_rows(
                self.F[part],
                self.y[part],
                self.s[part],
                f[part],
                a,
                self.shift,
                self.signed[part],
                self.w[part],
            )

        found = list(self.each(one, self.parts))
        self.total = sum(total for total, _ in found)
        self.lowest = min(lowest for _, lowest in found)

    @property
    def log_loss(self) -> float:
        """ln Σ sᵢ exp(−yᵢF(xᵢ))"""
        return math.log(self.total) - self.shift if self.total > 0 else -math.inf

    def error(self, f: FloatArray) -> float:
        """The weighted error of f, between 0 and 1."""
        return float(wrong_weight(self.signed, f) / self.total)
