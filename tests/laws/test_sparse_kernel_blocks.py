"""The blocks of an RBF between sparse rows, by their entries, and what is proved with them."""

import numpy as np
import pytest
from scipy import sparse

import cotas
from cotas.certificates.core import gram
from cotas.kernel.blocks import SparseRadial, blocks_of
from cotas.kernels import RBF


def one_hot(n: int, seed: int = 0, whole: bool = False) -> sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 10, size=(n, 3)) + 10 * np.arange(3)
    values = rng.integers(1, 3, 3 * n) if whole else rng.normal(size=3 * n)
    parts = (values.astype(float), columns.ravel(), 3 * np.arange(n + 1))
    return sparse.csr_matrix(parts, shape=(n, 30))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("dtype", "off"), [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_each_value_is_the_one_of_the_formula(dtype, off, whole):
    X, kernel = one_hot(300, whole=whole), RBF(gamma=0.3)
    blocks = blocks_of(kernel, X, dtype, 1 << 30)
    assert isinstance(blocks, SparseRadial)
    dense = X.toarray()
    expected = np.exp(-0.3 * ((dense[:, None] - dense) ** 2).sum(axis=2))
    assert np.abs(blocks.whole() - expected).max() <= off
    some, odd = np.arange(5, 290, 7), np.array([299, 0, 17])
    assert np.abs(blocks.block(blocks.own(some), odd) - expected[np.ix_(some, odd)]).max() <= off
    others = blocks.block(blocks.left(X[40:50]), slice(100, 300))
    assert np.abs(others - expected[40:50, 100:300]).max() <= off
    new = one_hot(20, 1)  # not whole, whatever those of the model are
    apart = ((new.toarray()[:, None] - dense) ** 2).sum(axis=2)
    assert np.abs(blocks.block(blocks.left(new), slice(0, 300)) - np.exp(-0.3 * apart)).max() <= off
    assert not blocks._zeros().any()


def test_rows_too_far_apart_for_single_precision_are_seen_from_their_centre():
    X = one_hot(50)
    X.data += 1e4
    assert not isinstance(blocks_of(RBF(1.0), X, np.float32, 1 << 30), SparseRadial)


@pytest.mark.parametrize("gamma", [0.3, 300.0])
def test_sparse_rows_beside_filled_ones_keep_the_bound_of_the_core(gamma):
    """Also where the rows are so long that their differences are taken."""
    X = one_hot(80)
    dense = X.toarray()
    K, e, f = gram.block(("rbf", gamma, 1.0), X[:30], dense[30:])
    exact = np.exp(-gamma * ((dense[:30, None] - dense[30:]) ** 2).sum(axis=2))
    assert (np.abs(K - exact) <= np.outer(e, f) + 1e-14).all()


def test_a_model_of_sparse_rows_is_the_one_of_the_same_rows_filled():
    X = one_hot(600)
    y = (X @ np.random.default_rng(1).normal(size=30) > 0).astype(int)
    fits = [cotas.KernelSVM(RBF(gamma=0.5), C=1.0).fit(rows, y) for rows in (X, X.toarray())]
    assert all(m.certificate_.holds and m.certificate_.relative_gap <= 1e-4 for m in fits)
    assert np.allclose(*(m.decision_function(X[:50]) for m in fits), atol=0.05)
    assert fits[0].certificate_.verify(X, y)
