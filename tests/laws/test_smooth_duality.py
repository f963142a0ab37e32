"""Laws of the duals of smooth losses: any witness gives a bound, and the bound can be tight."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotas.certificates import DualPoint, SoftmaxPoint
from cotas.certificates.core.choices import balance
from cotas.certificates.core.softmax import feasible
from cotas.losses import Hinge, Logistic, ModifiedHuber, SquaredHinge
from cotas.problem import RegularizedRisk, SoftmaxRisk
from cotas.solvers import newton as method
from cotas.solvers import smooth_rows
from cotas.solvers.bias import best_smooth_bias
from cotas.solvers.losses import SMOOTH as SMOOTH_LOSSES
from cotas.solvers.risks import RowRisk, SoftmaxLoss
from problems import clouds, labelled, three_clouds

SMOOTH = [Logistic(), SquaredHinge(), ModifiedHuber()]
by_loss = pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
BIASES = {"none": None, "free": 0.0, "penalized": 0.02}
by_bias = pytest.mark.parametrize("bias", BIASES)
LAM = 0.05


def problem_with(loss, bias):
    scale = np.sqrt(LAM / BIASES[bias]) if bias == "penalized" else 0.0
    return RegularizedRisk(loss, LAM, bias == "free", scale)


def solve(X, loss, bias, steps=60):
    scale = problem_with(None, bias).bias_scale
    if scale:  # a penalized bias is the weight of one more column
        X = np.column_stack([X, np.full(len(X), scale)])
    points = list(zip(range(steps), method.newton(X, loss, LAM, bias == "free"), strict=False))
    if not scale:
        return points
    return [(k, p._replace(theta=p.theta[:-1], theta0=scale * p.theta[-1])) for k, p in points]


@by_loss
@by_bias
@settings(max_examples=12)
@given(data=labelled(), seed=st.integers(0, 99))
def test_any_multipliers_give_a_lower_bound_for_any_model(loss, bias, data, seed):
    rng = np.random.default_rng(seed)
    n, d = data.X.shape
    point = DualPoint(
        problem=problem_with(loss, bias),
        coef=rng.normal(size=d),
        intercept=float(rng.normal()) * (bias != "none"),
        positive=1,
        multipliers=rng.normal(size=n) * 10 ** rng.uniform(-2, 2),
        weights=(w := rng.random(n)) / w.sum(),
    )
    certificate = point.check(data.X, data.y)
    models = rng.normal(size=(8, d)) * 10 ** rng.uniform(-3, 1, size=(8, 1))
    for theta in [*models, np.zeros(d)]:
        theta0 = float(rng.normal()) * (bias != "none")
        other = point.about(theta, theta0).check(data.X, data.y)
        assert other.lower <= other.upper
        assert certificate.lower <= other.upper + other.charge


@by_loss
@by_bias
def test_the_slopes_at_the_optimum_close_the_gap(loss, bias):
    data = clouds(80, 3)
    weights = np.linspace(0, 1, 80) / np.linspace(0, 1, 80).sum()
    risk = RowRisk(data.y.astype(float), weights, SMOOTH_LOSSES[loss.name])
    _, best = solve(data.X, risk, bias)[-1]
    theta, theta0 = best.theta[:, 0], float(best.theta0[0])
    share = -loss.slope(data.y * (data.X @ theta + theta0))
    problem = problem_with(loss, bias)
    point = DualPoint(problem, theta, theta0, 1, share, weights=weights)
    certificate = point.check(data.X, data.y)
    assert certificate.upper == pytest.approx(best.objective, rel=1e-12)
    assert certificate.gap <= 1e-12 * certificate.upper
    # Another multiple of α is found again, since D(tα) is maximized over t.
    rough = replace(point, multipliers=np.minimum(share, 0.5 * share.max())).check(data.X, data.y)
    assert 0 < rough.lower < certificate.lower


@by_loss
@by_bias
def test_the_gap_of_the_slopes_is_the_square_of_the_gradient(loss, bias):
    """Away from the optimum too, where no repair is needed: P − D = ‖∇P‖²/2λ."""
    if bias == "free":
        return
    data = clouds(80, 3)
    risk = RowRisk(data.y.astype(float), np.full(80, 1 / 80), SMOOTH_LOSSES[loss.name])
    for _, best in solve(data.X, risk, bias):
        theta, theta0 = best.theta[:, 0], float(best.theta0[0])
        share = -loss.slope(data.y * (data.X @ theta + theta0))
        problem = problem_with(loss, bias)
        certificate = DualPoint(problem, theta, theta0, 1, share).check(data.X, data.y)
        assert certificate.gap <= best.gap * (1 + 1e-9) + certificate.charge


@by_loss
@by_bias
@pytest.mark.parametrize("largest", [0, 1000])
@settings(max_examples=12)
@given(data=labelled())
def test_newton_never_rises_and_ends_where_the_gradient_vanishes(loss, bias, largest, data):
    n = len(data.y)
    risk = RowRisk(data.y.astype(float), np.full(n, 1 / n), SMOOTH_LOSSES[loss.name])
    kept, smooth_rows.LARGEST_SYSTEM = smooth_rows.LARGEST_SYSTEM, largest
    try:
        path = [point for _, point in solve(data.X, risk, bias)]
    finally:
        smooth_rows.LARGEST_SYSTEM = kept
    values = [point.objective for point in path]
    assert all(b <= a + 1e-15 for a, b in pairwise(values))
    assert min(point.gap for point in path) <= 1e-7 * max(1.0, values[0])


def softmax_point(seed, free_bias, data, y, reference=None):
    rng = np.random.default_rng(seed)
    coef, bias = rng.normal(size=(3, data.shape[1])), rng.normal(size=3) * free_bias
    other = (rng.normal(size=coef.shape), rng.normal(size=3) * free_bias)
    weights = rng.random(len(y))
    theta, theta0 = other if reference is None else reference
    return SoftmaxPoint(
        SoftmaxRisk(LAM, free_bias),
        coef,
        bias,
        np.arange(3),
        theta,
        theta0,
        weights / weights.sum(),
    )


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_any_reference_gives_a_lower_bound_for_any_softmax_model(free_bias, size):
    data, y = three_clouds(60)
    for seed in range(20):
        point = softmax_point(seed, free_bias, data, y)
        point = replace(point, reference_coef=size * point.reference_coef)
        certificate = point.check(data, y)
        assert 0 <= certificate.lower <= certificate.upper
        loss = SoftmaxLoss(y, point.weights, 3)
        _, best = solve(data, loss, "free" if free_bias else "none")[-1]
        assert certificate.lower <= best.objective + certificate.charge
        ideal = replace(point, reference_coef=best.theta.T, reference_intercept=best.theta0)
        assert ideal.check(data, y).lower == pytest.approx(best.objective, rel=1e-9)
        assert ideal.about(best.theta.T, best.theta0).check(data, y).gap <= 1e-9


def test_repaired_probabilities_are_feasible():
    data, y = three_clouds(60)
    for seed in range(10):
        point = softmax_point(seed, True, data, y)
        scores = data @ point.reference_coef.T + point.reference_intercept
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        truth, s = np.eye(3)[y], point.weights
        repaired = feasible(p, truth, *balance(s @ truth, s @ p))
        assert (repaired >= 0).all()
        np.testing.assert_allclose(repaired.sum(axis=1), 1.0, rtol=1e-12)
        masses = point.weights @ np.eye(3)[y]
        np.testing.assert_allclose(point.weights @ repaired, masses, rtol=1e-12)


def test_two_classes_of_softmax_are_logistic_regression_with_twice_the_penalty():
    """(w, −w) has the score difference 2w·x and the penalty 2‖w‖²."""
    data = clouds(80, 3)
    y = (data.y > 0).astype(int)
    weights = np.full(80, 1 / 80)
    two = SoftmaxLoss(y, weights, 2)
    one = RowRisk(data.y.astype(float), weights, SMOOTH_LOSSES["logistic"])
    *_, (_, softmax) = zip(range(40), method.newton(data.X, two, LAM, True), strict=False)
    *_, (_, logistic) = zip(range(40), method.newton(data.X, one, LAM / 2, True), strict=False)
    assert softmax.objective == pytest.approx(logistic.objective, rel=1e-12)
    difference = softmax.theta[:, 1] - softmax.theta[:, 0]
    np.testing.assert_allclose(difference, logistic.theta[:, 0], rtol=1e-6)


@by_loss
def test_no_other_bias_is_better(loss):
    data = clouds(80, 3)
    scores, weights = data.X @ np.array([1.0, -2.0, 0.5]), np.linspace(0, 1, 80)
    best = best_smooth_bias(scores, data.y > 0, weights, loss)
    at = [weights @ loss.value(data.y * (scores + best + step)) for step in (0, -1e-3, 1e-3, 1, -1)]
    assert min(at) == at[0]
    assert best_smooth_bias(scores, np.ones(80, dtype=bool), weights, Logistic()) == 0.0


def test_the_hinge_has_the_only_linear_gain():
    assert RegularizedRisk(Hinge(), 1.0, False).gain_is_linear
    for loss in SMOOTH:
        problem = RegularizedRisk(loss, 1.0, False)
        assert not problem.gain_is_linear
        half, whole = -loss.conjugate(np.array([-0.25, -0.5]))
        assert 2 * half > whole + 1e-3
