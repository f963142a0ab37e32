"""Following a solver: the best iterate, its proof, callbacks, the bar, Ctrl-C, time and limits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.certificates import Certificate
from cotas.running import Monitor
from cotas.solvers.iterate import Iterate
from cotas.stops import Reason, Stop
from cotas.words import say

# What rounding costs is known up to a factor of this size.
NEAR = 4.0
# A gap so many times as large as what rounding costs is none that rounding made.
FAR = 1e4
# So many looks that do not lower a gap by a tenth are a sign that nothing will.
PATIENCE, BETTER = 10, 0.9
NOTHING_CHANGED = Reason(Stop.THEORY, say("an epoch changed nothing"))


# ---- what callbacks are told -------------------------------------------------------------------


@dataclass(frozen=True)
class EpochReport:
    """The report of an epoch to a callback. Returning True stops the fit.

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
    """The report to a callback each time a solver shows its progress; returning True stops it."""

    label: Any
    iteration: int
    seconds: float
    certificate: Certificate


@dataclass(frozen=True)
class StepReport:
    """The report to a callback after some steps of a fixed number; returning True stops them."""

    iteration: int
    max_iter: int
    seconds: float


# ---- the pursuit -------------------------------------------------------------------------------


class Proved(Protocol):
    """The result of a check of an iterate: at least a certificate."""

    @property
    def certificate(self) -> Certificate: ...


P = TypeVar("P", bound=Proved)


@dataclass(frozen=True)
class Ended(Generic[P]):
    """The end of a pursuit.

    Attributes
    ----------
    best : what the check made of the best iterate; None if there was no check
    reason : why it ended
    iterations : how many iterates were seen
    seconds : since the call of `fit`
    """

    best: P | None
    reason: Reason
    iterations: int
    seconds: float

    @property
    def proved(self) -> P:
        """Return the best, where a check was given."""
        assert self.best is not None
        return self.best


