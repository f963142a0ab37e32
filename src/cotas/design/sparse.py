"""Vectors of which only the non-zero coordinates are stored.

A column of X in CSC is stored exactly as a row in CSR, so one set of operations serves both.
Coordinates are read as unsigned: Numba then leaves out the test for negative indices. The sum
runs in two chains by hand and in order: the vector instructions that gather from w, which a
compiler free to reorder would choose, are slower than scalar loads on the machines we measured,
and longer chains mispredict the ends of short rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.design.operations import add, add_outer, add_squares, dot, n_features, n_vectors, norm2

ONE, TWO = np.uint64(1), np.uint64(2)


class Csr(NamedTuple):
    """The rows of a CSR matrix without duplicate entries."""

    data: AnyArray
    indices: IntArray
    indptr: IntArray
    width: int


class Csc(NamedTuple):
    """The columns of a CSC matrix without duplicate entries."""

    data: AnyArray
    indices: IntArray
    indptr: IntArray
    width: int


class StandardizedCsr(NamedTuple):
    """CSR rows seen as (x − mean) · inverse_scale.

    Centring makes every coordinate non-zero, so each operation costs O(d) and not O(nnz). The
    matrix stays sparse in memory. `shift` is mean · inverse_scale.
    """

    data: AnyArray
    indices: IntArray
    indptr: IntArray
    width: int
    shift: FloatArray
    inverse_scale: FloatArray


@dot.when(Csr)
@dot.when(Csc)
def sparse_dot(vectors: Csr, i: int, w: FloatArray) -> float:
    data, indices = vectors.data, vectors.indices
    even = odd = 0.0
    j, end = np.uint64(vectors.indptr[i]), np.uint64(vectors.indptr[i + 1])
    if (end - j) & ONE:
        even = data[j] * w[np.uint32(indices[j])]
        j += ONE
    while j < end:
        even += data[j] * w[np.uint32(indices[j])]
        odd += data[j + ONE] * w[np.uint32(indices[j + ONE])]
        j += TWO
    return even + odd


@add.when(Csr)
@add.when(Csc)
def sparse_add(vectors: Csr, i: int, a: float, w: FloatArray) -> None:
    for j in range(vectors.indptr[i], vectors.indptr[i + 1]):
        w[np.uint32(vectors.indices[j])] += a * vectors.data[j]


@add_outer.when(Csr)
@add_outer.when(Csc)
def sparse_add_outer(vectors: Csr, i: int, a: float, gram: FloatArray) -> None:
    # The indices of a vector are sorted, so an earlier entry is left of the diagonal.
    begin = vectors.indptr[i]
    for j in range(begin, vectors.indptr[i + 1]):
        factor = a * vectors.data[j]
        line = gram[np.uint32(vectors.indices[j])]
        for k in range(begin, j + 1):
            line[np.uint32(vectors.indices[k])] += factor * vectors.data[k]


@add_squares.when(Csr)
@add_squares.when(Csc)
def sparse_add_squares(vectors: Csr, i: int, a: float, w: FloatArray) -> None:
    for j in range(vectors.indptr[i], vectors.indptr[i + 1]):
        w[np.uint32(vectors.indices[j])] += a * vectors.data[j] * vectors.data[j]


@norm2.when(Csr)
@norm2.when(Csc)
def sparse_norm2(vectors: Csr, i: int) -> float:
    s = 0.0
    for j in range(vectors.indptr[i], vectors.indptr[i + 1]):
        x = 1.0 * vectors.data[j]
        s += x * x
    return s


@n_vectors.when(Csr)
@n_vectors.when(Csc)
@n_vectors.when(StandardizedCsr)
def sparse_n_vectors(vectors: Csr) -> int:
    return len(vectors.indptr) - 1


@n_features.when(Csr)
@n_features.when(Csc)
@n_features.when(StandardizedCsr)
def sparse_n_features(vectors: Csr) -> int:
    return vectors.width


@dot.when(StandardizedCsr)
def standardized_csr_dot(rows: StandardizedCsr, i: int, w: FloatArray) -> float:
    s = 0.0
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        c = np.uint32(rows.indices[j])
        s += rows.data[j] * rows.inverse_scale[c] * w[c]
    for k in range(rows.width):
        s -= rows.shift[k] * w[k]
    return s


@add.when(StandardizedCsr)
def standardized_csr_add(rows: StandardizedCsr, i: int, a: float, w: FloatArray) -> None:
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        c = np.uint32(rows.indices[j])
        w[c] += a * rows.data[j] * rows.inverse_scale[c]
    for k in range(rows.width):
        w[k] -= a * rows.shift[k]


@norm2.when(StandardizedCsr)
def standardized_csr_norm2(rows: StandardizedCsr, i: int) -> float:
    s = 0.0
    for k in range(rows.width):
        s += rows.shift[k] * rows.shift[k]
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        c = np.uint32(rows.indices[j])
        x = rows.data[j] * rows.inverse_scale[c] - rows.shift[c]
        s += x * x - rows.shift[c] * rows.shift[c]
    return s
