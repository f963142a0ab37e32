"""Kernels that are made of others: sums, products, powers, exp, normalized; and of functions.

Also the Gaussian kernel with a matrix, which is that of the rows that the matrix makes of rows.

`Entries` of the parts give those of the whole, row by row, as `gram.py` says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gram import raised as _up
from cotas.certificates.core.rounding import TINY, FloatArray, U, gamma

from cotas.certificates.core.gram import (  # isort: skip
    OTHERS, Entries, Side, evaluate, falling, linear, positive, squared_lengths,
)  # fmt: skip


def _positive(spec: Any) -> bool:
    """Tell whether the formula makes all Gram matrices positive semi-definite; refuse others."""
    match spec:
        case ("custom", function) if callable(function):  # of two blocks of rows: on trust
            return False
        case ("features", phi) if callable(phi):  # φ(x)·φ(x′), φ of a block of rows: on trust
            return True
        case ("gaussian", W) if isinstance(W, np.ndarray) and W.dtype == np.float64:
            if W.ndim == 2 and np.isfinite(W).all():  # exp(−½‖W(x − x′)‖²)
                return True
        case ("constant", c) if isinstance(c, float) and 0.0 <= c < math.inf:
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


def _evaluate(spec: Any, A: Any, B: Any = None) -> Entries:
    """Compute k of each row of A with each of B, or with itself if there is no B."""
    match spec:
        case ("features", phi):
            image = np.asarray(phi(A), dtype=np.float64)
            return linear(image, None if B is None else np.asarray(phi(B), dtype=np.float64))
        case ("custom", function):
            return _custom(function, A, B)
        case ("gaussian", W):
            return falling(A, None, 1.0) if B is None else falling(*_whitened(A, B, W))
        case ("constant", c):
            return Entries(c, (c, 0.0), (c, 0.0))
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


NAMES = (
    "custom", "features", "gaussian", "constant", "sum", "product", "power", "exp", "normalized",
    "columns",
)  # fmt: skip
OTHERS.update(dict.fromkeys(NAMES, (_positive, _evaluate)))


def _levelled(A: Any) -> Any:
    """Multiply each row by the power of two that brings its largest entry near one."""
    if not hasattr(A, "multiply"):
        return np.ldexp(A, -np.frexp(np.abs(A).max(axis=1, initial=0.0))[1][:, None])
    tops = np.frexp(np.asarray(abs(A).max(axis=1).toarray()).ravel())[1]
    A = A.copy()
    A.data = np.ldexp(A.data, -np.repeat(tops, np.diff(A.indptr)))
    return A


def _whitened(A: Any, B: Any, W: FloatArray) -> tuple[Any, Any, float, float]:
    """Compute W(x − c) of both sides, √½, and how far one of them may be off."""
    A, B = (rows.toarray() if hasattr(rows, "toarray") else rows for rows in (A, B))
    if A.shape[1] != W.shape[1]:
        raise Objection("kernel")
    A, B, off = A - (centre := B.sum(axis=0) / max(1, len(B))), B - centre, 0.0
    for rows in (A, B):
        longest = squared_lengths(np.abs(rows) @ np.abs(W).T)[1][0].max(initial=0.0)
        off = max(off, _up(gamma(2 * A.shape[1] + 4) * math.sqrt(longest) + TINY))
    return A @ W.T, B @ W.T, math.sqrt(0.5), off


def _custom(function: Any, A: Any, B: Any) -> Entries:
    """Take the values of a function as they come."""
    if B is None:
        parts = [A[i : i + 32] for i in range(0, A.shape[0], 32)]
        K = np.concatenate([np.diag(function(a, a)) for a in parts] or [np.zeros(0)])
        return Entries(K, (np.abs(K), 0.0), (np.abs(K), 0.0))
    K = np.array(function(A, B), dtype=np.float64)
    if K.shape != (A.shape[0], B.shape[0]):
        raise Objection("kernel")
    top = float(np.abs(K).max(initial=0.0))
    return Entries(K, (top, 0.0), (top, 0.0))


def _sum(parts: list[Entries]) -> Entries:
    K = parts[0].K
    for part in parts[1:]:
        K = _into(np.add, K, part.K)
    sides = [part.left for part in parts], [part.right for part in parts]
    return Entries(K, side_of_sum(sides[0]), side_of_sum(sides[1]))


def side_of_sum(sides: list[Side]) -> Side:
    """Compute m and e of a sum of kernels."""
    m, e = sum(m for m, _ in sides), sum(e for _, e in sides)
    rounded = gamma(len(sides))  # of a sum of values, and of these two sums
    return _up(m * (1.0 + rounded)), _up(e + 2 * rounded * (m + e))


def _product(one: Entries, other: Entries) -> Entries:
    K = one.K * other.K if one is other else _into(np.multiply, one.K, other.K)
    left, right = side_of_product(one.left, other.left), side_of_product(one.right, other.right)
    return Entries(K, left, right)


def side_of_product(a: Side, b: Side) -> Side:
    """Compute m and e of a product of two kernels."""
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
    """Compute exp(k) ≤ exp(mᵢ/2)·exp(nⱼ/2), since √(mn) is at most the mean of m and n."""
    most = math.sqrt(np.max(inner.left[1], initial=0.0) * np.max(inner.right[1], initial=0.0))
    one, two = side_of_exp(inner.left, most), side_of_exp(inner.right, most)
    return Entries(np.exp(inner.K, out=inner.K if np.ndim(inner.K) else None), one, two)


def side_of_exp(side: Side, most: float) -> Side:
    """Compute m and e of exp(k), where no value of k is off by more than `most`."""
    m, e = side
    grown = _up(np.exp(_up(m)))
    return grown, _up(np.exp(most) * grown * (e + 10 * U))


def _normalized(whole: Entries, *own: Entries) -> Entries:
    """Compute k/√(k(x, x)·k(x′, x′)), zero where φ is; k(x, x) must be known to two digits."""
    values = [np.where((one.K == 0) & (one.left[1] == 0), 1.0, one.K) for one in own]
    off = max(float(np.max(e.left[1] / v, initial=0.0)) for e, v in zip(own, values, strict=True))
    off = _up(off + 8 * U) if off <= 0.01 else math.inf
    sides = zip((whole.left, whole.right), values, strict=True)
    one, two = ((1.02 * m / v, 1.02 * (e + 1.1 * off * m) / v) for (m, e), v in sides)
    first, second = (np.atleast_1d(np.sqrt(v)) for v in values)
    first = first[:, None] if np.ndim(whole.K) == 2 else first
    return Entries(whole.K / first / second, one, two)


def _into(operation: Any, a: Any, b: Any) -> Any:
    """Write into one of the two arrays: a new one costs more than the operation."""
    out = a if isinstance(a, np.ndarray) else b if isinstance(b, np.ndarray) else None
    return operation(a, b, out=out)
