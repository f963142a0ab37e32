"""What the regressors share whose loss grows like the residual, not like its square."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from cotas.arrays import Each
from cotas.certificates import Certificate
from cotas.certificates.residuals import ResidualPoint
from cotas.fitting.data import Moved, Observations, read_observations
from cotas.fitting.parameters import penalty_of
from cotas.fitting.pursuit import Ended, Pursuit, end_of_share, worst_of
from cotas.regression.base import LinearRegressor
from cotas.running import Monitor, rows_in_threads
from cotas.solvers.iterate import Iterate
from cotas.solvers.losses import EpsilonInsensitive, Huber
from cotas.solvers.proximal_point import ProximalStart, proximal_point
from cotas.source import MatrixLike


class RobustSolution(NamedTuple):
    """A model of one target, with its certificate."""

    point: ResidualPoint
    certificate: Certificate


@dataclass(eq=False, repr=False, kw_only=True)
class RobustRegressor(LinearRegressor):
    """A regression θ·x + θ₀ with the least mean loss + (λ/2)‖θ‖², the bias not penalized."""

    lam: float = 1e-3
    C: float | None = None
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 1000
    max_time: float | None = None
    warm_start: bool = False
    n_jobs: int | None = None
    callbacks: Any = None
    progress: bool | None = None

    # ---- what a subclass says --------------------------------------------------------------------

    def _loss(self) -> EpsilonInsensitive | Huber:
        raise NotImplementedError

    # ---- how a fit goes --------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y until the gap is proved.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            Non-negative; only their proportions matter, unless C is given.
        """
        began = time.perf_counter()
        self._check_parameters()
        seen = read_observations(self, X, y, sample_weight)
        starts = self._starts(seen)
        total = seen.total_weight()
        self.lam_ = penalty_of(self, total)
        with Monitor(self) as monitor, rows_in_threads(seen.X, self.n_jobs) as each:
            near = Moved.near_zero(seen.X, bool(self.fit_intercept))
            ended = [
                self._solve(seen, near, target, starts[target], each, monitor, began)
                for target in range(len(seen.columns))
            ]
        points = [one.proved.point for one in ended]
        self._certificates = [one.proved.certificate for one in ended]
        coefs = np.stack([point.coef for point in points])
        self._keep_parameters(coefs, np.array([p.intercept for p in points]), seen.single)
        self.n_iter_ = max(one.iterations for one in ended)
        return self._conclude_fit(worst_of(ended), "Raise max_iter, max_time or tol.")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._loss()

    def _solve(
        self,
        seen: Observations,
        near: Moved,
        target: int,
        start: ProximalStart | None,
        each: Each,
        monitor: Monitor,
        began: float,
    ) -> Ended[RobustSolution]:
        check, column = self._check(seen, near, target, each), seen.columns[target]
        shares = seen.shares()
        until = end_of_share(began, self.max_time, target, len(seen.columns))
        limits = (self.tol, self.max_iter, until, monitor)
        pursuit: Pursuit[RobustSolution] = Pursuit(*limits, began=began, label=column)
        y = np.ascontiguousarray(seen.targets[:, target])
        problem = (y, shares, self._loss(), self.lam_, bool(self.fit_intercept))
        if start is not None:
            start = start._replace(theta0=near.seen(start.theta, start.theta0))
        return pursuit.resume(lambda begin: proximal_point(near.X, *problem, begin), start, check)

    def _check(
        self, seen: Observations, near: Moved, target: int, each: Each
    ) -> Callable[[Iterate], RobustSolution]:
        loss = self._loss()
        name = "Huber" if isinstance(loss, Huber) else "ε-insensitive"

        def check(iterate: Iterate) -> RobustSolution:
            theta, theta0 = iterate.model
            point = ResidualPoint(
                loss=name,
                threshold=float(loss[0]),
                lam=self.lam_,
                free_bias=bool(self.fit_intercept),
                coef=theta[:, 0],
                intercept=float(near.given(theta[:, 0], theta0[0])),
                slopes=iterate.dual,
                weights=seen.weights,
                column=seen.columns[target],
            )
            return RobustSolution(point, point.check(seen.X, seen.y, each))

        return check

    def _starts(self, seen: Observations) -> list[ProximalStart | None]:
        """Return where the last fit ended, for each target; None stands for a start from a
        constant."""
        count, shape = len(seen.columns), (len(seen.columns), seen.X.shape[1])
        known = self.warm_start and hasattr(self, "coef_")
        if not known or np.atleast_2d(self.coef_).shape != shape:
            return [None] * count
        biases = np.broadcast_to(np.atleast_1d(self.intercept_), count) * bool(self.fit_intercept)
        slopes = [getattr(known.witness, "slopes", None) for known in self._certificates]
        slopes = [v if v is not None and len(v) == seen.n_rows else None for v in slopes]
        ends = zip(np.atleast_2d(self.coef_), biases, slopes, strict=True)
        return [ProximalStart(theta[:, None], np.array([theta0]), v) for theta, theta0, v in ends]
