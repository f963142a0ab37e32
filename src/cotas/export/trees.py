"""Boosted functions as ONNX operations.

The trees of cotas are complete: all have one depth, and the children of node v are 2v + 1 and
2v + 2. So all rows walk down all trees at once, one level at a time, with table look-ups. Unlike
the tree operators of ONNX this compares in double precision, and knows missing values and groups
of categories as they were learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.boosting.ensemble import Ensemble
from cotas.export.graph import Graph
from cotas.solvers.trees import Categories, Trees


def combined(ensemble: Ensemble, graph: Graph, X: str) -> str:
    """F = Σ cₘ fₘ for each row, as a column."""
    functions, c = ensemble.functions, ensemble.coefficients[:, None]
    if not len(ensemble):
        return graph.repeated(np.zeros((1, 1)), X)
    if isinstance(functions, Trees) and ensemble.categories is not None:
        values = _values(functions, ensemble.categories, graph, X)
        return graph.op("MatMul", values, graph.constant(c))
    if not all(hasattr(function, "coef") for function in functions):
        raise ValueError(
            "The weak learners are estimators of another library, which ONNX cannot hold as they "
            "are. Take 'stump', 'tree' or 'linear'."
        )
    W = np.array([function.coef for function in functions]).T
    values = graph.affine(X, W, np.array([function.intercept for function in functions]))
    values = graph.signs(values) if functions[0].sign else values
    return graph.op("MatMul", values, graph.constant(c))


def _values(trees: Trees, categories: Categories, graph: Graph, X: str) -> str:
    """The value of each tree for each row."""
    n_trees, n_nodes = trees.feature.shape
    walk = _TreeWalk(trees, categories, graph, X)
    v = graph.repeated(np.zeros((1, n_trees), dtype=np.int64), X)
    for _ in range((n_nodes + 1).bit_length() - 1):
        twice = graph.op("Mul", v, graph.whole(2))
        v = graph.op("Add", graph.op("Add", twice, graph.whole(1)), walk.right(v))
    # The leaves come after the nodes, and the table of each tree after that of the one before.
    first = np.arange(n_trees)[None, :] * (n_nodes + 1) - n_nodes
    place = graph.op("Add", v, graph.constant(first))
    return graph.op("Gather", graph.constant(trees.value.ravel()), place)


class _TreeWalk:
    """The tables that tell where a row goes at a node."""

    def __init__(self, trees: Trees, categories: Categories, graph: Graph, X: str) -> None:
        self.trees, self.categories, self.graph, self.X = trees, categories, graph, X
        n_trees, n_nodes = trees.feature.shape
        self.first = graph.constant(np.arange(n_trees)[None, :] * n_nodes)
        self.by_groups = bool((trees.group >= 0).any())
        # A node without a test sends all rows left: no number is above infinity, and what is
        # missing goes left.
        untested = trees.feature < 0
        self.feature = self._table(np.maximum(trees.feature, 0).astype(np.int64))
        self.threshold = self._table(np.where(untested, np.inf, trees.threshold))
        self.missing_right = self._table((trees.missing_left == 0) & ~untested)
        if self.by_groups:
            self.group = self._table(np.maximum(trees.group, 0).astype(np.int64))
            self.grouped = self._table(trees.group >= 0)
            self.code_place = self._table(self._places())
            self.sent_left = graph.constant(trees.groups.ravel() != 0)
            self.codes = self._codes()

    def right(self, v: str) -> str:
        """1 where a row goes to the right at its node of each tree, else 0."""
        graph = self.graph
        at = graph.op("Add", v, self.first)
        x = graph.op("GatherElements", self.X, graph.op("Gather", self.feature, at), axis=1)
        above = graph.op("Greater", x, graph.op("Gather", self.threshold, at))
        missing = graph.op("And", graph.op("IsNaN", x), graph.op("Gather", self.missing_right, at))
        goes = graph.op("Or", above, missing)
        if self.by_groups:
            place = graph.op("Gather", self.code_place, at)
            code = graph.op("GatherElements", self.codes, place, axis=1)
            row = graph.op("Mul", graph.op("Gather", self.group, at), graph.whole(self._width))
            left = graph.op("Gather", self.sent_left, graph.op("Add", row, code))
            grouped = graph.op("Gather", self.grouped, at)
            by_group = graph.op("And", grouped, graph.op("Not", left))
            by_number = graph.op("And", graph.op("Not", grouped), goes)
            goes = graph.op("Or", by_group, by_number)
        return graph.cast(goes, np.int64)

    @property
    def _width(self) -> int:
        return int(self.trees.groups.shape[1])

    def _table(self, values: Any) -> str:
        return self.graph.constant(values.ravel())

    def _places(self) -> Any:
        """For each node the categorical feature that it tests, counted among those."""
        place = self.categories.place[np.maximum(self.trees.feature, 0)]
        return np.maximum(place, 0).astype(np.int64)

    def _codes(self) -> str:
        """For each row and each categorical feature the number of its category."""
        graph, known = self.graph, self.categories
        columns = []
        for k, size in enumerate(known.sizes.tolist()):
            x = graph.columns(self.X, [int(np.flatnonzero(known.place == k)[0])])
            same = graph.op("Equal", x, graph.constant(known.values[k : k + 1, :size]))
            # One more column for what was never seen, or is missing: it is true for all rows, and
            # the first that is true counts.
            always = graph.repeated(np.ones((1, 1), dtype=np.bool_), self.X)
            flags = graph.cast(graph.op("Concat", same, always, axis=1), np.int32)
            columns.append(graph.op("ArgMax", flags, axis=1, keepdims=1))
        return graph.op("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
