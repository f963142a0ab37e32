"""How a fit of the support vector machine runs: threads, Ctrl-C, progress, resuming."""

import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from cotas import LinearSVM
from cotas.exceptions import InterruptedWarning, NotSeparableError
from cotas.stops import Stop
from problems import clouds, three_clouds

SOLVERS = ["newton", "interior-point", "dual-coordinate-ascent"]
by_solver = pytest.mark.parametrize("solver", SOLVERS)


@by_solver
def test_threads_do_not_change_the_result(solver):
    X, y = three_clouds()
    model = LinearSVM(lam=0.05, solver=solver, tol=0.02, random_state=3)
    alone = clone(model).set_params(n_jobs=1).fit(X, y)
    for n_jobs in (None, 2, -1):
        together = clone(model).set_params(n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(alone.coef_, together.coef_)
        np.testing.assert_array_equal(alone.intercept_, together.intercept_)
        for a, b in zip(alone.certificate_.singles, together.certificate_.singles, strict=True):
            assert a.to_dict(witness=True) == b.to_dict(witness=True)


def whole_numbers(n, d):
    """Rows of small whole numbers, and classes that overlap."""
    random = np.random.default_rng(0)
    X = random.integers(-3, 4, size=(n, d)).astype(float)
    return X, (X @ random.normal(size=d) + random.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("data", [load_iris(return_X_y=True), whole_numbers(300, 10)])
def test_rounds_of_ascent_on_a_small_table_are_worth_something(data, bias):
    model = LinearSVM(solver="dual-coordinate-ascent", fit_intercept=bias, random_state=0)
    model.fit(*data)
    assert model.stop_ is Stop.PROVED
    assert model.n_iter_ <= 60


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["auto", "dual-coordinate-ascent"])
def test_one_round_of_ascent_on_sparse_rows_gets_somewhere(solver):
    X = sparse.random(2000, 3000, 0.01, format="csr", random_state=0)
    y = X @ np.random.default_rng(0).normal(size=3000) > 0
    for lam in (1e-2, 1e-3, 1e-4):
        model = LinearSVM(lam=lam, max_iter=1, solver=solver, random_state=0).fit(X, y)
        assert model.certificate_.relative_gap <= 0.2


@pytest.mark.parametrize("solver", ["auto", "dual-coordinate-ascent"])
def test_rows_without_any_entry_are_solved(solver):
    model = LinearSVM(solver=solver, random_state=0)
    model.fit(sparse.csr_matrix((60, 400)), np.arange(60) % 3 == 0)
    assert model.stop_ is Stop.PROVED
    assert model.certificate_.upper == pytest.approx(2 / 3)


def test_callbacks_are_called_by_one_thread_at_a_time():
    X, y = three_clouds()
    inside, labels = threading.Lock(), set()

    def callback(report):
        assert inside.acquire(blocking=False)
        time.sleep(0.002)
        labels.add(int(report.label))
        inside.release()

    LinearSVM(lam=0.05, n_jobs=3, callbacks=callback).fit(X, y)
    assert labels == {0, 1, 2}


def test_an_error_in_one_class_is_the_error_of_the_fit():
    X, y = three_clouds()

    def broken(report):
        raise RuntimeError("no more paper")

    with pytest.raises(RuntimeError, match="paper"):
        LinearSVM(n_jobs=3, callbacks=broken).fit(X, y)
    with pytest.raises(NotSeparableError):
        LinearSVM(n_jobs=3, margin="hard").fit(X, y)


@pytest.fixture
def listening_to_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads here")
@pytest.mark.usefixtures("listening_to_ctrl_c")
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_ctrl_c_ends_all_the_classes_and_keeps_the_best_of_each(n_jobs):
    X, y = three_clouds()
    pressed = threading.Event()

    def press(report):
        if report.iteration == 2 and not pressed.is_set():
            pressed.set()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.05)

    model = LinearSVM(
        solver="dual-coordinate-ascent",
        tol=1e-16,
        max_iter=10**9,
        n_jobs=n_jobs,
        callbacks=press,
        random_state=0,
    )
    with (
        pytest.warns(InterruptedWarning),
        pytest.warns(ConvergenceWarning),
    ):
        model.fit(X, y)
    assert model.stop_ is Stop.INTERRUPTED
    for certificate in model.certificate_.singles:
        assert certificate.verify(X, y)


