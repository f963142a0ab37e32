"""Rows that do not fit into memory: how long a fit takes beside reading its pages, and its peak.

python -m bench.scale --rows 100000000 --memory 2GB --folder /somewhere/large

makes covtype-like rows (54 columns: 10 numbers, 44 zeros and ones) by a seeded generator, decodes
them into pages, and fits in a process of its own, whose peak of resident memory is measured. The
time to read all pages as often, and nothing else, stands beside it, and the rate of the disk. With
`--memory` that process may have no more data than that (`ulimit -d`: all that it may write to,
resident or not, and not the files that it maps). The system is asked to forget each page when it
has been read, so that the next pass has to read it from the disk again, as it would with rows far
larger than memory; `--cached` leaves that out.

Each task prints a line of JSON when it ends:

svm, ridge, logistic          all the rows
growth                        the SVM of a hundredth and a tenth of the pages, beside svm
sparse                        the SVM of as many entries as --rows, twenty in each row
sgd, averaged sgd             scikit-learn's SGDClassifier.partial_fit on the same pages, until its
                              objective is within --tol of what the SVM has proved, or --limit
vw                            Vowpal Wabbit, likewise, and the SVM, on --fewer rows
stumps, trees, regression trees, xgboost     boosters on --fewer rows, ten rounds
dask                          1, 2 and 4 workers beside as many threads, on --fewer rows
perceptron, pegasos           five rounds, on --fewer rows

The folder needs 30 GB for 10⁸ rows: 4 GB of files, 23 GB of pages, 3 GB of the smaller ones. All is
removed at the end, unless `--keep` asks for it to be left for another command. On two cores and a
disk of 1.5 GB a second all tasks take about half an hour then, a third of it for writing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cotas
from bench import scale_cluster, scale_peers
from bench.scale_data import ENTRIES, ROW_BYTES, files, peak
from cotas.cli.data import parse_size
from cotas.running import cpu_count, in_order
from cotas.source import Block

LAM = 1e-4
MODELS: dict[str, Callable[[float], Any]] = {
    "svm": lambda tol: cotas.LinearSVM(lam=LAM, tol=tol),
    "logistic": lambda tol: cotas.LogisticRegression(lam=LAM, tol=tol),
    "ridge": lambda tol: cotas.Ridge(),
    "perceptron": lambda tol: cotas.Perceptron(max_iter=5),
    "pegasos": lambda tol: cotas.Pegasos(lam=1e-3, max_iter=5, random_state=0),
    "stumps": lambda tol: cotas.AdaBoost("stump", 10),
    "trees": lambda tol: cotas.LogitBoost("tree", 10),
    "regression trees": lambda tol: cotas.LSBoost("tree", 10),
}
WHOLE = ("svm", "ridge", "logistic", "growth", "sgd", "averaged sgd", "sparse")
FEWER = ("stumps", "trees", "regression trees", "xgboost", "vw", "dask", "perceptron", "pegasos")
# Those that the figures of docs/scale.md are of.
MEASURED = (
    *("svm", "growth", "sgd", "averaged sgd", "sparse", "vw", "stumps", "trees"),
    *("xgboost", "dask", "ridge"),
)
# Seconds for a million rows on two cores and a disk of 1.5 GB a second, roughly.
SECONDS = {
    "svm": 3,
    "ridge": 1,
    "logistic": 4,
    "growth": 0.5,
    "sgd": 1.5,
    "averaged sgd": 1.5,
    "sparse": 1.5,
    "vw": 20,
    "stumps": 2.5,
    "trees": 5,
    "xgboost": 20,
    "dask": 35,
}
WRITING = 4  # seconds for a million rows, to be written and decoded


# ---- reading -----------------------------------------------------------------------------------


def _touch(block: Block) -> float:
    return float((block.X.data if hasattr(block.X, "indptr") else block.X).ravel()[::512].sum())


@contextmanager
def threads() -> Iterator[Any]:
    """As many threads as a fit has."""
    with ThreadPoolExecutor(cpu_count()) as pool:
        yield in_order(pool, cpu_count())


def seconds_to_read(pages: Any) -> float:
    """One pass that does nothing with the pages but look at some numbers of each."""
    with threads() as each:
        pages.map_reduce(_touch, each)  # compares the checksums, which is done once
        began = time.perf_counter()
        pages.map_reduce(_touch, each)
        return time.perf_counter() - began


def disk_rate(pages: Any, most: float = 4e9) -> float:
    """Bytes a second at which files of the pages are read, into memory that is there already."""
    chosen, size = [], 0
    for page in pages.pages:
        if size < most:
            chosen.append(pages.folder / page.name)
            size += page.size
    for path in chosen:
        forget(path)

    def read(part: list[Path]) -> None:
        buffer = bytearray(1 << 23)
        for path in part:
            with open(path, "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass

    count = cpu_count()
    began = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(read, [chosen[k::count] for k in range(count)]))
    return size / (time.perf_counter() - began)


def forget(path: Path) -> None:
    """Ask the system not to keep a file in memory; what is not written yet stays."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


