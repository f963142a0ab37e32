"""Rows of the kernel SVM's dual that are believed to have found their bound.

At the optimum no Fᵢ with aᵢ < high lies below an Fⱼ with aⱼ > low. A row at a bound whose F lies
beyond those of all its possible partners is in no violating pair: as long as that stays so it
does not move, and what its F is does not matter to those that do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.solvers.kernel_dual import SignedDual

# So many of the worst violators do not count: the next rounds are about to move them.
SPARED = 64
# Rows are set aside only if at least this part of the active ones goes at a time.
WORTH_IT = 0.2


class Partners(NamedTuple):
    """The least F that counts among those whose a may rise, the greatest whose a may fall."""

    rising: float
    falling: float


def partners(dual: SignedDual, a: FloatArray, F: FloatArray) -> Partners:
    """The extremes of F, the worst violators left out; symmetric about zero without a bias."""
    rising = -_greatest_but(-F[a < dual.high], SPARED)
    falling = _greatest_but(F[a > dual.low], SPARED)
    if dual.free_bias:
        return Partners(rising, falling)
    farthest = max(-rising, falling, 0.0)
    return Partners(-farthest, farthest)


def settled(dual: SignedDual, a: FloatArray, F: FloatArray) -> IntArray:
    """−1 for a row that rests at its lower bound, +1 at its upper one, 0 for all others.

    Rule of LIBSVM (Chang and Lin 2011) for rows out of reach of any partner. Departures: the
    worst violators do not count as partners, see `SPARED`.
    """
    rising, falling = partners(dual, a, F)
    least, greatest = min(rising, falling), max(rising, falling)
    found = np.zeros(len(a), dtype=np.int8)
    found[(a == dual.low) & (greatest < F)] = -1
    found[(a == dual.high) & (least > F)] = 1
    found[dual.low == dual.high] = -1  # a row without weight never moves
    return found


def _greatest_but(values: FloatArray, spared: int) -> float:
    """The greatest value when so many are left out; the greatest of all if there are no more."""
    if len(values) <= spared:
        return float(values.max(initial=-np.inf))
    return float(np.partition(values, len(values) - 1 - spared)[len(values) - 1 - spared])
