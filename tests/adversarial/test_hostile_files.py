"""A hostile or damaged model file ends in a `ModelFileError`: nothing is run, nothing overflows."""

import gzip
import io
import json
import os
import struct
import tempfile
import tracemalloc
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import cotas
from cotas import kernels
from cotas.exceptions import ModelFileError
from cotas.files.container import pack, unpack
from cotas.files.models import checksum
from cotas.tables import PreparedModel
from problems import clouds, regression, three_clouds

X, Y = three_clouds(30, 3)
ROWS = np.round(X)
TREE = cotas.Tree(2, categorical_features=[2])
REAL = regression(20, 3)


KINDS = {
    "linear": (cotas.LinearSVM(lam=0.1), (X, Y)),
    "online": (cotas.AveragedPerceptron(max_iter=2), clouds(20, 3)),
    "kernel": (
        cotas.KernelSVM(kernels.RBF(1.0) + 1.0, lam=0.1),
        (sparse.csr_matrix(ROWS), Y),
    ),
    "features": (
        cotas.KernelSVM(lam=0.1, approximate="nystroem", n_components=5, random_state=0),
        (X, Y),
    ),
    "trees": (cotas.LogitBoost(TREE, n_estimators=2), (ROWS, Y)),
    "stumps": (cotas.AdaBoost(n_estimators=2), clouds(20, 3)),
    "samme": (cotas.AdaBoost(n_estimators=2, multiclass="samme"), (ROWS, Y)),
    "boosted lines": (cotas.AdaBoost("linear", n_estimators=2), (X, Y)),
    "any cost": (cotas.AnyBoost(n_estimators=2), clouds(20, 3)),
    "stagewise": (cotas.LSBoost(max_iter=5), REAL),
    "regression": (cotas.Ridge(lam=0.1), REAL),
}


@cache
def trained(name):
    model, data = KINDS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@cache
def stored(name):
    """The bytes of a sound file."""
    with tempfile.TemporaryDirectory() as folder:
        trained(name).save(Path(folder) / "model.cotas")
        return (Path(folder) / "model.cotas").read_bytes()


def read(raw):
    """Load these bytes as a file."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The file also holds a preparation")
        path = Path(folder) / "model.cotas"
        path.write_bytes(raw)
        model = cotas.load(path)
        assert [entry.name for entry in Path(folder).iterdir()] == ["model.cotas"]
    return model


def opened(raw):
    """The parts of a file: arrays that can be changed, and metadata."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cotas"
        path.write_bytes(raw)
        tensors, metadata = unpack(path)
    return {name: a.copy() for name, a in tensors.items()}, metadata


def sealed(tensors, metadata):
    """The file of these parts with the checksum that they need."""
    tensors = {name: np.ascontiguousarray(a) for name, a in tensors.items()}
    return b"".join(pack(tensors, {**metadata, "checksum": checksum(tensors, metadata)}))


def with_model(raw, change):
    """The file with its model changed by `change(json, tensors)`."""
    tensors, metadata = opened(raw)
    model = json.loads(metadata["model"])
    changed = change(model, tensors)
    text = json.dumps(model if changed is None else changed)
    return sealed(tensors, {**metadata, "model": text})


def refused(raw, word="."):
    with pytest.raises(ModelFileError, match=word):
        read(raw)


@pytest.mark.parametrize("name", KINDS)
def test_nothing_changed_is_read(name):
    rows = np.zeros((2, 3))
    again = read(with_model(stored(name), lambda model, tensors: None))
    np.testing.assert_array_equal(again.predict(rows), trained(name).predict(rows))


# ---- the container -----------------------------------------------------------------------------


def with_header(change):
    """A file whose header is changed by hand; the numbers stay."""

    def make(raw):
        (length,) = struct.unpack("<Q", raw[:8])
        text = change(raw[8 : 8 + length].decode()).encode()
        return struct.pack("<Q", len(text)) + text + raw[8 + length :]

    return make


def in_header(change):
    def edit(text):
        header = json.loads(text)
        change(header)
        return json.dumps(header)

    return with_header(edit)


