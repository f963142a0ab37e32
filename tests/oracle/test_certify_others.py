"""Certificates for the models of scikit-learn, each for the problem that it states itself."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from cotas import LinearSVM, Pegasos, certify
from problems import clouds, three_clouds

X, Y = clouds(150, 4)
WEIGHTS = np.linspace(0.1, 2.0, 150)
HEAVY = {-1: 2.0, 1: 0.5}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_accurate_fits_are_proved_accurate(weighted, convert):
    """A fit to high accuracy has a tiny gap only if the problem was read off rightly."""
    data = convert(X)
    more = {"class_weight": HEAVY} if weighted else {}
    weights = WEIGHTS if weighted else None
    for model in (
        SVC(kernel="linear", C=0.3, tol=1e-9, **more),
        LinearSVC(loss="hinge", C=0.3, tol=1e-9, max_iter=10**6, random_state=0, **more),
        LinearSVC(
            loss="hinge", C=0.3, tol=1e-9, max_iter=10**6, fit_intercept=False, random_state=0
        ),
        LinearSVC(
            loss="hinge", C=0.3, tol=1e-9, max_iter=10**6, intercept_scaling=7.0, random_state=0
        ),
    ):
        model.fit(data, Y, sample_weight=weights)
        certificate = certify(model, data, Y, sample_weight=weights)
        assert certificate.holds
        assert certificate.verify(X, Y)
        assert certificate.gap <= 1e-5 * certificate.upper, model


@pytest.mark.parametrize("weighted", [False, True])
def test_sgd_approaches_the_optimum_of_the_problem_read_off(weighted):
    weights = WEIGHTS if weighted else None
    model = SGDClassifier(alpha=0.05, max_iter=4000, tol=None, random_state=0)
    model.fit(X, Y, sample_weight=weights)
    certificate = certify(model, X, Y, sample_weight=weights)
    assert certificate.gap <= 2e-3 * certificate.upper


def test_silent_failures_are_found():
    raw, y = load_breast_cancer(return_X_y=True)
    certificate = certify(SVC(kernel="linear", C=1.0).fit(raw, y), raw, y)
    assert 0.01 < certificate.gap / certificate.lower < 0.04
    scaled = StandardScaler().fit_transform(raw)
    rough = SGDClassifier(alpha=1 / len(y), random_state=0).fit(scaled, y)
    certificate = certify(rough, scaled, y)
    assert certificate.gap / certificate.lower > 0.05


def test_pipelines_are_unwrapped():
    model = make_pipeline(StandardScaler(), LinearSVC(loss="hinge", random_state=0)).fit(X, Y)
    certificate = certify(model, X, Y)
    assert certificate.kind == "duality"
    assert certificate.verify(StandardScaler().fit_transform(X), Y)
    assert "earlier steps" in str(certificate)


def test_several_classes():
    data, y = three_clouds()
    certificates = certify(SGDClassifier(alpha=0.01, random_state=0).fit(data, y), data, y)
    assert len(certificates) == 3
    assert all(certificate.verify(data, y) for certificate in certificates)


def test_a_perceptron_is_judged_by_whether_it_separates():
    easy, y = clouds(100, 4, noise=0.2)
    certificate = certify(Perceptron().fit(easy, y), easy, y)
    assert certificate.kind == "separation"
    assert certificate.holds
    assert certify(Perceptron().fit(X, Y), X, Y).kind == "none"


def test_our_own_models_are_proved_again_as_they_are_now():
    for model in (LinearSVM(lam=0.1), Pegasos(lam=0.1, random_state=0)):
        before = certify(model.fit(X, Y), X, Y)
        assert before.upper == pytest.approx(model.certificate_.upper)
        model.coef_ = model.coef_ * 1.5
        after = certify(model, X, Y)
        assert after.upper > before.upper


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        SGDClassifier(loss="log_loss"),
        SGDClassifier(penalty="l1"),
        LinearSVC(),
    ],
    ids=str,
)
def test_what_cannot_be_certified_says_so(model):
    certificate = certify(model.fit(X, Y), X, Y)
    assert certificate.kind == "none"
    assert not certificate.holds
    assert len(certificate.statement) > 20


def test_bad_calls():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        certify(SVC(kernel="linear"), X, Y)
    model = SVC(kernel="linear").fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        certify(model, np.where(X > 1, np.nan, X), Y)
    with pytest.raises(ValueError, match="inconsistent"):
        certify(model, X, Y[:-1])
