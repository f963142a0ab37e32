"""Documents 000, 002, 003 and 004, the linear algorithms transcribed: equal after every example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cotas
from cotas import schedules, stops
from errors import refuses
from problems import LAYOUTS, clouds, labelled, plane

EPOCHS, LAM = 4, 0.1
by_seed = pytest.mark.parametrize("seed", range(3))


def drawn(n, sampling, seed):
    """The examples of all epochs, drawn as the library draws them."""
    random, order = np.random.RandomState(seed), np.arange(n)
    for _ in range(EPOCHS):
        if sampling == "permutation":
            random.shuffle(order)
        yield from random.randint(0, n, size=n) if sampling == "replacement" else order


# ---- as the pages have them: (θ, θ₀) after every example ---------------------------------------


def perceptron(X, y, order, bias=1):
    """Algorithms 1 (bias = 0) and 2 of Fuentes Cabrera."""
    theta, theta0 = np.zeros(X.shape[1]), 0.0
    for i in order:
        if y[i] * (theta @ X[i] + theta0) <= 0:
            theta = theta + y[i] * X[i]
            theta0 = theta0 + bias * y[i]
        yield theta, theta0


def averaged_perceptron(X, y, order):
    """Algorithm 3; the mean is that of all nT vectors, so that it is known at the end only."""
    theta, theta0, c = np.zeros(X.shape[1]), 0.0, 1.0
    mean, mean0 = np.zeros(X.shape[1]), 0.0
    for i in order:
        if y[i] * (theta @ X[i] + theta0) <= 0:
            theta, theta0 = theta + y[i] * X[i], theta0 + y[i]
            mean, mean0 = mean + c * y[i] * X[i], mean0 + c * y[i]
        c = c - 1 / len(order)
    return mean, mean0


def passive_aggressive(X, y, order, lam, bias=0):
    """Algorithm 4; with a bias its vector is (x, 1)."""
    Z = np.column_stack([X, np.full(len(y), bias)])
    theta = np.zeros(Z.shape[1])
    for i in order:
        loss = max(0.0, 1 - y[i] * (theta @ Z[i]))
        square = Z[i] @ Z[i]
        eta = min(loss / square, 1 / lam) if square > 0 else 1 / lam
        theta = theta + eta * y[i] * Z[i]
        yield theta[:-1], theta[-1]


def pegasos(X, y, order, lam, eta, bias=0, project=False):
    """Algorithm 5 of Fuentes Cabrera (η = 1/t), or with the η of another page, and a bias.

    Fuentes-Pineda prints no update of b: it moves along the same subgradient, by no more than 1/√t.
    """
    theta, theta0 = np.zeros(X.shape[1]), 0.0
    for t, i in enumerate(order, start=1):
        inside = y[i] * (theta @ X[i] + theta0) <= 1
        theta = (1 - eta(t) * lam) * theta
        if inside:
            theta = theta + eta(t) * y[i] * X[i]
            theta0 = theta0 + bias * min(eta(t), 1 / np.sqrt(t)) * y[i]
        if project and np.linalg.norm(theta) > 1 / np.sqrt(lam):
            theta = theta / (np.sqrt(lam) * np.linalg.norm(theta))
        yield theta, theta0


def subgradient_steps(X, y, order, lam):
    """Clasificación lineal: θ ← θ − η[(0 or −yx) + λθ] with η = 1/(1 + t)."""
    theta = np.zeros(X.shape[1])
    for t, i in enumerate(order, start=1):
        loss = max(0.0, 1 - y[i] * (theta @ X[i]))
        theta = theta - 1 / (1 + t) * ((-y[i] * X[i] if loss > 0 else 0.0) + lam * theta)
        yield theta, 0.0


# ---- and as the library runs them --------------------------------------------------------------

ETAS = {
    "1/(lam*t)": lambda t: 1 / (LAM * t),
    "1/t": lambda t: 1 / t,
    "1/(1+t)": lambda t: 1 / (1 + t),
    0.01: lambda t: 0.01,
}
RUNS = {
    "1": (cotas.Perceptron(fit_intercept=False), lambda *data: perceptron(*data, bias=0)),
    "2": (cotas.Perceptron(), perceptron),
    "2 in any order": (cotas.Perceptron(shuffle=True), perceptron),
    "4": (
        cotas.PassiveAggressive(lam=0.7, fit_intercept=False),
        lambda *data: passive_aggressive(*data, 0.7),
    ),
    "4 with a bias": (
        cotas.PassiveAggressive(lam=0.7, shuffle=True),
        lambda *data: passive_aggressive(*data, 0.7, bias=1),
    ),
    "004": (
        cotas.Pegasos(lam=LAM, step="1/(1+t)", sampling="replacement", fit_intercept=False),
        lambda *data: subgradient_steps(*data, LAM),
    ),
    **{
        f"5 with {step}, {sampling}, {bias=}, {project=}": (
            cotas.Pegasos(
                lam=LAM, step=step, sampling=sampling, fit_intercept=bias, project=project
            ),
            lambda *data, eta=eta, bias=bias, project=project: pegasos(
                *data, LAM, eta, bias, project
            ),
        )
        for step, eta in ETAS.items()
        for sampling, bias, project in (
            ("replacement", False, False),
            ("permutation", True, False),
            ("order", True, True),
        )
    },
}


def sampling_of(model):
    if isinstance(model, cotas.Pegasos):
        return model.sampling
    return "permutation" if model.shuffle else "order"


@by_seed
@pytest.mark.parametrize("name", RUNS)
def test_every_step_is_that_of_the_page(name, seed):
    X, y = clouds(25, 3, seed=seed)
    model, printed = RUNS[name]
    model.set_params(max_iter=EPOCHS, random_state=seed)
    order = list(drawn(len(y), sampling_of(model), seed))
    *steps, _ = cotas.trace(model, X, y)
    pages = list(printed(X, y, order))
    # A run that made no mistake in an epoch ends there: the page would change nothing.
    assert len(steps) == len(pages) or (steps[-1].theta == pages[-1][0]).all()
    for step, row, (theta, theta0) in zip(steps, order, pages, strict=False):
        assert step.row == row
        np.testing.assert_allclose(step.theta, theta, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(step.theta0, theta0, rtol=1e-9, atol=1e-11)


@by_seed
@pytest.mark.parametrize("name", [name for name in RUNS if name != "1"])
def test_an_average_is_that_of_all_the_vectors_of_the_page(name, seed):
    X, y = clouds(25, 3, seed=seed)
    model, printed = RUNS[name]
    options = {**model.get_params(), "max_iter": EPOCHS, "random_state": seed}
    averages = cotas.AveragedPerceptron if "separator" in options else type(model)
    if "average" in options:
        options["average"] = True
    pages = list(printed(X, y, list(drawn(len(y), sampling_of(model), seed))))
    *_, last, _ = cotas.trace(averages(**options), X, y)
    assert len(pages) == EPOCHS * len(y)
    for found, k in ((last.mean, 0), (last.mean0, 1)):
        np.testing.assert_allclose(found, np.mean([page[k] for page in pages], axis=0), rtol=1e-7)


@given(data=labelled(), epochs=st.integers(1, 4), bias=st.booleans())
def test_the_perceptron_to_the_last_bit(data, epochs, bias):
    """Multiples of 1/8 make all sums exact."""
    *_, (theta, theta0) = perceptron(*data, [*range(len(data.y))] * epochs, bias)
    model = cotas.Perceptron(fit_intercept=bias, max_iter=epochs).fit(*data)
    np.testing.assert_array_equal(model.coef_[0], theta)
    assert model.intercept_[0] == theta0


@given(data=labelled(), epochs=st.integers(1, 4))
def test_the_averaged_perceptron(data, epochs):
    theta, theta0 = averaged_perceptron(*data, [*range(len(data.y))] * epochs)
    model = cotas.AveragedPerceptron(max_iter=epochs).fit(*data)
    np.testing.assert_allclose(model.coef_[0], theta, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.intercept_[0], theta0, rtol=1e-10, atol=1e-10)


@given(data=labelled(), lam=st.sampled_from([0.01, 0.3, 1.0, 20.0]), epochs=st.integers(1, 3))
def test_the_passive_aggressive_algorithm_for_any_lambda(data, lam, epochs):
    *_, (theta, theta0) = passive_aggressive(*data, [*range(len(data.y))] * epochs, lam, bias=1)
    model = cotas.PassiveAggressive(lam=lam, max_iter=epochs).fit(*data)
    np.testing.assert_allclose(model.coef_[0], theta, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], theta0, rtol=1e-7, atol=1e-9)


def subgradient_descent(X, y, lam, eta, theta, steps, project):
    """Clasificación lineal: θ ← θ − η∇J(θ), J the mean hinge loss + (λ/2)‖θ‖².

    With the projection on a ball it is (A.2) of Rugeles Ospina.
    """
    for t in range(1, steps + 1):
        inside = y * (X @ theta) <= 1
        gradient = -(inside * y) @ X / len(y) + lam * theta
        theta = theta - eta(t) * gradient
        if project:
            theta = theta / max(1.0, np.sqrt(lam) * np.linalg.norm(theta))
        yield theta


@by_seed
@pytest.mark.parametrize("step", ETAS)
@pytest.mark.parametrize(("far", "project"), [(False, False), (True, False), (True, True)])
def test_subgradient_descent_over_all_the_examples(step, far, project, seed):
    X, y = clouds(25, 3, seed=seed)
    start = 5 * np.random.default_rng(seed).normal(size=3) if far else np.zeros(3)
    options = {"lam": LAM, "step": step, "fit_intercept": False, "project": project}
    model = cotas.Pegasos(**options, sampling="all", max_iter=30, start=start)
    *steps, _ = cotas.trace(model, X, y)
    pages = list(subgradient_descent(X, y, LAM, ETAS[step], start, 30, project))
    for found, theta in zip(steps, pages, strict=True):
        np.testing.assert_allclose(found.theta, theta, rtol=1e-9, atol=1e-12)
    averaged = model.set_params(average=True).fit(X, y)
    np.testing.assert_allclose(averaged.coef_[0], np.mean(pages, axis=0), rtol=1e-7, atol=1e-9)
    assert averaged.certificate_.holds


@by_seed
def test_pegasos_from_any_start(seed):
    X, y = clouds(25, 3, seed=seed)
    start = np.random.default_rng(seed).normal(size=3)
    order, theta = list(drawn(len(y), "permutation", seed)), start
    model = cotas.Pegasos(
        lam=LAM,
        step="1/(1+t)",
        fit_intercept=False,
        max_iter=EPOCHS,
        start=start,
        random_state=seed,
    )
    for t, (step, i) in enumerate(zip(cotas.trace(model, X, y), order, strict=False), start=1):
        push = y[i] * X[i] if y[i] * (theta @ X[i]) <= 1 else 0.0
        theta = theta - (LAM * theta - push) / (1 + t)
        np.testing.assert_allclose(step.theta, theta, rtol=1e-9, atol=1e-12)
    assert model.fit(X, y).certificate_.verify(X, y)


@pytest.mark.parametrize("start", ["zero", [1.0, 2.0], [np.nan] * 3, (np.ones(3), np.inf)])
def test_a_start_that_is_none(start):
    X, y = clouds(25, 3)
    with refuses("start"):
        cotas.Pegasos(start=start).fit(X, y)


# ---- least squares and ridge -------------------------------------------------------------------


def stochastic_descent(X, y, batches, lam, eta, bias):
    """Algorithms 6 (λ = 0) and 7 of Fuentes Cabrera; Moreno Chávez has mini-batches."""
    theta, theta0 = np.zeros(X.shape[1]), 0.0
    for k, batch in enumerate(batches, start=1):
        r = y[batch] - X[batch] @ theta - theta0
        theta = (1 - lam * eta(k)) * theta + eta(k) * np.mean(r[:, None] * X[batch], axis=0)
        theta0 = theta0 + bias * eta(k) * r.mean()
        yield theta, theta0


@by_seed
@pytest.mark.parametrize("sampling", ["replacement", "permutation", "order"])
@pytest.mark.parametrize(("lam", "bias", "size"), [(0.0, False, 1), (0.3, True, 1), (0.0, True, 7)])
@pytest.mark.filterwarnings("ignore")
def test_stochastic_descent(lam, bias, size, sampling, seed):
    X, y = plane(30, 3, seed=seed)
    eta, random = schedules.PowerLaw(0.05, 0.6), np.random.RandomState(seed)
    options = {
        "solver": "stochastic",
        "step": eta,
        "replacement": sampling == "replacement",
        "shuffle": sampling != "order",
        "batch_size": size,
        "fit_intercept": bias,
        "stop": stops.MaxIterations(EPOCHS),
        "random_state": seed,
    }
    batches = []
    for _ in range(EPOCHS):
        order = np.arange(30)
        if sampling != "order":
            with_replacement = sampling == "replacement"
            order = random.randint(0, 30, size=30) if with_replacement else random.permutation(30)
        batches += [order[a : a + size] for a in range(0, 30, size)]
    model = cotas.Ridge(lam=lam, **options) if lam else cotas.LeastSquares(**options)
    *steps, _ = cotas.trace(model, X, y)
    pages = stochastic_descent(X, y, batches, lam, eta, bias)
    for step, (theta, theta0) in zip(steps, pages, strict=True):
        np.testing.assert_allclose(step.theta, theta, rtol=1e-9)
        np.testing.assert_allclose(step.theta0, theta0, rtol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore")
def test_stochastic_descent_in_every_layout(layout):
    X, y = plane(30, 4)
    law = schedules.PowerLaw(0.05, 0.6)
    model = cotas.Ridge(
        lam=0.3, solver="stochastic", step=law, shuffle=False, stop=stops.MaxIterations(3)
    ).fit(LAYOUTS[layout](X), y)
    *_, (theta, theta0) = stochastic_descent(X, y, [[i] for i in range(30)] * 3, 0.3, law, True)
    np.testing.assert_allclose(model.coef_, theta, rtol=1e-9)
    assert model.intercept_ == pytest.approx(theta0, rel=1e-9)


@by_seed
def test_batch_descent_from_any_start(seed):
    """Moreno Chávez: θ⁽⁰⁾, then θ ← θ − α∇J with J = ½ Σ (θ·x − y)², x₀ = 1."""
    X, y = plane(40, 3, seed=seed)
    rows = np.column_stack([np.ones(len(y)), X])
    theta = np.random.default_rng(seed).normal(size=4)
    model = cotas.LeastSquares(
        solver="gradient",
        step=0.002 * len(y),
        start=(theta[1:], theta[0]),
        stop=stops.MaxIterations(6),
    )
    *steps, _ = cotas.trace(model, X, y)
    for step in steps:
        theta = theta - 0.002 * sum((theta @ x - t) * x for x, t in zip(rows, y, strict=True))
        np.testing.assert_allclose(step.theta, theta[1:], rtol=1e-9)
        np.testing.assert_allclose(step.theta0, theta[0], rtol=1e-9)
