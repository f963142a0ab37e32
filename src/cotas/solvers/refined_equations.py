"""The solution of normal equations, refined by the residuals of the data themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import Each, FloatArray, Matrix
from cotas.design.blocks import moved, row_block, row_spans
from cotas.solvers.moments import Moments, gather_moments, rough_centre
from cotas.solvers.normal_equations import Factor, PseudoFactor, factorize

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
    """θ with a row for each target, θ₀, and the condition number of the scaled system."""

    theta: FloatArray
    theta0: FloatArray
    condition: float


def worth_it(X: Matrix) -> bool:
    """Whether X is dense and wide enough, and its entries of a size that single precision has."""
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
    threads: int = 1,
) -> Refined | None:
    """The solution of the normal equations, or None where single precision is too rough for it.

        θ ← θ − Ã⁻¹∇P(θ),      Ã ≈ A + diag(penalty)

    Iterative refinement (Wilkinson 1963): A costs O(nd²), and from a rough one each pass over the
    data for the exact gradient, O(nd), leaves the part ‖1 − Ã⁻¹A‖ of the error. Departures: none.
    Invariant: what is left of the error is at most its last reduction times the last step.
    """
    rough = gather_moments(X, Y, weights, each, threads, rough=True)
    if not np.isfinite(rough.scatter).all() or not np.isfinite(rough.target_scatter).all():
        return None
    if free_bias and rough.centring_loss.max() > LARGEST_LOSS:
        return None
    factor = factorize(rough, penalty, free_bias, SAFE_CONDITION)
    if factor is None:
        return None
    found, accurate = refine(factor, rough, X, Y, weights, penalty, free_bias, each, threads)
    return found if accurate else None


def refine(
    factor: Factor | PseudoFactor,
    moments: Moments,
    X: Matrix,
    Y: FloatArray,
    weights: FloatArray | None,
    penalty: FloatArray,
    free_bias: bool,
    each: Each = map,
    threads: int = 1,
) -> tuple[Refined, bool]:
    """The solution from the moments, less what the residuals say it is off; whether they agree."""
    # Columns far from zero are moved, as they were for the moments.
    shift = rough_centre(X) if free_bias else None

    def slope(theta: FloatArray, theta0: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _slope(X, shift, Y, weights, theta, theta0, each, threads)

    return refine_by(slope, factor, moments, shift, penalty, free_bias)


def refine_by(
    slope_of: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
    factor: Factor | PseudoFactor,
    moments: Moments,
    shift: FloatArray | None,
    penalty: FloatArray,
    free_bias: bool,
) -> tuple[Refined, bool]:
    """The same, `slope_of` being Σ sᵢrᵢxᵢ and Σ sᵢrᵢ at (θ, θ₀), the rows less their shift."""
    mean = moments.mean if shift is None else moments.mean - shift
    theta = factor.solve(moments.slope(free_bias))
    theta0 = moments.target_mean - mean @ theta if free_bias else np.zeros(theta.shape[1])
    lengths = np.sqrt(np.diag(moments.hessian(free_bias)) + penalty)[:, None]
    before, accurate = 1.0, False
    for _ in range(PASSES):
        slope, mean_residual = slope_of(theta, theta0)
        if free_bias:
            slope -= np.outer(mean, mean_residual)
        step = factor.solve(slope - penalty[:, None] * theta)
        theta += step
        if free_bias:
            theta0 = theta0 + mean_residual - mean @ step
        size = _ratio(step * lengths, theta * lengths)
        accurate = size * (size / before) <= ACCURATE
        if accurate:
            break
        before = size
    theta0 = theta0 if shift is None else theta0 - shift @ theta
    return Refined(theta.T.copy(), theta0, factor.condition), accurate


def _slope(
    X: Matrix,
    shift: FloatArray | None,
    Y: FloatArray,
    weights: FloatArray | None,
    theta: FloatArray,
    theta0: FloatArray,
    each: Each,
    threads: int,
) -> tuple[FloatArray, FloatArray]:
    """Σ sᵢrᵢxᵢ and Σ sᵢrᵢ, with the residuals r = y − θ·x − θ₀ of the rows less their shift."""
    total = float(X.shape[0] if weights is None else weights.sum())
    spans = row_spans(X)

    def add_up(part: list[slice]) -> tuple[FloatArray, FloatArray]:
        slope, mean = np.zeros(theta.shape), np.zeros(len(theta0))
        for span in part:
            rows = row_block(X, span)
            rows = rows if shift is None else moved(rows, shift)
            for c in range(len(theta0)):
                residual = Y[span, c] - rows @ theta[:, c] - theta0[c]
                if weights is not None:
                    residual *= weights[span]
                slope[:, c] += rows.T @ residual
                mean[c] += residual.sum()
        return slope, mean

    parts = [spans[k::threads] for k in range(min(threads, len(spans)))]
    slopes, means = zip(*each(add_up, parts), strict=True)
    return sum(slopes) / total, sum(means) / total


def _ratio(step: FloatArray, whole: FloatArray) -> float:
    """The largest ‖step‖/‖whole‖ of a target."""
    lengths = np.linalg.norm(whole, axis=0)
    steps = np.linalg.norm(step, axis=0)
    return float(np.divide(steps, lengths, where=lengths > 0, out=np.zeros_like(steps)).max())
