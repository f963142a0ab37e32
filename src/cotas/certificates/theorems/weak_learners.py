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
from cotas.certificates.verification import same
from cotas.refusals import ParameterError
from cotas.words import say

# Numbers of columns: more at a time than a megabyte are paid for page by page, each time anew.
PLACED_AT_A_TIME, CELLS_AT_A_TIME, READ_AT_A_TIME = 1 << 14, 1 << 16, 1 << 17
MANY_TESTS = 128  # of one column


def numbers(given: object, what: str, ndim: int = 1) -> FloatArray:
    """Return the given array as finite doubles that lose nothing of it."""
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or array.ndim != ndim:
        text = "{what}: not an array of real numbers with {ndim} dimensions."
        raise Objection(text, what=say(what), ndim=ndim)
    plain = array.astype(np.float64)
    if not (np.isfinite(plain).all() and (plain.astype(array.dtype) == array).all()):
        raise Objection("{what}: not finite numbers in double precision.", what=say(what))
    return plain


class EnclosedFunction(NamedTuple):
    """A function on some rows: its values, how far each may be off, and a bound of |f|."""

    f: FloatArray
    off: FloatArray | float
    size: float


class Learners:
    """Functions f₁, f₂, … that can be evaluated on rows of X, dense or CSR."""

    def __len__(self) -> int:
        raise NotImplementedError

    def enclosed(self, rows: Matrix) -> Iterator[EnclosedFunction]:
        """Evaluate f₁, f₂, … on these rows, one by one, with what rounding may have done."""
        raise NotImplementedError

    def values(self, rows: Matrix) -> Iterator[FloatArray]:
        return (value.f for value in self.enclosed(rows))

    def trusted(self) -> tuple[str, ...]:
        return ()


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

    def enclosed(self, rows: Matrix) -> Iterator[EnclosedFunction]:
        leaves = numbers(self.value, "the leaves of the trees", 2)
        sizes = np.abs(leaves).max(axis=1).tolist()
        for values, place, size in zip(leaves, self.leaves(rows), sizes, strict=True):
            yield EnclosedFunction(values.take(place), 0.0, size)

    def same_tests(self, other: object) -> bool:
        """Tell whether the other trees send each row to the same leaves."""
        return isinstance(other, PlainTrees) and same(self, replace(other, value=self.value))

    def leaves(self, rows: Matrix, names: AnyArray | None = None) -> Iterator[AnyArray]:
        """Find the leaf of each tree in which the rows end: its number, or its name if named."""
        self.refuse_unsound(rows.shape[1])
        trees, nodes = self.feature.shape
        if names is None:
            names = np.tile(np.arange(nodes + 1, dtype=np.min_scalar_type(nodes)), (trees, 1))
        columns = self._columns(rows)
        left = np.empty((nodes, rows.shape[0]), dtype=np.bool_)
        tests = (self.feature, self.threshold, self.missing_left, self.group)
        for called, *tree in zip(names, *(a.tolist() for a in tests), strict=True):
            for goes, j, threshold, missing, group in zip(left, *tree, strict=True):
                if j < 0:
                    goes[:] = True
                elif group < 0:
                    columns[j].at_most(threshold, missing, goes)
                else:
                    goes[:] = columns[j].among(self.groups[group], self.categories[j])
            yield _names_of_leaves(left, called)

    def _columns(self, rows: Matrix) -> dict[int, TestedColumn]:
        """Copy the columns that are tested, all together: a line of memory has several."""
        used = np.unique(self.feature[self.feature >= 0])
        block = (rows.tocsc() if sparse.issparse(rows) else rows)[:, used]
        block = block.toarray() if sparse.issparse(block) else block
        parts = zip(used.tolist(), np.ascontiguousarray(block.T, dtype=np.float64), strict=True)
        plain = self.group < 0
        return {j: TestedColumn(x, self.threshold[plain & (self.feature == j)]) for j, x in parts}

    def refuse_unsound(self, d: int) -> None:
        """Object to arrays that do not fit together; `d` is the number of features."""
        trees, nodes = np.shape(self.feature)
        whole = nodes & (nodes + 1) == 0 and np.shape(self.value) == (trees, nodes + 1)
        tests = (self.threshold, self.missing_left, self.group)
        kinds = tuple(np.asarray(a).dtype.kind for a in (self.feature, self.group, self.threshold))
        if not whole or any(np.shape(a) != (trees, nodes) for a in tests) or kinds != (*"iif",):
            raise Objection("The arrays of the trees do not fit together.")
        if self.feature.max(initial=-1) >= d:
            raise ParameterError("X", f"X has {d} features, and the trees test more.")


