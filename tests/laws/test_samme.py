"""AdaBoost with several classes (SAMME): its rounds, its bound, and its two ends."""

import pickle
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import cotas
from cotas import AdaBoost, Stump, Tree
from cotas.boosting.weak_learners import prepare
from cotas.solvers.boosting import NoDescentLeft, adaboost
from cotas.solvers.exponential_weights import ExponentialWeights
from cotas.solvers.samme import ClassVotes, samme
from errors import refuses
from problems import LAYOUTS, noisy_clouds, three_clouds

EVERY = [
    AdaBoost(n_estimators=6, multiclass="samme"),
    AdaBoost(Stump(criterion="gini"), n_estimators=6, multiclass="samme"),
    AdaBoost(Tree(2), n_estimators=6, multiclass="samme"),
    AdaBoost(n_estimators=6, multiclass="samme", step=0.1),
    AdaBoost(DecisionTreeClassifier(max_depth=1), 6, multiclass="samme", random_state=0),
]
by_model = pytest.mark.parametrize("model", EVERY, ids=lambda m: repr(m)[:60])


def names(model, X):
    """The class that each round names, from the functions of the classes."""
    each = [list(e.combination().learners.values(X)) for e in model.ensembles_]
    values = np.array(each)
    assert ((values == 1).sum(axis=0) == 1).all()
    return model.classes_[values.argmax(axis=0)]


# ---- the algorithm ------------------------------------------------------------------------------


@pytest.mark.parametrize("weak", [Stump(), Tree(2)])
def test_the_algorithm_as_printed(weak):
    X, y = three_clouds()
    model = AdaBoost(weak, n_estimators=12, multiclass="samme").fit(X, y)
    w, votes, K = np.full(len(y), 1 / len(y)), np.zeros((len(y), 3)), 3
    for m, named in enumerate(names(model, X)):
        err = w[named != y].sum()
        alpha = np.log((1 - err) / err) + np.log(K - 1)
        assert err == pytest.approx(model.round_errors_[m])
        assert alpha == pytest.approx(2 * model.estimator_weights_[m])
        w = w * np.exp(alpha * (named != y))
        w /= w.sum()
        assert w[named != y].sum() == pytest.approx(1 - 1 / K)
        votes[np.arange(len(y)), named] += alpha
        margins = votes.mean(axis=1) - votes[np.arange(len(y)), y]
        assert model.round_losses_[m] == pytest.approx(np.exp(margins).mean())
    F = model.decision_function(X)
    np.testing.assert_allclose(F - F.mean(axis=1)[:, None], votes - votes.mean(axis=1)[:, None])
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))
    p = np.exp(votes)
    np.testing.assert_allclose(model.predict_proba(X), p / p.sum(axis=1)[:, None])


@pytest.mark.parametrize("load", [load_wine, load_digits])
@pytest.mark.parametrize("weak", [Stump(criterion="gini"), Tree(3)])
def test_scikit_learn_has_the_same_rounds(load, weak):
    X, y = load(return_X_y=True)
    weights = np.random.default_rng(1).random(len(y)) + 0.5  # no ties by chance
    theirs = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=weak.depth), n_estimators=8, random_state=0
    ).fit(X, y, sample_weight=weights)
    ours = AdaBoost(weak, n_estimators=8, multiclass="samme").fit(X, y, sample_weight=weights)
    k = min(ours.n_rounds_, len(theirs.estimators_))
    assert k >= 3
    k -= ours.round_errors_[-1] == 0  # a learner without mistakes: they give it the vote 1
    np.testing.assert_allclose(ours.round_errors_[:k], theirs.estimator_errors_[:k], rtol=1e-7)
    np.testing.assert_allclose(
        2 * ours.estimator_weights_[:k], theirs.estimator_weights_[:k], rtol=1e-7
    )
    pairs = zip(ours.staged_predict(X), theirs.staged_predict(X), strict=False)
    for mine, other in islice(pairs, k):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("weak", [Stump(), Stump(criterion="gini"), Tree(3)])
def test_with_two_classes_it_is_discrete_adaboost(weak):
    X, y = noisy_clouds()
    s = np.random.default_rng(0).random(len(y))
    s /= s.sum()
    learner = prepare(weak, X, None, map, 1, None).learner
    F, votes = np.zeros(len(y)), np.zeros((len(y), 2))
    one = adaboost(learner, ExponentialWeights(y.astype(float), s, F))
    other = samme(learner, ClassVotes((y > 0).astype(np.int64), s, votes))
    for _ in range(20):
        a, b = next(one), next(other)
        for field in ("coefficient", "error", "edge", "loss", "log_loss"):
            assert getattr(a, field) == pytest.approx(getattr(b, field), rel=1e-9)
        np.testing.assert_array_equal(a.learners[0].feature, b.learners[1].feature)
        np.testing.assert_array_equal(a.learners[0].threshold, b.learners[1].threshold)
        np.testing.assert_array_equal(a.learners[0].value, b.learners[1].value)
        np.testing.assert_allclose(votes[:, 1] - votes[:, 0], 2 * F, rtol=1e-9, atol=1e-12)


