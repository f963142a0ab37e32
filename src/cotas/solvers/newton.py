"""Newton's method for regularized risks with a smooth loss: logistic, squared hinge, Huber."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from cotas.arrays import FloatArray, Matrix
from cotas.solvers.risks import ScoreLoss
from cotas.solvers.smooth_rows import BlockPlace, LossPoint, rows_with
from cotas.source import Source

# A sample is solved until its gap is this part of its objective: it differs from the whole by more.
SAMPLE_GAP = 1e-4


class NewtonPoint(NamedTuple):
    """A point θ and θ₀, a column for each score, the objective there, and how far it may be above
    the best.

    `slopes` are s·ℓ' at `scores`, the dual point; of a source they are not kept. Without a bias
    the distance is its duality gap. With one it is an estimate: their sum has to be made zero.
    """

    theta: FloatArray
    theta0: FloatArray
    objective: float
    gap: float
    slopes: FloatArray
    scores: FloatArray
    steps: int = 1  # since the last one that was shown


def newton(
    X: Matrix | Source,
    loss: ScoreLoss | Any,
    lam: float,
    bias: bool,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> Iterator[NewtonPoint]:
    """Yield the iterates of Newton's method with a line search.

        min  loss(Xθ + θ₀) + (λ/2)‖θ‖²,    θ₀ = 0 without a bias

    A step solves Hessian·Δ = −gradient and is shortened until the objective falls by a fair part of
    what the slope promises. X may be a source of row blocks, `loss` then being that of any of its
    rows: a point is one pass for the value, the gradient and the Hessian. Departures: a large
    system is solved by conjugate gradients, roughly at first and ever better as the gradient
    vanishes (Dembo and Steihaug 1983); of a source roughly throughout, as each of them is a pass.
    The squared hinge has no second derivative at its corner, and one of its sides is taken
    (Mangasarian 2002). Invariant: the objective never rises. Cost: a step costs a weighted Gram
    matrix for each pair of scores, O(nd²K²) for the n rows with a second derivative, or a product
    with X and one with Xᵀ for each conjugate direction.
    It ends when rounding allows no further descent.
    """
    rows = rows_with(X, loss, bias)
    penalty = np.full((rows.shape[0], 1), lam)
    penalty[-1] = 0.0

    def added(point: FloatArray) -> float:
        return 0.5 * float(np.add.reduce(penalty * point * point, axis=None))

    point = first_point(rows.shape, start)
    place: LossPoint | BlockPlace = rows.at(point)
    objective = place.risk + added(point)
    while True:  # until the caller has seen enough
        gradient = place.gradient() + penalty * point
        gap = 0.5 * float(np.add.reduce(gradient * gradient, axis=None)) / lam
        model = (point[:-1].copy(), point[-1].copy())
        yield NewtonPoint(*model, objective, gap, place.slopes, place.scores)
        solve = _solve_exactly if rows.small else _solve_by_conjugate_gradients
        step = solve(place, penalty, -gradient)
        promised = float(np.add.reduce(gradient * step, axis=None))
        if not promised < 0:
            return
        # Along directions that hardly any row curves, a step can be far too long.
        line, length = place.along(step), 1.0
        while True:
            moved, there = point + length * step, line.at(length)
            value = there.risk + added(moved)
            if value <= objective + 1e-4 * length * promised:
                break
            length *= rows.shorter
            if line.is_spent(length):
                return  # the last digits are used up
        point, place, objective = moved, there, value


def first_point(shape: tuple[int, int], start: tuple[FloatArray, FloatArray] | None) -> FloatArray:
    """Compute θ with θ₀ in the last row, where the iterates begin."""
    point = np.zeros(shape)
    if start is not None:
        point[:-1], point[-1] = start[0].reshape(shape[0] - 1, shape[1]), start[1]
    return point


def rough_solution(points: Iterator[NewtonPoint]) -> tuple[FloatArray, FloatArray]:
    """Compute θ and θ₀ of a sample, for the rest of the rows to begin at."""
    for found in points:
        if found.gap <= SAMPLE_GAP * found.objective:
            break
    return found.theta, found.theta0


def _solve_exactly(
    place: LossPoint | BlockPlace, penalty: FloatArray, right: FloatArray
) -> FloatArray:
    """Compute (Hessian + penalty)⁻¹ · right"""
    rows, k = right.shape
    hessian = place.second()
    if place.rows.bias and k > 1:  # moving all the biases together changes nothing
        hessian[:, -1, :, -1] += 1.0 / k**2
    matrix = hessian.reshape(k * rows, k * rows)
    diagonal = matrix.diagonal() + penalty.T.repeat(k, axis=0).ravel()
    matrix.flat[:: k * rows + 1] = diagonal
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    matrix = matrix * scale[:, None] * scale
    solution = np.zeros(k * rows)
    for jitter in (1e-15, 1e-12, 1e-9):
        matrix.flat[:: k * rows + 1] += jitter
        _, found, failed = dposv(matrix, scale * right.T.ravel(), lower=1)
        if not failed:  # by rounding, or scores that overflow
            solution = scale * found
            break
    return np.asarray(solution.reshape(k, rows).T)


def _solve_by_conjugate_gradients(
    place: LossPoint | BlockPlace, penalty: FloatArray, right: FloatArray
) -> FloatArray:
    """Return the same for a system that is not formed, about."""
    diagonal = place.diagonal() + penalty
    scale = 1.0 / np.where(diagonal > 0, diagonal, 1.0)
    solution, residual = np.zeros_like(right), right.copy()
    direction = preconditioned = scale * residual
    product = begun = float((residual * preconditioned).sum())
    tolerance = max(place.rows.roughest, min(0.01, np.sqrt(begun))) ** 2 * begun
    for _ in range(min(place.rows.directions, right.size)):
        image = place.bend(direction) + penalty * direction
        curvature = float((direction * image).sum())
        if not curvature > 0:
            break
        solution = solution + product / curvature * direction
        residual = residual - product / curvature * image
        preconditioned = scale * residual
        before, product = product, float((residual * preconditioned).sum())
        if product <= tolerance:
            break
        direction = preconditioned + product / before * direction
    return solution
