"""The support vector machine: both solvers reach the optimum that is proved."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from cotas import LinearSVM, Pegasos, separability
from cotas.exceptions import NotSeparableError
from cotas.stops import InterruptedWarning, Stop
from errors import refuses
from problems import LAYOUTS, clouds, labelled, separable, three_clouds

SOLVERS = ["newton", "interior-point", "dual-coordinate-ascent"]
STEPWISE = SOLVERS[:3]
by_solver = pytest.mark.parametrize("solver", SOLVERS)
by_stepwise_solver = pytest.mark.parametrize("solver", STEPWISE)


def objective(X, y, lam, theta, theta0, weights=None):
    weights = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
    return weights @ np.maximum(0, 1 - y * (X @ theta + theta0)) + lam / 2 * theta @ theta


@by_solver
@pytest.mark.parametrize("bias", [True, False])
@given(data=labelled(), lam=st.sampled_from([0.01, 0.1, 1.0]), weighted=st.booleans())
def test_proves_its_optimum(solver, bias, data, lam, weighted):
    weights = np.linspace(0.2, 2, len(data.y)) if weighted else None
    model = LinearSVM(
        lam=lam, solver=solver, fit_intercept=bias, tol=1e-5, max_iter=20_000, random_state=0
    ).fit(*data, sample_weight=weights)
    certificate = model.certificate_
    assert certificate.relative_gap <= 1e-5
    assert certificate.verify(*data)
    theta, theta0 = model.coef_[0], model.intercept_[0]
    assert certificate.upper == pytest.approx(objective(*data, lam, theta, theta0, weights))
    # Nothing lies below the lower bound.
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.01, 0.1, 1.0):
        other = theta + scale * rng.normal(size=len(theta))
        value = objective(*data, lam, other, theta0 + scale * rng.normal() * bias, weights)
        assert certificate.lower <= value + 1e-12


@pytest.mark.parametrize("lam", [1e-3, 1e-2, 1.0])
def test_solvers_agree_with_each_other_and_with_libsvm(lam):
    X, y = clouds(150, 4)
    fits = [
        LinearSVM(lam=lam, solver=s, tol=1e-9, max_iter=100_000, random_state=0).fit(X, y)
        for s in SOLVERS
    ]
    peer = SVC(kernel="linear", C=1 / (lam * len(y)), tol=1e-9).fit(X, y)
    theirs = objective(X, y, lam, peer.coef_[0], peer.intercept_[0])
    for model in fits:
        assert model.certificate_.upper <= theirs * (1 + 1e-8)
        # ‖θ − θ*‖ ≤ √(2·gap/λ) for each of them.
        radius = sum(np.sqrt(2 * fit.certificate_.gap / lam) for fit in fits)
        assert np.linalg.norm(model.coef_ - fits[0].coef_) <= radius + 1e-12


@by_solver
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(solver, layout):
    X, y = clouds(100, 4)
    model = LinearSVM(lam=0.05, solver=solver, tol=1e-7, max_iter=10_000, random_state=0)
    expected = clone(model).fit(X, y)
    other = clone(model).fit(LAYOUTS[layout](X), y)
    assert other.certificate_.upper == pytest.approx(expected.certificate_.upper, abs=2e-7)
    assert other.certificate_.verify(X, y)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(2))
def test_small_tables_are_solved_as_large_ones_are(monkeypatch, seed, loss, bias):
    """Rounds or steps in one compiled call, and one by one over all the rows: the same optimum."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(120, 6)), random.integers(0, 3, 120)
    weights = random.integers(0, 3, 120)
    model = LinearSVM(lam=0.01, tol=1e-8, loss=loss, fit_intercept=bias)
    small = clone(model).fit(X, y, weights)
    monkeypatch.setattr("cotas.solvers.newton_round.SMALL", 0)
    large = model.fit(X, y, weights)
    for a, b in zip(small.certificate_.parts, large.certificate_.parts, strict=True):
        assert a.holds
        assert b.holds
        assert max(a.lower, b.lower) <= min(a.upper, b.upper)
    np.testing.assert_allclose(small.coef_, large.coef_, atol=1e-3)


def test_badly_scaled_data_converge_too():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVM(lam=1 / len(y), tol=1e-8).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    peer = SVC(kernel="linear", C=1.0).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    theirs = objective(X, signs, 1 / len(y), peer.coef_[0], peer.intercept_[0])
    assert theirs > 1.01 * model.certificate_.upper  # silently more than one percent above


