"""Reading a table gives back what was written, whatever it was written in."""

import gzip
import io
import math
import sys

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import cotas
from cotas.files.csv_dialect import detect
from cotas.files.libsvm import in_columns, parse_block, read_libsvm, word_by_word
from cotas.files.problems import DataFileError
from cotas.files.tables import batches, read_table
from errors import says

FRAME = pl.DataFrame(
    {
        "area": [10.5, None, -3.25, 1e-7],
        "rooms": [3, 2, 1, 7],
        "place": ["north, upper", 'the "old" town', None, "ñandú\nsur"],
        "sold": [True, False, True, True],
    }
)


def written(frame, path):
    """The frame in the format that the name of the file says."""
    name = path.name
    if name.endswith((".gz", ".zst")):
        pack = gzip.compress if name.endswith(".gz") else zstandard.ZstdCompressor().compress
        path.write_bytes(pack(frame.write_csv().encode()))
    elif name.endswith(".parquet"):
        frame.write_parquet(path)
    elif name.endswith(".arrow"):
        frame.write_ipc(path)
    elif name.endswith(".tsv"):
        frame.write_csv(path, separator="\t")
    else:
        frame.write_csv(path)
    return path


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow", "named-anyhow"]
)
def test_what_was_written_is_read(tmp_path, name):
    table = read_table(written(FRAME, tmp_path / name), target="rooms")
    assert table.features.equals(FRAME.drop("rooms"), null_equal=True)
    assert table.target.tolist() == [3, 2, 1, 7]
    assert table.target_name == "rooms"


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_standard_input(tmp_path, monkeypatch, kind):
    data = written(FRAME, tmp_path / f"t.{kind}").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read_table("-").features.equals(FRAME, null_equal=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_encodings_and_separators(tmp_path, encoding, separator):
    lines = ["año", "edad"], ["José", "31"], ["Íñigo", "45"]
    text = "\r\n".join(separator.join(line) for line in lines)
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    frame = read_table(path).features
    assert frame.to_dict(as_series=False) == {"año": ["José", "Íñigo"], "edad": [31, 45]}


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n3,4\n", True),
        ("1,2\n3,4\n5,6\n", False),
        ("a,2019\nx,5\ny,6\n", False),  # a word above words, a number above numbers
        ("name,2019\nx,word\ny,other\n", True),
        ("x,y\nu,v\n", True),
        ("x,x\nu,v\n", False),
        ("'a b';'c'\n'1';2\n", True),
        ("1.5 2\n3 4\n", False),
        ("2019,2020,2021\n0.5,1.25,-3.5\n1.5,2.5,0.75\n", True),  # they count up, above fractions
        ("0,1,2,y\n0.5,1.25,-3.5,a\n1.5,2.5,0.75,b\n", True),
        ("1,2,3\n4,5,6\n7,8,9\n", False),
        ("1,2,4\n0.5,1.25,-3.5\n", False),
    ],
)
def test_header(text, header):
    assert detect(text.encode(), "t").header is header


