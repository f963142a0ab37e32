"""GentleBoost: Newton steps for the exponential cost."""

from __future__ import annotations

from collections.abc import Iterator

from cotas.arrays import Each
from cotas.boosting.adaboost import ExponentialBooster
from cotas.boosting.training import BoostingRun, check_steps
from cotas.boosting.weak_learners import PreparedLearner
from cotas.solvers.boosting import Round, Steps, gentleboost, slowed


class GentleBoost(ExponentialBooster):
    """GentleBoost: each round adds the weighted mean of y, which is never above 1.

    F ← F + E_w[y|x], Algorithm 4 of Rugeles Ospina. Its certificate: the training error is at most
    the exponential loss of the model, and the largest |f|, which for stumps and trees is at most 1.

    Parameters
    ----------
    weak_learner : "stump", "tree", "linear", Stump, Tree, LinearLearner or a regressor
    step : float, sequence or function, default=1.0
        Multiplies what each round adds.

    The other parameters and the attributes are those of `AdaBoost`.

    Examples
    --------
    >>> from cotas import GentleBoost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GentleBoost(n_estimators=20).fit(X, y)
    >>> model.certificate_.figures["largest |f|"] <= 1
    True
    """

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        steps: Steps = check_steps(self.step, ())  # type: ignore[assignment]
        weights, steps = run.exponential(each), slowed(steps, float(self.learning_rate))
        return gentleboost(weak.learner, weights, steps, run.first)
