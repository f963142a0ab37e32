"""Squared loss with an ℓ1 penalty: what the Lasso and the elastic net have in common."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from cotas.arrays import BoolArray, Each, FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.design.centred import CentredColumns
from cotas.fitting.data import Observations, read_observations
from cotas.fitting.floor import shortfall
from cotas.fitting.parameters import check_positive
from cotas.fitting.reporting import ProgressBar, as_callbacks
from cotas.fitting.threads import one_thread_in_blas, rows_in_threads, thread_count
from cotas.regression.base import LinearRegressor
from cotas.regression.lasso_run import INTERRUPTED, LassoRun
from cotas.solvers.lasso_state import LassoIterate
from cotas.solvers.lasso_working_set import WorkingSetLasso
from cotas.solvers.penalties import penalty_of

# Of the λ that makes all coefficients zero, where neither lam nor delta is given.
DEFAULT_PART = 0.01
# The solver aims a little below tol, so that the rounding of the checker does not spoil it.
SHARE = 0.9


class SparseRegressor(LinearRegressor):
    """½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² with a penalty λ, or a limit δ, that makes coefficients zero."""

    lam: float | None
    delta: float | None = None
    l1_ratio: float = 1.0
    positive: bool
    weights: Any
    standardize: bool
    fit_intercept: bool
    tol: float
    max_iter: int
    max_time: float | None
    n_jobs: int | None
    callbacks: Any
    progress: bool | None
    lam_: Any
    delta_: Any

    def fit(self, X: Matrix, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients and prove their gap.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            Non-negative; only their proportions matter.
        """
        self._check_parameters()
        seen = read_observations(self, X, y, sample_weight, layout="csc")
        bar = ProgressBar(None, type(self).__name__, self.progress, "look")
        weights = self._weights(seen.X.shape[1])
        with closing(bar), one_thread_in_blas(), rows_in_threads(seen.X, self.n_jobs) as each:
            threads = thread_count(self.n_jobs)
            columns = centred_columns(seen, self._problem(), each, threads)
            ends: list[_End] = []
            for target in range(len(seen.columns)):
                go_on = not (ends and ends[-1].reason == INTERRUPTED)
                ends.append(self._fit_target(columns, seen, weights, target, bar, go_on))
        self._keep(ends, seen.single)
        self._warn(ends)
        return self._sealed()

    def certified_zeros(self, X: Matrix, y: Any) -> BoolArray:
        """For each feature, whether the gap proves that it is zero at the exact optimum.

        The smaller the gap, the more can be proved; `docs/theory/lasso.md` has the derivation.
        Nothing is claimed of a model that was changed after the fit.

        Parameters
        ----------
        X, y : the data of the fit

        Returns
        -------
        array of shape (n_features,), or (n_targets, n_features)
        """
        certificates = self._current_certificates()
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
            reset=False,
        )
        found = [
            c.witness.proved_zeros(X, y)
            if c.holds and isinstance(c.witness, LassoPoint)
            else np.zeros(X.shape[1], dtype=np.bool_)
            for c in certificates
        ]
        return found[0] if len(found) == 1 else np.stack(found)

    def _check_parameters(self) -> None:
        if self.lam is not None:
            if self.lam == 0:
                raise ValueError("lam must be above zero; without a penalty use LeastSquares.")
            check_positive(self.lam, "lam")
        check_positive(self.tol, "tol")
        check_positive(self.max_iter, "max_iter")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time")

    def _weights(self, n_features: int) -> FloatArray | None:
        """w as an array, refused where it is none; None where all are one."""
        if self.weights is None:
            return None
        w = np.asarray(self.weights, dtype=np.float64)
        if w.shape != (n_features,):
            raise ValueError(f"weights must have one number for each of the {n_features} features.")
        if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
            raise ValueError(
                "weights must be finite, none below zero and at least one above; without any "
                "penalty use LeastSquares."
            )
        return w

    def _problem(self) -> LassoProblem:
        return LassoProblem(
            delta=None if self.delta is None else float(self.delta),
            l1_ratio=float(self.l1_ratio),
            positive=bool(self.positive),
            standardize=bool(self.standardize),
            free_bias=bool(self.fit_intercept),
        )

    def _fit_target(
        self,
        columns: CentredColumns,
        seen: Observations,
        weights: FloatArray | None,
        target: int,
        bar: ProgressBar,
        go_on: bool,
    ) -> _End:
        """One target; if not to go on, the model that an interruption finds at the start."""

        def certify(iterate: LassoIterate) -> Certificate:
            coefs, biases = in_units_of_the_data(columns, [iterate], y[:, None], scale, self.delta)
            penalized = replace(self._problem(), lam=iterate.lam)
            problem = self._problem() if self.delta is not None else penalized
            column = seen.columns[target]
            model = (coefs[0], float(biases[0]), seen.weights, column, scale)
            point = LassoPoint(problem, *model)
            return LassoPoint.check_all([point], seen.X, seen.y, each=columns.each)[0]

        y, scale = seen.targets[:, target], penalty_scale(columns, weights)
        deadline = np.inf if self.max_time is None else time.perf_counter() + self.max_time
        penalty = penalty_of(float(self.l1_ratio), bool(self.positive), weights)
        solver = WorkingSetLasso(columns, y, penalty, deadline, int(self.max_iter))
        run = LassoRun(
            solver,
            *self._aim(solver.largest_lam),
            certify,
            as_callbacks(self.callbacks),
            bar,
            seen.columns[target],
        )
        run.interrupted = not go_on
        found = run.solve(SHARE * self.tol) if go_on else run.best
        certificate = certify(found)
        reason = run.reason(certificate, self.tol)
        return _End(found, certificate, solver.rounds, reason)

    def _aim(self, largest_lam: float) -> tuple[float | None, float | None]:
        """λ and δ of the problem, one of them None."""
        if self.delta is not None:
            return None, float(self.delta)
        return float(self.lam or DEFAULT_PART * (largest_lam or 1.0)), None

    def _keep(self, ends: list[_End], single: bool) -> None:
        self._certificates = [end.certificate for end in ends]
        models = [end.certificate.witness for end in ends]
        coefs = np.stack([model.coef for model in models if model is not None])
        biases = np.array([model.intercept for model in models if model is not None])
        self._keep_parameters(coefs, biases, single)
        lams = np.array([end.found.lam for end in ends])
        lengths = np.array([end.found.length for end in ends])
        self.lam_ = float(lams[0]) if single else lams
        self.delta_ = float(lengths[0]) if single else lengths
        self.n_iter_ = max(1, *(end.rounds for end in ends))

    def _warn(self, ends: list[_End]) -> None:
        worst = max(ends, key=lambda end: end.certificate.relative_gap)
        self.stop_reason_ = worst.reason
        if any(end.reason == INTERRUPTED for end in ends):
            self.stop_reason_ = INTERRUPTED
            warnings.warn(
                "Interrupted: this is the best model so far, and its certificate is about it.",
                stacklevel=3,
            )
        if worst.certificate.relative_gap > self.tol:
            warnings.warn(
                shortfall(
                    worst.certificate.relative_gap,
                    self.tol,
                    worst.reason,
                    "Raise max_iter, max_time or tol, or rescale the features.",
                ),
                ConvergenceWarning,
                stacklevel=3,
            )


