"""What a free bias takes away where the dual variables do not sum to zero, as those of blocks.

For any c, δ = Σ cᵢ and any B that bounds |b| of the models with P ≤ P(θ, b), the bounds of `gap.py`
hold with t|δ|B/S taken away from the lower one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cotas.certificates.core.gap import Margin, Risk, Weights
from cotas.certificates.core.rounding import U, above, up


class Extent(NamedTuple):
    """The extent of the data: max ‖x − m‖, max |y|, and the weight of the lighter class."""

    longest: float
    most: float
    least: float


def longest(rows: Any) -> float:
    """Compute max ‖x − m‖, rounded up."""
    return above(float(rows.unit.max(initial=0.0)) * float(rows.lengths.max(initial=0.0)))


def level_of(loss: Any, level: float, zero_losses: float, low: float) -> float:
    """Return the smaller one of a level and of P of θ = 0, b = 0, whose losses sum to
    `zero_losses`."""
    return min(level, above(zero_losses / low, loss.ulps + 4))


def beyond(loss: Margin, extent: Extent, high: float, level: float) -> float:
    """Tell how far below zero the average margin of a class can be where P ≤ level; Σ sᵢ ≤ `high`.

    Its φ is at most level·S/(its weight) on average, and φ(m) ≥ φ(0) − |φ'(0)|m.
    """
    if not extent.least > 0:
        return math.inf  # one class only: every bias is as good as a larger one
    level = above(level * (high / extent.least), 3)
    return up(up(max(0.0, level - loss.at_zero * (1 - 4 * U))) / loss.slope_at_zero)


def bias_bound(risk: Risk, extent: Extent, high: float, level: float) -> float:
    """Compute B: no |b| of a model with P ≤ level is larger, in coordinates of the moved rows."""
    loss, reach = risk.loss, above(extent.longest * risk.regularizer.radius(level))
    if isinstance(loss, Margin):
        return up(reach + beyond(loss, extent, high, level))
    return up(reach + up(above(extent.most) + loss.spread(level)))


def bias_slip(risk: Risk, extent: Extent, w: Weights, level: float, rest: float) -> float:
    """Return what a free bias takes away, at most, where |Σ cᵢ| ≤ `rest`: |δ|B/S, rounded up."""
    most = bias_bound(risk, extent, w.high, level)
    return above(above(rest * up(1.0 / w.low)) * most, 2)
