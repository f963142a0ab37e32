"""Least squares and ridge against independent answers: scikit-learn and NumPy."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cotas
from problems import plane

SOLVERS = ("normal-equations", "qr", "conjugate-gradients")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_least_squares_is_numpys(solver, bias):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    Z = np.column_stack([X, np.ones(len(X))]) if bias else X
    expected = np.linalg.lstsq(Z, y)[0]
    model = cotas.LeastSquares(solver=solver, fit_intercept=bias, standardize=True, tol=1e-13).fit(
        X, y
    )
    np.testing.assert_allclose(model.coef_, expected[: X.shape[1]], rtol=1e-5)
    if bias:
        assert model.intercept_ == pytest.approx(expected[-1], rel=1e-6)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_ridge_is_scikit_learns(bias, weighted, layout):
    X, y = plane(70, 5)
    weights = np.linspace(0, 3, 70) if weighted else None
    total = 70 if weights is None else weights.sum()
    theirs = linear_model.Ridge(alpha=3.0, fit_intercept=bias, solver="auto", tol=1e-12)
    theirs.fit(X, y, sample_weight=weights)
    ours = cotas.Ridge(lam=3.0 / total, fit_intercept=bias)
    ours.fit(layout(X), y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-8)


@pytest.mark.parametrize("targets", [1, 3])
def test_foreign_models_state_our_problem(targets):
    X, y = plane(70, 5)
    y = y if targets == 1 else np.column_stack([y + c * X[:, c] for c in range(targets)])
    weights = np.linspace(0.5, 3, 70)
    for theirs in (
        linear_model.LinearRegression(),
        linear_model.LinearRegression(fit_intercept=False),
        linear_model.Ridge(alpha=2.0),
        linear_model.Ridge(alpha=np.linspace(1, 2, targets), fit_intercept=False),
    ):
        theirs.fit(X, y, sample_weight=weights)
        for found in cotas.certify(theirs, X, y, sample_weight=weights).singles:
            assert found.holds
            assert found.relative_gap < 1e-10
            assert found.verify(X, y)
        # With other weights it is another problem, and this model is not its answer.
        for found in cotas.certify(theirs, X, y).singles:
            assert found.gap > 1e-6


def test_foreign_models_that_stopped_early_are_found_out():
    X, y = load_diabetes(return_X_y=True)
    early = linear_model.Ridge(alpha=1e-3, solver="sag", max_iter=2, tol=1e-15, random_state=0)
    with pytest.warns(ConvergenceWarning):
        early.fit(X, y)
    best = linear_model.Ridge(alpha=1e-3).fit(X, y)
    slow, exact = cotas.certify(early, X, y), cotas.certify(best, X, y)
    assert exact.relative_gap < 1e-9
    assert slow.lower <= exact.upper * (1 + 1e-12)
    assert slow.gap > 1.0
    assert slow.gap == pytest.approx(slow.upper - exact.upper, rel=1e-6)


def test_foreign_stochastic_descent():
    X, y = plane(200, 4)
    weights = np.linspace(0.5, 2, 200)
    model = linear_model.SGDRegressor(alpha=0.1, max_iter=3000, tol=None, eta0=0.05, random_state=0)
    model.fit(X, y, sample_weight=weights)
    found = cotas.certify(model, X, y, sample_weight=weights)
    best = cotas.Ridge(lam=0.1 / weights.mean()).fit(X, y, sample_weight=weights)
    assert found.lower == pytest.approx(best.certificate_.upper, rel=1e-9)
    assert found.relative_gap < 1e-2
    other = linear_model.SGDRegressor(loss="huber").fit(X, y)
    assert cotas.certify(other, X, y).kind == "none"


def test_what_is_not_certified_says_why():
    X, y = plane(70, 3)
    for model in (
        linear_model.LinearRegression(positive=True),
        linear_model.Ridge(positive=True, solver="lbfgs"),
    ):
        found = cotas.certify(model.fit(X, y), X, y)
        assert found.kind == "none"
        assert "positive" in found.statement


def test_pipelines():
    X, y = plane(70, 3)
    pipeline = make_pipeline(StandardScaler(), linear_model.Ridge(alpha=1.0)).fit(X, y)
    assert cotas.certify(pipeline, X, y).relative_gap < 1e-12
    ours = make_pipeline(StandardScaler(), cotas.Ridge(lam=1.0 / 70)).fit(X, y)
    np.testing.assert_allclose(ours[-1].coef_, pipeline[-1].coef_, rtol=1e-9)
    assert cotas.certify(ours, X, y).holds
