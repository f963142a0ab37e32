"""The linear support vector machine by coordinate ascent on its dual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import add, dot, n_features, n_vectors, norm2
from cotas.loops import loop
from cotas.problem import relative_gap
from cotas.solvers.interior_point import Start

# The largest slope that a round leaves, to begin with, and what the next round makes of it.
FIRST_ACCURACY, FINER = 0.5, 0.35
SWEEPS_A_ROUND = 200
# Knuth's linear congruential numbers. NumPy's generators take twenty times as long to shuffle,
# which would be most of a sweep over short rows.
MULTIPLIER, INCREMENT, HALF = (
    np.uint64(6364136223846793005),
    np.uint64(1442695040888963407),
    np.uint64(32),
)


class DualState(NamedTuple):
    """α, with θ = (1/λ) Σ αᵢyᵢxᵢ and θ₀ kept in step with it."""

    alpha: FloatArray
    theta: FloatArray
    theta0: FloatArray  # one number: the bias
    squares: FloatArray  # ‖xᵢ‖²
    losses: FloatArray  # max(0, 1 − yᵢ(θ·xᵢ + θ₀)) when example i was last looked at


class AscentRound(NamedTuple):
    """What a round has reached, its gap as far as it knows, and whether it had sweeps to spare."""

    theta: FloatArray
    theta0: float
    alpha: FloatArray
    relative_gap: float
    settled: bool


@loop
def ascend(
    rows: Any,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    stiffness: float,
    accuracy: float,
    sweeps: int,
    order: IntArray,
    state: DualState,
    seed: np.uint64,
) -> int:
    """Sweeps of single steps until no slope is steeper than `accuracy`; returns their number.

        αᵢ ← clip(αᵢ + (1 − yᵢ(θ·xᵢ + θ₀)) / (‖xᵢ‖²/λ + ρ), 0, sᵢ)

    Algorithm 3 of Hsieh et al. 2008: an example at a bound that its slope holds there more
    firmly than anything moved in the sweep before is left out of the sweeps that follow.
    Departures: ρ (`stiffness`) makes θ₀ follow Σ αᵢyᵢ as a spring would; see
    `dual_coordinate_ascent`. The first sweep looks at every example.
    Invariant: θ = (1/λ) Σ αᵢyᵢxᵢ after every step. Cost: O(nnz of the examples left) a sweep.
    """
    left = len(order)
    highest, lowest = np.inf, -np.inf  # of the slopes of the last sweep
    for sweep in range(sweeps):
        steepest_up = steepest_down = 0.0
        s = 0
        while s < left:
            seed = seed * MULTIPLIER + INCREMENT
            drawn = s + np.int64(((seed >> HALF) * np.uint64(left - s)) >> HALF)
            order[s], order[drawn] = order[drawn], order[s]
            i = order[s]
            slope = 1.0 - y[i] * (dot(rows, i, state.theta) + state.theta0[0])
            alpha = state.alpha[i]
            state.losses[i] = max(0.0, slope)
            at_zero, at_most = alpha <= 0.0, alpha >= weights[i]
            if (at_zero and slope < lowest) or (at_most and slope > highest):
                left -= 1
                order[s], order[left] = order[left], order[s]
                continue
            s += 1
            if (at_zero and slope < 0.0) or (at_most and slope > 0.0):
                continue
            steepest_up, steepest_down = max(steepest_up, slope), min(steepest_down, slope)
            curvature = state.squares[i] / lam + stiffness
            # A row of zeros without bias has the loss 1 whatever θ is.
            new = weights[i] if curvature <= 0.0 else alpha + slope / curvature
            new = min(max(new, 0.0), weights[i])
            if new != alpha:
                state.alpha[i] = new
                add(rows, i, (new - alpha) * y[i] / lam, state.theta)
                state.theta0[0] += stiffness * (new - alpha) * y[i]
        if max(steepest_up, -steepest_down) <= accuracy:
            return sweep + 1
        highest = steepest_up if steepest_up > 0.0 else np.inf
        lowest = steepest_down if steepest_down < 0.0 else -np.inf
    return sweeps


@loop
def squared_lengths(rows: Any) -> FloatArray:
    """‖xᵢ‖² of every row."""
    squares = np.empty(n_vectors(rows))
    for i in range(len(squares)):
        squares[i] = norm2(rows, i)
    return squares


@loop
def combine(rows: Any, factors: FloatArray, theta: FloatArray) -> None:
    """θ ← θ + Σ factorᵢ xᵢ"""
    for i in range(len(factors)):
        if factors[i] != 0.0:
            add(rows, i, factors[i], theta)


def dual_coordinate_ascent(
    rows: Any,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    random: np.random.RandomState,
    bias_scale: float = 0.0,
    start: Start | None = None,
) -> Iterator[AscentRound]:
    """Rounds of sweeps, each finer than the one before.

        max Σ αᵢ − (1/2λ)‖Σ αᵢyᵢxᵢ‖²    s.t.  0 ≤ αᵢ ≤ sᵢ,  Σ αᵢyᵢ = 0 with a bias

    One αᵢ cannot move alone along Σ αᵢyᵢ = 0. The method of multipliers frees it: the constraint
    is replaced by the price θ₀ Σ αᵢyᵢ and the spring (ρ/2)(Σ αᵢyᵢ)², and after each round the
    tension of the spring is added to the price. That is the proximal point method on the bias.
    Departures: the price is raised before a subproblem is solved to the end. With `bias_scale`
    the bias is penalized as the weight of one more feature of that value: then the spring is
    part of the problem and the price stays at zero.
    Invariant: 0 ≤ αᵢ ≤ sᵢ always; Σ αᵢyᵢ → 0. Cost: O(nnz) a round and more for its sweeps.
    """
    n = n_vectors(rows)
    squares = squared_lengths(rows)
    state = DualState(np.zeros(n), np.zeros(n_features(rows)), np.zeros(1), squares, np.ones(n))
    order = np.flatnonzero(weights > 0).astype(np.int32 if n < 2**31 else np.int64)
    # As stiff as a typical example is curved, so that θ₀ neither leads nor lags behind θ.
    stiffness = bias * max(float(squares.mean()), 1e-300) / lam
    if bias_scale:
        stiffness = bias_scale**2 / lam
    price = 0.0
    if start is not None:
        price = 0.0 if bias_scale else bias * start.theta0
        np.clip(start.alpha, 0.0, weights, out=state.alpha)
        combine(rows, state.alpha * y / lam, state.theta)
        state.theta0[0] = price + stiffness * float(state.alpha @ y)
    accuracy = FIRST_ACCURACY
    while True:
        seed = np.uint64(random.randint(2**31))
        given = (lam, stiffness, accuracy, SWEEPS_A_ROUND)
        sweeps = ascend(rows, y, weights, *given, order, state, seed)
        accuracy *= FINER
        tension = stiffness * float(state.alpha @ y)
        if not bias_scale:
            price += tension
        state.theta0[0] = price + tension
        # ‖θ‖²λ is twice the penalty, which P has once and D has once.
        square = lam * float(state.theta @ state.theta)
        risk, gain = float(weights @ state.losses), float(state.alpha.sum())
        gap = relative_gap(risk + square - gain, risk + 0.5 * square)
        reached = state.theta.copy(), float(state.theta0[0]), state.alpha.copy()
        yield AscentRound(*reached, gap, sweeps < SWEEPS_A_ROUND)
