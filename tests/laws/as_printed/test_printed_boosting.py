"""Rugeles Ospina, chapter 1, transcribed: Algorithms 1 to 7 in plain Python, step by step.

Each transcription trains the functions on its own, with scikit-learn's trees or with regressions by
NumPy; the library's F after every round must be the same. The data have few distinct values, so
that bins are values.
"""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cotas
from cotas import AdaBoost, AnyBoost, ConvexAnyBoost, GentleBoost, LogitBoost, RealAdaBoost, Tree
from cotas.experiments import ThreeModels
from cotas.losses import Exponential, Logistic, SquaredHinge
from cotas.solvers.logistic_weights import LogisticWeights
from errors import refuses
from problems import noisy_clouds

ROUNDS = 15


def draw(seed):
    """Two overlapping clouds on a grid, with a tenth of the labels wrong."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(150) < 0.5, 1, -1)
    X = np.round(rng.normal(size=(150, 3)) + 0.8 * y[:, None], 1)
    return X, np.where(rng.random(150) < 0.1, -y, y)


by_seed = pytest.mark.parametrize("seed", range(3))


def stump(X, y, w):
    """The stump of ±1 with the smallest weighted error; among equal ones the first.

    A constant is one too, and comes before all others.
    """
    found = np.full(len(y), 1 if (w * y).sum() > 0 else -1)
    best = w[found != y].sum()
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for cut in (values[:-1] + values[1:]) / 2:
            f = np.where(X[:, j] <= cut, 1, -1)
            error = w[f != y].sum()
            for sign, wrong in ((1, error), (-1, w.sum() - error)):
                if wrong < best - 1e-12:
                    best, found = wrong, sign * f
    return found


def leaves(X, target, w, depth, criterion):
    """Which leaf of a tree of scikit-learn each row is in."""
    kind = DecisionTreeClassifier if criterion == "gini" else DecisionTreeRegressor
    return kind(max_depth=depth).fit(X, target, sample_weight=w).apply(X)


def means(leaf, z, w):
    """The weighted mean of z in each leaf."""
    f = np.zeros(len(z))
    for k in np.unique(leaf):
        f[leaf == k] = np.average(z[leaf == k], weights=w[leaf == k])
    return f


# ---- as the pages have them --------------------------------------------------------------------


def algorithm_1(X, y):
    """AdaBoost discrete. The page adds c, the library half of it (Theorem 1.1.5)."""
    w, F = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for _ in range(ROUNDS):
        f = stump(X, y, w)
        err = w[f != y].sum()
        c = np.log((1 - err) / err)
        w = w * np.exp(c * (f != y))
        w /= w.sum()
        F = F + c * f
        yield F / 2


def algorithm_2(X, y):
    """AdaBoost real, with trees that estimate the probability by the shares in their leaves."""
    w, F = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for _ in range(ROUNDS):
        p = means(leaves(X, y, w, 2, "gini"), (y + 1) / 2, w)
        p = np.clip(p, 1e-6, 1 - 1e-6)  # "acotar los valores"
        f = 0.5 * np.log(p / (1 - p))
        w = w * np.exp(-y * f)
        w /= w.sum()
        F = F + f
        yield F


def algorithm_3(X, y):
    """LogitBoost, z clipped as in FHT00."""
    F, star = np.zeros(len(y)), (y + 1) / 2
    for _ in range(ROUNDS):
        p = np.exp(F) / (np.exp(F) + np.exp(-F))
        w = p * (1 - p)
        z = np.clip((star - p) / w, -4, 4)
        F = F + 0.5 * means(leaves(X, z, w, 2, "squares"), z, w)
        yield F


def algorithm_4(X, y):
    """GentleBoost."""
    w, F = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for _ in range(ROUNDS):
        f = means(leaves(X, y, w, 2, "squares"), y, w)
        F = F + f
        w = w * np.exp(-y * f)
        w /= w.sum()
        yield F


def algorithm_5(X, y):
    """AnyBoost on e^{−yF}, with the step that is chosen there."""
    F = np.zeros(len(y))
    for _ in range(ROUNDS):
        gradient = -y * np.exp(-y * F) / len(y)
        f = stump(X, y, np.exp(-y * F))
        if -(gradient @ f) <= 0:
            return
        err = np.exp(-y * F)[f != y].sum() / np.exp(-y * F).sum()
        F = F + 0.5 * np.log((1 - err) / err) * f
        yield F


def algorithm_6(X, y):
    """Convex AnyBoost as printed: F + wf/Σ|w|, ending by f − F."""
    F, total = np.zeros(len(y)), 0.0
    for _ in range(ROUNDS):
        gradient = -y * np.exp(-y * F) / len(y)
        f = stump(X, y, np.exp(-y * F))
        if -(gradient @ (f - F)) <= 0:
            return
        err = np.exp(-y * F)[f != y].sum() / np.exp(-y * F).sum()
        w = 0.5 * np.log((1 - err) / err)
        total += abs(w)
        F = F + w * f / total
        yield F


def algorithm_7(X, y):
    """The example as printed: the sign of an unweighted regression of y e^{−yF}."""
    F, total, rows = np.zeros(len(y)), 0.0, np.column_stack([X, np.ones(len(y))])
    for _ in range(ROUNDS):
        target = y * np.exp(-y * F)
        f = np.where(rows @ np.linalg.lstsq(rows, target, rcond=None)[0] > 0, 1, -1)
        if (y * f * np.exp(-y * F)).sum() <= 0:
            return
        err = np.exp(-y * F)[f != y].sum() / np.exp(-y * F).sum()
        w = 0.5 * np.log((1 - err) / err)
        total += abs(w)
        F = F + w * f / total
        yield F


# ---- and as the library runs them --------------------------------------------------------------

LIBRARY = {
    algorithm_1: cotas.AdaBoost(n_estimators=ROUNDS),
    algorithm_2: cotas.RealAdaBoost(cotas.Tree(2), n_estimators=ROUNDS),
    algorithm_3: cotas.LogitBoost(cotas.Tree(2), n_estimators=ROUNDS, safeguard=False),
    algorithm_4: cotas.GentleBoost(cotas.Tree(2), n_estimators=ROUNDS),
    algorithm_5: cotas.AnyBoost(step="closed-form", n_estimators=ROUNDS),
    algorithm_6: cotas.ConvexAnyBoost(step="printed", tol=10.0, n_estimators=ROUNDS),
    algorithm_7: cotas.AnyBoost("linear", step="printed", target="gradient", n_estimators=ROUNDS),
}


@by_seed
@pytest.mark.parametrize("printed", LIBRARY, ids=lambda f: f.__name__)
def test_every_step_is_that_of_the_page(printed, seed):
    X, y = draw(seed)
    model = LIBRARY[printed].fit(X, y)
    pages = list(printed(X, y))
    stages = list(model.staged_decision_function(X))
    assert len(pages) == len(stages) > 0
    for page, stage in zip(pages, stages, strict=True):
        np.testing.assert_allclose(stage, page, rtol=1e-7, atol=1e-9)


FINE = {
    algorithm_1: cotas.AdaBoost(cotas.Stump(search="exact"), n_estimators=ROUNDS),
    algorithm_2: cotas.RealAdaBoost(DecisionTreeClassifier(max_depth=2), n_estimators=ROUNDS),
    algorithm_3: cotas.LogitBoost(
        DecisionTreeRegressor(max_depth=2), n_estimators=ROUNDS, safeguard=False
    ),
    algorithm_4: cotas.GentleBoost(DecisionTreeRegressor(max_depth=2), n_estimators=ROUNDS),
}


@by_seed
@pytest.mark.parametrize("printed", FINE, ids=lambda f: f.__name__)
def test_columns_of_many_values_need_no_bins(printed, seed):
    """300 values in each column, where the library's own trees have 256 bins."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(300) < 0.5, 1, -1)
    X = rng.normal(size=(300, 2)) + 0.5 * y[:, None]
    stages = FINE[printed].set_params(random_state=0).fit(X, y).staged_decision_function(X)
    for page, stage in zip(printed(X, y), stages, strict=True):
        np.testing.assert_allclose(stage, page, rtol=1e-7, atol=1e-9)


