"""Fits in closed form: the normal equations, those of the dual, or the data triangularized."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray
from cotas.design.blocks import times
from cotas.regression.task import Outcome, Task
from cotas.solvers.dual_equations import dual_equations
from cotas.solvers.moments import EPS, weighted_mean
from cotas.solvers.normal_equations import Factor, PseudoFactor, factorize, pseudo_factorize
from cotas.solvers.orthogonal import orthogonal
from cotas.solvers.refined_equations import refine, refined_equations, worth_it

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

# Where squaring the data costs more digits than this, the residuals are looked at once more.
WORTH_REFINING = 1e3


def by_normal_equations(task: Task) -> Outcome:
    """From the moments of the data, unless rounding would show in the answer."""
    if worth_it(task.data.X) and (refined := _refined(task)) is not None:
        return refined
    moments = task.moments
    factor = factorize(moments, task.penalty, task.free_bias)
    if factor is None:
        return _without_full_rank(task)
    if factor.condition > WORTH_REFINING:
        return _looked_at_again(task, factor)[0]
    theta = factor.solve(moments.slope(task.free_bias)).T.copy()
    theta0 = task.bias(theta, moments.mean, moments.target_mean)
    return Outcome(theta, theta0, condition=factor.condition)


def _looked_at_again(task: Task, factor: Factor | PseudoFactor) -> tuple[Outcome, bool]:
    """From the moments, refined by the residuals; and whether they agree."""
    data = task.data
    problem = (data.weights, task.penalty, task.free_bias, task.each, task.threads)
    found, accurate = refine(factor, task.moments, data.X, data.targets, *problem)
    return Outcome(found.theta, found.theta0, condition=found.condition), accurate


def _without_full_rank(task: Task) -> Outcome:
    """From the moments too, where columns are clearly collinear; else from the triangle."""
    moments = task.moments
    factor = pseudo_factorize(moments, task.penalty, task.free_bias)
    if factor.clear and _is_constant_along(task, factor.null):
        outcome, accurate = _looked_at_again(task, factor)
        if accurate:
            outcome.singular = task.lam == 0
            outcome.remarks = (SINGULAR,) if outcome.singular else ()
            return outcome
    outcome = by_triangle(task, (moments.mean, moments.target_mean))
    outcome.remarks = (ILL_CONDITIONED, *outcome.remarks)
    return outcome


def _is_constant_along(task: Task, directions: FloatArray) -> bool:
    """Whether the columns are collinear for rounding not squared, as the triangle would see it."""
    data, moments = task.data, task.moments
    z = times(data.X, directions)
    if task.free_bias:
        z -= moments.mean @ directions
    if data.weights is not None:
        z = z[data.weights > 0]
    return bool(np.abs(z).max(initial=0.0) <= max(data.X.shape) * EPS)


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


def by_dual_equations(task: Task) -> Outcome:
    """With an unknown for each row, unless rounding would show in the answer."""
    data, centre = task.data, None
    if task.free_bias:
        centre = weighted_mean(data.X, data.targets, data.weights)
    with np.errstate(over="ignore", invalid="ignore"):
        found = dual_equations(data.X, data.targets, data.uneven_shares(), centre, task.penalty)
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
    """From the triangle of the data; `centre` holds the means where they are known already."""
    data = task.data
    if not task.free_bias:
        centre = None
    elif centre is None:
        centre = weighted_mean(data.X, data.targets, data.weights)
    found = orthogonal(data.X, data.targets, data.uneven_shares(), centre, task.penalty)
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
