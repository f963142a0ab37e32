"""Cutting planes and Clarabel against the interior-point method, on the same problem."""

import sys
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cotas.solvers.cutting_planes import cutting_planes, simplex_maximum
from cotas.solvers.interior_point import interior_point
from cotas.solvers.quadratic_program import quadratic_program
from problems import LAYOUTS, clouds, labelled

by_bias = pytest.mark.parametrize("bias", [1.0, 0.0])


def problem(data, weighted):
    y = data.y.astype(float)
    weights = np.linspace(0.2, 2, len(y)) if weighted else np.ones(len(y))
    return data.X, y, weights / weights.sum()


def primal(X, y, weights, lam, theta, theta0):
    return weights @ np.maximum(0, 1 - y * (X @ theta + theta0)) + lam / 2 * theta @ theta


def dual(X, y, lam, alpha):
    direction = X.T @ (alpha * y)
    return alpha.sum() - direction @ direction / (2 * lam)


def optimum(X, y, weights, lam, bias):
    """Bounds on the optimum from the interior-point method, about 1e-9 apart, but for rounding."""
    for iterate in islice(interior_point(X, y, weights, lam, bias), 200):
        if iterate.primal - iterate.dual <= 1e-9 * max(iterate.primal, 1e-3):
            break
    return iterate.dual - 1e-8, iterate.primal


def check_feasible(alpha, y, weights, bias):
    assert alpha.min() >= -1e-9
    assert (alpha - weights).max() <= 1e-9
    if bias:
        assert abs(alpha @ y) <= 1e-7


def planes_until(tol, X, y, weights, lam, bias, most=300):
    """The last point, the number of iterations, and all the bounds on the way."""
    bounds = []
    for point in islice(cutting_planes(X, y, weights, lam, bias), most):
        theta, theta0, alpha = point
        upper, lower = primal(X, y, weights, lam, theta, theta0), dual(X, y, lam, alpha)
        bounds.append((upper, lower))
        if upper - lower <= tol * upper:
            break
    return point, bounds


@by_bias
@given(data=labelled(), lam=st.sampled_from([0.01, 0.1, 1.0]), weighted=st.booleans())
def test_cutting_planes_reach_the_optimum(bias, data, lam, weighted):
    X, y, weights = problem(data, weighted)
    low, high = optimum(X, y, weights, lam, bias)
    (_, theta0, alpha), bounds = planes_until(1e-5, X, y, weights, lam, bias)
    upper, lower = bounds[-1]
    assert upper <= high * (1 + 1e-4) + 1e-9
    assert upper - lower <= 1e-4 * upper + 1e-9
    assert bias or theta0 == 0
    check_feasible(alpha, y, weights, bias)
    uppers, lowers = np.array(bounds).T
    assert lowers.max() <= high + 1e-9
    assert uppers.min() >= low - 1e-9
    assert np.all(np.diff(uppers) <= 1e-9)
    assert np.all(np.diff(lowers) >= -1e-9)


@by_bias
@given(data=labelled(), lam=st.sampled_from([0.01, 0.1, 1.0]), weighted=st.booleans())
def test_the_quadratic_program_has_the_same_optimum(bias, data, lam, weighted):
    pytest.importorskip("clarabel")
    X, y, weights = problem(data, weighted)
    low, high = optimum(X, y, weights, lam, bias)
    theta, theta0, alpha = quadratic_program(X, y, weights, lam, bias)
    value = primal(X, y, weights, lam, theta, theta0)
    assert low - 1e-9 <= value <= high + 1e-6
    assert high - 1e-6 <= dual(X, y, lam, alpha) <= high + 1e-9
    assert bias or theta0 == 0
    check_feasible(alpha, y, weights, bias)


@by_bias
@pytest.mark.parametrize("lam", [1e-4, 1e-3, 1e-2, 1.0])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_all_agree_on_clouds(bias, lam, noise):
    X, y, weights = problem(clouds(300, 5, noise=noise), weighted=True)
    low, high = optimum(X, y, weights, lam, bias)
    (_, _, alpha), bounds = planes_until(1e-6, X, y, weights, lam, bias)
    assert low - 1e-9 <= bounds[-1][0] <= high * (1 + 1e-4)
    check_feasible(alpha, y, weights, bias)
    pytest.importorskip("clarabel")
    theta, theta0, alpha = quadratic_program(X, y, weights, lam, bias)
    assert low - 1e-9 <= primal(X, y, weights, lam, theta, theta0) <= high + 1e-6
    check_feasible(alpha, y, weights, bias)


@by_bias
def test_few_planes_are_enough(bias):
    X, y, weights = problem(clouds(2000, 20, noise=2.0), weighted=False)
    _, bounds = planes_until(1e-3, X, y, weights, 1e-2, bias, most=100)
    upper, lower = bounds[-1]
    assert upper - lower <= 1e-3 * upper


def test_dropping_idle_planes_does_no_harm(monkeypatch):
    monkeypatch.setattr("cotas.solvers.cutting_planes.MOST_PLANES", 15)
    monkeypatch.setattr("cotas.solvers.cutting_planes.IDLE_ITERATIONS", 5)
    X, y, weights = problem(clouds(300, 5), weighted=False)
    _, bounds = planes_until(1e-5, X, y, weights, 1e-2, 1.0)
    upper, lower = bounds[-1]
    assert upper - lower <= 1e-5 * upper


@by_bias
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(bias, layout):
    X, y, weights = problem(clouds(150, 4), weighted=True)
    other = LAYOUTS[layout](X)
    low, high = optimum(X, y, weights, 0.02, bias)
    (theta, theta0, _), _ = planes_until(1e-6, other, y, weights, 0.02, bias)
    assert low - 1e-9 <= primal(X, y, weights, 0.02, theta, theta0) <= high * (1 + 1e-5)
    pytest.importorskip("clarabel")
    theta, theta0, _ = quadratic_program(other, y, weights, 0.02, bias)
    assert low - 1e-9 <= primal(X, y, weights, 0.02, theta, theta0) <= high + 1e-6


def test_wide_sparse_data():
    X = sparse.random_array((120, 400), density=0.05, format="csr", rng=0)
    y = np.where(np.arange(120) % 3 == 0, 1.0, -1.0)
    weights = np.full(120, 1 / 120)
    low, high = optimum(X, y, weights, 1e-3, 1.0)
    _, bounds = planes_until(1e-5, X, y, weights, 1e-3, 1.0)
    assert low - 1e-9 <= bounds[-1][0] <= high * (1 + 1e-4)


@given(seed=st.integers(0, 10_000), m=st.integers(1, 30), d=st.integers(1, 6))
def test_the_master_problem_is_solved(seed, m, d):
    rng = np.random.default_rng(seed)
    slopes, heights = rng.normal(size=(m, d)), rng.uniform(size=m)
    start = np.zeros(m)
    start[0] = 1.0
    beta = simplex_maximum(slopes @ slopes.T, heights, start)
    assert beta.min() >= 0
    assert beta.sum() == pytest.approx(1)
    rises = heights - slopes @ (slopes.T @ beta)
    assert rises.max() - beta @ rises <= 1e-9


def test_without_clarabel_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"pip install 'cotas\[qp\]'"):
        quadratic_program(np.ones((2, 1)), np.array([1.0, -1.0]), np.full(2, 0.5), 1.0, 1.0)
