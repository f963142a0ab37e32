"""The data as rows of numbers, dense or sparse, in the frame that is chosen for them."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from cotas.certificates.core import choices
from cotas.certificates.core.framed import Each, Frame, FramedRows
from cotas.certificates.core.rounding import FloatArray


def made_of(kind: Any, parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Any:
    """A sparse matrix of these arrays; its class, if given them, copies views of larger ones."""
    made = copy(_empty(kind, shape))
    made.data, made.indices, made.indptr = parts
    return made


@lru_cache(maxsize=4)
def _empty(kind: Any, shape: tuple[int, int]) -> Any:
    """A sparse matrix of zeros, which takes longer to make than to copy."""
    return kind(shape)


def flipped(rows: Any) -> Any:
    """The transpose of some rows, of which no entry is copied."""
    if not hasattr(rows, "indptr"):
        return rows.T
    kind: Any = type(rows)
    parts = (rows.data, rows.indices, rows.indptr)
    return made_of(type(_empty(kind, (1, 1)).T), parts, rows.shape[::-1])


def row_sums(rows: Any, values: FloatArray) -> FloatArray:
    """Σ over the entries of each sparse row of these values, one for each entry."""
    sums, filled = np.zeros(rows.shape[0]), np.diff(rows.indptr) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(values, rows.indptr[:-1][filled])
    return sums


class Rows(FramedRows):
    """X, dense or sparse, in a frame of its own, or that of rows which it is a part of."""

    def __init__(
        self,
        X: Any,
        movable: bool,
        each: Each = map,
        frame: Frame | None = None,
        roundings: int = 0,
    ) -> None:
        if hasattr(X, "tocsr"):  # rows that others have moved can be moved only if they are dense
            moved = frame is not None and frame.shift is not None
            X = X.toarray() if moved else X.tocsr()
        self.sparse, self.movable = hasattr(X, "indptr"), movable
        if self.sparse and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # an entry that is stored twice would be counted once in a length
        frame = Frame(*choices.frame(X, movable)) if frame is None else frame
        super().__init__(X, frame, each, roundings)

    def _entries(self) -> tuple[int, float]:
        if not self.sparse:
            return super()._entries()
        most = int(np.diff(self.X.indptr).max(initial=0))
        return most, 2 * self.X.nnz / max(1, self.n)  # which have an index besides

    def read(self, span: slice) -> Any:
        if not self.sparse:
            return super().read(span)
        begin, end = self.X.indptr[span.start], self.X.indptr[span.stop]
        data = self.X.data[begin:end].astype(np.float64, copy=False)
        pointers = self.X.indptr[span.start : span.stop + 1] - begin
        parts = (data, self.X.indices[begin:end], pointers)
        return made_of(type(self.X), parts, (len(pointers) - 1, self.d))

    def _turned(self, rows: Any) -> Any:
        return flipped(rows)

    def _squares(self, rows: Any) -> FloatArray:
        if not self.sparse:
            return super()._squares(rows)
        return row_sums(rows, np.square(rows.data / self.unit[rows.indices]))
