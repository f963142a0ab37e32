"""The weights p(1−p) and targets of LogitBoost's Newton steps."""

from __future__ import annotations

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.loops import loop
from cotas.solvers.exponential_weights import parts_of

P_MIN = 1e-5  # LogitBoost keeps p between this and one minus this, hence |z| ≤ 1e5


@loop
def newton_rows(
    F: FloatArray,
    y: FloatArray,
    s: FloatArray,
    f: FloatArray,
    a: float,
    wz: FloatArray,
    w: FloatArray,
) -> float:
    """F ← F + a·f, w = s·p(1−p) and wz = s(y* − p); the loss Σ s·ln(1 + e^{−2yF}).

    With e = exp(−2|F|) nothing overflows: p is 1/(1+e) or e/(1+e).
    """
    loss = 0.0
    for i in range(len(F)):
        F[i] += a * f[i]
        e = np.exp(-2.0 * abs(F[i]))
        small = e / (1.0 + e)
        p = 1.0 - small if F[i] > 0 else small
        p = min(max(p, P_MIN), 1.0 - P_MIN)
        w[i] = s[i] * p * (1.0 - p)
        wz[i] = s[i] * ((1.0 if y[i] > 0 else 0.0) - p)
        loss += s[i] * (np.log1p(e) + 2.0 * max(0.0, -y[i] * F[i]))
    return loss


class LogisticWeights:
    """F on all the rows, with the weights, the weighted targets and the loss that belong to it.

    Invariant: w = s·p(1−p) and wz = s(y* − p) for p = 1/(1+e^{−2F}), clipped.
    """

    def __init__(self, y: FloatArray, s: FloatArray, F: FloatArray, each: Each = map) -> None:
        self.y, self.s, self.F = y, s, F
        self.w, self.wz = np.empty_like(F), np.empty_like(F)
        self.parts = parts_of(len(F))
        self.each = each if len(self.parts) > 1 else map
        self.advance(np.zeros_like(F), 0.0)

    def advance(self, f: FloatArray, a: float) -> None:
        """F ← F + a·f"""

        def one(part: slice) -> float:
            return newton_rows(
                self.F[part],
                self.y[part],
                self.s[part],
                f[part],
                a,
                self.wz[part],
                self.w[part],
            )

        self.loss = float(sum(self.each(one, self.parts)))
