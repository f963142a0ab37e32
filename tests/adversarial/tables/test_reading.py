"""Tables as people write them are read as they are meant, whole and in batches."""

import gzip
import json
import sqlite3
import zipfile

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st

from cotas.exceptions import DataFileError
from cotas.files.cells import numbers_of_words
from cotas.files.tables import batches, read_table
from cotas.preparation.streamed import learn
from cotas.scale.decoding import DecodingOptions
from cotas.tables import Preparation, PreparedModel, inspect_table
from errors import says
from terminal import cotas


def read(path, content, encoding="utf-8", **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return read_table(path, **options)


def in_batches(path, names):
    """The columns as numbers, read in batches, in which all is text."""
    frame = pl.concat(part.features for part in batches(path, 2))
    return frame.select(pl.col(names).cast(pl.Float64)).to_dict(as_series=False)


# how it is written: the cells of a column, and the numbers that they are
WAYS = {
    "plain": (["1234.5", "-0.25", "1e3"], [1234.5, -0.25, 1000.0]),
    "commas for thousands": (["1,234.5", "12,345,678.25", "7"], [1234.5, 12345678.25, 7.0]),
    "points for thousands": (["270.466,46", "1.234", "5,5"], [270466.46, 1234.0, 5.5]),
    "spaces for thousands": (["1 234,5", "12 345 678,25", "7,0"], [1234.5, 12345678.25, 7.0]),
    "narrow spaces": (["1\u202f234,5", "2\u00a0500,75", "7,0"], [1234.5, 2500.75, 7.0]),
    "apostrophes": (["1'234.50", "2'500.75", "7.0"], [1234.5, 2500.75, 7.0]),
    "underscores": (["1_000", "2_500_000", "7"], [1000, 2500000, 7]),
    "dollars": (["$1,200.50", "-$3.00", "$ 7"], [1200.5, -3.0, 7.0]),
    "euros": (["1.200,50 €", "€3,25", "7,00 EUR"], [1200.5, 3.25, 7.0]),
    "percent": (["12%", "7.5 %", "0%"], [12.0, 7.5, 0.0]),
    "unicode minus": (["−3", "−1.5", "2"], [-3.0, -1.5, 2.0]),
    "parentheses": (["(12)", "($1,200.50)", "3"], [-12.0, -1200.5, 3.0]),
    "spaces around": ([" 1.5", "2.5 ", " 3 "], [1.5, 2.5, 3.0]),
}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("way", WAYS)
def test_numbers_in_every_way_of_writing_them(tmp_path, way, separator):
    cells, numbers = WAYS[way]
    rows = [["name", "amount"], *(["x", cell] for cell in cells)]
    quoted = [[f'"{c}"' if separator in c else c for c in row] for row in rows]
    path = tmp_path / "t.csv"
    table = read(path, "\n".join(separator.join(row) for row in quoted) + "\n")
    assert table.features["amount"].to_list() == numbers
    assert table.features["name"].to_list() == ["x"] * 3
    assert in_batches(path, ["amount"]) == {"amount": numbers}
    assert table.remarks == ()


@given(
    values=st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=8),
    cents=st.booleans(),
    marks=st.sampled_from([",.", ".,", " ,", "_."]),
)
def test_a_number_written_in_groups_is_read_back(values, cents, marks):
    assume(cents or marks != ".,")
    thousands, decimal = marks
    plain = [f"{v:,}{'.25' if cents else ''}" for v in values]
    written = [w.replace(",", "t").replace(".", decimal).replace("t", thousands) for w in plain]
    found = numbers_of_words(pl.Series("x", written), comma=decimal == ",").to_list()
    assert found == [float(w.replace(",", "")) for w in plain]


def test_a_space_after_the_comma_and_question_marks(tmp_path):
    lines = "39, State-gov, 77516, <=50K\n50, ?, ?, >50K\n38, Private, 83311, <=50K\n"
    frame = read(tmp_path / "adult.data", lines).features
    assert frame.to_dict(as_series=False) == {
        "column_1": [39, 50, 38],
        "column_2": ["State-gov", None, "Private"],
        "column_3": [77516, None, 83311],
        "column_4": ["<=50K", ">50K", "<=50K"],
    }


