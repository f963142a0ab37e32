"""Decimal numbers in bytes, read to the nearest double as Python's `float` reads them.

A number is m·10ᵏ with at most nineteen digits in m. If m < 2⁵³ and |k| ≤ 22 both are exact doubles,
and one division or multiplication rounds correctly. Otherwise the product is formed with the power
as a sum of two doubles, 106 bits in all; unless what is left lies too near the middle between two
doubles it shows which is nearest. The few numbers for which even that does not settle it, or that
are very large or very small or have more digits, are left to the caller.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.loops import loop

# What `decimal` says of the bytes it was shown.
READ, NO_NUMBER, UNDECIDED = 0, 1, 2

LARGEST_POWER = 280
EXACT_POWER = 22
MOST_DIGITS = 19
SPLITTER = 134217729.0  # 2²⁷ + 1 cuts a double into two halves of 26 bits
# What the product with a two-part power can be off by, relative to it, generously.
UNSURE = 2.0**-100


def _powers_of_ten() -> FloatArray:
    """10ᵏ for |k| ≤ 280, each as the nearest double and the nearest double to what is left."""
    table = np.empty((2 * LARGEST_POWER + 1, 2))
    for k in range(-LARGEST_POWER, LARGEST_POWER + 1):
        exact = Fraction(10) ** k
        high = float(exact)
        table[k + LARGEST_POWER] = high, float(exact - Fraction(high))
    return table


POWERS = _powers_of_ten()


@loop
def error_of_product(a: float, b: float, product: float) -> float:
    """a·b − fl(a·b), exactly (Dekker)."""
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@loop
def nearest(mantissa: Any, power: int, powers: FloatArray) -> tuple[float, int]:
    """The double nearest to mantissa·10^power, and whether that is settled."""
    if mantissa == 0:
        return 0.0, READ
    if mantissa < 1 << 53 and -EXACT_POWER <= power <= EXACT_POWER:
        if power < 0:
            return mantissa / powers[LARGEST_POWER - power, 0], READ
        return mantissa * powers[LARGEST_POWER + power, 0], READ
    if power < -LARGEST_POWER or power > LARGEST_POWER:
        return 0.0, UNDECIDED
    # The mantissa too is the sum of two doubles, of its upper and its lower 32 bits.
    high = float(mantissa >> 32) * 4294967296.0
    low = float(mantissa & 4294967295)
    m = high + low
    m_rest = low - (m - high)
    p, p_rest = powers[power + LARGEST_POWER, 0], powers[power + LARGEST_POWER, 1]
    product = m * p
    rest = error_of_product(m, p, product) + (m * p_rest + m_rest * p)
    slack = UNSURE * product
    below, above = product + (rest - slack), product + (rest + slack)
    return below, READ if below == above else UNDECIDED


@loop
def decimal(text: IntArray, p: int, end: int, powers: FloatArray) -> tuple[float, int, int]:
    """The number that begins at p, where it ends, and READ, NO_NUMBER or UNDECIDED."""
    negative = False
    if p < end and (text[p] == 45 or text[p] == 43):  # - +
        negative = text[p] == 45
        p += 1
    mantissa = np.uint64(0)
    digits, power, seen, cut = 0, 0, 0, False
    while p < end and 48 <= text[p] <= 57:
        if digits < MOST_DIGITS:
            mantissa = mantissa * np.uint64(10) + np.uint64(text[p] - 48)
            digits += 1 if mantissa > 0 else 0
        else:
            power += 1
            cut = cut or text[p] != 48
        seen += 1
        p += 1
    if p < end and text[p] == 46:  # .
        p += 1
        while p < end and 48 <= text[p] <= 57:
            if digits < MOST_DIGITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(text[p] - 48)
                digits += 1 if mantissa > 0 else 0
                power -= 1
            else:
                cut = cut or text[p] != 48
            seen += 1
            p += 1
    if seen == 0:
        return 0.0, p, NO_NUMBER
    if p < end and (text[p] == 101 or text[p] == 69):  # e E
        exponent, p, good = _exponent(text, p + 1, end)
        if not good:
            return 0.0, p, NO_NUMBER
        power += exponent
    value, status = nearest(mantissa, power, powers)
    if cut:
        status = UNDECIDED
    return -value if negative else value, p, status


@loop
def _exponent(text: IntArray, p: int, end: int) -> tuple[int, int, bool]:
    sign = 1
    if p < end and (text[p] == 45 or text[p] == 43):
        sign = -1 if text[p] == 45 else 1
        p += 1
    start, exponent = p, 0
    while p < end and 48 <= text[p] <= 57:
        if exponent < 100000:
            exponent = exponent * 10 + (text[p] - 48)
        p += 1
    return sign * exponent, p, p > start
