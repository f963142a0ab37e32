"""Linear classifiers that train each class against the rest: their problems and their gaps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight

from cotas.arrays import AnyArray, BoolArray, FloatArray, Matrix
from cotas.certificates import Certificate, DualPoint, SeparationWitness, no_certificate
from cotas.design import as_design
from cotas.design.blocks import times
from cotas.foreign.fit import ForeignFit, dense
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.refusals import ParameterError
from cotas.solvers.bias import best_bias, best_smooth_bias
from cotas.solvers.dual_coordinate_ascent import dual_coordinate_ascent
from cotas.solvers.interior_point import interior_point
from cotas.solvers.losses import SMOOTH
from cotas.solvers.newton import NewtonPoint
from cotas.solvers.proximal_newton import newton_points
from cotas.solvers.risks import LogisticRisk, RowRisk, ScoreLoss
from cotas.solvers.semismooth_newton import LARGEST_SYSTEM
from cotas.words import say

# A dual point is good enough when its gap is this part of the objective.
CLOSE = 1e-10


def classes_against_the_rest(model: Any) -> list[tuple[Any, FloatArray, float]]:
    """Return the label that counts as +1, θ and θ₀ of each of the model's problems."""
    coefs, intercepts = parameters(model)
    labels = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    return [
        (label, theta, float(theta0))
        for label, theta, theta0 in zip(labels, coefs, intercepts, strict=True)
    ]


def parameters(model: Any) -> tuple[FloatArray, FloatArray]:
    """Return θ and θ₀ in double precision, one row and one number for each problem of the
    model."""
    coefs = dense(model.coef_)
    intercepts = np.array(np.broadcast_to(np.ravel(model.intercept_), len(coefs)), dtype=np.float64)
    if not (np.isfinite(coefs).all() and np.isfinite(intercepts).all()):
        raise ParameterError(
            "model", "coef_ or intercept_ of the model holds NaN or infinity: its fit failed."
        )
    return coefs, intercepts


def measure(
    fit: ForeignFit,
    state: Callable[[FloatArray], RegularizedRisk],
    weights: Callable[[Any], FloatArray],
    free_bias: bool,
) -> list[Certificate]:
    """Return one certificate for each class, with a dual point of our own.

    `weights` are those of the examples when the given class is trained, and `state` writes down
    the problem for them. With `free_bias` that problem is measured with a free bias instead, and
    the certificate also tells the objective of θ with the best bias for it.
    """
    certificates, X, y = [], fit.X, fit.y
    for label, theta, theta0 in classes_against_the_rest(fit.model):
        given = weights(label)
        problem = state(given)
        if free_bias:
            problem = replace(problem, free_bias=True, bias_scale=0.0)
        share = multipliers(problem, X, y == label, given, fit.max_time, (theta, theta0))
        point = DualPoint(problem, theta, theta0, label, share, weights=given)
        if free_bias:
            certificates.append(_telling_of_the_best_bias(point, X, y))
        else:
            certificates.append(point.check(X, y))
    return certificates


def separation_or(fit: ForeignFit, reason: str) -> list[Certificate]:
    """Certify that each class is separated from the rest; where it is not, nothing is proved."""
    witnesses = [
        SeparationWitness(theta, theta0, label, float(fit.model.fit_intercept))
        for label, theta, theta0 in classes_against_the_rest(fit.model)
    ]
    found = [witness.check(fit.X, fit.y) for witness in witnesses]
    return [certificate if certificate.holds else no_certificate(reason) for certificate in found]


def class_weighted(fit: ForeignFit, *, balanced_by_weight: bool) -> Callable[[Any], FloatArray]:
    """Return the weights of the examples when a given class is trained against the rest.

    Two classes have each its weight. With more of them the one that is trained has its weight,
    and all the others have one. "balanced" counts examples, or in some models their weights.
    """
    model, y, weights = fit.model, fit.y, fit.weights
    if model.class_weight is None:
        return lambda label: weights
    of_class = compute_class_weight(
        model.class_weight,
        classes=model.classes_,
        y=y,
        sample_weight=weights if balanced_by_weight else None,
    )
    factors = np.asarray(of_class, dtype=np.float64)[np.searchsorted(model.classes_, y)]
    if len(model.classes_) == 2:
        return lambda label: weights * factors
    return lambda label: weights * np.where(y == label, factors, 1.0)


