"""Rugeles Ospina, chapter 2, transcribed: LS-Boost(ε), FS_ε, FS_εₖ and R-FS_ε,δ, step by step."""

import numpy as np
import pytest

import cotas
from problems import regression

STEPS = 60


def prepared(X, y):
    """Columns of mean zero and unit length, and y of mean zero, as the chapter assumes."""
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0), y - y.mean()


def algorithm_8(X, y, eps):
    """LS-Boost(ε)."""
    beta, r = np.zeros(X.shape[1]), y.copy()
    for _ in range(STEPS):
        u = X.T @ r  # the columns have unit length, so that Σ (r − xu)² = ‖r‖² − u²
        j = np.argmin(-(u**2))
        beta[j] += eps * u[j]
        r = r - eps * X[:, j] * u[j]
        yield beta.copy()


def forward_stagewise(X, y, eps):
    """FS_εₖ; with one ε it is FS_ε."""
    beta, r = np.zeros(X.shape[1]), y.copy()
    for k in range(STEPS):
        j = np.argmax(np.abs(X.T @ r))
        step = eps[k] * np.sign(X[:, j] @ r)
        beta[j] += step
        r = r - step * X[:, j]
        yield beta.copy()


def algorithm_9(X, y, eps, delta):
    """R-FS_ε,δ."""
    beta, r = np.zeros(X.shape[1]), y.copy()
    for _ in range(STEPS):
        j = np.argmax(np.abs(X.T @ r))
        sign = np.sign(X[:, j] @ r)
        r = r - eps * (sign * X[:, j] + (r - y) / delta)
        beta = (1 - eps / delta) * beta
        beta[j] += eps * sign
        yield beta.copy()


RATES = [0.5 / (k + 1) for k in range(STEPS)]
RUNS = {
    "LS-Boost(0.3)": (
        cotas.LSBoost(eps=0.3, max_iter=STEPS),
        lambda X, y: algorithm_8(X, y, 0.3),
    ),
    "LS-Boost(1)": (cotas.LSBoost(eps=1.0, max_iter=STEPS), lambda X, y: algorithm_8(X, y, 1.0)),
    "FS": (
        cotas.ForwardStagewise(eps=0.4, max_iter=STEPS),
        lambda X, y: forward_stagewise(X, y, [0.4] * STEPS),
    ),
    "FS with steps": (
        cotas.ForwardStagewise(eps=RATES, max_iter=STEPS),
        lambda X, y: forward_stagewise(X, y, RATES),
    ),
    "R-FS": (
        cotas.RegularizedForwardStagewise(eps=0.4, delta=6.0, max_iter=STEPS),
        lambda X, y: algorithm_9(X, y, 0.4, 6.0),
    ),
}


@pytest.mark.parametrize("shape", [(50, 6), (20, 60)], ids=["tall", "wide"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RUNS)
def test_every_step_is_that_of_the_page(name, seed, shape):
    X, y = regression(*shape, seed=seed)
    model, printed = RUNS[name]
    path = model.fit(X, y).path_
    pages = list(printed(*prepared(X, y)))
    assert model.n_iter_ > STEPS // 2  # it ends where no correlation is left up to rounding
    for k, page in enumerate(pages[: model.n_iter_], start=1):
        np.testing.assert_allclose(path.unit_coef(k), page, rtol=1e-8, atol=1e-9)


# ---- Propositions 2.2.1 and 2.2.3: all of them are subgradient descent ---------------------------


def correlation(X, y, r, delta):
    """‖Xᵀr‖_∞ + ‖r − y‖²/(2δ), and a subgradient of it; δ = ∞ leaves the first term."""
    j = np.argmax(np.abs(X.T @ r))
    value = np.abs(X[:, j] @ r) + (r - y) @ (r - y) / (2 * delta)
    return value, np.sign(X[:, j] @ r) * X[:, j] + (r - y) / delta


STEP_OF = {
    "FS": lambda X, r, k: 0.4,
    "FS with steps": lambda X, r, k: RATES[k],
    "R-FS": lambda X, r, k: 0.4,
    "LS-Boost(0.3)": lambda X, r, k: 0.3 * np.abs(X.T @ r).max(),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", STEP_OF)
def test_the_residual_goes_down_a_subgradient(name, seed):
    """r ← r − αg, the method (A.2): with α = ε, εₖ or ε|ũ| it makes the residuals of the run."""
    X, y = regression(50, 6, seed=seed)
    delta = 6.0 if name == "R-FS" else np.inf
    path = RUNS[name][0].fit(X, y).path_
    Z, r = prepared(X, y)
    target, random = r.copy(), np.random.default_rng(seed)
    for k in range(STEPS):
        value, g = correlation(Z, target, r, delta)
        other = r + random.normal(size=len(r))
        assert correlation(Z, target, other, delta)[0] >= value + g @ (other - r) - 1e-9
        r = r - STEP_OF[name](Z, r, k) * g
        np.testing.assert_allclose(target - Z @ path.unit_coef(k + 1), r, rtol=1e-8, atol=1e-9)
