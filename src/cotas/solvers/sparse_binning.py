"""The bins of a sparse X, column by column: no more than one byte for an entry is made dense."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix
from cotas.solvers.binning import (
    DENSEST,
    MOST_BINS,
    SAMPLE,
    Bins,
    Scale,
    categories,
    column_edges,
)

COLUMNS_AT_A_TIME = 64


class BinnedColumn(NamedTuple):
    """The stored values of a column, and where they are."""

    rows: IntArray
    values: FloatArray


class CodedColumn(NamedTuple):
    """The ends of its bins, the code of a zero, and the entries with another code."""

    edges: FloatArray
    missing: bool
    zero: int
    rows: IntArray
    codes: AnyArray


class SparseSample:
    """Which rows the bins are chosen from: all that are used, or some spread evenly over them."""

    def __init__(self, n: int, used: IntArray | None) -> None:
        self.n_used = n if used is None else len(used)
        self.step = max(1, -(-self.n_used // SAMPLE))
        self.turn = np.arange(n) if used is None else np.full(n, -1)
        if used is not None:
            self.turn[used] = np.arange(len(used))

    def edges(self, column: BinnedColumn) -> FloatArray:
        """The same as those of the dense column."""
        turn = self.turn[column.rows]
        among, sampled = turn >= 0, (turn >= 0) & (turn % self.step == 0)
        seen, used = column.values[sampled], column.values[among]
        most = MOST_BINS - int(np.isnan(seen).any())
        edges, distinct = column_edges(seen, most, -(-self.n_used // self.step) - len(seen))
        if distinct is not None and self.step > 1:  # perhaps there are few in all the rows too
            most = MOST_BINS - int(np.isnan(column.values).any())
            whole, distinct = column_edges(used, most, self.n_used - len(used))
            edges = edges if distinct is None else whole
        if len(edges) == MOST_BINS - 1 and np.isnan(column.values).any():
            edges = column_edges(used, MOST_BINS - 1, self.n_used - len(used))[0]
        return edges

    def categories(self, column: BinnedColumn, name: int) -> FloatArray:
        """The categories among the rows that are used."""
        values = column.values[self.turn[column.rows] >= 0]
        return categories(values if len(values) == self.n_used else np.append(values, 0.0), name)


def make_sparse_bins(
    X: Matrix, used: IntArray | None, categorical: BoolArray, each: Each
) -> tuple[Bins, Scale]:
    """The same as `make_bins` of the dense X, from the stored entries alone.

    Cost: O(nnz·log) and five bytes for an entry that is not in the bin of zero; a column with many
    of them takes one byte for each row.
    """
    n, d = X.shape
    columns, sample = X.tocsc(), SparseSample(n, used)
    columns.sum_duplicates()

    def code(first: int) -> list[CodedColumn]:
        found = []
        for j in range(first, min(first + COLUMNS_AT_A_TIME, d)):
            part = slice(columns.indptr[j], columns.indptr[j + 1])
            values = columns.data[part].astype(np.float64)
            column = BinnedColumn(columns.indices[part], values)
            edges = sample.categories(column, j) if categorical[j] else sample.edges(column)
            found.append(_code_column(column, edges, bool(categorical[j])))
        return found

    coded = [c for part in each(code, range(0, d, COLUMNS_AT_A_TIME)) for c in part]
    return _lay_out(coded, n, categorical), Scale([c.edges for c in coded], categorical)


def _code_column(column: BinnedColumn, edges: FloatArray, categorical: bool) -> CodedColumn:
    values = np.append(column.values, 0.0)
    codes = np.searchsorted(edges, values)
    if categorical:
        known = edges[np.minimum(codes, len(edges) - 1)] == values
        codes = np.where(known, codes, len(edges))
    absent = np.isnan(values)
    codes[absent] = len(edges) + (not categorical)
    zero = int(codes[-1])
    other = np.flatnonzero(codes[:-1] != zero)
    return CodedColumn(
        edges,
        bool(absent.any()) or categorical,
        zero,
        column.rows[other].astype(np.int32),
        codes[other].astype(np.uint8),
    )


def _lay_out(coded: list[CodedColumn], n: int, categorical: BoolArray) -> Bins:
    """Lists for the columns that are nearly always zero, a byte for each row for the others."""
    lengths = np.array([len(c.rows) for c in coded])
    listed = lengths <= DENSEST * n
    place = np.where(listed, 0 - np.cumsum(listed), np.cumsum(~listed) - 1).astype(np.int32)
    codes = np.empty((np.count_nonzero(~listed), n), dtype=np.uint8)
    for k, j in enumerate(np.flatnonzero(~listed)):
        codes[k] = coded[j].zero
        codes[k, coded[j].rows] = coded[j].codes
    lists = [coded[j] for j in np.flatnonzero(listed)]
    sizes = np.array([len(c.edges) for c in coded]) + ~categorical
    return Bins(
        codes=codes,
        place=place,
        usual=np.array([c.zero for c in coded], dtype=np.uint8),
        starts=np.concatenate([[0], np.cumsum(lengths[listed])]).astype(np.int64),
        rows=np.concatenate([np.empty(0, np.int32), *(c.rows for c in lists)]),
        listed=np.concatenate([np.empty(0, np.uint8), *(c.codes for c in lists)]),
        sizes=sizes.astype(np.int32),
        missing=np.array([c.missing for c in coded], dtype=np.bool_),
        categorical=categorical,
    )
