"""Numbers that a double cannot hold are refused: a certificate is about the data as they are."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.linear_model import SGDClassifier

import cotas
from errors import refuses
from problems import clouds, regression

LARGE = 2**53 + 1
STAMP = 1_763_242_500_123_456_789  # a day of 2025 in nanoseconds

X, y = clouds(30, 2)
Z, target = regression(30, 2)
whole = np.arange(60).reshape(30, 2)


def with_entry(value):
    changed = whole.copy()
    changed[3, 1] = value
    return changed


HOLDING_ONE = {
    "array": with_entry(LARGE),
    "negative": with_entry(-LARGE),
    "stamps": with_entry(STAMP),
    "unsigned": with_entry(LARGE).astype(np.uint64),
    "list": with_entry(LARGE).tolist(),
    "list with floats": [[0.5, LARGE], *with_entry(0)[1:].tolist()],
    "column": pd.DataFrame({"a": np.linspace(0, 1, 30), "b": with_entry(LARGE)[:, 1]}),
    "nullable column": pd.DataFrame(with_entry(LARGE)).astype("Int64"),
    "times": pd.DataFrame({"t": pd.to_datetime(with_entry(STAMP)[:, 1]), "a": 0.5}),
    "sparse": sparse.csr_matrix(with_entry(LARGE)),
    "objects": with_entry(LARGE).astype(object),
}
CLASSIFIERS = [
    cotas.Perceptron(),
    cotas.LinearSVM(),
    cotas.KernelSVM(),
    cotas.AdaBoost(),
]
REGRESSORS = [cotas.LeastSquares(), cotas.Lasso(), cotas.ForwardStagewise()]
by_form = pytest.mark.parametrize("form", HOLDING_ONE)


@by_form
@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=lambda m: type(m).__name__)
def test_a_fit_refuses_whole_numbers_that_would_be_rounded(model, form):
    with refuses("X"):
        model.fit(HOLDING_ONE[form], target if model in REGRESSORS else y)


@by_form
def test_so_do_verification_and_certify(form):
    for model in (cotas.LeastSquares().fit(Z, target), TheirRidge().fit(Z, target)):
        with refuses("X"):
            cotas.certify(model, HOLDING_ONE[form], target)
    with refuses("X"):
        cotas.LeastSquares().fit(Z, target).certificate_.verify(HOLDING_ONE[form], target)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_targets_that_would_be_rounded_are_refused(model):
    large = with_entry(LARGE)[:, 1]
    for form in (large, large.tolist(), pd.Series(large)):
        with refuses("y"):
            model.fit(Z, form)
        with refuses("y"):
            model.fit(sparse.csr_matrix(Z), form)
    certificate = model.fit(Z, target).certificate_
    assert any("y holds" in words for words in certificate.discrepancies(Z, large))
    with refuses("y"):
        cotas.certify(TheirRidge().fit(Z, target), Z, large)


def test_labels_may_be_any_whole_numbers():
    labels = np.where(y > 0, LARGE, LARGE - 1)
    for model in CLASSIFIERS:
        model.fit(X, labels)
        assert model.certificate_.verify(X, labels)
        assert model.classes_.tolist() == [LARGE - 1, LARGE]
    assert cotas.certify(SGDClassifier().fit(X, labels), X, labels).holds


def test_whole_numbers_that_are_doubles_are_as_good_as_any():
    for value in (2**53, -(2**53), 2**60):
        data = with_entry(value)
        assert cotas.Perceptron(max_iter=2).fit(data, y).certificate_.verify(data, y)


def test_masked_entries_and_complex_numbers_are_refused():
    masked = np.ma.masked_array(Z, mask=np.zeros(Z.shape, dtype=bool))
    assert cotas.LeastSquares().fit(masked, target).certificate_.holds  # nothing is masked
    masked[2, 0] = np.ma.masked
    some = np.ma.masked_array(target, mask=np.arange(30) == 4)
    model = cotas.LeastSquares().fit(Z, target)
    for call in (
        lambda: cotas.LeastSquares().fit(masked, target),
        lambda: cotas.LeastSquares().fit(Z, some),
        lambda: cotas.LinearSVM().fit(masked, y),
        lambda: cotas.LinearSVM().fit(X, np.ma.masked_array(y, mask=np.arange(30) == 4)),
        lambda: cotas.certify(TheirRidge().fit(Z, target), masked, target),
        lambda: model.certificate_.verify(masked, target),
        lambda: model.certificate_.verify(Z, some),
    ):
        with refuses(["X", "y"]):
            call()
    with refuses("X"):
        model.certificate_.verify(Z + 0j, target)
    with refuses("y"):
        cotas.LeastSquares().fit(Z, target + 0j)
