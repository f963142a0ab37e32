"""What is learned from the columns, means, deviations and which words come often, and the matrix.

The matrix of a prepared table, dense or CSR, is filled column by column without copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import BoolArray, FloatArray, IntArray, Matrix
from cotas.files.frames import polars
from cotas.files.problems import leaving_out
from cotas.preparation.columns import ColumnError

# So many different words of a column are counted.
MOST_WORDS = 1 << 17


class Numbers(NamedTuple):
    """One entry for each column: of the values that are there, and what is special about it."""

    means: FloatArray
    scales: FloatArray
    indicated: BoolArray  # a value is missing somewhere
    constant: BoolArray
    empty: BoolArray
    gone: BoolArray  # says nothing; where a constant one is missing may still say something


class ColumnMoments(NamedTuple):
    """Moments of each column: how many rows there are, those with a value, their mean and Σ(x −
    mean)²."""

    rows: int
    present: IntArray
    means: FloatArray
    squares: FloatArray
    largest: FloatArray  # |x|

    @classmethod
    def of(cls, values: FloatArray) -> ColumnMoments:
        """Return those of some rows, in which NaN stands for a missing value."""
        missing = np.isnan(values)
        present = (~missing).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows in what is returned
            means = np.where(missing, 0.0, values).sum(axis=0) / np.maximum(present, 1)
            deviations = np.where(missing, 0.0, values - means)
            squares = (deviations**2).sum(axis=0)
        largest = np.abs(np.where(missing, 0.0, values)).max(axis=0, initial=0.0)
        return cls(len(values), present, means, squares, largest)

    def __add__(self, other: Any) -> Any:  # Chan, Golub and LeVeque 1979
        present = self.present + other.present
        share = other.present / np.maximum(present, 1)
        apart = other.means - self.means
        with np.errstate(over="ignore", invalid="ignore"):
            means = self.means + share * apart
            squares = self.squares + other.squares + self.present * share * apart**2
        largest = np.maximum(self.largest, other.largest)
        return ColumnMoments(self.rows + other.rows, present, means, squares, largest)

    def numbers(self, names: Sequence[str]) -> Numbers:
        """Return what a preparation makes of them; an error if no double holds a mean or a
        deviation."""
        sound = np.isfinite(self.means) & np.isfinite(self.squares)
        if not sound.all():
            j = int(np.flatnonzero(~sound)[0])
            raise ColumnError(
                "column {name!r} holds numbers as large as {value:.3g}, whose deviation "
                "overflows: measure it in a larger unit, or leave it out{drop}.",
                drop=leaving_out(names[j]),
                name=names[j],
                value=self.largest[j],
            )
        with np.errstate(over="ignore", invalid="ignore"):
            scales = np.sqrt(self.squares / np.maximum(self.present, 1))
        # A deviation that rounding alone can explain is none.
        constant = np.asarray(scales <= 1e-13 * np.abs(self.means) * self.rows**0.5)
        indicated, empty = self.present < self.rows, self.present == 0
        gone = np.asarray((constant & ~indicated) | empty)
        return Numbers(self.means, scales, indicated, constant, empty, gone)


class WordCounts:
    """Counts of each word of a column, some rows at a time, and of cells without one.

    Of more than `MOST_WORDS` different ones the rarest are forgotten, and the counts of all are
    lowered by theirs (Misra and Gries 1982): none is short by more than 2/`MOST_WORDS` of the rows.
    """

    def __init__(self) -> None:
        self.rows = self.missing = 0
        self.counts: Any = None
        self.different = 0  # at least

    def add(self, words: Any) -> None:
        """Count the words of some rows."""
        pl = polars()
        self.rows, self.missing = self.rows + len(words), self.missing + words.null_count()
        found = words.drop_nulls().alias("word").value_counts(name="count")
        found = found.with_columns(pl.col("word").cast(pl.String), pl.col("count").cast(pl.Int64))
        if self.counts is not None:
            known = self._kept(self.counts)
            found = pl.concat([known, found]).group_by("word").agg(pl.col("count").sum())
        self.different = max(self.different, found.height)
        self.counts = found

    def _kept(self, counts: Any) -> Any:
        """Keep the counts, or those of the most frequent words, lowered by what the next one
        has."""
        pl = polars()
        if counts.height <= MOST_WORDS:
            return counts
        least = counts["count"].sort(descending=True)[MOST_WORDS // 2]
        return counts.with_columns(pl.col("count") - least).filter(pl.col("count") > 0)

    def frequent(self, min_frequency: float, most: int) -> tuple[list[str], int]:
        """Return the words that come often enough, and how many there are in all.

        If there are more than `most`, the most frequent are taken, of equals the first in the
        alphabet.
        """
        found = self.counts
        ranked = sorted(
            zip(found["count"].to_list(), found["word"].to_list(), strict=True),
            key=lambda pair: (-pair[0], pair[1]),
        )
        least = min_frequency * self.rows
        kept = sorted(value for count, value in ranked[:most] if count >= least)
        return kept, self.different


# ---- the matrix ----------------------------------------------------------------------------------

# Rows whose places fit into the cache of a core.
ROWS_AT_A_TIME = 4096


class Codes(NamedTuple):
    """A category: for each row which of `width` columns holds its one, or −1 for none."""

    numbers: IntArray
    width: int


def dense(numbers: FloatArray, categories: list[Codes]) -> FloatArray:
    """Return the numbers, and beside them a block of zeros and ones for each category."""
    n, at = numbers.shape
    X = np.zeros((n, at + sum(each.width for each in categories)))
    X[:, :at] = numbers
    for each in categories:
        rows = np.flatnonzero(each.numbers >= 0)
        X[rows, at + each.numbers[rows]] = 1.0
        at += each.width
    return X


def compressed(numbers: FloatArray, categories: list[Codes]) -> Matrix:
    """Return the same as CSR, some rows at a time: what is worked with then stays in the cache."""
    n, count = numbers.shape
    size = np.count_nonzero(numbers) + sum(np.count_nonzero(c.numbers >= 0) for c in categories)
    kind = np.int32 if size <= np.iinfo(np.int32).max else np.int64
    indices, data = np.empty(size, dtype=kind), np.empty(size)
    ends = np.zeros(n + 1, dtype=kind)
    first = count + np.cumsum([0, *(each.width for each in categories)])
    filled = 0
    for start in range(0, n, ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        codes = [each.numbers[rows] for each in categories]
        columns, values, there = _places(numbers[rows], codes, first)
        sizes = np.cumsum(there.sum(axis=1))
        span = slice(filled, filled + int(sizes[-1]))
        indices[span], data[span] = columns[there], values[there]
        ends[1:][rows] = filled + sizes
        filled = span.stop
    return sparse.csr_matrix((data, indices, ends), shape=(n, int(first[-1])))


def _places(
    numbers: FloatArray, categories: list[IntArray], first: IntArray
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return a place for each number and each category of a row: its column, its value, and if
    any."""
    n, count = numbers.shape
    columns = np.empty((n, count + len(categories)), dtype=np.int32)
    values, there = np.ones(columns.shape), np.empty(columns.shape, dtype=np.bool_)
    columns[:, :count], values[:, :count] = np.arange(count), numbers
    there[:, :count] = numbers != 0
    for place, codes in enumerate(categories):
        columns[:, count + place] = first[place] + codes
        there[:, count + place] = codes >= 0
    return columns, values, there