def test_the_progress_bar_shows_the_gap(capsys, monkeypatch):
    import tqdm.auto

    class Bar(tqdm.auto.tqdm):
        def __init__(self, *args, **options):
            super().__init__(*args, **{**options, "delay": 0, "mininterval": 0})

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    X, y = clouds(80, 3)
    LinearSVM(progress=True).fit(X, y)
    shown = capsys.readouterr().err
    assert "LinearSVM" in shown
    assert "gap=" in shown
    LinearSVM(progress=False).fit(X, y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_reach_the_same_optimum(bias, weighted, solver):
    X, y = clouds(90, 4)
    weights = np.arange(90) % 4 if weighted else None
    tol = 1e-7
    model = LinearSVM(lam=0.1, fit_intercept=bias, max_iter=20_000, random_state=0)
    exact = clone(model).set_params(tol=1e-9).fit(X, y, sample_weight=weights)
    other = clone(model).set_params(solver=solver, tol=tol).fit(X, y, sample_weight=weights)
    best, found = exact.certificate_, other.certificate_
    assert found.relative_gap <= tol
    assert found.verify(X, y)
    assert found.lower <= best.upper + best.charge
    assert best.lower - best.charge <= found.upper <= best.upper + tol
    radius = np.sqrt(2 * found.gap / 0.1) + np.sqrt(2 * best.gap / 0.1)
    assert np.linalg.norm(other.coef_ - exact.coef_) <= radius + 1e-9


# ---- going on ---------------------------------------------------------------------------------

REACHABLE = {
    "newton": 1e-8,
    "interior-point": 1e-9,
    "dual-coordinate-ascent": 1e-7,
}


@pytest.fixture
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.usefixtures("quietly")
@by_solver
@pytest.mark.parametrize("bias", [True, False])
def test_a_resumed_fit_reaches_the_same_optimum_and_never_falls_behind(solver, bias):
    X, y = clouds(150, 4)
    model = LinearSVM(lam=0.1, solver=solver, tol=REACHABLE[solver], fit_intercept=bias)
    model.set_params(random_state=0, warm_start=True)
    whole = clone(model).fit(X, y).certificate_
    model.set_params(max_iter=2)
    gaps = [model.fit(X, y).certificate_.gap for _ in range(3)]
    assert (np.diff(gaps) <= whole.charge).all()
    certificate = model.set_params(max_iter=1000).fit(X, y).certificate_
    assert model.stop_ is Stop.PROVED
    assert certificate.verify(X, y)
    assert certificate.lower <= whole.upper + whole.charge
    assert whole.lower <= certificate.upper + certificate.charge
    model.fit(X, y)
    assert model.n_iter_ == 0  # nothing was left to do


@pytest.mark.usefixtures("quietly")
@pytest.mark.parametrize("solver", ["interior-point"])
@pytest.mark.parametrize("bias", [True, False])
def test_what_was_done_need_not_be_done_again(solver, bias):
    X, y = clouds(300, 5)
    model = LinearSVM(lam=0.1, solver=solver, tol=REACHABLE[solver], fit_intercept=bias)
    model.set_params(random_state=0, warm_start=True)
    whole = clone(model).fit(X, y).n_iter_
    model.set_params(max_iter=(3 * whole) // 4).fit(X, y)
    assert model.stop_ is Stop.ITERATIONS
    rest = model.set_params(max_iter=1000).fit(X, y).n_iter_
    assert 0 < rest < whole


@pytest.mark.usefixtures("quietly")
@by_solver
def test_it_goes_on_after_ctrl_c_and_after_a_pickle(solver):
    X, y = three_clouds()

    def interrupt(report):
        if report.iteration == 2:
            raise KeyboardInterrupt

    model = LinearSVM(lam=0.1, solver=solver, tol=REACHABLE[solver], random_state=0)
    with pytest.warns(InterruptedWarning):
        model.set_params(callbacks=interrupt, n_jobs=1).fit(X, y)
    before = [certificate.gap for certificate in model.certificate_.singles]
    model = pickle.loads(pickle.dumps(model.set_params(callbacks=None, warm_start=True)))
    model.set_params(max_iter=1).fit(X, y)
    for certificate, gap in zip(model.certificate_.singles, before, strict=True):
        assert certificate.gap <= gap + certificate.charge
        assert certificate.verify(X, y)


@by_solver
def test_other_weights_another_lam_or_other_features_are_a_start_too(solver):
    X, y = clouds(100, 4)
    model = LinearSVM(lam=0.2, solver=solver, tol=REACHABLE[solver], random_state=0)
    model.set_params(warm_start=True, max_iter=20_000).fit(X, y)
    weights = np.arange(100) % 3
    for data, lam, given in [
        (X, 0.1, None),
        (X, 0.1, weights),
        (X[:, :2], 0.1, None),
        (X, 0.3, None),
    ]:
        resumed = model.set_params(lam=lam).fit(data, y, sample_weight=given).certificate_
        fresh = clone(model).fit(data, y, sample_weight=given).certificate_
        assert resumed.verify(data, y)
        assert abs(resumed.upper - fresh.upper) <= REACHABLE[solver]


def test_other_rows_or_classes_begin_anew():
    X, y = clouds(100, 4)
    model = LinearSVM(lam=0.1, warm_start=True).fit(X, y)
    for data, labels in [(X[:60], y[:60]), (X, np.where(y > 0, "a", "b")), three_clouds(100)]:
        model.fit(data, labels)
        fresh = LinearSVM(lam=0.1).fit(data, labels)
        np.testing.assert_array_equal(model.coef_, fresh.coef_)
        assert model.n_iter_ == fresh.n_iter_ > 0
    assert LinearSVM(margin="hard", warm_start=True).fit(X[:3], y[:3]).fit(X[:3], y[:3])


@pytest.mark.usefixtures("quietly")
@pytest.mark.parametrize(
    ("solver", "tol"),
    [("interior-point", 1e-8), ("dual-coordinate-ascent", 1e-5)],
)
def test_a_start_from_another_problem_does_no_harm(solver, tol):
    for seed in (*range(12), 60):
        random = np.random.default_rng(seed)
        n, d = random.integers(4, 80), random.integers(1, 12)
        X = random.normal(size=(n, d)) * 10.0 ** random.integers(-1, 2, d)
        y = np.where(random.random(n) < random.choice([0.15, 0.5]), 1, -1)
        y[0], y[-1] = 1, -1
        lam, bias = 10.0 ** random.uniform(-2, 0), random.random() < 0.6
        model = LinearSVM(lam=lam, solver=solver, tol=tol, fit_intercept=bool(bias))
        model.set_params(random_state=0, max_iter=300, warm_start=True).fit(X, y)
        flipped = y.copy()
        flipped[1:-1] *= random.choice([-1, 1], n - 2)
        weights = random.choice([0, 1, 5], n)
        weights[[0, -1]] = 1
        for changes, data in [
            ({}, (-X + random.normal(size=d), y, None)),
            ({}, (X, flipped, None)),
            ({"lam": lam / 3}, (X, y, weights)),
        ]:
            resumed = model.set_params(**changes).fit(*data)
            fresh = clone(model).fit(*data)
            assert resumed.certificate_.verify(*data[:2])
            if fresh.certificate_.relative_gap <= tol:
                assert resumed.certificate_.relative_gap <= tol


@pytest.mark.parametrize("classes", [2, 3])
def test_callbacks_are_told_of_a_hard_margin_once_for_each_class_whatever_the_time(classes):
    X = np.array([[0.0, 1.0], [0.1, 1.2], [1.0, -1.0], [1.1, -0.8], [-1.0, -1.0], [-1.1, -0.9]])
    y, reports = np.array([0, 0, 1, 1, 2, 2]), []
    X, y = X[y < classes], y[y < classes]
    options = {"margin": "hard", "max_time": 1e-9, "n_jobs": 1}
    model = LinearSVM(callbacks=reports.append, **options).fit(X, y)
    assert [report.label for report in reports] == list(range(classes))[-len(model.coef_) :]
    assert [report.certificate.gap for report in reports] == [
        one.gap for one in model.certificate_.singles
    ]
    assert model.stop_ is Stop.THEORY
    assert LinearSVM(callbacks=lambda report: True, **options).fit(X, y).stop_ is Stop.CALLBACK

    def press(report):
        raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        again = LinearSVM(callbacks=press, **options).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("max_iter", [1, 19, 21, 30])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_there_are_no_more_iterations_than_allowed(loss, max_iter):
    X, y = load_iris(return_X_y=True)
    model = LinearSVM(lam=1e-6, loss=loss, tol=1e-15, max_iter=max_iter, solver="newton")
    with pytest.warns(ConvergenceWarning):
        assert model.fit(X, y).n_iter_ <= max_iter


@pytest.mark.parametrize("lam", [1e-6, 1e-9])
def test_a_small_penalty_is_proved_on_wide_sparse_rows(lam):
    """Newton's turn comes only where the ascent does not get on: from there it would spoil it."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 500), density=0.02, format="csr", rng=rng)
    y = X @ rng.normal(size=500) + 0.1 * rng.normal(size=600) > 0
    model = LinearSVM(lam=lam, max_iter=100).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol


def test_random_state_is_looked_at_whatever_the_solver():
    with pytest.raises(ValueError, match="RandomState"):
        LinearSVM(lam=0.1, random_state="foo").fit(*load_iris(return_X_y=True))
