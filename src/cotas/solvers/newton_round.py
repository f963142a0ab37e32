"""The loops of the rounded hinge, and rounds of Newton's method on it in one compiled call.

The hinge is that of `rounded_hinge`, the steps are those of `semismooth_newton`. A table of a few
thousand entries is gone over in microseconds, less than it takes Python to call a function, so all
the steps of a round are one, and so are the rounds before anybody looks at one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, add_outer, dot
from cotas.loops import generic, loop_in_place
from cotas.rounds import FIRST_CENTRE
from cotas.solvers.interior_point import PrimalDual, Start
from cotas.solvers.iterate import Checkpoint

# The smoothing of the first round, and with a start that is known.
SMOOTHING, SMOOTHING_FROM_START = 2.0, 0.2
# What each round makes of the smoothing of the one before, and when that ends.
SHARPER, SHARPEST = 0.3, 3e-4
# Tables with up to so many entries and features are solved in compiled calls.
SMALL, FEW = 1 << 16, 100
# A round that takes more steps than this does not get on.
MOST_STEPS = 100
# How often the length of a step is tried, and the largest.
MOST_TRIES, FARTHEST = 34, 16.0
# Where so many rounds do not halve the gap, another method goes on.
PATIENCE = 25
# The parts of itself that are added to a diagonal, until the system has a Cholesky factor.
FIRST_JITTER, LARGEST_JITTER = 1e-14, 1e-8


class RoundedProblem(NamedTuple):
    """The problem: λ, and one if there is a bias."""

    lam: float
    bias: float


class RowState(NamedTuple):
    """The state of each row."""

    y: FloatArray
    weights: FloatArray
    centre: FloatArray  # c/s
    part: FloatArray  # α/s
    slack: FloatArray  # e
    slack_change: FloatArray  # how e changes along a step


class SearchLine(NamedTuple):
    """The rounded objective along a step: a parabola, less what the rows gain."""

    state: RowState
    nu: float
    fixed: float
    linear: float


@loop_in_place
def clipped(part: float) -> float:
    """Move a number into [0, 1]; Numba takes longer to compile its `min` and `max`."""
    return 0.0 if part < 0.0 else 1.0 if part > 1.0 else part


@loop_in_place
def respond(
    rows: Design,
    state: RowState,
    nu: float,
    first: int,
    last: int,
    curved: IntArray,
    change: FloatArray,
) -> tuple[int, float, float, float]:
    """Compute α in each row, and how Σ αᵢyᵢxᵢ changes with it.

    Returns how many rows are curved, which `curved` lists, and the sums of the hinge losses, of
    α and of αy.
    """
    loss = total = balance = 0.0
    count = 0
    for i in range(first, last):
        e = state.slack[i]
        part = state.centre[i] - e / (2.0 * nu)
        if 0.0 < part < 1.0:
            curved[count] = i
            count += 1
        part = clipped(part)
        alpha = state.weights[i] * part
        if e < 0.0:
            loss -= state.weights[i] * e
        total += alpha
        balance += alpha * state.y[i]
        if part != state.part[i]:
            add(rows, i, state.weights[i] * (part - state.part[i]) * state.y[i], change)
            state.part[i] = part
    return count, loss, total, balance


@loop_in_place
def set_direction(
    rows: Design, state: RowState, theta: FloatArray, theta0: float, first: int, last: int
) -> None:
    """Compute how fast e changes in each row when θ moves."""
    for i in range(first, last):
        state.slack_change[i] = state.y[i] * (dot(rows, i, theta) + theta0)


@loop_in_place
def slope(state: RowState, nu: float, step: float, first: int, last: int) -> float:
    """Compute Σ αᵢ·turnᵢ at some step: what the rounded loss gains by going further."""
    total = 0.0
    for i in range(first, last):
        e = state.slack[i] + step * state.slack_change[i]
        total += (
            state.weights[i] * clipped(state.centre[i] - e / (2.0 * nu)) * state.slack_change[i]
        )
    return total


@generic
def derivative(line: Any, length: float) -> Any:
    """Compute the derivative of the rounded objective after a step of this length."""


@derivative.when(SearchLine)
def _derivative(line: SearchLine, length: float) -> float:
    gained = slope(line.state, line.nu, length, 0, len(line.state.y))
    return line.fixed + length * line.linear - gained


def is_small(n: int, d: int) -> bool:
    """Tell whether n rows of d columns are gone over in less time than Python would take."""
    return n * d <= SMALL and d <= FEW


def room_for(n: int, d: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Make room for steps on n rows of d columns: the curved rows, a system, and its solution."""
    system = np.empty((d + 2, d + 1))
    return np.empty(n, np.int64), system, system[-1]


