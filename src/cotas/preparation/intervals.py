"""How surely a number was measured, by rows or by groups of rows that belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray

# Parts that are left out one after the other to see how much a measure varies.
MOST_PARTS = 20
# Above this chance of such a difference between equals, a model is not told from the baseline.
CHANCE = 0.05


@dataclass(frozen=True)
class Measure:
    """A number that was measured, and the interval in which it lies with some confidence."""

    value: float
    low: float | None = None
    high: float | None = None


class Intervals:
    """Makes intervals from independent draws: the rows, or the groups if there are any.

    Parameters
    ----------
    confidence : float
    groups : array of shape (n,), optional
        Rows with the same value are one draw.
    """

    def __init__(self, confidence: float, groups: AnyArray | None = None) -> None:
        self.confidence = confidence
        self.codes: IntArray | None = None
        self.count: int | None = None
        if groups is not None:
            found, codes = np.unique(groups, return_inverse=True)
            if len(found) < len(codes):
                self.codes, self.count = codes, len(found)

    def share(self, marks: BoolArray, rows: Any = slice(None)) -> Measure:
        """The share of some rows that are marked, with the interval of Clopper and Pearson.

        With groups, that of Korn and Graubard (1998): the interval of as many independent rows as
        vary as much as the groups do. It is approximate: of few groups, groups of different sizes
        and rare marks it is too short.
        """
        marks = marks[rows]
        value, n = float(np.mean(marks)), float(len(marks))
        if self.codes is not None:
            codes = np.unique(self.codes[rows], return_inverse=True)[1]
            sizes = np.bincount(codes)
            if len(sizes) < 2 <= n:
                return Measure(value)
            if len(sizes) < n:
                n = self._worth(np.bincount(codes, marks) - value * sizes, value, int(n))
        right, tail = value * n, (1 - self.confidence) / 2
        low = float(stats.beta.ppf(tail, right, n - right + 1)) if value > 0 else 0.0
        high = float(stats.beta.isf(tail, right + 1, n - right)) if value < 1 else 1.0
        return Measure(value, low, high)

    def _worth(self, deviations: FloatArray, value: float, n: int) -> float:
        """How many independent rows tell as much as these groups do."""
        count = len(deviations)
        if value in (0.0, 1.0):
            return float(count)
        variance = count / (count - 1) * float(deviations @ deviations) / n**2
        worth = n if variance == 0 else min(float(n), value * (1 - value) / variance)
        tail = (1 + self.confidence) / 2
        return float(worth * (stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, count - 1)) ** 2)

    def varied(
        self,
        measure: Callable[..., float],
        rows: tuple[AnyArray, ...],
        least: float | None = None,
        most: float | None = None,
    ) -> Measure:
        """The measure, and an interval from leaving out a part of the draws after the other.

        The jackknife: with g parts the variance is (g−1)/g times the sum of the squared deviations.
        """
        value, n = float(measure(*rows)), self.count or len(rows[0])
        parts = min(n, MOST_PARTS)
        if parts < 3:
            return Measure(value)
        part = np.random.default_rng(0).permutation(n) % parts
        part = part if self.codes is None else part[self.codes]
        found = [_defined(measure, rows, part != k) for k in range(parts)]
        left = np.array([each for each in found if each is not None])
        if len(left) < 3 or np.ptp(left) == 0:  # which tells nothing of how it varies
            return Measure(value)
        spread = np.sqrt((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum())
        half = float(spread * stats.t.ppf((1 + self.confidence) / 2, len(left) - 1))
        low = value - half if least is None else max(least, value - half)
        high = value + half if most is None else min(most, value + half)
        return Measure(value, float(low), float(high))

    def verdict(self, gain: FloatArray | IntArray) -> str:
        """Whether there is a gain: "better", "unclear" or "no better".

        Rows that were gained and rows that were lost, −1, 0 or 1 each, are told by the sign test;
        other gains, and those of groups, by the test of Student.
        """
        if gain.mean() <= 0:
            return "no better"
        if self.codes is None and gain.dtype.kind == "i":
            won, lost = int((gain > 0).sum()), int((gain < 0).sum())
            chance = stats.binomtest(won, won + lost, alternative="greater").pvalue
            return "better" if chance <= CHANCE else "unclear"
        gain = gain if self.codes is None else np.bincount(self.codes, gain)
        if np.ptp(gain) == 0:  # all alike: the sign of each is a toss of a coin
            return "better" if 0.5 ** len(gain) <= CHANCE else "unclear"
        chance = stats.ttest_1samp(gain, 0.0, alternative="greater").pvalue
        return "better" if chance <= CHANCE else "unclear"


def _defined(
    measure: Callable[..., float], rows: tuple[AnyArray, ...], stay: AnyArray
) -> float | None:
    """The measure on some of the rows, or None where too few classes are left for it."""
    some = tuple(each[stay] for each in rows)
    flat, whole = (truth.min(axis=0) == truth.max(axis=0) for truth in (some[0], rows[0]))
    return None if (flat & ~whole).any() else float(measure(*some))
