"""A certificate binds what predicts: whatever alters a prediction alters `holds` and `verify`."""

import copy
import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cotas
from cotas.certificates.binding import outputs
from cotas.files.problems import ModelFileError
from cotas.files.state import digest
from cotas.selection.blend import members_of
from estimators import every_estimator, problems_of
from problems import clouds, regression

warnings.filterwarnings("ignore")


def cases():
    for model in every_estimator():
        for number, data in enumerate(problems_of(model)):
            yield pytest.param(model, data, id=f"{model!r}-{number}".replace("\n", "")[:70])


by_case = pytest.mark.parametrize(("model", "data"), list(cases()))


# ---- changing things ---------------------------------------------------------------------------


def changed(value):
    """Copies of the value with something in it changed."""
    if isinstance(value, np.ndarray):
        yield from changed_array(value)
    elif sparse.issparse(value):
        yield -value
    elif isinstance(value, bool | np.bool_):
        yield not value
    elif isinstance(value, int | float | np.number):
        yield value + 1
        yield -value
    elif isinstance(value, str):
        yield value + "x"
    elif isinstance(value, list | tuple):
        yield from changed_sequence(value)
    elif isinstance(value, dict):
        for key in value:
            yield from ({**value, key: other} for other in changed(value[key]))
    elif dataclasses.is_dataclass(value) or isinstance(value, BaseEstimator):
        yield from changed_object(value)


def changed_array(array):
    if array.size > 1:
        yield array[::-1].copy()
    if array.size and array.dtype.kind in "fb":
        yield ~array if array.dtype.kind == "b" else -array
    if array.size and array.dtype.kind == "f":
        yield array * 2
        one = array.copy()
        one.flat[-1] += 0.5
        yield one
    if array.size and array.dtype.kind in "iu":  # no index that loops could follow out of bounds
        yield np.full_like(array, array.flat[0])
    if array.size and array.dtype.kind in "UO":
        yield np.array([f"{item}x" for item in array.flat]).reshape(array.shape)


def changed_sequence(items):
    make = type(items)._make if hasattr(items, "_make") else type(items)
    if len(items) > 1 and not hasattr(items, "_make"):
        yield make(items[::-1])
    for i in range(len(items)):
        for other in changed(items[i]):
            yield make([*items[:i], other, *items[i + 1 :]])
        if not hasattr(items, "_make") and i == 1:
            break  # the others are of the same kind


def changed_object(value):
    for name in vars(value):
        for other in changed(vars(value)[name]):
            copied = copy.copy(value)
            object.__setattr__(copied, name, other)
            yield copied


def changed_models(model):
    """Name of the attribute, and the model with that attribute changed."""
    for name in vars(model):
        if name in ("_certificates", "_seal", "device"):  # the claim itself, and who computes
            continue
        for other in changed(vars(model)[name]):
            copied = copy.copy(model)
            setattr(copied, name, other)
            yield name, copied


# ---- looking at them ---------------------------------------------------------------------------


def certificates(model):
    return list(model.certificate_.singles)


def verifies(model, data):
    return model.certificate_.verify(*data)


def predictions(model, rows):
    """All that the model says of the rows, or nothing if it can say nothing."""
    try:
        found = [model.predict(rows)]
        if hasattr(model, "decision_function"):
            found.append(model.decision_function(rows))
    except Exception:
        return None
    return found


def same(one, other):
    return (
        other is not None
        and all(a.shape == b.shape for a, b in zip(one, other, strict=True))
        and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    )


def close(one, other):
    """The same but for rounding."""
    numbers = [(a, b) for a, b in zip(one, other, strict=True) if a.dtype.kind == "f"]
    labels = [(a, b) for a, b in zip(one, other, strict=True) if a.dtype.kind != "f"]
    return all(np.array_equal(a, b) for a, b in labels) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(a).max())
        for a, b in numbers
    )


# ---- the laws ----------------------------------------------------------------------------------


