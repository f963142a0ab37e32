"""The Lasso against scikit-learn and a quadratic program, and certificates for others' models."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, LassoLars, lars_path
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cotas import Lasso, certify, lasso_path
from problems import regression

clarabel = pytest.importorskip("clarabel")

TALL = regression(80, 10, seed=7)
WIDE = regression(30, 100, seed=8)
WEIGHTS = np.linspace(0.0, 2.0, 80)


def quadratic_program(X, y, delta, positive=False):
    """min ‖y − Xβ − β₀‖²/(2n) over the ball, by an interior point; β = a − b with a, b ≥ 0."""
    n, d = X.shape
    Z, t = X - X.mean(axis=0), y - y.mean()
    A = np.hstack([Z, -Z]) / np.sqrt(n)
    P = sparse.csc_matrix(A.T @ A)
    rows = [-np.eye(2 * d), np.ones((1, 2 * d))]
    limits = [np.zeros(2 * d), [delta]]
    if positive:
        rows.append(np.hstack([np.zeros((d, d)), np.eye(d)]))
        limits.append(np.zeros(d))
    cones = [clarabel.NonnegativeConeT(sum(len(row) for row in rows))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.triu(P, format="csc"),
        -(A.T @ t) / np.sqrt(n),
        sparse.csc_matrix(np.vstack(rows)),
        np.concatenate(limits),
        cones,
        settings,
    )
    solution = np.array(solver.solve().x)
    return solution[:d] - solution[d:]


@pytest.mark.parametrize("data", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("delta", [0.5, 4.0])
def test_the_ball_against_a_quadratic_program(data, positive, delta):
    expected = quadratic_program(*data, delta, positive)
    model = Lasso(delta=delta, positive=positive, tol=1e-10).fit(*data)
    np.testing.assert_allclose(model.coef_, expected, atol=2e-4)


@pytest.mark.parametrize("data", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csc_matrix])
def test_the_penalty_against_scikit_learn(data, positive, bias, convert):
    X, y = data
    options = {"positive": positive, "fit_intercept": bias}
    peer = SklearnLasso(alpha=0.07, tol=1e-12, max_iter=10**6, **options).fit(convert(X), y)
    model = Lasso(lam=0.07, tol=1e-10, **options).fit(convert(X), y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert model.intercept_ == pytest.approx(peer.intercept_, abs=1e-3)


def test_weights_against_scikit_learn():
    peer = SklearnLasso(alpha=0.05, tol=1e-12, max_iter=10**6)
    peer.fit(*TALL, sample_weight=WEIGHTS)
    model = Lasso(lam=0.05, tol=1e-10).fit(*TALL, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)


def test_the_breakpoints_against_lars():
    X, y = load_diabetes(return_X_y=True)
    alphas, _, coefs = lars_path(X, y - y.mean(), method="lasso")
    path = lasso_path(X, y, method="homotopy", ratio=1e-6)
    inside = alphas > path.lams[-1]
    np.testing.assert_allclose(path.lams[:-1], alphas[inside], rtol=1e-8)
    np.testing.assert_allclose(path.coefs[:-1].T, coefs[:, inside], atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("bias", [False, True])
def test_accurate_fits_are_proved_accurate(weighted, convert, bias):
    """A fit to high accuracy has a tiny gap only if the problem was read off rightly."""
    X, y = convert(TALL.X), TALL.y
    weights = WEIGHTS if weighted else None
    for kind in (SklearnLasso, ElasticNet):
        for more in ({}, {"positive": True}, {"l1_ratio": 0.2} if kind is ElasticNet else {}):
            model = kind(alpha=0.1, tol=1e-12, max_iter=10**6, fit_intercept=bias, **more)
            model.fit(X, y, sample_weight=weights)
            certificate = certify(model, X, y, sample_weight=weights)
            assert certificate.holds
            assert certificate.gap <= 1e-6 * certificate.upper, model
            assert certificate.verify(TALL.X, y)


def test_fits_that_stop_early_are_found_out():
    X, y = make_regression(100, 300, noise=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        rough = SklearnLasso(alpha=0.01, max_iter=3).fit(X, y)
    certificate = certify(rough, X, y)
    assert certificate.holds
    assert certificate.gap > 0.01 * certificate.upper
    best = Lasso(lam=0.01).fit(X, y).certificate_
    assert certificate.lower <= best.upper <= certificate.upper


def test_perturbed_coefficients_have_a_larger_gap():
    model = ElasticNet(alpha=0.1, tol=1e-10, max_iter=10**6).fit(*TALL)
    before = certify(model, *TALL)
    model.coef_ = model.coef_ + 0.05
    after = certify(model, *TALL)
    assert after.gap > 1e3 * before.gap + 1e-4
    assert after.lower <= before.upper


def test_pipelines_and_models_without_a_certificate():
    pipeline = make_pipeline(StandardScaler(), SklearnLasso(alpha=0.1, tol=1e-10)).fit(*TALL)
    assert certify(pipeline, *TALL).gap < 1e-6
    assert certify(SklearnLasso(alpha=0).fit(*TALL), *TALL).kind == "none"
    assert certify(LassoLars(alpha=0.1).fit(*TALL), *TALL).kind == "none"


def test_our_own_models_are_proved_again():
    model = Lasso(lam=0.1).fit(*TALL)
    assert certify(model, *TALL).gap == pytest.approx(model.certificate_.gap, abs=1e-12)
