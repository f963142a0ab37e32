"""Fitted AdaBoost classifiers of scikit-learn (SAMME): their training error and its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.certificates.boosting import BoostingLedger, Combination
from cotas.certificates.plurality import VoteLedger
from cotas.certificates.weak_learners import Predictors
from cotas.losses import Exponential


@dataclass(frozen=True)
class Vote:
    """An estimator as a function of ±1: whether it names the positive class."""

    estimator: Any
    positive: Any

    def __call__(self, rows: FloatArray) -> FloatArray:
        return np.where(self.estimator.predict(rows) == self.positive, 1.0, -1.0)


def adaboost_classifier(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """Two classes: F = Σ ½αₘfₘ with αₘ = learning_rate·ln((1−err)/err), hence our Algorithm 1.

    The errors that the library reports are compared with those on the data. More classes: the
    bound of a weighted vote.
    """
    votes = np.asarray(model.estimator_weights_[: len(model.estimators_)], dtype=np.float64)
    if len(votes) == 0:
        return [no_certificate("The model has no estimators.")]
    if len(model.classes_) > 2:
        voters = tuple(estimator.predict for estimator in model.estimators_)
        ledger = VoteLedger(voters=voters, votes=votes, classes=model.classes_, weights=weights)
        return [ledger.check(X, y)]
    errors = np.asarray(model.estimator_errors_[: len(votes)], dtype=np.float64)
    positive = model.classes_[1]
    functions = tuple(Vote(estimator, positive) for estimator in model.estimators_)
    steps = 0.5 * votes
    shrinkage = (1 - errors) * np.exp(-steps) + errors * np.exp(steps)
    two_classes = BoostingLedger(
        combination=Combination(Predictors(functions), steps, np.ones(len(steps))),
        positive=positive,
        weights=weights,
        cost=Exponential(),
        log_losses=np.concatenate([[0.0], np.cumsum(np.log(shrinkage))]),
        discrete=True,
        closed_form=bool(model.learning_rate == 1.0),
        errors=errors,
    )
    return [two_classes.check(X, y)]
