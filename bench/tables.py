"""Reading tables: against polars and scikit-learn, and the memory that it takes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from bench.side_by_side import conditions, interleaved
from cotas.tables import read_libsvm, read_table

# Prints the peak memory of a process, in megabytes, after its imports and at its end. Linux only;
# what `resource` tells of a process includes its parent before it was started.
PEAK = """
from cotas.files.tables import batches, read_table
import polars
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3
before = peak()
{code}
print(before, peak())
"""


def peak_memory(code: str) -> tuple[float, float]:
    """Megabytes before and after the code has run in a process of its own."""
    call = [sys.executable, "-c", PEAK.format(code=code)]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    before, after = done.stdout.split()
    return float(before), float(after)


def csv_table(folder: Path, repeats: int) -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    frame = pl.DataFrame(
        {
            **{f"x{j}": rng.normal(size=n) for j in range(8)},
            "colour": rng.choice(["red", "green", "blue"], n),
            "count": rng.integers(0, 1000, n),
        }
    )
    path = folder / "million.csv"
    frame.write_csv(path)
    times = interleaved(
        {"cotas": lambda: read_table(path), "polars": lambda: pl.read_csv(path)}, repeats
    )
    before, after = peak_memory(f"table = read_table({str(path)!r})")
    print(f"CSV, {n:,} rows, 10 columns, {os.path.getsize(path) / 1e6:.0f} MB:")
    print(f"  read_table {times['cotas']:.2f} s, polars.read_csv {times['polars']:.2f} s,")
    print(f"  ratio {times['cotas'] / times['polars']:.2f};")
    print(f"  peak memory {after:.0f} MB, of which {before:.0f} MB before reading\n")


def libsvm_files(folder: Path, repeats: int) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(30_000, 2000, density=0.02, random_state=0, format="csr")
    y = rng.integers(0, 2, X.shape[0]) * 2 - 1
    for digits in (4, 16):
        X.data = np.round(X.data, digits)
        path = folder / f"{digits}.svm"
        dump_svmlight_file(X, y, str(path), zero_based=False)
        times = interleaved(
            {
                "one thread": lambda path=path: read_libsvm(path, n_jobs=1),
                "all cores": lambda path=path: read_libsvm(path),
                "scikit-learn": lambda path=path: load_svmlight_file(str(path)),
            },
            repeats,
        )
        print(f"LibSVM, {X.nnz:,} entries, up to {digits} digits, million entries a second:")
        print("  " + ", ".join(f"{name} {X.nnz / t / 1e6:.1f}" for name, t in times.items()))
        X.data = rng.random(X.nnz)


def parquet_batches(folder: Path) -> None:
    rng = np.random.default_rng(0)
    path = folder / "long.parquet"
    n = 8_000_000
    frame = pl.DataFrame({f"x{j}": rng.normal(size=n) for j in range(8)})
    frame.write_parquet(path, compression="uncompressed", row_group_size=250_000)
    code = f"for table in batches({str(path)!r}, 100_000): pass"
    before, after = peak_memory(code)
    print(f"\nParquet, {n:,} rows, 8 columns, {os.path.getsize(path) / 1e6:.0f} MB, in batches")
    print(f"  of 100,000 rows: peak memory {after:.0f} MB, of which {before:.0f} MB before reading")


WHOLE_FIT = """
import contextlib, io, sys
from cotas.cli import main
sys.argv = ["cotas", "fit", {path!r}, "--target", "cover", "--model", {model!r},
            "--out", {path!r} + ".cotas", "--report", {path!r} + ".html"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""


PEOPLE = (9, 52, 47, 17, 3, 7, 24, 15, 5, 10, 2, 3, 6, 8, 6, 6, 51, 38, 8, 10, 9, 10, 3, 4, 5)
PEOPLE = (*PEOPLE, 43, 43, 43, 5, 3, 3, 3, 7)


def people(path: Path, n: int = 299_285) -> None:
    """A table like an extract of a census: 7 columns of numbers, 33 of words, and a rare class."""
    rng = np.random.default_rng(0)

    def some(share: float, most: int) -> np.ndarray:
        return np.where(rng.random(n) < share, rng.integers(1, most, n), 0)

    columns = {"age": rng.integers(0, 91, n), "weight": rng.gamma(3, 580, n).round(2)}
    columns |= {"wage": some(0.06, 9999), "gains": some(0.04, 99_999), "losses": some(0.02, 4500)}
    columns |= {"dividends": some(0.1, 99_999), "weeks": some(0.55, 53)}
    for j, count in enumerate(PEOPLE):
        chances = 1 / np.arange(1, count + 1) ** 1.3
        words = [f" value {k} of {j}" for k in range(count)]
        columns[f"c{j}"] = rng.choice(words, n, p=chances / chances.sum())
    score = 0.03 * columns["age"] + 0.03 * columns["weeks"] + 5e-5 * columns["gains"] - 5
    columns["income"] = np.where(score + rng.normal(size=n) > 0, " 50000+.", " - 50000.")
    pl.DataFrame(columns).write_csv(path)


FIT_OF_PEOPLE = """
import contextlib, sys
from cotas.cli import main
sys.argv = ["cotas", "fit", {path!r}, "-t", "income", "-o", {path!r} + ".cotas", "-q"]
with contextlib.suppress(SystemExit):
    main()
"""


def fit_of_people(folder: Path) -> None:
    """A fit of people: seconds of the processor, which other programs hardly change, and memory."""
    path = folder / "people.csv"
    people(path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, peak = peak_memory(FIT_OF_PEOPLE.format(path=str(path)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print(f"\ncotas fit of people, 299,285 rows, 40 columns, {path.stat().st_size / 1e6:.0f} MB:")
    print(f"  {spent:.1f} s of the processor, peak memory {peak:.0f} MB")


def whole_fits(folder: Path) -> None:
    """A million rows from the file to the saved model and the report, loops already compiled."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    columns = {f"x{j}": rng.normal(size=n).round(3) for j in range(8)}
    columns["soil"] = rng.choice([f"s{k}" for k in range(12)], n)
    columns["wild"] = rng.integers(0, 4, n)
    score = columns["x0"] - 0.5 * columns["x1"] + 0.3 * (columns["soil"] == "s3")
    columns["cover"] = np.where(score + rng.normal(size=n) > 0, "a", "b")
    path = folder / "cover.csv"
    pl.DataFrame(columns).write_csv(path)
    print(f"\ncotas fit, {n:,} rows, 10 columns, {os.path.getsize(path) / 1e6:.0f} MB of CSV:")
    for model in ("svm", "adaboost"):
        code = WHOLE_FIT.format(path=str(path), model=model)
        seconds = []
        for _ in range(3):
            start = perf_counter()
            _, peak = peak_memory(code)
            seconds.append(perf_counter() - start)
        print(f"  {model}: {np.median(seconds[1:]):.1f} s, peak memory {peak:.0f} MB")


def main(repeats: int = 7) -> None:
    print(conditions("polars"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csv_table(folder, repeats)
        libsvm_files(folder, repeats)
        parquet_batches(folder)
        whole_fits(folder)
        fit_of_people(folder)
