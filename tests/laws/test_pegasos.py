"""Algorithm 5 of Fuentes Cabrera in all its forms, and the duality gap that measures it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotas import Pegasos
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from problems import clouds, labelled

STEPS = ("1/(lam*t)", "1/t", "1/(1+t)", 0.01)


def objective(X, y, lam, theta, theta0, weights=None):
    weights = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
    return weights @ np.maximum(0, 1 - y * (X @ theta + theta0)) + lam / 2 * theta @ theta


@given(data=labelled(), seed=st.integers(0, 99), weighted=st.booleans())
def test_the_bias_is_the_best_for_theta(data, seed, weighted):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 3, len(data.y)) if weighted else None
    model = Pegasos(lam=0.1, max_iter=2, random_state=seed).fit(*data, sample_weight=weights)
    theta, theta0 = model.coef_[0], model.intercept_[0]
    ours = objective(*data, 0.1, theta, theta0, weights)
    corners = data.y - data.X @ theta
    best = min(objective(*data, 0.1, theta, corner, weights) for corner in corners)
    assert ours <= best * (1 + 1e-6) + 1e-9


def test_unbalanced_classes_do_not_throw_the_bias_away():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    model = Pegasos(lam=0.01, max_iter=20, random_state=0).fit(X / 16, y)
    assert model.score(X / 16, y) > 0.95
    assert max(certificate.gap for certificate in model.certificate_.singles) < 0.02


def test_a_function_of_t_is_the_step_of_that_name():
    X, y = clouds(50, 3)
    named = Pegasos(lam=0.1, step="1/(1+t)", random_state=0).fit(X, y)
    given = Pegasos(lam=0.1, step=lambda t: 1 / (1 + t), random_state=0).fit(X, y)
    np.testing.assert_allclose(named.coef_, given.coef_, rtol=1e-12)


@given(data=labelled(), lam=st.sampled_from([0.01, 0.1, 1.0, 10.0]), epochs=st.integers(1, 4))
def test_theta_is_theta_of_alpha_after_whole_epochs(data, lam, epochs):
    model = Pegasos(lam=lam, max_iter=epochs, random_state=0).fit(*data)
    witness = model.certificate_.witness
    alpha = witness.multipliers / witness.per / len(data.y)
    assert (alpha >= 0).all()
    assert (alpha <= 1 / len(data.y) * (1 + 1e-12)).all()
    np.testing.assert_allclose(
        model.coef_[0], (alpha * data.y) @ data.X / lam, rtol=1e-8, atol=1e-9 / lam
    )


@pytest.mark.parametrize("bias", [False, True])
@given(
    data=labelled(),
    lam=st.sampled_from([0.01, 0.1, 1.0]),
    sampling=st.sampled_from(["order", "permutation", "replacement"]),
    average=st.booleans(),
    step=st.sampled_from(STEPS),
    seed=st.integers(0, 99),
)
def test_the_bounds_enclose_the_best_objective(data, lam, sampling, average, step, seed, bias):
    model = Pegasos(
        lam=lam,
        max_iter=3,
        sampling=sampling,
        average=average,
        step=step,
        fit_intercept=bias,
        random_state=seed,
    ).fit(*data)
    certificate = model.certificate_
    assert certificate.verify(*data)
    assert certificate.upper == pytest.approx(
        objective(*data, lam, model.coef_[0], model.intercept_[0]), rel=1e-9
    )
    # No model at all, however chosen, lies below the lower bound.
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.01, 0.3, 3.0):
        theta = model.coef_[0] * rng.uniform(0, 1.5) + scale * rng.normal(size=data.X.shape[1])
        theta0 = rng.normal() if bias else 0.0
        value = objective(*data, lam, theta, theta0)
        assert certificate.lower <= value * (1 + 1e-12) + certificate.charge


def test_the_gap_closes():
    X, y = clouds(300, 5)
    gaps = [
        Pegasos(lam=0.1, max_iter=epochs, random_state=0).fit(X, y).certificate_.relative_gap
        for epochs in (1, 10, 100, 1000)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 2e-3


def test_tol_stops_at_the_proof_and_warns_without_it():
    from sklearn.exceptions import ConvergenceWarning

    X, y = clouds(300, 5)
    model = Pegasos(lam=0.1, max_iter=5000, tol=5e-3, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= 5e-3
    assert model.n_iter_ < 5000
    assert model.stop_.name == "PROVED"
    with pytest.warns(ConvergenceWarning):
        Pegasos(lam=0.1, max_iter=2, tol=1e-9, random_state=0).fit(X, y)


@given(data=labelled(max_rows=12), seed=st.integers(0, 99))
def test_weights_are_those_of_the_objective(data, seed):
    weights = np.random.default_rng(seed).uniform(0, 3, len(data.y)) + 0.01
    model = Pegasos(lam=0.1, max_iter=5, random_state=0).fit(*data, sample_weight=weights)
    certificate = model.certificate_
    assert certificate.verify(*data)
    assert certificate.upper == pytest.approx(
        objective(*data, 0.1, model.coef_[0], model.intercept_[0], weights), rel=1e-9
    )


@given(data=labelled(max_rows=12), seed=st.integers(0, 99))
def test_weight_zero_leaves_an_example_out(data, seed):
    weights = np.random.default_rng(seed).integers(0, 2, len(data.y)).astype(float)
    weights[0] = weights[-1] = 1.0
    kept = weights > 0
    with_zeros = Pegasos(lam=0.1, sampling="order").fit(*data, sample_weight=weights)
    without = Pegasos(lam=0.1, sampling="order").fit(data.X[kept], data.y[kept])
    np.testing.assert_allclose(with_zeros.coef_, without.coef_, rtol=1e-12, atol=1e-12)
    assert with_zeros.certificate_.upper == pytest.approx(without.certificate_.upper)
    assert with_zeros.certificate_.lower == pytest.approx(without.certificate_.lower, abs=1e-12)
    assert with_zeros.certificate_.verify(*data)


def test_projection_keeps_theta_in_its_ball():
    X, y = clouds(60, 4)
    radius = 1 / np.sqrt(0.01)
    seen = []
    Pegasos(
        lam=0.01,
        project=True,
        step=5.0,
        random_state=0,
        callbacks=lambda report: seen.append(np.linalg.norm(report.coef)),
    ).fit(X, y)
    assert max(seen) <= radius * (1 + 1e-9)


def test_expectation_bound_is_stated_only_where_the_theory_applies():
    X, y = clouds(100, 3)
    model = Pegasos(
        lam=0.1, sampling="replacement", average=True, fit_intercept=False, random_state=0
    ).fit(X, y)
    draws = 20 * 100
    radius = np.linalg.norm(X, axis=1).max()
    expected = 4 * radius**2 * (1 + np.log(draws)) / (2 * 0.1 * draws)
    assert model.certificate_.figures["mean gap in theory, at most"] == pytest.approx(expected)
    assert model.certificate_.gap <= expected
    plain = model.set_params(fit_intercept=True).fit(X, y).certificate_
    assert "mean gap in theory, at most" not in plain.figures


@given(data=labelled(), seed=st.integers(0, 99))
def test_weak_duality(data, seed):
    rng = np.random.default_rng(seed)
    n = len(data.y)
    problem = RegularizedRisk(Hinge(), 0.3, free_bias=False)
    weights = np.full(n, 1 / n)
    alpha = rng.uniform(0, 1, n) / n
    theta = rng.normal(size=data.X.shape[1])
    losses = weights @ problem.loss.value(data.y * (data.X @ theta))
    primal = losses + 0.5 * problem.lam * theta @ theta
    dual = alpha.sum() - problem.dual_cost((alpha * data.y) @ data.X)
    assert dual <= primal + 1e-12
