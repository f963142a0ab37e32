"""When an iteration ends: the stopping rules of Moreno Chávez, and any combination of them.

stop = ChangeOfJ(1e-9) | MaxIterations(1000)       # the first of the two
stop = ChangeOfJ(1e-9) & ChangeOfTheta(1e-6)       # both at once
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cotas.refusals import ParameterError
from cotas.words import again, say


class Stop(Enum):
    """The reason why a fit ended: `stop_` of every estimator. The value says it in words.

    Examples
    --------
    >>> import cotas
    >>> model = cotas.LinearSVM().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.stop_ is cotas.stops.Stop.PROVED, model.stop_reason_
    (True, 'the gap asked for is proved')
    """

    PROVED = "the gap asked for is proved"
    ROUNDING = "rounding leaves no smaller gap to prove"
    CALLBACK = "a callback asked to stop"
    INTERRUPTED = "interrupted"
    TIME = "max_time reached"
    ITERATIONS = "max_iter reached"
    STALLED = "the solver made no further progress"
    THEORY = "no further step can change the model"
    DEVICE = "the device failed"


class InterruptedWarning(UserWarning):
    """Ctrl-C ended the work early: what came back is what there was."""


class Reason(NamedTuple):
    """The reason why a fit ended, and the words for it where those of `Stop` are not precise
    enough."""

    stop: Stop
    words: str = ""

    def __str__(self) -> str:
        return again(self.words) or say(self.stop.value)


@dataclass(frozen=True)
class Progress:
    """The progress that a rule may look at after an iteration.

    Attributes
    ----------
    iteration : counted from one
    objective, before : J now and one iteration ago
    move : ‖θᵗ⁺¹ − θᵗ‖, the bias included
    seconds : since the beginning of the fit
    relative_gap : computes the relative gap that the checker proves of the current model
    size : m, the number of rows or the sum of their weights: the objective is a mean over them
    """

    iteration: int
    objective: float
    before: float
    move: float
    seconds: float
    relative_gap: Callable[[float], float]
    size: float = 1.0


class Rule:
    """A stopping rule. `a | b` stops when either does, `a & b` when both do."""

    def reason(self, progress: Progress) -> Reason | None:
        """Tell why to stop here, or None to go on."""
        raise NotImplementedError

    def __or__(self, other: Rule) -> Rule:
        return AnyOf(self, other)

    def __and__(self, other: Rule) -> Rule:
        return AllOf(self, other)


@dataclass(frozen=True)
class AnyOf(Rule):
    """A rule that stops as soon as one of two does."""

    first: Rule
    second: Rule

    def reason(self, progress: Progress) -> Reason | None:
        return self.first.reason(progress) or self.second.reason(progress)


@dataclass(frozen=True)
class AllOf(Rule):
    """A rule that stops when two rules do so in the same iteration."""

    first: Rule
    second: Rule

    def reason(self, progress: Progress) -> Reason | None:
        one = self.first.reason(progress)
        other = self.second.reason(progress) if one else None
        if one is None or other is None:
            return None
        stop = one.stop if one.stop is Stop.PROVED else other.stop
        return Reason(stop, say("{one}, and {other}", one=str(one), other=str(other)))


@dataclass(frozen=True)
class ChangeOfJ(Rule):
    """The rule |J(θᵗ) − J(θᵗ⁺¹)| < eps, the first option of Moreno Chávez.

    J is the document's, ½ Σ (yᵢ − θ·xᵢ)²: a sum, m times the mean that the estimators minimize and
    keep in `history_["J"]`. Departure: the document has no absolute value, and would stop at a
    step that makes J larger.

    Examples
    --------
    >>> rule = ChangeOfJ(1e-6) | MaxIterations(1000)
    >>> print(rule.reason(Progress(1000, 2.0, 3.0, 0.1, 0.5, lambda enough: 1.0)))
    1000 iterations were made
    """

    eps: float

    def __post_init__(self) -> None:
        _check_positive(self.eps, "eps")

    def reason(self, progress: Progress) -> Reason | None:
        if progress.size * abs(progress.before - progress.objective) < self.eps:
            return Reason(Stop.STALLED, say("J changed by less than {eps:g}", eps=self.eps))
        return None


@dataclass(frozen=True)
class ChangeOfTheta(Rule):
    """The rule ‖θᵗ − θᵗ⁺¹‖ < eps, the second option of Moreno Chávez."""

    eps: float

    def __post_init__(self) -> None:
        _check_positive(self.eps, "eps")

    def reason(self, progress: Progress) -> Reason | None:
        if progress.move < self.eps:
            return Reason(Stop.STALLED, say("θ moved by less than {eps:g}", eps=self.eps))
        return None


@dataclass(frozen=True)
class MaxIterations(Rule):
    """A number of iterations, or of epochs where examples come in batches: the third option."""

    number: int

    def __post_init__(self) -> None:
        _check_positive(self.number, "number")

    def reason(self, progress: Progress) -> Reason | None:
        if progress.iteration >= self.number:
            return Reason(Stop.ITERATIONS, say("{number} iterations were made", number=self.number))
        return None


@dataclass(frozen=True)
class MaxTime(Rule):
    """A number of seconds."""

    seconds: float

    def __post_init__(self) -> None:
        _check_positive(self.seconds, "seconds")

    def reason(self, progress: Progress) -> Reason | None:
        if progress.seconds >= self.seconds:
            return Reason(Stop.TIME, say("{seconds:g} s have passed", seconds=self.seconds))
        return None


@dataclass(frozen=True)
class Gap(Rule):
    """The checker proves a relative gap (P − P*)/P ≤ tol."""

    tol: float

    def __post_init__(self) -> None:
        _check_positive(self.tol, "tol")

    def reason(self, progress: Progress) -> Reason | None:
        if progress.relative_gap(self.tol) <= self.tol:
            return Reason(Stop.PROVED)
        return None


def _check_positive(value: float, name: str) -> None:
    if not value > 0:
        raise ParameterError(name, f"{name} must be above zero, not {value!r}.")
