"""Sparse rows, of which no zero is written down, and their transposes."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from cotas.certificates.core import choices
from cotas.certificates.core.rounding import FloatArray
from cotas.certificates.core.rows import Each, Frame, Rows

# The squares of 2³¹ entries that underflow, measured in this unit, come to less than SMALL²; and
# one over the square of a larger unit would underflow itself, and with it entries of that size.
SMALLEST_UNIT, LARGEST_UNIT = 2.0**-20, 2.0**500


def made_of(kind: Any, parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Any:
    """Return a sparse matrix of these arrays; its class, if given them, checks and copies them."""
    made = kind.__new__(kind)
    made.__dict__.update(vars(_empty(kind, False)))
    made.data, made.indices, made.indptr = parts
    made._shape = shape
    return made


@lru_cache(maxsize=8)
def _empty(kind: Any, turned: bool) -> Any:
    """Make a sparse matrix of zeros, or its transpose, which takes longer to make than to copy."""
    return kind((1, 1)).T if turned else kind((1, 1))


def flipped(rows: Any) -> Any:
    """Return the transpose of some rows, of which no entry is copied."""
    if not hasattr(rows, "indptr"):
        return rows.T
    parts = (rows.data, rows.indices, rows.indptr)
    kind: Any = type(rows)
    return made_of(type(_empty(kind, True)), parts, rows.shape[::-1])


def some_of(X: Any, span: slice) -> Any:
    """Return consecutive rows of a CSR matrix in double precision."""
    begin, end = X.indptr[span.start], X.indptr[span.stop]
    data = X.data[begin:end].astype(np.float64, copy=False)
    pointers = X.indptr[span.start : span.stop + 1] - begin
    return made_of(type(X), (data, X.indices[begin:end], pointers), (len(pointers) - 1, X.shape[1]))


@lru_cache(maxsize=2)
def _counting(n: int, kind: Any) -> Any:
    """Compute 0, 1, 2, …, which every block needs."""
    return np.arange(n, dtype=kind)


def row_squares(rows: Any, factors: FloatArray | None = None) -> FloatArray:
    """Compute Σ x² over the entries of each sparse row, times the factors of their columns, if any.

    As one product of a sparse matrix and a vector, which without factors are the same numbers.
    """
    data, places, vector = rows.data, rows.indices, factors
    if vector is None:
        places, vector = _counting(1 << len(data).bit_length(), places.dtype)[: len(data)], data
    else:
        data = np.square(data)
    parts = (data, places, rows.indptr)
    return np.asarray(made_of(type(rows), parts, (rows.shape[0], len(vector))) @ vector)


class SparseRows(Rows):
    """A matrix X in CSR, with no entry stored twice: it would be counted once in a length."""

    sparse = True

    @cached_property
    def _safe_units(self) -> FloatArray | None:
        """Compute 1/unit² where neither this nor squares of entries over- or underflow."""
        safe = ((self.unit >= SMALLEST_UNIT) & (self.unit <= LARGEST_UNIT)).all()
        return 1.0 / np.square(self.unit) if safe else None

    def _entries(self) -> tuple[int, float]:
        most = int(np.diff(self.X.indptr).max(initial=0))
        return most, 2 * self.X.nnz / max(1, self.n)  # which have an index besides

    def read(self, span: slice) -> Any:
        return some_of(self.X, span)

    def combine(self, rows: Any, factors: FloatArray) -> FloatArray:
        turned = flipped(rows)  # to choose some of them takes longer
        return np.array([turned @ column for column in np.ascontiguousarray(factors.T)]).T

    def _squares(self, rows: Any) -> FloatArray:
        """Compute Σ (x/unit)²; of what was divided where a square may over- or underflow."""
        if self._safe_units is not None:
            sums = row_squares(rows, None if self.plain else self._safe_units)
            if np.isfinite(sums).all():
                return sums
        divided = rows.data / self.unit[rows.indices]
        return row_squares(made_of(type(rows), (divided, rows.indices, rows.indptr), rows.shape))


def rows_in(
    X: Any, movable: bool, each: Each = map, frame: Frame | None = None, roundings: int = 0
) -> Rows:
    """Compute X, dense or sparse, in a frame of its own, or that of rows which it is a part of."""
    kind = Rows
    if hasattr(X, "tocsr") and (frame is None or frame.shift is None):
        kind, X = SparseRows, X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    elif hasattr(X, "tocsr"):
        X = X.toarray()  # rows that others have moved have no zeros to leave out
    frame = Frame(*choices.frame(X, movable)) if frame is None else frame
    rows = kind(X, frame, each, roundings)
    rows.movable = movable
    return rows
