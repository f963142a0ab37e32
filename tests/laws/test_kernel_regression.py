"""Regression in feature space: what is minimized, what is proved, and how it is solved."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.linear_model import Ridge as PeerLinear
from sklearn.svm import SVR as PeerSVR

import cotas
from cotas.certificates.kernel_regression import KernelRegression, KernelRegressionPoint
from cotas.kernel.blocks import KernelBlocks
from cotas.kernels import RBF, Custom, Linear, Polynomial, Precomputed, gram
from cotas.solvers import kernel_ridge
from cotas.solvers.kernel_ridge import RidgeSystem, by_conjugate_gradients, by_factor, factorize
from cotas.stops import Stop
from errors import refuses
from problems import LAYOUTS, regression

X, Y = regression(90, 4, seed=4)
WEIGHTS = np.random.default_rng(1).integers(0, 4, 90).astype(float)
MODELS = [
    cotas.KernelRidge(RBF(2.0), lam=1e-2),
    cotas.KernelRidge(RBF(2.0), lam=1e-2, fit_intercept=False),
    cotas.KernelRidge(RBF(2.0), lam=1e-2, cache_mb=1e-3),
    cotas.KernelRidge(Polynomial(2, gamma=0.1), lam=1e-2),
    cotas.KernelSVR(RBF(2.0), C=3.0, epsilon=0.2, tol=1e-7),
    cotas.KernelSVR(RBF(2.0), C=3.0, epsilon=0.2, tol=1e-7, fit_intercept=False),
    cotas.KernelSVR("linear", lam=1e-2, epsilon=0.0, tol=1e-7),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def objective(model, X, y, weights=None):
    """P of a fitted model, by its definition."""
    s = np.ones(len(y)) if weights is None else weights
    r, K = y - model.predict(X), model.kernel_(model.support_vectors_)
    epsilon = getattr(model, "epsilon", None)
    losses = 0.5 * r**2 if epsilon is None else np.maximum(0.0, np.abs(r) - epsilon)
    lam = model.certificate_.witness.problem.lam
    beta = model.dual_coef_[0]
    return s @ losses / s.sum() + 0.5 * lam * beta @ K @ beta


# ---- what is proved ----------------------------------------------------------------------------


@by_model
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_bounds_enclose_the_objective(model, layout):
    rows = LAYOUTS[layout](X)
    fitted = clone(model).fit(rows, Y)
    certificate = fitted.certificate_
    assert certificate.relative_gap <= model.tol
    assert fitted.stop_ is Stop.PROVED
    assert certificate.upper == pytest.approx(objective(fitted, rows, Y), rel=1e-9)
    assert certificate.verify(rows, Y)
    np.testing.assert_allclose(fitted.predict(rows), fitted.predict(rows[:]), rtol=0)


@by_model
def test_no_other_model_is_below_the_lower_bound(model):
    fitted = clone(model).fit(X, Y, sample_weight=WEIGHTS)
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 1.0):
        other = clone(model).fit(X, Y, sample_weight=WEIGHTS)
        other.dual_coef_ = other.dual_coef_ + size * rng.normal(size=other.dual_coef_.shape)
        assert objective(other, X, Y, WEIGHTS) >= fitted.certificate_.lower
        assert not other.certificate_.holds


@by_model
def test_any_coefficients_give_valid_bounds(model):
    """The dual point comes from the model, whatever that is."""
    best = clone(model).fit(X, Y)
    problem, rng = best.certificate_.witness.problem, np.random.default_rng(0)
    for size in (0.0, 1e-3, 1.0, 1e3):
        beta = size * rng.normal(size=90)
        bias = float(rng.normal()) if problem.free_bias else 0.0
        found = KernelRegressionPoint(problem, best.kernel_, beta, bias).check(X, Y)
        assert found.holds
        assert found.lower <= best.certificate_.upper
        assert found.upper >= best.certificate_.lower


def test_moved_targets_move_the_bias_and_nothing_else():
    for model in (MODELS[0], MODELS[4]):
        far, near = clone(model).fit(X, Y + 1e6), clone(model).fit(X, Y)
        assert far.certificate_.relative_gap <= model.tol
        np.testing.assert_allclose(far.predict(X) - 1e6, near.predict(X), atol=1e-3)


def test_an_indefinite_kernel_is_refused_by_the_fit_and_by_the_checker():
    distance = Custom(lambda x, z: abs(x - z).sum())
    for model in (cotas.KernelRidge(distance), cotas.KernelSVR(distance)):
        with refuses("kernel"):
            model.fit(X, Y)
    point = KernelRegressionPoint(KernelRegression(0.1, True), distance, np.zeros(90), 0.0)
    found = point.check(X, Y)
    assert not found.holds
    assert "semi-definite" in found.objection


@pytest.mark.parametrize("kernel", [Custom(lambda x, z: float(x @ z)), Precomputed()], ids=str)
def test_a_kernel_of_the_user_is_examined(kernel):
    rows = gram(Linear(), X) if isinstance(kernel, Precomputed) else X
    for kind in (cotas.KernelRidge, cotas.KernelSVR):
        fitted = kind(kernel, lam=0.1).fit(rows, Y)
        known = kind(Linear(), lam=0.1).fit(X, Y)
        assert fitted.certificate_.upper == pytest.approx(known.certificate_.upper, rel=1e-4)
        assert fitted.certificate_.verify(rows, Y)
        assert any("Cholesky" in remark for remark in fitted.certificate_.remarks)


# ---- laws of the problem -----------------------------------------------------------------------


@by_model
def test_whole_weights_are_repeated_rows(model):
    repeats = WEIGHTS.astype(int)
    for tested in (model, clone(model).set_params(kernel=None)):
        weighted = clone(tested).fit(X, Y, sample_weight=WEIGHTS)
        repeated = clone(tested).fit(np.repeat(X, repeats, axis=0), np.repeat(Y, repeats))
        assert weighted.kernel_ == repeated.kernel_ or tested.kernel is None
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=2e-2)
        upper = repeated.certificate_.upper
        assert weighted.certificate_.upper == pytest.approx(upper, rel=2 * model.tol)
        assert not set(weighted.support_) & set(np.flatnonzero(WEIGHTS == 0))
        assert weighted.certificate_.verify(X, Y)


def test_ridge_is_that_of_its_peers():
    plain = cotas.KernelRidge(RBF(gamma=0.3), lam=0.01, fit_intercept=False).fit(X, Y)
    peer = PeerRidge(alpha=0.01 * len(Y), kernel="rbf", gamma=0.3).fit(X, Y)
    np.testing.assert_allclose(plain.predict(X), peer.predict(X), atol=1e-8)
    linear = cotas.KernelRidge("linear", lam=0.01).fit(X, Y)
    peer = PeerLinear(alpha=0.01 * len(Y)).fit(X, Y)
    np.testing.assert_allclose(linear.coef_[0], peer.coef_, atol=1e-8)
    np.testing.assert_allclose(linear.predict(X), X @ linear.coef_[0] + linear.intercept_)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 100.0])
def test_regression_by_support_vectors_is_that_of_its_peer(epsilon):
    model = cotas.KernelSVR(RBF(gamma=0.3), C=2.0, epsilon=epsilon, tol=1e-9).fit(X, Y)
    peer = PeerSVR(gamma=0.3, C=2.0, epsilon=epsilon, tol=1e-10).fit(X, Y)
    assert model.certificate_.upper <= objective_of_peer(peer, epsilon) + 1e-9
    if epsilon < 100:
        np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-3)
    else:
        assert not len(model.support_)


def objective_of_peer(peer, epsilon):
    losses = np.maximum(0.0, np.abs(Y - peer.predict(X)) - epsilon)
    beta = np.zeros(len(Y))
    beta[peer.support_] = peer.dual_coef_[0]
    return losses.mean() + 0.5 / (2.0 * len(Y)) * beta @ gram(RBF(gamma=0.3), X) @ beta


def test_errors_below_epsilon_have_no_coefficient():
    model = cotas.KernelSVR(RBF(2.0), C=3.0, epsilon=0.3, tol=1e-9).fit(X, Y)
    inside = np.abs(Y - model.predict(X)) < 0.3 - 1e-3
    assert inside.any()
    assert not set(model.support_) & set(np.flatnonzero(inside))


@pytest.mark.parametrize("kind", [cotas.KernelSVM, cotas.KernelRidge, cotas.KernelSVR])
def test_a_linear_machine_has_a_theta(kind):
    y = np.sign(Y - Y.mean()) if kind is cotas.KernelSVM else Y
    for rows in (X, sparse.csr_matrix(X)):
        model = kind("linear", lam=0.1).fit(rows, y)
        scores = X @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(model._binary_scores(rows)[:, 0], scores, atol=1e-9)
    model.set_params(kernel=RBF(1.0)).fit(rows, y)
    assert not hasattr(model, "coef_")


# ---- the solvers -------------------------------------------------------------------------------


def test_a_tiled_factor_is_the_factor_and_no_thread_changes_it(monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr(kernel_ridge, "TILE", 7)
    B = np.random.default_rng(0).normal(size=(40, 60))
    alone, threaded = B @ B.T, B @ B.T
    factorize(alone)
    np.testing.assert_allclose(np.tril(alone), np.linalg.cholesky(B @ B.T), atol=1e-9)
    with ThreadPoolExecutor(4) as pool:
        factorize(threaded, pool.map)
    np.testing.assert_array_equal(np.tril(alone), np.tril(threaded))


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("cache", [0, 1 << 12, 1 << 30])
def test_both_ways_solve_the_same_system(monkeypatch, free_bias, cache):
    monkeypatch.setattr(kernel_ridge, "TILE", 16)
    monkeypatch.setattr(kernel_ridge, "ROWS", 16)
    monkeypatch.setattr(kernel_ridge, "COLUMNS", 24)
    weights = np.random.default_rng(0).dirichlet(np.ones(90))
    system = RidgeSystem(Y, weights, 1e-2, free_bias)
    blocks = KernelBlocks(RBF(2.0), X, 1 << 20)
    expected = next(by_factor(blocks, system))
    assert expected.believed_gap <= 1e-20
    gaps = []
    for found in by_conjugate_gradients(blocks, system, cache):
        gaps.append(found.believed_gap)
        if gaps[-1] <= 1e-16:
            break
    np.testing.assert_allclose(
        found.model, expected.model, atol=1e-6 * np.abs(expected.model).max()
    )
    K = gram(RBF(2.0), X)
    np.testing.assert_allclose(expected.dual, K @ expected.model - Y, atol=1e-9)
    if free_bias:
        assert abs(expected.model.sum()) <= 1e-9 * np.abs(expected.model).sum()


def test_a_matrix_that_does_not_fit_is_not_kept():
    """What is kept of K, in both ways, has no more bytes than the cache."""
    import tracemalloc

    rows, y = regression(700, 3, seed=1)
    model = cotas.KernelRidge(RBF(2.0), lam=1e-1, cache_mb=1.0, n_jobs=1)
    model.fit(rows, y)
    tracemalloc.start()
    model.fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    whole = 8 * 700**2
    assert peak < (1 << 20) + 4 * 512 * 512 * 8
    assert whole > 1 << 20


def test_a_system_singular_in_double_precision_is_solved_nevertheless():
    twice = np.vstack([X, X])
    model = cotas.KernelRidge(RBF(2.0), lam=1e-19, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(twice, np.append(Y, Y))
    assert np.isfinite(model.dual_coef_).all()
    assert model.certificate_.holds


# ---- how a fit ends ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [cotas.KernelRidge(RBF(0.5), lam=1e-6, cache_mb=1e-3), cotas.KernelSVR(RBF(0.5), lam=1e-6)],
    ids=repr,
)
def test_a_fit_cut_short_says_so_and_is_proved(model, monkeypatch):
    import cotas.solvers.smo as smo

    monkeypatch.setattr(smo, "WORKING_SET", 8)
    reports = []
    with pytest.warns(ConvergenceWarning):
        few = clone(model).set_params(max_iter=2, tol=1e-12).fit(X, Y)
    assert few.stop_ is Stop.ITERATIONS
    assert few.certificate_.verify(X, Y)
    told = clone(model).set_params(tol=1e-12, callbacks=lambda r: reports.append(r) or True)
    with pytest.warns(ConvergenceWarning):
        told.fit(X, Y)
    assert told.stop_ is Stop.CALLBACK
    assert reports[0].certificate.upper == told.certificate_.upper


@pytest.mark.parametrize(
    ("kind", "parameters", "name"),
    [
        (cotas.KernelRidge, {"lam": 0.0}, "lam"),
        (cotas.KernelRidge, {"tol": -1.0}, "tol"),
        (cotas.KernelRidge, {"cache_mb": 0.0}, "cache_mb"),
        (cotas.KernelRidge, {"max_iter": 0}, "max_iter"),
        (cotas.KernelRidge, {"max_time": 0.0}, "max_time"),
        (cotas.KernelSVR, {"C": -1.0}, "C"),
        (cotas.KernelSVR, {"epsilon": -0.1}, "epsilon"),
        (cotas.KernelSVR, {"epsilon": np.inf}, "epsilon"),
        (cotas.KernelSVR, {"epsilon": np.nan}, "epsilon"),
        (cotas.KernelSVR, {"kernel": "sigmoid"}, "kernel"),
    ],
)
def test_bad_parameters_are_named(kind, parameters, name):
    with refuses(name):
        kind(**parameters).fit(X, Y)
