"""What holds for every kernel support vector machine, whatever solved it."""

import copy
import pickle
import time
import tracemalloc

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import cotas
from cotas.certificates import KernelDualPoint
from cotas.kernel.training import KernelCheck
from cotas.kernels import RBF, Custom, Linear, Polynomial, gram
from cotas.solvers import smo as smo_module
from cotas.stops import InterruptedWarning, Stop
from errors import refuses
from problems import LAYOUTS, clouds, labelled, least_of_signed_dual, three_clouds

SETS = {
    "breast cancer": load_breast_cancer,
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
}


def scaled(name):
    X, y = SETS[name](return_X_y=True)
    return StandardScaler().fit_transform(X), y


def best_objective(K, y, lam, free_bias=True):
    """The least P, which is −λ times the least value of the signed dual."""
    n = len(y)
    return -lam * least_of_signed_dual(K, y.astype(float), np.full(n, 1 / n), lam, free_bias)


@settings(max_examples=25)
@given(labelled(max_rows=18), st.sampled_from([RBF(2.0), Linear(), Polynomial(2)]), st.booleans())
def test_the_certificate_brackets_the_optimum(data, kernel, bias):
    model = cotas.KernelSVM(kernel, lam=0.1, fit_intercept=bias, tol=1e-7).fit(data.X, data.y)
    best = best_objective(gram(kernel, data.X), data.y, 0.1, bias)
    certificate = model.certificate_
    slack = 1e-7 * max(1.0, best) + certificate.charge
    assert certificate.holds
    assert certificate.lower <= best + slack
    assert best <= certificate.upper + slack
    assert certificate.relative_gap <= 1e-7
    assert certificate.verify(data.X, data.y)


def test_raw_data_where_libsvm_stays_two_percent_above_the_optimum():
    X, y = load_breast_cancer(return_X_y=True)
    certificate = cotas.KernelSVM("linear", C=1.0, tol=1e-6).fit(X, y).certificate_
    assert certificate.relative_gap <= 1e-6
    libsvm = cotas.certify(SVC(kernel="linear", C=1.0, tol=1e-5).fit(X, y), X, y)
    assert libsvm.upper > 1.015 * certificate.upper


@pytest.mark.parametrize("bias", [True, False])
def test_all_solvers_of_the_linear_machine_agree(bias):
    X, y = clouds(120, 4)
    options = {"lam": 0.05, "fit_intercept": bias, "tol": 1e-9}
    linear = cotas.LinearSVM(**options).fit(X, y)
    for solver in ("smo", "smo-simple"):
        tol = 1e-9 if solver == "smo" else 1e-7
        model = cotas.KernelSVM("linear", solver=solver, **{**options, "tol": tol}).fit(X, y)
        assert model.certificate_.upper == pytest.approx(linear.certificate_.upper, abs=2 * tol)
        theta = model.dual_coef_[0] @ model.support_vectors_
        assert np.linalg.norm(theta - linear.coef_[0]) <= 2 * np.sqrt(2 * 2 * tol / 0.05)


@pytest.mark.parametrize("name", list(SETS))
def test_predictions_are_those_of_svc_wherever_they_are_certified(name):
    X, y = scaled(name)
    gamma = 1.0 / X.shape[1]
    model = cotas.KernelSVM(RBF(gamma=gamma), C=1.0, tol=1e-6).fit(X, y)
    labels, certified = model.certified_predict(X)
    assert certified.mean() > 0.8
    # SVC stops at a gap of its own, so its own uncertain rows are left out as well.
    peer = SVC(C=1.0, gamma=gamma, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    clear = (np.abs(peer.decision_function(X)).reshape(len(y), -1) > 1e-3).all(axis=1)
    assert clear.mean() > 0.8
    both = certified & clear
    np.testing.assert_array_equal(labels[both], peer.predict(X)[both])


def test_scores_are_those_of_svc():
    X, y = scaled("breast cancer")
    model = cotas.KernelSVM(RBF(gamma=0.05), C=2.0, tol=1e-10).fit(X, y)
    peer = SVC(C=2.0, gamma=0.05, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes(multiclass):
    X, y = three_clouds(150)
    model = cotas.KernelSVM(RBF(2.0), lam=0.01, multiclass=multiclass, tol=1e-6).fit(X, y)
    assert len(model.certificate_.parts) == 3
    for certificate in model.certificate_.singles:
        assert certificate.holds
        assert certificate.verify(X, y)
        assert not certificate.verify(X, np.roll(y, 1))
    assert model.decision_function(X).shape == (150, 3)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)]
    )
    assert model.n_support_.sum() == len(model.support_)
    order = y[model.support_]
    np.testing.assert_array_equal(order, np.sort(order))  # class by class


