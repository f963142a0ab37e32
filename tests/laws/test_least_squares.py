"""The laws of least squares and ridge, whatever solver finds them."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import cotas
from cotas import LeastSquares, Ridge, schedules, stops
from cotas.solvers.dual_equations import dual_equations
from errors import refuses
from problems import LAYOUTS, plane

SOLVERS = ("normal-equations", "qr", "gradient", "conjugate-gradients")
by_solver = pytest.mark.parametrize("solver", SOLVERS)
exactly = {"stop": stops.Gap(1e-13), "max_iter": 20_000}


def objective(model, X, y, lam=0.0, weights=None):
    residuals = y - model.predict(X)
    return 0.5 * np.average(residuals**2, weights=weights) + 0.5 * lam * np.sum(model.coef_**2)


# ---- the optimum -----------------------------------------------------------------------------


@by_solver
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_the_gradient_vanishes(solver, bias, lam):
    X, y = plane(80, 5)
    weights = np.random.default_rng(1).uniform(0, 2, 80)
    kind = LeastSquares if lam == 0 else lambda **options: Ridge(lam=lam, **options)
    model = kind(solver=solver, fit_intercept=bias, **exactly).fit(X, y, sample_weight=weights)
    s = weights / weights.sum()
    residuals = y - model.predict(X)
    np.testing.assert_allclose(X.T @ (s * residuals), lam * model.coef_, atol=2e-6)
    if bias:
        assert abs(s @ residuals) < 2e-6
    else:
        assert model.intercept_ == 0
    assert model.certificate_.holds
    assert model.certificate_.upper == pytest.approx(objective(model, X, y, lam, weights))


@by_solver
def test_whole_weights_are_repeated_rows(solver):
    X, y = plane(40, 4)
    times = np.arange(40) % 4
    weighted = Ridge(lam=0.05, solver=solver, standardize=True, **exactly)
    repeated = Ridge(lam=0.05, solver=solver, standardize=True, **exactly)
    weighted.fit(X, y, sample_weight=times)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, rel=1e-5)
    assert weighted.certificate_.upper == pytest.approx(repeated.certificate_.upper)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("solver", [*SOLVERS, "stochastic"])
def test_every_layout_gives_the_same_model(solver, layout, standardize):
    X, y = plane(60, 4)
    options = {"solver": solver, "standardize": standardize, "random_state": 0}
    options |= {"stop": stops.MaxIterations(30)}
    expected = Ridge(lam=0.1, **options).fit(X, y)
    other = Ridge(lam=0.1, **options).fit(LAYOUTS[layout](X), y)
    np.testing.assert_allclose(other.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    assert other.intercept_ == pytest.approx(expected.intercept_, rel=1e-7)
    assert other.certificate_.lower == pytest.approx(expected.certificate_.lower, rel=1e-6)
    assert other.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-9)
    assert expected.certificate_.verify(LAYOUTS[layout](X), y)


@by_solver
def test_targets_do_not_feel_each_other(solver):
    X, y = plane(50, 3)
    Y = np.column_stack([y, np.sin(y), 3 * X[:, 0]])
    together = LeastSquares(solver=solver, **exactly).fit(X, Y)
    assert together.coef_.shape == (3, 3)
    assert together.predict(X).shape == (50, 3)
    for c, certificate in enumerate(together.certificate_.singles):
        alone = LeastSquares(solver=solver, **exactly).fit(X, Y[:, c])
        np.testing.assert_allclose(together.coef_[c], alone.coef_, rtol=1e-5, atol=1e-5)
        assert certificate.holds
        assert certificate.verify(X, Y)
        assert not certificate.verify(X, np.roll(Y, 1, axis=1))


def test_scaling_a_column_scales_its_coefficient():
    X, y = plane(60, 4)
    factors = np.array([1e-8, 1.0, 1e8, 1e3])
    plain = LeastSquares().fit(X, y)
    scaled = LeastSquares().fit(X * factors, y)
    np.testing.assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-8)
    assert scaled.certificate_.relative_gap < 1e-11


def test_a_shift_of_the_data_moves_the_bias_alone():
    X, y = plane(500, 3)
    plain, moved = LeastSquares().fit(X, y), LeastSquares().fit(X + 1e7, y + 1e7)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-5)
    assert moved.certificate_.relative_gap < 1e-6


def test_ridge_shrinks_and_its_training_error_grows_with_lambda():
    X, y = plane(60, 4)
    models = [Ridge(lam=lam).fit(X, y) for lam in (1e-3, 1e-1, 10.0)]
    lengths = [np.linalg.norm(model.coef_) for model in models]
    errors = [objective(model, X, y) for model in models]
    assert lengths == sorted(lengths, reverse=True)
    assert errors == sorted(errors)


# ---- singular and ill-conditioned ------------------------------------------------------------


def test_collinear_columns_give_the_smallest_solution_and_say_so():
    X, y = plane(40, 3)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(40, 7.0)])
    with pytest.warns(UserWarning, match="Ridge"):
        model = LeastSquares().fit(X, y)
    centred = X - X.mean(axis=0)
    expected = np.linalg.lstsq(centred, y - y.mean())[0]
    np.testing.assert_allclose(model.coef_, expected, atol=1e-10)
    assert any("singular" in remark for remark in model.certificate_.notes)
    # Singular to rounding: the claim is about models no farther than ρ, which is stated.
    assert model.certificate_.holds
    assert model.certificate_.relative_gap < 1e-8
    assert f"within ρ = {model.certificate_.figures['ρ']:.6g}" in model.certificate_.statement


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_more_columns_than_rows_far_from_zero_need_no_triangle(offset, weighted, dtype):
    rng = np.random.default_rng(3)
    X, y, s = rng.normal(size=(60, 200)), rng.normal(size=(60, 2)), np.ones(60)
    X[:, ::7] += offset
    X = X.astype(dtype)
    s[::9] = 0.0 if weighted else 1.0
    mean = np.average(X.astype(float), axis=0, weights=s), np.average(y, axis=0, weights=s)
    found = dual_equations(X, y, s / s.sum(), mean, np.full(200, 1e-3))
    # In the limit of the mean's own digits, the same as of rows that are centred beforehand.
    Z = np.sqrt(s / s.sum())[:, None] * (X.astype(float) - mean[0])
    t = np.sqrt(s / s.sum())[:, None] * (y - mean[1])
    expected = Z.T @ np.linalg.solve(Z @ Z.T + 1e-3 * np.eye(60), t)
    assert found is not None
    assert np.allclose(found.theta.T, expected, rtol=1e-6, atol=1e-9)


def test_more_columns_than_rows():
    X, y = plane(10, 30)
    with pytest.warns(UserWarning, match="singular"):
        model = LeastSquares().fit(X, y)
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
    np.testing.assert_allclose(model.coef_, expected, atol=1e-10)
    assert model.certificate_.upper < 1e-20
    found = LeastSquares(solver="conjugate-gradients", standardize=False).fit(
        sparse.csr_matrix(X), y
    )
    assert found.certificate_.upper < 1e-6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("power", [-300, -111, -60, 60, 300])
def test_the_solution_of_smallest_norm_has_the_units_of_the_columns(power, free):
    """Beside a column of zeros, which has none."""
    random = np.random.default_rng(5194)
    rows = random.integers(-4, 5, size=(60, 2)) @ random.integers(-2, 3, size=(2, 5)).astype(float)
    rows[:, 1] = 0.0
    y = random.normal(size=60)
    one = LeastSquares(fit_intercept=free).fit(rows, y)
    other = LeastSquares(fit_intercept=free).fit(rows * 2.0**power, y)
    np.testing.assert_allclose(other.coef_ * 2.0**power, one.coef_, rtol=1e-9, atol=1e-12)
    assert other.certificate_.relative_gap <= 1e-6


@pytest.mark.filterwarnings("error:.*singular")
def test_columns_that_are_nearly_collinear_are_not_said_to_be():
    random = np.random.default_rng(0)
    rows = random.integers(-4, 5, size=(60, 2)) @ np.array([[1.0, -2.0, 0.0, 1.0], [0, 0, 1, -1]])
    apart, y = random.integers(-1, 2, size=(60, 4)), random.normal(size=60)
    for far in 2.0 ** np.arange(-13.0, -7.0, 0.25):
        model = LeastSquares().fit(rows + far * apart, y)
        assert not any("singular" in note for note in model.certificate_.notes), far


@pytest.mark.parametrize("lam", [1e-3, 0.2, 10.0])
@pytest.mark.parametrize("repeated", [False, True])
def test_with_a_penalty_nothing_is_singular(lam, repeated):
    """θ = (λI + XᵀX/n)⁻¹ Xᵀy/n, with more columns than rows and with a column twice."""
    X, y = plane(40, 3) if repeated else plane(6, 15)
    if repeated:
        X = np.column_stack([X, X[:, 0]])
    A, b = lam * np.eye(X.shape[1]) + X.T @ X / len(y), X.T @ y / len(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Ridge(lam=lam, solver="normal-equations", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)


def test_nearly_collinear_data_are_triangularized():
    rng = np.random.default_rng(0)
    X, y = plane(300, 4)
    X[:, 3] = X[:, 2] + 1e-7 * rng.normal(size=300)
    y = X @ [1.0, 2.0, 3.0, 4.0]
    model = LeastSquares().fit(X, y)
    assert any("ill-conditioned" in remark for remark in model.certificate_.notes)
    np.testing.assert_allclose(model.coef_, [1, 2, 3, 4], rtol=1e-6)


def test_one_row_and_constant_targets():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = LeastSquares().fit([[1.0, 2.0]], [3.0])
        flat = LeastSquares().fit(np.ones((5, 2)), np.full(5, 4.0))
    assert one.predict([[1.0, 2.0]])[0] == pytest.approx(3.0)
    assert flat.predict([[9.0, 9.0]])[0] == pytest.approx(4.0)
    assert one.certificate_.holds
    assert flat.certificate_.gap <= flat.certificate_.charge + 1e-30


# ---- batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_batches_in_closed_form_are_the_whole(standardize, weighted):
    X, y = plane(90, 4)
    weights = np.linspace(0.5, 3, 90) if weighted else np.ones(90)
    whole = Ridge(lam=0.1, standardize=standardize).fit(X, y, sample_weight=weights)
    model = Ridge(lam=0.1, standardize=standardize)
    for start in range(0, 90, 30):
        batch = slice(start, start + 30)
        given = {"sample_weight": weights[batch]} if weighted else {}
        model.partial_fit(X[batch], y[batch], **given)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    assert model.intercept_ == pytest.approx(whole.intercept_)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.relative_gap < 1e-9
    assert certificate.verify(X, y)
    assert certificate.upper == pytest.approx(whole.certificate_.upper, rel=1e-8)


def test_batches_of_collinear_columns():
    X, y = plane(90, 3)
    X = np.column_stack([X, X @ [1.0, 1.0, 0.0]])
    model = LeastSquares()
    for start in range(0, 90, 30):
        model.partial_fit(X[start : start + 30], y[start : start + 30])
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
    np.testing.assert_allclose(model.coef_, expected, atol=1e-8)
    # From moments alone nothing is known along the direction in which they are collinear.
    assert model.certificate_.kind == "none"
    assert "cotas.certify(model, X, y) with all the rows can" in model.certificate_.statement
    assert cotas.certify(model, X, y).relative_gap < 1e-9


def test_stochastic_batches_are_one_epoch():
    X, y = plane(90, 3)
    options = {"solver": "stochastic", "step": schedules.PowerLaw(0.02), "shuffle": False}
    whole = Ridge(lam=0.1, stop=stops.MaxIterations(1), **options).fit(X, y)
    model = Ridge(lam=0.1, **options)
    for start in range(0, 90, 30):
        batch = slice(start, start + 30)
        model.partial_fit(X[batch], y[batch])
        assert model.certificate_.verify(X[batch], y[batch])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-12)
    model.solver = "auto"
    with refuses("solver"):
        model.partial_fit(X, y)
    with refuses("y"):
        Ridge().partial_fit(X, y).partial_fit(X, np.column_stack([y, y]))


# ---- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"solver": "magic"}, "solver"),
        ({"step": "fast"}, "step"),
        ({"step": -1.0}, "step"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"stop": 7}, "stop"),
        ({"tol": 0.0}, "tol"),
        ({"lam": -1.0}, "lam"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(options, parameter):
    with refuses(parameter):
        Ridge(**options).fit([[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize("solver", [*SOLVERS, "stochastic"])
def test_data_that_are_not_finite(solver):
    X, y = plane(60, 3)
    for bad in (np.nan, np.inf):
        spoiled = X.copy()
        spoiled[7, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            LeastSquares(solver=solver).fit(spoiled, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            LeastSquares(solver=solver).fit(X, np.where(np.arange(60) == 3, bad, y))
    with pytest.raises(ValueError, match="non-zero"):
        LeastSquares(solver=solver).fit(X, y, sample_weight=np.zeros(60))


def test_numbers_whose_squares_overflow():
    X, y = plane(60, 3)
    with refuses("X"):
        LeastSquares().fit(X * 1e200, y)


@pytest.mark.parametrize("lam", [0.0, 0.1])
@pytest.mark.parametrize("free_bias", [True, False])
def test_no_digit_depends_on_how_many_threads_there_are(lam, free_bias):
    """Each part of the rows is added up by itself, and the parts depend on the data alone."""
    random = np.random.default_rng(5)
    X = random.normal(1.0, 2.0, (40_000, 7))
    y = X @ random.normal(size=7) + random.normal(size=len(X))
    kind = Ridge(lam=lam, fit_intercept=free_bias) if lam else LeastSquares(fit_intercept=free_bias)
    one, two = (clone(kind).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.certificate_ == two.certificate_
