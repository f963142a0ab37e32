"""The weak learners a user can choose, and how each is made ready for a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import has_fit_parameter

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.theorems.weak_learners import StumpClass
from cotas.fitting.parameters import check_parameters
from cotas.refusals import ParameterError
from cotas.solvers.binning import Scale
from cotas.solvers.sparse_binning import bin_table
from cotas.solvers.trees import Categories, list_categories
from cotas.solvers.weak_learners import (
    BinnedTrees,
    ExactStumpLearner,
    Fitted,
    LinearRegression,
    Named,
    WeakLearner,
    best_multiple,
    half_log_odds,
)


@dataclass(eq=False, repr=False)
class Stump(BaseEstimator):
    """One test: a feature against a threshold, or a group of categories.

    Parameters
    ----------
    search : {"histogram", "exact"}, default="histogram"
        Over at most 256 bins of each feature, or over all thresholds. With at most 256 distinct
        values in each feature both find the same stump.
    criterion : {"error", "gini"}, default="error"
        How a stump of ±1 is chosen: by its weighted error, the best of its class, or by the Gini
        criterion, as scikit-learn's trees are.
    categorical_features : array of indices or of bool, optional
        Features whose values are names, not quantities; at most 255 categories each. Columns of
        categories of pandas, polars and Arrow are, without being listed here.

    Missing values (NaN) go to the better side. A category that was not seen goes where missing
    values go; a missing value in a feature that had none goes right.

    Examples
    --------
    >>> from cotas import AdaBoost, Stump
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> AdaBoost(Stump(search="exact"), n_estimators=3).fit(X, y).n_rounds_
    3
    """

    search: str = "histogram"
    criterion: str = "error"
    categorical_features: Any = None

    depth = 1


# Tests that lead to a leaf, at most.
DEEPEST = 8


@dataclass(eq=False, repr=False)
class Tree(BaseEstimator):
    """A small tree, grown level by level on 256-bin histograms.

    Parameters
    ----------
    depth : int, default=3
        How many tests lead to a leaf, from 1 to 8.
    categorical_features : array of indices or of bool, optional
        Features whose values are names, not quantities; at most 255 categories each. Columns of
        categories of pandas, polars and Arrow are, without being listed here.

    Examples
    --------
    >>> from cotas import LogitBoost, Tree
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0, 0]
    >>> LogitBoost(Tree(depth=2), n_estimators=5).fit(X, y).score(X, y)
    1.0
    """

    depth: int = 3
    categorical_features: Any = None

    search = "histogram"
    criterion = "gini"


class LinearLearner(BaseEstimator):
    """Weighted least squares on all the features, the regression of Rugeles Ospina, Figure 1.4.

    Where a round asks for ±1, the sign of the regression.

    Examples
    --------
    >>> from cotas import LogitBoost, LinearLearner
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> LogitBoost(LinearLearner(), n_estimators=5).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """


@dataclass(frozen=True)
class PreparedLearner:
    """A weak learner with its data, and what prediction and the checker need to know of it."""

    learner: WeakLearner
    categories: Categories | None = None
    stumps: StumpClass | None = None  # the class that the learner finds the best function of
    tests: StumpClass | None = None  # the tests that its trees are made of


def resolve(weak_learner: Any) -> Any:
    """Make a learner of what the user gave."""
    named = {None: Stump, "stump": Stump, "tree": Tree, "linear": LinearLearner}
    if weak_learner is None or isinstance(weak_learner, str):
        if weak_learner not in named:
            raise ParameterError(
                "weak_learner",
                f"weak_learner={weak_learner!r} is not one of 'stump', 'tree' and 'linear', nor "
                "an estimator.",
            )
        return named[weak_learner]()
    if isinstance(weak_learner, Stump | Tree | LinearLearner):
        return weak_learner
    if not (hasattr(weak_learner, "fit") and has_fit_parameter(weak_learner, "sample_weight")):
        raise ParameterError(
            "weak_learner",
            f"weak_learner={weak_learner!r} must be an estimator whose fit takes sample_weight.",
        )
    return weak_learner


def takes_missing_values(learner: Any) -> bool:
    """Tell whether NaN may be left in X."""
    if isinstance(learner, Stump | Tree):
        return True
    if isinstance(learner, LinearLearner):
        return False
    return bool(learner.__sklearn_tags__().input_tags.allow_nan)


def prepare(
    learner: Any,
    X: Matrix,
    used: IntArray | None,
    each: Each,
    threads: int,
    random_state: Any,
    named: Sequence[int] = (),
) -> PreparedLearner:
    """Bin, sort or keep the data, whatever the learner needs; columns `named` are
    categories."""
    if isinstance(learner, LinearLearner):
        return PreparedLearner(LinearRegression(X))
    if not isinstance(learner, Stump | Tree):
        return PreparedLearner(EstimatorLearner(learner, X, used, random_state))
    categorical = check_tests(learner, X.shape[1])
    categorical[list(named)] = True
    if learner.search == "exact":
        if categorical.any() or learner.criterion != "error":
            raise ParameterError(
                "search", "Stump(search='exact') is for numeric features and criterion='error'."
            )
        none = list_categories(Scale([np.empty(0)] * X.shape[1], categorical))
        return PreparedLearner(
            ExactStumpLearner(X, used, each), none, StumpClass(None, categorical)
        )
    bins, scale = bin_table(X, used, categorical, each)
    trees = BinnedTrees(bins, scale, learner.depth, each, threads, gini=learner.criterion == "gini")
    tests = StumpClass(tuple(scale.edges), categorical)
    return PreparedLearner(trees, list_categories(scale), tests if trees.by_edge else None, tests)


def check_tests(learner: Any, n_features: int) -> BoolArray:
    """Refuse parameters that no stump or tree has; which features are categorical."""
    check_scalar(learner.depth, "depth", Integral, min_val=1, max_val=DEEPEST)
    check_parameters(learner, search=("histogram", "exact"), criterion=("error", "gini"))
    return _mask(learner.categorical_features, n_features)


def _mask(given: object, n_features: int) -> BoolArray:
    """Tell which features are categorical."""
    mask = np.zeros(n_features, dtype=np.bool_)
    if given is None:
        return mask
    given = np.asarray(given)
    if given.dtype == np.bool_ and given.shape != (n_features,):
        raise ParameterError(
            "categorical_features",
            f"categorical_features has {len(given)} entries for {n_features} features.",
        )
    try:
        mask[given] = True
    except IndexError as error:
        raise ParameterError("categorical_features", f"categorical_features: {error}.") from error
    return mask


@dataclass(frozen=True)
class Function:
    """A fitted estimator as a function of rows: its sign, its value, half its log-odds, or ±1 as
    it names the class with a certain code or not. The value may be multiplied by a number."""

    estimator: Any
    asks: str
    code: int = 0
    multiple: float = 1.0

    def __call__(self, rows: Matrix) -> FloatArray:
        if self.asks == "log odds":
            p = self.estimator.predict_proba(rows)
            positive = np.flatnonzero(self.estimator.classes_ > 0)
            shares = p[:, positive[0]] if len(positive) else np.zeros(len(p))
            return half_log_odds(2 * shares - 1)
        if self.asks == "class":
            return np.where(self.estimator.predict(rows) == self.code, 1.0, -1.0)
        f = np.asarray(self.estimator.predict(rows), dtype=np.float64)
        return np.where(f > 0, 1.0, -1.0) if self.asks == "sign" else self.multiple * f


class EstimatorLearner:
    """Any scikit-learn estimator whose fit takes sample_weight; a clone of it in each round."""

    def __init__(self, template: Any, X: Matrix, used: IntArray | None, random_state: Any) -> None:
        self.template, self.X = template, X
        self.used = np.arange(X.shape[0]) if used is None else used
        self.random = check_random_state(random_state)

    def edge(self, s: FloatArray) -> Fitted:
        return self._fit(np.where(s > 0, 1.0, -1.0), np.abs(s), "sign")

    def least_squares(
        self, wz: FloatArray, w: FloatArray, largest: float = math.inf, equal: bool = False
    ) -> Fitted:
        if not is_regressor(self.template):
            raise ParameterError(
                "weak_learner", f"This algorithm needs a regressor, and {self.template!r} is none."
            )
        z = np.divide(wz, w, out=np.zeros_like(w), where=w > 0)
        return self._fit(z, w, "value")

    def gradient_sign(self, wz: FloatArray, w: FloatArray) -> Fitted:
        function = replace(self.least_squares(wz, w).learner, asks="sign")
        return Fitted(function, function(self.X))

    def least_absolute(self, z: FloatArray, w: FloatArray) -> Fitted:
        """Return the regression of the signs of z, times the number that suits z best."""
        function, f = self.least_squares(w * np.sign(z), w)
        c = best_multiple(z, f, w)
        return Fitted(replace(function, multiple=c), c * f)

    def log_odds(self, wy: FloatArray, w: FloatArray) -> Fitted:
        if not (is_classifier(self.template) and hasattr(self.template, "predict_proba")):
            raise ParameterError(
                "weak_learner",
                "RealAdaBoost needs a classifier with predict_proba, and "
                f"{self.template!r} is none.",
            )
        return self._fit(np.where(wy > 0, 1.0, -1.0), w, "log odds")

    def name(self, classes: AnyArray, w: FloatArray, n_classes: int) -> Named:
        if not is_classifier(self.template):
            raise ParameterError(
                "multiclass",
                f"multiclass='samme' needs a classifier, and {self.template!r} is none.",
            )
        estimator = self._train(classes.astype(np.int64), w)
        functions = tuple(Function(estimator, "class", code) for code in range(n_classes))
        return Named(functions, np.asarray(estimator.predict(self.X)))

    def _fit(self, target: FloatArray, w: FloatArray, asks: str) -> Fitted:
        function = Function(self._train(target, w), asks)
        return Fitted(function, function(self.X))

    def _train(self, target: AnyArray, w: FloatArray) -> Any:
        estimator = clone(self.template)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self.random.randint(2**31 - 1))
        rows = self.used if (w[self.used] > 0).all() else np.flatnonzero(w > 0)
        X = self.X if len(rows) == self.X.shape[0] else self.X[rows]
        return estimator.fit(X, target[rows], sample_weight=w[rows] / w[rows].sum())
