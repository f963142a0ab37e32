"""What the measurements of scale share: seeded rows in files, covtype-like or sparse; the peak."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

COLUMNS, NUMBERS, FILE_ROWS = 54, 10, 1_000_000
# In single precision, as they are in the pages.
ROW_BYTES = 4 * COLUMNS
SPARSE_COLUMNS, ENTRIES = 2000, 20


def dense_rows(start: int, rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows as those of covtype are: some numbers, a one among 4 and a one among 40."""
    rng = np.random.default_rng((seed, start))
    X = np.zeros((rows, COLUMNS), dtype=np.float32)
    X[:, :NUMBERS] = rng.normal(size=(rows, NUMBERS))
    X[np.arange(rows), NUMBERS + rng.integers(4, size=rows)] = 1
    X[np.arange(rows), NUMBERS + 4 + rng.integers(40, size=rows)] = 1
    w = np.random.default_rng(seed).normal(size=COLUMNS)
    return X, (X @ w + 1.5 * rng.normal(size=rows) > 0).astype(np.int8)


def sparse_rows(start: int, rows: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Twenty different columns a row, the first ones oftener; their numbers, and the labels."""
    rng = np.random.default_rng((seed, 1, start))
    # The j-th entry is of the columns that leave j over when divided by twenty.
    steps = (SPARSE_COLUMNS // ENTRIES * rng.random((rows, ENTRIES)) ** 3).astype(np.int64)
    j = np.sort(ENTRIES * steps + np.arange(ENTRIES), axis=1)
    x = np.round(rng.normal(size=(rows, ENTRIES)), 3)
    w = np.random.default_rng(seed).normal(size=SPARSE_COLUMNS)
    return j, x, np.where((x * w[j]).sum(axis=1) + rng.normal(size=rows) > 0, 1, -1)


def files(folder: Path, rows: int, kind: str) -> str:
    """The pattern of files with so many rows, which are written unless they are there."""
    place = folder / f"{kind}-{rows}"
    write, ending = {
        "dense": (write_dense, "parquet"),
        "sparse": (write_sparse, "svm"),
        "vw": (write_vw, "txt"),
    }[kind]
    if not place.exists():
        part = place.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        # Polars must not be forked.
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            list(pool.map(partial(write, part, rows), range(0, rows, FILE_ROWS)))
        part.rename(place)
    return str(place / f"rows-*.{ending}")


def _spans(start: int, rows: int) -> tuple[int, str]:
    return min(FILE_ROWS, rows - start), f"rows-{start // FILE_ROWS:04d}"


def write_dense(folder: Path, rows: int, start: int) -> None:
    """A Parquet file of a million rows, or of those that are left."""
    size, name = _spans(start, rows)
    X, y = dense_rows(start, size)
    frame = pl.DataFrame(X, schema=[f"c{j}" for j in range(COLUMNS)])
    frame = frame.with_columns(pl.Series("y", y))
    frame.write_parquet(folder / f"{name}.parquet", row_group_size=65536)


def write_sparse(folder: Path, rows: int, start: int) -> None:
    """A LibSVM file."""
    size, name = _spans(start, rows)
    j, x, y = sparse_rows(start, size)
    columns = [pl.Series("y", y)]
    columns += [pl.Series(f"j{k}", j[:, k] + 1) for k in range(ENTRIES)]
    columns += [pl.Series(f"x{k}", x[:, k]) for k in range(ENTRIES)]
    pairs = [pl.format("{}:{}", f"j{k}", f"x{k}") for k in range(ENTRIES)]
    _write_lines(columns, [pl.col("y"), *pairs], folder / f"{name}.svm")


def write_vw(folder: Path, rows: int, start: int) -> None:
    """The dense rows as Vowpal Wabbit reads them, without the zeros."""
    size, name = _spans(start, rows)
    X, y = dense_rows(start, size)
    columns = [pl.Series("y", np.where(y > 0, "1 |f", "-1 |f"))]
    columns += [pl.Series(f"x{j}", X[:, j]) for j in range(NUMBERS)]
    pairs = [pl.format("{}:{}", pl.lit(j), f"x{j}") for j in range(NUMBERS)]
    for name_of, first, last in (("a", NUMBERS, NUMBERS + 4), ("b", NUMBERS + 4, COLUMNS)):
        columns.append(pl.Series(name_of, first + X[:, first:last].argmax(axis=1)))
        pairs.append(pl.col(name_of))
    _write_lines(columns, [pl.col("y"), *pairs], folder / f"{name}.txt")


def _write_lines(columns: list[pl.Series], parts: list[pl.Expr], path: Path) -> None:
    lines = pl.DataFrame(columns).select(pl.concat_str(parts, separator=" ").alias("line"))
    lines.write_csv(path, include_header=False, quote_style="never")


def peak() -> int:
    """The most resident memory that this process has had, in megabytes; Linux only."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1000