def test_without_a_header_columns_are_numbered(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n")
    assert read_table(path).names == ["column_1", "column_2"]
    assert read_table(path, header=True).names == ["1", "2"]


def test_a_decimal_comma_is_recognized(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n1,5;-2\n2,25;3\n")
    assert read_table(path).features["x"].to_list() == [1.5, 2.25]


def test_types_are_told_from_all_rows_if_the_first_mislead(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,2\n" * 20_000 + "0.5,word\n")
    frame = read_table(path).features
    assert frame["x"][-1] == 0.5
    assert frame["y"][-1] == "word"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_batches_make_up_the_table(tmp_path, name, rows):
    frame = pl.DataFrame({"x": np.arange(100) / 8, "c": ["a", "b\nc", None, "d"] * 25})
    path = written(frame, tmp_path / name)
    parts = list(batches(path, rows, types={"x": pl.Float64}))
    assert max(part.n_rows for part in parts) <= rows
    assert pl.concat(part.features for part in parts).equals(frame, null_equal=True)


def test_batches_are_cut_between_rows_and_not_within_quotes(tmp_path, monkeypatch):
    monkeypatch.setattr("cotas.files.csv_dialect.blocks_of_lines.__defaults__", (11, None))
    frame = pl.DataFrame({"x": range(50), "c": ["plain", 'a\n"b"\nc'] * 25})
    path = written(frame, tmp_path / "t.csv")
    parts = list(batches(path, 3, types={"x": pl.Int64}))
    assert len(parts) > 15
    assert pl.concat(part.features for part in parts).equals(frame)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 20))
def test_decimals_are_read_as_python_reads_them(number, digits):
    for word in (repr(number), f"{number:.{digits}g}", f"{number:+.{digits}e}"):
        if math.isfinite(float(word)):
            rows = in_columns(f"{word} 1:{word} 3:{word}".encode(), 1)
            assert rows.labels.tolist() == [float(word)]
            assert rows.data.tolist() == [float(word)] * 2


LIBSVM = st.text("0123456789+-.eE: \n\t\rqx_", max_size=30)


@given(st.lists(st.one_of(LIBSVM, st.sampled_from([" 1:2", " 3:.5", "\n1", "\n+1"])), max_size=6))
def test_what_polars_reads_is_what_is_read_word_by_word(parts):
    text = "".join(parts).translate({9: " ", 13: " "}).encode()
    fast = in_columns(text, 0)
    try:
        slow = word_by_word(text, "t", 1, 0)
    except DataFileError:
        slow = None
    if fast is not None:
        assert slow is not None
        for one, other in zip(fast, slow, strict=True):
            assert one.tolist() == other.tolist()


@pytest.fixture
def examples():
    X = sparse.random(200, 30, density=0.2, random_state=0, format="csr")
    X.data -= 0.5
    return X, np.where(np.arange(200) % 3, 1.0, -1.0)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_libsvm_as_scikit_learn_reads_it(tmp_path, examples, zero_based, pack):
    buffer = io.BytesIO()
    dump_svmlight_file(*examples, buffer, zero_based=zero_based, comment="two\nlines")
    path = tmp_path / "t.svm"
    path.write_bytes(pack(buffer.getvalue()))
    X, y = read_libsvm(path)
    buffer.seek(0)
    theirs, labels = load_svmlight_file(buffer)
    assert (theirs != X).nnz == 0
    assert X.shape == theirs.shape
    assert (y == labels).all()
    assert read_table(path).zero_based is zero_based


def test_blocks_and_batches_of_libsvm_make_up_the_matrix(tmp_path, examples, monkeypatch):
    path = tmp_path / "t.svm"
    dump_svmlight_file(*examples, str(path))
    whole, y = read_libsvm(path)
    monkeypatch.setattr("cotas.files.csv_dialect.blocks_of_lines.__defaults__", (100, None))
    X, labels = read_libsvm(path, n_jobs=3)
    assert (whole != X).nnz == 0
    assert (y == labels).all()
    parts = list(batches(path, 4, n_features=40, zero_based=True))
    stacked = sparse.vstack([part.features for part in parts])
    assert stacked.shape == (200, 40)
    assert (stacked[:, :30] != whole).nnz == 0


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("x 1:2", "x"),
        ("nan 1:2", "nan"),
        ("1,2 1:2", "several"),
        ("1 2", "colon"),
        ("1 1:2 3", "index:value"),
        ("1 -1:2", "'-1:2'"),
        ("1 -0:2", "'-0:2'"),
        ("1 a:2", "'a:2'"),
        ("1 :2", "':2'"),
        ("1 9999999999:2", "index"),
        ("1 2:1 2:3", "larger"),
        ("1 3:1 2:3", "larger"),
        ("1 1:nan", "'1:nan'"),
        ("1 1:inf", "value"),
        ("1 1:", "'1:'"),
        ("1 1:2x", "'1:2x'"),
        ("1 1:1e999", "finite"),
        ("1e999 1:1", "label"),
        ("1 qid:3 1:2", "ranking"),
    ],
)
def test_faults_of_libsvm_are_told_with_their_line(tmp_path, line, word):
    path = tmp_path / "bad.svm"
    path.write_text(f"# a comment\n1 1:1 2:0.5\n\n{line}\n1 1:2\n")
    with pytest.raises(DataFileError, match=word) as caught:
        read_libsvm(path)
    assert caught.value.line == 4


