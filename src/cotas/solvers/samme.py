"""AdaBoost with several classes (SAMME, Algorithm 2 of Zhu, Zou, Rosset and Hastie 2009)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.loops import loop
from cotas.solvers.boosting import CHANCE, NoDescentLeft, Round, Steps, best_step, step_of
from cotas.solvers.exponential_weights import ExponentialWeights
from cotas.solvers.weak_learners import Named, WeakLearner


@loop
def cast_votes(votes: FloatArray, named: AnyArray, vote: float) -> None:
    """Give the class that each row was given so much more."""
    for i in range(len(named)):
        votes[i, named[i]] += vote


class ClassVotes:
    """The votes of each row for each class, and the weights s·exp(−votes for the right class).

    `votes` has a column for each class and is updated in place, up to a number that is the same in
    each row.
    """

    def __init__(
        self, classes: AnyArray, s: FloatArray, votes: FloatArray, each: Each = map
    ) -> None:
        self.classes, self.votes, self.n_classes = classes, votes, votes.shape[1]
        own = votes[np.arange(len(classes)), classes]
        self.weights = ExponentialWeights(np.ones(len(own)), s, own, each)

    @property
    def log_loss(self) -> float:
        """Compute ln Σ sᵢ exp(−votes for yᵢ)"""
        return self.weights.log_loss

    def named(self, weak: WeakLearner) -> Named:
        """Return the class that a learner names on each row."""
        return weak.name(self.classes, self.weights.signed, self.n_classes)

    def error(self, f: Named) -> float:
        """Return the weighted error of a learner."""
        return self.weights.error(self._right(f))

    def cast(self, f: Named, c: float) -> None:
        """Give the class that each row was given 2c more votes than the others."""
        self.weights.advance_signs(self._right(f), c)
        cast_votes(self.votes, f.codes, 2 * c)

    def _right(self, f: Named) -> FloatArray:
        return np.where(f.codes == self.classes, 1.0, -1.0)


def samme(
    weak: WeakLearner,
    votes: Any,
    steps: Steps | None = None,
    spent: float = 0.0,
    first: int = 1,
    rate: float = 1.0,
) -> Iterator[Round]:
    """Compute K classes: a learner names one for each row, and its name counts as so many votes.

        w ← s·exp(−votes for the right class);  f ← learner(w);  err ← E_w[y ≠ f]
        the votes for the class that f names grow by α = ln((1−err)/err) + ln(K−1)

    `votes` are a `ClassVotes`, or what stands for one. The coefficient of a round is c = ½α, so
    that with two classes everything is as in `adaboost`; `spent` is the sum of those before,
    `steps` may replace it, `rate` multiplies it.
    Departures: a learner without mistakes gets a coefficient that outweighs all others and ends
    the run; err ≥ 1 − 1/K ends it too, since a learner of several classes cannot be flipped.
    Invariant: with the closed form the weighted error of f after the round is 1 − 1/K, and the
    loss Σ sᵢ exp(A/K − votes for yᵢ), A = Σ α, is the product of K(err/(K−1))^{1−1/K}(1−err)^{1/K}.
    Cost: a learner and O(n) a round.
    """
    K, m = votes.n_classes, first
    while True:
        f = votes.named(weak)
        error, loss = votes.error(f), _loss(votes, spent, K)
        if error >= 1 - 1 / K - CHANCE:
            raise NoDescentLeft("the best learner found is no better than chance")
        perfect = error == 0.0
        if perfect:
            c = spent + best_step(0.0)
        else:
            c = rate * (class_step(error, K) if steps is None else step_of(steps, m))
        votes.cast(f, c)
        spent += c
        edge, after = 2 * (1 - 1 / K - error) * loss, _loss(votes, spent, K)
        yield Round(f.learners, c, error, edge, after, log_loss=votes.log_loss)
        if perfect:
            raise NoDescentLeft("a learner makes no mistake")
        m += 1


def class_step(error: float, n_classes: int) -> float:
    """Compute ½ ln((1−err)/err) + ½ ln(K−1)

    >>> class_step(0.75, 4)
    0.0
    """
    return best_step(error) + 0.5 * math.log(n_classes - 1)


def _loss(votes: Any, spent: float, n_classes: int) -> float:
    """Compute the multiclass exponential loss, from Σ sᵢ exp(½A − votes for yᵢ), where ½A is
    spent."""
    exponent = votes.log_loss - (1 - 2 / n_classes) * spent
    return math.exp(exponent) if exponent < 700 else math.inf
