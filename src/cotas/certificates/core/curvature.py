"""Least squares and ridge: the smallest value of a quadratic, from its slope and its curvature.

    P(θ, b) = ½ Σ sᵢ(yᵢ − θ·xᵢ − b)²/S + (λ/2) Σ (σⱼθⱼ)²,    g = ∇P,    H = ∇²P

P has the minimum P − ½ gᵀH⁻¹g. With H ⪰ μ > 0 and any vector a,

    gᵀH⁻¹g = 2gᵀa − aᵀHa + (g − Ha)ᵀH⁻¹(g − Ha)  ≤  2gᵀa − aᵀHa + ‖g − Ha‖²/μ.

A Cholesky factorization of H − (μ + ε)I in floating point that runs through proves H ⪰ μ, ε being
its a-priori error and that of H (Rump 2006). Leaving rows out makes H smaller, so that what a few
of them prove holds. Where no μ is proved, the claim is about models within ρ of zero only:
P ≥ P(θ, b) − ‖g‖(ρ + ‖(θ, b)‖), P being convex. All lengths are in the units of the columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Claim, Risk, Weights, moved_targets, upper
from cotas.certificates.core.losses import Squared
from cotas.certificates.core.regularizers import L2
from cotas.certificates.core.rounding import (
    TINY,
    FloatArray,
    U,
    above,
    below,
    down,
    gamma,
    norm_up,
    sharp_total,
    total,
    total_up,
    up,
)
from cotas.certificates.core.rows import pairwise

CURVATURES = (0.25, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
# ρ in multiples of the length of the model.
WITHIN = 1000.0


class Hessian(NamedTuple):
    """Ĥ of the columns in their units, the bias last, scaled to a diagonal near one; and its error.

    |H − Ĥ| ≤ `off` in the 2-norm. `scale` are the powers of two that it was multiplied by.
    """

    matrix: FloatArray
    scale: FloatArray
    off: float

    def least(self) -> float:
        """A proved lower bound μ of the eigenvalues of H; zero if there is none."""
        size = above(float(np.trace(np.abs(self.matrix))), len(self.matrix) + 2)
        error = above(above(gamma(len(self.matrix) + 4), 4) * size, 4)
        for mu in CURVATURES:
            shift = above(mu + error + self.off, 4)
            try:
                np.linalg.cholesky(self.matrix - shift * np.eye(len(self.matrix)))
            except np.linalg.LinAlgError:
                continue
            return mu
        return 0.0


def hessian(rows: Any, w: Weights, added: FloatArray, free_bias: bool, some: bool) -> Hessian:
    """H from all the rows, or from about four for each column."""
    spans = rows.spans()
    if some:
        spans = spans[:: max(1, rows.n // (4 * rows.d + 256))]

    def read(span: slice) -> FloatArray:
        A, s = rows.read(span), w.s[span]
        A = A.toarray() / rows.unit if rows.sparse else A / rows.unit
        A = np.hstack([A, np.ones((len(A), 1))]) if free_bias else A
        return np.asarray(A.T @ (s[:, None] * A))

    with np.errstate(over="ignore", invalid="ignore"):
        whole, additions = pairwise(rows.each(read, spans))
        whole = whole / w.high
        whole[np.diag_indices(rows.d)] += added
    if not np.isfinite(whole).all():
        raise Objection("not finite")
    diagonal = np.diag(whole)
    scale = np.exp2(-np.round(0.5 * np.log2(np.where(diagonal > TINY, diagonal, 1.0))))
    matrix = whole * scale * scale[:, None]
    roundings = max(span.stop - span.start for span in spans) + additions + 10
    size = above(float(np.trace(matrix)), len(matrix) + 2)
    # Entries are off by γ√(hᵢᵢhⱼⱼ), a matrix whose norm is γ times the trace; and all of them by
    # what S is off.
    off = above((gamma(roundings) + (w.high / w.low - 1.0)) * size, 4) + TINY
    return Hessian(matrix, scale, off)


def fall(H: Hessian, mu: float, g: FloatArray, off: float) -> float:
    """½ gᵀH⁻¹g at most, for every slope within `off` of g, where H ⪰ μ > 0."""
    slope, off = g * H.scale, above(off * float(H.scale.max(initial=0.0)))
    a = np.linalg.solve(H.matrix, slope)
    if not np.isfinite(a).all():
        return math.inf
    d, size, Ha = len(a), norm_up(a), H.matrix @ a
    # ‖g − Ha‖ and 2gᵀa − aᵀHa, each with the errors of g, of H and of the products.
    wide = above(
        norm_up(np.asarray(np.abs(H.matrix) @ np.abs(a), np.float64)) * gamma(d + 2), d + 4
    )
    left = above(norm_up(slope - Ha) * (1 + 4 * U) + off + H.off * size + wide, 6)
    value, error = total(2.0 * slope * a - a * Ha)
    error += 8 * U * float(np.abs(slope) @ np.abs(a)) * 2 + 2 * wide * size
    first = above(max(0.0, value) + error + 2 * off * size + H.off * size * size, 8)
    return above(0.5 * up(first + above(left * left / mu, 2)), 2)


class Slope(NamedTuple):
    """P of one model, rounded up and down, and ∇P in the units of the columns, the bias last."""

    upper: float
    least: float
    g: FloatArray
    off: float
    length: float  # ‖(θ, b)‖ in the same units
    reach: float  # how far the targets are spread, and the residuals
    charge: float


class SquaredFound(NamedTuple):
    """The bounds or the objection, from which curvature they follow, and ρ where it matters."""

    bounds: Bounds | Objection
    how: str = ""
    within: float = math.inf


class SquaredRisk:
    """P for some data: what is known of its curvature is kept for the next models.

    Attributes
    ----------
    lam, sigma : λ and σⱼ, None for ones
    largest : so many columns at most have their Hessian formed
    """

    @np.errstate(all="ignore")  # what is not finite is refused
    def __init__(
        self, lam: float, sigma: Any, rows: Any, free_bias: bool, weights: Any, largest: int
    ) -> None:
        if not (0.0 <= lam < math.inf):
            raise Objection("penalty")
        if sigma is not None:
            sigma = np.asarray(sigma, np.float64)
            if sigma.shape != (rows.d,) or not (np.isfinite(sigma).all() and (sigma >= 0).all()):
                raise Objection("weights")
        self.rows, self.w, self.largest = rows, Weights.of(weights, rows.n), largest
        self.risk = Risk(Squared(), L2(lam, sigma), free_bias)
        squares = np.ones(rows.d) if sigma is None else sigma * sigma
        self.curved = lam * squares
        self.added = self.curved / rows.unit / rows.unit
        self._known: dict[bool, tuple[Hessian, float]] = {}

    @np.errstate(all="ignore")
    def bounds(self, models: Sequence[Claim], close: float) -> list[SquaredFound]:
        """Of each model; X is read twice for all. A gap of `close`·P is near enough."""
        try:
            for model in models:
                if model.theta.shape != (self.rows.d,) or model.y.shape != (self.rows.n,):
                    raise Objection("shape")
                self.risk.loss.check(model.y)
                self.risk.refuse(model.theta, model.bias)
            slopes = self._slopes(models)
            return [self._conclude(slope, close) for slope in slopes]
        except Objection as objection:
            return [SquaredFound(objection)] * len(models)

    def _slopes(self, models: Sequence[Claim]) -> list[Slope]:
        rows, w, free = self.rows, self.w, self.risk.free_bias
        moved = [moved_targets(self.risk, model.y, w) for model in models]
        biases = [(model.bias, -middle) for model, (_, middle) in zip(models, moved, strict=True)]
        z, off = rows.scores(np.stack([model.theta for model in models], axis=1), biases)
        y = np.stack([targets for targets, _ in moved], axis=1)
        off, r = off + 2 * U * np.abs(y), z - y
        pulls, found = rows.pull(w.s[:, None] * r), []
        for k, (model, pull) in enumerate(zip(models, pulls, strict=True)):
            given = (self.risk, y[:, k], w, model.theta, model.bias, z[:, k], off[:, k])
            upper_bound, charge = upper(*given)
            mean, slack = sharp_total(w.s * r[:, k])
            pulled, bent = pull.u / rows.unit / w.low, self.curved * model.theta / rows.unit
            g = np.append(pulled + bent, mean / w.low) if free else pulled + bent
            # The residuals are off themselves, and what they are added up to is too.
            felt = w.s * (off[:, k] + 4 * U * np.abs(r[:, k])) * np.hypot(rows.lengths, 1.0)
            sizes = norm_up(pulled) + norm_up(bent) + abs(mean) / w.low
            doubt = 8 * U + (w.high / w.low - 1.0)
            noise = above((pull.off + total_up(felt) + slack) / w.low + doubt * sizes, 12)
            bias = rows.moved_bias(model.theta, biases[k])[0] if free else 0.0
            length = norm_up(np.append(model.theta * rows.unit, bias))
            reach = above(math.sqrt(2 * upper_bound)) + float(np.abs(y[:, k]).max(initial=0.0))
            least = self._least(model.theta, r[:, k], off[:, k])
            if not (math.isfinite(noise) and np.isfinite(g).all()):
                raise Objection("not finite")
            found.append(Slope(upper_bound, least, g, noise, length, reach, charge))
        return found

    def _least(self, theta: FloatArray, r: FloatArray, off: FloatArray) -> float:
        """P, rounded down."""
        near = np.square(np.maximum(np.abs(r) * (1 - 4 * U) - off, 0.0))
        value, error = total(self.w.s * near)
        mean = below(0.5 * max(0.0, down(value - error)) / self.w.high, 6)
        value, error = total(0.5 * self.curved * theta * theta)
        return max(0.0, down(mean + max(0.0, down(value * (1 - 8 * U) - error))))

    def _conclude(self, slope: Slope, close: float) -> SquaredFound:
        drop, how = math.inf, "none"
        enough = close * slope.upper
        if (self.added > 0).all() and not self.risk.free_bias:
            by_penalty = norm_up(slope.g / np.sqrt(self.added)) * (1 + 4 * U)
            worst = above(slope.off / math.sqrt(float(self.added.min())), 2)
            both = up(by_penalty + worst)
            drop, how = above(0.5 * above(both * both), 6), "penalty"
        for some in (True, False):
            if drop <= enough or self.rows.d > self.largest:
                break
            H, mu = self._curvature(some)
            better = fall(H, mu, slope.g, slope.off) if mu > 0 else math.inf
            if better < drop:
                drop, how = better, "few rows" if some else "rows"
        within = math.inf
        if not math.isfinite(drop):
            within, how = above(WITHIN * max(slope.length, slope.reach)), "within"
            drop = above(up(norm_up(slope.g) + slope.off) * up(within + slope.length), 2)
        lower = max(0.0, down(slope.least - drop))
        charge = 2 * (slope.charge + slope.upper - slope.least) + 64 * U * slope.upper
        return SquaredFound(
            Bounds.proved(min(lower, slope.upper), slope.upper, charge + slope.off * slope.off),
            how,
            within,
        )

    def _curvature(self, some: bool) -> tuple[Hessian, float]:
        """H and a proved lower bound of its eigenvalues, computed once."""
        if some not in self._known:
            H = hessian(self.rows, self.w, self.added, self.risk.free_bias, some)
            self._known[some] = (H, H.least())
        return self._known[some]
