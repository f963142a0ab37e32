"""Kernels from their formulas, each value with a proved bound of its rounding.

A kernel is plain data, a tuple that begins with its name, such as ("rbf", γ, σ). `composites.py`
has those that are made of others, such as ("sum", ("linear",), ("constant", 1.0)). Rows are arrays
in double precision, or CSR matrices: only `@`, `*`, `multiply`, `indptr` and `toarray` are used.

`Entries` holds computed values K and, for each row on either side, two numbers: m, so that
|k| ≤ √(mᵢnⱼ), and e, so that |K − k| ≤ √(eᵢfⱼ). By Cauchy and Schwarz the bounds of a sum are then
sums and those of a product are products, row by row: no pair has an error of its own to keep.
Assumed: exp within 4 units in the last place; √ and the four operations rounded to nearest; a
product of matrices adds up its terms in any order, and no fast multiplication (Strassen) is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import TINY, FloatArray, U, gamma

Side = tuple[Any, Any]  # m and e, each an array with a number for each row, or one for all
SAFE = 512.0  # up to here ‖a‖² + ‖b‖² − 2a·b is accurate enough to be an exponent
FAR = 40.0  # exp(−40) is less than u
SOME = 1 << 19  # numbers in the differences of rows that are kept at a time


class Entries(NamedTuple):
    """Values of a kernel, a matrix or the diagonal of one, and the bounds of both sides."""

    K: Any
    left: Side
    right: Side


# What `positive` and `evaluate` say of kernels with other names: `composites.py` adds its own.
OTHERS: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Any, Any], Entries]]] = {}


def block(spec: Any, A: Any, B: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute K, e and f with |K − k(a, b)| ≤ eᵢ·fⱼ for each row a of A and b of B.

    A value that is not finite bounds nothing: who multiplies by K refuses the product.
    """
    shape = (A.shape[0], B.shape[0])
    with np.errstate(all="ignore"):
        K, (_, left), (_, right) = evaluate(spec, A, B)
        K = K if np.shape(K) == shape else np.broadcast_to(K, shape)
        e, f = (
            np.broadcast_to(raised(np.sqrt(s)), n)
            for s, n in zip((left, right), shape, strict=True)
        )
    if not (np.isfinite(e).all() and np.isfinite(f).all()):
        raise Objection("not finite")
    return K, e, f


def diagonal(spec: Any, A: Any) -> FloatArray:
    """Compute upper bounds of k(a, a); of |k(a, a)| where k is not known to be positive."""
    with np.errstate(all="ignore"):
        found = np.array(np.broadcast_to(evaluate(spec, A).left[0], A.shape[0]))
    if not np.isfinite(found).all():
        raise Objection("not finite")
    return found


def positive(spec: Any) -> bool:
    """Tell whether the formula makes all Gram matrices positive semi-definite; refuse others."""
    match spec:
        case ("linear",):
            return True
        case ("precomputed",):  # the rows are those of the Gram matrix: no part of a formula
            return False
        case ("rbf", g, sigma) if isinstance(g, float) and isinstance(sigma, float):
            if 0.0 < g < math.inf and 0.0 < sigma < math.inf:  # exp(−γ‖x − x′‖²/σ²)
                return True
        case (str(name), *_) if name in OTHERS:
            return OTHERS[name][0](spec)
    raise Objection("kernel")


def evaluate(spec: Any, A: Any, B: Any = None) -> Entries:
    """Compute k of each row of A with each of B, or with itself if there is no B."""
    match spec:
        case ("linear",):
            return linear(A, B)
        case ("rbf", g, sigma):
            return falling(A, B, math.sqrt(g) / sigma)
        case (str(name), *_) if name in OTHERS:
            return OTHERS[name][1](spec, A, B)
    raise Objection("kernel")


def linear(A: Any, B: Any) -> Entries:
    """Compute A·Bᵀ, which is off by γ‖a‖‖b‖, and by what underflows."""
    squares, left = squared_lengths(A)
    if B is None:
        return Entries(squares, left, left)
    K = A @ B.T
    return Entries(K.toarray() if hasattr(K, "toarray") else K, left, squared_lengths(B)[1])


