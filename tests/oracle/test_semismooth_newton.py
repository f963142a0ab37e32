"""Newton's method on the rounded hinge against the interior-point method, on the same problem."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cotas.design import as_design
from cotas.solvers import dual_coordinate_ascent as ascent
from cotas.solvers import semismooth_newton as module
from cotas.solvers.dual_coordinate_ascent import dual_coordinate_ascent
from cotas.solvers.face_ascent import Face
from cotas.solvers.interior_point import Start, interior_point
from cotas.solvers.semismooth_newton import semismooth_newton
from problems import clouds, labelled

ascend_as_written = getattr(ascent.ascend, "py_func", ascent.ascend)


def problem(data, weighted):
    y = data.y.astype(float)
    weights = np.linspace(0.2, 2, len(y)) if weighted else np.ones(len(y))
    return data.X, y, weights / weights.sum()


def until(tol, iterates, most=300):
    for iterate in islice(iterates, most):
        if iterate.primal - iterate.dual <= tol * max(iterate.primal, 1e-3):
            break
    return iterate


def check(X, y, weights, lam, bias, tol):
    exact = until(1e-9, interior_point(X, y, weights, lam, bias))
    found = until(tol, semismooth_newton(X, y, weights, lam, bias))
    slack = tol * max(exact.primal, 1e-3) + 1e-9
    assert exact.dual - slack <= found.primal <= exact.primal + slack
    assert (found.alpha >= 0).all()
    assert (found.alpha <= weights * (1 + 1e-12)).all()
    excess = y * (X @ found.theta + found.theta0) - 1
    primal = weights @ np.maximum(0, -excess) + lam / 2 * found.theta @ found.theta
    assert found.primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@given(data=labelled(), lam=st.sampled_from([0.01, 0.1, 1.0]), weighted=st.booleans())
def test_it_reaches_the_optimum(bias, data, lam, weighted):
    check(*problem(data, weighted), lam, bias, 1e-6)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("largest", [2, 100])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_with_many_features_it_takes_turns(monkeypatch, largest, bias, layout):
    monkeypatch.setattr(module, "FEW_FEATURES", 2)
    monkeypatch.setattr(module, "LARGEST_SYSTEM", largest)
    data = clouds(n=300, d=8, seed=3)
    X, y, weights = problem(data, True)
    exact = until(1e-9, interior_point(X, y, weights, 1e-4, bias))
    iterates = semismooth_newton(layout(X), y, weights, 1e-4, bias)
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


def sparse_rows(seed, n=400, d=40):
    """Sparse rows of which few are support vectors, and ±1."""
    random = np.random.default_rng(seed)
    X = sparse.random(n, d, density=0.2, format="csr", random_state=seed)
    return X, np.where(X @ random.normal(size=d) + 0.1 * random.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("tol", [0.0, 1e-3])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_ascent_knows_its_objectives(bias, tol):
    X, y = sparse_rows(0)
    weights, lam = np.full(len(y), 1 / len(y)), 1e-3
    given = (as_design(X), y, weights, lam, bias)
    for found, _ in islice(dual_coordinate_ascent(*given, tol=tol), 6):
        theta, balance = X.T @ (found.alpha * y) / lam, found.alpha @ y
        np.testing.assert_allclose(found.theta, theta, atol=1e-9)
        loss = weights @ np.maximum(0, 1 - y * (X @ theta + found.theta0))
        primal, dual = loss + lam / 2 * theta @ theta, found.alpha.sum() - lam / 2 * theta @ theta
        if bias:
            dual -= abs(balance) * (1 + abs(found.theta0))
        assert found.primal == pytest.approx(primal, rel=1e-9)
        assert found.dual == pytest.approx(dual, abs=1e-9)
        assert ((found.alpha >= 0) & (found.alpha <= weights)).all()


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("seed", range(3))
def test_the_ascent_reaches_the_gap_that_is_asked_for(seed, lam, tol):
    X, y = sparse_rows(seed)
    given = (as_design(X), y, np.full(len(y), 1 / len(y)), lam, 0.0)
    rounds = (found for found, _ in islice(dual_coordinate_ascent(*given, tol=tol), 200))
    assert any(found.primal - found.dual <= tol * found.primal for found in rounds)


@pytest.mark.parametrize("spring", [0.0, 0.3])
@pytest.mark.parametrize("n", [1, 255, 5000])
def test_a_sweep_takes_each_example_once_and_leaves_none_twice_in_the_order(n, spring):
    rows, theta, idle = as_design(np.ones((n, 1))), np.zeros(1), np.array([np.inf, -np.inf])
    table = np.column_stack([np.zeros(n), np.full(n, 1e9), np.full(n, 1e-9), np.ones(n)])
    order, given = np.arange(n, dtype=np.int32), (0.0, 1, np.uint64(3))
    with np.errstate(over="ignore"):  # of the random numbers, which is how they are made
        # As it is written: then a place outside of an array is an error.
        found = ascend_as_written(rows, table, theta, 0.0, spring, order, n, idle, *given)
    assert (table[:, 0] > 0).all()
    assert theta[0] == pytest.approx(table[:, 0].sum())
    assert len(np.unique(table[:, 0])) == n  # each found what those before it had done
    assert found[1] == n
    table[: n // 2, 0] = 0.0  # at zero, and held there more firmly than anything has moved
    table[: n // 2, 3] = -1.0
    idle[:] = np.inf, 0.5
    with np.errstate(over="ignore"):
        left = ascend_as_written(rows, table, theta, -2.0, spring, order, n, idle, *given)[1]
    assert sorted(order[:left]) == list(range(n // 2, n))


@pytest.mark.parametrize("spring", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_on_a_face_raises_the_dual_and_stays_in_the_box(seed, spring):
    X, y = sparse_rows(seed)
    random, n = np.random.default_rng(seed), len(y)
    most = np.full(n, 0.5)
    alpha = np.clip(random.normal(0.25, 0.3, n), 0.0, most)
    table = np.column_stack([alpha, most, 1 / (X.multiply(X).sum(axis=1).A1 + spring + 1e-9), y])
    before, theta = alpha.copy(), X.T @ (alpha * y)
    theta0 = spring * float(alpha @ y)

    def value(a):
        pull = X.T @ (a * y)
        return a.sum() - pull @ pull / 2 - spring / 2 * (a @ y) ** 2

    theta0 = Face(n, X.shape[1]).climb(as_design(X), table, theta, theta0, spring, 1e-9)
    after = table[:, 0]
    fixed = (before == 0) | (before == most)
    assert value(after) > value(before)
    assert ((after >= 0) & (after <= most)).all()
    assert (after[fixed] == before[fixed]).all()
    np.testing.assert_allclose(theta, X.T @ (after * y), atol=1e-12)
    assert theta0 == pytest.approx(spring * float(after @ y), abs=1e-12)


def test_threads_do_not_change_the_ascent(monkeypatch):
    monkeypatch.setattr(ascent, "A_SPAN", 50)
    X, y = sparse_rows(1)
    given = (X, y, np.full(len(y), 1 / len(y)), 1e-4, 1.0)
    assert module.ascent_comes_first(sparse.csr_matrix((400, 2000)), 1e-3, 1.0)
    monkeypatch.setattr(module, "ascent_comes_first", lambda *_: True)
    alone = until(1e-7, semismooth_newton(*given))
    with ThreadPoolExecutor(2) as pool:
        shared = until(1e-7, semismooth_newton(*given, each=pool.map))
    assert (alone.alpha == shared.alpha).all()
    assert (alone.theta == shared.theta).all()
