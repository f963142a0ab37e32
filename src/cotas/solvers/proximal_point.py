"""Robust regression: Newton's method on losses of the residual that are rounded off at corners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, Matrix
from cotas.design.blocks import times
from cotas.solvers.iterate import Iterate
from cotas.solvers.losses import EpsilonInsensitive, Huber
from cotas.solvers.newton import newton
from cotas.solvers.risks import Local


class ProximalStart(NamedTuple):
    """A start: θ as a column, θ₀, and the slopes v that an earlier run ended with, if they are
    known."""

    theta: FloatArray
    theta0: FloatArray
    slopes: FloatArray | None = None


# What each round makes of the smoothing, and the least it becomes, as a share of the first; beside
# the curvature that Huber's loss has by itself this one is none.
SHARPER, SHARPEST, NONE = 0.1, 1e-6, 0.05
# So many rounds a start from an earlier run is worth.
NEARER = 2
# A round ends when what θ lacks is this share of what the rounding costs, or after so many steps;
# the last ones end when they leave so much of the gap.
SOLVED, STEPS, STALLED = 0.5, 20, 0.9
# Where no row has curvature, all get this share of it, so that a system has a solution.
FLOOR = 1e-8


@dataclass(frozen=True)
class RoundedRisk:
    """The rounded risk Σ sᵢ max over v of vzᵢ − ℓ*(v) − ν(v − cᵢ)²: smooth, and near the loss if ν
    is small.

    ℓ*(v) = vy + ε|v| + ½m·v² for |v| ≤ k: ε-insensitive with m = 0 and k = 1, Huber with ε = 0 and
    m = 1. The v that attain it are the slopes.
    """

    y: FloatArray
    weights: FloatArray
    loss: EpsilonInsensitive | Huber
    nu: float
    centre: FloatArray
    columns: int = field(default=1, init=False)

    @property
    def _shape(self) -> tuple[float, float, float]:
        """Return ε, m and k."""
        if isinstance(self.loss, Huber):
            return 0.0, 1.0, self.loss.k
        return self.loss.epsilon, 0.0, 1.0

    def shares(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slopes v, and their conjugates ℓ*(v)."""
        epsilon, bend, most = self._shape
        pressed = scores - self.y + 2.0 * self.nu * self.centre
        beyond = np.sign(pressed) * np.maximum(np.abs(pressed) - epsilon, 0.0)
        v = np.clip(beyond / (bend + 2.0 * self.nu), -most, most)
        return v, v * self.y + epsilon * np.abs(v) + 0.5 * bend * v * v

    def fenchel_gap(self, scores: FloatArray) -> float:
        """Compute Σ sᵢ[ℓ(zᵢ) + ℓ*(vᵢ) − vᵢzᵢ]: what the rounding costs, never below zero."""
        epsilon, bend, most = self._shape
        v, conjugates = self.shares(scores)
        r = np.maximum(np.abs(scores - self.y) - epsilon, 0.0)
        inside = np.minimum(r, most) if bend else 0.0 * r
        losses = inside * (0.5 * inside + (r - inside)) if bend else r
        return max(0.0, float(self.weights @ (losses + conjugates - v * scores)))

    def risk(self, scores: FloatArray) -> float:
        z = scores[:, 0]
        v, conjugates = self.shares(z)
        return float(self.weights @ (v * z - conjugates - self.nu * np.square(v - self.centre)))

    def near(self, scores: FloatArray) -> Local:
        z = scores[:, 0]
        _, bend, most = self._shape
        v, conjugates = self.shares(z)
        value = self.weights @ (v * z - conjugates - self.nu * np.square(v - self.centre))
        curved = self.weights * ((np.abs(v) < most) & (v != 0))
        # Without any curvature there is no best bias; a little makes the step long, but finite.
        diagonal = (curved if curved.any() else FLOOR * self.weights) / (bend + 2.0 * self.nu)
        return Local(float(value), (self.weights * v)[:, None], diagonal[:, None])


def proximal_point(
    X: Matrix,
    y: FloatArray,
    weights: FloatArray,
    loss: EpsilonInsensitive | Huber,
    lam: float,
    bias: bool,
    start: ProximalStart | None = None,
) -> Iterator[Iterate]:
    """Yield iterates (θ, θ₀) with the slopes v of each row, one for each Newton step.

        min  Σ sᵢ ℓ(yᵢ, θ·xᵢ + θ₀) + (λ/2)‖θ‖²

    The proximal point method on the dual, as for the support vector machine: each round maximizes
    D(v) − ν Σ sᵢ(vᵢ − cᵢ)², c being the v of the round before, which in θ is the primal with a loss
    that a parabola rounds off (Li, Sun and Toh 2018). Departures: ν falls from round to round,
    from where all the rows are in the parabola; Huber's loss has one of its own, and ends with
    ν = 0; a start that is worse than the constant is left out. Invariant: |v| ≤ k, so that every v
    is a dual point; P − D is what the rounding costs plus what θ lacks. Cost: that of Newton's
    method. It ends when ν is as small as it may be.
    """
    used = weights > 0
    middle = float(np.median(y[used])) if bias else 0.0
    spread = float(np.abs(y[used] - middle).max()) or 1.0
    first, least = spread, SHARPEST * spread
    if isinstance(loss, Huber):
        first, least = spread / loss.k, NONE
    point, centre = (np.zeros((X.shape[1], 1)), np.array([middle])), np.zeros(len(y))
    nu, before = first, np.inf
    if start is not None:
        sharper = first * SHARPER**NEARER
        known = centre if start.slopes is None else start.slopes
        rounded = RoundedRisk(y, weights, loss, sharper, known)
        theirs = rounded.risk(times(X, start.theta) + start.theta0)
        theirs += 0.5 * lam * float(np.square(start.theta).sum())
        if theirs <= rounded.risk(np.full((len(y), 1), middle)):  # on other data it may be worse
            point, nu, centre = (start.theta, start.theta0), sharper, known
    while True:
        if nu < least and isinstance(loss, Huber):
            nu = 0.0
        rounded, solved = RoundedRisk(y, weights, loss, nu, centre), False
        for step, found in enumerate(newton(X, rounded, lam, bool(bias), point)):
            point, z = (found.theta, found.theta0), found.scores[:, 0]
            fenchel_gap, (v, conjugates) = rounded.fenchel_gap(z), rounded.shares(z)
            size = 0.5 * lam * float(np.square(found.theta).sum())
            objective = fenchel_gap + float(weights @ (v * z - conjugates)) + size
            gap = fenchel_gap + found.gap
            yield Iterate(point, v, gap / objective if objective > 0 else 0.0)
            solved = found.gap <= SOLVED * fenchel_gap
            if nu and (solved or step == STEPS):
                break
        if not nu or (nu < least and gap > STALLED * before):
            return
        # Where a round was too hard, the next one is as smooth, from where it ended.
        nu, centre, before = nu * SHARPER if solved and nu >= least else nu, v, gap
