"""Least squares from blocks of rows: moments, residuals and triangles as sums over blocks.

Each block is measured from a centre of its own, and moments of blocks are merged in pairs, so that
neither columns far from zero nor many rows cost digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray
from cotas.design.blocks import moved
from cotas.solvers.moments import FAR_FROM_ZERO, Moments, gather_moments
from cotas.solvers.orthogonal import Triangle, triangle_of
from cotas.source import Block, Source, Sums, double


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
    return not sparse.issparse(next(iter(source.blocks())).X)
