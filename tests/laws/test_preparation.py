"""What prepares a table says the same whatever the table came as, and forgets nothing it needs."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import cotas
from cotas.exceptions import DataFileError
from cotas.files.problems import ModelFileError
from cotas.files.state import digest
from cotas.preparation.columns import ColumnError, ColumnWarning
from cotas.preparation.held_out import copies as find_copies
from cotas.preparation.held_out import hold_out_rows
from cotas.preparation.recipe import Recipe
from cotas.preparation.targets import as_target, tell_task
from cotas.scale.decoding import DecodingOptions
from cotas.tables import Preparation, PreparedModel, Table, inspect_table
from errors import refuses, says
from terminal import cotas as command


def people(n=200, seed=0):
    """Numbers, truth values and categories, some of them missing."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n)
    town = rng.choice(["Lugo", "Vigo", "Pontevedra", "Ourense"], n, p=[0.5, 0.3, 0.195, 0.005])
    member = rng.random(n) < 0.3
    frame = pl.DataFrame(
        {
            "age": [None if k % 17 == 0 else a for k, a in enumerate(age)],
            "town": [None if k % 23 == 0 else t for k, t in enumerate(town)],
            "member": member,
            "sex": rng.choice(["f", "m"], n),
            "unit": ["EUR"] * n,
        }
    )
    score = (age - 40) / 10 + (town == "Vigo") + member
    return frame, np.where(score > np.median(score), "buys", "passes"), score


def test_scikit_learn_finds_nothing_to_object_to():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in check_estimator(Preparation(), on_fail=None):
            assert found["status"] != "failed", found


HUGE = pl.DataFrame({"age": [1.7e308, -1.7e308] * 4, "town": ["Lugo", "Vigo"] * 4})


def broken(frame, error):
    """Batches of which the second never comes."""
    yield frame[:50]
    raise error


FAILING = {
    "fit: no rows": (lambda p, _: p.fit(HUGE[:0]), ColumnError),
    "fit: overflow": (lambda p, _: p.fit(HUGE), ColumnError),
    "fit: matrix": (lambda p, _: p.fit(np.array([[1.0, np.inf]])), ValueError),
    "batches: disk": (lambda p, _: p.fit_batches(broken(people()[0], OSError())), OSError),
    "batches: Ctrl-C": (
        lambda p, _: p.fit_batches(broken(people()[0], KeyboardInterrupt())),
        KeyboardInterrupt,
    ),
    "batches: overflow": (lambda p, _: p.fit_batches([HUGE]), ColumnError),
    "batches: columns": (lambda p, _: p.fit_batches([HUGE, HUGE[["age"]]]), ColumnError),
    "files": (lambda p, path: p._fit_files([path], DecodingOptions("y"), 0), ColumnError),
}


@pytest.mark.parametrize("way", FAILING)
def test_a_fit_that_fails_leaves_it_as_it_was(way, tmp_path):
    """Whatever was known before, a table or a matrix or nothing."""
    fail, error = FAILING[way]
    path = tmp_path / "huge.csv"
    HUGE.with_columns(y=1.0).write_csv(path)
    table, _, _ = people(60)
    for known in (None, table, np.arange(6.0).reshape(3, 2)):
        preparation = Preparation()
        if known is not None:
            preparation.fit(known)
        before = digest(preparation)
        with pytest.raises(error):
            fail(preparation, path)
        assert digest(preparation) == before
        if known is None:
            with pytest.raises(NotFittedError):
                preparation.transform(table)
        preparation.fit(table)
        assert digest(preparation) == digest(Preparation().fit(table))


def test_pages_after_a_file_that_could_not_be_prepared(tmp_path):
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    HUGE.with_columns(y=1.0).write_csv(bad)
    table, _, score = people(60)
    table.with_columns(y=pl.Series(score)).write_csv(good)
    preparation = Preparation()
    with pytest.raises(ColumnError, match="overflows"):
        cotas.tables.open_pages(bad, target="y", preparation=preparation)
    pages = cotas.tables.open_pages(good, target="y", preparation=preparation)
    assert pages.n_features == preparation.transform(table).shape[1]


