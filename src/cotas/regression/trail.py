"""What an iterative solver leaves behind: its history, and whether it runs away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.fitting.pursuit import Floor
from cotas.solvers.iterate import Iterate
from cotas.solvers.quadratic import QuadraticIterate
from cotas.stops import Gap, Progress, Reason, Rule, Stop
from cotas.words import say

if TYPE_CHECKING:
    from cotas.regression.task import Task

# At most so many entries of the history, and so many numbers in it.
LONGEST_HISTORY, LARGEST_HISTORY = 1000, 1_000_000
# An objective so many times the first one will not come back.
RUNAWAY = 1e8
# A gradient so small in comparison with the first is what rounding leaves of zero.
VANISHED = 1e-14


class DivergedError(ValueError):
    """The steps were too long: the objective grew without bound."""


class ObjectiveHistory:
    """J, θ, θ₀ and ‖∇J‖ of the iterations, thinned when it grows long."""

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
        """Each column of the history as an array."""
        names = ("iteration", "J", "theta", "intercept", "gradient_norm")
        columns = list(zip(*self.entries, strict=True)) or [()] * len(names)
        table = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
        if single and self.entries:
            table["theta"], table["intercept"] = table["theta"][:, 0], table["intercept"][:, 0]
        return table


class Trail:
    """What an iterative solver leaves behind, and when its rule, or rounding, ends it.

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
        """What callbacks are told."""
        return self.progress

    def arrays(self, single: bool) -> dict[str, FloatArray]:
        """The history, which ends with the last iterate."""
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

    def _relative_gap(self, enough: float) -> float:
        """What the checker proves of the current model.

        It reads all the data, so it is asked in every iteration at first and then each time that
        a tenth of the iterations so far have been added.
        """
        if self.iterations < self.next_check:
            return float("inf")
        self.next_check = self.iterations + max(1, self.iterations // 10)
        found = self.task.look_at(self.theta, self.theta0)
        worst = max(found, key=lambda certificate: certificate.relative_gap)
        self.at_floor = self.floor.reached(worst, None)
        return worst.relative_gap