@by_solver
def test_integer_weights_are_repeated_rows(solver):
    X, y = clouds(60, 3)
    weights = np.arange(60) % 3
    model = LinearSVM(lam=0.1, solver=solver, tol=1e-8, max_iter=20_000, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.certificate_.upper == pytest.approx(repeated.certificate_.upper, abs=2e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2 * np.sqrt(2e-8 / 0.1))


def test_rows_that_are_no_support_vectors_do_not_matter_and_the_others_do():
    X, y = clouds(120, 3, noise=0.6)
    model = LinearSVM(lam=0.05, tol=1e-10)
    theta = model.fit(X, y).coef_.copy()
    support = model.support_
    assert 0 < len(support) < 120
    assert model.n_support_[0] == len(support)
    np.testing.assert_allclose(model.dual_coef_ @ X[support] / 0.05, theta[0], atol=1e-4)
    # Weights instead of removal keep the mean over all n rows in the objective.
    only = np.zeros(120)
    only[support] = 1.0
    kept = LinearSVM(lam=0.05 * 120 / len(support), tol=1e-10).fit(X[support], y[support])
    np.testing.assert_allclose(kept.coef_, theta, atol=1e-3)
    others = np.setdiff1d(np.arange(120), support)
    without = LinearSVM(lam=0.05, tol=1e-10).fit(X[others], y[others])
    assert np.linalg.norm(without.coef_ - theta) > 1e-2


def test_several_classes():
    X, y = three_clouds()
    model = LinearSVM(lam=0.01, tol=1e-6).fit(X, y)
    assert len(model.certificate_.parts) == len(model.support_) == 3
    for k, certificate in enumerate(model.certificate_.singles):
        assert certificate.relative_gap <= 1e-6
        assert certificate.verify(X, y)
        alone = LinearSVM(lam=0.01, tol=1e-6).fit(X, y == k)
        np.testing.assert_allclose(alone.coef_[0], model.coef_[k], atol=1e-8)


@pytest.mark.parametrize("more", [{}, {"max_iter": 2}, {"loss": "squared_hinge"}])
@by_stepwise_solver
def test_classes_proved_together_are_as_those_proved_one_by_one(solver, more):
    """Who is watched, here by a clock, is proved class by class."""
    X, y = three_clouds()
    given = {"solver": "auto" if "loss" in more else solver, "random_state": 0, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = LinearSVM(**given).fit(X, y)
        other = LinearSVM(max_time=1e6, **given).fit(X, y)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.intercept_, other.intercept_)
    assert (one.stop_, one.n_iter_) == (other.stop_, other.n_iter_)
    assert one.certificate_.verify(X, y)


def test_ctrl_c_in_the_proof_of_all_classes_leaves_a_model(monkeypatch):
    X, y = three_clouds()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cotas.linear.dispatch.begun_together", interrupt)
    with pytest.warns(InterruptedWarning):
        model = LinearSVM().fit(X, y)
    assert model.stop_ is Stop.INTERRUPTED
    assert model.certificate_.verify(X, y)


def test_never_worse_than_pegasos():
    X, y = clouds(200, 5)
    exact = LinearSVM(lam=0.01, tol=1e-8).fit(X, y).certificate_
    stochastic = Pegasos(lam=0.01, random_state=0).fit(X, y).certificate_
    assert stochastic.lower <= exact.upper
    assert exact.lower <= stochastic.upper


@by_stepwise_solver
def test_stops_and_says_why(solver):
    X, y = clouds(200, 5)
    with pytest.warns(ConvergenceWarning):
        model = LinearSVM(solver=solver, tol=1e-12, max_iter=2, random_state=0).fit(X, y)
    assert model.stop_ is Stop.ITERATIONS
    assert model.certificate_.verify(X, y)
    with pytest.warns(ConvergenceWarning):
        model = LinearSVM(solver=solver, tol=1e-12, max_time=1e-9, random_state=0).fit(X, y)
    assert model.stop_ is Stop.TIME
    reports = []

    def second(report):
        reports.append(report)
        return len(reports) == 2

    with pytest.warns(ConvergenceWarning):
        model.set_params(callbacks=second, max_time=None).fit(X, y)
    assert model.stop_ is Stop.CALLBACK
    assert reports[0].certificate.kind == "duality"


@by_stepwise_solver
def test_ctrl_c_gives_the_best_so_far(solver):
    X, y = clouds(200, 5)

    def interrupt(report):
        if report.iteration == 3:
            raise KeyboardInterrupt

    model = LinearSVM(solver=solver, tol=1e-12, callbacks=interrupt, random_state=0)
    with pytest.warns(InterruptedWarning):
        model.fit(X, y)
    assert model.stop_ is Stop.INTERRUPTED
    assert model.certificate_.verify(X, y)


def test_a_perturbed_model_fails():
    X, y = clouds(80, 3)
    model = LinearSVM(lam=0.1).fit(X, y)
    assert model.certificate_.verify(X, y)
    model.coef_ = model.coef_ * 1.001
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, y)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [({"lam": 0}, "lam"), ({"tol": -1}, "tol"), ({"solver": "magic"}, "solver")],
)
def test_bad_parameters(parameters, name):
    with refuses(name):
        LinearSVM(**parameters).fit([[1.0], [2.0]], [0, 1])


def test_the_certificate_names_the_solver():
    X, y = clouds(60, 3)
    assert "newton" in str(LinearSVM().fit(X, y).certificate_)


