"""The best bias for a given θ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotas.arrays import BoolArray, FloatArray
from cotas.loops import loop
from cotas.losses import MarginLoss
from cotas.solvers.losses import SMOOTH, curvature, slope


def best_bias(scores: FloatArray, positive: BoolArray, weights: FloatArray | None) -> float:
    """Return the θ₀ with the least mean hinge loss, θ being fixed.

        min over θ₀ of  Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀))

    is convex and piecewise linear with corners yᵢ − θ·xᵢ, and its slope right of a corner is the
    weight of all the corners up to there minus that of the positive examples. Departures: where
    a whole interval is best, its middle is taken. Invariant: no other θ₀ has a smaller loss.
    Cost: a partial sort, or a sort with weights. The array of scores is used up.
    """
    corners = np.subtract(np.where(positive, 1.0, -1.0), scores, out=scores)
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


def best_bias_of_numbers(residuals: FloatArray, weights: FloatArray, epsilon: float) -> float:
    """Find the θ₀ with the least mean of max(0, |rᵢ − θ₀| − ε), the residuals r being those without
    it.

    Convex and piecewise linear with the corners rᵢ ± ε: its slope right of a corner is the weight
    of all the corners up to there less that of all the rows. Departures: where a whole interval
    is best, its middle is taken. Invariant: no other θ₀ has a smaller loss. Cost: a sort.
    """
    corners = np.concatenate([residuals - epsilon, residuals + epsilon])
    order = np.argsort(corners)
    below, target = np.cumsum(np.concatenate([weights, weights])[order]), weights.sum()
    first = int(np.searchsorted(below, target * (1 - 1e-12)))
    last = int(np.searchsorted(below, target * (1 + 1e-12), side="right"))
    return float((corners[order[first]] + corners[order[min(last, len(order) - 1)]]) / 2)


def best_smooth_bias(
    scores: FloatArray, positive: BoolArray, weights: FloatArray, loss: MarginLoss
) -> float:
    """Return the θ₀ with the least mean loss, θ being fixed, for a loss with a slope everywhere.

    The slope of Σ sᵢ ℓ(yᵢ(θ·xᵢ + θ₀)) in θ₀ never falls: its root is found by Newton's method.
    Departures: a step that leaves what is known to hold the root, or does not halve the step
    before the last, goes to the middle of it. Invariant: the slope there is zero up to rounding.
    Cost: some passes over the scores. With examples of one class only there is no best bias, and
    zero is returned.
    """
    used = weights > 0
    if not ((positive & used).any() and (~positive & used).any()):
        return 0.0
    signs = np.where(positive, 1.0, -1.0)
    return float(_root(SMOOTH[loss.name], signs, weights, scores))


@loop
def _root(loss: Any, signs: FloatArray, weights: FloatArray, scores: FloatArray) -> float:
    """Tell where the slope in θ₀ changes its sign; zero if that is nowhere among the numbers."""
    reach = 0.0
    for score in scores:
        reach = max(reach, abs(score))
    reach += 1.0
    while not (
        _slope(loss, signs, weights, scores, -reach)[0] < 0.0
        and _slope(loss, signs, weights, scores, reach)[0] > 0.0
    ):
        reach *= 2.0
        if not reach < math.inf:
            return 0.0
    low, high, theta0, before, last = -reach, reach, 0.0, math.inf, math.inf
    while last > 1e-14 * reach:
        rise, bend = _slope(loss, signs, weights, scores, theta0)
        if rise < 0.0:
            low = theta0
        else:
            high = theta0
        step = -rise / bend if bend > 0.0 else math.inf
        if not (low <= theta0 + step <= high and abs(step) <= 0.5 * before):
            step = 0.5 * (low + high) - theta0
        theta0, before, last = theta0 + step, last, abs(step)
    return theta0


@loop
def _slope(
    loss: Any, signs: FloatArray, weights: FloatArray, scores: FloatArray, theta0: float
) -> tuple[float, float]:
    """Compute the slope of the mean loss in θ₀, and the curvature."""
    rise = bend = 0.0
    for i in range(len(scores)):
        rise += weights[i] * slope(loss, signs[i], scores[i] + theta0)
        bend += weights[i] * curvature(loss, signs[i], scores[i] + theta0)
    return rise, bend
