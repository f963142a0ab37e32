"""The Lasso: KKT conditions, brackets, paths, and what may not change the answer."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cotas import Lasso, lasso_path
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.certificates.passes import EPS
from errors import refuses
from problems import LAYOUTS, regression, targeted

X, Y = regression()
WIDE = regression(25, 120, seed=3)


def correlations(model, X, y, weights=None):
    """X̃ᵀr with the weights that sum to one, the columns centred."""
    s = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
    return (X - s @ X).T @ (s * (y - model.predict(X)))


@pytest.mark.parametrize("data", [(X, Y), WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("lam", [1e-3, 0.05, 0.5])
@pytest.mark.parametrize("positive", [False, True])
def test_kkt_of_the_penalized_problem(data, lam, positive):
    model = Lasso(lam=lam, positive=positive, tol=1e-10).fit(*data)
    q, beta = correlations(model, *data), model.coef_
    inside = beta != 0
    np.testing.assert_allclose(q[inside], lam * np.sign(beta[inside]), atol=1e-6)
    assert (q if positive else np.abs(q)).max() <= lam + 1e-6
    assert not positive or (beta >= 0).all()
    assert abs((data[1] - model.predict(data[0])).mean()) < 1e-9


@pytest.mark.parametrize("delta", [0.1, 1.0, 3.0])
def test_the_ball_and_the_penalty_have_the_same_solutions(delta):
    ball = Lasso(delta=delta, tol=1e-11).fit(X, Y)  # rounding leaves about 1e-12
    assert ball.certificate_.relative_gap <= 1e-11
    assert ball.delta_ == pytest.approx(delta)
    penalized = Lasso(lam=ball.lam_, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(penalized.coef_, ball.coef_, atol=1e-6)
    assert penalized.delta_ == pytest.approx(delta, abs=1e-6)


def test_a_ball_that_holds_least_squares_gives_least_squares():
    expected = np.linalg.lstsq(X - X.mean(0), Y - Y.mean(), rcond=None)[0]
    model = Lasso(delta=1e3, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-4)


@given(targeted(), st.floats(1e-3, 3.0), st.booleans(), st.booleans(), st.booleans())
def test_gaps_bracket_and_are_proved_on_any_data(data, size, positive, standardize, bias):
    for parameters in ({"lam": size}, {"delta": size}):
        model = Lasso(
            **parameters, positive=positive, standardize=standardize, fit_intercept=bias
        ).fit(*data)
        certificate = model.certificate_
        assert certificate.holds
        assert certificate.relative_gap <= 1e-6
        assert certificate.verify(*data)
        # Any other model has an objective above the lower bound.
        other = 0.5 * np.ones(data.X.shape[1]) * size / data.X.shape[1]
        rival = certificate.witness.about(other, 0.1 * bias).check(*data)
        if rival.holds:
            assert rival.upper >= certificate.lower - certificate.charge
            assert rival.lower <= certificate.upper + rival.charge


def test_weights_are_repetitions():
    times = np.random.default_rng(1).integers(0, 4, len(Y))
    for parameters in ({"lam": 0.03}, {"delta": 1.5}, {"lam": 0.03, "standardize": True}):
        weighted = Lasso(**parameters, tol=1e-11).fit(X, Y, sample_weight=times)
        repeated = Lasso(**parameters, tol=1e-11).fit(np.repeat(X, times, 0), np.repeat(Y, times))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
        assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-6)
        assert weighted.certificate_.upper == pytest.approx(repeated.certificate_.upper)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("data", [(X, Y), WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("standardize", [False, True])
def test_every_layout_gives_the_same_model(layout, data, standardize):
    parameters = {"lam": 0.05, "standardize": standardize, "tol": 1e-10}
    expected = Lasso(**parameters).fit(*data)
    other = Lasso(**parameters).fit(LAYOUTS[layout](data[0]), data[1])
    np.testing.assert_allclose(other.coef_, expected.coef_, atol=1e-6)
    assert other.certificate_.verify(*data)
    assert other.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-9)


def test_standardize_is_the_lasso_of_standardized_columns():
    deviation = X.std(axis=0)
    plain = Lasso(lam=0.1, tol=1e-11).fit((X - X.mean(0)) / deviation, Y)
    inside = Lasso(lam=0.1, tol=1e-11, standardize=True).fit(X, Y)
    np.testing.assert_allclose(inside.coef_, plain.coef_ / deviation, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-8, 1e6])
def test_the_scale_of_y_does_not_matter(factor):
    one = Lasso(lam=0.1).fit(X, Y)
    other = Lasso(lam=0.1 * factor).fit(X, Y * factor)
    np.testing.assert_allclose(other.coef_ / factor, one.coef_, atol=1e-4)


def test_offsets_of_the_columns_do_not_matter():
    moved = X + 1e6
    one, other = Lasso(lam=0.1).fit(X, Y), Lasso(lam=0.1).fit(moved, Y)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-4)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("data", [(X, Y), WIDE], ids=["tall", "wide"])
def test_the_exact_path_runs_through_the_solutions_of_the_grid(data, positive):
    exact = lasso_path(*data, method="homotopy", positive=positive)
    grid = lasso_path(*data, n_lams=23, positive=positive, tol=1e-10)
    assert all(c.relative_gap <= 1e-10 for c in (*exact.certificates, *grid.certificates))
    assert np.all(np.diff(exact.lams) <= 0)
    assert np.all(np.diff(exact.deltas) >= -1e-12)
    for k, lam in enumerate(grid.lams):
        np.testing.assert_allclose(exact.coef_at(lam), grid.coefs[k], atol=1e-5)
        assert exact.delta_at(lam) == pytest.approx(grid.deltas[k], abs=1e-5)
        if 0 < k < len(grid.lams) - 1:
            assert exact.lam_at(exact.delta_at(lam)) == pytest.approx(lam, rel=1e-6)


@given(targeted(12, 5))
def test_knots_are_optimal_on_any_data(data):
    path = lasso_path(*data, method="homotopy")
    rounded = np.square(EPS * np.abs(data.y)).max()
    for found in path.certificates:
        assert found.holds
        assert found.relative_gap <= 1e-9 or found.gap <= rounded


def test_paths_know_what_they_can_tell():
    grid = lasso_path(X, Y, n_lams=5)
    with refuses("method"):
        grid.lam_at(1.0)
    exact = lasso_path(X, Y, method="homotopy")
    with refuses("delta"):
        exact.lam_at(1e9)
    with refuses("lam"):
        exact.coef_at(1e-9)
    assert (exact.coef_at(1e9) == 0).all()


def test_beyond_the_largest_penalty_everything_is_zero():
    largest = lasso_path(X, Y, n_lams=2).lams[0]
    assert (Lasso(lam=1.001 * largest).fit(X, Y).coef_ == 0).all()
    assert (Lasso(lam=0.99 * largest).fit(X, Y).coef_ != 0).any()


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_points_are_measured_alike_together_and_alone(convert, bias, standardize):
    path = lasso_path(X, Y, n_lams=30, fit_intercept=bias, standardize=standardize)
    points = [c.witness for c in path.certificates]
    points += [p.about(p.coef + 0.1 * (p.coef != 0), p.intercept + bias) for p in points[:10]]
    together = LassoPoint.check_all(points, convert(X), Y)
    for point, certificate in zip(points, together, strict=True):
        alone = point.check(convert(X), Y)
        assert certificate.upper == pytest.approx(alone.upper, rel=1e-10)
        assert certificate.lower == pytest.approx(alone.lower, rel=1e-9)


def test_changing_the_model_ends_the_certificate():
    model = Lasso(lam=0.05).fit(X, Y)
    before = model.certificate_
    model.coef_ = model.coef_ + 0.1
    changed = model.certificate_
    assert not changed.holds
    assert not changed.verify(X, Y)
    measured = changed.witness.check(X, Y)
    assert measured.holds
    assert measured.gap > 100 * before.gap + 1e-3
    swapped = Y.copy()
    swapped[[0, 1]] = Y[[1, 0]]
    assert not before.verify(X, swapped)
    assert not before.verify(X[:, ::-1], Y)


def test_outside_the_ball_or_below_zero_nothing_is_claimed():
    model = Lasso(delta=1.0).fit(X, Y)
    model.coef_ = model.coef_ * 1.01
    assert "more than δ" in model.certificate_.witness.check(X, Y).objection
    model = Lasso(lam=0.01, positive=True).fit(X, Y)
    model.coef_ = model.coef_ - 1.0
    assert "negative" in model.certificate_.witness.check(X, Y).objection


def test_elastic_net_dual_is_tight_and_never_above():
    rng = np.random.default_rng(0)
    for ratio in (0.1, 0.5, 0.9, 1.0):
        problem = LassoProblem(lam=0.3, l1_ratio=ratio)
        for _ in range(5):
            point = LassoPoint(problem, rng.normal(size=X.shape[1]), 0.3)
            assert point.check(X, Y).lower <= point.check(X, Y).upper


@given(targeted(), st.floats(0.02, 2.0), st.booleans(), st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_proved_zeros_are_zero_at_the_optimum(data, size, positive, tol):
    for parameters in ({"lam": size}, {"delta": size}):
        rough = Lasso(**parameters, positive=positive, tol=tol).fit(*data)
        exact = Lasso(**parameters, positive=positive, tol=1e-12).fit(*data)
        proved = rough.certified_zeros(*data)
        assert np.abs(exact.coef_[proved]).sum() <= 1e-5


def test_zeros_are_proved_and_only_of_the_model_that_was_fitted():
    for parameters in ({"lam": 0.3}, {"delta": 0.7}, {"lam": 0.3, "standardize": True}):
        model = Lasso(**parameters).fit(X, Y)
        np.testing.assert_array_equal(model.certified_zeros(X, Y), model.coef_ == 0)
        assert (model.certified_zeros(sparse.csr_matrix(X), Y) == (model.coef_ == 0)).all()
        model.coef_ = model.coef_ + 1e-9
        assert not model.certified_zeros(X, Y).any()


def test_several_targets():
    both = np.column_stack([Y, X[:, 1] - Y])
    model = Lasso(lam=0.05).fit(X, both)
    assert model.coef_.shape == (2, X.shape[1])
    for k, certificate in enumerate(model.certificate_.singles):
        np.testing.assert_allclose(model.coef_[k], Lasso(lam=0.05).fit(X, both[:, k]).coef_)
        assert certificate.verify(X, both)
    assert model.certified_zeros(X, both).shape == model.coef_.shape


def test_more_columns_than_the_gram_matrix_takes_at_once(monkeypatch):
    """The working sets grow, and the certificate is about all the columns."""
    import cotas.solvers.lasso_working_set as module

    rng = np.random.default_rng(5)
    wide = sparse.random(80, 400, 0.1, random_state=rng, format="csr")
    y = np.asarray(wide[:, :5].sum(axis=1)).ravel() + 0.1 * rng.normal(size=80)
    expected = Lasso(lam=1e-3, tol=1e-10).fit(wide.toarray(), y)
    monkeypatch.setattr(module, "WIDEST_GRAM", 0)
    found = Lasso(lam=1e-3, tol=1e-10).fit(wide, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)


@pytest.mark.parametrize("layout", ["dense", "csr", "float32"])
@pytest.mark.parametrize("parameters", [{"lam": 1e-2}, {"delta": 1.0}, {"lam": 0.1, "positive": 1}])
@pytest.mark.parametrize("most", [3, 30], ids=["without Gram matrix", "pruned"])
def test_working_sets_too_wide_for_a_gram_matrix(monkeypatch, layout, parameters, most):
    import cotas.solvers.lasso_working_set as module

    plain = regression(150, 50, seed=6)
    data, weights = LAYOUTS[layout](plain.X), np.linspace(0.5, 2.0, len(plain.y))
    for more in ({}, {"standardize": True}, {"fit_intercept": False}):
        model = Lasso(**parameters, **more, tol=1e-9)
        expected = model.fit(data, plain.y, sample_weight=weights).predict(data)
        with monkeypatch.context() as patch:
            patch.setattr(module, "WIDEST_GRAM", 0)
            patch.setattr(module, "LARGEST_GRAM", most)
            model.fit(data, plain.y, sample_weight=weights)
        assert model.certificate_.relative_gap <= 1e-9
        np.testing.assert_allclose(model.predict(data), expected, atol=1e-3)


def test_a_fit_cut_short_says_so():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 1))
    hard = base + 1e-6 * rng.normal(size=(300, 200))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Lasso(lam=1e-9, tol=1e-14, max_time=1e-9).fit(hard, base[:, 0] + hard[:, 3])
    if model.certificate_.relative_gap > 1e-14:
        assert any(isinstance(w.message, ConvergenceWarning) for w in caught)
    assert model.certificate_.holds
