"""One table is one model, whether it comes from a file or as a frame of any kind."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import is_classifier

import cotas
from cotas.exceptions import DataFileError, ModelFileError
from cotas.preparation.columns import ColumnError, ColumnWarning
from cotas.tables import PreparedModel, read_table
from errors import says
from estimators import every_estimator
from terminal import cotas as command

N = 60
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(50, 20, N).round(1)
Y = NUMBERS + RNG.normal(size=N)
# Cells as people write them: one column for each way.
COLUMNS = {
    "spaces": [f" {word}  " for word in RNG.choice(["red", "blue", "green"], N)],
    "gaps": [("?", " NA ", "low", "high")[k % 4] for k in range(N)],
    "decimal comma": [f"{value:.1f}".replace(".", ",") for value in NUMBERS],
    "money": [f"${1000 * value:,.2f}" for value in NUMBERS],
    "whole": [str(k % 7) for k in range(N)],
    "codes": [f"{k % 5:05d}" for k in range(N)],
    "truth": [("true", "false", "")[k % 3] for k in range(N)],
    "dates": [f"2020-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in range(N)],
}
FRAMES = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pandas objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "arrow": pa.table,
    "dict": dict,
    "lazy": pl.LazyFrame,
}


def learned(table) -> tuple[list[str], np.ndarray, PreparedModel]:
    model = PreparedModel(cotas.Ridge(lam=0.1)).fit(table, Y)
    return model.preparation_.get_feature_names_out().tolist(), model.predict(table), model


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_read_as_a_file_is(tmp_path, kind, column):
    columns = {"x": [f"{value:.1f}" for value in NUMBERS], column: COLUMNS[column]}
    pl.DataFrame(columns).write_csv(tmp_path / "table.csv", quote_style="always")
    names, predictions, model = learned(read_table(tmp_path / "table.csv"))
    frame = FRAMES[kind](columns)
    names_then, predictions_then, _ = learned(frame)
    assert names_then == names
    np.testing.assert_array_equal(predictions_then, predictions)
    # Each takes what the other was trained on.
    np.testing.assert_array_equal(model.predict(frame), predictions)


def written_as(values, sign):
    """Three decimals, which look like thousands, and one cell that tells which they are."""
    cells = [f"{value:.3f}".replace(".", sign) for value in values]
    return [*cells[:-1], f"1{'.' if sign == ',' else ','}234{sign}5"]


@pytest.mark.parametrize("sign", [",", "."])
@pytest.mark.parametrize("of_a_file", [False, True])
def test_a_row_alone_is_read_as_among_the_others(tmp_path, sign, of_a_file):
    frame = pl.DataFrame({"a": written_as(NUMBERS, sign), "b": NUMBERS})
    frame.write_csv(tmp_path / "table.csv", quote_style="always")
    given = read_table(tmp_path / "table.csv") if of_a_file else frame
    model = PreparedModel(cotas.Ridge(lam=0.1)).fit(given, Y)
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    alone = [again.predict(row) for row in frame.iter_slices(1)]
    np.testing.assert_allclose(np.concatenate(alone), model.predict(given), rtol=1e-12)


def test_the_command_reads_a_row_alone_as_among_the_others(tmp_path):
    frame = pl.DataFrame({"a": written_as(NUMBERS, ","), "b": NUMBERS, "y": Y})
    frame.write_csv(tmp_path / "all.csv", quote_style="always")
    frame[3:4].write_csv(tmp_path / "one.csv", quote_style="always")
    model = tmp_path / "model.cotas"
    assert command("fit", tmp_path / "all.csv", "-t", "y", "-m", "ridge", "-o", model).code == 0
    found = []
    for name in ("all.csv", "one.csv"):
        out = tmp_path / f"answers-{name}"
        assert command("predict", model, tmp_path / name, "-o", out).code == 0
        found.append(pl.read_csv(out)["prediction"])
    assert found[1][0] == pytest.approx(found[0][3], rel=1e-9)


@pytest.mark.parametrize("estimator", every_estimator(), ids=repr)
def test_what_was_trained_on_a_frame_comes_back_from_its_file(tmp_path, estimator):
    frame = pl.DataFrame({"a": NUMBERS, "b": COLUMNS["spaces"], "c": COLUMNS["gaps"]})
    y = np.where(NUMBERS > 50, "yes", "no") if is_classifier(estimator) else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PreparedModel(estimator).fit(frame, y)
    try:
        model.save(tmp_path / "model.cotas")
    except ModelFileError:  # with learners of another library
        assert "DecisionTree" in repr(estimator)
        return
    for load in (cotas.load, PreparedModel.load):
        again = load(tmp_path / "model.cotas")
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_categories_are_taken_as_they_are():
    words = [str(k % 3) for k in range(N)]
    for frame in (
        pd.DataFrame({"x": NUMBERS, "word": pd.Categorical(words)}),
        pl.DataFrame({"x": NUMBERS, "word": pl.Series(words, dtype=pl.Categorical)}),
    ):
        names, _, _ = learned(frame)
        assert names == ["x", "word=0", "word=1", "word=2"]


def odd_frame(cell: str) -> pl.DataFrame:
    return pl.DataFrame({"x": [*(str(value) for value in NUMBERS[1:]), cell]})


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_categories_of_any_kind_are_categories(tmp_path, kind):
    """And a row as text, or as numbers, is of the same category."""
    frame = pd.DataFrame({"x": NUMBERS, "k": pd.Categorical([kind(k % 3) for k in range(N)])})
    model = PreparedModel(cotas.Ridge(lam=0.1)).fit(frame, Y)
    names = model.preparation_.get_feature_names_out().tolist()
    assert names[0] == "x"
    assert {name[:2] for name in names[1:]} == {"k="}
    plain = frame.assign(k=frame["k"].astype(kind))
    np.testing.assert_array_equal(model.predict(plain), model.predict(frame))
    if kind is int:  # pandas makes doubles of whole numbers beside a missing one
        gaps = frame.assign(k=plain["k"].where(np.arange(N) > 0))
        np.testing.assert_array_equal(model.predict(gaps)[1:], model.predict(frame)[1:])


def test_intervals_are_categories():
    frame = pd.DataFrame({"x": NUMBERS, "k": pd.cut(NUMBERS, 3)})
    model = PreparedModel(cotas.Ridge(lam=0.1)).fit(frame, Y)
    assert len(model.preparation_.get_feature_names_out()) == 4
    assert np.isfinite(model.predict(frame)).all()


TARGETS = {
    "money": lambda y: [f"${value:,.4f}" for value in y],
    "comma": lambda y: [f"{value:.4f}".replace(".", ",") for value in y],
    "objects": lambda y: y.astype(object),
    "column": lambda y: pd.DataFrame({"y": [f"{value:.4f}" for value in y]}),
    "polars": lambda y: pl.Series([f"{value:.4f} €" for value in y]),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_numbers_to_be_predicted_are_read_as_in_a_file(kind):
    y = Y.round(4)
    table, written = {"x": NUMBERS}, TARGETS[kind](y)
    model = PreparedModel(cotas.Ridge(lam=0.1)).fit(table, written)
    plain = PreparedModel(cotas.Ridge(lam=0.1)).fit(table, y)
    np.testing.assert_array_equal(model.predict(table), plain.predict(table))
    assert model.score(table, written) == plain.score(table, y)
    assert model.certify(table, written).holds
    assert cotas.certify(model, table, written).holds
    assert model.certificate_.verify(model.prepare(table), model.target(written))


def test_a_target_that_is_no_number_is_refused_in_words():
    with says(DataFileError, name="the target"):
        PreparedModel(cotas.Ridge()).fit({"x": NUMBERS}, ["oops"] * 30 + ["1"] * 30)


def test_a_warning_of_a_column_names_the_line_of_the_caller():
    model = PreparedModel(cotas.Ridge(lam=0.1))
    calls = (
        lambda: model.fit(odd_frame("oops"), Y),
        lambda: model.predict(odd_frame("oops")),
        lambda: model.preparation_.transform(odd_frame("oops")),
    )
    for call in calls:
        with says(ColumnWarning, name="x", count="1") as caught:
            call()
        assert {warning.filename for warning in caught} == {__file__}
    nameless = {"model": model, "frame": odd_frame("oops")}  # as `exec` makes its own
    with pytest.warns(ColumnWarning):
        exec("model.predict(frame)", nameless)


def test_what_was_read_is_not_read_again(tmp_path):
    digits = [str(k % 3) for k in range(N)]
    path = tmp_path / "table.csv"
    pl.DataFrame({"x": NUMBERS, "digit": digits}).write_csv(path)
    names, _, _ = learned(read_table(path, categories=["digit"]))
    assert names == ["x", "digit=0", "digit=1", "digit=2"]


@pytest.mark.parametrize("frame", [pl.DataFrame({"x": []}), pl.DataFrame({"x": [None] * N})])
def test_a_frame_without_values_is_refused_in_words(frame):
    with pytest.raises(ColumnError):
        PreparedModel(cotas.Ridge(lam=0.1)).fit(frame, Y[: frame.height])


def test_names_of_columns_are_said_in_spanish_and_kept_in_english():
    gaps = [None if k % 5 == 0 else value for k, value in enumerate(NUMBERS)]
    words = ["red"] * 25 + ["blue"] * 20 + [f"w{k}" for k in range(15)]
    table = pl.DataFrame({"x": gaps, "w": words, "d": COLUMNS["dates"]})
    model = PreparedModel(cotas.Ridge(lam=0.1), cotas.tables.Preparation(keep=["w"]))
    preparation = model.fit(table, Y).preparation_
    names = preparation.get_feature_names_out().tolist()
    assert preparation.shown_names() == names
    with cotas.lang("es"):
        assert preparation.get_feature_names_out().tolist() == names
        shown = preparation.shown_names()
    assert "x ausente" in shown
    assert "d: año" in shown or "d: día del año" in shown
    left = [one for one in shown if "missing" in one or "=other" in one or "year" in one]
    assert not left
    assert all(type(name) is str for name in names)


def test_columns_are_named_as_fast_however_many_there_are(monkeypatch):
    table = pl.DataFrame({**{f"x{j}": NUMBERS for j in range(30)}, "d": COLUMNS["dates"]})
    preparation = cotas.tables.Preparation().fit(table)
    asked, parts = [], cotas.tables.Preparation._parts
    monkeypatch.setattr(
        cotas.tables.Preparation, "_parts", lambda self: asked.append(1) or parts(self)
    )
    assert len(preparation.get_feature_names_out()) > 30
    assert len(asked) == 1  # it looks at all columns


def test_the_catalogue_writes_percents_in_one_way():
    for text, translated in cotas.words.spanish().items():
        for each in (text, translated):
            assert "} %" not in each
            assert not any(f"{digit} %" in each for digit in "0123456789")
