"""From what users hand over to a design, without a copy wherever the layout allows."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, Matrix, Sparse
from cotas.design.dense import Dense, StandardizedDense
from cotas.design.sparse import Csc, Csr, StandardizedCsr

Design: TypeAlias = Dense | Csr | Csc | StandardizedDense | StandardizedCsr


def canonical(X: Sparse) -> Sparse:
    """Return a sparse matrix with no entry stored twice, which would make ‖x‖² wrong, and short
    indices.

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
    """Return the rows (or columns) of a dense, CSR or CSC matrix as a design.

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


def standardized(
    rows: Dense | Csr, centre: FloatArray, stretch: FloatArray
) -> StandardizedDense | StandardizedCsr:
    """Return the same rows less the centre and times the stretch, without touching the matrix."""
    if isinstance(rows, Dense):
        return StandardizedDense(rows.X, centre, stretch)
    return StandardizedCsr(*rows, centre * stretch, stretch)