def test_what_marks_the_bytes_is_no_part_of_the_first_label(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:3 2:1\n-1 1:2\n", encoding="utf-8-sig")
    assert read_libsvm(path)[1].tolist() == [1.0, -1.0]


def test_qid_can_be_skipped_and_long_numbers_are_read_exactly():
    word = "0.1000000000000000055511151231257827021181583404541015625"
    rows = parse_block(f"{word} qid:7 3:{word} 8:5e-324\n".encode(), "t", 1, 0, True)
    assert rows.labels.tolist() == [0.1]
    assert rows.data.tolist() == [0.1, 5e-324]
    assert rows.indices.tolist() == [3, 8]


def test_npz(tmp_path, examples):
    X, y = examples
    np.savez(tmp_path / "dense.npz", X=X.toarray(), y=y)
    sparse.save_npz(tmp_path / "sparse.npz", X)
    assert (read_table(tmp_path / "dense.npz").features == X.toarray()).all()
    assert (read_table(tmp_path / "sparse.npz").features != X).nnz == 0
    parts = list(batches(tmp_path / "dense.npz", 30))
    assert np.concatenate([part.target for part in parts]).tolist() == y.tolist()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize("head", [b"x,y\n1,2\n", b"1 1:1\n"])
def test_what_decompresses_to_too_much_is_refused(tmp_path, pack, head):
    path = tmp_path / "bomb"
    path.write_bytes(pack(head + b"\n" * 3_000_000))
    with says(DataFileError, most="1,000,000"):
        read_table(path, max_bytes=1_000_000)
    with says(DataFileError, most="1,000,000"):
        list(batches(path, 10, n_features=3, max_bytes=1_000_000))


def test_a_ratio_that_no_honest_table_has_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("cotas.files.compression.UNSUSPICIOUS_BYTES", 1_000_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"x,y\n1,2\n" + b"\n" * 3_000_000))
    with says(DataFileError, most="200"):
        read_table(path)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_file_that_breaks_off_is_not_taken_for_a_shorter_one(tmp_path, pack):
    rng = np.random.default_rng(0)
    whole = pack(pl.DataFrame({"x": rng.random(5000)}).write_csv().encode())
    path = tmp_path / "t.csv"
    for cut in (10, 3000, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataFileError, match="damaged"):
            read_table(path)
    path.write_bytes(whole + pack(b"0.5\n0.25\n"))  # one after the other is allowed
    assert read_table(path).features["x"].to_list()[-2:] == [0.5, 0.25]


def test_letters_beyond_the_sample_tell_the_encoding_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"c,x\n" + b"plain,1\n" * 20_000 + "Íñigo,2\n".encode("cp1252"))
    assert read_table(path).features["c"][-1] == "Íñigo"


def test_public_names():
    assert cotas.tables.read_table is read_table
    assert cotas.exceptions.DataFileError is DataFileError


@pytest.mark.parametrize("word", ["NA", "?", "null", "NaN", ""])
@pytest.mark.parametrize("before", [0, 40_000])
def test_words_for_missing_values(tmp_path, word, before):
    path = tmp_path / "t.csv"
    path.write_text("x,k,c\n" + "0.5,1,u\n" * before + f"{word},{word},{word}\n0.5,2,v\n")
    frame = read_table(path).features.fill_nan(None)
    assert [frame[name].null_count() for name in frame.columns] == [1, 1, 1]
    assert frame["x"][-1] == 0.5
    assert frame["k"][-1] == 2
    part = next(batches(path, 10**6, types={"x": pl.Float64, "k": pl.Float64})).features
    assert part.fill_nan(None).null_count().row(0) == (1, 1, 1)


def test_a_table_wider_than_the_sample(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"a column with a long name, number {j}" for j in range(4000)]
    frame = pl.DataFrame(np.arange(12_000.0).reshape(3, 4000), schema=names)
    frame.write_csv(path)
    assert read_table(path).features.equals(frame)


def test_blank_lines_are_no_rows_and_rows_of_missing_values_stay(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,x\n\n2,y\n\n\n")
    assert cotas.tables.read_table(path).features.rows() == [(1, "x"), (2, "y")]
    parts = [part.features for part in batches(path, types={"a": pl.Int64})]
    assert [row for part in parts for row in part.rows()] == [(1, "x"), (2, "y")]
    path.write_text("a,b\n1,x\n,\n2,y\n")
    assert cotas.tables.read_table(path).features.rows() == [(1, "x"), (None, None), (2, "y")]
