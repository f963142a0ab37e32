"""The perceptron and the averaged perceptron of Fuentes Cabrera."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate, PerceptronLedger, PerceptronMixture, Separability
from cotas.certificates.blocks import Watched
from cotas.fitting.data import Examples
from cotas.fitting.parameters import check_parameters
from cotas.linear.history import History
from cotas.linear.mixing import Mixture
from cotas.linear.online import OnlineClassifier
from cotas.linear.separability import tightest_separator
from cotas.refusals import ParameterError
from cotas.solvers.online import Sampling
from cotas.solvers.perceptron import PerceptronRule


@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(OnlineClassifier):
    """The perceptron, Algorithms 1 and 2 of Fuentes Cabrera.

    Goes through the examples and adds yx to θ (and y to θ₀) whenever y(θ·x + θ₀) ≤ 0, until an
    epoch brings no mistake or `max_iter` are over. The certificate is the ledger of Theorem
    3.1: the mistakes made against the (R/γ)² that the theorem allows.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to train θ₀ (Algorithm 2) or keep it at zero (Algorithm 1).
    max_iter : int, default=100
        The most passes over the examples (T in the document).
    shuffle : bool, default=False
        Take the examples in a new random order in each epoch instead of the order of the data.
    separator : {"model", "tightest"}, default="model"
        Where the γ of the certificate comes from: from the model itself, or from the separator
        with the largest margin of all, which costs more and gives the smallest bound. If nothing
        separates the data, "tightest" attaches the proof of that.
    random_state : int, RandomState or None
        For `shuffle` and for the validation split.
    warm_start : bool, default=False
        Whether `fit` continues from the previous model.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights, class by class.
    early_stopping : bool, default=False
        Hold `validation_fraction` of the examples out and stop after `n_iter_no_change` epochs
        without a better accuracy there. The model is the one of the last epoch.
    validation_fraction : float or array of bool, default=0.1
        How many are drawn, or which rows they are.
    n_iter_no_change : int, default=5
    certify : bool, default=True
        Whether to prove the certificate, which takes about two passes over the data. Without it
        `certificate_` says that nothing was proved.
    n_jobs : int or None
        Threads for the classes and for the proof; None uses every core, but inside a worker of
        joblib only one.
    max_time : float or None
        Seconds after the call of `fit` at which it ends with the model so far.
    callbacks : callable or list of callables, optional
        Called with an `EpochReport` after each epoch; returning True ends the fit.
    progress : bool or None
        Show a progress bar; None shows it for fits longer than a second if somebody watches.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of labels; the second counts as +1, the first as −1
    certificate_ : Certificate, with a part for each of more than two classes
    n_iter_ : epochs done
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words
    mistakes_per_epoch_ : array of shape (n_iter_, 1) or (n_iter_, n_classes)

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 2.0], [-1.0, -2.0], [-2.0, -1.0]], [1, 1, -1, -1]
    >>> model = cotas.Perceptron().fit(X, y)
    >>> model.coef_, model.intercept_
    (array([[2., 1.]]), array([1.]))
    >>> print(model.certificate_)
    Certificate: mistakes, holds
      The run made 1 mistakes in 8 presentations; ((R + D)/γ)² allows at most 3.34...
      ...
    """

    max_iter: int = 100
    shuffle: bool = False
    separator: str = "model"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_parameters(self, separator=("model", "tightest"))

    def _rule(self) -> PerceptronRule:
        return PerceptronRule(float(self.fit_intercept))

    def _sampling(self) -> Sampling:
        return "permutation" if self.shuffle else "order"

    def _refuse_in_blocks(self) -> None:
        super()._refuse_in_blocks()
        if self.separator == "tightest":
            raise ParameterError(
                "separator", "separator='tightest' needs rows in memory; a source has 'model'."
            )

    def _certify_mixture(self, mixture: Mixture, watched: Watched) -> list[Certificate]:
        ledgers = [
            PerceptronMixture(**self._mixture_fields(mixture, c)) for c in range(len(self.coef_))
        ]
        return PerceptronMixture.check_all(ledgers, watched)

    def _certify(self, examples: Examples, history: History, *how: Any) -> list[Certificate]:
        ledgers = [
            PerceptronLedger(**self._ledger_fields(examples, history, c))
            for c in range(len(self.coef_))
        ]
        if self.separator == "model":
            return PerceptronLedger.check_all(ledgers, examples.X, examples.y, *how)
        found = [
            tightest_separator(examples.X, examples.y == ledger.positive, ledger)
            for ledger in ledgers
        ]
        ledgers = [
            ledger if answer.coef is None else replace(ledger, separator=_vector(answer))
            for ledger, answer in zip(ledgers, found, strict=True)
        ]
        certificates = PerceptronLedger.check_all(ledgers, examples.X, examples.y, *how)
        return [
            certificate.noted(str(answer.certificate.statement))
            for certificate, answer in zip(certificates, found, strict=True)
        ]


def _vector(answer: Separability) -> FloatArray:
    """Return the separator that was found, as one extended vector."""
    return np.append(np.asarray(answer.coef), float(answer.intercept or 0.0))


class AveragedPerceptron(Perceptron):
    """The averaged perceptron, Algorithm 3 of Fuentes Cabrera.

    Runs exactly like `Perceptron` and returns the average of the nT vectors that the run went
    through, which serves better when the data are not separable. The certificate is the ledger
    of the run, and shows that the model is the average of that run.

    Parameters and attributes are those of `Perceptron`. Once an epoch brings no mistake the
    remaining epochs cannot change θ; they are not run, but counted in the average.

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [2.0, 1.5]], [1, 1, -1, -1]
    >>> cotas.AveragedPerceptron(max_iter=10).fit(X, y).predict([[1.0, 2.0]])
    array([1])
    """

    def _averages(self) -> bool:
        return True