@pytest.mark.parametrize("word", ["?", " ?", "NA", "N/A", "-", "#N/A", "null", "", "n.a.", "<NA>"])
def test_words_for_what_is_missing(tmp_path, word):
    frame = read(tmp_path / "t.csv", f"x,c\n1,a\n{word},{word}\n3,b\n").features
    assert frame["x"].to_list() == [1, None, 3]
    assert frame["c"].to_list() == ["a", None, "b"]


def test_words_for_what_is_missing_can_be_named(tmp_path):
    text = "x,c\n1,a\nrefused,refused\n3,b\n"
    frame = read(tmp_path / "t.csv", text, missing=["refused"]).features
    assert frame.to_dict(as_series=False) == {"x": [1, None, 3], "c": ["a", None, "b"]}


def test_two_columns_with_one_name(tmp_path):
    path = tmp_path / "t.csv"
    table = read(path, "score,age,score,score_2\n1,30,2,3\n4,50,5,6\n")
    assert table.names == ["score", "age", "score_3", "score_2"]
    assert [(remark.kind, remark.column) for remark in table.remarks] == [("renamed", "score_3")]
    assert next(batches(path)).names == table.names


def with_bad_cells(bad, n=400, word="#REF!"):
    cells = [str(k / 7) for k in range(n)]
    for k in range(bad):
        cells[k * (n // bad) + 3] = word
    return "row,x\n" + "".join(f"r{k % 5},{cell}\n" for k, cell in enumerate(cells))


@pytest.mark.parametrize("word", ["#REF!", "oops", "12 apples"])
@pytest.mark.parametrize("bad", [1, 4])
def test_a_few_cells_that_are_no_numbers_are_said_with_their_row(tmp_path, bad, word):
    table = read(tmp_path / "t.csv", with_bad_cells(bad, word=word))
    column = table.features["x"]
    assert column.dtype == pl.Float64
    assert column.null_count() == bad
    (remark,) = table.remarks
    assert remark.kind == "cells"
    assert f"({bad} in all;" in str(remark)
    assert f"row 4: {word!r}" in str(remark)


def test_more_of_them_are_an_error_that_shows_the_first_five(tmp_path):
    path = tmp_path / "t.csv"
    with says(DataFileError, name="x", count="8", there="400") as caught:
        read(path, with_bad_cells(8))
    for row in (4, 54, 104, 154, 204):
        assert f"row {row}: '#REF!'" in str(caught.value)
    assert "row 254" not in str(caught.value)
    assert read_table(path, missing=["#REF!"]).features["x"].null_count() == 8
    assert read_table(path, categories=["x"]).features["x"][3] == "#REF!"


def test_numbers_among_few_words_are_categories_and_that_is_said(tmp_path):
    doors = ["2", "3", "4", "5more"] * 10
    table = read(tmp_path / "car.csv", "doors,y\n" + "".join(f"{d},1\n" for d in doors))
    assert table.features["doors"].to_list() == doors
    assert [remark.kind for remark in table.remarks] == ["mixed"]


POSTAL = ["28013", "08001", "41004", "08002"] * 15


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "json", "parquet"])
@pytest.mark.parametrize("gap", [False, True], ids=["whole", "with a gap"])
def test_codes_with_leading_zeros_are_categories_and_that_is_said(tmp_path, ending, gap):
    codes = [None if gap and k == 3 else code for k, code in enumerate(POSTAL)]
    frame = pl.DataFrame({"x": np.arange(60.0) / 7, "post": codes, "y": ["a", "b"] * 30})
    text, path = frame.write_csv(), tmp_path / f"t.{ending}"
    content = {
        "csv": text.encode(),
        "csv.gz": gzip.compress(text.encode()),
        "json": frame.write_json().encode(),
        "parquet": b"",
    }[ending]
    path.write_bytes(content) if content else frame.write_parquet(path)
    table = read_table(path)
    assert table.features["post"].to_list() == codes
    assert [r.column for r in inspect_table(table) if r.kind == "codes"] == ["post"]
    assert table.features["x"].dtype == pl.Float64
    said = cotas("fit", path, "-t", "y", "-m", "svm", "--out", tmp_path / "m.cotas")
    assert "codes with leading zeros" in said.err
    model = PreparedModel.load(tmp_path / "m.cotas")
    assert "post=08001" in model.preparation_.get_feature_names_out()
    # A part in which no code has a leading zero is the same table still.
    part = frame.filter(pl.col("post") == "28013")
    part.write_csv(tmp_path / "part.csv")
    read_again = read_table(tmp_path / "part.csv", target="y")
    assert (model.predict(read_again) == model.predict(part)).all()
    said = cotas("predict", tmp_path / "m.cotas", tmp_path / "part.csv", "--only", "--json")
    assert [row["prediction"] for row in said.document["predictions"]] == [*model.predict(part)]
    assert not said.document["odd_cells"]


