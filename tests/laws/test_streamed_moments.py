"""Least squares batch by batch: what the checker proves of rows that are gone."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_least_squares_certificate import exact_minimum, regressions

from cotas import LeastSquares, Ridge
from cotas.certificates import SquaredLossPoint, streamed
from cotas.certificates.least_squares import SquaredChecker
from cotas.certificates.streamed import Stream
from cotas.regression import products, task
from problems import LAYOUTS, regression, targeted

X, Y = regression(120, 5, seed=2)
BATCHES = [slice(0, 40), slice(40, 41), slice(41, 90), slice(90, 120)]
MODELS = [
    LeastSquares(),
    LeastSquares(fit_intercept=False),
    Ridge(lam=0.2),
    Ridge(lam=0.2, standardize=True),
    Ridge(lam=0.2, fit_intercept=False),
]


def in_batches(model, X, y, weights=None, batches=BATCHES):
    for batch in batches:
        given = {} if weights is None else {"sample_weight": weights[batch]}
        model.partial_fit(X[batch], y[batch], **given)
    return model


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_the_certificate_is_about_all_the_rows(model, layout, offset):
    moved = LAYOUTS[layout](X + offset)
    model = in_batches(model.__class__(**model.get_params()), moved, Y)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.relative_gap <= 1e-9
    assert any("120 rows came in 4 batches" in note for note in certificate.notes)
    assert certificate.verify(moved, Y)
    # Other rows, another order, another label, fewer rows: none of them is what it speaks of.
    assert not certificate.verify(moved[::-1], Y[::-1])
    assert not certificate.verify(moved, np.where(np.arange(120) == 7, -Y, Y))
    assert not certificate.verify(moved[:-1], Y[:-1])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weights_count_in_whichever_batch_they_come(model):
    weights = np.concatenate([np.ones(40), np.linspace(0.1, 3.0, 80)])
    model = model.__class__(**model.get_params())
    for batch in BATCHES:
        given = {} if batch.stop <= 40 else {"sample_weight": weights[batch]}
        model.partial_fit(X[batch], Y[batch], **given)
    assert model.certificate_.holds
    assert model.certificate_.verify(X, Y)
    whole = model.__class__(**model.get_params()).fit(X, Y, sample_weight=weights)
    assert model.certificate_.upper == pytest.approx(whole.certificate_.upper, rel=1e-9)


def test_several_targets():
    both = np.column_stack([Y, X[:, 1] - Y])
    model = in_batches(Ridge(lam=0.1), X, both)
    assert [c.holds and c.verify(X, both) for c in model.certificate_.singles] == [True, True]


def test_changing_the_model_ends_the_certificate():
    model = in_batches(LeastSquares(), X, Y)
    before = model.certificate_
    model.coef_ = model.coef_ + 0.1
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, Y)
    assert model.certificate_.witness.check(X, Y).gap > before.gap + 1e-4


@given(targeted(20, 4), st.integers(1, 19), st.floats(0.0, 2.0), st.booleans(), st.integers(0, 99))
def test_any_model_is_measured_as_from_the_rows(data, cut, lam, bias, seed):
    """The two numbers, of any coefficients, are those of a pass over all the rows."""
    rng, (n, d) = np.random.default_rng(seed), data.X.shape
    assume(n > 1)
    cut = min(cut, n - 1)
    theta, theta0 = rng.normal(size=d), float(rng.normal()) * bias
    point = SquaredLossPoint(theta, theta0, lam, bias)
    stream = Stream.of_rows(data.X[:cut], data.y[:cut], None, [None], map)
    stream = Stream.of_rows(data.X[cut:], data.y[cut:], None, [None], map, stream)
    [found], expected = stream.certificates([point]), point.check(data.X, data.y)
    if found.kind == "none":  # collinear columns
        return
    slack = found.charge + expected.charge + 1e-9 * expected.upper
    assert abs(found.upper - expected.upper) <= slack
    assert found.lower <= expected.upper + slack
    best = Ridge(lam=lam, fit_intercept=bias) if lam else LeastSquares(fit_intercept=bias)
    assert found.lower <= best.fit(data.X, data.y).certificate_.upper + slack
    assert found.sketch.matches(expected.sketch)


def test_the_solver_is_not_believed():
    """Moments of the solver that went wrong give another model, and the checker sees it."""
    model = LeastSquares().partial_fit(X[:60], Y[:60])
    moments, stream = model._memory
    model._memory = (replace(moments, cross=moments.cross + 0.1), stream)
    model.partial_fit(X[60:], Y[60:])
    assert model.certificate_.holds
    assert model.certificate_.gap > 1e-4
    assert model.certificate_.verify(X, Y)


@given(regressions(), st.integers(0, 99), st.sampled_from([0.0, 1e-3, 1.0]), st.integers(1, 5))
def test_products_enclose_the_exact_minimum(problem, seed, noise, piece):
    """However many rows of a block are added up at a time."""
    X, y, lam, bias, weights = problem
    rng, best = np.random.default_rng(seed), exact_minimum(X, y, lam, bias, weights)
    size = np.abs(y).max() / (np.abs(X).max() or 1.0)
    theta, theta0 = noise * size * rng.normal(size=X.shape[1]), float(bias) * noise * rng.normal()
    point = SquaredLossPoint(theta, theta0, lam, bias, weights=weights)
    with mock.patch.multiple(streamed, PIECE=piece, DENSE_ROWS=2 * piece + 1):
        [found] = Stream.of_rows(X, y, weights, [None]).proved([point], collinear=True)
    assert found.holds
    # `best` is a rational number rounded once.
    assert found.lower <= best * (1 + 2**-52)
    assert best * (1 - 2**-52) <= found.upper


@pytest.fixture
def from_products(monkeypatch):
    """Few rows count as many."""
    monkeypatch.setattr(products, "ROWS_A_COLUMN", 4)
    monkeypatch.setattr(products, "WORTH_PRODUCTS", 1)
    monkeypatch.setattr(streamed, "PIECE", 16)
    monkeypatch.setattr(streamed, "DENSE_ROWS", 50)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_many_rows_are_proved_from_products(from_products, monkeypatch, model, layout, offset):
    rows, weights = LAYOUTS[layout](X + offset), np.linspace(0.1, 3.0, len(Y))
    model = model.__class__(**model.get_params())
    with monkeypatch.context() as no_other_proof:
        if layout in ("dense", "fortran"):
            no_other_proof.setattr(task, "SquaredChecker", None)
        model.fit(rows, Y, sample_weight=weights)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.relative_gap <= 1e-8
    assert certificate.verify(rows, Y)
    assert not certificate.verify(rows, np.where(np.arange(120) == 7, -Y, Y))
    monkeypatch.setattr(products, "ROWS_A_COLUMN", np.inf)
    other = model.__class__(**model.get_params()).fit(rows, Y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(rows), other.predict(rows), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The matrix A")
@pytest.mark.parametrize("exact", [True, False])
def test_where_products_prove_too_little_the_rows_are_read(from_products, exact):
    """A fit that reaches every y, and collinear columns."""
    rows = X if exact else np.hstack([X, X[:, :2] + X[:, 2:4]])
    y = X @ np.arange(5.0) if exact else Y
    model = LeastSquares().fit(rows, y)
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= model.tol
    assert model.certificate_.verify(rows, y)


@pytest.mark.parametrize(("size", "taken"), [(1.0, True), (2.0**-90, True), (2.0**-540, False)])
def test_squares_that_underflowed_are_added_up_again(size, taken):
    point = SquaredLossPoint(np.zeros(5), 0.0, 0.0, True)
    stream = Stream.of_rows(X * size, Y, None, [None])
    surveys = [SquaredChecker(X * size, Y, [point]) for _ in range(2)]
    surveys[0].take(stream.sketches, stream.shift, stream.gram, stream.roundings)
    (found, additions), (expected, _) = (survey.risk.squares() for survey in surveys)
    assert (additions == stream.roundings) == taken
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
