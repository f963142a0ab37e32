"""AnyBoost and its convex form: any differentiable cost of the margin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.boosting.base import BoostedClassifier, _spread
from cotas.boosting.training import Booster, BoostingRun, check_steps
from cotas.boosting.weak_learners import PreparedLearner
from cotas.certificates.theorems.hull import HullPoint
from cotas.fitting.data import Examples
from cotas.fitting.parameters import check_positive, check_rate
from cotas.losses import Exponential, Logistic, Loss, SquaredHinge
from cotas.refusals import ParameterError
from cotas.solvers.anyboost import anyboost, convex_anyboost
from cotas.solvers.boosting import Round

COSTS: dict[str, Loss] = {
    "exponential": Exponential(),
    "logistic": Logistic(),
    "squared hinge": SquaredHinge(),
}
GREEDY = (
    "The best function of the class is known for stumps chosen by their error only; this learner "
    "is greedy, so nothing is proved of how far the model is from the best."
)
LARGEST_F = 300.0  # beyond it the probability is 0 or 1 in double precision anyway


def find_cost(cost: Any) -> Loss:
    """Return a cost by its name, or an object with value and slope."""
    if isinstance(cost, str):
        if cost not in COSTS:
            raise ParameterError(
                "cost", f"cost={cost!r} is not one of {', '.join(map(repr, COSTS))}."
            )
        return COSTS[cost]
    if not (hasattr(cost, "value") and hasattr(cost, "slope")):
        raise ParameterError(
            "cost",
            f"cost={cost!r} must have the methods value(z) and slope(z) of the margin z = yF(x).",
        )
    if not hasattr(cost, "name"):
        return _Named(cost)
    return cost  # type: ignore[no-any-return]


class _Named:
    """A user's cost, which need not have a name."""

    def __init__(self, cost: Any) -> None:
        self.cost, self.name = cost, type(cost).__name__

    def value(self, z: FloatArray) -> FloatArray:
        return np.asarray(self.cost.value(z), dtype=np.float64)

    def slope(self, z: FloatArray) -> FloatArray:
        return np.asarray(self.cost.slope(z), dtype=np.float64)


@dataclass(eq=False, repr=False, kw_only=True)
class AnyBoost(BoostedClassifier, Booster):
    """AnyBoost: gradient descent on the mean cost of the margins, one function of ±1 a round.

    F ← F + w·f with f maximizing −⟨∇H(F), f⟩, Algorithm 5 of Rugeles Ospina. Its certificate, for a
    convex cost and stumps: how far the cost is from the smallest that any combination with the
    same total weight Σ|w| has. The run ends when no stump descends, which proves that F is the
    best of all combinations. Other learners are greedy and prove nothing.

    Parameters
    ----------
    weak_learner : "stump", "tree", "linear", Stump, Tree, LinearLearner or an estimator
    cost : "exponential", "logistic", "squared hinge" or an object, default="exponential"
        A function of the margin z = yF(x); an object has the methods value(z) and slope(z), and
        must be convex for its certificate to be true.
    step : "line-search", "closed-form", "printed", float, sequence or function
        "closed-form" is ½ ln((1−err)/err) for the exponential cost, which makes it AdaBoost.
        "printed" is w/Σ|w| over the rounds so far with that w (for other costs that of a line
        search): Algorithm 7 of Rugeles Ospina as it is printed.
    target : {"sign", "gradient"}, default="sign"
        What the learner is fitted to: the signs of −∇H(F) with its sizes as weights, for which the
        best stump is found, or −∇H(F) itself without weights, of which the sign is taken, as
        Rugeles Ospina says of Algorithm 7.

    The other parameters and the attributes are those of `AdaBoost`.

    Examples
    --------
    >>> from cotas import AnyBoost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AnyBoost(cost="logistic", n_estimators=20).fit(X, y)
    >>> model.certificate_.lower <= model.certificate_.upper
    True
    """

    cost: Any = "exponential"
    step: Any = "line-search"
    target: str = "sign"

    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"target": ("sign", "gradient")}
    _named_steps: ClassVar[tuple[str, ...]] = ("line-search", "closed-form", "printed")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        cost = find_cost(self.cost)
        named = isinstance(self.step, str)
        if named and self.step == "closed-form" and not isinstance(cost, Exponential):
            raise ParameterError(
                "step",
                "step='closed-form' belongs to the exponential cost; take 'line-search' for "
                f"cost={self.cost!r}.",
            )

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        return self._anyboost(weak, run, towards=False)

    def _as_printed(self) -> bool:
        return isinstance(self.step, str) and self.step == "printed"

    def _anyboost(self, weak: PreparedLearner, run: BoostingRun, towards: bool) -> Iterator[Round]:
        if self._as_printed() and run.before is not None:
            raise ParameterError(
                "step",
                "step='printed' divides by all the steps so far, which a model does not keep: "
                "fit it in one go, without warm_start.",
            )
        return anyboost(
            weak.learner,
            find_cost(self.cost),
            run.y,
            run.s,
            run.F,
            check_steps(self.step, self._named_steps),
            run.first,
            float(self.learning_rate),
            self.target,
            towards,
        )

    def _losses(self, F: FloatArray, y: Any) -> FloatArray:
        return find_cost(self.cost).value(np.maximum(y * F, -LARGEST_F))

    def _radius(self) -> float | None:
        """Return the radius of the hull that the certificate speaks of; None for the model's own
        Σ|w|."""
        return None

    def _prove(self, weak: PreparedLearner, run: BoostingRun, k: int, examples: Examples) -> Any:
        if weak.stumps is None:
            return GREEDY
        combination = self.ensembles_[k].combination()
        return HullPoint(
            combinations=(combination,),
            classes=np.array([run.label]),
            weights=examples.weights,
            cost=find_cost(self.cost),
            stumps=weak.stumps.with_those_of(combination.learners),
            radius=self._radius(),
        )

    def _probabilities(self, values: FloatArray) -> FloatArray:
        """Compute p with p·C'(F) = (1−p)·C'(−F), where p·C(F) + (1−p)·C(−F) is smallest.

        For the exponential cost it is (1.1) of Rugeles Ospina.
        """
        slope = find_cost(self.cost).slope
        F = np.clip(values, -LARGEST_F, LARGEST_F)
        up, down = np.abs(slope(-F)), np.abs(slope(F))
        total = up + down
        p = np.where(total > 0, up / np.where(total > 0, total, 1.0), 0.5)
        return _spread(np.asarray(p))


