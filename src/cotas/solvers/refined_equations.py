"""The solution of normal equations, refined by the residuals of the data themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import Each, FloatArray, Matrix
from cotas.design.blocks import moved, row_block
from cotas.solvers.moments import FAR_FROM_ZERO, Moments, gather_moments, targets
from cotas.solvers.normal_equations import Factor, PseudoFactor, factorize
from cotas.source import Arrays, Block, Source, Sums, is_sparse

# With fewer columns a pass for the gradient costs more than single precision saves.
FEWEST_COLUMNS, ROWS_A_COLUMN = 256, 8
# Outside of this range squares may overflow or vanish in single precision.
SMALLEST, LARGEST = 1e-12, 1e12
# A reciprocal condition number below this leaves too few of the digits of single precision.
SAFE_CONDITION = 1e-3
# Where the means make up more than this part of the squares, they cancel too many of them.
LARGEST_LOSS = 0.999
PASSES, ACCURATE = 3, 1e-14


class Refined(NamedTuple):
    """A solution θ with a row for each target, θ₀, and the condition number of the scaled
    system."""

    theta: FloatArray
    theta0: FloatArray
    condition: float


def worth_it(X: Matrix) -> bool:
    """Tell whether X is dense and wide enough, and its entries of a size that single precision
    has."""
    if sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS or X.shape[0] < ROWS_A_COLUMN * X.shape[1]:
        return False
    sizes = np.abs(X[:: max(1, X.shape[0] // 256)]).max(axis=0)
    return bool(((sizes > SMALLEST) & (sizes < LARGEST)).all())


def refined_equations(
    X: Matrix,
    Y: FloatArray,
    weights: FloatArray | None,
    penalty: FloatArray,
    free_bias: bool,
    each: Each = map,
) -> Refined | None:
    """Compute the solution of the normal equations, or None where single precision is too rough for
    it.

        θ ← θ − Ã⁻¹∇P(θ),      Ã ≈ A + diag(penalty)

    Iterative refinement (Wilkinson 1963): A costs O(nd²), and from a rough one each pass over the
    data for the exact gradient, O(nd), leaves the part ‖1 − Ã⁻¹A‖ of the error. Departures: none.
    Invariant: what is left of the error is at most its last reduction times the last step.
    """
    rough = gather_moments(X, Y, weights, each, rough=True)
    if not np.isfinite(rough.scatter).all() or not np.isfinite(rough.target_scatter).all():
        return None
    if free_bias and rough.centring_loss.max() > LARGEST_LOSS:
        return None
    factor = factorize(rough, penalty, free_bias, SAFE_CONDITION)
    if factor is None:
        return None
    found, accurate = refine(factor, rough, Arrays(X, Y, weights), penalty, free_bias, each)
    return found if accurate else None


def refine(
    factor: Factor | PseudoFactor,
    moments: Moments,
    source: Source,
    penalty: FloatArray,
    free_bias: bool,
    each: Each = map,
) -> tuple[Refined, bool]:
    """Compute the solution from the moments, less what the residuals say it is off; whether they
    agree."""
    shift = far_columns(moments, source) if free_bias else None
    mean = moments.mean if shift is None else moments.mean - shift
    theta = factor.solve(moments.slope(free_bias))
    theta0 = moments.target_mean - mean @ theta if free_bias else np.zeros(theta.shape[1])
    lengths = np.sqrt(np.diag(moments.hessian(free_bias)) + penalty)[:, None]
    before, accurate = 1.0, False
    for _ in range(PASSES):
        found = source.map_reduce(ResidualSlope(theta, theta0, shift), each)
        slope, mean_residual = (part / moments.weight for part in found)
        if free_bias:
            slope -= np.outer(mean, mean_residual)
        step = factor.solve(slope - penalty[:, None] * theta)
        theta = theta + step
        if free_bias:
            theta0 = theta0 + mean_residual - mean @ step
        size = _ratio(step * lengths, theta * lengths)
        accurate = size * (size / before) <= ACCURATE
        if accurate:
            break
        before = size
    theta0 = theta0 if shift is None else theta0 - shift @ theta
    return Refined(theta.T.copy(), theta0, factor.condition), accurate


def far_columns(moments: Moments, source: Source) -> FloatArray | None:
    """Return what rows are moved by before their residuals are summed up, if columns lie far from
    zero.

    It is zero for the other columns of sparse rows, whose entries are mostly zeros.
    """
    far = np.abs(moments.mean) > FAR_FROM_ZERO * moments.deviation(True)
    if not far.any():
        return None
    return np.where(far, moments.mean, 0.0) if source.of_first(is_sparse) else moments.mean


@dataclass(frozen=True)
class ResidualSlope:
    """Sums Σ wᵢrᵢxᵢ and Σ wᵢrᵢ of a block, with the residuals r = y − θ·x − θ₀ of the moved
    rows."""

    theta: FloatArray  # a column for each target
    theta0: FloatArray
    shift: FloatArray | None

    def __call__(self, block: Block) -> Sums:
        slope, mean, Y = np.zeros(self.theta.shape), np.zeros(len(self.theta0)), targets(block)
        for span in block.spans():
            rows = row_block(block.X, span)
            rows = rows if self.shift is None else moved(rows, self.shift)
            residual = Y[span] - np.asarray(rows @ self.theta) - self.theta0
            if block.weights is not None:
                residual *= block.weights[span, None]
            slope += rows.T @ residual
            mean += residual.sum(axis=0)
        return Sums(slope, mean)


def _ratio(step: FloatArray, whole: FloatArray) -> float:
    """Return the largest ‖step‖/‖whole‖ of a target."""
    lengths = np.linalg.norm(whole, axis=0)
    steps = np.linalg.norm(step, axis=0)
    return float(np.divide(steps, lengths, where=lengths > 0, out=np.zeros_like(steps)).max())
