"""The same algorithm elsewhere gives the same numbers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import Perceptron as PeerPerceptron
from sklearn.svm import SVC

from cotas import Pegasos, Perceptron
from problems import clouds, three_clouds


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("data", [clouds(300, 8), three_clouds(300, 5)], ids=["two", "three"])
def test_perceptron_makes_the_same_updates(data, convert):
    X = convert(data.X)
    # On sparse data the peer multiplies the updates of the bias by 0.01: compare without.
    bias = convert is np.asarray
    ours = Perceptron(max_iter=6, fit_intercept=bias).fit(X, data.y)
    peer = PeerPerceptron(max_iter=6, tol=None, shuffle=False, fit_intercept=bias).fit(X, data.y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_)


def best_objective(X, y, lam):
    """min mean hinge + (λ/2)‖θ‖² with a free bias, as a smooth quadratic program by SciPy."""
    n, d = X.shape

    def value(v):
        return v[d + 1 :].mean() + lam / 2 * v[:d] @ v[:d]

    def slope(v):
        return np.concatenate([lam * v[:d], [0.0], np.full(n, 1 / n)])

    A = np.hstack([y[:, None] * X, y[:, None], np.eye(n)])
    start = np.concatenate([np.zeros(d + 1), np.ones(n)])
    found = minimize(
        value,
        start,
        jac=slope,
        method="SLSQP",
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_the_best_objective_lies_between_the_bounds(seed, lam):
    X, y = clouds(40, 3, seed=seed)
    best = best_objective(X, y.astype(float), lam)
    certificate = Pegasos(lam=lam, max_iter=2000, random_state=seed).fit(X, y).certificate_
    assert certificate.lower <= best * (1 + 1e-7)
    assert best <= certificate.upper * (1 + 1e-7)
    assert certificate.relative_gap < 0.05


@pytest.mark.parametrize("lam", [0.01, 0.1])
def test_no_lower_bound_above_what_libsvm_found(lam):
    X, y = clouds(200, 5, seed=4)
    peer = SVC(kernel="linear", C=1 / (lam * len(y)), tol=1e-8).fit(X, y)
    theta, theta0 = peer.coef_[0], peer.intercept_[0]
    theirs = np.maximum(0, 1 - y * (X @ theta + theta0)).mean() + lam / 2 * theta @ theta
    certificate = Pegasos(lam=lam, max_iter=3000, random_state=0).fit(X, y).certificate_
    assert certificate.lower <= theirs
    assert certificate.upper == pytest.approx(theirs, rel=2e-2)
