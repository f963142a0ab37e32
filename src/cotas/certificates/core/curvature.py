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
from cotas.certificates.core.gap import Risk, Weights, moved_targets, upper
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
        spans = spans[:: max(1, len(spans) * (spans[0].stop or 1) // (4 * rows.d + 256))]

    def read(span: slice) -> FloatArray:
        A, s = rows.read(span), w.s[span]
        A = A.toarray() / rows.unit if rows.sparse else A / rows.unit
        A = np.hstack([A, np.ones((len(A), 1))]) if free_bias else A
        return np.asarray(A.T @ (s[:, None] * A))

    with np.errstate(over="ignore", invalid="ignore"):
        whole, additions = pairwise(rows.each(read, spans))
        whole = whole / w.high
    whole[np.diag_indices(rows.d)] += added
    diagonal = np.diag(whole)
    if not np.isfinite(whole).all():
        raise Objection("not finite")
    scale = np.exp2(-np.round(0.5 * np.log2(np.where(diagonal > TINY, diagonal, 1.0))))
    matrix = whole * scale * scale[:, None]
    roundings = max(span.stop - span.start for span in spans) + additions + 10
    size = above(float(np.trace(matrix)), len(matrix) + 2)
    # s/S is off by what S is; entries by γ√(hᵢᵢhⱼⱼ), whose matrix has the norm of the trace.
    off = above((gamma(roundings) + (w.high / w.low - 1.0)) * size, 4) + TINY
    return Hessian(matrix, scale, off)


def fall(H: Hessian, g: FloatArray, off: float) -> float:
    """½ gᵀH⁻¹g at most, for every slope within `off` of g; infinite where no curvature is proved."""
    mu = H.least()
    if mu == 0.0:
        return math.inf
    widest = float(H.scale.max(initial=0.0))
    slope, off = g * H.scale, above(off * widest)
    a = np.linalg.solve(H.matrix, slope)
    if not np.isfinite(a).all():
        return math.inf
    d, size = len(a), norm_up(a)
    Ha = H.matrix @ a
    # ‖g − Ha‖ and 2gᵀa − aᵀHa, each with the errors of g, of H and of the products.
    wide = above(norm_up(np.abs(H.matrix) @ np.abs(a)) * gamma(d + 2), 2)
    left = above(norm_up(slope - Ha) * (1 + 4 * U) + off + H.off * size + wide, 6)
    value, error = total(2.0 * slope * a - a * Ha)
    error += 8 * U * float(np.abs(slope) @ np.abs(a)) + 2 * wide * size
    first = above(max(0.0, value) + error + 2 * off * size + H.off * size * size, 8)
    return above(0.5 * up(first + above(left * left / mu, 2)), 2)


def squared_bounds(
    lam: float,
    sigma: FloatArray | None,
    rows: Any,
    y: FloatArray,
    theta: FloatArray,
    bias: float,
    free_bias: bool,
    weights: Any = None,
    close: Sequence[float] = (1e-10,),
    largest: int = 2000,
) -> tuple[Bounds, str, float]:
    """Bounds of one model, what curvature proved them, and ρ where the claim is within it."""
    risk = Risk(Squared(), L2(lam, sigma), free_bias)
    if theta.shape != (rows.d,) or y.shape != (rows.n,):
        raise Objection("shape")
    risk.loss.check(y)
    risk.refuse(theta, bias)
    w = Weights.of(weights, rows.n)
    y, middle = moved_targets(risk, y, w)
    z, off = (a[:, 0] for a in rows.scores(theta[:, None], np.array([bias]), middle))
    off = off + 2 * U * np.abs(y)
    value, charge = upper(risk, rows, y, w, theta, bias, z, off)
    r = z - y
    near = np.square(np.maximum(np.abs(r) * (1 - 2 * U) - off, 0.0))
    found, error = total(w.s * near)
    least = below(0.5 * max(0.0, down(found - error)) / w.high, 4)
    curved = (
        np.zeros(rows.d) if not lam else lam * (np.ones(rows.d) if sigma is None else sigma * sigma)
    )
    penalty, error = total(0.5 * curved * theta * theta)
    least = max(0.0, down(least + down(penalty * (1 - 8 * U) - error)))
    # The slope, in units of the columns, and its error.
    c = w.s * r
    [pull] = rows.pull(c[:, None])
    mean, slack = sharp_total(c)
    g = pull.u / rows.unit / w.low + curved * theta / rows.unit
    if free_bias:
        g = np.append(g, mean / w.low)
    felt = above(float((w.s * (off + 4 * U * np.abs(r))) @ np.hypot(rows.lengths, 1.0)), rows.n + 6)
    sizes = norm_up(pull.u / rows.unit) / w.low + norm_up(curved * theta / rows.unit)
    noise = above(
        (pull.off + felt + slack) / w.low
        + (8 * U + (w.high / w.low - 1)) * (sizes + abs(mean) / w.low),
        8,
    )
    if not (math.isfinite(value) and math.isfinite(noise) and np.isfinite(g).all()):
        raise Objection("not finite")

    def conclude(drop: float) -> Bounds:
        bound = max(0.0, down(least - drop))
        return Bounds.proved(min(bound, value), value, charge + max(0.0, value - least))

    added = curved / rows.unit / rows.unit
    drop, how = math.inf, "none"
    if (added > 0).all() and not free_bias:
        drop, how = (
            above(
                0.5 * above(norm_up(g / np.sqrt(added)) + noise / math.sqrt(added.min())) ** 2, 4
            ),
            "penalty",
        )
    if drop > close[0] * value and rows.d <= largest:
        for some in (True, False):
            H = hessian(rows, w, added, free_bias, some)
            better = fall(H, g, noise)
            if better < drop:
                drop, how = better, "few rows" if some else "rows"
            if drop <= close[0] * value:
                break
    if math.isfinite(drop):
        return conclude(drop), how, math.inf
    own = norm_up(
        np.append(
            theta * rows.unit, [b for b in [rows.moved_bias(theta, bias, middle)[0]] if free_bias]
        )
    )
    spread = above(math.sqrt(2 * value)) + above(float(np.abs(y).max(initial=0.0)))
    rho = above(WITHIN * max(own, spread))
    return conclude(above(above(norm_up(g) + noise) * up(rho + own), 2)), "within", rho
