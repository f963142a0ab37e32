"""Fits in closed form: the normal equations, or the data triangularized."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray
from cotas.regression.task import Outcome, Task
from cotas.solvers.moments import weighted_mean
from cotas.solvers.normal_equations import normal_equations
from cotas.solvers.orthogonal import orthogonal
from cotas.solvers.refined_equations import refined_equations, worth_it

SINGULAR = (
    "The matrix A of the normal equations is singular: infinitely many θ minimize the squared "
    "error, and this is the one of smallest norm. Ridge, whose λ > 0 makes A regular, is the "
    "remedy of document 000, section 4.2."
)
REFINED = "The normal equations were added up in single precision, and refined in double."
ILL_CONDITIONED = (
    "The normal equations are too ill-conditioned for the digits of double precision; solved by "
    "orthogonal triangularization instead."
)


def by_normal_equations(task: Task) -> Outcome:
    """From the moments of the data, unless rounding would show in the answer."""
    if worth_it(task.data.X) and (refined := _refined(task)) is not None:
        return refined
    moments = task.moments
    found = normal_equations(moments, task.penalty, task.free_bias)
    if found is None:
        outcome = by_triangle(task, (moments.mean, moments.target_mean))
        outcome.remarks = (ILL_CONDITIONED, *outcome.remarks)
        return outcome
    theta0 = task.bias(found.theta, moments.mean, moments.target_mean)
    return Outcome(found.theta, theta0, condition=found.condition)


def _refined(task: Task) -> Outcome | None:
    """In single precision and then refined, which is faster where there are many columns."""
    data = task.data
    with np.errstate(over="ignore", invalid="ignore"):
        found = refined_equations(
            data.X,
            data.targets,
            data.weights,
            task.penalty,
            task.free_bias,
            task.each,
            task.threads,
        )
    if found is None or not np.isfinite(found.theta).all():
        return None
    return Outcome(found.theta, found.theta0, remarks=(REFINED,), condition=found.condition)


def by_triangle(task: Task, centre: tuple[FloatArray, FloatArray] | None = None) -> Outcome:
    """From the triangle of the data; `centre` holds the means where they are known already."""
    data = task.data
    if not task.free_bias:
        centre = None
    elif centre is None:
        centre = weighted_mean(data.X, data.targets, data.weights)
    found = orthogonal(data.X, data.targets, data.shares, centre, task.penalty)
    theta0 = np.zeros(len(found.theta)) if centre is None else task.bias(found.theta, *centre)
    singular = task.lam == 0 and found.rank < data.X.shape[1]
    values = found.singular_values
    return Outcome(
        found.theta,
        theta0,
        remarks=(SINGULAR,) if singular else (),
        condition=float((values[0] / values[-1]) ** 2) if len(values) else 1.0,
        singular=singular,
    )
