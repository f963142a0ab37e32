"""Boosting against scikit-learn and against problems solved by other means."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cotas import AdaBoost, ConvexAnyBoost, GentleBoost, LogitBoost, Stump, Tree, certify
from problems import clouds, three_clouds


def grid(n=300, seed=0):
    """Features with few values, weights that break no ties by chance."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 50, (n, 5)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] / 25 + 10 * rng.normal(size=n) > 50, 1, -1)
    return X, y, rng.random(n) + 0.5


@pytest.mark.parametrize("weak", [Stump(criterion="gini"), Tree(2), Tree(3)])
def test_adaboost_is_that_of_scikit_learn_round_by_round(weak):
    X, y, weights = grid()
    theirs = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=weak.depth), n_estimators=20, random_state=0
    ).fit(X, y, sample_weight=weights)
    ours = AdaBoost(weak, n_estimators=20).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.round_errors_, theirs.estimator_errors_, rtol=1e-7)
    np.testing.assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-7)
    for mine, other in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(("booster", "rounds"), [(LogitBoost, 3), (GentleBoost, 8)])
def test_our_trees_and_those_of_scikit_learn_make_the_same_model(booster, rounds):
    """LogitBoost as long as no leaf reaches the limit of our trees."""
    X, y, weights = grid()
    ours = booster(Tree(2), n_estimators=rounds).fit(X, y, sample_weight=weights)
    peer = DecisionTreeRegressor(max_depth=2)
    theirs = booster(peer, n_estimators=rounds, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-6, atol=1e-9
    )
    assert theirs.certificate_.verify(X, y)
    assert ours.certificate_.upper == pytest.approx(theirs.certificate_.upper)


def every_stump(X):
    """The values of all stumps on the rows, one column each, both signs."""
    columns = [np.ones(len(X))]
    columns += [
        np.where(X[:, j] > t, 1.0, -1.0) for j in range(X.shape[1]) for t in np.unique(X[:, j])
    ]
    stumps = np.column_stack(columns)
    return np.hstack([stumps, -stumps])


def test_the_gap_encloses_the_optimum_over_the_hull():
    X, y, _ = grid(60)
    X = np.round(X / 10)
    stumps = every_stump(X)
    radius, signs = 2.0, y.astype(float)

    def cost(a):
        m = signs * (stumps @ a)
        return np.mean(np.log1p(np.exp(-m))), stumps.T @ (-signs / (1 + np.exp(m))) / len(y)

    best = minimize(
        cost, np.full(stumps.shape[1], radius / stumps.shape[1]), jac=True, method="SLSQP",
        bounds=[(0, None)] * stumps.shape[1],
        constraints={"type": "eq", "fun": lambda a: a.sum() - radius, "jac": np.ones_like},
        options={"maxiter": 500, "ftol": 1e-12},
    ).fun  # fmt: skip
    found = ConvexAnyBoost(cost="logistic", radius=radius, n_estimators=3000, tol=1e-3).fit(X, y)
    certificate = found.certificate_
    assert certificate.lower - 1e-7 <= best <= certificate.upper + 1e-7


def test_the_margin_bracket_holds_the_linear_program():
    X, y = clouds(60, 3, seed=4)
    X = np.round(X, 1)
    stumps = every_stump(X)
    k = stumps.shape[1]
    # max ρ  with  y_i Σ a_j f_j(x_i) ≥ ρ,  a ≥ 0,  Σ a = 1
    program = linprog(
        np.r_[np.zeros(k), -1.0],
        A_ub=np.hstack([-y[:, None] * stumps, np.ones((60, 1))]),
        b_ub=np.zeros(60),
        A_eq=np.r_[np.ones(k), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)],
    )
    best = -program.fun
    for rounds in (5, 400):
        figures = AdaBoost(n_estimators=rounds, step=0.02).fit(X, y).certificate_.figures
        assert figures["smallest margin yF/Σ|c|"] <= best + 1e-9
        assert best <= figures["largest edge of a stump at the last weights"] + 1e-9


def test_adaboost_of_scikit_learn_is_certified():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    certificate = certify(model, X, y)
    assert certificate.holds
    assert certificate.verify(X, y)
    errors = model.estimator_errors_
    assert certificate.upper == pytest.approx(np.prod(2 * np.sqrt(errors * (1 - errors))))
    assert certificate.lower >= 1 - model.score(X, y)
    assert "DecisionTreeClassifier" in " ".join(certificate.trusted)
    slow = AdaBoostClassifier(n_estimators=10, learning_rate=0.3, random_state=0).fit(X, y)
    assert certify(slow, X, y).holds


def test_votes_of_several_classes_are_certified():
    X, y = load_iris(return_X_y=True)
    weights = np.linspace(0.5, 1.5, 150)
    model = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=15, random_state=0
    ).fit(X, y, sample_weight=weights)
    certificate = certify(model, X, y, sample_weight=weights)
    assert certificate.holds
    assert not certificate.vacuous
    wrong = weights[model.predict(X) != y].sum() / weights.sum()
    assert certificate.lower == pytest.approx(wrong)
    assert not certificate.verify(X, np.roll(y, 1))
    stumps = AdaBoostClassifier(n_estimators=5, random_state=0).fit(*three_clouds())
    assert certify(stumps, *three_clouds()).holds


def test_each_class_against_the_rest_keeps_its_name():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    peer = AdaBoostClassifier(n_estimators=5, random_state=0)
    certificate = certify(OneVsRestClassifier(peer).fit(X, names), X, names)
    assert certificate.verify(X, names), certificate.discrepancies(X, names)
    for part, name in zip(certificate.parts, np.unique(names), strict=True):
        assert part.label == f"{name} against the rest"
        assert f"class {name}" in part.statement
