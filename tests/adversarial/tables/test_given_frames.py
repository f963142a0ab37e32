"""Frames of Python are taken as files are: renamed, with rows left out, and nothing in silence."""

import ast
import datetime
import decimal
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import typer

import cotas
from cotas.cli.app import COMMANDS, app
from cotas.files.problems import DataFileError
from cotas.preparation.columns import ColumnWarning
from cotas.tables import PreparedModel, read_table
from errors import says
from terminal import cotas as command

N = 60
X = np.random.default_rng(0).normal(size=N)
LABELS = np.where(X > 0, "a", "b")


def fitted(table, y=LABELS, estimator=None, **more):
    """A model, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PreparedModel(estimator or cotas.LinearSVM()).fit(table, y, **more)
    told = [str(each.message) for each in caught if issubclass(each.category, ColumnWarning)]
    return model, told


COLUMNS = {
    "complex": X + 1j,
    "objects": [object() for _ in range(N)],
    "lists": [[1, 2]] * N,
    "dicts": [{"a": k} for k in range(N)],
    "mixed": [{"a": 1}, "a", [1, 2], 2.5, object(), None] * 10,
    "bytes": [b"a", b"b"] * 30,
    "intervals": pd.arrays.IntervalArray.from_breaks(range(N + 1)),
    "few intervals": pd.arrays.IntervalArray.from_breaks(range(4)).take([0, 1, 2] * 20),
    "months": pd.period_range("2020-01", periods=N, freq="M"),
    "days": pd.period_range("2020-01-01", periods=N, freq="D"),
    "some days": pd.PeriodIndex(["2020-01-01", None, "2021-05-01"] * 20, freq="D"),
    "dates": [datetime.date(2020, 1, 1 + k % 28) for k in range(N)],
    "with zone": pd.date_range("2020", periods=N, tz="Europe/Madrid"),
    "hours": pd.to_timedelta(range(N), unit="h"),
    "decimals": [decimal.Decimal(k) / 3 for k in range(N)],
    "sparse": pd.arrays.SparseArray([0, 1, 2] * 20),
    "gaps": pd.array([1, None, 3] * 20, dtype="Int64"),
    "words and numbers": [1, "a", None, 2.5, "b", True] * 10,
    "large": np.where(X > 0, 2**64 - 1, 2**63).astype(np.uint64),
    "identifiers": np.random.default_rng(0).permutation(N),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_is_used_or_a_line_says_that_it_is_not(kind):
    table = pd.DataFrame({"x": X, kind: COLUMNS[kind]})
    model, told = fitted(table)
    used = kind in model.preparation_.used_columns_
    assert used != any(repr(kind) in words and "left out" in words for words in told)
    assert all("0x" not in name for name in model.preparation_.get_feature_names_out())
    assert len(model.predict(table[:7])) == 7


def test_periods_become_the_parts_of_dates():
    months = pd.period_range("2020-01", periods=N, freq="M")
    as_dates = fitted(pd.DataFrame({"x": X, "when": months.to_timestamp()}))[0]
    model = fitted(pd.DataFrame({"x": X, "when": months}))[0]
    names = model.preparation_.get_feature_names_out().tolist()
    assert names == as_dates.preparation_.get_feature_names_out().tolist()
    assert "when: year" in names


@pytest.mark.parametrize("names", [["a", "b", "a"], [1, "1", 2], [("a", 1), ("a", 1), "b"]])
def test_twins_are_renamed_and_found_again(names, tmp_path):
    table = pd.DataFrame(np.c_[X, X**2, X**3])
    table.columns = pd.Index(names, tupleize_cols=False)
    model, told = fitted(table)
    assert sum("Another column is called" in words for words in told) == 1
    assert model.preparation_.n_features_in_ == 3
    model.save(tmp_path / "m.cotas")
    assert (cotas.load(tmp_path / "m.cotas").predict(table) == model.predict(table)).all()
    arrow = pa.table([pa.array(column) for column in (X, X**2)], names=["a", "a"])
    assert fitted(arrow)[0].preparation_.feature_names_in_.tolist() == ["a", "a_2"]


WITH_GAPS = {
    "objects": np.array([None, float("nan"), *LABELS[2:]], dtype=object),
    "list": [None, None, *LABELS[2:].tolist()],
    "pandas": pd.Series([None, None, *LABELS[2:]]),
    "pandas text": pd.Series([None, None, *LABELS[2:]], dtype="string"),
    "pandas category": pd.Series([None, None, *LABELS[2:]], dtype="category"),
    "polars": pl.Series([None, None, *LABELS[2:].tolist()]),
    "whole numbers": pd.array([None, None, *(X[2:] > 0).astype(int)], dtype="Int64"),
    "masked": np.ma.masked_array((X > 0).astype(int), np.arange(N) < 2),
}


@pytest.mark.parametrize("kind", WITH_GAPS)
@pytest.mark.parametrize("given", [pd.DataFrame, pl.DataFrame, dict, lambda t: t["x"][:, None]])
def test_rows_without_a_target_are_left_out(kind, given):
    y, table = WITH_GAPS[kind], {"x": X}
    model, told = fitted(given(table), y, sample_weight=np.arange(1.0, N + 1))
    assert any("missing in 2 of 60 rows" in words for words in told)
    labels = model.classes_[(X > 0).astype(int) ^ (model.classes_[0] == "a")]
    rest = {"x": X[2:]}
    other, told = fitted(given(rest), labels[2:], sample_weight=np.arange(3.0, N + 1))
    assert not told
    assert np.array_equal(model.estimator_.coef_, other.estimator_.coef_)
    assert model.classes_.dtype == other.classes_.dtype
    with says(ColumnWarning, count="2"):
        assert model.score(given(table), y) == other.score(given(rest), labels[2:])
    with says(ColumnWarning, count="2"):
        assert model.certify(given(table), y).kind == "duality"
    with says(ColumnWarning, count="2"):
        assert cotas.certify(model, given(table), y, np.arange(1.0, N + 1)).kind == "duality"


def test_the_bound_of_held_out_rows_is_about_those_with_a_target():
    y = np.where(np.arange(N) < 2, None, np.where(X > 0, "a", "b"))
    model, _ = fitted({"x": X}, y)
    with says(ColumnWarning, count="2"):
        bound = model.hold_out_bound({"x": X}, y)
    assert bound.kind == "hold-out"
    assert bound.upper == model.hold_out_bound({"x": X[2:]}, y[2:]).upper


def test_certify_leaves_out_the_rows_that_the_fit_left_out():
    y = np.where(np.arange(N) < 2, np.nan, X)
    model, _ = fitted({"x": X}, y, cotas.Ridge(lam=1e-3))
    with says(ColumnWarning, count="2"):
        again = cotas.certify(model, {"x": X}, y)
    assert again.holds
    assert again.upper == model.certificate_.upper


def test_numbers_without_a_target_are_left_out_too():
    y = np.where(np.arange(N) < 2, np.nan, X)
    model, told = fitted({"x": X}, y, cotas.Ridge(lam=1e-3))
    other = fitted({"x": X[2:]}, X[2:], cotas.Ridge(lam=1e-3))[0]
    assert len(told) == 1
    assert np.array_equal(model.predict({"x": X}), other.predict({"x": X}))
    for gap in (None, float("nan"), "NA", " "):
        words = [gap, gap, *map(str, X[2:])]
        assert np.array_equal(
            fitted({"x": X}, words, cotas.Ridge(lam=1e-3))[0].predict({"x": X}),
            other.predict({"x": X}),
        )
    with says(DataFileError, rows="60"):
        fitted({"x": X}, [None] * N)
    with pytest.raises(ValueError, match="inconsistent"):
        fitted({"x": X}, [None, *LABELS[:20]])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_largest_whole_numbers_are_classes(tmp_path, ending):
    path, model = tmp_path / f"t.{ending}", tmp_path / "m.cotas"
    labels = np.where(X > 0, 2**64 - 1, 2**63).astype(np.uint64)
    frame = pl.DataFrame({"x": X, "y": labels})
    {"csv": frame.write_csv, "parquet": frame.write_parquet}[ending](path)
    assert command("fit", path, "-o", model).code == 0
    said = command("predict", model, path, "--json").document
    assert {str(row["prediction"]) for row in said["predictions"]} == {str(2**64 - 1), str(2**63)}
    assert said["test_error"] < 0.1
    assert command("certify", model, path).code == 0


# What callers of Python read must name what they can give, and not options of the command line.
SOURCE = Path(cotas.__file__).parent
FOR_TERMINALS = {"cli", "lab", "experiments"}
NAMED = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def test_no_text_of_the_library_names_an_option():
    known = {
        option
        for name in COMMANDS
        for parameter in typer.main.get_command(app).get_command(None, name).params
        for option in parameter.opts
    }
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in FOR_TERMINALS or path.name == "problems.py":
            continue
        tree = ast.parse(path.read_text())
        docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                options = set(NAMED.findall(node.value)) & known if node.value not in docs else ()
                found += [(path.name, option) for option in options]
    assert set(found) <= {("container.py", "--out")}  # "model.save and cotas fit --out"


def test_advice_is_for_who_asks(tmp_path):
    words = [*map(str, range(60)), *["oops"] * 3]
    table = {"x": words, "z": [k % 3 for k in range(63)]}
    with says(DataFileError, name="x", count="3", there="63") as caught:
        PreparedModel(cotas.LinearSVM()).fit(table, np.arange(63) % 2)
    assert "missing=" not in str(caught.value)  # an option of who reads a file
    path = tmp_path / "t.csv"
    pl.DataFrame(table).write_csv(path)
    with says(
        DataFileError,
        name="x",
        value="oops",
        missing="missing=['oops']",
        category="categories=['x']",
    ):
        read_table(path)
    said = command("fit", path)
    assert said.code == 3
    for option in ("--missing 'oops'", "--category 'x'", "--drop 'x'"):
        assert option in said.err