def test_a_pair_is_the_problem_of_its_two_classes_alone():
    X, y = three_clouds(150)
    model = cotas.KernelSVM(RBF(2.0), lam=0.01, tol=1e-8).fit(X, y)
    for certificate, (negative, positive) in zip(
        model.certificate_.singles, model.pairs_, strict=True
    ):
        some = np.isin(y, [negative, positive])
        alone = cotas.KernelSVM(RBF(2.0), lam=0.01, tol=1e-8).fit(X[some], y[some])
        assert certificate.upper == pytest.approx(alone.certificate_.upper, abs=1e-7)
        assert certificate.label == f"{negative} against {positive}"
        assert certificate.statement.startswith(certificate.label)


def test_weights_are_repetitions():
    X, y = clouds(60, 3)
    times = np.random.default_rng(0).integers(0, 4, 60)
    weighted = cotas.KernelSVM(RBF(1.5), lam=0.02, tol=1e-9).fit(X, y, sample_weight=times)
    repeated = cotas.KernelSVM(RBF(1.5), lam=0.02, tol=1e-9).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert weighted.certificate_.upper == pytest.approx(repeated.certificate_.upper, abs=1e-8)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=2e-3
    )
    assert weighted.certificate_.verify(X, y)


def test_class_weights_multiply_and_C_is_that_of_svc():
    X, y = clouds(90, 3)
    weights = {1: 3.0, -1: 0.5}
    ours = cotas.KernelSVM(RBF(1.5), C=2.0, class_weight=weights, tol=1e-10).fit(X, y)
    theirs = SVC(C=2.0, gamma=1 / 4.5, class_weight=weights, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_the_layout_of_the_data_does_not_matter(layout):
    X, y = clouds(150, 4)
    plain = cotas.KernelSVM(RBF(2.0), lam=0.01, tol=1e-7).fit(X, y)
    other = cotas.KernelSVM(RBF(2.0), lam=0.01, tol=1e-7).fit(LAYOUTS[layout](X), y)
    assert other.certificate_.upper == pytest.approx(plain.certificate_.upper, abs=2e-7)
    atol = 1e-4 if layout.endswith("float32") else 1e-3
    np.testing.assert_allclose(
        other.decision_function(LAYOUTS[layout](X)),
        plain.decision_function(X),
        atol=max(atol, 1e-3),
    )
    assert other.certificate_.verify(X, y)


def test_a_large_problem_in_single_precision_is_certified_in_double(monkeypatch):
    X, y = clouds(1500, 5, noise=1.5)
    monkeypatch.setattr(smo_module, "WORKING_SET", 64)
    model = cotas.KernelSVM(RBF(2.0), C=1.0, tol=1e-8, cache_mb=2).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    assert model.certificate_.verify(X, y)


def test_changes_of_the_model_or_the_data_are_noticed():
    X, y = clouds(80, 3)
    model = cotas.KernelSVM(RBF(1.0), lam=0.05).fit(X, y)
    assert model.certificate_.verify(X, y)
    swapped = y.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert not model.certificate_.verify(X, swapped)
    for attribute in ("dual_coef_", "intercept_"):
        changed = pickle.loads(pickle.dumps(model))
        assert changed.certificate_.holds
        getattr(changed, attribute)[...] += 1e-3
        assert not changed.certificate_.holds
        assert not changed.certificate_.verify(X, y)
    with pytest.raises(ValueError, match="read-only"):
        model.support_vectors_[0, 0] = 1.0


def test_a_dual_point_that_was_tampered_with_never_gives_a_false_bound():
    X, y = clouds(60, 3)
    model = cotas.KernelSVM(RBF(1.0), lam=0.05, tol=1e-8).fit(X, y)
    point, best = model.certificate_.witness, model.certificate_.upper
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = KernelDualPoint(
            point.problem,
            point.kernel,
            point.coef,
            point.intercept,
            point.positive,
            multipliers=rng.normal(0.5, 1.0, 60),
        )
        assert other.check(X, y).lower <= best + 1e-9


def test_a_warm_start_goes_on_where_the_last_fit_ended():
    X, y = clouds(1200, 4, noise=1.5)
    cold = cotas.KernelSVM(RBF(2.0), C=10.0, tol=1e-7)
    cold.fit(X, y)
    warm = cotas.KernelSVM(RBF(2.0), C=10.0, tol=1e-2, warm_start=True).fit(X, y)
    first = warm.n_iter_
    warm.set_params(tol=1e-7).fit(X, y)
    assert warm.certificate_.relative_gap <= 1e-7
    assert warm.n_iter_ < cold.n_iter_
    again = warm.fit(X, y)
    assert again.n_iter_ == 0
    assert first >= 1


def test_max_time_and_max_iterations_end_a_fit_with_an_honest_gap():
    X, y = clouds(1500, 4, noise=2.0)
    for limit in ({"max_iter": 1}, {"max_time": 1e-9}):
        with pytest.warns(ConvergenceWarning):
            model = cotas.KernelSVM(RBF(0.5), C=100.0, tol=1e-9, **limit).fit(X, y)
        assert model.stop_.name == ("TIME" if "max_time" in limit else "ITERATIONS")
        assert model.certificate_.holds
        assert model.certificate_.relative_gap > 1e-9
        assert model.certificate_.verify(X, y)


def test_a_callback_sees_the_gap_fall_and_can_end_the_fit():
    X, y = clouds(600, 4, noise=2.0)
    seen = []
    cotas.KernelSVM(RBF(0.5), C=10.0, tol=1e-6, callbacks=seen.append).fit(X, y)
    gaps = [report.certificate.gap for report in seen]
    assert gaps[-1] < gaps[0]
    model = cotas.KernelSVM(RBF(0.5), C=10.0, tol=1e-6, callbacks=[lambda report: True])
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.stop_.name == "CALLBACK"


@pytest.mark.parametrize("small", [True, False])
def test_an_interrupted_fit_returns_the_best_model_so_far(small, monkeypatch):
    """Ctrl-C arrives in the main thread, between two working sets or while pairs are waited for."""
    X, y = three_clouds(300) if small else clouds(1500, 4, noise=2.0)
    calls = []

    def interrupt(self, candidate):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, candidate)

    original = KernelCheck.point
    monkeypatch.setattr(KernelCheck, "point", interrupt)
    with pytest.warns(InterruptedWarning):
        model = cotas.KernelSVM(RBF(0.3), C=100.0, tol=1e-10).fit(X, y)
    assert model.certificate_.holds
    assert model.predict(X).shape == y.shape


