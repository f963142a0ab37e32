"""Laws of paths over λ: one answer for all of them, and what holds along it."""

import time

import numpy as np
import pytest

import cotas
from cotas.fitting.path import Path
from cotas.regression import lasso_data
from cotas.regression.lasso_path import TOGETHER
from errors import refuses
from problems import clouds, regression, three_clouds

TWO, THREE, REAL = clouds(120, 4), three_clouds(120, 4), regression(60, 6)
LAMS = [0.3, 0.01, 0.1]
PATHS = {
    "svm": lambda lams, **how: cotas.svm_path(*TWO, lams, **how),
    "logistic": lambda lams, **how: cotas.logistic_path(*TWO, lams, **how),
    "softmax": lambda lams, **how: cotas.logistic_path(*THREE, lams, penalty="l1", **how),
    "lasso": lambda lams, **how: cotas.lasso_path(*REAL, lams, **how),
}
DATA = {"svm": TWO, "logistic": TWO, "softmax": THREE, "lasso": REAL}
by_path = pytest.mark.parametrize("name", PATHS)


@by_path
def test_all_paths_answer_alike(name):
    path, (X, y) = PATHS[name](LAMS), DATA[name]
    assert isinstance(path, Path)
    np.testing.assert_array_equal(path.lams, sorted(LAMS, reverse=True))
    assert len(path.coefs) == len(path.intercepts) == len(path.certificates) == 3
    assert path.coefs.shape[-1] == X.shape[1]
    assert path.verify(X, y)
    assert (path.gaps >= 0).all()
    assert "at 3 values of λ" in repr(path)
    assert len(PATHS[name](None, n_lams=4).lams) == 4


@by_path
def test_what_is_penalized_grows_as_lam_falls(name):
    """And the objective falls: both follow from optimality, up to the gaps."""
    path = PATHS[name](None, n_lams=8, tol=1e-8)
    objectives = [certificate.upper for certificate in path.certificates]
    assert (np.diff(objectives) <= 1e-9).all()
    order = 1 if name in ("softmax", "lasso") else 2
    sizes = [np.linalg.norm(coefs.ravel(), order) for coefs in path.coefs]
    assert (np.diff(sizes) >= -1e-3 * max(sizes)).all()


@by_path
@pytest.mark.parametrize("lams", [[], [0.0], [-1.0], [np.nan], [np.inf]])
def test_wrong_lams_are_named(name, lams):
    with refuses("lams"):
        PATHS[name](lams)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("multiclass", ["softmax", "ovr"])
def test_each_model_of_a_path_is_that_of_a_fit(penalty, multiclass):
    X, y = THREE
    how = {"penalty": penalty, "multiclass": multiclass, "tol": 1e-8}
    path = cotas.logistic_path(X, y, LAMS, **how)
    for lam, coef, certificate in zip(path.lams, path.coefs, path.certificates, strict=True):
        model = cotas.LogisticRegression(lam=lam, **how).fit(X, y)
        np.testing.assert_allclose(coef, model.coef_, atol=1e-3)
        for one, other in zip(certificate.singles, model.certificate_.singles, strict=True):
            assert one.upper == pytest.approx(other.upper, rel=1e-6)


@pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("multiclass", ["softmax", "ovr"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_grid_with_l1_begins_where_the_first_coefficient_does(data, multiclass, bias):
    X, y = data
    weights = np.linspace(0.1, 1.0, len(y))
    how = {"multiclass": multiclass, "fit_intercept": bias, "tol": 1e-9}
    for penalty in ("l1", "elasticnet"):
        path = cotas.logistic_path(
            X, y, n_lams=3, ratio=0.9, penalty=penalty, sample_weight=weights, **how
        )
        assert np.abs(path.coefs[0]).max() < 1e-3
        assert path.coefs[-1].any()


def test_validation_chooses_a_lam():
    X, y = TWO
    path = cotas.logistic_path(X[:80], y[:80], LAMS, validation=(X[80:], y[80:]))
    assert path.validation_errors.shape == (3,)
    assert path.best_lam in LAMS
    assert path.validation_bound is None
    assert "Best validation error" in repr(path)
    with refuses("validation"):
        _ = cotas.logistic_path(X, y, LAMS).best_lam


def with_clock(monkeypatch, run):
    """What comes of it by a clock that moves on with each λ only, by a second for its proof."""
    now = [0.0]

    def proved(prove):
        def after(data, points):
            now[0] += len(points)
            return prove(data, points)

        return after

    def fitted(fit):
        def after(*data):
            now[0] += 1.0
            return fit(*data)

        return after

    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: now[0])
        for data in (lasso_data.InMemory, lasso_data.OfAllRows):
            patched.setattr(data, "prove", proved(data.prove))
        for kind in (cotas.LinearSVM, cotas.LogisticRegression):
            patched.setattr(kind, "fit", fitted(kind.fit))
        return run()


@by_path
@pytest.mark.parametrize("max_time", [1e-9, 20.0, 1e9])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_time_is_for_the_whole_path_and_its_proofs(name, max_time, monkeypatch):
    lams = np.geomspace(0.3, 0.1, 100)
    path = with_clock(monkeypatch, lambda: PATHS[name](lams, max_time=max_time))
    # Proofs of the Lasso come some at a time; the clock has to be past the limit to end anything.
    most = min(len(lams), max_time + 1 + (TOGETHER if name == "lasso" else 1))
    assert min(len(lams), max_time) <= len(path.lams) <= most
    np.testing.assert_array_equal(path.lams, np.sort(lams)[::-1][: len(path.lams)])
    assert len(path.coefs) == len(path.intercepts) == len(path.certificates) == len(path.lams)
    assert path.verify(*DATA[name])


def test_a_path_without_time_has_no_bound_between_its_values():
    path = cotas.svm_path(*TWO, LAMS, validation=TWO, max_time=1e-9)
    assert len(path.lams) == 1
    assert path.validation_bound is None


@by_path
def test_a_path_refuses_a_time_that_is_none(name):
    with refuses("max_time"):
        PATHS[name](LAMS, max_time=-1.0)
