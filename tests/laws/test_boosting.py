"""Algorithms 1 to 7 of Rugeles Ospina step by step, and the laws of their certificates."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import cotas
from cotas import (
    AdaBoost,
    AnyBoost,
    ConvexAnyBoost,
    GentleBoost,
    LinearLearner,
    LogitBoost,
    RealAdaBoost,
    Tree,
)
from cotas.losses import Exponential, Logistic, SquaredHinge
from cotas.solvers.anyboost import cost_of, descent
from problems import clouds, labelled, noisy_clouds, three_clouds


def learners(model, X):
    """The values of each function of a fitted model with two classes, from the checker's copy."""
    return list(model.ensembles_[0].combination().learners.values(X))


@pytest.mark.parametrize("learner", ["stump", Tree(3), "linear"])
@pytest.mark.parametrize("classes", [2, 3])
def test_logitboost_raises_the_likelihood_in_every_round(learner, classes):
    X, y = noisy_clouds() if classes == 2 else three_clouds()
    model = LogitBoost(learner, n_estimators=60).fit(X, y)
    p = [
        p[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        for p in model.staged_predict_proba(X)
    ]
    likelihoods = np.log(p).mean(axis=1)
    np.testing.assert_allclose(-likelihoods, model.round_losses_, rtol=1e-9, atol=1e-12)
    assert (np.diff(model.round_losses_) < 0).all()
    assert model.certificate_.holds


def test_logitboost_without_its_safeguard_may_lower_the_likelihood():
    """Where a tenth of the labels is wrong, z clipped to 4 pulls F beyond the optimum."""
    X, y = noisy_clouds()
    printed = LogitBoost(n_estimators=60, safeguard=False).fit(X, y)
    assert (np.diff(printed.round_losses_) > 0).any()
    assert printed.certificate_.holds


def test_anyboost_with_the_closed_form_is_adaboost():
    X, y = noisy_clouds()
    ada = AdaBoost(n_estimators=30).fit(X, y)
    for step in ("closed-form", "line-search"):
        other = AnyBoost(cost="exponential", step=step, n_estimators=30).fit(X, y)
        np.testing.assert_allclose(other.estimator_weights_, ada.estimator_weights_, rtol=1e-7)
        np.testing.assert_allclose(other.decision_function(X), ada.decision_function(X), rtol=1e-6)


@pytest.mark.parametrize("cost", [Exponential(), Logistic(), SquaredHinge()])
def test_lemma_1_2_1_by_finite_differences(cost):
    rng = np.random.default_rng(0)
    y, F, f = np.where(rng.random(50) < 0.5, 1.0, -1.0), rng.normal(size=50), rng.normal(size=50)
    s = np.full(50, 1 / 50)
    direction, scale = descent(cost, y, s, F)
    e = 1e-6
    measured = (cost_of(cost, y, s, F + e * f) - cost_of(cost, y, s, F - e * f)) / (2 * e)
    assert measured == pytest.approx(-scale * (direction @ f), rel=1e-6)
    # The rest is of the order ε², and of no smaller one.
    first = [cost_of(cost, y, s, F + e * f) - cost_of(cost, y, s, F) for e in (1e-3, 1e-4)]
    large, small = (rise - e * measured for rise, e in zip(first, (1e-3, 1e-4), strict=True))
    assert large / small == pytest.approx(100, rel=0.05)


# ---- what the theory says of the ends of a run --------------------------------------------------


def test_a_perfect_learner_ends_the_run_and_decides():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    model = AdaBoost(n_estimators=10).fit(X, y)
    assert model.n_rounds_ == 1
    assert "no mistake" in model.stop_reason_
    assert model.certificate_.lower == 0
    assert model.certificate_.upper < 1e-7
    assert model.certificate_.verify(X, y)


def test_a_learner_at_chance_ends_the_run():
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    model = AdaBoost(n_estimators=10).fit(X, y)
    assert model.n_rounds_ == 0
    assert "chance" in model.stop_reason_
    assert model.certificate_.vacuous
    np.testing.assert_array_equal(model.predict(X), 0)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_a_learner_worse_than_chance_is_flipped():
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Wrong(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.where(np.asarray(X)[:, 0] > 0, -1.0, 1.0)

    X, y = clouds(100, 2)
    model = AdaBoost(Wrong(), n_estimators=1).fit(X, y)
    assert model.round_errors_[0] > 0.5
    assert model.estimator_weights_[0] < 0
    assert model.score(X, y) == pytest.approx(model.round_errors_[0])
    assert model.certificate_.holds


def test_ten_thousand_rounds_do_not_overflow():
    X, y = clouds(40, 2)
    for model in (AdaBoost(), RealAdaBoost(), GentleBoost(), LogitBoost()):
        model.set_params(n_estimators=10_000, n_jobs=1, certify=False)
        with np.errstate(over="raise", invalid="raise"):
            model.fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.predict_proba(X)).all()
        assert model.score(X, y) == 1.0


# ---- the bound ----------------------------------------------------------------------------------


@settings(max_examples=25)
@given(labelled(), st.sampled_from(["ada", "real", "gentle", "logit", "tree", "small"]))
def test_the_training_error_never_exceeds_its_bound(data, kind):
    model = {
        "ada": AdaBoost(n_estimators=8),
        "real": RealAdaBoost(n_estimators=8),
        "gentle": GentleBoost(n_estimators=8),
        "logit": LogitBoost(n_estimators=8),
        "tree": AdaBoost(Tree(2), n_estimators=8),
        "small": AdaBoost(step=0.1, n_estimators=8),
    }[kind]
    X, y = data
    for k, rounds in enumerate(model.fit(X, y).staged_predict(X), start=1):
        certificate = cotas.certify(model[:k], X, y)
        assert certificate.holds, certificate.objection
        assert np.mean(rounds != y) <= certificate.lower + 1e-12 <= certificate.upper + 1e-9


def test_the_bound_is_the_product_of_2_sqrt_err():
    X, y = noisy_clouds()
    model = AdaBoost(n_estimators=20).fit(X, y)
    errors = model.round_errors_
    assert model.certificate_.upper == pytest.approx(np.prod(2 * np.sqrt(errors * (1 - errors))))
    figures = model.certificate_.figures
    assert figures["largest |err − ½| after a round"] < 1e-12
    edge = figures["largest edge of a stump at the last weights"]
    assert figures["smallest margin yF/Σ|c|"] <= edge


def test_the_largest_margin_is_enclosed():
    """The majority of three bits: ρ* = 1/3, by symmetry, and small steps come near it."""
    X = np.array(list(np.ndindex(2, 2, 2)), dtype=float)
    y = np.where(X.sum(axis=1) >= 2, 1, -1)
    figures = AdaBoost(n_estimators=600, step=0.01).fit(X, y).certificate_.figures
    margin = figures["smallest margin yF/Σ|c|"]
    edge = figures["largest edge of a stump at the last weights"]
    assert margin <= 1 / 3 + 1e-9 <= edge + 2e-9
    assert edge - margin < 0.05


def test_the_frank_wolfe_gap_encloses_the_optimum():
    X, y = noisy_clouds(80)
    loose = ConvexAnyBoost(cost="logistic", radius=2.0, n_estimators=500, tol=0.05).fit(X, y)
    tight = ConvexAnyBoost(cost="logistic", radius=2.0, n_estimators=5000, tol=5e-4).fit(X, y)
    assert tight.certificate_.relative_gap <= 5e-4
    assert loose.certificate_.lower <= tight.certificate_.upper
    assert tight.certificate_.lower <= loose.certificate_.upper
    assert loose.n_rounds_ < tight.n_rounds_
    with pytest.warns(ConvergenceWarning):
        ConvexAnyBoost(radius=2.0, n_estimators=2, tol=1e-6).fit(X, y)


def test_anyboost_proves_optimality_where_no_stump_descends():
    """One binary feature: the best F is half the log-odds on each side, found in a few rounds."""
    X = np.repeat([[0.0], [1.0]], [30, 50], axis=0)
    y = np.r_[np.repeat([1, -1], [10, 20]), np.repeat([1, -1], [40, 10])]
    model = AnyBoost(n_estimators=200).fit(X, y)
    assert "no learner found lowers the cost" in model.stop_reason_
    assert model.certificate_.gap <= 1e-9
    np.testing.assert_allclose(
        np.unique(model.decision_function(X)), 0.5 * np.log([10 / 20, 40 / 10]), atol=1e-6
    )


def test_greedy_learners_prove_no_gap():
    X, y = noisy_clouds(60)
    for model in (AnyBoost(Tree(2)), ConvexAnyBoost(Tree(2)), AnyBoost(LinearLearner())):
        assert model.set_params(n_estimators=3).fit(X, y).certificate_.kind == "none"


def test_on_two_gaussians_F_approaches_half_the_log_odds():
    """Lemma 1.1.3 with the clouds of Figure 1.7; stumps suffice, the log-odds being additive."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(20_000) < 0.5, 1, -1)
    X = np.where(y > 0, 3.0, 1.0)[:, None] + rng.normal(size=(20_000, 2)) * np.where(
        y > 0, np.sqrt(2.0), 1.0
    ).reshape(-1, 1)
    odds = ((X - 1) ** 2).sum(axis=1) / 2 - ((X - 3) ** 2).sum(axis=1) / 4 - np.log(2)
    inner = (np.abs(X - 2) < 2).all(axis=1)
    for model in (
        LogitBoost(n_estimators=100),
        GentleBoost(n_estimators=100),
        AdaBoost(n_estimators=300),
    ):
        F = model.set_params(certify=False).fit(X, y).decision_function(X)
        assert np.sqrt(np.mean((F - odds / 2)[inner] ** 2)) < 0.2, model


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("learner", ["stump", "linear"])
@pytest.mark.parametrize(
    "booster", [AdaBoost, RealAdaBoost, LogitBoost, GentleBoost, AnyBoost, ConvexAnyBoost]
)
def test_few_rows_of_many_columns_take_a_few_copies_of_them(booster, learner, layout):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 5_000)), np.arange(10) % 2
    model = booster(learner, n_estimators=2, n_jobs=1)
    if learner == "linear" and booster is RealAdaBoost:  # which needs probabilities
        return
    model.fit(layout(X[:, :2_000]), y)  # what is loaded and compiled at first is not counted
    tracemalloc.start()
    try:
        model.fit(layout(X), y)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 16 * X.nbytes
    proves = model.certificate_.kind != "none"  # as it says of linear learners
    assert model.certificate_.verify(layout(X), y) == proves
