"""Products with the Gram matrix of the linear kernel: Xᵀw first, and no entry of K.

Each number of θ = Σ wᵢxᵢ is rounded once, and a score x·θ then loses no more than it would with a θ
that was given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.certificates.core.gram import BLOCK, SHORTER, pieces_of
from cotas.certificates.core.rounding import TINY, FloatArray, U, exact_products, gamma, total


def linear_times(gram: Any, W: FloatArray, wanted: Any) -> tuple[FloatArray, FloatArray] | None:
    """Compute KW for the rows wanted, adding up only the rows of W that are not zero."""
    if not isinstance(gram.X, np.ndarray) or gram.shift:
        return None
    support, d = np.flatnonzero(W.any(axis=1)), gram.X.shape[1]
    out, off, factor = np.zeros_like(W), np.zeros_like(W), gamma(d + 4)
    with np.errstate(over="ignore", invalid="ignore"):
        thetas = [combination(gram.read(support), w) for w in W[support].T]
        theta, rounded = (np.stack(part, axis=1) for part in zip(*thetas, strict=True))
        for rows in pieces_of(wanted.nonzero()[0], 4 * BLOCK):
            A = gram.read(rows)
            out[rows] = A @ theta
            off[rows] = np.abs(A) @ (factor * np.abs(theta) + rounded)
        off = off * (1.0 + 2.0 * factor) + d * TINY
    return (out, off) if np.isfinite(out).all() and np.isfinite(off).all() else None


def combination(A: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute Σ wᵢaᵢ over the rows of A, each number rounded once, and how far it may be off."""
    parts = np.vstack(exact_products(A, w[:, None]))
    value = np.array([total(column)[0] for column in parts.T])
    return value, 2 * U * np.abs(value) + 16 * (len(A) + 1) * TINY


SHORTER["linear"] = linear_times
