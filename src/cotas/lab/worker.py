"""Work beside the page: a fit in a thread, which a newer change overtakes."""

from __future__ import annotations

import atexit
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from cotas.running import cpu_count

# A page cannot show more than so many changes in a second.
SECONDS_BETWEEN_NEWS = 0.05

_threads = ThreadPoolExecutor(max(2, cpu_count()), thread_name_prefix="cotas-lab")


def _do_nothing() -> None:
    """Do nothing where there is nothing to end."""


class LabTask:
    """One piece of work; `watch` is a callback for estimators, which ends a fit that is overtaken.

    Attributes
    ----------
    reports : list of what the estimator has told
    """

    def __init__(self) -> None:
        self.reports: list[Any] = []
        self.news: Callable[[Any], None] | None = None
        self._overtaken, self._last_news = threading.Event(), time.perf_counter()
        self._lock, self._end = threading.Lock(), _do_nothing

    @property
    def overtaken(self) -> bool:
        """Tell whether a newer change has made the answer useless."""
        return self._overtaken.is_set()

    def overtake(self) -> None:
        """End the work as soon as it looks, or at once where it is within `ending`."""
        with self._lock:
            self._overtaken.set()
            self._end()

    @contextmanager
    def ending(self, end: Callable[[], Any]) -> Iterator[None]:
        """Call `end` when a newer change comes, or now if one has come."""
        with self._lock:
            self._end = end
            if self.overtaken:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._end = _do_nothing

    def watch(self, report: Any) -> bool:
        """Keep what a solver tells, pass it on at times, and say whether to stop."""
        self.reports.append(report)
        self.pass_on(report)
        return self.overtaken

    def pass_on(self, report: Any) -> None:
        """Show something on the page before the answer is there, unless that was just done."""
        now = time.perf_counter()
        if self.news is not None and now - self._last_news > SECONDS_BETWEEN_NEWS:
            self._last_news = now
            self.news(report)


class Worker:
    """A worker that does the newest piece of work of one visitor, and forgets those before it.

    Parameters
    ----------
    deliver : takes a function that has to run where the page may be changed
    threaded : whether to work in a thread; otherwise the caller waits
    """

    def __init__(self, deliver: Callable[[Callable[[], None]], Any], threaded: bool) -> None:
        self._deliver, self._threaded = deliver, threaded
        self._lock = threading.Lock()
        self._current: LabTask | None = None
        self._next: tuple[LabTask, Callable[..., Any], Callable[..., None]] | None = None
        _workers.add(self)

    def submit(
        self,
        compute: Callable[[LabTask], Any],
        done: Callable[[Any], None],
        news: Callable[[Any], None] | None = None,
    ) -> None:
        """Compute, then call `done` with the answer or the error, unless something newer came."""
        task = LabTask()
        if not self._threaded:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what was not reached stands in the certificate
                outcome = _outcome(compute, task)
            done(outcome)
            return
        if news is not None:
            task.news = lambda report: self._deliver(
                lambda: None if task.overtaken else news(report)
            )
        with self._lock:
            self._next = (task, compute, done)
            if self._current is not None:
                self._current.overtake()
                return
            self._begin()

    def end(self) -> None:
        """End what is being computed: nobody waits for it any more."""
        with self._lock:
            self._next = None
            if self._current is not None:
                self._current.overtake()

    def _begin(self) -> None:
        assert self._next is not None
        self._current, compute, done = self._next
        self._next = None
        _threads.submit(self._run, self._current, compute, done)

    def _run(self, task: LabTask, compute: Callable[..., Any], done: Callable[..., None]) -> None:
        outcome = _outcome(compute, task)
        if not task.overtaken:
            self._deliver(lambda: self._finish(task, done, outcome))
        with self._lock:
            self._current = None
            if self._next is not None:
                self._begin()

    def _finish(self, task: LabTask, done: Callable[..., None], outcome: Any) -> None:
        """Hand over the answer; news that come after it are none."""
        if not task.overtaken:
            task.overtake()
            done(outcome)


# Those of all visitors, as long as there are any.
_workers: WeakSet[Worker] = WeakSet()


def end_all() -> None:
    """End what is being computed for anyone: the lab is closed."""
    for worker in list(_workers):
        worker.end()


# Python waits for the threads of a pool before it calls what `atexit` knows, and for a fit in
# another process as long as that takes: this is called before.
getattr(threading, "_register_atexit", atexit.register)(end_all)


def _outcome(compute: Callable[[LabTask], Any], task: LabTask) -> Any:
    """Return the answer, or the error in its place."""
    try:
        return compute(task)
    except Exception as error:
        return error
