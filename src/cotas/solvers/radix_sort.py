"""Sorting many numbers by the digits of their bits, which takes a third of the time of comparing.

Least significant digit first (Knuth, *The Art of Computer Programming*, volume 3, section 5.2.5).
A digit that all the numbers share is passed over, as most are where the numbers are integers.
"""

from __future__ import annotations

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import loop

BITS = 11  # of a digit
DIGITS = 6
FEW = 1 << 11  # numbers that are sorted before all digits would be counted
SIGN = np.uint64(1 << 63)


def as_keys(numbers: AnyArray) -> AnyArray:
    """Return numbers as whole ones in the same order: of the negative ones all bits are turned.

    >>> as_keys(np.array([-1.0, 0.0, 2.0])).argsort().tolist()
    [0, 1, 2]
    """
    keys = np.array(numbers, dtype=np.float64).view(np.uint64)
    order_bits(keys)
    return keys


def from_keys(keys: AnyArray) -> FloatArray:
    """Return the doubles again, in the place of a vector of keys.

    >>> from_keys(as_keys(np.array([-1.0, 0.0, 2.0]))).tolist()
    [-1.0, 0.0, 2.0]
    """
    restore_bits(keys)
    return np.asarray(keys.view(np.float64))


@loop
def order_bits(bits: AnyArray) -> None:
    """Turn the sign, and where it was set, all the other bits."""
    for i in range(len(bits)):
        bits[i] = ~bits[i] if bits[i] >= SIGN else bits[i] | SIGN


@loop
def restore_bits(keys: AnyArray) -> None:
    """Restore the bits of the numbers."""
    for i in range(len(keys)):
        keys[i] = keys[i] & ~SIGN if keys[i] >= SIGN else ~keys[i]


@loop
def count_digits(keys: AnyArray, counts: IntArray) -> None:
    """Count in counts[k, b] how many have the digit b in place k."""
    counts[:] = 0
    for key in keys:
        for k in range(DIGITS):
            counts[k, (key >> np.uint64(BITS * k)) & np.uint64((1 << BITS) - 1)] += 1


@loop
def sort_keys(keys: AnyArray, other: AnyArray, counts: IntArray) -> bool:
    """Sort by each digit in turn, from one array to the other; whether `other` has them at last."""
    turned = False
    for k in range(DIGITS):
        shift, begins, most = np.uint64(BITS * k), 0, 0
        for b in range(1 << BITS):
            count = counts[k, b]
            counts[k, b], most = begins, max(most, count)
            begins += count
        if most == len(keys):
            continue
        source, target = (other, keys) if turned else (keys, other)
        for i in range(len(keys)):
            b = (source[i] >> shift) & np.uint64((1 << BITS) - 1)
            target[counts[k, b]] = source[i]
            counts[k, b] += 1
        turned = not turned
    return turned


def sorted_numbers(numbers: AnyArray) -> FloatArray:
    """Return the numbers, none of which is missing, from the smallest to the largest.

    >>> sorted_numbers(np.array([2.0, -1.0, -3.0]))
    array([-3., -1.,  2.])
    """
    if len(numbers) <= FEW:
        return np.sort(numbers).astype(np.float64)
    keys, counts = as_keys(numbers), np.empty((DIGITS, 1 << BITS), dtype=np.int64)
    count_digits(keys, counts)
    other = np.empty_like(keys)
    return from_keys(other if sort_keys(keys, other, counts) else keys)
