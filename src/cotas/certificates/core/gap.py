"""The one inequality: bounds of the smallest regularized risk, from any model and any dual point.

    P(θ, b) = Σ sᵢ ℓᵢ(zᵢ)/S + Ω(θ),    z = Xθ + b,    S = Σ sᵢ

For every c = s·v with v in the domain of ℓ*, every t ≥ 0 that keeps it there, δ = Σ cᵢ and any B
that bounds |b| of the models with P ≤ P(θ, b), Fenchel and Young give

    P(θ, b)  ≥  min P  ≥  − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ)/S − Ω*(−t Xᵀc/S) − t|δ|B/S.

Without a bias B = 0. A penalized bias is the weight b/κ of one more column, of the value κ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.losses import HardMargin, Margin
from cotas.certificates.core.regularizers import L2, Pull
from cotas.certificates.core.rounding import (
    TINY,
    FloatArray,
    U,
    above,
    below,
    down,
    gamma,
    ratio,
    sharp_total,
    total,
    total_up,
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
        if not 0.0 <= self.bias_scale < math.inf or not self.loss.sound():
            raise Objection("parameters")
        if isinstance(self.loss, HardMargin) and not isinstance(self.regularizer, L2):
            raise Objection("parameters")  # other Ω do not shrink with the square of a margin
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
    c = np.asarray(c, dtype=np.float64)
    if c.shape != s.shape or not np.isfinite(c).all():
        raise Objection("dual point")
    c = _sizeable(np.where(s > 0, loss.clip(y, c, s), 0.0))
    if not free_bias or not c.any():
        return c
    if math.isinf(loss.reach) and not isinstance(loss, Margin):
        c = c - s * (sharp_total(c)[0] / float(s.sum()))
    else:
        sides = float(c[c > 0].sum()), float(-c[c < 0].sum())
        heavy, light = max(sides), min(sides)
        c = np.where((c > 0) == (sides[0] > sides[1]), c * (light / heavy), c)
    c = _sizeable(c)
    for _ in range(2):
        rest = sharp_total(c)[0]
        side = c * math.copysign(1.0, rest)
        able = np.flatnonzero(side >= abs(rest))
        if rest == 0.0 or not len(able):
            break
        k = able[np.argmin(side[able])]  # the smallest, whose digits are the finest
        c[k] -= rest
    return c


def _sizeable(c: FloatArray) -> FloatArray:
    """Zero for what has not all its digits."""
    return np.where(np.abs(c) < TINY, 0.0, c)


def moved_targets(risk: Risk, y: FloatArray, w: Weights) -> tuple[FloatArray, float]:
    """Targets less a number near them, where the bias is free to follow; one rounding each."""
    if isinstance(risk.loss, Margin) or not risk.free_bias:
        return y, 0.0
    middle = float(np.where(w.s > 0, y, 0.0).sum() / max(1, np.count_nonzero(w.s)))
    return (y - middle, middle) if math.isfinite(middle) else (y, 0.0)


def upper(
    risk: Risk,
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
        size = above(abs(bias) / risk.bias_scale)
        penalty = up(penalty + above(0.5 * risk.regularizer.lam * above(size * size), 3))
    if isinstance(loss, HardMargin):
        # θ/m has all margins at least 1, m being the smallest margin.
        smallest = float(np.min(np.where(w.s > 0, y * z - off * (1 + 8 * U), math.inf)))
        if not smallest > 0:
            raise Objection("not separated")
        value = above(ratio(penalty, below(smallest * smallest, 2)), 4)
        return value, 0.0
    used = w.s > 0
    with np.errstate(over="ignore", invalid="ignore"):
        slack = off * (1 + 8 * U) + (4 * U) * np.abs(z)
        far = np.where(used, w.s * loss.value(y, z, slack), 0.0)
        near = np.where(used, w.s * loss.value(y, z, 0.0), 0.0)
    value, error = total(far)
    worst = above(up(value + error), loss.ulps + 2)
    if not math.isfinite(worst):
        raise Objection("not finite")
    plain = float(near.sum())
    return up(above(worst / w.low, 1) + penalty), max(0.0, (worst - plain) / w.low)


def bias_bound(risk: Risk, rows: Any, y: FloatArray, w: Weights, level: float) -> float:
    """B: |b| of a model with P ≤ level is no larger, in the coordinates of the moved rows.

    A best model is no worse than θ = 0, b = 0 either.
    """
    loss = risk.loss
    if not isinstance(loss, HardMargin):
        nothing = total_up(w.s * loss.value(y, np.zeros_like(y), 0.0))
        level = min(level, above(nothing / w.low, loss.ulps + 4))
    reach = above(rows.longest() * risk.regularizer.radius(level))
    if not isinstance(loss, Margin):
        middle = above(float(np.abs(np.where(w.s > 0, y, 0.0)).max(initial=0.0)))
        return up(up(reach + middle) + loss.spread(level))
    low = []
    for side in (1.0, -1.0):
        value, error = total(np.where(y == side, w.s, 0.0))
        low.append(down(value - error))
    if not (low[0] > 0 and low[1] > 0):
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
) -> tuple[float, float, float]:
    """D(tc) at a good t, rounded down, that t, and what of it is rounding."""
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
        value, off = sharp_total(values)
        size = total(sizes)[0]
        return value, up(off + above(gamma(loss.ulps + 4) * size, 2))

    def cost(t: float) -> float:
        found = regularizer.conjugate(pull, t, share)
        if risk.bias_scale:
            extra = above(risk.bias_scale * above(t * share * rest, 2))
            heavy = above(ratio(extra, below(2 * regularizer.lam, 0)))
            found = up(found + above(extra * heavy))
        return up(found + above(t * slip, 1))

    best, multiple, charge = 0.0, 0.0, 0.0  # D(0): no loss here is negative
    least = float(np.abs(cs).min(initial=math.inf))
    for t in _multiples(risk, pull, theta, share, gain, cost):
        # Below TINY the digits of tc would be lost.
        if not (t <= loss.reach and t < math.inf and t * least >= TINY):
            continue
        value, off = gain(t)
        exact = down(value - off)
        found = down((down(exact / w.high) if exact >= 0 else down(exact / w.low)) - cost(t))
        if found > best:
            best, multiple, charge = found, t, up(off / w.low + t * slip)
    return best, multiple, charge + _conjugate_rounding(regularizer, pull, share)


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


class Claim(NamedTuple):
    """A model of a problem, and any dual point; None takes the slopes of the loss at the model."""

    risk: Any
    y: FloatArray
    theta: FloatArray
    bias: float
    c: Any = None


class Found(NamedTuple):
    """The bounds of a claim, or what speaks against it; the dual point, Xᵀc and t that prove it."""

    bounds: Bounds | Objection
    c: FloatArray | None = None
    pull: Pull | None = None
    t: float = 0.0


@np.errstate(all="ignore")  # what is not finite is refused, or gives the bound zero
def all_bounds(rows: Any, claims: Sequence[Claim], weights: Any = None) -> list[Found]:
    """Both bounds of each model; X is read twice for all of them together."""
    against: dict[int, Objection] = {}
    for k, claim in enumerate(claims):
        try:
            _refuse(rows, claim)
        except Objection as objection:
            against[k] = objection
    sound = [k for k in range(len(claims)) if k not in against]
    found: dict[int, Found] = {}
    try:
        found = _sound_bounds(rows, [claims[k] for k in sound], Weights.of(weights, rows.n), sound)
    except Objection as objection:
        against |= dict.fromkeys(sound, objection)
    return [found[k] if k in found else Found(against[k]) for k in range(len(claims))]


def _refuse(rows: Any, claim: Claim) -> None:
    if claim.theta.shape != (rows.d,) or claim.y.shape != (rows.n,):
        raise Objection("shape")
    claim.risk.loss.check(claim.y)
    claim.risk.refuse(claim.theta, claim.bias)


def _sound_bounds(
    rows: Any, claims: Sequence[Claim], w: Weights, names: Sequence[int]
) -> dict[int, Found]:
    """The bounds of models that are points of their problems, by name."""
    if not claims:
        return {}
    moved = [moved_targets(claim.risk, claim.y, w) for claim in claims]
    thetas = np.stack([claim.theta for claim in claims], axis=1)
    biases = [(claim.bias, -middle) for claim, (_, middle) in zip(claims, moved, strict=True)]
    z, off = rows.scores(thetas, biases)
    duals, values, found = np.zeros((rows.n, len(claims))), {}, {}
    for i, claim in enumerate(claims):
        y, middle = moved[i]
        # Targets that were moved are off by one rounding themselves.
        slack = off[:, i] + 2 * U * np.abs(y) if middle else off[:, i]
        try:
            values[i] = upper(claim.risk, y, w, claim.theta, claim.bias, z[:, i], slack)
            c = claim.c
            if c is None:
                c = np.nan_to_num(w.s * claim.risk.loss.slope(y, z[:, i]))
            duals[:, i] = feasible(claim.risk.loss, y, c, w.s, claim.risk.free_bias)
        except Objection as objection:
            found[names[i]] = Found(objection)
    for i, pull in enumerate(_pulls(rows, duals)):
        if i in values and names[i] not in found:
            (value, charge), c, claim = values[i], duals[:, i], claims[i]
            best, t, more = 0.0, 0.0, 0.0
            if pull is not None:
                best, t, more = lower(claim.risk, rows, moved[i][0], w, claim.theta, c, pull, value)
            # Rounding cannot have cost more than there is between the two.
            charge = min(2 * (charge + more), max(0.0, value - best)) + 64 * U * value
            try:
                found[names[i]] = Found(Bounds.proved(best, value, charge), c, pull, t)
            except Objection as objection:
                found[names[i]] = Found(objection)
    return found


def _pulls(rows: Any, duals: FloatArray) -> list[Pull | None]:
    """Xᵀc of each dual point, all at once; None for those that are too large to be summed."""
    try:
        return list(rows.pull(duals))
    except Objection:
        if duals.shape[1] == 1:
            return [None]
        return [pull for c in duals.T for pull in _pulls(rows, c[:, None])]


def bounds(
    risk: Risk,
    rows: Any,
    y: FloatArray,
    theta: FloatArray,
    bias: float,
    c: Any = None,
    weights: Any = None,
) -> Bounds:
    """Both bounds of one model; raises what speaks against it."""
    found = all_bounds(rows, [Claim(risk, y, theta, bias, c)], weights)[0].bounds
    if isinstance(found, Objection):
        raise found
    return found
