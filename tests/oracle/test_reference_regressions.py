"""Regressions whose exact solutions are known, and tables with more columns than rows."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from cotas import LeastSquares, Ridge

# The polynomials of degree five of Wampler (1970), as NIST's reference data sets have them.
x = np.arange(21.0)
POWERS = np.stack([x**k for k in range(1, 6)], axis=1)
NOISE = np.array([759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048.0])
NOISE = np.concatenate([NOISE, NOISE[-2::-1]])
SUM = 1 + POWERS.sum(axis=1)
# Longley (1967): deflator, product, unemployed, forces, population, year; employed.
LONGLEY = np.fromstring(
    """
    83.0 234289 2356 1590 107608 1947 60323   88.5 259426 2325 1456 108632 1948 61122
    88.2 258054 3682 1616 109773 1949 60171   89.5 284599 3351 1650 110929 1950 61187
    96.2 328975 2099 3099 112075 1951 63221   98.1 346999 1932 3594 113270 1952 63639
    99.0 365385 1870 3547 115094 1953 64989  100.0 363112 3578 3350 116219 1954 63761
   101.2 397469 2904 3048 117388 1955 66019  104.6 419180 2822 2857 118734 1956 67857
   108.4 442769 2936 2798 120445 1957 68169  110.8 444546 4681 2637 121950 1958 66513
   112.6 482704 3813 2552 123366 1959 68655  114.2 502601 3931 2514 125368 1960 69564
   115.7 518173 4806 2572 127852 1961 69331  116.9 554894 4007 2827 130081 1962 70551
   """,
    sep=" ",
).reshape(16, 7)
PROBLEMS = {
    "wampler1": (POWERS, SUM),
    "wampler2": (POWERS, 1 + POWERS @ 10.0 ** -np.arange(1, 6)),
    "wampler3": (POWERS, SUM + NOISE),
    "wampler4": (POWERS, SUM + 100 * NOISE),
    "wampler5": (POWERS, SUM + 10000 * NOISE),
    "longley": (LONGLEY[:, :6], LONGLEY[:, 6]),
}


def exact_solution(X, y):
    """(θ₀, θ) of the normal equations in rational numbers, by elimination."""
    rows = [[Fraction(1), *map(Fraction, row)] for row in X.tolist()]
    targets = [Fraction(t) for t in y.tolist()]
    d = len(rows[0])
    system = [
        [sum(r[i] * r[j] for r in rows) for j in range(d)]
        + [sum(r[i] * t for r, t in zip(rows, targets, strict=True))]
        for i in range(d)
    ]
    for i in range(d):
        pivot = next(k for k in range(i, d) if system[k][i])
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [v / system[i][i] for v in system[i]]
        for k in range(d):
            if k != i:
                factor = system[k][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    return np.array([float(row[-1]) for row in system])


def error(model, truth):
    found = np.append(model.intercept_, model.coef_)
    return float(np.max(np.abs(found - truth) / np.abs(truth)))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_closed_form_keeps_the_digits_of_a_triangle(name):
    X, y = PROBLEMS[name]
    truth = exact_solution(X, y)
    fitted = LeastSquares().fit(X, y)
    assert error(fitted, truth) <= 4 * error(LeastSquares(solver="qr").fit(X, y), truth) + 1e-12
    assert fitted.certificate_.verify(X, y)


def wide(n=30, d=80, seed=0, targets=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, size=d) + rng.normal(size=d)
    return X, rng.normal(size=n if targets is None else (n, targets))


@pytest.mark.filterwarnings("ignore:The matrix A")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("targets", [None, 3])
def test_with_more_columns_than_rows_least_squares_interpolates_by_the_smallest_norm(bias, targets):
    X, y = wide(targets=targets)
    model = LeastSquares(fit_intercept=bias).fit(X, y)
    assert model.solver_ == "dual"
    np.testing.assert_allclose(model.predict(X), y, atol=1e-10)
    smallest = np.linalg.pinv(X - X.mean(axis=0) if bias else X)
    expected = (smallest @ (y - y.mean(axis=0) if bias else y)).T
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-7, atol=1e-10)
    assert model.certificate_.relative_gap <= model.tol
    assert model.certificate_.verify(X, y)


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 10.0])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
def test_an_unknown_for_each_row_or_for_each_column_is_the_same_ridge(lam, standardize, form):
    X, y = wide(seed=1)
    X, weights = form(X), np.arange(len(y)) % 3
    settings = {"lam": lam, "standardize": standardize}
    rows = Ridge(solver="dual", **settings).fit(X, y, weights)
    columns = Ridge(solver="qr", **settings).fit(X, y, weights)
    np.testing.assert_allclose(rows.predict(X), columns.predict(X), rtol=1e-5, atol=1e-6)
    assert rows.certificate_.relative_gap <= 1e-6
    assert rows.certificate_.verify(X, y)


def test_ridge_tends_to_the_smallest_norm():
    X, y = wide(seed=2)
    with pytest.warns(UserWarning, match="singular"):
        limit = LeastSquares().fit(X, y)
    near = Ridge(lam=1e-12).fit(X, y)
    np.testing.assert_allclose(near.coef_, limit.coef_, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_columns_that_sum_to_one_are_proved_to_the_gap_asked_for(form):
    """One-hot columns beside a bias: the matrix is singular, and the fit is none the worse."""
    rng = np.random.default_rng(3)
    group, n = rng.integers(0, 20, 4000), 4000
    X = np.column_stack([np.eye(20)[group], rng.normal(size=(n, 4))])
    y = group * 0.3 + X[:, 20:].sum(axis=1) + rng.normal(size=n)
    with pytest.warns(UserWarning, match="singular") as caught:
        model = LeastSquares().fit(form(X), y)
    assert len(caught) == 1
    assert model.certificate_.relative_gap <= model.tol
    smallest = np.linalg.pinv(X - X.mean(axis=0)) @ (y - y.mean())
    np.testing.assert_allclose(model.coef_, smallest, rtol=1e-8, atol=1e-10)