def test_columns_that_come_out():
    frame, _, _ = people(400)
    preparation = Preparation().fit(frame)
    assert preparation.get_feature_names_out().tolist() == [
        "age",
        "member",
        "age is missing",
        "town=Lugo",
        "town=Pontevedra",
        "town=Vigo",
        "town=other",
        "town is missing",
        "sex=m",
    ]
    assert preparation.dropped_ == [("unit", "constant")]
    Z = preparation.transform(frame)
    assert Z.shape == (400, 9)
    town = Z[:, 3:8]
    assert (town.sum(axis=1) == 1).all()
    assert (Z[:, 7] == frame["town"].is_null().to_numpy()).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_standardized_as_scikit_learn_does(dtype):
    X = np.random.default_rng(0).normal(3, 7, size=(50, 4)).astype(dtype)
    Z = Preparation().fit_transform(X)
    np.testing.assert_allclose(Z, StandardScaler().fit_transform(X.astype(float)), atol=1e-12)
    assert (Preparation(standardize=False).fit_transform(X) == X).all()


def test_pandas_polars_and_any_order_of_columns_give_the_same():
    frame, _, _ = people()
    pandas = pd.DataFrame(frame.to_dict(as_series=False))
    preparation = Preparation().fit(frame)
    expected = preparation.transform(frame)
    assert (preparation.transform(pandas) == expected).all()
    assert (Preparation().fit_transform(pandas) == expected).all()
    assert (preparation.transform(frame.select(frame.columns[::-1])) == expected).all()
    text = frame.with_columns(pl.all().cast(pl.String))
    assert (preparation.transform(text) == expected).all()


def test_a_row_at_a_time_gives_the_same():
    frame, _, _ = people(60)
    preparation = Preparation().fit(frame)
    rows = [preparation.transform(frame[k : k + 1]) for k in range(60)]
    assert (np.vstack(rows) == preparation.transform(frame)).all()


def test_unseen_values_go_to_the_pool_and_nowhere_without_one():
    names = ["a"] * 50 + ["b"] * 50 + ["c"] * 50
    frame = pl.DataFrame({"pooled": [*names[:-1], "rare"], "plain": names})
    preparation = Preparation().fit(frame)
    with says(ColumnWarning, name="plain"):
        Z = preparation.transform(pl.DataFrame({"pooled": ["new"], "plain": ["new"]}))
    columns = preparation.get_feature_names_out().tolist()
    assert Z[0].tolist() == [name == "pooled=other" for name in columns]


def test_the_most_frequent_categories_are_kept():
    words = ["a"] * 5 + ["b"] * 9 + ["c"] * 9 + ["d"] * 2
    preparation = Preparation(max_categories=2).fit(pl.DataFrame({"w": words}))
    assert preparation.categories_ == [["b", "c"]]
    assert preparation.pooled_ == [True]


def test_wide_and_sparse_stays_sparse():
    X = sparse.random(30, 500, density=0.02, random_state=0, format="csr")
    Z = Preparation().fit_transform(X)
    assert sparse.issparse(Z)
    assert (Z != X).nnz == 0
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{j}": rng.choice(list("abcdefghij"), 300) for j in range(40)})
    Z = Preparation().fit_transform(frame)
    assert sparse.issparse(Z)
    assert Z.shape == (300, 400)
    assert (np.asarray(Z.sum(axis=1)) == 40).all()


USELESS = {
    "text": [f"the text of row {k}" for k in range(40)],
    "identifier": list(range(100, 140)),
    "other": [[1, 2]] * 40,
}


@pytest.mark.parametrize("why", USELESS)
def test_columns_that_no_model_can_use_are_left_out_or_named(why):
    frame = pl.DataFrame({"x": np.arange(40.0) % 7, "odd one": USELESS[why]})
    preparation = Preparation().fit(frame)
    assert preparation.dropped_ == [("odd one", why)]
    assert preparation.used_columns_ == ["x"]
    assert (preparation.transform(frame.drop("odd one")) == preparation.transform(frame)).all()
    with says(ColumnError, names="odd one"):
        Preparation(strict=True).fit(frame)
    if why != "other":
        kept = Preparation(keep=["odd one"], min_frequency=0).fit(frame)
        assert kept.dropped_ == []
        assert kept.used_columns_ == ["x", "odd one"]


def test_all_columns_that_cannot_be_used_are_named_at_once():
    with pytest.raises(ColumnError) as caught:
        Preparation(strict=True).fit(pl.DataFrame({**USELESS, "x": [1.5, 2.5] * 20}))
    assert all(f"'{name}'" in str(caught.value) for name in USELESS)
    with says(ColumnError, name="nope"):
        Preparation(keep=["nope"]).fit(pl.DataFrame(USELESS))


def test_an_infinite_number_is_refused_with_its_row():
    frame = pl.DataFrame({"odd one": [1.0, float("inf")] * 15})
    with says(ColumnError, name="odd one", value="2"):
        Preparation().fit(frame)


