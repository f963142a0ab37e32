"""The one inequality: bounds of the smallest regularized risk, from any model and any dual point.

    P(θ, b) = Σ sᵢ ℓᵢ(zᵢ)/S + Ω(θ),    z = Xθ + b,    S = Σ sᵢ

For every c = s·v with v in the domain of ℓ*, every t ≥ 0 that keeps it there, and Σ cᵢ = 0 where
the bias is free, Fenchel and Young give

    P(θ, b)  ≥  min P  ≥  − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ)/S − Ω*(−t Xᵀc/S).

A penalized bias is the weight b/κ of one more column, of the value κ.

A loss ℓ(y, z) has `value(y, z, off)`, at least ℓ at every score within `off` of z, and
`gain(y, c, s, t)`, which is − s ℓ*(tc/s) and the size of its terms, both up to `ulps` roundings;
exp and log are trusted to 4 units in the last place. `clip` moves c into the domain of ℓ*, exactly,
and multiples t ≤ `reach` stay inside it. `slope` guesses v = ℓ'(z); it need not be accurate.

A regularizer Ω(θ) and its conjugate are rounded up; a conjugate is asked about −u of a `Pull`.
`level` of `radius` bounds Ω; the answer bounds ‖θ‖. This file has what a linear SVM needs: the
hinge and the squared norm. `margins.py`, `residuals.py` and `sparsity.py` have the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cotas.certificates.core import choices
from cotas.certificates.core.bounds import Bounds, Objection, Pull

from cotas.certificates.core.rounding import (  # isort: skip
    SMALL, TINY, FloatArray, U, above, below, down, gamma, norm_up, ratio, total,
    total_up, up,
)  # fmt: skip

Pair = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Margin:
    """A loss φ(m) of the margin m = yz, y = ±1: convex, never rising, slopes in [−steepest, 0]."""

    steepest: ClassVar[float] = 1.0
    at_zero: ClassVar[float] = 1.0  # φ(0)
    slope_at_zero: ClassVar[float] = 1.0  # |φ'(0)|
    ulps: ClassVar[int] = 8
    reach: ClassVar[float] = 1.0
    quadratic: ClassVar[bool] = True  # t ↦ gain is a quadratic polynomial
    moves: ClassVar[bool] = False  # targets may be moved by any number, and a free bias follows
    centred: ClassVar[bool] = False  # c need not be shrunk to have no sum: any number may be added
    rescaled: ClassVar[bool] = False  # P is that of a multiple of the model: see `HardMargin`

    def refuse(self, y: FloatArray) -> None:
        """Refuse labels that are not ±1."""
        if not (np.abs(y) == 1.0).all():
            raise Objection("labels")

    def clip(self, y: FloatArray, c: FloatArray, s: FloatArray) -> FloatArray:
        """Compute −yc into [0, steepest·s]; a product with a power of two is exact."""
        inside = np.maximum(-y * c, 0.0)
        if self.steepest < math.inf:
            inside = np.minimum(inside, self.steepest * s)
        return np.asarray(-y * inside)


class Hinge(Margin):
    """The hinge loss max(0, 1 − m), φ*(−a) = −a"""

    def value(self, y: FloatArray, z: FloatArray, off: Any) -> FloatArray:
        """Evaluate the loss at the lower end of the margins."""
        return np.asarray(np.maximum(0.0, 1.0 - (y * z - off)))

    def slope(self, y: FloatArray, z: FloatArray) -> FloatArray:
        """Compute the slope, between both sides near the corner: a rounding of z hardly matters."""
        return np.asarray(-y * np.minimum(np.maximum((1.0 - y * z) / 2e-6 + 0.5, 0.0), 1.0))

    def gain(self, y: FloatArray, c: FloatArray, s: FloatArray, t: float) -> Pair:
        a = t * np.abs(c)
        return a, a


def half_square(lam: float, size: float) -> float:
    """Compute ½λ·size², rounded up."""
    return above(0.5 * lam * above(size * size), 3)


@dataclass(frozen=True)
class L2:
    """The squared ℓ2 norm (λ/2)‖θ‖²"""

    lam: float
    weights: ClassVar[Any] = None
    degree: ClassVar[int] = 2  # Ω*(tu) goes with this power of t

    def refuse(self, theta: FloatArray) -> None:
        """Refuse a parameter that is none."""
        if not 0.0 <= self.lam < math.inf:
            raise Objection("parameters")

    def value(self, theta: FloatArray) -> float:
        """Compute Ω, rounded up."""
        return half_square(self.lam, norm_up(theta))

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        """Compute Ω*(−tu·share) = ‖tu·share‖²/2λ, rounded up."""
        factor = above(t * share, 1)
        return above(ratio(above(factor * factor) * pull.square, below(2.0 * self.lam, 0)), 6)

    def reach(self, pull: Pull, theta: FloatArray, share: float) -> float:
        """Return the largest t with tu·share in the domain: none is excluded."""
        return math.inf

    def radius(self, level: float) -> float:
        """Return a bound of ‖θ‖ where Ω ≤ level: √(2·level/λ)."""
        return above(math.sqrt(above(ratio(2 * level, self.lam), 2)), 3)

    def loose(self, *given: Any) -> float:
        """Return what coefficients without a penalty take away: there are none."""
        return 0.0


@dataclass(frozen=True)
class Risk:
    """A regularized risk: a loss, a regularizer, and what the bias may do."""

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
        risk.loss.refuse(self.y)
        risk.regularizer.refuse(theta)

    def moved(self, w: Weights) -> tuple[Claim, float]:
        """Return targets less a number near them, where the bias is free to follow.

        They are rounded by U|y| ≤ U(|z| + |y − z|), which `scores` and `ulps` leave room for.
        """
        if not (self.risk.free_bias and self.risk.loss.moves):
            return self, 0.0
        middle = choices.middle(self.y, w.s)
        return (self._replace(y=self.y - middle), middle) if math.isfinite(middle) else (self, 0.0)


@dataclass(frozen=True)
class Weights:
    """Weights sᵢ ≥ 0 as they are given, and bounds of their sum, which underflow does not touch."""

    s: Any  # None where they come in blocks
    low: float
    high: float

    def __post_init__(self) -> None:
        if not SMALL <= self.low <= self.high < math.inf:
            raise Objection("weights")

    @classmethod
    def of(cls, given: Any, n: int) -> Weights:
        """Read weights; what they sum to is computed, never believed. None stands for ones."""
        if isinstance(given, cls):
            return given
        s = weights_of(given, n)
        if given is None:
            return cls(s, float(n), float(n))
        value, off = total(s)
        return cls(s, down(value - off), up(value + off))


def weights_of(given: Any, n: int) -> FloatArray:
    """Return weights as they are given, ones for None; refuses what are none."""
    if given is None:
        return np.ones(n)
    s = np.asarray(given, dtype=np.float64)
    if s.shape != (n,) or not np.isfinite(s).all() or (s < 0).any():
        raise Objection("weights")
    return s


def clipped(loss: Any, y: FloatArray, c: Any, s: FloatArray) -> FloatArray:
    """Return a dual point in its domain; refuses what is none.

    It is zero where there is no weight, and where it would not have all its digits.
    """
    c = np.asarray(c, dtype=np.float64)
    if c.shape != s.shape or not np.isfinite(c).all():
        raise Objection("dual point")
    inside: FloatArray = loss.clip(y, c, s)
    return np.where((s > 0) & (np.abs(inside) >= TINY), inside, 0.0)


def feasible(loss: Any, y: FloatArray, c: Any, s: FloatArray, free_bias: bool) -> FloatArray:
    """Move a dual point into the domain, and where the bias is free, to a sum of zero."""
    c = clipped(loss, y, c, s)
    return clipped(loss, y, choices.balanced(loss, c, s), s) if free_bias else c


def penalty_of(claim: Claim) -> float:
    """Compute Ω(θ) and the penalty of the bias, rounded up."""
    regularizer = claim.risk.regularizer
    penalty = float(regularizer.value(claim.theta))
    if claim.risk.bias_scale:
        size = above(abs(claim.bias) / claim.risk.bias_scale)
        penalty = up(penalty + half_square(regularizer.lam, size))
    return penalty


def blurred(z: FloatArray, off: FloatArray) -> FloatArray:
    """Tell how far scores may be off, with what their use in a loss rounds."""
    return np.asarray(off * (1 + 8 * U) + (4 * U) * np.abs(z))


def objective(claim: Claim, losses: float, low: float) -> float:
    """Compute P(θ, b), rounded up, from a sum of losses and a lower bound of the weights' sum."""
    mean = above(above(losses, claim.risk.loss.ulps + 2) / low, 1)
    value = up(mean + penalty_of(claim))
    if not math.isfinite(value):
        raise Objection("not finite")
    return value