@by_case
def test_what_alters_a_prediction_ends_the_certificate(model, data):
    model = clone(model).fit(*data)
    assert all(c.holds for c in certificates(model))
    assert verifies(model, data), [c.discrepancies(*data) for c in certificates(model)]
    rows = np.vstack([data[0], np.random.default_rng(0).normal(size=(50, 3))])
    before, altering = predictions(model, rows), set()
    for name, other in changed_models(model):
        if same(before, predictions(other, rows)):
            continue
        altering.add(name)
        assert not any(c.holds for c in certificates(other)), name
        assert not verifies(other, data), name
        if predictions(other, rows) is not None and hasattr(other, "certified_predict"):
            assert not other.certified_predict(rows)[1].any(), name
    assert altering & {"coef_", "dual_coef_", "ensembles_", "estimators_"}
    assert all(c.holds for c in certificates(model))


@by_case
def test_a_forged_file_does_not_verify(model, data, tmp_path):
    """The digest of the changed model is put in the place of the one that was certified."""
    model, path = clone(model).fit(*data), Path(tmp_path / "model.cotas")
    before, forged = predictions(model, data[0]), set()
    try:
        model.save(path)
    except ModelFileError:
        return  # a learner of another library
    assert verifies(cotas.load(path), data)
    for name, other in changed_models(model):
        now = predictions(other, data[0])
        if now is None or close(before, now):
            continue
        try:
            other._sealed().save(path)
            read = cotas.load(path)
        except (ModelFileError, ValueError):  # what no fit leaves behind is not kept
            continue
        forged.add(name)
        assert not verifies(read, data), name
    assert forged


@by_case
def test_a_copy_is_the_same_model(model, data, tmp_path):
    model = clone(model).fit(*data)
    again = copy.deepcopy(model)
    assert again._state() == model._state()
    assert verifies(again, data)
    again.set_params(**{"n_jobs": 1} if "n_jobs" in model.get_params() else {})
    assert all(c.holds for c in certificates(again))
    path = tmp_path / "model.cotas"
    try:
        model.save(path)
    except ModelFileError:
        return
    assert cotas.load(path)._state() == model._state()


@by_case
def test_witnesses_compute_what_the_model_does(model, data):
    every = np.arange(len(data[0]))
    for one in members_of(clone(model).fit(*data)):
        witnesses = [c.witness for c in one.certificate_.singles]
        values = np.hstack([outputs(witness, data[0], every) for witness in witnesses])
        np.testing.assert_allclose(one._binary_scores(data[0]), values, rtol=1e-9, atol=1e-9)


def test_arrays_changed_in_place_are_noticed():
    X, y = clouds(40, 3)
    for change in (
        lambda m: m.classes_.__setitem__(slice(None), m.classes_[::-1].copy()),
        lambda m: m.coef_.__imul__(-1),
        lambda m: m.intercept_.__iadd__(1e-12),
        lambda m: m._regions.reverse() or m._regions.append(None),
    ):
        model = cotas.LinearSVM(lam=0.1).fit(X, y)
        assert model.certified_predict(X)[1].any()
        change(model)
        assert not model.certificate_.holds
        assert not model.certificate_.verify(X, y)
        assert not model.certified_predict(X)[1].any()


def test_a_zero_is_not_certified_of_a_changed_model():
    X, y = regression(60, 8)
    model = cotas.Lasso(lam=0.5).fit(X, y)
    assert model.certified_zeros(X, y).any()
    model.intercept_ += 1.0
    assert not model.certified_zeros(X, y).any()


def test_a_method_of_ones_own_is_noticed():
    X, y = clouds(40, 3)
    model = cotas.LinearSVM(lam=0.1).fit(X, y)
    model.predict = lambda rows: np.repeat(y[:1], len(rows))
    assert not model.certificate_.holds


