"""Changed models, changed data and impossible requests."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from cotas import (
    AdaBoost,
    AnyBoost,
    ConvexAnyBoost,
    GentleBoost,
    LinearLearner,
    LogitBoost,
    RealAdaBoost,
    Stump,
    Tree,
    certify,
)
from errors import refuses
from problems import clouds, three_clouds

X, y = clouds(80, 3)
EVERY = [
    AdaBoost(n_estimators=8),
    AdaBoost(Tree(2), n_estimators=4),
    RealAdaBoost(n_estimators=8),
    LogitBoost(n_estimators=8),
    LogitBoost(LinearLearner(), n_estimators=3),
    GentleBoost(n_estimators=8),
    AnyBoost(n_estimators=8),
    ConvexAnyBoost(n_estimators=30, tol=0.1),
]
by_model = pytest.mark.parametrize("model", EVERY, ids=lambda m: repr(m)[:45])


def certificates(model):
    return list(model.certificate_.singles)


@by_model
@pytest.mark.parametrize("data", [(X, y), three_clouds(90)], ids=["two", "three"])
def test_a_changed_model_is_no_longer_certified(model, data):
    model = clone(model).fit(*data)
    assert all(c.holds and c.verify(*data) for c in certificates(model))
    again = pickle.loads(pickle.dumps(model))
    assert all(c.holds and c.verify(*data) for c in certificates(again))
    model.ensembles_[0].steps[0] *= 1.5
    changed = certificates(model)[0]
    assert not changed.holds
    assert not changed.verify(*data)


@by_model
def test_a_changed_function_is_no_longer_certified(model):
    model = clone(model).fit(X, y)
    functions = model.ensembles_[0].functions
    if isinstance(functions, list):
        functions[0] = functions[0]._replace(intercept=functions[0].intercept + 1)
    else:
        functions.value[0] *= -1
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, y)


@by_model
def test_other_data_are_noticed(model):
    certificate = clone(model).fit(X, y).certificate_
    swapped = y.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert not certificate.verify(X, swapped)
    assert not certificate.verify(X[::-1], y[::-1])
    moved = X.copy()
    moved[3, 1] += 0.01
    assert not certificate.verify(moved, y)
    assert not certificate.verify(X[:-1], y[:-1])
    assert not certificate.verify(X[:, :1], y)
    assert not certificate.verify(np.hstack([X, X]), y)
    assert not certificate.verify(X[:, 0], y)
    assert certificate.verify(X.tolist(), y.tolist())


def test_a_ledger_cannot_claim_other_functions_or_errors():
    from dataclasses import replace

    witness = AdaBoost(n_estimators=8).fit(X, y).certificate_.witness
    halved = witness.about(witness.coef / 2, 0.0).check(X, y)
    assert halved.figures["largest |err − ½| after a round"] > 0.01
    (combination,) = witness.combinations
    trees = combination.learners
    half = replace(trees, value=trees.value * 0.5)
    tampered = witness.made_of([replace(combination, learners=half)])
    assert "not ±1" in tampered.check(X, y).objection


def test_a_point_outside_the_hull_is_refused():
    from dataclasses import replace

    witness = ConvexAnyBoost(radius=2.0, n_estimators=50, tol=0.1).fit(X, y).certificate_.witness
    assert "outside" in replace(witness, radius=0.5).check(X, y).objection


def test_a_prefix_must_be_proved_again():
    model = AdaBoost(n_estimators=8).fit(X, y)
    prefix = model[:3]
    assert not prefix.certificate_.holds
    assert "prefix" in prefix.certificate_.objection
    assert certify(prefix, X, y).holds
    assert model[:].certificate_.holds


def test_missing_values_and_categories_are_certified_too():
    rng = np.random.default_rng(0)
    Z = np.column_stack([X, rng.integers(0, 5, 80)])
    Z[rng.random(Z.shape) < 0.15] = np.nan
    for model in (
        AdaBoost(Stump(categorical_features=[3]), n_estimators=10),
        ConvexAnyBoost(Stump(categorical_features=[3]), n_estimators=50, tol=0.1),
        LogitBoost(Tree(3, categorical_features=[False, False, False, True]), n_estimators=5),
        AdaBoost(Stump(search="exact"), n_estimators=10),
    ):
        certificate = model.fit(Z, y).certificate_
        assert certificate.verify(Z, y), certificate.discrepancies(Z, y)
        other = Z.copy()
        other[np.flatnonzero(np.isnan(Z[:, 0]))[0], 0] = 0.0
        assert not certificate.verify(other, y)


BAD = [
    (AdaBoost(n_estimators=0), "n_estimators"),
    (AdaBoost(n_estimators=2.5), "n_estimators"),
    (AdaBoost("forest"), "weak_learner"),
    (AdaBoost(3), "weak_learner"),
    (AdaBoost(KNeighborsClassifier()), "sample_weight"),
    (AdaBoost(step="exact"), "step"),
    (AdaBoost(step=-1.0), "step"),
    (AdaBoost(step=[0.1, np.nan]), "step"),
    (AdaBoost(step=[]), "step"),
    (AdaBoost(step=None), "step"),
    (AdaBoost(step={}), "^step must be 'closed-form', 'line-search', a"),
    (AdaBoost(Tree(0)), "depth"),
    (AdaBoost(Tree(9)), "depth"),
    (AdaBoost(Stump(search="fast")), "search"),
    (AdaBoost(Stump(criterion="entropy")), "criterion"),
    (AdaBoost(Stump(categorical_features=[7])), "categorical_features"),
    (AdaBoost(Stump(categorical_features=[True])), "categorical_features"),
    (AdaBoost(Stump(search="exact", categorical_features=[0])), "exact"),
    (AdaBoost(early_stopping=True, validation_fraction=1.5), "validation_fraction"),
    (AdaBoost(n_iter_no_change=0), "n_iter_no_change"),
    (RealAdaBoost(LinearLearner()), "probability"),
    (RealAdaBoost(Stump(search="exact")), "histogram"),
    (LogitBoost(DecisionTreeClassifier()), "regressor"),
    (GentleBoost(step="closed-form"), "be a number"),
    (AnyBoost(cost="hinge"), "cost"),
    (AnyBoost(cost=object()), "value"),
    (AnyBoost(cost="logistic", step="closed-form"), "closed-form"),
    (ConvexAnyBoost(radius=0.0), "radius"),
    (ConvexAnyBoost(tol=np.nan), "tol"),
]


@pytest.mark.parametrize(("model", "word"), BAD, ids=lambda value: repr(value)[:50])
def test_bad_parameters(model, word):
    with pytest.raises((ValueError, TypeError), match=word):
        model.fit(X, y)


def test_bad_data():
    with pytest.raises(ValueError, match="infinity"):
        AdaBoost().fit(np.where(X > 1, np.inf, X), y)
    with pytest.raises(ValueError, match="NaN"):
        AdaBoost("linear").fit(np.where(X > 1, np.nan, X), y)
    with refuses("y"):
        AdaBoost().fit(X, np.ones(80))
    with refuses("sample_weight"):
        AdaBoost().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(NotFittedError):
        AdaBoost().predict(X)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_huge_and_tiny_scales(scale):
    for model in (AdaBoost(n_estimators=5), LogitBoost(Tree(2), n_estimators=5)):
        plain = clone(model).fit(X, y)
        scaled = clone(model).fit(X * scale, y)
        np.testing.assert_allclose(scaled.decision_function(X * scale), plain.decision_function(X))
        assert scaled.certificate_.verify(X * scale, y)
