"""The Lasso, penalized or on the L1-ball, to a proved gap."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import validate_data

from cotas.arrays import BoolArray, Each, FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.design.centred import CentredColumns
from cotas.fitting.parameters import check_positive
from cotas.fitting.reporting import ProgressBar, as_callbacks
from cotas.fitting.threads import cpu_count, one_thread_in_blas, rows_in_threads
from cotas.regression.base import LinearRegressor, Observations, read_observations
from cotas.regression.lasso_run import LassoRun
from cotas.solvers.lasso_state import LassoIterate
from cotas.solvers.lasso_working_set import WorkingSetLasso
from cotas.stops import Reason, Stop

# Of the λ that makes all coefficients zero, where neither lam nor delta is given.
DEFAULT_PART = 0.01
# The solver aims a little below tol, so that the rounding of the checker does not spoil it.
SHARE = 0.9


class Lasso(LinearRegressor):
    """Least squares with a penalty on, or a limit to, the sum of the absolute coefficients.

    With `lam`: minimize ½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² + λ‖β‖₁. With `delta`: minimize the first term
    over ‖β‖₁ ≤ δ (document 001, eq. 2.4). The weights sᵢ sum to one and the bias is free. The fit
    proves how far its objective is from the best: `certificate_`.

    Parameters
    ----------
    lam : float, optional
        The penalty, as scikit-learn's `alpha`. If neither it nor `delta` is given, a hundredth of
        the smallest penalty that makes all coefficients zero.
    delta : float, optional
        The radius of the L1-ball, instead of `lam`.
    positive : bool, default=False
        Whether coefficients must not be negative.
    standardize : bool, default=False
        Whether ‖β‖₁ is measured in units of the standard deviations of the features. `coef_` is
        in the units of X all the same.
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there. P counts as no less than
        1e-9 times the objective of the constant model.
    max_time : float, optional
        Seconds after which the solver ends with what it has; the certificate tells how good it is.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` each time the solver has looked at all the columns, the
        certificate being about the model so far; True ends the work on that target. Each report
        costs a pass of the checker over the data.
    progress : bool or None
        Show a bar with the relative gap for work longer than a second. None shows it if tqdm is
        installed and the output is a terminal or a notebook.

    Attributes
    ----------
    coef_, intercept_ : the model
    certificate_ : Certificate, with a part for each of several targets
    lam_, delta_ : float, or arrays with one entry for each target
        The penalty and the radius that have this solution: one was given, the other follows.
    n_iter_ : int
        Rounds of the solver.
    stop_reason_ : str
        Why the fit ended, in words.

    Notes
    -----
    Ctrl-C ends the fit with the best model so far; its certificate is about that model.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.Lasso(delta=1000.0).fit(X, y)
    >>> model.coef_.round().tolist()
    [0.0, 0.0, 457.0, 114.0, 0.0, 0.0, -35.0, 0.0, 395.0, 0.0]
    >>> model.certificate_.holds and model.certificate_.relative_gap <= 1e-6
    True
    >>> model.certified_zeros(X, y).tolist()  # of the exact solution, not of this one only
    [True, True, False, False, True, True, False, True, False, True]
    """

    lam_: Any
    delta_: Any

    def __init__(
        self,
        *,
        lam: float | None = None,
        delta: float | None = None,
        positive: bool = False,
        standardize: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_time: float | None = None,
        callbacks: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.lam = lam
        self.delta = delta
        self.positive = positive
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_time = max_time
        self.callbacks = callbacks
        self.progress = progress

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
        with closing(bar), one_thread_in_blas(), rows_in_threads(seen.X, None) as each:
            columns = centred_columns(seen, self._problem(), each)
            ends: list[_End] = []
            for target in range(len(seen.columns)):
                go_on = not (ends and ends[-1].reason.stop is Stop.INTERRUPTED)
                ends.append(self._fit_target(columns, seen, target, bar, go_on))
        self._keep(ends, seen.single)
        worst = max(ends, key=lambda end: end.certificate.relative_gap)
        interrupted = [end for end in ends if end.reason.stop is Stop.INTERRUPTED]
        reason = (interrupted or [worst])[0].reason
        return self._conclude_fit(reason, "Raise max_time or tol, or rescale the features.")

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
        if self.lam is not None and self.delta is not None:
            raise ValueError("Give lam or delta, not both: each determines the other.")
        if self.lam is not None:
            if self.lam == 0:
                raise ValueError("lam must be above zero; without a penalty use LeastSquares.")
            check_positive(self.lam, "lam")
        if self.delta is not None:
            check_positive(self.delta, "delta")
        check_positive(self.tol, "tol")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time")

    def _problem(self) -> LassoProblem:
        return LassoProblem(
            delta=None if self.delta is None else float(self.delta),
            positive=bool(self.positive),
            standardize=bool(self.standardize),
            free_bias=bool(self.fit_intercept),
        )

    def _fit_target(
        self,
        columns: CentredColumns,
        seen: Observations,
        target: int,
        bar: ProgressBar,
        go_on: bool,
    ) -> _End:
        """One target; if not to go on, the model that an interruption finds at the start."""

        def certify(iterate: LassoIterate) -> Certificate:
            coefs, biases = in_units_of_the_data(columns, [iterate], y[:, None], self.delta)
            penalized = replace(self._problem(), lam=iterate.lam)
            problem = self._problem() if self.delta is not None else penalized
            column = seen.columns[target]
            model = (coefs[0], float(biases[0]), seen.weights, column, penalty_scale(columns))
            point = LassoPoint(problem, *model)
            return LassoPoint.check_all([point], seen.X, seen.y, each=columns.each)[0]

        y = seen.targets[:, target]
        deadline = np.inf if self.max_time is None else time.perf_counter() + self.max_time
        solver = WorkingSetLasso(columns, y, bool(self.positive), deadline)
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


class _End(NamedTuple):
    """How the work on one target ended."""

    found: LassoIterate
    certificate: Certificate
    rounds: int
    reason: Reason


def centred_columns(seen: Observations, problem: LassoProblem, each: Each = map) -> CentredColumns:
    """The columns as the problem sees them; `each` may work in threads."""
    shares = np.full(seen.n_rows, 1.0 / seen.n_rows) if seen.shares is None else seen.shares
    threads = 1 if each is map else cpu_count()
    return CentredColumns(seen.X, shares, problem.free_bias, problem.standardize, each, threads)


def penalty_scale(columns: CentredColumns) -> FloatArray | None:
    """What the penalty multiplies each coefficient by; None stands for ones."""
    return np.where(columns.scale > 0, columns.scale, 1.0) if columns.standardize else None


def in_units_of_the_data(
    columns: CentredColumns,
    found: list[LassoIterate],
    targets: FloatArray,
    delta: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Coefficients and biases, one row for each solution; `targets` has one column for each.

    With `delta` they lie inside the ball of that radius, whatever rounding has done.
    """
    coefs = np.zeros((len(found), columns.p))
    for coef, iterate in zip(coefs, found, strict=True):
        coef[iterate.support] = iterate.beta / columns.scale[iterate.support]
        if delta is not None:
            sizes = np.nextafter(np.abs(coef * columns.scale), np.inf)
            if (length := math.fsum(sizes)) > delta:
                coef *= delta / length * (1 - 2.0**-50)
    if not columns.centre:
        return coefs, np.zeros(len(found))
    means = columns.weights @ targets
    means += columns.weights @ (targets - means)  # what rounding has left
    return coefs, means - coefs @ columns.mean
