"""The answer to "is there a hyperplane?" can be checked by hand from the object."""

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

import cotas
from cotas import separability
from cotas.certificates.theorems.separation import FARTHEST
from cotas.solvers import separating_plane
from cotas.solvers.separating_plane import separate, widest_margin
from errors import refuses
from problems import LAYOUTS, clouds, labelled, separable


def extended(X, y, bias=1.0):
    return y[:, None] * np.column_stack([X, np.full(len(y), bias)])


def check_by_hand(answer, X, y, bias=True):
    """Definition 3.2, or Gordan's theorem."""
    if answer:
        agreement = y * (X @ answer.coef + answer.intercept)
        assert (agreement > 0).all()
        if np.linalg.norm(answer.coef) > 0:
            assert answer.margin == pytest.approx(
                agreement.min() / np.linalg.norm(answer.coef), rel=1e-6, abs=1e-12
            )
    else:
        alpha = answer.combination
        assert (alpha >= 0).all()
        assert alpha.sum() == pytest.approx(1)
        Z = extended(X, y, float(bias))
        longest = np.linalg.norm(Z, axis=1).max()
        assert np.linalg.norm(alpha @ Z) <= 1e-12 * longest
        np.testing.assert_array_equal(answer.support, np.flatnonzero(alpha))
    assert answer.certificate.holds
    assert answer.verify(X, y)


@given(data=labelled(), bias=st.booleans())
def test_every_answer_is_proved(data, bias):
    check_by_hand(separability(*data, fit_intercept=bias), *data, bias)


@given(data=separable())
def test_separable_data_are_recognized(data):
    assert separability(*data)


@given(data=separable(), i=st.integers(0, 24))
def test_contradiction_makes_any_data_inseparable(data, i):
    i %= len(data.y)
    X = np.vstack([data.X, data.X[i]])
    y = np.append(data.y, -data.y[i])
    answer = separability(X, y)
    assert not answer
    check_by_hand(answer, X, y)


@given(data=labelled(), powers=st.lists(st.integers(-25, 25), min_size=5, max_size=5))
def test_the_answer_does_not_depend_on_units(data, powers):
    scaled = data.X * 2.0 ** np.array(powers[: data.X.shape[1]])
    answer = separability(scaled, data.y)
    assert bool(answer) == bool(separability(*data))
    assert answer.certificate.holds


@given(data=separable(max_rows=15, max_features=3))
def test_the_widest_margin_is_proved_widest(data):
    answer = separability(*data, widest=True)
    certificate = answer.certificate
    assert certificate.holds
    assert certificate.upper == pytest.approx(certificate.lower, rel=1e-7)
    plain = separability(*data)
    assert plain.certificate.lower <= certificate.upper * (1 + 1e-9)


@given(data=separable(max_rows=15, max_features=3))
def test_the_largest_gamma_of_definition_3_3_is_proved_largest(data):
    answer = separability(*data, widest="distance")
    distances = data.y * (data.X @ answer.coef + answer.intercept) / np.linalg.norm(answer.coef)
    assert answer.margin == pytest.approx(distances.min(), rel=1e-9)
    largest = answer.certificate.figures[FARTHEST]
    assert answer.margin <= largest <= answer.margin * (1 + 1e-6)
    for other in (separability(*data), separability(*data, widest=True)):
        assert other.margin <= largest
    assert answer.certificate.holds
    assert answer.verify(*data)


def test_the_largest_gamma_is_that_of_the_hard_margin_machine():
    X, y = clouds(80, 3, noise=0.3)
    machine = cotas.LinearSVM(margin="hard", tol=1e-9).fit(X, y)
    gamma = 1 / np.linalg.norm(machine.coef_)
    answer = separability(X, y, widest="distance")
    assert answer.margin == pytest.approx(gamma, rel=1e-7)
    assert separability(X, y, widest=True).margin < gamma
    through = separability(X + 2 * y[:, None], y, widest="distance", fit_intercept=False)
    assert through.margin == pytest.approx(through.certificate.upper, rel=1e-7)


def test_bad_words_for_the_widest():
    with refuses("widest"):
        separability([[0.0], [1.0]], [0, 1], widest="wide")
    with refuses("y"):
        separability([[0.0], [1.0]], [1, 1], widest="distance")


