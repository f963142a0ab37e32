"""Model files: what is loaded is what was saved, and a file is written whole or not at all."""

import dataclasses
import errno
import inspect
import json
import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cotas
from cotas import kernels, schedules, stops
from cotas.exceptions import ModelFileError
from cotas.files import atomic, kinds
from cotas.files.container import unpack
from cotas.files.encoding import ValueEncoder
from cotas.files.fingerprint import Fingerprint
from cotas.files.kinds import FAMILIES, PARTS
from cotas.files.kinds.values import KERNEL
from cotas.files.models import read_model_file, save, witness_hash
from cotas.files.schema import RECORDS, Estimator
from cotas.fitting.certified import Certified
from cotas.words import Said
from estimators import every_estimator
from file_format import words
from problems import clouds, regression, three_clouds

GOLDEN = Path(__file__).parents[1] / "golden"


def named_clouds():
    X, y = clouds(60, 3)
    return X, np.where(y > 0, "sí", "no")


def with_gaps():
    X, y = three_clouds(60, 3)
    X = X.copy()
    X[::7, 0] = np.nan
    X[:, 2] = np.round(X[:, 2])
    return X, y


TWO, THREE, REAL = named_clouds(), three_clouds(60, 3), regression(40, 5)
MANY_TARGETS = (REAL.X, np.column_stack([REAL.y, -2 * REAL.y + REAL.X[:, 0]]))
SPARSE = (sparse.csr_matrix(np.round(TWO[0])), TWO[1])
SINGLE = (TWO[0].astype(np.float32), TWO[1])
CATEGORIES = cotas.Tree(2, categorical_features=[2])
ALGEBRA = 2 * kernels.RBF(0.5).on([0, 1]) * kernels.Polynomial(2) + kernels.Linear() ** 2 + 0.5

