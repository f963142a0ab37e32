"""The dual of the kernel SVM on a few examples, the others at rest.

All of this is written in the signed multipliers aᵢ = yᵢβᵢ, in which f(xᵢ) = Σ aⱼ k(xⱼ, xᵢ) and

    min ½ aᵀKa − yᵀa    s.t.  lowᵢ ≤ aᵢ ≤ highᵢ,   Σ aᵢ = 0 with a free bias,

with low = 0, high = Cᵢ for y = +1 and low = −Cᵢ, high = 0 for y = −1. The slope of the objective
in aᵢ is Fᵢ = f(xᵢ) − yᵢ. Where the objective bends at zero, for numbers y, there is a `Kink`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, solve

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import loop_in_place
from cotas.solvers.kernel_dual import Kink, SignedDual, ceiling, downwards, floor, upwards

# Directions of less curvature than this part of the diagonal count as flat.
FLAT = 1e-12
# More free multipliers than this make a Newton step slower than many steps of pairs.
MOST_FREE = 400
# So many pair steps for each example before all the free ones are moved at once.
PAIRS_BEFORE_NEWTON, NEWTON_STEPS, MOST_CYCLES = 2, 50, 20


def least(values: FloatArray, count: int) -> IntArray:
    """Return the places of the least values, at most so many; of equal ones the first."""
    if count >= len(values):
        return np.arange(len(values))
    limit = np.partition(values, count)[count]
    return np.concatenate([np.flatnonzero(values < limit), np.flatnonzero(values == limit)])[:count]


def choose(dual: SignedDual, a: FloatArray, F: FloatArray, size: int, last: IntArray) -> IntArray:
    """Return the working set: those of the last one that are free, and the worst violators.

    At the optimum no Fᵢ that may fall (aᵢ < high) lies below an Fⱼ that may rise (aⱼ > low). Half
    of the new ones have the least F among the first, half the greatest among the second. Keeping
    up to half of the last set makes the steps of one round aware of those of the round before.
    """
    rising, falling = a < dual.high, a > dual.low
    free = (rising & falling)[last]
    kept = np.concatenate([last[free], last[~free]])[: size // 2]
    rest, side, chosen = np.ones(len(a), dtype=np.bool_), (size - len(kept)) // 2, [kept]
    upwards, downwards = dual.slopes(a, F)
    for able, slopes in ((rising, upwards), (falling, -downwards)):
        rest[chosen[-1]] = False
        among = np.flatnonzero(rest & able)
        chosen.append(among[least(slopes[among], side)])
    return np.concatenate([*chosen[1:], kept])


class Move(NamedTuple):
    """The multipliers that one step moved: which rows, from where to where.

    `slopes` are their F before, `curvature` is kᵢᵢ + kⱼⱼ − 2kᵢⱼ of a pair (kᵢᵢ of one alone, NaN
    of a Newton step, which moves all that are free).
    """

    rows: IntArray
    before: FloatArray
    after: FloatArray
    slopes: FloatArray
    curvature: float


class MoveRecorder:
    """A recorder of each move of a solver, in the numbers of the rows that it works on."""

    def __init__(self, moves: list[Move], rows: IntArray | None = None) -> None:
        self.moves, self.rows = moves, rows

    def of(self, rows: IntArray) -> MoveRecorder:
        """Return the same for a solver that sees these rows only."""
        return MoveRecorder(self.moves, rows)

    def seen(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same step on (K, a, low, high, F, …), and its move is kept."""

        def watched(K: FloatArray, a: FloatArray, *rest: Any) -> Any:
            before, slopes = a.copy(), rest[2].copy()
            found = step(K, a, *rest)
            moved = np.flatnonzero(before != a)
            if len(moved):
                rows = moved if self.rows is None else self.rows[moved]
                curvature = _curvature(K[np.ix_(moved, moved)])
                self.moves.append(Move(rows, before[moved], a[moved], slopes[moved], curvature))
            return found

        return watched

    def each(self, climb: Callable[..., Any]) -> Callable[..., int]:
        """Return the steps that `climb` makes at once, each of them seen."""
        one = self.seen(climb)

        def climb_one_by_one(*given: Any) -> int:
            *problem, most = given
            return next((step for step in range(most) if not one(*problem, 1)), most)

        return climb_one_by_one