def rounds_on_small_table(
    rows: Any, d: int, y: FloatArray, weights: FloatArray, lam: float, bias: float,
    start: Start | None, checkpoint: Checkpoint,
) -> Iterator[PrimalDual]:  # fmt: skip
    """Yield the iterates of `semismooth_newton` to look at, each of which is one call, on d
    features."""
    n = len(y)
    state = RowState(y, weights, np.full(n, FIRST_CENTRE), *np.zeros((3, n)))
    model, combination, room = np.zeros(d + 1), np.zeros(d), room_for(n, d)
    nu, best, idle, solved = SMOOTHING, np.inf, 0, True
    state.slack[:] = -1.0
    if start is not None:
        nu, model[:d], model[d] = SMOOTHING_FROM_START, start.theta, bias * start.theta0
        np.divide(start.alpha, weights, out=state.centre)
        set_direction(rows, state, model[:d], model[d], 0, n)
        state.slack[:] += state.slack_change
    while solved and idle < PATIENCE:
        given = (rows, state, RoundedProblem(lam, bias), model, combination, nu)
        rounds, solved, primal, dual, nu = newton_rounds(*given, *checkpoint, *room)
        alpha = weights * state.part
        yield PrimalDual(model[:d].copy(), float(model[d]), alpha, primal, dual, rounds)
        gap, checkpoint = primal - dual, checkpoint.next()
        best, idle = (gap, 0) if gap <= 0.5 * best else (best, idle + rounds)


@loop_in_place
def newton_rounds(
    rows: Design, state: RowState, problem: RoundedProblem, model: FloatArray,
    combination: FloatArray, nu: float, most: int, target_gap: float, curved: IntArray,
    system: FloatArray, step: FloatArray,
) -> tuple[int, bool, float, float, float]:  # fmt: skip
    """Run rounds until one has a relative gap that is `target_gap`, or gets no further; at most so
    many.

    How many there were, whether the last reached its minimum, its P and D, and the next ν.
    """
    solved, primal, dual, rounds = True, 0.0, 0.0, 0
    while solved and rounds < most and (rounds == 0 or primal - dual > target_gap * primal):
        solved, primal, dual = newton_round(
            rows, state, problem, model, combination, nu, curved, system, step
        )
        nu, rounds = SHARPER * nu if SHARPER * nu > SHARPEST else SHARPEST, rounds + 1
    return rounds, solved, primal, dual, nu


@loop_in_place
def newton_round(
    rows: Design, state: RowState, problem: RoundedProblem, model: FloatArray,
    combination: FloatArray, nu: float, curved: IntArray, system: FloatArray, step: FloatArray,
) -> tuple[bool, float, float]:  # fmt: skip
    """Minimize the objective that ν rounds off, from θ and θ₀, which `model` holds and keeps.

    `combination` is Σ αᵢyᵢxᵢ. Returns whether the minimum was reached, P and D. The last three are
    room to work in (see `room_for`), which takes longer to compile than to hand over.
    """
    n, d = len(state.y), len(combination)
    primal = dual = 0.0
    for _ in range(MOST_STEPS):
        count, loss, total, balance = respond(rows, state, nu, 0, n, curved, combination)
        theta0 = model[d]
        length2 = pulled2 = lack = 0.0
        for j in range(d):
            step[j] = combination[j] - problem.lam * model[j]  # minus the gradient
            length2 += model[j] * model[j]
            pulled2 += combination[j] * combination[j]
            lack += step[j] * step[j]
        step[d] = problem.bias * balance
        # About what it will cost to bring Σ αᵢyᵢ to zero.
        unbalanced = abs(step[d]) * (1.0 + abs(theta0))
        primal = loss + 0.5 * problem.lam * length2
        dual = total - 0.5 * pulled2 / problem.lam - unbalanced
        gap = primal - dual
        if unbalanced <= 0.25 * gap and lack <= problem.lam * gap:
            for i in range(n):
                state.centre[i] = state.part[i]
            return True, primal, dual
        if not solve(rows, state.weights, curved, count, problem, nu, system):
            break
        step[d] *= problem.bias
        set_direction(rows, state, step[:d], step[d], 0, n)
        fixed = linear = 0.0
        for j in range(d):
            fixed += problem.lam * model[j] * step[j]
            linear += problem.lam * step[j] * step[j]
        length = zero(SearchLine(state, nu, fixed, linear))
        if not length > 0.0:
            break
        for i in range(n):
            state.slack[i] += length * state.slack_change[i]
        for j in range(d + 1):
            model[j] += length * step[j]
    return False, primal, dual