CASES = {
    "Perceptron": (cotas.Perceptron(max_iter=5), TWO),
    "Perceptron sparse": (cotas.Perceptron(max_iter=5), SPARSE),
    "AveragedPerceptron": (cotas.AveragedPerceptron(max_iter=5), THREE),
    "PassiveAggressive": (cotas.PassiveAggressive(max_iter=5, average=True), TWO),
    "Pegasos": (cotas.Pegasos(lam=0.01, random_state=np.random.RandomState(3)), THREE),
    "Pegasos single": (cotas.Pegasos(lam=0.01, random_state=3), SINGLE),
    "Pegasos unproved": (cotas.Pegasos(lam=0.01, random_state=3, certify=False), TWO),
    "LinearSVM": (cotas.LinearSVM(lam=0.01), TWO),
    "LinearSVM three": (cotas.LinearSVM(lam=0.01, class_weight={0: 1.0, 1: 2.0, 2: 1.5}), THREE),
    "LinearSVM hard": (
        cotas.LinearSVM(margin="hard"),
        (np.array([[0.0], [1], [3], [4]]), np.arange(4) > 1),
    ),
    "LinearSVM squared": (cotas.LinearSVM(C=1.0, loss="squared_hinge"), THREE),
    "Pegasos C": (cotas.Pegasos(C=1.0, random_state=3), TWO),
    "LogisticRegression": (cotas.LogisticRegression(lam=0.01, warm_start=True), TWO),
    "LogisticRegression softmax": (cotas.LogisticRegression(lam=0.01, penalty="l1"), THREE),
    "LogisticRegression rest": (
        cotas.LogisticRegression(C=1.0, penalty="elasticnet", multiclass="ovr"),
        THREE,
    ),
    "KernelSVM": (cotas.KernelSVM(lam=0.01), TWO),
    "KernelSVM sparse": (cotas.KernelSVM(kernel="linear", lam=0.01), SPARSE),
    "KernelSVM pairs": (cotas.KernelSVM(lam=0.01), THREE),
    "KernelSVM rest": (cotas.KernelSVM(lam=0.01, multiclass="ovr"), THREE),
    "KernelSVM fourier": (
        cotas.KernelSVM(lam=0.01, approximate="fourier", n_components=20, random_state=0),
        TWO,
    ),
    "KernelSVM nystroem": (
        cotas.KernelSVM(lam=0.01, approximate="nystroem", n_components=20, random_state=0),
        THREE,
    ),
    "KernelSVM precomputed": (
        cotas.KernelSVM("precomputed", lam=0.01),
        (TWO[0] @ TWO[0].T, TWO[1]),
    ),
    "KernelPegasos": (cotas.KernelPegasos(ALGEBRA, max_iter=3, random_state=0), THREE),
    "KernelPerceptron": (cotas.KernelPerceptron(kernels.Gaussian(np.eye(3)), max_iter=3), TWO),
    "LeastSquares": (cotas.LeastSquares(), MANY_TARGETS),
    "LeastSquares descent": (
        cotas.LeastSquares(
            solver="stochastic",
            step=schedules.PowerLaw(0.01),
            stop=stops.ChangeOfJ(1e-9) | stops.MaxIterations(20),
            standardize=True,
            random_state=0,
            tol=10.0,
        ),
        REAL,
    ),
    "Ridge": (cotas.Ridge(lam=0.1), REAL),
    "Lasso": (cotas.Lasso(lam=0.1), REAL),
    "Lasso ball": (cotas.Lasso(delta=2.0), MANY_TARGETS),
    "ElasticNet": (cotas.ElasticNet(lam=0.1), REAL),
    "KernelRidge": (cotas.KernelRidge(lam=0.1), REAL),
    "KernelRidge linear": (cotas.KernelRidge("linear", lam=0.1), REAL),
    "KernelSVR": (cotas.KernelSVR(lam=0.1), REAL),
    "LinearSVR": (cotas.LinearSVR(C=1.0, warm_start=True), MANY_TARGETS),
    "HuberRegressor": (cotas.HuberRegressor(lam=0.1, epsilon=0.5), REAL),
    "LSBoost": (cotas.LSBoost(max_iter=30), REAL),
    "LSBoost stumps": (cotas.LSBoost("stump", 5), REAL),
    "LSBoost trees": (cotas.LSBoost(CATEGORIES, 4, loss="absolute"), with_gaps()),
    "LSBoost linear": (cotas.LSBoost("linear", 3), REAL),
    "ForwardStagewise": (cotas.ForwardStagewise(eps=[0.5] * 10 + [0.25] * 20, max_iter=30), REAL),
    "RegularizedForwardStagewise": (
        cotas.RegularizedForwardStagewise(delta=3.0, max_iter=30),
        REAL,
    ),
    "AdaBoost": (cotas.AdaBoost(n_estimators=5), TWO),
    "AdaBoost exact": (cotas.AdaBoost(cotas.Stump(search="exact"), n_estimators=5), TWO),
    "AdaBoost linear": (cotas.AdaBoost("linear", n_estimators=5), THREE),
    "AdaBoost samme": (cotas.AdaBoost(CATEGORIES, n_estimators=4, multiclass="samme"), with_gaps()),
    "RealAdaBoost": (cotas.RealAdaBoost(CATEGORIES, n_estimators=4), with_gaps()),
    "LogitBoost": (cotas.LogitBoost(CATEGORIES, n_estimators=4), with_gaps()),
    "GentleBoost": (cotas.GentleBoost("tree", n_estimators=4), TWO),
    "AnyBoost": (cotas.AnyBoost(n_estimators=4), TWO),
    "ConvexAnyBoost": (cotas.ConvexAnyBoost(n_estimators=4), TWO),
}


def fitted(name):
    model, (X, y) = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y), X, y


def certificates(model):
    return list(model.certificate_.singles)


@pytest.mark.parametrize("name", CASES)
def test_what_is_loaded_is_what_was_saved(name, tmp_path):
    model, X, y = fitted(name)
    path = tmp_path / "model.cotas"
    model.save(path)
    again = cotas.load(path)
    assert type(again) is type(model)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    for mine, theirs in zip(certificates(model), certificates(again), strict=True):
        assert repr(theirs.to_dict(witness=True)) == repr(mine.to_dict(witness=True))
        assert theirs.verify(X, y) == mine.verify(X, y) == (mine.kind != "none")
    again.save(tmp_path / "again.cotas")
    assert (tmp_path / "again.cotas").read_bytes() == path.read_bytes()


def test_every_estimator_of_the_package_is_tried():
    public = [getattr(cotas, name) for name in cotas.__all__]
    trained = {c for c in public if isinstance(c, type) and issubclass(c, Certified)}
    assert trained == {type(model) for model, _ in CASES.values()}


def stored_fields(cls):
    """The fields of a dataclass or NamedTuple that a file must hold: all that do not say no."""
    if dataclasses.is_dataclass(cls):
        return {f.name for f in dataclasses.fields(cls) if f.metadata.get("stored", True)}
    return set(cls._fields)


@pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.location)
def test_every_field_of_every_object_is_declared(record):
    """A field that is added to a class must be declared, or files would lose it."""
    cls = record.cls
    fields = {each.attribute or name for name, each in record.fields.items()}
    if not isinstance(record, Estimator):
        plain = issubclass(cls, tuple) or dataclasses.is_dataclass(cls)
        maker = getattr(cls, record.maker) if record.maker else cls
        assert fields == (stored_fields(cls) if plain else set(inspect.signature(maker).parameters))
    assert all(words(each) for each in record.fields.values())


def test_models_are_called_by_their_public_names():
    for name, record in PARTS["model"].members.items():
        assert getattr(cotas if hasattr(cotas, name) else cotas.tables, name) is record.cls


def test_words_are_few_and_tell_things_apart():
    for family in FAMILIES:
        places = [record.location for record in family.members.values()]
        assert len(set(places)) == len(places)
        assert all(family.word not in record.fields for record in family.members.values())
    assert len({family.word for family in FAMILIES}) == len(FAMILIES)


def test_no_file_names_a_class_or_a_module(tmp_path):
    """So that moving or renaming a class changes no file."""
    public = set(PARTS["model"].members)
    classes = {record.location.rpartition(".")[2] for record in RECORDS.values()} - public
    modules = {record.location.rpartition(".")[0] for record in RECORDS.values()}
    for name in CASES:
        model, _, _ = fitted(name)
        model.save(tmp_path / "model.cotas")
        text = unpack(tmp_path / "model.cotas").metadata["model"]
        words = set(re.findall(r'"([^"\\]*)"', text))
        assert not words & (classes | modules), name


def test_a_class_may_move(tmp_path, monkeypatch):
    """Files know nothing of where classes live, and neither does the digest that binds a model."""
    model, X, y = fitted("KernelSVM")
    model.save(tmp_path / "model.cotas")
    home = types.ModuleType("cotas.elsewhere")
    home.RBF = kernels.RBF
    monkeypatch.setitem(sys.modules, "cotas.elsewhere", home)
    monkeypatch.setattr(kernels.RBF, "__module__", "cotas.elsewhere")
    moved = dataclasses.replace(KERNEL.members["rbf"], location="cotas.elsewhere.RBF")
    monkeypatch.setitem(KERNEL.members, "rbf", moved)
    monkeypatch.setitem(kinds._NAMES, moved.location, "kernel: rbf")
    again = cotas.load(tmp_path / "model.cotas")
    assert again.certificate_.verify(X, y)
    again.save(tmp_path / "again.cotas")
    assert (tmp_path / "again.cotas").read_bytes() == (tmp_path / "model.cotas").read_bytes()


def test_a_change_after_the_fit_stays_visible(tmp_path):
    model, X, y = fitted("LinearSVM")
    model = cotas.LinearSVM(lam=0.01).fit(X, y)
    model.coef_ = model.coef_ * 1.5
    model.save(tmp_path / "changed.cotas")
    certificate = cotas.load(tmp_path / "changed.cotas").certificate_
    assert not certificate.holds
    assert not certificate.verify(X, y)


