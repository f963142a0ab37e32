"""Every estimator of the package ends when it is asked to, says why, and keeps an honest model."""

import ast
import inspect
import itertools
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import cotas
from cotas.exceptions import InterruptedWarning
from cotas.fitting.certified import Certified
from cotas.running import thread_count
from cotas.stops import Stop
from errors import refuses
from problems import regression, three_clouds

SOURCES = Path(cotas.__file__).parent
# What makes an estimator take several steps on a small problem, where its defaults do not.
LONGER = {
    "LeastSquares": {"solver": "gradient", "standardize": True},
    "Ridge": {"solver": "gradient", "standardize": True},
    "KernelRidge": {"cache_mb": 1e-3},
    "KernelSVM": {"kernel": "linear", "C": 100.0},
    "LSBoost": {"eps": 1e-3, "max_iter": 30_000},
    "ForwardStagewise": {"eps": 1e-3, "max_iter": 30_000},
    "RegularizedForwardStagewise": {"eps": 1e-3, "max_iter": 30_000, "delta": 1e3},
}


def estimators():
    """Those of the public names that are trained step by step."""
    found = [getattr(cotas, name) for name in cotas.__all__]
    found = [one for one in found if inspect.isclass(one) and issubclass(one, Certified)]
    return [one for one in found if {"max_iter", "n_estimators", "tol"} & set(one().get_params())]


def model_of(kind, **options):
    """One that does not prove its gap at once, and takes more than one step."""
    given = {"tol": 1e-14} if isinstance(kind().get_params().get("tol"), float) else {}
    return kind(**{**given, **LONGER.get(kind.__name__, {}), **options})


def data_of(kind, classes=3):
    if not is_classifier(kind()):
        return regression(60, 5)
    X, y = three_clouds(90)
    return X, (y if classes == 3 else np.where(y == 2, 0, y))


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def those(which):
    """A test of each estimator of this sort."""
    kinds = [kind for kind in estimators() if which(kind)]
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.__name__)


every = those(lambda kind: True)


def check(model, X, y, stop):
    assert model.stop_ is stop
    assert isinstance(model.stop_reason_, str)
    assert model.predict(X).shape == y.shape
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y)


@every
def test_one_vocabulary_for_limits_and_for_watching(kind):
    assert {"max_time", "n_jobs", "callbacks", "progress"} <= set(kind().get_params())
    with refuses("max_time"):
        kind(max_time=-1.0).fit(*data_of(kind))
    with refuses("n_jobs", TypeError):
        kind(n_jobs="all").fit(*data_of(kind))


@every
@pytest.mark.parametrize("classes", [2, 3])
def test_without_time_there_is_a_model_that_predicts_and_can_be_kept(kind, classes, tmp_path):
    X, y = data_of(kind, classes)
    model = fit(model_of(kind, max_time=1e-9), X, y)
    check(model, X, y, Stop.TIME)
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    assert again.stop_ is Stop.TIME
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@every
@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("classes", [2, 3])
def test_ctrl_c_gives_the_model_so_far_with_its_certificate(kind, call, classes):
    X, y = data_of(kind, classes)
    calls = []

    def press(report):
        calls.append(report)
        if len(calls) == call:
            raise KeyboardInterrupt

    model = model_of(kind, callbacks=press, n_jobs=1)
    with pytest.warns(InterruptedWarning):
        model.fit(X, y)
    check(model, X, y, Stop.INTERRUPTED)
    assert len(calls) == call


@every
def test_ctrl_c_inside_the_first_step_gives_the_start(kind, monkeypatch):
    """Before any callback is told of anything."""
    X, y = data_of(kind)

    def pressed(source):
        raise KeyboardInterrupt

    monkeypatch.setattr("cotas.fitting.pursuit.Pursuit._walk", lambda self, source: pressed(source))
    with pytest.warns(InterruptedWarning):
        model = model_of(kind).fit(X, y)
    check(model, X, y, Stop.INTERRUPTED)


@every
def test_a_callback_ends_the_fit(kind):
    X, y = data_of(kind)
    model = fit(model_of(kind, callbacks=lambda report: True), X, y)
    check(model, X, y, Stop.CALLBACK)


@every
@pytest.mark.parametrize("classes", [2, 3])
def test_who_watches_sees_the_same_fit(kind, classes):
    X, y = data_of(kind, classes)
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    alone, seen, timed = (
        fit(kind(**seed, **more), X, y)
        for more in ({}, {"callbacks": lambda report: None}, {"max_time": 1e6})
    )
    for other in (seen, timed):
        np.testing.assert_array_equal(other._binary_scores(X), alone._binary_scores(X))
        assert other.stop_ is alone.stop_
        if classes == 2:  # several are proved together where nobody watches
            assert other.certificate_.upper == alone.certificate_.upper
            assert other.certificate_.lower == alone.certificate_.lower


