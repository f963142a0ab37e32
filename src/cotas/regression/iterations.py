"""Fits by iteration over all the data: gradient descent and conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cotas import schedules
from cotas.certificates import Descent
from cotas.fitting.pursuit import Pursuit
from cotas.progress import Monitor
from cotas.regression.task import Outcome, Task
from cotas.regression.trail import Trail
from cotas.solvers.conjugate_gradients import conjugate_gradients
from cotas.solvers.gradient_descent import gradient_descent
from cotas.solvers.iterate import Iterate
from cotas.solvers.quadratic import MomentQuadratic, Quadratic, QuadraticIterate, RowQuadratic

# Without another limit; a rule of the user decides earlier, unless it never does.
MOST_ITERATIONS, MOST_WITH_A_RULE = 1000, 1_000_000
# A matrix of so many columns squared still fits, and takes about as long to factor as to fill.
LARGEST_GRAM = 2000


def by_gradient(task: Task) -> Outcome:
    """Batch gradient descent; with a constant step its rate is certified too."""
    objective = quadratic_of(task)
    largest = _curvature(objective)
    step = _constant_step(task, largest)

    def explain() -> str:
        return (
            f"Gradient descent converges with steps below 2/L = {2 / largest:.6g}, L being the "
            'largest curvature; step="auto" takes 1/L. Standardized columns (standardize=True) '
            "allow longer steps."
        )

    source = gradient_descent(objective, _rate(task, step), task.start)
    outcome = follow(task, source, _at_start(task, objective), explain)
    if step is not None and task.model.start is None:
        at, moved = task.coordinates, bool(task.model.standardize)
        outcome.descent = Descent(
            step, outcome.iterations, at.centre if moved else None, at.scale if moved else None
        )
    return outcome


def by_conjugate_gradients(task: Task) -> Outcome:
    """Conjugate gradients."""
    objective = quadratic_of(task)
    source = conjugate_gradients(objective, task.start)
    return follow(task, source, _at_start(task, objective), str)


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


def _at_start(task: Task, objective: Quadratic) -> tuple[float, float]:
    value, gradient = objective.look(task.start)
    return value, float(np.linalg.norm(gradient))


def checked_step(step: Callable[[int], Any]) -> Callable[[int], float]:
    """A user's function of the iteration, its answers checked."""

    def checked(k: int) -> float:
        eta = float(step(k))
        if not (np.isfinite(eta) and eta >= 0):
            raise ValueError(f"step(k) must return a finite number ≥ 0; at k={k} it gave {eta!r}.")
        return eta

    return checked


def rate_of(task: Task, objective: Quadratic) -> Callable[[int], float]:
    """η of each iteration of gradient descent, counted from one."""
    return _rate(task, _constant_step(task, _curvature(objective)))


def _rate(task: Task, constant: float | None) -> Callable[[int], float]:
    return checked_step(task.model.step) if constant is None else schedules.Constant(constant)


def _curvature(objective: Quadratic) -> float:
    return max(objective.largest_curvature(), 1e-300)


def quadratic_of(task: Task) -> Quadratic:
    """The objective, as matrices of its moments where they are not too large."""
    data = task.data
    if data.X.shape[1] <= LARGEST_GRAM:
        return MomentQuadratic(task.moments, task.lam, task.coordinates)
    return RowQuadratic(
        data.X, data.targets, data.uneven_shares(), task.lam, task.coordinates, task.each
    )


def _constant_step(task: Task, largest: float) -> float | None:
    """The step, if it is the same in every iteration."""
    step = task.model.step
    if isinstance(step, str):
        return 1.0 / largest
    if isinstance(step, schedules.Constant):
        return float(step.eta)
    return None if callable(step) else float(step)
