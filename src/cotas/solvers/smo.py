"""Kernel support vector machines, for labels and for numbers, by working sets of many rows.

Rows that are believed to have found their bound are set aside: at the optimum no Fᵢ with aᵢ < high
lies below an Fⱼ with aⱼ > low. A row at a bound whose F lies beyond those of all its possible
partners is in no violating pair: as long as that stays so it does not move, and what its F is does
not matter to those that do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray
from cotas.loops import loop_in_place
from cotas.solvers.iterate import Iterate, KernelIterates
from cotas.solvers.kernel_dual import GramRows, SignedDual
from cotas.solvers.working_set import MoveRecorder, choose, solve_working_set

# So many of the worst violators do not count: the next rounds are about to move them.
SPARED = 64
# Rows are set aside only if at least this part of the active ones goes at a time.
WORTH_IT = 0.2


class Partners(NamedTuple):
    """The least F that counts among those whose a may rise, the greatest whose a may fall."""

    rising: float
    falling: float


def partners(dual: SignedDual, a: FloatArray, F: FloatArray) -> Partners:
    """Find the extremes of F, the worst violators left out; symmetric about zero without a bias."""
    rising = -_greatest_but(-F[a < dual.high], SPARED)
    falling = _greatest_but(F[a > dual.low], SPARED)
    if dual.free_bias:
        return Partners(rising, falling)
    farthest = max(-rising, falling, 0.0)
    return Partners(-farthest, farthest)


def settled(dual: SignedDual, a: FloatArray, F: FloatArray) -> IntArray:
    """Compute −1 for a row that rests at its lower bound, +1 at its upper one, 0 for all others.

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
    """Find the greatest value when so many are left out; the greatest of all if there are no
    more."""
    if len(values) <= spared:
        return float(values.max(initial=-np.inf))
    return float(np.partition(values, len(values) - 1 - spared)[len(values) - 1 - spared])