def test_streams_and_memory_take_the_same_columns_for_codes(tmp_path):
    frame = pl.DataFrame({"post": POSTAL, "hour": ["8", "08", "9"] * 20, "y": ["a", "b"] * 30})
    frame.write_csv(tmp_path / "t.csv")
    streamed = Preparation()
    reading = DecodingOptions("y", preparation=streamed)
    learn(streamed, [tmp_path / "t.csv"], reading, 0)
    at_once = Preparation().fit(read_table(tmp_path / "t.csv", target="y"))
    for learned in (streamed, at_once):
        assert learned.category_names_ == ["post"]
        assert learned.number_names_ == ["hour"]
        assert learned.categories_ == [sorted(set(POSTAL))]


@pytest.mark.parametrize("cells", [["0", "1"], ["0.5", "0.7"], ["-01", "011"], ["7", "07"]])
def test_what_is_no_code_stays_a_number(tmp_path, cells):
    table = read(tmp_path / "t.csv", "x,y\n" + "".join(f"{c},1\n" for c in cells * 10))
    assert table.features["x"].dtype.is_numeric()


def test_codes_that_are_mostly_numbers_stay_words(tmp_path):
    tickets = [f"A/5 {k}" if k % 4 == 0 else str(1000 + k) for k in range(200)]
    table = read(tmp_path / "t.csv", "ticket,y\n" + "".join(f"{t},1\n" for t in tickets))
    assert table.features["ticket"].to_list() == tickets


TEXT = "ciudad,n\nLogroño,1\nCádiz,2\nÁvila,3\nSeñorío,4\n"


@pytest.mark.parametrize(
    "encoding",
    [
        *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"),
        *("cp1252", "latin-1", "cp850", "mac_roman"),
    ],
)
def test_encodings_are_told_apart(tmp_path, encoding):
    path = tmp_path / "t.csv"
    expected = ["Logroño", "Cádiz", "Ávila", "Señorío"]
    assert read(path, TEXT, encoding).features["ciudad"].to_list() == expected
    parts = [part.features for part in batches(path, 3)]
    assert pl.concat(parts)["ciudad"].to_list() == expected


def test_an_encoding_can_be_named(tmp_path):
    (tmp_path / "t.csv").write_bytes("都市,n\n東京,1\n".encode("shift_jis"))
    frame = read_table(tmp_path / "t.csv", encoding="shift-jis").features
    assert frame.to_dict(as_series=False) == {"都市": ["東京"], "n": [1]}
    with says(DataFileError, encoding="klingon"):
        read_table(tmp_path / "t.csv", encoding="klingon")


def zipped(text):
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("data")
        archive.writestr("data/flights.csv", text)
        archive.writestr("__MACOSX/._flights.csv", "rubbish")
    return buffer.getvalue()


PACKED = {
    "gz": lambda text: gzip.compress(text.encode()),
    "zst": lambda text: zstandard.ZstdCompressor().compress(text.encode()),
    "zip": zipped,
}


@pytest.mark.parametrize("kind", PACKED)
def test_one_table_in_a_compressed_file(tmp_path, kind):
    text = "x,c\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(50))
    path = tmp_path / f"flights.csv.{kind}"
    table = read(path, PACKED[kind](text))
    assert table.features["x"].to_list() == list(range(50))
    assert pl.concat(p.features for p in batches(path, 7))["c"].to_list() == ["a", "b"] * 25


def test_a_damaged_zip_is_an_error(tmp_path):
    content = bytearray(zipped("x,c\n" + "1,a\n" * 500))
    content[70] ^= 0xFF
    with pytest.raises(DataFileError):
        read(tmp_path / "t.zip", bytes(content))


ROWS = [{"x": 1, "c": "a"}, {"x": 2.5, "c": None}, {"x": None, "c": "b"}]
JSON = {
    "lines": "\n".join(map(json.dumps, ROWS)),
    "list": json.dumps(ROWS, indent=2),
    "columns": json.dumps({name: [row[name] for row in ROWS] for name in ("x", "c")}),
    "wrapped": json.dumps({"count": 3, "rows": ROWS}, indent=1),
}


