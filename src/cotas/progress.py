"""What a user sees and says while a fit runs: the bar, callbacks, Ctrl-C."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Lock
from typing import Any, TypeVar


class ProgressBar:
    """A bar on the terminal or in a notebook for work longer than a second.

    `shown=None` shows one if tqdm is installed and someone is there to look at it. Without a
    `total` it counts and shows the speed.
    """

    def __init__(
        self, total: int | None, name: str, shown: bool | None, unit: str = "epoch"
    ) -> None:
        self._bar = None
        if shown is False or (shown is None and not _someone_watches()):
            return
        try:
            with warnings.catch_warnings():
                # In a notebook without ipywidgets it warns, and then shows the bar as text.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError as error:
            if shown:
                raise ImportError(
                    "progress=True needs tqdm: pip install 'cotas[progress]', "
                    "or leave progress at None."
                ) from error
            return
        self._bar = tqdm(total=total, desc=name, unit=unit, delay=1.0, leave=False)

    @property
    def is_shown(self) -> bool:
        """Whether there is one: figures beside it may take a while to compute."""
        return self._bar is not None

    def step(self, **figures: Any) -> None:
        """One unit further, with figures to show beside the bar; without any the last ones stay."""
        if self._bar is not None:
            if figures:
                written = {k: f"{v:.1e}" if isinstance(v, float) else v for k, v in figures.items()}
                self._bar.set_postfix(written, refresh=False)
            self._bar.update()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def _someone_watches() -> bool:
    with suppress(AttributeError, ValueError):
        if sys.stderr.isatty():
            return True
    # In a notebook; that IPython is loaded says nothing.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


T = TypeVar("T")
# Takes the report of an estimator; a true answer ends the fit.
Callback = Callable[[Any], Any]


class Monitor:
    """Lets one thread at a time speak to the user, and all of them know when to stop.

    `model` has the `callbacks` and the `progress` that were asked for; `name` stands at the bar.
    """

    def __init__(
        self,
        model: Any,
        unit: str = "iteration",
        total: int | None = None,
        name: str | None = None,
    ) -> None:
        self.callbacks = as_callbacks(model.callbacks)
        self.bar = ProgressBar(total, name or type(model).__name__, model.progress, unit)
        # Whether the user, or an error in another part, has put an end to the fit.
        self._lock, self.interrupted = Lock(), False

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def interrupt(self) -> None:
        """End each part with the next iterate of its solver."""
        self.interrupted = True

    def tell(self, report: Any) -> bool:
        """Tell all the callbacks; whether one of them asks to stop."""
        with self._lock:
            return tell_all(self.callbacks, report)

    def show(self, **figures: Any) -> None:
        """Move the bar by one iteration, with figures beside it."""
        with self._lock:
            self.bar.step(**figures)

    def for_each(self, solve: Callable[[T], Any], parts: Sequence[T], threads: int) -> list[Any]:
        """Solve each part, in threads; after Ctrl-C each gives the best that it has.

        The caller holds BLAS at one thread: the last digits of a product can depend on its
        threads, and nothing else does.
        """
        if threads == 1:
            return [solve(part) for part in parts]
        with ThreadPoolExecutor(threads) as pool:
            return self._in_threads(pool, solve, parts)

    def _in_threads(
        self, pool: ThreadPoolExecutor, solve: Callable[[T], Any], parts: Sequence[T]
    ) -> list[Any]:
        tasks: list[Future[Any]] = []
        while True:
            try:
                # Ctrl-C may come before all the parts have been handed out.
                tasks.extend(
                    pool.submit(copy_context().run, solve, part) for part in parts[len(tasks) :]
                )
                return [task.result() for task in tasks]
            except KeyboardInterrupt:
                if self.interrupted:
                    raise  # the user insists
                self.interrupt()
            except BaseException:
                self.interrupt()
                for task in tasks:
                    task.cancel()
                raise


def as_callbacks(callbacks: Callback | Iterable[Callback] | None) -> list[Callback]:
    """None, one function, or several."""
    if callbacks is None:
        return []
    return [callbacks] if callable(callbacks) else list(callbacks)


def tell_all(callbacks: Iterable[Callback], report: Any) -> bool:
    """Whether one of them asks to stop; all are told, also after one has asked."""
    answers = [callback(report) for callback in callbacks]
    return any(answers)
