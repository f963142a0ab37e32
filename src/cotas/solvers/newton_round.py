"""Rounds of Newton's method on the rounded hinge in one compiled call, for small tables.

The steps are those of `semismooth_newton`. A table of a few thousand entries is gone over in
microseconds, less than it takes Python to call a function, so all the steps of a round are one, and
so are the rounds before anybody looks at one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import add, add_outer
from cotas.loops import generic, loop
from cotas.solvers.interior_point import PrimalDual
from cotas.solvers.rounded_hinge import Response, RowState, look_along, respond, slope

# What each round makes of the smoothing of the one before, and when that ends.
SHARPER, SHARPEST = 0.3, 3e-4
# Tables with up to so many entries and features are solved in compiled calls.
SMALL, FEW = 1 << 16, 100
# A round that takes more steps than this does not get on.
MOST_STEPS = 100
# What is added to the diagonal of a system of unit diagonal, until it has a Cholesky factor.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


class RoundedProblem(NamedTuple):
    """The problem: λ, one if there is a bias, and the weight of its penalty, θ₀² times half."""

    lam: float
    bias: float
    anchor: float

    def iterate(self, theta: FloatArray, theta0: float, answer: Response, alpha: Any) -> PrimalDual:
        """θ, θ₀ and α with their P and D."""
        penalty = 0.5 * (self.lam * float(theta @ theta) + self.anchor * theta0 * theta0)
        cost = 0.5 * float(answer.combination @ answer.combination) / self.lam
        if self.anchor:
            cost += 0.5 * answer.balance * answer.balance / self.anchor
        elif self.bias:
            # About what it will cost to bring Σ αᵢyᵢ to zero.
            cost += abs(answer.balance) * (1.0 + abs(theta0))
        return PrimalDual(theta, theta0, alpha, answer.loss + penalty, answer.total - cost)

    def gradient(self, theta: FloatArray, theta0: float, answer: Response) -> FloatArray:
        """Of the rounded objective, by θ and θ₀."""
        slope0 = self.bias * (self.anchor * theta0 - answer.balance)
        return np.append(self.lam * theta - answer.combination, slope0)

    def is_solved(self, gradient: FloatArray, theta0: float, gap: float) -> bool:
        """Whether the gap is what rounding the hinge off costs, no longer what θ and θ₀ lack."""
        lack, lack0 = float(gradient[:-1] @ gradient[:-1]), abs(float(gradient[-1]))
        if self.anchor:
            return lack <= self.lam * gap and lack0 * lack0 <= self.anchor * gap
        return lack <= self.lam * gap and lack0 * (1.0 + abs(theta0)) <= 0.25 * gap


class SearchLine(NamedTuple):
    """The rounded objective along a step: a parabola, less what the rows gain."""

    state: RowState
    nu: float
    fixed: float
    linear: float


@generic
def derivative(line: Any, length: float) -> Any:
    """Of the rounded objective after a step of this length."""


@derivative.when(SearchLine)
def _derivative(line: SearchLine, length: float) -> float:
    gained = slope(line.state, line.nu, length, 0, len(line.state.y))
    return line.fixed + length * line.linear - gained


def is_small(n: int, d: int) -> bool:
    """Whether n rows of d columns are gone over in less time than Python would take."""
    return n * d <= SMALL and d <= FEW


def room_for(n: int, d: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Room for steps on n rows of d columns: the curved rows, two systems and three vectors."""
    return np.empty(n, np.int64), np.empty((2, d + 1, d + 1)), np.empty((3, d + 1))


@loop
def newton_rounds(
    rows: Any, state: RowState, problem: RoundedProblem, model: FloatArray, combination: FloatArray,
    nu: float, most: int, enough: float, curved: IntArray, square: FloatArray, line: FloatArray,
) -> tuple[int, bool, float, float, float]:  # fmt: skip
    """Rounds until one has a relative gap that is `enough`, or gets no further; at most so many.

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
        step[d] = problem.bias * (balance - problem.anchor * theta0)
        primal = loss + 0.5 * (problem.lam * length2 + problem.anchor * theta0 * theta0)
        cost, lack0 = 0.5 * pulled2 / problem.lam, abs(step[d])
        if problem.anchor:
            cost += 0.5 * balance * balance / problem.anchor
        elif problem.bias:
            cost += abs(balance) * (1.0 + abs(theta0))
        dual = total - cost
        gap = primal - dual
        close = lack0 * (1.0 + abs(theta0)) <= 0.25 * gap
        if problem.anchor:
            close = lack0 * lack0 <= problem.anchor * gap
        if close and lack <= problem.lam * gap:
            for i in range(n):
                state.centre[i] = state.part[i]
            return True, primal, dual
        add_up(rows, state.weights, curved, count, problem, nu, system)
        if not solve(system, step, factor, unit):
            break
        step[d] *= problem.bias
        look_along(rows, state, step[:d], step[d], 0, n)
        fixed, linear = problem.anchor * theta0 * step[d], problem.anchor * step[d] * step[d]
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
    """The lower triangle of the second derivative: Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ/2ν over the curved rows,
    and the penalty."""
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
        system[d, d] = max(system[d, d], 1e-6 * share) + problem.anchor
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
    """The Cholesky factor of the system in its units; False if it is not positive definite."""
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
    """Where an increasing function that begins below zero comes close to it, tried at 1 first."""
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
