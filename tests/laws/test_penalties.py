"""Penalties as values: what they are, the elastic net, and weights on the coefficients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet as Peer

from cotas import ElasticNet, Lasso, LeastSquares
from cotas.certificates.core.gap import Claim, Risk, Weights, all_bounds
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import Ball, ElasticNetRegularizer
from cotas.certificates.core.unpenalized import limits as limits_of
from cotas.design.centred import CentredColumns
from cotas.solvers.lasso_working_set import WorkingSetLasso
from cotas.solvers.penalties import (
    NO_WEIGHTS,
    ElasticNetPenalty,
    bounds,
    first,
    prox,
    second,
    times,
    value,
)
from errors import refuses
from laws.exact.oracle import Exact, at_most, rational
from problems import LAYOUTS, regression, targeted

X, Y = regression(60, 8, seed=1)
WIDE = regression(40, 120, seed=3)
TIGHT = {"tol": 1e-10}
# What rounding leaves where a coefficient has no penalty.
LOOSER = {"tol": 1e-8}
W = np.array([1.0, 0.5, 0.0, 2.0, 1.0, 3.0, 0.0, 1.0])

penalties = st.builds(
    ElasticNetPenalty,
    st.floats(0.01, 10),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.booleans(),
    st.sampled_from([NO_WEIGHTS, np.array([0.0]), np.array([2.5])]),
)


# ---- the values --------------------------------------------------------------------------------


@given(penalties, st.floats(-20, 20), st.floats(0.1, 5), st.floats(-5, 5))
def test_prox_is_the_minimum(penalty, z, curvature, other):
    def objective(b):
        return 0.5 * curvature * b * b - z * b + value(penalty, np.array([b]))

    best = prox(penalty, 0, z, curvature)
    assert not (penalty.positive and best < 0)
    other = abs(other) if penalty.positive else other
    for b in (other, best + 1e-3, max(0.0, best - 1e-3) if penalty.positive else best - 1e-3):
        assert objective(best) <= objective(b) + 1e-9


@given(penalties, st.floats(-3, 3), st.floats(0.1, 4))
def test_value_and_slopes_belong_together(penalty, b, lam):
    b = abs(b) if penalty.positive else b
    scaled, h = times(penalty, lam), 1e-6
    assert value(scaled, np.array([b])) == pytest.approx(lam * value(penalty, np.array([b])))
    if abs(b) > 1e-3:
        slope = (value(scaled, np.array([b + h])) - value(scaled, np.array([b - h]))) / (2 * h)
        expected = first(scaled, 0) * np.sign(b) + second(scaled, 0) * b
        assert slope == pytest.approx(expected, abs=1e-5)


@given(targeted(), penalties, st.integers(0, 99))
def test_what_the_solver_believes_is_no_less_than_the_truth(data, penalty, seed):
    """P − D is at least P less its smallest value, where every coefficient has a penalty."""
    penalty = penalty._replace(weights=NO_WEIGHTS)
    columns = CentredColumns(data.X, np.full(len(data.y), 1 / len(data.y)))
    y = columns.centred(data.y)
    rng = np.random.default_rng(seed)
    solver = WorkingSetLasso(columns, data.y, penalty)
    best = solver.solve(1.0, 1e-12)
    beta = np.zeros(columns.p)
    beta[best.support] = best.beta
    beta += 0.1 * rng.random(columns.p)
    r = y - columns.combination(np.arange(columns.p), beta)
    a, b = float(columns.weights @ (r * y)), float(columns.weights @ (r * r))
    found = bounds(penalty, a, b, columns.correlations(r), beta)
    assert found.gap >= found.primal - best.primal - 1e-9 * (1 + found.primal)


# ---- the elastic net ---------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("data", [regression(60, 8, seed=1), WIDE], ids=["tall", "wide"])
def test_elastic_net_has_the_objective_of_its_peer(layout, positive, data):
    rows = LAYOUTS[layout](data.X)
    model = ElasticNet(lam=0.2, l1_ratio=0.3, positive=positive, **TIGHT).fit(rows, data.y)
    peer = Peer(alpha=0.2, l1_ratio=0.3, positive=positive, tol=1e-12, max_iter=10**6)
    exact = np.asarray(rows.todense() if hasattr(rows, "todense") else rows, np.float64)
    peer.fit(exact, data.y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert model.certificate_.relative_gap <= 1e-10
    assert model.certificate_.verify(rows, data.y)
    zeros = model.certified_zeros(rows, data.y)
    assert not peer.coef_[zeros].any()


def test_without_the_square_it_is_the_lasso():
    for more in ({}, {"positive": True}, {"weights": W}, {"standardize": True}):
        net = ElasticNet(lam=0.1, l1_ratio=1.0, **more, **LOOSER).fit(X, Y)
        lasso = Lasso(lam=0.1, **more, **LOOSER).fit(X, Y)
        np.testing.assert_array_equal(net.coef_, lasso.coef_)
        assert net.certificate_.upper == lasso.certificate_.upper


@pytest.mark.parametrize("model", [Lasso(lam=0.1), ElasticNet(lam=0.1, l1_ratio=0.3)], ids=repr)
def test_kkt_at_the_answer(model):
    model.set_params(weights=W, **LOOSER).fit(X, Y)
    share = getattr(model, "l1_ratio", 1.0)
    r = Y - model.predict(X)
    q = (X - X.mean(axis=0)).T @ r / len(Y) - 0.1 * (1 - share) * W**2 * model.coef_
    on = model.coef_ != 0
    np.testing.assert_allclose(q[on], 0.1 * share * W[on] * np.sign(model.coef_[on]), atol=1e-4)
    assert (np.abs(q[~on]) <= 0.1 * share * W[~on] + 1e-4).all()


def test_zeros_of_a_net_are_proved_far_from_the_optimum_too():
    loose = ElasticNet(lam=0.5, l1_ratio=0.9, tol=1e-2).fit(X, Y)
    exact = ElasticNet(lam=0.5, l1_ratio=0.9, **TIGHT).fit(X, Y)
    assert not exact.coef_[loose.certified_zeros(X, Y)].any()
    assert loose.certified_zeros(X, Y).sum() <= exact.certified_zeros(X, Y).sum()
    assert exact.certified_zeros(X, Y).any()


# ---- weights -----------------------------------------------------------------------------------

KINDS = [Lasso(lam=0.1), Lasso(delta=1.5), ElasticNet(lam=0.1, l1_ratio=0.4)]
KINDS += [Lasso(lam=0.1, positive=True), Lasso(lam=0.1, fit_intercept=False)]
by_kind = pytest.mark.parametrize("model", KINDS, ids=repr)


@by_kind
def test_weights_are_units_of_the_columns(model):
    w = np.geomspace(0.2, 5.0, X.shape[1])
    weighted = clone(model).set_params(weights=w, **TIGHT).fit(X, Y).coef_
    plain = clone(model).set_params(**TIGHT).fit(X / w, Y).coef_
    np.testing.assert_allclose(weighted, plain / w, atol=1e-5)


@by_kind
@pytest.mark.parametrize("data", [(X, Y), WIDE], ids=["tall", "wide"])
def test_a_coefficient_without_a_weight_is_as_if_taken_out_before(model, data, monkeypatch):
    """Frisch and Waugh: the rest is the same after its column is regressed out of all others."""
    if model.positive:
        pytest.skip("the regression before would have to be a positive one")
    rows, y = data
    w = np.where(np.arange(rows.shape[1]) % 4 == 2, 0.0, 1.0)
    w[16:] = 1.0
    fitted = clone(model).set_params(weights=w, **LOOSER).fit(rows, y)
    assert fitted.certificate_.relative_gap <= 1e-8
    assert fitted.certificate_.verify(rows, y)
    free, rest = rows[:, w == 0], rows[:, w > 0]
    first_stage = LeastSquares(fit_intercept=model.fit_intercept)
    both = np.column_stack([rest, y])
    left = both - first_stage.fit(free, both).predict(free)
    again = clone(model).set_params(**TIGHT).fit(left[:, :-1], left[:, -1])
    np.testing.assert_allclose(fitted.coef_[w > 0], again.coef_, atol=1e-3)
    assert fitted.certificate_.upper == pytest.approx(again.certificate_.upper, rel=1e-7)
    assert not again.coef_[fitted.certified_zeros(rows, y)[w > 0]].any()
    assert not fitted.certified_zeros(rows, y)[w == 0].any()


@by_kind
def test_working_sets_and_residuals_know_the_weights(model, monkeypatch):
    import cotas.solvers.lasso_working_set as module

    model = clone(model).set_params(weights=W, **LOOSER)
    expected = model.fit(X, Y).predict(X)
    for largest in (4000, 3):
        monkeypatch.setattr(module, "WIDEST_GRAM", 0)
        monkeypatch.setattr(module, "LARGEST_GRAM", largest)
        np.testing.assert_allclose(model.fit(X, Y).predict(X), expected, atol=1e-3)
        assert model.certificate_.relative_gap <= 1e-8


def test_collinear_columns_without_a_penalty_prove_nothing_and_claim_nothing():
    rows = np.column_stack([X, X[:, 2]])
    model = Lasso(lam=0.1, weights=np.append(W, 0.0))
    with pytest.warns(ConvergenceWarning):
        model.fit(rows, Y)
    assert model.certificate_.lower == 0.0
    assert model.certificate_.vacuous


@given(targeted(12, 4), st.integers(0, 999))
def test_bounds_with_weights_of_zero_hold_in_exact_arithmetic(data, seed):
    """Of any model and any dual point: no model has a value below the lower bound."""
    rng = np.random.default_rng(seed)
    d, positive = data.X.shape[1], bool(rng.integers(2))
    w = np.where(rng.random(d) < 0.5, 0.0, rng.uniform(0.2, 3.0, d))
    lam = float(10.0 ** rng.uniform(-2, 1))
    kinds = (
        ElasticNetRegularizer(lam, 0.0, positive, w),
        ElasticNetRegularizer(lam, 1.0, positive, w),
        Ball(lam, positive, w),
    )
    risk = Risk(Squared(), kinds[rng.integers(3)], bool(rng.integers(2)))
    exact = Exact(risk, data.X, data.y, None)

    def model():
        size = np.abs if positive else np.asarray
        theta = size(rng.normal(size=d) * 10.0 ** rng.integers(-2, 2))
        most = float(np.abs(theta) @ w)
        theta = (
            theta * min(1.0, 0.9 * lam / most) if most and risk.regularizer is kinds[2] else theta
        )
        return theta, float(rng.normal()) if risk.free_bias else 0.0

    models = [(np.zeros(d), 0.0), *(model() for _ in range(4))]
    if not positive and (w == 0).any():  # one that fits what has no penalty well
        free = LeastSquares(fit_intercept=risk.free_bias).fit(data.X[:, w == 0], data.y)
        models.append((np.zeros(d), float(free.intercept_)))
        models[-1][0][w == 0] = free.coef_
    theta, bias = models[rng.choice([0, 1, len(models) - 1])]
    c = None if rng.random() < 0.6 else rng.normal(size=len(data.y))
    claim = Claim(risk, data.y, theta, bias, c)
    found = all_bounds(rows_in(data.X, risk.free_bias), [claim])[0].bounds
    for other in models:
        assert at_most(found.lower, exact.value(rational(other[0]), *rational([other[1]])))


@given(targeted(12, 4), st.integers(0, 999), st.sampled_from(["target", "residual", "rest"]))
def test_coefficients_without_a_penalty_are_within_their_limits(data, seed, balance):
    """Of every model whose objective is at most `level`: rough limits, but never too small.

    What a large coefficient adds to the scores is balanced by the target, by the residual, or by
    the other coefficients.
    """
    rng = np.random.default_rng(seed)
    columns = data.X * 10.0 ** rng.integers(-3, 4, size=data.X.shape[1])
    rows, bias = np.repeat(columns, 2, axis=1), bool(rng.integers(2))
    w = np.where(np.arange(rows.shape[1]) % 2 == 0, 0.0, rng.uniform(0.2, 3.0, rows.shape[1]))
    theta = np.where(w == 0, rng.normal(size=len(w)) * 10.0 ** rng.integers(-2, 3), 0.0)
    if balance == "rest":
        theta[1::2] = -theta[::2]  # every column is there twice
    y = rows @ theta if balance == "target" else np.zeros(len(rows))
    net = ElasticNetRegularizer(float(10.0 ** rng.uniform(-2, 1)), float(rng.integers(2)), False, w)
    for regularizer in (net, Ball(float(np.abs(theta) @ w) * 1.01 + 1e-3, False, w)):
        risk = Risk(Squared(), regularizer, bias)
        value = Exact(risk, rows, y, None).value(rational(theta), *rational([0.0]))
        weights = Weights.of(None, len(y))
        claim = Claim(risk, y, theta, 0.0).moved(weights)[0]
        level = float(value) * (1 + 1e-12)
        limits = limits_of(claim, rows_in(rows, bias), weights, level)
        assert (np.abs(theta[w == 0]) <= limits).all()


# ---- bad calls ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights", [[1.0], np.zeros(8), -np.ones(8), np.full(8, np.nan), np.full(8, np.inf)], ids=str
)
def test_bad_weights_are_named(weights):
    for model in (Lasso(weights=weights), ElasticNet(weights=weights)):
        with refuses("weights"):
            model.fit(X, Y)


@pytest.mark.parametrize("ratio", [0.0, -1.0, 1.5, np.nan, "a"])
def test_bad_shares_are_named(ratio):
    with refuses("l1_ratio"):
        ElasticNet(l1_ratio=ratio).fit(X, Y)


def test_max_iter_ends_the_fit_with_a_proof():
    for model in (Lasso(lam=1e-4, max_iter=2), ElasticNet(lam=1e-4, max_iter=2)):
        with pytest.warns(ConvergenceWarning):
            model.fit(*WIDE)
        assert model.n_iter_ <= 3
        assert model.certificate_.holds
        assert model.certificate_.verify(*WIDE)
