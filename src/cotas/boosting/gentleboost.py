"""GentleBoost: Newton steps for the exponential cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cotas.boosting.adaboost import ExponentialBooster
from cotas.boosting.training import Machine, check_steps
from cotas.boosting.weak_learners import LinearLearner, Prepared, resolve
from cotas.solvers.binning import Each
from cotas.solvers.boosting import Round, gentleboost


class GentleBoost(ExponentialBooster):
    """GentleBoost: each round adds the weighted mean of y, which is never above 1.

    F ← F + E_w[y|x], Algorithm 4 of document 001. Its certificate: the training error is at most
    the exponential loss of the model, and |f| ≤ 1 in every round of stumps or trees.

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
    >>> model = GentleBoost(n_rounds=20).fit(X, y)
    >>> model.certificate_.figures["largest |f|"] <= 1
    True
    """

    def __init__(
        self,
        weak_learner: Any = "stump",
        n_rounds: int = 100,
        *,
        step: Any = 1.0,
        class_weight: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_rounds_no_change: int = 10,
        warm_start: bool = False,
        certify: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.weak_learner = weak_learner
        self.n_rounds = n_rounds
        self.step = step
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_rounds_no_change = n_rounds_no_change
        self.warm_start = warm_start
        self.certify = certify
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.progress = progress

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_steps(self.step, ())

    def _rounds(self, weak: Prepared, machine: Machine, each: Each) -> Iterator[Round]:
        return gentleboost(
            weak.learner,
            machine.y,
            machine.s,
            machine.F,
            check_steps(self.step, ()),  # type: ignore[arg-type]
            machine.first,
            each,
        )

    def _claims(self, weak: Prepared, n_entries: int) -> dict[str, Any]:
        # A mean of ±1 lies between them; a linear regression may leave them.
        return {"bounded": not isinstance(resolve(self.weak_learner), LinearLearner)}