@loop_in_place
def solve(
    rows: Design, weights: FloatArray, curved: IntArray, count: int, problem: RoundedProblem,
    nu: float, system: FloatArray,
) -> bool:  # fmt: skip
    """Solve the system of the second derivative for the target in the row below it, by Cholesky.

    With as little added to the diagonal as it takes; False if that is too much. The solution is put
    in the place of the target, and the factor in that of the system.
    """
    n, jitter, ready = len(system) - 1, 0.0, False
    while not ready:
        if jitter > LARGEST_JITTER:
            return False
        add_up(rows, weights, curved, count, problem, nu, jitter, system)
        ready, jitter = factorize(system), 100.0 * jitter + FIRST_JITTER
    for i in range(n - 1, -1, -1):
        value = system[n, i]
        for k in range(i + 1, n):
            value -= system[k, i] * system[n, k]
        system[n, i] = value / system[i, i]
    return True


@loop_in_place
def add_up(
    rows: Design, weights: FloatArray, curved: IntArray, count: int, problem: RoundedProblem,
    nu: float, jitter: float, system: FloatArray,
) -> None:  # fmt: skip
    """Add up the lower triangle of the second derivative: Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ/2ν over the curved
    rows, and the penalty; the diagonal gets a part of itself besides."""
    d, share = len(system) - 2, 1.0 / (2.0 * nu)
    border, held = system[d, :d], 0.0
    for j in range(d + 1):
        for k in range(j + 1):
            system[j, k] = 0.0
    for r in range(count):
        i = curved[r]
        factor = share * weights[i]
        add_outer(rows, i, factor, system)
        if problem.bias:
            add(rows, i, factor, border)
            held += factor
    if not problem.bias:
        held = 1.0
    elif held < 1e-6 * share:  # a bias that no curved row holds is held a little by itself
        held = 1e-6 * share
    system[d, d] = held * (1.0 + jitter)
    for j in range(d):
        system[j, j] = (system[j, j] + problem.lam) * (1.0 + jitter)


@loop_in_place
def factorize(system: FloatArray) -> bool:
    """Put the Cholesky factor L in the place of a lower triangle; False if there is none.

    The row t below it becomes L⁻¹t, and stays as it is where there is no factor.
    """
    for i in range(len(system)):
        for j in range(system.shape[1]):
            value = system[i, j]
            for k in range(j):
                value -= system[i, k] * system[j, k]
            if j < i:
                system[i, j] = value / system[j, j]
            elif 0.0 < value < np.inf:
                system[i, i] = math.sqrt(value)
                break
            else:
                return False
    return True


@loop_in_place
def zero(line: Any) -> Any:
    """Find where an increasing function that begins below zero comes close to it, tried at 1
    first."""
    low = at_low = at_high = close = length = 0.0
    high = np.inf
    for _ in range(MOST_TRIES):
        value = derivative(line, length)
        if length == 0.0:
            if not value < 0.0:
                return 0.0
            close = 0.1 * abs(value)
        elif abs(value) <= close:
            return length
        if value < 0.0:
            low, at_low = length, value
        else:
            high, at_high = length, value
        if high < np.inf:
            part = at_low / (at_low - at_high)
            part = 0.05 if part < 0.05 else 0.95 if part > 0.95 else part
            length = low + part * (high - low)
        elif length == FARTHEST:
            return length
        else:
            length = 4.0 * length if length > 0.0 else 1.0
    return low
