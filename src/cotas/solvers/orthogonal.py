"""Least squares and ridge by orthogonal triangularization, for data that are nearly collinear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import qr, svd

from cotas.arrays import Each, FloatArray, Matrix
from cotas.design.blocks import row_block
from cotas.solvers.moments import BLOCK_BYTES, EPS, targets
from cotas.source import Block, Source


class Orthogonal(NamedTuple):
    """A solution θ with a row for each target, the rank, and the singular values of the scaled
    columns."""

    theta: FloatArray
    rank: int
    singular_values: FloatArray


@dataclass(frozen=True)
class Triangle:
    """The triangle R of some rows; that of more rows is made of two (TSQR, Demmel et al. 2012)."""

    R: FloatArray

    def __add__(self, other: Triangle) -> Triangle:
        both = np.vstack([self.R, other.R])
        return Triangle(qr(both, mode="r", check_finite=False)[0][: both.shape[1]])


@dataclass(frozen=True)
class BlockTriangle:
    """The triangle of the rows √wᵢ(xᵢ, yᵢ) of a block, less their centre."""

    centre: tuple[FloatArray, FloatArray] | None

    def __call__(self, block: Block) -> Triangle:
        return Triangle(_triangle(block.X, targets(block), block.weights, self.centre))


def orthogonal(
    source: Source, centre: tuple[FloatArray, FloatArray] | None, penalty: FloatArray, total: float,
    each: Each = map,
) -> Orthogonal:  # fmt: skip
    """Return the solution of smallest norm, without ever squaring the data.

        min  ½ Σ sᵢ(yᵢ − θ·xᵢ)² + ½ Σ penaltyⱼθⱼ²        (x and y less their `centre`)

    s are the weights of the source over `total`, their sum. The rows √sᵢ(xᵢ, yᵢ) are reduced to a
    triangle R block by block (TSQR), and R is decomposed into singular values. The condition
    number of the data enters once and not squared. Departures: the columns are scaled to unit
    length before the rank is decided; among all minimizers the one of smallest ‖θ‖ in the units of
    the data is returned.
    Invariant: ‖Rθ‖ = ‖√s Xθ‖ for every θ. Cost: O(nd²), some three times the normal equations;
    memory for one block and R.
    """
    n, R = source.n_rows, source.map_reduce(BlockTriangle(centre), each).R / np.sqrt(total)
    d = len(penalty)
    if penalty.any():
        R = np.vstack([R, np.hstack([np.diag(np.sqrt(penalty)), np.zeros((d, R.shape[1] - d))])])
    A, B = R[:, :d], R[:, d:]
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(A, axis=0)
    off = np.zeros(d) if centre is None else EPS * np.abs(centre[0])
    used = lengths > (16 + np.sqrt(n)) * off
    scale = np.divide(1.0, lengths, where=used, out=np.zeros(d))
    U, values, Vt = svd(A * scale, full_matrices=False, check_finite=False)
    # A column far from zero has lost digits before it came here, and so has what depends on it.
    least = max(n, d) * EPS * values.max(initial=0.0) + 4 * np.abs(Vt) @ (off * scale)
    kept = values > least
    U, values, V = U[:, kept], values[kept], Vt[kept].T

    def solve(right: FloatArray) -> FloatArray:
        return np.asarray(scale[:, None] * (V @ ((U.T @ right) / values[:, None])))

    theta = solve(B)
    if len(values) < used.sum():
        # Of all minimizers the smallest lies in the span of the rows: project on it, and make
        # good what that costs where the columns are of very different sizes.
        basis = qr(V * lengths[:, None], mode="economic", check_finite=False)[0]
        theta = np.where(used[:, None], basis @ (basis.T @ theta), 0.0)
        theta += solve(B - A @ theta)
    return Orthogonal(theta.T.copy(), len(values), values)


def _triangle(
    X: Matrix,
    Y: FloatArray,
    weights: FloatArray | None,
    centre: tuple[FloatArray, FloatArray] | None,
) -> FloatArray:
    """Compute R of the weighted, centred rows (x, y)."""
    n, width = X.shape[0], X.shape[1] + Y.shape[1]
    rows = int(max(2 * width, BLOCK_BYTES // (8 * width)))
    R = np.zeros((0, width))
    for start in range(0, n, rows):
        span = slice(start, min(start + rows, n))
        x, y = row_block(X, span), Y[span]
        x = x.toarray() if sparse.issparse(x) else x
        block = np.hstack([x, y])
        if centre is not None:
            block -= np.concatenate(centre)
        block = block if weights is None else block * np.sqrt(weights[span, None])
        stacked = np.vstack([R, block])
        R = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
        R = R[:width]
    return R
