"""The best bias for a given θ."""

from __future__ import annotations

import numpy as np

from cotas.arrays import BoolArray, FloatArray


def best_bias(scores: FloatArray, positive: BoolArray, weights: FloatArray | None) -> float:
    """The θ₀ with the least mean hinge loss, θ being fixed.

        min over θ₀ of  Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀))

    is convex and piecewise linear with corners yᵢ − θ·xᵢ, and its slope right of a corner is the
    weight of all the corners up to there minus that of the positive examples. Departures: where
    a whole interval is best, its middle is taken. Invariant: no other θ₀ has a smaller loss.
    Cost: a partial sort, or a sort with weights. The array of scores is used up.
    """
    corners = np.negative(scores, out=scores)
    corners[positive] += 1.0
    corners[~positive] -= 1.0
    if weights is None:
        k = int(np.count_nonzero(positive))
        if k in (0, len(corners)):
            return float(corners.min() if k == 0 else corners.max())
        corners.partition((k - 1, k))
        return float((corners[k - 1] + corners[k]) / 2)
    order = np.argsort(corners)
    below = np.cumsum(weights[order])
    target = weights[positive].sum()
    first = int(np.searchsorted(below, target * (1 - 1e-12)))
    last = int(np.searchsorted(below, target * (1 + 1e-12), side="right"))
    first, last = min(first, len(order) - 1), min(last, len(order) - 1)
    return float((corners[order[first]] + corners[order[last]]) / 2)
