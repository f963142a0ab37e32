"""Features as one byte for each value: the number of the bin that the value falls into."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix
from cotas.loops import loop
from cotas.refusals import ParameterError
from cotas.solvers.radix_sort import sorted_numbers

MOST_BINS = 256  # what a byte can tell apart, the bin of the missing values included
SAMPLE = 1 << 16  # rows that the quantiles are taken from
TILE = 64  # rows coded at a time, so that a row-major X is read from the cache
DENSEST = 0.125  # a column with fewer values off its most frequent bin is stored as a list
AT_A_TIME = 16  # columns of the sample, or as many as have SAMPLE entries
COLUMNS_AT_A_TIME = 64  # are coded, so that their edges stay in the cache
FEW = 16  # edges that are all compared with a value, rather than searched
HALVES = (128, 64, 32, 16, 8, 4, 2, 1)


class Bins(NamedTuple):
    """The codes of X, column by column.

    Feature j is row `place[j]` of `codes`. If that is negative, nearly all its values are in the
    bin `usual[j]`, and list k = −place[j] − 1 names the others: entries starts[k] to starts[k+1]
    of `rows` and `listed`. The values have the codes 0 to sizes[j] − 1, missing ones sizes[j].
    """

    codes: AnyArray
    place: IntArray
    usual: AnyArray
    starts: IntArray
    rows: IntArray
    listed: AnyArray
    sizes: IntArray
    missing: BoolArray
    categorical: BoolArray


class Scale(NamedTuple):
    """The ends of the bins of each feature: value x has the code #{k: edges[j][k] < x}.

    For a categorical feature `edges[j]` are the categories themselves, and the code of x is its
    place among them.
    """

    edges: list[FloatArray]
    categorical: BoolArray


def midpoints(distinct: FloatArray) -> FloatArray:
    """Return numbers t with a ≤ t < b for each pair of neighbours a < b, halfway where that exists.

    Of a table, along its rows.

    >>> midpoints(np.array([0.0, 1.0, 4.0]))
    array([0.5, 2.5])
    """
    a, b = distinct[..., :-1], distinct[..., 1:]
    middle = a / 2 + b / 2
    return np.where((middle >= a) & (middle < b), middle, a)


def column_edges(
    values: AnyArray, most: int, zeros: int = 0
) -> tuple[FloatArray, FloatArray | None]:
    """Choose at most most − 1 ends of bins for these values, and the values if each has its own
    bin.

    With too many distinct values the bins hold about as many of the values each. `zeros` is how
    many values of zero there are besides.
    """
    ordered = sorted_numbers(values[~np.isnan(values)])
    at, n = int(np.searchsorted(ordered, 0.0)), len(ordered) + zeros
    if zeros:
        ordered = np.insert(ordered, at, 0.0)
    if n == 0:
        return np.empty(0), ordered
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    distinct = ordered[first]
    if len(distinct) <= most:
        return midpoints(distinct), distinct
    # Where each distinct value begins among all, the zeros included.
    begins = first + np.where(first > at, zeros - 1, 0) if zeros else first
    upper = np.unique(np.searchsorted(begins, np.arange(1, most) * n // most, side="right") - 1)
    ends = upper[upper > 0]
    return midpoints(np.stack([distinct[ends - 1], distinct[ends]], axis=1))[:, 0], None


def edges_of_few(columns: AnyArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """Compute `column_edges` of many columns of few values at a time: each value has a bin of its
    own."""
    ordered = np.sort(columns.astype(np.float64), axis=1)
    new = ~np.isnan(ordered)  # NaN comes last
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return _runs(midpoints(ordered), new[:, 1:]), _runs(ordered, new)


def _runs(values: FloatArray, chosen: BoolArray) -> list[FloatArray]:
    """Return the chosen values of each row, as views of one array."""
    flat, ends = values[chosen], np.cumsum(chosen.sum(axis=1)).tolist()
    return [flat[a:b] for a, b in pairwise([0, *ends])]


def categories(values: AnyArray, name: int) -> FloatArray:
    """Return the categories of a column, which must leave a code for the unknown."""
    found = np.unique(values[~np.isnan(values)]).astype(np.float64)
    if len(found) >= MOST_BINS:
        raise ParameterError(
            "X",
            f"Feature {name} has {len(found)} categories; at most {MOST_BINS - 1} can be told "
            "apart. Merge the rare ones, or treat the feature as numeric.",
        )
    return found


@loop
def count_below(edges: FloatArray, n_edges: int, x: FloatArray, k: AnyArray) -> None:
    """Fill kᵢ = #{e: edges[e] < xᵢ}

    Few edges are compared one after the other with many values at a time; many are halved without
    a branch, which would be predicted wrongly half of the time. They are padded with infinities.
    """
    if n_edges <= FEW:
        k[:] = 0
        for e in range(n_edges):
            for i in range(len(x)):
                k[i] += np.uint8(edges[e] < x[i])
        return
    for i in range(len(x)):
        found = 0
        for half in HALVES:
            found += half * int(edges[found + half - 1] < x[i])
        k[i] = found


@loop
def code_tile(
    X: Any,
    first: int,
    start: int,
    stop: int,
    edges: FloatArray,
    n_edges: IntArray,
    values: FloatArray,
    exact: BoolArray,
    categorical: BoolArray,
    codes: AnyArray,
    unseen: AnyArray,
    missing: AnyArray,
    x: FloatArray,
    k: AnyArray,
) -> None:
    """Code the rows start to stop; column c of X is feature first + c.

    `unseen` marks features with a value that their list of distinct values lacks, `missing` those
    with a NaN. `x` and `k` are room for the values and codes of a tile.
    """
    for tile in range(start, stop, TILE):
        n = min(TILE, stop - tile)
        for c in range(X.shape[1]):
            j, gaps, strange = first + c, 0, 0
            for i in range(n):
                x[i] = X[tile + i, c]
                gaps += int(x[i] != x[i])
            count_below(edges[j], n_edges[j], x[:n], k[:n])
            if exact[j]:
                for i in range(n):
                    strange += int(values[j, k[i]] != x[i])
                unseen[j] |= strange > gaps
            if gaps or categorical[j]:
                special_codes(edges[j], n_edges[j], categorical[j], x[:n], k[:n])
                missing[j] |= gaps > 0
            for i in range(n):
                codes[j, tile + i] = k[i]


@loop
def special_codes(
    edges: FloatArray, n_edges: int, categorical: bool, x: FloatArray, k: AnyArray
) -> None:
    """Give missing values and unknown categories their codes: the last."""
    for i in range(len(x)):
        if categorical:
            if edges[k[i]] != x[i]:
                k[i] = n_edges
        elif np.isnan(x[i]):
            k[i] = n_edges + 1


def make_bins(
    X: AnyArray, used: IntArray | None, categorical: BoolArray, each: Each
) -> tuple[Bins, Scale]:
    """Choose the bins from the rows `used` (None: all) and code all the rows.

    A feature with at most 256 distinct values (255 if some are missing) gets a bin for each. Else
    the bins are quantiles of at most 65,536 rows spread evenly over the data.
    Cost: O(d·s·log s) for the s rows of the sample and O(n·d·log 256) for the codes; one byte for
    each entry of X.
    """
    edges, values = _choose_edges(X, used, categorical, each)
    coding = BinCoding(X, edges, values, categorical)
    coding.run_all(each)
    crowded = coding.too_many()

    def correct(j: int) -> None:
        column, most = _columns(X, used, j, j + 1)[0], MOST_BINS - int(coding.missing[j])
        if crowded[j]:
            coding.replace(j, column_edges(column, most)[0])
            return
        codes = coding.codes[j] if used is None else coding.codes[j, used]
        strange = column[coding.values[j, codes] != column]
        distinct = np.union1d(values[j], strange[~np.isnan(strange)])  # type: ignore[arg-type]
        if len(distinct) <= most:
            coding.replace(j, midpoints(distinct))

    list(each(correct, np.flatnonzero(coding.unseen | crowded).tolist()))
    return _with_lists(coding, each), Scale(coding.edges, categorical)


def _choose_edges(
    X: Matrix, used: IntArray | None, categorical: BoolArray, each: Each
) -> tuple[list[FloatArray], list[FloatArray | None]]:
    """Return the ends of the bins of each feature, and its values where the sample shows few."""
    rows = used if used is not None else slice(None)
    n = X.shape[0] if used is None else len(used)
    step = max(1, -(-n // SAMPLE))
    every = slice(None, None, step) if used is None else used[::step]
    width = max(AT_A_TIME, SAMPLE // max(1, n))

    def read(first: int) -> tuple[list[FloatArray], list[FloatArray | None]]:
        last = min(first + width, X.shape[1])
        columns = _columns(X, every, first, last)
        edges, values = numeric_edges(columns)
        for j in (first + np.flatnonzero(categorical[first:last])).tolist():
            edges[j - first] = categories(_columns(X, rows, j, j + 1)[0], j)
            values[j - first] = None
        return edges, values

    parts = list(each(read, range(0, X.shape[1], width)))
    return [e for part in parts for e in part[0]], [v for part in parts for v in part[1]]


def numeric_edges(columns: AnyArray) -> tuple[list[FloatArray], list[FloatArray | None]]:
    """Return the ends of the bins of each of these rows, and its values where they are few."""
    if columns.shape[1] < MOST_BINS:
        few = edges_of_few(columns)
        return few[0], [*few[1]]
    gaps = [bool(np.isnan(column).any()) for column in columns]
    found = [
        column_edges(column, MOST_BINS - gap) for column, gap in zip(columns, gaps, strict=True)
    ]
    return [f[0] for f in found], [f[1] for f in found]


def _columns(X: Matrix, rows: Any, first: int, last: int) -> AnyArray:
    """Return some columns of X on some rows, each of them contiguous."""
    block = X[:, first:last]
    return np.ascontiguousarray((block if rows is None else block[rows]).T)


class BinCoding:
    """The codes while they are being made."""

    def __init__(
        self,
        X: Matrix,
        edges: list[FloatArray],
        values: Sequence[FloatArray | None],
        categorical: BoolArray,
    ) -> None:
        n, d = X.shape
        self.X, self.edges, self.categorical = X, edges, categorical
        self.codes = np.empty((d, n), dtype=np.uint8)
        self.unseen = np.zeros(d, dtype=np.bool_)
        self.missing = np.zeros(d, dtype=np.bool_)
        # Few rows have few values of their own; most of the width would be for nothing.
        few = n <= FEW and all(len(ends) <= FEW for ends in edges)
        width = FEW + 1 if few else MOST_BINS
        self.padded = np.full((d, width), np.inf)
        self.n_edges = np.zeros(d, dtype=np.int32)
        self.exact = np.array([v is not None for v in values], dtype=np.bool_)
        self.n_edges[:] = _fill(self.padded, edges)
        self.values = np.full((d, width) if self.exact.any() else (1, 1), np.nan)
        if self.exact.any():
            _fill(self.values, values)

    def sizes(self) -> IntArray:
        """Tell how many bins each feature has for its values."""
        return np.asarray(self.n_edges + ~self.categorical, dtype=np.int32)

    def too_many(self) -> BoolArray:
        """Return the features with missing values and no code left for them."""
        return np.asarray(self.missing & (self.sizes() == MOST_BINS))

    def run_all(self, each: Each) -> None:
        """Code all the features."""
        for first in range(0, self.X.shape[1], COLUMNS_AT_A_TIME):
            self.run(first, min(first + COLUMNS_AT_A_TIME, self.X.shape[1]), each)

    def run(self, first: int, last: int, each: Each) -> None:
        """Code the features first to last, the rows in threads."""
        block = self.X[:, first:last]
        n = block.shape[0]
        step = max(TILE, -(-n // 8))

        def code(start: int) -> None:
            code_tile(
                block,
                first,
                start,
                min(start + step, n),
                self.padded,
                self.n_edges,
                self.values,
                self.exact,
                self.categorical,
                self.codes,
                self.unseen,
                self.missing,
                np.zeros(TILE),
                np.zeros(TILE, dtype=np.uint8),
            )

        list(each(code, range(0, n, step)))

    def replace(self, j: int, edges: FloatArray) -> None:
        """Take other edges for feature j."""
        self.edges[j] = edges
        self.exact[j] = False
        self.padded[j] = np.inf
        self.padded[j, : len(edges)] = edges
        self.n_edges[j] = len(edges)
        self.run(j, j + 1, map)


def _fill(table: FloatArray, parts: Sequence[FloatArray | None]) -> IntArray:
    """Write part j to the beginning of row j; how long each is."""
    known = [np.empty(0) if part is None else part for part in parts]
    lengths = np.array([len(part) for part in known], dtype=np.int32)
    for first in range(0, len(known), COLUMNS_AT_A_TIME):
        block = slice(first, first + COLUMNS_AT_A_TIME)
        table[block][np.arange(table.shape[1]) < lengths[block, None]] = np.concatenate(
            known[block]
        )
    return lengths


@loop
def count_off(
    codes: AnyArray, first: int, last: int, counts: IntArray, usual: AnyArray, off: IntArray
) -> None:
    """Find the most frequent code of each of these columns, and how many rows have another one.

    Four `counts` at a time, so that none waits for the last.
    """
    for j in range(first, last):
        counts[:] = 0
        for i in range(codes.shape[1]):
            counts[i & 3, codes[j, i]] += 1
        most = -1
        for b in range(MOST_BINS):
            here = counts[0, b] + counts[1, b] + counts[2, b] + counts[3, b]
            if here > most:
                most, usual[j] = here, b
        off[j] = codes.shape[1] - most


@loop
def list_columns(
    codes: AnyArray, lists: IntArray, usual: AnyArray, starts: IntArray, rows: IntArray,
    listed: AnyArray,
) -> None:  # fmt: skip
    """List the rows of each of these columns whose code is not the usual one."""
    for k in range(len(lists)):
        j, at = lists[k], starts[k]
        for i in range(codes.shape[1]):
            if codes[j, i] != usual[j]:
                rows[at], listed[at] = i, codes[j, i]
                at += 1


def _with_lists(coding: BinCoding, each: Each) -> Bins:
    """Turn the columns that hardly ever leave one bin into lists: 5 bytes for each exception."""
    codes = coding.codes
    d, n = codes.shape
    usual, off = np.zeros(d, dtype=np.uint8), np.zeros(d, dtype=np.int64)

    width = max(1, SAMPLE // n)  # columns that are worth a turn of a thread

    def count(first: int) -> None:
        counts = np.zeros((4, MOST_BINS), dtype=np.int64)
        count_off(codes, first, min(first + width, d), counts, usual, off)

    list(each(count, range(0, d, width)))
    lists = np.flatnonzero(off <= DENSEST * n)
    starts = np.concatenate([[0], np.cumsum(off[lists])]).astype(np.int64)
    rows = np.empty(starts[-1], dtype=np.int32)
    listed = np.empty(starts[-1], dtype=np.uint8)

    def fill(first: int) -> None:
        block = slice(first, first + width)
        list_columns(codes, lists[block], usual, starts[block], rows, listed)

    list(each(fill, range(0, len(lists), width)))
    place = np.empty(d, dtype=np.int32)
    place[lists] = -1 - np.arange(len(lists))
    dense = np.setdiff1d(np.arange(d), lists)
    place[dense] = np.arange(len(dense))
    for k, j in enumerate(dense.tolist()):
        if j != k:  # one after the other, without a copy of all
            codes[k] = codes[j]
    codes.resize((len(dense), n), refcheck=False)  # gives the rest back without a copy
    return Bins(
        codes,
        place,
        usual,
        starts,
        rows,
        listed,
        coding.sizes(),
        coding.missing | coding.categorical,
        coding.categorical,
    )
