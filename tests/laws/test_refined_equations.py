"""Normal equations in single precision, refined: all the digits of double, or not used."""

import numpy as np
import pytest

import cotas.solvers.refined_equations as module
from cotas import LeastSquares, Ridge
from cotas.regression.solving import REFINED
from cotas.solvers.moments import gather_moments
from problems import regression

X, Y = regression(400, 12, seed=11)
BOTH = np.column_stack([Y, X[:, 1] - 2 * Y])
WEIGHTS = np.linspace(0.0, 3.0, 400)


@pytest.fixture(autouse=True)
def few_columns(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_COLUMNS", 4)


def refined(model):
    return REFINED in model.certificate_.notes


def expected(X, y, weights=None, bias=True):
    """By orthogonal triangularization in double precision."""
    root = np.sqrt(np.ones(len(X)) if weights is None else weights)[:, None]
    design = np.column_stack([X.astype(np.float64), np.full(len(X), float(bias))])
    found = np.linalg.lstsq(design * root, y * root[:, 0], rcond=None)[0]
    return found[:-1], found[-1]


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("bias", [True, False])
def test_it_has_all_the_digits(offset, dtype, weights, bias):
    data = (X + offset * bias).astype(dtype)
    model = LeastSquares(fit_intercept=bias).fit(data, Y, sample_weight=weights)
    theta, theta0 = expected(data, Y, weights, bias)
    assert refined(model)
    np.testing.assert_allclose(model.coef_, theta, rtol=1e-10, atol=1e-12)
    assert model.intercept_ == pytest.approx(theta0, rel=1e-9, abs=1e-11)
    assert model.certificate_.verify(data, Y)


@pytest.mark.parametrize("standardize", [True, False])
def test_ridge_is_the_same_as_without(monkeypatch, standardize):
    model = Ridge(lam=0.3, standardize=standardize).fit(X, Y)
    assert refined(model)
    monkeypatch.setattr(module, "FEWEST_COLUMNS", 10**6)
    plain = Ridge(lam=0.3, standardize=standardize).fit(X, Y)
    assert not refined(plain)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-11)
    assert model.certificate_.upper == pytest.approx(plain.certificate_.upper, rel=1e-12)


def test_several_targets():
    model = LeastSquares().fit(X, BOTH)
    for c, certificate in enumerate(model.certificate_.singles):
        assert REFINED in certificate.notes
        np.testing.assert_allclose(model.coef_[c], expected(X, BOTH[:, c])[0], rtol=1e-10)


def nearly_collinear():
    return np.column_stack([X, X[:, 0] + 1e-4 * X[:, 1]])


def constant():
    return np.column_stack([X, np.full(len(X), 7.7)])


@pytest.mark.parametrize(
    "data",
    [nearly_collinear(), constant(), X * 1e20, X * 1e-30, X * np.logspace(-20, 0, 12)],
    ids=["collinear", "constant", "large", "small", "mixed"],
)
def test_where_single_precision_does_not_reach_it_is_not_used(monkeypatch, data):
    model = LeastSquares().fit(data, Y)
    monkeypatch.setattr(module, "FEWEST_COLUMNS", 10**6)
    plain = LeastSquares().fit(data, Y)
    assert not refined(model)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_what_is_not_finite_is_refused_as_ever():
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[17, 3] = bad
        with pytest.raises(ValueError, match="X"):
            LeastSquares().fit(broken, Y)
    spoiled = X.copy()
    spoiled[17, 3] = 1e30  # finite, but its square is not in single precision
    assert LeastSquares().fit(spoiled, Y).certificate_.holds


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_rough_moments_are_nearly_the_moments(weights):
    rough = gather_moments(X, BOTH, weights, rough=True)
    exact = gather_moments(X, BOTH, weights)
    for name in ("mean", "target_mean", "scatter", "cross", "target_scatter"):
        np.testing.assert_allclose(getattr(rough, name), getattr(exact, name), atol=1e-4)
    assert not np.array_equal(rough.scatter, exact.scatter)
