"""Pages that several processes share, and whose folders have whatever names and permissions."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import cotas
from cotas.cli import big
from cotas.cli import data as cli_data
from cotas.preparation import streamed
from cotas.scale import pages as pages_module
from cotas.scale import shuffling
from cotas.scale.decoding import decoded_bytes
from cotas.scale.page_files import PageError
from cotas.scale.pages import LIST, page_folders, remove_pages
from terminal import cotas as terminal

RNG = np.random.default_rng(11)
N = 500
TABLE = pl.DataFrame(RNG.normal(size=(N, 4)), schema=["a", "b", "c", "y"])
GIVEN = {"target": "y", "page_bytes": 1024}

# Both decode before one of them gives its pages their name. The first reads one of them, and reads
# on while the second is about to remove what is not needed any more.
READER = """
import sys, time
from pathlib import Path
from cotas.scale import pages as module

me, folder, signs = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])

def wait_for(sign):
    end = time.monotonic() + 60
    while not (signs / sign).exists() and time.monotonic() < end:
        time.sleep(0.01)

def late(*given):
    (signs / f"{me} decoded").touch()
    wait_for("second decoded" if me == "first" else "first reads")
    return plain(*given)

def late_too(*given, **how):
    (signs / f"{me} removes").touch()
    wait_for("first is done" if me == "second" else "first decoded")
    removed(*given, **how)

plain, module._take_the_place = module._take_the_place, late
removed, module.shutil.rmtree = module.shutil.rmtree, late_too
pages = module.open_pages(folder / "rows.csv", target="y", page_bytes=1024)
blocks = pages.blocks()
rows = next(blocks).n_rows
(signs / f"{me} reads").touch()
if me == "first":
    wait_for("second removes")
