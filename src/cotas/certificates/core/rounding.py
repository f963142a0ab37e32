"""Floating-point numbers that are known to lie above or below what they stand for.

u = 2⁻⁵³ is the largest relative error of one operation in double precision, rounded to nearest,
and γₖ = ku/(1 − ku). A sum of k products, added up in any order, is off by at most γₖ Σ|aᵢbᵢ|
(Higham, *Accuracy and Stability*, section 3.1), plus `TINY` for each product that underflows.
A scalar result is moved outwards by one number (`up`, `down`), which covers its own rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

U = 2.0**-53
TINY = 2.0**-1000  # more than one product can lose by underflow
SMALL = 2.0**-500  # more than the root of what a sum of squares can lose
CHUNK = 64  # rows of a partial sum: few enough for a small γ, many enough for speed
FEW, SOME = 256, 8192  # so few numbers are added up by `fsum`, which makes one error, in less time


def up(x: float) -> float:
    """Return the next number above x, so that a rounded result becomes an upper bound."""
    return math.nextafter(x, math.inf)


def down(x: float) -> float:
    """Return the next number below x, so that a rounded result becomes a lower bound."""
    return math.nextafter(x, -math.inf)


@cache
def gamma(k: int) -> float:
    """γₖ = ku/(1 − ku), rounded up: the relative error of k operations one after the other."""
    if not k * U < 0.5:
        raise ValueError(f"{k} operations leave no digit.")
    return up(up(k * U) / down(1.0 - up(k * U)))


@cache
def _grown(operations: int) -> float:
    """1 + γ of one operation more, rounded up."""
    return up(1.0 + gamma(operations + 1))


def above(x: float, operations: int = 1) -> float:
    """An upper bound of what x ≥ 0 stands for after so many rounded operations."""
    return math.nextafter(x * _grown(operations), math.inf) + TINY


def below(x: float, operations: int = 1) -> float:
    """A lower bound of what x ≥ 0 stands for after so many rounded operations."""
    return max(0.0, down(x * down(1.0 - gamma(operations + 1))) - TINY)


def ratio(a: float, b: float) -> float:
    """a/b of two numbers of which b may have been rounded down to zero: then it is infinite."""
    return a / b if b > 0 else math.inf


def exact_sum(terms: Iterable[float]) -> float:
    """Σ rounded once, by `fsum`; NaN where it leaves the range of numbers."""
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):
        return math.nan


def total(a: Any) -> tuple[float, float]:
    """Σ aᵢ of many numbers and how far it may be off: chunks in any order, and these by `fsum`."""
    a = np.asarray(a, dtype=np.float64).ravel()
    if len(a) <= FEW:
        value = exact_sum(a.tolist())
        return (value, above(U * abs(value))) if math.isfinite(value) else (math.nan, math.inf)
    starts = np.arange(0, len(a), CHUNK)
    value = exact_sum(np.add.reduceat(a, starts))
    mass = above(exact_sum(np.add.reduceat(np.abs(a), starts)), CHUNK)
    if not mass < math.inf:
        return math.nan, math.inf
    # CHUNK − 1 additions of each number, and the rounding of `fsum`.
    return value, above(gamma(CHUNK) * mass)


def compensated(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Σ of the rows, and Σ of the errors of these additions: each is itself a number (Knuth)."""
    s, errors = rows[0].copy(), np.zeros(rows.shape[1:])
    for row in rows[1:]:
        t = s + row
        back = t - s
        errors += (s - (t - back)) + (row - back)
        s = t
    return s, errors


def sharp_parts(a: Any) -> tuple[list[float], float]:
    """Fewer numbers with Σ aᵢ as if in twice the precision, and how far it is off."""
    a = np.asarray(a, dtype=np.float64).ravel()
    if len(a) <= SOME:
        return a.tolist(), 0.0
    s, errors = compensated(np.append(a, np.zeros(-len(a) % CHUNK)).reshape(CHUNK, -1))
    mass = above(float(np.abs(a).sum()), len(a) + 1)
    return [*s.tolist(), *errors.tolist()], above(2 * gamma(CHUNK) * gamma(CHUNK) * mass, 4)


def sharp_total(a: Any) -> tuple[float, float]:
    """Σ aᵢ as if in twice the precision, and how far it may be off: for sums that nearly vanish."""
    parts, off = sharp_parts(a)
    value = exact_sum(parts)
    if not (math.isfinite(value) and off < math.inf):
        return 0.0, math.inf
    return value, up(U * abs(value)) + off if value or off else 0.0


def total_up(a: Any) -> float:
    """Σ aᵢ of many numbers, rounded up."""
    value, off = total(a)
    return up(value + off) if off < math.inf else math.inf


def total_down(a: Any) -> float:
    """Σ aᵢ of many numbers, rounded down."""
    return -total_up(-np.asarray(a, dtype=np.float64))


def norm_up(a: FloatArray) -> float:
    """‖a‖, rounded up, whatever the size of the entries.

    Of a few numbers by `hypot`, which is off by less than one unit in the last place.
    """
    if a.size <= FEW:
        size = math.hypot(*a.ravel().tolist())
        return above(size, 2) if 0.0 < size < math.inf else 0.0 if size == 0.0 else math.inf
    top = float(np.abs(a).max(initial=0.0))
    if not (0.0 < top < math.inf):
        return 0.0 if top == 0.0 else math.inf
    unit = math.ldexp(1.0, math.frexp(top)[1] - 1)  # a power of two: dividing by it is exact
    scaled = a / unit
    return above(unit * math.sqrt(above(total_up(scaled * scaled), 2)), 2)


def exact_products(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """aᵢbᵢ as the sum of two numbers each, exact but for over- and underflow (Dekker, Veltkamp)."""

    def split(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        big = x * 134217729.0  # 2²⁷ + 1
        high = big - (big - x)
        return high, x - high

    product = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def dot(a: FloatArray, b: FloatArray, more: Iterable[float] = ()) -> tuple[float, float]:
    """Σ aᵢbᵢ and the numbers of `more`, exact and then rounded once; and how far it is off."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product, rest = exact_products(np.asarray(a, dtype=np.float64), np.asarray(b, np.float64))
    if not (np.isfinite(product).all() and np.isfinite(rest).all()):
        # Beyond 2⁹⁷⁰ the splitting overflows, and a plain sum is all there is.
        value, off = total(np.append(product, list(more)))
        return value, up(off + above(2 * U * total(np.abs(product))[0]))
    value = exact_sum([*product.tolist(), *rest.tolist(), *more])
    return value, up(U * abs(value)) + 8 * (len(product) + 1) * TINY