@pytest.mark.parametrize("form", JSON)
def test_json(tmp_path, form):
    path = tmp_path / "t.json"
    frame = read(path, JSON[form]).features
    assert frame.to_dict(as_series=False) == {"x": [1.0, 2.5, None], "c": ["a", None, "b"]}
    assert sum(part.n_rows for part in batches(path, 2)) == 3


@pytest.mark.parametrize("text", ['{"x": 1}\n{"x": ', "[{", '[{"x": 1}, 3]', '{"x": [1, 2'])
def test_json_that_is_no_table_is_an_error(tmp_path, text):
    with pytest.raises(DataFileError):
        read(tmp_path / "t.json", text)


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as connection:
        connection.execute('create table "the visits" (age integer, paid, town text)')
        rows = [(31, 3, "Lugo"), (None, "$4.50", None), (50, 7.25, "Vigo")]
        connection.executemany('insert into "the visits" values (?, ?, ?)', rows)
        connection.execute("create table other (x)")
    connection.close()
    return path


def test_a_table_of_a_database(database):
    frame = read_table(f"{database}::the visits").features
    assert frame["age"].to_list() == [31, None, 50]
    assert frame["paid"].to_list() == [3.0, 4.5, 7.25]
    assert frame["town"].to_list() == ["Lugo", None, "Vigo"]
    assert next(batches(f"{database}::the visits", 2)).n_rows == 2


@pytest.mark.parametrize("name", ["", "::none", '::x"; drop table other; --'])
def test_a_table_that_is_not_there_is_named_with_those_that_are(database, name):
    with says(DataFileError, there="other, the visits"):
        read_table(f"{database}{name}")
    with sqlite3.connect(database) as connection:
        assert connection.execute("select count(*) from other").fetchone() == (0,)


def test_many_files_by_a_pattern(tmp_path):
    (tmp_path / "2023.csv").write_text("x,c\n1,a\n2,b\n")
    (tmp_path / "2024.csv").write_text("c,x\na,3.5\n")
    table = read_table(f"{tmp_path}/20*.csv", target="c")
    assert table.features["x"].to_list() == [1.0, 2.0, 3.5]
    assert table.target.tolist() == ["a", "b", "a"]
    assert sum(part.n_rows for part in batches(f"{tmp_path}/20*.csv", 1)) == 3
    (tmp_path / "2025.csv").write_text("x,d\n1,a\n")
    with pytest.raises(DataFileError) as caught:
        read_table(f"{tmp_path}/20*.csv")
    assert caught.value.source == f"{tmp_path}/2025.csv"
    with pytest.raises(DataFileError) as caught:
        read_table(f"{tmp_path}/19*.csv")
    assert caught.value.source == f"{tmp_path}/19*.csv"


SHEET = {
    "[Content_Types].xml": (
        '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
        'package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override '
        'PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-office'
        'document.spreadsheetml.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        'relationships"><Relationship Id="a" Type="http://schemas.openxmlformats.org/office'
        'Document/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/_rels/workbook.xml.rels": (
        '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        'relationships"><Relationship Id="s" Type="http://schemas.openxmlformats.org/office'
        'Document/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/'
        '2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<sheets><sheet name="People" sheetId="1" r:id="s"/></sheets></workbook>'
    ),
}


def workbook(path, rows):
    cells = "".join("<row>" + "".join(map(_cell, row)) + "</row>" for row in rows)
    sheet = (
        '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/'
        f'2006/main"><sheetData>{cells}</sheetData></worksheet>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**SHEET, "xl/worksheets/sheet1.xml": sheet}.items():
            archive.writestr(name, text)
    return path


def _cell(value):
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def test_a_spreadsheet(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["age", "town"], [31, "Lugo"], [50.5, "Vigo"]]
    path = workbook(tmp_path / "people.xlsx", rows)
    for name in (path, f"{path}::People"):
        frame = read_table(name).features
        assert frame.to_dict(as_series=False) == {"age": [31.0, 50.5], "town": ["Lugo", "Vigo"]}
    with pytest.raises(DataFileError, match="sheet"):
        read_table(f"{path}::Nobody")


def test_a_spreadsheet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "fastexcel", None)
    path = workbook(tmp_path / "people.xlsx", [["x"], [1]])
    with pytest.raises(ImportError, match="excel"):
        read_table(path)