def test_memory_stays_under_the_cache_and_a_constant():
    X, y = clouds(4000, 4, noise=2.0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    cotas.KernelSVM(RBF(1.0), C=1.0, tol=1e-3, cache_mb=8).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    # A 1024 × 1024 matrix in both precisions, and blocks of 2 MB for each of several threads.
    assert peak < (8 + 60) * 2**20
    assert peak < 4000**2 * 8


def test_predictions_of_many_rows_need_little_memory():
    X, y = clouds(300, 4)
    model = cotas.KernelSVM(RBF(1.0), lam=0.01).fit(X, y)
    many = np.tile(X, (400, 1))
    expected = np.tile(model.decision_function(X), 400)
    tracemalloc.start()
    found = model.decision_function(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert peak < 60 * 2**20  # all of K would be 8 × 300 × 120,000 bytes, 288 MB


def test_any_kernel_and_a_precomputed_one():
    X, y = three_clouds(90)
    kernel = RBF(2.0) + 0.5 * Linear()
    model = cotas.KernelSVM(kernel, lam=0.02, tol=1e-8).fit(X, y)
    given = cotas.KernelSVM("precomputed", lam=0.02, tol=1e-8).fit(kernel(X), y)
    np.testing.assert_allclose(
        given.decision_function(kernel(X)), model.decision_function(X), atol=1e-3
    )
    own = Custom(lambda A, B: np.asarray(A) @ np.asarray(B).T, of="blocks")
    own_model = cotas.KernelSVM(own, lam=0.02, tol=1e-8).fit(X, y)
    linear = cotas.KernelSVM("linear", lam=0.02, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(own_model.predict(X), linear.predict(X))


def test_an_indefinite_kernel_is_refused_and_on_request_said_to_have_no_gap():
    X, y = clouds(40, 2)
    tanh = Custom(lambda x, z: np.tanh(2.0 * x @ z - 1.0))
    with refuses("kernel"):
        cotas.KernelSVM(tanh, lam=0.1).fit(X, y)
    model = cotas.KernelSVM(tanh, lam=0.1, indefinite="allow", max_iter=50).fit(X, y)
    assert model.certificate_.kind != "duality"


@pytest.mark.parametrize(
    ("bad", "parameter"),
    [
        ({"lam": 0}, "lam"),
        ({"C": -1.0}, "C"),
        ({"tol": np.nan}, "tol"),
        ({"cache_mb": 0}, "cache_mb"),
        ({"max_time": 0}, "max_time"),
        ({"max_iter": 0}, "max_iter"),
        ({"solver": "libsvm"}, "solver"),
        ({"multiclass": "all"}, "multiclass"),
        ({"kernel": "tanh"}, "kernel"),
        ({"class_weight": {1: 1.0, -1: 0.0}}, "sample_weight"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(bad, parameter):
    X, y = clouds(20, 2)
    with refuses(parameter):
        cotas.KernelSVM(**bad).fit(X, y)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_huge_and_tiny_scales(scale):
    X, y = clouds(60, 3)
    model = cotas.KernelSVM(lam=0.05).fit(scale * X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.score(scale * X, y) > 0.8


def test_odd_data():
    one_each = cotas.KernelSVM(RBF(1.0), lam=0.1, tol=1e-8).fit([[0.0], [1.0]], ["a", "b"])
    assert one_each.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    same = np.ones((10, 3))  # nothing to tell the classes apart by
    y = np.array([0, 1] * 5)
    model = cotas.KernelSVM(lam=0.1, tol=1e-8).fit(same, y)
    assert model.certificate_.upper == pytest.approx(1.0)
    zeros = cotas.KernelSVM("linear", lam=0.1, fit_intercept=False).fit(
        np.zeros((4, 2)), [0, 1, 0, 1]
    )
    assert zeros.certificate_.upper == pytest.approx(1.0)
    assert sparse.issparse(
        cotas.KernelSVM("linear").fit(sparse.csr_matrix(np.eye(6)), [0, 1] * 3).support_vectors_
    )


def test_the_time_of_a_report_is_measured():
    X, y = clouds(200, 3)
    began, seconds = time.perf_counter(), []
    cotas.KernelSVM(RBF(1.0), callbacks=lambda report: seconds.append(report.seconds)).fit(X, y)
    assert 0 <= seconds[-1] <= time.perf_counter() - began


@pytest.mark.parametrize("approximate", ["nystroem", "fourier"])
@pytest.mark.parametrize("bias", [True, False])
def test_an_approximate_machine_proves_what_it_solves(approximate, bias):
    X, y = clouds(200, 3, noise=1.2)
    options = {"lam": 0.01, "fit_intercept": bias, "tol": 1e-7}
    model = cotas.KernelSVM(
        RBF(2.0), approximate=approximate, n_components=40, random_state=0, **options
    ).fit(X, y)
    certificate = model.certificate_
    assert certificate.relative_gap <= 1e-7
    assert certificate.verify(X, y)
    assert not certificate.verify(X, -y)
    linear = cotas.LinearSVM(**options).fit(model.features_.transform(X), y)
    assert certificate.upper == pytest.approx(linear.certificate_.upper, abs=2e-7)
    np.testing.assert_array_equal(model.certified_predict(X)[1], False)
    model.coef_ = model.coef_ * 1.01
    assert not model.certificate_.holds


def test_random_features_estimate_the_kernel():
    X, _ = clouds(60, 3)
    y = np.arange(60) % 2
    for approximate, off in (("nystroem", 1e-9), ("fourier", 0.1)):
        model = cotas.KernelSVM(
            RBF(2.0), approximate=approximate, n_components=4000, random_state=0, tol=1e-3
        ).fit(X, y)
        Z = model.features_.transform(X)
        assert np.abs(Z @ Z.T - RBF(2.0)(X)).max() < off


def test_landmarks_that_are_all_the_rows_solve_the_exact_problem():
    X, y = clouds(80, 3)
    exact = cotas.KernelSVM(RBF(2.0), lam=0.02, tol=1e-8).fit(X, y)
    model = cotas.KernelSVM(RBF(2.0), lam=0.02, tol=1e-8, approximate="nystroem").fit(X, y)
    assert model.certificate_.upper == pytest.approx(exact.certificate_.upper, abs=1e-7)
    certificate = model.certify_exact(X, y)
    assert certificate.relative_gap <= 1e-6
    few = cotas.KernelSVM(
        RBF(2.0), lam=0.02, approximate="nystroem", n_components=5, random_state=0
    ).fit(X, y)
    rough = few.certify_exact(X, y)
    assert rough.lower <= exact.certificate_.upper <= rough.upper
    assert rough.upper == pytest.approx(few.certificate_.upper, abs=1e-9)  # the same model
    np.testing.assert_allclose(
        few.features_.map.kernel_(X, X[few.features_.landmarks])
        @ few.features_.expansion(few.coef_[0])
        + few.intercept_,
        few.decision_function(X),
        atol=1e-9,
    )
    fourier = cotas.KernelSVM(RBF(2.0), approximate="fourier", random_state=0).fit(X, y)
    assert fourier.certify_exact(X, y).kind == "none"


def test_approximations_of_several_classes_and_their_limits():
    X, y = three_clouds(120)
    for multiclass in ("ovo", "ovr"):
        model = cotas.KernelSVM(
            RBF(2.0), approximate="nystroem", n_components=30, multiclass=multiclass, random_state=1
        ).fit(X, y)
        assert all(certificate.verify(X, y) for certificate in model.certificate_.singles)
        assert model.score(X, y) > 0.7
    with refuses("approximate"):
        cotas.KernelSVM("linear", approximate="fourier").fit(X, y)
    with refuses("approximate"):
        cotas.KernelSVM("precomputed", approximate="nystroem").fit(X @ X.T, y)


@pytest.mark.parametrize("changed", ["support_vectors_", "dual_coef_", "intercept_", "kernel_"])
def test_few_rows_are_predicted_with_the_model_as_it_is_now(changed: str) -> None:
    """What is kept ready for the next prediction is that of no other model."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = cotas.KernelSVM(RBF(0.5), lam=0.01).fit(X, X[:, 0] * X[:, 1] > 0)
    before = model.decision_function(X[:1])
    held = getattr(model, changed)
    setattr(model, changed, RBF(2.0) if changed == "kernel_" else 1.5 * held + 0.5)
    again = copy.deepcopy(model)
    assert model.decision_function(X[:1]) != before
    np.testing.assert_allclose(model.decision_function(X[:1]), again.decision_function(X)[:1])


def copies_of(model, folder):
    """A model as others get it: in another process, from a file, or in memory."""
    joblib.dump(model, folder / "model")
    model.save(folder / "model.cotas")
    yield pickle.loads(pickle.dumps(model))
    yield copy.deepcopy(model)
    yield from (joblib.load(folder / "model", mmap_mode=mode) for mode in (None, "r", "c"))
    yield cotas.load(folder / "model.cotas")


def test_a_copy_of_a_model_keeps_its_support_vectors_ready_as_the_model_does(tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = cotas.KernelSVM(RBF(0.5), lam=0.01).fit(X, X[:, 0] * X[:, 1] > 0)
    for again in [model, *copies_of(model, tmp_path)]:
        assert again.decision_function(X[:1]) == model.decision_function(X[:1])
        assert again._blocks(again.support_vectors_) is again._blocks(again.support_vectors_)
        with pytest.raises(ValueError, match="read-only"):
            again.support_vectors_[0] = 0.0


def test_support_vectors_that_are_changed_in_spite_of_their_lock_are_those_that_predict() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = cotas.KernelSVM(RBF(0.5), lam=0.01).fit(X, X[:, 0] * X[:, 1] > 0)
    before = model.decision_function(X[:5])
    for changed in (True, False):
        model.support_vectors_.flags.writeable = True
        model.support_vectors_[:, 0] *= -1
        model.support_vectors_.flags.writeable = False
        now = model.decision_function(X[:5])
        np.testing.assert_array_equal(now, copy.deepcopy(model).decision_function(X[:5]))
        assert (now != before).any() == changed


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_a_small_table_is_solved_in_one_go(monkeypatch, C):
    """Also where pairs are slow: to begin again with another solver took twice the time."""

    def never(*_):
        raise AssertionError("the first proof was not enough")

    monkeypatch.setattr("cotas.fitting.pursuit.Pursuit.follow", never)
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5))
    y = X[:, 0] + random.normal(size=200) > 0
    model = cotas.KernelSVM(RBF(gamma=0.1), C=C).fit(X, y)
    assert model.stop_ is Stop.PROVED
    assert model.n_iter_ <= 5