def _curvature(K: FloatArray) -> float:
    """Compute the curvature along the step of a pair, or of one alone."""
    if len(K) > 2:
        return np.nan
    return float(K[0, 0] if len(K) == 1 else K[0, 0] + K[1, 1] - 2 * K[0, 1])


def solve_working_set(
    K: FloatArray,
    a: FloatArray,
    low: FloatArray,
    high: FloatArray,
    F: FloatArray,
    kink: Any,
    free_bias: bool,
    tol: float,
    watch: MoveRecorder | None = None,
) -> int:
    """Move a, and F with it, until no pair violates by more than `tol`; how many steps it took.

    Pair after pair, and where that is slow (a matrix of bad condition) a Newton step now and
    then. Invariant: a stays in its box, Σ a unchanged with a free bias, F = Ka + const.
    """
    climb: Callable[..., Any] = climb_pairs if free_bias else climb_singles
    together: Callable[..., Any] = move_free_together
    if watch is not None:
        climb, together = watch.each(climb), watch.seen(together)
    steps = 0
    for _ in range(MOST_CYCLES):
        most = PAIRS_BEFORE_NEWTON * len(a)
        taken = int(climb(K, a, low, high, F, kink, tol, most))
        steps += taken
        if taken < most:
            break
        together(K, a, low, high, F, kink, free_bias)
    return steps


@loop_in_place
def bend(own: float, other: float, both: float) -> float:
    """Return Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ, where that is flat a little more."""
    flat, found = FLAT * (own + other), own + other - 2.0 * both
    found = found if found > flat else flat
    return found if found > 1e-300 else 1e-300


@loop_in_place
def climb_pairs(
    K: FloatArray,
    a: FloatArray,
    low: FloatArray,
    high: FloatArray,
    F: FloatArray,
    kink: Any,
    tol: float,
    most: int,
) -> int:
    """Run sequential minimal optimization: two multipliers at a time, the choice by second order.

        aᵢ ← aᵢ + t,   aⱼ ← aⱼ − t,   t = (Fⱼ − Fᵢ)/(Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ), clipped into the box

    i has the least F that may fall; j promises the largest gain (Fⱼ − Fᵢ)²/(Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ)
    (WSS 2 of Fan, Chen and Lin 2005). Departures: a flat direction counts as nearly flat, so that
    the step ends at a bound. Invariant: Σ a is constant, F = Ka + const. Cost: O(q) a step.
    """
    q = len(a)
    for step in range(most):
        i, least = -1, np.inf
        for k in range(q):
            if a[k] < high[k] and upwards(kink, F[k], a[k]) < least:
                i, least = k, upwards(kink, F[k], a[k])
        if i < 0:
            return step
        j, best, greatest = -1, 0.0, -np.inf
        for k in range(q):
            if a[k] > low[k]:
                slope = downwards(kink, F[k], a[k])
                greatest = slope if slope > greatest else greatest
                b = slope - least
                if b > 0:
                    gain = b * b / bend(K[i, i], K[k, k], K[i, k])
                    if gain > best:
                        j, best = k, gain
        if j < 0 or greatest - least <= tol:
            return step
        t = (downwards(kink, F[j], a[j]) - least) / bend(K[i, i], K[j, j], K[i, j])
        top, bottom = ceiling(kink, a[i], high[i]), floor(kink, a[j], low[j])
        up, down = top - a[i], a[j] - bottom
        t = up if up < t else t
        t = down if down < t else t
        a[i] = top if t == up else a[i] + t
        a[j] = bottom if t == down else a[j] - t
        for k in range(q):
            F[k] += t * (K[i, k] - K[j, k])
    return most


