"""Estimators for the laws of rows in blocks: which take them, and what a fit leaves."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

import cotas
from cotas.source import Arrays

EVERY = [
    kind
    for name in cotas.__all__
    if isinstance(kind := getattr(cotas, name), type) and issubclass(kind, BaseEstimator)
    if hasattr(kind, "certificate_")
]


# Online runs, which are mixed: other blocks are another run.
MIXED = [cotas.Perceptron, cotas.AveragedPerceptron, cotas.PassiveAggressive, cotas.Pegasos]


def made(kind, **given):
    """An estimator that ends soon, with several classes one against the rest where it may."""
    known = kind().get_params()
    chosen = {"n_estimators": 4} if "n_estimators" in known else {"lam": 0.01, "max_iter": 200}
    if kind in MIXED:
        chosen |= {"max_iter": 20, "random_state": 0}
    if kind is cotas.LSBoost:
        chosen["weak_learner"] = "stump"
    if kind is cotas.RegularizedForwardStagewise:
        chosen["delta"] = 20.0
    if kind is cotas.LogisticRegression:
        chosen["multiclass"] = "ovr"
    chosen = {name: value for name, value in chosen.items() if name in known}
    return kind(**{**chosen, **given})


def takes_a_source(kind) -> bool:
    """Whether it does; all the others must say that they do not."""
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = np.digitize(X[:, 0], [-0.4, 0.4]) if is_classifier(kind()) else X[:, 0]
    try:
        made(kind).fit(Arrays(X, y, block_rows=40))
    except ValueError as error:
        if "source of row blocks" not in str(error):
            raise
        return False
    return True


TAKE = [kind for kind in EVERY if takes_a_source(kind)]


def parameters(model):
    """All the numbers that a model predicts with."""
    if hasattr(model, "coef_"):
        return [model.coef_, model.intercept_]
    trees = [ensemble.functions for ensemble in model.ensembles_]
    steps = [ensemble.steps for ensemble in model.ensembles_]
    kept = ("feature", "threshold", "missing_left", "group", "groups", "value")
    found = [getattr(tree, name) for tree in trees for name in kept]
    return [*steps, *found, getattr(model, "intercept_", 0.0)]


def same_parameters(one, other, digits=None):
    """Whether two models have the same parameters, to the last bit or to so many digits."""
    for a, b in zip(parameters(one), parameters(other), strict=True):
        if digits is None:
            np.testing.assert_array_equal(a, b)
            continue
        a, b = np.asarray(a), np.asarray(b)
        kept = np.isfinite(a)
        np.testing.assert_array_equal(a[~kept], b[~kept])
        size = np.abs(a[kept]).max(initial=0.0)
        np.testing.assert_allclose(b[kept], a[kept], rtol=0, atol=10.0**-digits * size)


def spoil(model):
    """Change a model a little."""
    if hasattr(model, "coef_"):
        model.coef_ = model.coef_ * 1.01
    else:
        model.ensembles_[0].steps[0] *= 1.01
