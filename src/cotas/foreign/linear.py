"""Fitted linear classifiers of scikit-learn: the problem each one states, and its gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from cotas.arrays import FloatArray
from cotas.certificates import Certificate, DualPoint, SoftmaxPoint
from cotas.foreign.against_the_rest import (
    class_weighted,
    classes_against_the_rest,
    measure,
    multipliers,
    optimum,
    parameters,
    separation_or,
)
from cotas.foreign.fit import ForeignFit, dense, unproved
from cotas.losses import Hinge, Logistic, MarginLoss, ModifiedHuber, SquaredHinge
from cotas.problem import RegularizedRisk, SoftmaxRisk
from cotas.solvers.risks import SoftmaxLoss
from cotas.words import say

LINEAR_SVC_LOSSES: dict[str, MarginLoss] = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}


def linear_svc(fit: ForeignFit) -> list[Certificate]:
    """Read ½‖(w, b/c)‖² + C Σ wᵢℓᵢ, c being `intercept_scaling`: divided by CΣw it is our
    problem."""
    model = fit.model
    if model.multi_class != "ovr":
        value = repr(model.multi_class)
        return unproved("LinearSVC(multi_class={value}) has no certificate.", value=value)
    if model.penalty != "l2":
        value = repr(model.penalty)
        return unproved("LinearSVC(penalty={value}): cotas proves l2 only.", value=value)
    scale = float(model.intercept_scaling) if model.fit_intercept else 0.0
    loss = LINEAR_SVC_LOSSES[model.loss]

    def state(given: FloatArray) -> RegularizedRisk:
        return RegularizedRisk(loss, 1.0 / (model.C * given.sum()), False, scale)

    return measure(fit, state, class_weighted(fit, balanced_by_weight=True), fit.free_bias)


def svc(fit: ForeignFit) -> list[Certificate]:
    """Compute ½‖w‖² + C Σ wᵢHᵢ of two classes with a free bias, and its own dual variables."""
    model, X, y, weights = fit.model, fit.X, fit.y, fit.weights
    problem = RegularizedRisk(Hinge(), 1.0 / (model.C * weights.sum()), free_bias=True)
    share = np.zeros(len(y))
    heavy = model.support_[weights[model.support_] > 0]
    own_alpha = np.zeros(len(y))
    own_alpha[model.support_] = np.abs(np.ravel(dense(model.dual_coef_)))
    share[heavy] = own_alpha[heavy] / (model.C * weights[heavy])
    label, theta, theta0 = classes_against_the_rest(model)[0]
    own = DualPoint(problem, theta, theta0, label, share, weights=weights)
    other = multipliers(problem, X, y == label, weights, fit.max_time)
    certificates = [own.check(X, y), replace(own, multipliers=other).check(X, y)]
    return [max(certificates, key=lambda certificate: certificate.lower)]


SGD_LOSSES: dict[str, MarginLoss] = {
    "hinge": Hinge(),
    "log_loss": Logistic(),
    "squared_hinge": SquaredHinge(),
    "modified_huber": ModifiedHuber(),
}
NO_LEDGER = (
    "The model does not separate the data, and without the ledger of its run the bound on "
    "its mistakes cannot be checked. cotas.{name} keeps that ledger."
)


def sgd_classifier(fit: ForeignFit) -> list[Certificate]:
    """Read the mean of wᵢℓᵢ + (alpha/2)‖w‖², the bias free."""
    model = fit.model
    if model.learning_rate in ("pa1", "pa2"):
        return passive_aggressive(fit)
    if model.loss == "perceptron":
        # Its objective is smallest at θ = 0, where it is zero: what counts is the separation.
        return perceptron(fit)
    if model.penalty is None or model.alpha == 0:
        reason = "Without a penalty there is no duality gap, and the model does not separate."
        return separation_or(fit, reason)
    loss = SGD_LOSSES.get(model.loss)
    if loss is None or model.penalty != "l2":
        other = f"SGDClassifier(loss={model.loss!r}, penalty={model.penalty!r})"
        known = ", ".join(map(repr, SGD_LOSSES))
        words = "{other}: cotas proves the l2 penalty with one of {known}."
        return unproved(words, other=other, known=known)

    def state(given: FloatArray) -> RegularizedRisk:
        # Its mean divides by the number of examples; ours by the sum of the weights.
        return RegularizedRisk(loss, model.alpha / float(given.mean()), bool(model.fit_intercept))

    weighted = class_weighted(fit, balanced_by_weight=False)
    found = measure(fit, state, weighted, fit.free_bias and not model.fit_intercept)
    if not model.early_stopping:
        return found
    note = "With early_stopping the fit kept a part of these data aside; all of them are measured."
    return [certificate.noted(note) for certificate in found]


def perceptron(fit: ForeignFit) -> list[Certificate]:
    """Read a perceptron, which keeps no record of its mistakes: what can be proved is whether it
    separates."""
    return separation_or(fit, say(NO_LEDGER, name="Perceptron"))


def passive_aggressive(fit: ForeignFit) -> list[Certificate]:
    """Read the same of the passive-aggressive algorithm, by either of its names in scikit-learn."""
    return separation_or(fit, say(NO_LEDGER, name="PassiveAggressive"))


def logistic_regression(fit: ForeignFit) -> list[Certificate]:
    """Compute ½‖w‖² + C Σ wᵢℓᵢ with a free bias; liblinear penalizes it, as `LinearSVC` does."""
    model = fit.model
    penalty = _penalty(model)
    if penalty is None:
        return unproved(
            "LogisticRegression without a penalty (C=inf): its dual points have to satisfy "
            "Σ αᵢyᵢxᵢ = 0 exactly, so there is no gap to prove. A large finite C has one."
        )
    ratio = {"l2": 0.0, "l1": 1.0}.get(penalty)
    ratio = float(model.l1_ratio) if ratio is None else ratio
    if ratio and model.solver == "liblinear" and model.fit_intercept:
        return unproved(
            "LogisticRegression(solver='liblinear') penalizes its bias by the l1 norm as well."
        )
    if len(model.classes_) > 2:
        return [_softmax(fit, ratio)]
    penalized = model.solver == "liblinear" and model.fit_intercept
    scale = float(model.intercept_scaling) if penalized else 0.0
    free = bool(model.fit_intercept) and not penalized

    def state(given: FloatArray) -> RegularizedRisk:
        return RegularizedRisk(Logistic(), 1.0 / (model.C * given.sum()), free, scale, ratio)

    weighted = class_weighted(fit, balanced_by_weight=True)
    return measure(fit, state, weighted, fit.free_bias and not free)


def _penalty(model: Any) -> str | None:
    """Tell what is penalized, whether it was said by `penalty`, by `l1_ratio` or by an infinite
    C."""
    if model.penalty is None or np.isinf(model.C):
        return None
    if model.penalty == "deprecated" or model.penalty == "elasticnet":
        ratio = model.l1_ratio or 0.0
        return {0.0: "l2", 1.0: "l1"}.get(float(ratio), "elasticnet")
    return str(model.penalty)


def _softmax(fit: ForeignFit, ratio: float) -> Certificate:
    """Return all the classes at once: one problem, one certificate."""
    model, X, y, weights = fit.model, fit.X, fit.y, fit.weights
    codes = np.searchsorted(model.classes_, y)
    if model.class_weight is not None:
        of_class = compute_class_weight(
            model.class_weight, classes=model.classes_, y=y, sample_weight=weights
        )
        weights = weights * np.asarray(of_class, dtype=np.float64)[codes]
    s = weights / weights.sum()
    problem = SoftmaxRisk(
        1.0 / (model.C * weights.sum()), bool(model.fit_intercept) or fit.free_bias, ratio
    )
    coefs, biases = parameters(model)
    best = optimum(X, SoftmaxLoss(codes, s, len(coefs)), problem, fit.max_time, (coefs.T, biases))
    return SoftmaxPoint(
        problem=problem,
        coef=coefs,
        intercept=biases,
        classes=np.asarray(model.classes_),
        reference_coef=best.theta.T.copy(),
        reference_intercept=best.theta0,
        weights=s,
    ).check(X, y)
