"""Batch subgradient descent for the support vector machine, Clasificación lineal."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, dot
from cotas.solvers.pegasos import accumulate, discount, fold, smallest_scale
from cotas.solvers.run import Run, learn, sign, weight


class SubgradientRule(NamedTuple):
    """The SVM objective (λ, bias) and the radius of the ball θ is projected on (∞: none)."""

    bias: float
    lam: float
    radius: float


@learn.when(SubgradientRule)
def subgradient_pass(
    rule: SubgradientRule,
    rows: Design,
    labels: IntArray,
    weights: FloatArray,
    order: IntArray,
    steps: FloatArray,
    run: Run,
    average: Any,
    c: int,
) -> None:
    """Take one step along the subgradient of the whole SVM objective.

        min Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²

        θ ← (1 − ηλ)θ + (η/n) Σ yᵢxᵢ,   θ₀ ← θ₀ + (η₀/n) Σ yᵢ,   over the i with yᵢ(θ·xᵢ + θ₀) ≤ 1

    θ ← θ − η∇J(θ) of Clasificación lineal with the subgradient of its stochastic descent.
    Departures: η₀ = min(η, 1/√t), and weights, as in `pegasos_pass`, which this is with the mean
    over all examples in the place of one.
    Invariant: with η = 1/(λt) and no projection θ = (1/λnt) Σ ledgerᵢ n sᵢ yᵢ xᵢ.
    Cost: two products with X a step.
    """
    w, b, scale, n = run.w[c], run.b[c], run.scale[c], len(order)
    eta, t = steps[0], run.seen[c] // n + 1
    agreements = np.empty(n)
    for q in range(n):
        y = sign(labels, order[q], run.positive[c])
        agreements[q] = y * (scale * dot(rows, order[q], w) + b)
    scale *= 1.0 - eta * rule.lam
    if abs(scale) < smallest_scale(average):
        fold(average, c, w)
        w *= scale
        scale = 1.0
    pull, updates, mistakes = 0.0, 0, 0
    for q in range(n):
        if agreements[q] <= 1:
            i = order[q]
            s = weight(weights, i) * sign(labels, i, run.positive[c]) / n
            add(rows, i, eta * s / scale, w)
            discount(average, c, rows, i, eta * s / scale)
            pull += s
            run.ledger[c, i] += 1
            updates += 1
            if agreements[q] <= 0:
                mistakes += 1
    b += min(eta, 1.0 / sqrt(t)) * pull * rule.bias
    if rule.radius < np.inf:
        length = abs(scale) * sqrt(np.dot(w, w))
        if length > rule.radius:
            scale *= rule.radius / length
    accumulate(average, c, n * scale, n * b)
    run.b[c] = b
    run.scale[c] = scale
    run.seen[c] += n
    run.mistakes[c] += mistakes
    run.updates[c] += updates
