"""From what users hand over to a design, without a copy wherever the layout allows."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.design.dense import Dense, StandardizedDense
from cotas.design.sparse import Csc, Csr, StandardizedCsr

Design: TypeAlias = Dense | Csr | Csc | StandardizedDense | StandardizedCsr


def canonical(X: Matrix) -> Matrix:
    """A sparse matrix with no entry stored twice, which would make ‖x‖² wrong, and short indices.

    All the loops would be compiled again for indices of 64 bits, and read twice as much. The user's
    matrix is left as it is.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    short = X.indices.dtype == X.indptr.dtype == np.int32
    if short or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X = type(X)((X.data, indices, indptr), shape=X.shape)
    X.has_canonical_format = True
    return X


class _Memory:
    """An array as the memory that it is, with nothing that forbids to write there."""

    def __init__(self, array: AnyArray) -> None:
        self.array = array  # kept alive
        description = array.__array_interface__
        self.__array_interface__ = {**description, "data": (description["data"][0], False)}


def unlocked(array: AnyArray) -> AnyArray:
    """Take the mark read-only off an array, for loops that only read it.

    Numba would compile all of them again for an array that has it, as maps of files and columns
    of pandas do.
    """
    return array if array.flags.writeable else np.asarray(_Memory(array))


def as_design(X: Matrix, by: Literal["rows", "columns"] = "rows") -> Design:
    """The rows (or columns) of a dense, CSR or CSC matrix as a design.

    Nothing is copied when X already lies along the requested vectors: C-contiguous or CSR by
    rows, Fortran-contiguous or CSC by columns. Otherwise one copy in that layout is made, since
    walking across the grain of a matrix costs a cache miss for each coordinate.
    """
    if not sparse.issparse(X):
        X = np.asarray(X)
        return Dense(unlocked(np.ascontiguousarray(X if by == "rows" else X.T)))
    compressed = canonical(X.tocsr() if by == "rows" else X.tocsc())
    layout = Csr if by == "rows" else Csc
    width = compressed.shape[1] if by == "rows" else compressed.shape[0]
    data, indices = unlocked(compressed.data), unlocked(compressed.indices)
    return layout(data, indices, unlocked(compressed.indptr), width)


def standardized(design: Dense | Csr) -> StandardizedDense | StandardizedCsr:
    """The same rows with zero mean and unit variance, without touching the matrix.

    A constant column has no variance: it is centred and left at zero.
    """
    if isinstance(design, Dense):
        mean = design.X.mean(axis=0, dtype=np.float64)
        variance = _dense_variance(design.X, mean)
        return StandardizedDense(design.X, mean, _inverse_scale(variance, mean, len(design.X)))
    n = design.indptr.shape[0] - 1
    X = sparse.csr_matrix((design.data, design.indices, design.indptr), shape=(n, design.width))
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    # Σ (x − m)² over the stored entries, plus m² for each entry that is not stored.
    deviation = (design.data.astype(np.float64) - mean[design.indices]) ** 2
    stored = np.bincount(design.indices, minlength=design.width)
    total = np.bincount(design.indices, weights=deviation, minlength=design.width)
    inverse_scale = _inverse_scale((total + (n - stored) * mean**2) / n, mean, n)
    return StandardizedCsr(*design, mean * inverse_scale, inverse_scale)


def _dense_variance(X: Matrix, mean: FloatArray, block: int = 4096) -> FloatArray:
    """Two-pass variance in blocks of rows, so that no temporary is as large as X."""
    total = np.zeros_like(mean)
    for start in range(0, X.shape[0], block):
        total += np.square(X[start : start + block] - mean).sum(axis=0)
    return np.asarray(total / X.shape[0])


def _inverse_scale(variance: FloatArray, mean: FloatArray, n: int) -> FloatArray:
    """1/σ, and 1 for a constant column: one whose variance is what rounding left of zero."""
    varies = variance > (n * np.finfo(np.float64).eps * mean) ** 2
    return np.divide(1.0, np.sqrt(variance), out=np.ones_like(variance), where=varies)
