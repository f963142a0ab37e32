"""Kernel ridge regression: one linear system, by its factor or by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.problem import relative_gap
from cotas.solvers.iterate import Iterate, KernelIterates
from cotas.solvers.kernel_dual import GramRows

# Rows and columns of a block of kernel values, which should stay in the cache of a core, and of a
# tile of a matrix.
ROWS, COLUMNS, TILE = 256, 1024, 384
# The residual is followed by a recurrence and computed afresh after so many iterations.
FRESH_RESIDUAL = 25
# A system that is solved to rounding is not solved better by more of these steps.
REFINEMENTS = 4

Times = Callable[[FloatArray], FloatArray]


class RidgeSystem:
    """The system (K + λS⁻¹)β + θ₀ = y, Σ βᵢ = 0 with a free bias: where ½ Σ sᵢrᵢ² + (λ/2)βᵀKβ is
    least.

    Without the bias θ₀ is zero. With it, β = u − θ₀v for the solutions u and v with the right
    sides y and 1.
    """

    def __init__(self, y: FloatArray, weights: FloatArray, lam: float, free_bias: bool) -> None:
        self.y, self.weights, self.lam, self.free_bias = y, weights, lam, free_bias
        self.diagonal = lam / weights
        self.right = np.column_stack([y, np.ones(len(y))]) if free_bias else y[:, None]

    def iterate(self, U: FloatArray, KU: FloatArray) -> Iterate:
        """Return the model of approximate solutions U, and the gap that it has but for rounding.

        A model is its own dual point: P − D = ½ Σ sᵢeᵢ², e being the residual of the system.
        """
        beta, scores, bias = U[:, 0], KU[:, 0], 0.0
        if self.free_bias:
            bias = float(U[:, 0].sum() / U[:, 1].sum())
            beta, scores = beta - bias * U[:, 1], scores - bias * KU[:, 1]
        r = self.y - bias - scores
        primal = 0.5 * float(self.weights @ r**2) + 0.5 * self.lam * float(beta @ scores)
        gap = 0.5 * float(self.weights @ (r - self.diagonal * beta) ** 2)
        zero = 0.5 * float(self.weights @ (self.y - self.weights @ self.y) ** 2)
        return Iterate(beta, scores - self.y, relative_gap(gap, primal, zero))


def by_factor(gram: GramRows, system: RidgeSystem, each: Each = map) -> KernelIterates:
    """Yield an iterate from the Cholesky factor of K + λS⁻¹, and refined ones after it.

    Departures: the residual of the solution is solved for again, since the factor has lost digits
    where K + λS⁻¹ is ill-conditioned. Raises `LinAlgError` where it is singular in double
    precision. Cost: n³/3, one matrix of n × n, and K once more, in blocks, for each iterate.
    """
    L = lower_triangle(gram, each)
    L[np.diag_indices(len(L))] += system.diagonal
    factorize(L, each)
    times = product(gram, 0, each)
    U = _solved(L, system.right)
    for _ in range(REFINEMENTS):
        KU = times(U)
        yield system.iterate(U, KU)
        U = U + _solved(L, system.right - KU - system.diagonal[:, None] * U)


def _solved(L: FloatArray, right: FloatArray) -> FloatArray:
    """Solve LLᵀu = right."""
    half = linalg.solve_triangular(L, right, lower=True, check_finite=False)
    return np.asarray(linalg.solve_triangular(L, half, lower=True, trans=1, check_finite=False))


def lower_triangle(gram: GramRows, each: Each = map) -> FloatArray:
    """Compute K on and below its diagonal, tile by tile; above it is anything."""
    n = len(gram)
    K = np.empty((n, n))

    def fill(rows: slice) -> None:
        side = gram.side(np.arange(rows.start, rows.stop), np.float64)
        for columns in spans(rows.stop, TILE):
            K[rows, columns] = gram.block(side, columns)

    for _ in each(fill, spans(n, TILE)):
        pass
    return K


def factorize(A: FloatArray, each: Each = map) -> None:
    """Compute the Cholesky factor L of A in the place of its lower triangle, tile by tile.

    Right-looking: a tile of the diagonal, those below it, and what they take from the rest. Tiles
    of one stage do not depend on each other, so that threads do not change a bit of the result.
    """
    tiles = spans(len(A), TILE)
    for k, own in enumerate(tiles):
        corner = A[own, own] = np.linalg.cholesky(A[own, own])

        def below(rows: slice, own: slice = own, corner: AnyArray = corner) -> None:
            A[rows, own] = linalg.solve_triangular(
                corner, A[rows, own].T, lower=True, check_finite=False
            ).T

        def less(place: tuple[slice, slice], own: slice = own) -> None:
            rows, columns = place
            A[rows, columns] -= A[rows, own] @ A[columns, own].T

        rest = tiles[k + 1 :]
        for _ in each(below, rest):
            pass
        for _ in each(less, [(rest[i], rest[j]) for i in range(len(rest)) for j in range(i + 1)]):
            pass


def by_conjugate_gradients(
    gram: GramRows, system: RidgeSystem, cache_bytes: int, each: Each = map
) -> KernelIterates:
    """Yield an iterate for each step, for systems whose matrix is too large to keep.

        (√S K √S + λI) û = √S·right,      u = √S û

    Hestenes and Stiefel 1952, both right sides in the same products. Departures: as many rows of
    K are kept as fit into the cache, the others computed again each time; the residual is
    computed afresh now and then, since rounding makes the recurrence drift. Invariant: the
    objective falls in every step. Cost: a product with K a step; the error falls by
    (√κ − 1)/(√κ + 1) in each, κ ≤ 1 + Σ sᵢKᵢᵢ/λ.
    """
    times, roots = product(gram, cache_bytes, each), np.sqrt(system.weights)[:, None]
    U = np.zeros_like(system.right)
    KU, number = np.zeros_like(U), 0
    left = roots * system.right
    direction, squares = left.copy(), np.sum(left**2, axis=0)
    while True:
        number += 1
        Kd = times(roots * direction)
        curved = roots * Kd + system.lam * direction
        along = np.sum(direction * curved, axis=0)
        step = np.divide(squares, along, where=along > 0, out=np.zeros_like(along))
        U, KU = U + step * (roots * direction), KU + step * Kd
        fresh = number % FRESH_RESIDUAL == 0
        if fresh:
            KU = times(U)
            left = roots * (system.right - KU) - system.lam * U / roots
        else:
            left = left - step * curved
        yield system.iterate(U, KU)
        before, squares = squares, np.sum(left**2, axis=0)
        conjugacy = np.divide(squares, before, where=before > 0, out=np.zeros_like(before))
        direction = left + (0.0 if fresh else conjugacy) * direction


def product(gram: GramRows, cache_bytes: int, each: Each = map) -> Times:
    """Multiply K by a matrix in blocks, as many rows of K being kept as fit into so many bytes."""
    n = len(gram)
    pieces, kept = spans(n, ROWS), dict[int, FloatArray]()
    room = cache_bytes // (8 * ROWS * n)

    def times(U: FloatArray) -> FloatArray:
        out = np.zeros_like(U)

        def fill(number: int) -> None:
            span = pieces[number]
            if number in kept:
                out[span] = kept[number] @ U
                return
            side = gram.side(np.arange(span.start, span.stop), np.float64)
            blocks = ((columns, gram.block(side, columns)) for columns in spans(n, COLUMNS))
            if number < room:
                kept[number] = np.hstack([block for _, block in blocks])
                out[span] = kept[number] @ U
                return
            for columns, block in blocks:
                out[span] += block @ U[columns]

        for _ in each(fill, range(len(pieces))):
            pass
        return out

    return times


def spans(n: int, size: int) -> list[slice]:
    """Compute 0 … n − 1 in pieces of so many."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