def test_numbers_that_come_once_but_mean_something_stay():
    n = 60
    frame = pl.DataFrame({"year": range(1950, 1950 + n), "size": np.arange(n) ** 3 + 1000})
    assert Preparation().fit(frame).dropped_ == []


def test_tables_that_do_not_fit_the_model_are_refused():
    frame, _, _ = people()
    preparation = Preparation().fit(frame)
    with says(ColumnError, names="'age', 'town'"):
        preparation.transform(frame.drop("age", "town"))
    with says(ColumnError, name="age", value="old", expected="numbers"):
        preparation.transform(frame.with_columns(age=pl.lit("old")))
    with pytest.raises(ColumnError):
        preparation.transform(np.zeros((3, 5)))
    with pytest.raises(ColumnError):
        Preparation().fit(np.arange(6.0).reshape(3, 2)).transform(frame)
    notes = preparation.compare(frame.select(pl.lit(1).alias("new"), *frame.columns[::-1]))
    assert "ignored: new" in notes[0]
    assert "another order" in notes[1]
    assert preparation.compare(frame) == []
    # A column that was dropped is not needed.
    assert preparation.transform(frame.drop("unit")).shape[1] == 9


@given(st.integers(0, 10**6), st.booleans())
def test_coefficients_in_original_units_give_the_same_scores(seed, standardize):
    rng = np.random.default_rng(seed)
    X = rng.normal(5, 3, size=(20, 3)) * [1.0, 100.0, 0.01]
    y = X @ [1.0, -0.01, 50.0] + rng.normal(size=20)
    preparation = Preparation(standardize=standardize)
    model = PreparedModel(cotas.Ridge(lam=0.1), preparation).fit(X, y)
    weights, bias = model.in_original_units()[0]
    np.testing.assert_allclose(X @ list(weights.values()) + bias, model.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [cotas.LinearSVM(), cotas.AdaBoost(n_estimators=5), cotas.KernelSVM(), cotas.Perceptron()],
    ids=lambda model: type(model).__name__,
)
def test_a_prepared_classifier_from_fit_to_file(tmp_path, estimator):
    frame, y, _ = people(120)
    model = PreparedModel(clone(estimator)).fit(frame, y)
    assert is_classifier(model)
    assert not is_regressor(model)
    assert model.task == "classification"
    assert model.certify(frame, y).holds
    recipe = Recipe(model.preparation_, target="buys", rows=np.arange(120), n_rows=120)
    model.save(tmp_path / "m.cotas", data=(frame, y), recipe=recipe)
    again = PreparedModel.load(tmp_path / "m.cotas")
    assert (again.predict(frame) == model.predict(frame)).all()
    assert (again.decision_function(frame) == model.decision_function(frame)).all()
    assert hasattr(again, "predict_proba") == hasattr(estimator, "predict_proba")
    assert again.recipe_.target == "buys"
    assert (again.recipe_.rows == np.arange(120)).all()
    assert again.score(frame, y) == np.mean(model.predict(frame) == y)


@pytest.mark.parametrize(
    "estimator",
    [
        cotas.LinearSVM(),
        cotas.Ridge(lam=0.1),
        linear_model.LogisticRegression(),
        linear_model.Ridge(),
    ],
    ids=lambda model: f"{type(model).__module__.split('.')[0]}.{type(model).__name__}",
)
def test_certify_takes_a_prepared_model_and_its_table(estimator):
    frame, labels, score = people(120)
    y = labels if is_classifier(estimator) else score
    model = PreparedModel(clone(estimator)).fit(frame, y)
    inside = cotas.certify(model.estimator_, model.prepare(frame), y)
    for given_ in (frame, frame.to_pandas()):
        found = cotas.certify(model, given_, y)
        assert (found.holds, found.kind, found.gap) == (inside.holds, inside.kind, inside.gap)
        assert found.kind != "none"
        assert "prepared" in found.notes[-1]
        with cotas.lang("es"):
            assert "prepararon" in str(cotas.certify(model, given_, y))
    wrapped = cotas.certify(make_pipeline(model), frame, y)
    assert wrapped.kind == inside.kind
    with pytest.raises(NotFittedError):
        cotas.certify(PreparedModel(clone(estimator)), frame, y)


def test_certified_predictions_and_a_changed_model():
    frame, y, _ = people(120)
    model = PreparedModel(cotas.LinearSVM(tol=1e-8)).fit(frame, y)
    labels, certified = model.certified_predict(frame)
    assert (labels == model.predict(frame)).all()
    assert certified.mean() > 0.9
    model.estimator_.coef_ = model.estimator_.coef_ + 0.01
    assert not model.certificate_.holds
    assert not model.certified_predict(frame)[1].any()