def zipped(raw):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../escape", b"\0" * 10_000_000)
    return buffer.getvalue()


NESTED = "[" * 100_000 + "]" * 100_000
BROKEN_CONTAINERS = {
    "empty": lambda raw: b"",
    "seven bytes": lambda raw: raw[:7],
    "only a length": lambda raw: raw[:8],
    "half": lambda raw: raw[: len(raw) // 2],
    "one byte short": lambda raw: raw[:-1],
    "one byte more": lambda raw: raw + b"\0",
    "a length of 2^63": lambda raw: struct.pack("<Q", 1 << 63) + raw[8:],
    "a length beyond the end": lambda raw: struct.pack("<Q", len(raw)) + raw[8:],
    "a length of zero": lambda raw: struct.pack("<Q", 0) + raw[8:],
    "a pickle": lambda raw: b"cos\nsystem\n(S'touch /tmp/x'\ntR." + raw,
    "gzip": lambda raw: gzip.compress(b"\0" * 10_000_000),
    "zip": zipped,
    "no JSON": with_header(lambda text: "{" + text),
    "not UTF-8": lambda raw: struct.pack("<Q", 4) + b'"\xff\xfe"',
    "a list": with_header(lambda text: "[]"),
    "nesting": with_header(lambda text: '{"a":' + NESTED + "}"),
    "the same name twice": with_header(lambda text: text[:-1].rstrip()[:-1] + ',"t0":{},"t0":{}}'),
    "NaN": with_header(lambda text: '{"a": NaN}'),
    "metadata of numbers": in_header(lambda h: h["__metadata__"].update(model=3)),
    "metadata that are none": in_header(lambda h: h.update(__metadata__=[])),
    "an unknown type": in_header(lambda h: h["t0"].update(dtype="OBJECT")),
    "a type that is no name": in_header(lambda h: h["t0"].update(dtype=["F64"])),
    "a wider type": in_header(lambda h: h["t0"].update(dtype="F16")),
    "a huge shape": in_header(lambda h: h["t0"].update(shape=[1 << 61, 1 << 61])),
    "a negative shape": in_header(lambda h: h["t0"].update(shape=[-1])),
    "a shape of fractions": in_header(lambda h: h["t0"].update(shape=[1.5])),
    "a shape of truths": in_header(lambda h: h["t0"].update(shape=[True])),
    "a huge empty shape": in_header(
        lambda h: h.update(e={"dtype": "F64", "shape": [1 << 40, 0], "data_offsets": [0, 0]})
    ),
    "offsets before the start": in_header(lambda h: h["t0"].update(data_offsets=[-8, 0])),
    "offsets beyond the end": in_header(lambda h: h["t0"].update(data_offsets=[0, 1 << 40])),
    "two arrays in one place": in_header(lambda h: h.update(twin=h["t0"])),
    "an array without a place": in_header(lambda h: h["t0"].pop("data_offsets")),
    "an array that is none": in_header(lambda h: h.update(t0=7)),
    "more than an array": in_header(lambda h: h["t0"].update(more=1)),
}


@pytest.mark.parametrize("name", BROKEN_CONTAINERS)
def test_broken_containers(name):
    refused(BROKEN_CONTAINERS[name](stored("linear")))


def test_a_long_header_is_refused_before_it_is_read():
    raw = struct.pack("<Q", 1 << 40)
    tracemalloc.start()
    refused(raw + b"{}", "header")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_long_file_with_a_short_description_is_not_read(tmp_path):
    path = tmp_path / "model.cotas"
    path.write_bytes(stored("linear"))
    os.truncate(path, 1 << 34)  # a hole: it takes no room on the disk
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="bytes"):
        cotas.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


def test_names_of_arrays_are_no_paths():
    def put(model, tensors):
        tensors["../../../escape"] = np.zeros(3)
        tensors["/etc/passwd"] = tensors.pop(model["fitted"]["coef"]["array"])
        model["fitted"]["coef"]["array"] = "/etc/passwd"

    again = read(with_model(stored("regression"), put))  # looks at the folder as well
    np.testing.assert_array_equal(again.coef_, trained("regression").coef_)


