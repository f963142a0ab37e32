"""Penalties as values, coefficient by coefficient: one loop for each of them.

    L1           λ₁ Σ wⱼ|βⱼ|
    ElasticNet   λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)²          β ≥ 0 if `positive`

A coefficient of weight zero has no penalty; None in the place of weights stands for ones. The names
are those of `certificates/core/sparsity.py`, which has penalties of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cotas.arrays import FloatArray
from cotas.loops import generic, loop
from cotas.solvers.run import weight


class L1(NamedTuple):
    """λ₁ Σ wⱼ|βⱼ|"""

    lam1: float
    positive: bool = False
    weights: Any = None


class ElasticNet(NamedTuple):
    """λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)²"""

    lam1: float
    lam2: float
    positive: bool = False
    weights: Any = None


Penalty: TypeAlias = L1 | ElasticNet


def sparse_penalty(l1_ratio: float, positive: bool, weights: FloatArray | None) -> Penalty:
    """The penalty with λ = 1, of which a share `l1_ratio` is the ℓ1 norm."""
    if l1_ratio == 1.0:
        return L1(1.0, positive, weights)
    return ElasticNet(l1_ratio, 1.0 - l1_ratio, positive, weights)


def with_weights(penalty: Penalty, weights: FloatArray | None) -> Penalty:
    """The same penalty of other coefficients."""
    return penalty._replace(weights=weights)


@generic
def times(penalty: Any, lam: float) -> Any:
    """λ times the penalty."""


@times.when(L1)
def times_l1(penalty: L1, lam: float) -> L1:
    return L1(lam * penalty.lam1, penalty.positive, penalty.weights)


@times.when(ElasticNet)
def times_elastic_net(penalty: ElasticNet, lam: float) -> ElasticNet:
    lam1, lam2 = lam * penalty.lam1, lam * penalty.lam2
    return ElasticNet(lam1, lam2, penalty.positive, penalty.weights)


@generic
def first(penalty: Any, j: int) -> float:  # type: ignore[empty-body]
    """λ₁wⱼ, the slope where βⱼ leaves zero."""


@first.when(L1)
def first_of_l1(penalty: L1, j: int) -> float:
    return penalty.lam1 * weight(penalty.weights, j)  # type: ignore[no-any-return]


@first.when(ElasticNet)
def first_of_elastic_net(penalty: ElasticNet, j: int) -> float:
    return penalty.lam1 * weight(penalty.weights, j)  # type: ignore[no-any-return]


@generic
def second(penalty: Any, j: int) -> float:  # type: ignore[empty-body]
    """λ₂wⱼ², the curvature."""


@second.when(L1)
def second_of_l1(penalty: L1, j: int) -> float:
    return 0.0


@second.when(ElasticNet)
def second_of_elastic_net(penalty: ElasticNet, j: int) -> float:
    w = weight(penalty.weights, j)
    return penalty.lam2 * w * w  # type: ignore[no-any-return]


@loop
def prox(penalty: Any, j: int, z: float, curvature: float) -> float:
    """The b that minimizes ½·curvature·b² − zb and the penalty of coefficient j."""
    lam, left = first(penalty, j), 0.0
    if z > lam:
        left = z - lam
    elif z < -lam and not penalty.positive:
        left = z + lam
    return left / (curvature + second(penalty, j)) if left != 0.0 else 0.0


@loop
def value(penalty: Any, beta: FloatArray) -> float:
    """The penalty of β."""
    total = 0.0
    for j in range(len(beta)):
        b = beta[j]
        total += first(penalty, j) * abs(b) + 0.5 * second(penalty, j) * b * b
    return total


class Penalized(NamedTuple):
    """P and P − D."""

    primal: float
    gap: float


@loop
def bounds(penalty: Any, a: float, b: float, q: FloatArray, beta: FloatArray) -> Penalized:
    """P and P − D from a = ⟨r, y⟩, b = ⟨r, r⟩ and the correlations q of the columns with r.

    D is the better of two (docs/theory/lasso.md). The data (y, 0) and (X, √λ₂W) make a Lasso with
    the residual (r, −√λ₂Wβ) and the correlations q − λ₂w²β; the best multiple of that residual with
    none of them above λ₁w is one. The conjugate of the whole penalty at r is the other. Of a
    coefficient without a penalty q should be zero; what it is not counts |qⱼβⱼ|.
    """
    penalized = squares = steepest = excess = loose = 0.0
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
            excess += over * over / (2.0 * lam2)
    primal = 0.5 * b + penalized
    if a <= 0.0 or b <= 0.0:
        return Penalized(primal, primal)
    kappa = a / (b + squares)
    if steepest * kappa > 1.0:
        kappa = 1.0 / steepest
    dual = max(kappa * a - 0.5 * kappa * kappa * (b + squares), a - 0.5 * b - excess)
    return Penalized(primal, primal - dual + loose)


def thresholds(penalty: Penalty) -> FloatArray:
    """λ₁wⱼ of all the coefficients, or one number for all."""
    weights = 1.0 if penalty.weights is None else penalty.weights
    return np.asarray(penalty.lam1 * weights)