class Counted:
    """Counts passes and bytes read; files are not kept by the system unless they may be."""

    def __init__(self, pages: Any, cached: bool = True) -> None:
        self.passes, self.bytes, self._pages = 0, 0, pages
        self._forgets = not cached and hasattr(os, "posix_fadvise")
        self._sum, pages._sum_over = pages._sum_over, self._count
        self._content, pages._content = pages._content, self._read
        if self._forgets:
            os.sync()
            for page in pages.pages:
                forget(pages.folder / page.name)

    def _count(self, *given: Any) -> Any:
        self.passes += 1
        return self._sum(*given)

    def _read(self, page: Any) -> Any:
        found = self._content(page)
        self.bytes += page.size
        if self._forgets:
            forget(self._pages.folder / page.name)
        return found


# ---- tasks -------------------------------------------------------------------------------------


def fitted(task: str, pages: Any, given: Any) -> tuple[Any, dict[str, Any]]:
    """A model, and what it took beside reading."""
    counted = Counted(pages, given.cached)
    rate, reading = disk_rate(pages), seconds_to_read(pages)
    before, counted.passes, counted.bytes = peak(), 0, 0
    model: Any = MODELS[task](given.tol)
    began, used = time.perf_counter(), time.process_time()
    model.fit(pages)
    taken, used = time.perf_counter() - began, time.process_time() - used
    read = counted.bytes
    return model, {
        "task": task,
        "rows": pages.n_rows,
        "megabytes": round(pages.n_bytes / 1e6),
        "reading_s": round(reading, 2),
        "fit_s": round(taken, 1),
        "fit_cpu_s": round(used, 1),
        "passes": counted.passes,
        "read_mb": round(read / 1e6),
        "times_reading": round(taken / (reading * read / pages.n_bytes), 2),
        "disk_gb_a_second": round(rate / 1e9, 2),
        "share_of_disk_rate": round(read / taken / rate, 2),
        "relative_gap": model.certificate_.relative_gap,
        "lower": model.certificate_.lower,
        "peak_mb_before": before,
        "peak_mb": peak(),
    }


def measure(task: str, given: Any) -> Iterator[dict[str, Any]]:
    """Decode or find the pages, do the task, and say what it took; in this process."""
    if task == "dask":
        yield from scale_cluster.compared(given.fewer, LAM, given.tol)
        return
    rows = given.fewer if task in FEWER else given.rows
    sparse = task == "sparse"
    pattern = files(
        given.place, rows // ENTRIES if sparse else rows, "sparse" if sparse else "dense"
    )
    began = time.perf_counter()
    pages = cotas.tables.open_pages(pattern, target=None if sparse else "y", progress=False)
    decoding, after = time.perf_counter() - began, peak()
    if not pages.reused:
        yield {
            "task": f"decoding for {task}",
            "rows": pages.n_rows,
            "seconds": round(decoding, 1),
            "peak_mb": after,
        }
    if task == "xgboost":
        Counted(pages, given.cached)
        yield from scale_peers.xgboost(pages, given.place, cpu_count())
    elif task in ("sgd", "averaged sgd"):
        best = best_of(pages, given)
        Counted(pages, given.cached)
        yield from scale_peers.sgd(pages, LAM, best, given, task.startswith("averaged"))
    elif task == "vw":
        best = best_of(pages, given, again=True)
        yield from scale_peers.vowpal_wabbit(pages, LAM, best, given)
    elif task == "growth":
        yield from growth(pages, given)
    else:
        model, line = fitted("svm" if sparse else task, pages, given)
        if sparse:
            line.update(task="sparse svm", entries=ENTRIES * pages.n_rows)
        if task in ("stumps", "trees"):
            line["error"] = 1 - model.score(pages)
        yield line


