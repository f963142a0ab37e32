"""Certificates for scikit-learn's SVC with every kernel, two classes and more."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cotas import certify
from errors import refuses
from problems import clouds, three_clouds

X, Y = clouds(120, 4)
WEIGHTS = np.linspace(0.0, 2.0, 120)
MODELS = [
    SVC(),
    SVC(gamma="auto", C=3.0),
    SVC(gamma=0.3, C=100.0),
    SVC(kernel="poly", degree=2, coef0=1.0),
    SVC(kernel="poly", degree=3, gamma=0.1),
    SVC(kernel=laplacian_kernel),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_accurate_fits_are_proved_accurate(model, weighted):
    """A fit to high accuracy has a tiny gap only if the problem was read off rightly."""
    more = {"class_weight": {-1: 2.0, 1: 0.5}} if weighted else {"class_weight": None}
    weights = WEIGHTS if weighted else None
    if weighted and callable(model.kernel):
        weights = WEIGHTS + 0.1
    model.set_params(tol=1e-9, **more).fit(X, Y, sample_weight=weights)
    certificate = certify(model, X, Y, sample_weight=weights)
    assert certificate.kind == "duality"
    assert certificate.holds
    assert certificate.verify(X, Y)
    assert certificate.gap <= 1e-4 * certificate.upper


def test_sparse_rows_and_precomputed_matrices():
    model = SVC(gamma=0.3, tol=1e-9).fit(X, Y)
    expected = certify(model, X, Y)
    rows = sparse.csr_matrix(X)
    found = certify(SVC(gamma=0.3, tol=1e-9).fit(rows, Y), rows, Y)
    assert found.upper == pytest.approx(expected.upper, rel=1e-6)
    K = rbf_kernel(X, gamma=0.3)
    given = certify(SVC(kernel="precomputed", tol=1e-9).fit(K, Y), K, Y)
    assert given.upper == pytest.approx(expected.upper, rel=1e-6)
    assert given.lower == pytest.approx(expected.lower, rel=1e-6)
    assert given.verify(K, Y)


def test_the_model_is_the_one_that_was_read():
    model = SVC(gamma=0.3).fit(X, Y)
    certificate = certify(model, X, Y)
    beta = certificate.witness.coef
    scores = certificate.witness.kernel(X) @ beta + certificate.witness.intercept
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-8, atol=1e-8)
    rough = SVC(gamma=0.3, max_iter=20).fit(X, Y)
    assert certify(rough, X, Y).gap > 10 * certificate.gap


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_several_classes_are_certified_in_pairs(kernel):
    for data, y in (three_clouds(120), load_iris(return_X_y=True)):
        model = SVC(kernel=kernel, tol=1e-9, decision_function_shape="ovo").fit(data, y)
        certificates = certify(model, data, y).parts
        assert len(certificates) == 3
        ovo = model.decision_function(data)
        for number, (certificate, pair) in enumerate(
            zip(certificates, [(0, 1), (0, 2), (1, 2)], strict=True)
        ):
            assert certificate.statement.startswith(f"{pair[0]} against {pair[1]}: ")
            assert certificate.verify(data, y)
            assert certificate.gap <= 1e-4 * max(certificate.upper, 1e-3)
            witness = certificate.witness
            scores = witness.kernel(data) @ witness.coef + witness.intercept
            np.testing.assert_allclose(scores, ovo[:, number], rtol=1e-6, atol=1e-6)


def test_four_classes_and_labels_of_any_kind():
    data = clouds(160, 3).X
    labels = np.array(["a", "b", "c", "d"])[(np.arange(160) % 4)]
    data = data + 3 * np.eye(4, 3)[np.arange(160) % 4]
    certificates = certify(SVC(tol=1e-9).fit(data, labels), data, labels)
    assert len(certificates.parts) == 6
    assert certificates.parts[3].label == "b against c"
    for certificate in certificates.parts:
        assert certificate.gap <= 1e-4 * certificate.upper


def test_an_indefinite_kernel_is_named():
    model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, tol=1e-9).fit(X, Y)
    certificate = certify(model, X, Y)
    assert certificate.kind == "stationary"
    assert certificate.holds
    assert certificate.upper < 1e-3
    assert "not positive semi-definite" in certificate.statement
    assert certificate.verify(X, Y)


def test_silent_failures_are_found():
    """Unscaled data and a polynomial kernel: LIBSVM ends without a warning, far from the best."""
    raw, y = load_breast_cancer(return_X_y=True)
    model = SVC(kernel="poly", degree=2, coef0=1.0, gamma=1e-4, C=100.0).fit(raw, y)
    certificate = certify(model, raw, y)
    assert certificate.gap / certificate.upper > 0.02
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(raw, y)
    certificate = certify(pipeline, raw, y)
    assert certificate.kind == "duality"
    assert certificate.gap < 1e-3


def test_other_rows_are_refused():
    model = SVC().fit(X, Y)
    with refuses("X", naming="120"):
        certify(model, X[:-1], Y[:-1])
    assert certify(model, X[::-1], Y[::-1]).kind == "none"
    certificate = certify(model, X, Y)
    assert not certificate.verify(X[::-1], Y[::-1])
    K = rbf_kernel(X)
    left_out = SVC(kernel="precomputed").fit(K, Y, sample_weight=WEIGHTS)
    assert certify(left_out, K, Y, sample_weight=WEIGHTS).kind == "none"
