"""Rows that are set aside by the kernel SVM change the way to the optimum, never the optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cotas
from cotas.kernel.blocks import KernelBlocks
from cotas.kernels import RBF, gram
from cotas.solvers import smo
from cotas.solvers import smo as smo_module
from cotas.solvers.kernel_dual import SignedDual
from cotas.solvers.smo import Decomposition, RowCache, settled
from cotas.solvers.working_set import least
from problems import clouds, three_clouds


@pytest.fixture
def eager(monkeypatch):
    """Small working sets, single precision, and shrinking from the first rows on."""
    monkeypatch.setattr(smo_module, "WORKING_SET", 64)
    monkeypatch.setattr(smo_module, "FEWEST_TO_SHRINK", 0)
    monkeypatch.setattr(smo_module, "SETTLING", np.inf)
    monkeypatch.setattr(smo, "SPARED", 4)
    monkeypatch.setattr("cotas.kernel.training.FEW", 0)  # tables that are solved in one go
    sizes = []
    original = Decomposition._set_aside

    def note(self):
        original(self)
        sizes.append(len(self.a) if self.active is None else len(self.active))

    monkeypatch.setattr(Decomposition, "_set_aside", note)
    return sizes


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_the_same_gap_is_proved_with_and_without(eager, bias, C):
    X, y = clouds(400, 4, noise=1.5)
    options = {"C": C, "fit_intercept": bias, "tol": 1e-7}
    plain = cotas.KernelSVM(RBF(2.0), shrinking=False, **options).fit(X, y)
    assert not eager
    model = cotas.KernelSVM(RBF(2.0), shrinking=True, **options).fit(X, y)
    assert min(eager) < 400  # rows were set aside
    for fitted in (plain, model):
        assert fitted.certificate_.relative_gap <= 1e-7
        assert fitted.certificate_.verify(X, y)
    assert model.certificate_.upper == pytest.approx(plain.certificate_.upper, abs=2e-7)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(X), atol=0.02 * np.sqrt(C)
    )


def start(X, y, lam, shrink=True):
    dual = SignedDual.of(y.astype(float), np.full(len(y), 1 / len(y)), lam, True)
    return Decomposition(KernelBlocks(RBF(2.0), X, 1 << 20), dual, 1 << 20, map, shrink)


def test_a_row_that_was_set_aside_by_mistake_comes_back(eager, monkeypatch):
    """Every second row is said to have settled after two rounds, wherever its multiplier is."""
    X, y = clouds(400, 3, noise=1.5)
    wrong = np.zeros(400, dtype=np.int8)
    wrong[::2] = -1

    def mistaken(dual, a, F):
        return wrong if len(a) == 400 else np.zeros(len(a), dtype=np.int8)

    monkeypatch.setattr(smo_module, "settled", mistaken)
    model = cotas.KernelSVM(RBF(2.0), lam=0.01, tol=1e-7).fit(X, y)
    assert min(eager) == 200
    assert (model.support_ % 2 == 0).any()
    assert model.certificate_.relative_gap <= 1e-7
    monkeypatch.undo()
    plain = cotas.KernelSVM(RBF(2.0), lam=0.01, tol=1e-7, shrinking=False).fit(X, y)
    assert model.certificate_.upper == pytest.approx(plain.certificate_.upper, abs=2e-7)


def test_F_of_the_active_rows_is_right_and_of_all_after_they_are_back(eager):
    X, y = clouds(500, 3, noise=1.5)
    K = gram(RBF(2.0), X)
    work = start(X, y, 0.002)
    while work.active is None or len(work.active) > 250:
        assert work.improve()
    for _ in range(3):  # rows come out of the narrowed cache as well
        work.improve()
    exact = K @ work.a - y
    assert len(work.active) <= 250
    np.testing.assert_allclose(work.F[work.active], exact[work.active], atol=1e-4)
    aside = np.setdiff1d(np.arange(500), work.active)
    assert np.isin(work.a[aside], [work.dual.low[aside], work.dual.high[aside]]).all()
    work.recompute()
    assert work.active is None
    np.testing.assert_allclose(work.F, exact, atol=1e-10)


def test_scores_of_the_checker_are_as_good_as_those_computed_again(eager):
    X, y = clouds(300, 3, noise=1.5)
    dual = SignedDual.of(y.astype(float), np.full(300, 1 / 300), 0.002, True)
    run = smo_module.smo(KernelBlocks(RBF(2.0), X, 1 << 20), dual, 1e-3, 1 << 20)
    candidate = next(run)
    while candidate.believed_gap > 1e-3:
        candidate = run.send(None)
    scores = gram(RBF(2.0), X) @ candidate.model
    candidate = run.send(scores)
    np.testing.assert_array_equal(candidate.dual, scores - y)


def test_settled_rows_are_out_of_reach_of_every_partner_that_counts():
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 400)
    dual = SignedDual.of(y, np.full(400, 1 / 400), 0.01, True)
    a = np.where(rng.random(400) < 0.4, dual.low, dual.high)
    free = rng.random(400) < 0.3
    a[free] = rng.uniform(dual.low, dual.high)[free]
    F = rng.normal(size=400)
    F[(a == dual.low) & (rng.random(400) < 0.5)] += 6
    F[(a == dual.high) & (rng.random(400) < 0.5)] -= 6
    found = settled(dual, a, F)
    assert (found[free] == 0).all()
    for mark, bound, sign in ((-1, dual.low, 1), (1, dual.high, -1)):
        rows = found == mark
        assert rows.any()
        assert (a[rows] == bound[rows]).all()
        partners = a > dual.low if mark < 0 else a < dual.high
        nearest = (sign * F[rows]).min()
        assert np.count_nonzero(sign * F[partners] >= nearest) <= smo.SPARED


def test_a_narrowed_cache_keeps_its_rows_and_holds_more_of_them():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(40, 40))
    cache = RowCache(40, 8 * 40 * 10, np.float64)
    rows = np.arange(3, 11)
    cache.places(rows)
    cache.slots[cache.make_room(rows)] = K[rows]
    columns = np.sort(rng.permutation(40)[:15])
    cache.narrow(columns)
    np.testing.assert_array_equal(cache.slots[cache.places(rows)], K[np.ix_(rows, columns)])
    assert cache.slots.shape == (26, 15)
    cache.places(np.arange(12, 40))
    more = np.arange(12, 40)
    assert len(cache.make_room(more)) == 26
    assert cache.slots.nbytes <= 8 * 40 * 10


def test_pairs_of_classes_and_weights(eager):
    X, y = three_clouds(450)
    weights = np.random.default_rng(0).integers(0, 3, 450)
    both = [
        cotas.KernelSVM(RBF(1.0), lam=1e-3, tol=1e-6, shrinking=shrink).fit(X, y, weights)
        for shrink in (True, False)
    ]
    assert eager
    for with_it, without in zip(
        both[0].certificate_.singles, both[1].certificate_.singles, strict=True
    ):
        assert with_it.relative_gap <= 1e-6
        assert with_it.upper == pytest.approx(without.upper, abs=2e-6)


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf]), min_size=1), st.data())
def test_the_least_are_found_and_of_equal_ones_the_first(values, data):
    values = np.array(values)
    k = data.draw(st.integers(0, len(values) + 1))
    found = least(values, k)
    # A stable sort of values and places: of equal ones the first.
    assert set(found) == set(np.argsort(values, kind="stable")[:k])
    assert len(found) == min(k, len(values))
