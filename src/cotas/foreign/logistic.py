"""Fitted logistic regressions of scikit-learn, with two classes or more."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, SoftmaxPoint, no_certificate
from cotas.foreign.against_the_rest import class_weighted, measure, optimum, parameters
from cotas.losses import Logistic
from cotas.problem import RegularizedRisk, SoftmaxRisk
from cotas.solvers.risks import SoftmaxLoss


def logistic_regression(
    model: Any,
    X: Matrix,
    y: AnyArray,
    weights: FloatArray,
    max_time: float,
    free_bias: bool = False,
) -> list[Certificate]:
    """½‖w‖² + C Σ wᵢℓᵢ with a free bias; liblinear penalizes it, as `LinearSVC` does."""
    penalty = _penalty(model)
    if penalty is None:
        reason = (
            "LogisticRegression without a penalty (C=inf): its dual points have to satisfy "
            "Σ αᵢyᵢxᵢ = 0 exactly, so there is no gap to prove. A large finite C has one."
        )
        return [no_certificate(reason)]
    ratio = {"l2": 0.0, "l1": 1.0}.get(penalty)
    ratio = float(model.l1_ratio) if ratio is None else ratio
    if ratio and model.solver == "liblinear" and model.fit_intercept:
        reason = "LogisticRegression(solver='liblinear') penalizes its bias by the l1 norm as well."
        return [no_certificate(reason)]
    if len(model.classes_) > 2:
        return [_softmax(model, X, y, weights, max_time, free_bias, ratio)]
    penalized = model.solver == "liblinear" and model.fit_intercept
    scale = float(model.intercept_scaling) if penalized else 0.0
    free = bool(model.fit_intercept) and not penalized

    def state(given: FloatArray) -> RegularizedRisk:
        return RegularizedRisk(Logistic(), 1.0 / (model.C * given.sum()), free, scale, ratio)

    weighted = class_weighted(model, y, weights, balanced_by_weight=True)
    return measure(model, state, X, y, weighted, max_time, free_bias and not free)


def _penalty(model: Any) -> str | None:
    """What is penalized, whether it was said by `penalty`, by `l1_ratio` or by an infinite C."""
    if model.penalty is None or np.isinf(model.C):
        return None
    if model.penalty == "deprecated" or model.penalty == "elasticnet":
        ratio = model.l1_ratio or 0.0
        return {0.0: "l2", 1.0: "l1"}.get(float(ratio), "elasticnet")
    return str(model.penalty)


def _softmax(
    model: Any,
    X: Matrix,
    y: AnyArray,
    weights: FloatArray,
    max_time: float,
    free_bias: bool,
    ratio: float,
) -> Certificate:
    """All the classes at once: one problem, one certificate."""
    codes = np.searchsorted(model.classes_, y)
    if model.class_weight is not None:
        of_class = compute_class_weight(
            model.class_weight, classes=model.classes_, y=y, sample_weight=weights
        )
        weights = weights * np.asarray(of_class, dtype=np.float64)[codes]
    s = weights / weights.sum()
    problem = SoftmaxRisk(
        1.0 / (model.C * weights.sum()), bool(model.fit_intercept) or free_bias, ratio
    )
    coefs, biases = parameters(model)
    best = optimum(X, SoftmaxLoss(codes, s, len(coefs)), problem, max_time, (coefs.T, biases))
    return SoftmaxPoint(
        problem=problem,
        coef=coefs,
        intercept=biases,
        classes=np.asarray(model.classes_),
        reference_coef=best.theta.T.copy(),
        reference_intercept=best.theta0,
        weights=s,
    ).check(X, y)
