"""Squared loss with an ℓ1 penalty: what the Lasso and the elastic net have in common."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import validate_data

from cotas.arrays import BoolArray, Each, FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.certificates.blocks import Columns, Watched
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.design.centred import CentredColumns
from cotas.fitting.data import Observations, read_observations, refuse_source
from cotas.fitting.from_source import bound_to, note_columns
from cotas.fitting.parameters import (
    check_number,
    check_parameters,
    check_positive,
    check_share,
)
from cotas.fitting.pursuit import Ended, Pursuit, deadline, end_of_turn, worst_of
from cotas.problem import relative_gap
from cotas.regression.base import LinearRegressor
from cotas.regression.from_source import triangle_in_blocks
from cotas.running import Monitor, blocks_in_threads, rows_in_threads, thread_count
from cotas.solvers.iterate import Iterate
from cotas.solvers.lasso_ball import gap_on_ball, inside_ball, looks_at_ball
from cotas.solvers.lasso_state import LassoIterate
from cotas.solvers.lasso_working_set import WorkingSetLasso
from cotas.solvers.penalties import Penalty
from cotas.solvers.run import NO_WEIGHTS
from cotas.source import Source, as_stored, shape_of_targets, source_of
from cotas.stops import Reason, Stop

# Of the λ that makes all coefficients zero, where neither lam nor delta is given.
DEFAULT_PART = 0.01
# The solver aims a little below tol, so that the rounding of the checker does not spoil it.
SHARE = 0.9
ADVICE = "Raise max_iter, max_time or tol, or rescale the features."


@dataclass(eq=False, repr=False, kw_only=True)
class SparseRegressor(LinearRegressor):
    """½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² with a penalty λ, or a limit δ, that makes coefficients zero."""

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

    def fit(self, X: Matrix, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients and prove their gap.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source, such as `cotas.open_pages` gives, has y and the weights itself; with it
            every coefficient must have a penalty.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            Non-negative; only their proportions matter.
        """
        began = time.perf_counter()
        self._check_parameters()
        if (source := source_of(X, y, sample_weight)) is not None:
            return self._fit_in_blocks(source, began)
        seen = read_observations(self, X, y, sample_weight, layout="csc")
        weights = self._weights(seen.X.shape[1])
        with (
            Monitor(self, "look") as monitor,
            rows_in_threads(seen.X, self.n_jobs) as each,
        ):
            columns = centred_columns(seen, self._problem(), each, self.n_jobs)
            ended = [
                self._fit_target(
                    InMemory(columns, seen, t), weights, t, monitor, began, len(seen.columns)
                )
                for t in range(len(seen.columns))
            ]
        self._keep([one.proved for one in ended], seen.single)
        return self._conclude_fit(worst_of(ended), ADVICE)

    def _fit_in_blocks(self, source: Source, began: float) -> Self:
        """From a source: all that the solver needs is the triangle of the rows."""
        weights = self._weights(source.n_features)
        if weights is not None and not weights.all():
            raise ValueError(
                "From a source of row blocks every coefficient needs a penalty: no weight may be 0."
            )
        with Monitor(self, "look") as monitor, blocks_in_threads(self.n_jobs) as each:
            parts, single = in_blocks(source, self._problem(), each)
            ended = [
                self._fit_target(part, weights, t, monitor, began, len(parts))
                for t, part in enumerate(parts)
            ]
        note_columns(self, source)
        self._keep([one.proved for one in ended], single)
        return self._conclude_fit(worst_of(ended), ADVICE)

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
        refuse_source(self, X)
        X, y = validate_data(
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
            c.witness.proved_zeros(X, y)
            if c.holds and isinstance(c.witness, LassoPoint)
            else np.zeros(X.shape[1], dtype=np.bool_)
            for c in certificates
        ]
        return found[0] if self.coef_.ndim == 1 else np.stack(found)

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_share(self.l1_ratio, "l1_ratio")
        if not self.l1_ratio > 0:
            raise ValueError("l1_ratio must be above zero; Ridge has no ℓ1 penalty.")
        if self.lam is not None and self.delta is not None:
            raise ValueError("Give lam or delta, not both: each determines the other.")
        if self.delta is not None:
            check_positive(self.delta, "delta")
        if self.lam is not None:
            check_number(self.lam, "lam")
            if self.lam == 0:
                raise ValueError("lam must be above zero; without a penalty use LeastSquares.")
            check_positive(self.lam, "lam")

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

    def _problem(self, lam: float | None = None) -> LassoProblem:
        return LassoProblem(
            lam,
            delta=None if self.delta is None else float(self.delta),
            l1_ratio=float(self.l1_ratio),
            positive=bool(self.positive),
            standardize=bool(self.standardize),
            free_bias=bool(self.fit_intercept),
        )

    def _fit_target(
        self,
        data: InMemory | InBlocks,
        weights: FloatArray | None,
        target: int,
        monitor: Monitor,
        began: float,
        targets: int,
    ) -> Ended[SparseSolution]:
        """One target of several: the problem for λ, or on the ball of radius δ."""
        columns, y, column = data.columns, data.y, data.column
        scale = penalty_scale(columns, weights)
        turn = end_of_turn(began, self.max_time, target, targets)
        ratio, given = float(self.l1_ratio), NO_WEIGHTS if weights is None else weights
        penalty = Penalty(ratio, 1.0 - ratio, bool(self.positive), given)
        ends = (deadline(began, turn), int(self.max_iter), monitor.watched)
        solver = WorkingSetLasso(columns, y, penalty, *ends)
        lam = float(self.lam or DEFAULT_PART * (solver.largest_lam or 1.0))
        problem = self._problem(None if self.delta is not None else lam)

        def check(iterate: Iterate) -> SparseSolution:
            found = iterate.model
            coefs, biases = in_units_of_the_data(columns, [found], y[:, None], scale, self.delta)
            point = (problem, coefs[0], float(biases[0]), data.weights, column, scale)
            return SparseSolution(found, data.prove(LassoPoint(*point)), solver.rounds)

        limits = (self.tol, None, turn, monitor)
        pursuit: Pursuit[SparseSolution] = Pursuit(*limits, began=began, label=column)
        start = Iterate(self._solving(solver.latest, lam))
        return pursuit.follow(self._iterates(solver, lam, monitor), check, start=start)

    def _iterates(
        self, solver: WorkingSetLasso, lam: float, monitor: Monitor
    ) -> Generator[Iterate, None, Reason | None]:
        tol, delta = SHARE * self.tol, self.delta
        looks = solver.looks(lam, tol) if delta is None else looks_at_ball(solver, delta, tol)
        for look in looks:
            if monitor.bar.is_shown:
                primal, gap = solver.at(lam)
                if delta is not None:
                    primal, gap = look.primal, gap_on_ball(look, delta)
                monitor.show(gap=relative_gap(gap, primal))
            yield Iterate(self._solving(look, lam), believed_gap=np.inf)
        return Reason(Stop.ITERATIONS) if solver.out_of_rounds else None

    def _solving(self, look: LassoIterate, lam: float) -> LassoIterate:
        """What the solver has, as a solution of the problem at hand: for λ, or inside the ball."""
        return look._replace(lam=lam) if self.delta is None else inside_ball(look, self.delta)

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


