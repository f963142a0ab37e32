"""LS-Boost(ε), FS_ε, FS_εₖ and R-FS_ε,δ: one coefficient at a time, the most correlated one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design.centred import CentredColumns
from cotas.loops import loop

# The Gram matrix is formed at once up to this width; beyond it, column by column as needed.
WIDEST_GRAM = 2000
# Several columns at once cost one pass over X together, which matters when X is not in the cache.
AT_ONCE, CACHED_BYTES = 16, 1 << 24
MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)  # all bits of a double but its sign
# Columns whose largest correlation is known, so that the index is looked for in few of them.
BLOCK = 512
# Correlations that differ by less, relative to the largest, are tied.
TIED = 1e-12
# The residual is uncorrelated with every column, as far as rounding can tell.
CONVERGED = 1e-14


class Schedule(NamedTuple):
    """A schedule of what each step does: u = (proportionalₖ·|cⱼ| + constantₖ)·sgn(cⱼ) after β ←
    keepₖ·β.

    LS-Boost(ε) has proportional = ε; FS_εₖ has constant = εₖ; R-FS has keep = 1 − ε/δ besides.
    `draws` in [0, 1) choose among tied columns: zeros choose the lowest index.
    """

    proportional: FloatArray
    constant: FloatArray
    keep: FloatArray
    draws: FloatArray


class StagewiseSteps(NamedTuple):
    """The whole run: which coefficient moved in each step, and by how much."""

    chosen: IntArray
    steps: FloatArray


class GramColumns(NamedTuple):
    """Columns of X̃ᵀX̃ as rows; slot[j] is the row of column j, or −1 if it is not there."""

    rows: FloatArray
    slot: IntArray


@loop
def magnitudes(c: FloatArray, tops: IntArray) -> np.int64:
    """Compute max |cⱼ| of each block of columns into `tops`, and of all of them, as bits.

    The bits of a double without its sign are ordered as whole numbers. A maximum of whole numbers
    is computed in vector registers; one of doubles is not, because of NaN, which comes out as the
    largest of all here.
    """
    bits = c.view(np.int64)
    largest = np.int64(0)
    for block in range(len(tops)):
        part, top = bits[block * BLOCK : (block + 1) * BLOCK], np.int64(0)
        for j in range(len(part)):
            top = max(top, part[j] & MAGNITUDE)
        tops[block] = top
        largest = max(largest, top)
    return largest


@loop
def choose(c: FloatArray, draw: float) -> int:
    """Return the index of the largest |cⱼ|, ties by the draw; −1 if all are zero."""
    tops = np.empty((len(c) + BLOCK - 1) // BLOCK, dtype=np.int64)
    number = np.empty(1, dtype=np.float64)
    number.view(np.int64)[0] = magnitudes(c, tops)
    if number[0] == 0.0:
        return -1
    number[0] *= 1.0 - TIED
    least, least_bits = number[0], number.view(np.int64)[0]
    tied = 1
    if draw > 0.0:
        tied = 0
        for j in range(len(c)):
            if abs(c[j]) >= least:
                tied += 1
    wanted = int(draw * tied)
    for block in range(len(tops)):
        if tops[block] < least_bits:
            continue
        for j in range(block * BLOCK, min((block + 1) * BLOCK, len(c))):
            if abs(c[j]) >= least:
                if wanted == 0:
                    return j
                wanted -= 1
    return -1


@loop
def follow(
    gram: GramColumns,
    c: FloatArray,
    c0: FloatArray,
    schedule: Schedule,
    path: StagewiseSteps,
    k: int,
    least: float,
) -> int:
    """Take steps from the k-th on, until all are done or the Gram column of the next is missing.

        j ∈ argmax |cⱼ|,   r ← keep·r + (1 − keep)·y − u·X̃ⱼ

    in terms of the correlations c = X̃ᵀr and c⁰ = X̃ᵀy. Algorithms 8 and 9 of Rugeles Ospina.
    Departures: the residual itself is not kept, since the algorithms ask for c only.
    Invariant: c = X̃ᵀ(y − X̃β) after every step. Cost: O(p) a step, whatever n is.
    """
    while k < len(path.chosen):
        j = choose(c, schedule.draws[k])
        if j < 0 or abs(c[j]) <= least:
            break
        at = gram.slot[j]
        if at < 0:
            break
        u = (schedule.proportional[k] * abs(c[j]) + schedule.constant[k]) * np.sign(c[j])
        path.chosen[k], path.steps[k] = j, u
        keep, row = schedule.keep[k], gram.rows[at]
        if keep == 1.0:
            for i in range(len(c)):
                c[i] -= u * row[i]
        else:
            for i in range(len(c)):
                c[i] = keep * c[i] + (1.0 - keep) * c0[i] - u * row[i]
        k += 1
    return k


class GramOfAll:
    """Columns of which nothing is left but their products, some of them constant."""

    def __init__(self, products: FloatArray, scale: FloatArray, constant: IntArray) -> None:
        self.products, self.scale, self.constant = products, scale, constant
        self.n = self.p = len(scale)

    def gram(self, some: IntArray, others: IntArray) -> FloatArray:
        """Compute Σ sᵢ x̃ᵢⱼ x̃ᵢₖ for j in `some` and k in `others`."""
        scale = np.multiply.outer(self.scale[some], self.scale[others])
        return np.asarray(self.products[np.ix_(some, others)] / scale)

    def gram_with_all(self, some: IntArray) -> FloatArray:
        """Return the same for every k."""
        return self.gram(some, np.arange(self.p))


class Stagewise:
    """A run on centred columns of unit length, which can be continued where it was interrupted.

    `c0` are their correlations with y, by the lengths ‖Xⱼ‖₂ = 1 of Rugeles Ospina. The columns
    have Σ sᵢx̃ᵢⱼ² = 1 with Σ sᵢ = 1, so that those are √n times these, n being Σ of the weights as
    they were given, and the Gram matrix is the same.
    """

    def __init__(
        self, columns: CentredColumns | GramOfAll, c0: FloatArray, schedule: Schedule
    ) -> None:
        self.columns, self.schedule = columns, schedule
        self.c0 = c0.copy()
        self.c0[columns.constant] = 0.0
        self.c = self.c0.copy()
        self.least = CONVERGED * float(np.abs(self.c0).max(initial=0.0))
        iterations = len(schedule.keep)
        self.path = StagewiseSteps(np.zeros(iterations, dtype=np.int64), np.zeros(iterations))
        self.done = 0
        everything = np.arange(columns.p)
        if columns.p <= min(WIDEST_GRAM, 2 * columns.n):
            self.gram = GramColumns(columns.gram(everything, everything), everything)
            self.gram.rows[:, columns.constant] = 0.0
        else:
            unplaced = np.full(columns.p, -1, dtype=np.int64)
            self.gram = GramColumns(np.zeros((0, columns.p)), unplaced)
        self.cached = len(self.gram.rows)

    def advance(self, steps: int) -> bool:
        """Take so many steps more, if there are; tell whether the run can go on after them."""
        stop = min(self.done + steps, len(self.path.chosen))
        part = StagewiseSteps(self.path.chosen[:stop], self.path.steps[:stop])
        while self.done < stop:
            before = self.done
            self.done = follow(self.gram, self.c, self.c0, self.schedule, part, before, self.least)
            if self.done < stop and not self._fetch():
                return False
        return self.done < len(self.path.chosen)

    def finished(self) -> StagewiseSteps:
        """Return the steps made so far."""
        return StagewiseSteps(self.path.chosen[: self.done], self.path.steps[: self.done])

    def _fetch(self) -> bool:
        """Add the Gram column that the next step needs, if it is missing, and those likely next."""
        reach = np.abs(self.c)
        missing = self.gram.slot < 0
        j = choose(self.c, float(self.schedule.draws[self.done]))
        if j < 0 or reach[j] <= self.least or not missing[j]:
            return False
        new = np.array([j])
        if 8 * self.columns.n * self.columns.p > CACHED_BYTES:
            candidates = np.flatnonzero(missing)
            few = max(0, len(candidates) - AT_ONCE)
            likely = candidates[np.argpartition(reach[candidates], few)[few:]]
            new = np.union1d(likely, new)
        self._make_room(self.cached + len(new))
        rows = self.columns.gram_with_all(new)
        rows[:, self.columns.constant] = 0.0  # such a column is never chosen
        self.gram.rows[self.cached : self.cached + len(new)] = rows
        self.gram.slot[new] = np.arange(self.cached, self.cached + len(new))
        self.cached += len(new)
        return True

    def _make_room(self, needed: int) -> None:
        capacity = len(self.gram.rows)
        if needed <= capacity:
            return
        rows = np.empty((min(max(needed, 2 * capacity, AT_ONCE), self.columns.p), self.columns.p))
        rows[: self.cached] = self.gram.rows[: self.cached]
        self.gram = GramColumns(rows, self.gram.slot)