def best_of(pages: Any, given: Any, again: bool = False) -> float:
    """What no objective of the SVM goes below: as the task before has told, or found now."""
    if given.best is not None and not again:
        return float(given.best)
    model, line = fitted("svm", pages, given)
    print(json.dumps(line), flush=True)
    return float(model.certificate_.lower)


def growth(pages: Any, given: Any) -> Iterator[dict[str, Any]]:
    """The SVM of a hundredth and a tenth of the rows, as far as whole pages go."""
    ends = [page.start + page.rows for page in pages.pages]
    for part in (100, 10):
        near = min(ends, key=lambda end: abs(end - pages.n_rows / part))
        _, line = fitted("svm", pages.first(near), given)
        yield {**line, "task": "growth"}


# ---- the command -------------------------------------------------------------------------------


def _expected(task: str, given: Any) -> str:
    rows = given.fewer if task in FEWER else given.rows
    takes, before = 20 + SECONDS.get(task, 10) * rows / 1e6, WRITING * rows / 1e6
    return f"{task}: about {takes:.0f} s, and {before:.0f} s if its rows are not there yet"


def arguments() -> argparse.ArgumentParser:
    """All that can be asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--gigabytes", type=float, help="of dense rows, in the place of --rows")
    parser.add_argument("--fewer", type=int, help="rows of the smaller tasks; 4,000,000 at most")
    parser.add_argument("--memory", help="what the process that fits may have, such as 2GB")
    parser.add_argument("--tasks", nargs="+", choices=(*WHOLE, *FEWER), default=MEASURED)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=100.0, help="seconds of another program")
    parser.add_argument("--cached", action="store_true", help="the system may keep the pages")
    parser.add_argument("--folder", help="where the rows are written; a temporary one by default")
    parser.add_argument("--keep", action="store_true", help="leave files and pages in the folder")
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--best", type=float, help=argparse.SUPPRESS)
    return parser


@contextmanager
def a_place(given: Any) -> Iterator[str]:
    """The folder of the rows: one of its own that is removed, or the one given if it is kept."""
    if given.keep:
        if not given.folder:
            raise SystemExit("--keep needs a --folder.")
        Path(given.folder).mkdir(parents=True, exist_ok=True)
        yield given.folder
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        yield folder


def main() -> None:
    """Print one line of JSON for each result, as soon as it is there."""
    given = arguments().parse_args()
    if given.gigabytes:
        given.rows = int(1e9 * given.gigabytes / ROW_BYTES)
    given.fewer = given.fewer or min(given.rows, 4_000_000)
    if given.place:
        if given.memory and given.tasks[0] not in ("xgboost", "vw", "dask"):
            limit = parse_size(given.memory)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        for line in measure(given.tasks[0], given):
            print(json.dumps(line), flush=True)
        return
    best: float | None = None
    with a_place(given) as place:
        for task in given.tasks:
            print(_expected(task, given), file=sys.stderr, flush=True)
            best = _in_a_process(task, given, place, best)


def _in_a_process(task: str, given: Any, place: str, best: float | None) -> float | None:
    """Print what a task prints; what the SVM has proved from below is handed on."""
    call = ["--tasks", task, "--place", place]
    for name in ("rows", "fewer", "tol", "limit"):
        call += [f"--{name}", str(getattr(given, name))]
    call += ["--memory", given.memory] if given.memory else []
    call += ["--cached"] if given.cached else []
    call += ["--best", repr(best)] if best is not None else []
    command = [sys.executable, "-m", "bench.scale", *call]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            found = json.loads(line) if line.startswith("{") else {}
            if found.get("task") == "svm" and found.get("rows") == given.rows:
                best = found["lower"]
    if process.returncode:
        print(f"{task} ended with {process.returncode}", file=sys.stderr, flush=True)
    return best


if __name__ == "__main__":
    main()