@by_seed
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_as_printed_f_leaves_the_hull(seed):
    """What the text before Algorithm 6 asks for, Σ|w| ≤ 1, does not follow from its update."""
    X, y = draw(seed)
    printed = cotas.ConvexAnyBoost(step="printed", tol=1e-9, n_estimators=ROUNDS).fit(X, y)
    convex = cotas.ConvexAnyBoost(step="closed-form", tol=1e-9, n_estimators=ROUNDS).fit(X, y)
    assert printed.n_rounds_ == convex.n_rounds_ == ROUNDS
    assert np.abs(printed.estimator_weights_).sum() > 1
    assert np.abs(convex.estimator_weights_).sum() == pytest.approx(1)
    assert printed.certificate_.verify(X, y)


def test_algorithm_6_ends_by_f_less_F_and_says_so():
    """Out of the hull F may be farther down the slope than any f that still lowers the cost."""
    X, y = draw(0)
    model = cotas.ConvexAnyBoost(step="printed", tol=10.0, n_estimators=500).fit(X, y)
    assert model.n_rounds_ < 500
    assert "f − F" in model.stop_reason_
    F = model.decision_function(X)
    s = y * np.exp(-y * F)
    assert 0 < s @ stump(X, y, np.abs(s)) <= s @ F


def test_a_run_as_printed_cannot_be_continued():
    X, y = draw(0)
    model = cotas.AnyBoost(step="printed", warm_start=True, n_estimators=3).fit(X, y)
    with refuses("step", naming="warm_start"):
        model.fit(X, y)


