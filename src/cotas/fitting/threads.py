"""Threads around the checker, which itself knows nothing of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, TypeVar

import joblib

from cotas.arrays import Each, Matrix
from cotas.blas import one_thread_in_blas

T = TypeVar("T")
# Fewer entries than this are read before a second thread has begun.
WORTH_A_THREAD = 1 << 20
# A task on fewer entries, gone over many times, ends before a thread for it has begun.
WORTH_A_TASK = 1 << 14
# One pass over fewer entries beside other work ends before a thread for it has begun.
WORTH_A_PASS = 1 << 17


@cache
def cpu_count() -> int:
    """The cores this process may use; asking the system takes a tenth of a millisecond."""
    return int(joblib.cpu_count())


def entries_of(X: Matrix) -> int:
    """How many entries X has, or stores if it is sparse."""
    return int(X.nnz if hasattr(X, "nnz") else X.size)


def thread_count(n_jobs: int | None, tasks: int | None = None, entries: int = WORTH_A_TASK) -> int:
    """How many threads may work, on so many tasks: all cores for None, all but k − 1 for −k.

    It is one for tasks that go over too few `entries` each.

    Inside a worker of joblib, such as those of `GridSearchCV(n_jobs=-1)`, the cores are taken by
    the other workers: there it is one, unless a number of threads is given.
    """
    if entries < WORTH_A_TASK:
        return 1
    backend, _ = joblib.parallel.get_active_backend()
    cores = 1 if (backend.nesting_level or 0) > 0 else cpu_count()
    wanted = cores if n_jobs is None else n_jobs
    if wanted < 0:
        wanted = cores + 1 + wanted
    return int(max(1, wanted if tasks is None else min(wanted, tasks)))


@contextmanager
def _in_threads(threads: int) -> Iterator[Each]:
    """A map that keeps the order, in so many threads, with at most two parts for each under way.

    BLAS has one thread in any case: the last digits of its products depend on how many it has.
    """
    if threads == 1:
        with one_thread_in_blas():
            yield map
        return
    with one_thread_in_blas(), ThreadPoolExecutor(threads) as pool:
        yield in_order(pool, threads)


def rows_in_threads(
    X: Matrix, n_jobs: int | None, worth: int | None = None
) -> AbstractContextManager[Each]:
    """What goes over parts of X: several threads if it has entries worth them, else `map`."""
    few = entries_of(X) < (worth or WORTH_A_THREAD)
    return _in_threads(1 if few else thread_count(n_jobs))


def blocks_in_threads(n_jobs: int | None) -> AbstractContextManager[Each]:
    """What goes over the blocks of a source."""
    return _in_threads(thread_count(n_jobs))


@contextmanager
def pooled(n_jobs: int | None) -> Iterator[Each]:
    """A map that works in threads, as many as `n_jobs` allows."""
    threads = thread_count(n_jobs)
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map


@contextmanager
def aside(
    function: Callable[[Any], T], data: Any, n_jobs: int | None, entries: int
) -> Iterator[Future[T]]:
    """What a function finds in reading so many entries once, in a thread of its own if worth it."""
    if entries >= WORTH_A_PASS and thread_count(n_jobs) > 1:
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(function, data)
        return
    found: Future[T] = Future()
    found.set_result(function(data))
    yield found


@contextmanager
def taking_turns(n_jobs: int | None, entries: int = WORTH_A_PASS) -> Iterator[tuple[Each, int]]:
    """A map for many short tasks, and how many threads take turns at it, this one among them.

    All of them together read so many entries.
    """
    threads = thread_count(n_jobs) if entries >= WORTH_A_PASS else 1
    with one_thread_in_blas(), ThreadPoolExecutor(threads) as pool:
        yield _shared_with(pool, threads - 1) if threads > 1 else map, threads


def _shared_with(pool: ThreadPoolExecutor, helpers: int) -> Each:
    """A `map` whose items are taken in turn by this thread and by so many threads of the pool.

    A round of boosting shares work that takes a fraction of a millisecond. This thread therefore
    begins at once, and does all of it if no other wakes up in time.
    """

    def each(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        listed = list(items)
        results: list[Any] = [None] * len(listed)
        turns = iter(range(len(listed)))  # the next number is taken in one step of the interpreter

        def take_turns() -> None:
            for k in turns:
                results[k] = function(listed[k])

        called = [pool.submit(take_turns) for _ in range(min(helpers, len(listed) - 1))]
        try:
            take_turns()
        finally:
            for future in called:
                if not future.cancel():
                    future.result()
        return results

    return each


def in_order(pool: ThreadPoolExecutor, threads: int) -> Each:
    """The map of a pool, with at most two parts for each thread under way.

    `pool.map` begins with all the parts at once: where the results are large and come faster than
    they are taken, they pile up in memory.
    """

    def each(function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        under_way: deque[Future[Any]] = deque()
        try:
            for part in parts:
                under_way.append(pool.submit(function, part))
                if len(under_way) == 2 * threads:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:  # after an error, or if no more results are wanted
            for future in under_way:
                future.cancel()

    return each
