"""Least squares and ridge from a source of row blocks: one pass for the moments, two for the proof.

Where squaring the data costs digits the residuals are gone over once more, and where it costs too
many the triangle of the rows is made of those of the blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import SquaredLossPoint
from cotas.fitting.data import refuse_extreme_weights
from cotas.fitting.from_source import bound_to, refuse_not_finite
from cotas.regression.solving import ILL_CONDITIONED, LARGEST_GRAM, SINGULAR, WORTH_REFINING
from cotas.regression.task import Outcome
from cotas.solvers.block_moments import (
    BlockTriangle,
    Ends,
    ResidualSlope,
    block_moments,
    ends_of,
    far_columns,
    is_dense,
)
from cotas.solvers.moments import Moments
from cotas.solvers.normal_equations import factorize
from cotas.solvers.orthogonal import from_triangle
from cotas.solvers.refined_equations import refine_by
from cotas.source import Block, Source, Sums

IN_BLOCKS = "Solved by the normal equations, the rows coming in blocks."


def read_moments(source: Source) -> Moments:
    """The moments of all the rows, in one pass."""
    refuse_many_columns(source)
    return _sound(source.map_reduce(sound_moments))


def read_moments_and_ends(source: Source) -> tuple[Moments, Ends]:
    """The same, and between which numbers each column lies, and y, which is the last."""
    refuse_many_columns(source)
    moments, ends = source.map_reduce(moments_and_ends)
    return _sound(moments), ends


def refuse_many_columns(source: Source) -> None:
    """Raise where a matrix of the size of θ would be too large."""
    if source.n_features > LARGEST_GRAM:
        raise ValueError(
            f"From a source of row blocks a matrix of the size of θ is kept, and "
            f"{source.n_features} features are too many: {LARGEST_GRAM} at most."
        )


def _sound(found: Moments) -> Moments:
    """Moments of all the rows, if they are numbers."""
    if not found.weight > 0:
        raise ValueError("The weights of the source are zero for all rows: one must count.")
    refuse_extreme_weights(min(1.0, found.weight), "The weight of all rows")
    if not (np.isfinite(found.scatter).all() and np.isfinite(found.target_scatter).all()):
        raise ValueError("The squares of X or of y overflow. Rescale the columns, and y with them.")
    return found


def moments_and_ends(block: Block) -> Sums:
    """The moments of a block, and the ends of its columns."""
    return Sums(sound_moments(block), ends_of(block))


def sound_moments(block: Block) -> Moments:
    """The moments of a block; it is refused if it holds NaN or infinity."""
    found = block_moments(block)
    if not (np.isfinite(found.scatter).all() and np.isfinite(found.target_scatter).all()):
        refuse_not_finite(block)
        if not np.isfinite(np.asarray(block.y, dtype=np.float64)).all():
            raise ValueError("Input y contains NaN or infinity.")
    elif block.weights is not None:
        refuse_not_finite(block)
    return found


def triangle_in_blocks(source: Source, free_bias: bool) -> tuple[Moments, FloatArray]:
    """The moments, and the triangle of the rows √(sᵢ/S)(xᵢ, yᵢ), less their means with a bias."""
    moments = read_moments(source)
    centre = (moments.mean, moments.target_mean) if free_bias else None
    found = source.map_reduce(BlockTriangle(centre))
    return moments, found.R / np.sqrt(moments.weight)


class BlockTask:
    """One fit of a squared-loss model from blocks."""

    def __init__(self, model: Any, source: Source, lam: float, each: Each) -> None:
        self.model, self.source, self.lam = model, bound_to(source, each, targets=True), lam
        self.free_bias = bool(model.fit_intercept)
        self.moments = read_moments(self.source)
        scale = self.moments.deviation(self.free_bias)
        self.penalty_scale = scale if model.standardize and lam > 0 else None
        squares = np.ones(source.n_features) if self.penalty_scale is None else scale**2
        self.penalty = np.asarray(lam * squares)

    def solve(self) -> Outcome:
        """In closed form."""
        moments, free = self.moments, self.free_bias
        factor = factorize(moments, self.penalty, free)
        if factor is None:
            return self._by_triangle()
        if factor.condition <= WORTH_REFINING:
            theta = factor.solve(moments.slope(free)).T.copy()
            return Outcome(theta, self._bias(theta), condition=factor.condition)
        shift = far_columns(moments, is_dense(self.source)) if free else None

        def slope(theta: FloatArray, theta0: FloatArray) -> tuple[FloatArray, FloatArray]:
            found = self.source.map_reduce(ResidualSlope(theta, theta0, shift))
            return found[0] / moments.weight, found[1] / moments.weight

        refined, _ = refine_by(slope, factor, moments, shift, self.penalty, free)
        return Outcome(refined.theta, refined.theta0, condition=refined.condition)

    def _by_triangle(self) -> Outcome:
        moments = self.moments
        centre = (moments.mean, moments.target_mean) if self.free_bias else None
        R = self.source.map_reduce(BlockTriangle(centre)).R / np.sqrt(moments.weight)
        found = from_triangle(R, self.source.n_rows, centre, self.penalty)
        singular = self.lam == 0 and found.rank < self.source.n_features
        values = found.singular_values
        return Outcome(
            found.theta,
            self._bias(found.theta),
            remarks=(ILL_CONDITIONED, *((SINGULAR,) if singular else ())),
            condition=float((values[0] / values[-1]) ** 2) if len(values) else 1.0,
            singular=singular,
        )

    def _bias(self, theta: FloatArray) -> FloatArray:
        if not self.free_bias:
            return np.zeros(len(theta))
        return self.moments.target_mean - theta @ self.moments.mean

    def points(self, outcome: Outcome, single: bool) -> list[SquaredLossPoint]:
        """What the checker is shown, one for each target."""
        return [
            SquaredLossPoint(
                coef=theta.copy(),
                intercept=float(theta0),
                lam=self.lam,
                free_bias=self.free_bias,
                column=None if single else c,
                penalty_scale=self.penalty_scale,
            )
            for c, (theta, theta0) in enumerate(zip(outcome.theta, outcome.theta0, strict=True))
        ]
