"""Kernel ridge regression, solved until a duality gap is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.kernel_regression import KernelRegression
from cotas.kernel.regression import KernelRegressor, KernelTask
from cotas.solvers.iterate import Iterate
from cotas.solvers.kernel_ridge import RidgeSystem, by_conjugate_gradients, by_factor


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRidge(KernelRegressor):
    """Ridge regression in the feature space of a kernel.

    Minimizes ½ Σ sᵢ(yᵢ − f(xᵢ))² + (λ/2)‖θ‖² for f(x) = θ·φ(x) + θ₀, the weights sᵢ summing to one
    and the bias not penalized, until the checker proves, in double precision, a relative gap of at
    most `tol`.

    Parameters
    ----------
    kernel : Kernel or str, optional
        One of `cotas.kernels` or a combination of them, or one of "rbf", "linear", "poly",
        "cosine" and "precomputed". None stands for "rbf" with γ = 1/(n_features · variance of X).
        With a precomputed kernel X is the Gram matrix.
    lam : float, default=1e-3
        λ, the weight of the penalty: scikit-learn's `alpha` divided by the number of rows.
    C : float, optional
        In the place of `lam`: λ = 1/(C · sum of the weights), so that `alpha` is 1/C.
    fit_intercept : bool, default=True
        Whether to train the free bias θ₀; scikit-learn's `KernelRidge` has none.
    tol : float, default=1e-6
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there.
    max_iter : int, default=10_000
        Steps of conjugate gradients, or refinements of a factorization.
    max_time : float, optional
        Seconds after which the best model so far is returned; a factorization is not cut short.
    cache_mb : float, default=500
        Megabytes for the Gram matrix. If it fits, 8 bytes for each pair of rows, it is factorized;
        if not, conjugate gradients compute what does not fit again in each step.
    n_jobs : int, optional
        Threads; None for all cores. The answer does not depend on it.
    progress : bool, optional
        A bar with the gap; None shows one on a terminal if the fit takes more than a second.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` after each step, which costs a check each time; True ends the
        fit.

    Attributes
    ----------
    kernel_ : the kernel that was used
    support_, support_vectors_ : the rows with a coefficient, nearly all of them, by their numbers
        and themselves; none with a precomputed kernel
    dual_coef_ : array of shape (1, n_support): βᵢ
    intercept_ : array of shape (1,)
    lam_ : float, λ
    certificate_ : Certificate
    n_iter_ : steps, or refinements
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.KernelRidge(cotas.kernels.RBF(0.2), lam=1e-3).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.58
    >>> model.certificate_.holds and model.certificate_.relative_gap <= 1e-6
    True
    """

    tol: float = 1e-6
    max_iter: int = 10_000

    def _problem(self) -> KernelRegression:
        return KernelRegression(self.lam_, bool(self.fit_intercept))

    def _bias(self, task: KernelTask, slopes: FloatArray) -> float:
        return -float(task.weights @ slopes) / float(task.weights.sum())

    def _run(self, task: KernelTask) -> Iterator[Iterate]:
        system = RidgeSystem(task.y, task.weights, task.problem.lam, task.problem.free_bias)
        if 8 * len(task.y) ** 2 <= task.room:
            try:
                yield from by_factor(task.blocks, system, task.each)
                return
            except np.linalg.LinAlgError:
                pass  # singular in double precision: the gradients need no factor
        yield from by_conjugate_gradients(task.blocks, system, task.room, task.each)
