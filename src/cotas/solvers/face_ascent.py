"""Conjugate gradients on a face of the box, for the dual of the support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, dot
from cotas.loops import loop

# What stands in the table of the examples: α and its bound in units of λ, 1/(‖x‖² + ρ) and y, side
# by side, since each step of coordinate ascent needs all of it.
ALPHA, MOST, STEP, SIGN = 0, 1, 2, 3
# The conjugate gradients end after so many directions, or at this part of the first residual; but
# as long as so few of the α have left the box the face is the right one, and they go on.
DIRECTIONS, RESIDUAL = 50, 0.3
STRAY, MOST_DIRECTIONS = 0.002, 1000
# How often a step that leaves the box too far is shortened, and to what.
SHORTER, TRIES = 0.3, 4


@loop
def free_examples(table: FloatArray, free: IntArray) -> int:
    """Return those strictly between their bounds, and how many there are."""
    count = 0
    for i in range(len(table)):
        if 0.0 < table[i, ALPHA] < table[i, MOST]:
            free[count] = i
            count += 1
    return count


@loop
def gather(
    rows: Design, table: FloatArray, free: IntArray, shares: FloatArray, pull: FloatArray
) -> float:
    """Compute Σ shareₖ yₖxₖ over the free examples, in the place of `pull`; returns Σ shareₖ yₖ."""
    balance = 0.0
    for j in range(len(pull)):
        pull[j] = 0.0
    for k in range(len(free)):
        i = np.uint64(free[k])
        share = shares[k] * table[i, SIGN]
        if share != 0.0:
            add(rows, i, share, pull)
            balance += share
    return balance


@loop
def after(table: FloatArray, free: IntArray, step: FloatArray, slopes: FloatArray) -> Any:
    """Tell how many of the free α a step takes out of the box, and what the gaps then sum to."""
    outside, gap = 0, 0.0
    for k in range(len(free)):
        i = np.uint64(free[k])
        alpha, most = table[i, ALPHA] + step[k], table[i, MOST]
        if alpha < 0.0 or alpha > most:
            outside += 1
        gap += (most - alpha) * slopes[k] if slopes[k] > 0.0 else -alpha * slopes[k]
    return outside, gap


@loop
def newton_direction(
    rows: Design, table: FloatArray, theta: FloatArray, theta0: float, spring: float,
    free: IntArray, room: FloatArray, pull: FloatArray, goal: float,
) -> None:  # fmt: skip
    """Compute, about, the step to the largest D over all values of the free α, in room[0].

    Conjugate gradients, scaled by the diagonal; they go no further than to a gap of `goal` on the
    face. Where D rises without end in a direction, the step goes far along it: it will be clipped.
    """
    step, p, q, residual = room[0], room[1], room[2], room[3]
    m = len(free)
    square = 0.0
    for k in range(m):
        i = np.uint64(free[k])
        residual[k] = 1.0 - table[i, SIGN] * (dot(rows, i, theta) + theta0)
        step[k], p[k] = 0.0, residual[k] * table[i, STEP]
        square += residual[k] * p[k]
    if not square > 0.0:
        return
    tolerance, most = RESIDUAL * RESIDUAL * square, DIRECTIONS
    for directions in range(1, MOST_DIRECTIONS + 1):
        balance = spring * gather(rows, table, free, p, pull)
        bent = 0.0
        for k in range(m):
            i = np.uint64(free[k])
            q[k] = table[i, SIGN] * (dot(rows, i, pull) + balance)
            bent += p[k] * q[k]
        flat = not bent > 1e-12 * square
        length = 1e12 if flat else square / bent
        before, square = square, 0.0
        for k in range(m):
            step[k] += length * p[k]
            residual[k] -= length * q[k]
            square += residual[k] * residual[k] * table[np.uint64(free[k]), STEP]
        if flat:
            return
        if square <= tolerance or directions == most:
            outside, gap = after(table, free, step, residual)
            if outside > STRAY * m or gap <= goal:
                return
            tolerance, most = 0.1 * min(tolerance, square), 2 * directions
        for k in range(m):
            p[k] = residual[k] * table[np.uint64(free[k]), STEP] + square / before * p[k]


@loop
def climb(
    rows: Design, table: FloatArray, theta: FloatArray, theta0: float, spring: float,
    free: IntArray, room: FloatArray, pull: FloatArray,
) -> float:  # fmt: skip
    """Go the step in room[0], clipped to the box and shortened until D rises; returns θ₀."""
    step, change, length = room[0], room[1], 1.0
    for _ in range(TRIES):
        gain = 0.0
        for k in range(len(free)):
            i = np.uint64(free[k])
            alpha = table[i, ALPHA]
            change[k] = min(max(alpha + length * step[k], 0.0), table[i, MOST]) - alpha
            gain += change[k]
        balance = gather(rows, table, free, change, pull)
        gain -= balance * (theta0 + 0.5 * spring * balance)
        for j in range(len(pull)):
            gain -= pull[j] * (theta[j] + 0.5 * pull[j])
        if gain > 0.0:
            for k in range(len(free)):
                i = np.uint64(free[k])
                # As it was clipped, so that a bound that was reached is met exactly.
                alpha = table[i, ALPHA] + length * step[k]
                table[i, ALPHA] = min(max(alpha, 0.0), table[i, MOST])
            for j in range(len(pull)):
                theta[j] += pull[j]
            return theta0 + spring * balance
        length *= SHORTER
    return theta0


class Face:
    """The face on which the α strictly between their bounds can move, the others being fixed."""

    def __init__(self, n: int, d: int) -> None:
        self.free, self.room, self.pull = np.empty(n, np.int64), np.empty((4, 0)), np.empty(d)

    def climb(
        self, rows: Design, table: FloatArray, theta: FloatArray, theta0: float, spring: float,
        goal: float,
    ) -> float:  # fmt: skip
        """Return a Newton step of D over the free α, solved by conjugate gradients; returns θ₀."""
        count = free_examples(table, self.free)
        if not count:
            return theta0
        if self.room.shape[1] < count:
            self.room = np.empty((4, count))
        given = (rows, table, theta, theta0, spring, self.free[:count], self.room, self.pull)
        newton_direction(*given, 0.5 * goal)
        return climb(*given)
