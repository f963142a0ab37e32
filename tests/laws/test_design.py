"""The operations on rows agree with NumPy in every layout, compiled or not."""

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from cotas.design import (
    add,
    add_outer,
    add_squares,
    as_design,
    blocks,
    dot,
    n_features,
    n_vectors,
    norm2,
    standardized,
)
from cotas.loops import loop
from problems import LAYOUTS, labelled


@loop
def walk(vectors, w):
    """Uses every operation once for each vector."""
    total = 0.0
    for i in range(n_vectors(vectors)):
        total += dot(vectors, i, w) + norm2(vectors, i)
        add(vectors, i, 0.5, w)
    return total


def expected_walk(rows):
    w = np.linspace(1, 2, rows.shape[1])
    total = 0.0
    for x in rows:
        total += x @ w + x @ x
        w = w + 0.5 * x
    return total, w


def check(design, rows):
    w = np.linspace(1, 2, rows.shape[1])
    total = walk(design, w)
    expected, expected_w = expected_walk(rows)
    assert total == pytest.approx(expected, rel=1e-9, abs=1e-7)
    np.testing.assert_allclose(w, expected_w, rtol=1e-9, atol=1e-9)
    assert n_features(design) == rows.shape[1]
    # The same names work outside of compiled code.
    assert dot(design, 0, w) == pytest.approx(rows[0] @ w, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(data=labelled(max_rows=8))
def test_rows(layout, data):
    check(as_design(LAYOUTS[layout](data.X)), data.X)


@pytest.mark.parametrize("layout", ["dense", "fortran", "csr", "csc"])
@given(data=labelled(max_rows=8))
def test_columns(layout, data):
    check(as_design(LAYOUTS[layout](data.X), by="columns"), data.X.T)


@pytest.mark.parametrize("layout", ["dense", "csr", "float32"])
@given(data=labelled(max_rows=8))
def test_standardized_rows(layout, data):
    scaler = StandardScaler().fit(data.X)
    rows = as_design(LAYOUTS[layout](data.X))
    check(standardized(rows, scaler.mean_, 1 / scaler.scale_), scaler.transform(data.X))


@loop
def gram_and_squares(design, factors, gram, squares):
    for i in range(n_vectors(design)):
        add_outer(design, i, factors[i], gram)
        add_squares(design, i, factors[i], squares)


@given(data=labelled())
def test_a_weighted_gram_matrix_row_by_row(data):
    factors = np.linspace(-1, 2, len(data.X))
    expected = (data.X.T * factors) @ data.X
    for design in (as_design(data.X), as_design(sparse.csr_matrix(data.X))):
        gram, squares = np.zeros_like(expected), np.zeros(len(expected))
        gram_and_squares(design, factors, gram, squares)
        scale = np.abs(data.X).max() ** 2 * np.abs(factors).sum() + 1e-300
        np.testing.assert_allclose(gram, np.tril(expected), atol=1e-12 * scale)
        np.testing.assert_allclose(squares, np.diag(expected), atol=1e-12 * scale)


def test_nothing_is_copied_along_the_grain():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert as_design(X).X is X
    S = sparse.csr_matrix(X)
    assert as_design(S).data is S.data
    assert np.shares_memory(as_design(np.asfortranarray(X).T).X, X) is False
    F = np.asfortranarray(X)
    assert np.shares_memory(as_design(F, by="columns").X, F)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_read_only_matrix_is_not_copied_and_nothing_is_compiled_for_it(layout):
    X = LAYOUTS[layout](np.arange(12.0).reshape(4, 3))
    total = walk(as_design(X), np.ones(3))
    known = list(walk.signatures)
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for part in parts:
        part.setflags(write=False)
    design = as_design(X)
    assert walk(design, np.ones(3)) == total
    assert walk.signatures == known
    if layout in ("dense", "csr"):
        assert np.shares_memory(design[0], parts[0])
        del X, parts, part  # what is left keeps the memory alive
        assert walk(design, np.ones(3)) == total


def test_entries_stored_twice_are_added_and_the_users_matrix_is_left_alone():
    S = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    design = as_design(S)
    assert norm2(design, 0) == 9.0
    assert S.nnz == 2


def test_a_nan_stays_visible():
    assert np.isnan(walk(as_design(np.array([[np.nan, 1.0]])), np.ones(2)))


def test_an_unknown_layout_is_named():
    with pytest.raises(TypeError, match="list"):
        dot([[1.0]], 0, np.ones(1))


@pytest.mark.parametrize("layout", LAYOUTS)
@given(data=labelled())
def test_products_in_double_precision_change_nothing_in_x(layout, data):
    X = LAYOUTS[layout](data.X)
    whole = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", 8 * whole.shape[1])  # several blocks
        for some in ((), (2,)):
            theta = np.linspace(-1, 2, whole[0].size * (len(some) + 1)).reshape(-1, *some)
            v = np.linspace(2, -1, len(whole) * (len(some) + 1)).reshape(-1, *some)
            size = np.abs(whole).sum()
            close = {"rtol": 0, "atol": 1e-12 * size}
            np.testing.assert_allclose(blocks.times(X, theta), whole @ theta, **close)
            np.testing.assert_allclose(blocks.times_transposed(X, v), whole.T @ v, **close)
    np.testing.assert_array_equal(X.todense() if sparse.issparse(X) else X, whole)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_long_indices_become_short_ones_and_the_matrix_given_keeps_its_own(kind):
    rows = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    X = kind(rows)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    design = as_design(X)
    assert design.indices.dtype == design.indptr.dtype == np.int32
    check(design, rows)
    assert X.indices.dtype == X.indptr.dtype == np.int64
