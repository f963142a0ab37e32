"""Weak learners: what a boosting round asks for a function on the rows.

A round asks for one of six things, s being signed weights, w weights and z targets:

    edge(s)              f(x) in {−1, +1} with a large Σ sᵢ f(xᵢ)
    least_squares(wz, w) real f with a small Σ wᵢ (zᵢ − f(xᵢ))²; `equal` if all wᵢ are the same
    gradient_sign(wz, w) the sign of such an f
    least_absolute(z, w) real f with a small Σ wᵢ |zᵢ − f(xᵢ)|
    log_odds(wy, w)      f = ½ ln(p/(1−p)) with p the weighted share of y = +1 around x
    name(classes, w, K)  a class of K for each x with a large Σ wᵢ⟦it is that of i⟧
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.design.blocks import times, times_transposed
from cotas.loops import loop
from cotas.refusals import ParameterError
from cotas.solvers.binning import Bins, Scale
from cotas.solvers.bordered_gram import bordered_gram
from cotas.solvers.class_trees import ClassGini, MostVotes, grow_class_tree
from cotas.solvers.exponential_weights import parts_of
from cotas.solvers.split_search import (
    COUNT_BITS,
    TIE,
    CountedSquares,
    Edge,
    Gini,
    SquaresCriterion,
)
from cotas.solvers.stump_search import ExactStumps
from cotas.solvers.tree_growing import Grower
from cotas.solvers.trees import Trees

SMALLEST_NORM = 1e-130  # below it squares lose digits
ROUNDING = 1.5 * 2.0**52
ROUNDING_BITS = int(np.float64(ROUNDING).view(np.int64))
LEAST_SHARE = 1e-12  # of the whole weight, below which a side of a cut is rounding
P_CLIP = 1e-6  # log_odds keeps p between this and one minus this


class Fitted(NamedTuple):
    """A function and its values on the training rows (a view that the next round overwrites)."""

    learner: Any
    values: FloatArray


class Named(NamedTuple):
    """A classifier as K functions, +1 where it names the class and −1 elsewhere, and the code of
    the class that it names on each training row."""

    learners: tuple[Any, ...]
    codes: AnyArray


class WeakLearner(Protocol):
    """A weak learner: what the boosting loops need."""

    def edge(self, s: FloatArray) -> Fitted: ...

    def least_squares(
        self, wz: FloatArray, w: FloatArray, largest: float = math.inf, equal: bool = False
    ) -> Fitted: ...

    def gradient_sign(self, wz: FloatArray, w: FloatArray) -> Fitted: ...

    def least_absolute(self, z: FloatArray, w: FloatArray) -> Fitted: ...

    def log_odds(self, wy: FloatArray, w: FloatArray) -> Fitted: ...

    def name(self, classes: AnyArray, w: FloatArray, n_classes: int) -> Named: ...


def half_log_odds(mean: AnyArray) -> FloatArray:
    """Compute ½ ln(p/(1−p)) for p = (1 + mean)/2, clipped.

    >>> half_log_odds(np.array([0.0, 1.0])).round(3)
    array([0.   , 6.908])
    """
    p = np.clip(0.5 * (1.0 + mean), P_CLIP, 1 - P_CLIP)
    return np.asarray(0.5 * np.log(p / (1 - p)))


@loop
def look_up(leaf: IntArray, value: FloatArray, out: FloatArray) -> None:
    """Write outᵢ = value of the leaf of row i."""
    for i in range(len(leaf)):
        out[i] = value[leaf[i]]


class BinnedTrees:
    """Trees on histograms; `gini` makes also a stump choose its cut by squared error."""

    def __init__(
        self, bins: Bins, scale: Scale, depth: int, each: Each, threads: int, gini: bool
    ) -> None:
        self.grower = Grower(bins, scale, depth, each, threads)
        self.by_edge = depth == 1 and not gini
        self.values = np.empty(bins.codes.shape[1])
        self.pairs: AnyArray | None = None  # of targets and weights, where they are asked for

    def edge(self, s: FloatArray) -> Fitted:
        """Find the best stump of its class; a deeper tree is grown greedily by squared error."""
        if self.by_edge:
            tree, leaf, sums = self._grow_edge(s)
        else:
            tree, leaf, sums = self._grow_signed(s)
        return self._with(tree, leaf, np.where(sums.real > 0, 1.0, -1.0))

    def least_squares(
        self, wz: FloatArray, w: FloatArray, largest: float = math.inf, equal: bool = False
    ) -> Fitted:
        tree, leaf, sums = self._grow_counted(wz, float(w[0])) if equal else self._grow(wz, w)
        return self._with(tree, leaf, np.clip(_means(sums), -largest, largest))

    def gradient_sign(self, wz: FloatArray, w: FloatArray) -> Fitted:
        tree, leaf, sums = self._grow(wz, w)
        return self._with(tree, leaf, np.where(sums.real > 0, 1.0, -1.0))

    def least_absolute(self, z: FloatArray, w: FloatArray) -> Fitted:
        """Return a tree for the signs of z, whose leaves then hold the medians (Friedman 2001)."""
        tree, leaf, _ = self._grow_signed(w * np.sign(z))
        return self._with(tree, leaf, leaf_medians(z, w, leaf, tree.value.shape[1]))

    def log_odds(self, wy: FloatArray, w: FloatArray) -> Fitted:
        tree, leaf, sums = self._grow_signed(wy)
        return self._with(tree, leaf, half_log_odds(_means(sums)))

    def name(self, classes: AnyArray, w: FloatArray, n_classes: int) -> Named:
        """Find the best stump of its class; a deeper tree is grown greedily by Gini."""
        least = LEAST_SHARE * float(w.sum())
        criterion = MostVotes(least) if self.by_edge else ClassGini(least)
        tree, leaf, weights = grow_class_tree(self.grower, criterion, classes, w, n_classes)
        return Named(naming(tree, weights), weights.argmax(axis=1)[leaf])

    def _grow_edge(self, s: FloatArray) -> tuple[Trees, AnyArray, AnyArray]:
        return self.grower.grow(Edge(0.0), s, float(s.sum()))

    def _grow(self, wz: FloatArray, w: FloatArray) -> tuple[Trees, AnyArray, AnyArray]:
        if self.pairs is None:
            self.pairs = np.empty(len(w), dtype=np.complex128)
        self.pairs.real, self.pairs.imag = wz, w
        total = complex(wz.sum(), w.sum())
        return self.grower.grow(SquaresCriterion(LEAST_SHARE * total.imag), self.pairs, total)

    def _grow_counted(self, wz: FloatArray, w: float) -> tuple[Trees, AnyArray, AnyArray]:
        """Return the same for equal weights, the targets rounded to parts of a whole number.

        No sum of them is above n^½(Σ(wz)²)^½ parts, which is below 2⁴³.
        """
        norm = math.sqrt(len(wz) * float(wz @ wz))
        if 0.0 < norm < SMALLEST_NORM:
            return self._grow(wz, np.full(len(wz), w))
        part = (2.0 ** (COUNT_BITS - 1) - len(wz)) / norm if norm > 0 else 1.0
        # The last bits of a number that is large enough are the whole number next to what is added.
        rounded = np.multiply(wz, part, out=self.values)  # which the tree will overwrite
        packed = np.add(rounded, ROUNDING, out=rounded).view(np.int64)
        packed += (1 << COUNT_BITS) - ROUNDING_BITS
        tree, leaf, sums = self.grower.grow(CountedSquares(0.0), packed, packed.sum(), wz)
        tree.gain[:] /= part * part * w
        return tree, leaf, sums.real + 1j * w * sums.imag

    def _grow_signed(self, s: FloatArray) -> tuple[Trees, AnyArray, AnyArray]:
        """Return the same for targets of ±1, which the signs of the weights are."""
        total = complex(s.sum(), np.abs(s).sum())
        return self.grower.grow(Gini(LEAST_SHARE * total.imag), s, total)

    def _with(self, tree: Trees, leaf: AnyArray, value: FloatArray) -> Fitted:
        parts, out = parts_of(len(leaf)), self.values
        each = self.grower.each if len(parts) > 1 else map
        list(each(lambda part: look_up(leaf[part], value, out[part]), parts))
        tree.value[0] = value
        return Fitted(tree, self.values)


def naming(tree: Trees, weights: FloatArray) -> tuple[Trees, ...]:
    """Compute ±1 for each class: whether a leaf names it, which it does of the heaviest there."""
    chosen, K = weights.argmax(axis=1), weights.shape[1]
    values = np.where(chosen == np.arange(K)[:, None], 1.0, -1.0)
    return tuple(tree._replace(value=f[None, :]) for f in values)


def weighted_median(z: FloatArray, w: FloatArray) -> float:
    """Return the smallest z that at least half of the weight is not above; zero without weight.

    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    2.0
    """
    used = w > 0
    if not used.all():
        z, w = z[used], w[used]
    if not len(z):
        return 0.0
    if w.min() == w.max():
        middle = (len(z) - 1) // 2
        return float(np.partition(z, middle)[middle])
    order = np.argsort(z)
    below = np.cumsum(w[order])
    return float(z[order[np.searchsorted(below, (0.5 - TIE) * below[-1])]])


def leaf_medians(z: FloatArray, w: FloatArray, leaf: AnyArray, n_leaves: int) -> FloatArray:
    """Return the weighted median of z in each leaf."""
    order = np.argsort(leaf, kind="stable")
    bounds = np.searchsorted(leaf[order], np.arange(n_leaves + 1))
    parts = (order[a:b] for a, b in pairwise(bounds))
    return np.array([weighted_median(z[rows], w[rows]) for rows in parts])


def _means(sums: AnyArray) -> FloatArray:
    filled = sums.imag > 0
    return np.where(filled, sums.real / np.where(filled, sums.imag, 1.0), 0.0)


class ExactStumpLearner:
    """The best stump over all thresholds; it classifies, and does nothing else."""

    def __init__(self, X: Matrix, used: IntArray | None, each: Each) -> None:
        self.stumps = ExactStumps(X, used, each)

    def edge(self, s: FloatArray) -> Fitted:
        return Fitted(*self.stumps.search(s))

    def least_squares(
        self, wz: FloatArray, w: FloatArray, largest: float = math.inf, equal: bool = False
    ) -> Fitted:
        raise ParameterError("search", EXACT_ONLY_CLASSIFIES)

    def gradient_sign(self, wz: FloatArray, w: FloatArray) -> Fitted:
        raise ParameterError("search", EXACT_ONLY_CLASSIFIES)

    def least_absolute(self, z: FloatArray, w: FloatArray) -> Fitted:
        raise ParameterError("search", EXACT_ONLY_CLASSIFIES)

    def log_odds(self, wy: FloatArray, w: FloatArray) -> Fitted:
        raise ParameterError("search", EXACT_ONLY_CLASSIFIES)

    def name(self, classes: AnyArray, w: FloatArray, n_classes: int) -> Named:
        raise ParameterError(
            "search",
            "Stump(search='exact') is a search among stumps of ±1, and multiclass='samme' asks for "
            "one that names classes. Take search='histogram', or multiclass='ovr'.",
        )


EXACT_ONLY_CLASSIFIES = (
    "Stump(search='exact') finds the stump of ±1 with the smallest weighted error, so it serves "
    "AdaBoost, AnyBoost and ConvexAnyBoost only. Take search='histogram' for this algorithm."
)


def best_multiple(z: FloatArray, f: FloatArray, w: FloatArray) -> float:
    """Return the number c with the smallest Σ w|z − c·f|."""
    nonzero = f != 0
    return weighted_median(z[nonzero] / f[nonzero], w[nonzero] * np.abs(f[nonzero]))


class LinearScore(NamedTuple):
    """A linear score θ·x + θ₀, or its sign."""

    coef: FloatArray
    intercept: float
    sign: bool


class LinearRegression:
    """Weighted least squares on the features; for `edge` the sign of the regression on sign(s)."""

    def __init__(self, X: Matrix) -> None:
        self.X = X

    def edge(self, s: FloatArray) -> Fitted:
        return self._fit(s, np.abs(s), sign=True)

    def least_squares(
        self, wz: FloatArray, w: FloatArray, largest: float = math.inf, equal: bool = False
    ) -> Fitted:
        return self._fit(wz, w, sign=False)

    def gradient_sign(self, wz: FloatArray, w: FloatArray) -> Fitted:
        return self._fit(wz, w, sign=True)

    def least_absolute(self, z: FloatArray, w: FloatArray) -> Fitted:
        """Return the regression of the signs of z, times the number that suits z best."""
        linear, f = self._fit(w * np.sign(z), w, sign=False)
        c = best_multiple(z, f, w)
        return Fitted(LinearScore(c * linear.coef, c * linear.intercept, False), c * f)

    def log_odds(self, wy: FloatArray, w: FloatArray) -> Fitted:
        raise ParameterError(
            "weak_learner",
            "A linear regression estimates no probability: RealAdaBoost needs a stump, a tree or "
            "a classifier with predict_proba.",
        )

    def name(self, classes: AnyArray, w: FloatArray, n_classes: int) -> Named:
        raise ParameterError(
            "weak_learner",
            "A linear regression of ±1 tells two classes apart, and multiclass='samme' asks for a "
            "learner that names one of several. Take a stump, a tree or a classifier, or "
            "multiclass='ovr'.",
        )

    def _fit(self, wz: FloatArray, w: FloatArray, sign: bool) -> Fitted:
        n, d = self.X.shape
        theta = self._by_rows(wz, w) if n <= d else self._by_columns(wz, w)
        f = times(self.X, theta[:d]) + theta[d]
        learner = LinearScore(theta[:d], float(theta[d]), sign)
        return Fitted(learner, np.where(f > 0, 1.0, -1.0) if sign else f)

    def _by_rows(self, wz: FloatArray, w: FloatArray) -> FloatArray:
        """Return the shortest solution, as a sum of rows: n² numbers where the columns are many.

        With B = √W·[X, 1]·D⁻¹, D² the diagonal of [X, 1]ᵀW[X, 1], it is D⁻¹Bᵀ(BBᵀ)⁺W^(−1/2)·wz:
        what `_by_columns` finds, since BᵀB and BBᵀ have the same eigenvalues but for zeros.
        """
        X = self.X.astype(np.float64)
        square = X.multiply(X) if hasattr(X, "multiply") else X * X
        units = np.append(np.asarray(square.T @ w), w.sum())
        inverse = 1.0 / np.where(units > 0, units, 1.0)
        scaled = X.multiply(inverse[:-1]).tocsr() if hasattr(X, "multiply") else X * inverse[:-1]
        products = scaled @ X.T
        products = products.toarray() if hasattr(products, "toarray") else products
        root = np.sqrt(w)
        gram = root[:, None] * (products + inverse[-1]) * root
        target = np.divide(wz, root, out=np.zeros_like(root), where=root > 0)
        dual = root * np.linalg.lstsq(gram, target, rcond=RANK)[0]
        return np.asarray(inverse * np.append(np.asarray(X.T @ dual), dual.sum()))

    def _by_columns(self, wz: FloatArray, w: FloatArray) -> FloatArray:
        """Compute the shortest solution by the normal equations: d² numbers where the rows are
        many."""
        right = np.append(times_transposed(self.X, wz), wz.sum())
        return _solve(bordered_gram(self.X, w, 1.0), right)


# Eigenvalues below this part of the largest are zeros that were rounded.
RANK = 1e-12


def _solve(gram: FloatArray, right: FloatArray) -> FloatArray:
    """Return the shortest solution of the normal equations, in units where the diagonal is one."""
    unit = np.sqrt(np.where(gram.diagonal() > 0, gram.diagonal(), 1.0))
    scaled = gram / unit[:, None] / unit[None, :]
    return np.asarray(np.linalg.lstsq(scaled, right / unit, rcond=RANK)[0] / unit)
