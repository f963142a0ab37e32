"""A bar with the gap that is proved so far, for work that takes longer than a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from cotas.cli.session import Session
from cotas.words import say

PATIENCE = 1.0


class Watcher:
    """Listens to a fit: keeps the gaps, and shows them after a second."""

    def __init__(self, session: Session, name: str) -> None:
        self.trace: list[tuple[float, float]] = []
        self._session, self._name = session, name
        self._began = time.perf_counter()
        self._best: dict[str, float] = {}  # of each class or target
        self._bar: Progress | None = None
        self._task: Any = None

    @property
    def callback(self) -> Callable[[Any], None]:
        """What an estimator calls; a plain function, so that it can be cloned with it."""
        return lambda report: self.hear(report)

    def hear(self, report: Any) -> None:
        """One report of a fit."""
        seconds = time.perf_counter() - self._began
        gap = _gap_of(report)
        if gap is not None:
            of = str(getattr(report, "label", ""))
            self._best[of] = min(gap, self._best.get(of, gap))
            # What is proved of the whole is what is proved of the worst.
            self.trace.append((seconds, max(self._best.values())))
        if self._session.shows_progress and seconds > PATIENCE:
            self._show(report, gap)

    def _show(self, report: Any, gap: float | None) -> None:
        if self._bar is None:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20))
            self._bar = Progress(
                *columns, TimeElapsedColumn(), console=self._session.err, transient=True
            )
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=None)
        done, total = _place_of(report)
        words = f"{self._name}: {done}/{total}"
        if total is None:
            words = say("{name}: step {done}", name=self._name, done=done)
        if gap is not None:
            words += say(", proved gap {gap:.2e}", gap=gap)
        self._bar.update(self._task, description=words, completed=done, total=total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away, whatever happened."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _gap_of(report: Any) -> float | None:
    """The relative gap that the checker proves at this point, if the report carries one."""
    certificate = getattr(report, "certificate", None)
    if certificate is None or callable(certificate):
        return None
    return float(certificate.relative_gap)


def _place_of(report: Any) -> tuple[int, int | None]:
    for place, total in (("round", "n_estimators"), ("epoch", "max_iter")):
        if hasattr(report, place):
            return int(getattr(report, place)), int(getattr(report, total))
    return int(getattr(report, "iteration", 0)), None