@pytest.mark.parametrize("name", ["Perceptron", "AveragedPerceptron", "LinearSVM"])
def test_training_goes_on_where_it_stopped(name, tmp_path):
    model, X, y = fitted(name)
    model = type(model)(**{**model.get_params(), "warm_start": True}).fit(X, y)
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    np.testing.assert_array_equal(again.fit(X, y).coef_, model.fit(X, y).coef_)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (cotas.Pegasos(lam=0.1, random_state=0), THREE),
        (cotas.PassiveAggressive(average=True), THREE),
        (cotas.Ridge(lam=0.1), REAL),
        (cotas.LeastSquares(), MANY_TARGETS),
        (cotas.LeastSquares(solver="stochastic", step=0.01, random_state=0, tol=100.0), REAL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_batches_go_on_where_they_stopped(model, data, tmp_path):
    X, y = data
    classes = (
        {} if model.__sklearn_tags__().estimator_type == "regressor" else {"classes": [0, 1, 2]}
    )
    model.partial_fit(X[:20], y[:20], **classes)
    for _ in range(2):
        model.save(tmp_path / "model.cotas")
        again = cotas.load(tmp_path / "model.cotas").partial_fit(X[20:], y[20:])
        np.testing.assert_array_equal(again.coef_, model.partial_fit(X[20:], y[20:]).coef_)


def test_attributes_come_back_with_their_types(tmp_path):
    model, _, _ = fitted("KernelSVM sparse")
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    assert again.get_params() == model.get_params()
    assert type(again.support_vectors_) is type(model.support_vectors_)
    for name, value in vars(model).items():
        found = type(getattr(again, name))
        # A text for people comes back as one that can be said in either language.
        assert found is type(value) or (found is Said and type(value) is str), name


def test_names_of_features_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(TWO[0], columns=["α", "b", "c d"])
    model = cotas.LinearSVM(lam=0.01).fit(X, TWO[1])
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    assert again.feature_names_in_.tolist() == ["α", "b", "c d"]
    assert (again.predict(X) == model.predict(X)).all()


def test_the_training_data_are_recognized(tmp_path):
    model, X, y = fitted("LinearSVM")
    model.save(tmp_path / "model.cotas", data=(X, y))
    found = read_model_file(tmp_path / "model.cotas")
    assert found.data == Fingerprint.of(X, y)
    assert found.data.shape == X.shape
    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], 9)
    for data in [(other, y), (X, y[::-1]), (X.astype(np.float32), y), (sparse.csr_matrix(X), y)]:
        assert found.data != Fingerprint.of(*data)
    assert found.versions["cotas"] == cotas.__version__
    assert {"python", "numpy", "scikit-learn"} < set(found.versions)


@pytest.mark.parametrize("name", ["AveragedPerceptron", "LinearSVM three", "KernelSVM", "AdaBoost"])
def test_without_the_witness_its_hash_stays(name, tmp_path):
    model, X, y = fitted(name)
    model.save(tmp_path / "whole.cotas")
    model.save(tmp_path / "light.cotas", witness=False)
    light = cotas.load(tmp_path / "light.cotas")
    assert (tmp_path / "light.cotas").stat().st_size < (tmp_path / "whole.cotas").stat().st_size
    np.testing.assert_array_equal(light.decision_function(X), model.decision_function(X))
    whole = certificates(cotas.load(tmp_path / "whole.cotas"))
    for mine, theirs in zip(whole, certificates(light), strict=True):
        assert (theirs.lower, theirs.upper) == (mine.lower, mine.upper)
        assert not theirs.holds
        assert not theirs.verify(X, y)
        assert witness_hash(mine) in theirs.objection


def test_preparation_and_model_in_one_file(tmp_path):
    model, X, _ = fitted("LinearSVM")
    preparation = kernels.feature_map(kernels.Linear(), X)
    save(model, tmp_path / "both.cotas", preparation=preparation)
    found = read_model_file(tmp_path / "both.cotas")
    np.testing.assert_array_equal(found.preparation.transform(X), preparation.transform(X))
    with pytest.warns(UserWarning, match="preparation"):
        assert (cotas.load(tmp_path / "both.cotas").predict(X) == model.predict(X)).all()


def test_a_preparation_of_the_user_cannot_be_stored(tmp_path):
    model, X, _ = fitted("LinearSVM")
    with pytest.raises(ModelFileError):
        save(model, tmp_path / "both.cotas", preparation=StandardScaler().fit(X))


def test_an_attribute_without_a_place_is_refused(tmp_path):
    model = cotas.LinearSVM(lam=0.1).fit(*TWO)
    model.comment_ = "mine"
    with pytest.raises(ModelFileError):
        model.save(tmp_path / "model.cotas")


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = cotas.LinearSVM(lam=0.1).fit(*TWO)
    model.coef_ = model.coef_ * np.nan
    with pytest.raises(ModelFileError):
        model.save(tmp_path / "model.cotas")


# ---- what cannot be stored ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (
            cotas.KernelPerceptron(kernels.Custom(np.dot), max_iter=2),
            "kernel",
        ),
        (cotas.AdaBoost(DecisionTreeClassifier(max_depth=1), n_estimators=2), "stump"),
    ],
    ids=["kernel", "weak learner"],
)
def test_what_needs_code_is_refused(model, word, tmp_path):
    model.fit(*TWO)
    with pytest.raises(ModelFileError, match=word):
        model.save(tmp_path / "model.cotas")
    assert not list(tmp_path.iterdir())


