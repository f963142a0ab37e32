"""P(θ, b) of a regularized risk in exact arithmetic: what the enclosures are measured against.

Floating-point numbers are rational, and so is P for every loss that is made of quadratic pieces.
For the logistic and the exponential loss it is computed with 45 digits. Along a line P is a convex
function of one variable made of quadratic pieces: its smallest value is found exactly as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, Overflow, localcontext
from typing import Any

import numpy as np

from cotas.certificates.core import gap, margins, residuals, sparsity
from cotas.certificates.core.gap import Risk

try:
    from gmpy2 import mpq as Rational
except ImportError:  # slower, and the same numbers
    from fractions import Fraction as Rational

DIGITS = Context(prec=45, Emax=10**9, Emin=-(10**9))
# What 45 digits leave open, generously.
CLOSE = Decimal("1e-35")
HALF = Rational(1, 2)


@contextmanager
def put(module: Any, **values: Any) -> Iterator[None]:
    """Other values of some names, for a while."""
    kept = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(module, name, value)


def rational(values: Any) -> list[Any]:
    """Every number as the fraction that it is."""
    return [Rational(v) for v in np.asarray(values, dtype=np.float64).ravel().tolist()]


def decimal(x: Any) -> Decimal:
    """A fraction with 45 digits."""
    return DIGITS.divide(Decimal(int(x.numerator)), Decimal(int(x.denominator)))


def hinge(m: Any) -> Any:
    """max(0, 1 − m)"""
    return max(1 - m, Rational(0))


def squared_hinge(m: Any) -> Any:
    """max(0, 1 − m)²"""
    return hinge(m) ** 2


def modified_huber(m: Any) -> Any:
    """The squared hinge, continued by its tangent."""
    return -4 * m if m < -1 else squared_hinge(m)


def exponential(m: Any) -> Decimal:
    """e⁻ᵐ; what is beyond every floating-point number is infinite."""
    if m < -1000:
        return Decimal("inf")
    return DIGITS.exp(-decimal(m)) if m < 10**6 else Decimal(0)


def logistic(m: Any) -> Decimal:
    """log(1 + e⁻ᵐ)"""
    e = exponential(abs(m))
    tail = DIGITS.ln(1 + e)
    if e < Decimal("1e-12"):  # log(1 + e) loses the digits of e
        tail = DIGITS.multiply(e, 1 - e / 2 + e * e / 3)
    return DIGITS.add(max(-decimal(m), Decimal(0)), tail)


MARGINS = {
    gap.Hinge: hinge,
    margins.SquaredHinge: squared_hinge,
    margins.ModifiedHuber: modified_huber,
    margins.Logistic: logistic,
    margins.Exponential: exponential,
}


def residual_loss(loss: Any, r: Any) -> Any:
    """ℓ of the residual r = z − y."""
    r = abs(r)
    if type(loss) is residuals.Huber:
        k = Rational(loss.k)
        return r * r * HALF if r <= k else k * (r - k * HALF)
    if type(loss) is residuals.EpsilonInsensitive:
        return max(Rational(0), r - Rational(loss.epsilon))
    return r * r * HALF


class Exact:
    """One problem in fractions."""

    def __init__(self, risk: Risk, X: Any, y: Any, weights: Any) -> None:
        dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        self.risk = risk
        self.rows = [rational(row) for row in dense]
        self.y = rational(y)
        self.s = rational(np.ones(len(dense)) if weights is None else weights)
        self.sum = sum(self.s)
        given = getattr(risk.regularizer, "sigma", risk.regularizer.weights)
        self.sigma = rational(np.ones(dense.shape[1]) if given is None else given)

    def scores(self, theta: list[Any], bias: Any) -> list[Any]:
        """z = Xθ + b"""
        return [sum((a * t for a, t in zip(row, theta, strict=True)), bias) for row in self.rows]

    def penalty(self, theta: list[Any], bias: Any) -> Any:
        """Ω, with what a penalized bias adds; None outside its domain."""
        reg = self.risk.regularizer
        sizes = [abs(t * w) for t, w in zip(theta, self.sigma, strict=True)]
        if getattr(reg, "positive", False) and min(theta) < 0:
            return None
        if isinstance(reg, sparsity.Ball):
            return Rational(0) if sum(sizes) <= Rational(reg.delta) else None
        squares = sum(size * size for size in sizes)
        if isinstance(reg, sparsity.ElasticNetRegularizer):
            return Rational(reg.lam1) * sum(sizes) + Rational(reg.lam2) * squares * HALF
        if self.risk.bias_scale:
            squares += (bias / Rational(self.risk.bias_scale)) ** 2
        return Rational(reg.lam) * squares * HALF

    def value(self, theta: list[Any], bias: Any) -> Any:
        """P(θ, b) as a fraction, or a Decimal good to 35 digits; None outside the domain."""
        penalty = self.penalty(theta, bias)
        if penalty is None:
            return None
        loss, z = self.risk.loss, self.scores(theta, bias)
        if isinstance(loss, margins.HardMargin):
            least = min(y * v for y, v, s in zip(self.y, z, self.s, strict=True) if s)
            return penalty / least**2 if least > 0 else None
        if isinstance(loss, gap.Margin):
            phi = MARGINS[type(loss)]
            terms = [(s, phi(y * v)) for y, v, s in zip(self.y, z, self.s, strict=True) if s]
        else:
            terms = [
                (s, residual_loss(loss, v - y)) for y, v, s in zip(self.y, z, self.s, strict=True)
            ]
        if loss.__class__ in (margins.Logistic, margins.Exponential):
            with localcontext(DIGITS) as context:
                context.traps[Overflow] = False
                risk = sum((decimal(s / self.sum) * term for s, term in terms), Decimal(0))
                return risk + decimal(penalty)
        return sum(s * term for s, term in terms) / self.sum + penalty

    def smallest_on_line(self, theta: list[Any], bias: Any, step: list[Any], by: Any) -> Any:
        """min over τ of P(θ + τ·step, b + τ·by), where its pieces are quadratic; else None.

        The derivative of a convex function grows: the piece with its zero is found by bisection.
        """
        at = self._along(theta, bias, step, by)
        if at is None:
            return None
        knots, slope, value = at
        low, high = 0, len(knots)  # the zero of the slope lies after `low` knots, before `high`
        while low < high:
            middle = (low + high) // 2
            if slope(knots[middle])[0] < 0:
                low = middle + 1
            else:
                high = middle
        begin = knots[low - 1] if low > 0 else None
        end = knots[low] if low < len(knots) else None
        if begin is None and end is None:
            begin, end = Rational(-1), Rational(1)
        inner = (
            (begin + end) / 2
            if begin is not None and end is not None
            else (end - 1 if begin is None else begin + 1)
        )
        first, second = slope(inner)
        candidates = [t for t in (begin, end) if t is not None]
        if second > 0:
            root = inner - first / second
            if (begin is None or root >= begin) and (end is None or root <= end):
                candidates.append(root)
        found = [v for v in map(value, candidates) if v is not None]
        return min(found) if found else None

    def _along(self, theta: list[Any], bias: Any, step: list[Any], by: Any) -> Any:
        """The knots of P along a line, its slope with the slope's slope, and its value."""
        loss, reg = self.risk.loss, self.risk.regularizer
        if isinstance(loss, margins.Logistic | margins.Exponential | margins.HardMargin):
            return None
        if isinstance(reg, sparsity.Ball) or getattr(reg, "positive", False):
            return None
        z, dz = self.scores(theta, bias), self.scores(step, by)
        knots = set()
        for y, v, dv in zip(self.y, z, dz, strict=True):
            if dv:
                knots.update((kink - v) / dv for kink in self._kinks(y))
        if isinstance(reg, sparsity.ElasticNetRegularizer):
            knots.update(-t / dt for t, dt in zip(theta, step, strict=True) if dt)

        def moved(tau: Any) -> tuple[list[Any], Any]:
            return [t + tau * dt for t, dt in zip(theta, step, strict=True)], bias + tau * by

        def slope(tau: Any) -> tuple[Any, Any]:
            first, second = self._penalty_slopes(*moved(tau), step, by)
            for y, v, dv, s in zip(self.y, z, dz, self.s, strict=True):
                one, two = self._slopes(y, v + tau * dv)
                first += s * one * dv / self.sum
                second += s * two * dv * dv / self.sum
            return first, second

        return sorted(knots), slope, lambda tau: self.value(*moved(tau))

    def _kinks(self, y: Any) -> list[Any]:
        """Scores at which the loss changes its formula."""
        loss = self.risk.loss
        if isinstance(loss, gap.Margin):
            return [y, -y] if isinstance(loss, margins.ModifiedHuber) else [y]
        if isinstance(loss, residuals.Huber):
            return [y - Rational(loss.k), y + Rational(loss.k)]
        if isinstance(loss, residuals.EpsilonInsensitive):
            return [y - Rational(loss.epsilon), y + Rational(loss.epsilon)]
        return []

    def _slopes(self, y: Any, z: Any) -> tuple[Any, Any]:
        """ℓ' and ℓ'' at a score; at a kink any of its slopes will do."""
        loss = self.risk.loss
        if isinstance(loss, gap.Margin):
            m = y * z
            if m >= 1:
                return Rational(0), Rational(0)
            if type(loss) is gap.Hinge:
                return -y, Rational(0)
            if type(loss) is margins.ModifiedHuber and m < -1:
                return -4 * y, Rational(0)
            return -2 * y * (1 - m), Rational(2)
        r = z - y
        sign = Rational((r > 0) - (r < 0))
        if type(loss) is residuals.Huber and abs(r) > loss.k:
            return sign * Rational(loss.k), Rational(0)
        if type(loss) is residuals.EpsilonInsensitive:
            return (sign if abs(r) > Rational(loss.epsilon) else Rational(0)), Rational(0)
        return r, Rational(1)

    def _penalty_slopes(self, theta: list[Any], bias: Any, step: list[Any], by: Any) -> Any:
        reg = self.risk.regularizer
        quadratic = Rational(
            reg.lam2 if isinstance(reg, sparsity.ElasticNetRegularizer) else reg.lam
        )
        first, second = Rational(0), Rational(0)
        for t, dt, w in zip(theta, step, self.sigma, strict=True):
            first += quadratic * w * w * t * dt
            second += quadratic * w * w * dt * dt
            if isinstance(reg, sparsity.ElasticNetRegularizer):
                first += Rational(reg.lam1) * w * ((t > 0) - (t < 0)) * dt
        if self.risk.bias_scale:
            first += quadratic * bias * by / Rational(self.risk.bias_scale) ** 2
            second += quadratic * (by / Rational(self.risk.bias_scale)) ** 2
        return first, second


def at_most(x: float, value: Any) -> bool:
    """x ≤ value, exactly for a fraction."""
    if isinstance(value, Decimal):
        return value.is_infinite() or Decimal(x) <= value + abs(value) * CLOSE
    return bool(Rational(x) <= value)


def at_least(x: float, value: Any) -> bool:
    """x ≥ value, exactly for a fraction."""
    if isinstance(value, Decimal):
        return value.is_finite() and Decimal(x) >= value - abs(value) * CLOSE
    return bool(Rational(x) >= value)


def near(value: Any) -> float:
    """A fraction as a float, for messages and for what needs no proof."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
