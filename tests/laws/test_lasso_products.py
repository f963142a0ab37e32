"""The Lasso from products: what is proved without reading a row again."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_least_squares_certificate import regressions

from cotas import ElasticNet, Lasso, lasso_path
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.certificates.lasso_products import lasso_from_products
from cotas.certificates.streamed import Stream
from cotas.regression import products, sparse
from problems import LAYOUTS, regression

X, Y = regression(120, 5, seed=2)


def exact_objective(point, X, y):
    """P in rational arithmetic."""
    theta = [Fraction(t) for t in point.coef.tolist()]
    given, total, whole = point.weights.tolist(), Fraction(0), Fraction(0)
    for row, target, weight in zip(X.tolist(), y.tolist(), given, strict=True):
        r = Fraction(target) - Fraction(point.intercept)
        r -= sum((t * Fraction(x) for t, x in zip(theta, row, strict=True)), Fraction(0))
        total, whole = total + Fraction(weight) * r * r, whole + Fraction(weight)
    return total / whole / 2 + Fraction(point.problem.lam) * sum(map(abs, theta))


@given(regressions(), st.integers(0, 2**31), st.booleans())
def test_the_bounds_enclose_exactly(problem, seed, positive):
    """No model has an exact objective below the lower bound of another, nor above its own upper."""
    X, y, _, bias, weights = problem
    rng, size = np.random.default_rng(seed), np.abs(y).max() / (np.abs(X).max() or 1.0)
    lam = float(rng.choice([1e-6, 1e-2, 0.5])) * (np.abs(X.T @ y).max() / len(y) or 1.0)
    fitted = Lasso(lam=lam, positive=positive, fit_intercept=bias, max_iter=50)
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as quiet:
        quiet.setattr("warnings.warn", lambda *a, **k: None)
        fitted.fit(X, y, sample_weight=weights)
    thetas = [fitted.coef_, np.zeros(X.shape[1])]
    thetas += [noise * size * rng.normal(size=X.shape[1]) for noise in (1e-3, 1.0)]
    biases = [fitted.intercept_, *(float(bias) * np.abs(y).max() * rng.normal(size=3))]
    points = [
        LassoPoint(
            LassoProblem(lam, positive=positive, free_bias=bias),
            np.abs(theta) if positive else theta,
            float(theta0),
            weights,
        )
        for theta, theta0 in zip(thetas, biases, strict=True)
    ]
    found = lasso_from_products(Stream.of_rows(X, y, weights, [None]), points)
    values = [exact_objective(point, X, y) for point in points]
    for certificate, value in zip(found, values, strict=True):
        if certificate.holds:
            assert value <= Fraction(certificate.upper)
            assert Fraction(certificate.lower) <= min(values)


PROBLEMS = [
    {},
    {"positive": True},
    {"standardize": True},
    {"fit_intercept": False},
    {"sample_weight": np.linspace(0.0, 3.0, 120)},
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("given", PROBLEMS, ids=lambda given: " ".join(given) or "plain")
def test_a_path_is_proved_and_can_be_verified(layout, offset, given):
    rows = LAYOUTS[layout](X + offset)
    path = lasso_path(rows, Y, n_lams=6, **given)
    for certificate in path.certificates:
        assert certificate.holds
        assert certificate.relative_gap <= 1e-6
        assert certificate.verify(rows, Y)
        assert not certificate.verify(rows, np.where(np.arange(120) == 7, -Y, Y))


def test_no_row_is_read_again(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the rows were read again")

    monkeypatch.setattr(LassoPoint, "check_all", refuse)
    assert all(c.relative_gap <= 1e-6 for c in lasso_path(X, Y, n_lams=6).certificates)


@pytest.mark.parametrize(
    "model",
    [
        Lasso(lam=0.1),
        Lasso(delta=2.0),
        Lasso(lam=0.1, weights=[1, 0, 2, 1, 3]),
        ElasticNet(lam=0.1),
        Lasso(lam=0.1, tol=1e-12),
    ],
    ids=str,
)
def test_fits_of_many_rows_prove_what_they_are_asked_for(monkeypatch, model):
    """From products, or from the rows where products are not enough."""
    monkeypatch.setattr(products, "WORTH_PRODUCTS", 1)
    with monkeypatch.context() as without:
        without.setattr(sparse, "products_of", lambda *given: None)
        other = model.__class__(**model.get_params()).fit(X, Y)
    model.fit(X, np.column_stack([Y, -Y]))
    for certificate in model.certificate_.parts:
        assert certificate.holds
        assert certificate.relative_gap <= model.tol
    assert model.certificate_.verify(X, np.column_stack([Y, -Y]))
    np.testing.assert_allclose(model.coef_, [other.coef_, -other.coef_], atol=1e-4)
    np.testing.assert_allclose(model.intercept_[0], other.intercept_, atol=1e-3)


@pytest.mark.parametrize("bias", [1.0, 3.0, 1e3])
def test_products_that_leave_the_range_prove_nothing_false(bias):
    """min P is 0.0925: the slope of y on x is 1, of which λ takes 0.15."""
    X, y, weights = np.array([[-1.0], [0.0], [1.0]]), np.arange(3.0), np.full(3, 1e160)
    point = LassoPoint(LassoProblem(lam=0.1), np.zeros(1), bias, weights)
    [found] = lasso_from_products(Stream.of_rows(X, y, weights, [None]), [point])
    assert found.lower <= 0.0925


@pytest.mark.parametrize("theta", [1.0, 1e154, 1e157])
def test_a_tiny_multiple_of_a_huge_dual_point_costs_what_it_costs(theta):
    """min P is ½·10⁻¹⁸, where θ = 0: it would have to be negative."""
    X, y = np.array([[-1e-4], [1e-4]]), np.array([1e-9, -1e-9])
    point = LassoPoint(LassoProblem(lam=1e-30, positive=True), np.array([theta]), 0.0)
    [found] = lasso_from_products(Stream.of_rows(X, y, None, [None]), [point])
    assert found.lower <= 5e-19


def test_too_little_weight_is_objected_to():
    point = LassoPoint(LassoProblem(lam=0.1), np.zeros(5), 0.0, np.full(120, 1e-155))
    assert "Weights" in point.check(X, Y).objection
