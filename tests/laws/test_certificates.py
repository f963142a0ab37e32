"""A certificate is true of its model and data, and of no other."""

import json
import pickle
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cotas
from cotas import Certificate, KernelSVM, Lasso, LinearSVM, Perceptron, Ridge
from cotas.certificates import no_certificate
from cotas.certificates.theorems.mistakes import mistakes_allowed
from problems import LAYOUTS, clouds, labelled, model_name, online_models, three_clouds

MODELS = online_models()
by_model = pytest.mark.parametrize("model", MODELS, ids=model_name)


@by_model
@given(data=labelled(), seed=st.integers(0, 999), size=st.sampled_from([1e-6, 1e-3, 1.0]))
def test_a_changed_model_fails(model, data, seed, size):
    kept = model.fit(*data).certificate_
    assert kept.holds
    assert kept.verify(*data)
    theta = model.coef_.copy()
    model.coef_[0, seed % data.X.shape[1]] += 0.5  # in place
    assert kept.verify(*data)  # the certificate in hand is about the model it was given
    assert not model.certificate_.verify(*data)
    noise = np.random.default_rng(seed).normal(size=theta.shape)
    model.coef_ = theta + size * (1 + np.linalg.norm(theta)) * noise
    assert not model.certificate_.holds
    assert not model.certificate_.verify(*data)
    assert "changed" in str(model.certificate_)


@by_model
@given(data=labelled(), i=st.integers(0, 24), j=st.integers(0, 24), seed=st.integers(0, 999))
def test_other_data_fail(model, data, i, j, seed):
    (X, y), n = data, len(data.y)
    verify = model.fit(X, y).certificate_.verify
    i, j = i % n, j % n
    other = j if y[i] != y[j] else int(np.flatnonzero(y != y[i])[0])
    swapped, flipped, entry = y.copy(), y.copy(), X.copy()
    swapped[[i, other]] = swapped[[other, i]]
    flipped[i] *= -1
    entry[i, j % X.shape[1]] += 0.125
    assert not verify(X, swapped)
    assert not verify(X, flipped)
    assert not verify(entry, y)
    assert not verify(np.random.default_rng(seed).normal(size=X.shape), y)
    assert not verify(X[:-1], y[:-1])
    assert not verify(X[:, :-1], y)
    moved = np.roll(X, 1, axis=0), np.roll(y, 1)
    if not np.array_equal(moved[0], X) or not np.array_equal(moved[1], y):
        assert not verify(*moved)


@by_model
def test_a_forged_claim_fails(model):
    from dataclasses import replace

    data = clouds(60, 3)
    certificate = model.fit(*data).certificate_
    for forged in (
        replace(certificate, upper=certificate.upper * 0.9),
        replace(certificate, lower=certificate.lower - 0.1 * (1 + abs(certificate.lower))),
    ):
        assert not forged.verify(*data)
    witness = certificate.witness
    name = "multipliers" if certificate.kind == "duality" else "updates"
    ledger = getattr(witness, name).copy()
    ledger[:20] += 1
    assert not replace(certificate, witness=replace(witness, **{name: ledger})).verify(*data)


@by_model
def test_every_layout_of_the_same_data_verifies(model):
    data = clouds(80, 4)
    certificate = model.fit(*data).certificate_
    for convert in LAYOUTS.values():
        assert certificate.verify(convert(data.X), data.y), certificate.discrepancies(
            convert(data.X), data.y
        )
    assert certificate.verify(data.X.tolist(), data.y.tolist())


@by_model
def test_one_certificate_for_each_class(model):
    X, y = three_clouds()
    model.fit(X, y)
    assert len(model.certificate_.parts) == 3
    for certificate, label in zip(model.certificate_.singles, model.classes_, strict=True):
        assert certificate.holds
        assert certificate.verify(X, y)
        assert certificate.verify(X, np.where(y == label, label, -1))
        assert not certificate.verify(X, np.roll(y, 1))


@by_model
def test_forms_for_machines_and_people(model):
    data = clouds(60, 3)
    certificate = model.fit(*data).certificate_
    plain = json.loads(json.dumps(certificate.to_dict(witness=True)))
    assert plain["kind"] == certificate.kind
    assert plain["upper"] == certificate.upper
    assert len(plain["witness"]["coef"]) == 3
    assert "witness" not in certificate.to_dict()
    assert certificate.statement in str(certificate)
    assert certificate.reference in str(certificate)
    assert "<table>" in certificate._repr_html_()
    again = pickle.loads(pickle.dumps(certificate))
    assert again.verify(*data)


def test_none_says_why():
    certificate = no_certificate("No theorem covers this.")
    assert isinstance(certificate, Certificate)
    assert not certificate.holds
    assert not certificate.verify([[1.0]], [1])
    assert "No theorem covers this." in str(certificate)
    assert "No theorem covers this." in certificate._repr_html_()


@given(
    radius=st.floats(0.1, 100),
    margin=st.floats(0.01, 10),
    shortfall=st.floats(0, 50),
)
def test_bound_from_zero_is_the_printed_one(radius, margin, shortfall):
    allowed = mistakes_allowed(radius, margin, shortfall, 0.0, 0.0)
    assert allowed == pytest.approx(((radius + shortfall) / margin) ** 2)


def test_figures_name_the_quantities_of_the_theorem():
    certificate = Perceptron().fit([[2.0, 0.0], [-2.0, 0.0]], [1, -1]).certificate_
    assert certificate.figures["R (longest row)"] == pytest.approx(np.sqrt(5))
    assert certificate.kind == "mistakes"
    assert "(R/γ)² of Theorem 3.1" in certificate.figures  # another bound is smaller here


@pytest.mark.parametrize("kind", [LinearSVM, KernelSVM, Perceptron, Lasso, Ridge])
def test_what_is_said_does_not_depend_on_when_it_is_read(kind):
    model = kind().fit(*clouds(60, 3))
    copy, (certificate,) = pickle.loads(pickle.dumps(model)), model._certificates
    assert set(vars(certificate)) == {field.name for field in fields(certificate)}
    with cotas.lang("es"):
        in_spanish = copy.certificate_.statement
        assert model.certificate_.statement == in_spanish
    assert model.certificate_.statement == copy.certificate_.statement != in_spanish


@by_model
def test_plain_python_types(model):
    certificate = model.fit(*clouds(60, 3)).certificate_
    for name in ("lower", "upper", "gap", "relative_gap", "charge"):
        assert type(getattr(certificate, name)) is float
    assert type(certificate.holds) is type(certificate.vacuous) is bool
    assert certificate.verify(*clouds(60, 3)) is True
    assert certificate.verify(*clouds(60, 3, seed=1)) is False