@dataclass(eq=False, repr=False, kw_only=True)
class ConvexAnyBoost(AnyBoost):
    """AnyBoost over a convex hull: F stays a combination with Σ|w| ≤ radius.

    F ← (1−a)F + a·radius·f, Algorithm 6 of Rugeles Ospina (with step="closed-form" Algorithm 7):
    the Frank–Wolfe method. Its certificate, for a convex cost and stumps: the gap to the best
    combination in the hull, exact since the best stump is. Other learners prove nothing.

    Parameters
    ----------
    weak_learner : "stump", "tree", "linear", Stump, Tree, LinearLearner or an estimator
    n_estimators : int, default=100
    cost : "exponential", "logistic", "squared hinge" or an object, default="exponential"
    radius : float, default=1.0
        The largest total weight Σ|w|.
    tol : float, default=0.01
        The relative gap that the fit must prove, gap/upper; it ends once it has, and warns if it
        has not.
        Only for learners that prove a gap.
    step : "line-search", "closed-form", "printed", "2/(m+2)", float, sequence or function
        How far F moves towards radius·f: the best a in [0, 1]; w/Σ|w| with w = ½ ln((1−err)/err);
        2/(m+2) in round m; or what is given. "printed" runs Algorithm 6 as it is printed:
        F ← F + w·f/Σ|w|, which leaves the hull, so that the certificate compares with all
        combinations of the model's own total weight, and `radius` plays no part.
    target : {"sign", "gradient"}, default="sign"
        As in `AnyBoost`.

    The other parameters and the attributes are those of `AdaBoost`.

    Examples
    --------
    >>> from cotas import ConvexAnyBoost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ConvexAnyBoost(radius=2.0, n_estimators=200).fit(X, y)
    >>> model.certificate_.relative_gap <= 0.01
    True
    """

    radius: float = 1.0
    tol: float = 0.01

    _named_steps = ("line-search", "closed-form", "printed", "2/(m+2)")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_rate(self.learning_rate, "learning_rate")
        check_positive(self.radius, "radius")

    def _radius(self) -> float | None:
        # As printed, F leaves the hull, and is compared with all of its own total weight.
        return None if self._as_printed() else float(self.radius)

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        if self._as_printed():
            return self._anyboost(weak, run, towards=True)
        return convex_anyboost(
            weak.learner,
            find_cost(self.cost),
            run.y,
            run.s,
            run.F,
            check_steps(self.step, self._named_steps),
            float(self.radius),
            # The gap before a round is exact where the learner is, so it may end the run; the
            # proof rounds outwards, which takes a millionth of it at most.
            0.0 if weak.stumps is None else (1 - 1e-6) * float(self.tol),
            run.first,
            float(self.learning_rate),
            self.target,
        )
