"""LinearSVM against Clarabel, on hundreds of small problems of every kind."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cotas import LinearSVM
from cotas.certificates import DualPoint
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.stops import Stop

clarabel = pytest.importorskip("clarabel")


def best_objective(X, y, weights, lam, bias):
    """The optimum by the program of Fuentes Cabrera, section 3.7, and what Clarabel proves."""
    n, d = X.shape
    Z = np.hstack([X, np.ones((n, 1))]) if bias else X
    k = Z.shape[1]
    constraints = np.block([[-y[:, None] * Z, -np.eye(n)], [np.zeros((n, k)), -np.eye(n)]])
    curvature = np.zeros(k + n)
    curvature[:d] = lam
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(curvature)),
        np.concatenate([np.zeros(k), weights]),
        sparse.csc_matrix(constraints),
        np.concatenate([-np.ones(n), np.zeros(n)]),
        [clarabel.NonnegativeConeT(2 * n)],
        settings,
    ).solve()
    found = np.array(solution.x)[:k]
    theta, theta0 = found[:d], found[d] if bias else 0.0
    upper = weights @ np.maximum(0, 1 - y * (X @ theta + theta0)) + lam / 2 * theta @ theta
    return upper, min(upper, solution.obj_val_dual)


@st.composite
def problems(draw, kinds=("plain", "repeated rows", "zero column", "scaled", "whole numbers")):
    """X, y, weights (or None), λ and whether there is a bias."""
    kind = draw(st.sampled_from(kinds))
    n, d = draw(st.integers(2, 40)), draw(st.sampled_from([1, 1, 2, 3, 5, 30]))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = np.where(random.random(n) < draw(st.sampled_from([0.2, 0.5])), 1.0, -1.0)
    y[0], y[-1] = 1, -1
    apart = draw(st.sampled_from([0.0, 0.5, 3.0]))
    X = random.normal(size=(n, d)) + apart * y[:, None] * random.normal(size=d)
    if kind == "repeated rows":
        X = X[random.integers(0, n, n)]
    elif kind == "zero column":
        X[:, random.integers(0, d)] = 0
    elif kind == "scaled":
        X = X * 10.0 ** random.integers(-2, 3, d)
    elif kind == "whole numbers":
        X = np.round(X)
    weights = None
    if draw(st.booleans()):
        weights = random.choice([0.0, 1.0, 2.0, 3.0], n)
        weights[[0, -1]] = 1.0
    return X, y, weights, draw(st.sampled_from([1e-3, 1e-2, 0.1, 1.0, 10.0])), draw(st.booleans())


def fitted(problem, **options):
    X, y, weights, lam, bias = problem
    model = LinearSVM(lam=lam, fit_intercept=bias, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_weight=weights)


def check(problem, certificate, closeness):
    """The optimum lies between the bounds, and the model as close to it as it says and as asked."""
    X, y, weights, lam, bias = problem
    shares = np.ones(len(y)) if weights is None else weights
    upper, lower = best_objective(X, y, shares / shares.sum(), lam, bias)
    # What Clarabel leaves open: its own gap and its rounding.
    slack = certificate.charge + 1e-11 * max(1.0, upper)
    assert certificate.lower <= upper + slack
    assert lower <= certificate.upper + slack
    assert certificate.upper - upper <= certificate.gap + slack
    assert certificate.upper - upper <= closeness * max(upper, 1e-2) + slack
    assert certificate.verify(X, y)


@settings(max_examples=300)
@given(problem=problems())
def test_interior_point(problem):
    check(problem, fitted(problem, solver="interior-point", tol=1e-10).certificate_, 1e-8)


@settings(max_examples=100)
@given(problem=problems(["plain", "repeated rows", "zero column", "whole numbers"]))
def test_dual_coordinate_ascent(problem):
    options = {"solver": "dual-coordinate-ascent", "max_iter": 2000}
    check(problem, fitted(problem, tol=1e-7, **options).certificate_, 1e-5)


@settings(max_examples=60)
@given(problem=problems(["scaled"]), spread=st.integers(3, 6))
def test_however_badly_scaled_the_bounds_are_true(problem, spread):
    X, *rest = problem
    problem = (X * np.geomspace(10.0**-spread, 10.0**spread, X.shape[1]), *rest)
    for solver in ("newton", "interior-point", "dual-coordinate-ascent"):
        model = fitted(problem, solver=solver, tol=1e-8, max_iter=50)
        certificate = model.certificate_
        X, y, weights, lam, bias = problem
        shares = np.ones(len(y)) if weights is None else weights
        upper, _ = best_objective(X, y, shares / shares.sum(), lam, bias)
        assert certificate.lower <= upper + certificate.charge + 1e-9 * max(1.0, upper)
        proved = certificate.relative_gap <= 1e-8
        assert proved == (model.stop_ is Stop.PROVED)


@given(n=st.integers(2, 40), seed=st.integers(0, 10**6), lam=st.sampled_from([10.0, 100.0, 1000.0]))
def test_the_gap_of_an_exact_optimum_is_what_rounding_costs(n, seed, lam):
    # Short rows and a large λ keep every margin below 1: αᵢ = sᵢ and θ = (1/λ) Σ sᵢyᵢxᵢ.
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1).max()
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    theta = X.T @ y / (n * lam)
    problem = RegularizedRisk(Hinge(), lam, free_bias=False)
    point = DualPoint(problem, theta, 0.0, 1.0, np.ones(n))
    certificate = point.check(X, y)
    assert 0 <= certificate.gap <= certificate.charge <= 1e-11 * certificate.upper