def test_with_two_classes_the_estimator_ignores_the_choice():
    X, y = noisy_clouds()
    one = AdaBoost(n_estimators=20).fit(X, y)
    other = AdaBoost(n_estimators=20, multiclass="samme").fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert one.certificate_.upper == other.certificate_.upper


def test_a_learner_without_mistakes_ends_the_run_and_decides():
    X = np.arange(9.0)[:, None]
    y = np.repeat([0, 1, 2], 3)
    model = AdaBoost(Tree(2), n_estimators=10, multiclass="samme").fit(X, y)
    assert (model.n_rounds_, model.score(X, y)) == (1, 1.0)
    assert "no mistake" in model.stop_reason_
    assert model.certificate_.verify(X, y)


def test_a_learner_at_chance_ends_the_run():
    X, y = np.zeros((6, 2)), np.arange(6) % 3
    model = AdaBoost(n_estimators=10, multiclass="samme").fit(X, y)
    assert model.n_rounds_ == 0
    assert "chance" in model.stop_reason_
    assert model.certificate_.vacuous
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3)
    learner = prepare(Stump(), X, None, map, 1, None).learner
    with pytest.raises(NoDescentLeft):
        next(samme(learner, ClassVotes(y, np.full(6, 1 / 6), np.zeros((6, 3)))))


# ---- the bound ----------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(3, 6), st.sampled_from([Stump(), Tree(2)]))
def test_the_training_error_never_exceeds_its_bound(seed, K, weak):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(K), rng.integers(0, K, 40)]
    X = np.round(rng.normal(size=(len(y), 3)) + y[:, None] * rng.normal(size=3), 1)
    model = AdaBoost(weak, n_estimators=8, multiclass="samme").fit(X, y)
    for k, named in enumerate(model.staged_predict(X), start=1):
        certificate = cotas.certify(model[:k], X, y)
        assert certificate.holds, certificate.objection
        assert np.mean(named != y) <= certificate.lower + 1e-12 <= certificate.upper + 1e-9
        assert certificate.upper <= 1 + 1e-12  # θ = 0 is always possible


def test_the_losses_are_products_over_the_rounds():
    X, y = load_iris(return_X_y=True)
    model = AdaBoost(n_estimators=25, multiclass="samme").fit(X, y)
    err, K, figures = model.round_errors_, 3, model.certificate_.figures
    loss = np.prod(K * (err / (K - 1)) ** (1 - 1 / K) * (1 - err) ** (1 / K))
    half = np.prod(K * np.sqrt(err * (1 - err) / (K - 1)))
    assert figures["multiclass exponential loss"] == pytest.approx(loss)
    assert model.round_losses_[-1] == pytest.approx(loss)
    assert figures["bound if the right class needs half of the votes"] == pytest.approx(half)
    assert figures["largest |err − (1 − 1/K)| after a round"] < 1e-12
    assert model.certificate_.upper <= half * (1 + 1e-9)


def test_the_best_theta_is_no_worse_than_any_other():
    X, y = load_digits(return_X_y=True)
    model = AdaBoost(n_estimators=40, multiclass="samme").fit(X, y)
    F = model.decision_function(X)
    own = F[np.arange(len(y)), y]
    F[np.arange(len(y)), y] = -np.inf
    margins = own - F.max(axis=1)
    others = [np.exp(-theta * margins).mean() for theta in np.linspace(0, 0.5, 200)]
    assert model.certificate_.upper <= min(others) + 1e-9
    assert 0 < model.certificate_.figures["θ"] < 0.5
    assert not model.certificate_.vacuous


def test_the_loss_alone_does_not_bound_the_error():
    """Why the certificate needs θ: two classes share the votes, and the loss is below the error."""
    X, y = load_digits(return_X_y=True)
    model = AdaBoost(n_estimators=60, multiclass="samme").fit(X, y)
    certificate = model.certificate_
    assert certificate.figures["multiclass exponential loss"] < certificate.lower


# ---- what every boosted model can do ------------------------------------------------------------


