"""Weak learners evaluated in plain NumPy, from their arrays alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import TINY, above, gamma, total_up, up
from cotas.words import say

PLACED_AT_A_TIME = 1 << 13


def numbers(given: Any, what: str, ndim: int = 1) -> FloatArray:
    """The given array as finite doubles that lose nothing of it."""
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or array.ndim != ndim:
        text = "{what}: not an array of real numbers with {ndim} dimensions."
        raise Objection(text, what=say(what), ndim=ndim)
    plain = array.astype(np.float64)
    if not (np.isfinite(plain).all() and (plain.astype(array.dtype) == array).all()):
        raise Objection("{what}: not finite numbers in double precision.", what=say(what))
    return plain


class Value(NamedTuple):
    """A function on some rows: its values, how far each may be off, and bounds of |f|."""

    f: FloatArray
    off: FloatArray | float
    least: float
    size: float


class Learners:
    """Functions f₁, f₂, … that can be evaluated on rows of X, dense or CSR."""

    def __len__(self) -> int:
        raise NotImplementedError

    def enclosed(self, rows: Matrix) -> Iterator[Value]:
        """f₁, f₂, … on these rows, one after the other, with what rounding may have done."""
        raise NotImplementedError

    def values(self, rows: Matrix) -> Iterator[FloatArray]:
        """The values alone."""
        return (value.f for value in self.enclosed(rows))

    def trusted(self) -> tuple[str, ...]:
        """What is believed of these functions without a look."""
        return ()

    def same_as(self, other: Any) -> bool:
        """Whether the other functions have the same parameters."""
        mine, others = vars(self), vars(other)
        return type(self) is type(other) and all(_same(a, others[k]) for k, a in mine.items())

    def to_dict(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in vars(self).items()}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(np.array_equal(c, b[j]) for j, c in a.items())
    return np.array_equal(a, b)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {int(j): _plain(c) for j, c in value.items()}
    return [repr(f) for f in value] if isinstance(value, tuple) else np.asarray(value).tolist()


@dataclass(frozen=True, eq=False)
class PlainTrees(Learners):
    """Complete binary trees of one depth; the children of node v are 2v + 1 and 2v + 2.

    A row goes left at a node if its value is at most the threshold; if it is missing, where
    `missing_left` says; if the node has a group of categories, when its category is in the group.
    A node with feature −1 sends all rows left. `categories[j]` are those of feature j.
    No value is computed, only chosen, so rounding plays no part.
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

    def enclosed(self, rows: Matrix) -> Iterator[Value]:
        leaves = numbers(self.value, "the leaves of the trees", 2)
        sizes = np.abs(leaves)
        if (sizes == 1.0).all():
            for positive in self._chosen(rows, leaves > 0):
                f = positive.astype(np.float64)  # a third of the time of np.where
                f *= 2.0
                f -= 1.0
                yield Value(f, 0.0, 1.0, 1.0)
            return
        bounds = zip(sizes.min(axis=1).tolist(), sizes.max(axis=1).tolist(), strict=True)
        for f, (least, size) in zip(self._chosen(rows, leaves), bounds, strict=True):
            yield Value(f, 0.0, least, size)

    def leaves(self, rows: Matrix) -> Iterator[IntArray]:
        """In which leaf of each tree the rows end."""
        places = np.tile(np.arange(self.value.shape[1]), (len(self), 1))
        return self._chosen(rows, places)

    def same_tests(self, other: Any) -> bool:
        """Whether the other trees send each row to the same leaves."""
        return isinstance(other, PlainTrees) and self.same_as(replace(other, value=self.value))

    def _chosen(self, rows: Matrix, leaves: Any) -> Iterator[Any]:
        self._refuse_unsound(rows.shape[1], leaves)
        source = rows.tocsc() if sparse.issparse(rows) else rows
        columns = {int(j): _columns(source, [j])[0] for j in np.unique(self.feature) if j >= 0}
        for t in range(len(self)):
            f = self._descend(columns, t, 0, leaves[t])
            yield f if isinstance(f, np.ndarray) else np.full(rows.shape[0], f)

    def _refuse_unsound(self, d: int, leaves: AnyArray) -> None:
        trees, nodes = np.shape(self.feature)
        whole = nodes & (nodes + 1) == 0 and np.shape(leaves) == (trees, nodes + 1)
        tests = (self.threshold, self.missing_left, self.group)
        kinds = tuple(np.asarray(a).dtype.kind for a in (self.feature, self.group, self.threshold))
        if not whole or any(np.shape(a) != (trees, nodes) for a in tests) or kinds != (*"iif",):
            raise Objection("The arrays of the trees do not fit together.")
        if self.feature.max(initial=-1) >= d:
            raise ValueError(f"X has {d} features, and the trees test more.")

    def _descend(self, columns: dict[int, FloatArray], t: int, v: int, leaves: AnyArray) -> Any:
        """What the leaves below node v hold: one of them, or one for each row."""
        n_nodes = self.feature.shape[1]
        while v < n_nodes and self.feature[t, v] < 0:
            v = 2 * v + 1
        if v >= n_nodes:
            return leaves[v - n_nodes]
        left = self._descend(columns, t, 2 * v + 1, leaves)
        right = self._descend(columns, t, 2 * v + 2, leaves)
        goes = self._goes_left(columns, t, v)
        if leaves.dtype == np.bool_:  # a byte each: a quarter of the time of np.where
            return (goes & left) | (~goes & right)
        return np.where(goes, left, right)

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


