"""The losses ℓ(y, z) of a score z as values: a loop that takes one is compiled for each of them.

Their names are those of the certificates' core, which has losses of its own and trusts none of
these. Of classes y = ±1 and the loss is a function of the margin yz; of numbers, of z − y.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cotas.arrays import FloatArray
from cotas.loops import generic, loop


class SquaredHinge(NamedTuple):
    """The squared hinge max(0, 1 − yz)²"""


class ModifiedHuber(NamedTuple):
    """The squared hinge, continued from yz = −1 on by its tangent −4yz."""


class Logistic(NamedTuple):
    """The logistic loss log(1 + exp(−yz))"""


class Huber(NamedTuple):
    """Huber's loss: ½r² up to |r| = k, then k|r| − ½k², r = z − y"""

    k: float


class EpsilonInsensitive(NamedTuple):
    """The ε-insensitive loss max(0, |z − y| − ε); it has corners, and no curvature."""

    epsilon: float


# Losses of classes with a slope everywhere, by the names of `cotas.losses`.
SMOOTH = {
    "logistic": Logistic(),
    "squared hinge": SquaredHinge(),
    "modified Huber": ModifiedHuber(),
}


@generic
def value(loss: Any, y: float, z: float) -> float:  # type: ignore[empty-body]
    """Compute ℓ(y, z)"""


@generic
def slope(loss: Any, y: float, z: float) -> float:  # type: ignore[empty-body]
    """Compute ℓ'(y, z), by z."""


@generic
def curvature(loss: Any, y: float, z: float) -> float:  # type: ignore[empty-body]
    """Compute ℓ''(y, z), by z; at a corner of the slope its value on one side."""


@value.when(SquaredHinge)
def squared_hinge_value(loss: SquaredHinge, y: float, z: float) -> float:
    short = max(0.0, 1.0 - y * z)
    return short * short


@slope.when(SquaredHinge)
def squared_hinge_slope(loss: SquaredHinge, y: float, z: float) -> float:
    return -2.0 * y * max(0.0, 1.0 - y * z)


@curvature.when(SquaredHinge)
def squared_hinge_curvature(loss: SquaredHinge, y: float, z: float) -> float:
    return 2.0 if y * z < 1.0 else 0.0


@value.when(ModifiedHuber)
def modified_huber_value(loss: ModifiedHuber, y: float, z: float) -> float:
    short = max(0.0, 1.0 - y * z)
    return -4.0 * y * z if short > 2.0 else short * short


@slope.when(ModifiedHuber)
def modified_huber_slope(loss: ModifiedHuber, y: float, z: float) -> float:
    return -2.0 * y * min(max(0.0, 1.0 - y * z), 2.0)


@curvature.when(ModifiedHuber)
def modified_huber_curvature(loss: ModifiedHuber, y: float, z: float) -> float:
    return 2.0 if abs(z) < 1.0 else 0.0


@value.when(Logistic)
def logistic_value(loss: Logistic, y: float, z: float) -> float:
    return max(0.0, -y * z) + math.log1p(math.exp(-abs(z)))


@slope.when(Logistic)
def logistic_slope(loss: Logistic, y: float, z: float) -> float:
    tail = math.exp(-abs(z))
    return -y * (tail if y * z > 0.0 else 1.0) / (1.0 + tail)


@curvature.when(Logistic)
def logistic_curvature(loss: Logistic, y: float, z: float) -> float:
    tail = math.exp(-abs(z))
    return tail / ((1.0 + tail) * (1.0 + tail))


@value.when(Huber)
def huber_value(loss: Huber, y: float, z: float) -> float:
    r = abs(z - y)
    inside = min(r, loss.k)
    return inside * (r - 0.5 * inside)


@slope.when(Huber)
def huber_slope(loss: Huber, y: float, z: float) -> float:
    return min(max(z - y, -loss.k), loss.k)


@curvature.when(Huber)
def huber_curvature(loss: Huber, y: float, z: float) -> float:
    return 1.0 if abs(z - y) < loss.k else 0.0


@loop
def total(loss: Any, y: FloatArray, weights: FloatArray, scores: FloatArray) -> float:
    """Compute Σ sᵢ ℓ(yᵢ, zᵢ)"""
    found = 0.0
    for i in range(len(y)):
        found += weights[i] * value(loss, y[i], scores[i])
    return found


@loop
def derivatives(
    loss: Any,
    y: FloatArray,
    weights: FloatArray,
    scores: FloatArray,
    slopes: FloatArray,
    curvatures: FloatArray,
) -> float:
    """Write sᵢℓ' and sᵢℓ'' of each row into the arrays; return Σ sᵢ ℓ(yᵢ, zᵢ)."""
    found = 0.0
    for i in range(len(y)):
        found += weights[i] * value(loss, y[i], scores[i])
        slopes[i] = weights[i] * slope(loss, y[i], scores[i])
        curvatures[i] = weights[i] * curvature(loss, y[i], scores[i])
    return found
