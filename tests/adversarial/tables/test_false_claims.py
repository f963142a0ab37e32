"""Arrow files that lie about their size, which polars would end the process on, are refused."""

import io
import struct
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cotas.files.claims import MOST_FROM_A_BYTE, _compressed_parts
from cotas.files.problems import DataFileError
from cotas.tables import read_table

ROWS = 3000
FRAME = pl.DataFrame(
    {
        "x": np.arange(ROWS) % 7 / 2,
        "word": pl.Series([["one", "two", None][k % 3] for k in range(ROWS)], dtype=pl.Categorical),
        "gone": pl.Series([None] * ROWS, dtype=pl.Float64),
        "y": np.arange(ROWS) % 2,
    }
)


def by_polars(compression):
    file = io.BytesIO()
    FRAME.write_ipc(file, compression=compression)
    return file.getvalue()


def by_pyarrow(compression):
    file = io.BytesIO()
    table = FRAME.to_arrow()
    codec = None if compression == "uncompressed" else compression
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1000)
    return file.getvalue()


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
@pytest.mark.parametrize("write", [by_polars, by_pyarrow])
def test_honest_files_are_read_and_what_they_claim_is_found(write, compression, tmp_path):
    path = tmp_path / "honest.arrow"
    path.write_bytes(write(compression))
    parts = list(_compressed_parts(path.read_bytes()))
    assert bool(parts) == (compression != "uncompressed")
    if parts:
        assert sum(claimed.max() for claimed, _ in parts) >= 8 * ROWS  # the numbers of x or y
    assert read_table(path).n_rows == ROWS


def test_no_buffer_is_longer_than_the_bound_says():
    """The most that zstandard makes of a byte: all zeros, in as large a frame as there is."""
    file = io.BytesIO()
    pl.DataFrame({"x": np.zeros(4_000_000)}).write_ipc(file, compression="zstd")
    ratios = [claimed / stored for claimed, stored in _compressed_parts(file.getvalue())]
    assert 1000 < max(r.max() for r in ratios) < MOST_FROM_A_BYTE


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("write", [by_polars, by_pyarrow])
def test_a_buffer_that_claims_more_than_it_can_hold_is_refused(write, compression, tmp_path):
    data, path = write(compression), tmp_path / "false.arrow"
    claim = struct.pack("<q", max(claimed.max() for claimed, _ in _compressed_parts(data)))
    places = [k for k in range(len(data)) if data.startswith(claim, k)]
    refused = 0
    for place in places:  # which may be elsewhere too: what polars refuses by itself is as good
        for false in (1 << 31, 1 << 62):
            path.write_bytes(data[:place] + struct.pack("<q", false) + data[place + 8 :])
            try:
                read_table(path)
            except DataFileError as error:
                refused += "longer than it can be" in str(error)
    assert refused


def test_what_points_outside_is_refused(tmp_path):
    data, path = bytearray(by_polars("zstd")), tmp_path / "outside.arrow"
    data[-14:-10] = b"\xff\xff\xff\x7f"  # inside of the footer
    data[-10:-6] = struct.pack("<i", 1 << 30)  # how long the footer is
    path.write_bytes(data)
    with pytest.raises(DataFileError, match="damaged"):
        read_table(Path(path))
