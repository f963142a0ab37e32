"""The weights wᵢ = sᵢ exp(−yᵢF(xᵢ)) of AdaBoost, kept so that nothing overflows."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.loops import loop

WORTH_A_THREAD = 1 << 16  # rows
REFRESHED = 64  # rounds after which the weights are computed anew
SMALL = 1e-60  # total weight below which they are too
SMALL_ERROR = 1e-3  # below it, or as near to one, a difference loses digits
LONG = 30.0  # a step that no product of factors should take


def parts_of(n: int) -> list[slice]:
    """Return the rows in pieces for threads, if there are many."""
    if n <= WORTH_A_THREAD:
        return [slice(0, n)]
    return [slice(a, b) for a, b in pairwise([0, n // 4, n // 2, 3 * n // 4, n])]


def advance_rows(
    F: FloatArray, y: FloatArray, s: FloatArray, f: FloatArray, a: float, shift: float,
    signed: FloatArray, w: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """Update F ← F + a·f and w = s·exp(shift − yF); Σ w and the smallest yF of a row with a weight.

    No used row has a margin below `shift`.
    """
    F += np.multiply(f, a, out=w)
    np.multiply(y, F, out=w)
    lowest = float(np.min(w, where=s > 0, initial=np.inf))
    np.subtract(shift, w, out=w)
    np.exp(np.minimum(w, 0.0, out=w), out=w)  # above zero are rows without a weight only
    w *= s
    np.multiply(y, w, out=signed)
    return float(w.sum()), lowest


@loop
def advance_signs(
    F: FloatArray, f: FloatArray, a: float, signed: FloatArray, right: float, wrong: float
) -> float:
    """Update F ← F + a·f for f = ±1, each weight times `right` or `wrong`; Σ w, as two sums in
    turns."""
    total, more = 0.0, 0.0
    for i in range(len(F)):
        F[i] += a * f[i]
        x = signed[i] * (right if signed[i] * f[i] > 0 else wrong)
        signed[i] = x
        total, more = more, total + abs(x)
    return total + more


def wrong_weight(signed: FloatArray, f: FloatArray, room: FloatArray) -> float:
    """Compute Σ wᵢ over the rows with yᵢ f(xᵢ) < 0, f being ±1; `room` is to work in."""
    np.minimum(np.multiply(signed, f, out=room), 0.0, out=room)
    return -float(room.sum())


@loop
def judge(signed: FloatArray, f: FloatArray) -> tuple[float, float, float]:
    """Compute Σ wyf, Σ w over the rows with yf < 0, and the largest |f|; each sum is two, in
    turns."""
    edge, wrong, more_edge, more_wrong, largest = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(f)):
        x, size = signed[i] * f[i], abs(f[i])
        edge, more_edge = more_edge, edge + x
        wrong, more_wrong = more_wrong, wrong + (abs(signed[i]) if x < 0 else 0.0)
        largest = size if size > largest else largest
    return edge + more_edge, wrong + more_wrong, largest


class ExponentialWeights:
    """Values of F on all the rows and the weights that belong to it, up to a common factor.

    The factor is exp(shift) with shift at most the smallest margin, so that no weight exceeds sᵢ;
    weights that underflow belong to rows whose margin is 700 above the smallest. Functions of ±1
    multiply the weights by two factors only, which needs no exponential; every 64 rounds, and
    before anything gets small, the weights are computed from F again.
    Invariant: w = s·exp(shift − yF) and total = Σ w.
    """

    def __init__(self, y: FloatArray, s: FloatArray, F: FloatArray, each: Each = map) -> None:
        self.y, self.s, self.F = y, s, F
        self.w, self.signed, self.room = np.empty((3, len(F)))
        self.parts = parts_of(len(F))
        self.each = each if len(self.parts) > 1 else map
        used = s > 0
        self.lowest = float((y[used] * F[used]).min())
        self.rounds_since = 0
        self.advance(np.zeros_like(F), 0.0, 0.0)

    def advance(self, f: FloatArray, a: float, largest: float) -> None:
        """Update F ← F + a·f, |f| being at most `largest`."""
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

    def advance_signs(self, f: FloatArray, a: float) -> None:
        """Update F ← F + a·f for f = ±1; `w` is left behind."""
        self.rounds_since += 1
        if self.rounds_since >= REFRESHED or self.total < SMALL or abs(a) > LONG:
            self.lowest = float(np.where(self.s > 0, self.y * self.F, np.inf).min())
            self.advance(f, a, 1.0)
            self.rounds_since = 0
            return
        right, wrong = math.exp(-a), math.exp(a)

        def one(part: slice) -> float:
            return advance_signs(self.F[part], f[part], a, self.signed[part], right, wrong)

        self.total = sum(self.each(one, self.parts))

    @property
    def log_loss(self) -> float:
        """Compute ln Σ sᵢ exp(−yᵢF(xᵢ))"""
        return math.log(self.total) - self.shift if self.total > 0 else -math.inf

    def error(self, f: FloatArray) -> float:
        """Return the weighted error of f = ±1: ½(1 − Σ wyf/Σ w), which takes one pass.

        A small one is added up, for a difference has few of its digits, and no zero.
        """

        def edge(part: slice) -> float:
            return float(np.einsum("i,i->", self.signed[part], f[part]))

        def wrong(part: slice) -> float:
            return wrong_weight(self.signed[part], f[part], self.room[part])

        error: float = 0.5 - 0.5 * sum(self.each(edge, self.parts)) / self.total
        if SMALL_ERROR < error < 1 - SMALL_ERROR:
            return error
        return float(sum(self.each(wrong, self.parts)) / self.total)

    def judged(self, f: FloatArray) -> tuple[float, float, float]:
        """Compute Σ wyf/Σ w, the weighted error of the sign of f, and the largest |f|."""
        found = list(self.each(lambda part: judge(self.signed[part], f[part]), self.parts))
        edge, wrong = (sum(one[k] for one in found) / self.total for k in range(2))
        return edge, wrong, max(largest for *_, largest in found)
