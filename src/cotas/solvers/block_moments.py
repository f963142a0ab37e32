"""Least squares from blocks of rows: moments, residuals and triangles as sums over blocks.

Each block is measured from a centre of its own, and moments of blocks are merged in pairs, so that
neither columns far from zero nor many rows cost digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray
from cotas.design.blocks import moved
from cotas.solvers.moments import FAR_FROM_ZERO, Moments, gather_moments
from cotas.solvers.orthogonal import Triangle, triangle_of
from cotas.source import Block, Source, Sums, double, is_sparse


def targets(block: Block) -> FloatArray:
    """y of a block with a column for each target."""
    if np.asarray(block.y).dtype.kind not in "biuf":
        raise ValueError("y of the source holds words, and a regression needs numbers.")
    y = np.asarray(block.y, dtype=np.float64)
    return y[:, None] if y.ndim == 1 else y


def block_moments(block: Block) -> Moments:
    """The moments of the rows of a block."""
    Y, d = targets(block), block.X.shape[1]
    if block.weights is not None and not block.weights.any():
        k = Y.shape[1]
        shapes = (d, k, (d, d), (d, k), k, d)
        return Moments(0.0, *(np.zeros(shape) for shape in shapes))
    with np.errstate(over="ignore", invalid="ignore"):
        return gather_moments(block.X, Y, block.weights)


class Ends(NamedTuple):
    """The smallest and the largest entry of each column, of the rows that have a weight."""

    low: FloatArray
    high: FloatArray

    def __add__(self, other: Any) -> Any:
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def ends_of(block: Block) -> Ends:
    """Those of the columns of a block, and of its targets."""
    X, Y, s = block.X, targets(block), block.weights
    if s is not None and not s.all():
        X, Y = X[s > 0], Y[s > 0]
    if not len(Y):
        nothing = np.full(X.shape[1] + Y.shape[1], np.inf)
        return Ends(nothing, -nothing)
    ends = [
        np.concatenate([_column_of(of_X(axis=0)), of_Y(axis=0)])
        for of_X, of_Y in ((X.min, Y.min), (X.max, Y.max))
    ]
    return Ends(*ends)


def _column_of(ends: Any) -> FloatArray:
    dense = ends.toarray().ravel() if sparse.issparse(ends) else ends
    return np.asarray(dense, dtype=np.float64)


def far_columns(moments: Moments, dense: bool) -> FloatArray | None:
    """What rows are moved by before their residuals are summed up; of sparse rows few columns."""
    if dense:
        return moments.mean
    far = np.abs(moments.mean) > FAR_FROM_ZERO * moments.deviation(True)
    return np.where(far, moments.mean, 0.0) if far.any() else None


@dataclass(frozen=True)
class ResidualSlope:
    """Σ wᵢrᵢxᵢ and Σ wᵢrᵢ of a block, with the residuals r = y − θ·x − θ₀ of the moved rows."""

    theta: FloatArray  # a column for each target
    theta0: FloatArray
    shift: FloatArray | None

    def __call__(self, block: Block) -> Sums:
        slope, mean, Y = np.zeros(self.theta.shape), np.zeros(len(self.theta0)), targets(block)
        for span in block.spans():
            rows = double(block.X[span])
            rows = rows if self.shift is None else moved(rows, self.shift)
            residual = Y[span] - np.asarray(rows @ self.theta) - self.theta0
            if block.weights is not None:
                residual *= block.weights[span, None]
            slope += rows.T @ residual
            mean += residual.sum(axis=0)
        return Sums(slope, mean)


@dataclass(frozen=True)
class BlockTriangle:
    """The triangle of the rows √wᵢ(xᵢ, yᵢ) of a block, less the means."""

    centre: tuple[FloatArray, FloatArray] | None

    def __call__(self, block: Block) -> Triangle:
        return triangle_of(block.X, targets(block), block.shares(), self.centre)


def is_dense(source: Source) -> bool:
    """Whether the rows of a source are dense, by its first block."""
    return not source.of_first(is_sparse)
