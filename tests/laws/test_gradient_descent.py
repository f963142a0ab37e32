"""Gradient descent and stochastic steps: as printed, at their rate, until a rule says stop."""

import signal
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cotas import LeastSquares, Ridge, datasets, schedules, stops
from cotas.exceptions import DivergedError
from cotas.stops import InterruptedWarning
from errors import refuses
from problems import plane

# ---- gradient descent ------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("lam", [0.0, 0.2])
@pytest.mark.parametrize("share", [0.3, 1.0, 1.9])
def test_the_rate_of_gradient_descent(lam, standardize, share):
    """Pₖ − P* ≤ ρ²ᵏ(P₀ − P*), which the certificate measures, and is nearly reached."""
    X, y = plane(60, 3)
    make = LeastSquares if lam == 0 else lambda **options: Ridge(lam=lam, **options)
    largest = make(solver="gradient", standardize=standardize).fit(X, y)
    step = share * largest.certificate_.witness.descent.step
    for iterations in (1, 10, 40):
        model = make(
            solver="gradient",
            step=step,
            standardize=standardize,
            stop=stops.MaxIterations(iterations),
        ).fit(X, y)
        found = model.certificate_
        promised = found.figures["gap that the rate of gradient descent allows"]
        assert found.holds
        assert found.gap <= promised * (1 + 1e-9) + found.charge
        assert found.figures["step · largest curvature"] == pytest.approx(share)


def test_a_run_that_cannot_be_gradient_descent_is_not_believed():
    X, y = plane(60, 3)
    found = LeastSquares(solver="gradient", stop=stops.MaxIterations(5)).fit(X, y).certificate_
    descent = replace(found.witness.descent, iterations=5000)
    claimed = replace(found.witness, descent=descent).check(X, y)
    assert not claimed.holds
    assert "gradient descent" in claimed.objection


def test_an_honest_run_is_believed_where_a_column_is_tiny():
    """Along it nothing moves, however many steps there are; the gap says so, and no objection."""
    X, y = plane(60, 3)
    y = y + 5 * X[:, 2]
    X[:, 2] *= 1e-9
    found = LeastSquares(solver="gradient", stop=stops.MaxIterations(3000)).fit(X, y).certificate_
    assert found.holds
    assert found.gap > 1.0
    assert found.lower == pytest.approx(LeastSquares().fit(X, y).certificate_.upper)


def test_the_objective_falls_and_the_history_says_so():
    X, y = plane(60, 3)
    model = LeastSquares(solver="gradient", stop=stops.MaxIterations(200)).fit(X, y)
    history = model.history_
    assert history["iteration"].tolist() == list(range(1, 201))
    assert (np.diff(history["J"]) <= 1e-12).all()
    assert history["theta"].shape == (200, 3)
    np.testing.assert_allclose(history["theta"][-1], model.coef_)
    for k in (0, 50, 199):
        values = X @ history["theta"][k] + history["intercept"][k]
        assert history["J"][k] == pytest.approx(0.5 * np.mean((y - values) ** 2))


def test_a_long_history_is_thinned():
    X, y = plane(60, 3)
    model = LeastSquares(solver="gradient", step=1e-5, stop=stops.MaxIterations(5003)).fit(X, y)
    iterations = model.history_["iteration"]
    assert len(iterations) <= 1001
    assert iterations[-1] == 5003
    assert len(set(np.diff(iterations)[:-1])) == 1


def test_a_step_that_is_too_large_is_explained():
    X, y = plane(60, 3)
    auto = LeastSquares(solver="gradient").fit(X, y).certificate_.witness.descent.step
    limit = f"{2 * auto:.6g}"
    with pytest.raises(DivergedError) as caught:
        LeastSquares(solver="gradient", step=2.2 * auto).fit(X, y)
    assert limit in str(caught.value)
    assert LeastSquares(solver="gradient", step=1.9 * auto).fit(X, y).certificate_.holds
    with pytest.raises(DivergedError, match="2/L"):
        LeastSquares(solver="stochastic", step=10.0, random_state=0).fit(X, y)


