"""Support vector regression in feature space, solved until a duality gap is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cotas.arrays import FloatArray
from cotas.certificates.kernel_regression import KernelRegression
from cotas.fitting.parameters import check_not_negative
from cotas.kernel.regression import KernelRegressor, KernelTask
from cotas.solvers.bias import best_bias_of_numbers
from cotas.solvers.iterate import Iterate
from cotas.solvers.kernel_dual import SignedDual
from cotas.solvers.smo import smo


@dataclass(eq=False, repr=False, kw_only=True)
class KernelSVR(KernelRegressor):
    """Support vector regression in the feature space of a kernel: errors up to ε cost nothing.

    Minimizes Σ sᵢ max(0, |yᵢ − f(xᵢ)| − ε) + (λ/2)‖θ‖² for f(x) = θ·φ(x) + θ₀, the weights sᵢ
    summing to one and the bias not penalized, until the checker proves, in double precision, a
    relative gap of at most `tol`.

    Parameters
    ----------
    kernel : Kernel or str, optional
        One of `cotas.kernels` or a combination of them, or one of "rbf", "linear", "poly",
        "cosine" and "precomputed". None stands for "rbf" with γ = 1/(n_features · variance of X).
        With a precomputed kernel X is the Gram matrix.
    lam : float, default=1e-3
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`, as scikit-learn's `SVR` has it: λ = 1/(C · sum of the weights).
    epsilon : float, default=0.1
        ε, in the units of y.
    fit_intercept : bool, default=True
        Whether to train the free bias θ₀.
    tol : float, default=1e-4
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there.
    max_iter : int, default=100_000
        Working sets of the solver.
    max_time : float, optional
        Seconds after which the best model so far is returned.
    cache_mb : float, default=500
        Megabytes for rows of the Gram matrix, and for a copy of X in single precision if it fits
        into half of them.
    n_jobs : int, optional
        Threads; None for all cores. The answer does not depend on it.
    progress : bool, optional
        A bar with the gap; None shows one on a terminal if the fit takes more than a second.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` after each working set, which costs a check each time; True
        ends the fit.

    Attributes
    ----------
    kernel_ : the kernel that was used
    support_, support_vectors_ : the rows with a coefficient, those with an error of ε or more, by
        their numbers and themselves; none with a precomputed kernel
    dual_coef_ : array of shape (1, n_support): βᵢ
    intercept_ : array of shape (1,)
    lam_ : float, λ
    certificate_ : Certificate
    n_iter_ : working sets
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.KernelSVR(cotas.kernels.RBF(0.2), C=100.0, epsilon=20.0).fit(X, y)
    >>> len(model.support_) < len(y)
    True
    >>> model.certificate_.holds and model.certificate_.relative_gap <= 1e-4
    True
    """

    epsilon: float = 0.1
    tol: float = 1e-4
    max_iter: int = 100_000

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_not_negative(self.epsilon, "epsilon")

    def _problem(self) -> KernelRegression:
        return KernelRegression(self.lam_, bool(self.fit_intercept), float(self.epsilon))

    def _bias(self, task: KernelTask, slopes: FloatArray) -> float:
        return best_bias_of_numbers(-slopes, task.weights, float(self.epsilon))

    def _run(self, task: KernelTask) -> Iterator[Iterate]:
        lam, free_bias = task.problem.lam, task.problem.free_bias
        dual = SignedDual.of_numbers(task.y, task.weights, lam, free_bias, float(self.epsilon))
        return smo(task.blocks, dual, float(self.tol), task.room, task.each)
