"""Weak learners evaluated in plain NumPy, from their arrays alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix

PLACED_AT_A_TIME = 1 << 13


class Learners(Protocol):
    """Functions f₁, f₂, … that can be evaluated on rows of X."""

    def __len__(self) -> int: ...

    def values(self, rows: Matrix) -> Iterator[FloatArray]:
        """f₁, f₂, … on these rows, dense or CSR, one after the other."""
        ...

    def signs(self, rows: Matrix) -> Iterator[tuple[BoolArray, tuple[float, float]]]:
        """Where each f is positive on these rows, and its sizes."""
        ...

    def sizes(self, m: int, f: FloatArray) -> tuple[float, float]:
        """Bounds of |fₘ| on all rows, or its extremes on the rows where it has the values f."""
        ...

    def prefix(self, k: int) -> Learners:
        """The first k."""
        ...

    def same_as(self, other: Any) -> bool:
        """Whether the other functions have the same parameters."""
        ...

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, eq=False)
class PlainTrees:
    """Complete binary trees of one depth; the children of node v are 2v + 1 and 2v + 2.

    A row goes left at a node if its value is at most the threshold; if it is missing, where
    `missing_left` says; if the node has a group of categories, when its category is in the group.
    A node with feature −1 sends all rows left. `categories[j]` are those of feature j.
    """

    feature: IntArray
    threshold: FloatArray
    missing_left: AnyArray
    group: IntArray
    groups: AnyArray
    value: FloatArray
    categories: dict[int, FloatArray]

    def __len__(self) -> int:
        return len(self.feature)

    def values(self, rows: Matrix) -> Iterator[FloatArray]:
        columns, n = self._columns(rows), rows.shape[0]
        for t in range(len(self)):
            f = self._descend(columns, t, 0, self.value[t])
            yield f if isinstance(f, np.ndarray) else np.full(n, f)

    def signs(self, rows: Matrix) -> Iterator[tuple[BoolArray, tuple[float, float]]]:
        columns, n = self._columns(rows), rows.shape[0]
        sizes = np.abs(self.value)
        least, most = sizes.min(axis=1).tolist(), sizes.max(axis=1).tolist()
        for t in range(len(self)):
            f = self._descend(columns, t, 0, self.value[t] > 0)
            f = f if isinstance(f, np.ndarray) else np.full(n, f)
            yield f, (least[t], most[t])

    def sizes(self, m: int, f: FloatArray) -> tuple[float, float]:
        leaves = np.abs(self.value[m])
        return float(leaves.min()), float(leaves.max())

    def _columns(self, rows: Matrix) -> dict[int, FloatArray]:
        if self.feature.max(initial=-1) >= rows.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} features, and the trees test more.")
        source = rows.tocsc() if sparse.issparse(rows) else rows
        return {int(j): _column(source, j) for j in np.unique(self.feature) if j >= 0}

    def _descend(self, columns: dict[int, FloatArray], t: int, v: int, leaves: AnyArray) -> Any:
        """What the leaves below node v hold: one of them, or one for each row."""
        n_nodes = self.feature.shape[1]
        while v < n_nodes and self.feature[t, v] < 0:
            v = 2 * v + 1
        if v >= n_nodes:
            return leaves[v - n_nodes]
        left = self._descend(columns, t, 2 * v + 1, leaves)
        right = self._descend(columns, t, 2 * v + 2, leaves)
        choose = _choose if leaves.dtype == np.bool_ else np.where
        return choose(self._goes_left(columns, t, v), left, right)

    def _goes_left(self, columns: dict[int, FloatArray], t: int, v: int) -> BoolArray:
        j = int(self.feature[t, v])
        x = columns[j]
        if self.group[t, v] < 0:
            left = np.asarray(x <= self.threshold[t, v])
            return left | np.isnan(x) if self.missing_left[t, v] else left
        known = self.categories[j]
        place = np.searchsorted(known, x)
        code = np.where(known[np.minimum(place, len(known) - 1)] == x, place, len(known))
        return np.asarray(self.groups[self.group[t, v]][code], dtype=np.bool_)

    def prefix(self, k: int) -> PlainTrees:
        names = ("feature", "threshold", "missing_left", "group", "value")
        return replace(self, **{name: getattr(self, name)[:k] for name in names})

    def same_as(self, other: Any) -> bool:
        return self.same_tests(other) and np.array_equal(self.value, other.value)

    def same_tests(self, other: Any) -> bool:
        """Whether the other trees send each row to the same leaves."""
        names = ("feature", "threshold", "missing_left", "group", "groups")
        return (
            isinstance(other, PlainTrees)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
            and all(
                np.array_equal(self.categories[j], other.categories[j]) for j in self.categories
            )
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "feature": self.feature.tolist(),
            "threshold": self.threshold.tolist(),
            "missing_left": self.missing_left.tolist(),
            "group": self.group.tolist(),
            "groups": self.groups.tolist(),
            "value": self.value.tolist(),
            "categories": {int(j): c.tolist() for j, c in self.categories.items()},
        }


def _choose(condition: BoolArray, left: Any, right: Any) -> BoolArray:
    """np.where for truth values, a byte each: a quarter of its time."""
    if not isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        if left == right:
            return np.full(len(condition), left)
        return condition if left else ~condition
    return np.asarray((condition & left) | (~condition & right))


class MeasuredSizes:
    """Functions whose size is known only where they were evaluated."""

    def values(self, rows: Matrix) -> Iterator[FloatArray]:
        raise NotImplementedError

    def signs(self, rows: Matrix) -> Iterator[tuple[BoolArray, tuple[float, float]]]:
        for m, f in enumerate(self.values(rows)):
            yield f > 0, self.sizes(m, f)

    def sizes(self, m: int, f: FloatArray) -> tuple[float, float]:
        found = np.abs(f)
        return float(found.min(initial=np.inf)), float(found.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class PlainLinear(MeasuredSizes):
    """θ·x + θ₀ for each row of `coef`, or its sign, which is −1 at zero."""

    coef: FloatArray
    intercept: FloatArray
    sign: bool

    def __len__(self) -> int:
        return len(self.coef)

    def values(self, rows: Matrix) -> Iterator[FloatArray]:
        for f in np.asarray(rows @ self.coef.T).T + self.intercept[:, None]:
            yield np.where(f > 0, 1.0, -1.0) if self.sign else f

    def prefix(self, k: int) -> PlainLinear:
        return PlainLinear(self.coef[:k], self.intercept[:k], self.sign)

    def same_as(self, other: Any) -> bool:
        return (
            isinstance(other, PlainLinear)
            and self.sign == other.sign
            and np.array_equal(self.coef, other.coef)
            and np.array_equal(self.intercept, other.intercept)
        )

    def to_dict(self) -> dict[str, Any]:
        return {"coef": self.coef.tolist(), "intercept": self.intercept.tolist()}


@dataclass(frozen=True, eq=False)
class Predictors(MeasuredSizes):
    """Fitted estimators of other libraries: the function *is* what they predict."""

    functions: Sequence[Any]

    def __len__(self) -> int:
        return len(self.functions)

    def values(self, rows: Matrix) -> Iterator[FloatArray]:
        for function in self.functions:
            yield np.asarray(function(rows), dtype=np.float64)

    def prefix(self, k: int) -> Predictors:
        return Predictors(self.functions[:k])

    def same_as(self, other: Any) -> bool:
        return (
            isinstance(other, Predictors)
            and len(self) == len(other)
            and all(a is b for a, b in zip(self.functions, other.functions, strict=True))
        )

    def to_dict(self) -> dict[str, Any]:
        return {"functions": [repr(function) for function in self.functions]}


@dataclass(frozen=True)
class StumpClass:
    """All functions of ±1 with one test: for each feature the thresholds it may use.

    Missing values may go to either side, categories may be grouped in any way, and the constants
    belong to the class, which is therefore closed under negation. `thresholds=None` allows all.
    """

    thresholds: tuple[FloatArray, ...] | None
    categorical: BoolArray

    def largest_edge(self, X: Matrix, g: FloatArray, each: Any = map) -> float:
        """max over the class of Σ gᵢ f(xᵢ), exactly; `each` may look at features in threads."""
        source = X.tocsc() if sparse.issparse(X) else np.asarray(X)
        if source.shape[1] != len(self.categorical):
            raise ValueError(
                f"X has {source.shape[1]} features; the stumps are of {len(self.categorical)}."
            )
        features = range(source.shape[1])
        edges = each(lambda j: self._edge_of_feature(_column(source, j), j, g), features)
        return float(max(abs(g.sum()), *edges))

    def _edge_of_feature(self, column: FloatArray, j: int, g: FloatArray) -> float:
        x, h, missing, absent = column, g, 0.0, np.isnan(column)
        if absent.any():
            x, h, missing = column[~absent], g[~absent], float(g[absent].sum())
        if self.thresholds is None or self.categorical[j]:
            values, codes = np.unique(x, return_inverse=True)
            sums = np.bincount(codes, h, len(values)) if len(values) else np.zeros(1)
        else:
            cuts = self.thresholds[j]
            sums = np.bincount(places(cuts, x), h, len(cuts) + 1)
        if self.categorical[j]:
            return float(np.abs(sums).sum()) + abs(missing)
        left = np.cumsum(sums)
        # Both leaves are free to be ±1, and so is the side of the missing values.
        return float(np.abs(left[-1] - 2 * left).max()) + abs(missing)


def places(cuts: FloatArray, x: FloatArray) -> IntArray:
    """#{k: cuts[k] < xᵢ}, as np.searchsorted, in half its time where x is in no order.

    All values of a block, which stays in the cache, take each halving together.

    >>> places(np.array([0.5, 2.5]), np.array([3.0, 0.5, 1.0]))
    array([2, 0, 1])
    """
    widest = 1 << len(cuts).bit_length()
    padded = np.append(cuts, np.full(widest - len(cuts), np.inf))
    found = np.zeros(len(x), dtype=np.intp)
    for start in range(0, len(x), PLACED_AT_A_TIME):
        block = slice(start, start + PLACED_AT_A_TIME)
        k, values, half = found[block], x[block], widest // 2
        while half:
            k += half * (padded[k + (half - 1)] < values)
            half //= 2
    return found


def _column(X: Matrix, j: int) -> FloatArray:
    column = X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j]
    return np.ascontiguousarray(column, dtype=np.float64)