@dataclass(frozen=True)
class InMemory:
    """The columns of X, one target, and who proves a model of it."""

    columns: CentredColumns
    seen: Observations
    target: int

    @property
    def y(self) -> FloatArray:
        """The target."""
        return self.seen.targets[:, self.target]

    @property
    def column(self) -> int | None:
        """Of y."""
        return self.seen.columns[self.target]

    @property
    def weights(self) -> FloatArray | None:
        """Of the rows, as they were given."""
        return self.seen.weights

    def prove(self, point: LassoPoint) -> Certificate:
        """The certificate of a model."""
        seen = self.seen
        return LassoPoint.check_all([point], seen.X, seen.y, each=self.columns.each)[0]


@dataclass(frozen=True)
class InBlocks:
    """A few rows with the same products as those of a source, and who proves a model of these.

    `columns` and `y` are the triangle of the centred rows: they have the same correlations, so
    that the best coefficients are the same.
    """

    columns: CentredColumns
    y: FloatArray
    column: int | None
    means: tuple[FloatArray, float]
    source: Source
    weights: None = None  # the source has them itself

    def prove(self, point: LassoPoint) -> Certificate:
        """The certificate of a model, from the blocks; its bias is what the means ask for."""
        mean, target_mean = self.means
        bias = target_mean - float(point.coef @ mean) if point.problem.free_bias else 0.0
        return replace(point, intercept=bias).check(self.source)


def in_blocks(source: Source, problem: LassoProblem, each: Each) -> tuple[list[InBlocks], bool]:
    """For each target a small problem in the place of that of the source."""
    bound = bound_to(source, each, targets=True)
    single = len(source.of_first(shape_of_targets)) == 1
    moments, triangle = triangle_in_blocks(bound, problem.free_bias)
    d, found = source.n_features, []
    rows = triangle * np.sqrt(len(triangle))
    shares = np.full(len(rows), 1.0 / len(rows))
    # A column that does not vary has no part beside a free bias.
    X = np.where(moments.constant(), 0.0, rows[:, :d]) if problem.free_bias else rows[:, :d]
    columns = CentredColumns(np.ascontiguousarray(X), shares, False, problem.standardize)
    for t, mean in enumerate(moments.target_mean.tolist()):
        column, y = None if single else t, np.ascontiguousarray(rows[:, d + t])
        found.append(
            InBlocks(columns, y, column, (moments.mean, mean), Watched(bound, Columns((column,))))
        )
    return found, single


class SparseSolution(NamedTuple):
    """What was found for one target, its certificate, and the rounds that the solver had made."""

    found: LassoIterate
    certificate: Certificate
    rounds: int


def centred_columns(
    seen: Observations, problem: LassoProblem, each: Each, n_jobs: int | None
) -> CentredColumns:
    """The columns as the problem sees them; `each` may work in threads, as `n_jobs` says."""
    shares = seen.shares()
    threads = 1 if each is map else thread_count(n_jobs)
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
