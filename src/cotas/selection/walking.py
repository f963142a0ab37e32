"""All fits of a choice: in threads, along warm starts, until done or interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import validation

from cotas.running import Monitor
from cotas.selection.fits import Fit, Fitter
from cotas.selection.splits import Part
from cotas.stops import InterruptedWarning

# So many values share a warm start, however many threads there are: the threads do not change
# the result.
TOGETHER = 4
Key = tuple[int, int]  # the part of the data, the position of the value
# What the table of the fits tells, or the caller himself.
TOLD_OTHERWISE = (ConvergenceWarning, InterruptedWarning)


class Watch(Monitor):
    """A monitor that hears the warnings of the fits, too; interrupted, it begins no other."""

    def __init__(self, name: str, progress: bool | None, total: int, unit: str = "fit") -> None:
        asked = SimpleNamespace(callbacks=None, progress=progress)
        super().__init__(asked, unit, total, name)
        self.heard: list[warnings.WarningMessage] = []

    def do(self, work: Callable[[Any], None], tasks: Sequence[Any], threads: int) -> None:
        """Do the tasks; Ctrl-C lets those that run come to their end and begins no other."""

        def unless_interrupted(task: Any) -> None:
            if self.interrupted:
                return
            try:
                work(task)
            except KeyboardInterrupt:
                self.interrupt()

        self.for_each(unless_interrupted, tasks, threads)

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
            # scikit-learn's check of names: a choice hands over rows without them.
            names = w.category is UserWarning and w.filename == validation.__file__
            heard = (w.category, str(w.message))
            if issubclass(w.category, TOLD_OTHERWISE) or names or heard in told:
                continue
            told.add(heard)
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def fit_all(
    fitter: Fitter, values: Sequence[Any], parts: Sequence[Part], threads: int, watch: Watch
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
        done = fitter.run(run, parts[p], watch)
        found.update({(p, span[k]): fit for k, fit in enumerate(done)})

    watch.do(work, groups, threads)
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

    watch.do(work, list(levels), threads)


def gather(
    work: Callable[[Any], Any], tasks: Sequence[Any], threads: int, watch: Watch
) -> dict[Any, Any]:
    """The results of the tasks that were finished."""
    found = {}

    def one(task: Any) -> None:
        found[task] = work(task)
        watch.show()

    with watch, watch.listening():
        watch.do(one, tasks, threads)
    watch.pass_on()
    return found
