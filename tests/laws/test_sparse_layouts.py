"""However sparse rows are stored, and whatever is said of them, they are the rows they are."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

import cotas
from cotas.kernel.choice import scaled_rbf
from estimators import every_estimator, problems_of
from problems import clouds


def in_parts(rows, falsely=True):
    """The rows with each entry stored in two halves, out of order, and flags that deny it."""
    halves, places = np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2)
    order = backwards(2 * rows.indptr)
    found = type(rows)((halves[order], places[order], 2 * rows.indptr), shape=rows.shape)
    if falsely:
        found.has_canonical_format = found.has_sorted_indices = True
    return found


def believed(X):
    """Triplets that are halved and come again at the end, said to come once."""
    triplets = sparse.coo_matrix(X)
    given = (triplets.data / 2, triplets.row, triplets.col)
    data, row, column = (np.append(part, part) for part in given)
    found = sparse.coo_matrix((data, (row, column)), shape=X.shape)
    found.has_canonical_format = True
    return found


def backwards(pointers):
    """The places of the entries of each row, the last one first."""
    return np.concatenate([np.arange(end, start, -1) - 1 for start, end in pairwise(pointers)])


def blocked(X):
    """Blocks of two rows, of which each comes in two halves, said to come once."""
    even = sparse.bsr_matrix(X, blocksize=(2, 1))
    halves, places = np.repeat(even.data / 2, 2, axis=0), np.repeat(even.indices, 2)
    found = sparse.bsr_matrix((halves, places, 2 * even.indptr), shape=even.shape)
    found.has_canonical_format = True
    return found


def unsorted(X):
    """Each row backwards, and said to be in order."""
    rows = sparse.csr_matrix(X)
    order = backwards(rows.indptr)
    found = sparse.csr_matrix((rows.data[order], rows.indices[order], rows.indptr), shape=X.shape)
    found.has_sorted_indices = True
    return found


def wide(X):
    """Indices of 64 bits, and zeros that are stored."""
    rows = sparse.csr_array(np.ones_like(X))
    rows.data = X.ravel().copy()
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


LAYOUTS = {
    "CSR": sparse.csr_matrix,
    "CSC array": sparse.csc_array,
    "in parts": lambda X: in_parts(sparse.csr_matrix(X), falsely=False),
    "CSR said to be canonical": lambda X: in_parts(sparse.csr_matrix(X)),
    "CSR array said to be canonical": lambda X: in_parts(sparse.csr_array(X)),
    "CSC said to be canonical": lambda X: in_parts(sparse.csc_matrix(X)),
    "triplets said to be canonical": believed,
    "blocks said to be canonical": blocked,
    "said to be sorted": unsorted,
    "64 bits and zeros": wide,
}


def thinned(X):
    """Rows of which a quarter is zero, few digits long, so that halves add up."""
    rows = np.round(np.asarray(X), 2)
    rows.flat[::4] = 0.0
    return rows


def takes_sparse_rows():
    return [model for model in every_estimator() if get_tags(model).input_tags.sparse]


def cases():
    for model in takes_sparse_rows():
        for X, y in problems_of(model):
            yield pytest.param(model, X, y, id=f"{model}-{len(np.unique(y))}".replace("\n", ""))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "X", "y"), list(cases()))
def test_a_fit_is_of_the_rows_and_not_of_their_layout(model, X, y):
    X = X if getattr(model, "margin", "") == "hard" else thinned(X)
    dense = model.fit(X, y).certificate_
    found = model.predict(X)
    for name, layout in LAYOUTS.items():
        rows = layout(X)
        assert dense.verify(rows, y), (name, dense.discrepancies(rows, y))
        again = model.predict(layout(X))
        if y.dtype.kind == "f":
            np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(again, found, err_msg=name)
    for name, layout in LAYOUTS.items():
        rows = layout(X)
        thin = model.fit(rows, y).certificate_
        assert thin.holds, name
        assert thin.verify(X, y), (name, thin.discrepancies(X, y))
        assert thin.verify(layout(X), y), (name, thin.discrepancies(layout(X), y))
        assert cotas.certify(model, layout(X), y).holds, name


def one_hot(n, columns, values, scale):
    """Categories as zeros and ones, or as small numbers, beside a column that is constant."""
    chosen = np.random.default_rng(0).integers(0, values, size=(n, columns))
    return np.hstack([scale * np.eye(values)[chosen].reshape(n, -1), np.ones((n, 1))])


ONE_HOT = {
    "wide": one_hot(40, 20, 12, 1.0),
    "tiny": one_hot(40, 3, 4, 1e-5),
    "repeated": np.repeat(one_hot(10, 2, 2, 1.0), 4, axis=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ONE_HOT)
@pytest.mark.parametrize("model", takes_sparse_rows(), ids=lambda model: str(model)[:60])
def test_a_fit_of_sparse_rows_is_verified_with_dense_ones_and_the_reverse(model, name):
    if getattr(model, "margin", "") == "hard":
        return
    X = ONE_HOT[name]
    noise = np.random.default_rng(1).normal(size=sum(X.shape))
    z = X @ noise[: X.shape[1]] + 0.1 * noise[X.shape[1] :]
    y = np.digitize(z, np.quantile(z, [0.3, 0.7])) if is_classifier(model) else z
    for rows, others in ((X, sparse.csr_matrix(X)), (sparse.csr_matrix(X), X)):
        certificate = model.fit(rows, y).certificate_
        assert certificate.verify(others, y), certificate.discrepancies(others, y)
        assert cotas.certify(model, others, y).holds
        assert not certificate.verify(others, y[::-1])


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_else_is_certified_is_of_the_rows(name):
    X, y = clouds(40, 4)
    X = thinned(X)
    model, lasso = cotas.LinearSVM(lam=0.1, tol=1e-9).fit(X, y), cotas.Lasso(lam=0.3).fit(X, y)
    labels, certified = model.certified_predict(X)
    again, certified_again = model.certified_predict(LAYOUTS[name](X))
    np.testing.assert_array_equal(again, labels)
    np.testing.assert_array_equal(certified_again, certified)
    zeros = lasso.certified_zeros(LAYOUTS[name](X), y)
    np.testing.assert_array_equal(zeros, lasso.certified_zeros(X, y))
    path = cotas.svm_path(X, y, [0.1, 0.09], validation=(X, y))
    assert path.verify(LAYOUTS[name](X), y, validation=(LAYOUTS[name](X), y))
    other = LogisticRegression().fit(X, y)
    assert cotas.certify(other, LAYOUTS[name](X), y).verify(X, y)


@pytest.mark.parametrize("place", [-1, 4, 1 << 32])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_places_outside_of_the_matrix_are_refused(kind, place):
    X, y = clouds(40, 4)
    model, rows = cotas.LinearSVM(lam=0.1).fit(X, y), kind(X)
    rows.indices = rows.indices.astype(np.int64)
    rows.indices[3] = place if kind is not sparse.csc_matrix or place < 0 else 10 * place
    certificate = model.certificate_
    for call, *data in ((model.predict, rows), (certificate.verify, rows, y), (model.fit, rows, y)):
        with pytest.raises(ValueError, match="indices"):
            call(*data)


def test_the_matrix_that_was_given_stays_as_it_was():
    X, y = clouds(40, 4)
    rows = in_parts(sparse.csr_matrix(thinned(X)))
    before = {name: np.copy(value) for name, value in vars(rows).items()}
    model = cotas.LinearSVM(lam=0.1).fit(rows, y)
    assert model.certificate_.verify(rows, y)
    for name, value in vars(rows).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.parametrize(
    "X", [*ONE_HOT.values(), np.full((30, 3), 0.1)], ids=[*ONE_HOT, "constant"]
)
def test_a_kernel_is_as_wide_as_the_rows_in_any_layout(X):
    width = scaled_rbf(X).gamma
    assert scaled_rbf(sparse.csr_matrix(X)).gamma == pytest.approx(width, rel=1e-12)
