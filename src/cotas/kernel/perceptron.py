"""The perceptron in feature space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, KernelPerceptronLedger
from cotas.fitting.data import Examples
from cotas.kernel.online import OnlineKernelClassifier
from cotas.solvers.kernel_online import KernelRun
from cotas.solvers.kernel_perceptron import KernelPerceptronRule
from cotas.solvers.online import Sampling


@dataclass(eq=False, repr=False, kw_only=True)
class KernelPerceptron(OnlineKernelClassifier):
    """The perceptron of Fuentes Cabrera with the kernel trick of Fuentes-Pineda.

    Goes through the examples and adds yφ(x) to θ (and y to θ₀) whenever y(θ·φ(x) + θ₀) ≤ 0, until
    an epoch brings no mistake or `max_iter` are over. φ appears in k(x, x′) = φ(x)·φ(x′) only.
    The certificate is Theorem 3.1 in feature space: the mistakes made against the (R/γ)² that it
    allows, with R² = max k(x, x), plus one with a bias.

    Parameters
    ----------
    kernel : Kernel or str, optional
        A kernel of `cotas.kernels`, or "rbf", "linear", "poly", "cosine", "precomputed". None and
        "rbf" stand for an RBF with γ = 1/(n_features·Var(X)), as in scikit-learn.
    fit_intercept : bool, default=True
        Whether to train θ₀ or keep it at zero.
    max_iter : int, default=100
        The most passes over the examples.
    shuffle : bool, default=False
        Take the examples in a new random order in each epoch instead of the order of the data.
    random_state : int, RandomState or None
        For `shuffle`.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights, class by class.
    cache_mb : float, default=200
        Megabytes for rows of the Gram matrix.
    indefinite : {"refuse", "allow"}, default="refuse"
        What to do with a kernel that is seen not to be positive semi-definite. It then has no
        feature space, and the model no certificate.
    n_jobs : int or None
        Threads for the proof and the predictions; None means all cores, but one inside a worker of
        joblib.
    max_time : float or None
        Seconds after the call of `fit` at which it ends with the model so far.
    callbacks : callable or list of callables, optional
        Called with an `EpochReport` after each epoch; returning True ends the fit.
    progress : bool or None
        Show a progress bar; None shows it for fits longer than a second if somebody watches.

    Attributes
    ----------
    kernel_ : Kernel
    support_ : array of row numbers, those with a coefficient in any class
    support_vectors_ : their rows; none for a precomputed kernel
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support) with βᵢ
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of labels; the second counts as +1, the first as −1
    certificate_ : Certificate, with a part for each of more than two classes
    n_iter_ : epochs done
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words
    mistakes_per_epoch_, updates_per_epoch_ : arrays with a row for each epoch

    Examples
    --------
    >>> import cotas
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> model = cotas.KernelPerceptron(cotas.kernels.Polynomial(2)).fit(X, y)
    >>> model.predict(X)
    array([-1, -1,  1,  1])
    >>> model.certificate_.kind, model.certificate_.holds
    ('mistakes', True)
    """

    max_iter: int = 100
    shuffle: bool = False

    _rests = True

    def _rule(self) -> KernelPerceptronRule:
        return KernelPerceptronRule(float(self.fit_intercept))

    def _sampling(self) -> Sampling:
        return "permutation" if self.shuffle else "order"

    def _coefficients(self, run: KernelRun, weights: FloatArray) -> FloatArray:
        return run.counts * weights * run.signs

    def _certify(
        self, examples: Examples, run: KernelRun, counts: FloatArray, beta: FloatArray, each: Each
    ) -> list[Certificate]:
        labels = self.classes_[examples.positives()]
        ledgers = [
            KernelPerceptronLedger(
                kernel=self.kernel_,
                coef=beta[c],
                intercept=float(self.intercept_[c]),
                positive=labels[c],
                bias=float(self.fit_intercept),
                updates=counts[c],
                mistakes=int(run.mistakes[c]),
                presentations=int(run.seen[c]),
                weights=None if examples.weights is None else np.asarray(examples.weights),
            )
            for c in range(len(beta))
        ]
        return KernelPerceptronLedger.check_all(ledgers, examples.X, examples.y, each=each)
