"""Certificates for the models of scikit-learn, each for the problem that it states itself."""

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import (
    ElasticNetCV,
    LassoCV,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from cotas import LinearSVM, Pegasos, certify, lang
from errors import refuses
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


def test_early_stopping_is_remarked_upon():
    """The rows kept aside had no part in the fit; the certificate measures all of them."""
    stopped = SGDClassifier(alpha=0.05, early_stopping=True, random_state=0).fit(X, Y)
    certificate = certify(stopped, X, Y)
    assert certificate.holds
    assert "early_stopping" in str(certificate)


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


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [MinMaxScaler()],
        [MaxAbsScaler()],
        [StandardScaler(with_mean=False), SelectKBest(k=2)],
        [make_column_transformer((StandardScaler(), [0, 2]), (MinMaxScaler(), [1]))],
        [make_pipeline(StandardScaler(), "passthrough"), SelectKBest(k=3)],
        [],
    ],
    ids=str,
)
def test_any_earlier_steps_of_a_pipeline_will_do(steps):
    """The certificate is the one of the last step on the features that reach it."""
    model = make_pipeline(*steps, LogisticRegression(tol=1e-8)).fit(X, Y)
    features = make_pipeline(*steps, "passthrough").fit(X, Y).transform(X)
    certificate = certify(model, X, Y)
    alone = certify(model[-1], features, Y)
    assert certificate.upper == pytest.approx(alone.upper, rel=1e-12)
    assert certificate.gap <= 1e-5 * certificate.upper
    assert certificate.verify(features, Y)


def test_a_sparse_pipeline():
    data = sparse.csc_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    model = make_pipeline(MaxAbsScaler(), LinearSVC()).fit(data, Y)
    assert certify(model, data, Y).verify(MaxAbsScaler().fit_transform(data), Y)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_a_search_is_judged_by_the_model_that_it_refitted(search):
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    extra = {} if search is GridSearchCV else {"n_iter": 2, "random_state": 0}
    found = search(pipeline, {"logisticregression__C": [0.1, 1.0]}, cv=2, **extra)
    certificate = certify(found.fit(X, Y), X, Y)
    assert certificate.upper == certify(found.best_estimator_, X, Y).upper
    assert "refitted" in str(certificate)
    assert "earlier steps" in str(certificate)


def test_several_classes():
    data, y = three_clouds()
    certificate = certify(SGDClassifier(alpha=0.01, random_state=0).fit(data, y), data, y)
    assert len(certificate.parts) == 3
    assert certificate.verify(data, y)


@pytest.mark.parametrize("inner", [LogisticRegression(C=0.3, tol=1e-10), Perceptron()], ids=str)
def test_one_vs_rest_has_a_certificate_for_each_class(inner):
    data, codes = three_clouds()
    y = np.array(["red", "green", "blue"])[codes]
    model = OneVsRestClassifier(inner).fit(data, y)
    found = certify(model, data, y).parts
    for label, estimator, certificate in zip(model.classes_, model.estimators_, found, strict=True):
        assert certificate.label == f"{label} against the rest"
        alone = certify(estimator, data, (y == label).astype(int))
        assert (certificate.kind, certificate.upper) == (alone.kind, alone.upper)
        if certificate.kind == "duality":
            assert certificate.gap <= 1e-8
            assert certificate.verify(data, y)
    with refuses("y"):
        certify(model, data, codes)
    both = OneVsRestClassifier(inner).fit(X, Y)
    assert certify(both, X, Y).kind in ("duality", "none")


