"""One fit of a squared-loss model: its data, its problem, and the trail of its iterations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, DescentBound, SquaredLossPoint
from cotas.certificates.least_squares import SquaredChecker
from cotas.certificates.streamed import Stream
from cotas.fitting.data import Observations
from cotas.fitting.parameters import read_start
from cotas.fitting.pursuit import Floor, Pursuit
from cotas.refusals import ParameterError
from cotas.regression.base import refuse_overflow
from cotas.regression.products import moments_of, products_of
from cotas.running import Monitor
from cotas.solvers.iterate import Iterate
from cotas.solvers.moments import (
    Moments,
    column_deviation,
    gather_moments,
    weighted_mean,
)
from cotas.solvers.quadratic import Coordinates, QuadraticIterate, plain_coordinates, standardizing
from cotas.source import Arrays, Source
from cotas.stops import Gap, Progress, Reason, Rule, Stop
from cotas.words import say

# Without another limit; a rule of the user decides earlier, unless it never does.
MOST_ITERATIONS, MOST_WITH_A_RULE = 1000, 1_000_000
# At most so many entries of the history, and so many numbers in it.
LONGEST_HISTORY, LARGEST_HISTORY = 1000, 1_000_000
# An objective so many times the first one will not come back.
RUNAWAY = 1e8
# A gradient so small in comparison with the first is what rounding leaves of zero.
VANISHED = 1e-14

# A matrix of so many columns squared still fits, and takes about as long to factor as to fill.
LARGEST_GRAM = 2000
# What products prove is enough if it is so small a part of `tol`: where columns are collinear the
# rows prove hardly more.
SHARP, SHARP_IF_SINGULAR = 0.01, 0.1


class DivergedError(ValueError):
    """The steps were too long: the objective grew without bound."""


class ObjectiveHistory:
    """A history of J, θ, θ₀ and ‖∇J‖ of the iterations, thinned when it grows long."""

    def __init__(self, numbers: int) -> None:
        self.capacity = int(np.clip(LARGEST_HISTORY // max(1, numbers), 20, LONGEST_HISTORY))
        self.stride, self.entries = 1, list[tuple[Any, ...]]()

    def add(self, iteration: int, *entry: Any) -> None:
        """Keep this iteration, if it is one of those that are kept."""
        if iteration % self.stride:
            return
        self.entries.append((iteration, *entry))
        if len(self.entries) > self.capacity:
            self.stride *= 2
            self.entries = [kept for kept in self.entries if kept[0] % self.stride == 0]

    def as_arrays(self, single: bool) -> dict[str, FloatArray]:
        """Return each column of the history as an array."""
        names = ("iteration", "J", "theta", "intercept", "gradient_norm")
        columns = list(zip(*self.entries, strict=True)) or [()] * len(names)
        table = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
        if single and self.entries:
            table["theta"], table["intercept"] = table["theta"][:, 0], table["intercept"][:, 0]
        return table


class Trail:
    """A trail that an iterative solver leaves behind, and when its rule, or rounding, ends it.

    `start` is J and ‖∇J‖ before the first step.
    """

    def __init__(
        self,
        task: Task,
        start: tuple[float, float],
        explain_divergence: Callable[[], str],
        show: Callable[[], None],
    ) -> None:
        self.task, self.explain, self.show = task, explain_divergence, show
        self.rule: Rule = task.model.stop or Gap(task.model.tol)
        self.first, self.first_slope = start
        self.before, self.iterations = self.first, 0
        self.theta, self.theta0 = task.coordinates.model(task.start)
        self.history = ObjectiveHistory(self.theta.size + self.theta0.size)
        self.last: tuple[Any, ...] | None = None
        self.next_check, self.floor, self.at_floor = 1, Floor(), False

    def see(self, iterate: Iterate) -> Reason | None:
        """Keep an iterate; why to end with it, if there is a reason."""
        point = iterate.model
        self._take(point)
        self._refuse_runaway(point)
        seconds = time.perf_counter() - self.task.began
        numbers = (point.number, point.objective, self.before, point.move, seconds)
        self.progress = Progress(*numbers, self._relative_gap, self.task.size)
        self.before = point.objective
        self.show()
        reason = self.rule.reason(self.progress)
        if reason is None and self.task.model.stop is None and self.at_floor:
            return Reason(Stop.ROUNDING)
        if reason is None and point.slope <= VANISHED * self.first_slope:
            return Reason(Stop.ROUNDING, say("the gradient vanished up to rounding"))
        return reason

    def report(self, iterate: Iterate) -> Progress:
        """Return what callbacks are told."""
        return self.progress

    def arrays(self, single: bool) -> dict[str, FloatArray]:
        """Return the history, which ends with the last iterate."""
        if self.last is not None and self.history.entries[-1][0] != self.iterations:
            self.history.entries.append(self.last)
        return self.history.as_arrays(single)

    def _take(self, point: QuadraticIterate) -> None:
        theta, theta0 = self.task.coordinates.model(point.z)
        self.theta, self.theta0, self.iterations = theta, theta0, point.number
        self.last = (point.number, point.objective, theta, theta0, point.slope)
        self.history.add(*self.last)

    def _refuse_runaway(self, point: QuadraticIterate) -> None:
        if not point.objective <= RUNAWAY * max(self.first, 1e-300):
            raise DivergedError(
                f"The objective grew from {self.first:.3g} to {point.objective:.3g} in "
                f"{point.number} iterations: the step is too large. {self.explain()}"
            )

    def _relative_gap(self, target_gap: float) -> float:
        """Return what the checker proves of the current model.

        It reads all the data, so it is asked in every iteration at first and then each time that
        a tenth of the iterations so far have been added.
        """
        if self.iterations < self.next_check:
            return float("inf")
        self.next_check = self.iterations + max(1, self.iterations // 10)
        found = self.task.certificates_at(self.theta, self.theta0)
        worst = max(found, key=lambda certificate: certificate.relative_gap)
        self.at_floor = self.floor.reached(worst, None)
        return worst.relative_gap


CLOSED_FORM = Reason(Stop.THEORY, say("solved in closed form"))


@dataclass
class Outcome:
    """The outcome: what a solver found, and what there is to say about how."""

    theta: FloatArray  # one row for each target
    theta0: FloatArray
    remarks: tuple[str, ...] = ()
    reason: Reason = CLOSED_FORM
    iterations: int = 1
    trail: Trail | None = None
    descent: DescentBound | None = None
    condition: float | None = None
    singular: bool = False
    state: Any = field(default=None, repr=False)


class Task:
    """The data and the problem of one fit, with what is computed of them at most once."""

    in_blocks = False

    def __init__(self, model: Any, data: Observations, lam: float, each: Each = map) -> None:
        self.model, self.data, self.lam = model, data, lam
        self.each = each
        self.began = time.perf_counter()
        self.free_bias = bool(model.fit_intercept)
        self.n_features, self.columns, self.weights = data.X.shape[1], data.columns, data.weights
        self.checker: SquaredChecker | None = None

    @cached_property
    def moments(self) -> Moments:
        """Read once, and refused if not finite."""
        data = self.data
        with np.errstate(over="ignore", invalid="ignore"):
            if self.products is None:
                found = gather_moments(data.X, data.targets, data.weights, self.each)
            else:
                found = moments_of(self.products)
        refuse_overflow(self.model, data.X, np.append(found.scatter, found.target_scatter))
        return found

    @cached_property
    def products(self) -> Stream | None:
        """Return the products of the checker, if there are many more dense rows than columns.

        The moments are the same sums, and a model is proved from them without another pass.
        """
        return products_of(self.data, self.each, LARGEST_GRAM)

    @cached_property
    def rows(self) -> Source:
        """Return the data as a source of row blocks."""
        return Arrays(self.data.X, self.data.targets, self.data.weights)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Return where the iterations run: as the data are, or standardized."""
        data = self.data
        if not self.model.standardize:
            return plain_coordinates(data.X.shape[1], self.free_bias)
        mean, _ = weighted_mean(data.X, data.targets, data.weights)
        deviation = column_deviation(data.X, mean, data.weights, self.free_bias)
        return standardizing(mean, deviation, self.free_bias)

    @property
    def size(self) -> float:
        """Return m, the number of rows, or the sum of their weights."""
        return self.data.total_weight()

    @cached_property
    def start(self) -> FloatArray:
        """Return where the iterations begin, in their coordinates: one column for each target."""
        d, targets = self.data.X.shape[1], self.data.targets.shape[1]
        if self.model.start is None:
            return np.zeros((self.coordinates.size, targets))
        theta, theta0 = read_start(self.model.start, d, targets, "targets")
        if not self.free_bias and theta0.any():
            raise ParameterError(
                "start", "start has a bias, and fit_intercept=False leaves no room for one."
            )
        return self.coordinates.point(theta, theta0)

    @property
    def penalty_scale(self) -> FloatArray | None:
        """Return σⱼ: with standardized columns the penalty is on their coefficients."""
        return self.coordinates.scale if self.model.standardize and self.lam > 0 else None

    @property
    def penalty(self) -> FloatArray:
        """Compute λσⱼ²"""
        scale = self.penalty_scale
        return self.lam * (np.ones(self.n_features) if scale is None else scale**2)

    def bias(self, theta: FloatArray, mean: FloatArray, target_mean: FloatArray) -> FloatArray:
        """Return the best θ₀ for θ."""
        return target_mean - theta @ mean if self.free_bias else np.zeros(len(theta))

    def points(
        self, theta: FloatArray, theta0: FloatArray, descent: DescentBound | None = None
    ) -> list[SquaredLossPoint]:
        """Return what the checker is shown, one for each target."""
        return [
            SquaredLossPoint(
                coef=theta[c].copy(),
                intercept=float(theta0[c]),
                lam=self.lam,
                free_bias=self.free_bias,
                column=column,
                weights=self.weights,
                penalty_scale=self.penalty_scale,
                descent=descent,
            )
            for c, column in enumerate(self.columns)
        ]

    def certificates(
        self, points: list[SquaredLossPoint], singular: bool = False
    ) -> list[Certificate]:
        """Return what the checker says; what it knows of the curvature is kept for the next
        time."""
        if self.products is not None and points[0].descent is None:
            found = self.products.proved(points, collinear=singular)
            target_gap = (SHARP_IF_SINGULAR if singular else SHARP) * self.model.tol
            if all(one.relative_gap <= target_gap for one in found):
                return found
        if self.checker is None:
            self.checker = SquaredChecker(self.data.X, self.data.y, points, self.each)
            if (known := self.products) is not None:
                self.checker.take(known.sketches, known.shift, known.gram, known.roundings)
        return self.checker.certificates(points)

    def certificates_at(self, theta: FloatArray, theta0: FloatArray) -> list[Certificate]:
        """Return what the checker says of a model, one certificate for each target."""
        return self.certificates(self.points(theta, theta0))


def follow(
    task: Task,
    iterates: Iterator[QuadraticIterate],
    start: tuple[float, float],
    explain: Callable[[], str],
) -> Outcome:
    """Go along the iterates until there is a reason to stop; `start` is J and ‖∇J‖ before."""
    model = task.model
    most = int(model.max_iter or (MOST_ITERATIONS if model.stop is None else MOST_WITH_A_RULE))
    with Monitor(model, total=most) as monitor:
        trail = Trail(task, start, explain, monitor.show)
        pursuit: Pursuit[Any] = Pursuit(None, most, model.max_time, monitor, began=task.began)
        ended = pursuit.follow(map(Iterate, iterates), ends=trail.see, report=trail.report)
    model_found = (trail.theta, trail.theta0)
    return Outcome(*model_found, reason=ended.reason, iterations=trail.iterations, trail=trail)


def checked_step(step: Callable[[int], Any]) -> Callable[[int], float]:
    """Return a user's function of the iteration, its answers checked."""

    def checked(k: int) -> float:
        eta = float(step(k))
        if not (np.isfinite(eta) and eta >= 0):
            raise ParameterError(
                "step", f"step(k) must return a finite number ≥ 0; at k={k} it gave {eta!r}."
            )
        return eta

    return checked
