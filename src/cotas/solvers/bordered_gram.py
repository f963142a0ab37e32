"""Weighted Gram matrices of rows (x, 1), block by block, so that no copy of X is made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, Matrix
from cotas.design.blocks import row_block, row_spans

# Sparse rows with more entries than this part of the columns are multiplied faster as dense ones.
FILLED = 0.1
# From so many entries on half a product saves more than the roots of the weights cost.
WORTH_A_ROOT = 1 << 16


def bordered(X: Matrix, last: float) -> FloatArray:
    """Return (x, last) of dense rows, in double precision."""
    found = np.empty((X.shape[0], X.shape[1] + 1))
    found[:, :-1], found[:, -1] = X, last
    return found


def bordered_parts(X: Matrix, last: float) -> Iterator[tuple[slice, Matrix]]:
    """Return (x, last) of some rows at a time; sparse ones stay so where that is faster."""
    thin = sparse.issparse(X) and X.nnz < FILLED * X.shape[0] * X.shape[1]
    for span in row_spans(X, None if thin else X.shape[1] + 1):
        rows = row_block(X, span)
        if thin:
            yield span, sparse.hstack([rows, np.full((rows.shape[0], 1), last)], format="csr")
        else:
            yield span, bordered(rows.toarray() if sparse.issparse(rows) else rows, last)


def weighted_gram(rows: Matrix, c: FloatArray, positive: bool = True) -> FloatArray:
    """Compute Σ cᵢ rᵢrᵢᵀ; `positive` says that no c is below zero, but for rounding."""
    used = c.nonzero()[0]
    if 2 * len(used) < len(c):
        rows, c = rows[used], c[used]
    if sparse.issparse(rows):
        return np.asarray((rows.T @ sparse.diags(c) @ rows).toarray())
    if not positive or rows.size < WORTH_A_ROOT:
        return np.asarray(rows.T @ (rows * c[:, None]))
    scaled = rows * np.sqrt(np.maximum(c, 0.0))[:, None]
    return np.asarray(scaled.T @ scaled)  # of which BLAS computes one half


def bordered_gram(X: Matrix, c: FloatArray, last: float) -> FloatArray:
    """Compute Σ cᵢ(xᵢ, last)(xᵢ, last)ᵀ for c ≥ 0."""
    total = np.zeros((X.shape[1] + 1, X.shape[1] + 1))
    for span, rows in bordered_parts(X, last):
        total += weighted_gram(rows, c[span])
    return total
