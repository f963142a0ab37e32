"""How far a squared loss can fall, from the data themselves and not from their squares.

    Q(θ) − P* = ½ ‖Π ρ‖²,

Π being the projection on the span of the columns and ρ the residuals: what the columns can still
explain. It costs some three times the scatter matrix and resolves what squaring the data blurs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg import qr, svd

from cotas.arrays import FloatArray
from cotas.certificates.scatter import Decrease
from cotas.certificates.sweep import EPS


def explained(blocks: Iterable[FloatArray], d: int, n: int, centre: FloatArray | None) -> Decrease:
    """½‖Πρ‖² for each target, and then its rounding; from blocks of the rows (x, ρ), x in ℝᵈ.

    The blocks are reduced to a triangle (A, B), which keeps all products of columns. Directions
    of A with a singular value that rounding could have made are taken for collinear ones.
    """
    R: FloatArray | None = None
    for block in blocks:
        stacked = block if R is None else np.vstack([R, block])
        R = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][: stacked.shape[1]]
    assert R is not None
    A, B = R[:, :d], R[:, d:]
    off = np.zeros(d) if centre is None else EPS * np.abs(centre)
    lengths = np.linalg.norm(A, axis=0)
    used = lengths > (16 + np.sqrt(n)) * off
    scale = np.divide(1.0, lengths, where=used, out=np.zeros(d))
    U, values, Vt = svd(A * scale, full_matrices=False, check_finite=False)
    least = max(n, d) * EPS * values.max(initial=0.0) + 4 * np.abs(Vt) @ (off * scale)
    kept = values > least
    amounts = 0.5 * np.sum((U[:, kept].T @ B) ** 2, axis=0)
    # Rounding turns the span of the columns by so much, and the projection with it.
    condition = values[0] / values[kept][-1] if kept.any() else 0.0
    turn = 8 * condition * (EPS + float((off * scale).max()))
    noise = 0.5 * turn**2 * np.sum(B**2, axis=0)
    return Decrease(np.append(amounts, noise), d - int(kept.sum()))
