"""What a user sees while a fit runs: callbacks after each epoch and a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cotas.arrays import FloatArray, IntArray
from cotas.certificates import Certificate


@dataclass(frozen=True)
class EpochReport:
    """What a callback is told after each epoch. Returning True stops the fit.

    Attributes
    ----------
    epoch, max_iter : int
        This epoch, counted from one, and the most there can be.
    mistakes, updates : array, one entry for each class
        Presentations with y(θ·x + θ₀) ≤ 0, and presentations that moved θ, in this epoch.
    seconds : float
        How long the epoch took.
    coef, intercept : arrays
        Copies of what the run has reached so far.
    validation_score : float or None
        Accuracy on the validation fraction, with early stopping.
    """

    epoch: int
    max_iter: int
    mistakes: IntArray
    updates: IntArray
    seconds: float
    coef: FloatArray
    intercept: FloatArray
    validation_score: float | None


@dataclass(frozen=True)
class SolverReport:
    """What a callback is told each time a solver shows its progress; returning True stops it."""

    label: Any
    iteration: int
    seconds: float
    certificate: Certificate


@dataclass(frozen=True)
class StepReport:
    """What a callback is told after some steps of a fixed number; returning True stops them."""

    iteration: int
    max_iter: int
    seconds: float


# Takes the report of an estimator; a true answer ends the fit.
Callback = Callable[[Any], Any]


def as_callbacks(callbacks: Callback | Iterable[Callback] | None) -> list[Callback]:
    """None, one function, or several."""
    if callbacks is None:
        return []
    return [callbacks] if callable(callbacks) else list(callbacks)


def tell_all(callbacks: Iterable[Callback], report: Any) -> bool:
    """Whether one of them asks to stop; all are told, also after one has asked."""
    answers = [callback(report) for callback in callbacks]
    return any(answers)


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
            from tqdm.auto import tqdm
        except ImportError as error:
            if shown:
                raise ImportError(
                    "progress=True needs tqdm: pip install 'cotas[progress]', "
                    "or leave progress at None."
                ) from error
            return
        self._bar = tqdm(total=total, desc=name, unit=unit, delay=1.0, leave=False)

    def step(self, **figures: Any) -> None:
        """One unit further, with figures to show beside the bar; without any the last ones stay."""
        if self._bar is not None:
            if figures:
                self._bar.set_postfix(figures, refresh=False)
            self._bar.update()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def _someone_watches() -> bool:
    with suppress(AttributeError, ValueError):
        if sys.stderr.isatty():
            return True
    return "ipykernel" in sys.modules
