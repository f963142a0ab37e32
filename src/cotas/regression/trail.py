"""Following an iterative solver: its history, when it ends, and whether it runs away."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate
from cotas.fitting.floor import ROUNDING, Floor
from cotas.fitting.reporting import ProgressBar, as_callbacks, tell_all
from cotas.solvers.quadratic import Iterate
from cotas.stops import Progress, Rule

# Without another limit; a rule of the user decides earlier, unless it never does.
MOST_ITERATIONS, MOST_WITH_A_RULE = 1000, 1_000_000
# At most so many entries of the history, and so many numbers in it.
LONGEST_HISTORY, LARGEST_HISTORY = 1000, 1_000_000
# An objective so many times the first one will not come back.
RUNAWAY = 1e8
# A gradient so small in comparison with the first is what rounding leaves of zero.
VANISHED = 1e-14


class DivergedError(ValueError):
    """The steps were too long: the objective grew without bound."""


class History:
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
    """Walks along the iterates of a solver until a rule says to stop."""

    def __init__(
        self,
        model: Any,
        rule: Rule,
        to_model: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
        look_at: Callable[[FloatArray, FloatArray], list[Certificate]],
        explain_divergence: Callable[[], str],
    ) -> None:
        self.model, self.rule, self.to_model = model, rule, to_model
        self.look_at, self.explain = look_at, explain_divergence
        self.callbacks = as_callbacks(model.callbacks)
        self.reason, self.iterations = "interrupted", 0
        self.theta: FloatArray | None = None
        self.theta0 = np.zeros(0)
        self.next_check, self.floor, self.at_floor = 1, Floor(), False
        default = MOST_ITERATIONS if model.stop is None else MOST_WITH_A_RULE
        self.most = int(model.max_iter or default)

    def follow(self, iterates: Iterable[Iterate], start: tuple[float, float]) -> None:
        """Go on until there is a reason to stop; `start` is J and ‖∇J‖ before the first step."""
        first, first_slope = start
        before, began = first, time.perf_counter()
        bar = ProgressBar(self.most, type(self.model).__name__, self.model.progress)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                for iterate in iterates:
                    self._take(iterate)
                    self._refuse_runaway(iterate, first)
                    reason = self._reason(iterate, before, time.perf_counter() - began)
                    if reason is None and iterate.slope <= VANISHED * first_slope:
                        reason = "the gradient vanished up to rounding"
                    if reason is not None:
                        self.reason = reason
                        break
                    before = iterate.objective
                    bar.step()
        except KeyboardInterrupt:
            if self.theta is None:
                raise
            warnings.warn(
                "Interrupted: this is the model so far, and its certificate is about it.",
                stacklevel=5,
            )
        finally:
            bar.close()
        if self.theta is not None and self.history.entries[-1][0] != self.iterations:
            self.history.entries.append(self.last)

    def _take(self, iterate: Iterate) -> None:
        theta, theta0 = self.to_model(iterate.z)
        if self.theta is None:
            self.history = History(theta.size + theta0.size)
        self.theta, self.theta0, self.iterations = theta, theta0, iterate.number
        self.last = (iterate.number, iterate.objective, theta, theta0, iterate.slope)
        self.history.add(*self.last)

    def _refuse_runaway(self, iterate: Iterate, first: float) -> None:
        if not iterate.objective <= RUNAWAY * max(first, 1e-300):
            raise DivergedError(
                f"The objective grew from {first:.3g} to {iterate.objective:.3g} in "
                f"{iterate.number} iterations: the step is too large. {self.explain()}"
            )

    def _reason(self, iterate: Iterate, before: float, seconds: float) -> str | None:
        progress = Progress(
            iterate.number, iterate.objective, before, iterate.move, seconds, self._relative_gap
        )
        reason = self.rule.reason(progress)
        if tell_all(self.callbacks, progress):
            reason = reason or "a callback asked to stop"
        if reason is None and self.model.stop is None and self.at_floor:
            reason = ROUNDING
        if reason is None and iterate.number >= self.most:
            reason = f"max_iter={self.most} reached"
        return reason

    def _relative_gap(self, enough: float) -> float:
        """What the checker proves of the current model.

        It reads all the data, so it is asked in every iteration at first and then each time that
        a tenth of the iterations so far have been added.
        """
        if self.iterations < self.next_check or self.theta is None:
            return float("inf")
        self.next_check = self.iterations + max(1, self.iterations // 10)
        found = self.look_at(self.theta, self.theta0)
        worst = max(found, key=lambda certificate: certificate.relative_gap)
        self.at_floor = self.floor.reached(worst, None)
        return worst.relative_gap
