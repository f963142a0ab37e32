"""The penalty of the Lasso and of the elastic net as a value, coefficient by coefficient.

    λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)²          β ≥ 0 if `positive`

A coefficient of weight zero has no penalty; no weights stand for ones. The Lasso has λ₂ = 0 and no
type of its own: the loops are compiled once for both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray
from cotas.loops import generic, loop

# An array too, so that the same compiled loop serves whoever gives none.
NO_WEIGHTS = np.empty(0)


class ElasticNetPenalty(NamedTuple):
    """The elastic net λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)²"""

    lam1: float
    lam2: float = 0.0
    positive: bool = False
    weights: FloatArray = NO_WEIGHTS


@generic
def times(penalty: Any, lam: float) -> Any:
    """Compute λ times the penalty; between the loops too, where nothing need be compiled for it."""


@times.when(ElasticNetPenalty)
def times_penalty(penalty: ElasticNetPenalty, lam: float) -> ElasticNetPenalty:
    lam1, lam2 = lam * penalty.lam1, lam * penalty.lam2
    return ElasticNetPenalty(lam1, lam2, penalty.positive, penalty.weights)


@loop
def first(penalty: ElasticNetPenalty, j: int) -> float:
    """Compute λ₁wⱼ, the slope where βⱼ leaves zero."""
    w: float = penalty.weights[j] if len(penalty.weights) else 1.0
    return penalty.lam1 * w


@loop
def second(penalty: ElasticNetPenalty, j: int) -> float:
    """Compute λ₂wⱼ², the curvature."""
    w: float = penalty.weights[j] if len(penalty.weights) else 1.0
    return penalty.lam2 * w * w


@loop
def prox(penalty: ElasticNetPenalty, j: int, z: float, curvature: float) -> float:
    """Return the b that minimizes ½·curvature·b² − zb and the penalty of coefficient j."""
    lam, left = first(penalty, j), 0.0
    if z > lam:
        left = z - lam
    elif z < -lam and not penalty.positive:
        left = z + lam
    return left / (curvature + second(penalty, j)) if left != 0.0 else 0.0


@loop
def value(penalty: ElasticNetPenalty, beta: FloatArray) -> float:
    """Return the penalty of β."""
    total = 0.0
    for j in range(len(beta)):
        b = beta[j]
        total += first(penalty, j) * abs(b) + 0.5 * second(penalty, j) * b * b
    return total


class Penalized(NamedTuple):
    """Values P and P − D."""

    primal: float
    gap: float


@loop
def bounds(
    penalty: ElasticNetPenalty, a: float, b: float, q: FloatArray, beta: FloatArray
) -> Penalized:
    """Compute P and P − D from a = ⟨r, y⟩, b = ⟨r, r⟩ and the correlations q of the columns with r.

    D is the better of two (docs/theory/lasso.md). The data (y, 0) and (X, √λ₂W) make a Lasso with
    the residual (r, −√λ₂Wβ) and the correlations q − λ₂w²β; the best multiple of that residual with
    none of them above λ₁w is one. The conjugate of the whole penalty at r is the other. Of a
    coefficient without a penalty q should be zero; what it is not counts |qⱼβⱼ|.
    """
    penalized = squares = steepest = conjugate = loose = 0.0
    for j in range(len(beta)):
        lam1, lam2, size = first(penalty, j), second(penalty, j), abs(beta[j])
        if lam1 <= 0.0:
            loose += abs(q[j]) * size
            continue
        penalized += (lam1 + 0.5 * lam2 * size) * size
        squares += lam2 * size * size
        rest = q[j] - lam2 * beta[j]
        rest = rest if penalty.positive else abs(rest)
        if rest > steepest * lam1:
            steepest = rest / lam1
        over = (q[j] if penalty.positive else abs(q[j])) - lam1
        if over > 0.0:
            conjugate += over * over / (2.0 * lam2)
    primal = 0.5 * b + penalized
    if a <= 0.0 or b <= 0.0:
        return Penalized(primal, primal)
    kappa = a / (b + squares)
    if steepest * kappa > 1.0:
        kappa = 1.0 / steepest
    dual = max(kappa * a - 0.5 * kappa * kappa * (b + squares), a - 0.5 * b - conjugate)
    return Penalized(primal, primal - dual + loose)


def thresholds(penalty: ElasticNetPenalty) -> FloatArray:
    """Compute λ₁wⱼ of all the coefficients, or one number for all."""
    return np.asarray(penalty.lam1 * (penalty.weights if len(penalty.weights) else 1.0))
