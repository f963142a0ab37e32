"""What was saved comes back whole, and takes tables of every kind as they are."""

import pathlib
from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cotas as library
from cotas.files.problems import ModelFileError
from cotas.preparation.columns import ColumnWarning
from cotas.preparation.preparation import Preparation
from cotas.preparation.record import summarize
from cotas.report.page import KINDS as REPORTED
from cotas.tables import PreparedModel, Table
from errors import says
from terminal import cotas, customers

KINDS = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "pandas with categories": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)).astype(
        {"town": "category"}
    ),
    "arrow": lambda frame: pa.table(frame.to_dict(as_series=False)),
    "columns": lambda frame: frame.to_dict(as_series=False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_takes_the_table_as_it_is(tmp_path, kind):
    frame = customers(60)
    table = KINDS[kind](frame.drop("bought"))
    model = PreparedModel(library.LinearSVM()).fit(table, frame["bought"].to_numpy())
    model.save(tmp_path / "m.cotas")
    again = library.load(tmp_path / "m.cotas")
    assert type(again) is PreparedModel
    for other in KINDS.values():
        assert (again.predict(other(frame.drop("bought"))) == model.predict(table)).all()
    assert again.certificate_.holds


def test_what_the_command_line_saved_is_loaded_with_its_preparation(tmp_path):
    customers(80).write_csv(tmp_path / "shop.csv")
    model = tmp_path / "m.cotas"
    assert cotas("fit", tmp_path / "shop.csv", "-t", "bought", "-o", model).code == 0
    said = cotas("predict", model, tmp_path / "shop.csv", "--only", "--json").document
    found = library.load(model).predict(pl.read_csv(tmp_path / "shop.csv"))
    assert [row["prediction"] for row in said["predictions"]] == found.tolist()


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_a_table_is_told_from_a_model(tmp_path, ending):
    path = pathlib.Path(tmp_path) / f"shop{ending}"
    write = {".csv": "write_csv", ".parquet": "write_parquet", ".json": "write_ndjson"}[ending]
    getattr(customers(40), write)(path)
    with pytest.raises(ModelFileError):
        library.load(path)
    said = cotas("predict", path, path)
    assert said.code == 4
    assert "it is a table" in said.err


def test_values_never_seen_are_said(tmp_path):
    names = ["Lugo", "Vigo"] * 30
    preparation = Preparation().fit(pl.DataFrame({"town": names, "x": range(60)}))
    new = pl.DataFrame({"town": ["Paris", None, "Lugo"], "x": [1, 2, 3]})
    with says(ColumnWarning, name="town", count="1", some="'Paris'"):
        preparation.transform(new)


def test_a_column_may_be_called_count():
    frame = pl.DataFrame({"count": ["a", "b"] * 20, "x": np.arange(40) % 7})
    assert "count=b" in Preparation().fit(frame).get_feature_names_out()
    assert summarize(Table(frame, None, "t", "csv")).columns[0].most_frequent == "a"


DATES = [date(2020, 1, 1) + timedelta(days=k) for k in range(40)]
# what a column holds, and what is said of it: its kind and how many different values
SUMMARIES = {
    "words": (["yes", "no"] * 20, "category", 2),
    "truth": ([True, False] * 20, "boolean", 2),
    "whole": ([3, 4] * 20, "number", 2),
    "fractions": ([0.5, 1.5] * 20, "number", 2),
    "dates": (DATES, "date", 40),
    "moments": ([datetime(d.year, d.month, d.day, 7) for d in DATES], "date", 40),
    "dates in words": ([f"{d:%d/%m/%Y}" for d in DATES], "date", 40),
    "times": ([time(8, k) for k in range(40)], "time", 40),
    "times in words": ([f"08:{k:02}" for k in range(40)], "time", 40),
}


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("holes", [0, 3])
def test_what_is_missing_is_no_value(name, holes):
    values, kind, distinct = SUMMARIES[name]
    column = pl.Series("x", [*values, *[None] * holes])
    gaps = [column, column.fill_null(np.nan)] if column.dtype == pl.Float64 else [column]
    for each in gaps:
        said = summarize(Table(each.to_frame(), None, "t", "csv")).columns[0]
        assert (said.kind, said.missing, said.distinct) == (kind, holes, distinct)
        assert said.kind in REPORTED


@pytest.mark.parametrize("values", [[None, None], [np.nan, None], [None, np.inf], []])
def test_a_column_without_values_is_summarized(values):
    said = summarize(Table(pl.DataFrame({"x": values}), None, "t", "csv")).columns[0]
    assert (said.kind, said.distinct) == ("other", int(np.inf in values))
