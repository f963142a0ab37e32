"""Products with X in double precision, block by block, so that no copy of X is made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, Matrix

BLOCK_BYTES = 1 << 22
# Sparse rows with more entries than this part of the columns are multiplied faster as dense ones.
FILLED = 0.1
# From so many entries on half a product saves more than the roots of the weights cost.
WORTH_A_ROOT = 1 << 16


def row_spans(X: Matrix, entries: float | None = None) -> list[slice]:
    """Cuts the rows into blocks of a few megabytes, with so many entries in each row."""
    if entries is None:
        entries = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
    rows = max(1, min(int(BLOCK_BYTES // (8 * max(1, entries))), X.shape[0]))
    return [slice(a, min(a + rows, X.shape[0])) for a in range(0, X.shape[0], rows)]


def row_block(X: Matrix, span: slice) -> Matrix:
    """Some rows in double precision."""
    return X[span].astype(np.float64, copy=False)


def moved(rows: Matrix, shift: FloatArray) -> Matrix:
    """Rows less the shift; sparse rows get the entries of the columns that are moved, no others."""
    if not sparse.issparse(rows):
        return rows - shift
    n, far = rows.shape[0], np.flatnonzero(shift)
    parts = (np.tile(shift[far], n), np.tile(far, n), len(far) * np.arange(n + 1))
    return rows - sparse.csr_matrix(parts, shape=rows.shape)


def times(X: Matrix, theta: FloatArray) -> FloatArray:
    """X·θ for a vector, or for each column of a matrix."""
    if X.dtype == np.float64:
        return np.asarray(X @ theta)
    out = np.empty((X.shape[0], *theta.shape[1:]))
    for span in row_spans(X):
        out[span] = _to_multiply(X, span) @ theta
    return out


def times_transposed(X: Matrix, factors: FloatArray) -> FloatArray:
    """Xᵀ·factors for a vector, or for each column of a matrix."""
    if X.dtype == np.float64:
        return np.asarray(X.T @ factors)
    total = np.zeros((X.shape[1], *factors.shape[1:]))
    for span in row_spans(X):
        total += _to_multiply(X, span).T @ factors[span]
    return total


def _to_multiply(X: Matrix, span: slice) -> Matrix:
    """Some rows in double precision for one product; of sparse rows the indices are shared."""
    if not sparse.issparse(X) or X.format != "csr":
        return row_block(X, span)
    begin, end = X.indptr[span.start], X.indptr[span.stop]
    pointers = X.indptr[span.start : span.stop + 1] - begin
    parts = (X.data[begin:end].astype(np.float64), X.indices[begin:end], pointers)
    return type(X)(parts, shape=(len(pointers) - 1, X.shape[1]), copy=False)


def bordered(X: Matrix, last: float) -> FloatArray:
    """(x, last) of dense rows, in double precision."""
    found = np.empty((X.shape[0], X.shape[1] + 1))
    found[:, :-1], found[:, -1] = X, last
    return found


def bordered_parts(X: Matrix, last: float) -> Iterator[tuple[slice, Matrix]]:
    """(x, last) of some rows at a time; sparse ones stay so where that is faster."""
    thin = sparse.issparse(X) and X.nnz < FILLED * X.shape[0] * X.shape[1]
    for span in row_spans(X, None if thin else X.shape[1] + 1):
        rows = row_block(X, span)
        if thin:
            yield span, sparse.hstack([rows, np.full((rows.shape[0], 1), last)], format="csr")
        else:
            yield span, bordered(rows.toarray() if sparse.issparse(rows) else rows, last)


def weighted_gram(rows: Matrix, c: FloatArray, positive: bool = True) -> FloatArray:
    """Σ cᵢ rᵢrᵢᵀ; `positive` says that no c is below zero, but for rounding."""
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
    """Σ cᵢ(xᵢ, last)(xᵢ, last)ᵀ for c ≥ 0, so that no copy of X is made."""
    total = np.zeros((X.shape[1] + 1, X.shape[1] + 1))
    for span, rows in bordered_parts(X, last):
        total += weighted_gram(rows, c[span])
    return total