def test_schedules():
    X, y = plane(60, 3)
    constant = LeastSquares(solver="gradient", step=0.1, stop=stops.MaxIterations(9)).fit(X, y)
    called = LeastSquares(solver="gradient", step=lambda k: 0.1, stop=stops.MaxIterations(9)).fit(
        X, y
    )
    np.testing.assert_array_equal(constant.coef_, called.coef_)
    with refuses("step"):
        LeastSquares(solver="gradient", step=lambda k: 3.0 - k if k < 3 else np.nan).fit(X, y)
    for power in (0.5, 1.1, 0.0):
        with refuses("power"):
            schedules.PowerLaw(0.1, power)
    law = schedules.PowerLaw(0.3, 0.8, delay=5.0)
    np.testing.assert_allclose(law(np.arange(1, 4)), [law(1), law(2), law(3)])
    assert law.is_robbins_monro
    assert not schedules.Constant(0.1).is_robbins_monro


# ---- stochastic steps ------------------------------------------------------------------------


def test_stochastic_steps_come_close_and_say_how_close():
    X, y = plane(400, 3)
    model = Ridge(lam=0.1, solver="stochastic", tol=1e-3, random_state=0).fit(X, y)
    best = Ridge(lam=0.1).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.certificate_.lower <= best.certificate_.upper <= model.certificate_.upper
    assert model.stop_.name == "PROVED"


# ---- when it ends ----------------------------------------------------------------------------


def test_stop_rules_and_their_combinations():
    X, y = plane(60, 3)

    def fit(rule):
        return LeastSquares(solver="gradient", step=0.05, stop=rule).fit(X, y)

    by_value, by_move = fit(stops.ChangeOfJ(1e-6)), fit(stops.ChangeOfTheta(1e-4))
    both = fit(stops.ChangeOfJ(1e-6) & stops.ChangeOfTheta(1e-4))
    either = fit(stops.ChangeOfJ(1e-6) | stops.ChangeOfTheta(1e-4))
    assert both.n_iter_ == max(by_value.n_iter_, by_move.n_iter_)
    assert either.n_iter_ == min(by_value.n_iter_, by_move.n_iter_)
    assert by_value.stop_reason_ == "J changed by less than 1e-06"
    assert by_move.stop_reason_ == "θ moved by less than 0.0001"
    assert "and" in both.stop_reason_
    J = len(y) * by_value.history_["J"]  # the document's is a sum
    assert J[-2] - J[-1] < 1e-6 <= J[-3] - J[-2]
    seven = fit(stops.ChangeOfJ(1e-12) | stops.MaxIterations(7))
    assert seven.stop_reason_ == "7 iterations were made"
    assert fit(stops.Gap(1e-3)).certificate_.relative_gap <= 1e-3
    assert "s have passed" in fit(stops.MaxTime(1e-9)).stop_reason_
    with refuses("eps"):
        stops.ChangeOfJ(0.0)


def test_a_gap_that_was_not_proved_is_warned_of():
    X, y = plane(60, 3)
    with pytest.warns(ConvergenceWarning):
        model = LeastSquares(solver="gradient", step=1e-3, tol=1e-9, max_iter=5).fit(X, y)
    assert model.stop_.name == "ITERATIONS"


def test_callbacks_see_each_iteration_and_can_stop():
    X, y = plane(60, 3)
    seen = []

    def third(progress):
        seen.append(progress)
        return progress.iteration == 3

    model = LeastSquares(
        solver="gradient", step=0.01, callbacks=third, stop=stops.MaxIterations(9)
    ).fit(X, y)
    assert model.n_iter_ == 3
    assert model.stop_.name == "CALLBACK"
    assert [progress.objective for progress in seen] == model.history_["J"].tolist()


def test_ctrl_c_returns_the_model_so_far():
    X, y = plane(60, 3)

    def interrupt(progress):
        if progress.iteration == 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(InterruptedWarning):
        model = LeastSquares(
            solver="gradient", step=1e-4, callbacks=interrupt, stop=stops.MaxIterations(10**6)
        ).fit(X, y)
    assert model.stop_.name == "INTERRUPTED"
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y)


# ---- where it begins -------------------------------------------------------------------------


def test_the_first_stopping_rule_has_the_documents_sum():
    """Moreno Chávez on its houses, α = 0.01 and ε = 10⁻³: J is a sum there, and a mean here."""
    X, price = datasets.houses()
    rows = np.column_stack([np.ones(len(price)), (X - X.mean(0)) / X.std(0)])
    theta, iterations = np.zeros(rows.shape[1]), 0
    J = [0.5 * np.sum((rows @ theta - price) ** 2)]
    while len(J) < 2 or J[-2] - J[-1] >= 1e-3:
        theta = theta - 0.01 * rows.T @ (rows @ theta - price)
        J.append(0.5 * np.sum((rows @ theta - price) ** 2))
        iterations += 1
    model = LeastSquares(
        solver="gradient", step=0.01 * len(price), standardize=True, stop=stops.ChangeOfJ(1e-3)
    ).fit(X, price)
    assert model.n_iter_ == iterations == 355
    np.testing.assert_allclose(len(price) * model.history_["J"][-1], J[-1])


