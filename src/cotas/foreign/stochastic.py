"""Fitted online learners of scikit-learn: stochastic gradients, perceptron, passive-aggressive."""

from __future__ import annotations

from typing import Any

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.foreign.against_the_rest import class_weighted, measure, separation_or
from cotas.losses import Hinge, Logistic, MarginLoss, ModifiedHuber, SquaredHinge
from cotas.problem import RegularizedRisk
from cotas.words import say

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


def sgd_classifier(
    model: Any,
    X: Matrix,
    y: AnyArray,
    weights: FloatArray,
    max_time: float,
    free_bias: bool = False,
) -> list[Certificate]:
    """mean of wᵢℓᵢ + (alpha/2)‖w‖², the bias free."""
    if model.learning_rate in ("pa1", "pa2"):
        return passive_aggressive(model, X, y, weights, max_time)
    if model.loss == "perceptron":
        # Its objective is smallest at θ = 0, where it is zero: what counts is the separation.
        return perceptron(model, X, y, weights, max_time)
    if model.penalty is None or model.alpha == 0:
        reason = "Without a penalty there is no duality gap, and the model does not separate."
        return separation_or(model, X, y, reason)
    loss = SGD_LOSSES.get(model.loss)
    if loss is None or model.penalty != "l2":
        other = f"SGDClassifier(loss={model.loss!r}, penalty={model.penalty!r})"
        known = ", ".join(map(repr, SGD_LOSSES))
        return [
            no_certificate(
                say(
                    "{other}: cotas proves the l2 penalty with one of {known}.",
                    other=other,
                    known=known,
                )
            )
        ]

    def state(given: FloatArray) -> RegularizedRisk:
        # Its mean divides by the number of examples; ours by the sum of the weights.
        return RegularizedRisk(loss, model.alpha / float(given.mean()), bool(model.fit_intercept))

    weighted = class_weighted(model, y, weights, balanced_by_weight=False)
    found = measure(model, state, X, y, weighted, max_time, free_bias and not model.fit_intercept)
    if not model.early_stopping:
        return found
    note = "With early_stopping the fit kept a part of these data aside; all of them are measured."
    return [certificate.noted(note) for certificate in found]


def perceptron(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """A perceptron keeps no ledger; what can be proved is whether it separates the classes."""
    return separation_or(model, X, y, say(NO_LEDGER, name="Perceptron"))


def passive_aggressive(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """The same for the passive-aggressive algorithm, by either of its names in scikit-learn."""
    return separation_or(model, X, y, say(NO_LEDGER, name="PassiveAggressive"))
