"""Both solvers of the kernel SVM against the quadratic program, solved by Clarabel."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cotas.kernel.blocks import KernelBlocks
from cotas.kernels import RBF, Cosine, Linear, Polynomial, gram
from cotas.solvers import smo as smo_module
from cotas.solvers.bias import best_bias_of_numbers
from cotas.solvers.kernel_dual import SignedDual
from cotas.solvers.smo import RowCache, smo
from cotas.solvers.smo_simple import smo_simple
from cotas.solvers.working_set import climb_pairs, climb_singles, move_free_together
from problems import clouds, least_of_signed_dual, regression

KERNELS = [RBF(gamma=0.2), Linear(), Polynomial(2, gamma=0.3), Cosine(), RBF(2.0) + 0.5 * Linear()]


def data(kind, n=70):
    X, y = clouds(n, 4, noise=1.3, seed=3)
    weights = np.full(n, 1.0)
    if kind == "weights":
        weights = np.random.default_rng(0).uniform(0, 3, n)
        weights[::7] = 0.0
    if kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]  # also with the other label
    return X, y.astype(float), weights / weights.sum()


def last(candidates, tol, most=3000):
    for candidate in itertools.islice(candidates, most):
        if candidate.believed_gap <= tol:
            break
    return candidate


@pytest.mark.parametrize("kind", ["plain", "weights", "duplicates"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("lam", [0.3, 0.003])
def test_both_reach_the_optimum(kernel, kind, free_bias, lam):
    X, y, weights = data(kind)
    K, blocks = gram(kernel, X), KernelBlocks(kernel, X, 1 << 20)
    best = least_of_signed_dual(K, y, weights, lam, free_bias)
    dual = SignedDual.of(y, weights, lam, free_bias)
    runs = {"smo": smo(blocks, SignedDual.of(y, weights, lam, free_bias), 1e-9, 1 << 20)}
    if lam > 0.1:
        runs["simple"] = smo_simple(blocks, y, weights, lam, free_bias)
    for name, run in runs.items():
        tol = 1e-9 if name == "smo" else 1e-6
        found = last(run, tol)
        a = found.model
        assert (a >= dual.low).all()
        assert (a <= dual.high).all()
        assert abs(a.sum()) < 1e-9 / lam or not free_bias
        value = 0.5 * a @ K @ a - y @ a
        assert found.believed_gap <= tol
        # D, with its factor λ, is as near the best as the gap says.
        assert lam * (value - best) <= tol + 1e-9
        assert value - best >= -1e-6 * max(1.0, abs(best))


def test_small_working_sets_single_precision_and_a_small_cache_change_nothing(monkeypatch):
    X, y = clouds(400, 4, noise=1.3, seed=1)
    y, weights, lam = y.astype(float), np.full(400, 1 / 400), 1e-2
    kernel = RBF(gamma=0.3)
    K = gram(kernel, X)
    best = least_of_signed_dual(K, y, weights, lam, True)
    monkeypatch.setattr(smo_module, "WORKING_SET", 16)
    for room, cache in [(1 << 20, 1 << 20), (0, 20 * 4 * 400), (0, 0)]:
        blocks = KernelBlocks(kernel, X, room)
        for found in smo(blocks, SignedDual.of(y, weights, lam, True), 1e-8, cache):
            a = found.model
            gap = SignedDual.of(y, weights, lam, True).relative_gap(a, K @ a - y)
            if gap <= 1e-8:
                break
        assert lam * (0.5 * a @ K @ a - y @ a - best) <= 1e-8
        assert gap <= 1e-8


def test_the_cache_stays_within_its_bytes_and_forgets_the_oldest():
    cache = RowCache(n=50, size=3 * 50 * 4 + 7, dtype=np.float32)
    assert cache.slots.nbytes <= 3 * 50 * 4
    for rows in ([1, 2], [3], [1], [4, 5]):
        rows = np.array(rows)
        new = rows[cache.places(rows) < 0]
        cache.slots[cache.make_room(new)] = new[:, None]
    kept = np.flatnonzero(cache.place_of >= 0)
    np.testing.assert_array_equal(kept, [1, 4, 5])  # 2 and 3 were used longest ago
    np.testing.assert_array_equal(cache.slots[cache.place_of[kept]][:, 0], kept)
    many = np.arange(10, 20)
    assert (cache.places(many) < 0).all()
    assert len(cache.make_room(many)) == 3


@pytest.mark.parametrize("climb", [climb_pairs, climb_singles])
def test_every_step_improves_and_keeps_the_invariants(climb):
    rng = np.random.default_rng(0)
    B = rng.normal(size=(30, 5))
    K, y = B @ B.T, np.where(rng.random(30) < 0.5, 1.0, -1.0)
    dual = SignedDual.of(y, np.full(30, 1 / 30), 0.05, True)
    a, F = np.zeros(30), -y
    values = []
    for _ in range(40):
        climb(K, a, dual.low, dual.high, F, None, 1e-9, 1)
        np.testing.assert_allclose(F, K @ a - y, atol=1e-9)
        values.append(0.5 * a @ K @ a - y @ a)
    assert (np.diff(values) <= 1e-12).all()
    if climb is climb_pairs:
        assert abs(a.sum()) < 1e-12
    before = values[-1]
    move_free_together(K, a, dual.low, dual.high, F, None, climb is climb_pairs)
    np.testing.assert_allclose(F, K @ a - y, atol=1e-8)
    assert 0.5 * a @ K @ a - y @ a <= before + 1e-12
    assert (a >= dual.low).all()
    assert (a <= dual.high).all()


def test_a_start_of_any_kind_is_made_feasible():
    dual = SignedDual.of(np.array([1.0, 1, -1, -1]), np.full(4, 0.25), 0.1, True)
    a = dual.feasible(np.array([9.0, 1.0, -0.5, 3.0]))
    assert abs(a.sum()) < 1e-12
    assert (a >= dual.low).all()
    assert (a <= dual.high).all()


def test_noise_in_the_rows_is_not_taken_for_slow_progress(monkeypatch):
    """Rows so noisy that no gap comes near the goal: the solver must turn to better ones."""
    X, y = clouds(200, 3, noise=1.3)
    monkeypatch.setattr(smo_module, "WORKING_SET", 32)
    monkeypatch.setattr(smo_module, "PATIENCE", 20)
    random = np.random.default_rng(0)

    class Noisy(KernelBlocks):
        def block(self, side, columns):
            block = super().block(side, columns)
            noise = 1e-3 * random.normal(size=block.shape) if block.dtype == np.float32 else 0.0
            return (block + noise).astype(block.dtype)

    y, weights, K = y.astype(float), np.full(200, 1 / 200), gram(RBF(1.0), X)
    dual = SignedDual.of(y, weights, 1e-3, True)
    blocks = Noisy(RBF(1.0), X, 1 << 20)
    for candidate in itertools.islice(smo(blocks, dual, 1e-9, 1 << 20), 3000):
        true_gap = dual.relative_gap(candidate.model, K @ candidate.model - y)
        if true_gap <= 1e-9:
            break
    assert true_gap <= 1e-9


# ---- numbers -----------------------------------------------------------------------------------


def least_of_kinked_dual(K, dual):
    """The least ½aᵀKa − yᵀa + ε‖a‖₁ over the box, by an interior point that knows nothing of us."""
    import clarabel

    n = len(dual.y)
    # a = p − q with 0 ≤ p, q ≤ high.
    both = np.block([[K, -K], [-K, K]]) + 1e-12 * np.trace(K) * np.eye(2 * n)
    rows = [sparse.vstack([sparse.eye(2 * n), -sparse.eye(2 * n)])]
    right = [np.tile(dual.high, 2), np.zeros(2 * n)]
    cones = [clarabel.NonnegativeConeT(4 * n)]
    if dual.free_bias:
        rows.insert(0, sparse.hstack([sparse.csc_matrix(np.ones((1, n))), -np.ones((1, n))]))
        right.insert(0, np.zeros(1))
        cones.insert(0, clarabel.ZeroConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    P, A = sparse.triu(both, format="csc"), sparse.csc_matrix(sparse.vstack(rows))
    linear = np.concatenate([dual.kink.epsilon - dual.y, dual.kink.epsilon + dual.y])
    solver = clarabel.DefaultSolver(P, linear, A, np.concatenate(right), cones, settings)
    return solver.solve().obj_val


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("size", [16, 1024])
def test_numbers_are_solved_to_the_value_of_an_interior_point(
    monkeypatch, free_bias, epsilon, size
):
    monkeypatch.setattr(smo_module, "WORKING_SET", size)
    X, y = regression(80, 3, seed=2)
    weights = np.random.default_rng(0).dirichlet(np.ones(80))
    dual = SignedDual.of_numbers(y, weights, 1e-2, free_bias, epsilon)
    K = gram(RBF(2.0), X)
    for found in smo(KernelBlocks(RBF(2.0), X, 1 << 20), dual, 1e-8, 1 << 20):
        if found.believed_gap <= 1e-8:
            break
    a = found.model
    assert (np.abs(a) <= dual.high).all()
    assert not free_bias or abs(a.sum()) <= 1e-9 * np.abs(a).sum()
    value = 0.5 * a @ K @ a - y @ a + epsilon * np.abs(a).sum()
    assert value == pytest.approx(least_of_kinked_dual(K, dual), rel=1e-6)


@pytest.mark.parametrize("climb", [climb_pairs, climb_singles])
def test_every_step_on_numbers_improves_and_keeps_the_invariants(climb):
    rng = np.random.default_rng(0)
    B = rng.normal(size=(30, 5))
    K, y, free_bias = B @ B.T, rng.normal(size=30), climb is climb_pairs
    dual = SignedDual.of_numbers(y, np.full(30, 1 / 30), 0.05, free_bias, 0.2)
    a, F, values = np.zeros(30), -y, []

    def objective():
        return 0.5 * a @ K @ a - y @ a + 0.2 * np.abs(a).sum()

    for _ in range(40):
        climb(K, a, dual.low, dual.high, F, dual.kink, 1e-9, 1)
        np.testing.assert_allclose(F, K @ a - y, atol=1e-9)
        values.append(objective())
    assert (np.diff(values) <= 1e-12).all()
    move_free_together(K, a, dual.low, dual.high, F, dual.kink, free_bias)
    np.testing.assert_allclose(F, K @ a - y, atol=1e-8)
    assert objective() <= values[-1] + 1e-12
    assert not free_bias or abs(a.sum()) < 1e-12


@given(st.integers(0, 999))
def test_no_other_bias_of_numbers_has_a_smaller_loss(seed):
    rng = np.random.default_rng(seed)
    r = rng.integers(-3, 4, size=rng.integers(1, 9)) / 2.0
    s, epsilon = rng.random(len(r)), float(rng.choice([0.0, 0.5]))

    def loss(b):
        return s @ np.maximum(0.0, np.abs(r - b) - epsilon)

    best = loss(best_bias_of_numbers(r, s, epsilon))
    assert all(best <= loss(b) + 1e-12 for b in [*(r - epsilon), *(r + epsilon)])