@pytest.mark.parametrize("eps", [0.1, 1e-3])
def test_the_other_stopping_rules_on_the_houses(eps):
    """‖θᵗ − θᵗ⁺¹‖ has the bias and the θ of the normalized columns; and both rules at once."""
    X, price = datasets.houses()
    rows = np.column_stack([np.ones(len(price)), (X - X.mean(0)) / X.std(0)])
    theta, J, first = np.zeros(rows.shape[1]), np.inf, {}
    for t in range(1, 1000):
        step = 0.01 * rows.T @ (rows @ theta - price)
        theta, before = theta - step, J
        J = 0.5 * np.sum((rows @ theta - price) ** 2)
        held = np.linalg.norm(step) < eps, before - J < eps
        for rule, now in {"theta": held[0], "both": all(held), "either": any(held)}.items():
            if now:
                first.setdefault(rule, t)
    rules = {
        "theta": stops.ChangeOfTheta(eps),
        "both": stops.ChangeOfTheta(eps) & stops.ChangeOfJ(eps),
        "either": stops.ChangeOfTheta(eps) | stops.ChangeOfJ(eps),
    }
    how = {"solver": "gradient", "step": 0.01 * len(price), "standardize": True}
    found = {name: LeastSquares(**how, stop=rule).fit(X, price) for name, rule in rules.items()}
    assert {name: model.n_iter_ for name, model in found.items()} == first


STARTS = [
    LeastSquares(solver="gradient", step=0.05, stop=stops.MaxIterations(4)),
    LeastSquares(solver="conjugate-gradients", stop=stops.MaxIterations(2)),
    LeastSquares(solver="stochastic", step=0.01, shuffle=False, stop=stops.MaxIterations(2)),
]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("model", STARTS, ids=lambda m: m.solver)
def test_a_start_is_a_shift_of_the_targets(model, standardize):
    """Descent from θ⁽⁰⁾ on y is descent from zero on y − Xθ⁽⁰⁾, moved by θ⁽⁰⁾."""
    X, y = plane(50, 3)
    theta, bias = np.array([1.0, -2.0, 0.5]), 0.25
    moved = clone(model).set_params(standardize=standardize, start=(theta, bias)).fit(X, y)
    shifted = clone(model).set_params(standardize=standardize).fit(X, y - X @ theta - bias)
    np.testing.assert_allclose(moved.coef_, shifted.coef_ + theta, rtol=1e-9)
    np.testing.assert_allclose(moved.intercept_, shifted.intercept_ + bias, rtol=1e-9)
    assert moved.certificate_.verify(X, y)


def test_a_start_at_the_end_stays_there():
    X, y = plane(50, 3)
    best = Ridge(lam=0.1).fit(X, y)
    again = Ridge(lam=0.1, solver="gradient", start=(best.coef_, best.intercept_)).fit(X, y)
    assert again.n_iter_ <= 2
    np.testing.assert_allclose(again.coef_, best.coef_, rtol=1e-9)


def test_a_start_for_each_target():
    X, y = plane(50, 3)
    Y, theta = np.column_stack([y, -y]), np.arange(6.0).reshape(2, 3)
    both = LeastSquares(solver="gradient", start=theta, stop=stops.MaxIterations(3)).fit(X, Y)
    one = LeastSquares(solver="gradient", start=theta[1], stop=stops.MaxIterations(3)).fit(X, -y)
    np.testing.assert_allclose(both.coef_[1], one.coef_, rtol=1e-9)


@pytest.mark.parametrize("start", [[1.0, 2.0], "zero", ([1.0, 2.0, np.nan], 0.0), 3.0])
def test_starts_that_are_none(start):
    with refuses("start"):
        LeastSquares(solver="gradient", start=start).fit(*plane(50, 3))


def test_a_closed_form_has_no_start():
    with refuses("start"):
        LeastSquares(start=[1.0, 2.0, 3.0]).fit(*plane(50, 3))
