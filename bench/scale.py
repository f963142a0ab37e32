"""Rows that do not fit into memory: how long a fit takes beside reading its pages, and its peak.

python -m bench.scale --gigabytes 20 --memory 2GB --folder /somewhere/large

makes covtype-like rows (54 columns: 10 numbers, 44 zeros and ones) by a seeded generator, decodes
them into pages, and fits in a process of its own, whose peak of resident memory is measured. The
time to read all pages that often, and nothing else, stands beside it. `--sparse` makes rows with
few entries in many columns instead. With `--memory` that process may have no more data than that
(`ulimit -d`: all that it may write to, resident or not, and not the files that it maps). The folder
needs room for the files and for the pages, about twice the gigabytes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cotas
from cotas.cli.sizes import parse_size

COLUMNS, NUMBERS, FILE_ROWS = 54, 10, 1_000_000
# In single precision, as they are in the pages.
ROW_BYTES = 4 * COLUMNS
MODELS = {
    "svm": lambda tol: cotas.LinearSVM(tol=tol),
    "ridge": lambda tol: cotas.Ridge(),
    "perceptron": lambda tol: cotas.Perceptron(max_iter=5),
    "pegasos": lambda tol: cotas.Pegasos(lam=1e-3, max_iter=5, random_state=0),
}
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


def write_dense(folder: Path, rows: int) -> str:
    """Parquet files of a million rows each."""
    names = [f"c{j}" for j in range(COLUMNS)]
    for k, start in enumerate(range(0, rows, FILE_ROWS)):
        X, y = dense_rows(start, min(FILE_ROWS, rows - start))
        frame = pl.DataFrame(X, schema=names).with_columns(pl.Series("y", y))
        frame.write_parquet(folder / f"rows-{k:04d}.parquet", row_group_size=65536)
    return str(folder / "rows-*.parquet")


def write_sparse(folder: Path, rows: int) -> str:
    """LibSVM files of at most 100,000 rows each."""
    w = np.random.default_rng(0).normal(size=SPARSE_COLUMNS)
    for k, start in enumerate(range(0, rows, FILE_ROWS // 10)):
        rng = np.random.default_rng((1, start))
        with open(folder / f"rows-{k:04d}.svm", "w", encoding="ascii") as file:
            for _ in range(min(FILE_ROWS // 10, rows - start)):
                j = np.unique((SPARSE_COLUMNS * rng.random(ENTRIES) ** 3).astype(int))
                x = np.round(rng.normal(size=len(j)), 3)
                label = 1 if x @ w[j] + rng.normal() > 0 else -1
                pairs = " ".join(f"{a + 1}:{b}" for a, b in zip(j, x, strict=True))
                file.write(f"{label} {pairs}\n")
    return str(folder / "rows-*.svm")


def seconds_to_read(pages: Any) -> float:
    """One pass that does nothing with the pages but look at one number of each."""
    began = time.perf_counter()
    pages.map_reduce(_touch)
    return time.perf_counter() - began


def _touch(block: Any) -> float:
    return float((block.X.data if hasattr(block.X, "indptr") else block.X).ravel()[::512].sum())


class Counted:
    """Counts the passes of a fit."""

    def __init__(self, pages: Any) -> None:
        self.passes, self._pages, self._reduce = 0, pages, pages.map_reduce
        pages.map_reduce = self._count

    def _count(self, *given: Any) -> Any:
        self.passes += 1
        return self._reduce(*given)


def measure(pattern: str, task: str, tol: float) -> dict[str, Any]:
    """Decode or find the pages, fit, and say what it took; in this process."""
    sparse = pattern.endswith(".svm")
    began = time.perf_counter()
    target = None if sparse else "y"
    pages = cotas.open_pages(pattern, target=target, progress=False)
    decoding = time.perf_counter() - began
    reading = min(seconds_to_read(pages) for _ in range(2))
    after_decoding = peak()
    counted = Counted(pages)
    model: Any = MODELS[task](tol)
    began, used = time.perf_counter(), time.process_time()
    model.fit(pages)
    taken, used = time.perf_counter() - began, time.process_time() - used
    return {
        "task": task,
        "rows": pages.n_rows,
        "megabytes": round(pages.n_bytes / 1e6),
        "decoding_s": round(decoding, 1),
        "reading_s": round(reading, 2),
        "fit_s": round(taken, 1),
        "fit_cpu_s": round(used, 1),
        "passes": counted.passes,
        "times_reading": round(taken / (reading * counted.passes), 2),
        "relative_gap": model.certificate_.relative_gap,
        "peak_mb_decoding": after_decoding,
        "peak_mb": peak(),
    }


def peak() -> int:
    """The most resident memory that this process has had, in megabytes; Linux only."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1000


def main() -> None:
    """Print one line of JSON for each task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--gigabytes", type=float, help="of dense rows, in the place of --rows")
    parser.add_argument("--memory", help="what the process that fits may have, such as 2GB")
    parser.add_argument("--tasks", nargs="+", choices=MODELS, help="svm and ridge by default")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--folder", help="where the rows are written; a temporary one by default")
    parser.add_argument("--pattern", help=argparse.SUPPRESS)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.pattern:
        if given.memory:
            limit = parse_size(given.memory)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        print(json.dumps(measure(given.pattern, given.task, given.tol)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        write = write_sparse if given.sparse else write_dense
        rows = int(1e9 * given.gigabytes / ROW_BYTES) if given.gigabytes else given.rows
        pattern = write(Path(folder), rows)
        for task in given.tasks or (("svm",) if given.sparse else ("svm", "ridge")):
            call = ["--pattern", pattern, "--task", task, "--tol", str(given.tol)]
            call += ["--memory", given.memory] if given.memory else []
            subprocess.run([sys.executable, "-m", "bench.scale", *call], check=True)


if __name__ == "__main__":
    main()
