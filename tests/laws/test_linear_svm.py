"""The support vector machine: both solvers reach the optimum that is proved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from cotas import LinearSVM, Pegasos
from problems import LAYOUTS, clouds, labelled, three_clouds

SOLVERS = ["interior-point", "dual-coordinate-ascent"]
by_solver = pytest.mark.parametrize("solver", SOLVERS)


def objective(X, y, lam, theta, theta0, weights=None):
    weights = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
    return weights @ np.maximum(0, 1 - y * (X @ theta + theta0)) + lam / 2 * theta @ theta


@by_solver
@pytest.mark.parametrize("bias", [True, False])
@given(data=labelled(), lam=st.sampled_from([0.01, 0.1, 1.0]), weighted=st.booleans())
def test_proves_its_optimum(solver, bias, data, lam, weighted):
    weights = np.linspace(0.2, 2, len(data.y)) if weighted else None
    model = LinearSVM(
        lam=lam, solver=solver, fit_intercept=bias, tol=1e-5, max_iterations=20_000, random_state=0
    ).fit(*data, sample_weight=weights)
    certificate = model.certificate_
    assert certificate.relative_gap <= 1e-5
    assert certificate.verify(*data)
    theta, theta0 = model.coef_[0], model.intercept_[0]
    assert certificate.upper == pytest.approx(objective(*data, lam, theta, theta0, weights))
    # Nothing lies below the lower bound.
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.01, 0.1, 1.0):
        other = theta + scale * rng.normal(size=len(theta))
        value = objective(*data, lam, other, theta0 + scale * rng.normal() * bias, weights)
        assert certificate.lower <= value + 1e-12


@pytest.mark.parametrize("lam", [1e-3, 1e-2, 1.0])
def test_solvers_agree_with_each_other_and_with_libsvm(lam):
    X, y = clouds(150, 4)
    fits = [
        LinearSVM(lam=lam, solver=s, tol=1e-9, max_iterations=100_000, random_state=0).fit(X, y)
        for s in SOLVERS
    ]
    peer = SVC(kernel="linear", C=1 / (lam * len(y)), tol=1e-9).fit(X, y)
    theirs = objective(X, y, lam, peer.coef_[0], peer.intercept_[0])
    for model in fits:
        assert model.certificate_.upper <= theirs * (1 + 1e-8)
        # ‖θ − θ*‖ ≤ √(2·gap/λ) for each of them.
        radius = sum(np.sqrt(2 * fit.certificate_.gap / lam) for fit in fits)
        assert np.linalg.norm(model.coef_ - fits[0].coef_) <= radius + 1e-12


@by_solver
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(solver, layout):
    X, y = clouds(100, 4)
    model = LinearSVM(lam=0.05, solver=solver, tol=1e-7, max_iterations=10_000, random_state=0)
    expected = clone(model).fit(X, y)
    other = clone(model).fit(LAYOUTS[layout](X), y)
    assert other.certificate_.upper == pytest.approx(expected.certificate_.upper, abs=2e-7)
    assert other.certificate_.verify(X, y)


def test_badly_scaled_data_converge_too():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVM(lam=1 / len(y), tol=1e-8).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    peer = SVC(kernel="linear", C=1.0).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    theirs = objective(X, signs, 1 / len(y), peer.coef_[0], peer.intercept_[0])
    assert theirs > 1.01 * model.certificate_.upper  # silently more than one percent above


@by_solver
def test_integer_weights_are_repeated_rows(solver):
    X, y = clouds(60, 3)
    weights = np.arange(60) % 3
    model = LinearSVM(lam=0.1, solver=solver, tol=1e-8, max_iterations=20_000, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.certificate_.upper == pytest.approx(repeated.certificate_.upper, abs=2e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2 * np.sqrt(2e-8 / 0.1))


def test_rows_that_are_no_support_vectors_do_not_matter_and_the_others_do():
    X, y = clouds(120, 3, noise=0.6)
    model = LinearSVM(lam=0.05, tol=1e-10)
    theta = model.fit(X, y).coef_.copy()
    support = model.support_
    assert 0 < len(support) < 120
    assert model.n_support_[0] == len(support)
    np.testing.assert_allclose(model.dual_coef_ @ X[support] / 0.05, theta[0], atol=1e-4)
    # Weights instead of removal keep the mean over all n rows in the objective.
    only = np.zeros(120)
    only[support] = 1.0
    kept = LinearSVM(lam=0.05 * 120 / len(support), tol=1e-10).fit(X[support], y[support])
    np.testing.assert_allclose(kept.coef_, theta, atol=1e-3)
    others = np.setdiff1d(np.arange(120), support)
    without = LinearSVM(lam=0.05, tol=1e-10).fit(X[others], y[others])
    assert np.linalg.norm(without.coef_ - theta) > 1e-2


def test_several_classes():
    X, y = three_clouds()
    model = LinearSVM(lam=0.01, tol=1e-6).fit(X, y)
    assert len(model.certificate_) == len(model.support_) == 3
    for k, certificate in enumerate(model.certificate_):
        assert certificate.relative_gap <= 1e-6
        assert certificate.verify(X, y)
        alone = LinearSVM(lam=0.01, tol=1e-6).fit(X, y == k)
        np.testing.assert_allclose(alone.coef_[0], model.coef_[k], atol=1e-8)


def test_never_worse_than_pegasos():
    X, y = clouds(200, 5)
    exact = LinearSVM(lam=0.01, tol=1e-8).fit(X, y).certificate_
    stochastic = Pegasos(lam=0.01, random_state=0).fit(X, y).certificate_
    assert stochastic.lower <= exact.upper
    assert exact.lower <= stochastic.upper


@by_solver
def test_stops_and_says_why(solver):
    X, y = clouds(200, 5)
    with pytest.warns(ConvergenceWarning, match="relative gap proved"):
        model = LinearSVM(solver=solver, tol=1e-12, max_iterations=2, random_state=0).fit(X, y)
    assert model.stop_reason_ == "max_iterations reached"
    assert model.certificate_.verify(X, y)
    with pytest.warns(ConvergenceWarning):
        model = LinearSVM(solver=solver, tol=1e-12, max_time=1e-9, random_state=0).fit(X, y)
    assert model.stop_reason_ == "max_time reached"
    reports = []

    def second(report):
        reports.append(report)
        return len(reports) == 2

    with pytest.warns(ConvergenceWarning):
        model.set_params(callbacks=second, max_time=None).fit(X, y)
    assert model.stop_reason_ == "a callback asked to stop"
    assert reports[0].certificate.kind == "duality"


@by_solver
def test_ctrl_c_gives_the_best_so_far(solver):
    X, y = clouds(200, 5)

    def interrupt(report):
        if report.iteration == 3:
            raise KeyboardInterrupt

    model = LinearSVM(solver=solver, tol=1e-12, callbacks=interrupt, random_state=0)
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.certificate_.verify(X, y)


def test_a_perturbed_model_fails():
    X, y = clouds(80, 3)
    model = LinearSVM(lam=0.1).fit(X, y)
    assert model.certificate_.verify(X, y)
    model.coef_ = model.coef_ * 1.001
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, y)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [({"lam": 0}, "lam"), ({"tol": -1}, "tol"), ({"solver": "magic"}, "solver")],
)
def test_bad_parameters(parameters, name):
    with pytest.raises(ValueError, match=name):
        LinearSVM(**parameters).fit([[1.0], [2.0]], [0, 1])


def test_the_certificate_names_the_solver():
    X, y = clouds(60, 3)
    assert "interior-point" in str(LinearSVM().fit(X, y).certificate_)
