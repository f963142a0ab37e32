"""The theorem about Algorithms 1–3 of Fuentes Cabrera, and what they leave unchanged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cotas
from cotas import AveragedPerceptron, Perceptron
from cotas.tracing import Return
from problems import clouds, labelled, separable


def theorem_3_1(certificate):
    """(R/γ)², also where another bound is smaller."""
    return certificate.figures.get("(R/γ)² of Theorem 3.1", certificate.upper)


@given(data=separable())
def test_mistake_bound_on_separable_data(data):
    model = Perceptron(max_iter=100_000).fit(*data)
    assert model.training_error(*data) == 0
    assert model.stop_.name == "THEORY"
    certificate = model.certificate_
    assert certificate.holds
    # Theorem 3.1 by hand, on the rows (x, 1).
    Z = np.column_stack([data.X, np.ones(len(data.y))])
    u = np.append(model.coef_[0], model.intercept_[0])
    margin = (data.y * (Z @ u)).min() / np.linalg.norm(u)
    bound = (np.linalg.norm(Z, axis=1).max() / margin) ** 2
    assert theorem_3_1(certificate) == pytest.approx(bound, rel=1e-6)
    assert certificate.lower == model.mistakes_per_epoch_.sum() <= certificate.upper
    assert certificate.upper <= bound * (1 + 1e-6)


@given(data=separable(max_rows=15, max_features=3))
def test_the_tightest_separator_gives_the_smallest_bound(data):
    own = Perceptron(max_iter=100_000).fit(*data).certificate_
    tight = Perceptron(max_iter=100_000, separator="tightest").fit(*data).certificate_
    assert tight.holds
    assert tight.lower == own.lower <= tight.upper
    assert theorem_3_1(tight) <= theorem_3_1(own) * (1 + 1e-9)


def test_the_smaller_of_two_bounds_is_the_headline():
    """A γ that the separator reaches just so allows anything; a larger one says something."""
    X, y = clouds(120, 3, noise=0.6, seed=4)
    X = X + 0.2 * y[:, None]
    certificate = Perceptron(max_iter=1000).fit(X, y).certificate_
    assert theorem_3_1(certificate) > certificate.figures["presentations"] > certificate.upper
    assert not certificate.vacuous
    assert certificate.reference.startswith("Freund and Schapire")
    assert certificate.verify(X, y)


@given(data=separable(), seed=st.integers(0, 9), bias=st.booleans())
def test_whatever_the_order_it_converges_within_the_bound(data, seed, bias):
    if not bias and not cotas.separability(*data, fit_intercept=False):
        return
    options = {"shuffle": True, "random_state": seed, "fit_intercept": bias}
    model = Perceptron(max_iter=100_000, **options).fit(*data)
    assert model.training_error(*data) == 0
    assert model.mistakes_per_epoch_.sum() <= theorem_3_1(model.certificate_)


@given(data=labelled(), epochs=st.integers(1, 6))
def test_bound_with_shortfall_on_any_data(data, epochs):
    model = Perceptron(max_iter=epochs).fit(*data)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.verify(*data)
    assert certificate.lower <= certificate.upper


@given(data=separable(), start=st.integers(0, 1000))
def test_bound_for_a_run_that_does_not_start_at_zero(data, start):
    rng = np.random.default_rng(start)
    other = rng.normal(size=data.X.shape) * 10
    model = Perceptron().partial_fit(other, data.y, classes=[-1, 1])
    model.set_params(warm_start=True, max_iter=100_000).fit(*data)
    assert model.certificate_.holds
    assert model.certificate_.verify(*data)
    assert model.certificate_.lower <= model.certificate_.upper


@given(data=labelled(), seed=st.integers(0, 100))
def test_weights_are_the_plain_perceptron_on_scaled_rows(data, seed):
    weights = np.random.default_rng(seed).integers(1, 5, len(data.y)).astype(float)
    weighted = Perceptron(max_iter=3).fit(*data, sample_weight=weights)
    Z = np.column_stack([data.X, np.ones(len(data.y))]) * weights[:, None]
    plain = Perceptron(max_iter=3, fit_intercept=False).fit(Z, data.y)
    np.testing.assert_array_equal(plain.coef_[0, :-1], weighted.coef_[0])
    assert plain.coef_[0, -1] == weighted.intercept_[0]
    assert weighted.certificate_.verify(*data)
    assert weighted.certificate_.lower == plain.certificate_.lower
    assert weighted.certificate_.upper == pytest.approx(plain.certificate_.upper, rel=1e-6)


@given(data=labelled(), power=st.integers(-20, 20))
def test_scaling_all_features_without_bias_scales_theta(data, power):
    model = Perceptron(fit_intercept=False, max_iter=3)
    theta = model.fit(*data).coef_.copy()
    bound = model.certificate_.upper
    scaled = model.fit(data.X * 2.0**power, data.y)
    np.testing.assert_array_equal(scaled.coef_, theta * 2.0**power)
    assert scaled.certificate_.upper == pytest.approx(bound, rel=1e-6)


@given(data=labelled())
def test_exchanging_the_classes_turns_theta_around(data):
    one, other = Perceptron(max_iter=3), Perceptron(max_iter=3)
    one.fit(*data)
    other.fit(data.X, -data.y)
    np.testing.assert_array_equal(one.coef_, -other.coef_)
    assert one.certificate_.lower == other.certificate_.lower


def test_stopping_at_an_epoch_without_mistakes_changes_nothing():
    X, y = clouds(noise=0.2)
    few, many = Perceptron(max_iter=50).fit(X, y), Perceptron(max_iter=5000).fit(X, y)
    assert few.n_iter_ == many.n_iter_ < 50
    np.testing.assert_array_equal(few.coef_, many.coef_)
    # The averaged perceptron counts the epochs it did not have to run.
    averaged = AveragedPerceptron(max_iter=40).fit(X, y)
    vectors = [step.theta for step in cotas.trace(few, X, y) if not isinstance(step, Return)]
    rest = [vectors[-1]] * (40 * len(y) - len(vectors))
    assert averaged.n_iter_ < 40
    np.testing.assert_allclose(averaged.coef_[0], np.mean(vectors + rest, axis=0), rtol=1e-9)


def test_a_row_on_the_boundary_belongs_to_the_negative_class():
    model = Perceptron(fit_intercept=False).fit([[1.0, 0.0], [-1.0, 0.0]], ["b", "a"])
    assert model.decision_function([[0.0, 5.0]])[0] == 0
    assert model.predict([[0.0, 5.0]])[0] == "a"
    # …and counts as an error of training whatever its label, as the document defines it.
    assert model.training_error([[0.0, 5.0]], ["a"]) == 1.0


def test_margins_are_signed_distances():
    model = Perceptron(fit_intercept=False).fit([[3.0, 4.0], [-3.0, -4.0]], [1, -1])
    np.testing.assert_allclose(model.margins([[3.0, 4.0], [3.0, 4.0]], [1, -1]), [5.0, -5.0])
