"""Limits on tables hold before memory is taken, in every format, and messages say what to do."""

import io
import os
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest
import zstandard
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import cotas as library
from cotas.files import compression
from cotas.files.compression import MOST_COLUMNS, MOST_SPARSE_COLUMNS, Frames, Limits
from cotas.files.problems import DataFileError, Remark, gathered
from cotas.files.tables import batches, read_table
from cotas.preparation.columns import ColumnError
from cotas.preparation.targets import as_target
from errors import says
from terminal import cotas, customers

ROWS, COLUMNS = 12, 6
FRAME = pl.DataFrame(np.arange(ROWS * COLUMNS, dtype=float).reshape(ROWS, COLUMNS))


def libsvm(path):
    dump_svmlight_file(FRAME.to_numpy() + 1, np.arange(ROWS) % 2, str(path), zero_based=False)


WRITERS = {
    "csv": FRAME.write_csv,
    "csv.zst": lambda path: path.write_bytes(
        zstandard.ZstdCompressor().compress(FRAME.write_csv().encode())
    ),
    "json": FRAME.write_ndjson,
    "parquet": FRAME.write_parquet,
    "arrow": FRAME.write_ipc,
    "svm": libsvm,
    "npz": lambda path: np.savez(path, X=FRAME.to_numpy(), y=np.arange(ROWS)),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_keeps_both_limits(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](path)
    enough = {"max_columns": COLUMNS, "max_memory": 1 << 20}
    assert read_table(path, **enough).n_columns == COLUMNS
    with says(DataFileError, count="6", most="5", how="max_columns"):
        read_table(path, **(enough | {"max_columns": COLUMNS - 1}))
    with says(DataFileError, most="50"):
        read_table(path, **(enough | {"max_memory": 50}))


@pytest.mark.parametrize("ending", sorted(set(WRITERS) - {"svm"}))  # as wide as its caller says
def test_batches_keep_the_limit_of_columns(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](path)
    assert sum(part.n_rows for part in batches(path, 5, n_features=COLUMNS)) == ROWS
    with says(DataFileError, how="max_columns"):
        list(batches(path, 5, n_features=COLUMNS, max_columns=2))


def test_the_command_line_hands_the_limits_on(tmp_path):
    path = tmp_path / "shop.csv"
    customers(60).write_csv(path)
    for command in ("fit", "compare", "path", "curve", "separable"):
        said = cotas(command, path, "--max-columns", "2")
        assert said.code == 3
        assert "it has 5 columns, more than 2" in said.err
    said = cotas("fit", path, "--max-memory", "1e-6")
    assert said.code == 3
    assert "--max-memory" in said.err
    assert cotas("fit", path, "--max-memory", "nan").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a process is not told how much it took")
def test_what_is_refused_takes_no_memory(tmp_path):
    """Files of a few bytes or megabytes that stand for gigabytes, in half a gigabyte of data."""
    indices = tmp_path / "far.svm"
    indices.write_text(f"1 1:1\n-1 {MOST_SPARSE_COLUMNS + 1}:2\n")
    line = tmp_path / "line.csv"
    line.write_bytes(b"1," * (8 * MOST_COLUMNS) + b"1\n")
    bomb = tmp_path / "bomb.zst"
    bomb.write_bytes(zstandard.ZstdCompressor().compress(b"x,y\n" + b"1,2\n" * (75 << 20)))
    code = """
import resource, sys
from cotas.files.tables import read_table
from cotas.files.problems import DataFileError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        read_table(path)
    except DataFileError as error:
        print(error)
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(more * (1 if sys.platform == "darwin" else 1024) < 600 << 20)
"""
    call = [sys.executable, "-c", code, *map(str, (indices, line, bomb))]
    said = subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "max_columns" in said[0]
    assert "max_columns" in said[1]
    assert "200 times its size" in said[2]
    assert said[3] == "True"


def test_unpacking_copies_nothing_twice():
    """One piece of input may stand for megabytes, which are handed out by view."""
    packed = zstandard.ZstdCompressor().compress(bytes(50 << 20))
    frames = Frames(io.BufferedReader(io.BytesIO(packed)))
    first = frames.read(10)
    assert first == bytes(10)
    whole = frames._rest.obj
    assert len(whole) > 1 << 20
    frames.read(10)
    assert frames._rest.obj is whole


@pytest.mark.skipif(sys.platform == "win32", reason="neither pipes nor devices with names")
def test_pipes_are_read_once_and_devices_are_no_files(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = customers(40).write_csv()
    writer = threading.Thread(target=lambda: pipe.write_text(text))
    writer.start()
    assert read_table(pipe, target="bought").n_rows == 40
    writer.join()
    for device in ("/dev/zero", "/dev/urandom"):
        with pytest.raises(DataFileError):
            read_table(device)


def test_memory_is_counted_for_streams_too():
    with says(DataFileError, how="max_memory"):
        Limits(memory=10).read(io.BytesIO(bytes(11)), "standard input")
    assert Limits(memory=11).read(io.BytesIO(bytes(11)), "") == bytes(11)


def test_many_columns_are_read_in_time_that_grows_with_them_and_said_in_a_few_lines(tmp_path):
    columns = 3000
    path = tmp_path / "wide.csv"
    rows = [",".join(f"c{k}" for k in range(columns)) + ",y"]
    rows += ["1," * columns + str(k % 2) for k in range(4)]
    path.write_text("\n".join(rows))
    said = cotas("fit", path, "-t", "y")
    assert said.code == 3
    assert len(said.err.splitlines()) < 20
    assert f"{columns - 8} more columns" in said.err


def test_groups_keep_the_order_and_count_everything():
    remarks = [Remark("constant", f"c{k}", f"c{k} is constant") for k in range(30)]
    remarks[3:3] = [Remark("few rows", None, "few") for _ in range(3)]
    found = gathered(remarks)
    assert [r.kind for r in found] == ["constant"] * 3 + ["few rows"] * 3 + ["constant"] * 5 + [
        "more"
    ]
    assert "22 more columns" in str(found[-1])
    assert gathered(remarks[:8]) == remarks[:8]


@pytest.mark.parametrize("shift", [0x0660, 0x06F0, 0x0966, 0xFF10], ids=hex)
def test_digits_of_other_scripts_are_numbers(tmp_path, shift):
    plain = "x,z,y\n" + "".join(f"{k * 7 % 31}.5,{k},{'ab'[k % 2]}\n" for k in range(30))
    other = plain.translate({ord(str(d)): chr(shift + d) for d in range(10)})
    (tmp_path / "plain.csv").write_text(plain)
    (tmp_path / "other.csv").write_text(other)
    frames = [read_table(tmp_path / f"{name}.csv").features for name in ("plain", "other")]
    assert frames[0].equals(frames[1])


def test_quotes_in_cells_are_told_with_their_line_and_what_to_do(tmp_path):
    path = tmp_path / "pipes.csv"
    path.write_text("x,z,y\n" + "".join(f'{k},5" pipe,{k % 2}\n' for k in range(60)))
    with says(DataFileError, line="2", quote='"'):
        read_table(path)
    path.write_text("x,z,y\n" + "".join(f"{k},{chr(34) * (k == 30)}a,1\n" for k in range(60)))
    with says(DataFileError, line="32", fields="2", expected="3"):
        read_table(path)
    path.write_text("x,z,y\n" + "".join(f'{k},"5"" pipe",{k % 2}\n' for k in range(60)))
    assert read_table(path).features["z"].unique().to_list() == ['5" pipe']


def test_line_ends_of_old_machines_with_one_new_one_at_the_end(tmp_path):
    text = customers(40).write_csv()
    (tmp_path / "new.csv").write_text(text)
    (tmp_path / "old.csv").write_bytes(text.rstrip("\n").replace("\n", "\r").encode() + b"\r\n\n")
    new, old = (read_table(tmp_path / f"{name}.csv").features for name in ("new", "old"))
    assert new.equals(old)


def test_numbers_whose_deviation_overflows_are_named():
    frame = pl.DataFrame({"small": np.arange(8.0), "huge": [1.7e308, -1.7e308] * 4})
    with says(ColumnError, name="huge", value="1.7e+308"):
        library.tables.Preparation().fit(frame)


FORMULAS = ["=1+1", "+cmd", "-cmd|x", "@sum", "\tx", "\rx", '=HYPERLINK("a")']
NUMBERS = ["-3.5", "+7", "-1,234.5", "-.5", "-2e-3", "-5 %", "-", "--"]


def test_formulas_are_marked_and_numbers_are_not(tmp_path):
    from cotas.cli.predict import without_formulas

    frame = pl.DataFrame({"=a": [*FORMULAS, *NUMBERS], "b": np.arange(15.0) - 7})
    safe = without_formulas(frame)
    assert safe.columns == ["'=a", "b"]
    assert safe["'=a"].to_list() == [*("'" + word for word in FORMULAS), *NUMBERS]
    assert safe["b"].equals(frame["b"])
    shop = customers(40).with_columns(note=pl.lit("=1+1"))
    shop.write_csv(tmp_path / "shop.csv")
    model = tmp_path / "shop.cotas"
    assert cotas("fit", tmp_path / "shop.csv", "-t", "bought", "-o", model).code == 0
    for words, cell in (((), "'=1+1"), (("--no-safe-csv",), "=1+1")):
        said = cotas("predict", model, tmp_path / "shop.csv", *words)
        assert pl.read_csv(io.StringIO(said.out))["note"].unique().to_list() == [cell]


def test_a_file_of_sparse_columns_is_as_wide_as_it_says(tmp_path):
    X = sparse.random(20, 50, 0.2, format="csr", random_state=0)
    dump_svmlight_file(X, np.arange(20) % 2, str(tmp_path / "a.svm"))
    with says(DataFileError, how="max_columns"):
        library.tables.read_libsvm(tmp_path / "a.svm", max_columns=10)


def test_no_more_is_asked_for_at_once_than_a_piece():
    """Memory for what a read asks for is taken before it: a small file must not ask for all."""

    class Stream(io.BytesIO):
        def read(self, size=-1):
            assert 0 <= size <= compression.PIECE_BYTES
            return super().read(size)

    text = b"x" * (2 * compression.PIECE_BYTES + 3)
    assert compression.Limits().read(Stream(text), "a file") == text


def test_a_target_whose_squares_overflow_is_told():
    with pytest.raises(DataFileError):
        as_target([1e200, -1e200, 3.0], "regression")
    assert len(as_target(np.empty(0), "regression")) == 0  # which is for others to refuse
