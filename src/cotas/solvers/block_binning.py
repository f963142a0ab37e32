"""Bins of rows in blocks: chosen from some rows of all blocks, and how trees see their codes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix
from cotas.design.blocks import row_spans
from cotas.solvers.binning import (
    AT_A_TIME,
    MOST_BINS,
    SAMPLE,
    BinCoding,
    Bins,
    Scale,
    categories,
    column_edges,
)
from cotas.solvers.histograms import send_rows
from cotas.solvers.trees import (
    Categories,
    Trees,
    add_trees,
    dense_parts,
    find_leaves,
    list_categories,
    tested_categories,
)
from cotas.source import Block

# Bytes of the rows that bins are chosen from; they are all in memory once.
SAMPLE_BYTES = 1 << 26


class UnionSets(tuple[Any, ...]):
    """Sets of columns or of values, each of which grows to the union of all."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return UnionSets(np.union1d(a, b) for a, b in zip(self, other, strict=True))


@dataclass(frozen=True)
class ColumnsSeen:
    """Columns that the bins of some rows depend on, which adds up.

    Attributes
    ----------
    rows : of the sample, those of each block
    missing : the columns with missing values
    named : the values of each column of categories
    """

    rows: list[Matrix]
    missing: UnionSets
    named: UnionSets

    def __add__(self, other: ColumnsSeen) -> ColumnsSeen:
        for j, values in enumerate(named := self.named + other.named):
            if len(values) >= MOST_BINS:
                categories(values, int(j))  # which refuses so many
        return ColumnsSeen(self.rows + other.rows, self.missing + other.missing, named)


