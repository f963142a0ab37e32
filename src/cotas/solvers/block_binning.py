"""Bins of rows in blocks: chosen from some rows of all blocks, and coded anew in each pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix
from cotas.solvers.binning import (
    AT_A_TIME,
    COLUMNS_AT_A_TIME,
    MOST_BINS,
    SAMPLE,
    TILE,
    Bins,
    Scale,
    categories,
    code_tile,
    column_edges,
)
from cotas.solvers.trees import Categories, list_categories
from cotas.source import Block

# Bytes of the rows that bins are chosen from; they are all in memory once.
SAMPLE_BYTES = 1 << 26


class Either(tuple[Any, ...]):
    """Sets of columns or of values, each of which grows to the union of all."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return Either(np.union1d(a, b) for a, b in zip(self, other, strict=True))


@dataclass(frozen=True)
class ColumnsSeen:
    """What the bins of some rows depend on, which adds up.

    Attributes
    ----------
    rows : of the sample, those of each block
    missing : the columns with missing values
    named : the values of each column of categories
    """

    rows: list[Matrix]
    missing: Either
    named: Either

    def __add__(self, other: ColumnsSeen) -> ColumnsSeen:
        for j, values in enumerate(named := self.named + other.named):
            if len(values) >= MOST_BINS:
                categories(values, int(j))  # which refuses so many
        return ColumnsSeen(self.rows + other.rows, self.missing + other.missing, named)


@dataclass(frozen=True)
class LookAtColumns:
    """Every so many rows of a block, its missing values and its categories.

    Which rows they are depends on their numbers alone, so that the same rows have the same bins
    however they are divided; of few rows they are those that are looked at in memory.
    """

    step: int
    categorical: BoolArray

    @classmethod
    def at(cls, n_rows: int, X: Matrix, categorical: BoolArray) -> Self:
        """For so many rows like those of X."""
        most = SAMPLE_BYTES // (8 * max(1, X.shape[1]))
        most = SAMPLE if sparse.issparse(X) else int(np.clip(most, MOST_BINS, SAMPLE))
        return cls(max(1, -(-n_rows // most)), categorical)

    def __call__(self, block: Block) -> ColumnsSeen:
        X, s = block.X, block.weights
        used = slice(None) if s is None or (s > 0).all() else np.flatnonzero(s > 0)
        some = np.arange(-block.start % self.step, block.n_rows, self.step)
        some = some if s is None else some[s[some] > 0]
        gaps = np.unique(X.indices[np.isnan(X.data)]) if sparse.issparse(X) else _gaps(X)
        named = (_values(X, j)[used] for j in np.flatnonzero(self.categorical).tolist())
        found = Either(np.unique(x[~np.isnan(x)]) for x in named)
        return ColumnsSeen([X[some]], Either((gaps,)), found)


def _gaps(X: AnyArray) -> IntArray:
    """The columns with missing values; where the sum is a number there are none."""
    with np.errstate(all="ignore"):
        if not np.isnan(X.sum(dtype=np.float64)):
            return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.isnan(X).any(axis=0))


def _values(X: Matrix, j: int) -> FloatArray:
    column = X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j]
    return np.asarray(column, dtype=np.float64)


@dataclass(frozen=True)
class Coder:
    """Where the bins of each feature end, so that any block can be coded."""

    scale: Scale
    missing: BoolArray

    @classmethod
    def of(cls, seen: ColumnsSeen, categorical: BoolArray) -> Self:
        """The bins of the sample, as `make_bins` chooses them."""
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
        return cls(Scale(edges, categorical), missing)

    @property
    def n_features(self) -> int:
        return len(self.missing)

    @property
    def sizes(self) -> IntArray:
        """How many bins each feature has for its values."""
        ends = np.array([len(edges) for edges in self.scale.edges], dtype=np.int32)
        return np.asarray(ends + ~self.scale.categorical, dtype=np.int32)

    @property
    def width(self) -> int:
        """The most codes that a feature has."""
        return int(min(self.sizes.max(initial=0) + 1, MOST_BINS))

    def categories(self) -> Categories:
        """What evaluation needs to know of the categorical features."""
        return list_categories(self.scale)

    def bins(self, X: AnyArray) -> Bins:
        """The codes of some dense rows; none for no rows, which tells the features alone."""
        (n, _), d = X.shape, self.n_features
        padded, n_edges = np.full((d, MOST_BINS), np.inf), np.zeros(d, dtype=np.int32)
        for j, edges in enumerate(self.scale.edges):
            n_edges[j] = len(edges)
            padded[j, : len(edges)] = edges
        codes = np.empty((d, n), dtype=np.uint8)
        exact, marks = np.zeros(d, dtype=np.bool_), np.zeros((2, d), dtype=np.bool_)
        for first in range(0, d, COLUMNS_AT_A_TIME) if n else ():
            part = X[:, first : first + COLUMNS_AT_A_TIME]
            code_tile(
                part, first, 0, n, padded, n_edges, padded, exact, self.scale.categorical, codes,
                marks[0], marks[1], np.zeros(TILE), np.zeros(TILE, dtype=np.uint8),
            )  # fmt: skip
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


def _dense_columns(rows: Sequence[Matrix], first: int, last: int) -> AnyArray:
    """Some columns of the sample, each of them contiguous."""
    parts = [part[:, first:last] for part in rows]
    dense = [part.toarray() if sparse.issparse(part) else part for part in parts]
    return np.ascontiguousarray(np.concatenate(dense).T)
