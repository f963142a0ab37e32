"""The passive-aggressive classifier of Fuentes Cabrera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cotas.certificates import (
    Certificate,
    PassiveAggressiveLedger,
    PassiveAggressiveMixture,
)
from cotas.certificates.blocks import Watched
from cotas.fitting.data import Examples
from cotas.fitting.parameters import check_positive
from cotas.linear.history import History
from cotas.linear.mixing import Mixture
from cotas.linear.online import OnlineClassifier
from cotas.solvers.online import Sampling
from cotas.solvers.passive_aggressive import PassiveAggressiveRule


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressive(OnlineClassifier):
    """The passive-aggressive algorithm, Algorithm 4 of Fuentes Cabrera (PA-I with C = 1/λ).

    At each example with a positive hinge loss θ moves just far enough to bring that loss to
    zero, but by no more than 1/λ times the example. The certificate is the PA-I mistake bound.

    Parameters
    ----------
    lam : float, default=1.0
        λ: the larger, the smaller the steps may be.
    average : bool, default=False
        Return the average of all nT vectors instead of the last one.
    fit_intercept : bool, default=True
        Whether to train θ₀, as one more coordinate of value 1.
    max_iter : int, default=100
        The most passes over the examples.
    shuffle : bool, default=False
        Take the examples in a new random order in each epoch instead of the order of the data.
    random_state, warm_start, class_weight, early_stopping, validation_fraction, \
n_iter_no_change, certify, n_jobs, max_time, callbacks, progress
        As in `Perceptron`. A weight s allows steps up to s/λ.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, n_iter_, stop_, stop_reason_, mistakes_per_epoch_
        As in `Perceptron`.

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]], [1, 1, -1, -1]
    >>> model = cotas.PassiveAggressive(lam=1.0).fit(X, y)
    >>> model.certificate_.verify(X, y)
    True
    """

    lam: float = 1.0
    average: bool = False
    max_iter: int = 100
    shuffle: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.lam, "lam")

    def _rule(self) -> PassiveAggressiveRule:
        return PassiveAggressiveRule(float(self.fit_intercept), float(self.lam))

    def _sampling(self) -> Sampling:
        return "permutation" if self.shuffle else "order"

    def _averages(self) -> bool:
        return bool(self.average)

    def _certify_mixture(self, mixture: Mixture, watched: Watched) -> list[Certificate]:
        ledgers = [
            PassiveAggressiveMixture(**self._mixture_fields(mixture, c), lam=float(self.lam))
            for c in range(len(self.coef_))
        ]
        return PassiveAggressiveMixture.check_all(ledgers, watched)

    def _certify(self, examples: Examples, history: History, *how: Any) -> list[Certificate]:
        ledgers = [
            PassiveAggressiveLedger(
                **self._ledger_fields(examples, history, c), lam=float(self.lam)
            )
            for c in range(len(self.coef_))
        ]
        return PassiveAggressiveLedger.check_all(ledgers, examples.X, examples.y, *how)
