"""Document 000, Algorithms 1 to 7, and the descent of document 003, epoch by epoch."""

import numpy as np
import pytest

import cotas
from cotas import stops
from problems import clouds, plane

EPOCHS = 4
by_seed = pytest.mark.parametrize("seed", range(3))


def epochs_of(model, X, y):
    """(θ, θ₀) after each epoch of a run; a run that makes no mistake in an epoch may end there."""
    seen = []
    model.set_params(callbacks=lambda r: seen.append((r.coef[0].copy(), float(r.intercept[0]))))
    model.fit(X, y)
    return seen


def same(model, pages, X, y):
    seen = epochs_of(model, X, y)
    assert seen
    for (theta, bias), (page, page_bias) in zip(seen, pages, strict=False):
        np.testing.assert_allclose(theta, page, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(bias, page_bias, rtol=1e-9, atol=1e-12)


def perceptron(X, y, bias):
    """Algorithms 1 and 2."""
    theta, theta0 = np.zeros(X.shape[1]), 0.0
    for _ in range(EPOCHS):
        for x, label in zip(X, y, strict=True):
            if label * (theta @ x + theta0) <= 0:
                theta = theta + label * x
                theta0 += bias * label
        yield theta, theta0


def averaged_perceptron(X, y):
    """Algorithm 3."""
    theta, theta0, c = np.zeros(X.shape[1]), 0.0, 1.0
    mean, mean0 = np.zeros(X.shape[1]), 0.0
    for _ in range(EPOCHS):
        for x, label in zip(X, y, strict=True):
            if label * (theta @ x + theta0) <= 0:
                theta, theta0 = theta + label * x, theta0 + label
                mean, mean0 = mean + c * label * x, mean0 + c * label
            c -= 1 / (len(y) * EPOCHS)
    return mean, mean0


def passive_aggressive(X, y, lam):
    """Algorithm 4."""
    theta = np.zeros(X.shape[1])
    for _ in range(EPOCHS):
        for x, label in zip(X, y, strict=True):
            loss = max(0.0, 1 - label * (theta @ x))
            theta = theta + min(loss / (x @ x), 1 / lam) * label * x
        yield theta, 0.0


def pegasos(X, y, lam, eta):
    """Algorithm 5, the examples in their order."""
    theta, t = np.zeros(X.shape[1]), 0
    for _ in range(EPOCHS):
        for x, label in zip(X, y, strict=True):
            t += 1
            inside = label * (theta @ x) <= 1
            theta = (1 - eta(t) * lam) * theta + (eta(t) * label * x if inside else 0.0)
        yield theta, 0.0


LAM = 0.1
ONLINE = {
    "1": (cotas.Perceptron(fit_intercept=False, max_iter=EPOCHS), lambda X, y: perceptron(X, y, 0)),
    "2": (cotas.Perceptron(max_iter=EPOCHS), lambda X, y: perceptron(X, y, 1)),
    "4": (
        cotas.PassiveAggressive(lam=0.7, fit_intercept=False, max_iter=EPOCHS),
        lambda X, y: passive_aggressive(X, y, 0.7),
    ),
    "5 as printed": (
        cotas.Pegasos(lam=LAM, step="1/t", sampling="order", fit_intercept=False, max_iter=EPOCHS),
        lambda X, y: pegasos(X, y, LAM, lambda t: 1 / t),
    ),
    "5 with 1/(λt)": (
        cotas.Pegasos(lam=LAM, sampling="order", fit_intercept=False, max_iter=EPOCHS),
        lambda X, y: pegasos(X, y, LAM, lambda t: 1 / (LAM * t)),
    ),
    "5 with 1/(1+t)": (
        cotas.Pegasos(
            lam=LAM, step="1/(1+t)", sampling="order", fit_intercept=False, max_iter=EPOCHS
        ),
        lambda X, y: pegasos(X, y, LAM, lambda t: 1 / (1 + t)),
    ),
}


@by_seed
@pytest.mark.parametrize("algorithm", ONLINE)
def test_every_epoch_is_that_of_the_page(algorithm, seed):
    X, y = clouds(40, 3, seed=seed)
    model, printed = ONLINE[algorithm]
    same(model, printed(X, y), X, y)


@by_seed
def test_the_averaged_perceptron(seed):
    X, y = clouds(40, 3, seed=seed)
    model = cotas.AveragedPerceptron(max_iter=EPOCHS).fit(X, y)
    theta, theta0 = averaged_perceptron(X, y)
    np.testing.assert_allclose(model.coef_[0], theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], theta0, rtol=1e-9, atol=1e-12)


def drawn_descent(X, y, lam, seed):
    """Algorithms 6 (λ = 0) and 7, the examples drawn at random."""
    random, theta, k = np.random.RandomState(seed), np.zeros(X.shape[1]), 0
    for _ in range(EPOCHS):
        for t in random.randint(0, len(y), size=len(y)):
            k += 1
            eta = 0.05 / k**0.5
            theta = (1 - lam * eta) * theta + eta * (y[t] - theta @ X[t]) * X[t]
        yield theta


@by_seed
@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.filterwarnings("ignore")
def test_stochastic_descent(lam, seed):
    X, y = plane(40, 3, seed=seed)
    common = {
        "solver": "stochastic",
        "step": lambda k: 0.05 / k**0.5,
        "replacement": True,
        "fit_intercept": False,
        "stop": stops.MaxIterations(EPOCHS),
        "random_state": seed,
    }
    model = cotas.Ridge(lam=lam, **common) if lam else cotas.LeastSquares(**common)
    pages = list(drawn_descent(X, y, lam, seed))
    np.testing.assert_allclose(model.fit(X, y).history_["theta"], pages, rtol=1e-9)


@by_seed
def test_batch_descent_from_any_start(seed):
    """Document 003: θ⁽⁰⁾, then θ ← θ − α∇J with J = ½ Σ (θ·x − y)², x₀ = 1."""
    X, y = plane(40, 3, seed=seed)
    rows = np.column_stack([np.ones(len(y)), X])
    theta = np.random.default_rng(seed).normal(size=4)
    model = cotas.LeastSquares(
        solver="gradient",
        step=0.002 * len(y),
        start=(theta[1:], theta[0]),
        stop=stops.MaxIterations(6),
    ).fit(X, y)
    for k in range(6):
        theta = theta - 0.002 * rows.T @ (rows @ theta - y)
        np.testing.assert_allclose(model.history_["theta"][k], theta[1:], rtol=1e-9)
        np.testing.assert_allclose(model.history_["intercept"][k], theta[0], rtol=1e-9)
