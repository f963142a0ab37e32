"""Kernels from their formulas, the Gram matrix K of some rows, and the gap in feature space.

A kernel is plain data, a tuple that begins with its name, such as ("rbf", γ, σ). `composites.py`
has those that are made of others, such as ("sum", ("linear",), ("constant", 1.0)). Rows are arrays
in double precision, or CSR matrices: only `@`, `*`, `multiply`, `indptr` and `toarray` are used.

`Entries` holds computed values K and, for each row on either side, two numbers: m, so that
|k| ≤ √(mᵢnⱼ), and e, so that |K − k| ≤ √(eᵢfⱼ). By Cauchy and Schwarz the bounds of a sum are then
sums and those of a product are products, row by row: no pair has an error of its own to keep.
Assumed: exp within 4 units in the last place; √ and the four operations rounded to nearest; a
product of matrices adds up its terms in any order, and no fast multiplication (Strassen) is used.

    θ = Σ βᵢ φ(xᵢ),    θ·φ(xᵢ) = (Kβ)ᵢ,    ‖θ‖² = βᵀKβ

Both bounds follow from the products of K, in blocks that are never kept, with β and with the dual
point c. A sum of k products is off by γₖ Σ|Kᵢⱼwⱼ|, where |Kᵢⱼ| ≤ √k(xᵢ, xᵢ)·√k(xⱼ, xⱼ).

Weak duality needs a positive semi-definite K. Where no formula shows that, the claim is about
K + εI, with the ε of `definite.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core import choices
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import L2, Claim, Weights, lower, upper

from cotas.certificates.core.rounding import (  # isort: skip
    TINY, FloatArray, U, above, gamma, total, up,
)  # fmt: skip

Side = tuple[Any, Any]  # m and e, each an array with a number for each row, or one for all
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
SAFE = 512.0  # up to here ‖a‖² + ‖b‖² − 2a·b is accurate enough to be an exponent
FAR = 40.0  # exp(−40) is less than u
SOME = 1 << 19  # numbers in the differences of rows that are kept at a time
BLOCK = 512
CHUNK = 64  # products of a partial sum: few enough for a small γ, many enough for speed
ROUNDINGS = CHUNK + BLOCK // CHUNK + 4  # of a product of one block with a vector
# KW of formulas that need no K, or nothing: `lines.py` adds that of the linear kernel.
SHORTER: dict[str, Callable[[Any, FloatArray, Any], tuple[FloatArray, FloatArray] | None]] = {}
WORTH_FILLING = {"narrow": 48, "wide": 6, "other": 24}  # zeros for each entry that is not
NARROW = 1024  # columns: of so many a block of filled rows stays in the cache


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
    zero_rows = squares == 0.0
    zero_rows[zero_rows] = np.asarray((A[zero_rows] != 0).sum(axis=1)).ravel() == 0
    off, lost = gamma(width + 2), np.where(zero_rows, 0.0, (width + 1) * TINY)
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


# ---- K of all rows -------------------------------------------------------------------------------


class Length(NamedTuple):
    """A squared length ‖θ‖² = square ± off, which is all that is known of a θ in feature space."""

    square: float
    off: float

    @property
    def most(self) -> float:
        """Compute ‖θ‖², rounded up."""
        return up(max(0.0, self.square) + self.off)


class SquaredLength(L2):
    """The regularizer (λ/2)‖θ‖² in feature space, of which θ and u are known by their `Length`."""

    def refuse(self, theta: Any) -> None:
        """Refuse nothing: every θ is a point of the problem."""

    def value(self, theta: Any) -> float:
        return above(0.5 * self.lam * theta.most, 2)

    def conjugate(self, pull: Any, t: float, share: float) -> float:
        factor = above(t * share, 1)
        return above(above(factor * factor) * pull.most / (2.0 * self.lam), 3)


class Gram:
    """The Gram matrix K of the rows of X, by its formula, or as it is given.

    Attributes
    ----------
    positive : whether the formula makes it positive semi-definite, and so symmetric
    squares : upper bounds of k(x, x), of |k(x, x)| where it may be negative
    shift : ε, which is added to the diagonal
    """

    def __init__(self, spec: Any, X: Any, each: Each = map, shift: float = 0.0) -> None:
        self.spec, self.X, self.each, self.shift = spec, X, each, shift
        self.positive, self.n = positive(spec), int(X.shape[0])
        if spec == ("precomputed",):
            if X.shape[0] != X.shape[1]:
                raise Objection("square")
            self.squares = np.abs(np.asarray(X.diagonal(), dtype=np.float64))
        else:
            pieces = pieces_of(np.arange(self.n), 4 * BLOCK)
            found = each(lambda rows: diagonal(spec, self.read(rows)), pieces)
            self.squares = np.concatenate([np.zeros(0), *found])
        self.squares = (self.squares + shift) * (1.0 + 4 * U)

    def read(self, rows: Any, side: str = "right") -> Any:
        """Return some rows in double precision; those that are not very sparse as an array."""
        A, wide = self.X[rows], side == "left" or self.X.shape[1] > NARROW
        most = WORTH_FILLING["other" if self.spec[0] != "rbf" else "wide" if wide else "narrow"]
        if hasattr(A, "toarray") and A.shape[0] * A.shape[1] <= most * A.nnz:
            A = A.toarray()
        return A.astype(np.float64, copy=False)

    def block(self, A: Any, B: Any, columns: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute K of rows A and B, the latter being those with the numbers `columns`."""
        if self.spec != ("precomputed",):
            return block(self.spec, A, B)
        K = A[:, columns]
        K = K.toarray() if hasattr(K, "toarray") else K
        if not np.isfinite(K).all():
            raise Objection("not finite")
        return K, np.zeros(len(K)), np.zeros(len(columns))

    def times(self, W: FloatArray, wanted: Any) -> tuple[FloatArray, FloatArray]:
        """Compute KW, for the rows wanted and the nonzero rows of W, and how far it may be off.

        A formula makes K symmetric: the rows of W that are not zero are then compared with each
        other once, and a block serves for itself and for its transpose.
        """
        support = np.asarray(W.any(axis=1))
        if self.spec[0] in SHORTER and (found := SHORTER[self.spec[0]](self, W, wanted | support)):
            return found
        basis = pieces_of(support.nonzero()[0], BLOCK)
        parts = [self.read(columns) for columns in basis]

        def product(K: FloatArray, e: FloatArray, f: FloatArray, w: FloatArray) -> Any:
            error = e[:, None] * (f @ np.abs(w))
            if not self.positive:  # the diagonal says nothing of the other entries
                error += roundings * (np.abs(K) @ np.abs(w))
            return chunked_times(K, w), error

        def with_all(rows: Any) -> list[Any]:
            A = self.read(rows, "left")
            pairs = zip(parts, basis, strict=True)
            return [(rows, *product(*self.block(A, B, j), W[j])) for B, j in pairs]

        def with_later(i: int) -> list[Any]:
            A = self.read(basis[i], "left")
            K, e, f = self.block(A, parts[i], basis[i])
            found = [(basis[i], *product(K, e, f, W[basis[i]]))]
            for B, j in zip(parts[i + 1 :], basis[i + 1 :], strict=True):
                K, e, f = self.block(A, B, j)
                found.append((basis[i], *product(K, e, f, W[j])))
                found.append((j, *product(K.T, f, e, W[basis[i]])))
            return found

        # Of a few rows all are compared at once, and not those of W with themselves before.
        once = self.positive and self.n > BLOCK
        rest = (wanted & ~support if once else wanted | support).nonzero()[0]
        # Blocks of BLOCK × BLOCK entries also where few rows have a factor.
        height = BLOCK if len(basis) != 1 else max(BLOCK, BLOCK * BLOCK // len(basis[0]))
        roundings = gamma(ROUNDINGS + len(basis))
        out, off = np.zeros_like(W), np.zeros_like(W)
        with np.errstate(over="ignore", invalid="ignore"):
            for sums in chain(
                self.each(with_later, range(len(basis)) if once else []),
                self.each(with_all, pieces_of(rest, height)),
            ):
                for rows, values, errors in sums:
                    out[rows] += values
                    off[rows] += errors
            sizes = np.sqrt(self.squares)
            mass = sizes @ np.abs(W) if self.positive else np.zeros(W.shape[1])
            off += roundings * (sizes[:, None] * mass) + self.n * TINY * np.abs(W).max()
            if self.shift:
                out += self.shift * W
                off += 4 * U * (np.abs(out) + self.shift * np.abs(W))
        if not (np.isfinite(out).all() and np.isfinite(off).all()):
            raise Objection("not finite")
        return out, off * (1.0 + 2.0 * gamma(self.n + len(basis) + 16))

    def length(self, a: FloatArray, Ka: FloatArray, off: FloatArray) -> Length:
        """Compute ‖Σ aᵢφ(xᵢ)‖² from the product Ka and how far that may be off."""
        with np.errstate(over="ignore"):
            terms = a * Ka
            value, error = total(terms)
            slack = float(np.add.reduce(np.abs(a) * off + (2 * U) * np.abs(terms)))
        return Length(value, above(error + above(slack, len(a)), 4) + self.n * TINY)


def pieces_of(rows: Any, size: int) -> list[Any]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def chunked_times(K: FloatArray, w: FloatArray) -> FloatArray:
    """Compute K·w in sums of `CHUNK` products, which keeps γ small."""
    whole = K.shape[1] - K.shape[1] % CHUNK
    chunks = K[:, :whole].reshape(len(K), whole // CHUNK, CHUNK).swapaxes(0, 1)
    sums = np.matmul(chunks, w[:whole].reshape(whole // CHUNK, CHUNK, w.shape[1])).sum(axis=0)
    return np.asarray(sums + K[:, whole:] @ w[whole:])


def bounds(
    claim: Claim, gram: Gram, w: Weights, values: FloatArray, off: FloatArray
) -> tuple[Bounds, Length]:
    """Return both bounds of one model, and its ‖θ‖²; values ± off are K times β and times c."""
    beta, c, lam = claim.theta, claim.c, claim.risk.regularizer.lam
    theta, pull = (gram.length(a, values[:, k], off[:, k]) for k, a in enumerate((beta, c)))
    claim, z, off = claim._replace(theta=theta), values[:, 0] + claim.bias, off[:, 0]
    value = upper(claim, w, z, off)  # which counts the rounding of z
    best, t, rounding = lower(claim, gram, w, pull, value)
    rounding += lam * theta.off + pull.off * (t / w.low) * (t / w.low) / lam
    charge = choices.charge(rounding + choices.felt(claim, w, z, off), best, value)
    return Bounds.proved(best, value, charge), theta
