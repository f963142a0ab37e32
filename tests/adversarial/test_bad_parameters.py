"""Parameters that mean nothing are refused by every estimator, with an error that names them."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import cotas
from cotas.fitting.certified import Certified
from errors import refuses
from problems import clouds, plane, three_clouds

KINDS = [
    kind
    for kind in (getattr(cotas, name) for name in cotas.__all__)
    if inspect.isclass(kind) and issubclass(kind, Certified)
]
CLASSIFIERS = [kind for kind in KINDS if is_classifier(kind())]
SHORT = {"max_iter": 3, "n_estimators": 3, "tol": 0.5, "random_state": 0}
# What a parameter needs beside it to be looked at.
BESIDE = {"delta": {"lam": None}, "l1_ratio": {"penalty": "elasticnet"}}


def data_of(kind):
    return clouds(30, 3) if is_classifier(kind()) else plane(30, 3)


def parameters_with(word):
    """All parameters of all estimators whose type, or whose default, is of this kind."""
    number = {"float": float, "int": int}[word]
    for kind in KINDS:
        for name, parameter in inspect.signature(kind).parameters.items():
            said = str(parameter.annotation).replace("|", " ").split()
            if word in said or ("Any" in said and type(parameter.default) is number):
                yield pytest.param(kind, name, id=f"{kind.__name__}-{name}")


def with_parameter(kind, name, value):
    known = inspect.signature(kind).parameters
    beside = {k: v for k, v in BESIDE.get(name, {}).items() if k in known}
    model = kind(**beside, **{name: value})
    if name in ("n_estimators", "n_iter_no_change", "validation_fraction", "learning_rate"):
        return model.set_params(weak_learner="stump") if kind is cotas.LSBoost else model
    return model


def is_refused(kind, name, value):
    model = with_parameter(kind, name, value)
    with refuses(name):
        model.fit(*data_of(kind))


@pytest.mark.parametrize(("kind", "name"), list(parameters_with("float")))
@pytest.mark.parametrize("value", [np.nan, "3", -np.inf, np.array([0.1, 0.2]), True], ids=str)
def test_what_is_no_number(kind, name, value):
    if not (np.ndim(value) and name in ("eps", "step")):  # which may be one for each iteration
        is_refused(kind, name, value)


@pytest.mark.parametrize(("kind", "name"), list(parameters_with("int")))
@pytest.mark.parametrize("value", [0, 2.5, np.nan, "3", True], ids=str)
def test_what_counts_nothing(kind, name, value):
    is_refused(kind, name, value)
    if name != "n_jobs":
        is_refused(kind, name, -1)


@pytest.mark.parametrize(("kind", "name"), list(parameters_with("int")))
def test_any_integer_counts(kind, name):
    known = inspect.signature(kind).parameters
    model = with_parameter(kind, name, 1)
    model.set_params(**{k: v for k, v in SHORT.items() if k in known and k != name})
    if getattr(model, "weak_learner", None) is not None and kind is cotas.LSBoost:
        model.set_params(max_iter=1000)
    for whole in (np.int64(5), np.int8(5)):
        clone(model).set_params(**{name: whole})._check_parameters()


@pytest.mark.parametrize(("kind", "name"), list(parameters_with("float")))
def test_any_float_is_a_number(kind, name):
    with_parameter(kind, name, np.float32(0.125))._check_parameters()


# ---- lam or C ----------------------------------------------------------------------------------

WITH_C = [kind for kind in KINDS if {"lam", "C"} <= set(inspect.signature(kind).parameters)]
by_kind = pytest.mark.parametrize("kind", WITH_C, ids=lambda kind: kind.__name__)


@by_kind
def test_lam_or_c_not_both(kind):
    with refuses("C"):
        kind(lam=0.5, C=1.0).fit(*data_of(kind))


@by_kind
def test_c_is_another_unit_of_lam(kind):
    (X, y), weights = data_of(kind), np.arange(30) % 4
    fixed = {"random_state": 0} if "random_state" in inspect.signature(kind).parameters else {}
    by_c = kind(C=0.25, **fixed).fit(X, y, sample_weight=weights)
    lam = 1.0 / (0.25 * weights.sum())
    assert by_c.lam_ == lam
    by_lam = kind(lam=lam, **fixed).fit(X, y, sample_weight=weights)
    assert by_lam.lam_ == lam
    assert np.array_equal(by_c.predict(X), by_lam.predict(X))
    assert by_c.certificate_.upper == by_lam.certificate_.upper


def test_lam_of_each_pair():
    X, y = three_clouds(40, 3)
    model = cotas.KernelSVM(C=0.5).fit(X, y)
    sizes = np.bincount(y)
    pairs = [sizes[a] + sizes[b] for a, b in model.pairs_]
    assert np.array_equal(np.broadcast_to(model.lam_, 3), 1.0 / (0.5 * np.array(pairs)))
    assert cotas.KernelSVM(lam=0.5).fit(X, y).lam_ == 0.5


# ---- classes without a weight ------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("by", ["sample_weight", "class_weight"])
def test_a_class_that_does_not_count(kind, by):
    X, y = three_clouds(30, 3)
    model, weights = kind(), None
    if by == "sample_weight":
        weights = (y != 1).astype(float)
    elif "class_weight" in model.get_params():
        model.set_params(class_weight={0: 1, 1: 0, 2: 1})
    else:
        pytest.skip("no class_weight")
    with refuses("sample_weight"):
        model.fit(X, y, sample_weight=weights)


# ---- the paths, and the rest ------------------------------------------------------------------


@pytest.mark.parametrize("path", [cotas.lasso_path, cotas.logistic_path])
@pytest.mark.parametrize("ratio", [0, 1, 2, -0.1, np.nan, "a"])
def test_ratio_of_a_path(path, ratio):
    X, y = clouds(30, 3)
    with refuses("ratio"):
        path(X, y, n_lams=3, ratio=ratio)


@pytest.mark.parametrize("path", [cotas.lasso_path, cotas.logistic_path, cotas.svm_path])
@pytest.mark.parametrize("count", [0, -1, 2.5, np.nan, "3"])
def test_number_of_lams(path, count):
    with refuses("n_lams"):
        path(*clouds(30, 3), n_lams=count)


def test_elastic_net_without_l1_is_ridge():
    X, y = clouds(30, 3)
    net = cotas.logistic_path(X, y, n_lams=3, penalty="elasticnet", l1_ratio=0.0)
    ridge = cotas.logistic_path(X, y, n_lams=3)
    assert np.array_equal(net.lams, ridge.lams)
    assert np.allclose(net.coefs, ridge.coefs, rtol=1e-2, atol=1e-6)


def test_columns_rate_beside_a_weak_learner():
    with refuses("eps"):
        cotas.LSBoost("stump", eps=np.array([0.1, 0.2])).fit(*plane(30, 3))


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if "kernel" in k().get_params()], ids=lambda kind: kind.__name__
)
def test_gram_matrix_that_is_not_square(kind):
    X, y = data_of(kind)
    with refuses("X", naming="30"):
        kind("precomputed").fit((X @ X.T)[:, :20], y)


@pytest.mark.parametrize("targets", [(), (1,), (2,)], ids=str)
def test_zeros_have_the_shape_of_the_coefficients(targets):
    X, y = plane(30, 3)
    Y = np.broadcast_to(y.reshape(30, *(1 for _ in targets)), (30, *targets))
    for model in (cotas.Lasso(), cotas.ElasticNet()):
        model.fit(X, Y)
        assert model.certified_zeros(X, Y).shape == model.coef_.shape