# ---- the same, given the functions that each round chose: any weak learner, and the corollaries -


def learners(model, X):
    """The values of each function of a fitted model with two classes, from the checker's copy."""
    return list(model.ensembles_[0].combination().learners.values(X))


def test_algorithm_1_adaboost():
    X, y = noisy_clouds()
    model = AdaBoost(n_estimators=15).fit(X, y)
    w, n = np.full(len(y), 1 / len(y)), len(y)
    total = np.zeros(n)
    for m, f in enumerate(learners(model, X)):
        err = w[f != y].sum()
        assert err == pytest.approx(model.round_errors_[m])
        c = np.log((1 - err) / err)
        assert 0.5 * c == pytest.approx(model.estimator_weights_[m])
        w = w * np.exp(c * (f != y))
        w /= w.sum()
        assert w[f != y].sum() == pytest.approx(0.5)  # Corollary 1
        total += c * f
    np.testing.assert_allclose(2 * model.decision_function(X), total)
    np.testing.assert_array_equal(model.predict(X), np.where(total > 0, 1, -1))


def test_algorithm_2_real_adaboost():
    X, y = noisy_clouds()
    model = RealAdaBoost(n_estimators=10).fit(X, y)
    w, total = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for m, f in enumerate(learners(model, X)):
        for value in np.unique(f):
            leaf = f == value
            p = np.clip(w[leaf & (y > 0)].sum() / w[leaf].sum(), 1e-6, 1 - 1e-6)
            assert value == pytest.approx(0.5 * np.log(p / (1 - p)))
        w = w * np.exp(-y * f)
        w /= w.sum()
        for value in np.unique(f)[np.abs(np.unique(f)) < 6.9]:  # Corollary 2 in each leaf
            assert (w * y)[f == value].sum() == pytest.approx(0, abs=1e-12)
        total += f
        assert model.round_losses_[m] == pytest.approx(np.mean(np.exp(-y * total)))
    np.testing.assert_allclose(model.decision_function(X), total)


def test_algorithm_3_logitboost():
    X, y = noisy_clouds()
    model = LogitBoost(n_estimators=30, safeguard=False).fit(X, y)
    F, star = np.zeros(len(y)), (y + 1) / 2
    for m, f in enumerate(learners(model, X)):
        p = np.exp(F) / (np.exp(F) + np.exp(-F))
        w = p * (1 - p)
        z = np.clip((star - p) / w, -4, 4)
        for value in np.unique(f):
            leaf = f == value
            assert value == pytest.approx(np.average(z[leaf], weights=w[leaf]))
        F = F + 0.5 * f
        assert model.round_losses_[m] == pytest.approx(np.mean(np.log1p(np.exp(-2 * y * F))))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * F)))


def test_algorithm_4_gentleboost():
    X, y = noisy_clouds()
    model = GentleBoost(Tree(2), n_estimators=10).fit(X, y)
    w, F = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for f in learners(model, X):
        for value in np.unique(f):
            assert value == pytest.approx(np.average(y[f == value], weights=w[f == value]))
        assert np.abs(f).max() <= 1
        F, w = F + f, w * np.exp(-y * f)
        w /= w.sum()
    np.testing.assert_allclose(model.decision_function(X), F)


@pytest.mark.parametrize("cost", [Exponential(), Logistic(), SquaredHinge()])
def test_algorithm_5_anyboost(cost):
    X, y = noisy_clouds()
    model = AnyBoost(cost=cost, n_estimators=8).fit(X, y)
    F = np.zeros(len(y))
    for m, f in enumerate(learners(model, X)):
        along = np.mean(-y * cost.slope(y * F) * f)
        assert along == pytest.approx(model.round_edges_[m])
        assert along > 0
        w = model.estimator_weights_[m]
        F = F + w * f
        # The line search leaves no slope along f.
        assert np.mean(y * cost.slope(y * F) * f) == pytest.approx(0, abs=1e-9)
        assert model.round_losses_[m] == pytest.approx(np.mean(cost.value(y * F)))
    np.testing.assert_allclose(model.decision_function(X), F)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("step", ["line-search", "2/(m+2)", 0.2, [0.5, 0.3, 0.2]])