class Pursuit(Generic[P]):
    """The pursuit: it goes along the iterates of one solver until there is a reason to stop.

    Parameters
    ----------
    tol : the relative gap to prove; None if none is asked for
    max_iter, max_time : the most iterates, and the most seconds since `began`; None for no limit
    monitor : who is told
    began : when `fit` was called, by `time.perf_counter`; now if not given
    label : what reports call this run
    """

    def __init__(
        self,
        tol: float | None,
        max_iter: int | None,
        max_time: float | None,
        monitor: Monitor,
        *,
        began: float | None = None,
        label: Any = None,
    ) -> None:
        self.tol = -np.inf if tol is None else tol
        self.max_iter, self.max_time, self.monitor, self.label = max_iter, max_time, monitor, label
        self.began = time.perf_counter() if began is None else began
        self.iterations, self.floor = 0, Floor()
        self.best: P | None = None
        self._latest: Iterate | None = None
        self._checked: Iterate | None = None
        self._check: Callable[[Iterate], P] | None = None
        self._ends: Callable[[Iterate], Reason | None] | None = None
        self._report: Callable[[Iterate], Any] | None = None

    @property
    def seconds(self) -> float:
        """Return the seconds since the call of `fit`."""
        return time.perf_counter() - self.began

    def follow(
        self,
        iterates: Iterable[Iterate],
        check: Callable[[Iterate], P] | None = None,
        *,
        start: Iterate | None = None,
        ends: Callable[[Iterate], Reason | None] | None = None,
        report: Callable[[Iterate], Any] | None = None,
    ) -> Ended[P]:
        """Go on until the gap is proved, someone asks to stop, or a limit is reached.

        Parameters
        ----------
        iterates : the solver; a generator may return a `Reason` when it ends by itself
        check : proves what it can of an iterate; the result with the smallest gap is kept
            It costs as much as a step of most solvers, so a solver that knows its own gap is
            checked when that looks good enough or does not become smaller, and for callbacks.
        start : where the solver begins, which is the best if it gets nowhere
        ends : another reason to end after an iterate
        report : what callbacks are told of an iterate; a `SolverReport` if not given
        """
        if self._is_proved() and not self.monitor.interrupted:
            return Ended(self.best, Reason(Stop.PROVED), self.iterations, self.seconds)
        self._check, self._ends, self._report = check, ends, report
        self._latest, reason = start if self.best is None else None, None
        try:
            with np.errstate(all="ignore"):  # numbers that overflow prove nothing, and say so
                reason = self._walk(iter(iterates))
        except KeyboardInterrupt:
            reason = Reason(Stop.INTERRUPTED)
            self.monitor.interrupt()
        return self._ended(reason)

    def resume(
        self,
        solver: Callable[[Any], Iterator[Iterate]],
        start: Any,
        check: Callable[[Iterate], P],
    ) -> Ended[P]:
        """Follow a solver from where an earlier fit ended, and from nothing if it is stuck there.

        Where it begins counts as no step; a `start` of None stands for nothing. Models far worse
        than none at all, such as those of other units, have scores whose rounding is felt.
        """
        iterates = solver(start)
        first = next(iterates)
        if start is not None:
            self.begin(first, check)
        ended = self.follow(iterates, check, start=first)
        if start is None or ended.reason.stop not in (Stop.STALLED, Stop.ROUNDING):
            return ended
        self.floor = Floor()
        return self.resume(solver, None, check)

    def begin(self, start: Iterate, check: Callable[[Iterate], P]) -> Certificate | None:
        """Check where an earlier fit ended, which counts as no iteration; None after Ctrl-C."""
        self._check = check
        try:
            return self._prove(start)
        except KeyboardInterrupt:
            self.monitor.interrupt()
            return None

    def take(self, iterate: Iterate, found: P) -> None:
        """Begin with an iterate that was proved already, together with those of other solvers."""
        self.iterations, self._checked, self.best = iterate.steps, iterate, found

    def _walk(self, source: Iterator[Iterate]) -> Reason | None:
        while (reason := self._limit()) is None:
            try:
                self._latest = next(source)
            except StopIteration as end:
                return end.value or self._limit()
            self.iterations += self._latest.steps
            if (reason := self._see(self._latest)) is not None:
                break
        return reason

    def _limit(self) -> Reason | None:
        if self.monitor.interrupted:
            return Reason(Stop.INTERRUPTED)
        if self._is_proved():
            return Reason(Stop.PROVED)
        if self.max_iter is not None and self.iterations >= self.max_iter:
            return Reason(Stop.ITERATIONS)
        if self.max_time is not None and self.seconds > self.max_time:
            return Reason(Stop.TIME)
        return None

    def _see(self, iterate: Iterate) -> Reason | None:
        """Tell why to end after this iterate, if there is a reason; what was proved counts."""
        reason = self._ends(iterate) if self._ends else None
        believed, certificate, due = iterate.believed_gap, None, False
        if self._check is not None:
            due = believed is None or self.floor.is_stuck(believed) or believed <= self.tol
            if due or (self.monitor.callbacks and self._report is None):
                # What is proved for callbacks alone changes nothing: they watch the same fit.
                certificate = self._prove(iterate, keep=due)
        asked = bool(self.monitor.callbacks) and self.monitor.tell(
            self._report_of(iterate, certificate)
        )
        known = believed if certificate is None else certificate.relative_gap
        if self._check is not None and believed != np.inf:  # that solver shows what it knows
            self.monitor.show(**({} if known is None else {"gap": known}))
        if certificate is not None and self._is_proved():
            return Reason(Stop.PROVED)
        rounding = certificate is not None and due and self.floor.reached(certificate, believed)
        if reason is None and (asked or rounding):
            return Reason(Stop.CALLBACK if asked else Stop.ROUNDING)
        return reason

    def _report_of(self, iterate: Iterate, certificate: Certificate | None) -> Any:
        if self._report is not None:
            return self._report(iterate)
        assert certificate is not None
        return SolverReport(self.label, self.iterations, self.seconds, certificate)

    def _prove(self, iterate: Iterate, keep: bool = True) -> Certificate:
        assert self._check is not None
        found = self._check(iterate)
        if not keep:
            return found.certificate
        self._checked = iterate
        if self.best is None or found.certificate.relative_gap < self._gap():
            self.best = found
        return found.certificate

    def _prove_last(self, latest: Iterate, reason: Reason | None) -> Reason | None:
        """Prove what is left; a first Ctrl-C meanwhile is the reason, and loses no model."""
        try:
            self._prove(latest)
        except KeyboardInterrupt:
            if reason is not None and reason.stop is Stop.INTERRUPTED:
                raise  # the user insists
            self.monitor.interrupt()
            if self.best is None:
                self._prove(latest)
            return Reason(Stop.INTERRUPTED)
        return reason

    def _gap(self) -> float:
        return np.inf if self.best is None else self.best.certificate.relative_gap

    def _is_proved(self) -> bool:
        return self._gap() <= self.tol

    def _ended(self, reason: Reason | None) -> Ended[P]:
        latest = None if self._latest is self._checked else self._latest
        if self._check is not None and latest is not None and not self._is_proved():
            reason = self._prove_last(latest, reason)
        asked = reason is not None and reason.stop in (Stop.INTERRUPTED, Stop.CALLBACK)
        if self._is_proved() and not asked:
            reason = Reason(Stop.PROVED)  # better than the solver believed
        if reason is None:
            rounding = self.best is not None and at_floor(self.best.certificate)
            reason = Reason(Stop.ROUNDING if rounding else Stop.STALLED)
        return Ended(self.best, reason, self.iterations, self.seconds)


def deadline(began: float, max_time: float | None) -> float:
    """Tell when the time is up, for solvers whose steps are long, by `time.perf_counter`."""
    return math.inf if max_time is None else began + max_time


