"""Kernels from their formulas, each value with a proved bound of its rounding.

A kernel is plain data, a tuple that begins with its name, such as ("rbf", γ, σ) or
("sum", ("linear",), ("constant", 1.0)); `positive` lists them all. Rows are arrays in double
precision, or CSR matrices, of which only `@`, `*`, `multiply`, `indptr` and `toarray` are used.

`Entries` holds computed values K and, for each row on either side, two numbers: m, so that
|k| ≤ √(mᵢnⱼ), and e, so that |K − k| ≤ √(eᵢfⱼ). By Cauchy and Schwarz the bounds of a sum are then
sums and those of a product are products, row by row: no pair has an error of its own to keep.
Assumed: exp within 4 units in the last place; √ and the four operations rounded to nearest; a
product of matrices adds up its terms in any order, and no fast multiplication (Strassen) is used.
"""

from __future__ import annotations

import math
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


def block(spec: Any, A: Any, B: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """K, e and f with |K − k(a, b)| ≤ eᵢ·fⱼ for each row a of A and b of B.

    A value that is not finite bounds nothing: who multiplies by K refuses the product.
    """
    shape = (A.shape[0], B.shape[0])
    with np.errstate(all="ignore"):
        K, (_, left), (_, right) = evaluate(spec, A, B)
        K = K if np.shape(K) == shape else np.broadcast_to(K, shape)
        e, f = (
            np.broadcast_to(_up(np.sqrt(s)), n) for s, n in zip((left, right), shape, strict=True)
        )
    if not (np.isfinite(e).all() and np.isfinite(f).all()):
        raise Objection("not finite")
    return K, e, f


def diagonal(spec: Any, A: Any) -> FloatArray:
    """Upper bounds of k(a, a); of |k(a, a)| where k is not known to be positive."""
    with np.errstate(all="ignore"):
        found = np.array(np.broadcast_to(evaluate(spec, A).left[0], A.shape[0]))
    if not np.isfinite(found).all():
        raise Objection("not finite")
    return found


def positive(spec: Any) -> bool:
    """Whether the formula makes every Gram matrix positive semi-definite; refuses what is none."""
    match spec:
        case ("linear",):
            return True
        case ("precomputed",):  # the rows are those of the Gram matrix: no part of a formula
            return False
        case ("custom", function) if callable(function):  # of two blocks of rows: on trust
            return False
        case ("features", phi) if callable(phi):  # φ(x)·φ(x′), φ of a block of rows: on trust
            return True
        case ("constant", c) if isinstance(c, float) and 0.0 <= c < math.inf:
            return True
        case ("rbf", g, sigma) if isinstance(g, float) and isinstance(sigma, float):
            if 0.0 < g < math.inf and 0.0 < sigma < math.inf:  # exp(−γ‖x − x′‖²/σ²)
                return True
        case ("gaussian", W) if isinstance(W, np.ndarray) and W.dtype == np.float64:
            if W.ndim == 2 and np.isfinite(W).all():  # exp(−½‖W(x − x′)‖²)
                return True
        case ("power", k, int(p)) if p >= 1:
            return positive(k)
        case ("exp" | "normalized", k):
            return positive(k)
        case ("columns", k, tuple(j)) if j and all(isinstance(i, int) and i >= 0 for i in j):
            return positive(k)
        case ("sum" | "product", *parts) if parts:
            found = [positive(k) for k in parts]  # each of them is looked at
            return all(found)
    raise Objection("kernel")


def evaluate(spec: Any, A: Any, B: Any = None) -> Entries:
    """k of each row of A with each of B, or with itself if there is no B."""
    match spec:
        case ("linear",):
            return _linear(A, B)
        case ("features", phi):
            image = np.asarray(phi(A), dtype=np.float64)
            return _linear(image, None if B is None else np.asarray(phi(B), dtype=np.float64))
        case ("custom", function):
            return _custom(function, A, B)
        case ("constant", c):
            return Entries(c, (c, 0.0), (c, 0.0))
        case ("rbf" | "gaussian", *_) if B is None:
            return Entries(np.ones(A.shape[0]), (1.0, 0.0), (1.0, 0.0))
        case ("rbf", g, sigma):
            return _falling(A, B, math.sqrt(g) / sigma, 0.0)
        case ("gaussian", W):
            A, B, off = _whitened(A, B, W)
            return _falling(A, B, math.sqrt(0.5), off)
        case ("sum", *parts):
            return _sum([evaluate(k, A, B) for k in parts])
        case ("product", first, *others):
            found = evaluate(first, A, B)
            for k in others:
                found = _product(found, evaluate(k, A, B))
            return found
        case ("power", k, p):
            return _power(evaluate(k, A, B), p)
        case ("exp", k):
            return _exp(evaluate(k, A, B))
        case ("normalized", k):
            if k == ("linear",):  # which does not depend on the lengths of the rows
                A, B = _levelled(A), None if B is None else _levelled(B)
            one = evaluate(k, A)
            if B is None:
                return _normalized(one, one, one)
            return _normalized(evaluate(k, A, B), one, evaluate(k, B))
        case ("columns", k, j) if max(j) < A.shape[1]:
            return evaluate(k, A[:, list(j)], None if B is None else B[:, list(j)])
    raise Objection("kernel")


def _linear(A: Any, B: Any) -> Entries:
    """A·Bᵀ is off by γ‖a‖‖b‖, and by what underflows."""
    squares, left = _squares(A)
    if B is None:
        return Entries(squares, left, left)
    K = A @ B.T
    return Entries(K.toarray() if hasattr(K, "toarray") else K, left, _squares(B)[1])


def _squares(A: Any) -> tuple[FloatArray, Side]:
    """‖a‖² as computed, and its bounds, which are zero for a row of zeros."""
    squares, width = _row_squares(A), A.shape[1]
    if hasattr(A, "multiply"):
        width = int(np.diff(A.indptr).max(initial=0))
    nothing = squares == 0.0
    nothing[nothing] = np.asarray((A[nothing] != 0).sum(axis=1)).ravel() == 0
    off, lost = gamma(width + 2), np.where(nothing, 0.0, (width + 1) * TINY)
    m = _up(squares * (1.0 + off) + lost)
    return squares, (m, _up(off * m + lost))


def _row_squares(A: Any) -> FloatArray:
    if hasattr(A, "multiply"):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A))