@dataclass(frozen=True, eq=False)
class PlainLinear(Learners):
    """θ·x + θ₀ for each row of `coef`, or its sign, which is −1 at zero."""

    coef: FloatArray
    intercept: FloatArray
    sign: bool

    def __len__(self) -> int:
        return len(self.coef)

    def enclosed(self, rows: Matrix) -> Iterator[Value]:
        theta = numbers(self.coef, "the coefficients of the learners", 2)
        bias = numbers(self.intercept, "the intercepts of the learners")
        d, widest = rows.shape[1], abs(rows).max(axis=1)
        widest = widest.toarray().ravel() if sparse.issparse(widest) else widest
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(rows @ theta.T).T + bias[:, None]
            # Σ|θⱼxⱼ| + |θ₀| is no more than this; d products, their sum, and its own rounding.
            mass = np.abs(theta).sum(axis=1)[:, None] * widest + np.abs(bias)[:, None]
            off = mass * above(gamma(d + 2), 2 * d + 4) + TINY
        for f, error in zip(values, off, strict=True):
            if self.sign:
                # Where the sign cannot be told, ±1 may be off by 2.
                told = np.abs(f) > error
                yield Value(np.where(f > 0, 1.0, -1.0), np.where(told, 0.0, 2.0), 1.0, 1.0)
            else:
                yield Value(f, error, 0.0, above(float((np.abs(f) + error).max(initial=0.0))))


@dataclass(frozen=True, eq=False)
class Predictors(Learners):
    """Fitted estimators of other libraries: the function *is* what they predict."""

    functions: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.functions)

    def enclosed(self, rows: Matrix) -> Iterator[Value]:
        for function in self.functions:
            f = np.asarray(function(rows), dtype=np.float64)
            sizes = np.abs(f)
            yield Value(f, 0.0, float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0)))

    def trusted(self) -> tuple[str, ...]:
        learners = {type(getattr(f, "estimator", f)).__name__ for f in self.functions}
        text = "what each {name} predicts, by its own code"
        return tuple(say(text, name=name) for name in sorted(learners))

    def same_as(self, other: Any) -> bool:
        mine, others = self.functions, getattr(other, "functions", ())
        return len(mine) == len(others) and all(a is b for a, b in zip(mine, others, strict=True))


