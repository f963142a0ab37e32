"""Columns that leave a Lasso because the gap proves their coefficients to be zero.

The best dual point is no farther than R = √(2·gap) from the one at hand, κr, so that its
correlation with a column of length ℓ is at most κ|ρ| + Rℓ. Where that is below λ, the coefficient
is zero in every solution (gap-safe screening, Ndiaye et al. 2017; docs/theory/lasso.md).
"""

from __future__ import annotations

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.design.blocks import row_block, row_spans
from cotas.design.centred import CentredColumns
from cotas.loops import loop
from cotas.solvers.lasso_state import ROUNDINGS, Bounds, GramState, restricted_bounds


def lengths_at_most(columns: CentredColumns) -> FloatArray:
    """‖x̃ⱼ‖ of each column, or as much more as rounding may have taken from it; in one pass."""
    X, weights = columns.X, columns.weights
    if columns.sparse:
        squared = X.copy()
        squared.data = squared.data**2
        squares = np.asarray(squared.T @ weights)
    else:
        squares = np.zeros(columns.p)
        for span in row_spans(X):
            squares += weights[span] @ row_block(X, span) ** 2
    rounding = 16 * (1 + np.sqrt(columns.n)) * 2.0**-52 * squares
    centred = np.maximum(squares - columns.mean**2, 0.0)
    return np.asarray(np.sqrt(centred + rounding) / columns.scale)


def proved_zero(
    reach: FloatArray, lengths: FloatArray, found: Bounds, lam: float, square: float
) -> BoolArray:
    """For each column, whether its coefficient is zero in every solution for λ.

    `reach` is |ρ|, or ρ itself where coefficients must not be negative, and `square` is ⟨y, y⟩.
    """
    radius = np.sqrt(2.0 * (max(found.gap, 0.0) + ROUNDINGS * square))
    return np.asarray(found.multiple * reach + radius * lengths < lam)


@loop
def survivors(state: GramState, m: int, lam: float, positive: bool, square: float) -> IntArray:
    """The positions of the columns that stay: proved zeros go, but not before they are at zero.

    So the objective does not rise when they go.
    """
    found = restricted_bounds(state, m, lam, positive, square)
    radius = np.sqrt(2.0 * (max(found.gap, 0.0) + ROUNDINGS * square))
    places = np.empty(m, dtype=np.int64)
    count = 0
    for j in range(m):
        reach = state.g[j] if positive else abs(state.g[j])
        length = np.sqrt(max(state.G[j, j], 0.0))
        if state.beta[j] != 0.0 or not found.multiple * reach + radius * length < lam:
            places[count] = j
            count += 1
    return places[:count]


@loop
def restriction(state: GramState, places: IntArray) -> GramState:
    """The problem on these columns only, the others being at zero."""
    k = len(places)
    small = GramState(np.empty((k, k)), np.empty(k), np.empty(k), np.empty(k))
    for a in range(k):
        i = places[a]
        row = state.G[i]
        for b in range(k):
            small.G[a, b] = row[places[b]]
        small.c[a], small.beta[a], small.g[a] = state.c[i], state.beta[i], state.g[i]
    return small