def _levelled(A: Any) -> Any:
    """Each row times a power of two, so that its largest entry is near one: no square overflows."""
    if not hasattr(A, "multiply"):
        return np.ldexp(A, -np.frexp(np.abs(A).max(axis=1, initial=0.0))[1][:, None])
    tops = np.frexp(np.asarray(abs(A).max(axis=1).toarray()).ravel())[1]
    A = A.copy()
    A.data = np.ldexp(A.data, -np.repeat(tops, np.diff(A.indptr)))
    return A


def _custom(function: Any, A: Any, B: Any) -> Entries:
    """The values of a function are taken as they come."""
    if B is None:
        parts = [A[i : i + 32] for i in range(0, A.shape[0], 32)]
        K = np.concatenate([np.diag(function(a, a)) for a in parts] or [np.zeros(0)])
        return Entries(K, (np.abs(K), 0.0), (np.abs(K), 0.0))
    K = np.array(function(A, B), dtype=np.float64)
    if K.shape != (A.shape[0], B.shape[0]):
        raise Objection("kernel")
    top = float(np.abs(K).max(initial=0.0))
    return Entries(K, (top, 0.0), (top, 0.0))


def _falling(A: Any, B: Any, scale: float, off: float) -> Entries:
    """exp(−scale²‖a − b‖²), each of the rows being off by `off` at most.

    Seen from a centre c, u = (a − c)·scale has a relative error of 6u in each entry, and so the
    exponent ‖u‖² + ‖v‖² − 2u·v one of γ₂ₖ₊₂₀·S², S = ‖u‖ + ‖v‖, for k columns. Since the kernel is
    at most exp(−(‖u‖ − ‖v‖)²), and S² = (‖u‖ − ‖v‖)² + 4‖u‖‖v‖, it is off by γ(1.1 + 5‖u‖‖v‖).
    That takes S²γ ≤ ¼. Pairs of longer rows are computed from their differences: the exponent t
    then has a relative error, and t·exp(−t) ≤ 0.37. Of exp(−r²) the slope is at most 0.86.
    """
    if not TINY < scale < 1.0 / TINY:
        raise Objection("not finite")
    sparse = hasattr(A, "multiply") or hasattr(B, "multiply")
    centre = 0.0 if sparse else B.sum(axis=0) / max(1, len(B))
    a, b = (A * scale, B * scale) if sparse else ((A - centre) * scale, (B - centre) * scale)
    p, q = _row_squares(a), _row_squares(b)
    if sparse:
        K = 2.0 * _linear(a, b).K - p[:, None] - q
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
    errors = [_up(bound * (1.1 + 5.0 * np.minimum(s, SAFE)) + 1.8 * off) for s in (p, q)]
    return Entries(K, (1.0, errors[0]), (1.0, errors[1]))


