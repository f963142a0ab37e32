"""Wrong calls of certify get an error that names the argument; extreme data, an honest answer."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from cotas import certify
from errors import refuses
from problems import clouds, three_clouds

X, Y = clouds(60, 3)
MODELS = [
    SVC(kernel="linear"),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LogisticRegression(),
    SGDClassifier(loss="log_loss", random_state=0),
    Perceptron(),
    make_pipeline(StandardScaler(), LogisticRegression()),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=str)


def with_entry(value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


BAD = {
    "NaN": (with_entry(np.nan), Y, None, "NaN"),
    "infinity": (with_entry(np.inf), Y, None, "infinity"),
    "sparse NaN": (sparse.csr_matrix(with_entry(np.nan)), Y, None, "NaN"),
    "NaN labels": (X, np.where(Y > 0, np.nan, 1.0), None, "NaN"),
    "too few labels": (X, Y[:-1], None, "inconsistent"),
    "labels in two columns": (X, np.column_stack([Y, Y]), None, "1d"),
    "unknown labels": (X, np.where(Y > 0, 17, -1), None, "17"),
    "words for numbers": (X, np.where(Y > 0, "yes", "no"), None, "fitted"),
    "too few weights": (X, Y, np.ones(59), "sample_weight"),
    "negative weights": (X, Y, -np.ones(60), r"[Nn]egative"),
    "no weights": (X, Y, np.zeros(60), "non-zero"),
}


@by_model
@pytest.mark.parametrize("case", BAD)
def test_bad_data(model, case):
    if "sparse" in case and hasattr(model, "steps"):
        pytest.skip("StandardScaler has its own words for sparse data")
    data, y, weights, word = BAD[case]
    model.fit(X, Y)
    with pytest.raises(ValueError, match=word):
        certify(model, data, y, weights)


@by_model
def test_another_number_of_features(model):
    model.fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        certify(model, X[:, :2], Y)
    with pytest.raises(ValueError, match="2D"):
        certify(model, X[:, 0], Y)


@pytest.mark.parametrize(
    "model",
    [
        *(type(m)() for m in MODELS[:-1]),
        make_pipeline(LinearSVC()),
        GridSearchCV(LinearSVC(), {}),
    ],
    ids=str,
)
def test_models_that_were_not_fitted(model):
    with pytest.raises(NotFittedError):
        certify(model, X, Y)


@pytest.mark.parametrize("model", MODELS[1:-1], ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_model_whose_fit_failed(model, value):
    for data, y in ((X, Y), three_clouds(60)):
        model.fit(data, y)
        model.coef_[0, 0] = value
        with refuses("model"):
            certify(model, data, y)


@pytest.mark.parametrize("model", ["LinearSVC", LinearSVC, None, 3])
def test_what_is_not_an_estimator(model):
    with refuses("model", TypeError):
        certify(model, X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")
@pytest.mark.filterwarnings("ignore::RuntimeWarning:scipy")
@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e6, 1e20])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(max_iter=50)], ids=str)
def test_huge_and_tiny_features_never_give_a_false_bound(model, scale):
    for data, y in (clouds(60, 3), three_clouds(60)):
        model.fit(data * scale, y)
        for certificate in certify(model, data * scale, y, max_time=2.0).singles:
            assert certificate.lower <= certificate.upper
            assert certificate.verify(data * scale, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_absurd_parameters_still_get_a_tight_lower_bound():
    """The distance of a wild model is measured from the optimum, not from the wild model."""
    for data, y in (clouds(60, 3), three_clouds(60)):
        model = LogisticRegression(tol=1e-10, max_iter=1000).fit(data, y)
        best = certify(model, data, y)
        for size in (0.0, 1e3, 1e12):
            model.coef_ = (
                np.full_like(model.coef_, size) * np.arange(1, 1 + len(model.coef_))[:, None]
            )
            wild = certify(model, data, y)
            assert wild.lower == pytest.approx(best.upper, rel=1e-7)
            assert wild.upper > best.upper
            assert wild.verify(data, y)


def test_no_time_at_all_gives_a_valid_bound():
    model = LogisticRegression().fit(X, Y)
    poor, good = certify(model, X, Y, max_time=0.0), certify(model, X, Y)
    assert poor.lower <= good.lower * (1 + 1e-9)
    assert poor.verify(X, Y)


def test_degenerate_but_legitimate_data():
    constant = np.column_stack([X, np.full(60, 7.0), np.zeros(60)])
    for data, y in (
        (constant, Y),
        (np.vstack([X, X]), np.concatenate([Y, -Y])),
        (np.zeros((6, 2)), np.array([1, -1, 1, -1, 1, 1])),
        (np.array([[1.0], [2.0]]), np.array([0, 1])),
        (sparse.csr_matrix((6, 3)), np.array([0, 1, 2, 1, 0, 2])),
    ):
        for model in (LogisticRegression(), LinearSVC(), SGDClassifier(loss="modified_huber")):
            for certificate in certify(model.fit(data, y), data, y).singles:
                assert certificate.verify(data, y)
                assert certificate.lower > 0


def test_a_search_for_a_class_that_is_never_seen():
    """partial_fit may announce a class that the data do not hold."""
    model = SGDClassifier(loss="log_loss", random_state=0)
    model.partial_fit(X, Y, classes=[-1, 1, 2])
    found = certify(model, X, Y)
    assert len(found.parts) == 3
    assert found.verify(X, Y)


def test_frames_strings_and_sparse_coefficients():
    frame = pd.DataFrame(X, columns=list("abc"))
    words = np.where(Y > 0, "yes", "no")
    model = LogisticRegression().fit(frame, words)
    plain = certify(model, frame, pd.Series(words))
    assert plain.upper == pytest.approx(certify(LogisticRegression().fit(X, Y), X, Y).upper)
    assert certify(model.sparsify(), X, words).upper == pytest.approx(plain.upper, rel=1e-12)
    data, codes = three_clouds(60)
    names = np.array(["a", "b", "c"])[codes]
    certificate = certify(LogisticRegression().fit(data, names), data, names)
    assert certificate.verify(data, names)
    assert certificate.to_dict(witness=True)["witness"]["classes"] == ["a", "b", "c"]


def test_the_users_arrays_are_left_alone():
    weights = np.linspace(0.5, 1.0, 60)
    kept = (X.copy(), Y.copy(), weights.copy())
    for array in (X, Y, weights):
        array.setflags(write=False)
    for model in (LogisticRegression(), LinearSVC(), LinearSVC(loss="hinge")):
        certify(model.fit(X, Y, sample_weight=weights), X, Y, weights, problem="free-bias")
    for before, after in zip(kept, (X, Y, weights), strict=True):
        np.testing.assert_array_equal(before, after)