@by_model
def test_stages_are_prefixes(model):
    X, y = three_clouds(90)
    model = clone(model).fit(X, y)
    stages = zip(
        model.staged_decision_function(X), model.staged_predict(X), model.staged_predict_proba(X),
        strict=True,
    )  # fmt: skip
    for k, (values, labels, p) in enumerate(stages, start=1):
        prefix = model[:k]
        np.testing.assert_allclose(values, prefix.decision_function(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(labels, prefix.predict(X))
        np.testing.assert_allclose(p, prefix.predict_proba(X))
    assert k == model.n_rounds_ == len(model.estimator_weights_)


@by_model
def test_warm_start_adds_rounds(model):
    X, y = three_clouds(90)
    whole = clone(model).fit(X, y)
    twice = clone(model).set_params(n_estimators=3, warm_start=True)
    first = twice.fit(X, y)[:]
    assert first.n_rounds_ == 3
    if isinstance(model.weak_learner, DecisionTreeClassifier):
        return  # draws random numbers anew
    twice.fit(X, y)
    np.testing.assert_allclose(twice.decision_function(X), whole.decision_function(X), rtol=1e-8)
    assert twice.certificate_.verify(X, y), twice.certificate_.discrepancies(X, y)
    other = three_clouds(60, seed=3)
    assert twice.fit(*other).certificate_.holds, twice.certificate_.objection
    with refuses("warm_start"):
        twice.set_params(multiclass="ovr").fit(X, y)


@by_model
def test_weights_are_repetitions(model):
    X, y = three_clouds(60)
    weights = 1 + np.arange(60) % 3
    by_weight = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        by_weight.decision_function(X), repeated.decision_function(X), rtol=1e-7, atol=1e-9
    )
    assert by_weight.certificate_.upper == pytest.approx(repeated.certificate_.upper)
    assert by_weight.certificate_.verify(X, y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_precisions_give_the_same_model(layout):
    X, y = three_clouds(80)
    X = np.where(np.abs(X) < 0.5, 0.0, np.round(8 * X) / 8)
    for model in EVERY[:3]:
        reference, other = clone(model).fit(X, y), clone(model).fit(LAYOUTS[layout](X), y)
        F = reference.decision_function(X)
        np.testing.assert_allclose(other.decision_function(LAYOUTS[layout](X)), F, rtol=1e-12)
        assert other.certificate_.verify(X, y)


def test_early_stopping_keeps_the_best_round():
    X, y = three_clouds(300)
    seen = []
    model = AdaBoost(
        n_estimators=300, multiclass="samme", early_stopping=True, n_iter_no_change=5,
        random_state=0, callbacks=seen.append,
    ).fit(X, y)  # fmt: skip
    losses = [report.validation_loss for report in seen]
    assert model.n_rounds_ == int(np.argmin(losses)) + 1 == len(losses) - 5
    assert model.certificate_.verify(X, y)


def test_missing_values_categories_and_names_of_classes():
    rng = np.random.default_rng(0)
    X, y = three_clouds(120)
    X = np.column_stack([X, (y + rng.integers(0, 2, 120)) % 5])
    X[rng.random(X.shape) < 0.1] = np.nan
    labels = np.array(["oak", "ash", "elm"])[y]
    for learner in (Stump(categorical_features=[4]), Tree(2, categorical_features=[4])):
        model = AdaBoost(learner, n_estimators=30, multiclass="samme").fit(X, labels)
        assert model.certificate_.verify(X, labels), model.certificate_.discrepancies(X, labels)
        assert model.score(X, labels) > 0.8
        assert model.feature_importances_.sum() == pytest.approx(1)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


# ---- adversaries --------------------------------------------------------------------------------


@by_model
def test_a_changed_model_is_no_longer_certified(model):
    X, y = three_clouds(90)
    model = clone(model).fit(X, y)
    certificate = model.certificate_
    assert certificate.holds, certificate.objection
    assert certificate.verify(X, y)
    assert not certificate.verify(X, np.roll(y, 1))
    assert not certificate.verify(X[::-1], y[::-1])
    model.ensembles_[0].steps[0] *= 1.5
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, y)


def test_a_ledger_cannot_claim_what_is_not_a_vote():
    X, y = three_clouds(90)
    witness = AdaBoost(n_estimators=8, multiclass="samme").fit(X, y).certificate_.witness
    first, *rest = witness.combinations
    trees = first.learners
    flipped = replace(first, learners=replace(trees, value=-trees.value))
    assert "exactly one" in replace(witness, combinations=(flipped, *rest)).check(X, y).objection
    name = "largest |err − (1 − 1/K)| after a round"
    halved = witness.about(witness.coef / 2, 0.0).check(X, y)
    assert halved.holds  # any vote has its bound, but this one is not the closed form
    assert halved.figures[name] > 0.01 > witness.check(X, y).figures[name]
    against = witness.about(-witness.coef, 0.0).check(X, y)
    assert against.vacuous
    assert against.lower > 0.5


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (AdaBoost(multiclass="vote"), "multiclass"),
        (AdaBoost("linear", multiclass="samme"), "weak_learner"),
        (AdaBoost(Stump(search="exact"), multiclass="samme"), "search"),
    ],
)
def test_bad_parameters(model, parameter):
    with refuses(parameter):
        model.fit(*three_clouds())
