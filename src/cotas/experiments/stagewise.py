"""Rugeles Ospina, chapter 2: LS-Boost, forward stagewise regression and the Lasso."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.samples import Regression, informative_covariates
from cotas.regression.lasso import Lasso
from cotas.regression.lasso_path import lasso_path
from cotas.regression.least_squares import LeastSquares
from cotas.regression.ls_boost import LSBoost
from cotas.regression.stagewise import ForwardStagewise, RegularizedForwardStagewise

DELTA = 200.0
RUNS = (250, 500, 1000)


@dataclass(frozen=True)
class StagewiseTrial:
    """The coefficients of a run at every iteration, and what it is compared with.

    Attributes
    ----------
    name : str
    coefficients : array of shape (iterations + 1, n_features)
    lengths : array of shape (iterations + 1,)
        ‖βᵏ‖₁
    losses : array of shape (iterations + 1,)
        L_n(βᵏ)
    goal : array of shape (n_features,)
        The coefficients of least squares, or of the Lasso in the ball.
    goal_loss : float
    """

    name: str
    coefficients: FloatArray
    lengths: FloatArray
    losses: FloatArray
    goal: FloatArray
    goal_loss: float

    @property
    def excess(self) -> FloatArray:
        """How much of L_n(0) − L_n(goal) is still to be gained, at every iteration."""
        return np.asarray((self.losses - self.goal_loss) / (self.losses[0] - self.goal_loss))


@dataclass(frozen=True)
class Runs:
    """Several runs on the same data."""

    runs: tuple[StagewiseTrial, ...]
    delta: float


@dataclass(frozen=True)
class LassoBreakpoints:
    """The Lasso for all δ: coefficients at its breakpoints, between which they are linear."""

    delta: FloatArray
    coefficients: FloatArray
    gap: float


def data_of(dimension: int, seed: int, n: int | None = None) -> Regression:
    """The data in dimension 10, or 100 with more rows and more informative covariates."""
    if dimension == 10:
        return informative_covariates(seed, n or 200)
    return informative_covariates(seed, n or 500, dimension, informative=10)


def loss(data: Regression, beta: FloatArray) -> float:
    """L_n(β) = ‖y − Xβ‖²/(2n)"""
    return float(((data.y - data.X @ beta) ** 2).sum() / (2 * len(data.y)))


def least_squares(data: Regression) -> FloatArray:
    """The coefficients without a limit."""
    return np.asarray(LeastSquares(fit_intercept=False).fit(data.X, data.y).coef_)


def in_the_ball(data: Regression, delta: float = DELTA) -> FloatArray:
    """The coefficients of the Lasso, ‖β‖₁ ≤ δ."""
    return np.asarray(Lasso(delta=delta, fit_intercept=False).fit(data.X, data.y).coef_)


def follow(name: str, model: Any, data: Regression, goal: FloatArray) -> StagewiseTrial:
    """Fit a stagewise model and list its coefficients."""
    path = model.fit(data.X, data.y).path_
    coefficients = np.array([path.unit_coef(k) for k in range(len(path))])
    return StagewiseTrial(name, coefficients, path.lengths, path.losses, goal, loss(data, goal))


def ls_boost(
    seed: int = 0, eps: float = 0.3, iterations: int = 50, dimension: int = 10
) -> StagewiseTrial:
    """LS-Boost(ε); Figure 2.1 with ε = 0.3 and 50 iterations in dimension 10."""
    data = data_of(dimension, seed)
    model = LSBoost(eps=eps, max_iter=iterations)
    return follow(f"LS-Boost({eps:g})", model, data, least_squares(data))


def forward(seed: int = 0, iterations: int = 225, dimension: int = 10) -> StagewiseTrial:
    """FS₁ beside least squares; Figure 2.2 with 225 iterations in dimension 10."""
    data = data_of(dimension, seed)
    return follow("FS₁", ForwardStagewise(eps=1.0, max_iter=iterations), data, least_squares(data))


def regularized(seed: int = 0, runs: tuple[int, ...] = RUNS, dimension: int = 10) -> Runs:
    """R-FS₁ with δ = 200, and the Lasso there: Figures 2.3 and 2.11."""
    data = data_of(dimension, seed)
    goal = in_the_ball(data)
    found = [
        follow(
            "R-FS₁",
            RegularizedForwardStagewise(eps=1.0, delta=DELTA, max_iter=iterations),
            data,
            goal,
        )
        for iterations in runs
    ]
    return Runs(tuple(found), DELTA)


def forward_and_lasso(seed: int = 0, iterations: int = 200, dimension: int = 10) -> StagewiseTrial:
    """FS₁ beside the Lasso with δ = 200: Figure 2.4."""
    data = data_of(dimension, seed)
    return follow("FS₁", ForwardStagewise(eps=1.0, max_iter=iterations), data, in_the_ball(data))


def steps_of_forward(seed: int = 0, most: int = 5000) -> int:
    """After how many iterations FS₁ has as little left as LS-Boost(0.3) after 50."""
    reached = ls_boost(seed).losses[-1]
    run = forward(seed, most)
    return int(np.argmax(run.losses <= reached))


def whole_path(seed: int = 0, dimension: int = 10) -> LassoBreakpoints:
    """The Lasso path by homotopy: Figures 2.5 and 2.10."""
    data = data_of(dimension, seed)
    path = lasso_path(data.X, data.y, method="homotopy", ratio=1e-4, fit_intercept=False)
    assert path.deltas is not None
    return LassoBreakpoints(path.deltas, path.coefs, float(path.gaps.max()))


def slow(seed: int = 0) -> StagewiseTrial:
    """Figure 2.6: LS-Boost(0.01), 100 iterations in dimension 100."""
    return ls_boost(seed, 0.01, 100, 100)


def medium(seed: int = 0) -> StagewiseTrial:
    """Figure 2.7: LS-Boost(0.1), 100 iterations in dimension 100."""
    return ls_boost(seed, 0.1, 100, 100)


def fast(seed: int = 0) -> StagewiseTrial:
    """Figure 2.8: LS-Boost(1), 100 iterations in dimension 100."""
    return ls_boost(seed, 1.0, 100, 100)


def forward_in_100(seed: int = 0) -> StagewiseTrial:
    """Figure 2.9: FS₁, 200 iterations in dimension 100."""
    return forward(seed, 200, 100)


def path_in_100(seed: int = 0) -> LassoBreakpoints:
    """Figure 2.10: the Lasso path in dimension 100."""
    return whole_path(seed, 100)


def regularized_in_100(seed: int = 0, runs: tuple[int, ...] = RUNS) -> Runs:
    """Figure 2.11: R-FS₁ with δ = 200 in dimension 100."""
    return regularized(seed, runs, 100)
