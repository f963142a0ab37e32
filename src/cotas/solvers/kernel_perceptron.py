"""The perceptron of Fuentes Cabrera in feature space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.solvers.kernel_online import KernelRun, add_row, walk


class KernelPerceptronRule(NamedTuple):
    """The rule of the perceptron: bias = 1 trains θ₀ (Algorithm 2), bias = 0 leaves it at zero
    (Algorithm 1)."""

    bias: float

    def moves(self, signs: FloatArray, scores: FloatArray, theta0: float, seen: int) -> BoolArray:
        """Tell which examples would be mistakes now."""
        return np.asarray(signs * (scores + theta0) <= 0)


@walk.when(KernelPerceptronRule)
def kernel_perceptron_walk(
    rule: KernelPerceptronRule,
    order: IntArray,
    start: int,
    weights: FloatArray,
    place_of: IntArray,
    rows: FloatArray,
    run: KernelRun,
    c: int,
) -> int:
    """Correct θ by yφ(x) at each mistake.

        if yᵢ(θ·φ(xᵢ) + θ₀) ≤ 0:   θ ← θ + yᵢφ(xᵢ),   θ₀ ← θ₀ + yᵢ

    Algorithms 1 and 2 of Fuentes Cabrera with the kernel trick of Fuentes-Pineda:
    θ·φ(xᵢ) = Σⱼ countⱼ sⱼ yⱼ k(xⱼ, xᵢ).
    Departures: a weight s multiplies the update, which is Algorithm 2 on the row s·(φ(x), 1).
    Invariant: F = K(count·s·y) and θ₀ = Σ countⱼ sⱼ yⱼ. Cost: O(n) a mistake, and its row of K.
    """
    scores, signs = run.scores[c], run.signs[c]
    for q in range(start, len(order)):
        i = order[q]
        if signs[i] * (scores[i] + run.bias[c]) <= 0:
            if place_of[i] < 0:
                return q
            a = weights[i] * signs[i]
            add_row(scores, a, rows[place_of[i]])
            run.bias[c] += a * rule.bias
            run.counts[c, i] += 1
            run.mistakes[c] += 1
            run.updates[c] += 1
        run.seen[c] += 1
    return len(order)
