"""Batch gradient descent of Moreno Chávez."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cotas.arrays import FloatArray
from cotas.solvers.quadratic import Quadratic, QuadraticIterate, Steps


def gradient_descent(
    objective: Quadratic, step: Steps, start: FloatArray | None = None
) -> Iterator[QuadraticIterate]:
    """Compute z ← z − step·∇P(z), for ever.

        min  ½ Σ sᵢ(yᵢ − θ·xᵢ − θ₀)² + (λ/2)‖θ‖²

    The algorithm of Moreno Chávez, slide "Descenso de gradiente por lotes". Departures: the sum is
    a mean, so that a step here is m times the α there; `step` may depend on the iteration, which
    is counted from one.
    Invariant: with a constant step below 2/L the objective falls in every iteration.
    Cost: one product with the Hessian an iteration.
    """
    z = np.zeros(objective.size) if start is None else start.copy()
    _, gradient = objective.value_and_gradient(z)
    number = 0
    while True:
        number += 1
        move = -step(number) * gradient
        z = z + move
        value, gradient = objective.value_and_gradient(z)
        yield QuadraticIterate(
            number, z, value, float(np.linalg.norm(gradient)), float(np.linalg.norm(move))
        )
