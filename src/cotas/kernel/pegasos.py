"""PEGASOS in feature space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cotas.arrays import Each, FloatArray, IntArray
from cotas.certificates import Certificate, KernelDualPoint
from cotas.certificates.kernel import KernelChecker
from cotas.fitting.data import Examples
from cotas.fitting.parameters import check_parameters, penalty_of
from cotas.kernel.online import OnlineKernelClassifier
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.solvers.bias import best_bias
from cotas.solvers.kernel_online import KernelRun
from cotas.solvers.kernel_pegasos import KernelPegasosRule
from cotas.solvers.online import Sampling
from cotas.stops import Reason

SAMPLINGS = ("permutation", "replacement", "order")


@dataclass(eq=False, repr=False, kw_only=True)
class KernelPegasos(OnlineKernelClassifier):
    """The kernelized PEGASOS of Fuentes-Pineda.

    Minimises the objective of the support vector machine in the feature space of a kernel,

        mean hinge loss + (λ/2)‖θ‖²,    the bias not penalized,

    by counting how often each example violates its margin: θ = (1/λt) Σ countᵢ yᵢ φ(xᵢ) after t
    steps. The counts are a dual point too, so the certificate is the duality gap: nothing in the
    feature space has an objective below `certificate_.lower`; this model has `certificate_.upper`.

    Parameters
    ----------
    kernel : Kernel or str, optional
        As in `KernelPerceptron`.
    lam : float, default=1e-3
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`, the other convention: λ = 1/(C · sum of the weights).
    max_iter : int, default=20
        Passes over the examples.
    sampling : {"permutation", "replacement", "order"}, default="permutation"
        A new random order in each epoch, independent draws as the document has it, or the order
        of the data.
    tol : float or None
        Stop as soon as a proved relative gap, (P − D)/P, is at most `tol`, and warn if that never
        happens. The proof takes as long as several epochs, so it is tried less often as the run
        goes on.
    fit_intercept : bool, default=True
        Whether to train θ₀. Each violation moves it by min(η, 1/√t)·y; at the end of `fit` it is
        set to the best value for θ, which a sort of the scores finds.
    random_state, class_weight, cache_mb, indefinite, n_jobs, max_time, callbacks, progress
        As in `KernelPerceptron`. Weights are those of the mean in the objective.

    Attributes
    ----------
    kernel_, support_, support_vectors_, dual_coef_, intercept_, classes_, certificate_, n_iter_, \
stop_, stop_reason_, mistakes_per_epoch_, updates_per_epoch_
        As in `KernelPerceptron`.
    lam_ : float, λ

    Examples
    --------
    >>> import cotas
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> model = cotas.KernelPegasos(cotas.kernels.RBF(0.5), lam=0.1, max_iter=500,
    ...                             random_state=0).fit(X, y)
    >>> model.predict(X)
    array([-1, -1,  1,  1])
    >>> model.certificate_.relative_gap < 0.01
    True
    """

    lam: float = 1e-3
    C: float | None = None
    max_iter: int = 20
    sampling: str = "permutation"
    tol: float | None = None

    def _check_parameters(self) -> None:
        check_parameters(self, sampling=SAMPLINGS)

    def _rule(self) -> KernelPegasosRule:
        return KernelPegasosRule(float(self.fit_intercept), self.lam_)

    def _run(self, examples: Examples, used: IntArray, run: KernelRun, began: float) -> Reason:
        self.lam_ = penalty_of(self, examples.total_weight())
        return super()._run(examples, used, run, began)

    def _sampling(self) -> Sampling:
        return self.sampling  # type: ignore[return-value]

    def _run_weights(self, weights: FloatArray) -> FloatArray:
        """Compute n·sᵢ, so that a draw of one example is right on average."""
        return np.asarray(weights * (len(weights) / weights.sum()))

    def _coefficients(self, run: KernelRun, weights: FloatArray) -> FloatArray:
        scale = 1.0 / (self.lam_ * np.maximum(run.seen, 1))
        return scale[:, None] * run.counts * self._run_weights(weights) * run.signs

    def _intercepts(self, run: KernelRun, weights: FloatArray) -> FloatArray:
        """Find, with all the scores at hand, the best θ₀ for θ and not the last of the run."""
        theta0 = run.bias.copy()
        if self.fit_intercept:
            scale = 1.0 / (self.lam_ * np.maximum(run.seen, 1))
            for c, signs in enumerate(run.signs):
                theta0[c] = best_bias(scale[c] * run.scores[c], signs > 0, weights)
        return theta0

    def _certify(
        self, examples: Examples, run: KernelRun, counts: FloatArray, beta: FloatArray, each: Each
    ) -> list[Certificate]:
        labels, n = self.classes_[examples.positives()], run.signs.shape[1]
        weights = None if examples.weights is None else examples.weights / examples.weights.sum()
        points = [
            KernelDualPoint(
                problem=RegularizedRisk(Hinge(), self.lam_, bool(self.fit_intercept)),
                kernel=self.kernel_,
                coef=beta[c],
                intercept=float(self.intercept_[c]),
                positive=labels[c],
                multipliers=counts[c],
                per=max(1, int(run.seen[c])) / n,
                weights=weights,
            )
            for c in range(len(beta))
        ]
        checker = KernelChecker(points, examples.X, examples.y, None, each)
        found = [checker.conclude(c) for c in range(len(points))]
        self._regions = checker.regions
        return found

    def _proved(self, examples: Examples, used: IntArray, run: KernelRun, epoch: int) -> bool:
        # A proof costs more than an epoch: about four are tried while the epochs double.
        if self.tol is None or epoch % max(1, 1 << max(0, epoch.bit_length() - 3)):
            return False
        self._conclude(examples, used, run)
        return all(c.relative_gap <= self.tol for c in self._certificates)
