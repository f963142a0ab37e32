"""What every boosted model can do: stages, warm starts, weights, early stopping, callbacks."""

import numpy as np
import pytest
from sklearn.base import clone

from cotas import (
    AdaBoost,
    AnyBoost,
    ConvexAnyBoost,
    GentleBoost,
    LogitBoost,
    RealAdaBoost,
    Stump,
)
from cotas.stops import InterruptedWarning
from problems import LAYOUTS, noisy_clouds, three_clouds

EVERY = [
    AdaBoost(n_estimators=6),
    AdaBoost(Stump(search="exact"), n_estimators=6),
    RealAdaBoost(n_estimators=6),
    LogitBoost(n_estimators=6),
    GentleBoost("tree", n_estimators=6),
    AnyBoost(n_estimators=6),
    ConvexAnyBoost(n_estimators=6, tol=1e-9),
]
by_model = pytest.mark.parametrize("model", EVERY, ids=lambda m: repr(m)[:40])
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@quiet
@by_model
@pytest.mark.parametrize("data", [noisy_clouds(90), three_clouds(90)], ids=["two", "three"])
def test_stages_are_prefixes(model, data):
    X, y = data
    model = clone(model).fit(X, y)
    stages = zip(
        model.staged_decision_function(X),
        model.staged_predict(X),
        model.staged_predict_proba(X),
        model.staged_score(X, y),
        strict=True,
    )
    for k, (values, labels, p, score) in enumerate(stages, start=1):
        prefix = model[:k]
        np.testing.assert_allclose(values, prefix.decision_function(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(labels, prefix.predict(X))
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert score == prefix.score(X, y)
    assert k == model.n_rounds_
    with pytest.raises(IndexError, match="prefixes"):
        model[2:4]


@quiet
@by_model
@pytest.mark.parametrize("data", [noisy_clouds(90), three_clouds(90)], ids=["two", "three"])
def test_warm_start_adds_rounds(model, data):
    X, y = data
    whole = clone(model).fit(X, y)
    twice = clone(model).set_params(n_estimators=3, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(twice.decision_function(X), whole.decision_function(X), rtol=1e-8)
    assert twice.certificate_.verify(X, y), twice.certificate_.discrepancies(X, y)


@quiet
@by_model
def test_warm_start_on_other_data_certifies_what_is_still_true(model):
    X, y = noisy_clouds(90)
    X2, y2 = noisy_clouds(70, seed=5)
    twice = clone(model).set_params(warm_start=True).fit(X, y).fit(X2, y2)
    assert twice.certificate_.holds, twice.certificate_.objection
    assert twice.certificate_.verify(X2, y2)
    weighted = twice.fit(X2, y2, sample_weight=np.linspace(0, 2, 70))
    assert weighted.certificate_.holds, weighted.certificate_.objection


@quiet
@by_model
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_precisions_give_the_same_model(model, layout):
    X, y = noisy_clouds(80)
    X = np.where(np.abs(X) < 0.5, 0.0, np.round(8 * X) / 8)
    reference = clone(model).fit(X, y)
    other = clone(model).fit(LAYOUTS[layout](X), y)
    F = reference.decision_function(X)
    np.testing.assert_allclose(other.decision_function(LAYOUTS[layout](X)), F, rtol=1e-12)
    assert other.certificate_.verify(X, y)
    assert reference.certificate_.verify(LAYOUTS[layout](X), y)


@quiet
@by_model
def test_weights_are_repetitions(model):
    X, y = noisy_clouds(60)
    weights = np.arange(60) % 3
    by_weight = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        by_weight.decision_function(X), repeated.decision_function(X), rtol=1e-7, atol=1e-9
    )
    assert by_weight.certificate_.upper == pytest.approx(repeated.certificate_.upper)
    assert by_weight.certificate_.verify(X, y)


@quiet
@by_model
def test_monotone_changes_of_a_feature_change_nothing(model):
    X, y = noisy_clouds(80)
    model = clone(model).fit(X, y)
    stretched = clone(model).fit(np.exp(X), y)
    np.testing.assert_allclose(model.decision_function(X), stretched.decision_function(np.exp(X)))


@quiet
@by_model
def test_importances_find_the_feature_that_matters(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X[:, 2] + 0.3 * rng.normal(size=200) > 0
    found = clone(model).fit(X, y).feature_importances_
    assert found.sum() == pytest.approx(1)
    assert found.argmax() == 2


def test_early_stopping_keeps_the_best_round_and_certifies_what_it_trained_on():
    X, y = noisy_clouds(400)
    seen = []
    model = AdaBoost(
        n_estimators=500, early_stopping=True, n_iter_no_change=5, random_state=0,
        callbacks=seen.append,
    ).fit(X, y)  # fmt: skip
    losses = [report.validation_loss for report in seen]
    assert model.n_rounds_ == int(np.argmin(losses)) + 1 == len(losses) - 5
    assert "validation loss" in model.stop_reason_
    assert np.count_nonzero(model.certificate_.witness.weights == 0) == 40
    assert model.certificate_.verify(X, y)


def test_callbacks_can_stop_and_interrupts_keep_the_model():
    X, y = noisy_clouds()
    model = AdaBoost(n_estimators=50, callbacks=lambda report: report.round == 4).fit(X, y)
    assert model.n_rounds_ == 4
    assert model.stop_.name == "CALLBACK"

    def interrupt(report):
        if report.round == 3:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        model = AdaBoost(n_estimators=50, callbacks=interrupt).fit(X, y)
    assert model.n_rounds_ == 3
    assert model.certificate_.verify(X, y)


@pytest.mark.parametrize("kind", [AdaBoost, AnyBoost, ConvexAnyBoost])
@quiet
def test_with_few_values_the_two_searches_make_the_same_classifier(kind):
    X, y = noisy_clouds(150)
    X = X.copy()
    X[::7, 0] = np.nan
    weights = np.random.default_rng(0).random(150)
    histogram = kind(Stump(), n_estimators=25).fit(X, y, sample_weight=weights)
    exact = kind(Stump(search="exact"), n_estimators=25).fit(X, y, sample_weight=weights)
    for a, b in zip(
        histogram.ensembles_[0].functions[:4], exact.ensembles_[0].functions[:4], strict=True
    ):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(exact.decision_function(X), histogram.decision_function(X))
    assert exact.certificate_.upper == pytest.approx(histogram.certificate_.upper)
