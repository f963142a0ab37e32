"""Whatever the bytes are, reading them gives a table or an error that says what is wrong."""

import gzip
import io
from contextlib import suppress

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from cotas.files.libsvm import read_libsvm
from cotas.files.problems import DataFileError
from cotas.files.tables import batches, read_table
from cotas.preparation.preparation import Preparation

CELLS = st.sampled_from(
    ["1", "-2.5", "", "NA", "word", '"a,b"', '"a\nb"', "'q'", "1e999", "nan", "ñ", "1,5", "\t", " "]
)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=8)


def packed(frame, kind):
    buffer = io.BytesIO()
    frame.write_parquet(buffer) if kind == "parquet" else frame.write_ipc(buffer)
    return buffer.getvalue()


FRAME = pl.DataFrame({"x": np.arange(50.0), "c": ["a", "b"] * 25})
GOOD = {
    "csv": FRAME.write_csv().encode(),
    "gzip": gzip.compress(FRAME.write_csv().encode(), mtime=0),
    "zstd": zstandard.ZstdCompressor().compress(FRAME.write_csv().encode()),
    "parquet": packed(FRAME, "parquet"),
    "arrow": packed(FRAME, "arrow"),
    "libsvm": b"".join(b"%d 1:0.5 7:%d\n" % (k % 2, k) for k in range(50)),
}


def attempt(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "hostile"
    path.write_bytes(content)
    with suppress(DataFileError):
        assert read_table(path).n_rows > 0
    with suppress(DataFileError):
        assert all(part.n_rows <= 7 for part in batches(path, 7, n_features=10))


@given(content=st.binary(max_size=300))
def test_any_bytes(content, tmp_path_factory):
    attempt(content, tmp_path_factory)


@given(
    rows=ROWS, separator=st.sampled_from([",", ";", "\t", " "]), end=st.sampled_from(["\n", "\r\n"])
)
def test_any_text_table(rows, separator, end, tmp_path_factory):
    attempt(end.join(separator.join(row) for row in rows).encode(), tmp_path_factory)


@pytest.mark.parametrize("kind", GOOD)
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_one_changed_byte(kind, place, value, tmp_path_factory):
    content = bytearray(GOOD[kind])
    content[int(place * len(content))] = value
    attempt(bytes(content), tmp_path_factory)


@pytest.mark.parametrize("kind", GOOD)
@given(place=st.floats(0, 1))
def test_a_file_that_breaks_off(kind, place, tmp_path_factory):
    attempt(GOOD[kind][: int(place * len(GOOD[kind]))], tmp_path_factory)


@given(text=st.text(alphabet="0123456789.:-+eEnaif #\tq\nd", max_size=60))
def test_any_libsvm_text_is_read_as_scikit_learn_reads_it_or_refused(text, tmp_path_factory):
    from sklearn.datasets import load_svmlight_file

    path = tmp_path_factory.getbasetemp() / "hostile.svm"
    path.write_text(text)
    try:
        X, y = read_libsvm(path)
    except DataFileError:
        return
    theirs, labels = load_svmlight_file(str(path), n_features=X.shape[1])
    assert (y == labels).all()
    assert (theirs != X).nnz == 0


@given(
    columns=st.dictionaries(
        st.text(max_size=5),
        st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=6, max_size=6)
        | st.lists(st.one_of(st.none(), st.sampled_from("abc")), min_size=6, max_size=6)
        | st.lists(st.one_of(st.none(), st.booleans()), min_size=6, max_size=6),
        min_size=1,
        max_size=4,
    )
)
def test_any_table_is_prepared_to_finite_numbers(columns):
    frame = pl.DataFrame(columns)
    preparation = Preparation().fit(frame)
    Z = preparation.transform(frame)
    assert np.isfinite(Z).all()
    assert Z.shape == (6, len(preparation.get_feature_names_out()))
    assert (preparation.transform(frame[::-1]) == Z[::-1]).all()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("indptr", [0, -(2**31), 0]),  # SciPy looks no further where the last entry is zero
        ("indptr", [0, 3, 1]),
        ("indptr", [0, 1, 9]),
        ("indptr", [0.0, 1.0, 2.0]),
        ("indices", [0, 7]),
        ("indices", [0, -1]),
        ("shape", [2]),
        ("shape", [2, 2, 2]),
    ],
)
def test_sparse_npz_that_points_to_what_is_not_there(part, value, tmp_path):
    parts = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 2]}
    np.savez(tmp_path / "X.npz", **{**parts, part: value})
    with pytest.raises(DataFileError):
        read_table(tmp_path / "X.npz")