@loop_in_place
def steepest(kink: Any, F: float, a: float) -> float:
    """Compute the slope along which the objective falls, on the side where it does; zero if on
    none."""
    slope: float = min(0.0, upwards(kink, F, a)) + max(0.0, downwards(kink, F, a))
    return slope


@loop_in_place
def climb_singles(
    K: FloatArray,
    a: FloatArray,
    low: FloatArray,
    high: FloatArray,
    F: FloatArray,
    kink: Any,
    tol: float,
    most: int,
) -> int:
    """Move one multiplier alone, as it can without a bias: the one with the largest gain F²/Kᵢᵢ.

    aᵢ ← clip(aᵢ − Fᵢ/Kᵢᵢ, lowᵢ, highᵢ). Invariant: F = Ka + const. Cost: O(q) a step.
    """
    q = len(a)
    for step in range(most):
        i, best, worst = -1, 0.0, 0.0
        for k in range(q):
            slope = steepest(kink, F[k], a[k])
            if (slope < 0 and a[k] < high[k]) or (slope > 0 and a[k] > low[k]):
                worst = max(worst, abs(slope))
                gain = slope * slope / max(K[k, k], 1e-300)
                if gain > best:
                    i, best = k, gain
        if i < 0 or 2 * worst <= tol:
            return step
        new = a[i] - steepest(kink, F[i], a[i]) / max(K[i, i], 1e-300)
        new = min(max(new, floor(kink, a[i], low[i])), ceiling(kink, a[i], high[i]))
        t = new - a[i]
        a[i] = new
        for k in range(q):
            F[k] += t * K[i, k]
    return most


def move_free_together(
    K: FloatArray,
    a: FloatArray,
    low: FloatArray,
    high: FloatArray,
    F: FloatArray,
    kink: Kink | None,
    free_bias: bool,
) -> None:
    """Take Newton's step in all the multipliers inside their box at once, up to the nearest bound.

    While a bound stops the step, the rest goes on without that multiplier. Where the matrix of
    the kernel has a bad condition (raw data, a linear kernel) pairs need millions of steps for
    what this does in a few systems of the size of the free set.
    """
    for _ in range(NEWTON_STEPS):
        free = np.flatnonzero((a > low) & (a < high) & ((a != 0) | (kink is None)))
        if not 2 <= len(free) <= MOST_FREE:
            return
        slope, most, least = F[free], high[free], low[free]
        if kink is not None:  # each stays on its side of zero
            slope = slope + kink.epsilon * np.sign(a[free])
            most, least = np.where(a[free] < 0, 0.0, most), np.where(a[free] > 0, 0.0, least)
        d = _newton_direction(K[np.ix_(free, free)], slope, free_bias)
        if d is None or not slope @ d < 0:
            return
        goal = np.where(d > 0, most, least)
        room = np.divide(goal - a[free], d, out=np.full(len(d), np.inf), where=d != 0)
        first = int(room.argmin())
        t = min(1.0, float(room[first]))
        moved = np.clip(a[free] + t * d, least, most)
        if t < 1.0:
            moved[first] = goal[first]
        change = moved - a[free]
        if free_bias and abs(change.sum()) > 1e-9 * np.abs(change).sum():
            return
        a[free] = moved
        F += K[:, free] @ change
        if t == 1.0:
            return


def _newton_direction(K: FloatArray, F: FloatArray, free_bias: bool) -> FloatArray | None:
    """Solve for the d with Kd + b = −F, Σ d = 0 (b = 0 without a bias), a trace of the diagonal
    added."""
    m = len(F)
    scale = float(np.trace(K)) / m
    if not scale > 0:
        return None
    system = np.zeros((m + 1, m + 1)) if free_bias else np.zeros((m, m))
    system[:m, :m] = K / scale
    system[np.arange(m), np.arange(m)] += 1e-13
    right = np.zeros(len(system))
    right[:m] = -F / scale
    if free_bias:
        system[m, :m] = system[:m, m] = 1.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)
            d: AnyArray = solve(system, right, assume_a="sym", check_finite=False)[:m]
    except LinAlgError:
        return None
    return d if np.isfinite(d).all() else None
