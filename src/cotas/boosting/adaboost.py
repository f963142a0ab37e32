"""AdaBoost, discrete and real."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.boosting.training import Booster, Machine, check_steps
from cotas.boosting.weak_learners import Prepared
from cotas.certificates.boosting import BoostingLedger
from cotas.fitting.data import Examples
from cotas.losses import Exponential
from cotas.solvers.boosting import Round, Steps, adaboost, real_adaboost

MARGINS_UP_TO = 1 << 23  # entries of X


class ExponentialBooster(Booster):
    """What the algorithms that descend on J(F) = E[exp(−yF)] share."""

    _log_losses: Any

    def _losses(self, F: FloatArray, y: Any) -> FloatArray:
        return Exponential().value(np.maximum(y * F, -700.0))

    def _claims(self, weak: Prepared, n_entries: int) -> dict[str, Any]:
        """What the certificate says beyond the bound, for an X with so many entries."""
        return {}

    def _prove(self, weak: Prepared, machine: Machine, k: int, examples: Examples) -> Any:
        logs = self._log_losses[k] if isinstance(self._log_losses, list) else self._log_losses
        return BoostingLedger(
            combination=self.ensembles_[k].combination(),
            positive=machine.label,
            weights=examples.weights,
            cost=Exponential(),
            log_losses=np.concatenate([[0.0], logs]),  # J = 1 at F = 0
            **self._claims(weak, examples.n_rows * examples.X.shape[1]),
        )


class AdaBoost(ExponentialBooster):
    """Discrete AdaBoost: each round a classifier of ±1 on reweighted examples.

    F ← F + ½ ln((1−err)/err)·f, Algorithm 1 of document 001. Its certificate: the training error
    is at most Π 2√(err(1−err)), which is the exponential loss of the model; after each round the
    weighted error of its learner is ½ (Corollary 1); and with stumps, if X has at most 2²³
    entries, how far the smallest margin is from the largest that any combination reaches. More
    than two classes: one against the rest.

    Parameters
    ----------
    weak_learner : "stump", "tree", "linear", Stump, Tree, LinearLearner or an estimator
        What each round trains. An estimator of scikit-learn must take sample_weight.
    n_rounds : int, default=100
        The most rounds; a learner without mistakes, or one no better than chance, ends the run.
    step : "closed-form", "line-search", float, sequence or function, default="closed-form"
        The coefficient of each round: ½ ln((1−err)/err), which is also what a line search finds, a
        number, numbers, or a function of the round, counted from one.
    class_weight : dict or "balanced", optional
        Multiplies the weights of the examples.
    early_stopping : bool, default=False
        Set `validation_fraction` of the examples aside, end when `n_rounds_no_change` rounds
        brought no smaller mean cost there, and keep the rounds up to the smallest.
    validation_fraction : float, default=0.1
    n_rounds_no_change : int, default=10
    warm_start : bool, default=False
        Whether another fit adds rounds to the model.
    certify : bool, default=True
        Whether to prove the result.
    n_jobs : int, optional
        Threads; all cores if not given.
    random_state : int, RandomState or None
        For the validation fraction, and for estimators that draw random numbers.
    callbacks : function or list of functions, optional
        Called with a `RoundReport` after each round; a true answer ends the run.
    progress : bool, optional
        A progress bar: shown if someone watches, unless told otherwise.

    Attributes
    ----------
    certificate_ : Certificate
        One for each class with more than two.
    n_rounds_ : int
    estimator_weights_ : array
        The coefficient of each round.
    round_errors_, round_edges_, round_losses_ : arrays
        Of each round: the weighted error, −⟨∇H(F), f⟩, and the loss after it.
    feature_importances_ : array
    stop_reason_ : str

    Examples
    --------
    >>> from cotas import AdaBoost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoost(n_rounds=50).fit(X, y)
    >>> model.certificate_.holds
    True
    >>> model.certificate_.lower <= model.certificate_.upper < 0.1
    True
    >>> model[:5].score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        weak_learner: Any = "stump",
        n_rounds: int = 100,
        *,
        step: Any = "closed-form",
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
        super().__init__(
            weak_learner,
            n_rounds,
            step=step,
            class_weight=class_weight,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_rounds_no_change=n_rounds_no_change,
            warm_start=warm_start,
            certify=certify,
            n_jobs=n_jobs,
            random_state=random_state,
            callbacks=callbacks,
            progress=progress,
        )

    def _steps(self) -> Steps | None:
        chosen = check_steps(self.step, ("closed-form", "line-search"))
        return None if isinstance(chosen, str) else chosen

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._steps()

    def _rounds(self, weak: Prepared, machine: Machine, each: Each) -> Iterator[Round]:
        spent = 0.0 if machine.before is None else float(np.abs(machine.before[0].steps).sum())
        return adaboost(
            weak.learner,
            machine.y,
            machine.s,
            machine.F,
            self._steps(),
            spent,
            machine.first,
            each,
        )

    def _claims(self, weak: Prepared, n_entries: int) -> dict[str, Any]:
        # The margins take as long to prove as a dozen rounds of the algorithm.
        return {
            "discrete": True,
            "closed_form": self._steps() is None,
            "stumps": weak.stumps if n_entries <= MARGINS_UP_TO else None,
        }


class RealAdaBoost(ExponentialBooster):
    """Real AdaBoost: each round adds half the log-odds that its learner estimates.

    F ← F + ½ ln(p/(1−p)), Algorithm 2 of document 001, p clipped to [1e-6, 1 − 1e-6]. Its
    certificate: the training error is at most the exponential loss of the model.

    Parameters
    ----------
    weak_learner : "stump", "tree", Stump, Tree or a classifier with predict_proba
    step : float, sequence or function, default=1.0
        Multiplies what each round adds.

    The other parameters and the attributes are those of `AdaBoost`.

    Examples
    --------
    >>> from cotas import RealAdaBoost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> RealAdaBoost("tree", n_rounds=10).fit(X, y).certificate_.holds
    True
    """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_steps(self.step, ())

    def _rounds(self, weak: Prepared, machine: Machine, each: Each) -> Iterator[Round]:
        return real_adaboost(
            weak.learner,
            machine.y,
            machine.s,
            machine.F,
            check_steps(self.step, ()),  # type: ignore[arg-type]
            machine.first,
            each,
        )
