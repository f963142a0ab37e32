"""Floating-point numbers that are known to lie above or below what they stand for.

u = 2⁻⁵³ is the largest relative error of one operation in double precision, rounded to nearest,
and γₖ = ku/(1 − ku). A sum of k products, added up in any order, is off by at most γₖ Σ|aᵢbᵢ|
(Higham, *Accuracy and Stability*, section 3.1), plus `TINY` for each product that underflows.
A scalar result is moved outwards by one number (`up`, `down`), which covers its own rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

U = 2.0**-53
TINY = 2.0**-1000  # more than one product can lose by underflow
SMALL = 2.0**-500  # more than the root of what a sum of squares can lose
FEW = 300  # so few numbers are added up by `fsum` as they are
PIECE, LARGEST = 4096, 2.0**1000  # numbers that are added up at a time, and what they are below


def up(x: float) -> float:
    """Return the next number above x, so that a rounded result becomes an upper bound."""
    return math.nextafter(x, math.inf)


def down(x: float) -> float:
    """Return the next number below x, so that a rounded result becomes a lower bound."""
    return math.nextafter(x, -math.inf)


@cache
def gamma(k: int) -> float:
    """Compute γₖ = ku/(1 − ku), rounded up: the relative error of k operations in a row."""
    if not k * U < 0.5:
        raise ValueError(f"{k} operations leave no digit.")
    return up(up(k * U) / down(1.0 - up(k * U)))


@cache
def _grown(operations: int) -> float:
    """Compute 1 + γ of one operation more, rounded up."""
    return up(1.0 + gamma(operations + 1))


def above(x: float, operations: int = 1) -> float:
    """Return an upper bound of what x ≥ 0 stands for after so many rounded operations."""
    return math.nextafter(x * _grown(operations), math.inf) + TINY


def below(x: float, operations: int = 1) -> float:
    """Return a lower bound of what x ≥ 0 stands for after so many rounded operations."""
    return max(0.0, down(x * down(1.0 - gamma(operations + 1))) - TINY)


def ratio(a: float, b: float) -> float:
    """Compute a/b, where b may have been rounded down to zero: then it is infinite."""
    return a / b if b > 0 else math.inf


def leading_sums(a: FloatArray) -> Iterator[float]:
    """Return few numbers with exactly the sum of up to `PIECE` others.

    With n·|a| < σ, a power of two, (σ + a) − σ is a multiple of uσ, and so is every sum of such,
    none above σ: they are exact in any order. What is left of a, exactly too, is at most uσ, and
    has its own σ (Rump, Ogita and Oishi 2008, section 3).
    """
    while top := float(np.abs(a).max()):
        if not top < LARGEST:
            yield math.nan
            return
        sigma = math.ldexp(PIECE, math.frexp(top)[1])
        leading = (sigma + a) - sigma
        yield float(np.add.reduce(leading))
        a = a - leading


def exact_sum(a: Any) -> float:
    """Compute Σ aᵢ rounded once, by `fsum`; NaN where it leaves the range of numbers."""
    a = np.asarray(a, dtype=np.float64).ravel()
    if len(a) > FEW:
        pieces = (a[start : start + PIECE] for start in range(0, len(a), PIECE))
        a = np.array([part for piece in pieces for part in leading_sums(piece)])
    try:
        return math.fsum(a.tolist())
    except (OverflowError, ValueError):
        return math.nan


def total(a: Any) -> tuple[float, float]:
    """Compute Σ aᵢ, rounded once, and how far it may be off."""
    value = exact_sum(a)
    if not math.isfinite(value):
        return math.nan, math.inf
    return value, up(U * abs(value)) if value else 0.0


def total_up(a: Any) -> float:
    """Compute Σ aᵢ of many numbers, rounded up."""
    value = exact_sum(a)
    return up(value) if math.isfinite(value) else math.inf


def total_down(a: Any) -> float:
    """Compute Σ aᵢ of many numbers, rounded down."""
    return -total_up(-np.asarray(a, dtype=np.float64))


def norm_up(a: FloatArray) -> float:
    """Compute ‖a‖, rounded up, whatever the size of the entries.

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
    """Write aᵢbᵢ as a sum of two numbers, exact but for under- and overflow (Dekker, Veltkamp)."""

    def split(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        big = x * 134217729.0  # 2²⁷ + 1
        high = big - (big - x)
        return high, x - high

    product = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def dot(a: FloatArray, b: FloatArray, more: Iterable[float] = ()) -> tuple[float, float]:
    """Compute Σ aᵢbᵢ + Σ `more`, exact and then rounded once, and how far it is off."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product, rest = exact_products(np.asarray(a, dtype=np.float64), np.asarray(b, np.float64))
    if not np.isfinite(rest).all():  # nor is what is left of a product that is no number
        # Beyond 2⁹⁷⁰ the splitting overflows, and a plain sum is all there is.
        value, off = total(np.append(product, list(more)))
        return value, up(off + above(2 * U * total_up(np.abs(product))))
    value = exact_sum(np.concatenate([product, rest, list(more)]))
    return value, up(U * abs(value)) + 8 * (len(product) + 1) * TINY