def test_rows_without_a_target(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n2,\n3,b\n4,NA\n")
    with says(DataFileError, count="2", rows="4", row="2"):
        read_table(path, target="y")
    table = read_table(path, target="y", without_target="drop")
    assert table.target.tolist() == ["a", "b"]
    assert table.features["x"].to_list() == [1, 3]
    assert "missing in 2 of 4 rows" in str(table.remarks[0])
    assert np.isfinite(read_table(path).features["x"].to_numpy()).all()


UNTIDY = {
    "line ends of old": "x,c\r1,a\r2,b\r3,a\r",
    "remarks above": "# made by hand\n# on a Monday, late\nx,c\n1,a\n2,b\n3,a\n",
    "names after a sign": "# made by hand\n#x,c\n1,a\n2,b\n3,a\n",
    "lined up": "  x   c\n  1   a\n 2  b\n  3      a\n",
}


@pytest.mark.parametrize("how", UNTIDY)
def test_untidy_text(tmp_path, how):
    path = tmp_path / "t.txt"
    frame = read(path, UNTIDY[how]).features
    assert [name.strip("#") for name in frame.columns] == ["x", "c"]
    assert frame.rows() == [(1, "a"), (2, "b"), (3, "a")]
    parts = pl.concat(part.features for part in batches(path, 2))
    assert parts.rows() == [("1", "a"), ("2", "b"), ("3", "a")]


@pytest.mark.parametrize(
    "when", ["2020-01-06 05:00", "2020-01-06 05:00:00", "2020-01-06 05:00:00+01:00"]
)
def test_a_csv_that_ends_in_an_hour_is_no_libsvm_file(tmp_path, when):
    for head, cells in (("x,when", f"0.5,{when}"), ("when", when)):
        path = tmp_path / "t.csv"
        path.write_text(f"{head}\n" + f"{cells}\n" * 3)
        table = read_table(path)
        assert table.format == "csv"
        assert table.names == head.split(",")


def test_a_column_of_objects_of_several_types_is_read_as_in_a_file():
    pd = pytest.importorskip("pandas")
    from cotas.preparation.given import as_frame

    mixed = pd.DataFrame({"a": [1, 2.5, None], "b": [1, "x", None]}, dtype=object)
    assert as_frame(mixed).to_dict(as_series=False) == {"a": [1, 2.5, None], "b": ["1", "x", None]}


def test_objects_within_objects_are_columns(tmp_path):
    """As deep as they go, and without a name twice; a column without a name gets one."""
    path = tmp_path / "t.jsonl"
    rows = [{"": k, "p": {"q": {"r": k}, "s": "x"}, "p.s": 3, "l": [1]} for k in range(3)]
    path.write_text("\n".join(map(json.dumps, [*rows, {"": 3, "p": None, "p.s": 1, "l": []}])))
    frame = read_table(path).features
    assert set(frame.columns) == {"column_1", "p.s", "p.s_2", "p.q.r", "l"}
    assert frame["p.q.r"].to_list() == [0, 1, 2, None]
    whole = tmp_path / "t.json"
    whole.write_text(json.dumps({"rows": rows}))
    assert set(read_table(whole).names) == set(frame.columns)


def test_no_name_in_a_table_is_cut_off(tmp_path):
    """A class with a long name stands whole on the terminal."""
    path, long = tmp_path / "t.csv", "long " * 50
    path.write_text("x,y\n" + "".join(f"{k},{long if k % 2 else 'short'}\n" for k in range(60)))
    assert f"as {long.strip()}" in cotas("fit", path).out


@pytest.mark.parametrize("text", ['{"a":' * 600 + "1" + "}" * 600, '[{"a":' + "[" * 9000])
@pytest.mark.parametrize("lines", [1, 2])
def test_what_is_too_deep_is_refused(tmp_path, text, lines):
    """And does not end the process; brackets in words count for nothing."""
    path = tmp_path / "t.json"
    path.write_text("\n".join([text] * lines))
    with pytest.raises(DataFileError, match="deep"):
        read_table(path)
    path.write_text('{"a": 1, "s": "' + "[" * 500 + '"}\n{"a": 2, "s": "\\"{"}\n')
    assert read_table(path).n_rows == 2
