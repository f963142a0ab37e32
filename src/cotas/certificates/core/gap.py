"""The one inequality: bounds of the smallest regularized risk, from any model and any dual point.

    P(θ, b) = Σ sᵢ ℓᵢ(zᵢ)/S + Ω(θ),    z = Xθ + b,    S = Σ sᵢ

For every c = s·v with v in the domain of ℓ*, every t ≥ 0 that keeps it there, δ = Σ cᵢ and any B
that bounds |b| of the models with P ≤ P(θ, b), Fenchel and Young give

    P(θ, b)  ≥  min P  ≥  − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ)/S − Ω*(−t Xᵀc/S) − t|δ|B/S.

Without a bias B = 0. A penalized bias is the weight b/κ of one more column, of the value κ.

A loss ℓ(y, z) has `value(y, z, off)`, at least ℓ at every score within `off` of z, and
`gain(y, c, s, t)`, which is − s ℓ*(tc/s) and the size of its terms, both up to `ulps` roundings;
exp and log are trusted to 4 units in the last place. `clip` moves c into the domain of ℓ*, exactly,
and multiples t ≤ `reach` stay inside it. `slope` guesses v = ℓ'(z); it need not be accurate.

A regularizer Ω(θ) and its conjugate are rounded up; a conjugate is asked about −u of a `Pull`.
`level` of `radius` bounds Ω; the answer bounds ‖θ‖. Coefficients may have weights, by which θ is
multiplied and u is divided; none stands for ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Bounds, Objection, Pull

from cotas.certificates.core.rounding import (  # isort: skip
    SMALL, TINY, FloatArray, IntArray, U, above, below, down, gamma, norm_up, ratio, sharp_total,
    total, total_down, total_up, up,
)  # fmt: skip

Pair = tuple[FloatArray, FloatArray]
NOTHING = np.zeros(0)


@dataclass(frozen=True)
class Margin:
    """φ(m) of the margin m = yz, y = ±1: convex, never rising, slopes in [−steepest, 0].

    `phi` is φ, and `dual(a, s)` is − s φ*(−a/s) and the size of its terms, of a = |c|.
    `derivative` is φ', of which any guess will do: to the last digit, so that the same rows prove
    the same whoever multiplies them, and near a corner a slope between both sides.
    """

    steepest: ClassVar[float] = 1.0
    at_zero: ClassVar[float] = 1.0  # φ(0)
    slope_at_zero: ClassVar[float] = 1.0  # |φ'(0)|
    ulps: ClassVar[int] = 8
    reach: ClassVar[float] = 1.0
    quadratic: ClassVar[bool] = True  # t ↦ gain is a quadratic polynomial

    phi: ClassVar[Callable[..., FloatArray]]
    derivative: ClassVar[Callable[..., FloatArray]]
    dual: ClassVar[Callable[..., Pair]]

    def refuse(self, y: FloatArray) -> None:
        """Refuse labels that are not ±1."""
        if not (np.abs(y) == 1.0).all():
            raise Objection("labels")

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """φ at the lower end of the margins."""
        return self.phi(y * z - off)

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return np.asarray(y * self.derivative(y * z))

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        """−yc into [0, steepest·s]; a product with a power of two is exact."""
        inside = np.maximum(-y * c, 0.0)
        if self.steepest < math.inf:
            inside = np.minimum(inside, self.steepest * s)
        return np.asarray(-y * inside)

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        return self.dual(t * np.abs(c), s)

    def limits(self, claim: Any, rows: Any, w: Any, level: float) -> FloatArray:
        """Bounds of |θⱼ| of the coefficients without a penalty, for models with P ≤ level: none."""
        return np.full(len(claim.risk.regularizer.free()), math.inf)

    def shortfall(self, level: float) -> float:
        """How far below zero the average margin of a class can be if its φ is `level` on average.

        No farther than (level − φ(0))/|φ'(0)|, since φ(m) ≥ φ(0) − |φ'(0)|m.
        """
        return up(up(max(0.0, level - self.at_zero * (1 - 4 * U))) / self.slope_at_zero)


class Hinge(Margin):
    """max(0, 1 − m), φ*(−a) = −a"""

    def phi(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, 1.0 - m)

    def derivative(self, m: FloatArray) -> FloatArray:
        return np.asarray(-np.minimum(np.maximum((1.0 - m) / 2e-6 + 0.5, 0.0), 1.0))

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        return a, a


class SquaredHinge(Margin):
    """max(0, 1 − m)², φ*(−a) = a²/4 − a"""

    steepest, slope_at_zero, reach = math.inf, 2.0, math.inf

    def phi(self, m: FloatArray) -> FloatArray:
        return np.square(np.maximum(0.0, 1.0 - m))

    def derivative(self, m: FloatArray) -> FloatArray:
        return np.maximum(-2.0 * np.maximum(0.0, 1.0 - m), -self.steepest)

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        square = 0.25 * a * (a / s)
        return a - square, a + square


class ModifiedHuber(SquaredHinge):
    """The squared hinge, continued from m = −1 on by its tangent −4m."""

    steepest, reach = 4.0, 1.0

    def phi(self, m: FloatArray) -> FloatArray:
        return np.where(m < -1.0, -4.0 * m, np.square(np.clip(1.0 - m, 0.0, 2.0)))


class Logistic(Margin):
    """log(1 + e⁻ᵐ); −φ*(−p) is the entropy of p"""

    at_zero, slope_at_zero, ulps, quadratic = math.log(2.0), 0.5, 24, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, -m) + np.log1p(np.exp(-np.abs(m)))

    def derivative(self, m: FloatArray) -> FloatArray:
        return np.asarray(-1.0 / (1.0 + np.exp(m)))

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        """One unit of p moves the entropy by at most p(40 + |log p|) of them."""
        p = np.minimum(np.maximum(a / s, 0.0), 1.0)
        log_p, log_q = np.log(np.where(p > 0, p, 1.0)), np.log1p(-np.where(p < 1, p, 0.0))
        entropy = s * (-p * log_p - (1.0 - p) * log_q)
        return entropy, entropy + s * p * (40.0 - log_p)


class Exponential(Margin):
    """e⁻ᵐ, φ*(−a) = a log a − a"""

    steepest, ulps, reach, quadratic = math.inf, 24, math.inf, False

    def phi(self, m: FloatArray) -> FloatArray:
        return np.exp(-m)

    def derivative(self, m: FloatArray) -> FloatArray:
        return np.asarray(-np.exp(-m))

    def dual(self, a: FloatArray, s: FloatArray) -> Pair:
        log = np.log(np.where(a > 0, a / s, 1.0))
        return a - a * log, a * (4.0 + np.abs(log))


class HardMargin(Hinge):
    """0 where m ≥ 1, ∞ elsewhere; its conjugate is that of the hinge without an upper end."""

    steepest, reach, at_zero = math.inf, math.inf, math.inf


def half_square(lam: float, size: float) -> float:
    """½λ·size², rounded up."""
    return above(0.5 * lam * above(size * size), 3)


class Regularizer:
    """What all have in common; the fields of each are numbers ≥ 0."""

    weights: FloatArray | None
    positive: bool = False
    degree: ClassVar[int] = 0  # Ω*(tu) goes with this power of t

    def refuse(self, theta: FloatArray) -> None:
        """Refuse parameters that are none, and a negative coefficient where there must be none."""
        w = self.weights
        sound = all(0 <= v < math.inf for k, v in vars(self).items() if k != "weights")
        if w is not None:
            sound = sound and w.shape == theta.shape and bool(((w >= 0) & (w < math.inf)).all())
        if not sound:
            raise Objection("parameters")
        if self.positive and (theta < 0).any():
            raise Objection("sign")

    def weighted(self, theta: FloatArray) -> FloatArray:
        """wθ, one rounding each."""
        return theta if self.weights is None else theta * self.weights

    def least(self) -> float:
        """min w"""
        return 1.0 if self.weights is None else float(self.weights.min(initial=math.inf))

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """The largest t with tu·share in the domain: none is excluded."""
        return math.inf

    def radius(self, level: float) -> float:
        """A bound of ‖θ‖ where Ω ≤ level."""
        raise NotImplementedError

    def free(self) -> IntArray:
        """The coefficients that have no penalty and are allowed to: none here."""
        return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class L2(Regularizer):
    """(λ/2) Σ (wⱼθⱼ)²"""

    lam: float
    weights: FloatArray | None = field(default=None, repr=False)
    degree: ClassVar[int] = 2

    def value(self, theta: FloatArray) -> float:
        """Ω, rounded up."""
        return half_square(self.lam, norm_up(self.weighted(theta)))

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """Ω*(−tu·share), rounded up: ‖û + unit·e‖² ≤ ‖û‖² + 2‖û·unit‖off + (max unit·off)²."""
        if self.lam <= 0:
            return math.inf
        u, unit, off = pull
        if self.weights is not None:
            u, unit = u / self.weights, unit / self.weights
        size, mixed, widest = (
            norm_up(u),
            norm_up(u * unit),
            above(float(unit.max(initial=0.0)) * off, 3),
        )
        square = up(above(size * size, 3) + above(2 * mixed * off, 3) + above(widest * widest, 3))
        factor = above(t * share, 1)
        return above(ratio(above(factor * factor) * square, below(2.0 * self.lam, 0)), 6)

    def radius(self, level: float) -> float:
        """‖θ‖ ≤ √(2·level/λ)/min w"""
        if not (self.lam > 0 and self.least() > 0):
            return math.inf
        return above(math.sqrt(above(2 * level / self.lam, 2)) / self.least(), 3)


# Multiples of the dual point that are tried where the best one has no formula.
MULTIPLES = (1.0, 0.999, 0.99, 0.9, 0.5, 0.1)


@dataclass(frozen=True)
class Risk:
    """What is minimized: a loss, a regularizer, and what the bias may do."""

    loss: Any
    regularizer: Any
    free_bias: bool
    bias_scale: float = 0.0  # κ; zero where the bias is not penalized


class Claim(NamedTuple):
    """A model of a problem, and any dual point; None takes the slopes of the loss at the model."""

    risk: Risk
    y: FloatArray
    theta: Any
    bias: float
    c: Any = None

    def refuse(self, n: int, d: int) -> None:
        """Refuse a model that is not one of the problem."""
        risk, theta = self.risk, self.theta
        if theta.shape != (d,) or self.y.shape != (n,):
            raise Objection("shape")
        if not (np.isfinite(theta).all() and math.isfinite(self.bias)):
            raise Objection("model not finite")
        if self.bias and not (risk.free_bias or risk.bias_scale):
            raise Objection("bias")
        if not 0.0 <= risk.bias_scale < math.inf:
            raise Objection("parameters")
        if isinstance(risk.loss, HardMargin) and not isinstance(risk.regularizer, L2):
            raise Objection("parameters")  # other Ω do not shrink with the square of a margin
        risk.loss.refuse(self.y)
        risk.regularizer.refuse(theta)

    def moved(self, w: Weights) -> tuple[Claim, float]:
        """Targets less a number near them, where the bias is free to follow; one rounding each."""
        if isinstance(self.risk.loss, Margin) or not self.risk.free_bias:
            return self, 0.0
        middle = float(np.where(w.s > 0, self.y, 0.0).sum() / max(1, np.count_nonzero(w.s)))
        return (self._replace(y=self.y - middle), middle) if math.isfinite(middle) else (self, 0.0)


@dataclass(frozen=True)
class Weights:
    """sᵢ ≥ 0 as they are given, and bounds of their sum; None stands for ones."""

    s: FloatArray
    low: float
    high: float

    @classmethod
    def of(cls, given: Any, n: int) -> Weights:
        """Read weights; what they sum to is computed, never believed."""
        if isinstance(given, cls):
            return given
        s = weights_of(given, n)
        if given is None:
            return cls(s, float(n), float(n))
        value, off = total(s)
        return cls.between(down(value - off), up(value + off), s)

    @classmethod
    def between(cls, low: float, high: float, s: Any = NOTHING) -> Weights:
        """Weights with a sum that underflow does not touch, however they are added up."""
        if not SMALL <= low <= high < math.inf:
            raise Objection("weights")
        return cls(s, low, high)


def weights_of(given: Any, n: int) -> FloatArray:
    """Weights as they are given, ones for None; refuses what are none."""
    s = np.ones(n) if given is None else np.asarray(given, dtype=np.float64)
    if s.shape != (n,) or not np.isfinite(s).all() or (s < 0).any():
        raise Objection("weights")
    return s


def slopes_at(loss: Any, y: FloatArray, z: FloatArray, s: FloatArray) -> FloatArray:
    """A guess of c from the scores."""
    c: FloatArray = s * loss.slope(y, z)
    return c if np.isfinite(c).all() else np.nan_to_num(c)


def clipped(loss: Any, y: FloatArray, c: Any, s: FloatArray) -> FloatArray:
    """A dual point in its domain, zero where there is no weight; refuses what is none."""
    c = np.asarray(c, dtype=np.float64)
    if c.shape != s.shape or not np.isfinite(c).all():
        raise Objection("dual point")
    return np.where(s > 0, loss.clip(y, c, s), 0.0)


def feasible(loss: Any, y: FloatArray, c: FloatArray, s: FloatArray, free_bias: bool) -> FloatArray:
    """Move a dual point into the domain, and where the bias is free, to a sum near zero.

    What has not all its digits becomes zero. Nothing else has to be accurate here: what is left of
    the sum is charged by `lower`.
    """
    c = clipped(loss, y, c, s)
    if free_bias and c.any():
        if math.isinf(loss.reach) and not isinstance(loss, Margin):
            c = c - s * (float(np.add.reduce(c)) / float(np.add.reduce(s)))
        else:
            more, less = (float(np.add.reduce(np.maximum(side, 0.0))) for side in (c, -c))
            shrink = min(more, less) / max(more, less)
            c = np.where((c > 0) == (more > less), c * shrink, c)
    c = np.where(np.abs(c) < TINY, 0.0, c)
    for _ in range(2 if free_bias else 0):
        rest = sharp_total(c)[0]
        side = c * math.copysign(1.0, rest)
        able = (side >= abs(rest)).nonzero()[0]
        if rest == 0.0 or not len(able):
            break
        c[able[side[able].argmin()]] -= rest  # the smallest, whose digits are the finest
    return c


def penalty_of(claim: Claim) -> float:
    """Ω(θ) and the penalty of the bias, rounded up."""
    regularizer = claim.risk.regularizer
    penalty = float(regularizer.value(claim.theta))
    if claim.risk.bias_scale:
        size = above(abs(claim.bias) / claim.risk.bias_scale)
        penalty = up(penalty + half_square(regularizer.lam, size))
    return penalty


def blurred(z: FloatArray, off: FloatArray) -> FloatArray:
    """How far scores may be off, with what their use in a loss rounds."""
    return np.asarray(off * (1 + 8 * U) + (4 * U) * np.abs(z))


def objective(claim: Claim, losses: float, low: float) -> float:
    """P(θ, b), rounded up, from a sum of the losses and a lower bound of that of the weights."""
    mean = above(above(losses, claim.risk.loss.ulps + 2) / low, 1)
    value = up(mean + penalty_of(claim))
    if not math.isfinite(value):
        raise Objection("not finite")
    return value


def upper(claim: Claim, w: Weights, z: FloatArray, off: FloatArray) -> float:
    """P(θ, b), rounded up, from scores z that are off by `off`."""
    loss, used, slack = claim.risk.loss, w.s > 0, blurred(z, off)
    if isinstance(loss, HardMargin):
        # θ/m has all margins at least 1, m being the smallest margin.
        smallest = float(np.min(np.where(used, claim.y * z - slack, math.inf)))
        if not smallest > 0:
            raise Objection("not separated")
        return above(ratio(penalty_of(claim), below(smallest * smallest, 2)), 4)
    losses = total_up(np.where(used, w.s * loss.value(claim.y, z, slack), 0.0))
    return objective(claim, losses, w.low)


def least_known(claim: Claim, w: Weights, level: float) -> float:
    """What the best model does not exceed: a level, and P of θ = 0, b = 0."""
    loss, y = claim.risk.loss, claim.y
    if isinstance(loss, HardMargin):
        return level
    return level_of(loss, level, total_up(w.s * loss.value(y, np.zeros_like(y), 0.0)), w.low)


def level_of(loss: Any, level: float, nothing: float, low: float) -> float:
    """The smaller one of a level and of P of θ = 0, b = 0, whose losses sum to `nothing`."""
    return min(level, above(nothing / low, loss.ulps + 4))


class Extent(NamedTuple):
    """How far the data reach: max ‖x − m‖, max |y|, and the weight of the lighter class."""

    longest: float
    most: float
    least: float

    @classmethod
    def of(cls, claim: Claim, rows: Any, w: Weights) -> Extent:
        """Of data that are in memory."""
        y, longest = claim.y, rows.longest()
        if isinstance(claim.risk.loss, Margin):
            return cls(longest, 1.0, min(total_down(w.s[y > 0]), total_down(w.s[y < 0])))
        return cls(longest, float(np.abs(np.where(w.s > 0, y, 0.0)).max(initial=0.0)), 0.0)


def bias_bound(risk: Risk, extent: Extent, high: float, level: float, loose: float = 0.0) -> float:
    """B: |b| of a model with P ≤ level is no larger, in the coordinates of the moved rows.

    The coefficients that have no penalty are no longer than `loose` together. Σ sᵢ ≤ `high`.
    """
    reach = above(extent.longest * above(risk.regularizer.radius(level) + loose))
    if not isinstance(risk.loss, Margin):
        return up(up(reach + above(extent.most)) + risk.loss.spread(level))
    if not extent.least > 0:
        return math.inf  # one class only: every bias is as good as a larger one
    return up(reach + risk.loss.shortfall(above(level * (high / extent.least), 3)))


def bias_slip(
    risk: Risk, extent: Extent, w: Weights, level: float, rest: float, loose: float = 0.0
) -> float:
    """What a free bias takes away, at most, where |Σ cᵢ| ≤ `rest`: |δ|B/S, rounded up."""
    most = bias_bound(risk, extent, w.high, level, loose)
    return above(above(rest * up(1.0 / w.low)) * most, 2)


def lower(
    claim: Claim, rows: Any, w: Weights, pull: Any, level: float
) -> tuple[float, float, float]:
    """D(tc) at a good t, rounded down, that t, and how far the sums of D may be off."""
    risk, loss, regularizer = claim.risk, claim.risk.loss, claim.risk.regularizer
    share, used = up(1.0 / w.low), claim.c.nonzero()[0]  # there is no c where s = 0
    y, c, s = claim.y[used], claim.c[used], w.s[used]
    value, off = sharp_total(c) if risk.free_bias or risk.bias_scale else (0.0, 0.0)
    rest, slip, loose = up(abs(value) + off) if value or off else 0.0, 0.0, 0.0
    if len(regularizer.free()):
        level = least_known(claim, w, level)
        limits = loss.limits(claim, rows, w, level)
        slip = above(share * regularizer.loose(pull, limits))
        loose = norm_up(limits)
    if risk.free_bias and rest > 0:
        level = least_known(claim, w, level)
        extent = Extent.of(claim, rows, w)
        slip = up(slip + bias_slip(risk, extent, w, level, rest, loose))

    def gain(t: float) -> tuple[float, float]:
        return gain_of(loss, y, c, s, t)

    def rough(t: float) -> float:
        return float(np.add.reduce(loss.gain(y, c, s, t)[0]))

    least = float(np.abs(c).min(initial=math.inf))
    return best_multiple(claim, (w.low, w.high), pull, gain, rough, rest, slip, least)


def gain_of(
    loss: Any, y: FloatArray, c: FloatArray, s: FloatArray, t: float
) -> tuple[float, float]:
    """− Σ sᵢ ℓᵢ*(tcᵢ/sᵢ) of some rows, and how far it is off."""
    values, sizes = loss.gain(y, c, s, t)
    value, off = sharp_total(values)
    return value, up(off + above(gamma(loss.ulps + 4) * total_up(sizes), 2))


def best_multiple(
    claim: Claim,
    weight: tuple[float, float],
    pull: Any,
    gain: Callable[[float], tuple[float, float]],
    rough: Callable[[float], float],
    rest: float,
    slip: float,
    least: float,
) -> tuple[float, float, float]:
    """D(tc) at a good t, from what `gain` says of − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ) and how far that is off.

    `rough` is about that, `weight` bounds Σ sᵢ, |Σ cᵢ| ≤ `rest`, and `least` is the smallest |cᵢ|
    but zero. What a bias and coefficients without a penalty take away is at most t·`slip`.
    """
    risk, loss, regularizer = claim.risk, claim.risk.loss, claim.risk.regularizer
    low, high = weight
    share = up(1.0 / low)

    costs: dict[float, float] = {}

    def cost(t: float) -> float:
        if t not in costs:
            found = regularizer.conjugate(pull, t, share)
            if risk.bias_scale:
                extra = above(risk.bias_scale * above(t * share * rest, 2))
                heavy = above(ratio(extra, below(2 * regularizer.lam, 0)))
                found = up(found + above(extra * heavy))
            costs[t] = up(found + above(t * slip, 1))
        return costs[t]

    # Some t worth trying; every one gives a valid bound, so how they are found is of no matter.
    reach = min(regularizer.reach(pull, claim.theta, share), loss.reach)
    if not loss.quadratic:
        multiples = list(dict.fromkeys([1.0, *(t * min(1.0, reach) for t in MULTIPLES)]))
    else:
        # The gain is tL − t²Q, and the cost goes with the power `degree` of t.
        one, two, paid = rough(1.0) * share, rough(2.0) * share, cost(1.0)
        gains = 2.0 * one - 0.5 * two, one - 0.5 * two
        linear = gains[0] - (paid if regularizer.degree == 1 else 0.0)
        square = gains[1] + (paid if regularizer.degree == 2 else 0.0)
        peak = linear / (2.0 * square) if square > 0 else 1.0
        peak = min(max(peak, 0.0), reach)
        # Near a peak the value differs by a square.
        multiples = [peak] if abs(peak - 1.0) < math.sqrt(U) else [1.0, peak]
        multiples.sort(key=lambda t: cost(t) + t * (t * gains[1] - gains[0]))  # the best one first
    best, multiple, rounding = 0.0, 0.0, 0.0  # D(0): no loss here is negative
    for t in multiples:
        # Below TINY the digits of tc would be lost.
        if not (t <= loss.reach and t < math.inf and t * least >= TINY and cost(t) < math.inf):
            continue
        value, off = gain(t)
        exact = down(value - off)
        found = down(down(exact / (high if exact >= 0 else low)) - cost(t))
        if found > best:
            best, multiple, rounding = found, t, off / low + t * slip
        if best > 0 and (loss.quadratic or found < best):
            break  # D is concave, and the other multiples fall
    return best, multiple, rounding


def blur_of(claim: Claim, pull: Pull, t: float, low: float) -> float:
    """About what rounding Xᵀc is worth, to the model and to the one that tc itself gives."""
    scaled, cost = claim.theta * pull.unit, claim.risk.regularizer.conjugate
    blur = cost(pull, t, 1.0 / low) - cost(pull._replace(off=0.0), t, 1.0 / low)
    return float(max(pull.off * math.sqrt(scaled @ scaled) / low, blur))


class Found(NamedTuple):
    """The bounds of a claim, or what speaks against it; the dual point, Xᵀc and t that prove it."""

    bounds: Bounds | Objection
    c: FloatArray | None = None
    pull: Pull | None = None
    t: float = 0.0


def objected(call: Any, *given: Any) -> Any:
    """What a call returns, or its objection."""
    try:
        return call(*given)
    except Objection as objection:
        return objection


@np.errstate(all="ignore")  # what is not finite is refused, or gives the bound zero
def all_bounds(rows: Any, claims: Sequence[Claim], weights: Any = None) -> list[Found]:
    """Both bounds of each model; X is read twice for all of them together."""
    against = [objected(claim.refuse, rows.n, rows.d) for claim in claims]
    sound = [claim for claim, known in zip(claims, against, strict=True) if known is None]
    found = objected(_sound_bounds, rows, sound, weights) if sound else []
    rest = iter([Found(found)] * len(sound) if isinstance(found, Objection) else found)
    return [next(rest) if known is None else Found(known) for known in against]


def _sound_bounds(rows: Any, given: Sequence[Claim], weights: Any) -> list[Found]:
    """The bounds of models that are points of their problems."""
    w = Weights.of(weights, rows.n)
    claims, middles = zip(*(claim.moved(w) for claim in given), strict=True)
    biases = [(claim.bias, -middle) for claim, middle in zip(given, middles, strict=True)]
    z, off, _ = rows.scores(np.array([claim.theta for claim in claims]).T, biases)

    def point(claim: Claim, middle: float, z: FloatArray, off: FloatArray) -> tuple[float, Claim]:
        if middle:
            off += 2 * U * np.abs(claim.y)  # targets that were moved have been rounded themselves
        value, loss, c = upper(claim, w, z, off), claim.risk.loss, claim.c
        c = slopes_at(loss, claim.y, z, w.s) if c is None else c
        return value, claim._replace(c=feasible(loss, claim.y, c, w.s, claim.risk.free_bias))

    def bounded(known: Any, pull: Pull, z: FloatArray, off: FloatArray) -> Found:
        if isinstance(known, Objection):
            return Found(known)
        value, claim = known
        best, t, rounding = lower(claim, rows, w, pull, value)
        rounding += blur_of(claim, pull, t, w.low)
        found = objected(enclosed, claim, w, z, off, best, value, rounding)
        return Found(found, claim.c, pull, t)

    points = [objected(point, *one) for one in zip(claims, middles, z.T, off.T, strict=True)]
    zero = np.zeros(rows.n)
    duals = [zero if isinstance(known, Objection) else known[1].c for known in points]
    pulls = rows.pull(np.ascontiguousarray(np.array(duals).T))
    return [bounded(*one) for one in zip(points, pulls, z.T, off.T, strict=True)]


def enclosed(
    claim: Claim, w: Weights, z: FloatArray, off: FloatArray, best: float, value: float, more: float
) -> Bounds:
    """The bounds, and what rounding has cost, to first order."""
    felt = float(np.abs(w.s * claim.risk.loss.slope(claim.y, z)) @ off) / w.low + more
    charge = 2.0 * felt if math.isfinite(felt) else max(0.0, value - best)
    return Bounds.proved(best, value, charge + 64 * U * value)