class _End(NamedTuple):
    """How the work on one target ended."""

    found: LassoIterate
    certificate: Certificate
    rounds: int
    reason: str


def centred_columns(
    seen: Observations, problem: LassoProblem, each: Each, threads: int
) -> CentredColumns:
    """The columns as the problem sees them; `each` may work in so many threads."""
    shares = np.full(seen.n_rows, 1.0 / seen.n_rows) if seen.shares is None else seen.shares
    threads = 1 if each is map else threads
    return CentredColumns(seen.X, shares, problem.free_bias, problem.standardize, each, threads)


def penalty_scale(columns: CentredColumns, weights: FloatArray | None = None) -> FloatArray | None:
    """What the penalty multiplies each coefficient by: wσ. None stands for ones."""
    if not columns.standardize:
        return weights
    return columns.scale if weights is None else columns.scale * weights


def in_units_of_the_data(
    columns: CentredColumns,
    found: list[LassoIterate],
    targets: FloatArray,
    scale: FloatArray | None = None,
    delta: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Coefficients and biases, one row for each solution; `targets` has one column for each.

    With `delta` they lie inside the ball of that radius, whatever rounding has done, `scale` being
    what the penalty multiplies each coefficient by.
    """
    coefs = np.zeros((len(found), columns.p))
    for coef, iterate in zip(coefs, found, strict=True):
        coef[iterate.support] = iterate.beta / columns.scale[iterate.support]
        if delta is not None:
            sizes = np.nextafter(np.abs(coef * (1.0 if scale is None else scale)), np.inf)
            # The sign of a sum by `fsum` is that of the exact sum.
            if math.fsum([*sizes, -delta]) > 0:
                coef *= delta / math.fsum(sizes) * (1 - 2.0**-50)
    if not columns.centre:
        return coefs, np.zeros(len(found))
    means = columns.weights @ targets
    means += columns.weights @ (targets - means)  # what rounding has left
    return coefs, means - coefs @ columns.mean