@every
def test_one_thread_is_one_thread_in_the_fit_the_proof_and_the_predictions(kind, monkeypatch):
    X, y = data_of(kind)
    many = np.tile(X, (40, 1)), np.tile(y, 40)

    def submit(*_):
        raise AssertionError("a thread was asked for")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    monkeypatch.setattr("cotas.running.WORTH_A_THREAD", 1)
    short = {"max_iter": 3} if "max_iter" in kind().get_params() else {"n_estimators": 3}
    model = fit(kind(n_jobs=1, **short), *many)
    assert model.predict(many[0]).shape == many[1].shape


def told_of_three(kind, monkeypatch, max_time):
    """The labels in the reports of a fit of three parts, by a clock that ticks when it is asked."""
    (X, y), apart = data_of(kind), {}
    if not is_classifier(kind()):
        y = np.column_stack([y, -(y**2), X[:, 0] + y])
    elif kind().get_params().get("multiclass") == "softmax":
        apart = {"multiclass": "ovr"}
    labels, ticks = [], itertools.count()
    model = model_of(kind, n_jobs=1, max_time=max_time, callbacks=keep_label(labels), **apart)
    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: float(next(ticks)))
        fit(model, X, y)
    return labels, next(ticks)


def keep_label(labels):
    return lambda report: labels.append(getattr(report, "label", None))


def takes_three(kind):
    return is_classifier(kind()) or kind().__sklearn_tags__().target_tags.multi_output


@those(takes_three)
def test_each_class_or_target_has_its_share_of_the_time(kind, monkeypatch):
    labels, ticks = told_of_three(kind, monkeypatch, max_time=1e9)
    sooner, _ = told_of_three(kind, monkeypatch, max_time=ticks / 2)
    assert len(sooner) < len(labels)
    assert set(sooner) == set(labels)


def is_boosted(kind):
    return takes_three(kind) and "n_estimators" in kind().get_params()


@pytest.mark.parametrize("label", [0, 2])
@those(is_boosted)
def test_a_callback_that_ends_one_class_of_a_boosted_model_is_why_it_ended(kind, label):
    """Whichever class it is: there need be no gaps to say which one counts."""
    X, y = data_of(kind)
    model = fit(kind(n_estimators=3, callbacks=lambda report: report.label in (label, None)), X, y)
    check(model, X, y, Stop.CALLBACK)


def test_inside_a_worker_there_is_one_thread_unless_more_are_asked_for():
    def counts():
        return [thread_count(n_jobs) for n_jobs in (None, -1, 1, 3)]

    cores = thread_count(None)
    assert counts() == [cores, cores, 1, 3]
    inside = joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(counts)() for _ in "ab")
    assert inside == [[1, 1, 1, 3]] * 2
    alone = joblib.Parallel(n_jobs=1)(joblib.delayed(counts)() for _ in "a")
    assert alone == [counts()]


def test_no_line_of_the_package_reads_why_a_fit_ended_in_words():
    shown = SOURCES / "lab" / "descent.py"  # to whoever sits before the screen
    for path in SOURCES.rglob("*.py"):
        for node in [] if path == shown else ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "stop_reason_":
                assert isinstance(node.ctx, ast.Store), f"{path}:{node.lineno}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr":
                assert "stop_reason_" not in ast.unparse(node), f"{path}:{node.lineno}"


@every
def test_a_clone_has_not_ended(kind):
    assert not hasattr(clone(kind()), "stop_")


def goes_on(kind):
    return {"warm_start", "tol"} <= set(kind().get_params())


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e2, 1e3, 1e6])
@those(goes_on)
def test_a_warm_start_proves_what_a_cold_one_does(kind, scale):
    """Also where the data are others than those of the last fit."""
    X, y = data_of(kind)
    variants = {"penalty": ["l2", "l1"], "multiclass": ["softmax", "ovr"]}
    known = [name for name in variants if kind().get_params().get(name) == variants[name][0]]
    for values in itertools.product(*(variants[name] for name in known)):
        given = dict(zip(known, values, strict=True))
        cold = fit(kind(**given), scale * X, y)
        warm = fit(fit(kind(warm_start=True, **given), X, y), scale * X, y)
        assert cold.stop_ is not Stop.PROVED or warm.stop_ is Stop.PROVED