def test_algorithm_6_stays_in_the_hull(step):
    X, y = noisy_clouds()
    model = ConvexAnyBoost(cost="logistic", radius=3.0, step=step, n_estimators=6, tol=1e-9)
    model.fit(X, y)
    cost, F = Logistic(), np.zeros(len(y))
    for m, f in enumerate(learners(model, X)):
        gap = np.mean(-y * cost.slope(y * F) * (3.0 * f - F))
        assert gap == pytest.approx(model.round_edges_[m])
        a = model.ensembles_[0].steps[m] / 3.0
        assert 0 <= a <= 1
        F = (1 - a) * F + a * 3.0 * f
    np.testing.assert_allclose(model.decision_function(X), F)
    assert np.abs(model.estimator_weights_).sum() <= 3.0 * (1 + 1e-12)


def test_the_working_response_of_logitboost():
    """z = ±(1 + e^{∓F}) of the remark after Algorithm 7, F there being twice the one of (1.1)."""
    F = np.linspace(-0.5, 0.5, 9)
    for y in (-1.0, 1.0):
        weights = LogisticWeights(np.full(9, y), np.full(9, 1 / 9), F.copy())
        wz, w, _ = weights.targets(clipped=True)
        np.testing.assert_allclose(wz / w, y * (1 + np.exp(-y * 2 * F)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_algorithm_7_the_example():
    X, y = noisy_clouds()
    model = ConvexAnyBoost(step="closed-form", n_estimators=6, tol=1e-9).fit(X, y)
    F, spent = np.zeros(len(y)), 0.0
    for f in learners(model, X):
        w = np.exp(-y * F)
        err = w[f != y].sum() / w.sum()
        step = 0.5 * np.log((1 - err) / err)
        spent += abs(step)
        F = F + step / spent * (f - F)
    np.testing.assert_allclose(model.decision_function(X), F)


# ---- the algorithm of 1990 ---------------------------------------------------------------------


def three_models(X, y, n_first, random):
    """Section 1.1: h₁, h₂ where h₁ gets half wrong, h₃ where both differ."""
    order = random.permutation(len(y))
    first, rest = order[:n_first], order[n_first:]
    h1 = fitted_stump(X, y, first)
    wrong, right = rest[h1[rest] != y[rest]], rest[h1[rest] == y[rest]]
    half = min(len(wrong), len(right))
    second = np.concatenate([wrong[:half], right[:half]])
    h2 = fitted_stump(X, y, second)
    rest = np.setdiff1d(rest, second)
    h3 = fitted_stump(X, y, rest[h1[rest] != h2[rest]])
    return h1, h2, h3


def fitted_stump(X, y, rows):
    """The best stump for these rows, on all of them."""
    w = np.zeros(len(y))
    w[rows] = 1 / len(y)
    return stump(X, y, w)


@by_seed
def test_a_majority_of_three(seed):
    X, y = draw(seed)
    model = ThreeModels(n_first=50, random_state=seed).fit(X, y)
    pages = three_models(X, y, 50, np.random.RandomState(seed))
    for page, f in zip(pages, model.estimators_, strict=True):
        np.testing.assert_array_equal(f.predict(X), page)
    np.testing.assert_array_equal(model.predict(X), np.sign(sum(pages)))
    assert model.certificate_.verify(X, y)


def test_three_are_better_than_the_worst_that_the_theorem_allows():
    """3α² − 2α³ bounds the error on new data, α being the largest of the three errors."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60_000, 2)), 2)
    y = np.where(X.sum(axis=1) > 0, 1, -1)
    model = ThreeModels(random_state=0).fit(X, y)
    h1, h2, h3 = (f.predict(X) for f in model.estimators_)
    half = 0.5 * (h2 != y)[h1 != y].mean() + 0.5 * (h2 != y)[h1 == y].mean()
    alpha = max((h1 != y).mean(), half, (h3 != y)[h1 != h2].mean())
    assert (model.predict(X) != y).mean() <= 3 * alpha**2 - 2 * alpha**3 + 1e-9


def test_where_there_is_nothing_to_train_on_the_first_model_decides():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, -1, 1, 1])
    model = ThreeModels(n_first=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    with pytest.raises(ValueError, match="n_first"):
        ThreeModels(n_first=0).fit(X, y)