@dataclass(frozen=True)
class ColumnSampler:
    """Every so many rows of a block, its missing values and its categories.

    Which rows they are depends on their numbers alone, so that the same rows have the same bins
    however they are divided; of few rows they are those that are looked at in memory.
    """

    step: int
    categorical: BoolArray

    @classmethod
    def at(cls, n_rows: int, categorical: BoolArray, thin: bool) -> Self:
        """Make one for so many rows; of sparse ones, which are `thin`, more are looked at."""
        most = SAMPLE_BYTES // (8 * max(1, len(categorical)))
        most = SAMPLE if thin else int(np.clip(most, MOST_BINS, SAMPLE))
        return cls(max(1, -(-n_rows // most)), categorical)

    def __call__(self, block: Block) -> ColumnsSeen:
        X, s = block.X, block.weights
        used = slice(None) if s is None or (s > 0).all() else np.flatnonzero(s > 0)
        some = np.arange(-block.start % self.step, block.n_rows, self.step)
        some = some if s is None else some[s[some] > 0]
        gaps = np.unique(X.indices[np.isnan(X.data)]) if sparse.issparse(X) else _gaps(X)
        named = (_values(X, j)[used] for j in np.flatnonzero(self.categorical).tolist())
        found = UnionSets(np.unique(x[~np.isnan(x)]) for x in named)
        return ColumnsSeen([X[some]], UnionSets((gaps,)), found)


def _gaps(X: AnyArray) -> IntArray:
    """Return the columns with missing values; where the sum is a number there are none."""
    with np.errstate(all="ignore"):
        if not np.isnan(X.sum(dtype=np.float64)):
            return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.isnan(X).any(axis=0))


def _values(X: Matrix, j: int) -> FloatArray:
    column = X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j]
    return np.asarray(column, dtype=np.float64)


@dataclass(frozen=True)
class Coder:
    """A coder: where the bins of each feature end, so that any block can be coded.

    Attributes
    ----------
    scale : the ends, and which features are of categories
    missing : the features that have a code for missing values
    from_sparse : whether the rows were sparse, of which some are made dense at a time
    """

    scale: Scale
    missing: BoolArray
    from_sparse: bool = False

    @classmethod
    def of(cls, seen: ColumnsSeen, categorical: BoolArray) -> Self:
        """Return the bins of the sample, as `make_bins` chooses them."""
        d = len(categorical)
        missing = categorical.copy()
        missing[np.asarray(seen.missing[0], dtype=np.int64)] = True
        names = iter(seen.named)
        edges: list[FloatArray] = []
        for first in range(0, d, AT_A_TIME):
            columns = _dense_columns(seen.rows, first, min(first + AT_A_TIME, d))
            for j, column in enumerate(columns, start=first):
                if categorical[j]:
                    edges.append(categories(next(names), j))
                else:
                    edges.append(column_edges(column, MOST_BINS - int(missing[j]))[0])
        return cls(Scale(edges, categorical), missing, sparse.issparse(seen.rows[0]))

    @property
    def n_features(self) -> int:
        return len(self.missing)

    @property
    def sizes(self) -> IntArray:
        """Tell how many bins each feature has for its values."""
        ends = np.array([len(edges) for edges in self.scale.edges], dtype=np.int32)
        return np.asarray(ends + ~self.scale.categorical, dtype=np.int32)

    @property
    def width(self) -> int:
        """Return the most codes that a feature has."""
        return int(min(self.sizes.max(initial=0) + 1, MOST_BINS))

    def categories(self) -> Categories:
        """Return what evaluation needs to know of the categorical features."""
        return list_categories(self.scale)

    def coded(self, X: Matrix) -> Matrix:
        """Return a byte for each value, the bytes of a column lying together.

        Sparse rows stay as they are where these would be more bytes than they have.
        """
        if not sparse.issparse(X):
            return self.codes(X).T
        if math.prod(X.shape) > X.data.nbytes + X.indices.nbytes:
            return X
        return np.concatenate([self.codes(rows) for _, rows in dense_parts(X)], axis=1).T

    def codes(self, X: AnyArray) -> AnyArray:
        """Return the codes of dense rows, column by column."""
        coding = BinCoding(X, self.scale.edges, [None] * self.n_features, self.scale.categorical)
        coding.run_all(map)
        return coding.codes

    def bins(self, codes: AnyArray) -> Bins:
        """Return the bins of these codes; of those of no rows, what is known of the features
        alone."""
        d = self.n_features
        return Bins(
            codes=codes,
            place=np.arange(d, dtype=np.int32),
            usual=np.zeros(d, dtype=np.uint8),
            starts=np.zeros(1, dtype=np.int64),
            rows=np.empty(0, dtype=np.int32),
            listed=np.empty(0, dtype=np.uint8),
            sizes=self.sizes,
            missing=self.missing,
            categorical=self.scale.categorical,
        )

    def rows(self, X: Matrix) -> CodedRows | SparselyCodedRows:
        """Return what trees are grown on, of rows that have been coded."""
        return SparselyCodedRows(X, self) if sparse.issparse(X) else CodedRows(X, self)

    def routes(self, trees: Trees, t: int, nodes: slice) -> AnyArray:
        """Tell for some nodes of a tree and each code of what is tested there whether it goes
        right.

        A value is at most the edge k just if its code is at most k, so that codes go the way of
        the values that they stand for.
        """
        sizes, found = self.sizes, []
        for v in range(nodes.start, nodes.stop):
            j, group = int(trees.feature[t, v]), int(trees.group[t, v])
            if j < 0:
                right = np.zeros(MOST_BINS, dtype=np.uint8)
            elif group >= 0:
                right = 1 - trees.groups[group]
            else:
                last = np.searchsorted(self.scale.edges[j], trees.threshold[t, v])
                right = (last < EVERY_CODE).astype(np.uint8)
                right[sizes[j] : sizes[j] + 1] = 1 - trees.missing_left[t, v]
            found.append(right)
        return np.array(found)


EVERY_CODE = np.arange(MOST_BINS)


class CodedRows:
    """Rows as bytes, by which they go down trees and into histograms."""

    def __init__(self, coded: AnyArray, coder: Coder) -> None:
        self.codes, self.coder, self.n_rows = coded.T, coder, len(coded)

    def add(self, trees: Trees, coefficients: FloatArray, out: FloatArray) -> None:
        """Update outᵢ ← outᵢ + Σ coefficient · tree(xᵢ), as `add_trees` does it."""
        depth = trees.value.shape[1].bit_length() - 1
        for t, coefficient in enumerate(coefficients):
            out += (coefficient * trees.value[t])[self.nodes(trees, t, depth)]

    def nodes(self, trees: Trees, t: int, level: int) -> AnyArray:
        """Return the node of a level of tree t that each row comes to."""
        node = np.zeros(self.n_rows, dtype=np.uint8)
        for above in range(level):
            nodes = slice(2**above - 1, 2 ** (above + 1) - 1)
            feature = np.maximum(trees.feature[t, nodes], 0)
            send_rows(self.codes, feature, self.coder.routes(trees, t, nodes), node)
        return node

    def parts(self) -> Iterator[tuple[slice, AnyArray]]:
        """Return some rows with their codes: all, or as many as are made dense at a time of sparse
        ones.

        So sums over them have the same bits, whether they were coded before or not.
        """
        d, n = self.codes.shape
        for span in row_spans(self.codes.T, d) if self.coder.from_sparse else [slice(0, n)]:
            yield span, np.ascontiguousarray(self.codes[:, span])


class SparselyCodedRows:
    """Rows of few entries, some of which are made dense, and coded, at a time."""

    def __init__(self, X: Matrix, coder: Coder) -> None:
        self.X, self.coder, self.n_rows = X, coder, X.shape[0]
        self.categories = coder.categories()

    def add(self, trees: Trees, coefficients: FloatArray, out: FloatArray) -> None:
        """Update outᵢ ← outᵢ + Σ coefficient · tree(xᵢ)"""
        known = tested_categories(trees, self.categories)
        for span, rows in dense_parts(self.X):
            add_trees(rows, trees, coefficients, known, out[span])

    def nodes(self, trees: Trees, t: int, level: int) -> AnyArray:
        """Return the node of a level of tree t that each row comes to."""
        leaves = np.zeros(self.n_rows, dtype=np.int64)
        for span, rows in dense_parts(self.X) if level else ():
            find_leaves(rows, trees, t, self.categories, leaves[span])
        depth = trees.value.shape[1].bit_length() - 1
        return np.asarray(leaves >> (depth - level), dtype=np.uint8)

    def parts(self) -> Iterator[tuple[slice, AnyArray]]:
        """Yield some rows at a time with their codes."""
        for span, rows in dense_parts(self.X):
            yield span, self.coder.codes(rows)


def _dense_columns(rows: Sequence[Matrix], first: int, last: int) -> AnyArray:
    """Return some columns of the sample, each of them contiguous."""
    parts = [part[:, first:last] for part in rows]
    dense = [part.toarray() if sparse.issparse(part) else part for part in parts]
    return np.ascontiguousarray(np.concatenate(dense).T)
