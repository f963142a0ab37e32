"""Least squares: the estimator, and what it shares with ridge."""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, SquaredLossPoint
from cotas.certificates.streamed import Stream
from cotas.fitting.certified import outside
from cotas.fitting.data import Observations, read_observations, refuse_source
from cotas.fitting.from_source import note_columns
from cotas.fitting.parameters import check_parameters, check_positive
from cotas.fitting.pursuit import at_floor
from cotas.refusals import ParameterError
from cotas.regression.base import LinearRegressor
from cotas.regression.from_source import IN_BLOCKS, BlockTask
from cotas.regression.solving import (
    SINGULAR,
    SOLVERS,
    by_normal_equations,
    choose,
    solve,
)
from cotas.regression.stochastic import one_pass
from cotas.regression.task import LARGEST_GRAM, Outcome, Task
from cotas.running import blocks_in_threads, rows_in_threads
from cotas.solvers.moments import Moments
from cotas.solvers.normal_equations import normal_equations, pseudo_inverse
from cotas.source import MatrixLike, Source, source_of
from cotas.stops import Reason, Rule, Stop
from cotas.words import say

# So many entries of X are worth a second thread.
WORTH_A_THREAD = 1 << 18
ITERATIVE = ("gradient", "stochastic", "conjugate-gradients")
ADVICE = 'Raise max_iter, max_time or tol, set standardize=True, or choose solver="auto".'


