"""What callbacks are told while a fit runs."""

from __future__ import annotations

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