def test_a_function_as_parameter_is_refused_and_callbacks_are_left_out(tmp_path):
    X, y = REAL
    model = cotas.ForwardStagewise(eps=lambda k: 1 / (k + 2), max_iter=5).fit(X, y)
    with pytest.raises(ModelFileError):
        model.save(tmp_path / "model.cotas")
    watched = cotas.Perceptron(max_iter=2, callbacks=[lambda report: None]).fit(*TWO)
    watched.save(tmp_path / "model.cotas")
    assert cotas.load(tmp_path / "model.cotas").callbacks is None


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="fitted"):
        cotas.LinearSVM().save(tmp_path / "model.cotas")


def test_text_that_is_not_unicode_is_refused(tmp_path):
    model = cotas.LinearSVM(lam=0.1).fit(TWO[0], np.where(TWO[1] == "no", "a", "b\ud800"))
    with pytest.raises(ModelFileError, match="Unicode"):
        model.save(tmp_path / "model.cotas")


def test_nesting_has_an_end_when_writing_too():
    nested: list = []
    for _ in range(100):
        nested = [nested]
    with pytest.raises(ModelFileError, match="nested"):
        ValueEncoder().encode(nested, "x")


# ---- the format --------------------------------------------------------------------------------


def test_anyone_can_read_the_file(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    model, _, _ = fitted("LinearSVM")
    model.save(tmp_path / "model.cotas")
    with safetensors.safe_open(tmp_path / "model.cotas", framework="numpy") as file:
        metadata = file.metadata()
        stored = json.loads(metadata["model"])
        coef = file.get_tensor(stored["fitted"]["coef"]["array"])
    assert stored["model"] == "LinearSVM"
    assert stored["fitted"]["certificates"][0]["witness"]["problem"]["loss"] == {"loss": "hinge"}
    assert stored["parameters"]["lam"] == 0.01
    np.testing.assert_array_equal(coef, model.coef_)
    assert metadata["format_version"] == "4"


def test_a_copy_by_the_safetensors_library_is_read(tmp_path):
    numpy_files = pytest.importorskip("safetensors.numpy")
    model, X, _ = fitted("RealAdaBoost")
    model.save(tmp_path / "model.cotas")
    contents = unpack(tmp_path / "model.cotas")
    tensors = {name: np.ascontiguousarray(a) for name, a in contents.tensors.items()}
    numpy_files.save_file(tensors, tmp_path / "copy.cotas", contents.metadata)
    again = cotas.load(tmp_path / "copy.cotas")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.cotas")), ids=lambda path: path.stem)
def test_old_files_stay_readable(path):
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    model = cotas.load(path)
    X = np.array(expected["X"], dtype=np.float64)  # None becomes NaN
    assert type(model).__name__ == expected["class"]
    assert model.predict(X).tolist() == expected["predict"]
    scores = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-12, atol=1e-12)
    kinds = [(c.kind, c.holds) for c in certificates(model)]
    assert kinds == [tuple(pair) for pair in expected["certificates"]]


# ---- writing -----------------------------------------------------------------------------------


@pytest.fixture
def old_file(tmp_path):
    model, _, _ = fitted("LinearSVM")
    path = tmp_path / "model.cotas"
    model.save(path)
    return path


def assert_unharmed(path, before):
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_full_disk_leaves_the_old_file(old_file, monkeypatch):
    before, real = old_file.read_bytes(), os.fdopen

    def full(handle, mode):
        file = real(handle, mode, buffering=0)
        write = file.write

        class Full:
            def __enter__(self):
                return self

            def __exit__(self, *args):
                file.close()

            def write(self, chunk):
                write(bytes(chunk)[:100])
                raise OSError(errno.ENOSPC, "No space left on device")

        return Full()

    monkeypatch.setattr(atomic.os, "fdopen", full)
    with pytest.raises(OSError, match="space"):
        fitted("KernelSVM")[0].save(old_file)
    assert_unharmed(old_file, before)


