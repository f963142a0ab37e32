"""Threads around the checker, which itself knows nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from cotas.certificates.sweep import Each


@cache
def _controller() -> ThreadpoolController:
    """Looking for the BLAS in memory takes a millisecond; it does not move."""
    return ThreadpoolController()


@contextmanager
def threaded_map() -> Iterator[Each]:
    """A `map` that uses every core, with a BLAS that uses one for each call.

    The blocks of the checker are too small for a BLAS with threads of its own, which spends its
    time waiting for them, above all when another process wants the cores too.
    """
    with (
        _controller().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(cpu_count()) as pool,
    ):
        yield pool.map
