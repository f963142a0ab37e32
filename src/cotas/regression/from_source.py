"""Least squares and ridge from a source of row blocks: one pass for the moments, two for the proof.

Where squaring the data costs digits the residuals are gone over once more, and where it costs too
many the triangle of the rows is made of those of the blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.fitting.data import refuse_extreme_weights
from cotas.fitting.from_source import bound_to, refuse_not_finite
from cotas.refusals import ParameterError
from cotas.regression.task import LARGEST_GRAM, Task
from cotas.solvers.moments import Ends, Moments, block_moments, ends_of
from cotas.solvers.orthogonal import BlockTriangle
from cotas.source import Block, Source, Sums, shape_of_targets

IN_BLOCKS = "Solved by the normal equations, the rows coming in blocks."


def read_moments(source: Source) -> Moments:
    """Return the moments of all the rows, in one pass."""
    refuse_many_columns(source)
    return _sound(source.map_reduce(sound_moments))


def read_moments_and_ends(source: Source) -> tuple[Moments, Ends]:
    """Return the same, and between which numbers each column lies, and y, which is the last."""
    refuse_many_columns(source)
    moments, ends = source.map_reduce(moments_and_ends)
    return _sound(moments), ends


def refuse_many_columns(source: Source) -> None:
    """Raise where a matrix of the size of θ would be too large."""
    if source.n_features > LARGEST_GRAM:
        raise ParameterError(
            "X",
            f"From a source of row blocks a matrix of the size of θ is kept, and "
            f"{source.n_features} features are too many: {LARGEST_GRAM} at most.",
        )


def _sound(found: Moments) -> Moments:
    """Return the moments of all the rows, if they are numbers."""
    if not found.weight > 0:
        raise ParameterError(
            "sample_weight", "The weights of the source are zero for all rows: one must count."
        )
    refuse_extreme_weights(min(1.0, found.weight), "The weight of all rows")
    if not (np.isfinite(found.scatter).all() and np.isfinite(found.target_scatter).all()):
        raise ParameterError(
            "X", "The squares of X or of y overflow. Rescale the columns, and y with them."
        )
    return found


def moments_and_ends(block: Block) -> Sums:
    """Return the moments of a block, and the ends of its columns."""
    return Sums(sound_moments(block), ends_of(block))


def sound_moments(block: Block) -> Moments:
    """Return the moments of a block; it is refused if it holds NaN or infinity."""
    found = block_moments(block)
    if not (np.isfinite(found.scatter).all() and np.isfinite(found.target_scatter).all()):
        refuse_not_finite(block)
        if not np.isfinite(np.asarray(block.y, dtype=np.float64)).all():
            raise ParameterError("y", "Input y contains NaN or infinity.")
    elif block.weights is not None:
        refuse_not_finite(block)
    return found


def triangle_in_blocks(source: Source, free_bias: bool) -> tuple[Moments, FloatArray]:
    """Compute the moments, and the triangle of the rows √(sᵢ/S)(xᵢ, yᵢ), less their means with a
    bias."""
    moments = read_moments(source)
    centre = (moments.mean, moments.target_mean) if free_bias else None
    found = source.map_reduce(BlockTriangle(centre))
    return moments, found.R / np.sqrt(moments.weight)


class BlockTask(Task):
    """The same from blocks, solved in closed form."""

    in_blocks = True

    def __init__(self, model: Any, source: Source, lam: float, each: Each) -> None:
        self.model, self.lam, self.each = model, lam, map
        self.rows = bound_to(source, each, targets=True)
        self.free_bias = bool(model.fit_intercept)
        self.n_features, self.weights = source.n_features, None
        shape = source.of_first(shape_of_targets)
        self.columns = [None] if len(shape) == 1 else list(range(shape[1]))
        self.moments = read_moments(self.rows)

    @property
    def size(self) -> float:
        """Return the sum of the weights."""
        return self.moments.weight

    @property
    def penalty_scale(self) -> FloatArray | None:
        """Return σⱼ: with standardized columns the penalty is on their coefficients."""
        standardized = self.model.standardize and self.lam > 0
        return self.moments.deviation(self.free_bias) if standardized else None
