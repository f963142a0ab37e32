"""Sequential minimal optimization as Fuentes-Pineda tells it: two multipliers at a time."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray
from cotas.solvers.iterate import Iterate, KernelIterates
from cotas.solvers.kernel_dual import GramRows, SignedDual
from cotas.solvers.working_set import Move


def smo_simple(
    gram: GramRows,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    free_bias: bool,
    moves: list[Move] | None = None,
) -> KernelIterates:
    """Yield a = yα/λ and F after every n updates.

        min ½ ΣΣ aᵢaⱼ k(xᵢ, xⱼ) − Σ yᵢaᵢ    s.t.  0 ≤ yᵢaᵢ ≤ sᵢ/λ,  Σ aᵢ = 0 with a bias

    Fuentes-Pineda, "sequential minimal optimization": since Σ aᵢ = 0 has to hold, two multipliers
    are the fewest that can move. With aᵢ + aⱼ fixed the objective is a parabola, whose least
    point is known. Departures: the signed aᵢ = yᵢαᵢ/λ are used in the place of αᵢ, which makes
    all signs drop out; the pair is the one that violates the conditions of optimality most
    (Keerthi et al. 2001), a rule that the document leaves open. Without a bias one moves alone.
    Invariant: Σ aᵢ = 0 with a bias; F = f − y is the slope of the objective in each aᵢ.
    Cost: two rows of the Gram matrix a step. Nothing is kept but, if asked for, the `moves`: this
    is the version to read.
    """
    dual, n = SignedDual.of(y, weights, lam, free_bias), len(y)
    low, high = dual.low, dual.high
    a, F, everything = np.zeros(n), -dual.y, slice(0, n)
    while dual.violation(a, F) > 0:
        for _ in range(n):
            i = int(np.where(a < high, F, np.inf).argmin())  # a should rise, F being small
            j = int(np.where(a > low, F, -np.inf).argmax())  # a should fall, F being large
            if not free_bias:
                i = j = i if -F[i] > F[j] else j
            Ki, Kj = gram.block(gram.side(np.array([i, j]), np.float64), everything)
            rows = np.array([i, j] if free_bias else [i])
            before, slopes = a[rows], F[rows]
            if free_bias:
                curvature = max(Ki[i] + Kj[j] - 2 * Ki[j], 1e-12 * (Ki[i] + Kj[j]), 1e-300)
                t = min(max(F[j] - F[i], 0.0) / curvature, high[i] - a[i], a[j] - low[j])
                a[i], a[j] = min(a[i] + t, high[i]), max(a[j] - t, low[j])
                F += t * (Ki - Kj)
            else:
                new = np.clip(a[i] - F[i] / max(Ki[i], 1e-300), low[i], high[i])
                F += (new - a[i]) * Ki
                a[i], curvature = new, Ki[i]
            if moves is not None:
                moves.append(Move(rows, before, a[rows], slopes, float(curvature)))
        yield Iterate(a, F, dual.relative_gap(a, F))
