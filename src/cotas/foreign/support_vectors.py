"""Fitted support vector machines of scikit-learn: the problem each one states, and its gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.foreign.against_the_rest import (
    class_weighted,
    classes_against_the_rest,
    dual_point,
    measure,
    multipliers,
)
from cotas.losses import Hinge, MarginLoss, SquaredHinge
from cotas.problem import RegularizedRisk
from cotas.words import say

LINEAR_SVC_LOSSES: dict[str, MarginLoss] = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}


def linear_svc(
    model: Any,
    X: Matrix,
    y: AnyArray,
    weights: FloatArray,
    max_time: float,
    free_bias: bool = False,
) -> list[Certificate]:
    """½‖(w, b/c)‖² + C Σ wᵢℓᵢ, c being `intercept_scaling`: divided by CΣw it is our problem."""
    if model.multi_class != "ovr":
        return [
            no_certificate(
                say(
                    "LinearSVC(multi_class={value}) has no certificate.",
                    value=repr(model.multi_class),
                )
            )
        ]
    if model.penalty != "l2":
        return [
            no_certificate(
                say("LinearSVC(penalty={value}): cotas proves l2 only.", value=repr(model.penalty))
            )
        ]
    scale = float(model.intercept_scaling) if model.fit_intercept else 0.0
    loss = LINEAR_SVC_LOSSES[model.loss]

    def state(given: FloatArray) -> RegularizedRisk:
        return RegularizedRisk(loss, 1.0 / (model.C * given.sum()), False, scale)

    weighted = class_weighted(model, y, weights, balanced_by_weight=True)
    return measure(model, state, X, y, weighted, max_time, free_bias)


def svc(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """½‖w‖² + C Σ wᵢHᵢ with a free bias, and its own dual variables."""
    if model.kernel != "linear":
        return [
            no_certificate(
                say("SVC(kernel={value}) is not a linear model.", value=repr(model.kernel))
            )
        ]
    if len(model.classes_) > 2:
        return [no_certificate("SVC trains its classes in pairs; certify them two at a time.")]
    problem = RegularizedRisk(Hinge(), 1.0 / (model.C * weights.sum()), free_bias=True)
    share = np.zeros(len(y))
    heavy = model.support_[weights[model.support_] > 0]
    dual = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
    own_alpha = np.zeros(len(y))
    own_alpha[model.support_] = np.abs(np.ravel(dual))
    share[heavy] = own_alpha[heavy] / (model.C * weights[heavy])
    label, theta, theta0 = classes_against_the_rest(model)[0]
    own = dual_point(problem, theta, theta0, label, share, weights)
    other = multipliers(problem, X, y == label, weights, max_time)
    certificates = [own.check(X, y), replace(own, multipliers=other).check(X, y)]
    return [max(certificates, key=lambda certificate: certificate.lower)]
