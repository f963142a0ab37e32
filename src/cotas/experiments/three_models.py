"""The first boosting algorithm, which Rugeles Ospina begins with: a majority of three models."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

from sklearn.utils import check_random_state, check_scalar

from cotas.arrays import Each
from cotas.boosting.adaboost import ExponentialBooster
from cotas.boosting.training import BoostingRun
from cotas.boosting.weak_learners import PreparedLearner
from cotas.fitting.data import Examples
from cotas.solvers.boosting import Round
from cotas.solvers.three_models import three_models


class ThreeModels(ExponentialBooster):
    """Boosting by a majority of three (Schapire 1990; Rugeles Ospina, section 1.1).

    h₁ is trained on some of the examples, h₂ on others of which h₁ gets half wrong, and h₃ on those
    where h₁ and h₂ differ; the class is what two of the three say. Schapire proves that if each has
    an error of at most α on what it was trained for, the majority has at most 3α² − 2α³. It is
    here for comparison: `AdaBoost` needs no such draws. Its certificate: the training error is at
    most the mean of exp(−yF) with F = h₁ + h₂ + h₃.

    Parameters
    ----------
    weak_learner : "stump", "tree", "linear", Stump, Tree, LinearLearner or an estimator
    n_first : int, optional
        How many examples h₁ is trained on; a third of them if not given.
    certify : bool, default=True
    n_jobs : int, optional
    random_state : int, RandomState or None
        For the draws.

    The attributes are those of `AdaBoost`.

    Examples
    --------
    >>> from cotas.experiments import ThreeModels
    >>> from cotas.experiments.samples import two_gaussians
    >>> training, new = two_gaussians(seed=0)
    >>> model = ThreeModels(random_state=0).fit(*training)
    >>> len(model.estimators_), model.certificate_.holds
    (3, True)
    """

    n_estimators, learning_rate, step, max_time = 3, 1.0, 1.0, None
    early_stopping, validation_fraction, n_iter_no_change = False, 0.1, 10
    class_weight, warm_start, callbacks, progress = None, False, None, False

    def __init__(
        self,
        weak_learner: Any = "stump",
        *,
        n_first: int | None = None,
        certify: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.weak_learner = weak_learner
        self.n_first = n_first
        self.certify = certify
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_first is not None:
            check_scalar(self.n_first, "n_first", Integral, min_val=1)

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        n_first = max(1, len(run.y) // 3) if self.n_first is None else int(self.n_first)
        random = check_random_state(self.random_state)
        return three_models(weak.learner, run.y, run.s, run.F, n_first, random)

    def _claims(self, weak: PreparedLearner, examples: Examples) -> dict[str, Any]:
        return {"discrete": True}