class RowCache:
    """A cache of as many rows of length n as fit into `size` bytes.

    Invariant: `slots[place_of[i]]` is row i where place_of[i] ≥ 0, or those columns of it that
    were kept; never more than `size` bytes.
    """

    def __init__(self, n: int, size: int, dtype: Any) -> None:
        capacity = min(n, size // (n * np.dtype(dtype).itemsize))
        self.slots: AnyArray = np.empty((capacity, n), dtype=dtype)
        self.place_of = np.full(n, -1, dtype=np.int64)
        self._owner = np.full(capacity, -1, dtype=np.int64)
        self._used = np.full(capacity, -1, dtype=np.int64)
        self._now = 0

    def places(self, rows: IntArray) -> IntArray:
        """Find where these rows lie, −1 for those that have to be computed; all count as used
        now."""
        self._now += 1
        found = self.place_of[rows]
        self._used[found[found >= 0]] = self._now
        return found

    def make_room(self, rows: IntArray) -> IntArray:
        """Find places for new rows, for as many of the first ones as there is room.

        A row that was used in this round is not thrown out.
        """
        order = np.argsort(self._used, kind="stable")[: len(rows)]
        places = order[self._used[order] < self._now]
        old = self._owner[places]
        self.place_of[old[old >= 0]] = -1
        taken = rows[: len(places)]
        self._owner[places], self.place_of[taken] = taken, places
        self._used[places] = self._now
        return places

    def narrow(self, columns: IntArray) -> None:
        """Keep these columns of the rows and no others; what that frees is room for more rows.

        Rows are copied to the front of the same memory, from the first place on.
        """
        memory, width = self.slots.reshape(-1), len(columns)
        for place in np.flatnonzero(self._owner >= 0):
            memory[place * width : (place + 1) * width] = self.slots[place, columns]
        capacity = min(len(self.place_of), len(memory) // max(1, width))
        self.slots = memory[: capacity * width].reshape(capacity, width)
        more = np.full(capacity - len(self._owner), -1, dtype=np.int64)
        self._owner, self._used = (np.append(old, more) for old in (self._owner, self._used))


# The working set has so many rows. In small problems it starts with a part of the rows and grows by
# some in each round, since most of them need few; no more rows than these are one working set.
WORKING_SET, SMALLEST, FIRST_PART, GROWTH = 1024, 64, 16, 1.25
# The working set is solved to this part of the violation that all the examples have.
INNER = 0.1
# If that is all of them, to this part at first, and of labels then as far as the gap asks for.
WHOLE = 1e-3
# Rounds without half the gap after which single precision is no longer trusted.
PATIENCE = 200
# With fewer rows it takes longer to find those that can be set aside than to keep them.
FEWEST_TO_SHRINK = 4096
# With a larger gap many rows that seem to have settled will move again.
SETTLING = 1e-2
# A block of kernel values of this size stays in the cache of a core while it is used.
BLOCK_ENTRIES = 1 << 18


@loop_in_place
def add_rows(
    rows: AnyArray, which: IntArray, factors: FloatArray, start: int, out: FloatArray
) -> None:
    """Update out ← out + Σ factor · row over the columns from `start`, summed in double
    precision."""
    for r in range(len(which)):
        row, factor = rows[which[r]], factors[r]
        for k in range(len(out)):
            out[k] += factor * row[start + k]


@loop_in_place
def store_rows(block: AnyArray, places: IntArray, start: int, slots: AnyArray) -> None:
    """Store columns from `start` of the rows at these places; NumPy would hold the global lock."""
    for r in range(len(places)):
        row = slots[places[r]]
        for k in range(block.shape[1]):
            row[start + k] = block[r, k]


def smo(
    gram: GramRows,
    dual: SignedDual,
    tol: float,
    cache_bytes: int,
    each: Each = map,
    start: FloatArray | None = None,
    shrinking: bool = True,
    watch: MoveRecorder | None = None,
) -> KernelIterates:
    """Yield a = yα/λ and F at the start and for each working set; who asks may send back Ka.

        max Σ αᵢ − (1/2λ) ΣΣ αᵢαⱼyᵢyⱼ k(xᵢ, xⱼ)    s.t.  0 ≤ αᵢ ≤ sᵢ,  Σ αᵢyᵢ = 0 with a bias

    or the same for numbers, as `SignedDual` says it.

    Decomposition as in SVMlight (Joachims 1999) with the large working sets of GPU-SVM and
    ThunderSVM (Wen et al. 2018): the examples that violate the conditions of optimality most are
    optimized among themselves by second-order SMO (`solve_working_set`); then one product with
    the rows of those that moved brings F = f − y up to date for all. Only the rows that moved are
    computed, and kept in a cache. With `shrinking`, rows that seem to have found their bound are
    set aside, and their F is left as it is.
    Departures: the rows are in single precision (unless there are few), F in double. When the gap
    that F promises reaches `tol` and the caller still asks for more, F is computed again in double
    precision, or taken from the scores sent back; all the rows take part again, and none is set
    aside any more. If single precision has no more to give, the rows are in double from then on.
    For numbers no row is set aside.
    Invariant: 0 ≤ αᵢ ≤ sᵢ; Σ αᵢyᵢ = 0 up to rounding. Cost: O(n) kernel values for each row that
    enters a working set and moves, less what the cache remembers.
    """
    if len(gram) <= WORKING_SET:
        return ascend(OneWorkingSet(gram.whole(), dual, watch, start), tol)
    work = Decomposition(gram, dual, cache_bytes, each, shrinking, watch)
    if start is not None:
        work.begin_at(start)
    return ascend(work, tol)


class Work(Protocol):
    """The work that the outer loop asks for: of the loops of a CPU, or of the programs of a GPU.

    `exact` tells whether F was just computed in double precision, `complete` whether all the rows
    take part.
    """

    exact: bool

    @property
    def a(self) -> FloatArray: ...

    @property
    def F(self) -> FloatArray: ...

    @property
    def complete(self) -> bool: ...

    def relative_gap(self, worth: float = 0.0) -> float: ...

    def improve(self, share: float) -> bool: ...

    def recompute(self, scores: FloatArray | None = None) -> None: ...

    def use_double_precision(self) -> bool: ...


def ascend(work: Work, tol: float) -> KernelIterates:
    """Run the outer loop: solve working sets until F promises `tol`, and doubt F when that is not
    true.

    The caller may send back the exact scores Ka of an iterate. Invariant and cost: see `smo`.
    """
    gap_before, target, least, since, steps = np.inf, tol, np.inf, 0, 0
    while True:
        gap = work.relative_gap(target)
        scores = yield Iterate(work.a, work.F, gap, steps)
        steps = 1
        least, since = (gap, 0) if gap < 0.5 * least else (least, since + 1)
        if since > PATIENCE and work.use_double_precision():
            work.recompute()  # what looks like slow progress may be the noise of the rows
        elif gap > target and work.improve(target / gap):
            continue
        elif not work.exact:
            complete = work.complete
            work.recompute(scores)
            gap = work.relative_gap()
            if complete and gap > 0.25 * gap_before:
                work.use_double_precision()
            gap_before = gap
        elif gap <= target and target > 1e-15:
            target *= 0.25  # the caller wants more than it asked for
        elif not work.use_double_precision():
            return


class OneWorkingSet:
    """The state a and F = f − y of no more rows than a working set has, with all of K in double
    precision."""

    complete = True

    def __init__(
        self, K: FloatArray, dual: SignedDual, watch: MoveRecorder | None = None,
        start: FloatArray | None = None,
    ) -> None:  # fmt: skip
        self.K, self.dual, self.watch, self.begun, self.exact = K, dual, watch, False, True
        self.a, self.F = np.zeros(len(K)), -dual.y
        if start is not None:
            self.a = dual.feasible(start)
            self.recompute()

    def relative_gap(self, worth: float = 0.0) -> float:
        """Compute (P − D)/P, by the F at hand: a round costs less than to look for the best
        bias."""
        return self.dual.relative_gap(self.a, self.F)

    def improve(self, share: float) -> bool:
        """Solve it roughly, and of labels then as far as `share` of the gap there is."""
        dual, violation = self.dual, self.dual.violation(self.a, self.F)
        if violation <= 0:
            return False
        part = INNER * share if self.begun and dual.kink is None else WHOLE
        self.exact, self.begun = False, True
        problem = self.a, dual.low, dual.high, self.F, dual.kink, dual.free_bias
        return solve_working_set(self.K, *problem, violation * part, self.watch) > 0

    def recompute(self, scores: FloatArray | None = None) -> None:
        """Compute F = Ka − y afresh; Ka may be known already."""
        self.F = (self.K @ self.a if scores is None else scores) - self.dual.y
        self.exact = True

    def use_double_precision(self) -> bool:
        """Return False: it is in double precision."""
        return False


class Decomposition:
    """The state a, F = f − y and the cache; `exact` tells whether F was just computed in double
    precision.

    `active` are the rows that take part, None standing for all: of the others, F is as it was
    when they were set aside. The columns of the cache are those of the active rows.
    """

    def __init__(
        self,
        gram: GramRows,
        dual: SignedDual,
        cache_bytes: int,
        each: Each,
        shrinking: bool,
        watch: MoveRecorder | None = None,
    ) -> None:
        n, self.watch = len(gram), watch
        self.gram, self.dual, self.each, self.cache_bytes = gram, dual, each, cache_bytes
        self.a: FloatArray = np.zeros(n)
        self.F: FloatArray = -dual.y
        self.dtype: Any = np.float32
        self.cache = RowCache(n, cache_bytes, self.dtype)
        self.working_set = np.empty(0, dtype=np.int64)
        self.exact = True
        self.size: float = min(max(n // FIRST_PART, SMALLEST), WORKING_SET)
        self.active: IntArray | None = None
        self.shrinking = shrinking and n >= FEWEST_TO_SHRINK and dual.kink is None
        self.settled = np.zeros(n, dtype=np.int8)

    @property
    def complete(self) -> bool:
        """Tell whether all rows take part."""
        return self.active is None

    def begin_at(self, start: FloatArray) -> None:
        """Start at this a, moved into the feasible set."""
        self.a = self.dual.feasible(start)
        self.F = self._slopes()

    def relative_gap(self, worth: float = 0.0) -> float:
        """Compute (P − D)/P, by the F at hand."""
        return self.dual.relative_gap(self.a, self.F, worth)

    def improve(self, share: float = INNER) -> bool:
        """Solve one working set and bring F up to date; False if nothing moved."""
        a, low, high = self.a, self.dual.low, self.dual.high
        violation = self._violation()
        if self.active is not None and violation < 0.5 * self.dual.violation(a, self.F):
            self.recompute()  # most of what is wrong is now with the rows set aside
            violation = self._violation()
        if violation <= 0:
            return False
        size, self.size = int(self.size), min(GROWTH * self.size, WORKING_SET)
        W = self.working_set = self._choose(size)
        K = np.asarray(self.gram.block(self.gram.side(W, self.dtype), W), dtype=np.float64)
        inside, F = a[W], self.F[W]
        everything = self.active is not None and len(self.active) <= size
        tol = (WHOLE if everything else INNER) * violation
        box, watch = (low[W], high[W]), self.watch and self.watch.of(W)
        solve_working_set(K, inside, *box, F, self.dual.kink, self.dual.free_bias, tol, watch)
        change = inside - a[W]
        moved = change != 0
        if not moved.any():
            return False
        a[W] = inside
        self._follow(W[moved], change[moved])
        if self.shrinking and self.relative_gap() <= SETTLING:
            self._set_aside()
        return True

    def _violation(self) -> float:
        if self.active is None:
            return self.dual.violation(self.a, self.F)
        return self.dual.part(self.active).violation(self.a[self.active], self.F[self.active])

    def _choose(self, size: int) -> IntArray:
        """Return the next working set, of active rows."""
        F, a, dual, last = self.F, self.a, self.dual, self.working_set
        if self.active is None:
            return choose(dual, a, F, size, last)
        some = self.active
        last = np.searchsorted(some, last[np.isin(last, some)])  # the order is that of their age
        return some[choose(dual.part(some), a[some], F[some], size, last)]

    def _set_aside(self) -> None:
        """Let the rows go that have been settled for two rounds, if they are many."""
        rows = np.arange(len(self.a)) if self.active is None else self.active
        now = settled(self.dual.part(rows), self.a[rows], self.F[rows])
        staying = (now == 0) | (now != self.settled[rows])
        self.settled[rows] = now
        if np.count_nonzero(~staying) >= WORTH_IT * len(rows):
            self.active = rows[staying]
            self.cache.narrow(np.flatnonzero(staying))

    def _follow(self, rows: IntArray, change: FloatArray) -> None:
        """Update F ← F + Σ change · row, the rows from the cache or computed now."""
        places = self.cache.places(rows)
        known, new = places >= 0, np.flatnonzero(places < 0)
        # Only free multipliers are likely to move again: their rows come first, and are kept.
        a, low, high = self.a[rows[new]], self.dual.low[rows[new]], self.dual.high[rows[new]]
        free = (a > low) & (a < high)
        new = np.concatenate([new[free], new[~free]])
        stored = self.cache.make_room(rows[new[: np.count_nonzero(free)]])
        side = self.gram.side(rows[new], self.dtype)
        slots, every, active = self.cache.slots, np.arange(len(new)), self.active
        F = self.F if active is None else self.F[active]

        def bring_up_to_date(span: slice) -> None:
            out = F[span]
            add_rows(slots, places[known], change[known], span.start, out)
            if len(new):
                block = self.gram.block(side, span if active is None else active[span])
                add_rows(block, every, change[new], 0, out)
                store_rows(block, stored, span.start, slots)

        self._for_all_columns(bring_up_to_date, len(F), len(new))
        if active is not None:
            self.F[active] = F
        self.exact = False

    def recompute(self, scores: FloatArray | None = None) -> None:
        """Compute F = Ka − y in double precision, for all the rows; Ka may be known already."""
        if self.active is not None:
            self.cache = RowCache(len(self.a), self.cache_bytes, self.dtype)
        self.active, self.shrinking, self.exact = None, False, True
        self.F = self._slopes() if scores is None else scores - self.dual.y

    def _slopes(self) -> FloatArray:
        rows = np.flatnonzero(self.a)
        F = -self.dual.y
        for start in range(0, len(rows), WORKING_SET):
            some = rows[start : start + WORKING_SET]
            side, factors = self.gram.side(some, np.float64), self.a[some]

            def add(span: slice, side: Any = side, factors: FloatArray = factors) -> None:
                F[span] += factors @ self.gram.block(side, span)

            self._for_all_columns(add, len(F), len(some))
        return F

    def use_double_precision(self) -> bool:
        """Take rows in double precision from now on; tell whether they were not so already."""
        if self.dtype is np.float64:
            return False
        self.dtype = np.float64
        self.cache = RowCache(len(self.a), self.cache_bytes, self.dtype)
        return True

    def _for_all_columns(self, task: Callable[[slice], None], n: int, rows: int) -> None:
        width = int(np.clip(BLOCK_ENTRIES // max(1, rows), 256, 4096))
        for _ in self.each(task, [slice(s, min(s + width, n)) for s in range(0, n, width)]):
            pass
