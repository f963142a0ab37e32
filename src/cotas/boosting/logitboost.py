"""LogitBoost: Newton steps for the log-likelihood, with two classes or more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

from cotas.arrays import Each, FloatArray
from cotas.boosting.base import BoostedClassifier
from cotas.boosting.ensemble import Ensemble
from cotas.boosting.from_source import BlockExamples
from cotas.boosting.training import Booster, BoostingRun, check_steps
from cotas.boosting.weak_learners import PreparedLearner
from cotas.certificates.theorems.surrogates import SurrogateBound
from cotas.fitting.data import Examples
from cotas.losses import Logistic
from cotas.solvers.boosting import Round, Steps, logitboost, logitboost_classes, slowed, step_of
from cotas.solvers.logistic_weights import centred


@dataclass(eq=False, repr=False, kw_only=True)
class LogitBoost(BoostedClassifier, Booster):
    """LogitBoost: each round a weighted regression on the working response of the likelihood.

    F ← F + ½ f with f the least-squares fit of z = (y* − p)/(p(1−p)): Algorithm 3 of Rugeles Ospina
    z kept in [−4, 4] as Friedman, Hastie and Tibshirani do, whom the document follows. More than
    two classes are trained together, one function for each class in a round. Its certificate: the
    training error is at most the negative log-likelihood in bits.

    Parameters
    ----------
    weak_learner : "stump", "tree", "linear", Stump, Tree, LinearLearner or a regressor
    step : float, sequence or function, default=1.0
        Multiplies what each round adds.
    safeguard : bool, default=True
        Whether a step that would lower the likelihood is halved until it raises it; where the
        clipping of z leaves none, and after a step that was halved, the round fits z as it is.
        Without it every step is taken, as the document prints it.

    The other parameters and the attributes are those of `AdaBoost`.

    Examples
    --------
    >>> from cotas import LogitBoost
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogitBoost(n_estimators=20).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    >>> model.certificate_.holds
    True
    """

    safeguard: bool = True

    _takes_blocks: ClassVar[bool] = True

    def _runs(self, examples: Examples, before: list[Ensemble] | None) -> list[BoostingRun]:
        """Return one run for all the classes."""
        K = len(examples.classes)
        if K == 2:
            return super()._runs(examples, before)
        T = np.zeros((examples.n_rows, K))
        for k, ensemble in enumerate(before or []):
            T[:, k] = ensemble.values(examples.X)
        return [BoostingRun(None, examples.codes, examples.shares(), T, before)]

    def _block_runs(self, examples: BlockExamples) -> list[Any]:
        if len(examples.classes) == 2:
            return super()._block_runs(examples)
        return [examples.run(together=True)]

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        steps: Steps = check_steps(self.step, ())  # type: ignore[assignment]
        steps = slowed(steps, float(self.learning_rate))
        several = run.n_functions > 1
        taken = run.before[0].coefficients if run.before else ()
        whole = 1.0 if several else 0.5
        halved = any(c < whole * step_of(steps, m) for m, c in enumerate(taken, start=1))
        how = (steps, run.first, bool(self.safeguard), halved)
        if several:
            return logitboost_classes(weak.learner, run.of_classes(), *how)
        return logitboost(weak.learner, run.logistic(each), *how)

    def _losses(self, F: FloatArray, y: Any) -> FloatArray:
        if F.ndim == 1:
            return Logistic().value(2 * y * F)
        return np.asarray(-log_softmax(centred(F), axis=1)[np.arange(len(F)), y])

    def _prove(self, weak: PreparedLearner, run: BoostingRun, k: int, examples: Examples) -> Any:
        return SurrogateBound(
            combinations=tuple(e.combination() for e in self.ensembles_),
            classes=examples.classes if run.n_functions > 1 else np.array([run.label]),
            weights=examples.weights,
            surrogate="likelihood",
        )

    def _decided(self, values: FloatArray) -> FloatArray:
        return super()._decided(values if values.shape[1] == 1 else centred(values))

    def _probabilities(self, values: FloatArray) -> FloatArray:
        if values.ndim == 1:
            return super()._probabilities(values)
        return np.asarray(softmax(values, axis=1))
