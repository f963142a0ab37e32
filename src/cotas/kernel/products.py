"""Inner products, norms and distances between rows, dense or CSR, in blocks.

No copy of a whole matrix is made: what must be converted is converted a few megabytes at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix, Sparse
from cotas.design.blocks import row_spans
from cotas.refusals import ParameterError
from cotas.source import MatrixLike

DENSE_BYTES = 1 << 25  # rows of a sparse matrix are made dense this much at a time
SMALL = 1 << 18  # entries that need not be read in blocks
# A product of dense matrices does so many multiplications in the time of one of a sparse matrix.
WORTH_FILLING = 24


def as_rows(X: MatrixLike, name: str = "X") -> Matrix:
    """Read a two-dimensional array or CSR matrix of real floating-point numbers, not copied if it
    is."""
    rows: Matrix = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise ParameterError(
            name, f"{name} must have two dimensions (rows and columns), not {rows.ndim}."
        )
    if rows.dtype.kind not in "fiub":
        raise ParameterError(name, f"{name} must hold real numbers; its type is {rows.dtype}.")
    return rows if rows.dtype in (np.float64, np.float32) else rows.astype(np.float64)


def dense_rows(A: Matrix, dtype: DTypeLike) -> AnyArray:
    """Return some rows as a C-contiguous array of that precision."""
    if sparse.issparse(A):
        return np.asarray(A.astype(dtype, copy=False).toarray())
    return np.ascontiguousarray(A, dtype=dtype)


def filled(rows: Matrix) -> Matrix:
    """Return rows that are not very sparse as an array, the others as they are."""
    return rows if not sparse.issparse(rows) or _very_sparse(rows) else dense_rows(rows, rows.dtype)


def _very_sparse(rows: Sparse) -> bool:
    return bool(rows.shape[0] * rows.shape[1] > WORTH_FILLING * rows.nnz)


def products(A: Matrix, B: Matrix, dtype: DTypeLike) -> AnyArray:
    """Return the inner product of each row of A with each row of B, as a new C-contiguous array."""
    out = np.empty((A.shape[0], B.shape[0]), dtype=dtype)
    step = max(1, DENSE_BYTES // (8 * max(1, A.shape[1])))
    for start in range(0, A.shape[0], step):
        span = slice(start, start + step)
        a = dense_rows(A[span], dtype)
        if sparse.issparse(B) and _very_sparse(B):
            out[span] = (B @ np.ascontiguousarray(a.T)).T
        elif B.dtype == dtype and not sparse.issparse(B):
            np.matmul(a, B.T, out=out[span])
        else:
            for part in row_spans(B, B.shape[1]):
                out[span, part] = a @ dense_rows(B[part], dtype).T
    return out


def squared_norms(X: Matrix) -> FloatArray:
    """Compute ‖x‖² of each row, in double precision."""
    if not sparse.issparse(X) and X.size <= SMALL:
        return row_squares(X)
    norms = np.empty(X.shape[0])
    for span in row_spans(X) if X.shape[0] else []:
        norms[span] = row_squares(X[span])
    return norms


def row_squares(rows: Matrix) -> FloatArray:
    """Compute Σ x² along each row, in double precision; rows as few as fit into memory twice."""
    rows = rows.astype(np.float64, copy=False)
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def norms(X: Matrix) -> FloatArray:
    """Compute ‖x‖ of each row, safe from overflow and underflow of the squares."""
    plain = np.sqrt(squared_norms(X))
    odd = np.flatnonzero(~((plain > 1e-140) & (plain < 1e140)))
    for i in odd:
        row = dense_rows(X[i : i + 1], np.float64)[0]
        largest = float(np.abs(row).max(initial=0.0))
        plain[i] = largest * np.linalg.norm(row / largest) if 0 < largest < np.inf else largest
    return plain


def squared_distances_of_pairs(
    A: Matrix, B: Matrix, i: IntArray, j: IntArray, scale: float
) -> FloatArray:
    """Compute scale²·‖aᵢ − bⱼ‖² for each pair, from the differences themselves: nothing cancels."""
    out = np.empty(len(i))
    step = max(1, (1 << 22) // (8 * max(1, A.shape[1])))
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        a: Any = A[i[some]]
        b: Any = B[j[some]]
        if sparse.issparse(a) != sparse.issparse(b):
            a, b = dense_rows(a, np.float64), dense_rows(b, np.float64)
        difference = a.astype(np.float64, copy=False) - b.astype(np.float64, copy=False)
        out[some] = row_squares(difference * scale)
    return out