def upper(claim: Claim, w: Weights, z: FloatArray, off: FloatArray) -> float:
    """Compute P(θ, b), rounded up, from scores z that are off by `off`."""
    loss, used, slack = claim.risk.loss, w.s > 0, blurred(z, off)
    if loss.rescaled:
        return float(loss.objective(claim, np.where(used, claim.y * z - slack, math.inf)))
    losses = total_up(np.where(used, w.s * loss.value(claim.y, z, slack), 0.0))
    return objective(claim, losses, w.low)


def lower(
    claim: Claim, rows: Any, w: Weights, pull: Any, level: float
) -> tuple[float, float, float]:
    """Compute D(tc) at a good t, rounded down, that t, and how far the sums of D may be off."""
    risk, loss = claim.risk, claim.risk.loss
    used = claim.c.nonzero()[0]  # there is no c where s = 0
    y, c, s = claim.y[used], claim.c[used], w.s[used]
    if risk.free_bias and total(c)[0] != 0.0:
        return 0.0, 0.0, 0.0  # that of c = 0: a bias has no penalty, and its conjugate is infinite
    rest = max(total_up(c), total_up(-c)) if risk.bias_scale else 0.0
    slip = risk.regularizer.loose(claim, rows, w, pull, level)

    def rough(t: float) -> float:
        return float(np.add.reduce(loss.gain(y, c, s, t)[0]))

    least, gain = float(np.abs(c).min(initial=math.inf)), partial(gain_of, loss, y, c, s)
    return best_multiple(claim, w, pull, gain, rough, rest, slip, least)


