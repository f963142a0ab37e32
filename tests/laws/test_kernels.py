"""Kernels: each equals its formula, and the algebra keeps what it must."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise

from cotas import kernels
from cotas.kernel.interface import KernelValueError
from cotas.kernels import (
    RBF,
    Constant,
    Cosine,
    Custom,
    FromFeatures,
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
)
from errors import refuses

SIGMA = np.array([[1.0, 0.4, 0.0], [0.4, 2.0, -0.3], [0.0, -0.3, 0.5]])


def doubled(X):
    """φ(x) = (x, 2 x₀)"""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return np.column_stack([X, 2 * X[:, 0]])


def smallest(x, z):
    return np.minimum(np.exp(x), np.exp(z)).sum()


# Each kernel beside its formula, written as one would on paper.
FORMULAS = {
    Linear(): lambda x, z: x @ z,
    Constant(3.0): lambda x, z: 3.0,
    Polynomial(3, 0.5, 2.0): lambda x, z: (2 * (x @ z) + 0.5) ** 3,
    RBF(0.7): lambda x, z: np.exp(-np.sum((x - z) ** 2) / (2 * 0.7**2)),
    RBF(gamma=0.3): lambda x, z: np.exp(-0.3 * np.sum((x - z) ** 2)),
    Gaussian(SIGMA): lambda x, z: np.exp(-0.5 * (x - z) @ np.linalg.inv(SIGMA) @ (x - z)),
    Cosine(): lambda x, z: x @ z / (np.linalg.norm(x) * np.linalg.norm(z)),
    FromFeatures(doubled): lambda x, z: x @ z + 4 * x[0] * z[0],
    Custom(smallest): smallest,
    Linear() + RBF(): lambda x, z: x @ z + np.exp(-np.sum((x - z) ** 2) / 2),
    Linear() * Cosine(): lambda x, z: (x @ z) ** 2 / (np.linalg.norm(x) * np.linalg.norm(z)),
    2.5 * Linear(): lambda x, z: 2.5 * x @ z,
    (Linear() + 1) ** 2: lambda x, z: (x @ z + 1) ** 2,
    (0.1 * Linear()).exp(): lambda x, z: np.exp(0.1 * x @ z),
    Polynomial(2).normalized(): lambda x, z: (x @ z + 1) ** 2 / ((x @ x + 1) * (z @ z + 1)),
    RBF().on([0, 2]): lambda x, z: np.exp(-((x[0] - z[0]) ** 2 + (x[2] - z[2]) ** 2) / 2),
}
KERNELS = list(FORMULAS)
by_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def rows(n=9, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def double_loop(kernel, A, B):
    return np.array([[FORMULAS[kernel](a, b) for b in B] for a in A])


@by_kernel
def test_equals_its_formula(kernel):
    A, B = rows(7), rows(5, seed=1)
    expected = double_loop(kernel, A, B)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12, atol=1e-13)
    whole = double_loop(kernel, A, A)
    np.testing.assert_allclose(kernel(A), whole, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernels.gram(kernel, A), whole, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(A), [FORMULAS[kernel](a, a) for a in A], rtol=1e-12)


@by_kernel
def test_layouts_and_precisions_agree(kernel):
    A, B = rows(7), rows(5, seed=1)
    A[1, :2] = 0.0
    expected = kernel(A, B)
    for left in (A, np.asfortranarray(A), sparse.csr_matrix(A), sparse.csc_matrix(A)):
        for right in (B, sparse.csr_matrix(B)):
            np.testing.assert_allclose(kernel(left, right), expected, rtol=1e-12, atol=1e-13)
    A32, B32 = A.astype(np.float32), B.astype(np.float32)
    same = kernel(A32.astype(float), B32.astype(float))
    found = kernel(A32, B32)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, same, rtol=1e-12, atol=1e-13)


@by_kernel
def test_prepared_rows_are_rows_of_the_gram_matrix(kernel):
    X = rows(9)
    K = kernels.gram(kernel, X)
    prepared = kernel.prepare(X)
    chosen = np.array([4, 0, 8, 4])
    block = prepared.rows(chosen)
    assert block.flags.c_contiguous
    np.testing.assert_allclose(block, K[chosen], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(block[np.arange(4), chosen], prepared.diagonal[chosen])
    single = prepared.rows(chosen, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, K[chosen], rtol=2e-5, atol=2e-6)
    part = kernel.prepare(X, chosen)
    np.testing.assert_allclose(part.against(X), K[:, chosen], rtol=1e-12, atol=1e-14)


@by_kernel
def test_kernels_are_values(kernel):
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    assert hash(again) == hash(kernel)
    with pytest.raises((AttributeError, TypeError)):
        kernel.sigma = 3.0
    assert sum(other == kernel for other in KERNELS) == 1


def test_formulas_in_print():
    for kernel, text in [
        (RBF(0.5), "exp(−‖x−x′‖²/(2·0.5²))"),
        (RBF(gamma=2.0), "exp(−2·‖x−x′‖²)"),
        (Polynomial(2, 1.0), "(x·x′ + 1)²"),
        (3 * (Linear() + Cosine()), "3·(x·x′ + x·x′/(‖x‖·‖x′‖))"),
        (sum([Linear(), RBF(2.0)]), "x·x′ + exp(−‖x−x′‖²/(2·2²))"),
        (1 + Linear(), "x·x′ + 1"),
        (Linear().on([0, 2]), "x[0,2]·x′[0,2]"),
        ((Linear() ** 3).exp(), "exp((x·x′)³)"),
        (Gaussian([4.0]), "exp(−½(x−x′)ᵀ[4]⁻¹(x−x′))"),
        (Linear().normalized(), "(x·x′)/√((x·x)·(x′·x′))"),
    ]:
        assert str(kernel) == text


def test_agrees_with_scikit_learn():
    A, B = rows(30), rows(20, seed=2)
    for ours, theirs in [
        (Linear(), pairwise.linear_kernel(A, B)),
        (RBF(gamma=0.4), pairwise.rbf_kernel(A, B, gamma=0.4)),
        (Polynomial(4, 2.0, 0.5), pairwise.polynomial_kernel(A, B, degree=4, gamma=0.5, coef0=2)),
        (Cosine(), pairwise.cosine_similarity(A, B)),
        (Custom(pairwise.laplacian_kernel, of="blocks"), pairwise.laplacian_kernel(A, B)),
    ]:
        np.testing.assert_allclose(ours(A, B), theirs, rtol=1e-11, atol=1e-13)


valid = st.recursive(
    st.sampled_from(
        [
            Linear(),
            RBF(0.5),
            Cosine(),
            Polynomial(2, 1.0, 0.3),
            Constant(0.5),
            Gaussian(SIGMA),
            (Linear() * RBF(1.0)).on([0, 2]),
            (0.2 * Linear()).exp(),
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda c, a: c * a, st.floats(0.01, 3), inner),
        st.builds(lambda a, p: a**p, inner, st.integers(1, 3)),
        st.builds(lambda a: a.normalized().exp(), inner),
        st.builds(lambda a: a.normalized(), inner),
    ),
    max_leaves=4,
)


@given(first=valid, second=valid, seed=st.integers(0, 99))
def test_gram_of_a_sum_is_the_sum_of_grams(first, second, seed):
    X = 0.3 * rows(6, seed)
    K, L = first(X), second(X)
    for combined, expected in ((first + second, K + L), (first * second, K * L)):
        np.testing.assert_allclose(combined(X), expected, rtol=1e-10, atol=1e-12)


@given(kernel=valid, seed=st.integers(0, 99), n=st.integers(1, 8))
def test_operations_keep_kernels_valid(kernel, seed, n):
    X = 0.3 * rows(n, seed)
    K = kernel(X)
    scale = np.abs(K).max()
    np.testing.assert_allclose(K, K.T, rtol=1e-10, atol=1e-12 * scale)
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-11 * n * scale
    assert kernel.known_mercer


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e8, 1e200])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_rbf_of_rows_far_from_the_origin_and_of_any_scale(offset, scale, convert):
    """What matters are differences: they must survive whatever the rows themselves are."""
    X = np.round(rows(12) * 2**10) / 2**10 + offset
    X[5] = X[3]
    near = X - offset
    expected = np.exp(-((near[:, None] - near[None]) ** 2).sum(axis=2) / 2)
    found = RBF(sigma=scale)(convert(X * scale))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert found.max() <= 1.0
    assert found[5, 3] == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(np.diag(found), 1.0)
    if offset == 0 or scale == 1:  # the rows themselves are free of rounding
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_rbf_of_single_rows_at_enormous_distances():
    X = np.array([[0.0], [1e200], [1e200], [-1e300], [1.0]])
    K = RBF()(X)
    expected = np.eye(5)
    expected[1, 2] = expected[2, 1] = 1.0
    expected[0, 4] = expected[4, 0] = np.exp(-0.5)
    np.testing.assert_allclose(K, expected, atol=1e-15)


def test_cosine_of_any_scale():
    X = np.array([[3.0, 4.0], [3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0]])
    expected = np.ones((4, 4))
    expected[3], expected[:, 3] = 0.0, 0.0
    np.testing.assert_allclose(Cosine()(X), expected, rtol=1e-14)
    np.testing.assert_allclose(Cosine()(sparse.csr_matrix(X)), expected, rtol=1e-14)


def test_overflow_is_an_error_that_names_it():
    X = np.array([[30.0], [1.0]])
    with pytest.raises(KernelValueError, match="900"):
        Linear().exp()(X)
    with pytest.raises(KernelValueError):
        Polynomial(300)(X)
    with pytest.raises(KernelValueError):
        Linear()([[1e200]])
    with pytest.raises(KernelValueError):
        RBF()([[np.nan], [0.0]])


def test_precomputed():
    X = rows(8)
    K = RBF()(X)
    given = Precomputed().prepare(K)
    np.testing.assert_array_equal(given.rows(np.array([2, 3])), K[[2, 3]])
    np.testing.assert_array_equal(given.diagonal, np.diag(K))
    some = Precomputed().prepare(sparse.csr_matrix(K), np.array([1, 6]))
    np.testing.assert_array_equal(some.against(K), K[:, [1, 6]])
    np.testing.assert_array_equal(Precomputed()(K[:3], K), K[:3])
    with refuses("X"):
        Precomputed()(K[:3])
    with refuses("kernel"):
        Precomputed()(np.triu(K))
    with refuses("kernel", TypeError):
        (Precomputed() + Linear())(K)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: RBF(0.0), "zero"),
        (lambda: RBF(-1.0), "zero"),
        (lambda: RBF(float("nan")), "zero"),
        (lambda: RBF(gamma=0.0), "zero"),
        (lambda: RBF(1.0, gamma=1.0), "sigma"),
        (lambda: Polynomial(0), "integer"),
        (lambda: Polynomial(2.5), "integer"),
        (lambda: Polynomial(2, -1.0), "coef0"),
        (lambda: Gaussian([[1.0, 1.0], [1.0, 1.0]]), "singular"),
        (lambda: Gaussian([[1.0, 2.0], [2.0, 1.0]]), "definite"),
        (lambda: Gaussian([[1.0, 0.5], [0.1, 1.0]]), "symmetric"),
        (lambda: Gaussian([[1.0, 0.5]]), "square"),
        (lambda: Gaussian([[np.nan]]), "NaN"),
        (lambda: Gaussian(SIGMA)([[1.0]]), "columns"),
        (lambda: -1 * Linear(), "zero"),
        (lambda: Linear() + (-1), "negative"),
        (lambda: Linear() ** 0, "exponent"),
        (lambda: Linear() ** -1, "exponent"),
        (lambda: Linear().on([]), "columns"),
        (lambda: Linear().on([5])([[1.0]]), "columns"),
        (lambda: Linear()([1.0, 2.0]), "dimensions"),
        (lambda: Linear()([[1.0]], [[1.0, 2.0]]), "columns"),
        (lambda: Linear()([[1j]]), "real"),
        (lambda: Custom(lambda x, z: x @ z + x[0])(rows()), "symmetric"),
        (lambda: Custom(lambda x, z: np.nan)(rows()), "finite"),
        (lambda: Custom(lambda A, B: 1.0, of="blocks")(rows()), "shape"),
        (lambda: Custom(smallest, of="rows"), "pairs"),
        (lambda: FromFeatures(lambda X: X[:1])(rows()), "phi"),
        (lambda: Custom(lambda x, z: -(x @ z)).normalized()(rows()), "negative"),
    ],
)
def test_what_is_no_kernel_is_refused(make, word):
    with pytest.raises(ValueError, match=word):
        make()


def test_wrong_types_are_refused():
    for make in (lambda: Custom(3), lambda: FromFeatures(None), lambda: RBF("wide")):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(TypeError):
        Linear() + "RBF"
    with refuses("function", TypeError):
        Custom(lambda x, z: x)(rows())
