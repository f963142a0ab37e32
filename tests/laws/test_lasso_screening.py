"""Columns leave a Lasso on the word of the gap: zero at the optimum, and nothing changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Lasso as Oracle

import cotas.solvers.lasso_working_set as module
from cotas.design.centred import CentredColumns
from cotas.solvers.lasso_screening import lengths_at_most, restriction, survivors
from cotas.solvers.lasso_state import GramState
from cotas.solvers.lasso_working_set import WorkingSetLasso
from problems import LAYOUTS, regression, targeted

WIDE = regression(40, 200, seed=3)


def even(X):
    return CentredColumns(X, np.full(X.shape[0], 1 / X.shape[0]))


def optimum(X, y, lam, positive):
    """By another hand, to high accuracy."""
    return Oracle(alpha=lam, tol=1e-14, max_iter=10**6, positive=positive).fit(X, y).coef_


@given(targeted(), st.floats(0.05, 2.0), st.booleans(), st.integers(0, 3), st.integers(0, 99))
def test_columns_that_leave_a_gram_matrix_are_zero_at_the_optimum(data, lam, positive, k, seed):
    """From any start: zero, or some of the coefficients of the optimum, disturbed."""
    columns = even(data.X)
    G, c = columns.gram(*[np.arange(columns.p)] * 2), columns.correlations(columns.centred(data.y))
    best = optimum(data.X, data.y, lam, positive)
    beta = best * np.random.default_rng(seed).choice([1.0, 1.0 + 10.0**-k], columns.p)
    state = GramState(G, c, beta, c - G @ beta)
    square = float(columns.centred(data.y) @ columns.centred(data.y)) / len(data.y)
    stay = survivors(state, columns.p, lam, positive, square)
    left = np.setdiff1d(np.arange(columns.p), stay)
    assert np.abs(best[left]).sum() <= 1e-6
    assert not beta[left].any()
    small = restriction(state, stay)
    np.testing.assert_allclose(small.g, small.c - small.G @ small.beta, atol=1e-9)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("largest_gram", [4000, 3], ids=["Gram matrix", "residual"])
def test_columns_that_are_out_are_zero_at_the_optimum(monkeypatch, positive, largest_gram):
    """By the sequential rule before each λ, and by the gap of each look on the way."""
    monkeypatch.setattr(module, "WIDEST_GRAM", 0)
    monkeypatch.setattr(module, "LARGEST_GRAM", largest_gram)
    X, y = WIDE
    solver = WorkingSetLasso(even(X), y, positive)
    screened = []
    screen = solver._screen

    def recorded(lam):
        screen(lam)
        screened.append((lam, solver.out.copy()))

    monkeypatch.setattr(solver, "_screen", recorded)
    for part in (0.8, 0.5, 0.3):
        solver.solve(part * solver.largest_lam, 1e-4)
    assert sum(out.sum() for _, out in screened) > len(screened) * 20  # it does succeed
    for lam, out in screened:
        assert np.abs(optimum(X, y, lam, positive)[out]).sum() <= 1e-6


@pytest.mark.parametrize("layout", ["dense", "csr", "float32"])
@pytest.mark.parametrize(
    ("widest", "largest"), [(1000, 4000), (0, 4000), (0, 3)], ids=["whole", "sets", "residual"]
)
@pytest.mark.parametrize("scale", [False, True])
def test_the_solutions_are_the_same_with_and_without(monkeypatch, layout, widest, largest, scale):
    monkeypatch.setattr(module, "WIDEST_GRAM", widest)
    monkeypatch.setattr(module, "LARGEST_GRAM", largest)
    X, y = regression(90, 120, seed=4)
    X = LAYOUTS[layout](X)
    X = sparse.csc_matrix(X) if sparse.issparse(X) else X
    columns = CentredColumns(X, np.full(len(y), 1 / len(y)), scale=scale)
    paths = []
    for screening in (True, False):
        solver = WorkingSetLasso(columns, y, screening=screening)
        grid = solver.largest_lam * np.array([1.0, 0.7, 0.4, 0.2, 0.1])
        paths.append(list(solver.path(grid, 1e-9)))
    for with_it, without in zip(*paths, strict=True):
        assert with_it.primal == pytest.approx(without.primal, rel=1e-8)
        for found in (with_it, without):
            assert found.gap <= 1e-8
        dense = [np.zeros(120), np.zeros(120)]
        for beta, found in zip(dense, (with_it, without), strict=True):
            beta[found.support] = found.beta
        np.testing.assert_allclose(*dense, atol=1e-3)


def test_looks_read_only_the_columns_that_are_left(monkeypatch):
    """And the last look at each λ reads all of them."""
    monkeypatch.setattr(module, "WIDEST_GRAM", 0)
    monkeypatch.setattr(module, "WORTH_A_COPY", 1.05)
    X, y = WIDE
    solver = WorkingSetLasso(even(X), y)
    widths = []
    solver.tell = lambda _: widths.append(0 if solver.left is None else len(solver.left[0]))
    # The strong rule is made to name too few, so that the others come in two at a time.
    monkeypatch.setattr(module, "_steepest", lambda new, rho, most: new[:2])
    solver.lam = 0.0
    found = solver._solve_at(0.3 * solver.largest_lam, 1e-8)
    assert any(0 < width < X.shape[1] for width in widths)
    assert widths[-1] == 0
    assert solver.left is None
    support = np.flatnonzero(optimum(X, y, found.lam, False))
    np.testing.assert_array_equal(np.sort(found.support), support)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lengths_are_never_too_small(layout):
    X = regression(50, 8, seed=5).X + 1e3
    X[:, 2] = 7.7
    laid_out = LAYOUTS[layout](X)
    laid_out = sparse.csc_matrix(laid_out) if sparse.issparse(laid_out) else laid_out
    exact = np.asarray(laid_out.todense() if sparse.issparse(laid_out) else laid_out, np.float64)
    found = lengths_at_most(even(laid_out))
    assert (found >= exact.std(axis=0) * (1 - 1e-12)).all()
    np.testing.assert_allclose(found, exact.std(axis=0), atol=1e-4)
