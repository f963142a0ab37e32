"""Words as codes say what the text says, and matrices hold what their columns do."""

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotas.files.cells import understood
from cotas.files.dates import FORMS, order_is_open, parsed, tell_form
from cotas.files.frames import coded, in_words, is_coded, uncoded
from cotas.files.table import Table
from cotas.files.tables import read_coded, read_table
from cotas.preparation.columns import roles_of
from cotas.preparation.inspection import inspect_table
from cotas.preparation.preparation import Preparation
from cotas.preparation.record import summarize
from cotas.preparation.statistics import Codes, compressed, dense


def frames_of_words():
    """Columns of text of every kind: few words, codes, dates, names, numbers, and none at all."""
    rng = np.random.default_rng(0)
    n = 120
    names = [f"person {k}" for k in range(n)]
    some = rng.choice(["a", " b", "c ", "NA", "ß"], n).tolist()
    days = [f"{1 + k % 28}/{1 + k % 12}/2020" for k in rng.integers(0, 3, n)]
    return pl.DataFrame(
        {
            "few": some,
            "holes": [None if k % 3 else word for k, word in enumerate(some)],
            "codes": rng.choice(["08001", "28013"], n),
            "days": days,
            "names": names,
            "numbers": rng.choice(["1", "2", "3"], n),
            "one": ["same"] * n,
            "empty": pl.Series([None] * n, dtype=pl.String),
            "late": [*(["x"] * 100), *names[100:]],
        }
    )


def test_codes_stand_for_the_text_they_are_made_of():
    """Whatever is asked of a table of text has the same answer when its words are coded."""
    frame = frames_of_words()
    codes = coded(frame)
    assert {name for name in frame.columns if is_coded(codes[name])} >= {"few", "holes", "codes"}
    assert not is_coded(codes["names"])
    assert in_words(codes).equals(frame)
    assert roles_of(codes) == roles_of(frame)
    y = np.arange(frame.height) % 2
    seen = [
        (inspect_table(Table(each, y, "t", "csv")), summarize(Table(each, y, "t", "csv")))
        for each in (frame, codes)
    ]
    assert seen[0] == seen[1]
    rows = np.arange(0, frame.height, 2)
    fitted = [Preparation().fit(each[rows]) for each in (frame, codes)]
    assert fitted[0].categories_ == fitted[1].categories_
    assert fitted[0].dropped_ == fitted[1].dropped_
    for preparation in fitted:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [preparation.transform(each) for each in (frame, codes)]
        assert np.array_equal(*found)
        said = [str(warning.message) for warning in caught]
        assert said[: len(said) // 2] == said[len(said) // 2 :]


def test_cells_are_understood_word_by_word():
    frame = frames_of_words()
    plain, found = (understood(f, False, "t") for f in (frame, coded(frame)))
    assert in_words(found.frame).equals(plain.frame)
    assert (found.remarks, found.commas) == (plain.remarks, plain.commas)
    assert found.written.keys() == plain.written.keys()
    for name, words in plain.written.items():
        assert uncoded(found.written[name]).equals(words)


def test_read_tables_hold_text(tmp_path):
    """What is coded on the way is text for who reads a table."""
    path = tmp_path / "t.csv"
    frames_of_words().drop("empty", "late").write_csv(path)
    table = read_table(path)
    assert {dtype for dtype in table.features.dtypes if not dtype.is_numeric()} == {pl.String}
    assert in_words(read_coded(path).features).equals(table.features)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 9000), st.integers(0, 4), st.integers(0, 4))
def test_a_sparse_matrix_is_the_dense_one(seed, n, numbers, categories):
    rng = np.random.default_rng(seed)
    values = rng.integers(-1, 2, (n, numbers)) * 1.0
    codes = [Codes(rng.integers(-1, 3, n).astype(np.int32), 3) for _ in range(categories)]
    found = compressed(values, codes)
    assert np.array_equal(found.toarray(), dense(values, codes))
    assert found.has_canonical_format
    assert found.nnz == np.count_nonzero(found.toarray())


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-31", "2021-12-01", None, "2020-02-30"],
        ["31/1/2020", "1/2/2020", "28/02/98", "words"],
        ["1/2/2020", "2/1/2020", "3/4/2021"],
        ["10:30", "8:05 pm", "23:59:59"],
        ["Jan 31, 2012", "3 de mayo de 2011", "Feb 2, 2020"],
    ],
)
def test_dates_are_those_of_the_words(cells):
    text = pl.Series("when", cells * 40)
    words = coded(text.to_frame())["when"]
    assert is_coded(words)
    assert tell_form(words) == tell_form(text)
    assert order_is_open(words) == order_is_open(text)
    for form in FORMS:
        assert parsed(words, form).equals(parsed(text, form), null_equal=True)
