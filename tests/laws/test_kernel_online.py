"""The perceptron and PEGASOS in feature space: as printed, in each layout, with their proofs."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import cotas
from cotas import KernelPegasos, KernelPerceptron, Perceptron, certify, kernels
from cotas.kernels import RBF, Custom, Linear, Polynomial, Precomputed
from errors import refuses
from problems import LAYOUTS, clouds, labelled, separable, three_clouds

X, Y = clouds(80, 3)
MODELS = [
    KernelPerceptron(RBF(1.0), max_iter=5),
    KernelPerceptron(Polynomial(2), fit_intercept=False, max_iter=5, shuffle=True),
    KernelPegasos(RBF(1.0), lam=0.05, max_iter=5),
    KernelPegasos(Polynomial(2), lam=0.05, max_iter=5, fit_intercept=False),
    KernelPegasos(RBF(2.0), lam=0.05, max_iter=5, sampling="replacement"),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__} {m.kernel}")


def seeded(model):
    return clone(model).set_params(random_state=0)


def beta_of(model, n):
    beta = np.zeros((len(model.dual_coef_), n))
    beta[:, model.support_] = model.dual_coef_
    return beta


@given(data=labelled(), bias=st.booleans())
def test_the_linear_kernel_gives_the_perceptron(data, bias):
    # Multiples of 1/8 make all sums exact, so both see the same mistakes.
    ours = KernelPerceptron(Linear(), fit_intercept=bias, max_iter=4).fit(*data)
    plain = Perceptron(fit_intercept=bias, max_iter=4).fit(*data)
    np.testing.assert_array_equal(ours.mistakes_per_epoch_, plain.mistakes_per_epoch_)
    theta = beta_of(ours, len(data.y)) @ data.X
    np.testing.assert_allclose(theta, plain.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, plain.intercept_)
    mine, theirs = ours.certificate_, plain.certificate_
    assert mine.lower == theirs.lower
    assert mine.holds
    if theirs.reference.startswith("Theorem 3.1"):
        assert mine.upper == pytest.approx(theirs.upper, rel=1e-6)


@given(data=separable(max_rows=15, max_features=3), sigma=st.sampled_from([1.0, 4.0]))
def test_separable_data_end_without_a_mistake_and_within_the_theorem(data, sigma):
    rows, first = np.unique(data.X, axis=0, return_index=True)
    y = data.y[first]
    if len(set(y)) < 2:
        return
    model = KernelPerceptron(RBF(sigma) + Linear(), max_iter=5000).fit(rows, y)
    assert model.stop_.name == "THEORY"
    certificate = model.certificate_
    assert certificate.figures["γ (margin of u), at least"] > 0  # Theorem 3.1 applies
    assert certificate.lower <= certificate.upper
    assert (model.predict(rows) == y).all()
    assert certificate.verify(rows, y)


def test_the_bound_is_that_of_the_formula():
    easy, y = clouds(60, 3, noise=0.3)
    model = KernelPerceptron(RBF(1.0)).fit(easy, y)
    beta, K = beta_of(model, 60)[0], RBF(1.0)(easy)
    length = np.sqrt(beta @ K @ beta + model.intercept_[0] ** 2)
    margin = (y * (K @ beta + model.intercept_[0])).min() / length
    theorem = model.certificate_.figures["(R/γ)² of Theorem 3.1"]
    assert theorem == pytest.approx(2 / margin**2, rel=1e-9)
    assert model.certificate_.upper < theorem
    assert model.certificate_.lower == model.mistakes_per_epoch_.sum()


@by_model
def test_layouts_agree(model):
    expected = seeded(model).fit(X, Y)
    for name, convert in LAYOUTS.items():
        found = seeded(model).fit(convert(X), Y)
        np.testing.assert_array_equal(found.support_, expected.support_, err_msg=name)
        np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, rtol=1e-9)
        np.testing.assert_allclose(
            found.decision_function(convert(X)), expected.decision_function(X), rtol=1e-6, atol=1e-6
        )
        assert found.certificate_.verify(X, Y)


@by_model
def test_the_cache_changes_nothing_but_the_time(model):
    expected = seeded(model).fit(X, Y)
    small = seeded(model).set_params(cache_mb=1e-6).fit(X, Y)
    np.testing.assert_array_equal(small.support_, expected.support_)
    np.testing.assert_allclose(small.dual_coef_, expected.dual_coef_, rtol=1e-12)


@by_model
def test_a_precomputed_matrix_is_its_kernel(model):
    expected = seeded(model).fit(X, Y)
    K = model.kernel(X)
    given = seeded(model).set_params(kernel=Precomputed()).fit(K, Y)
    np.testing.assert_array_equal(given.support_, expected.support_)
    np.testing.assert_allclose(
        given.decision_function(K), expected.decision_function(X), rtol=1e-9, atol=1e-9
    )
    assert given.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-9)
    assert given.certificate_.verify(K, Y)


@by_model
def test_several_classes_are_each_one_against_the_rest(model):
    data, y = three_clouds(90)
    together = seeded(model).fit(data, y)
    assert together.decision_function(data).shape == (90, 3)
    assert len(together.certificate_.parts) == 3
    assert all(certificate.verify(data, y) for certificate in together.certificate_.singles)
    if model.get_params().get("shuffle") or "replacement" in model.get_params().values():
        return
    for c in range(3):
        alone = seeded(model).fit(data, y == c)
        np.testing.assert_allclose(
            beta_of(alone, 90)[0], beta_of(together, 90)[c], rtol=1e-9, atol=1e-12
        )


@by_model
def test_weights_of_zero_leave_out_and_the_weights_are_proved(model):
    weights = np.arange(80) % 3
    kept = weights > 0
    weighted = seeded(model).fit(X, Y, sample_weight=weights)
    assert not set(weighted.support_) & set(np.flatnonzero(~kept))
    without = seeded(model).fit(X[kept], Y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(weighted.dual_coef_, without.dual_coef_, rtol=1e-12)
    assert weighted.certificate_.upper == pytest.approx(without.certificate_.upper, rel=1e-9)
    assert weighted.certificate_.verify(X, Y)


@given(data=labelled(max_rows=15), seed=st.integers(0, 99), bias=st.booleans())
def test_no_model_lies_below_the_bound(data, seed, bias):
    rng = np.random.default_rng(seed)
    lam, n = 0.1, len(data.y)
    model = KernelPegasos(RBF(2.0), lam=lam, max_iter=4, fit_intercept=bias, random_state=seed).fit(
        *data
    )
    certificate, K = model.certificate_, RBF(2.0)(data.X)
    assert certificate.holds
    for scale in (0.0, 0.1, 1.0):
        beta = beta_of(model, n)[0] * rng.uniform(0, 1.5) + scale * rng.normal(size=n)
        theta0 = rng.normal() if bias else 0.0
        value = np.mean(np.maximum(0, 1 - data.y * (K @ beta + theta0)))
        value += lam / 2 * beta @ K @ beta
        assert certificate.lower <= value + certificate.charge


def test_the_gap_closes_and_tol_stops_at_the_proof():
    from sklearn.exceptions import ConvergenceWarning

    gaps = [
        KernelPegasos(RBF(1.0), lam=0.05, max_iter=epochs, random_state=0)
        .fit(X, Y)
        .certificate_.relative_gap
        for epochs in (1, 10, 100, 1000)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 2e-3
    model = KernelPegasos(RBF(1.0), lam=0.05, max_iter=5000, tol=5e-3, random_state=0).fit(X, Y)
    assert model.certificate_.relative_gap <= 5e-3
    assert model.stop_.name == "PROVED"
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=2, tol=1e-9).fit(X, Y)


@by_model
def test_a_changed_model_is_certified_no_more(model):
    fitted = seeded(model).fit(X, Y)
    assert fitted.certificate_.holds
    again = pickle.loads(pickle.dumps(fitted))
    assert again.certificate_.verify(X, Y)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    fitted.dual_coef_ = fitted.dual_coef_ * 1.01
    assert not fitted.certificate_.holds
    assert not fitted.certificate_.verify(X, Y)
    again.intercept_ = again.intercept_ + 0.1
    assert not again.certificate_.holds
    fresh = seeded(model).fit(X, Y)
    with pytest.raises(ValueError, match="read-only"):
        fresh.support_vectors_[0] += 1.0
    fresh.kernel_ = 2 * fresh.kernel_
    assert not fresh.certificate_.holds
    swapped = Y.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert not seeded(model).fit(X, Y).certificate_.verify(X, swapped)
    proved = certify(seeded(model).fit(X, Y), X, Y)
    assert proved.holds


def distance(x, z):
    return np.abs(x - z).sum()


@pytest.mark.parametrize("model", [KernelPerceptron(max_iter=3), KernelPegasos(lam=0.1)])
def test_indefinite_kernels_only_on_request(model):
    model = clone(model).set_params(kernel=Custom(distance), random_state=0)
    with refuses("kernel"):
        model.fit(X, Y)
    certificate = model.set_params(indefinite="allow").fit(X, Y).certificate_
    assert certificate.kind in ("stationary", "none")
    with refuses("indefinite"):
        model.set_params(indefinite="perhaps").fit(X, Y)


def test_an_interruption_leaves_a_model_with_its_proof():
    def stop(report):
        if report.epoch == 3:
            raise KeyboardInterrupt

    for model in (KernelPerceptron(callbacks=stop), KernelPegasos(lam=0.1, callbacks=stop)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, Y)
        assert "Interrupted" in str(caught[0].message)
        assert model.stop_.name == "INTERRUPTED"
        assert model.certificate_.verify(X, Y)


def test_callbacks_can_stop():
    model = KernelPegasos(lam=0.1, callbacks=[lambda report: report.epoch == 2]).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.stop_.name == "CALLBACK"


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_certified_predictions_are_those_of_the_optimum(bias, classes):
    from sklearn.svm import SVC

    data, y = clouds(90, 2) if classes == 2 else three_clouds(90)
    new = clouds(300, data.shape[1], noise=2.0, seed=3).X
    kernel, lam = RBF(1.5), 0.05
    model = KernelPegasos(kernel, lam=lam, fit_intercept=bias, max_iter=2000, random_state=0).fit(
        data, y
    )
    labels, certified = model.certified_predict(new)
    assert 0.2 < certified.mean() < 1
    np.testing.assert_array_equal(labels, model.predict(new))
    if not bias:
        longer = KernelPegasos(
            kernel, lam=lam, fit_intercept=False, max_iter=20_000, random_state=1
        ).fit(data, y)
        best = longer.predict(new)
    else:
        targets = [model.classes_[1]] if classes == 2 else model.classes_
        exact = [
            SVC(gamma=1 / (2 * 1.5**2), C=1 / (lam * 90), tol=1e-10).fit(data, y == target)
            for target in targets
        ]
        parts = zip(exact, model.certificate_.singles, model._regions, strict=True)
        for machine, certificate, region in parts:
            assert region.lowest <= machine.intercept_[0] <= region.highest
            K, beta = kernel(data), certificate.witness.coef.copy()
            beta[machine.support_] -= machine.dual_coef_[0]
            assert np.sqrt(beta @ K @ beta) <= region.radius
        scores = np.stack([machine.decision_function(new) for machine in exact], axis=1)
        codes = (scores[:, 0] > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
        best = model.classes_[codes]
    np.testing.assert_array_equal(labels[certified], best[certified])
    model.intercept_ = model.intercept_ + 1
    assert not model.certified_predict(new)[1].any()
    assert not KernelPerceptron(kernel).fit(data, y).certified_predict(new)[1].any()


def test_kernels_by_name():
    from sklearn.svm import SVC

    model = KernelPegasos(max_iter=2).fit(X, Y)
    assert model.kernel_.gamma == pytest.approx(SVC().fit(X, Y)._gamma)
    sparse_model = KernelPegasos("rbf", max_iter=2).fit(LAYOUTS["csr"](X), Y)
    assert sparse_model.kernel_.gamma == pytest.approx(model.kernel_.gamma)
    assert KernelPegasos("linear", max_iter=2).fit(X, Y).kernel_ == Linear()
    assert KernelPegasos("precomputed", max_iter=2).fit(Linear()(X), Y).certificate_.holds
    for bad in ("wide", 3, distance):
        with refuses("kernel"):
            KernelPegasos(bad).fit(X, Y)
    assert kernels.RBF is cotas.kernels.RBF


@pytest.mark.parametrize(
    "bad", [{"lam": 0.0}, {"tol": -1.0}, {"sampling": "all"}, {"cache_mb": 0}, {"max_iter": 0}]
)
def test_bad_parameters(bad):
    with pytest.raises(ValueError):
        KernelPegasos(**bad).fit(X, Y)


def test_memory_of_predictions_is_bounded(monkeypatch):
    from cotas.kernel import base

    model = KernelPegasos(RBF(1.0), lam=0.1, max_iter=2, random_state=0).fit(X, Y)
    expected = model.decision_function(X)
    monkeypatch.setattr(base, "BLOCK", 7)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        KernelPerceptron(random_state=0),
        KernelPegasos(random_state=0),
        cotas.KernelSVM(),
        cotas.KernelRidge(),
        cotas.KernelSVR(),
    ],
)
def test_a_function_that_returns_sparse_blocks_is_a_kernel(model):
    rows = sparse.csr_array(X[:30])

    def products(A, B):
        return sparse.csr_array(A) @ sparse.csr_array(B).T

    dense = Custom(lambda A, B: products(A, B).toarray(), of="blocks")
    found, expected = (
        clone(model).set_params(kernel=kernel).fit(rows, Y[:30])
        for kernel in (Custom(products, of="blocks"), dense)
    )
    np.testing.assert_allclose(found.predict(rows), expected.predict(rows), rtol=1e-9)