def _beside(A: FloatArray, *columns: Any) -> FloatArray:
    """A with more columns, each a number or one for each row."""
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


def _whitened(A: Any, B: Any, W: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """W(x − c) of both sides, and how far one of them may be off."""
    A, B = (rows.toarray() if hasattr(rows, "toarray") else rows for rows in (A, B))
    if A.shape[1] != W.shape[1]:
        raise Objection("kernel")
    A, B, off = A - (centre := B.sum(axis=0) / max(1, len(B))), B - centre, 0.0
    for rows in (A, B):
        longest = _squares(np.abs(rows) @ np.abs(W).T)[1][0].max(initial=0.0)
        off = max(off, _up(gamma(2 * A.shape[1] + 4) * math.sqrt(longest) + TINY))
    return A @ W.T, B @ W.T, off


def _sum(parts: list[Entries]) -> Entries:
    K = parts[0].K
    for part in parts[1:]:
        K = _into(np.add, K, part.K)
    sides = [part.left for part in parts], [part.right for part in parts]
    return Entries(K, side_of_sum(sides[0]), side_of_sum(sides[1]))


def side_of_sum(sides: list[Side]) -> Side:
    """m and e of a sum of kernels."""
    m, e = sum(m for m, _ in sides), sum(e for _, e in sides)
    return _up(m), _up(e + gamma(len(sides)) * (m + e))


def _product(one: Entries, other: Entries) -> Entries:
    K = one.K * other.K if one is other else _into(np.multiply, one.K, other.K)
    left, right = side_of_product(one.left, other.left), side_of_product(one.right, other.right)
    return Entries(K, left, right)


def side_of_product(a: Side, b: Side) -> Side:
    """m and e of a product of two kernels."""
    (m, e), (n, f) = a, b
    lost = np.where(np.greater(m, 0) & np.greater(n, 0), TINY, 0.0)
    return _up(m * n + lost), _up(m * f + e * n + e * f + 2 * U * m * n + lost)


def _power(base: Entries, p: int) -> Entries:
    if p == 1:
        return base
    half = _power(base, p // 2)
    square = _product(half, half)  # another array: `base` is needed once more
    return _product(square, base) if p % 2 else square


def _exp(inner: Entries) -> Entries:
    """exp(k) ≤ exp(mᵢ/2)·exp(nⱼ/2), since √(mn) is at most the mean of m and n."""
    most = math.sqrt(np.max(inner.left[1], initial=0.0) * np.max(inner.right[1], initial=0.0))
    one, two = side_of_exp(inner.left, most), side_of_exp(inner.right, most)
    return Entries(np.exp(inner.K, out=inner.K if np.ndim(inner.K) else None), one, two)


def side_of_exp(side: Side, most: float) -> Side:
    """m and e of exp(k), where no value of k is off by more than `most`."""
    m, e = side
    grown = _up(np.exp(_up(m)))
    return grown, _up(math.exp(most) * grown * (e + 10 * U))


def _normalized(whole: Entries, *own: Entries) -> Entries:
    """k/√(k(x, x)·k(x′, x′)), zero where φ is; k(x, x) must be known to two digits."""
    values = [np.where((one.K == 0) & (one.left[1] == 0), 1.0, one.K) for one in own]
    off = max(float(np.max(e.left[1] / v, initial=0.0)) for e, v in zip(own, values, strict=True))
    off = _up(off + 8 * U) if off <= 0.01 else math.inf
    sides = zip((whole.left, whole.right), values, strict=True)
    one, two = ((1.02 * m / v, 1.02 * (e + 1.1 * off * m) / v) for (m, e), v in sides)
    first, second = (np.atleast_1d(np.sqrt(v)) for v in values)
    first = first[:, None] if np.ndim(whole.K) == 2 else first
    return Entries(whole.K / first / second, one, two)


def _into(operation: Any, a: Any, b: Any) -> Any:
    """Into one of the two arrays: a new one costs more than the operation."""
    out = a if isinstance(a, np.ndarray) else b if isinstance(b, np.ndarray) else None
    return operation(a, b, out=out)


def _up(x: Any) -> Any:
    """Above what x ≥ 0 stands for after a few operations; zero stays zero."""
    return x * (1.0 + 64 * U)