def follow_epochs(
    model: Any,
    epochs: Iterable[Any],
    most: int,
    n_problems: int,
    began: float,
    ends: Callable[[Any], Reason | None],
    reached: Callable[[], tuple[FloatArray, FloatArray]],
    *,
    max_time: float | None,
    scores: Sequence[float] = (),
) -> tuple[Reason, list[Any]]:
    """Go along the epochs of an online run of some machines until one ends it; why, and the epochs.

    `reached` gives θ and θ₀ so far, and `scores` are those on validation rows, for callbacks.
    """
    done: list[Any] = []

    def see(iterate: Iterate) -> Reason | None:
        done.append(iterate.model)
        monitor.show(mistakes=int(done[-1].mistakes.sum()))
        return ends(done[-1])

    def report(iterate: Iterate) -> EpochReport:
        epoch, score = done[-1], scores[-1] if scores else None
        found = (epoch.mistakes, epoch.updates, epoch.seconds)
        return EpochReport(epoch.number, most, *found, *reached(), score)

    with Monitor(model, "epoch", most) as monitor:
        pursuit: Pursuit[Any] = Pursuit(None, most, max_time, monitor, began=began)
        ended = pursuit.follow(map(Iterate, epochs), ends=see, report=report)
    model.n_iter_ = len(done)
    mistakes = np.array([epoch.mistakes for epoch in done], np.int64)
    model.mistakes_per_epoch_ = mistakes.reshape(len(done), n_problems)
    return ended.reason, done


def finished(finish: Callable[[bool], Any], reason: Reason) -> Reason:
    """Finish a fit that ended so; a first Ctrl-C meanwhile is the reason, and loses no model.

    `finish` is told whether there was one, and then called again.
    """
    if reason.stop is not Stop.INTERRUPTED:
        try:
            finish(False)
        except KeyboardInterrupt:
            reason = Reason(Stop.INTERRUPTED)
        else:
            return reason
    finish(True)
    return reason


def end_of_share(
    began: float, max_time: float | None, part: int, parts: int, threads: int = 1
) -> float | None:
    """Return the seconds since `began` at which a part that begins now has to end.

    It gets an equal share of the time that is left to it and to the parts after it, `threads` of
    which are solved at a time; what it does not use is theirs.
    """
    if max_time is None:
        return None
    spent = time.perf_counter() - began
    shares = math.ceil((parts - part) / threads)
    return spent + max(0.0, max_time - spent) / shares


def foremost_of(reasons: Sequence[Reason]) -> Reason:
    """Tell why a fit of several parts ended: what ended one from outside, else as the last part."""
    outside = (Stop.INTERRUPTED, Stop.CALLBACK, Stop.TIME)
    found = [reason for stop in outside for reason in reasons if reason.stop is stop]
    return [*found, reasons[-1]][0]


def worst_of(parts: Sequence[Ended[Any]]) -> Reason:
    """Tell why a fit of several parts ended: an interruption, else as that with the largest
    gap."""
    for part in parts:
        if part.reason.stop is Stop.INTERRUPTED:
            return part.reason
    return max(parts, key=lambda part: part.proved.certificate.relative_gap).reason


def at_floor(certificate: Certificate) -> bool:
    """Tell whether the gap that is proved is no more than what rounding alone can make."""
    return bool(certificate.gap <= NEAR * certificate.charge)


class Patience:
    """A count of the checks since a score was better than all before, at `best_check`."""

    def __init__(self, patience: int) -> None:
        self.patience, self.best = patience, -np.inf
        self.check = self.best_check = self.stale = 0

    def lost(self, score: float) -> bool:
        """Tell whether so many checks, this one included, have brought nothing."""
        self.check += 1
        if score > self.best:
            self.best, self.best_check = score, self.check
        self.stale = self.check - self.best_check
        return self.stale >= self.patience


class Idle:
    """A count of the checks since a gap was last lowered by a tenth."""

    def __init__(self) -> None:
        self.best, self.stalled_checks = math.inf, 0

    def see(self, gap: float) -> int:
        """Tell how many checks, this one included, have brought nothing."""
        better = gap < BETTER * self.best
        self.best, self.stalled_checks = (
            (gap, 0) if better else (self.best, self.stalled_checks + 1)
        )
        return self.stalled_checks


class Floor:
    """A watch on what a solver believes of its gap, and what the checker proves."""

    def __init__(self) -> None:
        self.believed, self.proved = Idle(), Idle()

    def is_stuck(self, believed: float) -> bool:
        """Tell whether the solver has stopped getting on, by its own account: a look is
        due."""
        if math.isinf(believed):
            return False
        idle = self.believed.see(believed)
        return idle > 0 and idle % PATIENCE == 0

    def reached(self, certificate: Certificate, believed: float | None) -> bool:
        """Tell whether to give up, the checker having looked at a gap that seemed good enough.

        The gap is what rounding makes and does not become smaller, or it has not done so for a
        while although the solver believes in one far below it.
        """
        idle, gap = self.proved.see(certificate.gap), certificate.relative_gap
        if at_floor(certificate):
            return idle > 0 or certificate.gap <= certificate.charge
        rounding = certificate.gap <= FAR * certificate.charge
        return rounding and believed is not None and believed < 0.1 * gap and idle >= PATIENCE
