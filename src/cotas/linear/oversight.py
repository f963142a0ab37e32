"""What the classes of one fit share while each is solved alone: callbacks, progress, Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock
from typing import Any, TypeVar

from cotas.fitting.reporting import Callback, ProgressBar, tell_all

T = TypeVar("T")


class Oversight:
    """Lets one thread at a time speak to the user, and all of them know when to stop."""

    def __init__(self, callbacks: list[Callback], bar: ProgressBar) -> None:
        self.callbacks, self._bar = callbacks, bar
        self._lock, self._interrupted = Lock(), Event()

    @property
    def interrupted(self) -> bool:
        """Whether the user, or an error in another class, has put an end to the fit."""
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """Each class ends with the next thing its solver shows."""
        self._interrupted.set()

    def tell(self, report: Any) -> bool:
        """Tell all the callbacks; whether one of them asks to stop."""
        with self._lock:
            return tell_all(self.callbacks, report)

    def show(self, gap: float | None) -> None:
        """One iteration further, with the relative gap if it is known."""
        with self._lock:
            self._bar.step(**({} if gap is None else {"gap": f"{gap:.1e}"}))

    def for_each(self, solve: Callable[[T], Any], classes: Sequence[T], threads: int) -> list[Any]:
        """What `solve` makes of each class, in threads; after Ctrl-C the best that each has.

        The caller holds BLAS at one thread: the last digits of a product can depend on its
        threads, and nothing else does.
        """
        if threads == 1:
            return [solve(one) for one in classes]
        with ThreadPoolExecutor(threads) as pool:
            return self._in_threads(pool, solve, classes)

    def _in_threads(
        self, pool: ThreadPoolExecutor, solve: Callable[[T], Any], classes: Sequence[T]
    ) -> list[Any]:
        tasks: list[Future[Any]] = []
        while True:
            try:
                # Ctrl-C may come before all the classes have been handed out.
                tasks.extend(pool.submit(solve, one) for one in classes[len(tasks) :])
                return [task.result() for task in tasks]
            except KeyboardInterrupt:
                if self.interrupted:
                    raise  # the user insists, or a class has nothing to show yet
                self.interrupt()
            except BaseException:
                self.interrupt()
                for task in tasks:
                    task.cancel()
                raise
