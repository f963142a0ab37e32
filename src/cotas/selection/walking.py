"""All fits of a choice: in threads, along warm starts, until done or interrupted."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from cotas.fitting.monitor import ProgressBar
from cotas.fitting.threads import one_thread_in_blas
from cotas.selection.fits import Fit, Fitter
from cotas.selection.splits import Part
from cotas.stops import InterruptedWarning

# So many values share a warm start, however many threads there are: the threads do not change
# the result.
TOGETHER = 4
Key = tuple[int, int]  # the part of the data, the position of the value
# What the table of the fits tells, or the caller himself.
TOLD_OTHERWISE = (ConvergenceWarning, InterruptedWarning)


class Watch:
    """Hears the warnings of the fits, and knows whether the work is to end."""

    def __init__(self) -> None:
        self.heard: list[warnings.WarningMessage] = []
        self._stop = threading.Event()

    def stop(self) -> None:
        """No further fit is begun."""
        self._stop.set()

    def stopped(self) -> bool:
        """Whether the work is to end."""
        return self._stop.is_set()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Collect the warnings: a gap that was missed is told in the table, the rest afterwards."""
        with warnings.catch_warnings(record=True) as self.heard:
            warnings.simplefilter("always")
            yield

    def pass_on(self) -> None:
        """Each of the other warnings once, with no doubles."""
        told = set()
        for w in self.heard:
            text = str(w.message)
            silent = issubclass(w.category, TOLD_OTHERWISE)
            if silent or "valid feature names" in text or (w.category, text) in told:
                continue
            told.add((w.category, text))
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def fit_all(
    fitter: Fitter,
    values: Sequence[Any],
    parts: Sequence[Part],
    threads: int,
    bar: ProgressBar,
    watch: Watch,
) -> dict[Key, Fit]:
    """Every value on every part; those that were finished, if it was interrupted."""
    together = len(values) if fitter.goes_by_prefixes else TOGETHER if fitter.starts_warm else 1
    starts = range(0, len(values), together)
    # All parts of the first values, then of the next: an early end leaves whole values.
    groups = [
        (p, range(s, min(s + together, len(values)))) for s in starts for p in range(len(parts))
    ]
    found: dict[Key, Fit] = {}

    def work(group: tuple[int, range]) -> None:
        p, span = group
        run = [values[k] for k in span]
        done = fitter.run(run, parts[p], lambda fit: step(bar, fit), watch)
        found.update({(p, span[k]): fit for k, fit in enumerate(done)})

    in_threads(work, groups, threads, watch)
    return found


def tighten_all(
    fitter: Fitter,
    found: dict[Key, Fit],
    levels: dict[Key, int],
    parts: Sequence[Part],
    threads: int,
    watch: Watch,
) -> None:
    """Fit these again, each with a gap to prove that belongs to its level."""

    def work(key: Key) -> None:
        found[key] = fitter.tighter(found[key], parts[key[0]], levels[key])

    in_threads(work, list(levels), threads, watch)


def in_threads(
    work: Callable[[Any], None], tasks: Sequence[Any], threads: int, watch: Watch
) -> None:
    """Do the tasks; Ctrl-C lets those that run come to their end and begins no other."""
    try:
        if threads == 1:
            for task in tasks:
                if watch.stopped():
                    return
                work(task)
            return
        with one_thread_in_blas(), ThreadPoolExecutor(threads) as pool:
            _wait(pool, [pool.submit(_unless_stopped, work, task, watch) for task in tasks], watch)
    except KeyboardInterrupt:
        watch.stop()


def _unless_stopped(work: Callable[[Any], None], task: Any, watch: Watch) -> None:
    if not watch.stopped():
        work(task)


def _wait(pool: ThreadPoolExecutor, futures: list[Future[None]], watch: Watch) -> None:
    try:
        for future in futures:
            future.result()
    except BaseException:
        watch.stop()
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def gather(
    work: Callable[[Any], Any], tasks: Sequence[Any], threads: int, bar: ProgressBar
) -> tuple[dict[Any, Any], bool]:
    """The results of the tasks that were finished, and whether Ctrl-C kept others from it."""
    watch, found = Watch(), {}

    def one(task: Any) -> None:
        found[task] = work(task)
        bar.step()

    try:
        with watch.listening():
            in_threads(one, tasks, threads, watch)
    finally:
        bar.close()
    watch.pass_on()
    return found, watch.stopped()


def step(bar: ProgressBar, fit: Fit) -> None:
    """Show that one more fit is done."""
    bar.step(gap=f"{fit.gap:.1e}")
