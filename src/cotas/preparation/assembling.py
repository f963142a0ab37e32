"""The matrix of a prepared table, dense or CSR, filled column by column without copies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import BoolArray, FloatArray, IntArray, Matrix

# Rows whose places fit into the cache of a core.
ROWS_AT_A_TIME = 4096


class Codes(NamedTuple):
    """A category: for each row which of `width` columns holds its one, or −1 for none."""

    numbers: IntArray
    width: int


def dense(numbers: FloatArray, categories: list[Codes]) -> FloatArray:
    """The numbers, and beside them a block of zeros and ones for each category."""
    n, at = numbers.shape
    X = np.zeros((n, at + sum(each.width for each in categories)))
    X[:, :at] = numbers
    for each in categories:
        rows = np.flatnonzero(each.numbers >= 0)
        X[rows, at + each.numbers[rows]] = 1.0
        at += each.width
    return X


def compressed(numbers: FloatArray, categories: list[Codes]) -> Matrix:
    """The same as CSR, some rows at a time: what is worked with then stays in the cache."""
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
    """A place for each number and each category of a row: its column, its value, and if any."""
    n, count = numbers.shape
    columns = np.empty((n, count + len(categories)), dtype=np.int32)
    values, there = np.ones(columns.shape), np.empty(columns.shape, dtype=np.bool_)
    columns[:, :count], values[:, :count] = np.arange(count), numbers
    there[:, :count] = numbers != 0
    for place, codes in enumerate(categories):
        columns[:, count + place] = first[place] + codes
        there[:, count + place] = codes >= 0
    return columns, values, there
