"""A free bias makes up for any number added to a column: every linear model proves its gap."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import cotas
from cotas.fitting.data import Moved
from cotas.linear.base import LinearClassifier
from cotas.linear.dispatch import SOLVERS
from cotas.regression.base import LinearRegressor
from problems import regression, three_clouds

OFFSETS = {"none": 0.0, "1e4": 1e4, "2³¹": 2.0**31, "1e9": 1e9, "one column": None}


def models():
    """Every linear model that goes on until a gap is proved, and each solver of LinearSVM."""
    for name in cotas.__all__:
        kind = getattr(cotas, name)
        if inspect.isclass(kind) and issubclass(kind, LinearClassifier | LinearRegressor):
            known = kind().get_params()
            if isinstance(known.get("tol"), float) and "fit_intercept" in known:
                yield kind()
    yield from (cotas.LinearSVM(solver=solver) for solver in SOLVERS[1:])
    yield cotas.LinearSVM(loss="squared_hinge")
    yield cotas.LogisticRegression(penalty="l1")
    yield cotas.LogisticRegression(multiclass="ovr")


def moved(X, offset):
    return X + (np.eye(X.shape[1])[0] * 1e9 if offset is None else offset)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("offset", OFFSETS.values(), ids=OFFSETS)
@pytest.mark.parametrize("model", list(models()), ids=repr)
def test_an_offset_costs_no_proof(model, offset):
    X, y = three_clouds(90) if is_classifier(model) else regression(60, 5)
    model.fit(moved(X, offset), y)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.relative_gap <= model.tol
    assert certificate.verify(moved(X, offset), y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kind", [cotas.LinearSVM, cotas.LogisticRegression, cotas.LinearSVR, cotas.HuberRegressor]
)
def test_a_warm_start_goes_on_from_where_it_ended(kind):
    X, y = three_clouds(90) if is_classifier(kind()) else regression(60, 5)
    X = moved(X, 1e9)
    model = kind(warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= first
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_scale_of_the_columns_costs_linear_svr_no_proof(scale):
    X, y = regression(60, 5)
    model = cotas.LinearSVR().fit(scale * X, y)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1.0, -7.0])
def test_a_constant_column_as_large_as_ones_copies_nothing(constant, dtype):
    X, _ = regression(600, 5)
    X = np.column_stack([X, np.full(len(X), constant)]).astype(dtype)
    assert Moved.near_zero(X, free_bias=True).X is X
    assert Moved.near_zero(moved(X, None), free_bias=True).shift is not None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("constant", [0.1, 1e3, 1e12])
@pytest.mark.parametrize("model", list(models()), ids=repr)
def test_a_constant_column_costs_no_proof(model, constant):
    X, y = three_clouds(90) if is_classifier(model) else regression(60, 5)
    plain = clone(model).fit(X, y).certificate_.singles
    X = np.column_stack([X, np.full(len(X), constant)])
    certificate = model.fit(X, y).certificate_
    assert certificate.relative_gap <= model.tol
    assert certificate.verify(X, y)
    for one, other in zip(certificate.singles, plain, strict=True):
        assert max(one.lower, other.lower) <= min(one.upper, other.upper)
