"""Solvers of least squares, as asked or by the shape of the data: closed forms and iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cotas import schedules
from cotas.arrays import FloatArray
from cotas.certificates import DescentBound
from cotas.design.blocks import row_block
from cotas.regression.base import refuse_overflow
from cotas.regression.stochastic import by_stochastic_steps
from cotas.regression.task import LARGEST_GRAM, Outcome, Task, checked_step, follow
from cotas.solvers.conjugate_gradients import conjugate_gradients
from cotas.solvers.dual_equations import dual_equations
from cotas.solvers.gradient_descent import gradient_descent
from cotas.solvers.moments import EPS, Lowest, weighted_mean
from cotas.solvers.normal_equations import Factor, PseudoFactor, factorize, pseudo_factorize
from cotas.solvers.orthogonal import orthogonal
from cotas.solvers.quadratic import MomentQuadratic, Quadratic, RowQuadratic
from cotas.solvers.refined_equations import refine, refined_equations, worth_it
from cotas.source import Block
from cotas.words import say


def by_gradient(task: Task) -> Outcome:
    """Run batch gradient descent; with a constant step its rate is certified too."""
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
        outcome.descent = DescentBound(
            step, outcome.iterations, at.centre if moved else None, at.scale if moved else None
        )
    return outcome


def by_conjugate_gradients(task: Task) -> Outcome:
    """Run conjugate gradients."""
    objective = quadratic_of(task)
    source = conjugate_gradients(objective, task.start)
    return follow(task, source, _at_start(task, objective), str)


def _at_start(task: Task, objective: Quadratic) -> tuple[float, float]:
    value, gradient = objective.value_and_gradient(task.start)
    return value, float(np.linalg.norm(gradient))


def rate_of(task: Task, objective: Quadratic) -> Callable[[int], float]:
    """Compute η of each iteration of gradient descent, counted from one."""
    return _rate(task, _constant_step(task, _curvature(objective)))


def _rate(task: Task, constant: float | None) -> Callable[[int], float]:
    return checked_step(task.model.step) if constant is None else schedules.Constant(constant)


def _curvature(objective: Quadratic) -> float:
    return max(objective.largest_curvature(), 1e-300)


def quadratic_of(task: Task) -> Quadratic:
    """Return the objective, as matrices of its moments where they are not too large."""
    data = task.data
    if data.X.shape[1] <= LARGEST_GRAM:
        return MomentQuadratic(task.moments, task.lam, task.coordinates)
    return RowQuadratic(
        data.X, data.targets, data.uneven_shares(), task.lam, task.coordinates, task.each
    )


def _constant_step(task: Task, largest: float) -> float | None:
    """Return the step, if it is the same in every iteration."""
    step = task.model.step
    if isinstance(step, str):
        return 1.0 / largest
    if isinstance(step, schedules.Constant):
        return float(step.eta)
    return None if callable(step) else float(step)


SINGULAR = (
    "The matrix A of the normal equations is singular: infinitely many θ minimize the squared "
    "error, and this is the one of smallest norm. Ridge, whose λ > 0 makes A regular, is the "
    "remedy of Fuentes Cabrera, section 4.2."
)
REFINED = "The normal equations were added up in single precision, and refined in double."
ILL_CONDITIONED = (
    "The normal equations are too ill-conditioned for the digits of double precision; solved by "
    "orthogonal triangularization instead."
)

# Where squaring the data costs more digits than these three, the residuals are looked at again.
WORTH_REFINING = 1e3
# That two numbers at random are both a thousandth of what they should be happens once in a million.
COMBINATIONS = 2


def by_normal_equations(task: Task) -> Outcome:
    """Solve from the moments of the data, unless rounding would show in the answer."""
    refined = None if task.in_blocks or not worth_it(task.data.X) else _refined(task)
    if refined is not None:
        return refined
    moments = task.moments
    factor = factorize(moments, task.penalty, task.free_bias)
    if factor is None:
        return _without_full_rank(task)
    return _solved(task, factor)[0]


def _solved(task: Task, factor: Factor | PseudoFactor) -> tuple[Outcome, bool]:
    """Solve from the moments, refined by the residuals where that shows; and whether they agree."""
    moments = task.moments
    if factor.condition <= WORTH_REFINING:
        theta = factor.solve(moments.slope(task.free_bias)).T.copy()
        theta0 = task.bias(theta, moments.mean, moments.target_mean)
        return Outcome(theta, theta0, condition=factor.condition), True
    given = (task.rows, task.penalty, task.free_bias, task.each)
    found, accurate = refine(factor, moments, *given)
    return Outcome(found.theta, found.theta0, condition=found.condition), accurate


def _without_full_rank(task: Task) -> Outcome:
    """Solve from the moments too, where columns are clearly collinear; else from the triangle."""
    moments = task.moments
    factor = pseudo_factorize(moments, task.penalty, task.free_bias)
    if factor.clear and _is_constant_along(task, factor.null):
        outcome, accurate = _solved(task, factor)
        if accurate:
            outcome.singular = task.lam == 0 and bool(factor.null.size)
            outcome.remarks = (SINGULAR,) if outcome.singular else ()
            return outcome
    outcome = by_triangle(task, (moments.mean, moments.target_mean))
    outcome.remarks = (ILL_CONDITIONED, *outcome.remarks)
    return outcome


def _is_constant_along(task: Task, directions: FloatArray) -> bool:
    """Tell whether the columns are collinear for rounding not squared, as the triangle would see
    it.

    A few combinations of the directions, at random, show what any of them would.
    """
    if directions.shape[1] > COMBINATIONS:
        turns = np.random.default_rng(0).standard_normal((directions.shape[1], COMBINATIONS))
        directions = directions @ turns
    middle = task.moments.mean @ directions * task.free_bias
    farthest = -task.rows.map_reduce(Farthest(directions, middle), task.each)
    return bool(farthest <= max(task.rows.n_rows, task.rows.n_features) * EPS)


@dataclass(frozen=True)
class Farthest:
    """The extent, negated: how far the rows of a block that count lie from the middle, along some
    directions."""

    directions: FloatArray
    middle: FloatArray

    def __call__(self, block: Block) -> Lowest:
        farthest = 0.0
        for span in block.spans():
            rows = row_block(block.X, span)
            for direction, middle in zip(self.directions.T, self.middle, strict=True):
                z = np.abs(rows @ np.ascontiguousarray(direction) - middle)
                z = z if block.weights is None else z[block.weights[span] > 0]
                farthest = max(farthest, float(z.max(initial=0.0)))
        return Lowest(-farthest)


def _refined(task: Task) -> Outcome | None:
    """Solve in single precision and then refined, which is faster where there are many columns."""
    data = task.data
    with np.errstate(over="ignore", invalid="ignore"):
        found = refined_equations(
            data.X,
            data.targets,
            data.weights,
            task.penalty,
            task.free_bias,
            task.each,
        )
    if found is None or not np.isfinite(found.theta).all():
        return None
    return Outcome(found.theta, found.theta0, remarks=(REFINED,), condition=found.condition)


def by_dual_equations(task: Task) -> Outcome:
    """Solve with an unknown for each row, unless rounding would show in the answer."""
    data, centre = task.data, None
    if task.free_bias:
        centre = weighted_mean(data.X, data.targets, data.weights)
    with np.errstate(over="ignore", invalid="ignore"):
        given = (data.X, data.targets, data.uneven_shares(), centre, task.penalty, task.each)
        found = dual_equations(*given)
    if found is None or not np.isfinite(found.theta).all():
        outcome = by_triangle(task, centre)
        outcome.remarks = (ILL_CONDITIONED, *outcome.remarks)
        return outcome
    theta0 = np.zeros(len(found.theta)) if centre is None else task.bias(found.theta, *centre)
    return Outcome(
        found.theta,
        theta0,
        remarks=() if task.lam else (SINGULAR,),
        condition=found.condition,
        singular=not task.lam,
    )


def by_triangle(task: Task, centre: tuple[FloatArray, FloatArray] | None = None) -> Outcome:
    """Solve from the triangle of the data; `centre` holds the means where they are known
    already."""
    if not task.free_bias:
        centre = None
    elif centre is None:
        data = task.data
        centre = weighted_mean(data.X, data.targets, data.weights)
    found = orthogonal(task.rows, centre, task.penalty, task.size, task.each)
    theta0 = np.zeros(len(found.theta)) if centre is None else task.bias(found.theta, *centre)
    singular = task.lam == 0 and found.rank < task.n_features
    values = found.singular_values
    return Outcome(
        found.theta,
        theta0,
        remarks=(SINGULAR,) if singular else (),
        condition=float((values[0] / values[-1]) ** 2) if len(values) else 1.0,
        singular=singular,
    )


SOLVERS = {
    "normal-equations": by_normal_equations,
    "dual": by_dual_equations,
    "qr": by_triangle,
    "gradient": by_gradient,
    "stochastic": by_stochastic_steps,
    "conjugate-gradients": by_conjugate_gradients,
}
# So many rows squared still fit, and take about as long to factor as to fill.
MOST_ROWS = 4000


def choose(task: Task) -> tuple[str, str]:
    """Return the name of the solver, and why it was chosen."""
    if task.model.solver != "auto":
        return task.model.solver, say("Solved by {solver}, as asked.", solver=task.model.solver)
    n, d = task.data.X.shape
    if n < d and n <= MOST_ROWS and not sparse.issparse(task.data.X):
        return "dual", "Solved with an unknown for each row: there are more columns than rows."
    if d <= LARGEST_GRAM:
        return "normal-equations", "Solved by the normal equations: there are few columns."
    return "conjugate-gradients", "Solved by conjugate gradients: there are many columns."


def solve(task: Task, solver: str) -> Outcome:
    """Solve by the solver of this name."""
    X = task.data.X
    # The others see it in what they compute; a sparse X has been looked at already.
    if solver in ("dual", "qr", "conjugate-gradients") and not sparse.issparse(X):
        with np.errstate(over="ignore", invalid="ignore"):
            refuse_overflow(task.model, X, X.sum(axis=1, dtype=np.float64))
    found: Outcome = SOLVERS[solver](task)
    return found
