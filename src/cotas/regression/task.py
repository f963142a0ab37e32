"""One fit of a squared-loss model: its data, its problem, and what the solvers share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, Descent, SquaredLossPoint
from cotas.certificates.least_squares import SquaredSurvey
from cotas.fitting.data import Observations
from cotas.fitting.parameters import read_start
from cotas.regression.base import refuse_overflow
from cotas.regression.trail import Trail
from cotas.solvers.moments import Moments, column_deviation, gather_moments, weighted_mean
from cotas.solvers.quadratic import Coordinates, plain_coordinates, standardizing
from cotas.stops import Reason, Stop
from cotas.words import say

CLOSED_FORM = Reason(Stop.THEORY, say("solved in closed form"))


@dataclass
class Outcome:
    """What a solver found, and what there is to say about how."""

    theta: FloatArray  # one row for each target
    theta0: FloatArray
    remarks: tuple[str, ...] = ()
    reason: Reason = CLOSED_FORM
    iterations: int = 1
    trail: Trail | None = None
    descent: Descent | None = None
    condition: float | None = None
    singular: bool = False
    state: Any = field(default=None, repr=False)


class Task:
    """The data and the problem of one fit, with what is computed of them at most once."""

    def __init__(
        self, model: Any, data: Observations, lam: float, each: Each = map, threads: int = 1
    ) -> None:
        self.model, self.data, self.lam = model, data, lam
        self.each, self.threads = each, threads
        self.began = time.perf_counter()
        self.free_bias = bool(model.fit_intercept)
        self.survey: SquaredSurvey | None = None

    @cached_property
    def moments(self) -> Moments:
        """Read once, and refused if not finite."""
        data = self.data
        with np.errstate(over="ignore", invalid="ignore"):
            found = gather_moments(data.X, data.targets, data.weights, self.each, self.threads)
        refuse_overflow(self.model, data.X, np.append(found.scatter, found.target_scatter))
        return found

    @cached_property
    def coordinates(self) -> Coordinates:
        """Where the iterations run: as the data are, or standardized."""
        data = self.data
        if not self.model.standardize:
            return plain_coordinates(data.X.shape[1], self.free_bias)
        mean, _ = weighted_mean(data.X, data.targets, data.weights)
        deviation = column_deviation(data.X, mean, data.weights, self.free_bias)
        return standardizing(mean, deviation, self.free_bias)

    @property
    def size(self) -> float:
        """m, the number of rows, or the sum of their weights."""
        return self.data.total_weight()

    @cached_property
    def start(self) -> FloatArray:
        """Where the iterations begin, in their coordinates: one column for each target."""
        d, targets = self.data.X.shape[1], self.data.targets.shape[1]
        if self.model.start is None:
            return np.zeros((self.coordinates.size, targets))
        theta, theta0 = read_start(self.model.start, d, targets, "targets")
        if not self.free_bias and theta0.any():
            raise ValueError("start has a bias, and fit_intercept=False leaves no room for one.")
        return self.coordinates.point(theta, theta0)

    @property
    def penalty_scale(self) -> FloatArray | None:
        """σⱼ: with standardized columns the penalty is on their coefficients."""
        return self.coordinates.scale if self.model.standardize and self.lam > 0 else None

    @property
    def penalty(self) -> FloatArray:
        """λσⱼ²"""
        scale = self.penalty_scale
        return self.lam * (np.ones(self.data.X.shape[1]) if scale is None else scale**2)

    def bias(self, theta: FloatArray, mean: FloatArray, target_mean: FloatArray) -> FloatArray:
        """The best θ₀ for θ."""
        return target_mean - theta @ mean if self.free_bias else np.zeros(len(theta))

    def points(
        self, theta: FloatArray, theta0: FloatArray, descent: Descent | None = None
    ) -> list[SquaredLossPoint]:
        """What the checker is shown, one for each target."""
        return [
            SquaredLossPoint(
                coef=theta[c].copy(),
                intercept=float(theta0[c]),
                lam=self.lam,
                free_bias=self.free_bias,
                column=column,
                weights=self.data.weights,
                penalty_scale=self.penalty_scale,
                descent=descent,
            )
            for c, column in enumerate(self.data.columns)
        ]

    def certificates(self, points: list[SquaredLossPoint]) -> list[Certificate]:
        """What the checker says; what it knows of the curvature is kept for the next time."""
        if self.survey is None:
            self.survey = SquaredSurvey(self.data.X, self.data.y, points, self.each)
        return self.survey.certificates(points)

    def look_at(self, theta: FloatArray, theta0: FloatArray) -> list[Certificate]:
        """What the checker says of a model, one certificate for each target."""
        return self.certificates(self.points(theta, theta0))