def test_a_flipped_bit_is_damage():
    raw = bytearray(stored("regression"))
    raw[-3] ^= 1
    refused(bytes(raw), "damaged")


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        cotas.load(tmp_path / "none.cotas")
    with pytest.raises(OSError, match=r"directory|denied"):
        cotas.load(tmp_path)


# ---- what it claims to be ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "onnx"}, "no model file of cotas"),
        ({"format_version": "5"}, "update cotas"),
        ({"format_version": "3"}, "fit the model again"),
        ({"format_version": "99999999"}, "update cotas"),
        ({"format_version": "0"}, "no version"),
        ({"format_version": "-1"}, "no version"),
        ({"format_version": "１"}, "no version"),
        ({"format_version": "9" * 5000}, "no version"),
        ({"model": "null"}, "which model"),
        ({"model": NESTED}, "JSON|nested|which model"),
        ({"model": '{"model":"LinearSVM","model":"Ridge"}'}, "twice"),
        ({"model": '{"dict": [[1e999, 2]]}'}, "which model"),
        ({"data": '{"list": []}'}, "data has no list"),
        ({"preparation": '{"preparation": "table"}'}, "preparation.columns is missing"),
        ({"versions": "[]"}, "versions"),
    ],
)
def test_false_claims(changes, words):
    tensors, metadata = opened(stored("linear"))
    refused(sealed(tensors, {**metadata, **changes}), words)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "cotas.LinearSVM",
        "../LinearSVM",
        "Stump",
        "",
        None,
        3,
        [],
        "x",
    ],
)
def test_models_outside_the_table(name):
    def rename(model, tensors):
        model["model"] = name

    refused(with_model(stored("linear"), rename), "know")


def test_no_import_follows_from_a_file(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)

    def rename(model, tensors):
        model["model"] = "evil.Model"

    refused(with_model(stored("linear"), rename), "know")


@pytest.mark.parametrize(
    "name", ["predict", "fit", "__class__", "__dict__", "certificate", "note", "a b"]
)
def test_nothing_but_what_is_declared_can_be_set(name):
    def put(model, tensors):
        model["fitted"][name] = 1

    refused(with_model(stored("linear"), put), "no")


def attributes(change):
    return lambda model, tensors: change(model["fitted"], tensors)


def coef_of(attributes, tensors):
    return attributes["coef"]["array"]


def set_coef(value):
    def change(a, tensors):
        tensors[coef_of(a, tensors)].flat[0] = value

    return attributes(change)


def reshape_coef(make):
    def change(a, tensors):
        name = coef_of(a, tensors)
        tensors[name] = np.ascontiguousarray(make(tensors[name]))

    return attributes(change)


@pytest.mark.parametrize(
    "change",
    [
        set_coef(np.nan),
        set_coef(np.inf),
        reshape_coef(lambda w: w[:, :2]),
        reshape_coef(lambda w: w[:2]),
        reshape_coef(lambda w: w.astype(np.int64)),
        reshape_coef(lambda w: w.astype(np.float16)),
        reshape_coef(lambda w: w.ravel()),
        reshape_coef(lambda w: np.vstack([w, w])),
        attributes(lambda a, t: a.pop("coef")),
        attributes(lambda a, t: a.pop("classes")),
        attributes(lambda a, t: a.update(n_features_in=1 << 62)),
        attributes(lambda a, t: a.update(n_features_in=True)),
        attributes(lambda a, t: a.update(classes={"list": [0, 1, 2]})),
        attributes(lambda a, t: a.update(classes={"objects": [0, "a", 2], "shape": [3]})),
        attributes(lambda a, t: a.update(certificates=[])),
        attributes(lambda a, t: a.update(certificates=None)),
        lambda model, tensors: model["parameters"].update(nothing=1),
        lambda model, tensors: model.update(more=1),
        lambda model, tensors: {"list": [model]},
        lambda model, tensors: {"model": "LinearSVM", "fields": {}},
        lambda model, tensors: {"kernel": "rbf", "parameters": {}, "fitted": {}},
        attributes(lambda a, t: a["coef"].update(order={"F": 1})),
        attributes(lambda a, t: a["coef"].update(order="C")),
        attributes(lambda a, t: a["coef"].update(readonly=1)),
    ],
)
def test_linear_models_that_cannot_be(change):
    refused(with_model(stored("linear"), change))


