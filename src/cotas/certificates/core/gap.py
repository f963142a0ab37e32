"""The one inequality: bounds of the smallest regularized risk, from any model and any dual point.

    P(θ, b) = Σ sᵢ ℓᵢ(zᵢ)/S + Ω(θ),    z = Xθ + b,    S = Σ sᵢ

For every c = s·v with v in the domain of ℓ*, every t ≥ 0 that keeps it there, δ = Σ cᵢ and any B
that bounds |b| of the models with P ≤ P(θ, b), Fenchel and Young give

    P(θ, b)  ≥  min P  ≥  − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ)/S − Ω*(−t Xᵀc/S) − t|δ|B/S.

Without a bias B = 0. A penalized bias is the weight b/κ of one more column, of the value κ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.losses import HardMargin, Margin
from cotas.certificates.core.regularizers import Pull
from cotas.certificates.core.rounding import (
    FloatArray,
    U,
    above,
    below,
    down,
    gamma,
    sharp_total,
    total,
    up,
)

# Multiples of the dual point that are tried where the best one has no formula.
MULTIPLES = (1.0, 0.999, 0.99, 0.9, 0.5, 0.1)


@dataclass(frozen=True)
class Risk:
    """What is minimized: a loss, a regularizer, and what the bias may do."""

    loss: Any
    regularizer: Any
    free_bias: bool
    bias_scale: float = 0.0  # κ; zero where the bias is not penalized

    def refuse(self, theta: FloatArray, bias: float) -> None:
        """Refuse a model that is not one of the problem."""
        if not (np.isfinite(theta).all() and math.isfinite(bias)):
            raise Objection("model not finite")
        if bias and not (self.free_bias or self.bias_scale):
            raise Objection("bias")
        self.regularizer.refuse(theta)


@dataclass(frozen=True)
class Weights:
    """sᵢ ≥ 0 as they are given, and bounds of their sum; None stands for ones."""

    s: FloatArray
    low: float
    high: float

    @classmethod
    def of(cls, given: Any, n: int) -> Weights:
        """Read weights; what they sum to is computed, never believed."""
        if given is None:
            return cls(np.ones(n), float(n), float(n))
        s = np.asarray(given, dtype=np.float64)
        if s.shape != (n,) or not np.isfinite(s).all() or (s < 0).any():
            raise Objection("weights")
        value, off = total(s)
        if not value - off > 0:
            raise Objection("weights")
        return cls(s, down(value - off), up(value + off))


def feasible(loss: Any, y: FloatArray, c: FloatArray, s: FloatArray, free_bias: bool) -> FloatArray:
    """Move a dual point into the domain, and where the bias is free, to a sum near zero.

    Nothing here has to be accurate: what is left of the sum is charged by `bounds`.
    """
    if c.shape != s.shape or not np.isfinite(c).all():
        raise Objection("dual point")
    c = np.where(s > 0, loss.clip(y, c, s), 0.0)
    if not free_bias or not c.any():
        return c
    if math.isinf(loss.reach) and not isinstance(loss, Margin):
        c = c - s * (sharp_total(c)[0] / float(s.sum()))
    else:
        sides = float(c[c > 0].sum()), float(-c[c < 0].sum())
        heavy, light = max(sides), min(sides)
        c = np.where((c > 0) == (sides[0] > sides[1]), c * (light / heavy), c)
    for _ in range(2):
        rest = sharp_total(c)[0]
        side = c * math.copysign(1.0, rest)
        able = np.flatnonzero(side >= abs(rest))
        if rest == 0.0 or not len(able):
            break
        k = able[np.argmin(side[able])]  # the smallest, whose digits are the finest
        c[k] -= rest
    return c


def moved_targets(risk: Risk, y: FloatArray, w: Weights) -> tuple[FloatArray, float]:
    """Targets less a number near them, where the bias is free to follow; one rounding each."""
    if isinstance(risk.loss, Margin) or not risk.free_bias:
        return y, 0.0
    middle = float(np.where(w.s > 0, y, 0.0).sum() / max(1, np.count_nonzero(w.s)))
    return (y - middle, middle) if math.isfinite(middle) else (y, 0.0)


def upper(
    risk: Risk,
    rows: Any,
    y: FloatArray,
    w: Weights,
    theta: FloatArray,
    bias: float,
    z: FloatArray,
    off: FloatArray,
) -> tuple[float, float]:
    """P(θ, b), rounded up, and what of it is rounding."""
    loss = risk.loss
    penalty = risk.regularizer.value(theta)
    if risk.bias_scale:
        penalty = up(penalty + above(0.5 * risk.regularizer.lam * (bias / risk.bias_scale) ** 2, 6))
    if isinstance(loss, HardMargin):
        # θ/m has all margins at least 1, m being the smallest margin.
        smallest = float(np.min(np.where(w.s > 0, y * z - off * (1 + 8 * U), math.inf)))
        if not smallest > 0:
            raise Objection("not separated")
        value = above(penalty / below(smallest * smallest, 2), 4)
        return value, 0.0
    used = w.s > 0
    with np.errstate(over="ignore", invalid="ignore"):
        slack = off * (1 + 8 * U) + (4 * U) * np.abs(z)
        far = np.where(used, w.s * loss.value(y, z, slack), 0.0)
        near = np.where(used, w.s * loss.value(y, z, 0.0), 0.0)
    value, error = total(far)
    worst = above(up(value + error), loss.ulps + 2)
    plain = float(near.sum())
    return up(above(worst / w.low, 1) + penalty), max(0.0, (worst - plain) / w.low)


def bias_bound(risk: Risk, rows: Any, y: FloatArray, w: Weights, level: float) -> float:
    """B: |b| of a model with P ≤ level is no larger, in the coordinates of the moved rows."""
    reach = above(rows.longest() * risk.regularizer.radius(level))
    loss = risk.loss
    if not isinstance(loss, Margin):
        middle = above(float(np.abs(np.where(w.s > 0, y, 0.0)).max(initial=0.0)))
        return up(up(reach + middle) + loss.spread(level))
    low = []
    for side in (1.0, -1.0):
        value, error = total(np.where(y == side, w.s, 0.0))
        low.append(down(value - error))
    if not min(low) > 0:
        return math.inf  # one class only: every bias is as good as a larger one
    return up(reach + loss.shortfall(above(level * (w.high / min(low)), 3)))


def lower(
    risk: Risk,
    rows: Any,
    y: FloatArray,
    w: Weights,
    theta: FloatArray,
    c: FloatArray,
    pull: Pull,
    level: float,
) -> tuple[float, float]:
    """D(tc) at a good t, rounded down, and what of it is rounding."""
    loss, regularizer = risk.loss, risk.regularizer
    share = up(1.0 / w.low)
    value, off = sharp_total(c) if risk.free_bias or risk.bias_scale else (0.0, 0.0)
    rest = up(abs(value) + off)
    slip = 0.0
    if risk.free_bias and rest > 0:
        slip = above(above(rest * share) * bias_bound(risk, rows, y, w, level), 2)
    used = np.flatnonzero((w.s > 0) & (c != 0.0))
    ys, cs, ss = y[used], c[used], w.s[used]

    def gain(t: float) -> tuple[float, float]:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values, sizes = loss.gain(ys, cs, ss, t)
        value, off = total(values)
        size = total(sizes)[0]
        return value, up(off + above(gamma(loss.ulps + 4) * size, 2))

    def cost(t: float) -> float:
        found = regularizer.conjugate(pull, t, share)
        if risk.bias_scale:
            extra = above(risk.bias_scale * above(t * share * rest, 2))
            found = up(found + above(extra * extra / below(2 * regularizer.lam, 0), 3))
        return up(found + above(t * slip, 1))

    best, charge = -math.inf, 0.0
    for t in _multiples(risk, pull, theta, share, gain, cost):
        if not (0.0 <= t <= loss.reach and math.isfinite(t)):
            continue
        value, off = gain(t)
        exact = down(value - off)
        found = down((down(exact / w.high) if exact >= 0 else down(exact / w.low)) - cost(t))
        if found > best:
            best, charge = found, up(off / w.low + t * slip)
    charge += _conjugate_rounding(regularizer, pull, share)
    return (max(best, 0.0), charge) if not math.isnan(best) else (0.0, charge)


def _conjugate_rounding(regularizer: Any, pull: Pull, share: float) -> float:
    """What the conjugate owes to the rounding of Xᵀc."""
    whole, exact = (
        regularizer.conjugate(pull, 1.0, share),
        regularizer.conjugate(pull._replace(off=0.0), 1.0, share),
    )
    return max(0.0, whole - exact) if math.isfinite(whole) else 0.0


def _multiples(
    risk: Risk, pull: Pull, theta: FloatArray, share: float, gain: Any, cost: Any
) -> list[float]:
    """Some t worth trying. Every one gives a valid bound, so how they are found is of no matter."""
    reach = min(risk.regularizer.reach(pull, theta, share), risk.loss.reach)
    if not risk.loss.quadratic:
        return [t * min(1.0, reach) for t in MULTIPLES]
    # The gain is tL − t²Q, and the cost goes with the power `degree` of t.
    one, two, paid = gain(1.0)[0] * share, gain(2.0)[0] * share, cost(1.0)
    linear, square = 2.0 * one - 0.5 * two, one - 0.5 * two
    linear -= paid if risk.regularizer.degree == 1 else 0.0
    square += paid if risk.regularizer.degree == 2 else 0.0
    peak = linear / (2.0 * square) if square > 0 else 1.0
    return [1.0, min(max(peak, 0.0), reach)]


def bounds(
    risk: Risk,
    rows: Any,
    y: FloatArray,
    theta: FloatArray,
    bias: float,
    c: Any = None,
    weights: Any = None,
) -> Bounds:
    """Both bounds of one model; c is any dual point, None takes the slopes at the model."""
    theta = np.asarray(theta, dtype=np.float64)
    if theta.shape != (rows.d,) or y.shape != (rows.n,):
        raise Objection("shape")
    risk.loss.check(y)
    risk.refuse(theta, bias)
    w = Weights.of(weights, rows.n)
    y, middle = moved_targets(risk, y, w)
    z, off = (a[:, 0] for a in rows.scores(theta[:, None], np.array([bias]), middle))
    if middle:
        off = off + 2 * U * np.abs(y)
    value, charge = upper(risk, rows, y, w, theta, bias, z, off)
    if not math.isfinite(value):
        raise Objection("not finite")
    if c is None:
        c = w.s * risk.loss.slope(y, z)
    c = feasible(risk.loss, y, np.array(c, dtype=np.float64), w.s, risk.free_bias)
    [pull] = rows.pull(c[:, None])
    bound, more = lower(risk, rows, y, w, theta, c, pull, value)
    return Bounds.proved(min(bound, value), value, charge + more)
