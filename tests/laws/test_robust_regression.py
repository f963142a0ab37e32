"""Laws of support vector regression and of Huber's: what is minimized, and how it is proved."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR as Peer

import cotas
from cotas.certificates.residuals import ResidualPoint
from cotas.stops import Stop
from errors import refuses
from problems import LAYOUTS, plane, regression

X, Y = regression(90, 6)
MODELS = [
    cotas.LinearSVR(epsilon=0.3),
    cotas.LinearSVR(epsilon=0.0, fit_intercept=False),
    cotas.HuberRegressor(epsilon=0.4),
    cotas.HuberRegressor(epsilon=0.1, fit_intercept=False),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=repr)
by_kind = pytest.mark.parametrize("kind", [cotas.LinearSVR, cotas.HuberRegressor])


def copy_of(model, **changes):
    return type(model)(**{**model.get_params(), **changes})


def objective(model, rows, y, weights, lam):
    r = np.abs(y - rows @ model.coef_ - model.intercept_)
    k = model.epsilon
    if isinstance(model, cotas.LinearSVR):
        losses = np.maximum(0.0, r - k)
    else:
        losses = np.where(r <= k, 0.5 * r**2, k * r - 0.5 * k**2)
    return float(weights @ losses / weights.sum() + 0.5 * lam * model.coef_ @ model.coef_)


@by_kind
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_gap_asked_for_is_proved_on_a_real_table(kind, epsilon, scaled):
    rows, y = load_diabetes(return_X_y=True, scaled=False)
    rows = StandardScaler().fit_transform(rows) if scaled else rows
    model = kind(epsilon=epsilon).fit(rows, y)
    assert model.stop_ is Stop.PROVED
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.verify(rows, y)


@by_model
def test_the_objective_is_the_one_that_is_said_and_no_neighbour_is_better(model):
    weights = np.linspace(0.2, 2.0, len(Y))
    fitted = copy_of(model, lam=0.01, tol=1e-10).fit(X, Y, weights)
    mine, certificate = objective(fitted, X, Y, weights, 0.01), fitted.certificate_
    assert certificate.lower <= mine <= certificate.upper * (1 + 1e-12)
    rng = np.random.default_rng(0)
    theta, theta0 = fitted.coef_.copy(), fitted.intercept_
    for size in (1e-6, 1e-3, 1.0):
        fitted.coef_ = theta + size * rng.normal(size=len(theta))
        fitted.intercept_ = theta0 + size * rng.normal() * fitted.fit_intercept
        assert objective(fitted, X, Y, weights, 0.01) >= certificate.lower


def test_without_a_bias_it_is_what_liblinear_solves():
    rows, y = plane(80, 4)
    mine = cotas.LinearSVR(epsilon=0.2, C=0.3, fit_intercept=False, tol=1e-9).fit(rows, y)
    peer = Peer(epsilon=0.2, C=0.3, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = objective_of(peer.fit(rows, y).coef_, rows, y, 1 / (0.3 * 80))
    assert mine.certificate_.lower <= theirs
    assert mine.certificate_.upper <= theirs * (1 + 1e-6)


def objective_of(theta, rows, y, lam):
    losses = np.maximum(0.0, np.abs(y - rows @ theta) - 0.2)
    return float(losses.mean() + 0.5 * lam * theta @ theta)


def test_least_absolute_residuals_are_those_of_a_linear_program():
    """With ε = 0 and hardly a penalty, the smallest mean |y − θ·x − θ₀|."""
    rows, y = plane(40, 3)
    n, d = rows.shape
    A = np.hstack([rows, np.ones((n, 1))])
    sides = np.block([[A, -np.eye(n)], [-A, -np.eye(n)]])
    free = [(None, None)] * (d + 1) + [(0, None)] * n
    cost = np.r_[np.zeros(d + 1), np.full(n, 1 / n)]
    best = linprog(cost, sides, np.r_[y, -y], bounds=free).fun
    model = cotas.LinearSVR(epsilon=0.0, lam=1e-9, tol=1e-7).fit(rows, y)
    assert model.certificate_.lower <= best * (1 + 1e-6)
    assert model.certificate_.upper == pytest.approx(best, rel=1e-5)


def test_hubers_loss_without_an_end_to_its_squares_is_ridge():
    huber = cotas.HuberRegressor(epsilon=1e6, lam=0.1, tol=1e-10).fit(X, Y)
    ridge = cotas.Ridge(lam=0.1).fit(X, Y)
    np.testing.assert_allclose(huber.coef_, ridge.coef_, rtol=1e-5, atol=1e-8)
    assert huber.certificate_.upper == pytest.approx(ridge.certificate_.upper, rel=1e-8)


def test_one_wild_target_moves_them_little_and_least_squares_much():
    rows, y = plane(60, 3)
    wild = y.copy()
    wild[0] += 1e4
    for model in (cotas.LinearSVR(), cotas.HuberRegressor(epsilon=1.0)):
        moved = np.abs(model.fit(rows, wild).coef_ - model.fit(rows, y).coef_).max()
        assert moved < 0.5
    ridge = cotas.Ridge()
    assert np.abs(ridge.fit(rows, wild).coef_ - ridge.fit(rows, y).coef_).max() > 5


@by_model
def test_a_weight_is_a_number_of_copies(model):
    times = np.arange(len(Y)) % 3
    fitted = copy_of(model, tol=1e-10, lam=0.1)
    weighted = fitted.fit(X, Y, times).coef_.copy()
    copied = fitted.fit(np.repeat(X, times, axis=0), np.repeat(Y, times)).coef_
    np.testing.assert_allclose(weighted, copied, atol=1e-4)


@by_model
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_the_rows_does_not_matter(model, layout):
    expected = copy_of(model, lam=0.1, tol=1e-9).fit(X, Y)
    other = LAYOUTS[layout](X)
    fitted = copy_of(model, lam=0.1, tol=1e-9).fit(other, Y)
    np.testing.assert_allclose(fitted.coef_, expected.coef_, atol=1e-3)
    assert fitted.certificate_.verify(other, Y)


@by_model
def test_several_targets_are_fitted_one_by_one(model):
    both = np.column_stack([Y, -2.0 * Y + X[:, 0]])
    fitted = copy_of(model).fit(X, both)
    alone = copy_of(model).fit(X, both[:, 1])
    np.testing.assert_array_equal(fitted.coef_[1], alone.coef_)
    assert [part.label for part in fitted.certificate_.parts] == ["target 0", "target 1"]
    assert fitted.certificate_.verify(X, both)


@by_kind
def test_scaling_y_epsilon_and_lam_scales_the_model(kind):
    """ℓ(cr; cε) is c, for Huber c², times ℓ(r; ε)."""
    c = 64.0
    power = 0.5 if kind is cotas.LinearSVR else 1.0
    one = kind(epsilon=0.3, lam=0.1, tol=1e-9).fit(X, Y)
    other = kind(epsilon=0.3 * c, lam=0.1 * c ** (2 * power - 2), tol=1e-9).fit(X, c * Y)
    np.testing.assert_allclose(other.coef_, c * one.coef_, rtol=1e-3, atol=1e-3)
    assert other.certificate_.upper == pytest.approx(
        c ** (2 * power) * one.certificate_.upper, rel=1e-8
    )


@by_kind
def test_more_columns_than_rows_and_conjugate_gradients(kind):
    rows = sparse.random(60, 2000, 0.02, random_state=0, format="csr")
    y = np.asarray(rows.sum(axis=1)).ravel() + np.sin(np.arange(60))
    model = kind(epsilon=0.1, lam=0.01, tol=1e-4).fit(rows, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.verify(rows, y)


@by_model
def test_a_warm_start_goes_on(model):
    fitted = copy_of(model, warm_start=True, lam=0.1).fit(X, Y)
    before = fitted.coef_.copy()
    assert fitted.fit(X, Y).n_iter_ == 0
    np.testing.assert_array_equal(fitted.coef_, before)
    cold = copy_of(model, lam=0.09).fit(X, Y)
    warm = fitted.set_params(lam=0.09).fit(X, Y)
    assert warm.certificate_.upper == pytest.approx(cold.certificate_.upper, rel=1e-5)
    assert warm.certificate_.relative_gap <= 1e-6


@by_model
def test_limits_and_callbacks_end_the_fit(model):
    seen = []

    def second(report):
        seen.append(report.certificate.relative_gap)
        return len(seen) == 2

    for change, stop in (({"max_iter": 1}, Stop.ITERATIONS), ({"callbacks": second}, None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = copy_of(model, **change).fit(X, Y)
        assert stop is None or fitted.stop_ is stop
        assert fitted.certificate_.verify(X, Y)
    assert len(seen) <= 2


@pytest.mark.parametrize("loss", ["Huber", "ε-insensitive"])
def test_any_slopes_give_a_lower_bound_for_any_model(loss):
    rng = np.random.default_rng(1)
    for _ in range(20):
        free = bool(rng.random() < 0.5)
        slopes = rng.normal(size=len(Y)) * 10 ** rng.uniform(-2, 2)
        theta, theta0 = rng.normal(size=X.shape[1]), rng.normal() * free
        point = ResidualPoint(loss, 0.5, 0.1, free, theta, theta0, slopes)
        bound = point.check(X, Y)
        assert bound.holds
        other = point.about(rng.normal(size=X.shape[1]), 5.0 * free).check(X, Y)
        assert bound.lower <= other.upper
        assert other.lower <= bound.upper


def test_a_tube_that_holds_everything_costs_nothing():
    model = cotas.LinearSVR(epsilon=1e3).fit(X, Y)
    assert not model.coef_.any()
    assert model.certificate_.upper == pytest.approx(0.0, abs=1e-12)
    assert model.certificate_.relative_gap <= 1e-6


def test_constant_targets_are_met():
    for kind in (cotas.LinearSVR, cotas.HuberRegressor):
        model = kind(epsilon=0.1).fit(X, np.full(len(Y), 3.0))
        np.testing.assert_allclose(model.predict(X), 3.0, atol=0.11)
        assert model.certificate_.holds


@pytest.mark.parametrize(
    ("kind", "wrong", "name"),
    [
        (cotas.LinearSVR, {"epsilon": -0.1}, "epsilon"),
        (cotas.LinearSVR, {"lam": 0.5, "C": 1.0}, "C"),
        (cotas.LinearSVR, {"tol": 0.0}, "tol"),
        (cotas.HuberRegressor, {"epsilon": 0.0}, "epsilon"),
        (cotas.HuberRegressor, {"lam": np.inf}, "lam"),
    ],
)
def test_a_wrong_parameter_is_named(kind, wrong, name):
    with refuses(name):
        kind(**wrong).fit(X, Y)