def _names_of_leaves(left: BoolArray, names: AnyArray) -> AnyArray:
    """Return the name of each row's leaf, from which of the nodes (first index) send it left.

    Level by level from below, and without a branch: of two numbers a and b, b ^ ((a ^ b) & m) is a
    where m is all ones, and b where it is zero; b ^ ((a ^ b)·m) is a where m is one. The last level
    has half of the nodes, and two names differ by one there, unless others are given.

    >>> left = np.array([[True, False], [False, True], [True, False]])
    >>> _names_of_leaves(left, np.arange(4, dtype=np.uint8))
    array([1, 3], dtype=uint8)
    """
    bits, above_last = left.view(np.uint8).astype(names.dtype, copy=False), len(left) // 2
    a, b = names[0::2, None], names[1::2, None]
    last, apart = bits[above_last:], a ^ b
    found = b ^ (last if (apart == 1).all() else last * apart)
    masks = np.negative(bits[:above_last])
    for level in range(len(names).bit_length() - 3, -1, -1):
        a, b = found[0::2], found[1::2]
        found = (a ^ b) & masks[2**level - 1 : 2 ** (level + 1) - 1]
        found ^= b
    return np.asarray(found[0])


class TestedColumn:
    """One column of some rows, of which many tests are made, with these thresholds.

    Where they are many, it is told of each value once how many of them are below it. This number
    is at most k if and only if the value is at most the threshold that has k others below it, and
    bytes are compared in a fraction of the time.
    """

    def __init__(self, x: FloatArray, thresholds: FloatArray) -> None:
        self.x, absent = x, np.isnan(x)
        self.absent = absent if absent.any() else None
        self._codes: IntArray | None = None
        self._below: AnyArray | None = None
        limits = np.unique(thresholds) if len(thresholds) >= MANY_TESTS else thresholds
        if len(thresholds) >= MANY_TESTS and len(limits) < 255 and not np.isnan(limits).any():
            self._below = places([limits], x[None])[0].astype(np.uint8)
            self._below[absent] = 255  # which is at most no threshold
            self._rank = {t: k for k, t in enumerate(limits.tolist())}

    def at_most(self, threshold: float, missing: bool, out: BoolArray) -> None:
        """Mark the values at most the threshold, and missing ones where those belong to them."""
        if self._below is None:
            np.less_equal(self.x, threshold, out=out)
        else:
            np.less_equal(self._below, self._rank[threshold], out=out)
        if missing and self.absent is not None:
            out |= self.absent

    def among(self, group: AnyArray, known: FloatArray) -> AnyArray:
        """Tell which values are in a group of known categories; its last entry is for others."""
        if self._codes is None:
            place = np.searchsorted(known, self.x)
            same = known[np.minimum(place, len(known) - 1)] == self.x
            self._codes = np.where(same, place, len(known))
        return np.asarray(group[self._codes], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class PlainLinear(Learners):
    """Functions θ·x + θ₀ for each row of `coef`, or its sign, which is −1 at zero."""

    coef: FloatArray
    intercept: FloatArray
    sign: bool

    def __len__(self) -> int:
        return len(self.coef)

    def enclosed(self, rows: Matrix) -> Iterator[EnclosedFunction]:
        theta = numbers(self.coef, "the coefficients of the learners", 2)
        bias = numbers(self.intercept, "the intercepts of the learners")
        sizes: Any = abs(rows)
        d, widest = rows.shape[1], sizes.max(axis=1)
        widest = widest.toarray().ravel() if sparse.issparse(widest) else widest
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(rows @ theta.T).T + bias[:, None]
            # Σ|θⱼxⱼ| + |θ₀| is no more than this; d products, their sum, and its own rounding.
            mass = np.abs(theta).sum(axis=1)[:, None] * widest + np.abs(bias)[:, None]
            off = mass * above(gamma(d + 2), 2 * d + 4) + TINY
        for f, error in zip(values, off, strict=True):
            if self.sign:
                # Where the sign cannot be told, ±1 may be off by 2.
                certain = np.abs(f) > error
                yield EnclosedFunction(np.where(f > 0, 1.0, -1.0), np.where(certain, 0.0, 2.0), 1.0)
            else:
                yield EnclosedFunction(f, error, above(float((np.abs(f) + error).max(initial=0.0))))


@dataclass(frozen=True, eq=False)
class Predictors(Learners):
    """Fitted estimators of other libraries: the function *is* what they predict."""

    functions: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.functions)

    def enclosed(self, rows: Matrix) -> Iterator[EnclosedFunction]:
        for function in self.functions:
            f = np.asarray(function(rows), dtype=np.float64)
            yield EnclosedFunction(f, 0.0, float(np.abs(f).max(initial=0.0)))

    def trusted(self) -> tuple[str, ...]:
        learners = {type(getattr(f, "estimator", f)).__name__ for f in self.functions}
        text = "what each {name} predicts, by its own code"
        return tuple(say(text, name=name) for name in sorted(learners))