rows += sum(block.n_rows for block in blocks)
(signs / f"{me} is done").touch()
print(rows, pages.folder.name)
"""


def test_two_processes_that_open_a_file_at_once_share_its_pages(tmp_path):
    folder, signs = tmp_path / "data", tmp_path / "signs"
    folder.mkdir()
    signs.mkdir()
    TABLE.write_csv(folder / "rows.csv")
    both = [
        subprocess.Popen(
            [sys.executable, "-c", READER, name, folder, signs],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    said = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    [kept] = page_folders(folder)
    assert [out.split() for out, _ in said] == [[str(N), kept.name]] * 2
    assert cotas.tables.open_pages(folder / "rows.csv", **GIVEN).reused


def test_what_was_there_keeps_its_name_until_the_new_pages_take_it(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    TABLE.write_csv(path)
    folder = cotas.tables.open_pages(path, **GIVEN).folder
    TABLE[1:].write_csv(path)
    seen = []
    removed = pages_module.shutil.rmtree

    def looking(*given, **how):
        seen.append((folder / LIST).exists())
        removed(*given, **how)

    monkeypatch.setattr(pages_module.shutil, "rmtree", looking)
    assert cotas.tables.open_pages(path, **GIVEN).n_rows == N - 1
    assert seen
    assert all(seen)


def test_only_those_pages_are_given_up_that_were_read(tmp_path):
    path = tmp_path / "rows.csv"
    TABLE.write_csv(path)
    before = cotas.tables.open_pages(path, **GIVEN)
    TABLE.reverse().write_csv(path)
    after = cotas.tables.open_pages(path, **GIVEN)
    with pytest.raises(PageError):
        list(before.blocks())
    assert sum(block.n_rows for block in after.blocks()) == N
    assert cotas.tables.open_pages(path, **GIVEN).reused


def test_pages_of_a_touched_file_are_read_where_nothing_may_be_written(tmp_path):
    path = tmp_path / "rows.csv"
    TABLE.write_csv(path)
    listed = cotas.tables.open_pages(path, **GIVEN).folder / LIST
    os.chmod(listed, 0o444)
    path.touch()
    again = cotas.tables.open_pages(path, **GIVEN)
    assert again.reused
    assert sum(block.n_rows for block in again.blocks()) == N
    assert json.loads(listed.read_text())["inputs"][0]["mtime_ns"] != path.stat().st_mtime_ns


@pytest.mark.parametrize("name", ["data[1].csv", "[!x].csv"])
def test_pages_are_found_whatever_the_name_of_their_file(tmp_path, name):
    path = tmp_path / name
    TABLE.write_csv(path)
    TABLE.write_csv(tmp_path / "data1.csv")
    kept = cotas.tables.open_pages(tmp_path / "data1.csv", **GIVEN).folder
    folder = cotas.tables.open_pages(path, **GIVEN).folder
    left = folder.with_name(f"{folder.name}.0badcafe")
    left.mkdir()
    (left / pages_module.LOCK).touch()
    assert page_folders(path) == [folder, left]
    TABLE[1:].write_csv(path)
    cotas.tables.open_pages(path, **GIVEN)
    assert page_folders(path) == [folder]
    assert remove_pages(path)[0] == 1
    assert page_folders(tmp_path) == [kept]


@pytest.mark.parametrize("bin_bytes", [300, 1 << 14, 1 << 25])
@pytest.mark.parametrize("at_a_time", [7, 1 << 18])
def test_the_order_of_the_pages_is_known_before_they_are_written(
    tmp_path, monkeypatch, bin_bytes, at_a_time
):
    monkeypatch.setattr(shuffling, "BIN_BYTES", bin_bytes)
    monkeypatch.setattr(shuffling, "ROWS_AT_A_TIME", at_a_time)
    path = tmp_path / "rows.parquet"
    TABLE.with_columns(y=pl.Series(np.arange(N))).write_parquet(path)
    pages = cotas.tables.open_pages(path, **GIVEN, seed=3)
    order = np.concatenate([block.y for block in pages.blocks()])
    some = np.sort(RNG.choice(N, 200, replace=False))
    for most in (1, 2, N // 3, N // 2, N - 1, N):
        first = shuffling.Foremost(N, decoded_bytes(path, "parquet"), 3, most)
        np.testing.assert_array_equal(first.among(some), np.isin(some, order[:most]))


@pytest.mark.parametrize(
    ("kind", "share", "sample"),
    [("csv", 0.003, 400), ("parquet", 0.003, 400), ("csv", 0.2, 400), ("parquet", 0.5, 100_000)],
)
def test_rows_that_are_set_aside_have_no_part_in_the_model(
    tmp_path, monkeypatch, kind, share, sample
):
    """Their cells are changed to what a preparation would notice, and the model is the same."""
    monkeypatch.setattr(cli_data, "free_memory", lambda: 1)
    monkeypatch.setattr(streamed, "SAMPLE_ROWS", sample)
    n = 1500
    a, noise = RNG.integers(1000, 5000, n), RNG.normal(size=n)
    y = np.where(a / 1000 + noise > 3, "yes", "no")
    table = pl.DataFrame({"town": RNG.choice(["Lugo", "Vigo"], n), "a": a, "y": y})
    path, where = tmp_path / f"rows.{kind}", tmp_path / "model.cotas"

    def fitted(frame):
        frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)
        given = ("-t", "y", "-o", where, "--hold-out", str(share), "--json")
        said = terminal("fit", path, *given)
        assert said.code == 0, said.err
        return said.document["bound"], cotas.load(where)

    bound, model = fitted(table)
    [trained] = {one.sketch.n_rows for one in model.certificate_.singles}
    most = max(trained, big.rows_to_learn_from(n, share))
    first = shuffling.Foremost(n, decoded_bytes(path, kind), 0, most)
    aside = pl.Series(~first(np.arange(n)))
    # As many letters as before, so that a text file has the same size, and the pages their order.
    other = table.with_columns(
        town=pl.when(aside).then(pl.lit("Noia")).otherwise("town"),
        a=pl.col("a") + 5000 * aside.cast(pl.Int64),
    )
    other_bound, changed = fitted(other)
    assert bound["figures"]["rows"] == other_bound["figures"]["rows"] == aside.sum()
    np.testing.assert_array_equal(changed.estimator_.coef_, model.estimator_.coef_)
    probe = other.filter(~aside).drop("y")
    np.testing.assert_array_equal(
        changed.preparation_.transform(probe), model.preparation_.transform(probe)
    )
