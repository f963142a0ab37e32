"""Boosted functions as ONNX operations.

The trees of cotas are complete: all have one depth, and the children of node v are 2v + 1 and
2v + 2. So all rows walk down all trees at once, one level at a time, with table look-ups. Unlike
the tree operators of ONNX this compares in double precision, and knows missing values and groups
of categories as they were learned.
"""

from __future__ import annotations

import numpy as np

from cotas.boosting.ensemble import Ensemble
from cotas.export.graph import Value
from cotas.refusals import ParameterError
from cotas.solvers.trees import Categories, Trees


def combined(ensemble: Ensemble, X: Value) -> Value:
    """Compute F = Σ cₘ fₘ for each row, as a column."""
    functions, c = ensemble.functions, ensemble.coefficients[:, None]
    if not len(ensemble):
        return X.repeated(np.zeros((1, 1)))
    if isinstance(functions, Trees) and ensemble.categories is not None:
        return _values(functions, ensemble.categories, X) @ c
    if not all(hasattr(function, "coef") for function in functions):
        raise ParameterError(
            "model",
            "The weak learners are estimators of another library, which ONNX cannot hold as they "
            "are. Take 'stump', 'tree' or 'linear'.",
        )
    W = np.array([function.coef for function in functions]).T
    values = X @ W + np.array([function.intercept for function in functions])
    return ((values > 0.0).where(1.0, -1.0) if functions[0].sign else values) @ c


def _values(trees: Trees, categories: Categories, X: Value) -> Value:
    """Return the value of each tree for each row."""
    n_trees, n_nodes = trees.feature.shape
    walk = _TreeWalk(trees, categories, X)
    v = X.repeated(np.zeros((1, n_trees), dtype=np.int64))
    for _ in range((n_nodes + 1).bit_length() - 1):
        v = v * 2 + 1 + walk.right(v)
    # The leaves come after the nodes, and the table of each tree after that of the one before.
    first = np.arange(n_trees)[None, :] * (n_nodes + 1) - n_nodes
    return X.graph.op("Gather", trees.value.ravel(), v + first)


class _TreeWalk:
    """The tables that tell where a row goes at a node."""

    def __init__(self, trees: Trees, categories: Categories, X: Value) -> None:
        self.X, table = X, X.graph.constant
        n_trees, n_nodes = trees.feature.shape
        self.first = table(np.arange(n_trees)[None, :] * n_nodes)
        self.by_groups = bool((trees.group >= 0).any())
        # A node without a test sends all rows left: no number is above infinity, and what is
        # missing goes left.
        untested = trees.feature < 0
        tested = np.maximum(trees.feature, 0)
        self.feature = table(tested.ravel())
        self.threshold = table(np.where(untested, np.inf, trees.threshold).ravel())
        self.missing_right = table(((trees.missing_left == 0) & ~untested).ravel())
        if self.by_groups:
            width = trees.groups.shape[1]
            self.row = table(np.maximum(trees.group, 0).ravel() * width)
            self.grouped = table((trees.group >= 0).ravel())
            # For each node the categorical feature that it tests, counted among those.
            self.place = table(np.maximum(categories.place[tested], 0).ravel())
            self.sent_left = table(trees.groups.ravel() != 0)
            self.codes = _codes(categories, X)

    def right(self, v: Value) -> Value:
        """Compute 1 where a row goes to the right at its node of each tree, else 0."""
        at = v + self.first
        x = self.X.op("GatherElements", self.feature.op("Gather", at), axis=1)
        missing = x.op("IsNaN") & self.missing_right.op("Gather", at)
        goes = (x > self.threshold.op("Gather", at)) | missing
        if self.by_groups:
            code = self.codes.op("GatherElements", self.place.op("Gather", at), axis=1)
            left = self.sent_left.op("Gather", self.row.op("Gather", at) + code)
            grouped = self.grouped.op("Gather", at)
            goes = (grouped & left.op("Not")) | (grouped.op("Not") & goes)
        return goes.cast(np.int64)


def _codes(known: Categories, X: Value) -> Value:
    """Find for each row and categorical feature the number of its category."""
    columns = []
    for k, size in enumerate(known.sizes.tolist()):
        x = X.columns([int(np.flatnonzero(known.place == k)[0])])
        same = x.op("Equal", known.values[k : k + 1, :size])
        # One more column for what was never seen, or is missing: it is true for all rows, and
        # the first that is true counts.
        always = X.repeated(np.ones((1, 1), dtype=np.bool_))
        flags = same.op("Concat", always, axis=1).cast(np.int32)
        columns.append(flags.op("ArgMax", axis=1, keepdims=1))
    return X.graph.op("Concat", *columns, axis=1)
