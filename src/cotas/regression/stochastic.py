"""Fits by stochastic gradient steps, one example or one mini-batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cotas import schedules
from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, as_design, standardized
from cotas.design.blocks import times
from cotas.regression.base import refuse_overflow
from cotas.regression.task import DivergedError, Outcome, Task, checked_step, follow
from cotas.solvers.dual_coordinate_ascent import squared_lengths
from cotas.solvers.quadratic import QuadraticIterate
from cotas.solvers.stochastic_gradient import (
    RunState,
    Sampling,
    StochasticDescent,
    new_descent,
)
from cotas.stops import Reason, Stop
from cotas.words import say


def by_stochastic_steps(task: Task) -> Outcome:
    """Run epochs of stochastic steps, until there is a reason to stop."""
    targets = task.data.targets
    run, state, largest = begin(task)

    def explain() -> str:
        return (
            f"No example alone makes it diverge with steps below 2/L = {2 / largest:.6g}, L being "
            'the largest curvature of one example; step="auto" starts at 1/L.'
        )

    theta, theta0 = task.coordinates.model(task.start)
    left = targets - (times(task.data.X, theta.T) + theta0)
    at_start = 0.5 * float(np.sum(np.average(left**2, axis=0, weights=task.data.weights)))
    return follow(task, _epochs(task, run, state), (at_start, 0.0), explain)


def begin(task: Task) -> tuple[StochasticDescent, RunState, float]:
    """Make the algorithm, its state before the first step, and the largest curvature of an
    example."""
    rows, model = _rows(task), task.model
    largest = _largest_of_one(task, rows)
    run = StochasticDescent(
        rows,
        task.data.targets,
        _row_weights(task),
        task.lam,
        float(task.free_bias),
        _steps(task, largest),
        Sampling(int(model.batch_size), bool(model.replacement), bool(model.shuffle)),
    )
    state = new_descent(task.data.targets.shape[1], task.data.X.shape[1])
    state.w[:] = task.start[task.free_bias :].T
    if task.free_bias:
        state.b[:] = task.start[0]
    return run, state, largest


def _epochs(task: Task, run: StochasticDescent, state: RunState) -> Iterator[QuadraticIterate]:
    """Yield the epochs with what they say of J and its gradient; the data are not read again for
    it."""
    z, random = task.start, check_random_state(task.model.random_state)
    for number, epoch in enumerate(run.epochs(random, state), start=1):
        before, z = z, stacked(state, task.free_bias)
        v = z[task.free_bias :]
        objective = epoch.loss + 0.5 * task.lam * float(np.sum(v * v))
        move = float(np.linalg.norm(z - before))
        slope = move / epoch.length if epoch.length > 0 else 0.0
        yield QuadraticIterate(number, z, objective, slope, move)


def one_pass(task: Task, before: tuple[RunState, int] | None) -> Outcome:
    """Return one pass of stochastic steps, from where an earlier one ended."""
    run, state, _ = begin(task)
    state, done = before or (state, 0)
    done = next(run.epochs(check_random_state(task.model.random_state), state, done)).done
    theta, theta0 = state.model()
    if not (np.isfinite(theta).all() and np.isfinite(theta0).all()):
        raise DivergedError("The coefficients overflowed: the step is too large.")
    return Outcome(
        theta, theta0, reason=Reason(Stop.ITERATIONS, say("one pass was made")), state=(state, done)
    )


def _rows(task: Task) -> Any:
    """Return the rows in the coordinates of the run."""
    rows: Any = as_design(task.data.X)
    at = task.coordinates
    return standardized(rows, at.centre, at.stretch) if task.model.standardize else rows


def _row_weights(task: Task) -> FloatArray | None:
    """Compute n·sᵢ, so that a draw of one example is right on average."""
    shares = task.data.uneven_shares()
    return None if shares is None else shares * np.count_nonzero(shares)


def _largest_of_one(task: Task, rows: Design) -> float:
    """Return the largest curvature of the loss on one example."""
    weights = _row_weights(task)
    curvatures = squared_lengths(rows) + task.free_bias
    refuse_overflow(task.model, task.data.X, curvatures)
    if weights is not None:
        curvatures = curvatures * weights
    return max(float(curvatures.max()) + task.lam, 1e-300)


def _steps(task: Task, largest: float) -> Callable[[IntArray], FloatArray]:
    """Compute η for an array of times, counted from one."""
    step = task.model.step
    if isinstance(step, str):
        a_pass = max(1.0, task.data.n_rows / task.model.batch_size)
        step = schedules.PowerLaw(1.0 / largest, 0.75, delay=a_pass)
    if isinstance(step, (schedules.PowerLaw, schedules.Constant)):
        return lambda k: np.asarray(step(k), dtype=np.float64)
    if callable(step):
        one = checked_step(step)
        return lambda k: np.array([one(int(t)) for t in k], dtype=np.float64)
    return lambda k: np.full(len(k), float(step))


def stacked(state: RunState, free_bias: bool) -> FloatArray:
    """Compute z of a run, from w and b."""
    v, b = state.model()
    return np.vstack([b[None, :], v.T]) if free_bias else v.T.copy()