def shares(alpha: FloatArray, weights: FloatArray) -> FloatArray:
    """Compute αᵢ/sᵢ, zero where there is no weight."""
    share = np.divide(alpha, weights, out=np.zeros_like(alpha), where=weights > 0)
    return np.asarray(share * weights.sum())


def multipliers(
    problem: RegularizedRisk,
    X: Matrix,
    positive: BoolArray,
    weights: FloatArray,
    max_time: float,
    start: tuple[FloatArray, float] | None = None,
) -> FloatArray:
    """Find good αᵢ/sᵢ for the problem, by a solver of ours in bounded time; any give a valid
    bound."""
    signs, s = np.where(positive, 1.0, -1.0), weights / weights.sum()
    if problem.bias_scale:
        # A penalized bias is the weight of one more column, of the value `bias_scale`.
        scale, problem = problem.bias_scale, replace(problem, bias_scale=0.0)
        column = np.full((X.shape[0], 1), scale)
        X = sparse.hstack([X, column], "csr") if sparse.issparse(X) else np.hstack([X, column])
        start = start and (np.append(start[0], start[1] / scale), 0.0)
    if isinstance(problem.loss, Hinge):
        return shares(_hinge_dual(problem, X, signs, s, max_time), s)
    name = problem.loss.name
    risk = LogisticRisk(signs, s) if name == "logistic" else RowRisk(signs, s, SMOOTH[name])
    best = optimum(X, risk, problem, max_time, start)
    return shares(-signs * best.slopes[:, 0], s)


def optimum(
    X: Matrix,
    loss: ScoreLoss,
    problem: Any,
    max_time: float,
    start: tuple[FloatArray, Any] | None = None,
) -> NewtonPoint:
    """Return the best point that Newton's method finds, from zero or from a better start."""
    began, best = time.perf_counter(), next(newton_points(X, loss, problem))
    if start is not None:
        own = (start[0], np.asarray(start[1]) * problem.free_bias)
        better = next(newton_points(X, loss, problem, own)).objective < best.objective
        start = own if better else None
    for step, point in enumerate(newton_points(X, loss, problem, start)):
        best = point if point.gap < best.gap else best
        late = time.perf_counter() - began > max_time
        if best.gap <= CLOSE * best.objective or late or step == 200:
            break
    return best


def _hinge_dual(
    problem: RegularizedRisk, X: Matrix, signs: FloatArray, s: FloatArray, max_time: float
) -> FloatArray:
    bias, began = float(problem.free_bias), time.perf_counter()
    if X.shape[1] <= LARGEST_SYSTEM and (s > 0).all():
        for iterate in interior_point(X, signs, s, problem.lam, bias):
            close = iterate.primal - iterate.dual <= 1e-7 * iterate.primal
            if close or time.perf_counter() - began > max_time:
                break
        return np.asarray(iterate.alpha)
    value = -np.inf
    for found, _ in dual_coordinate_ascent(as_design(X), signs, s, problem.lam, bias):
        alpha = np.asarray(found.alpha)
        cost = problem.dual_cost(np.asarray(X.T @ (alpha * signs)))
        before, value = value, alpha.sum() - cost
        settled = abs(value - before) <= 1e-7 * abs(value)
        if settled or time.perf_counter() - began > max_time:
            break
    return alpha


def _telling_of_the_best_bias(point: DualPoint, X: Matrix, y: AnyArray) -> Certificate:
    """Return the certificate of the model, which also tells of θ with the best bias for it."""
    other = with_best_bias(point, X, y)
    own, best = DualPoint.check_all([point, other], X, y)
    return own.noted(
        "It measures the model by the problem with a free bias, which is not the one it states.",
        say(
            "With the best bias for this θ, {bias:.6g}, it has {upper:.6g}.",
            bias=other.intercept,
            upper=best.upper,
        ),
    )


def with_best_bias(point: DualPoint, X: Matrix, y: AnyArray) -> DualPoint:
    """Return the same θ with the bias that makes the objective smallest."""
    scores, positive = times(X, point.coef), np.asarray(y == point.positive)
    weights = cast(FloatArray, point.weights)
    if isinstance(point.problem.loss, Hinge):
        theta0 = best_bias(scores, positive, weights)
    else:
        theta0 = best_smooth_bias(scores, positive, weights, point.problem.loss)
    return replace(point, intercept=theta0)