def test_a_perceptron_is_judged_by_whether_it_separates():
    easy, y = clouds(100, 4, noise=0.2)
    certificate = certify(Perceptron().fit(easy, y), easy, y)
    assert certificate.kind == "separation"
    assert certificate.holds
    assert certify(Perceptron().fit(X, Y), X, Y).kind == "none"


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_passive_aggressive_models_are_judged_by_whether_they_separate():
    easy, y = clouds(100, 4, noise=0.2)
    models = [SGDClassifier(penalty=None, learning_rate=rate, eta0=1.0) for rate in ("pa1", "pa2")]
    old = getattr(sklearn.linear_model, "PassiveAggressiveClassifier", None)
    for model in models + ([] if old is None else [old()]):
        certificate = certify(model.fit(easy, y), easy, y)
        assert certificate.kind == "separation"
        assert certificate.holds
        reason = certify(model.fit(X, Y), X, Y)
        assert reason.kind == "none"
        assert "cotas.PassiveAggressive" in reason.statement


def test_our_own_models_are_proved_again_as_they_are_now():
    for model in (LinearSVM(lam=0.1), Pegasos(lam=0.1, random_state=0)):
        before = certify(model.fit(X, Y), X, Y)
        assert before.upper == pytest.approx(model.certificate_.upper)
        model.coef_ = model.coef_ * 1.5
        after = certify(model, X, Y)
        assert after.upper > before.upper


@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_an_l1_penalty_has_its_gap_too(ratio):
    X, codes = three_clouds(90)
    for y in (codes, codes == 0):
        for bias in (True, False):
            model = LogisticRegression(l1_ratio=ratio, solver="saga", C=0.1, fit_intercept=bias)
            near = certify(model.set_params(max_iter=10_000, tol=1e-8).fit(X, y), X, y)
            assert near.holds
            assert near.relative_gap < 1e-5
            with pytest.warns(ConvergenceWarning):
                far = certify(model.set_params(max_iter=1).fit(X, y), X, y)
            assert far.lower == pytest.approx(near.lower, rel=1e-6)
            assert far.relative_gap > 10 * near.relative_gap


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(C=np.inf),
        LogisticRegression(l1_ratio=1.0, solver="liblinear"),
        LogisticRegressionCV(Cs=2, cv=2, use_legacy_attributes=False),
        SGDClassifier(penalty="l1"),
        SGDClassifier(penalty=None, loss="log_loss"),
        SGDClassifier(loss="squared_error"),
        SGDClassifier(loss="perceptron"),
        SGDClassifier(learning_rate="pa1", penalty=None, eta0=1.0),
        LinearSVC(penalty="l1"),
        LinearSVC(multi_class="crammer_singer"),
        LinearDiscriminantAnalysis(),
        CalibratedClassifierCV(LinearSVC(), cv=2),
        GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2, refit=False),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_cannot_be_certified_says_so(model):
    certificate = certify(model.fit(X, Y), X, Y)
    assert certificate.kind == "none"
    assert not certificate.holds
    assert not certificate.verify(X, Y)
    assert len(certificate.statement) > 30


@pytest.mark.parametrize(
    ("model", "plain", "chosen"),
    [
        (LassoCV(alphas=2, cv=2), "Lasso", "alpha_"),
        (RidgeCV(cv=2), "Ridge", "alpha_"),
        (ElasticNetCV(alphas=2, cv=2), "ElasticNet", "alpha_, l1_ratio_"),
        (LogisticRegressionCV(Cs=2, cv=2, use_legacy_attributes=False), "LogisticRegression", "C_"),
    ],
    ids=["LassoCV", "RidgeCV", "ElasticNetCV", "LogisticRegressionCV"],
)
def test_who_chooses_the_penalty_is_told_what_to_certify(model, plain, chosen):
    model.fit(X, Y)
    assert all(hasattr(model, name) for name in chosen.split(", "))
    assert f"Fit {plain} with what it chose ({chosen})" in certify(model, X, Y).statement
    with lang("es"):
        assert f"ajustar {plain} con lo elegido ({chosen})" in certify(model, X, Y).statement


def test_the_reason_names_the_class_and_what_there_is():
    reason = certify(LinearDiscriminantAnalysis().fit(X, Y), X, Y).statement
    assert "LinearDiscriminantAnalysis" in reason
    assert "LogisticRegression" in reason
