"""Laws of the support vector machine with the squared hinge loss, and of C in the place of λ."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import cotas
from cotas.stops import Stop
from errors import refuses
from problems import LAYOUTS, clouds, three_clouds

TWO, THREE = clouds(120, 4), three_clouds(120, 4)


def squared(**others):
    return cotas.LinearSVM(loss="squared_hinge", **{"lam": 0.01, **others})


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
@pytest.mark.parametrize("bias", [True, False])
def test_the_gap_asked_for_is_proved_on_real_tables(load, bias):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = squared(fit_intercept=bias, tol=1e-6).fit(X, y)
    assert model.stop_ is Stop.PROVED
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.verify(X, y)


@pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])
def test_without_a_bias_it_is_what_liblinear_solves(data):
    X, y = data
    weights = np.linspace(0.2, 2.0, len(y))
    model = squared(fit_intercept=False, tol=1e-12, C=0.5, lam=1e-3).fit(X, y, weights)
    peer = LinearSVC(C=0.5, fit_intercept=False, tol=1e-10, max_iter=100_000)
    np.testing.assert_allclose(model.coef_, peer.fit(X, y, weights).coef_, atol=1e-4)


def test_a_weight_is_a_number_of_copies_and_layouts_do_not_matter():
    X, y = THREE
    times = np.arange(len(y)) % 4
    model = squared(tol=1e-11)
    weighted = model.fit(X, y, times).coef_.copy()
    copied = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).coef_
    np.testing.assert_allclose(weighted, copied, atol=1e-5)
    expected = model.fit(X, y).coef_.copy()
    for layout in LAYOUTS.values():
        np.testing.assert_allclose(model.fit(layout(X), y).coef_, expected, atol=1e-5)


def test_rows_that_are_no_support_vectors_can_be_left_out():
    X, y = TWO
    model = squared(tol=1e-12).fit(X, y)
    n = len(y)
    rows = model.support_
    left = squared(tol=1e-12, lam=0.01 * n / len(rows)).fit(X[rows], y[rows])
    np.testing.assert_allclose(left.coef_, model.coef_, atol=1e-5)
    assert len(rows) < n


def test_a_warm_start_goes_on():
    X, y = THREE
    model = squared(warm_start=True, tol=1e-8).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0
    cold = squared(lam=0.009, tol=1e-8).fit(X, y)
    assert model.set_params(lam=0.009).fit(X, y).n_iter_ < cold.n_iter_
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-4)


@pytest.mark.parametrize("kind", [cotas.LinearSVM, cotas.Pegasos, cotas.KernelSVM])
def test_C_is_another_name_for_lam_and_only_one_may_be_given(kind):
    X, y = TWO
    weights = np.linspace(0.5, 2.0, len(y))
    how = {"random_state": 0} if kind is cotas.Pegasos else {}
    one = kind(C=0.5, **how).fit(X, y, weights)
    other = kind(lam=1 / (0.5 * weights.sum()), **how).fit(X, y, weights)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9)
    with refuses("C"):
        kind(C=1.0, lam=0.1).fit(X, y)
    with refuses("C"):
        kind(C=0.0).fit(X, y)


def test_what_does_not_go_together_is_named():
    X, y = TWO
    with refuses("solver"):
        squared(solver="interior-point").fit(X, y)
    with refuses("loss"):
        cotas.LinearSVM(loss="square").fit(X, y)
    with refuses("C", naming="partial_fit"):
        cotas.Pegasos(C=1.0).partial_fit(X, y, classes=[-1, 1])
