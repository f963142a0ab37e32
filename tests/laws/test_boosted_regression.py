"""LS-Boost with weak learners: descent, equivalences, and what its certificate may say."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeRegressor

import cotas
from cotas import LSBoost, Stump, Tree
from errors import refuses

X, Y = make_friedman1(300, n_features=6, noise=1.0, random_state=0)
X, Y = np.round(X, 2), np.round(Y, 3)
LOSSES = ("squared", "absolute")
LEARNERS = ("stump", "tree", "linear", DecisionTreeRegressor(max_depth=2))
by_loss = pytest.mark.parametrize("loss", LOSSES)
by_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)


def value(loss, r):
    return r * r / 2 if loss == "squared" else abs(r)


def binned_stumps(data):
    """All stumps of ±1 that tell values of the data apart, one column each."""
    columns = []
    for x in data.T:
        cuts = np.unique(x)[:-1]
        columns += [np.where(x <= cut, -1.0, 1.0) for cut in cuts]
    return np.stack(columns, axis=1)


def radius(model):
    trees = model.ensembles_[0]
    leaves = trees.functions.value
    return float(np.abs(trees.coefficients) @ np.abs(leaves[:, 1] - leaves[:, 0]) / 2)


# ---- the algorithm -----------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_squares_are_gradient_boosting(depth):
    theirs = GradientBoostingRegressor(max_depth=depth, n_estimators=20, learning_rate=0.3).fit(
        X, Y
    )
    ours = LSBoost(Tree(depth), 20, learning_rate=0.3).fit(X, Y)
    for a, b in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_absolute_values_hold_medians_in_the_leaves():
    """One round by hand: a tree for the signs, and the medians of the residuals."""
    F = np.full(len(Y), np.sort(Y)[(len(Y) - 1) // 2])
    r = Y - F
    tree = DecisionTreeRegressor(max_depth=2).fit(X[r != 0], np.sign(r[r != 0]))
    leaf = tree.apply(X)
    for k in np.unique(leaf):
        z = np.sort(r[leaf == k])
        F[leaf == k] += 0.5 * z[(len(z) - 1) // 2]
    model = LSBoost(Tree(2), 1, learning_rate=0.5, loss="absolute").fit(X, Y)
    np.testing.assert_allclose(model.predict(X), F, rtol=1e-12)


@by_loss
@by_learner
def test_the_loss_never_rises(learner, loss):
    model = LSBoost(learner, 30, learning_rate=0.5, loss=loss).fit(X, Y)
    losses = [value(loss, Y - F).mean() for F in model.staged_predict(X)]
    np.testing.assert_allclose(losses, model.round_losses_, rtol=1e-9)
    assert (np.diff(losses) < 0).all()
    assert model.certificate_.holds
    np.testing.assert_allclose(model.certificate_.upper, losses[-1], rtol=1e-9)
    rise = model.certificate_.figures.get("rise of the loss in a round, at most")
    if rise is not None:
        start = value(loss, Y - model.intercept_).mean()
        largest = np.diff([start, *losses]).max()
        assert largest <= rise <= largest + 1e-9 * start


@by_loss
def test_the_start_is_the_best_constant(loss):
    model = LSBoost("stump", 1, loss=loss).fit(X, Y)
    best = value(loss, Y - model.intercept_).mean()
    for other in (*np.quantile(Y, [0.3, 0.49, 0.51, 0.7]), Y.mean()):
        assert best <= value(loss, Y - other).mean() + 1e-12


@by_loss
@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_weights_are_repeated_rows(learner, loss):
    w = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
    model = LSBoost(learner, 15, loss=loss)
    weighted = clone(model).fit(X, Y, sample_weight=w)
    rows = np.repeat(np.arange(len(Y)), w.astype(int))
    repeated = clone(model).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    a, b = weighted.certificate_, repeated.certificate_
    np.testing.assert_allclose([a.lower, a.upper], [b.lower, b.upper], rtol=1e-8)
    assert a.verify(X, Y)


@by_loss
def test_layouts_precisions_and_threads_agree(loss):
    coarse = np.where(X > 0.6, np.round(4 * X) / 4, 0.0)
    model = LSBoost(Tree(2), 10, loss=loss)
    expected = clone(model).fit(coarse, Y).predict(coarse)
    for form in (coarse.astype(np.float32), sparse.csr_matrix(coarse), np.asfortranarray(coarse)):
        other = clone(model).fit(form, Y)
        np.testing.assert_allclose(other.predict(form), expected, rtol=1e-12)
        assert other.certificate_.verify(coarse, Y)
    one = clone(model).set_params(n_jobs=1).fit(coarse, Y)
    np.testing.assert_array_equal(one.predict(coarse), expected)


@by_loss
def test_missing_values_and_categories(loss):
    rng = np.random.default_rng(1)
    data = X.copy()
    data[:, 1] = rng.integers(0, 5, len(Y))
    data[rng.random(len(Y)) < 0.2, 0] = np.nan
    shifted = Y + 4.0 * np.array([0, 3, 1, 0, 2])[data[:, 1].astype(int)]
    model = LSBoost(Stump(categorical_features=[1]), 40, loss=loss, learning_rate=0.5)
    model.fit(data, shifted)
    plain = clone(model).set_params(weak_learner=Stump()).fit(data, shifted)
    assert model.certificate_.holds
    assert model.certificate_.verify(data, shifted)
    assert model.certificate_.upper < plain.certificate_.upper
    data[0, 1] = 17.0  # a category that nobody has seen
    assert np.isfinite(model.predict(data)).all()


# ---- the certificate ---------------------------------------------------------------------------


@by_loss
def test_no_combination_of_stumps_goes_below_the_bound(loss):
    data = np.round(4 * X[:120, :3]) / 4
    y = Y[:120]
    model = LSBoost("stump", 50, learning_rate=0.3, loss=loss).fit(data, y)
    certificate, reach, stumps = model.certificate_, radius(model), binned_stumps(data)
    assert 0 < certificate.lower < certificate.upper
    assert not certificate.vacuous
    G, b = np.zeros(len(y)), np.median(y)
    least = np.inf
    for m in range(2000):  # the Frank–Wolfe method over the class itself
        r = y - G - b
        b += r.mean() if loss == "squared" else np.median(r)
        slope = (y - G - b) if loss == "squared" else np.sign(y - G - b)
        edges = stumps.T @ slope
        j = np.abs(edges).argmax()
        G += 2 / (m + 2) * (reach * np.sign(edges[j]) * stumps[:, j] - G)
        least = min(least, value(loss, y - G - b).mean())
    assert certificate.lower <= least <= certificate.upper * 1.01


@by_loss
def test_rows_that_coincide_bound_every_function(loss):
    """What rows with equal features leave is left by all trees, and many rounds come near it."""
    data = np.repeat(np.round(2 * X[:60, :3]) / 2, 5, axis=0)
    y = np.random.default_rng(0).normal(size=300) + data @ [1.0, -2.0, 3.0]
    model = LSBoost(Tree(4), 400, learning_rate=0.5, loss=loss).fit(data, y)
    groups = {}
    for row, target in zip(map(tuple, data), y, strict=True):
        groups.setdefault(row, []).append(target)
    centre = np.mean if loss == "squared" else np.median
    pure = sum(value(loss, np.array(g) - centre(g)).sum() for g in groups.values()) / len(y)
    certificate = model.certificate_
    np.testing.assert_allclose(certificate.lower, pure, rtol=1e-9)
    assert certificate.lower <= pure * (1 + 1e-12)
    assert certificate.relative_gap < 0.01
    assert not certificate.vacuous


def test_a_bound_that_says_nothing_is_called_vacuous():
    data = np.random.default_rng(0).normal(size=(200, 3))
    certificate = LSBoost(Tree(3), 10).fit(data, data[:, 0] ** 2).certificate_
    assert certificate.holds
    assert certificate.vacuous
    assert certificate.lower == 0


@by_loss
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_the_loss_is_enclosed_in_exact_arithmetic(loss, scale):
    y = scale * Y[:40]
    model = LSBoost(Tree(2), 7, learning_rate=0.3, loss=loss).fit(X[:40], y)
    ensemble, total = model.ensembles_[0], Fraction(0)
    functions = np.array(list(ensemble.combination().learners.values(X[:40])))
    for i, target in enumerate(y):
        F = Fraction(model.intercept_)
        for c, f in zip(ensemble.coefficients, functions[:, i], strict=True):
            F += Fraction(c) * Fraction(f)
        total += value(loss, Fraction(target) - F)
    exact, upper = total / len(y), Fraction(model.certificate_.upper)
    assert exact <= upper <= exact * (1 + Fraction(1, 10**8)) + Fraction(10) ** -300


def test_a_forged_class_does_not_verify():
    certificate = LSBoost("stump", 20).fit(X, Y).certificate_
    witness = certificate.witness
    fewer = replace(witness.tests, thresholds=tuple(t[:1] for t in witness.tests.thresholds))
    for forged in (
        replace(witness, tests=fewer),
        replace(witness, constant=witness.constant + 1.0),
        replace(witness, loss="absolute"),
        replace(witness, weights=np.arange(1.0, len(Y) + 1)),
        replace(witness, constant=np.nan),
    ):
        assert not replace(certificate, witness=forged).verify(X, Y)


# ---- the estimator -----------------------------------------------------------------------------


@by_loss
@by_learner
def test_prefixes_and_stages_are_shorter_runs(learner, loss):
    whole = LSBoost(learner, 12, loss=loss, random_state=0).fit(X, Y)
    short = LSBoost(learner, 5, loss=loss, random_state=0).fit(X, Y)
    stages = list(whole.staged_predict(X))
    np.testing.assert_allclose(stages[-1], whole.predict(X), rtol=1e-12)
    np.testing.assert_allclose(stages[4], short.predict(X), rtol=1e-12)
    np.testing.assert_allclose(whole[:5].predict(X), short.predict(X), rtol=1e-12)
    assert not whole[:5].certificate_.holds
    assert whole[:5].n_iter_ == 5
    assert cotas.certify(whole[:5], X, Y).holds


def test_stages_on_columns():
    model = LSBoost(max_iter=30).fit(X, Y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_iter_
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-9)
    with pytest.raises(TypeError, match="path_"):
        model[:3]


def test_warm_start_goes_on():
    model = LSBoost("tree", 5, warm_start=True).fit(X, Y).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), LSBoost("tree", 10).fit(X, Y).predict(X))
    assert model.certificate_.verify(X, Y)
    assert model.n_iter_ == 10


def test_early_stopping_keeps_the_best_round():
    seen = []
    model = LSBoost(
        "tree", 500, early_stopping=True, learning_rate=1.0, random_state=0, callbacks=seen.append
    ).fit(X, Y)
    losses = [report.validation_loss for report in seen]
    assert model.n_iter_ == np.argmin(losses) + 1 == len(losses) - model.n_iter_no_change
    assert model.certificate_.verify(X, Y)
    assert (model.certificate_.witness.weights == 0).sum() == 30


def test_callbacks_and_time_end_a_run():
    model = LSBoost("tree", 50, callbacks=lambda report: report.round == 3).fit(X, Y)
    assert model.n_iter_ == 3
    assert "callback" in model.stop_reason_
    model = LSBoost("tree", 10**6, max_time=1e-6).fit(X, Y)
    assert model.n_iter_ < 10
    assert model.stop_.name == "TIME"


def test_one_model_for_both_forgets_the_other():
    model = LSBoost(max_iter=10).fit(X, Y)
    model.set_params(weak_learner="stump", max_iter=1000).fit(X, Y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "path_")
    assert model.certificate_.verify(X, Y)
    model.set_params(weak_learner=None).fit(X, Y)
    assert not hasattr(model, "ensembles_")
    assert model.certificate_.verify(X, Y)


@pytest.mark.parametrize(
    ("parameters", "parameter", "naming"),
    [
        ({"weak_learner": "stump", "eps": 0.3}, "eps", "learning_rate"),
        ({"weak_learner": "stump", "max_iter": 5}, "max_iter", "n_estimators"),
        ({"weak_learner": "stump", "ties": "random"}, "ties", "random"),
        ({"learning_rate": 0.3}, "learning_rate", "eps"),
        ({"n_estimators": 5}, "n_estimators", "max_iter"),
        ({"loss": "absolute"}, "loss", "weak_learner"),
        ({"early_stopping": True}, "early_stopping", "weak_learner"),
        ({"weak_learner": "stump", "learning_rate": 1.5}, "learning_rate", "1.5"),
        ({"weak_learner": "stump", "learning_rate": 0.0}, "learning_rate", "0.0"),
        ({"weak_learner": "stump", "loss": "huber"}, "loss", "huber"),
        ({"weak_learner": "stump", "max_time": 0.0}, "max_time", "0.0"),
        ({"weak_learner": "forest"}, "weak_learner", "forest"),
        ({"weak_learner": Stump(search="exact")}, "search", "histogram"),
    ],
    ids=str,
)
def test_parameters_that_would_be_ignored_or_mean_nothing(parameters, parameter, naming):
    with refuses(parameter, naming=naming):
        LSBoost(**parameters).fit(X, Y)


def test_data_that_cannot_be_fitted():
    with refuses("y"):
        LSBoost("stump").fit(X, np.full(len(Y), 1e200) * np.sign(Y - 10))
    with pytest.raises(ValueError):
        LSBoost("stump").fit(X, np.column_stack([Y, Y]))
    with pytest.raises(NotFittedError):
        list(LSBoost("stump").staged_predict(X))
    constant = LSBoost("tree").fit(X, np.ones(len(Y)))
    assert constant.n_iter_ == 0
    assert (constant.predict(X) == 1).all()
    assert constant.certificate_.holds
    assert not constant.certificate_.vacuous