def squared_lengths(A: Any) -> tuple[FloatArray, Side]:
    """Compute ‖a‖² as computed, and its bounds, which are zero for a row of zeros."""
    squares, width = _row_squares(A), A.shape[1]
    if hasattr(A, "multiply"):
        width = int(np.diff(A.indptr).max(initial=0))
    nothing = squares == 0.0
    nothing[nothing] = np.asarray((A[nothing] != 0).sum(axis=1)).ravel() == 0
    off, lost = gamma(width + 2), np.where(nothing, 0.0, (width + 1) * TINY)
    m = raised(squares * (1.0 + off) + lost)
    return squares, (m, raised(off * m + lost))


def _row_squares(A: Any) -> FloatArray:
    if hasattr(A, "multiply"):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A))


def falling(A: Any, B: Any, scale: float, off: float = 0.0) -> Entries:
    """Compute exp(−scale²‖a − b‖²), each of the rows being off by `off` at most.

    Seen from a centre c, u = (a − c)·scale has a relative error of 6u in each entry, and so the
    exponent ‖u‖² + ‖v‖² − 2u·v one of γ₂ₖ₊₂₀·S², S = ‖u‖ + ‖v‖, for k columns. Since the kernel is
    at most exp(−(‖u‖ − ‖v‖)²), and S² = (‖u‖ − ‖v‖)² + 4‖u‖‖v‖, it is off by γ(1.1 + 5‖u‖‖v‖).
    That takes S²γ ≤ ¼. Pairs of longer rows are computed from their differences: the exponent t
    then has a relative error, and t·exp(−t) ≤ 0.37. Of exp(−r²) the slope is at most 0.86.
    """
    if B is None:
        return Entries(np.ones(A.shape[0]), (1.0, 0.0), (1.0, 0.0))
    if not TINY < scale < 1.0 / TINY:
        raise Objection("not finite")
    sparse = hasattr(A, "multiply") or hasattr(B, "multiply")
    centre = 0.0 if sparse else B.sum(axis=0) / max(1, len(B))
    a, b = (A * scale, B * scale) if sparse else ((A - centre) * scale, (B - centre) * scale)
    p, q = _row_squares(a), _row_squares(b)
    if sparse:
        K = 2.0 * a @ b.T
        K = K.toarray() if hasattr(K, "toarray") else K
        K -= p[:, None]
        K -= q
    else:
        K = _beside(2.0 * a, -p, 1.0) @ _beside(b, 1.0, -q).T
    bound = gamma(2 * a.shape[1] + 20)
    if not p.max(initial=0.0) + q.max(initial=0.0) <= SAFE:
        size = p[:, None] + q
        far = -K - 2.02 * bound * size >= FAR
        i, j = np.nonzero(~far & ~(size <= SAFE))
        K[far] = -math.inf
        K[i, j] = -_squared_distances(A, B, i, j, scale)
    np.exp(K, out=K)
    errors = [raised(bound * (1.1 + 5.0 * np.minimum(s, SAFE)) + 1.8 * off) for s in (p, q)]
    return Entries(K, (1.0, errors[0]), (1.0, errors[1]))


def _beside(A: FloatArray, *columns: Any) -> FloatArray:
    """Return a with more columns, each a number or one for each row."""
    wide = np.empty((A.shape[0], A.shape[1] + len(columns)))
    wide[:, : A.shape[1]] = A
    for k, column in enumerate(columns, start=A.shape[1]):
        wide[:, k] = column
    return wide


def _squared_distances(A: Any, B: Any, i: Any, j: Any, scale: float) -> FloatArray:
    out, step = np.empty(len(i)), max(1, SOME // max(1, A.shape[1]))
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        apart = A[i[some]] - B[j[some]]
        if not math.isfinite(apart.sum()):
            raise Objection("not finite")
        out[some] = _row_squares(apart * scale)
    return out


def raised(x: Any) -> Any:
    """Return a number above what x ≥ 0 stands for after a few operations; zero stays zero."""
    return x * (1.0 + 64 * U)
