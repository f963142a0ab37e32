"""Fitted support vector machines of scikit-learn: the problem each one states, and its gap."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, DualPoint, SeparationWitness, no_certificate
from cotas.design import as_design
from cotas.linear.svm import LARGEST_SYSTEM
from cotas.losses import Hinge
from cotas.problem import RegularisedRisk
from cotas.solvers.dual_coordinate_ascent import dual_coordinate_ascent
from cotas.solvers.interior_point import interior_point


def linear_svc(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """½‖(w, b/c)‖² + C Σ wᵢHᵢ, c being `intercept_scaling`: divided by CΣw it is our problem."""
    if model.loss != "hinge" or model.penalty != "l2":
        return [no_certificate(f"LinearSVC(loss={model.loss!r}) does not minimise a hinge loss.")]
    scale = float(model.intercept_scaling) if model.fit_intercept else 0.0
    problem = RegularisedRisk(Hinge(), 1.0 / (model.C * weights.sum()), False, scale)
    return _against_the_rest(model, problem, X, y, weights, max_time)


def sgd_classifier(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """mean of wᵢHᵢ + (alpha/2)‖w‖², the bias free."""
    if model.loss != "hinge" or model.penalty != "l2":
        other = f"loss={model.loss!r}, penalty={model.penalty!r}"
        return [no_certificate(f"SGDClassifier({other}) minimises something else.")]
    # Its mean divides by the number of examples; ours by the sum of the weights.
    mean = float(weights.mean())
    problem = RegularisedRisk(Hinge(), model.alpha / mean, bool(model.fit_intercept))
    return _against_the_rest(model, problem, X, y, weights, max_time)


def svc(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """½‖w‖² + C Σ wᵢHᵢ with a free bias, and its own dual variables."""
    if model.kernel != "linear":
        return [no_certificate(f"SVC(kernel={model.kernel!r}) is not a linear model.")]
    if len(model.classes_) > 2:
        return [no_certificate("SVC trains its classes in pairs; certify them two at a time.")]
    problem = RegularisedRisk(Hinge(), 1.0 / (model.C * weights.sum()), free_bias=True)
    share = np.zeros(len(y))
    heavy = model.support_[weights[model.support_] > 0]
    dual = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
    own_alpha = np.zeros(len(y))
    own_alpha[model.support_] = np.abs(np.ravel(dual))
    share[heavy] = own_alpha[heavy] / (model.C * weights[heavy])
    theta = np.ravel(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_)
    own = _point(problem, theta, float(model.intercept_[0]), model.classes_[1], share, weights)
    other = _dual_point(problem, X, y == model.classes_[1], weights, max_time)
    certificates = [
        own.check(X, y),
        replace(own, multipliers=_shares(other, weights)).check(X, y),
    ]
    return [max(certificates, key=lambda certificate: certificate.lower)]


def perceptron(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """A perceptron keeps no ledger; what can be proved is whether it separates the classes."""
    labels = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    witnesses = [
        SeparationWitness(theta, float(theta0), label, float(model.fit_intercept))
        for theta, theta0, label in zip(model.coef_, model.intercept_, labels, strict=True)
    ]
    found = [witness.check(X, y) for witness in witnesses]
    reason = (
        "The model does not separate the data, and without the ledger of its run the bound on "
        "its mistakes cannot be checked."
    )
    return [c if c.holds else no_certificate(reason) for c in found]


def _against_the_rest(
    model: Any,
    problem: RegularisedRisk,
    X: Matrix,
    y: AnyArray,
    weights: FloatArray,
    max_time: float,
) -> list[Certificate]:
    """One certificate for each class, with a dual point of our own."""
    labels = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    intercepts = np.broadcast_to(np.ravel(model.intercept_), len(labels))
    certificates = []
    for theta, theta0, label in zip(model.coef_, intercepts, labels, strict=True):
        alpha = _dual_point(problem, X, y == label, weights, max_time)
        share = _shares(alpha, weights)
        point = _point(problem, np.array(theta), float(theta0), label, share, weights)
        certificates.append(point.check(X, y))
    return certificates


def _shares(alpha: FloatArray, weights: FloatArray) -> FloatArray:
    """αᵢ/sᵢ, zero where there is no weight."""
    share = np.divide(alpha, weights, out=np.zeros_like(alpha), where=weights > 0)
    return np.asarray(share * weights.sum())


def _point(
    problem: RegularisedRisk,
    theta: FloatArray,
    theta0: float,
    label: Any,
    share: FloatArray,
    weights: FloatArray,
) -> DualPoint:
    return DualPoint(
        problem=problem,
        coef=np.asarray(theta, dtype=np.float64),
        intercept=theta0,
        positive=label,
        multipliers=share,
        weights=weights / weights.sum(),
    )


def _dual_point(
    problem: RegularisedRisk, X: Matrix, positive: AnyArray, weights: FloatArray, max_time: float
) -> FloatArray:
    """A good α for the problem, by a solver of ours in bounded time; any α gives a valid bound."""
    signs, s = np.where(positive, 1.0, -1.0), weights / weights.sum()
    bias, began = float(problem.free_bias), time.perf_counter()
    if X.shape[1] <= LARGEST_SYSTEM and (s > 0).all():
        for iterate in interior_point(X, signs, s, problem.lam, bias, problem.bias_scale):
            close = iterate.primal - iterate.dual <= 1e-7 * max(1e-3, iterate.primal)
            if close or time.perf_counter() - began > max_time:
                break
        return iterate.alpha
    random, value = np.random.RandomState(0), -np.inf
    for _, _, alpha, _ in dual_coordinate_ascent(
        as_design(X), signs, s, problem.lam, bias, random, problem.bias_scale
    ):
        combination = np.asarray(X.T @ (alpha * signs))
        before, value = value, alpha.sum() - problem.dual_cost(combination, float(alpha @ signs))
        settled = abs(value - before) <= 1e-7 * max(1e-3, abs(value))
        if settled or time.perf_counter() - began > max_time:
            break
    return alpha