def test_widest_margin_is_the_hard_margin_machine_on_extended_rows():
    X, y = clouds(80, 3, noise=0.3)
    answer = separability(X, y, widest=True)
    Z = np.column_stack([X, np.ones(len(y))])
    # Without a bias of its own the machine has to go through the origin of the extended space:
    # give it every row twice, once mirrored.
    peer = SVC(kernel="linear", C=1e10, tol=1e-10).fit(np.vstack([Z, -Z]), np.append(y, -y))
    width = 1 / np.linalg.norm(peer.coef_)
    assert answer.certificate.lower == pytest.approx(width, rel=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    for noise in (0.2, 3.0):
        X, y = clouds(120, 4, noise=noise)
        answer = separability(LAYOUTS[layout](X), y)
        assert bool(answer) is (noise == 0.2)
        check_by_hand(answer, X, y)


def test_thin_margins_are_found_where_a_linear_program_sees_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    u = rng.normal(size=6)
    u /= np.linalg.norm(u)
    distance = X @ u
    y = np.where(distance > 0, 1.0, -1.0)
    for width in (1e-6, 1e-9):
        thin = X + np.outer(y * width - np.where(abs(distance) < 0.3, distance, 0), u)
        answer = separability(thin, y)
        assert answer
        assert answer.certificate.holds


@pytest.mark.parametrize("labels", ["separable", "one flipped", "random"])
def test_ten_thousand_rows_are_decided(labels):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10_000, 50))
    y = np.where(X @ rng.normal(size=50) > 0, 1, -1)
    if labels == "one flipped":
        y[np.abs(X).sum(axis=1).argmin()] *= -1
    if labels == "random":
        y = rng.choice([-1, 1], 10_000)
    began = time.perf_counter()
    answer = separability(X, y)
    print(f"{labels}: {time.perf_counter() - began:.2f} s")
    assert bool(answer) is (labels == "separable")
    check_by_hand(answer, X, y)


@pytest.mark.parametrize("labels", ["separable", "random"])
def test_a_linear_program_is_small_however_many_rows_there_are(labels, monkeypatch):
    """Nothing answers Ctrl-C within a linear program."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_000, 8))
    y = np.where(X @ rng.normal(size=8) > 0, 1, -1)
    if labels == "random":
        y = rng.permutation(y)
    sizes = []

    def small(rows):
        sizes.append(rows.shape[0])
        return program(rows)

    program = separating_plane._program_of
    monkeypatch.setattr(separating_plane, "_program_of", small)
    answer = separability(X, y)
    assert bool(answer) is (labels == "separable")
    check_by_hand(answer, X, y)
    assert sizes
    assert max(sizes) < len(X) / 10


def test_wide_sparse_data():
    rng = np.random.default_rng(2)
    X = sparse.random(1500, 600, density=0.05, random_state=2, format="csr")
    y = np.where(X @ rng.normal(size=600) > 0, 1, -1)
    assert separability(X, y)
    noise = rng.choice([-1, 1], 1500)
    answer = separability(X, noise)
    assert not answer
    check_by_hand(answer, X.toarray(), noise)


def test_small_and_odd_cases():
    assert separability([[1.0]], [5])  # one row, one class
    assert separability([[0.0], [0.0]], [1, 1])
    assert not separability([[0.0], [0.0]], [1, 1], fit_intercept=False)  # zero rows
    assert not separability([[1.0], [1.0]], [0, 1])
    assert separability([[1.0], [2.0]], ["a", "b"])
    assert not separability([[1.0], [2.0]], ["a", "b"], fit_intercept=False)
    constant = np.column_stack([np.ones(4), np.zeros(4), [1.0, 2.0, 3.0, 4.0]])
    assert separability(constant, [0, 0, 1, 1])
    assert not separability(constant, [0, 1, 0, 1])


def test_bad_questions():
    with refuses("y"):
        separability([[1.0], [2.0], [3.0]], [0, 1, 2])
    with pytest.raises(ValueError, match="NaN"):
        separability([[np.nan], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="sample"):
        separability(np.zeros((0, 2)), [])


def test_forms():
    answer = separability([[0.0], [1.0], [2.0]], [-1, 1, -1])
    plain = json.loads(json.dumps(answer.to_dict()))
    assert plain["separable"] is False
    assert plain["certificate"]["witness"]["alpha"] == pytest.approx([0.25, 0.5, 0.25])
    assert "convex combination" in str(answer)
    assert "<table>" in answer._repr_html_()


@given(data=separable(max_rows=12), seed=st.integers(0, 99))
def test_swapped_labels_and_other_separators_fail(data, seed):
    from dataclasses import replace

    answer = separability(*data)
    i, j = np.flatnonzero(data.y == 1)[0], np.flatnonzero(data.y == -1)[0]
    swapped = data.y.copy()
    swapped[[i, j]] = swapped[[j, i]]
    assert not answer.verify(data.X, swapped)
    witness = answer.certificate.witness
    forged = replace(answer.certificate, witness=replace(witness, coef=-witness.coef - 1))
    assert not forged.verify(*data)


def test_solver_level_results_obey_weak_duality():
    X, y = clouds(60, 4, noise=0.3)
    first = separate(X, y.astype(float), 1.0)
    best = widest_margin(X, y.astype(float), 1.0, first)
    Z = extended(X, y)
    u = np.append(best.u, best.u0)
    assert (Z @ u).min() <= np.linalg.norm(best.alpha @ Z) * (1 + 1e-12)
