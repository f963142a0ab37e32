"""Kernel models on bad and odd data: a clear error, or a model with an honest certificate."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cotas import KernelPegasos, KernelPerceptron, KernelRidge, KernelSVM, KernelSVR, certify
from cotas.kernel.interface import KernelValueError
from cotas.kernels import RBF, Cosine, Custom, Linear, Polynomial, Precomputed
from errors import refuses
from problems import bad_data, clouds

X, y = clouds(40, 3)
MODELS = [
    KernelPerceptron(max_iter=5),
    KernelPerceptron(Polynomial(2), max_iter=5, fit_intercept=False),
    KernelPegasos(lam=0.1, max_iter=5, random_state=0),
    KernelPegasos(Cosine(), lam=0.1, max_iter=5, fit_intercept=False, random_state=0),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=str)
BAD_DATA = bad_data(X, y)


@by_model
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(model, case):
    bad_X, bad_y, word = BAD_DATA[case]
    with pytest.raises(ValueError, match=word):
        clone(model).fit(bad_X, bad_y)


ODD_DATA = {
    "two rows": (X[:2], y[:2]),
    "all rows the same": (np.ones((6, 2)), np.array([1, -1] * 3)),
    "all zeros": (np.zeros((6, 2)), np.array([1, -1] * 3)),
    "duplicated rows": (np.repeat(X, 3, axis=0), np.repeat(y, 3)),
    "the same rows with both labels": (np.vstack([X, X]), np.concatenate([y, -y])),
    "a constant column": (np.column_stack([X, np.full(40, 7.0)]), y),
    "tiny numbers": (X * 1e-150, y),
    "far from the origin": (X + 1e6, y),
    "one positive": (X, np.where(np.arange(40) == 5, 1, -1)),
}


@by_model
@pytest.mark.parametrize("case", ODD_DATA)
def test_odd_data(model, case):
    data, labels = ODD_DATA[case]
    fitted = clone(model).fit(data, labels)
    assert fitted.certificate_.holds
    assert fitted.certificate_.verify(data, labels)
    assert np.isfinite(fitted.decision_function(data)).all()


@pytest.mark.parametrize("scale", [1e-160, 1e150, 1e200])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_kernels_without_a_scale_give_the_same_model_at_every_scale(scale, convert):
    for kernel in (None, Cosine()):
        model = KernelPegasos(kernel, lam=0.1, max_iter=5, random_state=0)
        expected = clone(model).fit(X, y)
        found = clone(model).fit(convert(X * scale), y)
        np.testing.assert_array_equal(found.support_, expected.support_)
        assert found.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-6)


def test_numbers_too_large_for_a_kernel_are_named():
    for kernel in (Linear(), Polynomial(3), Linear().exp()):
        with pytest.raises(KernelValueError):
            KernelPegasos(kernel).fit(X * 1e160, y)


@by_model
def test_bad_weights_and_calls(model):
    model = clone(model)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        _ = model.certificate_
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="features"):
        model.fit(X, y).predict(X[:, :2])


def test_bad_gram_matrices():
    K = RBF()(X)
    model = KernelPegasos(Precomputed(), max_iter=2)
    with refuses("X"):
        model.fit(K[:, :30], y)
    with refuses("kernel"):
        model.fit(np.tril(K), y)
    with refuses("kernel"):
        model.fit(-K, y)
    with pytest.raises(ValueError, match="features"):
        model.fit(K, y).predict(K[:, :30])


def test_a_function_that_changes_its_mind_is_noticed():
    """A kernel that is not the one of the fit cannot prove anything about it."""
    width = [1.0]

    def fickle(x, z):
        return np.exp(-width[0] * np.sum((x - z) ** 2))

    model = KernelPegasos(Custom(fickle), lam=0.1, max_iter=3, random_state=0).fit(X, y)
    assert model.certificate_.verify(X, y)
    width[0] = 3.0
    assert not model.certificate_.verify(X, y)
    assert certify(model, X, y).upper != pytest.approx(model.certificate_.upper)


@pytest.mark.parametrize(
    "model",
    [
        KernelSVM(),
        KernelSVM(approximate="fourier", n_components=6, random_state=0),
        KernelRidge(),
        KernelSVR(),
        KernelPerceptron(),
    ],
    ids=str,
)
def test_rows_so_small_that_no_kernel_is_as_narrow_are_refused(model):
    with pytest.raises(KernelValueError, match="sigma"):
        model.fit(X * 1e-310, y)