@dataclass(frozen=True)
class StumpClass:
    """All functions of ±1 with one test: for each feature the thresholds it may use.

    Missing values may go to either side, also against all others, categories may be grouped in any
    way, and the constants belong to the class, which is therefore closed under negation.
    `thresholds=None` allows all.
    """

    thresholds: tuple[FloatArray, ...] | None
    categorical: BoolArray

    def described(self) -> str:
        """The class in words."""
        words = self.in_words()
        return say("the stumps with {tests}" if words else "all stumps", tests=words)

    def in_words(self) -> str:
        """The tests in words; nothing where all are allowed."""
        if self.thresholds is None:
            return ""
        plain = np.flatnonzero(~self.categorical)
        cuts, grouped = (
            sum(len(self.thresholds[j]) for j in plain),
            len(self.categorical) - len(plain),
        )
        text = "one of the fit's {cuts} thresholds"
        if grouped:
            text = (
                "one of the fit's {cuts} thresholds or any group of the categories of {grouped} "
                "features"
            )
        return say(text, cuts=cuts, grouped=grouped)

    def contains(self, learners: Learners) -> bool:
        """Whether all the functions are known to belong to the class."""
        if len(learners) == 0:
            return True
        if not isinstance(learners, PlainTrees) or learners.feature.shape[1] != 1:
            return False
        return bool((np.abs(learners.value) == 1.0).all()) and self.allows_all(learners)

    def allows_all(self, trees: PlainTrees) -> bool:
        """Whether every test of the trees is one of these."""
        tests = (a.ravel().tolist() for a in (trees.feature, trees.threshold, trees.group))
        return all(j < 0 or self._allows(j, t, group) for j, t, group in zip(*tests, strict=True))

    def with_those_of(self, learners: Learners) -> StumpClass:
        """The class with the thresholds of these trees, which rounds on other data may have."""
        if self.thresholds is None or not isinstance(learners, PlainTrees):
            return self
        plain = (learners.group < 0) & np.isfinite(learners.threshold) & (learners.feature >= 0)
        cuts = list(self.thresholds)
        for j in np.unique(learners.feature[plain]).tolist():
            cuts[j] = np.union1d(cuts[j], learners.threshold[plain & (learners.feature == j)])
        return replace(self, thresholds=tuple(cuts))

    def _allows(self, j: int, threshold: float, group: int) -> bool:
        if j >= len(self.categorical):
            return False
        if self.categorical[j]:
            return True
        # Infinity tells the missing values from all others.
        known = self.thresholds is None or threshold == np.inf or threshold in self.thresholds[j]
        return group < 0 and known

    def cells(self, X: Matrix, used: IntArray) -> tuple[IntArray, IntArray]:
        """Those of the used rows that no test tells from all others, and the cell of each.

        Two rows are in one cell if every feature has them in the same bin, or category.
        """
        rows, cells = used, np.zeros(len(used), dtype=np.int64)
        source, parts = self._in_parts(X)
        for features in parts:
            codes, missing = self._codes(_columns(source, features)[:, rows], features)
            _, first, cells = np.unique(cells, return_index=True, return_inverse=True)
            for j in np.flatnonzero((codes != codes[:, first[cells]]).any(axis=1)):
                pairs = cells * (missing + 1) + codes[j]
                _, cells, counts = np.unique(pairs, return_inverse=True, return_counts=True)
                together = counts[cells] > 1
                rows, cells, codes = rows[together], cells[together], codes[:, together]
        return rows, np.unique(cells, return_inverse=True)[1]

    def _in_parts(self, X: Matrix) -> tuple[Matrix, list[IntArray]]:
        """X for reading columns, and its features, as many at a time as have numbers enough."""
        source = X.tocsc() if sparse.issparse(X) else np.asarray(X)
        n, d = source.shape
        self._refuse_unsound(d)
        width = max(1, PLACED_AT_A_TIME // max(1, n))
        return source, [np.arange(j, min(j + width, d)) for j in range(0, d, width)]

    def _codes(self, x: FloatArray, features: IntArray) -> tuple[IntArray, int]:
        """A number for each bin or category, and a larger one, told apart, for what is missing."""
        if self.thresholds is None:
            codes = ranks(x)
        else:
            codes, named = places(self._cuts(features), x), self.categorical[features]
            codes[named] = ranks(x[named])
        missing = int(codes.max(initial=0)) + 1
        return np.where(np.isnan(x), missing, codes), missing

    def _cuts(self, features: IntArray) -> list[FloatArray]:
        return [np.asarray((self.thresholds or ())[j], dtype=np.float64) for j in features]

    def largest_edge(self, X: Matrix, g: FloatArray, each: Any = map) -> float:
        """max over the class of Σ gᵢ f(xᵢ), rounded up; `each` may look at features in threads."""
        source, parts = self._in_parts(X)

        def edge(features: IntArray) -> float:
            codes, missing = self._codes(_columns(source, features), features)
            sums = sums_by_code(codes, np.broadcast_to(g, codes.shape), missing + 1)
            return float(self._edges_of_sums(sums, features).max())

        edges = each(edge, parts)
        return _edge_up(max(abs(g.sum()), *edges), len(g), total_up(np.abs(g)))

    def bin_sums(self, X: Matrix, g: FloatArray) -> FloatArray:
        """Σ gᵢ over each bin of each feature in turn, as sums that those of other rows add to.

        A category that is not among those known counts with Σ|gᵢ|.
        """
        source, parts = self._in_parts(X)
        return np.concatenate([self._sums(_columns(source, part), part, g) for part in parts])

    def edge_of_sums(self, sums: FloatArray, whole: float, n: int, size: float) -> float:
        """`largest_edge` from the sums over the bins of all n rows, Σ gᵢ and Σ|gᵢ|."""
        ends = np.cumsum([len(cuts) + 2 for cuts in self.thresholds or ()])
        parts = np.split(sums, ends[:-1])
        edges = (float(self._edges_of_sums(p[None], [j])[0]) for j, p in enumerate(parts))
        return _edge_up(max(abs(whole), *edges), n, size)

    def _sums(self, x: FloatArray, features: IntArray, g: FloatArray) -> FloatArray:
        """Σ gᵢ over each bin and over what is missing, of each of these features in turn."""
        absent, cuts = np.isnan(x), self._cuts(features)
        last = np.array([len(c) for c in cuts])[:, None]
        place = places(cuts, x)
        for k in np.flatnonzero(self.categorical[features]):
            place[k, np.append(cuts[k], np.nan)[place[k]] != x[k]] = -1
        h = np.where(place < 0, np.abs(g), g)
        place = np.where(absent, last + 1, np.where(place < 0, last, place))
        sums = sums_by_code(place, np.where(absent, g, h), int(last.max()) + 2)
        return sums[np.arange(sums.shape[1]) < last + 2]

    def _edges_of_sums(self, sums: FloatArray, features: Any) -> FloatArray:
        """The largest edge of each feature from the sums over its bins, the missing values last."""
        left = np.cumsum(sums[:, :-1], axis=1)
        # Both leaves are free to be ±1, and so is the side of the missing values.
        ordered = np.abs(left[:, -1:] - 2 * left).max(axis=1)
        grouped = np.abs(sums[:, :-1]).sum(axis=1)
        edges = np.where(self.categorical[features], grouped, ordered) + np.abs(sums[:, -1])
        return np.asarray(edges)

    def _refuse_unsound(self, d: int) -> None:
        named = np.asarray(self.categorical)
        cuts = self.thresholds
        if named.shape != (d,) or (cuts is not None and len(cuts) != d):
            raise ValueError(f"X has {d} features; the stumps are of {len(named)}.")
        if named.dtype != np.bool_ or not _rise(cuts or ()):
            raise Objection("The thresholds of the stumps are not in increasing order.")


def _rise(parts: Sequence[FloatArray]) -> bool:
    """Whether the numbers of each part increase."""
    what = "the thresholds of the stumps"
    plain = (isinstance(p, np.ndarray) and p.dtype == np.float64 and p.ndim == 1 for p in parts)
    known = [p if fine else numbers(p, what) for p, fine in zip(parts, plain, strict=True)]
    flat = numbers(np.concatenate([np.empty(0), *known]), what)
    begins = np.cumsum([0, *(len(p) for p in known)])[1:-1]
    rises = np.append(np.diff(flat) > 0, True)
    rises[begins[begins > 0] - 1] = True
    return bool(rises.all())


def _edge_up(edge: float, n: int, size: float) -> float:
    """An edge of sums of at most n numbers g, then over at most n bins; three of them make it."""
    return up(above(float(edge)) + above(3 * gamma(2 * n + 8) * size))


def places(cuts: Sequence[FloatArray], x: FloatArray) -> IntArray:
    """#{k: cuts[j][k] < x[j, i]}, as np.searchsorted, in half its time where x is in no order.

    All values of a block, which stays in the cache, take each halving together.

    >>> places([np.array([0.5, 2.5])], np.array([[3.0, 0.5, 1.0]]))
    array([[2, 0, 1]])
    """
    lengths = np.array([len(c) for c in cuts], dtype=np.int64)
    widest = 1 << int(lengths.max(initial=0)).bit_length()
    padded = np.full((len(cuts), widest), np.inf)
    padded[np.arange(widest) < lengths[:, None]] = np.concatenate([np.empty(0), *cuts])
    flat, start = padded.ravel(), widest * np.arange(len(cuts))[:, None] - 1
    found = np.zeros(x.shape, dtype=np.intp)
    for first in range(0, x.shape[1], PLACED_AT_A_TIME):
        block = slice(first, first + PLACED_AT_A_TIME)
        k, values, half = found[:, block], x[:, block], widest // 2
        while half:
            k += half * (flat[k + (start + half)] < values)
            half //= 2
    return found


def ranks(x: FloatArray) -> IntArray:
    """The place of each number among the distinct ones of its row.

    >>> ranks(np.array([[3.0, 0.5, 3.0]]))
    array([[1, 0, 1]])
    """
    order = np.argsort(x, axis=1)
    ordered = np.take_along_axis(x, order, axis=1)
    new = np.zeros(x.shape, dtype=np.intp)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    found = np.empty_like(new)
    np.put_along_axis(found, order, np.cumsum(new, axis=1), axis=1)
    return found


def sums_by_code(codes: IntArray, g: FloatArray, n_codes: int) -> FloatArray:
    """Σ g over the entries of each row with each code, in the order of the entries."""
    flat = codes + n_codes * np.arange(len(codes))[:, None]
    sums = np.bincount(flat.ravel(), g.ravel(), len(codes) * n_codes)
    return np.asarray(sums, dtype=np.float64).reshape(-1, n_codes)


def _columns(X: Matrix, features: Sequence[int] | IntArray) -> FloatArray:
    """Neighbouring columns of X, as rows."""
    block = X[:, features[0] : features[-1] + 1]
    block = block.toarray() if sparse.issparse(block) else block
    return np.ascontiguousarray(block.T, dtype=np.float64)
