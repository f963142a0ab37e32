"""Every booster has `learning_rate` and `estimators_`: what they multiply, and what they sum to."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cotas
from cotas.boosting.base import Boosted, BoostedClassifier
from errors import refuses
from problems import noisy_clouds, regression, three_clouds

SETTINGS = {"LSBoost": {"weak_learner": "stump"}}
EVERY = [
    getattr(cotas, name)(n_estimators=6, **SETTINGS.get(name, {}))
    for name in cotas.__all__
    if inspect.isclass(getattr(cotas, name)) and issubclass(getattr(cotas, name), Boosted)
]
by_booster = pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
CLASSIFIERS = [model for model in EVERY if isinstance(model, BoostedClassifier)]
by_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)


def data_for(model):
    return noisy_clouds() if isinstance(model, BoostedClassifier) else regression()


@by_booster
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_rate_multiplies_the_coefficient(model):
    X, y = data_for(model)
    whole = clone(model).set_params(learning_rate=1.0).fit(X, y)
    slow = clone(model).set_params(learning_rate=0.25).fit(X, y)
    first = [fitted.ensembles_[0].steps[0] for fitted in (slow, whole)]
    assert first[0] == pytest.approx(0.25 * first[1])
    assert slow.round_losses_[-1] > whole.round_losses_[-1]
    assert slow.certificate_.holds
    assert slow.certificate_.verify(X, y)


@by_classifier
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_is_the_algorithm_itself(model):
    X, y = noisy_clouds()
    plain, one = clone(model).fit(X, y), clone(model).set_params(learning_rate=1.0).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), one.decision_function(X))


def test_adaboost_with_a_rate_step_by_step():
    X, y = noisy_clouds()
    model = cotas.AdaBoost(n_estimators=20, learning_rate=0.3).fit(X, y)
    w = np.full(len(y), 1 / len(y))
    for m, f in enumerate(model.estimators_):
        values = f.predict(X)
        err = w[values != y].sum()
        c = 0.3 * 0.5 * np.log((1 - err) / err)
        assert model.estimator_weights_[m] == pytest.approx(c)
        w = w * np.exp(-c * y * values)
        w /= w.sum()


@by_booster
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learner", ["stump", "linear", "other"])
def test_the_estimators_sum_to_the_model(model, learner):
    name = type(model).__name__
    if learner == "linear" and name == "RealAdaBoost":
        return  # a regression estimates no probability
    other = DecisionTreeRegressor if name in ("LSBoost", "LogitBoost", "GentleBoost") else None
    other = (other or DecisionTreeClassifier)(max_depth=1)
    X, y = data_for(model)
    fitted = clone(model).set_params(weak_learner=other if learner == "other" else learner)
    fitted.fit(X, y)
    assert len(fitted.estimators_) == fitted.n_rounds_ == len(fitted.estimator_weights_)
    if learner == "other":
        assert all(isinstance(f, type(other)) for f in fitted.estimators_)
        return
    parts = zip(fitted.estimator_weights_, fitted.estimators_, strict=True)
    total = sum(c * f.predict(X) for c, f in parts)
    if isinstance(fitted, BoostedClassifier):
        np.testing.assert_allclose(fitted.decision_function(X), total, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_allclose(fitted.predict(X), fitted.intercept_ + total, rtol=1e-9)


def test_several_classes_have_a_list_each_and_a_vote_one():
    X, y = three_clouds()
    rest = cotas.AdaBoost(n_estimators=4).fit(X, y)
    assert [len(one) for one in rest.estimators_] == [len(one) for one in rest.estimator_weights_]
    for learner in ("stump", DecisionTreeClassifier(max_depth=2)):
        vote = cotas.AdaBoost(learner, n_estimators=4, multiclass="samme").fit(X, y)
        votes = np.zeros((len(y), 3))
        for c, f in zip(vote.estimator_weights_, vote.estimators_, strict=True):
            votes[np.arange(len(y)), f.predict(X)] += c
        np.testing.assert_array_equal(votes.argmax(axis=1), vote.predict(X))


@by_booster
@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_rates_that_are_none(model, rate):
    with refuses("learning_rate"):
        clone(model).set_params(learning_rate=rate).fit(*data_for(model))
