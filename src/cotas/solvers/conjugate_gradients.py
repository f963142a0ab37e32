"""Least squares and ridge by conjugate gradients, for large sparse data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cotas.arrays import FloatArray
from cotas.solvers.quadratic import Quadratic, QuadraticIterate

# The gradient is followed by a recurrence and computed afresh after so many iterations.
FRESH_GRADIENT = 25


def conjugate_gradients(
    objective: Quadratic, start: FloatArray | None = None
) -> Iterator[QuadraticIterate]:
    """Compute H z = b, each target on its own, all in the same products with H.

    Hestenes and Stiefel 1952. Departures: the gradient is computed afresh every 25 iterations,
    and the search begins again from it, since rounding makes the recurrence drift.
    Invariant: the objective falls in every iteration; from zero z stays in the range of H, so that
    the limit is the solution of smallest norm where there are several.
    Cost: one product with H an iteration; the error falls by (√κ − 1)/(√κ + 1) in each.
    """
    z = np.zeros(objective.size) if start is None else start.copy()
    value, gradient = objective.value_and_gradient(z)
    direction = -gradient
    squares = np.sum(gradient**2, axis=0)
    number = 0
    while True:
        number += 1
        curved = objective.apply(direction)
        along = np.sum(direction * curved, axis=0)
        step = np.divide(squares, along, where=along > 0, out=np.zeros_like(along))
        z = z + step * direction
        if number % FRESH_GRADIENT == 0:
            value, gradient = objective.value_and_gradient(z)
        else:
            gradient = gradient + step * curved
            value = value - 0.5 * float(np.sum(step * squares))
        moved = float(np.linalg.norm(step * direction))
        before, squares = squares, np.sum(gradient**2, axis=0)
        conjugacy = np.divide(squares, before, where=before > 0, out=np.zeros_like(before))
        direction = -gradient + (0.0 if number % FRESH_GRADIENT == 0 else conjugacy) * direction
        yield QuadraticIterate(number, z, value, float(np.sqrt(squares.sum())), moved)
