"""The maximum-margin separator as the nearest points of two convex hulls."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.solvers.separating_plane import Separator, dense_rows

ROUNDS = 500
TOLERANCE = 1e-11
INSISTENCE = 1e5


def hard_margin(
    X: Matrix, y: FloatArray, bias: float, known: Separator
) -> tuple[FloatArray, float, FloatArray]:
    """Compute θ, θ₀ and α of the widest margin, for data that are known to be separable.

        min ½‖θ‖²   s.t.   yᵢ(θ·xᵢ + θ₀) ≥ 1

    With a bias, θ points from the nearest point of one convex hull to that of the other: the
    least ‖Σ αᵢyᵢxᵢ‖ with Σ αᵢ = 1 over each class. Without a bias there is one hull, of the yᵢxᵢ,
    and its point nearest to the origin. Departures: solved on a working set of rows by
    non-negative least squares, with the rows nearest to the boundary added until none is left.
    Invariant: θ = Σ αᵢyᵢxᵢ up to the scale that makes the smallest margin 1. Cost: products with
    X and a least-squares problem of the working set in each round.
    """
    groups = np.where(y > 0, 0, 1) if bias else np.zeros(len(y), dtype=int)
    chosen = _nearest_rows(y * (X @ known.u), groups, max(20, X.shape[1]))
    unit, widest, shortest = 1.0, -np.inf, np.inf
    best_u, best_floors, best_alpha = known.u, np.zeros(1), np.zeros(len(y))
    for _ in range(ROUNDS):
        rows = dense_rows(X[chosen]).astype(np.float64) * y[chosen, None]
        weights = _nearest_in_hulls(rows, groups[chosen], unit)
        u = weights @ rows
        square = float(u @ u)
        unit = float(np.sqrt(square)) or unit
        products = y * (X @ u)
        floors = _least_in_each(products, groups)
        # The two sides of duality, each kept at its best: the width reached, and ‖u‖ above it.
        if floors.sum() / unit > widest:
            widest, best_u, best_floors = floors.sum() / unit, u, floors
        if unit < shortest:
            shortest, best_alpha = unit, np.zeros(len(y))
            best_alpha[chosen] = weights
        short = products - _least_in_each(products[chosen], groups[chosen])[groups]
        below = np.setdiff1d(np.flatnonzero(short < -1e-13 * square), chosen)
        if floors.sum() >= square * (1 - TOLERANCE) or len(below) == 0:
            break
        worst = below[np.argsort(short[below])[: max(20, X.shape[1])]]
        # A class whose weights all vanished, by a failure of the solver, keeps its rows.
        lost = ~np.isin(groups[chosen], groups[chosen][weights > 0])
        chosen = np.union1d(chosen[(weights > 0) | lost], worst)
    return _scaled(best_u, best_floors, best_alpha, bias)


def _least_in_each(products: FloatArray, groups: IntArray) -> FloatArray:
    return np.array([products[groups == g].min() for g in range(int(groups.max()) + 1)])


def _scaled(
    u: FloatArray, floors: FloatArray, alpha: FloatArray, bias: float
) -> tuple[FloatArray, float, FloatArray]:
    """Scale to a smallest margin of 1 on both sides."""
    if not bias:
        return u / floors[0], 0.0, alpha / floors[0]
    half = floors.sum() / 2
    return u / half, float((floors[1] - floors[0]) / 2 / half), alpha / half


def _nearest_rows(products: FloatArray, groups: IntArray, number: int) -> IntArray:
    """Return some rows of each class on the side of the other."""
    found = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        found.append(rows[np.argsort(products[rows])[:number]])
    return np.sort(np.concatenate(found))


def _nearest_in_hulls(rows: FloatArray, groups: IntArray, unit: float) -> FloatArray:
    """Compute min ‖Σ αᵢzᵢ‖ with Σ α = 1 over each group, in units of the length expected.

    With two groups the sums are asked for with a large weight and put right at the end: least
    squares would otherwise trade a shorter vector against a smaller sum. With one group that
    trade only changes the length, which does not matter.
    """
    sums = np.stack([(groups == g).astype(float) for g in range(int(groups.max()) + 1)])
    weights, insistence = np.zeros(len(rows)), INSISTENCE if len(sums) > 1 else 1.0
    for _ in range(4):
        system = np.vstack([rows.T / unit, insistence * sums])
        target = np.append(np.zeros(rows.shape[1]), np.full(len(sums), insistence))
        weights, _ = nnls(system, target, maxiter=30 * len(rows) + 100)
        weights = weights / np.maximum(sums @ weights, 1e-300)[groups]
        found = float(np.linalg.norm(weights @ rows))
        if found >= 0.1 * unit or found == 0.0:
            break
        unit = found
    return weights
