"""Fuentes-Pineda transcribed: the kernel perceptron, kernelized PEGASOS, and SMO pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cotas
from cotas.kernels import RBF
from problems import clouds, labelled

EPOCHS, LAM = 3, 0.1
by_seed = pytest.mark.parametrize("seed", range(3))


def drawn(n, sampling, seed):
    """The examples of all epochs, drawn as the library draws them."""
    random = np.random.RandomState(seed)
    for _ in range(EPOCHS):
        if sampling == "order":
            yield from range(n)
        elif sampling == "permutation":
            yield from random.permutation(n)
        else:
            yield from random.randint(0, n, size=n)


def perceptron(K, y, order, bias):
    """Algorithms 1 and 2 of Fuentes Cabrera, θ·φ(x) = Σ αⱼyⱼ k(xⱼ, x)."""
    alpha, b = np.zeros(len(y)), 0.0
    for i in order:
        if y[i] * (sum(alpha * y * K[:, i]) + b) <= 0:
            alpha[i] += 1
            b += bias * y[i]
        yield alpha.copy(), b


def pegasos(K, y, order, bias):
    """Kernelized PEGASOS; the bias, which the page has not, as in the linear version."""
    alpha, b = np.zeros(len(y)), 0.0
    for t, s in enumerate(order, start=1):
        eta = 1 / (LAM * t)
        if y[s] * (eta * sum(alpha * y * K[:, s]) + b) < 1:
            alpha[s] += 1
            b += bias * min(eta, 1 / np.sqrt(t)) * y[s]
        yield alpha.copy(), b


RUNS = {
    "perceptron": (cotas.KernelPerceptron, {}, perceptron, "order"),
    "perceptron in any order": (
        cotas.KernelPerceptron,
        {"shuffle": True},
        perceptron,
        "permutation",
    ),
    **{
        f"PEGASOS, {sampling}": (
            cotas.KernelPegasos,
            {"lam": LAM, "sampling": sampling},
            pegasos,
            sampling,
        )
        for sampling in ("order", "permutation", "replacement")
    },
}


@by_seed
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", RUNS)
def test_every_step_is_that_of_the_page(name, bias, seed):
    X, y = clouds(25, 3, seed=seed)
    kind, options, printed, sampling = RUNS[name]
    model = kind(RBF(2.0), fit_intercept=bias, max_iter=EPOCHS, random_state=seed, **options)
    order = list(drawn(len(y), sampling, seed))
    *steps, _ = cotas.trace(model, X, y)
    pages = list(printed(RBF(2.0)(X), y, order, bias))
    assert len(steps) == len(pages) or (steps[-1].counts == pages[-1][0]).all()
    for step, row, (alpha, b) in zip(steps, order, pages, strict=False):
        assert step.row == row
        np.testing.assert_array_equal(step.counts, alpha)
        np.testing.assert_allclose(step.theta0, b, rtol=1e-9, atol=1e-12)


@given(data=labelled(max_rows=15), bias=st.booleans())
def test_pegasos_on_any_small_data(data, bias):
    order = [*range(len(data.y))] * EPOCHS
    *_, (alpha, _) = pegasos(RBF(2.0)(data.X), data.y, order, bias)
    model = cotas.KernelPegasos(
        RBF(2.0), lam=LAM, max_iter=EPOCHS, sampling="order", fit_intercept=bias
    ).fit(*data)
    np.testing.assert_array_equal(model.certificate_.witness.multipliers, alpha)


# ---- sequential minimal optimization -----------------------------------------------------------


def violations(K, y, C, alpha):
    """How fast the objective rises with yα of each example, where it may rise and may fall."""
    slopes = y - K @ (alpha * y)
    up = np.where(((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0)), slopes, -np.inf)
    down = np.where(((y > 0) & (alpha > 0)) | ((y < 0) & (alpha < C)), slopes, np.inf)
    return up, down


def smo_step(K, y, C, alpha, i, j):
    """max Σα − ½ ΣΣ αᵢαⱼyᵢyⱼkᵢⱼ over two multipliers, with 0 ≤ α ≤ C and yᵢαᵢ + yⱼαⱼ unchanged.

    The objective is a parabola along that line, and its top is clipped into the box.
    """
    slopes = y - K @ (alpha * y)
    step = (slopes[i] - slopes[j]) / (K[i, i] + K[j, j] - 2 * K[i, j])
    step = min(step, C - alpha[i] if y[i] > 0 else alpha[i])
    step = min(step, alpha[j] if y[j] > 0 else C - alpha[j])
    after = alpha.copy()
    after[i] += y[i] * step
    after[j] -= y[j] * step
    return after


@by_seed
def test_every_pair_is_that_of_the_page(seed):
    """The page leaves open which pair is next: here the one that violates most, up to rounding."""
    X, y = clouds(30, 3, seed=seed)
    K, C, alpha = RBF(2.0)(X), 1 / (LAM * len(y)), np.zeros(len(y))
    *steps, _ = cotas.trace(cotas.KernelSVM(RBF(2.0), lam=LAM, solver="smo-simple"), X, y)
    assert len(steps) > 15
    for step in steps:
        up, down = violations(K, y, C, alpha)
        i, j = step.rows
        assert up[i] - down[j] >= up.max() - down.min() - 1e-9
        alpha = smo_step(K, y, C, alpha, i, j)
        # The page's α is at most C; here it is α·λ, at most 1/n.
        np.testing.assert_allclose(step.multipliers / LAM, alpha, atol=1e-9)


@by_seed
def test_the_fast_solver_ends_where_pairs_end(seed):
    X, y = clouds(30, 3, seed=seed)
    K, C, alpha = RBF(2.0)(X), 1 / (LAM * len(y)), np.zeros(len(y))
    while True:
        up, down = violations(K, y, C, alpha)
        if up.max() - down.min() <= 1e-9:
            break
        alpha = smo_step(K, y, C, alpha, int(up.argmax()), int(down.argmin()))
    *_, last, _ = cotas.trace(cotas.KernelSVM(RBF(2.0), lam=LAM, tol=1e-9), X, y)
    np.testing.assert_allclose(last.multipliers / LAM, alpha, atol=1e-4)
