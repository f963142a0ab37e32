"""The loops of the rounded hinge, and rounds of Newton's method on it in one compiled call.

The hinge is that of `rounded_hinge`, the steps are those of `semismooth_newton`. A table of a few
thousand entries is gone over in microseconds, less than it takes Python to call a function, so all
the steps of a round are one, and so are the rounds before anybody looks at one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import add, add_outer, dot
from cotas.loops import generic, loop
from cotas.rounds import FIRST_CENTRE
from cotas.solvers.interior_point import PrimalDual, Start
from cotas.solvers.iterate import Look

# The smoothing of the first round, and with a start that is known.
SMOOTHING, SMOOTHING_FROM_START = 2.0, 0.2
# What each round makes of the smoothing of the one before, and when that ends.
SHARPER, SHARPEST = 0.3, 3e-4
# Tables with up to so many entries and features are solved in compiled calls.
SMALL, FEW = 1 << 16, 100
# A round that takes more steps than this does not get on.
MOST_STEPS = 100
# Where so many rounds do not halve the gap, another method goes on.
PATIENCE = 25
# What is added to the diagonal of a system of unit diagonal, until it has a Cholesky factor.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


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
    excess: FloatArray  # e
    turn: FloatArray  # how e changes along a step


class SearchLine(NamedTuple):
    """The rounded objective along a step: a parabola, less what the rows gain."""

    state: RowState
    nu: float
    fixed: float
    linear: float


@loop
def respond(
    rows: Any,
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
        e = state.excess[i]
        part = state.centre[i] - e / (2.0 * nu)
        if 0.0 < part < 1.0:
            curved[count] = i
            count += 1
        part = min(max(part, 0.0), 1.0)
        alpha = state.weights[i] * part
        loss += state.weights[i] * max(0.0, -e)
        total += alpha
        balance += alpha * state.y[i]
        if part != state.part[i]:
            add(rows, i, state.weights[i] * (part - state.part[i]) * state.y[i], change)
            state.part[i] = part
    return count, loss, total, balance


@loop
def look_along(
    rows: Any, state: RowState, theta: FloatArray, theta0: float, first: int, last: int
) -> None:
    """Compute how fast e changes in each row when θ moves."""
    for i in range(first, last):
        state.turn[i] = state.y[i] * (dot(rows, i, theta) + theta0)


@loop
def slope(state: RowState, nu: float, step: float, first: int, last: int) -> float:
    """Compute Σ αᵢ·turnᵢ at some step: what the rounded loss gains by going further."""
    total = 0.0
    for i in range(first, last):
        e = state.excess[i] + step * state.turn[i]
        part = min(max(state.centre[i] - e / (2.0 * nu), 0.0), 1.0)
        total += state.weights[i] * part * state.turn[i]
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
    """Make room for steps on n rows of d columns: the curved rows, two systems and three
    vectors."""
    return np.empty(n, np.int64), np.empty((2, d + 1, d + 1)), np.empty((3, d + 1))


def rounds_on_small_table(
    rows: Any, d: int, y: FloatArray, weights: FloatArray, lam: float, bias: float,
    start: Start | None, look: Look,
) -> Iterator[PrimalDual]:  # fmt: skip
    """Yield the iterates of `semismooth_newton` to look at, each of which is one call, on d
    features."""
    n = len(y)
    state = RowState(y, weights, np.full(n, FIRST_CENTRE), *np.zeros((3, n)))
    model, combination, room = np.zeros(d + 1), np.zeros(d), room_for(n, d)
    nu, best, idle, solved = SMOOTHING, np.inf, 0, True
    state.excess[:] = -1.0
    if start is not None:
        nu, model[:d], model[d] = SMOOTHING_FROM_START, start.theta, bias * start.theta0
        np.divide(start.alpha, weights, out=state.centre)
        look_along(rows, state, model[:d], model[d], 0, n)
        state.excess[:] += state.turn
    while solved and idle < PATIENCE:
        given = (rows, state, RoundedProblem(lam, bias), model, combination, nu)
        rounds, solved, primal, dual, nu = newton_rounds(*given, *look, *room)
        alpha = weights * state.part
        yield PrimalDual(model[:d].copy(), float(model[d]), alpha, primal, dual, rounds)
        gap, look = primal - dual, look.next()
        best, idle = (gap, 0) if gap <= 0.5 * best else (best, idle + rounds)


@loop
def newton_rounds(
    rows: Any, state: RowState, problem: RoundedProblem, model: FloatArray, combination: FloatArray,
    nu: float, most: int, enough: float, curved: IntArray, square: FloatArray, line: FloatArray,
) -> tuple[int, bool, float, float, float]:  # fmt: skip
    """Run rounds until one has a relative gap that is `enough`, or gets no further; at most so
    many.

    How many there were, whether the last reached its minimum, its P and D, and the next ν.
    """
    solved, primal, dual, rounds = True, 0.0, 0.0, 0
    while solved and rounds < most and (rounds == 0 or primal - dual > enough * primal):
        solved, primal, dual = newton_round(
            rows, state, problem, model, combination, nu, curved, square, line
        )
        nu, rounds = max(SHARPER * nu, SHARPEST), rounds + 1
    return rounds, solved, primal, dual, nu


@loop
def newton_round(
    rows: Any, state: RowState, problem: RoundedProblem, model: FloatArray, combination: FloatArray,
    nu: float, curved: IntArray, square: FloatArray, line: FloatArray,
) -> tuple[bool, float, float]:  # fmt: skip
    """Minimize the objective that ν rounds off, from θ and θ₀, which `model` holds and keeps.

    `combination` is Σ αᵢyᵢxᵢ. Returns whether the minimum was reached, P and D. The last three are
    room to work in (see `room_for`), which takes longer to compile than to hand over.
    """
    n, d = len(state.y), len(combination)
    system, factor, step, unit = square[0], square[1], line[0], line[1]
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
        add_up(rows, state.weights, curved, count, problem, nu, system)
        if not solve(system, step, factor, unit):
            break
        step[d] *= problem.bias
        look_along(rows, state, step[:d], step[d], 0, n)
        fixed = linear = 0.0
        for j in range(d):
            fixed += problem.lam * model[j] * step[j]
            linear += problem.lam * step[j] * step[j]
        length = zero(SearchLine(state, nu, fixed, linear))
        if not length > 0.0:
            break
        for i in range(n):
            state.excess[i] += length * state.turn[i]
        for j in range(d + 1):
            model[j] += length * step[j]
    return False, primal, dual


@loop
def add_up(
    rows: Any, weights: FloatArray, curved: IntArray, count: int, problem: RoundedProblem,
    nu: float, system: FloatArray,
) -> None:  # fmt: skip
    """Add up the lower triangle of the second derivative: Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ/2ν over the curved
    rows, and the penalty."""
    d, share = len(system) - 1, 1.0 / (2.0 * nu)
    for j in range(d + 1):
        for k in range(d + 1):
            system[j, k] = 0.0
    for r in range(count):
        i = curved[r]
        add_outer(rows, i, share * weights[i], system[:d, :d])
        add(rows, i, share * weights[i], system[d, :d])
        system[d, d] += share * weights[i]
    for j in range(d):
        system[j, j] += problem.lam
    if problem.bias:
        # A bias that no curved row holds is held a little by itself.
        system[d, d] = max(system[d, d], 1e-6 * share)
    else:
        for j in range(d):
            system[d, j] = 0.0
        system[d, d] = 1.0


@loop
def solve(system: FloatArray, target: FloatArray, factor: FloatArray, unit: FloatArray) -> bool:
    """Solve a positive definite system, given by its lower triangle, in the place of its target.

    As `interior_point.factorized` does, by Cholesky in units that make the diagonal one; False if
    there is no factor. The factor and the units are left in the last two.
    """
    n = len(target)
    for i in range(n):
        if not 0.0 < system[i, i] < np.inf:
            return False
        unit[i] = 1.0 / np.sqrt(system[i, i])
    for jitter in JITTERS:
        if _factorize(system, unit, jitter, factor):
            break
    else:
        return False
    for i in range(n):
        value = unit[i] * target[i]
        for k in range(i):
            value -= factor[i, k] * target[k]
        target[i] = value / factor[i, i]
    for i in range(n - 1, -1, -1):
        value = target[i]
        for k in range(i + 1, n):
            value -= factor[k, i] * target[k]
        target[i] = value / factor[i, i]
    for i in range(n):
        target[i] *= unit[i]
    return True


@loop
def _factorize(system: FloatArray, unit: FloatArray, jitter: float, factor: FloatArray) -> bool:
    """Compute the Cholesky factor of the system in its units; False if it is not positive
    definite."""
    for i in range(len(unit)):
        for j in range(i + 1):
            value = system[i, j] * unit[i] * unit[j]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = value / factor[j, j]
            elif value + jitter > 0.0:
                factor[i, i] = np.sqrt(value + jitter)
            else:
                return False
    return True


@loop
def zero(line: Any) -> Any:
    """Find where an increasing function that begins below zero comes close to it, tried at 1
    first."""
    low, at_low = 0.0, derivative(line, 0.0)
    close = 0.1 * abs(at_low)
    if not at_low < 0.0:
        return 0.0
    high, at_high = 1.0, derivative(line, 1.0)
    while at_high < -close and high < 16.0:
        low, at_low, high = high, at_high, 4.0 * high
        at_high = derivative(line, high)
    if at_high <= close:
        return high
    for _ in range(30):
        inside = 0.05 * (high - low)
        middle = low - at_low * (high - low) / (at_high - at_low)
        middle = min(max(middle, low + inside), high - inside)
        value = derivative(line, middle)
        if abs(value) <= close:
            return middle
        if value < 0.0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return low