@dataclass(eq=False, repr=False, kw_only=True)
class SquaredLossRegressor(LinearRegressor):
    """Base of least squares and ridge; subclasses say what λ is."""

    fit_intercept: bool = True
    solver: str = "auto"
    step: Any = "auto"
    batch_size: int = 1
    replacement: bool = False
    shuffle: bool = True
    stop: Rule | None = None
    start: Any = None
    tol: float = 1e-6
    max_iter: int | None = None
    max_time: float | None = None
    standardize: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    callbacks: Any = None
    progress: bool | None = None

    def _lam(self) -> float:
        """Compute λ of the objective."""
        raise NotImplementedError

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Minimize the squared error on X, y and certify the result.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source, such as `cotas.tables.open_pages` gives, has y and the weights itself.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero plays no part.
        """
        began = time.perf_counter()
        self._check_parameters()
        if (source := source_of(X, y, sample_weight)) is not None:
            return self._fit_in_blocks(source)
        data = read_observations(self, X, y, sample_weight, finite=False)
        self._forget()
        with self._threads(data) as each:
            task = Task(self, data, self._lam(), each)
            task.began = began
            self.solver_, why = choose(task)
            outcome = solve(task, self.solver_)
            points = task.points(outcome.theta, outcome.theta0, descent=outcome.descent)
            certificates = task.certificates(points, outcome.singular)
        self._keep(data.single, outcome, certificates, (why, *outcome.remarks))
        return self._end(outcome)

    def _fit_in_blocks(self, source: Source) -> Self:
        """Fit in closed form from a source of row blocks."""
        if self.solver not in ("auto", "normal-equations"):
            raise ParameterError(
                "solver",
                f"From a source of row blocks {type(self).__name__} is solved with "
                "solver='normal-equations' (or 'auto').",
            )
        self._forget()
        with blocks_in_threads(self.n_jobs) as each:
            task = BlockTask(self, source, self._lam(), each)
            outcome = by_normal_equations(task)
            points = task.points(outcome.theta, outcome.theta0)
            certificates = SquaredLossPoint.check_all(points, task.rows)
        note_columns(self, source)
        self.solver_ = "normal-equations"
        notes = (say(IN_BLOCKS), *outcome.remarks)
        self._keep(task.columns == [None], outcome, certificates, notes)
        return self._end(outcome)

    def _end(self, outcome: Outcome) -> Self:
        """Say what there is to say of how the fit ended."""
        if outcome.singular:
            warnings.warn(say(SINGULAR), stacklevel=outside())
        reason = outcome.reason
        worst = max(self._certificates, key=lambda certificate: certificate.relative_gap)
        if self.stop is None and not worst.relative_gap <= self.tol and at_floor(worst):
            reason = Reason(Stop.ROUNDING)
        return self._conclude_fit(reason, ADVICE if self.stop is None else None)

    def partial_fit(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more batch.

        With `solver="stochastic"` it is one pass of stochastic steps over the batch, and the
        certificate speaks of this batch. With any other solver the moments of the batch are
        merged with those of all the batches before, and the model is the closed form for all of
        them together. The checker adds up moments of its own, so that the certificate is about
        all the batches although their rows are gone; with all the rows in the order in which
        they came, its `verify(X, y)` computes it again. After `fit` it starts anew.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        refuse_source(f"partial_fit of {type(self).__name__}", X)
        self._check_parameters()
        memory = getattr(self, "_memory", None)
        data = read_observations(self, X, y, sample_weight, reset=memory is None)
        if memory is not None:
            if data.y.shape[1:] != np.shape(self.intercept_):
                raise ParameterError("y", "y has not as many targets as in the first batch.")
            if (self.solver == "stochastic") != (self.solver_ == "stochastic"):
                raise ParameterError(
                    "solver", "solver was changed between two batches; call fit to start anew."
                )
        return (self._step_on if self.solver == "stochastic" else self._merge)(data, memory)

    def _forget(self) -> None:
        if hasattr(self, "_memory"):
            del self._memory

    def _merge(self, data: Observations, before: tuple[Moments, Stream] | None) -> Self:
        """Return the closed form for this batch and all before it."""
        lam, d = self._lam(), data.X.shape[1]
        if d > LARGEST_GRAM:
            raise ParameterError(
                "solver",
                f"partial_fit keeps a matrix of the size of θ, and {d} features are too many: use "
                'solver="stochastic".',
            )
        with self._threads(data) as each:
            task = Task(self, data, lam, each)
            moments = task.moments if before is None else before[0].merge(task.moments)
            scale = moments.deviation(self.fit_intercept) if self.standardize and lam else None
            penalty = np.full(d, lam) if scale is None else lam * scale**2
            found = normal_equations(moments, penalty, self.fit_intercept)
            singular = found is None
            found = found or pseudo_inverse(moments, penalty, self.fit_intercept)
            theta0 = task.bias(found.theta, moments.mean, moments.target_mean)
            points = [replace(p, penalty_scale=scale) for p in task.points(found.theta, theta0)]
            rows = (data.X, data.y, data.weights, data.columns, each)
            if before is None:
                stream, certificates = Stream.of_rows(*rows), task.certificates(points)
            else:
                stream = Stream.of_rows(*rows, before=before[1])
                certificates = stream.certificates(points)
        outcome = Outcome(found.theta, theta0, condition=found.condition, singular=singular)
        self.solver_ = "normal-equations"
        self._keep(data.single, outcome, certificates, (SINGULAR,) if singular and not lam else ())
        self._memory = (moments, stream)
        return self._conclude_fit(outcome.reason)

    def _step_on(self, data: Observations, before: Any) -> Self:
        """Return one pass of stochastic steps over the batch."""
        if self.standardize:
            raise ParameterError(
                "standardize",
                "partial_fit cannot take stochastic steps on standardized columns: the deviations "
                "of later batches are not known. Scale the data and set standardize=False.",
            )
        with self._threads(data) as each:
            task = Task(self, data, self._lam(), each)
            outcome = one_pass(task, before)
            points = task.points(outcome.theta, outcome.theta0)
            certificates = task.certificates(points)
        self.solver_ = "stochastic"
        self._keep(data.single, outcome, certificates, ("It speaks of the last batch.",))
        self._memory = outcome.state
        return self._conclude_fit(outcome.reason)

    def _keep(
        self,
        single: bool,
        outcome: Outcome,
        certificates: list[Certificate],
        notes: tuple[str, ...],
    ) -> None:
        self._keep_parameters(outcome.theta, outcome.theta0, single)
        self._certificates = [c.noted(*notes) for c in certificates]
        self.n_iter_ = outcome.iterations
        self.condition_number_ = outcome.condition
        self.history_: dict[str, FloatArray] = {}
        if outcome.trail is not None:
            self.history_ = outcome.trail.arrays(single)

    def _threads(self, data: Observations) -> AbstractContextManager[Each]:
        """Return a map that works in threads where the data are large enough."""
        return rows_in_threads(data.X, self.n_jobs, WORTH_A_THREAD)

    def _check_parameters(self) -> None:
        check_parameters(self, solver=("auto", *SOLVERS))
        if self.start is not None and self.solver not in ITERATIVE:
            names = ", ".join(map(repr, ITERATIVE))
            raise ParameterError(
                "start", f"start is where a descent begins: it needs a solver of {names}."
            )
        if isinstance(self.step, str):
            if self.step != "auto":
                raise ParameterError(
                    "step", f"step must be 'auto', a number or a function, not {self.step!r}."
                )
        elif not callable(self.step):
            check_positive(self.step, "step")
        if not (self.stop is None or isinstance(self.stop, Rule)):
            raise ParameterError(
                "stop",
                f"stop must be None or a rule of cotas.stops, such as stops.ChangeOfJ(1e-9), not "
                f"{self.stop!r}.",
            )


class LeastSquares(SquaredLossRegressor):
    """Linear regression by least squares, in closed form or by gradient descent.

    Minimises

        P(θ, θ₀) = ½ Σ sᵢ(yᵢ − θ·xᵢ − θ₀)²,        Σ sᵢ = 1,

    and proves how far the result is from the minimum. Sources: Fuentes Cabrera, section 4.1, and
    Moreno Chávez, whose J has no 1/m: its α is `step`/m.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to train the bias θ₀.
    solver : {"auto", "normal-equations", "dual", "qr", "gradient", "stochastic", \
            "conjugate-gradients"}
        "normal-equations" is the closed form, in one pass over the data, and "dual" the same with
        an unknown for each row, for data with more columns than rows; if they are too
        ill-conditioned the fit goes on with "qr" and says so. "qr" triangularizes the data and
        finds the solution of smallest norm where there are several. "gradient" is batch gradient
        descent, "stochastic" Algorithm 6 of Fuentes Cabrera and mini-batches. "conjugate-gradients"
        suits large sparse data. "auto", the default, chooses by the shape of the data.
    step : "auto", float or callable, default="auto"
        For "gradient" and "stochastic": a number, or a function of the iteration 1, 2, …, such as
        those of `cotas.schedules`. "auto" is 1/L, L being the largest curvature; for
        "stochastic" it starts at 1/L of the most curved example and falls as `PowerLaw` with
        power 0.75.
    batch_size : int, default=1
        Examples in each step of "stochastic".
    replacement : bool, default=False
        Whether "stochastic" draws its examples independently.
    shuffle : bool, default=True
        Whether "stochastic" draws a new order for each epoch; otherwise they come in order.
    stop : rule of `cotas.stops`, optional
        When an iterative solver ends, e.g. `stops.ChangeOfJ(1e-6) | stops.MaxIterations(1000)`.
        Without one it ends when `tol` is proved.
    start : array θ, or tuple (θ, θ₀), optional
        Where "gradient", "stochastic" or "conjugate-gradients" begin, in the units of the data; at
        zero if not given. With several targets θ has a row for each.
    tol : float, default=1e-6
        The relative gap (P − P*)/P to prove; the fit warns if it cannot, unless `stop` was given.
        P counts as no less than 1e-9 times the objective of the zero model, so that a fit that
        reaches every y has an end.
    max_iter : int, optional
        Iterations of the iterative solvers, or epochs of "stochastic", whatever `stop` says. None
        stands for a thousand, and for a million where `stop` is given.
    max_time : float, optional
        Seconds after the call of `fit` at which an iterative solver ends with what it has.
    standardize : bool, default=False
        Run the iterations on columns of zero mean and unit deviation. `coef_` is in the units of
        the data all the same.
    random_state : int, RandomState or None
        For the order of "stochastic".
    n_jobs : int, optional
        Threads for the fit and its proof; all cores if not given, but one inside a worker of
        joblib.
    callbacks : callable or list of callables, optional
        Called with a `cotas.stops.Progress` after each iteration; True ends the fit.
    progress : bool or None
        Whether to show a bar for iterations longer than a second; None: if someone watches.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    certificate_ : Certificate, with a part for each of several columns of y
    history_ : dict of arrays
        "iteration", "J" (added up over the targets), "theta", "intercept" and "gradient_norm" of
        an iterative solver, thinned to at most a thousand entries. For "stochastic" one entry an
        epoch, J being the mean loss of the examples as they were met, and the gradient the way
        made divided by the sum of the steps: the data are not read again for them.
    solver_ : the solver that was used
    n_iter_ : iterations made
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words
    condition_number_ : of the normal equations with columns of unit length, estimated; None for
        the iterative solvers

    Examples
    --------
    The prices of Moreno Chávez from the area alone, and from area, floors and rooms:

    >>> import cotas
    >>> X, price = cotas.datasets.houses()
    >>> by_area = cotas.LeastSquares().fit(X[:, :1], price)
    >>> print(f"{by_area.coef_[0]:.3f} k$ a square metre, {by_area.intercept_:+.1f} k$")
    1.344 k$ a square metre, +0.3 k$
    >>> by_all = cotas.LeastSquares().fit(X, price)
    >>> by_all.coef_.round(2).tolist(), round(by_all.intercept_, 1)
    ([1.42, -67.16, 8.55], 87.0)
    >>> by_all.certificate_.holds, by_all.certificate_.relative_gap < 1e-9
    (True, True)

    Gradient descent needs standardized columns, as the document says:

    >>> from cotas import stops
    >>> walked = cotas.LeastSquares(
    ...     solver="gradient", standardize=True, stop=stops.ChangeOfJ(1e-9)
    ... ).fit(X, price)
    >>> walked.coef_.round(2).tolist(), walked.stop_reason_
    ([1.42, -67.16, 8.55], 'J changed by less than 1e-09')
    """

    def _lam(self) -> float:
        return 0.0
