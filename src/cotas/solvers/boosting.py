"""Algorithms 1 to 4 of Rugeles Ospina: AdaBoost discrete and real, LogitBoost, GentleBoost.

The weights of the rows stand for what is known of them: F, the model on all the rows, and the w and
targets that belong to it. In memory they are arrays; of rows in blocks they are sums over passes.
Each algorithm yields its rounds and ends when the theory says that no round can follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from cotas.arrays import FloatArray
from cotas.solvers.exponential_weights import ExponentialWeights
from cotas.solvers.logistic_weights import ClassWeights, LogisticWeights
from cotas.solvers.weak_learners import WeakLearner

ERR_CLIP = 2.0**-52  # an error below this counts as this in ½ ln((1−err)/err)
CHANCE = 1e-12  # an error nearer to ½ than this is ½
CLIPPED_FIRST, WHOLE_FIRST = (True, False), (False, True)  # whether z is clipped, in which order

# A number for every round, numbers for each, or a function of the round (counted from one).
Steps: TypeAlias = "float | Sequence[float] | Callable[[int], float]"


class Round(NamedTuple):
    """A round: what it adds to the model, and what is known of it.

    `learners` has one function, or one for each class. `error` is the weighted error of f, `edge`
    the inner product −⟨∇H, f⟩ before the round, `loss` is H(F) after it. The coefficients so far
    are multiplied by `shrink` before this one is added. `log_loss` is ln H(F) for the exponential
    cost, which has a value where H(F) itself underflows.
    """

    learners: tuple[Any, ...]
    coefficient: float
    error: float
    edge: float
    loss: float
    shrink: float = 1.0
    log_loss: float = math.nan


class NoDescentLeft(Exception):  # not an error: the theory ends the run
    """No further round can improve the model; the message says why."""


def step_of(steps: Steps, m: int) -> float:
    """Return the step of round m."""
    if callable(steps):
        return float(steps(m))
    if isinstance(steps, int | float):
        return float(steps)
    if m > len(steps):
        raise NoDescentLeft(f"step has {len(steps)} numbers, and all were used")
    return float(steps[m - 1])


def slowed(steps: Steps, rate: float) -> Steps:
    """Return the same steps, each multiplied by the rate."""
    return steps if rate == 1.0 else lambda m: rate * step_of(steps, m)


def best_step(error: float) -> float:
    """Compute ½ ln((1−err)/err), the step that minimizes J(F + cf) (Theorem 1.1.5).

    >>> best_step(0.5)
    0.0
    """
    error = min(max(error, ERR_CLIP), 1 - ERR_CLIP)
    return 0.5 * math.log((1 - error) / error)


def adaboost(
    weak: WeakLearner,
    weights: ExponentialWeights,
    steps: Steps | None = None,
    spent: float = 0.0,
    first: int = 1,
    rate: float = 1.0,
) -> Iterator[Round]:
    """Run AdaBoost discrete, Algorithm 1 of Rugeles Ospina.

        w ← s·exp(−yF);  f ← learner(w);  err ← E_w[y ≠ f];  F ← F + ½ ln((1−err)/err) f

    Departures: the document adds c = ln((1−err)/err) and takes the sign; with half of it F is the
    minimizer of J (Theorem 1.1.5) and p = 1/(1+e^{−2F}). `steps` may replace the coefficient
    (None: the closed form), and `rate` multiplies it. A perfect learner (err = 0) gets a
    coefficient that outweighs all others, whose sum is `spent`, and ends the run; err = ½ ends it
    too; err > ½ gives a negative coefficient, which flips the learner.
    Invariant: with the closed form and rate 1 the weighted error of f after the round is ½
    (Corollary 1), and Σ sᵢ exp(−yᵢF) = Π 2√(err(1−err)). Cost: a learner and O(n) a round.
    """
    m = first
    while True:
        f = weak.edge(weights.signed)
        error, loss = weights.error(f.values), _exp(weights.log_loss)
        if abs(error - 0.5) <= CHANCE:
            raise NoDescentLeft("the best learner found is no better than chance")
        perfect = error in (0.0, 1.0)
        if perfect:
            a = math.copysign(spent + best_step(0.0), 0.5 - error)
        elif steps is None:
            a = rate * best_step(error)
        else:
            a = math.copysign(rate * step_of(steps, m), 0.5 - error)
        weights.advance_signs(f.values, a)
        spent += abs(a)
        after = weights.log_loss
        yield Round((f.learner,), a, error, (1 - 2 * error) * loss, _exp(after), log_loss=after)
        if perfect:
            raise NoDescentLeft("a learner makes no mistake")
        m += 1


def real_adaboost(
    weak: WeakLearner, weights: ExponentialWeights, steps: Steps = 1.0, first: int = 1
) -> Iterator[Round]:
    """Run AdaBoost real, Algorithm 2 of Rugeles Ospina: F ← F + ½ ln(p/(1−p)), p = P_w(y = 1 | x).

    Departures: p is kept between 1e-6 and 1 − 1e-6; `steps` may multiply f. Invariant: in every
    leaf of a tree the weights of the two classes are equal after the round, unless p was clipped.
    Cost: a learner and O(n) a round.
    """
    m = first
    while True:
        yield _exponential_round(weights, *weak.log_odds(weights.signed, weights.w), steps, m)
        m += 1


def gentleboost(
    weak: WeakLearner, weights: ExponentialWeights, steps: Steps = 1.0, first: int = 1
) -> Iterator[Round]:
    """Run GentleBoost, Algorithm 4 of Rugeles Ospina: F ← F + E_w[y | x], a Newton step for
    E[e^{−yF}].

    Departures: Theorem 1.1.9 prints the step with the other sign; `steps` may multiply f.
    Invariant: |f| ≤ 1 for trees, whose leaves hold weighted means of y. Cost: a learner and O(n).
    """
    m = first
    while True:
        yield _exponential_round(weights, *weak.least_squares(weights.signed, weights.w), steps, m)
        m += 1


def _exponential_round(
    weights: ExponentialWeights, learner: Any, f: FloatArray, steps: Steps, m: int
) -> Round:
    """Compute F ← F + step·f for a real f, with what is known of it."""
    edge, error, largest = weights.judged(f)
    if not edge > CHANCE * largest:
        raise NoDescentLeft("the learner found nothing that would lower the loss")
    before, a = _exp(weights.log_loss), step_of(steps, m)
    weights.advance(f, a, largest)
    after = weights.log_loss
    return Round((learner,), a, error, edge * before, _exp(after), log_loss=after)


def logitboost(
    weak: WeakLearner,
    weights: LogisticWeights,
    steps: Steps = 1.0,
    first: int = 1,
    safeguard: bool = True,
    halved: bool = False,
) -> Iterator[Round]:
    """Run LogitBoost, Algorithm 3 of Rugeles Ospina: Newton steps for p = 1/(1+e^{−2F}).

        z ← (y* − p)/(p(1−p)),  w ← p(1−p),  f ← least squares of z,  F ← F + ½ f

    z is kept in [−4, 4] and w above 2⁻⁵¹, as Friedman, Hastie and Tibshirani 2000 do, whom the
    document follows. Departures: with `safeguard` a step that would lower the likelihood is halved
    until it raises it. Where no step along f does, since z was clipped, f is fitted to z as it is,
    with the leaves of trees in [−4, 4] and w above 1e-5; if that does not help either, the run
    ends. After the first step that was halved z as it is comes first, and clipped only where that
    does not help: it takes whole steps where the other is halved again and again (`halved`: a step
    before `first` was). The factor ½ stays in F, so that p is as in (1.1); the document's last line
    drops it.
    Invariant: with `safeguard` the likelihood rises in every round. Cost: a learner and O(n).
    """
    m, ways = first, WHOLE_FIRST if halved else CLIPPED_FIRST
    while True:
        whole = 0.5 * step_of(steps, m)
        for clipped in ways:
            f = weak.least_squares(*weights.targets(clipped))
            a, edge, error = weights.step(f.values, whole, safeguard)
            if a:
                break
        else:
            raise NoDescentLeft("the learner found nothing that would raise the likelihood")
        ways = ways if a == whole else WHOLE_FIRST
        yield Round((f.learner,), a, error, edge, weights.loss)
        m += 1


def logitboost_classes(
    weak: WeakLearner,
    weights: ClassWeights,
    steps: Steps = 1.0,
    first: int = 1,
    safeguard: bool = True,
    halved: bool = False,
) -> Iterator[Round]:
    """Run LogitBoost with K classes, Algorithm 6 of Friedman, Hastie and Tibshirani 2000.

    T has one column for each class, the sum of its functions; F = (K−1)/K (T − mean of T), and
    p = softmax(F). Each round fits one function for each class. z, w and the departures are those
    of `logitboost`.
    """
    m, ways = first, WHOLE_FIRST if halved else CLIPPED_FIRST
    while True:
        for clipped in ways:
            learners, values = [], []
            for k in range(weights.n_classes):
                f = weak.least_squares(*weights.targets(k, clipped))
                learners.append(f.learner)
                values.append(weights.kept(f.values))
            a, edge, error = weights.step(values, step_of(steps, m), safeguard)
            if a:
                break
        else:
            raise NoDescentLeft("the learners found nothing that would raise the likelihood")
        ways = ways if a == step_of(steps, m) else WHOLE_FIRST
        yield Round(tuple(learners), a, error, edge, weights.loss)
        m += 1


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