def gain_of(
    loss: Any, y: FloatArray, c: FloatArray, s: FloatArray, t: float
) -> tuple[float, float]:
    """Compute − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ) of some rows, and how far it is off."""
    values, sizes = loss.gain(y, c, s, t)
    value, off = total(values)
    size = above(gamma(loss.ulps + 4) * float(np.add.reduce(sizes)), len(sizes) + 2)
    return value, up(off + size)


def best_multiple(
    claim: Claim,
    w: Weights,
    pull: Any,
    gain: Callable[[float], tuple[float, float]],
    rough: Callable[[float], float],
    rest: float,
    slip: float,
    least: float,
) -> tuple[float, float, float]:
    """Compute D(tc) at a good t, from what `gain` says of − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ), and its error.

    `rough` is about that, |Σ cᵢ| ≤ `rest`, and `least` is the smallest |cᵢ| but zero. What a bias
    and coefficients without a penalty take away is at most t·`slip`.
    """
    risk, loss, regularizer = claim.risk, claim.risk.loss, claim.risk.regularizer
    share = up(1.0 / w.low)

    @cache
    def cost(t: float) -> float:
        found = regularizer.conjugate(pull, t, share)
        if risk.bias_scale:
            extra = above(risk.bias_scale * above(t * share * rest, 2))
            heavy = above(ratio(extra, below(2 * regularizer.lam, 0)))
            found = up(found + above(extra * heavy))
        return float(up(found + above(t * slip, 1)))

    reach = regularizer.reach(pull, claim.theta, share)
    multiples = choices.multiples(loss, regularizer.degree, reach, lambda t: rough(t) * share, cost)
    best, multiple, rounding = 0.0, 0.0, 0.0  # D(0): no loss here is negative
    for t in multiples:
        # Below TINY the digits of tc would be lost.
        if not (t <= loss.reach and t < math.inf and t * least >= TINY and cost(t) < math.inf):
            continue
        value, off = gain(t)
        exact = down(value - off)
        found = down(down(exact / (w.high if exact >= 0 else w.low)) - cost(t))
        if found > best:
            best, multiple, rounding = found, t, off / w.low + t * slip
        if best > 0 and (loss.quadratic or found < best):
            break  # D is concave, and the other multiples fall
    return best, multiple, rounding


class Found(NamedTuple):
    """The bounds of a claim, or what speaks against it; the dual point, Xᵀc and t that prove it."""

    bounds: Bounds | Objection
    c: FloatArray | None = None
    pull: Pull | None = None
    t: float = 0.0


@np.errstate(all="ignore")  # what is not finite is refused, or gives the bound zero
def all_bounds(rows: Any, claims: Sequence[Claim], weights: Any = None) -> list[Found]:
    """Return both bounds of each model; X is read twice for all of them together.

    Where one is refused, each is looked at alone.
    """
    try:
        return _all_proved(rows, claims, weights)
    except Objection as objection:
        if len(claims) == 1:
            return [Found(objection)]
        return [found for claim in claims for found in all_bounds(rows, [claim], weights)]


def _all_proved(rows: Any, given: Sequence[Claim], weights: Any) -> list[Found]:
    """Return the bounds of models of which all have some."""
    for claim in given:
        claim.refuse(rows.n, rows.d)
    w = Weights.of(weights, rows.n)
    claims, middles = zip(*(claim.moved(w) for claim in given), strict=True)
    biases = [(claim.bias, -middle) for claim, middle in zip(given, middles, strict=True)]
    z, off, _ = rows.scores(np.array([claim.theta for claim in claims]).T, biases)

    def point(claim: Claim, z: FloatArray) -> FloatArray:
        loss, c = claim.risk.loss, claim.c
        c = choices.slopes(loss, claim.y, z, w.s) if c is None else c
        return feasible(loss, claim.y, c, w.s, claim.risk.free_bias)

    def bounded(claim: Claim, value: float, pull: Pull, z: FloatArray, off: FloatArray) -> Found:
        best, t, rounding = lower(claim, rows, w, pull, value)
        rounding += choices.blur(claim.risk.regularizer, claim.theta, pull, t, w.low)
        charge = choices.charge(rounding + choices.felt(claim, w, z, off), best, value)
        return Found(Bounds.proved(best, value, charge), claim.c, pull, t)

    scored = zip(claims, z.T, strict=True)
    values = [upper(claim, w, *scores) for claim, *scores in zip(claims, z.T, off.T, strict=True)]
    claims = [claim._replace(c=point(claim, column)) for claim, column in scored]
    pulls = rows.pull(np.array([claim.c for claim in claims]).T)
    return [bounded(*one) for one in zip(claims, values, pulls, z.T, off.T, strict=True)]