def test_a_certificate_in_hand_speaks_of_the_model_it_was_given():
    X, y = clouds(40, 3)
    model = cotas.LinearSVM(lam=0.1).fit(X, y)
    kept = model.certificate_
    model.fit(-X, y)
    assert kept.verify(X, y)
    assert model.certificate_.verify(-X, y)


def test_what_scikit_learn_keeps_on_a_model_changes_nothing():
    X, y = clouds(40, 3)
    pipeline = make_pipeline(StandardScaler(), cotas.LinearSVM(lam=0.1)).fit(X, y)
    model = pipeline[-1]
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
    assert model.certificate_.verify(pipeline[0].transform(X), y)


# ---- prepared tables ---------------------------------------------------------------------------


def prepared():
    import polars as pl

    X, y = clouds(40, 2)
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": ["u", "v"] * 20})
    return cotas.tables.PreparedModel(cotas.LinearSVM(lam=0.1)).fit(table, y), table, y


def test_a_changed_preparation_ends_the_certificate():
    model, table, y = prepared()
    assert model.certificate_.holds
    assert model.certified_predict(table)[1].any()
    for name, value in vars(model.preparation_).items():
        for other in changed(value):
            altered = copy.copy(model)
            altered.preparation_ = copy.copy(model.preparation_)
            setattr(altered.preparation_, name, other)
            before, now = predictions(model, table), predictions(altered, table)
            if same(before, now):
                continue
            assert not altered.certificate_.holds, name
            if now is not None:
                assert not altered.certificate_.verify(altered.prepare(table), y), name
                assert not altered.certified_predict(table)[1].any(), name
    assert model.certificate_.holds


def test_a_forged_preparation_does_not_verify(tmp_path):
    model, table, y = prepared()
    path = tmp_path / "model.cotas"
    model.save(path)
    assert cotas.tables.PreparedModel.load(path).certificate_.verify(model.prepare(table), y)
    model.preparation_.means_ = model.preparation_.means_ + 0.5
    model.save(path)
    honest = cotas.tables.PreparedModel.load(path)
    assert not honest.certificate_.holds
    model._seal = model._state()
    model.save(path)
    forged = cotas.tables.PreparedModel.load(path)
    assert forged.certificate_.holds  # a claim of the file, and refuted by the data
    assert not forged.certificate_.verify(forged.prepare(table), y)


def test_the_digest_does_not_depend_on_layout_or_order():
    X = np.arange(6.0).reshape(2, 3)
    assert digest(X) == digest(np.asfortranarray(X)) == digest(X.astype(">f8"))
    assert digest(X) != digest(X.T)
    assert digest(X) != digest(X.astype(np.float32))
    assert digest({"a": 1, "b": X}) == digest({"b": X, "a": 1})
    assert digest(sparse.csr_matrix(X)) != digest(sparse.csr_matrix(2 * X))
    assert digest([1, [2]]) != digest([[1], 2])


def test_the_digest_is_that_of_the_model_whatever_version_pickles_it(monkeypatch):
    model = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    before = digest(model)
    monkeypatch.setattr("sklearn.base.__version__", "0.0")
    assert model.__getstate__()["_sklearn_version"] == "0.0"
    assert digest(model) == before


@pytest.mark.parametrize("kind", ["classes", "targets"])
def test_a_model_that_forgot_a_class_or_a_target_is_not_verified(kind):
    """What is left is proved, but the model cannot predict what the data have."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), np.arange(60) % 4
    if kind == "classes":
        model, y = cotas.LinearSVM(lam=0.1), codes
    else:
        model, y = cotas.Ridge(lam=0.1), np.column_stack([X[:, 0], X[:, 1]])
    model.fit(X, y)
    assert model.certificate_.verify(X, y)
    k = len(model.coef_) - 1
    model.coef_, model.intercept_ = model.coef_[:k], model.intercept_[:k]
    model._certificates = model._certificates[:k]
    if kind == "classes":
        model.classes_, model._regions = model.classes_[:k], model._regions[:k]
    model._sealed()
    assert not model.certificate_.verify(X, y)
