"""The linear support vector machine by coordinate ascent on its dual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.design import add, dot, n_features, n_vectors, norm2
from cotas.loops import loop

SWEEPS_BETWEEN_LOOKS = 8
# An example whose margin is off by less than this is looked at in every sweep.
CLEARLY = 0.1


class DualState(NamedTuple):
    """α, with θ = (1/λ) Σ αᵢyᵢxᵢ and θ₀ kept in step with it."""

    alpha: FloatArray
    theta: FloatArray
    theta0: FloatArray  # one number: the bias
    squares: FloatArray  # ‖xᵢ‖²
    slopes: FloatArray  # 1 − yᵢ(θ·xᵢ + θ₀) when example i was last looked at


@loop
def ascend(
    rows: Any,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    stiffness: float,
    order: IntArray,
    state: DualState,
) -> float:
    """One sweep: each αᵢ in turn to its best value, the others fixed; returns the largest move.

        αᵢ ← clip(αᵢ + (1 − yᵢ(θ·xᵢ + θ₀)) / (‖xᵢ‖²/λ + ρ), 0, sᵢ)

    Algorithm 1 of Hsieh et al. 2008. Departures: ρ (`stiffness`) makes θ₀ follow Σ αᵢyᵢ as a
    spring would; see `dual_coordinate_ascent`. Moves are measured in units of sᵢ.
    Invariant: θ = (1/λ) Σ αᵢyᵢxᵢ after every step. Cost: O(nnz) a sweep.
    """
    largest = 0.0
    for i in order:
        curvature = state.squares[i] / lam + stiffness
        new = weights[i]  # a row of zeros without bias has the loss 1 whatever θ is
        if curvature > 0:
            slope = 1.0 - y[i] * (dot(rows, i, state.theta) + state.theta0[0])
            state.slopes[i] = slope
            new = min(max(state.alpha[i] + slope / curvature, 0.0), weights[i])
        move = new - state.alpha[i]
        if move != 0.0:
            state.alpha[i] = new
            add(rows, i, move * y[i] / lam, state.theta)
            state.theta0[0] += stiffness * move * y[i]
            largest = max(largest, abs(move) / weights[i])
    return largest


@loop
def squared_lengths(rows: Any) -> FloatArray:
    """‖xᵢ‖² of every row."""
    squares = np.empty(n_vectors(rows))
    for i in range(len(squares)):
        squares[i] = norm2(rows, i)
    return squares


def dual_coordinate_ascent(
    rows: Any,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    random: np.random.RandomState,
    bias_scale: float = 0.0,
) -> Iterator[tuple[FloatArray, float, FloatArray]]:
    """θ, θ₀ and α after every few sweeps.

        max Σ αᵢ − (1/2λ)‖Σ αᵢyᵢxᵢ‖²    s.t.  0 ≤ αᵢ ≤ sᵢ,  Σ αᵢyᵢ = 0 with a bias

    One αᵢ cannot move alone along Σ αᵢyᵢ = 0. The method of multipliers frees it: the constraint
    is replaced by the price θ₀ Σ αᵢyᵢ and the spring (ρ/2)(Σ αᵢyᵢ)², and after some sweeps the
    tension of the spring is added to the price. That is the proximal point method on the bias.
    Departures: between two sweeps over all the examples come some over those that may still move
    (shrinking); the price is raised before a subproblem is solved to the end. With `bias_scale`
    the bias is penalised as the weight of one more feature of that value: then the spring is
    part of the problem and the price stays at zero.
    Invariant: 0 ≤ αᵢ ≤ sᵢ always; Σ αᵢyᵢ → 0. Cost: O(nnz) a sweep.
    """
    n = n_vectors(rows)
    squares = squared_lengths(rows)
    state = DualState(np.zeros(n), np.zeros(n_features(rows)), np.zeros(1), squares, np.ones(n))
    used = np.flatnonzero(weights > 0)
    order = used.astype(np.int32 if n < 2**31 else np.int64)
    # As stiff as a typical example is curved, so that θ₀ neither leads nor lags behind θ.
    stiffness = bias * max(float(squares.mean()), 1e-300) / lam
    if bias_scale:
        stiffness = bias_scale**2 / lam
    price = 0.0
    while True:
        random.shuffle(order)
        ascend(rows, y, weights, lam, stiffness, order, state)
        moving = order[_may_move(state, weights)[order]]
        for _ in range(SWEEPS_BETWEEN_LOOKS):
            random.shuffle(moving)
            if ascend(rows, y, weights, lam, stiffness, moving, state) < 1e-12:
                break
        tension = stiffness * float(state.alpha @ y)
        if not bias_scale:
            price += tension
        state.theta0[0] = price + tension
        yield state.theta.copy(), float(state.theta0[0]), state.alpha.copy()


def _may_move(state: DualState, weights: FloatArray) -> BoolArray:
    """All but the examples at a bound that the slope holds them to by a clear margin."""
    held = ((state.alpha <= 0) & (state.slopes < -CLEARLY)) | (
        (state.alpha >= weights) & (state.slopes > CLEARLY)
    )
    return ~held