@pytest.mark.parametrize("failing", ["fsync", "chmod", "replace"])
def test_a_failure_at_any_step_leaves_the_old_file(failing, old_file, monkeypatch):
    before = old_file.read_bytes()

    def fail(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(atomic.os, failing, fail)
    with pytest.raises(OSError, match="Input/output"):
        fitted("KernelSVM")[0].save(old_file)
    assert_unharmed(old_file, before)


def in_another_process(code, path):
    """Run code that has `save(path, n)`, which stores a file of n bytes atomically."""
    head = """
    import os, resource, signal, sys
    from cotas.files.atomic import write_atomically
    path = sys.argv[1]
    def chunks(n):
        for _ in range(n // 1000):
            yield b"x" * 1000
    """
    script = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=60
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_limit_on_the_size_of_files_leaves_the_old_file(old_file):
    before = old_file.read_bytes()
    done = in_another_process(
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            write_atomically(path, chunks(100_000))
        except OSError as error:
            print("refused", error.errno)
        """,
        old_file,
    )
    assert done.stdout.strip() == f"refused {errno.EFBIG}", done.stderr
    assert_unharmed(old_file, before)


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_kill_9_in_the_middle_leaves_the_old_file(old_file):
    before = old_file.read_bytes()
    done = in_another_process(
        """
        def interrupted():
            yield from chunks(50_000)
            os.kill(os.getpid(), signal.SIGKILL)
            yield b"never"
        write_atomically(path, interrupted())
        """,
        old_file,
    )
    assert done.returncode == -signal.SIGKILL
    # A process that is killed cannot tidy up, but the file with the name is whole.
    assert old_file.read_bytes() == before
    assert cotas.load(old_file) is not None
    assert len(list(old_file.parent.iterdir())) == 2
    fitted("LinearSVM")[0].save(old_file)
    assert_unharmed(old_file, before)  # the next save has tidied up


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_only_what_nobody_writes_to_is_removed(old_file):
    folder = old_file.parent
    names = (".model.cotas.notes.tmp", ".other.cotas.0123456789abcdef.tmp", "model.cotas.tmp")
    for name in names:
        (folder / name).write_text("not ours")
    with atomic.replacing(old_file) as file:
        file.write(b"first")
        fitted("LinearSVM")[0].save(old_file)  # meanwhile
        assert type(cotas.load(old_file)) is cotas.LinearSVM
    assert old_file.read_bytes() == b"first"
    assert {entry.name for entry in folder.iterdir()} == {old_file.name, *names}


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_permissions_are_kept(old_file):
    old_file.chmod(0o640)
    fitted("KernelSVM")[0].save(old_file)
    assert stat.S_IMODE(old_file.stat().st_mode) == 0o640
    assert type(cotas.load(old_file)) is cotas.KernelSVM


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("exists", [True, False])
def test_of_a_link_the_file_it_points_to_is_replaced(exists, tmp_path):
    (tmp_path / "models").mkdir()
    elsewhere, link = tmp_path / "models" / "first.cotas", tmp_path / "link.cotas"
    if exists:
        elsewhere.write_text("as it was")
    link.symlink_to(elsewhere)
    fitted("LinearSVM")[0].save(link)
    assert link.is_symlink()
    assert not elsewhere.is_symlink()
    assert type(cotas.load(elsewhere)) is type(cotas.load(link)) is cotas.LinearSVM
    assert [entry.name for entry in elsewhere.parent.iterdir()] == [elsewhere.name]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_links_in_a_circle_lead_nowhere(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(IsADirectoryError):
        fitted("LinearSVM")[0].save(tmp_path / "a")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_a_read_only_file_is_not_overwritten(old_file):
    before = old_file.read_bytes()
    old_file.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        fitted("KernelSVM")[0].save(old_file)
    assert_unharmed(old_file, before)


def test_other_names_of_a_file_keep_the_old_one(old_file):
    before, other = old_file.read_bytes(), old_file.with_name("other.cotas")
    os.link(old_file, other)
    fitted("KernelSVM")[0].save(old_file)
    assert other.read_bytes() == before
    assert type(cotas.load(old_file)) is cotas.KernelSVM


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_many_may_save_to_one_name_at_once(tmp_path):
    """Each takes what the others are writing for what it is, and the last one stays."""
    path = tmp_path / "model.cotas"
    code = "for _ in range(200): write_atomically(path, chunks(20_000))"
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda _: in_another_process(code, path), range(4)))
    assert [done.returncode for done in ended] == [0] * 4, ended[0].stderr
    assert path.read_bytes() == b"x" * 20_000
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        fitted("LinearSVM")[0].save(tmp_path / "none" / "model.cotas")


def test_a_folder_is_no_target(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        fitted("LinearSVM")[0].save(tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "model",
    [model for model in every_estimator() if is_classifier(model)],
    ids=lambda model: repr(model)[:60],
)
def test_models_of_five_classes_come_back(model, tmp_path):
    if getattr(model, "margin", "") == "hard" or "DecisionTree" in repr(model):
        return  # of separable rows only, or with learners of another library
    X, _ = clouds(60, 3)
    y = np.arange(60) % 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(model).fit(X, y)
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
