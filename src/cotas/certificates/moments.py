"""What the checker has to know of the data of a regression: means, spreads, and the sketch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.sweep import EPS, Block, Sketch, Sweep, Tally
from cotas.certificates.targets import TargetSweep


@dataclass(frozen=True)
class Moments:
    """Weighted means of X and y (zero without a bias) and the sketch; Σ sᵢ = 1."""

    weights: FloatArray
    x_mean: FloatArray
    y_mean: float
    targets: FloatArray  # y − y_mean
    y_square: float  # Σ sᵢ (yᵢ − y_mean)²
    sketch: Sketch


def gather_moments(
    X: Matrix,
    y: AnyArray,
    weights: FloatArray | None,
    centred: bool,
    column: int | None = None,
    each: Each = map,
) -> Moments:
    """One pass over X; `column` is that of y, None where y is a vector."""
    n, d = X.shape
    if weights is None:
        weights = np.full(n, 1.0 / n)
    if len(weights) != n:
        raise ValueError(f"X has {n} rows; the certificate is about {len(weights)}.")
    sweep = TargetSweep(X, y, [column], np.zeros((d, 0)))

    def read(block: Block) -> Tally:
        return {"sum mean": np.asarray(block.rows.T @ weights[block.span])} if centred else {}

    found = sweep.tally(read, each)
    y = sweep.targets[:, 0]
    y_mean = float(weights @ y) if centred else 0.0
    x_mean = found["sum mean"] if centred else np.zeros(d)
    targets = y - y_mean
    if centred and np.abs(targets[weights > 0]).max() <= n * EPS * abs(y_mean):
        targets = np.zeros(n)  # y is constant
    elif centred:
        targets = targets - weights @ targets  # what the rounding of the mean has left
    return Moments(
        weights, x_mean, y_mean, targets, float(weights @ targets**2), sweep.sketches(found)[0]
    )


def column_lengths(X: Matrix, moments: Moments, each: Each = map) -> FloatArray:
    """√Σ sᵢ(xᵢⱼ − mⱼ)², and 0 for a column that is constant as far as rounding can tell."""
    n, d = X.shape
    sweep = Sweep(X, moments.targets, [0.0], np.zeros((d, 1)))
    mean = moments.x_mean

    def read(block: Block) -> Tally:
        weights, rows = moments.weights[block.span], block.rows
        if not sparse.issparse(rows):
            return {"sum square": weights @ (rows - mean) ** 2}
        # The stored entries, and the mean itself where nothing is stored.
        given = np.repeat(weights, np.diff(rows.indptr))
        deviation = given * (rows.data - mean[rows.indices]) ** 2
        rest = np.maximum(weights.sum() - np.bincount(rows.indices, given, d), 0.0)
        return {"sum square": np.bincount(rows.indices, deviation, d) + rest * mean**2}

    total = sweep.tally(read, each)["sum square"]
    lengths = np.sqrt(np.maximum(total, 0.0))
    return np.where(lengths <= n * EPS * np.abs(mean), 0.0, lengths)