def test_a_prepared_regressor():
    frame, _, score = people(150)
    model = PreparedModel(cotas.Lasso(lam=0.01)).fit(frame, score)
    assert is_regressor(model)
    assert model.task == "regression"
    assert model.score(frame, score) > 0.8
    assert model.certificate_.holds
    boosted = PreparedModel(cotas.AdaBoost(n_estimators=2)).fit(frame, score > 0)
    with refuses("estimator"):
        boosted.in_original_units()


@pytest.mark.parametrize(
    "changes",
    [
        {"scales_": np.array([0.0, 1.0])},
        {"means_": np.array([np.nan, 1.0])},
        {"indicated_": np.array([True])},
        {"categories_": [["a"]]},
        {"layout_": "cube"},
        {"number_names_": [3, 4]},
        {"dates_": [("age", "by heart")]},
        {"dates_": [("nobody", "ymd")]},
    ],
)
def test_a_preparation_that_no_fit_leaves_behind_is_refused(changes, tmp_path):
    frame, label, _ = people()
    model = PreparedModel(cotas.LinearSVM()).fit(frame, label)
    for name, value in changes.items():
        setattr(model.preparation_, name, value)
    with pytest.raises(ModelFileError):
        model.save(tmp_path / "model.cotas")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 0], "classification"),
        ([1.0, -1.0, 1.0], "classification"),
        (list(range(10)) * 10, "classification"),
        (list(range(50)), "regression"),
        ([0.5, 1.0], "regression"),
        ([800, 205, 229, 550], "regression"),
    ],
)
def test_the_task_is_told_from_the_target(y, task):
    assert tell_task(y) == task


def test_targets():
    assert as_target([1.0, -1.0], "classification").dtype.kind == "i"
    assert as_target([True, False], "classification").tolist() == ["true", "false"]
    with says(DataFileError, label="1"):
        as_target([1, 1], "classification")
    with says(DataFileError, name="the target"):
        as_target(["a", "b"], "regression")


@given(
    seed=st.integers(0, 100),
    share=st.sampled_from([0.1, 0.2, 0.5]),
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    task=st.sampled_from(["classification", "regression"]),
)
def test_rows_held_out(seed, share, sizes, task):
    y = np.repeat(np.arange(len(sizes)), sizes)
    n = len(y)
    assume(0 < round(share * n) < n and share * n <= n - len(sizes))
    train, test = hold_out_rows(y, task, share, seed)
    assert sorted([*train, *test]) == list(range(n))
    assert len(test) == round(share * n)
    again = hold_out_rows(y, task, share, seed)
    assert (train == again[0]).all()
    if task == "classification":
        held = np.bincount(y[test], minlength=len(sizes))
        assert (held < sizes).all()
        rounded = np.abs(held - share * np.array(sizes)) <= 1
        assert (rounded | (held == np.array(sizes) - 1) | (min(sizes) == 1)).all()


@given(seed=st.integers(0, 100), copies=st.integers(2, 5))
def test_a_group_is_on_one_side(seed, copies):
    groups = np.repeat(np.arange(30), copies)
    y = groups % 3
    train, test = hold_out_rows(y, "classification", 0.2, seed, groups)
    assert sorted([*train, *test]) == list(range(30 * copies))
    assert not set(groups[train]) & set(groups[test])
    assert set(y[train]) == {0, 1, 2}


def test_copies_are_told_from_twins():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    twice = Table(np.vstack([rows, rows[:5]]), None, "t", "npz")
    marks, said = find_copies(twice, np.append(y, y[:5]))
    assert (marks[:5] == marks[40:]).all()
    assert "10 rows occur more than once" in str(said[0])
    assert "nothing is proved of future rows" in str(said[0])
    # Numbers have no bound that copies could take away.
    said = find_copies(twice, np.append(y, y[:5]), "regression")[1]
    assert "10 rows occur more than once" in str(said[0])
    assert "proved" not in str(said[0])
    assert find_copies(twice, np.append(y, 1 - y[:5])) == (None, [])  # of another class
    few = pl.DataFrame({"class": ["1st", "2nd"] * 20, "id": np.arange(40) + 900})
    assert find_copies(Table(few, None, "t", "csv"), y)[0] is None
    assert find_copies(Table(rows, None, "t", "npz"), y) == (None, [])