@pytest.mark.parametrize("bias", [True, False])
@given(data=separable(max_rows=20, max_features=4))
def test_hard_margin_is_the_widest_of_all(bias, data):
    if not bias and not separability(*data, fit_intercept=False):
        with pytest.raises(NotSeparableError):
            LinearSVM(margin="hard", fit_intercept=False).fit(*data)
        return
    model = LinearSVM(margin="hard", fit_intercept=bias).fit(*data)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.verify(*data)
    assert certificate.gap <= 1e-6 * certificate.upper
    agreement = data.y * (data.X @ model.coef_[0] + model.intercept_[0])
    assert agreement.min() == pytest.approx(1.0, abs=1e-9)
    # Support vectors lie on the margin, and θ is their combination.
    assert agreement[model.support_] == pytest.approx(1.0, abs=1e-4)
    # No random separator keeps a larger distance.
    distance = 1 / np.linalg.norm(model.coef_[0])
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = model.coef_[0] + 0.3 * rng.normal(size=data.X.shape[1])
        scores = data.X @ other
        highest, lowest = scores[data.y < 0].max(), scores[data.y > 0].min()
        width = (lowest - highest) / 2 if bias else min(lowest, -highest)
        assert width / np.linalg.norm(other) <= distance * (1 + 1e-6)


def test_hard_margin_without_one_carries_the_proof():
    X, y = clouds(100, 3, noise=2.0)
    with pytest.raises(NotSeparableError) as caught:
        LinearSVM(margin="hard").fit(X, y)
    proof = caught.value.proof
    assert not proof.separable
    assert proof.verify(X, y == 1)


def test_a_soft_margin_tends_to_the_hard_one():
    X, y = clouds(100, 3, noise=0.3)
    hard = LinearSVM(margin="hard").fit(X, y)
    soft = LinearSVM(lam=1e-5, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(soft.coef_, hard.coef_, rtol=1e-3)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])
@given(data=labelled(), weighted=st.booleans())
def test_certified_predictions_are_those_of_the_optimum(bias, tol, data, weighted):
    weights = np.linspace(0.5, 1.5, len(data.y)) if weighted else None
    rough = LinearSVM(lam=0.1, tol=tol, fit_intercept=bias).fit(*data, sample_weight=weights)
    exact = LinearSVM(lam=0.1, tol=1e-11, fit_intercept=bias)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact.fit(*data, sample_weight=weights)
    new = np.vstack([data.X, np.random.default_rng(0).normal(size=(50, data.X.shape[1])) * 5])
    labels, certified = rough.certified_predict(new)
    np.testing.assert_array_equal(labels, rough.predict(new))
    # An optimum of high precision agrees wherever a claim was made, but for its own ties.
    clear = np.abs(exact.decision_function(new)) > 1e-4
    assert (labels == exact.predict(new))[certified & clear].all()


def test_better_fits_certify_more_predictions():
    X, y = three_clouds()
    shares = [
        LinearSVM(lam=0.01, tol=tol).fit(X, y).certified_predict(X)[1].mean()
        for tol in (1e-2, 1e-4, 1e-8)
    ]
    assert shares == sorted(shares)
    assert shares[-1] > 0.95
    model = LinearSVM(lam=0.01, tol=1e-8).fit(X, y)
    model.coef_ = model.coef_ + 1.0
    assert not model.certified_predict(X)[1].any()


def test_the_interval_of_the_bias_holds_every_best_bias():
    X, y = clouds(101, 3)
    region = LinearSVM(lam=0.1, tol=1e-3).fit(X, y)._regions[0]
    exact = LinearSVM(lam=0.1, tol=1e-12, max_iter=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact.fit(X, y)
    assert region.lowest_bias <= exact.intercept_[0] <= region.highest_bias
    assert np.linalg.norm(region.theta - exact.coef_[0]) <= region.radius


def test_leave_one_out_error_is_within_its_bound():
    X, y = clouds(40, 2)
    model = LinearSVM(lam=0.05, tol=1e-9).fit(X, y)
    wrong = 0
    for i in range(40):
        kept = np.arange(40) != i
        # The mean runs over one row less, so that λ has to grow to keep the same problem.
        part = LinearSVM(lam=0.05 * 40 / 39, tol=1e-9).fit(X[kept], y[kept])
        wrong += int(part.predict(X[[i]])[0] != y[i])
    assert wrong / 40 <= model.leave_one_out_bound_[0]
    np.testing.assert_allclose(model.margin_width_, 2 / np.linalg.norm(model.coef_, axis=1))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("solver", SOLVERS)
def test_wild_scales_end_with_a_certificate_that_holds(solver, seed):
    """Columns of any size, far from zero: whatever overflows or cancels, no error and no noise."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 31)), int(rng.integers(1, 6))
    offsets = rng.choice([0.0, 1.0], d) * 2.0 ** rng.uniform(0, 40, d)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-9, 9, d) + offsets
    y = np.append([1, -1], np.where(rng.random(n - 2) < 0.5, 1, -1))
    model = LinearSVM(lam=10.0 ** rng.uniform(-5, 1), solver=solver, max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y)


def test_multipliers_that_vanish_end_the_interior_point():
    X = np.array([[-1e6, 3.0], [3e6, 0.0], [0.0, -1.0], [3e6, 3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVM(lam=1e-4).fit(X, [1, -1, 1, -1])
    assert model.certificate_.holds
