"""Squared loss with an ℓ1 penalty: what the Lasso and the elastic net have in common."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import validate_data

from cotas.arrays import BoolArray, FloatArray
from cotas.certificates import Certificate
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.fitting.data import read_observations, refuse_source
from cotas.fitting.from_source import note_columns
from cotas.fitting.parameters import (
    check_number,
    check_parameters,
    check_positive,
    check_share,
)
from cotas.fitting.pursuit import Ended, Pursuit, deadline, end_of_share, worst_of
from cotas.problem import relative_gap
from cotas.refusals import ParameterError
from cotas.regression.base import LinearRegressor
from cotas.regression.lasso_data import (
    LassoData,
    in_blocks,
    in_memory,
    in_units_of_the_data,
    penalty_scale,
)
from cotas.regression.products import moments_for, products_of
from cotas.running import Monitor, blocks_in_threads, rows_in_threads
from cotas.solvers.iterate import Iterate
from cotas.solvers.lasso_ball import gap_on_ball, inside_ball, iterates_on_ball
from cotas.solvers.lasso_state import LassoIterate
from cotas.solvers.lasso_working_set import WIDEST_GRAM, WorkingSetLasso
from cotas.solvers.penalties import NO_WEIGHTS, ElasticNetPenalty
from cotas.source import MatrixLike, Source, as_stored, source_of
from cotas.stops import Reason, Stop

# Of the λ that makes all coefficients zero, where neither lam nor delta is given.
DEFAULT_PART = 0.01
# The solver aims a little below tol, so that the rounding of the checker does not spoil it.
SHARE = 0.9
ADVICE = "Raise max_iter, max_time or tol, or rescale the features."


@dataclass(eq=False, repr=False, kw_only=True)
class SparseRegressor(LinearRegressor):
    """A regression with ½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² with a penalty λ, or a limit δ, that makes
    coefficients zero."""

    lam: float | None = None
    positive: bool = False
    weights: Any = None
    standardize: bool = False
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    n_jobs: int | None = None
    callbacks: Any = None
    progress: bool | None = None

    delta: float | None = field(default=None, init=False)
    l1_ratio: float = field(default=1.0, init=False)
    lam_: Any = field(init=False)
    delta_: Any = field(init=False)

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients and prove their gap.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source, such as `cotas.tables.open_pages` gives, has y and the weights itself; with it
            every coefficient must have a penalty.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            Non-negative; only their proportions matter.
        """
        began = time.perf_counter()
        self._check_parameters()
        if (source := source_of(X, y, sample_weight)) is not None:
            return self._fit_in_blocks(source, began)
        seen = read_observations(self, X, y, sample_weight)
        weights, problem = self._weights(seen.X.shape[1]), self._problem()
        with (
            Monitor(self, "check") as monitor,
            rows_in_threads(seen.X, self.n_jobs) as each,
        ):
            products = products_of(seen, each, WIDEST_GRAM)
            moments = moments_for(seen, each, WIDEST_GRAM, products)
            parts = in_memory(seen, problem, each, self.n_jobs, self.tol, products, moments)
            found, reason = self._fit_targets(parts, weights, monitor, began)
        self._keep(found, seen.single)
        return self._conclude_fit(reason, ADVICE)

    def _fit_in_blocks(self, source: Source, began: float) -> Self:
        """Fit from a source: all that the solver needs is the triangle of the rows."""
        weights = self._weights(source.n_features)
        if weights is not None and not weights.all():
            raise ParameterError(
                "weights",
                "From a source of row blocks every coefficient needs a penalty: no weight may be "
                "0.",
            )
        with Monitor(self, "check") as monitor, blocks_in_threads(self.n_jobs) as each:
            parts, single = in_blocks(source, self._problem(), each)
            found, reason = self._fit_targets(parts, weights, monitor, began)
        note_columns(self, source)
        self._keep(found, single)
        return self._conclude_fit(reason, ADVICE)

    def certified_zeros(self, X: MatrixLike, y: Any) -> BoolArray:
        """Tell for each feature whether the gap proves that it is zero at the exact optimum.

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
        refuse_source(self, X)
        rows, y = validate_data(
            self,
            as_stored(X),
            y,
            accept_sparse=["csr", "csc"],
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
            reset=False,
        )
        found = [
            c.witness.proved_zeros(rows, y)
            if c.holds and isinstance(c.witness, LassoPoint)
            else np.zeros(rows.shape[1], dtype=np.bool_)
            for c in certificates
        ]
        return found[0] if self.coef_.ndim == 1 else np.stack(found)

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_share(self.l1_ratio, "l1_ratio")
        if not self.l1_ratio > 0:
            raise ParameterError(
                "l1_ratio", "l1_ratio must be above zero; Ridge has no ℓ1 penalty."
            )
        if self.lam is not None and self.delta is not None:
            raise ParameterError("delta", "Give lam or delta, not both: each determines the other.")
        if self.delta is not None:
            check_positive(self.delta, "delta")
        if self.lam is not None:
            check_number(self.lam, "lam")
            if self.lam == 0:
                raise ParameterError(
                    "lam", "lam must be above zero; without a penalty use LeastSquares."
                )
            check_positive(self.lam, "lam")

    def _weights(self, n_features: int) -> FloatArray | None:
        """Compute w as an array, refused where it is none; None where all are one."""
        if self.weights is None:
            return None
        w = np.asarray(self.weights, dtype=np.float64)
        if w.shape != (n_features,):
            raise ParameterError(
                "weights", f"weights must have one number for each of the {n_features} features."
            )
        if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
            raise ParameterError(
                "weights",
                "weights must be finite, none below zero and at least one above; without any "
                "penalty use LeastSquares.",
            )
        return w

    def _problem(self, lam: float | None = None) -> LassoProblem:
        return LassoProblem(
            lam,
            delta=None if self.delta is None else float(self.delta),
            l1_ratio=float(self.l1_ratio),
            positive=bool(self.positive),
            standardize=bool(self.standardize),
            free_bias=bool(self.fit_intercept),
        )

    def _fit_targets(
        self,
        parts: Sequence[LassoData],
        weights: FloatArray | None,
        monitor: Monitor,
        began: float,
    ) -> tuple[list[SparseSolution], Reason]:
        """Return what was found for each target, and the worst reason why that is all."""
        ended = [
            self._fit_target(part, weights, t, monitor, began, len(parts))
            for t, part in enumerate(parts)
        ]
        return [one.proved for one in ended], worst_of(ended)

    def _fit_target(
        self,
        data: LassoData,
        weights: FloatArray | None,
        target: int,
        monitor: Monitor,
        began: float,
        targets: int,
    ) -> Ended[SparseSolution]:
        """Solve one target of several: the problem for λ, or on the ball of radius δ."""
        columns, y, column = data.columns, data.y, data.column
        until = end_of_share(began, self.max_time, target, targets)
        ratio, given = float(self.l1_ratio), NO_WEIGHTS if weights is None else weights
        penalty = ElasticNetPenalty(ratio, 1.0 - ratio, bool(self.positive), given)
        ends = (deadline(began, until), int(self.max_iter), monitor.watched)
        solver = WorkingSetLasso(columns, y, penalty, *ends)
        lam = float(self.lam or DEFAULT_PART * (solver.largest_lam or 1.0))
        problem = self._problem(None if self.delta is not None else lam)

        def check(iterate: Iterate) -> SparseSolution:
            found, scale = iterate.model, penalty_scale(columns, weights)
            coefs = in_units_of_the_data(columns, [found], scale, self.delta)
            bias = float(data.biases(coefs)[0])
            point = LassoPoint(problem, coefs[0], bias, data.weights, column, scale)
            return SparseSolution(found, data.prove([point])[0], solver.rounds)

        start, limits = Iterate(self._solving(solver.latest, lam)), (self.tol, None, until, monitor)
        pursuit: Pursuit[SparseSolution] = Pursuit(*limits, began=began, label=column)
        return pursuit.follow(self._iterates(solver, lam, monitor), check, start=start)

    def _iterates(
        self, solver: WorkingSetLasso, lam: float, monitor: Monitor
    ) -> Generator[Iterate, None, Reason | None]:
        tol, delta = SHARE * self.tol, self.delta
        iterates = (
            solver.iterates(lam, tol) if delta is None else iterates_on_ball(solver, delta, tol)
        )
        for iterate in iterates:
            if monitor.bar.is_shown:
                primal, gap = solver.at(lam)
                if delta is not None:
                    primal, gap = iterate.primal, gap_on_ball(iterate, delta)
                monitor.show(gap=relative_gap(gap, primal))
            yield Iterate(self._solving(iterate, lam), believed_gap=np.inf)
        return Reason(Stop.ITERATIONS) if solver.out_of_rounds else None

    def _solving(self, iterate: LassoIterate, lam: float) -> LassoIterate:
        """Return what the solver has, as a solution of the problem at hand: for λ, or inside the
        ball."""
        return iterate._replace(lam=lam) if self.delta is None else inside_ball(iterate, self.delta)

    def _keep(self, ends: list[SparseSolution], single: bool) -> None:
        self._certificates = [end.certificate for end in ends]
        points: list[Any] = [end.certificate.witness for end in ends]
        coefs, biases = (np.array([getattr(p, name) for p in points]) for name in
                         ("coef", "intercept"))  # fmt: skip
        self._keep_parameters(coefs, biases, single)
        lams, lengths = ([getattr(end.found, name) for end in ends] for name in ("lam", "length"))
        self.lam_ = lams[0] if single else np.array(lams)
        self.delta_ = lengths[0] if single else np.array(lengths)
        self.n_iter_ = max(end.rounds for end in ends)


class SparseSolution(NamedTuple):
    """The solution found for one target, its certificate, and the rounds that the solver had
    made."""

    found: LassoIterate
    certificate: Certificate
    rounds: int
