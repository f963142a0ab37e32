"""Newton's method on the rounded hinge against the interior-point method, on the same problem."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cotas.solvers import semismooth_newton as module
from cotas.solvers.interior_point import Start, interior_point
from cotas.solvers.semismooth_newton import semismooth_newton
from problems import clouds, labelled

# Without a bias, with a free one, and with one that is penalized.
BIASES = [(0.0, 0.0), (1.0, 0.0), (0.0, 2.0)]


def problem(data, weighted):
    y = data.y.astype(float)
    weights = np.linspace(0.2, 2, len(y)) if weighted else np.ones(len(y))
    return data.X, y, weights / weights.sum()


def until(tol, iterates, most=300):
    for iterate in islice(iterates, most):
        if iterate.primal - iterate.dual <= tol * max(iterate.primal, 1e-3):
            break
    return iterate


def check(X, y, weights, lam, bias, bias_scale, tol):
    exact = until(1e-9, interior_point(X, y, weights, lam, bias, bias_scale))
    found = until(tol, semismooth_newton(X, y, weights, lam, bias, bias_scale))
    slack = tol * max(exact.primal, 1e-3) + 1e-9
    assert exact.dual - slack <= found.primal <= exact.primal + slack
    assert (found.alpha >= 0).all()
    assert (found.alpha <= weights * (1 + 1e-12)).all()
    excess = y * (X @ found.theta + found.theta0) - 1
    penalty = (
        found.theta @ found.theta + (found.theta0 / bias_scale) ** 2
        if bias_scale
        else (found.theta @ found.theta)
    )
    assert found.primal == pytest.approx(
        weights @ np.maximum(0, -excess) + lam / 2 * penalty, rel=1e-9
    )


@pytest.mark.parametrize(("bias", "bias_scale"), BIASES)
@given(data=labelled(), lam=st.sampled_from([0.01, 0.1, 1.0]), weighted=st.booleans())
def test_it_reaches_the_optimum(bias, bias_scale, data, lam, weighted):
    check(*problem(data, weighted), lam, bias, bias_scale, 1e-6)


@pytest.mark.parametrize(("bias", "bias_scale"), BIASES)
@pytest.mark.parametrize("largest", [2, 100])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_with_many_features_it_takes_turns(monkeypatch, largest, bias, bias_scale, layout):
    monkeypatch.setattr(module, "FEW_FEATURES", 2)
    monkeypatch.setattr(module, "LARGEST_SYSTEM", largest)
    data = clouds(n=300, d=8, seed=3)
    X, y, weights = problem(data, True)
    exact = until(1e-9, interior_point(X, y, weights, 1e-4, bias, bias_scale))
    iterates = semismooth_newton(layout(X), y, weights, 1e-4, bias, bias_scale)
    found = until(1e-6, iterates, most=1000)
    assert found.primal == pytest.approx(exact.primal, rel=2e-6)


def test_a_sample_comes_first_and_changes_nothing(monkeypatch):
    data = clouds(n=3000, d=3, seed=0)
    X, y, weights = problem(data, False)
    monkeypatch.setattr(module, "FEWEST", 100)
    with_sample = until(1e-7, semismooth_newton(X, y, weights, 1e-3, 1.0))
    monkeypatch.setattr(module, "FEWEST", 10**9)
    without = until(1e-7, semismooth_newton(X, y, weights, 1e-3, 1.0))
    assert with_sample.primal == pytest.approx(without.primal, rel=3e-7)


def test_threads_change_nothing():
    data = clouds(n=2000, d=4, seed=1)
    X, y, weights = problem(data, True)
    alone = until(1e-7, semismooth_newton(X, y, weights, 1e-3, 1.0))
    with ThreadPoolExecutor(2) as pool:
        shared = until(1e-7, semismooth_newton(X, y, weights, 1e-3, 1.0, each=pool.map))
    assert (alone.theta == shared.theta).all()
    assert alone.theta0 == shared.theta0


def test_a_known_start_is_used():
    data = clouds(n=500, d=4, seed=2)
    X, y, weights = problem(data, False)
    cold = list(islice(semismooth_newton(X, y, weights, 1e-2, 1.0), 30))
    best = min(cold, key=lambda iterate: iterate.primal)
    start = Start(best.alpha, best.theta0, best.theta)
    first = next(semismooth_newton(X, y, weights, 1e-2, 1.0, start=start))
    assert first.primal == pytest.approx(best.primal, rel=1e-12)
