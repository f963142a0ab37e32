"""Bad input gets an error that names the argument and says what to do."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cotas import LinearSVM, PassiveAggressive, Pegasos, Perceptron
from errors import refuses
from problems import bad_data, clouds, model_name, online_models, three_clouds

by_model = pytest.mark.parametrize("model", online_models(), ids=model_name)
X, y = clouds(40, 3)
BAD_DATA = bad_data(X, y)


@by_model
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(model, case):
    bad_X, bad_y, word = BAD_DATA[case]
    with pytest.raises(ValueError, match=word):
        clone(model).fit(bad_X, bad_y)


BAD_PARAMETERS = [
    (Perceptron(max_iter=0), "max_iter"),
    (Perceptron(max_iter=2.5), "max_iter"),
    (Perceptron(separator="best"), "separator"),
    (Perceptron(validation_fraction=1.5, early_stopping=True), "validation_fraction"),
    (Perceptron(n_iter_no_change=0), "n_iter_no_change"),
    (Perceptron(n_jobs="two"), "n_jobs"),
    (LinearSVM(n_jobs="two"), "n_jobs"),
    (LinearSVM(solver="magic", warm_start=True), "solver"),
    (PassiveAggressive(lam=0.0), "lam"),
    (PassiveAggressive(lam=-1), "lam"),
    (PassiveAggressive(lam="small"), "lam"),
    (Pegasos(lam=0), "lam"),
    (Pegasos(lam=np.nan), "lam"),
    (Pegasos(step="1/sqrt(t)"), "step"),
    (Pegasos(step=-1.0), "step"),
    (Pegasos(step=lambda t: -1.0), r"step\(t\)"),
    (Pegasos(step=lambda t: np.nan), r"step\(t\)"),
    (Pegasos(sampling="some"), "sampling"),
    (Pegasos(tol=0.0), "tol"),
    (Pegasos(tol=0.1, certify=False), "certify"),
]


@pytest.mark.parametrize(("model", "name"), BAD_PARAMETERS, ids=lambda p: str(p))
def test_bad_parameters(model, name):
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(X, y)


@by_model
def test_bad_weights(model):
    model = clone(model)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="non-zero"):
        model.fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(39))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y, sample_weight=np.full(40, np.nan))


@by_model
def test_use_before_fit_and_with_other_shapes(model):
    model = clone(model)
    for ask in (lambda: model.predict(X), lambda: model.certificate_):
        with pytest.raises(NotFittedError):
            ask()
    model.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with refuses("y"):
        model.margins(X, np.full(40, 17))
    with refuses("y", naming="39"):
        model.training_error(X, y[:-1])
    with refuses("class_weight"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])


def test_too_little_data_for_a_validation_set():
    with refuses("early_stopping"):
        Perceptron(early_stopping=True).fit([[1.0], [2.0], [3.0]], [0, 1, 1])


@by_model
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_huge_and_tiny_scales(model, scale):
    """Either an honest model or an error that says to scale; never NaN, never a false proof."""
    model = clone(model)
    refused = None
    try:
        model.fit(X * scale, y)
    except ValueError as error:
        refused = str(error)
    if refused is not None:
        assert "Scale the features" in refused
        return
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.holds
    assert model.certificate_.verify(X * scale, y)


@by_model
def test_degenerate_but_legitimate_data(model):
    constant = np.column_stack([X, np.full(40, 7.0), np.zeros(40)])
    duplicated = np.repeat(X, 3, axis=0)
    contradictory = np.vstack([X, X])
    for data, labels in (
        (constant, y),
        (duplicated, np.repeat(y, 3)),
        (contradictory, np.concatenate([y, -y])),
        (np.zeros((6, 2)), [1, -1, 1, -1, 1, 1]),
        (np.array([[1.0], [2.0]]), [0, 1]),
        (np.array([[1.0], [1.0]]), [0, 1]),
        (sparse.csr_matrix((4, 3)), [0, 1, 2, 1]),
    ):
        fitted = clone(model).fit(data, labels)
        assert np.isfinite(fitted.coef_).all()
        for certificate in fitted.certificate_.singles:
            assert certificate.holds
            assert certificate.verify(data, labels)


def test_no_distance_without_a_boundary():
    model = Pegasos(fit_intercept=False).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="boundary"):
        model.margins(np.zeros((4, 2)), [0, 1, 0, 1])


@by_model
def test_the_users_arrays_are_left_alone(model):
    data, labels = three_clouds(60)
    weights = np.linspace(0, 1, 60)
    kept = (data.copy(), labels.copy(), weights.copy())
    for array in (data, labels, weights):
        array.setflags(write=False)
    clone(model).fit(data, labels, sample_weight=weights)
    for before, after in zip(kept, (data, labels, weights), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_diverging_step_is_explained():
    with refuses("X"):
        Pegasos(lam=1.0, step=1000.0, max_iter=2000).fit(X, y)
