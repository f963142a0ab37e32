"""What a boosted model is made of: functions and their coefficients, in the order of the rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.theorems.combinations import Combination
from cotas.certificates.theorems.weak_learners import (
    Learners,
    PlainLinear,
    PlainTrees,
    Predictors,
)
from cotas.design.blocks import times
from cotas.solvers.boosting import Round
from cotas.solvers.trees import (
    Categories,
    Trees,
    count_votes,
    evaluate_trees,
    importances,
    join_trees,
    tree_without_tests,
)
from cotas.solvers.weak_learners import LinearScore
from cotas.source import MatrixLike, as_stored


@dataclass
class Ensemble:
    """An ensemble: F grew as F ← shrinkₘ·F + stepₘ·fₘ. `functions` are trees together, or a list of
    others."""

    functions: Any
    steps: FloatArray
    shrinks: FloatArray
    categories: Categories | None

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def coefficients(self) -> FloatArray:
        """Return what is left of each step at the end."""
        later = np.append(np.cumprod(self.shrinks[::-1])[::-1][1:], 1.0)
        return np.asarray(self.steps * later)

    def values(self, X: Matrix) -> FloatArray:
        """Compute F on the rows of X."""
        if isinstance(self.functions, Trees) and self.categories is not None:
            return evaluate_trees(X, self.functions, self.coefficients, self.categories)
        total = np.zeros(X.shape[0])
        for c, function in zip(self.coefficients, self.functions, strict=True):
            total += c * _evaluate(function, X)
        return total

    def staged(self, X: Matrix) -> Iterator[FloatArray]:
        """Compute F after each round; the array is the caller's."""
        F = np.zeros(X.shape[0])
        for m in range(len(self)):
            F = self.shrinks[m] * F + self.steps[m] * self._value(m, X)
            yield F.copy()

    def _value(self, m: int, X: Matrix) -> FloatArray:
        if isinstance(self.functions, Trees) and self.categories is not None:
            one = Trees(
                *(
                    a if name == "groups" else a[m : m + 1]
                    for name, a in self.functions._asdict().items()
                )
            )
            return evaluate_trees(X, one, np.ones(1), self.categories)
        return _evaluate(self.functions[m], X)

    def estimators(self) -> list[Any]:
        """Return the function of each round as something that predicts."""
        if isinstance(self.functions, Trees) or all(
            isinstance(f, LinearScore) for f in self.functions
        ):
            return [WeakFunction(self, m) for m in range(len(self))]
        return [function.estimator for function in self.functions]

    def prefix(self, k: int) -> Ensemble:
        """Return the model after k rounds."""
        functions = self.functions
        functions = functions.prefix(k) if isinstance(functions, Trees) else functions[:k]
        return Ensemble(functions, self.steps[:k], self.shrinks[:k], self.categories)

    def importances(self, n_features: int) -> FloatArray:
        """Return each feature's share; by gain for trees, by |coefficient|·importance for
        others."""
        if isinstance(self.functions, Trees):
            return importances(self.functions, self.coefficients, n_features)
        total = np.zeros(n_features)
        for c, function in zip(self.coefficients, self.functions, strict=True):
            total += abs(c) * _importance(function)
        return total / total.sum() if total.sum() > 0 else total

    def combination(self) -> Combination:
        """Return the same for the checker, with arrays of its own."""
        return Combination(self._plain(), self.coefficients)

    def _plain(self) -> Learners:
        f = self.functions if len(self) else tree_without_tests(1).prefix(0)
        if isinstance(f, Trees):
            known = self.categories
            named = {
                int(j): known.values[k, : known.sizes[k]].copy()
                for j, k in enumerate(() if known is None else known.place)
                if known is not None and k >= 0
            }
            arrays = {name: a.copy() for name, a in f._asdict().items() if name != "gain"}
            return PlainTrees(categories=named, **arrays)
        if f and isinstance(f[0], LinearScore):
            coefs = np.array([linear.coef for linear in f])
            return PlainLinear(coefs, np.array([linear.intercept for linear in f]), f[0].sign)
        return Predictors(tuple(f))


@dataclass(frozen=True)
class WeakFunction:
    """The weak function fₘ of one round; `predict` gives its values, without the coefficient of the
    round."""

    ensemble: Ensemble
    round: int

    def predict(self, X: MatrixLike) -> FloatArray:
        """Compute fₘ of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        return self.ensemble._value(self.round, _as_rows(X))


@dataclass(frozen=True)
class ClassFunction:
    """The class that one round names; `predict` gives it for each row."""

    ensembles: Sequence[Ensemble]
    round: int
    classes: AnyArray

    def predict(self, X: MatrixLike) -> AnyArray:
        """Return the class named for each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        rows = _as_rows(X)
        values = [ensemble._value(self.round, rows) for ensemble in self.ensembles]
        return np.asarray(self.classes[np.argmax(values, axis=0)])


def _as_rows(X: MatrixLike) -> Matrix:
    rows: Matrix = check_array(
        as_stored(X),
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )
    return rows


def collect(
    rounds: Sequence[Round], c: int, before: Ensemble | None, categories: Categories | None
) -> Ensemble:
    """Return the ensemble of class c: what was there before, and the rounds."""
    learners = [r.learners[c] for r in rounds]
    steps = np.array([r.coefficient for r in rounds])
    shrinks = np.array([r.shrink for r in rounds])
    if before is not None:
        steps = np.concatenate([before.steps, steps])
        shrinks = np.concatenate([before.shrinks, shrinks])
    if categories is None:
        old = [] if before is None else list(before.functions)
        return Ensemble(old + learners, steps, shrinks, None)
    parts = ([before.functions] if before is not None and len(before) else []) + learners
    return Ensemble(join_trees(parts) if parts else [], steps, shrinks, categories)


def votes_of(ensembles: Sequence[Ensemble], X: Matrix) -> FloatArray:
    """Compute F_k of each class, where each round names one class: 2·(what it is given) − Σ c.

    The same as `values` of each ensemble, with every function evaluated once for all of them.
    """
    first = ensembles[0]
    c, K = first.steps, len(ensembles)
    if isinstance(first.functions, Trees) and first.categories is not None:
        named = np.argmax([e.functions.value for e in ensembles], axis=0)
        trees = first.functions._replace(value=named.astype(np.float64))
        return np.asarray(count_votes(X, trees, 2 * c, first.categories, K) - c.sum())
    F, rows = np.full((X.shape[0], K), -c.sum()), np.arange(X.shape[0])
    for m, function in enumerate(first.functions):
        F[rows, function.estimator.predict(X)] += 2 * c[m]
    return F


def _evaluate(function: Any, X: Matrix) -> FloatArray:
    if isinstance(function, LinearScore):
        f = times(X, function.coef) + function.intercept
        return np.where(f > 0, 1.0, -1.0) if function.sign else f
    return np.asarray(function(X))


def _importance(function: Any) -> FloatArray:
    if isinstance(function, LinearScore):
        return np.abs(function.coef)
    found = getattr(function.estimator, "feature_importances_", None)
    if found is None:
        raise AttributeError("The weak learners have no feature_importances_.")
    return np.asarray(found)
