"""Fitted AdaBoost classifiers of scikit-learn (SAMME): their training error and its bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate
from cotas.certificates.theorems.combinations import Combination
from cotas.certificates.theorems.surrogates import SurrogateBound
from cotas.certificates.theorems.weak_learners import Predictors
from cotas.foreign.fit import ForeignFit, unproved


class Ballot:
    """Predictions of an estimator; asked about each class in turn, it predicts once."""

    def __init__(self, estimator: Any) -> None:
        self.estimator, self.rows, self.named = estimator, None, None

    def __call__(self, rows: Any) -> Any:
        if rows is not self.rows:
            self.rows, self.named = rows, self.estimator.predict(rows)
        return self.named


class Vote:
    """An estimator as a function of ±1: whether it names a certain class."""

    def __init__(self, ballot: Ballot, label: Any) -> None:
        self.ballot, self.estimator, self.label = ballot, ballot.estimator, label

    def __call__(self, rows: FloatArray) -> FloatArray:
        return np.where(self.ballot(rows) == self.label, 1.0, -1.0)


def adaboost_classifier(fit: ForeignFit) -> list[Certificate]:
    """Read F = Σ ½αₘfₘ with αₘ = learning_rate·ln((1−err)/err), hence our Algorithm 1 or SAMME."""
    model = fit.model
    votes = np.asarray(model.estimator_weights_[: len(model.estimators_)], dtype=np.float64)
    if len(votes) == 0:
        return unproved("The model has no estimators.")
    several = len(model.classes_) > 2
    classes = model.classes_ if several else model.classes_[1:]
    ballots = [Ballot(estimator) for estimator in model.estimators_]
    named = [Predictors(tuple(Vote(ballot, label) for ballot in ballots)) for label in classes]
    witness = SurrogateBound(
        combinations=tuple(Combination(learners, 0.5 * votes) for learners in named),
        classes=classes,
        weights=fit.weights,
        surrogate="votes" if several else "exponential",
        discrete=True,
    )
    return [witness.check(fit.X, fit.y)]
