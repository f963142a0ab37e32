"""AdaBoost with several classes (SAMME, Algorithm 2 of Zhu, Zou, Rosset and Hastie 2009)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.loops import loop
from cotas.solvers.boosting import CHANCE, NothingLeft, Round, Steps, best_step, step_of
from cotas.solvers.exponential_weights import ExponentialWeights
from cotas.solvers.weak_learners import WeakLearner


@loop
def cast_votes(votes: FloatArray, named: AnyArray, vote: float) -> None:
    """The class that each row was given gets so much more."""
    for i in range(len(named)):
        votes[i, named[i]] += vote


def samme(
    weak: WeakLearner,
    classes: AnyArray,
    s: FloatArray,
    votes: FloatArray,
    steps: Steps | None = None,
    spent: float = 0.0,
    first: int = 1,
    each: Each = map,
    rate: float = 1.0,
) -> Iterator[Round]:
    """K classes: a learner names one for each row, and its name counts as so many votes.

        w ← s·exp(−votes for the right class);  f ← learner(w);  err ← E_w[y ≠ f]
        the votes for the class that f names grow by α = ln((1−err)/err) + ln(K−1)

    `votes` has a column for each class and is updated in place, up to a number that is the same in
    each row. The coefficient of a round is c = ½α, so that with two classes everything is as in
    `adaboost`; `spent` is the sum of those before, `steps` may replace it, `rate` multiplies it.
    Departures: a learner without mistakes gets a coefficient that outweighs all others and ends
    the run; err ≥ 1 − 1/K ends it too, since a learner of several classes cannot be flipped.
    Invariant: with the closed form the weighted error of f after the round is 1 − 1/K, and the
    loss Σ sᵢ exp(A/K − votes for yᵢ), A = Σ α, is the product of K(err/(K−1))^{1−1/K}(1−err)^{1/K}.
    Cost: a learner and O(n) a round.
    """
    K, m = votes.shape[1], first
    own = votes[np.arange(len(classes)), classes]
    weights = ExponentialWeights(np.ones(len(own)), s, own, each)
    while True:
        f = weak.name(classes, weights.signed, K)
        right = np.where(f.codes == classes, 1.0, -1.0)
        error, loss = weights.error(right), _loss(weights, spent, K)
        if error >= 1 - 1 / K - CHANCE:
            raise NothingLeft("the best learner found is no better than chance")
        perfect = error == 0.0
        if perfect:
            c = spent + best_step(0.0)
        else:
            c = rate * (class_step(error, K) if steps is None else step_of(steps, m))
        weights.advance_signs(right, c)
        cast_votes(votes, f.codes, 2 * c)
        spent += c
        edge, after = 2 * (1 - 1 / K - error) * loss, _loss(weights, spent, K)
        yield Round(f.learners, c, error, edge, after, log_loss=weights.log_loss)
        if perfect:
            raise NothingLeft("a learner makes no mistake")
        m += 1


def class_step(error: float, n_classes: int) -> float:
    """½ ln((1−err)/err) + ½ ln(K−1)

    >>> class_step(0.75, 4)
    0.0
    """
    return best_step(error) + 0.5 * math.log(n_classes - 1)


def _loss(weights: ExponentialWeights, spent: float, n_classes: int) -> float:
    """The multiclass exponential loss, from Σ sᵢ exp(½A − votes for yᵢ), where ½A is spent."""
    exponent = weights.log_loss - (1 - 2 / n_classes) * spent
    return math.exp(exponent) if exponent < 700 else math.inf
