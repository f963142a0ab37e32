"""Regression in the feature space of a kernel, to a proved gap: ridge and support vectors."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import column_or_1d

from cotas.arrays import Each, FloatArray, IntArray
from cotas.certificates.kernel_regression import (
    KernelRegression,
    KernelRegressionPoint,
)
from cotas.certificates.passes import sketches_of
from cotas.fitting.data import Observations, read_observations
from cotas.fitting.parameters import check_not_negative, penalty_of
from cotas.fitting.pursuit import Pursuit
from cotas.kernel.base import KernelExpansion
from cotas.kernel.blocks import KernelBlocks
from cotas.kernel.choice import as_kernel, is_precomputed, refuse_indefinite
from cotas.kernel.interface import Kernel
from cotas.kernel.training import KernelModel, helped, part_of
from cotas.running import Monitor, blocks_in_threads
from cotas.solvers.bias import best_bias_of_numbers
from cotas.solvers.iterate import Iterate, KernelIterates
from cotas.solvers.kernel_dual import SignedDual
from cotas.solvers.kernel_ridge import RidgeSystem, by_conjugate_gradients, by_factor
from cotas.solvers.smo import smo
from cotas.source import MatrixLike

ADVICE = "Raise max_iter, max_time or tol."


@dataclass(frozen=True)
class KernelTask:
    """The rows with a weight, as a solver takes them."""

    problem: KernelRegression
    y: FloatArray
    weights: FloatArray  # which sum to one
    blocks: KernelBlocks
    room: int  # bytes for kernel values
    each: Each


@dataclass(eq=False, repr=False)
class KernelRegressor(KernelExpansion, RegressorMixin, BaseEstimator):
    """An expansion Σ βᵢ k(xᵢ, x) + θ₀, and the certificate of the fit."""

    kernel: Any = None
    _: KW_ONLY
    lam: float = 1e-3
    C: float | None = None
    fit_intercept: bool = True
    max_time: float | None = None
    cache_mb: float = 500
    n_jobs: int | None = None
    progress: bool | None = None
    callbacks: Any = None
    tol: float = 1e-6
    max_iter: int = 10_000

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y until the gap is proved.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The square Gram matrix with a precomputed kernel.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        began = time.perf_counter()
        self._check_parameters()
        y = y if y is None else column_or_1d(y, warn=True)
        seen = read_observations(self, X, y, sample_weight)
        used = np.arange(seen.n_rows) if seen.weights is None else np.flatnonzero(seen.weights > 0)
        kernel = as_kernel(self.kernel, seen.X, seen.weights)
        refuse_indefinite(kernel, seen.X, used, "refuse")
        self.lam_ = penalty_of(self, seen.total_weight())
        problem, room = self._problem(), int(self.cache_mb * 2**20)
        with Monitor(self) as monitor, blocks_in_threads(self.n_jobs) as each:
            part = part_of(seen.X, used, is_precomputed(kernel))
            shares = seen.shares()[used]
            blocks = KernelBlocks(kernel, part, room // 2)
            task = KernelTask(problem, seen.y[used], shares, blocks, room - blocks.copied, each)
            check = RegressionCheck(kernel, seen, used, task, self._bias)
            pursuit = Pursuit[KernelModel](
                self.tol, self.max_iter, self.max_time, monitor, began=began
            )
            ended = pursuit.follow(helped(self._run(task), check), check, start=check.start())
        found, self.kernel_ = ended.proved, kernel
        support = np.flatnonzero(found.coef)
        bias = np.array([found.intercept])
        self._keep_expansion(seen.X, support, found.coef[None, support], bias)
        self._certificates, self.n_iter_ = [found.certificate], ended.iterations
        return self._conclude_fit(ended.reason, ADVICE)

    def predict(self, X: MatrixLike) -> FloatArray:
        """Compute Σ βᵢ k(xᵢ, x) + θ₀ for each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        return np.asarray(self._binary_scores(X)[:, 0])

    @abstractmethod
    def _problem(self) -> KernelRegression:
        """Return what is minimized, for the λ of the fit."""

    @abstractmethod
    def _run(self, task: KernelTask) -> KernelIterates:
        """Return the iterates of a solver: β, and Kβ − y, of the rows with a weight."""

    @abstractmethod
    def _bias(self, task: KernelTask, slopes: FloatArray) -> float:
        """Return the best θ₀ for the β whose Kβ − y is given."""


class RegressionCheck:
    """The check of β on the rows with a weight, θ₀ being the best bias for it."""

    def __init__(
        self, kernel: Kernel, seen: Observations, used: IntArray, task: KernelTask, bias: Any
    ) -> None:
        self.kernel, self.seen, self.used, self.task, self.bias = kernel, seen, used, task, bias
        self.sketch = sketches_of(seen.X, seen.y[:, None], task.each)[0]
        self.scores: FloatArray | None = None  # Kβ of the last iterate, if it was checked

    def start(self) -> Iterate:
        """Return all coefficients zero."""
        return Iterate(np.zeros(len(self.used)), -self.task.y, 1.0)

    def __call__(self, iterate: Iterate) -> KernelModel:
        problem, beta = self.task.problem, np.zeros(self.seen.n_rows)
        beta[self.used] = iterate.model
        theta0 = self.bias(self.task, iterate.dual) if problem.free_bias else 0.0
        point = KernelRegressionPoint(problem, self.kernel, beta, theta0, self.seen.weights)
        found = point.full_check(self.seen.X, self.seen.y, self.sketch, self.task.each)
        certificate, self.scores = found[0], found[1][self.used]
        return KernelModel(beta, theta0, certificate)


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

    def _run(self, task: KernelTask) -> KernelIterates:
        system = RidgeSystem(task.y, task.weights, task.problem.lam, task.problem.free_bias)
        if 8 * len(task.y) ** 2 <= task.room:
            try:
                yield from by_factor(task.blocks, system, task.each)
                return
            except np.linalg.LinAlgError:
                pass  # singular in double precision: the gradients need no factor
        yield from by_conjugate_gradients(task.blocks, system, task.room, task.each)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelSVR(KernelRegressor):
    """Support vector regression in the feature space of a kernel: errors up to ε cost nothing.

    Minimizes Σ sᵢ max(0, |yᵢ − f(xᵢ)| − ε) + (λ/2)‖θ‖² for f(x) = θ·φ(x) + θ₀, the weights sᵢ
    summing to one and the bias not penalized, until the checker proves, in double precision, a
    relative gap of at most `tol`.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε, in the units of y.
    C : float, optional
        In the place of `lam`, as scikit-learn's `SVR` has it: λ = 1/(C · sum of the weights).
    tol : float, default=1e-4
        As in `KernelRidge`.
    max_iter : int, default=100_000
        Working sets of the solver.
    cache_mb : float, default=500
        Megabytes for rows of the Gram matrix, and for a copy of X in single precision if it fits
        into half of them.
    kernel, lam, fit_intercept, max_time, n_jobs, progress, callbacks
        As in `KernelRidge`; a step is a working set.

    Attributes
    ----------
    support_, support_vectors_ : the rows with a coefficient, those with an error of ε or more, by
        their numbers and themselves; none with a precomputed kernel
    n_iter_ : working sets
    kernel_, dual_coef_, intercept_, lam_, certificate_, stop_, stop_reason_
        As in `KernelRidge`.

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

    def _run(self, task: KernelTask) -> KernelIterates:
        lam, free_bias = task.problem.lam, task.problem.free_bias
        dual = SignedDual.of_numbers(task.y, task.weights, lam, free_bias, float(self.epsilon))
        return smo(task.blocks, dual, float(self.tol), task.room, task.each)
