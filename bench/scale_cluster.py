"""A LocalCluster of Dask beside as many threads of one process, on the same blocks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np

import cotas
from bench.scale_data import COLUMNS, dense_rows
from cotas.source import Arrays

BLOCK_ROWS = 250_000
WORKERS, FITS = (1, 2, 4), 3


def _part(start: int, rows: int, which: int) -> Any:
    return dense_rows(start, rows)[which]


def seconds(rows: Any, lam: float, tol: float, n_jobs: int) -> tuple[float, Any]:
    """What a fit takes, and its model."""
    began = time.perf_counter()
    model = cotas.LinearSVM(lam=lam, tol=tol, n_jobs=n_jobs).fit(rows)
    return time.perf_counter() - began, model


def in_turn(here: Any, there: Any, lam: float, tol: float, n_jobs: int) -> tuple[Any, Any]:
    """The least of three fits here and there, each after one that compiles, imports and sends.

    They take turns, so that other work on the machine is the same for both.
    """
    pairs = [
        (seconds(here, lam, tol, n_jobs), seconds(there, lam, tol, 1)) for _ in range(FITS + 1)
    ]
    return tuple(min(side[1:], key=itemgetter(0)) for side in zip(*pairs, strict=True))


def compared(n: int, lam: float, tol: float) -> Iterator[dict[str, Any]]:
    """For 1, 2 and 4 workers of one thread each: the time of the SVM beside that of threads."""
    try:
        import dask
        import dask.array as da
        from dask.distributed import Client, LocalCluster, wait
    except ImportError:
        yield {"task": "dask", "missing": "dask and distributed are not installed"}
        return
    sizes = [min(BLOCK_ROWS, n - start) for start in range(0, n, BLOCK_ROWS)]
    starts = range(0, n, BLOCK_ROWS)
    rows = _in_memory(starts, sizes)
    part = dask.delayed(_part)
    for count in WORKERS:
        given = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**given) as cluster, Client(cluster):
            X, y = (
                da.concatenate(
                    [
                        da.from_delayed(part(start, size, k), (size, *shape), dtype=kind)
                        for start, size in zip(starts, sizes, strict=True)
                    ]
                )
                for k, shape, kind in ((0, (COLUMNS,), np.float32), (1, (), np.int8))
            )
            X, y = dask.persist(X, y)
            wait([X, y])
            there = cotas.scale.from_dask(X, y)
            (threads, in_threads), (taken, model) = in_turn(rows, there, lam, tol, count)
        yield {
            "task": "dask",
            "workers": count,
            "rows": n,
            "partitions": len(sizes),
            "fit_s": round(taken, 2),
            "threads_s": round(threads, 2),
            "overhead": round(taken / threads, 2),
            "same_bits": bool(np.array_equal(in_threads.coef_, model.coef_)),
            "relative_gap": model.certificate_.relative_gap,
        }


def _in_memory(starts: Any, sizes: Any) -> Arrays:
    made = [dense_rows(start, size) for start, size in zip(starts, sizes, strict=True)]
    X, y = (np.concatenate(parts) for parts in zip(*made, strict=True))
    return Arrays(X, y, block_rows=BLOCK_ROWS)