def test_the_split_of_copies_does_not_depend_on_the_file(tmp_path):
    rng = np.random.default_rng(0)
    x, shop = rng.normal(size=60).round(3), rng.integers(10, 30, 60)
    rows = pl.DataFrame({"x": x, "k": rng.integers(0, 9, 60), "shop": shop, "y": ["a", "b"] * 30})
    frame = pl.concat([rows, rows[:25]])
    narrow = frame.with_columns(pl.col("k").cast(pl.Int16), pl.col("shop").cast(pl.Float64))
    frame.write_csv(tmp_path / "t.csv")
    narrow.write_parquet(tmp_path / "t.parquet")
    frame.with_columns(pl.col("y").cast(pl.Categorical)).write_ipc(tmp_path / "t.arrow")
    (tmp_path / "t.json").write_text(frame.write_json())
    for words in ((), ("--group", "shop")):
        trained = set()
        for path in sorted(tmp_path.glob("t.*")):
            said = command("fit", path, "-t", "y", "-m", "svm", *words, "-o", tmp_path / "m.cotas")
            assert said.code in (0, 1), said.err
            trained.add(tuple(PreparedModel.load(tmp_path / "m.cotas").recipe_.rows))
        assert len(trained) == 1


def test_remarks_on_suspicious_data():
    n = 100
    y = np.arange(n) % 2
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "honest": rng.normal(size=n),
            "same": ["x"] * n,
            "outcome": np.where(y, "paid", "owes"),
            "amount": y * 5.0 + rng.random(n),
            "row": np.arange(n),
            "gone": [None if k % 4 else 1.5 + k % 3 for k in range(n)],
        }
    )
    split = np.arange(50), np.arange(50, 100)
    table = Table(frame, y, "t", "csv")
    found = {(r.kind, r.column) for r in inspect_table(table, split=split)}
    assert found == {
        ("constant", "same"),
        ("leak", "outcome"),
        ("leak", "amount"),
        ("identifier", "row"),
        ("missing", "gone"),
    }
    rare = np.arange(n) % 25 == 0
    twice = Table(np.repeat(rng.normal(size=(50, 3)), 2, axis=0), rare, "t", "npz")
    assert [remark.kind for remark in inspect_table(twice)] == ["unbalanced"]
    linear = pl.DataFrame({"x": np.arange(n) * 1.0, "z": rng.normal(size=n)})
    table = Table(linear, 3.0 * np.arange(n) + 1, "t", "csv")
    assert [r.column for r in inspect_table(table, task="regression")] == ["x"]


def test_classes_without_a_row_held_out_are_told_in_one_remark():
    rng = np.random.default_rng(0)
    many = Table(rng.normal(size=(3000, 2)), np.arange(3000) % 1000, "t", "npz")
    (told,) = inspect_table(many, split=(np.arange(2400), np.arange(2400, 3000)))
    assert told.kind == "unmeasured"
    assert "400 of the 1000 classes" in told.message
    assert "0, 1, 2, 3, 4, 5, 6, 7, … (400 in all)" in told.message
    assert "Merge" in told.message
    assert inspect_table(many, split=(np.arange(2000), np.arange(2000, 3000))) == []


@pytest.mark.parametrize("n", [500, 5000])
def test_a_leak_is_found_in_long_tables_and_an_exception_clears_the_column(n):
    y = np.where(np.arange(n) < n // 2, "a", "b")
    told = np.where(y == "a", -1.0, 1.0) + np.linspace(0, 0.5, n)
    nearly = told.copy()
    nearly[-1] = -2.0
    table = Table(np.stack([told, nearly], axis=1), y, "t", "npz")
    assert [r.column for r in inspect_table(table) if r.kind == "leak"] == ["x0"]
    order = np.random.default_rng(0).permutation(n)
    mixed = Table(table.features[order], y[order], "t", "npz")
    assert [r.column for r in inspect_table(mixed) if r.kind == "leak"] == ["x0"]


@pytest.mark.filterwarnings("error::polars.exceptions.PerformanceWarning")
def test_frames_of_every_kind_give_the_same():
    pa = pytest.importorskip("pyarrow")
    frame, y, _ = people(80)
    expected = PreparedModel(cotas.LinearSVM()).fit(frame, y).predict(frame)
    columns = frame.to_dict(as_series=False)
    forms = [columns, pd.DataFrame(columns), pa.table(columns), frame.lazy()]
    forms.append(pd.DataFrame(columns).astype({"town": "category"}))
    forms.append(frame.with_columns(pl.col("town").cast(pl.Categorical)))
    for form in forms:
        model = PreparedModel(cotas.LinearSVM()).fit(form, y)
        assert (model.predict(form) == expected).all(), type(form)
        assert (model.predict(frame) == expected).all(), type(form)
