"""Valid kernels have evidence, invalid ones a vector; a feature map gives the kernel back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from cotas.kernels import (
    RBF,
    Cosine,
    Custom,
    FeatureMap,
    Linear,
    Polynomial,
    Precomputed,
    feature_map,
    gram,
    is_mercer,
)
from errors import refuses
from problems import clouds

X, _ = clouds(40, 3)


def distance(x, z):
    return np.abs(x - z).sum()


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5), Cosine(), Polynomial(3)], ids=str)
def test_valid_kernels_are_valid_by_their_formula(kernel):
    answer = is_mercer(kernel, X)
    assert answer
    assert (kernel(X).min() < 0) == (kernel in (Linear(), Cosine(), Polynomial(3)))
    assert answer.by_construction
    assert answer.vector is None
    assert answer.smallest_eigenvalue == pytest.approx(
        np.linalg.eigvalsh(kernel(X))[0], abs=answer.rounding
    )
    assert answer.verify(X)
    assert "on all rows" in str(answer)


@given(seed=st.integers(0, 999), n=st.integers(2, 12))
def test_a_no_is_a_proof(seed, n):
    """A symmetric matrix is refused exactly if it has a negative eigenvalue, with its vector."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, n))
    values = rng.uniform(0.1, 1, n) * np.where(rng.random(n) < 0.2, -1, 1)
    basis = np.linalg.qr(half)[0]
    K = (basis * values) @ basis.T
    K = (K + K.T) / 2
    answer = is_mercer(Precomputed(), K)
    assert bool(answer) == (values.min() > 0)
    if not answer:
        assert answer.vector @ K @ answer.vector < -0.05
        assert answer.verify(K)
        assert not answer.verify(K + 2 * np.eye(n))


def test_rounding_is_no_evidence():
    """A Gram matrix of rank 3 has 37 eigenvalues of zero, some below it by rounding."""
    for scale in (1e-6, 1.0, 1e6):
        answer = is_mercer(Linear(), scale * X)
        assert answer
        assert abs(answer.smallest_eigenvalue) <= answer.rounding


def test_single_precision_is_no_evidence_either():
    K = Linear()(X).astype(np.float32)
    answer = is_mercer(Precomputed(), K)
    assert answer
    assert not is_mercer(Precomputed(), K.astype(np.float64))
    assert feature_map(Precomputed(), K).error_ < 1e-3


def test_functions_of_the_user():
    answer = is_mercer(Custom(distance), X)
    assert not answer
    assert "cᵀKc" in str(answer)
    asymmetric = is_mercer(Custom(lambda x, z: x @ z + x[0]), X)
    assert not asymmetric
    assert "not symmetric" in str(asymmetric)
    good = is_mercer(Custom(lambda x, z: x @ z), X)
    assert good
    assert not good.by_construction
    assert "other rows" in str(good)
    assert set(good.to_dict()) == set(answer.to_dict())


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", [Linear(), RBF(2.0), Polynomial(2), Cosine()], ids=str)
def test_the_feature_map_gives_the_kernel_back(kernel, convert):
    phi = feature_map(kernel, convert(X))
    features = phi.transform(convert(X))
    K = gram(kernel, X)
    slack = phi.error_ + 1e-10 * np.abs(K).max()
    assert np.abs(features @ features.T - K).max() <= slack
    new = clouds(10, 3, seed=7)[0]
    between = phi.transform(new) @ features.T
    assert np.abs(between - kernel(new, X)).max() <= 1e-4 * np.abs(K).max()
    expected = {Linear(): 3, Polynomial(2): 10, Cosine(): 3}.get(kernel)
    if expected is not None:
        assert len(phi.eigenvalues_) == expected


def test_a_short_feature_map_states_its_error():
    K = gram(RBF(1.0), X)
    values = np.linalg.eigvalsh(K)[::-1]
    for rank in (1, 5, 20):
        phi = feature_map(RBF(1.0), X, n_components=rank)
        features = phi.transform(X)
        assert features.shape == (40, rank)
        assert phi.error_ == pytest.approx(values[rank])
        off = features @ features.T - K
        assert np.linalg.norm(off, 2) == pytest.approx(phi.error_)
        assert np.abs(off).max() <= phi.error_ * (1 + 1e-9)


def test_there_is_no_map_for_what_is_no_kernel():
    with refuses("kernel"):
        feature_map(Custom(distance), X)
    for bad in ({"n_components": 0}, {"tol": 0.0}):
        with pytest.raises(ValueError):
            FeatureMap(**bad).fit(X)


@parametrize_with_checks([FeatureMap(), FeatureMap(Polynomial(2), n_components=2)])
def test_check_estimator(estimator, check):
    check(estimator)
