"""LS-Boost, FS_ε and R-FS: the algorithms as printed, their theorems, their certificates."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotas import ForwardStagewise, Lasso, LeastSquares, LSBoost, RegularizedForwardStagewise
from cotas.certificates.presentation import lines as certificate_lines
from errors import refuses
from problems import LAYOUTS, regression, targeted

TALL = regression(50, 7, seed=1)
WIDE = regression(20, 60, seed=2)
by_shape = pytest.mark.parametrize("data", [TALL, WIDE], ids=["tall", "wide"])


def unit_columns(X, y):
    """The pre-processing of Rugeles Ospina: columns centred and of length one, y centred."""
    Z = X - X.mean(axis=0)
    return Z / np.linalg.norm(Z, axis=0), y - y.mean()


def algorithm_8(X, y, eps, m):
    """LS-Boost(ε) as it is printed; βᵏ for every k."""
    p = X.shape[1]
    betas, r = [np.zeros(p)], y.copy()
    for _ in range(m):
        u = X.T @ r / (X**2).sum(axis=0)
        errors = ((r[:, None] - X * u) ** 2).sum(axis=0)
        j = int(np.argmin(errors))
        beta = betas[-1].copy()
        beta[j] += eps * u[j]
        betas.append(beta)
        r = r - eps * X[:, j] * u[j]
    return np.array(betas)


def path_of(model):
    return np.array([model.path_.unit_coef(k) for k in range(len(model.path_))])


@by_shape
def test_fs_is_r_fs_in_an_infinite_ball_and_near_it_in_a_large_one(data):
    fs = ForwardStagewise(eps=0.2, max_iter=50).fit(*data)
    infinite = RegularizedForwardStagewise(eps=0.2, max_iter=50).fit(*data)
    large = RegularizedForwardStagewise(eps=0.2, delta=1e9, max_iter=50).fit(*data)
    np.testing.assert_array_equal(path_of(fs), path_of(infinite))
    np.testing.assert_allclose(path_of(large), path_of(fs), atol=1e-5)


@by_shape
def test_ls_boost_is_fs_with_steps_of_its_own(data):
    boost = LSBoost(eps=0.3, max_iter=40).fit(*data)
    stagewise = ForwardStagewise(eps=np.abs(boost.path_.run.steps), max_iter=40).fit(*data)
    np.testing.assert_allclose(path_of(stagewise), path_of(boost), atol=1e-10)


def test_eps_as_number_sequence_and_function():
    one = ForwardStagewise(eps=0.1, max_iter=30).fit(*TALL)
    two = ForwardStagewise(eps=[0.1] * 30, max_iter=30).fit(*TALL)
    three = ForwardStagewise(eps=lambda k: 0.1, max_iter=30).fit(*TALL)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.coef_, three.coef_)
    falling = ForwardStagewise(eps=lambda k: 1 / (k + 1), max_iter=30).fit(*TALL)
    np.testing.assert_allclose(np.abs(falling.path_.run.steps), 1 / np.arange(1, 31))
    assert falling.certificate_.holds


RATES = st.floats(0.02, 1.0)


@given(targeted(), RATES, st.integers(1, 60), st.booleans())
def test_theorem_2_1_2_on_any_data(data, eps, iterations, bias):
    model = LSBoost(eps=eps, max_iter=iterations, fit_intercept=bias).fit(*data)
    assert model.certificate_.holds, model.certificate_.objection
    assert model.certificate_.verify(*data)


@given(targeted(), RATES, st.integers(1, 60), st.booleans())
def test_theorem_2_2_1_on_any_data(data, eps, iterations, varies):
    rate = (lambda k: eps / (1 + k)) if varies else eps
    model = ForwardStagewise(eps=rate, max_iter=iterations).fit(*data)
    assert model.certificate_.holds, model.certificate_.objection
    assert model.certificate_.verify(*data)


@given(targeted(), RATES, st.floats(1.0, 30.0), st.integers(1, 60))
def test_theorem_2_2_3_on_any_data(data, eps, delta, iterations):
    model = RegularizedForwardStagewise(eps=eps, delta=delta, max_iter=iterations).fit(*data)
    assert model.certificate_.holds, model.certificate_.objection
    assert model.certificate_.verify(*data)
    assert model.path_.lengths.max() <= delta * (1 + 1e-12)


def bounds_as_printed(X, y, eps, k, betas):
    """The right-hand sides of Theorem 2.1.2, written again."""
    n, p = X.shape
    values = np.linalg.eigvalsh(X.T @ X)
    smallest = values[values > 1e-10 * values[-1]][0]
    fit = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    length = np.linalg.norm(fit)
    gamma = 1 - eps * (2 - eps) * smallest / (4 * p)
    drop = length**2 - np.linalg.norm(fit - X @ betas[k]) ** 2
    one = np.sqrt(k * eps / (2 - eps) * max(drop, 0.0))
    two = eps * length * (1 - gamma ** (k / 2)) / (1 - np.sqrt(gamma))
    return [
        length**2 * gamma**k / (2 * n),
        length / np.sqrt(smallest) * gamma ** (k / 2),
        length * gamma ** (k / 2),
        length * gamma ** (k / 2) / n,
        min(one, two),
        k,
    ]


@by_shape
def test_the_bounds_of_theorem_2_1_2_are_those_printed_and_so_is_what_is_measured(data):
    X, y = unit_columns(*data)
    n = len(y)
    model = LSBoost(eps=0.4, max_iter=30).fit(*data)
    betas = algorithm_8(X, y, 0.4, 30)
    solution = np.linalg.lstsq(X, y, rcond=None)[0]
    for k in (1, 7, 30):
        items = model.certificate_.at(k)
        np.testing.assert_allclose(
            [item.bound for item in items], bounds_as_printed(X, y, 0.4, k, betas), rtol=1e-6
        )
        r = y - X @ betas[k]
        away = np.linalg.pinv(X) @ (X @ (betas[k] - solution))  # its part outside the null space
        measured = [
            (r @ r - np.sum((y - X @ solution) ** 2)) / (2 * n),
            np.linalg.norm(away),
            np.linalg.norm(X @ (betas[k] - solution)),
            np.abs(X.T @ r).max() / n,
            np.abs(betas[k]).sum(),
            np.count_nonzero(betas[k]),
        ]
        found = np.array([item.measured for item in items])
        # Of the distance to a least-squares solution only an upper bound is proved.
        assert found[1] >= measured[1]
        np.testing.assert_allclose(np.delete(found, 1), np.delete(measured, 1), rtol=1e-6)
        # With one step ‖β‖₁ is equal to its bound, which rounding leaves open.
        assert [item.holds for item in items] == [True] * 4 + [k > 1, True]
        assert all(item.iteration == k for item in items)


@by_shape
def test_the_bounds_of_theorems_2_2_1_and_2_2_3_are_those_printed(data):
    X, y = unit_columns(*data)
    n, p = X.shape
    values = np.linalg.eigvalsh(X.T @ X)
    smallest = values[values > 1e-10 * values[-1]][0]
    square = np.sum((X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2)
    eps, delta, k = 0.3, 4.0, 25
    bracket = square / (eps * (k + 1)) + eps
    model = ForwardStagewise(eps=eps, max_iter=k).fit(*data)
    fs = model.certificate_.at(k)
    expected = [
        p / (2 * n * smallest) * bracket**2,
        np.sqrt(p) / smallest * bracket,
        np.sqrt(p / smallest) * bracket,
        square / (2 * eps * (k + 1)) + eps / 2,
        k * eps,
        k,
    ]
    np.testing.assert_allclose([item.bound for item in fs], expected, rtol=1e-6)
    # All of them at the same i, the one with the smallest correlation.
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    betas = path_of(model)
    i = int(np.argmin(np.abs(X.T @ (y[:, None] - X @ betas.T)).max(axis=0)))
    far = np.linalg.norm(X @ (betas[i] - best))
    away = np.linalg.norm(np.linalg.pinv(X) @ (X @ (betas[i] - best)))
    measured = [
        far**2 / (2 * n),
        away,
        far,
        np.abs(X.T @ (y - X @ betas[i])).max(),
        np.abs(betas[i]).sum(),
        np.count_nonzero(betas[i]),
    ]
    found = np.array([item.measured for item in fs])
    assert {item.iteration for item in fs} == {i}
    assert found[1] >= measured[1]  # an upper bound of it
    np.testing.assert_allclose(np.delete(found, 1), np.delete(measured, 1), rtol=1e-6)
    assert all(item.holds for item in fs)
    r_fs = RegularizedForwardStagewise(eps=eps, delta=delta, max_iter=k).fit(*data)
    expected = [
        delta / n * (square / (2 * eps * (k + 1)) + 2 * eps),
        np.sqrt(delta * square / (eps * (k + 1)) + 4 * delta * eps),
        delta * (1 - (1 - eps / delta) ** k),
        k,
    ]
    found = [item.bound for item in r_fs.certificate_.at(k)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@by_shape
def test_lemma_2_1_1(data):
    """‖Xβ − Xβ_LS‖² = 2n(L_n(β) − L_n*), for any β."""
    X, y = unit_columns(*data)
    solution = np.linalg.lstsq(X, y, rcond=None)[0]
    model = LSBoost(eps=0.5, max_iter=20).fit(*data)
    for k in (0, 3, 20):
        training, _, predictions, *_ = model.certificate_.at(k)
        far = np.sum((X @ (model.path_.unit_coef(k) - solution)) ** 2)
        assert far == pytest.approx(2 * len(y) * training.measured, rel=1e-6, abs=1e-9)
        assert predictions.measured**2 == pytest.approx(far, rel=1e-6, abs=1e-9)


@by_shape
def test_duality_of_the_lasso_and_the_minimal_correlation(data):
    """Proposition 2.2.2: weak duality for any pair, strong duality at the optimum."""
    X, y = unit_columns(*data)
    n, delta = len(y), 2.5
    rng = np.random.default_rng(0)

    def loss(beta):
        return np.sum((y - X @ beta) ** 2) / (2 * n)

    def correlation(r):
        return np.abs(X.T @ r).max() + np.sum((r - y) ** 2) / (2 * delta)

    for _ in range(20):
        beta, other = rng.normal(size=(2, X.shape[1]))
        beta *= delta * rng.random() / np.abs(beta).sum()
        total = loss(beta) + delta / n * correlation(y - X @ other)
        assert total >= y @ y / (2 * n) - 1e-12
    best = Lasso(delta=delta, fit_intercept=False, tol=1e-13).fit(X, y).coef_
    total = loss(best) + delta / n * correlation(y - X @ best)
    assert total == pytest.approx(y @ y / (2 * n), rel=1e-9)


@by_shape
def test_omega_certifies_the_lasso_on_the_ball(data):
    X, y = data
    n, delta = len(y), 6.0
    best = Lasso(delta=delta / np.sqrt(n), standardize=True, tol=1e-12).fit(X, y)
    model = RegularizedForwardStagewise(eps=0.02, delta=delta, max_iter=3000).fit(X, y)
    least = best.certificate_.lower
    excess = model.path_.losses - least
    assert (excess >= -1e-9).all()
    Z, z = unit_columns(X, y)
    for k in (0, 10, 3000):  # ω as printed
        beta = model.path_.unit_coef(k)
        r = z - Z @ beta
        omega = np.abs(Z.T @ r).max() - r @ Z @ beta / delta
        assert model.omegas_[k] == pytest.approx(omega, rel=1e-7, abs=1e-9)
    assert (excess <= delta / n * model.omegas_ + 1e-9).all()
    assert model.certificate_.lower <= least + 1e-9
    assert model.certificate_.gap == pytest.approx(delta / n * model.omegas_[-1], rel=1e-4)
    # The last iterations are near the optimum, up to the size of the step.
    assert excess[-1] <= delta / n * 4 * 0.02


@by_shape
def test_the_path_gives_back_every_model(data):
    for model in (
        LSBoost(eps=0.2, max_iter=25),
        RegularizedForwardStagewise(eps=0.5, delta=3.0, max_iter=25),
    ):
        model.fit(*data)
        path = model.path_
        shorter = type(model)(**{**model.get_params(), "max_iter": 10}).fit(*data)
        np.testing.assert_allclose(path.coef(10), shorter.coef_, atol=1e-10)
        assert path.intercept(10) == pytest.approx(shorter.intercept_)
        for k in (0, 10, 25):
            r = data.y - data.X @ path.coef(k) - path.intercept(k)
            assert path.losses[k] == pytest.approx(r @ r / (2 * len(r)))
            assert path.lengths[k] == pytest.approx(np.abs(path.unit_coef(k)).sum())
            assert path.nonzeros[k] == np.count_nonzero(path.unit_coef(k))
        with refuses("k", naming="25"):
            path.coef(26)
        with refuses("k", naming="25"):
            model.certificate_.at(26)


@pytest.mark.parametrize("layout", LAYOUTS)
@by_shape
def test_every_layout_makes_the_same_steps(layout, data):
    for model in (LSBoost(eps=0.2, max_iter=30), ForwardStagewise(eps=0.1, max_iter=30)):
        expected = path_of(model.fit(*data))
        other = type(model)(**model.get_params()).fit(LAYOUTS[layout](data.X), data.y)
        np.testing.assert_allclose(path_of(other), expected, atol=1e-9)
        assert other.certificate_.verify(*data)


def test_weights_are_repetitions():
    times = np.random.default_rng(4).integers(0, 3, len(TALL.y))
    for model in (
        LSBoost(eps=0.2, max_iter=30),
        RegularizedForwardStagewise(eps=0.3, delta=4.0, max_iter=30),
    ):
        weighted = model.fit(*TALL, sample_weight=times)
        path, items = path_of(weighted), weighted.certificate_.at(30)
        repeated = model.fit(np.repeat(TALL.X, times, 0), np.repeat(TALL.y, times))
        np.testing.assert_allclose(path, path_of(repeated), atol=1e-9)
        for a, b in zip(items, repeated.certificate_.at(30), strict=True):
            assert a.bound == pytest.approx(b.bound, rel=1e-6)
            assert a.measured == pytest.approx(b.measured, rel=1e-6, abs=1e-12)


def test_ties_go_to_the_lowest_index_or_by_the_seed():
    X = np.repeat(TALL.X[:, :1], 5, axis=1)
    first = LSBoost(max_iter=50).fit(X, TALL.y)
    assert np.flatnonzero(first.coef_).tolist() == [0]
    drawn = [
        LSBoost(max_iter=50, ties="random", random_state=seed).fit(X, TALL.y) for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(drawn[0].coef_, drawn[1].coef_)
    assert (drawn[0].coef_ != drawn[2].coef_).any()
    assert np.count_nonzero(drawn[0].coef_) == 5
    assert all(model.certificate_.holds for model in drawn)


def test_it_ends_where_nothing_is_left_to_explain():
    X, _ = TALL
    exact = LSBoost(eps=1.0, max_iter=5000).fit(X, X @ np.ones(X.shape[1]))
    assert exact.n_iter_ < 5000
    np.testing.assert_allclose(exact.coef_, 1.0, atol=1e-6)
    constant = ForwardStagewise().fit(X, np.full(len(X), 3.0))
    assert constant.n_iter_ == 0
    assert constant.intercept_ == pytest.approx(3.0)
    assert constant.certificate_.holds


def test_a_changed_model_or_other_data_do_not_pass():
    model = LSBoost(max_iter=60).fit(*TALL)
    certificate = model.certificate_
    swapped = TALL.y.copy()
    swapped[[0, 1]] = TALL.y[[1, 0]]
    assert not certificate.verify(TALL.X, swapped)
    model.coef_ = model.coef_ * (1 + 1e-6)
    assert not model.certificate_.holds
    assert not model.certificate_.verify(*TALL)


@pytest.mark.parametrize("change", ["chosen", "steps"])
def test_a_forged_run_is_found_out(change):
    from dataclasses import replace

    for model in (LSBoost(max_iter=60), ForwardStagewise(max_iter=60)):
        run = model.fit(*WIDE).certificate_.witness
        forged = getattr(run, change).copy()
        forged[30] = (forged[30] + 1) % WIDE.X.shape[1] if change == "chosen" else 2 * forged[30]
        found = replace(run, **{change: forged}).check(*WIDE)
        assert not found.holds
        assert "step of the run" in found.objection


def test_certificates_travel():
    model = RegularizedForwardStagewise(eps=0.3, delta=4.0, max_iter=30).fit(*TALL)
    again = pickle.loads(pickle.dumps(model))
    assert again.certificate_.at(30) == model.certificate_.at(30)
    assert again.certificate_.verify(*TALL)
    assert model.certificate_.to_dict(witness=True)["witness"]["algorithm"] == "R-FS"


def test_too_many_columns_for_the_spectrum(monkeypatch):
    """What needs no eigenvalue is still bounded; the rest is left open, and never said to hold."""
    import cotas.certificates.theorems.unit_columns as module

    monkeypatch.setattr(module, "LARGEST_SPECTRUM", 3)
    needs_no_eigenvalue = ["correlation", "length of the coefficients"]
    needs_no_eigenvalue.append("coefficients that are not zero")
    for data in (TALL, WIDE):
        items = ForwardStagewise(max_iter=400).fit(*data).certificate_.at(400)
        assert [item.name for item in items if item.holds] == needs_no_eigenvalue
        assert all(item.vacuous for item in items if not item.holds)
        boost = LSBoost(max_iter=400).fit(*data).certificate_
        assert boost.holds
        assert boost.vacuous
        assert [item.name for item in boost.at(400) if item.holds] == needs_no_eigenvalue[1:]
        regularized = RegularizedForwardStagewise(delta=3.0, max_iter=400).fit(*data)
        assert regularized.certificate_.holds
        assert all(item.holds for item in regularized.certificate_.at(400))


def test_columns_fetched_one_by_one_make_the_same_run(monkeypatch):
    import cotas.solvers.stagewise as module

    expected = path_of(LSBoost(max_iter=100).fit(*WIDE))
    for cache in (0, 1 << 30):
        monkeypatch.setattr(module, "WIDEST_GRAM", 0)
        monkeypatch.setattr(module, "CACHED_BYTES", cache)
        np.testing.assert_allclose(path_of(LSBoost(max_iter=100).fit(*WIDE)), expected, atol=1e-9)


def test_long_runs_are_measured_at_some_iterations(monkeypatch):
    import cotas.certificates.theorems.stagewise_bounds as module

    exact = ForwardStagewise(max_iter=800).fit(*WIDE).certificate_
    every = LSBoost(max_iter=800).fit(*WIDE).certificate_
    monkeypatch.setattr(module, "EVERY_ITERATION", 0)
    some = ForwardStagewise(max_iter=800).fit(*WIDE).certificate_
    assert 60 < len(np.unique(module.iterations_to_visit(800, some_columns(), False))) < 150
    assert some.holds
    boost = LSBoost(max_iter=800).fit(*WIDE).certificate_
    # What is not measured is bounded by the loss, which is known at every iteration.
    assert (boost.proof.measured >= every.proof.measured * (1 - 1e-9)).all()
    np.testing.assert_array_equal(boost.proof.holds, every.proof.holds)
    at_end = {item.name: item for item in exact.at(800)}
    for item in some.at(800):
        assert item.bound == pytest.approx(at_end[item.name].bound)


def some_columns():
    from cotas.certificates.theorems.unit_columns import UnitColumns

    return UnitColumns(*WIDE, None, True)


# ---- planned beforehand ----------------------------------------------------------------------


@pytest.mark.parametrize("eps", [0.3, 1.0])
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_the_iterations_planned_are_enough(eps, share):
    X, y = regression(40, 4)
    k = LSBoost(eps=eps).iterations_for(X, share)
    run = LSBoost(eps=eps, max_iter=k).fit(X, y)
    best = LeastSquares().fit(X, y).certificate_
    left = run.path_.losses[-1] - best.lower
    assert left <= share * (run.path_.losses[0] - best.upper)
    # γ by hand, and the smallest k with γᵏ ≤ share.
    Z = (X - X.mean(0)) / np.linalg.norm(X - X.mean(0), axis=0)
    gamma = 1 - eps * (2 - eps) * np.linalg.eigvalsh(Z.T @ Z)[0] / (4 * X.shape[1])
    assert k == pytest.approx(np.log(share) / np.log(gamma), rel=1e-3, abs=1)


def test_what_cannot_be_planned():
    X, _ = regression(40, 4)
    with refuses("X"):
        LSBoost().iterations_for(np.column_stack([X, X[:, 0] + 1e-12 * X[:, 1]]))
    with refuses("eps", naming="weak_learner"):
        LSBoost("stump").iterations_for(X)
    with refuses("share"):
        LSBoost().iterations_for(X, share=0.0)


@pytest.mark.parametrize("kind", [LSBoost, ForwardStagewise])
def test_a_figure_is_printed_on_the_side_that_its_name_promises(kind):
    """What is at most so much is rounded up, and says the same as the statement."""
    certificate = kind(max_iter=30).fit(*TALL).certificate_
    printed = dict(certificate_lines(certificate))
    told = printed["training error above the best, at most"]
    assert float(told) >= certificate.lower
    assert f"at most {told} above" in certificate.statement
    assert float(printed["λ_pmin, at least"]) <= certificate.figures["λ_pmin, at least"]
    assert float(printed["‖Xβ_LS‖², at most"]) >= certificate.figures["‖Xβ_LS‖², at most"]
