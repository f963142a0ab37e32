"""AdaBoost, discrete and real."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from cotas.arrays import Each, FloatArray, Matrix
from cotas.boosting.base import BoostedClassifier
from cotas.boosting.ensemble import ClassFunction, Ensemble, WeakFunction, votes_of
from cotas.boosting.from_source import BlockExamples
from cotas.boosting.training import Booster, BoostingRun, check_steps
from cotas.boosting.weak_learners import PreparedLearner
from cotas.certificates.theorems.surrogates import SurrogateBound
from cotas.fitting.data import Examples
from cotas.losses import Exponential
from cotas.refusals import ParameterError
from cotas.solvers.boosting import Round, Steps, adaboost, real_adaboost, slowed
from cotas.solvers.samme import samme

MARGINS_UP_TO = 1 << 23  # entries of X


class ExponentialBooster(BoostedClassifier, Booster):
    """The base of the algorithms that descend on J(F) = E[exp(−yF)]."""

    def _losses(self, F: FloatArray, y: Any) -> FloatArray:
        return Exponential().value(np.maximum(y * F, -700.0))

    _takes_blocks: ClassVar[bool] = True

    def _claims(self, weak: PreparedLearner, examples: Examples) -> dict[str, Any]:
        """Return what the certificate says beyond the bound."""
        return {}

    def _prove(self, weak: PreparedLearner, run: BoostingRun, k: int, examples: Examples) -> Any:
        return SurrogateBound(
            **self._claims(weak, examples),
            combinations=(self.ensembles_[k].combination(),),
            classes=np.array([run.label]),
            weights=examples.weights,
            surrogate="exponential",
        )


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoost(ExponentialBooster):
    """Discrete AdaBoost: each round a classifier of ±1 on reweighted examples.

    F ← F + ½ ln((1−err)/err)·f, Algorithm 1 of Rugeles Ospina. Its certificate: the training error
    is at most the exponential loss of the model, which is Π 2√(err(1−err)) with the closed form;
    how far the weighted error of a learner is from ½ after its round (Corollary 1); and with
    stumps, if X has at most 2²³ entries, how far the smallest margin is from the largest that any
    combination reaches.

    More than two classes: one against the rest, with a certificate for each, or SAMME, where each
    round's learner names one of the classes. Its certificate: the training error is at most the
    mean of exp(−θ·margin), the margin being the votes for the right class less those for the best
    other, and after each round the weighted error is 1 − 1/K.

    Parameters
    ----------
    weak_learner : "stump", "tree", "linear", Stump, Tree, LinearLearner or an estimator
        What each round trains. An estimator of scikit-learn must take sample_weight.
    n_estimators : int, default=100
        The most rounds; a learner without mistakes, or one no better than chance, ends the run.
    learning_rate : float, default=1.0
        Multiplies the coefficient of each round; 1 is the algorithm as it is printed.
    step : "closed-form", "line-search", float, sequence or function, default="closed-form"
        The coefficient of each round: ½ ln((1−err)/err), which is also what a line search finds, a
        number, numbers, or a function of the round, counted from one.
    multiclass : {"ovr", "samme"}, default="ovr"
        What to do with K > 2 classes: K machines of ±1, or one whose learners name a class, which
        trains K times fewer of them. SAMME is for histogram stumps, trees and classifiers, and its
        coefficient is ½ ln((1−err)/err) + ½ ln(K−1), half of scikit-learn's.
    class_weight : dict or "balanced", optional
        Multiplies the weights of the examples.
    early_stopping : bool, default=False
        Set `validation_fraction` of the examples aside, end when `n_iter_no_change` rounds
        brought no smaller mean cost there, and keep the rounds up to the smallest.
    validation_fraction : float or array of bool, default=0.1
        How many are drawn, or which rows they are.
    n_iter_no_change : int, default=10
    warm_start : bool, default=False
        Whether another fit adds rounds to the model.
    certify : bool, default=True
        Whether to prove the result.
    n_jobs : int, optional
        Threads for the fit and its proof; all cores if not given, but one inside a worker of
        joblib.
    max_time : float, optional
        Seconds after the call of `fit` at which no further round is begun.
    random_state : int, RandomState or None
        For the validation fraction, and for estimators that draw random numbers.
    callbacks : function or list of functions, optional
        Called with a `RoundReport` after each round; a true answer ends the run.
    progress : bool, optional
        A progress bar: shown if someone watches, unless told otherwise.

    Attributes
    ----------
    certificate_ : Certificate
        One for each class with more than two that are trained one against the rest.
    n_rounds_ : int
    estimators_ : list
        The function of each round, with `predict`; of other libraries the fitted estimator itself.
        With several classes a list for each, but for SAMME, whose functions name a class.
    estimator_weights_ : array
        The coefficient of each round.
    round_errors_, round_edges_, round_losses_ : arrays
        Of each round: the weighted error, −⟨∇H(F), f⟩, and the loss after it.
    feature_importances_ : array
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words

    Examples
    --------
    >>> from cotas import AdaBoost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoost(n_estimators=50).fit(X, y)
    >>> model.certificate_.holds
    True
    >>> model.certificate_.lower <= model.certificate_.upper < 0.1
    True
    >>> model[:5].score(X, y) > 0.9
    True

    Three classes in one machine:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoost("tree", n_estimators=20, multiclass="samme").fit(X, y)
    >>> model.score(X, y), model.certificate_.holds
    (1.0, True)
    """

    step: Any = "closed-form"
    multiclass: str = "ovr"

    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"multiclass": ("ovr", "samme")}
    _named_steps: ClassVar[tuple[str, ...]] = ("closed-form", "line-search")

    @property
    def estimator_weights_(self) -> FloatArray | list[FloatArray]:
        """Return cₘ of each round; a list with several classes that are trained one against the
        rest."""
        found = super().estimator_weights_
        return found[0] if self._votes() and isinstance(found, list) else found

    @property
    def estimators_(self) -> list[Any]:
        """Return fₘ of each round, with `predict`; a list for each of several classes, but for
        SAMME."""
        found = super().estimators_
        if not self._votes():
            return found
        if isinstance(found[0][0] if found[0] else None, WeakFunction):
            rounds = range(self.n_rounds_)
            return [ClassFunction(self.ensembles_, m, self.classes_) for m in rounds]
        return list(found[0])

    def _votes(self) -> bool:
        """Tell whether each round names one of more than two classes."""
        return self.multiclass == "samme" and len(self.classes_) > 2

    def _steps(self) -> Steps | None:
        chosen = check_steps(self.step, self._named_steps)
        return None if isinstance(chosen, str) else chosen

    def _runs(self, examples: Examples, before: list[Ensemble] | None) -> list[BoostingRun]:
        if before is not None and self._votes() != getattr(self, "_voted", self._votes()):
            raise ParameterError(
                "warm_start",
                "warm_start=True goes on with the machines there are, and multiclass was changed "
                "since. Fit with warm_start=False, or set multiclass back.",
            )
        self._voted = self._votes()
        if not self._voted:
            return super()._runs(examples, before)
        votes = np.zeros((examples.n_rows, len(examples.classes)))
        if before is not None:
            votes[:] = votes_of(before, examples.X)
        return [BoostingRun(None, examples.codes, examples.shares(), votes, before)]

    def _block_runs(self, examples: BlockExamples) -> list[Any]:
        self._voted = self._votes()
        return [examples.run(together=True)] if self._voted else super()._block_runs(examples)

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        spent = 0.0 if run.before is None else float(np.abs(run.before[0].steps).sum())
        how = (self._steps(), spent, run.first)
        rate = float(self.learning_rate)
        if self._votes():
            return samme(weak.learner, run.of_votes(each), *how, rate)
        return adaboost(weak.learner, run.exponential(each), *how, rate)

    def _losses(self, F: FloatArray, y: Any) -> FloatArray:
        if F.ndim == 1:
            return super()._losses(F, y)
        exponents = F.mean(axis=1) - F[np.arange(len(F)), y]
        return np.asarray(np.exp(np.minimum(exponents, 700.0)))

    def _prove(self, weak: PreparedLearner, run: BoostingRun, k: int, examples: Examples) -> Any:
        if not self._votes():
            return super()._prove(weak, run, k, examples)
        return SurrogateBound(
            combinations=tuple(e.combination() for e in self.ensembles_),
            classes=examples.classes,
            weights=examples.weights,
            surrogate="votes",
            discrete=True,
        )

    def _totals(self, X: Matrix) -> FloatArray:
        return votes_of(self.ensembles_, X) if self._voted else super()._totals(X)

    def _probabilities(self, values: FloatArray) -> FloatArray:
        # The loss over all functions is smallest where F_k is ln P(k|x) up to a constant.
        if not self._voted:
            return super()._probabilities(values)
        return np.asarray(softmax(values, axis=1))

    def _claims(self, weak: PreparedLearner, examples: Examples) -> dict[str, Any]:
        # The margins take as long to prove as a dozen rounds of the algorithm.
        return {
            "discrete": True,
            "stumps": weak.stumps if examples.n_entries <= MARGINS_UP_TO else None,
        }


class RealAdaBoost(ExponentialBooster):
    """Real AdaBoost: each round adds half the log-odds that its learner estimates.

    F ← F + ½ ln(p/(1−p)), Algorithm 2 of Rugeles Ospina, p clipped to [1e-6, 1 − 1e-6]. Its
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
    >>> RealAdaBoost("tree", n_estimators=10).fit(X, y).certificate_.holds
    True
    """

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        steps: Steps = check_steps(self.step, ())  # type: ignore[assignment]
        weights, steps = run.exponential(each), slowed(steps, float(self.learning_rate))
        return real_adaboost(weak.learner, weights, steps, run.first)
