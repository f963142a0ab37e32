"""Between which numbers every best bias of the hinge loss lies, scores being known up to a bound.

Σ wᵢ max(0, 1 − yᵢ(fᵢ + b)) is piecewise linear in b with the corners tᵢ = yᵢ − fᵢ, and its slope
beside b is the weight of the corners below b less W, the weight of all positive examples. So

    b is best   ⇔   Σ wᵢ over tᵢ < b   ≤   W   ≤   Σ wᵢ over tᵢ ≤ b,

a quantile of the corners. A quantile rises with its numbers: corners that are only known to lie
between two numbers put every best bias between the quantiles of the two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotas.arrays import BoolArray, FloatArray
from cotas.certificates.core.rounding import exact_sum, gamma, up


def best_biases(
    lowest: FloatArray, highest: FloatArray, positive: BoolArray, weights: FloatArray | None = None
) -> tuple[float, float]:
    """Enclose every best bias, tᵢ being somewhere between lowestᵢ and highestᵢ.

    Equal weights are counted, which is exact. Sums of others are known up to γₙ, and each end is
    the outermost corner that they do not exclude. A class without weight leaves one end open.
    """
    if weights is not None:
        used = weights > 0
        lowest, highest, positive = lowest[used], highest[used], positive[used]
        given = weights[used]
        weights = given if len(given) and given.min() < given.max() else None
    k, n = int(np.count_nonzero(positive)), len(positive)
    if np.isnan(lowest).any() or np.isnan(highest).any():
        return -math.inf, math.inf
    low, high = k - 1, k
    if weights is not None:
        low = _position(lowest, weights, positive, -1) if k else -1
        high = _position(highest, weights, positive, 1) if k < n else n
    return (
        -math.inf if low < 0 else float(np.partition(lowest, low)[low]),
        math.inf if high == n else float(np.partition(highest, high)[high]),
    )


def _position(corners: FloatArray, weights: FloatArray, positive: BoolArray, side: int) -> int:
    """Choose the corner, in rising order, that ends the best biases: below (−1) or above (1).

    They begin where the weights up to a corner reach W, and end where they exceed it.
    """
    with np.errstate(over="ignore"):
        up_to = np.cumsum(weights[np.argsort(corners, kind="stable")])
    level, slack = exact_sum(weights[positive]), up(2.0 * gamma(len(weights) + 4))
    if not (up_to[-1] < math.inf and level < math.inf):
        return -1 if side < 0 else len(corners)
    if side < 0:
        return int(np.searchsorted(up_to, level * (1.0 - slack)))
    return min(int(np.searchsorted(up_to, level * (1.0 + slack), side="right")), len(corners) - 1)


def outer(
    values: FloatArray, room: FloatArray, ends: tuple[Any, Any] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute values − room and values + room, rounded outwards, with what is added at each end."""
    low, high = np.nextafter(values - room, -math.inf), np.nextafter(values + room, math.inf)
    if ends is None:
        return low, high
    return np.nextafter(low + ends[0], -math.inf), np.nextafter(high + ends[1], math.inf)
