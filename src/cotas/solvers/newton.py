"""Newton's method for regularized risks with a smooth loss: logistic, squared hinge, Huber."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dposv

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.design.blocks import BLOCK_BYTES, row_block, row_spans, times, times_transposed
from cotas.solvers.risks import Local, ScoreLoss

# Up to so many unknowns, times the number of scores, the Newton system is formed and factorized;
# above, it is solved by conjugate gradients.
LARGEST_SYSTEM = 1000
EPS = 2.0**-52


class NewtonPoint(NamedTuple):
    """θ and θ₀, a column for each score, the objective there, and how far it may be above the best.

    `slopes` are s·ℓ' at `scores`, the dual point. Without a bias, or with a penalized one, the
    distance is its duality gap. With a free bias it is an estimate: their sum has to be made zero.
    """

    theta: FloatArray
    theta0: FloatArray
    objective: float
    gap: float
    slopes: FloatArray
    scores: FloatArray


def newton(
    X: Matrix,
    loss: ScoreLoss,
    lam: float,
    bias_penalty: float | None,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> Iterator[NewtonPoint]:
    """Iterates of Newton's method with a line search.

        min  loss(Xθ + θ₀) + (λ/2)‖θ‖² + (bias_penalty/2)‖θ₀‖²

    `bias_penalty` is zero for a free bias and None for no bias at all. A step solves
    Hessian·Δ = −gradient and is halved until the objective falls by a fair part of what the slope
    promises. Departures: a large system is solved by conjugate gradients, roughly at first and
    ever better as the gradient vanishes (Dembo and Steihaug 1983). The squared hinge has no
    second derivative at its corner, and one of its sides is taken (Mangasarian 2002).
    Invariant: the objective never rises. Cost: a step costs a weighted Gram matrix for each pair
    of scores, O(nd²K²) for the n rows with a second derivative, or a product with X and one with
    Xᵀ for each conjugate direction.
    It ends when rounding allows no further descent.
    """
    d, k = X.shape[1], loss.columns
    penalty = np.full((d + 1, 1), lam)
    penalty[-1] = bias_penalty or 0.0
    point = np.zeros((d + 1, k))
    if start is not None:
        point[:-1], point[-1] = start[0].reshape(d, k), start[1]
    system = _System(X, penalty, bias_penalty is not None)
    scale = 0.5 / np.where(penalty > 0, penalty, lam)

    def added(point: FloatArray) -> float:
        return 0.5 * float(np.add.reduce(penalty * point * point, axis=None))

    scores = system.scores(point)
    local = loss.near(scores)
    objective = local.risk + added(point)
    while True:  # until the caller has seen enough
        gradient = system.gathered(local.slopes) + penalty * point
        gap = float(np.add.reduce(scale * gradient * gradient, axis=None))
        model = (point[:-1].copy(), point[-1].copy())
        yield NewtonPoint(*model, objective, gap, local.slopes, scores)
        step = system.solve(local, -gradient)
        promised = float(np.add.reduce(gradient * step, axis=None))
        if not promised < 0:
            return
        moves = system.scores(step)
        # Along directions that hardly any row curves, a step can be far too long.
        far, length = float(np.abs(moves).max()), 1.0
        while True:
            moved, there = point + length * step, scores + length * moves
            local = loss.near(there)
            value = local.risk + added(moved)
            if value <= objective + 1e-4 * length * promised:
                break
            length /= 2
            if not length * far > EPS * (np.abs(scores).max() or 1.0):
                return  # the last digits are used up
        point, scores, objective = moved, there, value


@dataclass(frozen=True)
class _System:
    """Products with (X, 1), and the Newton system made of them."""

    X: Matrix
    penalty: FloatArray
    bias: bool

    @cached_property
    def few(self) -> FloatArray | None:
        """(X, 1) if X is dense and so small that a step takes less time than to form it."""
        if sparse.issparse(self.X) or 8 * self.X.size > BLOCK_BYTES:
            return None
        return np.column_stack([self.X, np.full(len(self.X), float(self.bias))])

    def scores(self, point: FloatArray) -> FloatArray:
        if self.few is not None:
            return np.asarray(self.few @ point)
        return np.asarray(times(self.X, point[:-1]) + point[-1] * self.bias)

    def gathered(self, slopes: FloatArray) -> FloatArray:
        if self.few is not None:
            return np.asarray(self.few.T @ slopes)
        return np.vstack([times_transposed(self.X, slopes), self.bias * slopes.sum(axis=0)])

    def solve(self, local: Local, right: FloatArray) -> FloatArray:
        """Hessian⁻¹ · right, exactly if it is small and else by conjugate gradients."""
        if right.size * right.shape[1] <= LARGEST_SYSTEM:
            return self._solve_exactly(local, right)
        return self._solve_by_conjugate_gradients(local, right)

    def _rows(self, span: slice, some: slice | IntArray) -> FloatArray:
        """(x, 1) of some of the rows of a span."""
        if self.few is not None:
            return np.asarray(self.few[span][some])
        block = row_block(self.X, span)[some]
        block = block.toarray() if sparse.issparse(block) else block
        return np.column_stack([block, np.full(len(block), float(self.bias))])

    def _solve_exactly(self, local: Local, right: FloatArray) -> FloatArray:
        rows, k = right.shape
        hessian = np.zeros((k, rows, k, rows))
        every = slice(0, self.X.shape[0])
        for span in row_spans(self.X, rows) if self.few is None else (every,):
            curved = np.asarray(local.diagonal[span].any(axis=1)).nonzero()[0]
            some = slice(None) if 2 * len(curved) >= span.stop - span.start else curved
            block = self._rows(span, some)
            for a in range(k):
                for b in range(a, k):
                    part = block.T @ (block * local.second(a, b)[span][some, None])
                    hessian[a, :, b] += part
                    if a != b:
                        hessian[b, :, a] += part
        if self.bias and k > 1:  # moving all the biases together changes nothing
            hessian[:, -1, :, -1] += float(local.diagonal.sum()) / k**2
        matrix = hessian.reshape(k * rows, k * rows)
        diagonal = matrix.diagonal() + self.penalty.T.repeat(k, axis=0).ravel()
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

    def _solve_by_conjugate_gradients(self, local: Local, right: FloatArray) -> FloatArray:
        scale = 1.0 / self._diagonal(local)
        solution, residual = np.zeros_like(right), right.copy()
        direction = preconditioned = scale * residual
        product = begun = float((residual * preconditioned).sum())
        enough = min(0.01, np.sqrt(begun)) ** 2 * begun
        for _ in range(min(500, right.size)):
            bent = local.bend(self.scores(direction))
            image = self.gathered(bent) + self.penalty * direction
            curvature = float((direction * image).sum())
            if not curvature > 0:
                break
            solution = solution + product / curvature * direction
            residual = residual - product / curvature * image
            preconditioned = scale * residual
            before, product = product, float((residual * preconditioned).sum())
            if product <= enough:
                break
            direction = preconditioned + product / before * direction
        return solution

    def _diagonal(self, local: Local) -> FloatArray:
        """The diagonal of the Hessian, never zero."""
        own = local.diagonal if local.outer is None else local.diagonal - local.outer**2
        total = np.zeros_like(self.penalty + own[:1])
        for span in row_spans(self.X):
            block = row_block(self.X, span)
            squares = block.multiply(block) if sparse.issparse(block) else np.square(block)
            total[:-1] += squares.T @ own[span]
        total[-1] = self.bias * own.sum(axis=0)
        total = total + self.penalty
        return np.asarray(np.where(total > 0, total, 1.0))