def one_class(model, tensors):
    labels = model["fitted"]["classes"]["array"]
    tensors[labels] = tensors[labels][:1]
    for name in ("coef", "intercept"):
        array = model["fitted"][name]["array"]
        tensors[array] = tensors[array][:1]
    for name in ("certificates", "regions", "ends"):
        model["fitted"][name] = model["fitted"][name][:1]


def test_one_class_is_no_choice():
    refused(with_model(stored("linear"), one_class), "classes")


@pytest.mark.parametrize("cost", ["cubic", 3, None, {"list": []}, {"kernel": "linear"}])
def test_a_strange_cost(cost):
    def edit(model, tensors):
        model["parameters"]["cost"] = cost

    refused(with_model(stored("any cost"), edit), "cost")


@pytest.mark.parametrize("part", ["columns", "task", "n_rows", "remarks", "seal", "hold_out"])
@pytest.mark.parametrize("strange", [True, -1, "x", [], [3], {}, {"float": "nan"}, {"array": "t0"}])
def test_preparations_of_other_types(part, strange):
    tensors, metadata = opened(prepared())
    recipe = json.loads(metadata["preparation"])
    recipe[part] = strange
    raw = sealed(tensors, {**metadata, "preparation": json.dumps(recipe)})
    if (part, strange) in (("seal", "x"), ("remarks", [])):
        read(raw)  # it may be said, and then nothing is proved of the model
    else:
        refused(raw, f"preparation.{part}")


@cache
def prepared():
    """The bytes of a sound file with a preparation."""
    table = polars.DataFrame({"a": X[:, 0], "b": ["red", "green", "blue"] * 10})
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PreparedModel(cotas.LinearSVM(lam=0.1)).fit(table, Y)
        model.save(Path(folder) / "model.cotas")
        return (Path(folder) / "model.cotas").read_bytes()


# ---- what compiled loops would read without looking --------------------------------------------


def of_trees(field, change):
    """Change an array of the trees of the first class."""

    def edit(model, tensors):
        ensemble = model["fitted"]["ensembles"][0]
        for part in ("functions", "categories"):
            fields = ensemble[part]
            if field in fields:
                name = fields[field]["array"]
                tensors[name] = np.ascontiguousarray(change(tensors[name]))
                return
        raise AssertionError(field)

    return edit


def first(value):
    def change(a):
        a.flat[0] = value
        return a

    return change


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("feature", first(3)),
        ("feature", first(2**31 - 1)),
        ("feature", first(-2)),
        ("feature", lambda a: a[:, :2]),
        ("feature", lambda a: a.astype(np.int64)),
        ("group", first(10_000)),
        ("group", first(-5)),
        ("group", lambda a: np.maximum(a, 0)),
        ("groups", lambda a: a[:, :4]),
        ("value", lambda a: a[:, :-1]),
        ("value", first(np.nan)),
        ("threshold", first(np.nan)),
        ("threshold", lambda a: a[:1]),
        ("missing_left", lambda a: a[:, :1]),
        *(("missing_left", first(value)) for value in (2, 3, 17, 255)),
        *(("groups", first(value)) for value in (2, 3, 17, 255)),
        ("place", first(5)),
        ("place", lambda a: a[:2]),
        ("place", lambda a: np.append(a, a)),
        ("sizes", first(256)),
        ("sizes", first(-1)),
        ("values", lambda a: a[:, :3]),
    ],
)
def test_indices_of_trees(field, change):
    refused(with_model(stored("trees"), of_trees(field, change)), "sound")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("indices", first(3)),
        ("indices", first(-1)),
        ("indices", lambda a: a[:-1]),
        ("indptr", first(1)),
        ("indptr", lambda a: a[:-1]),
        ("indptr", lambda a: a[::-1].copy()),
        ("indptr", lambda a: np.append(a[:-1], 2**30).astype(a.dtype)),
        # SciPy believes that a matrix with nothing in it is sound.
        ("indptr", lambda a: np.append(np.append(a[:-2], -(2**31)), 0).astype(np.int32)),
        ("data", first(np.nan)),
        ("data", lambda a: a.astype(np.int64)),
        ("shape", [30, 1 << 40]),
        ("shape", [1 << 40, 3]),
        ("shape", [-1, 3]),
        ("shape", [3]),
        ("sparse", "coo_matrix"),
        ("sparse", "csc_matrix"),
    ],
)
def test_sparse_support_vectors(part, change):
    def edit(model, tensors):
        vectors = model["fitted"]["support_vectors"]
        if callable(change):
            name = vectors[part]["array"]
            tensors[name] = np.ascontiguousarray(change(tensors[name]))
        else:
            vectors[part] = change

    refused(with_model(stored("kernel"), edit))


