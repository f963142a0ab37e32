"""The Gram matrix K of some rows, in blocks that are never kept; the duality gap in feature space.

    θ = Σ βᵢ φ(xᵢ),    θ·φ(xᵢ) = (Kβ)ᵢ,    ‖θ‖² = βᵀKβ

Both bounds follow from the products of K with β and with the dual point c. A block is off by eᵢfⱼ
(`kernels.py`), and a sum of k products by γₖ Σ|Kᵢⱼwⱼ|, where |Kᵢⱼ| ≤ √k(xᵢ, xᵢ)·√k(xⱼ, xⱼ).

Weak duality needs a positive semi-definite K. Where no formula shows that, the claim is about
K + εI, with the ε of `definite.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core import choices, gap, kernels
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import L2

from cotas.certificates.core.rounding import (  # isort: skip
    TINY, FloatArray, U, above, gamma, total, up,
)  # fmt: skip

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
BLOCK = 512
CHUNK = 64  # products of a partial sum: few enough for a small γ, many enough for speed
ROUNDINGS = CHUNK + BLOCK // CHUNK + 4  # of a product of one block with a vector
# KW of formulas that need no K, or nothing: `lines.py` adds that of the linear kernel.
SHORTER: dict[str, Callable[[Any, FloatArray, Any], tuple[FloatArray, FloatArray] | None]] = {}
WORTH_FILLING = {"narrow": 48, "wide": 6, "other": 24}  # zeros for each entry that is not
NARROW = 1024  # columns: of so many a block of filled rows stays in the cache


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
        self.positive, self.n = kernels.positive(spec), int(X.shape[0])
        if spec == ("precomputed",):
            if X.shape[0] != X.shape[1]:
                raise Objection("square")
            self.squares = np.abs(np.asarray(X.diagonal(), dtype=np.float64))
        else:
            pieces = pieces_of(np.arange(self.n), 4 * BLOCK)
            found = each(lambda rows: kernels.diagonal(spec, self.read(rows)), pieces)
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
            return kernels.block(self.spec, A, B)
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
    claim: gap.Claim, gram: Gram, w: gap.Weights, values: FloatArray, off: FloatArray
) -> tuple[Bounds, Length]:
    """Return both bounds of one model, and its ‖θ‖²; values ± off are K times β and times c."""
    beta, c, lam = claim.theta, claim.c, claim.risk.regularizer.lam
    theta, pull = (gram.length(a, values[:, k], off[:, k]) for k, a in enumerate((beta, c)))
    claim, z, off = claim._replace(theta=theta), values[:, 0] + claim.bias, off[:, 0]
    value = gap.upper(claim, w, z, off)  # which counts the rounding of z
    best, t, rounding = gap.lower(claim, gram, w, pull, value)
    rounding += lam * theta.off + pull.off * (t / w.low) * (t / w.low) / lam
    charge = choices.charge(rounding + choices.felt(claim, w, z, off), best, value)
    return Bounds.proved(best, value, charge), theta
