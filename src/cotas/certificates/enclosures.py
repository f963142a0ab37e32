"""Rows seen from the outside: lengths and products that are known to lie above or below.

A product θ·x of d terms is off by at most γ_d‖x‖‖θ‖. Where the rows have been shifted by a vector,
each entry has been rounded once more; `MORE` counts that and the roundings of the bound itself.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, Matrix
from cotas.certificates.core.rounding import TINY, U, gamma, norm_up
from cotas.certificates.core.rows import FAR, column_means, row_sums

MORE = 8


def outwards(a: FloatArray) -> FloatArray:
    """Numbers above what a ≥ 0 stand for after at most `MORE` rounded operations."""
    above = np.asarray(a * (1.0 + (MORE + 2) * U))
    above += TINY
    return above


def as_double(X: Matrix) -> Matrix:
    """Rows in double precision, an array or a CSR matrix."""
    if sparse.issparse(X):
        return X.tocsr().astype(np.float64, copy=False)
    return np.asarray(X, dtype=np.float64)


def row_lengths(rows: Matrix) -> FloatArray:
    """‖x‖ of each row, rounded up, whatever the size of the entries."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares, unit = _squares(rows), 1.0
        if not 1e-200 < squares.max(initial=0.0) < math.inf:
            # Squares that vanish or overflow: measure in a power of two as large as the entries.
            values = rows.data if sparse.issparse(rows) else rows
            top = float(np.abs(values).max(initial=0.0))
            if not 0.0 < top < math.inf:
                return np.full(rows.shape[0], 0.0 if top == 0.0 else math.inf)
            unit = math.ldexp(1.0, math.frexp(top)[1] - 1)
            squares = _squares(rows / unit)
        lengths = unit * np.sqrt(squares) * (1.0 + gamma(rows.shape[1] + MORE))
        # An entry lost to underflow has a square below 2⁻¹⁰⁷⁴, in that unit.
        return np.where(np.isfinite(lengths), lengths + unit * 2.0**-500 + TINY, math.inf)


def _squares(rows: Matrix) -> FloatArray:
    if sparse.issparse(rows):
        return row_sums(rows, np.square(rows.data))
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def products(rows: Matrix, theta: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """θ·x of each row, a column for each θ, and how far each may be off; infinite where unknown."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = np.asarray(rows @ theta)
        sizes = np.array([norm_up(column) for column in theta.T])
        off = outwards(gamma(len(theta) + MORE) * lengths[:, None] * sizes)
    lost = ~(np.isfinite(values) & np.isfinite(off))
    return np.where(lost, 0.0, values), np.where(lost, math.inf, off)


def centre_of(X: Matrix, rows: int = 1000) -> FloatArray | None:
    """A vector in the middle of about so many rows, if one of its columns is far from zero.

    Of sparse rows none: they would be filled.
    """
    if sparse.issparse(X):
        return None
    some = np.asarray(X[:: max(1, X.shape[0] // rows)], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = column_means(some)
        far = np.abs(middle) > FAR * column_means(np.abs(some - middle))
    return middle if far.any() and np.isfinite(middle).all() else None


def shifted(rows: Matrix, centre: FloatArray | None) -> Matrix:
    """The rows as seen from the centre, each entry rounded once."""
    return rows if centre is None else rows - centre


def whole(value: Any) -> bool:
    """Whether a count is one: a whole number that is not negative."""
    return isinstance(value, Integral) and int(value) >= 0