@pytest.mark.parametrize(
    "change",
    [
        attributes(lambda a, t: t[a["support"]["array"]].__setitem__(0, 10**9)),
        attributes(lambda a, t: t[a["support"]["array"]].__setitem__(0, -1)),
        attributes(lambda a, t: a.update(n_rows=1)),
        attributes(lambda a, t: a.update(n_rows=1 << 60)),
        attributes(lambda a, t: t[a["n_support"]["array"]].__setitem__(0, -3)),
        attributes(lambda a, t: t[a["dual_coef"]["array"]].__setitem__((0, 0), np.inf)),
        attributes(lambda a, t: a.update(kernel=a["support"])),
        attributes(lambda a, t: a.update(kernel={"loss": "hinge"})),
    ],
)
def test_kernel_machines_that_cannot_be(change):
    refused(with_model(stored("kernel"), change))


@pytest.mark.parametrize("strange", [None, True, "x", {"list": []}, {"tuple": [1]}])
@pytest.mark.parametrize("field", ["problem", "coef", "multipliers", "per"])
def test_witnesses_of_other_types(field, strange):
    def edit(model, tensors):
        model["fitted"]["certificates"][0]["witness"][field] = strange

    refused(with_model(stored("linear"), edit), rf"witness\.{field}|loss")


def test_steps_to_features_that_are_not_there():
    def edit(model, tensors):
        run = model["fitted"]["path"]["run"]
        tensors[run["chosen"]["array"]][0] = 1 << 40

    refused(with_model(stored("stagewise"), edit), "entry")


def test_a_run_that_does_not_fit_its_model():
    def edit(model, tensors):
        run = model["fitted"]["history"]["run"]
        tensors[run["w"]["array"]] = np.zeros((1, 2))

    refused(with_model(stored("online"), edit), "sound")


def test_batches_that_do_not_fit_their_model():
    model = cotas.LeastSquares(solver="stochastic", step=0.01, tol=100.0).partial_fit(*REAL)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.cotas")
        raw = (Path(folder) / "model.cotas").read_bytes()

    def edit(model, tensors):
        state = model["fitted"]["batches"][0]
        tensors[state["w"]["array"]] = np.zeros((1, 2))

    refused(with_model(raw, edit), "sound")


def test_random_state_beyond_its_table():
    def edit(model, tensors):
        tensors["key"] = np.zeros(624, dtype=np.uint32)
        state = {"random_state": "key", "state": [10_000, 0, 0.0]}
        model["parameters"]["random_state"] = state

    refused(with_model(stored("linear"), edit), "random")


def test_a_text_that_would_fill_the_memory():
    def edit(model, tensors):
        texts = ["a" * (1 << 16), *[""] * (1 << 16)]
        model["parameters"]["class_weight"] = {
            "objects": texts,
            "shape": [len(texts)],
            "kind": "str",
        }

    refused(with_model(stored("linear"), edit), "longer")


# ---- fuzzing -----------------------------------------------------------------------------------


