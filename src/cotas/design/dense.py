"""Vectors that lie one after the other in memory."""

from __future__ import annotations

from typing import NamedTuple

from cotas.arrays import AnyArray, FloatArray
from cotas.design.operations import add, add_outer, add_squares, dot, n_features, n_vectors, norm2
from cotas.loops import REORDERED


class Dense(NamedTuple):
    """The rows of a C-contiguous array."""

    X: AnyArray


class StandardizedDense(NamedTuple):
    """Rows (x − mean) · inverse_scale, computed on the fly: X itself is never copied."""

    X: AnyArray
    mean: FloatArray
    inverse_scale: FloatArray


@dot.when(Dense, REORDERED)
def dense_dot(rows: Dense, i: int, w: FloatArray) -> float:
    s = 0.0
    for j in range(w.shape[0]):
        s += rows.X[i, j] * w[j]
    return s


@add.when(Dense, REORDERED)
def dense_add(rows: Dense, i: int, a: float, w: FloatArray) -> None:
    for j in range(w.shape[0]):
        w[j] += a * rows.X[i, j]


@add_outer.when(Dense, REORDERED)
def dense_add_outer(rows: Dense, i: int, a: float, gram: FloatArray) -> None:
    for j in range(rows.X.shape[1]):
        factor = a * rows.X[i, j]
        for k in range(j + 1):
            gram[j, k] += factor * rows.X[i, k]


@add_squares.when(Dense, REORDERED)
def dense_add_squares(rows: Dense, i: int, a: float, w: FloatArray) -> None:
    for j in range(w.shape[0]):
        w[j] += a * rows.X[i, j] * rows.X[i, j]


@norm2.when(Dense, REORDERED)
def dense_norm2(rows: Dense, i: int) -> float:
    s = 0.0
    for j in range(rows.X.shape[1]):
        # Widened first: a square in single precision overflows beyond 1e19.
        x = 1.0 * rows.X[i, j]
        s += x * x
    return s


@n_vectors.when(Dense)
@n_vectors.when(StandardizedDense)
def dense_n_vectors(rows: Dense) -> int:
    return int(rows.X.shape[0])


@n_features.when(Dense)
@n_features.when(StandardizedDense)
def dense_n_features(rows: Dense) -> int:
    return int(rows.X.shape[1])


@dot.when(StandardizedDense, REORDERED)
def standardized_dense_dot(rows: StandardizedDense, i: int, w: FloatArray) -> float:
    s = 0.0
    for j in range(w.shape[0]):
        s += (rows.X[i, j] - rows.mean[j]) * rows.inverse_scale[j] * w[j]
    return s


@add.when(StandardizedDense, REORDERED)
def standardized_dense_add(rows: StandardizedDense, i: int, a: float, w: FloatArray) -> None:
    for j in range(w.shape[0]):
        w[j] += a * (rows.X[i, j] - rows.mean[j]) * rows.inverse_scale[j]


@norm2.when(StandardizedDense, REORDERED)
def standardized_dense_norm2(rows: StandardizedDense, i: int) -> float:
    s = 0.0
    for j in range(rows.X.shape[1]):
        x = (rows.X[i, j] - rows.mean[j]) * rows.inverse_scale[j]
        s += x * x
    return s
