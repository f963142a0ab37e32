"""The perceptron, Algorithms 1, 2 and 3 of Fuentes Cabrera."""

from __future__ import annotations

from typing import Any, NamedTuple

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, dot
from cotas.solvers.run import Run, learn, set_aside, sign, weight


class PerceptronRule(NamedTuple):
    """The rule of the perceptron: bias = 1 trains θ₀ (Algorithm 2), bias = 0 leaves it at zero
    (Algorithm 1)."""

    bias: float


@learn.when(PerceptronRule)
def perceptron_pass(
    rule: PerceptronRule,
    rows: Design,
    labels: IntArray,
    weights: FloatArray,
    order: IntArray,
    steps: FloatArray,
    run: Run,
    average: Any,
    c: int,
) -> None:
    """Correct θ by yx at each mistake.

        if yᵢ(θ·xᵢ + θ₀) ≤ 0:   θ ← θ + yᵢxᵢ,   θ₀ ← θ₀ + yᵢ

    Algorithm 2 of Fuentes Cabrera (Algorithm 1 without bias, Algorithm 3 with an average).
    Departures: a weight s multiplies the update, which is Algorithm 2 on the row s·(x, 1);
    Algorithm 3 keeps c·yx with c = 1 − m/(nT), here m·yx is set aside and divided by nT at the end.
    Invariant: θ = Σ ledgerᵢ sᵢ yᵢ xᵢ plus the starting point. Cost: O(nnz) a pass.
    """
    w, b = run.w[c], run.b[c]
    seen, mistakes = run.seen[c], 0
    for i in order:
        y = sign(labels, i, run.positive[c])
        if y * (dot(rows, i, w) + b) <= 0:
            a = weight(weights, i) * y
            add(rows, i, a, w)
            b += a * rule.bias
            set_aside(average, c, rows, i, float(seen), a, rule.bias, 1.0)
            run.ledger[c, i] += 1
            mistakes += 1
        seen += 1
    run.b[c] = b
    run.seen[c] = seen
    run.mistakes[c] += mistakes
    run.updates[c] += mistakes