def loads_or_is_refused(raw):
    """The only two outcomes: a model that predicts, or a ModelFileError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = read(raw)
        except ModelFileError:
            return
        assert model.n_features_in_ < 100
        rows = np.linspace(-2, 2, 4 * model.n_features_in_).reshape(4, -1)
        assert len(model.predict(rows)) == 4
        str(model.certificate_)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_any_bytes_may_be_changed(name, data):
    raw = bytearray(stored(name))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw))))
    loads_or_is_refused(bytes(raw[:cut]))


def places(value, here=()):
    """Where the values of a JSON document are."""
    yield here
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from places(item, (*here, key))


def at(value, place):
    for key in place:
        value = value[key]
    return value


STRANGE = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**400,
    1e308,
    "",
    "rbf",
    [],
    {},
    {"float": "nan"},
    {"float": "-inf"},
    {"list": []},
    {"tuple": [1, "a"]},
    {"dict": [[None, 1]]},
    {"scalar": "int64", "value": -7},
    {"scalar": "float32", "value": 1e300},
    {"kernel": "linear"},
    {"loss": "zero-one"},
    {"weak learner": "linear"},
]


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_any_value_may_be_replaced(name, data):
    tensors, metadata = opened(stored(name))
    original, model = json.loads(metadata["model"]), json.loads(metadata["model"])
    found = list(places(original))[1:]
    for _ in range(data.draw(st.integers(1, 2))):
        *where, key = data.draw(st.sampled_from(found))
        elsewhere = at(original, data.draw(st.sampled_from(found)))
        strange = st.one_of(
            st.sampled_from(STRANGE),
            st.just(elsewhere),
            st.sampled_from(sorted(tensors)).map(lambda t: {"array": t}),
        )
        copy = json.loads(json.dumps(data.draw(strange)))
        try:
            at(model, where)[key] = copy
        except (KeyError, IndexError, TypeError):
            break  # the first change took this place away
    loads_or_is_refused(sealed(tensors, {**metadata, "model": json.dumps(model)}))


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_any_number_may_be_replaced(name, data):
    tensors, metadata = opened(stored(name))
    chosen = tensors[data.draw(st.sampled_from(sorted(n for n, a in tensors.items() if a.size)))]
    entry = data.draw(st.integers(0, chosen.size - 1))
    if chosen.dtype.kind in "iu":
        limits = np.iinfo(chosen.dtype)
        extremes = [limits.min, limits.max, 0, 1, 2, 3, 255]
        chosen.flat[entry] = data.draw(st.sampled_from(extremes))
    elif chosen.dtype.kind == "f":
        extremes = [np.nan, np.inf, -np.inf, 0.0, 1e300, -1e300, 1e-300]
        chosen.flat[entry] = data.draw(st.sampled_from(extremes))
    loads_or_is_refused(sealed(tensors, metadata))


@pytest.mark.parametrize("name", ["online", "linear", "trees"])
@settings(max_examples=20)
@given(data=st.data())
def test_going_on_from_a_changed_run_reads_no_foreign_memory(name, data):
    tensors, metadata = opened(stored(name))
    model = json.loads(metadata["model"])
    model["parameters"]["warm_start"] = True
    chosen = data.draw(st.sampled_from(sorted(tensors)))
    sides = data.draw(st.sampled_from([slice(None, -1), slice(None, 1), slice(None, None, 2)]))
    tensors[chosen] = np.ascontiguousarray(tensors[chosen][sides])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            again = read(sealed(tensors, {**metadata, "model": json.dumps(model)}))
        except ModelFileError:
            return
        rows, labels = (X, Y) if name != "online" else clouds(20, 3)
        assert len(again.fit(rows, labels).predict(rows)) == len(rows)


def test_a_link_in_place_of_the_temporary_file_is_not_followed(tmp_path, monkeypatch):
    from cotas.files import atomic

    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda n: "guessed")
    os.symlink(victim, tmp_path / ".model.cotas.guessed.tmp")
    with pytest.raises(FileExistsError):
        trained("linear").save(tmp_path / "model.cotas")
    assert victim.read_text() == "precious"


def test_a_table_is_told_from_a_model_in_plain_words(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("area,rooms,price\n80,3,150\n")
    with pytest.raises(ModelFileError):
        cotas.load(path)
