"""How curved a mean of squares is: its Hessian with what rounding left open, and its least slope.

A Cholesky factorization of H − (μ + ε)I in floating point that runs through proves H ⪰ μ, ε being
its a-priori error and that of H (Rump 2006).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.choices import CURVATURES, SAMPLE
from cotas.certificates.core.definite import is_definite
from cotas.certificates.core.rows import pairwise
from cotas.certificates.core.sparse_rows import flipped, made_of

from cotas.certificates.core.rounding import (  # isort: skip
    SMALL, TINY, FloatArray, above, gamma, norm_up, total_up,
)  # fmt: skip

# A sum of products of stored entries takes as long as so many products of BLAS to begin, and each
# of them as long as so many.
BEGINNING, EACH = 1 << 24, 128


class Hessian(NamedTuple):
    """The Hessian Ĥ of the columns in their units, the bias last, scaled to a diagonal near one;
    and its error.

    |H − Ĥ| ≤ `off` in the 2-norm. `scale` are the powers of two that it was multiplied by. With a
    basis T it is that of the rows xT, which are off by `spill` in the mean square.
    """

    matrix: FloatArray
    scale: FloatArray
    off: float
    T: FloatArray | None = None
    spill: float = 0.0

    def rounding(self) -> float:
        """Return the a-priori error of a Cholesky factorization."""
        size = above(float(np.trace(np.abs(self.matrix))), len(self.matrix) + 2)
        return above(above(gamma(len(self.matrix) + 4), 4) * size, 4)

    def least(self) -> float:
        """Return a proved lower bound μ of the eigenvalues of H; zero if there is none."""
        rounding, identity = self.rounding(), np.eye(len(self.matrix))
        for mu in CURVATURES:
            shift = above(mu + rounding + self.off, 4)
            if is_definite(self.matrix - shift * identity):
                return mu
        return 0.0

    def basis(self) -> FloatArray | None:
        """Compute T that makes H nearly the identity, or less singular at least."""
        try:
            L = np.linalg.cholesky(self.matrix + 2 * self.rounding() * np.eye(len(self.matrix)))
            T = self.scale[:, None] * np.linalg.inv(L).T
        except np.linalg.LinAlgError:
            return None
        return np.asarray(T if self.T is None else self.T @ T)


def in_units(rows: Any, span: slice, free_bias: bool, T: FloatArray | None) -> FloatArray:
    """Return some rows (x/unit, 1) or (x/unit, 1)T."""
    return block_in_units(rows, rows.read(span), free_bias, T)


def block_in_units(rows: Any, A: Any, free_bias: bool, T: FloatArray | None) -> FloatArray:
    """Return the same, of a block that was read, in an array of its own."""
    A = A.toarray() if rows.sparse else A
    whole = np.ones((len(A), rows.d + free_bias))
    np.multiply(A, 1.0 / rows.unit, out=whole[:, : rows.d])  # as exact as to divide
    return np.asarray(whole if T is None else whole @ T)


def worth_storing(A: Any) -> bool:
    """Tell whether products of the stored entries are added up sooner than those of all."""
    n, d = A.shape
    return bool(n * d * d > BEGINNING + EACH * A.nnz * (A.nnz / n))


def sparse_squares(rows: Any, A: Any, roots: FloatArray, free_bias: bool) -> FloatArray:
    """Compute Σ sᵢaᵢaᵢᵀ of some sparse rows in their units, from the entries that they store."""
    d, whole = rows.d, np.empty((rows.d + free_bias, rows.d + free_bias))
    data = A.data / rows.unit[A.indices] * np.repeat(roots, np.diff(A.indptr))
    scaled = made_of(type(A), (data, A.indices, A.indptr), A.shape)
    turned = flipped(scaled)
    whole[:d, :d] = (turned @ scaled).toarray()
    if free_bias:
        whole[d, :d] = whole[:d, d] = turned @ roots
        whole[d, d] = roots @ roots
    return whole


def squares(
    rows: Any, spans: Any, s: FloatArray, free_bias: bool, T: FloatArray | None = None
) -> tuple[FloatArray, int]:
    """Compute Σ sᵢaᵢaᵢᵀ over these rows in their units, and the additions that it went through.

    Without spans over all of them, in a pass that measures their lengths if they are not known.
    """
    roots, even = np.sqrt(s), bool((s == 1.0).all())

    def square(span: slice, A: Any) -> FloatArray:
        if rows.sparse and T is None and worth_storing(A):
            return sparse_squares(rows, A, roots[span], free_bias)
        A = block_in_units(rows, A, free_bias, T)
        if not even:
            A *= roots[span, None]
        return np.asarray(A.T @ A)

    if spans is None:
        return pairwise(rows.blocks(square))
    return pairwise(rows.each(lambda span: square(span, rows.read(span)), spans))


def hessian(
    rows: Any,
    w: Any,
    added: FloatArray,
    free_bias: bool,
    some: bool,
    T: FloatArray | None,
    known: tuple[FloatArray, int] | None = None,
) -> Hessian:
    """Compute H from all the rows, or about four for each column; `known` are their squares."""
    spans, count = rows.spans, 4 * rows.d // SAMPLE + 2
    if some and rows.n > SAMPLE * count:
        starts = np.linspace(0, rows.n - SAMPLE, count).astype(int).tolist()
        spans = [slice(start, start + SAMPLE) for start in starts]
    with np.errstate(over="ignore", invalid="ignore"):
        whole, additions = known or squares(rows, spans, w.s, free_bias, T)
        added = np.append(added, [0.0] * free_bias)
        whole = whole / w.high + (np.diag(added) if T is None else T.T @ (added[:, None] * T))
    if not np.isfinite(whole).all():
        if T is None:
            raise Objection("not finite")
        whole = np.zeros_like(whole)  # of which nothing is proved
    roundings = max(span.stop - span.start for span in spans) + additions
    matrix, scale, off = in_scale(whole, roundings, w.low, w.high)
    if T is None:
        return Hessian(matrix, scale, off)
    # ‖xT − computed‖ ≤ γ‖x‖‖T‖, and ‖(A + E)ᵀ(A + E) − AᵀA‖ ≤ 2‖A‖‖E‖ + ‖E‖².
    long = math.sqrt(above(total_up(w.s * (rows.lengths**2 + 1.0)) / w.low, 4))
    spill = above(gamma(len(T) + 8) * norm_up(T) * long, 6) + SMALL
    bent = above(spill * float(scale.max()))
    wide = math.sqrt(above(float(np.abs(matrix).sum(axis=1).max()) + off, len(matrix) + 2))
    return Hessian(matrix, scale, above(off + 2 * above(wide) * bent + bent * bent, 6), T, spill)


def in_scale(
    whole: FloatArray, roundings: int, low: float, high: float
) -> tuple[FloatArray, FloatArray, float]:
    """Compute H scaled to a diagonal near one by powers of two, these, and how far it is off.

    `whole` is H, each of its entries a sum of products that went through so many roundings,
    divided by `high`, and low ≤ Σ sᵢ ≤ high.
    """
    diagonal = np.diag(whole)
    scale = np.exp2(-np.round(0.5 * np.log2(np.where(diagonal > TINY, diagonal, 1.0))))
    matrix = whole * scale * scale[:, None]
    size = above(float(np.trace(matrix)), len(matrix) + 2)
    # Entries are off by γ√(hᵢᵢhⱼⱼ), a matrix whose norm is γ times the trace; and all of them by
    # what S is off.
    factor = gamma(roundings + len(whole) + 14) + (high / low - 1.0)
    return matrix, scale, above(factor * size, 4) + TINY