@dataclass(frozen=True)
class StumpClass:
    """The class of all functions of ±1 with one test: for each feature the thresholds it may use.

    Missing values may go to either side, also against all others, categories may be grouped in any
    way, and the constants belong to the class, which is therefore closed under negation.
    `thresholds=None` allows all.
    """

    thresholds: tuple[FloatArray, ...] | None
    categorical: BoolArray

    def described(self) -> str:
        words = self.in_words()
        return say("the stumps with {tests}" if words else "all stumps", tests=words)

    def in_words(self) -> str:
        """Return the tests in words; nothing where all are allowed."""
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
        """Tell whether all the functions are known to belong to the class."""
        if len(learners) == 0:
            return True
        if not isinstance(learners, PlainTrees) or learners.feature.shape[1] != 1:
            return False
        return bool((np.abs(learners.value) == 1.0).all()) and self.allows_all(learners)

    def allows_all(self, trees: PlainTrees) -> bool:
        """Tell whether every test of the trees is one of these; of categories any group is."""
        if trees.feature.max(initial=-1) >= len(self.categorical):
            return False
        trees.refuse_unsound(len(self.categorical))
        tested = trees.feature >= 0
        plain = ~np.asarray(self.categorical)[trees.feature[tested]]
        feature, threshold, group = (
            a[tested][plain] for a in (trees.feature, trees.threshold, trees.group)
        )
        if self.thresholds is None or (group >= 0).any():
            return not (group >= 0).any()
        # Infinity tells the missing values from all others.
        certain = threshold != np.inf
        cuts = (
            (self.thresholds[j], threshold[certain & (feature == j)]) for j in np.unique(feature)
        )
        found = (
            (np.append(known, np.nan)[np.searchsorted(known, used)], used) for known, used in cuts
        )
        return all((known == used).all() for known, used in found)

    def with_those_of(self, learners: Learners) -> StumpClass:
        """Return the class with the thresholds of these trees, which other data may have given."""
        if self.thresholds is None or not isinstance(learners, PlainTrees):
            return self
        plain = (learners.group < 0) & np.isfinite(learners.threshold) & (learners.feature >= 0)
        cuts = list(self.thresholds)
        for j in np.unique(learners.feature[plain]).tolist():
            cuts[j] = np.union1d(cuts[j], learners.threshold[plain & (learners.feature == j)])
        return replace(self, thresholds=tuple(cuts))

    def cells(self, X: Matrix, used: IntArray) -> tuple[IntArray, IntArray]:
        """Return those of the used rows that no test tells from all others, and the cell of each.

        Two rows are in one cell if every feature has them in the same bin, or category. Rows that
        some features tell from all others are not looked at further.
        """
        rows, cells, n_cells, most = used, np.zeros(len(used), dtype=np.int64), 1, 64 * len(used)
        source, parts = self._in_parts(X, CELLS_AT_A_TIME)
        for features in parts:
            codes, missing = self._codes(_columns(source, features)[:, rows], features)
            for j in range(len(codes)):
                if n_cells * (missing + 1) >= 2**63:
                    shared, cells = shared_cells(cells)
                    rows, codes, n_cells = rows[shared], codes[:, shared], len(rows)
                cells, n_cells = cells * (missing + 1) + codes[j], n_cells * (missing + 1)
            if n_cells > most:
                shared, cells = shared_cells(cells)
                most = 64 * len(cells) if 2 * len(cells) < len(rows) else 2**63
                rows, n_cells = rows[shared], len(cells)
        shared, cells = shared_cells(cells)
        return rows[shared], cells

    def _in_parts(self, X: Matrix, entries: int) -> tuple[Matrix, list[IntArray]]:
        """Return X for reading columns, and features as many at a time as have enough numbers."""
        source = X.tocsc() if sparse.issparse(X) else np.asarray(X)
        n, d = source.shape
        self._refuse_unsound(d)
        width = max(1, entries // max(1, n))
        return source, [np.arange(j, min(j + width, d)) for j in range(0, d, width)]

    def _codes(self, x: FloatArray, features: IntArray) -> tuple[IntArray, int]:
        """Return a number for each bin or category, and a larger one for what is missing."""
        if self.thresholds is None:
            codes = ranks(x)
        else:
            codes, named = places(self._cuts(features), x), self.categorical[features]
            codes[named] = ranks(x[named])
        missing = int(codes.max(initial=0)) + 1
        codes[np.isnan(x)] = missing
        return codes, missing

    def _cuts(self, features: IntArray) -> list[FloatArray]:
        return [np.asarray((self.thresholds or ())[j], dtype=np.float64) for j in features]

    def largest_edge(self, X: Matrix, g: FloatArray, each: Any = map) -> float:
        """Compute max over the class of Σ gᵢ f(xᵢ), rounded up; `each` may read it in threads."""
        source, parts = self._in_parts(X, READ_AT_A_TIME)

        def edge(features: IntArray) -> float:
            codes, missing = self._codes(_columns(source, features), features)
            sums = sums_by_code(codes, np.broadcast_to(g, codes.shape), missing + 1)
            return float(self._edges_of_sums(sums, features).max())

        edges = each(edge, parts)
        return _edge_up(max(abs(g.sum()), *edges), len(g), total_up(np.abs(g)))

    def bin_sums(self, X: Matrix, g: FloatArray) -> FloatArray:
        """Sum gᵢ over each bin of each feature in turn, as sums that those of other rows add to.

        A category that is not among those known counts with Σ|gᵢ|.
        """
        source, parts = self._in_parts(X, READ_AT_A_TIME)
        return np.concatenate([self._sums(_columns(source, part), part, g) for part in parts])

    def edge_of_sums(self, sums: FloatArray, whole: float, n: int, size: float) -> float:
        """Compute `largest_edge` from the sums over the bins of all n rows, Σ gᵢ and Σ|gᵢ|."""
        ends = np.cumsum([len(cuts) + 2 for cuts in self.thresholds or ()])
        parts = np.split(sums, ends[:-1])
        edges = (float(self._edges_of_sums(p[None], [j])[0]) for j, p in enumerate(parts))
        return _edge_up(max(abs(whole), *edges), n, size)

    def _sums(self, x: FloatArray, features: IntArray, g: FloatArray) -> FloatArray:
        """Sum gᵢ over each bin and over what is missing, of each of these features in turn."""
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
        """Compute the largest edge of each feature from the sums of its bins, missing ones last."""
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
            raise ParameterError("X", f"X has {d} features; the stumps are of {len(named)}.")
        if named.dtype != np.bool_ or not _rise(cuts or ()):
            raise Objection("The thresholds of the stumps are not in increasing order.")


def _rise(parts: Sequence[FloatArray]) -> bool:
    """Tell whether the numbers of each part increase."""
    what = "the thresholds of the stumps"
    plain = (isinstance(p, np.ndarray) and p.dtype == np.float64 and p.ndim == 1 for p in parts)
    known = [p if fine else numbers(p, what) for p, fine in zip(parts, plain, strict=True)]
    flat = numbers(np.concatenate([np.empty(0), *known]), what)
    begins = np.cumsum([0, *(len(p) for p in known)])[1:-1]
    rises = np.append(np.diff(flat) > 0, True)
    rises[begins[begins > 0] - 1] = True
    return bool(rises.all())


def _edge_up(edge: float, n: int, size: float) -> float:
    """Round up an edge: sums of at most n numbers g, then over at most n bins; three make it."""
    return up(above(float(edge)) + above(3 * gamma(2 * n + 8) * size))


def shared_cells(cells: IntArray) -> tuple[BoolArray, IntArray]:
    """Find which rows share their cell with another, and these cells, numbered from zero.

    >>> shared_cells(np.array([7, 5, 7, 9]))
    (array([ True, False,  True, False]), array([0, 0]))
    """
    _, cells, counts = np.unique(cells, return_inverse=True, return_counts=True)
    shared = counts[cells] > 1
    return shared, np.unique(cells[shared], return_inverse=True)[1]


def places(cuts: Sequence[FloatArray], x: FloatArray) -> IntArray:
    """Compute #{k: cuts[j][k] < x[j, i]}, twice as fast as np.searchsorted for x in no order.

    All values of a block, which stays in the cache, take each halving together.

    >>> places([np.array([0.5, 2.5])], np.array([[3.0, 0.5, 1.0]]))
    array([[2, 0, 1]])
    """
    found = np.zeros(x.shape, dtype=np.intp)
    width = max(1, PLACED_AT_A_TIME // max(1, x.shape[1]))
    for j in range(0, len(cuts), width):
        some = slice(j, j + width)
        for first in range(0, x.shape[1], PLACED_AT_A_TIME):
            block = (some, slice(first, first + PLACED_AT_A_TIME))
            _place(cuts[some], x[block], found[block])
    return found


def _place(cuts: Sequence[FloatArray], x: FloatArray, k: IntArray) -> None:
    """Find the places of a block, by halving."""
    lengths = np.array([len(c) for c in cuts], dtype=np.int64)
    widest = 1 << int(lengths.max(initial=0)).bit_length()
    padded = np.full((len(cuts), widest), np.inf)
    padded[np.arange(widest) < lengths[:, None]] = np.concatenate([np.empty(0), *cuts])
    flat, start, half = padded.ravel(), widest * np.arange(len(cuts))[:, None], widest // 2
    k += start
    while half:
        below = flat[half - 1 :].take(k, mode="clip") < x
        k += np.multiply(below, half, dtype=np.intp)
        half //= 2
    k -= start


def ranks(x: FloatArray) -> IntArray:
    """Return the place of each number among the distinct ones of its row.

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
    """Compute Σ g over the entries of each row with each code, in the order of the entries."""
    sums = [np.bincount(c, values, n_codes) for c, values in zip(codes, g, strict=True)]
    return np.array(sums, dtype=np.float64)


def _columns(X: Matrix, features: Sequence[int] | IntArray) -> FloatArray:
    """Return neighbouring columns of X, as rows."""
    block = X[:, features[0] : features[-1] + 1]
    block = block.toarray() if sparse.issparse(block) else block
    return np.ascontiguousarray(block.T, dtype=np.float64)
