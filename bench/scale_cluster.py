"""A LocalCluster of Dask beside as many threads of one process, on the same blocks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import cotas
from bench.scale_data import COLUMNS, dense_rows
from cotas.source import Arrays

BLOCK_ROWS = 250_000
WORKERS = (1, 2, 4)


def _part(start: int, rows: int, which: int) -> Any:
    return dense_rows(start, rows)[which]


def seconds(rows: Any, lam: float, tol: float, n_jobs: int) -> tuple[float, Any]:
    """The less of two fits, after one that compiles, imports and sends what is needed."""
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        model = cotas.LinearSVM(lam=lam, tol=tol, n_jobs=n_jobs).fit(rows)
        taken.append(time.perf_counter() - began)
    return min(taken[1:]), model


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
    in_threads = dict(_in_threads(starts, sizes, lam, tol))
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
            taken, model = seconds(cotas.scale.from_dask(X, y), lam, tol, 1)
        threads, theta = in_threads[count]
        yield {
            "task": "dask",
            "workers": count,
            "rows": n,
            "partitions": len(sizes),
            "fit_s": round(taken, 2),
            "threads_s": round(threads, 2),
            "overhead": round(taken / threads, 2),
            "same_bits": bool(np.array_equal(theta, model.coef_)),
            "relative_gap": model.certificate_.relative_gap,
        }


def _in_threads(
    starts: Any, sizes: Any, lam: float, tol: float
) -> Iterator[tuple[int, tuple[float, Any]]]:
    made = [dense_rows(start, size) for start, size in zip(starts, sizes, strict=True)]
    X, y = (np.concatenate(parts) for parts in zip(*made, strict=True))
    rows = Arrays(X, y, block_rows=BLOCK_ROWS)
    for count in WORKERS:
        taken, model = seconds(rows, lam, tol, count)
        yield count, (taken, model.coef_)
