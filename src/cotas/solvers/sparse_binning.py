"""The bins of a sparse X, column by column: no more than one byte for an entry is made dense."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix, Sparse
from cotas.solvers.binning import (
    DENSEST,
    MOST_BINS,
    SAMPLE,
    Bins,
    Scale,
    categories,
    column_edges,
    make_bins,
    midpoints,
    numeric_edges,
)

COLUMNS_AT_A_TIME = 64
SMALL = 1 << 14  # entries that are coded before a loop would be compiled or loaded


class BinnedColumn(NamedTuple):
    """The stored values of a column, and where they are."""

    rows: IntArray
    values: FloatArray


class CodedColumn(NamedTuple):
    """The ends of its bins, the usual code, that of a zero, and the entries with another one."""

    edges: FloatArray
    missing: bool
    usual: int
    rows: IntArray
    codes: AnyArray


class SparseSample:
    """A sample of rows that the bins are chosen from: all that are used, or some spread evenly over
    them."""

    def __init__(self, n: int, used: IntArray | None) -> None:
        self.n_used = n if used is None else len(used)
        self.step = max(1, -(-self.n_used // SAMPLE))
        self.position = np.arange(n) if used is None else np.full(n, -1)
        if used is not None:
            self.position[used] = np.arange(len(used))

    def edges(self, column: BinnedColumn) -> FloatArray:
        """Return the same as those of the dense column."""
        position = self.position[column.rows]
        among, sampled = position >= 0, (position >= 0) & (position % self.step == 0)
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

    def holds(self, lengths: IntArray, values: AnyArray) -> bool:
        """Tell whether these columns are so short that each value has a bin, and nothing is
        missing."""
        short = self.step == 1 and lengths.max(initial=0) < MOST_BINS
        return bool(short and not np.isnan(values).any())

    def categories(self, column: BinnedColumn, name: int) -> FloatArray:
        """Return the categories among the rows that are used."""
        values = column.values[self.position[column.rows] >= 0]
        return categories(values if len(values) == self.n_used else np.append(values, 0.0), name)


def bin_table(
    X: Matrix, used: IntArray | None, categorical: BoolArray, each: Each
) -> tuple[Bins, Scale]:
    """Make the bins of X, chosen from the rows `used` (None: all), as suits its size and layout."""
    if sparse.issparse(X):
        return make_sparse_bins(X, used, categorical, each)
    make = make_small_bins if X.size <= SMALL and len(X) <= SAMPLE else make_bins
    return make(X, used, categorical, each)


def make_sparse_bins(
    X: Sparse, used: IntArray | None, categorical: BoolArray, each: Each
) -> tuple[Bins, Scale]:
    """Return the same as `make_bins` of the dense X, from the stored entries alone.

    Cost: O(nnz·log) and five bytes for an entry that is not in the bin of zero; a column with many
    of them takes one byte for each row.
    """
    n, d = X.shape
    columns, sample = X.tocsc(), SparseSample(n, used)
    columns.sum_duplicates()

    def code(first: int) -> list[CodedColumn]:
        found, last = [], min(first + COLUMNS_AT_A_TIME, d)
        starts = columns.indptr[first : last + 1]
        whole = slice(starts[0], starts[-1])
        if not categorical[first:last].any() and sample.holds(np.diff(starts), columns.data[whole]):
            values = columns.data[whole].astype(np.float64)
            return _code_short(columns.indices[whole], values, starts - starts[0], sample)
        for j in range(first, last):
            part = slice(columns.indptr[j], columns.indptr[j + 1])
            values = columns.data[part].astype(np.float64)
            column = BinnedColumn(columns.indices[part], values)
            edges = sample.categories(column, j) if categorical[j] else sample.edges(column)
            found.append(_code_column(column, edges, bool(categorical[j])))
        return found

    coded = [c for part in each(code, range(0, d, COLUMNS_AT_A_TIME)) for c in part]
    return _lay_out(coded, n, categorical), Scale([c.edges for c in coded], categorical)


def make_small_bins(
    X: AnyArray, used: IntArray | None, categorical: BoolArray, each: Each
) -> tuple[Bins, Scale]:
    """Make the same bins as `make_bins`, of a table so small that compiling would take longer than
    coding."""
    n, columns = len(X), np.ascontiguousarray(X.T, dtype=np.float64)
    rows, seen = np.arange(n), columns if used is None else columns[:, used]
    chosen, _ = numeric_edges(seen)
    coded = []
    for j, (values, edges) in enumerate(zip(columns, chosen, strict=True)):
        if categorical[j]:
            edges = categories(seen[j], j)
        elif len(edges) == MOST_BINS - 1 and np.isnan(values).any():
            edges = column_edges(seen[j], MOST_BINS - 1)[0]
        codes, missing = _codes_of(values, edges, bool(categorical[j]))
        usual = int(np.bincount(codes).argmax())
        coded.append(_coded(BinnedColumn(rows, values), edges, codes, missing, usual))
    return _lay_out(coded, n, categorical), Scale([c.edges for c in coded], categorical)


def _codes_of(values: FloatArray, edges: FloatArray, categorical: bool) -> tuple[IntArray, bool]:
    """Return the codes of values, and whether some are missing, or names."""
    codes = np.searchsorted(edges, values)
    if categorical:
        known = edges[np.minimum(codes, len(edges) - 1)] == values
        codes = np.where(known, codes, len(edges))
    absent = np.isnan(values)
    codes[absent] = len(edges) + (not categorical)
    return codes, bool(absent.any()) or categorical


def _coded(
    column: BinnedColumn, edges: FloatArray, codes: IntArray, missing: bool, usual: int
) -> CodedColumn:
    """Return the column without the entries that have the usual code."""
    other = np.flatnonzero(codes != usual)
    rows, listed = column.rows[other].astype(np.int32), codes[other].astype(np.uint8)
    return CodedColumn(edges, missing, usual, rows, listed)


def _code_column(column: BinnedColumn, edges: FloatArray, categorical: bool) -> CodedColumn:
    codes, missing = _codes_of(np.append(column.values, 0.0), edges, categorical)
    return _coded(column, edges, codes[:-1], missing, int(codes[-1]))


def _code_short(
    rows: IntArray, values: FloatArray, starts: IntArray, sample: SparseSample
) -> list[CodedColumn]:
    """Do the work of `_code_column` for many short columns at a time: those of a table of words are
    so many."""
    owner, d = np.repeat(np.arange(len(starts) - 1), np.diff(starts)), len(starts) - 1
    edges, cut = _edges_of_short(owner, values, sample.position[rows] >= 0, d, sample.n_used)
    # Each value and a zero of each column among the edges; of equal ones the edge comes last.
    x, whose = np.concatenate([values, np.zeros(d), edges]), [owner, np.arange(d), cut]
    is_edge = np.repeat([False, False, True], [len(part) for part in whose])
    order = np.lexsort((is_edge, x, np.concatenate(whose)))
    below = np.empty(len(x), dtype=np.int64)
    below[order] = np.cumsum(is_edge[order])
    first = np.searchsorted(cut, np.arange(d + 1))
    zero = below[len(values) : len(values) + d] - first[:-1]
    codes = below[: len(values)] - first[owner]
    other = codes != zero[owner]
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner[other], minlength=d))]).tolist()
    rows, listed = rows[other].astype(np.int32), codes[other].astype(np.uint8)
    return [
        CodedColumn(edges[e:f], False, k, rows[a:b], listed[a:b])
        for (e, f), k, (a, b) in zip(
            pairwise(first.tolist()), zero.tolist(), pairwise(ends), strict=True
        )
    ]


def _edges_of_short(
    owner: IntArray, values: FloatArray, used: BoolArray, d: int, n_used: int
) -> tuple[FloatArray, IntArray]:
    """Return the midpoints of the distinct values among the used rows, and whose they are."""
    stored = owner[used]
    zeros = np.flatnonzero(np.bincount(stored, minlength=d) < n_used)
    column = np.concatenate([stored, zeros])
    x = np.concatenate([values[used], np.zeros(len(zeros))])
    order = np.lexsort((x, column))
    column, x = column[order], x[order]
    new = (column[1:] == column[:-1]) & (x[1:] != x[:-1])
    return midpoints(x)[new], column[1:][new]


def _lay_out(coded: list[CodedColumn], n: int, categorical: BoolArray) -> Bins:
    """Make lists for the columns that are nearly always zero, a byte for each row for the
    others."""
    lengths = np.array([len(c.rows) for c in coded])
    listed = lengths <= DENSEST * n
    place = np.where(listed, 0 - np.cumsum(listed), np.cumsum(~listed) - 1).astype(np.int32)
    codes = np.empty((np.count_nonzero(~listed), n), dtype=np.uint8)
    for k, j in enumerate(np.flatnonzero(~listed)):
        codes[k] = coded[j].usual
        codes[k, coded[j].rows] = coded[j].codes
    lists = [coded[j] for j in np.flatnonzero(listed)]
    sizes = np.array([len(c.edges) for c in coded]) + ~categorical
    return Bins(
        codes=codes,
        place=place,
        usual=np.array([c.usual for c in coded], dtype=np.uint8),
        starts=np.concatenate([[0], np.cumsum(lengths[listed])]).astype(np.int64),
        rows=np.concatenate([np.empty(0, np.int32), *(c.rows for c in lists)]),
        listed=np.concatenate([np.empty(0, np.uint8), *(c.codes for c in lists)]),
        sizes=sizes.astype(np.int32),
        missing=np.array([c.missing for c in coded], dtype=np.bool_),
        categorical=categorical,
    )
