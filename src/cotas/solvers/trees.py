"""Small decision trees as arrays, and their values on rows of numbers.

Every tree of a forest has the same depth D. Its nodes are numbered level by level, the children of
node v are 2v + 1 and 2v + 2, and the last level are the 2^D leaves. A row goes left if its value is
at most the threshold. A node without a test (feature −1) sends every row left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.design.blocks import row_spans
from cotas.loops import generic, loop
from cotas.solvers.binning import MOST_BINS, Scale

ROWS_AT_A_TIME = 256  # stay in the cache while all the trees look at them


class Trees(NamedTuple):
    """Trees of one depth; the first index of all arrays but `groups` is the tree."""

    feature: IntArray
    threshold: FloatArray
    missing_left: AnyArray
    group: IntArray  # which row of `groups` a test of categories uses; −1 for a threshold
    groups: AnyArray  # for each code of a category whether it goes left
    value: FloatArray
    gain: FloatArray  # how much the test of each node added to the score of the tree

    def prefix(self, k: int) -> Trees:
        """Return the first k trees."""
        return Trees(*(a if name == "groups" else a[:k] for name, a in self._asdict().items()))

    def after(self, k: int) -> Trees:
        """Return all but the first k trees."""
        return Trees(*(a if name == "groups" else a[k:] for name, a in self._asdict().items()))


def tree_without_tests(depth: int) -> Trees:
    """Return one tree of this depth, which sends every row to its first leaf."""
    n_nodes = 2**depth - 1
    return Trees(
        feature=np.full((1, n_nodes), -1, dtype=np.int32),
        threshold=np.full((1, n_nodes), np.inf),
        missing_left=np.ones((1, n_nodes), dtype=np.uint8),
        group=np.full((1, n_nodes), -1, dtype=np.int32),
        groups=np.zeros((0, MOST_BINS), dtype=np.uint8),
        value=np.zeros((1, n_nodes + 1)),
        gain=np.zeros((1, n_nodes)),
    )


class Categories(NamedTuple):
    """The categories of each feature, sorted and padded; −1 of them for a numeric feature."""

    values: FloatArray
    sizes: IntArray
    place: IntArray


def join_trees(parts: Sequence[Trees]) -> Trees:
    """Return all the trees of the parts, in order."""
    shift, moved = 0, []
    for part in parts:
        moved.append(np.where(part.group >= 0, part.group + shift, -1).astype(np.int32))
        shift += len(part.groups)
    fields = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Trees._fields
        if name != "group"
    }
    return Trees(group=np.concatenate(moved), **fields)


def list_categories(scale: Scale) -> Categories:
    """Return what evaluation needs to know of the categorical features."""
    chosen = np.flatnonzero(scale.categorical)
    values = np.full((len(chosen), MOST_BINS), np.inf)
    sizes = np.zeros(len(chosen), dtype=np.int32)
    place = np.full(len(scale.edges), -1, dtype=np.int32)
    for k, j in enumerate(chosen):
        sizes[k], place[j] = len(scale.edges[j]), k
        values[k, : sizes[k]] = scale.edges[j]
    return Categories(values, sizes, place)


@loop
def category_code(x: float, categories: Categories, j: int) -> int:
    """Find the place of x among the categories of feature j; the last one if it is not among
    them."""
    k = categories.place[j]
    n = categories.sizes[k]
    if np.isnan(x):
        return n  # type: ignore[no-any-return]
    code = np.searchsorted(categories.values[k, :n], x)
    return code if code < n and categories.values[k, code] == x else n  # type: ignore


@loop
def find_leaves_by_thresholds(
    X: Any, feature: IntArray, threshold: FloatArray, missing_left: AnyArray, leaves: IntArray
) -> None:
    """Find the leaf that each row comes to in a tree that compares with thresholds only."""
    n_nodes = len(feature)
    for i in range(len(leaves)):
        v = 0
        while v < n_nodes:
            j, right = feature[v], 0
            if j >= 0:
                x = np.float64(X[i, j])
                if not x <= threshold[v]:
                    right = 1 - missing_left[v] if np.isnan(x) else 1
            v = 2 * v + 1 + right
        leaves[i] = v - n_nodes


@loop
def find_leaves(X: Any, trees: Trees, t: int, categories: Categories, leaves: IntArray) -> None:
    """Find the leaf of tree t that each row of X comes to."""
    feature, group = trees.feature[t], trees.group[t]
    threshold, missing_left = trees.threshold[t], trees.missing_left[t]
    n_nodes, by_category = len(feature), False
    for v in range(n_nodes):
        by_category |= group[v] >= 0
    if not by_category:
        # Without the tuples of arrays, which cost more to hand on than a test takes.
        find_leaves_by_thresholds(X, feature, threshold, missing_left, leaves)
        return
    for i in range(len(leaves)):
        v = 0
        while v < n_nodes:
            j, right = feature[v], 0
            if j >= 0:
                x = np.float64(X[i, j])
                if group[v] >= 0:
                    right = 1 - trees.groups[group[v], category_code(x, categories, j)]
                elif not x <= threshold[v]:
                    right = 1 - missing_left[v] if np.isnan(x) else 1
            v = 2 * v + 1 + right
        leaves[i] = v - n_nodes


@generic
def find_rows(categories: Any, X: Any, trees: Trees, t: int, leaves: IntArray) -> None:
    """Find the leaf of tree t that each row comes to; None are the categories of trees without any.

    So that code for categories is compiled where there are some.
    """


@find_rows.when(Categories)
def find_among_categories(
    categories: Categories, X: Any, trees: Trees, t: int, leaves: IntArray
) -> None:
    find_leaves(X, trees, t, categories, leaves)


@find_rows.when(type(None))
def find_among_numbers(categories: None, X: Any, trees: Trees, t: int, leaves: IntArray) -> None:
    find_leaves_by_thresholds(
        X, trees.feature[t], trees.threshold[t], trees.missing_left[t], leaves
    )


@loop
def add_trees(
    X: Any, trees: Trees, coefficients: FloatArray, categories: Any, out: FloatArray
) -> None:
    """Update outᵢ ← outᵢ + Σ coefficient · tree(xᵢ)"""
    leaves = np.empty(ROWS_AT_A_TIME, dtype=np.int64)
    for start in range(0, len(X), ROWS_AT_A_TIME):
        rows = X[start : start + ROWS_AT_A_TIME]
        for t in range(len(trees.feature)):
            value, coefficient = trees.value[t], coefficients[t]
            find_rows(categories, rows, trees, t, leaves[: len(rows)])
            for i in range(len(rows)):
                out[start + i] += coefficient * value[leaves[i]]


@loop
def add_votes(X: Any, trees: Trees, votes: FloatArray, categories: Any, out: FloatArray) -> None:
    """Update out[i, k] ← out[i, k] + Σ votes of the trees whose value on xᵢ is k"""
    leaves = np.empty(ROWS_AT_A_TIME, dtype=np.int64)
    for start in range(0, len(X), ROWS_AT_A_TIME):
        rows = X[start : start + ROWS_AT_A_TIME]
        for t in range(len(trees.feature)):
            value, vote = trees.value[t], votes[t]
            find_rows(categories, rows, trees, t, leaves[: len(rows)])
            for i in range(len(rows)):
                out[start + i, int(value[leaves[i]])] += vote


def tested_categories(trees: Trees, categories: Categories) -> Categories | None:
    """Return the categories, if some tree asks for them."""
    return categories if len(trees.groups) else None


def evaluate_trees(
    X: Matrix, trees: Trees, coefficients: FloatArray, categories: Categories
) -> FloatArray:
    """Compute Σ coefficient · tree(x) for each row of X, dense or sparse."""
    out = np.zeros(X.shape[0])
    for span, rows in dense_parts(X):
        add_trees(rows, trees, coefficients, tested_categories(trees, categories), out[span])
    return out


def count_votes(
    X: Matrix, trees: Trees, votes: FloatArray, categories: Categories, n_classes: int
) -> FloatArray:
    """Count for each row of X and each class the votes of the trees that name it."""
    out = np.zeros((X.shape[0], n_classes))
    for span, rows in dense_parts(X):
        add_votes(rows, trees, votes, tested_categories(trees, categories), out[span])
    return out


def dense_parts(X: Matrix) -> Iterator[tuple[slice, AnyArray]]:
    """Compute X itself, or some rows of a sparse X at a time made dense."""
    if not sparse.issparse(X):
        yield slice(None), X
        return
    for span in row_spans(X, X.shape[1]):
        yield span, X[span].toarray()


def importances(trees: Trees, coefficients: FloatArray, n_features: int) -> FloatArray:
    """Compute for each feature its share in the gain of the trees, each tree weighing
    |coefficient|."""
    total = np.zeros(n_features)
    for feature, gain, c in zip(trees.feature, trees.gain, coefficients, strict=True):
        if gain.sum() > 0:
            tested = feature >= 0
            share = np.bincount(feature[tested], gain[tested], n_features)
            total += abs(c) * share / gain.sum()
    return total / total.sum() if total.sum() > 0 else total
