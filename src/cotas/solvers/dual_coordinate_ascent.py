"""The linear support vector machine by coordinate ascent on its dual."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import Each, FloatArray, IntArray
from cotas.design import Design, add, dot, n_features, n_vectors, norm2
from cotas.loops import loop
from cotas.solvers.face_ascent import ALPHA, DIRECTIONS, MOST, SIGN, STEP, Face
from cotas.solvers.interior_point import PrimalDual, Start

# What a round makes of the gap, and what of the one that is asked for, to be on the safe side.
SMALLER, SAFELY = 0.15, 0.8
# The gap that the first round aims at where no other is known. While the relative gap is larger
# than this, the first rounds are not shown: nobody would have them proved.
FIRST, ROUGH, UNSEEN = 0.02, 0.15, 3
# The least part of the gap that a sweep has added up which may be left after it.
LEAST_SHARE = 0.25
# A cycle is so many sweeps, the first cycles fewer. A round ends after so many turns in any case,
# but not before it has gone over so many entries.
SWEEPS_A_CYCLE, CYCLES_A_ROUND, A_ROUND = 6, 25, 1 << 20
# Who goes over all the rows for so many cycles, and makes no more than `SMALLER` of the gap, does
# not get on.
CYCLES = 100
# All the rows are looked at in so many spans, whatever the number of threads, so that runs repeat.
SPANS, A_SPAN = 8, 1 << 13
# The longest runs of examples that are taken one after another, and how many runs there are at
# least: the fewer they are, the less random is their order. What stands for one that is left out.
A_RUN, RUNS, LEFT_OUT = 16, 256, -1
# Knuth's linear congruential numbers. NumPy's generators take twenty times as long to shuffle,
# which would be most of a sweep over short rows.
MULTIPLIER, INCREMENT, HALF = (
    np.uint64(6364136223846793005),
    np.uint64(1442695040888963407),
    np.uint64(32),
)


@loop
def ascend(
    rows: Design, table: FloatArray, theta: FloatArray, theta0: float, spring: float,
    order: IntArray, left: int, idle: FloatArray, goal: float, sweeps: int, seed: np.uint64,
) -> Any:  # fmt: skip
    """Run sweeps of single steps over the first `left` of the order, until their gaps sum to
    `goal`.

        αᵢ ← clip(αᵢ + (1 − yᵢ(θ·xᵢ + θ₀)) / (‖xᵢ‖² + ρ), 0, sᵢ)

    α, s and ρ (`spring`) are measured in units of λ here, which saves a division in each step.
    Algorithm 3 of Hsieh et al. 2008: an example at a bound that its slope holds there more
    firmly than anything moved in the sweep before is left out of the sweeps that follow; `idle`
    keeps the largest and the smallest slope that moved. Departures: ρ makes θ₀ follow Σ αᵢyᵢ as a
    spring would, see `dual_coordinate_ascent`. Without it examples that stand together are taken
    one after another, and such runs in random order: to fetch rows from anywhere takes longer than
    to go along them. A spring swings too far where rows of one class stand together.
    Invariant: θ = Σ αᵢyᵢxᵢ after every step. Cost: O(nnz of the examples left) a sweep.
    """
    gap, shuffled = 0.0, np.empty(left, np.int64)
    for _ in range(sweeps):
        highest, lowest = idle[0], idle[1]
        up = down = gap = 0.0
        length = 1 if spring > 0.0 else min(max(left // RUNS, 1), A_RUN)
        runs = (left + length - 1) // length
        for k in range(runs):
            shuffled[k] = k
        for k in range(runs):
            seed = seed * MULTIPLIER + INCREMENT
            drawn = k + np.int64(((seed >> HALF) * np.uint64(runs - k)) >> HALF)
            first = shuffled[drawn] * length
            shuffled[drawn] = shuffled[k]
            for s in range(first, min(first + length, left)):
                i = np.uint64(order[s])  # without a sign it needs no test for a negative index
                alpha, most, sign = table[i, ALPHA], table[i, MOST], table[i, SIGN]
                slope = 1.0 - sign * (dot(rows, i, theta) + theta0)
                at_zero, at_most = alpha <= 0.0, alpha >= most
                if (at_zero and slope < lowest) or (at_most and slope > highest):
                    order[s] = LEFT_OUT
                    continue
                if (at_zero and slope <= 0.0) or (at_most and slope >= 0.0):
                    continue
                up, down = max(up, slope), min(down, slope)
                gap += (most - alpha) * slope if slope > 0.0 else -alpha * slope
                new = min(max(alpha + slope * table[i, STEP], 0.0), most)
                if new != alpha:
                    table[i, ALPHA] = new
                    add(rows, i, (new - alpha) * sign, theta)
                    theta0 += spring * (new - alpha) * sign
        left = closed_up(order, left)
        idle[0] = up if up > 0.0 else np.inf
        idle[1] = down if down < 0.0 else -np.inf
        if gap <= goal:
            break
    return theta0, left, gap, seed


@loop
def closed_up(order: IntArray, left: int) -> int:
    """Tell how many of the order are not left out; they come to stand at its beginning."""
    kept = 0
    for s in range(left):
        if order[s] != LEFT_OUT:
            order[kept] = order[s]
            kept += 1
    return kept


@loop
def evaluate(
    rows: Design, table: FloatArray, theta: FloatArray, theta0: float, idle: FloatArray,
    first: int, last: int, active: IntArray,
) -> tuple[int, float, float]:  # fmt: skip
    """Compute the sums of the gaps and of the losses of these rows, and those that are not held at
    a bound.

    They are put into `active`; their number is returned first.
    """
    gap = loss = 0.0
    count = 0
    for i in range(first, last):
        alpha, most = table[i, ALPHA], table[i, MOST]
        slope = 1.0 - table[i, SIGN] * (dot(rows, i, theta) + theta0)
        if slope > 0.0:
            gap += (most - alpha) * slope
            loss += most * slope
        else:
            gap -= alpha * slope
        if not ((alpha <= 0.0 and slope < idle[1]) or (alpha >= most and slope > idle[0])):
            active[count] = i
            count += 1
    return count, gap, loss


@loop
def squared_lengths(rows: Design) -> FloatArray:
    """Compute ‖xᵢ‖² of every row."""
    squares = np.empty(n_vectors(rows))
    for i in range(len(squares)):
        squares[i] = norm2(rows, i)
    return squares


@loop
def combine(rows: Design, factors: FloatArray, theta: FloatArray) -> None:
    """Update θ ← θ + Σ factorᵢ xᵢ"""
    for i in range(len(factors)):
        if factors[i] != 0.0:
            add(rows, i, factors[i], theta)


class AscentRound(NamedTuple):
    """The result of a round, and whether the ascent gets on."""

    found: PrimalDual
    settled: bool


class CoordinateAscent:
    """The state of the ascent: the table of the examples, θ, θ₀ and who is still looked at."""

    def __init__(
        self, rows: Any, y: FloatArray, weights: FloatArray, lam: float, bias: float, seed: int,
        start: Start | None, each: Each,
    ) -> None:  # fmt: skip
        n = n_vectors(rows)
        self.rows, self.weights, self.lam, self.each = rows, weights, lam, each
        self.y, self.seed = y, np.uint64(seed)
        squares = squared_lengths(rows)
        # As stiff as a typical example is curved, so that θ₀ neither leads nor lags behind θ.
        self.spring = bias * max(float(squares.mean()), 1e-300)
        self.table, self.theta = np.empty((n, 4)), np.zeros(n_features(rows))
        self.alpha = self.table[:, ALPHA]
        self.alpha[:], self.price = 0.0, 0.0
        self.table[:, MOST], self.table[:, SIGN] = weights / lam, y
        # A row of zeros without bias has the loss 1 whatever θ is: its step is infinite.
        np.divide(1.0, squares + self.spring, out=self.table[:, STEP])
        if start is not None:
            self.price = bias * start.theta0
            self.alpha[:] = np.clip(start.alpha / lam, 0.0, self.table[:, MOST])
            combine(rows, self.alpha * y, self.theta)
        self.theta0 = self.price + self.tension
        spans = max(1, min(SPANS, n // A_SPAN))
        self.spans = [slice(n * k // spans, n * (k + 1) // spans) for k in range(spans)]
        self.order = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
        self.idle, self.left = np.array([np.inf, -np.inf]), n
        self.swept, self.share = 0.0, 1.0
        self.face = Face(n, n_features(rows))
        entries = SWEEPS_A_CYCLE * max(n, np.size(rows[0]))
        self.cycles, self.most = 0, max(CYCLES_A_ROUND, A_ROUND // entries)
        # The rows gone over, and the logarithm of what a sweep adds up, after each cycle on a face.
        self.trail: list[tuple[float, float]] = []
        self.paid, self.mark, self.lowered, self.spent = 0, np.inf, 0, 0.0

    @property
    def tension(self) -> float:
        """Compute ρ Σ αᵢyᵢ"""
        return self.spring * float(self.alpha @ self.y) if self.spring else 0.0

    @property
    def dual(self) -> float:
        """Compute D without a bias, which no step lowers."""
        return self.lam * float(self.alpha.sum() - 0.5 * self.theta @ self.theta)

    def rise(self, goal: float, tol: float, cycles: int) -> bool:
        """Sweep, with steps on the face between, until the gap is no more than the goal.

        Or no more than `tol` times D. False if that takes a round, or does not get on; see
        `CYCLES`.
        """
        for _ in range(self.most):
            self.cycles += 1
            sweeps = min(self.cycles, SWEEPS_A_CYCLE)
            tolerated = max(goal, SAFELY * tol * self.dual) if tol else goal
            aim = tolerated / (self.lam * self.share)
            walk: Any = (self.order, self.left, self.idle, aim, sweeps, self.seed)
            self.theta0, self.left, self.swept, seed = ascend(*self._state(), *walk)
            self.seed = np.uint64(seed)
            if self.swept <= aim:
                return True
            self.spent += sweeps * self.left / (SWEEPS_A_CYCLE * len(self.y))
            if self.swept <= SMALLER * self.mark:
                self.mark, self.lowered, self.spent = self.swept, self.lowered + 1, 0.0
            elif self.spent >= cycles + self.lowered:
                return False
            if self._is_slow(sweeps * self.left, aim):
                self.theta0 = self.face.climb(*self._state(), max(aim, SMALLER * self.swept))
                self.trail, self.paid = [], 2 * DIRECTIONS * self.left
                self.activate()
        return False

    def _is_slow(self, gone_over: int, aim: float) -> bool:
        """Tell whether sweeps like the last ones would go over more rows than steps on the face.

        Each direction there goes over its rows twice; sweeps go over as many between two steps.
        """
        before = self.trail[-1][0] if self.trail else 0
        self.trail.append((before + gone_over, math.log(self.swept)))
        (first, high), (last, low) = self.trail[(len(self.trail) - 1) // 2], self.trail[-1]
        if last == first or last < self.paid:
            return False
        pace = (high - low) / (last - first)
        return bool(low - math.log(max(aim, 1e-300)) > 2 * DIRECTIONS * self.left * pace)

    def _state(self) -> tuple[Any, FloatArray, FloatArray, float, float]:
        return self.rows, self.table, self.theta, self.theta0, self.spring

    def activate(self) -> tuple[float, float]:
        """Compute the sums of the gaps and of the losses; rows that are not held at a bound are
        active."""
        active = np.empty_like(self.order, shape=len(self.y))

        def one(span: slice) -> tuple[int, float, float]:
            return evaluate(*self._state()[:4], self.idle, span.start, span.stop, active[span])

        parts = list(self.each(one, self.spans))
        counts = zip(self.spans, parts, strict=True)
        self.order = np.concatenate([active[s.start : s.start + part[0]] for s, part in counts])
        self.left = len(self.order)
        gap, loss = (self.lam * float(sum(part[k] for part in parts)) for k in (1, 2))
        return gap, loss

    def evaluate(self) -> PrimalDual:
        """Compute P and D where the ascent is; the rows that are not held at a bound are active
        again."""
        gap, loss = self.activate()
        # While a sweep adds it up the gap falls: a good part of the sum is no longer there.
        self.share = min(max(gap / max(self.lam * self.swept, 1e-300), LEAST_SHARE), 1.0)
        primal = loss + 0.5 * self.lam * float(self.theta @ self.theta)
        if self.spring:
            # About what it will cost to bring Σ αᵢyᵢ to zero.
            balance = self.lam * float(self.alpha @ self.y)
            gap += abs(balance) * (1.0 + abs(self.theta0)) - self.theta0 * balance
        held = self.alpha >= self.table[:, MOST]
        alpha = np.where(held, self.weights, np.minimum(self.lam * self.alpha, self.weights))
        return PrimalDual(self.theta.copy(), self.theta0, alpha, primal, primal - gap)

    def raise_price(self) -> None:
        """Add the tension of the spring to the price of Σ αᵢyᵢ."""
        if self.spring:
            tension = self.tension
            self.price += tension
            self.theta0 = self.price + tension


def dual_coordinate_ascent(
    rows: Any,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    seed: int = 0,
    start: Start | None = None,
    each: Each = map,
    tol: float = 0.0,
    cycles: int = CYCLES,
) -> Iterator[AscentRound]:
    """Yield rounds of sweeps, each to a smaller gap than the one before.

        max Σ αᵢ − (1/2λ)‖Σ αᵢyᵢxᵢ‖²    s.t.  0 ≤ αᵢ ≤ sᵢ,  Σ αᵢyᵢ = 0 with a bias

    The gap is a sum over the examples, Σ (sᵢ − αᵢ)max(0, Gᵢ) + αᵢ max(0, −Gᵢ) with the slopes
    Gᵢ = 1 − yᵢ(θ·xᵢ + θ₀), to which those that are held at a bound add nothing. A round sweeps
    over the others until their sum is small enough, then looks at all the rows. It aims no lower
    than at the gap `tol`, until that is reached, and without a bias at nothing else: D, which is
    known at any time, tells what is enough. The ascent is settled while it gets on; see `CYCLES`.

    One αᵢ cannot move alone along Σ αᵢyᵢ = 0. The method of multipliers frees it: the constraint
    is replaced by the price θ₀ Σ αᵢyᵢ and the spring (ρ/2)(Σ αᵢyᵢ)², and after each round the
    tension of the spring is added to the price. That is the proximal point method on the bias.
    Departures: the price is raised before a subproblem is solved to the end. Where sweeps converge
    slowly, conjugate gradients on the face of the α between their bounds take turns with them.
    Invariant: 0 ≤ αᵢ ≤ sᵢ always; Σ αᵢyᵢ → 0. Cost: O(nnz) a round and more for its sweeps.
    """
    with np.errstate(divide="ignore"):
        ascent = CoordinateAscent(rows, y, weights, lam, bias, seed, start, each)
    goal, rounds = 0.0 if tol and not bias else FIRST, 0
    while True:
        reached = ascent.rise(goal, 0.0 if bias else tol, cycles)
        rounds += reached
        found = ascent.evaluate()
        ascent.raise_price()
        gap, tolerated = found.primal - found.dual, tol * found.primal
        settled = ascent.spent < cycles + ascent.lowered
        if not reached or rounds > UNSEEN or gap <= ROUGH * found.primal:
            yield AscentRound(found, settled)
        if not settled:
            ascent.spent = 0.0
        if gap <= tolerated:
            tol = 0.0
        if reached:
            goal = max(SMALLER * gap, SAFELY * tol * found.primal)
