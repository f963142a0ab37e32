"""The checker of kernel machines: bounds that enclose the optimum, and lies that it notices."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import cotas
from cotas import LinearSVM
from cotas.certificates import KernelDualPoint
from cotas.certificates import kernel as checker
from cotas.certificates.core import gram
from cotas.kernels import RBF, Custom, Linear, Polynomial, Precomputed
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from errors import refuses
from problems import LAYOUTS, clouds, labelled, three_clouds

X, Y = clouds(60, 3)


def point(kernel, X, y, lam=0.1, bias=True, seed=0, weights=None, positive=1):
    """Any coefficients and any multipliers, some of them outside of the feasible set."""
    rng = np.random.default_rng(seed)
    n = len(y)
    return KernelDualPoint(
        problem=RegularizedRisk(Hinge(), lam, bias),
        kernel=kernel,
        coef=rng.normal(size=n) / n * (rng.random(n) < 0.7),
        intercept=float(rng.normal()) if bias else 0.0,
        positive=positive,
        multipliers=rng.uniform(-0.2, 1.3, n),
        weights=weights,
    )


def by_hand(p, X, y):
    """P and D with the whole Gram matrix, as the formulas are written."""
    n = len(y)
    s = np.full(n, 1 / n) if p.weights is None else p.weights
    y = np.where(y == p.positive, 1.0, -1.0)
    K, lam = p.kernel(X), p.problem.lam
    f = K @ p.coef + p.intercept
    primal = s @ np.maximum(0, 1 - y * f) + lam / 2 * p.coef @ K @ p.coef
    alpha = s * np.clip(p.multipliers / p.per, 0, 1)
    if p.problem.free_bias:
        up, down = alpha[y > 0].sum(), alpha[y < 0].sum()
        least = min(up, down)
        alpha = alpha * np.where(y > 0, least / (up or 1), least / (down or 1))
        assert abs(alpha @ y) < 1e-12
    best = 0.0
    for c in np.append(np.linspace(0, 1, 2001), 1.0):
        best = max(best, c * alpha.sum() - c**2 * (alpha * y) @ K @ (alpha * y) / (2 * lam))
    return primal, best


@given(data=labelled(max_rows=15), seed=st.integers(0, 99), bias=st.booleans())
def test_the_numbers_are_those_of_the_formulas(data, seed, bias):
    for kernel in (RBF(2.0), Polynomial(2, 1.0, 0.1)):
        p = point(kernel, *data, seed=seed, bias=bias)
        certificate = p.check(*data)
        primal, dual = by_hand(p, *data)
        assert certificate.upper == pytest.approx(primal, rel=1e-9)
        assert dual <= certificate.lower * (1 + 1e-9) + 1e-12
        assert certificate.lower <= dual + 1e-5 * max(1, dual)
        assert certificate.verify(*data)


def test_the_linear_kernel_is_the_linear_machine():
    for bias in (True, False):
        model = LinearSVM(lam=0.1, tol=1e-8, fit_intercept=bias).fit(X, Y)
        linear = model.certificate_
        witness = linear.witness
        alpha = witness.multipliers / len(Y)
        p = KernelDualPoint(
            witness.problem,
            Linear(),
            alpha * Y / 0.1,
            witness.intercept,
            1,
            witness.multipliers,
        )
        ours = p.check(X, Y)
        assert ours.lower == pytest.approx(linear.lower, abs=1e-12)
        assert ours.upper == pytest.approx(linear.upper, rel=1e-3)
        assert ours.kind == "duality"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_agree(layout):
    p = point(RBF(1.5), X, Y)
    expected, found = p.check(X, Y), p.check(LAYOUTS[layout](X), Y)
    assert found.upper == pytest.approx(expected.upper, rel=1e-12)
    assert found.lower == pytest.approx(expected.lower, rel=1e-12)
    assert expected.verify(LAYOUTS[layout](X), Y)


def test_a_precomputed_matrix_is_its_kernel():
    p = point(RBF(1.5), X, Y)
    K = RBF(1.5)(X)
    given = replace(p, kernel=Precomputed()).check(K, Y)
    expected = p.check(X, Y)
    assert given.upper == pytest.approx(expected.upper, rel=1e-12)
    assert given.lower == pytest.approx(expected.lower, rel=1e-12)
    assert "semi-definite" in str(given)
    assert given.verify(K, Y)
    assert given.verify(sparse.csr_matrix(K), Y)


def test_a_matrix_in_single_precision_bounds_up_to_its_rounding():
    """Its eigenvalues of zero have become negative; the certificate knows by how much."""
    K = Linear()(X)
    for lam in (0.1, 1e-3):
        p = replace(point(Precomputed(), K, Y, lam=lam), coef=np.zeros(len(Y)))
        exact, single = p.check(K, Y), p.check(K.astype(np.float32).astype(float), Y)
        assert single.kind == "duality"
        assert abs(single.lower - exact.lower) <= 1e-6 * abs(exact.lower)
        assert single.lower < exact.lower
        assert "the bounds are about that matrix" in str(single)


def test_blocks_do_not_matter(monkeypatch):
    p = point(RBF(1.5), X, Y)
    expected = p.check(X, Y)
    monkeypatch.setattr(gram, "BLOCK", 7)
    found = p.check(X, Y)
    assert found.upper == pytest.approx(expected.upper, rel=1e-13)
    assert found.lower == pytest.approx(expected.lower, rel=1e-13)


def test_classes_are_checked_together_as_alone():
    """Each with a λ and weights of its own, of which some are zero."""
    data, y = three_clouds(60)
    given = [None, np.linspace(0.5, 2.0, 60), 1.0 * (y > 0)]
    points = [
        point(RBF(2.0), data, y, lam=0.1 * (c + 1), seed=c, weights=given[c], positive=c)
        for c in range(3)
    ]
    together = KernelDualPoint.check_all(points, data, y)
    for p, certificate in zip(points, together, strict=True):
        alone = p.check(data, y)
        assert certificate.upper == pytest.approx(alone.upper, rel=1e-12)
        assert certificate.lower == pytest.approx(alone.lower, rel=1e-12)


def test_integer_weights_are_repeated_rows():
    counts = np.arange(60) % 4
    p = point(RBF(1.5), X, Y, weights=counts / counts.sum())
    p = replace(p, coef=np.where(counts > 0, p.coef, 0.0))
    repeat = np.repeat(np.arange(60), counts)
    beta = (p.coef / np.maximum(counts, 1))[repeat]
    many = replace(p, coef=beta, multipliers=p.multipliers[repeat], weights=None)
    expected, found = p.check(X, Y), many.check(X[repeat], Y[repeat])
    assert found.upper == pytest.approx(expected.upper, rel=1e-12)
    assert found.lower == pytest.approx(expected.lower, rel=1e-12)


def test_other_data_labels_and_models_are_noticed():
    n = len(Y)
    alpha = np.full(n, 0.5)
    p = replace(point(RBF(1.5), X, Y, bias=False), multipliers=alpha, coef=alpha / n * Y / 0.1)
    certificate = p.check(X, Y)
    assert certificate.holds
    assert certificate.verify(X, Y)
    swapped = Y.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert not certificate.verify(X, swapped)
    moved = X.copy()
    moved[3] += 0.1
    assert not certificate.verify(moved, Y)
    assert not certificate.verify(X[:-1], Y[:-1])
    other = certificate.about(1.01 * p.coef, p.intercept)
    assert not other.holds
    assert not other.verify(X, Y)
    better = replace(certificate, lower=certificate.upper)
    assert not better.verify(X, Y)
    again = pickle.loads(pickle.dumps(certificate))
    assert again.verify(X, Y)
    assert certificate.to_dict(witness=True)["witness"]["kernel"] == str(RBF(1.5))


def negative(x, z):
    return -(x @ z)


def test_an_indefinite_kernel_bounds_nothing():
    p = point(Custom(negative), X, Y, bias=False)
    certificate = p.check(X, Y)
    assert certificate.kind == "stationary"
    assert not certificate.holds  # β has nothing to do with α
    assert "Mercer" in str(certificate)
    # With yᵢyⱼk(xᵢ, xⱼ) < 0 for all pairs D grows with each α: all of them at s is stationary.
    ones, apart = np.ones(len(Y)), np.abs(X) * Y[:, None]
    full = replace(p, multipliers=ones, coef=ones / len(Y) * Y / 0.1, intercept=0.0)
    certificate = full.check(apart, Y)
    assert certificate.holds
    assert certificate.upper == pytest.approx(0.0, abs=1e-12)
    assert certificate.verify(apart, Y)
    assert not full.about(full.coef * 1.1, 0.0).check(apart, Y).holds
    half = replace(full, multipliers=ones / 2, coef=full.coef / 2)
    assert half.check(apart, Y).upper > 1


def test_a_kernel_that_is_not_examined_is_a_condition(monkeypatch):
    monkeypatch.setattr(checker, "LARGEST_EXAMINED", 10)
    certificate = point(Precomputed(), X, Y).check(RBF()(X), Y)
    assert certificate.kind == "duality"
    assert "If the Gram matrix is positive semi-definite" in certificate.statement


def test_a_kernel_that_was_not_examined_can_still_be_caught(monkeypatch):
    """βᵀKβ < 0 is seen without looking at the whole of K."""
    monkeypatch.setattr(checker, "LARGEST_EXAMINED", 10)
    p = point(Custom(negative), X, Y)
    certificate = p.check(X, Y)
    assert certificate.kind == "stationary"
    c = checker.KernelChecker([p], X, Y, None, map)
    evidence = c._negative(c.betas[:, 0], c.duals[:, 0], c.values[:, 0], c.off[:, 0])
    assert np.linalg.norm(evidence.vector) == pytest.approx(1)
    K = np.array([[negative(a, b) for b in X] for a in X])
    assert evidence.vector @ K @ evidence.vector == pytest.approx(evidence.value)
    assert evidence.value < 0


def test_a_wrong_kernel_that_claims_to_be_valid_is_found_out(monkeypatch):
    """Nothing in a proof is believed that the numbers contradict."""
    monkeypatch.setattr(Custom, "known_mercer", True)
    ones = np.ones(len(Y))
    p = replace(point(Custom(negative), X, Y), coef=ones / len(Y) * Y / 1e-3)
    assert p.check(X, Y).kind == "stationary"


def test_the_rounding_that_is_stated_covers_the_rounding_there_is():
    """Raw columns up to thousands; P and D once more with nineteen digits."""
    data, labels = load_breast_cancer(return_X_y=True)
    signs, n = 2.0 * labels - 1, len(labels)
    long = data.astype(np.longdouble)
    for scale in (1e-6, 1e-4, 1e-2):
        shares = np.random.default_rng(0).uniform(0, 1, n) * scale
        lam = 1.0 / n
        beta = shares / n * signs / lam
        risk = RegularizedRisk(Hinge(), lam, False)
        p = KernelDualPoint(risk, Linear(), beta, 0.0, 1, shares)
        certificate = p.check(data, labels)
        theta = beta.astype(np.longdouble) @ long
        losses = np.maximum(0, 1 - signs * (long @ theta))
        primal = losses.mean() + lam / 2 * (theta @ theta)
        assert abs(float(primal) - certificate.upper) <= certificate.charge
        assert certificate.charge <= 1e-10 * max(1.0, certificate.upper)
    model = cotas.KernelSVM("linear", C=1.0, tol=1e-6).fit(data, labels)
    assert model.certificate_.relative_gap < 1e-6
    assert model.certificate_.charge < 1e-10  # Σ |β|‖x‖ · max ‖x‖ would make it 1e-7


@pytest.mark.parametrize("block", [5, 512])
def test_a_matrix_that_is_not_symmetric_is_multiplied_as_it_is(block, monkeypatch):
    monkeypatch.setattr(gram, "BLOCK", block)
    K = X @ np.triu(np.ones((3, 3))) @ X.T
    lopsided = ("custom", lambda A, B: A @ np.triu(np.ones((3, 3))) @ B.T)
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(60, 3)) * (rng.random(60) < 0.6)[:, None]
    wanted = rng.random(60) < 0.7
    found, _ = gram.Gram(lopsided, X).times(factors, wanted)
    rows = wanted | factors.any(axis=1)
    np.testing.assert_allclose(found[rows], (K @ factors)[rows], atol=1e-12)
    symmetric, _ = gram.Gram(RBF(1.5).spec(), X).times(factors, wanted)
    np.testing.assert_allclose(symmetric[rows], (RBF(1.5)(X) @ factors)[rows], atol=1e-12)
    assert not found[~rows].any()


@pytest.mark.parametrize("max_time", [None, 600.0], ids=["together", "alone"])
def test_a_pair_says_whether_all_of_its_rows_count(max_time):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 2)), np.arange(60) % 3, np.zeros(60)
    weights[:6] = 1.0
    for each, mean in ((None, " mean"), (weights, " weighted mean"), (np.ones(60), " mean")):
        model = cotas.KernelSVM(lam=1e-3, max_time=max_time).fit(X, y, sample_weight=each)
        assert all(f"smaller{mean} hinge" in part.statement for part in model.certificate_.parts)
        assert model.certificate_.verify(X, y)


def test_a_pair_of_some_rows_is_not_said_to_be_of_all():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    witness = cotas.KernelSVM(lam=1e-3).fit(X, y).certificate_.parts[0].witness
    few = witness.rows[:4]
    point = cotas.KernelSVM(witness.kernel, lam=1e-3).fit(X[few], y[few]).certificate_.witness
    some = replace(
        witness.point, coef=point.coef, multipliers=point.multipliers, intercept=point.intercept,
        weights=None,
    )  # fmt: skip
    assert "weighted mean" in replace(witness, rows=few, point=some).check(X, y).statement
    one = np.where(y[witness.rows] == witness.point.positive, 1.0, 0.0)
    with refuses("y"):
        replace(witness, point=replace(witness.point, weights=one)).check(X, y)
