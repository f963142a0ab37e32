"""PEGASOS in feature space, as Fuentes-Pineda prints it."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.solvers.kernel_online import KernelRun, add_row, walk


class KernelPegasosRule(NamedTuple):
    """The SVM objective: λ, and whether there is a bias."""

    bias: float
    lam: float

    def moves(self, signs: FloatArray, scores: FloatArray, theta0: float, seen: int) -> BoolArray:
        """Tell which examples would violate their margin now."""
        eta = 1.0 / (self.lam * (seen + 1))
        return np.asarray(signs * (eta * scores + theta0) < 1)


@walk.when(KernelPegasosRule)
def kernel_pegasos_walk(
    rule: KernelPegasosRule,
    order: IntArray,
    start: int,
    weights: FloatArray,
    place_of: IntArray,
    rows: FloatArray,
    run: KernelRun,
    c: int,
) -> int:
    """Count how often each example violates its margin.

        η = 1/(λt),   and if yᵢ(η Σⱼ countⱼ yⱼ k(xⱼ, xᵢ) + θ₀) < 1:   countᵢ ← countᵢ + 1

    The kernelized PEGASOS of Fuentes-Pineda. Departures: with a bias, printed for the linear
    version only and without an update, θ₀ ← θ₀ + min(η, 1/√t) yᵢ at each violation, as in our
    linear one;
    a weight is n·sᵢ and multiplies the count. Remark: the sum is multiplied by 1/(λt), as printed;
    the vector of Algorithm 5 of Fuentes Cabrera before step t is 1/(λ(t−1)) times that sum.
    Invariant: F = K(count·n·s·y), so that after t steps θ = (1/λt) Σ countⱼ n sⱼ yⱼ φ(xⱼ).
    Cost: O(n) a violation, and its row of K.
    """
    scores, signs = run.scores[c], run.signs[c]
    for q in range(start, len(order)):
        i, t = order[q], run.seen[c] + 1
        eta = 1.0 / (rule.lam * t)
        margin = signs[i] * (eta * scores[i] + run.bias[c])
        if margin < 1:
            if place_of[i] < 0:
                return q
            a = weights[i] * signs[i]
            add_row(scores, a, rows[place_of[i]])
            run.bias[c] += min(eta, 1.0 / sqrt(t)) * a * rule.bias
            run.counts[c, i] += 1
            run.updates[c] += 1
            if margin <= 0:
                run.mistakes[c] += 1
        run.seen[c] = t
    return len(order)
