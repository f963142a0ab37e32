"""PEGASOS, Algorithm 5 of Fuentes Cabrera and the version with bias of Fuentes-Pineda."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, dot, norm2
from cotas.loops import generic
from cotas.solvers.run import Average, Run, learn, sign, weight


class PegasosRule(NamedTuple):
    """The SVM objective (λ, bias) and the radius of the ball θ is projected on (∞: none)."""

    bias: float
    lam: float
    radius: float


@generic
def accumulate(average: Any, c: int, scale: float, b: float) -> None:
    """Add the current θ = scale · w and θ₀ to the sum of all vectors of the run."""


@accumulate.when(type(None))
def nothing_to_accumulate(average: None, c: int, scale: float, b: float) -> None:
    return


@accumulate.when(Average)
def accumulate_vector(average: Average, c: int, scale: float, b: float) -> None:
    average.weight[c] += scale
    average.b[c] += b


@generic
def discount(average: Any, c: int, rows: Design, i: int, a: float) -> None:
    """Note that w ← w + a xᵢ came after the weight accumulated so far."""


@discount.when(type(None))
def nothing_to_discount(average: None, c: int, rows: Design, i: int, a: float) -> None:
    return


@discount.when(Average)
def discount_update(average: Average, c: int, rows: Design, i: int, a: float) -> None:
    add(rows, i, average.weight[c] * a, average.w[c])


@generic
def smallest_scale(average: Any) -> float:  # type: ignore[empty-body]
    """Return the `scale` below which it is multiplied into w."""


@smallest_scale.when(type(None))
def before_overflow(average: None) -> float:
    return 1e-60  # long before 1/scale or its square could overflow


@smallest_scale.when(Average)
def before_cancellation(average: Average) -> float:
    return 1e-6  # the sum is a difference of numbers 1/scale times as large as itself


@generic
def fold(average: Any, c: int, w: FloatArray) -> None:
    """Close the account of w, which is about to be rescaled: the sum so far becomes −Average.w."""


@fold.when(type(None))
def nothing_to_fold(average: None, c: int, w: FloatArray) -> None:
    return


@fold.when(Average)
def fold_sum(average: Average, c: int, w: FloatArray) -> None:
    for j in range(len(w)):
        average.w[c, j] -= average.weight[c] * w[j]
    average.weight[c] = 0.0


@learn.when(PegasosRule)
def pegasos_pass(
    rule: PegasosRule,
    rows: Design,
    labels: IntArray,
    weights: FloatArray,
    order: IntArray,
    steps: FloatArray,
    run: Run,
    average: Any,
    c: int,
) -> None:
    """Take stochastic subgradient steps on the SVM objective.

        min Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²

        θ ← (1 − ηλ)θ,   and if yᵢ(θ·xᵢ + θ₀) ≤ 1:   θ ← θ + η yᵢxᵢ,   θ₀ ← θ₀ + η₀ yᵢ

    Algorithm 5 of Fuentes Cabrera, the bias as in Fuentes-Pineda. Departures: `steps` holds η,
    1/(λt) unless asked otherwise (printed: 1/t); of b no update is printed: it follows the same
    subgradient with
    η₀ = min(η, 1/√t), since nothing shrinks the bias and steps of 1/(λt) would leave it where
    the first of them threw it; a weight is n·sᵢ and multiplies the update; Fuentes-Pineda
    tests < 1, Fuentes Cabrera ≤ 1.
    Invariant: with η = 1/(λt) and no projection θ = (1/λt) Σ ledgerᵢ n sᵢ yᵢ xᵢ.
    Cost: O(nnz) a pass; the shrinking of θ costs O(1) since θ = scale · w.
    """
    w, b, scale = run.w[c], run.b[c], run.scale[c]
    norm, smallest = np.dot(w, w), smallest_scale(average)
    seen, mistakes, updates = run.seen[c], 0, 0
    for q in range(len(order)):
        i, eta = order[q], steps[q]
        y = sign(labels, i, run.positive[c])
        wx = dot(rows, i, w)
        margin = y * (scale * wx + b)
        scale *= 1.0 - eta * rule.lam
        if abs(scale) < smallest:
            fold(average, c, w)
            w *= scale
            wx *= scale
            norm *= scale * scale
            scale = 1.0
        if margin <= 1:
            s = weight(weights, i)
            a = eta * s * y / scale
            add(rows, i, a, w)
            discount(average, c, rows, i, a)
            b += min(eta, 1.0 / sqrt(seen + 1.0)) * s * y * rule.bias
            run.ledger[c, i] += 1
            updates += 1
            if rule.radius < np.inf:
                norm += 2.0 * a * wx + a * a * norm2(rows, i)
            if margin <= 0:
                mistakes += 1
        if rule.radius < np.inf and scale * scale * norm > rule.radius * rule.radius:
            scale *= rule.radius / (abs(scale) * sqrt(norm))
        accumulate(average, c, scale, b)
        seen += 1
    run.b[c] = b
    run.scale[c] = scale
    run.seen[c] = seen
    run.mistakes[c] += mistakes
    run.updates[c] += updates
