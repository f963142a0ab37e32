"""Vectors of which only the non-zero coordinates are stored.

A column of X in CSC is stored exactly as a row in CSR, so one set of operations serves both.
Coordinates are read as unsigned: Numba then leaves out the test for negative indices, and the
sum runs in four chains by hand, because the vector instructions that gather from w are slower
than four scalar loads on the machines we measured.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.design.operations import add, dot, n_features, n_vectors, norm2

FOUR = np.uint64(4)
THREE = np.uint64(3)
TWO = np.uint64(2)
ONE = np.uint64(1)


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


@dot.when(Csr)
@dot.when(Csc)
def sparse_dot(vectors: Csr, i: int, w: FloatArray) -> float:
    data, indices = vectors.data, vectors.indices
    s0 = s1 = s2 = s3 = 0.0
    j, end = np.uint64(vectors.indptr[i]), np.uint64(vectors.indptr[i + 1])
    while j + FOUR <= end:
        s0 += data[j] * w[np.uint32(indices[j])]
        s1 += data[j + ONE] * w[np.uint32(indices[j + ONE])]
        s2 += data[j + TWO] * w[np.uint32(indices[j + TWO])]
        s3 += data[j + THREE] * w[np.uint32(indices[j + THREE])]
        j += FOUR
    while j < end:
        s0 += data[j] * w[np.uint32(indices[j])]
        j += ONE
    return (s0 + s1) + (s2 + s3)


@add.when(Csr)
@add.when(Csc)
def sparse_add(vectors: Csr, i: int, a: float, w: FloatArray) -> None:
    for j in range(vectors.indptr[i], vectors.indptr[i + 1]):
        w[np.uint32(vectors.indices[j])] += a * vectors.data[j]


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
def sparse_n_vectors(vectors: Csr) -> int:
    return len(vectors.indptr) - 1


@n_features.when(Csr)
@n_features.when(Csc)
def sparse_n_features(vectors: Csr) -> int:
    return vectors.width


class StandardisedCsr(NamedTuple):
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


@dot.when(StandardisedCsr)
def standardised_csr_dot(rows: StandardisedCsr, i: int, w: FloatArray) -> float:
    s = 0.0
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        c = np.uint32(rows.indices[j])
        s += rows.data[j] * rows.inverse_scale[c] * w[c]
    for k in range(rows.width):
        s -= rows.shift[k] * w[k]
    return s


@add.when(StandardisedCsr)
def standardised_csr_add(rows: StandardisedCsr, i: int, a: float, w: FloatArray) -> None:
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        c = np.uint32(rows.indices[j])
        w[c] += a * rows.data[j] * rows.inverse_scale[c]
    for k in range(rows.width):
        w[k] -= a * rows.shift[k]


@norm2.when(StandardisedCsr)
def standardised_csr_norm2(rows: StandardisedCsr, i: int) -> float:
    s = 0.0
    for k in range(rows.width):
        s += rows.shift[k] * rows.shift[k]
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        c = np.uint32(rows.indices[j])
        x = rows.data[j] * rows.inverse_scale[c] - rows.shift[c]
        s += x * x - rows.shift[c] * rows.shift[c]
    return s


@n_vectors.when(StandardisedCsr)
def standardised_csr_n_vectors(rows: StandardisedCsr) -> int:
    return len(rows.indptr) - 1


@n_features.when(StandardisedCsr)
def standardised_csr_n_features(rows: StandardisedCsr) -> int:
    return rows.width
