"""Products with X in double precision, block by block, so that no copy of X is made."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, Matrix

BLOCK_BYTES = 1 << 22


def row_spans(X: Matrix, entries: float | None = None) -> list[slice]:
    """Cut the rows into blocks of a few megabytes, with so many entries in each row."""
    if entries is None:
        entries = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
    rows = max(1, min(int(BLOCK_BYTES // (8 * max(1, entries))), X.shape[0]))
    return [slice(a, min(a + rows, X.shape[0])) for a in range(0, X.shape[0], rows)]


def row_block(X: Matrix, span: slice) -> Matrix:
    """Return some rows in double precision; of those that are so already no entry is copied."""
    if not sparse.issparse(X) or X.format != "csr":
        return X[span].astype(np.float64, copy=False)
    begin, end = X.indptr[span.start], X.indptr[span.stop]
    pointers = X.indptr[span.start : span.stop + 1] - begin
    parts = (X.data[begin:end].astype(np.float64, copy=False), X.indices[begin:end], pointers)
    return type(X)(parts, shape=(len(pointers) - 1, X.shape[1]), copy=False)


def moved(rows: Matrix, shift: FloatArray) -> Matrix:
    """Return rows less the shift; sparse rows get the entries of the columns that are moved, no
    others."""
    if not sparse.issparse(rows):
        return rows - shift
    n, far = rows.shape[0], np.flatnonzero(shift)
    parts = (np.tile(shift[far], n), np.tile(far, n), len(far) * np.arange(n + 1))
    return rows - sparse.csr_matrix(parts, shape=rows.shape)


def times(X: Matrix, theta: FloatArray) -> FloatArray:
    """Compute X·θ for a vector, or for each column of a matrix."""
    if X.dtype == np.float64:
        return np.asarray(X @ theta)
    out = np.empty((X.shape[0], *theta.shape[1:]))
    for span in row_spans(X):
        out[span] = row_block(X, span) @ theta
    return out


def times_transposed(X: Matrix, factors: FloatArray) -> FloatArray:
    """Compute Xᵀ·factors for a vector, or for each column of a matrix."""
    if X.dtype == np.float64:
        return np.asarray(X.T @ factors)
    total = np.zeros((X.shape[1], *factors.shape[1:]))
    for span in row_spans(X):
        total += row_block(X, span).T @ factors[span]
    return total
