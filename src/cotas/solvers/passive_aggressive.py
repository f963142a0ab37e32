"""The passive-aggressive algorithm, Algorithm 4 of Fuentes Cabrera."""

from __future__ import annotations

from typing import Any, NamedTuple

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, dot, norm2
from cotas.solvers.run import Run, learn, set_aside, sign, weight


class PassiveAggressiveRule(NamedTuple):
    """The passive-aggressive rule: λ says how passive the steps are; bias = 1 trains θ₀, bias = 0
    leaves it at zero."""

    bias: float
    lam: float


@learn.when(PassiveAggressiveRule)
def passive_aggressive_pass(
    rule: PassiveAggressiveRule,
    rows: Design,
    labels: IntArray,
    weights: FloatArray,
    order: IntArray,
    steps: FloatArray,
    run: Run,
    average: Any,
    c: int,
) -> None:
    """Move θ just far enough for the example, and no further than λ allows.

        θ ← argmin (λ/2)‖θ − θ_k‖² + s·max(0, 1 − y θ·x)
          = θ_k + η y x,    η = min(loss/‖x‖², s/λ)

    Algorithm 4 of Fuentes Cabrera. Departures: examples without loss are skipped (their η is 0);
    with a bias the vector is (x, 1), of squared norm ‖x‖² + 1; a weight s multiplies the loss.
    Invariant: after a step the example has loss 0, or η = s/λ. Cost: O(nnz) a pass.
    """
    w, b = run.w[c], run.b[c]
    seen, mistakes, updates = run.seen[c], 0, 0
    for i in order:
        y = sign(labels, i, run.positive[c])
        loss = 1.0 - y * (dot(rows, i, w) + b)
        if loss > 0:
            size = norm2(rows, i) + rule.bias
            eta = weight(weights, i) / rule.lam
            # Written as a product: a zero row would divide by zero.
            if loss < eta * size:
                eta = loss / size
            add(rows, i, eta * y, w)
            b += eta * y * rule.bias
            set_aside(average, c, rows, i, float(seen), eta * y, rule.bias, eta)
            run.ledger[c, i] += eta
            updates += 1
            if loss >= 1:
                mistakes += 1
        seen += 1
    run.b[c] = b
    run.seen[c] = seen
    run.mistakes[c] += mistakes
    run.updates[c] += updates
