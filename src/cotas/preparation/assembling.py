"""The matrix of a prepared table, dense or CSR, filled column by column without copies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, IntArray, Matrix


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
    """The same as CSR: each row has a place for each number and each category."""
    n, at = numbers.shape
    places = at + len(categories)
    indices = np.empty((n, places), dtype=np.int32)
    data = np.ones((n, places))
    there = np.empty((n, places), dtype=np.bool_)
    indices[:, :at], data[:, :at], there[:, :at] = np.arange(at), numbers, numbers != 0
    width = at
    for place, each in enumerate(categories, at):
        indices[:, place] = width + each.numbers
        there[:, place] = each.numbers >= 0
        width += each.width
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    if not there.all():
        indices, data = indices[there], data[there]
    return sparse.csr_matrix((data.ravel(), indices.ravel(), ends), shape=(n, width))
