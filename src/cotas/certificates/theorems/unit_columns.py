"""The data of Rugeles Ospina, chapter 2, for the checker: columns centred and of length one.

Row i counts wᵢ times, n = Σwᵢ. Each column is first shifted by a number t that is representable,
D = x − t, which changes nothing that is centred: with δ = ΣwD/n,

    C = ΣwDDᵀ − nδδᵀ,   σⱼ² = Cⱼⱼ,   XᵀX = C/σσᵀ.

With a the operations of a sum over the rows and ρ² the largest ΣwDⱼ²/σⱼ², an entry of C is off by
4γₐρ²σᵢσⱼ and one of XᵀX by 8γₐρ². `off` is more than twice that, with one ρ more for what D makes
of an error in r. `docs/theory/stagewise.md` has the proof. Columns that are constant, which is to
say that all entries are equal, have no length, and are zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.core.rounding import (
    above,
    dot,
    gamma,
    is_definite,
    norm_up,
    total,
    total_up,
    up,
)
from cotas.certificates.sweep import as_rows, sketches_of, targets_of

# Up to so many rows or columns λ_pmin is bounded.
LARGEST_SPECTRUM = 3000
# Rows of a block, few for short sums; entries up to which sparse rows are made dense and shifted.
ROWS, DENSE = 256, 1e7
# Squares below this, or above its inverse, lose digits by underflow.
SMALLEST = 2.0**-900
TOO_FLAT = "A column, or y, is too close to constant, too large or too small for double precision."


class UnitColumns:
    """X and y as the theorems see them, without a copy of X; `objection` if they cannot be told."""

    def __init__(
        self, X: Matrix, y: AnyArray, weights: Any, centred: bool, each: Each = map
    ) -> None:
        self.X, self.each, targets = as_rows(X), each, targets_of(X.shape[0], y, [None])
        self.sketch, y = sketches_of(self.X, targets, each)[0], targets[:, 0]
        self.w = np.ones(len(y)) if weights is None else np.array(weights, dtype=np.float64)
        if self.w.shape != y.shape or not (np.isfinite(self.w) & (self.w >= 0)).all():
            raise ValueError("The weights are not one finite number, zero or more, for each row.")
        if not self.w.all():
            self.X, y, self.w = self.X[self.w > 0], y[self.w > 0], self.w[self.w > 0]
        self.rows, self.p = self.X.shape
        self.n = math.fsum(self.w)
        if not 0.0 < self.n < math.inf:
            raise ValueError("The weights of the rows sum to nothing, or to too much.")
        with np.errstate(all="ignore"):
            self._measure(y, centred)

    def _measure(self, y: FloatArray, centred: bool) -> None:
        self.shift, flat = self._shifts(centred)
        y_shift = float(np.mean(y) if y.min() < y.max() else y[0]) if centred else 0.0
        y, self.centred = y - y_shift, centred
        factors = self.w[:, None] * np.column_stack([np.ones(self.rows), y])

        def read(span: slice, D: Matrix) -> FloatArray:
            squares = D.multiply(D) if sparse.issparse(D) else D * D
            return np.column_stack([D.T @ factors[span], squares.T @ self.w[span]])

        sums, across, squares = self._sum(read).T
        delta = sums / self.n * centred
        y_delta = total(factors[:, 1])[0] / self.n * centred
        length, y_square = squares - self.n * delta**2, total(factors[:, 1] * y)[0]
        self.square = y_square - self.n * y_delta**2 if y.any() else 0.0
        self.varies = ~flat
        self.scale = np.sqrt(np.where(flat, 1.0, length))
        self.mean = (self.shift, delta, y_shift, y_delta)
        self.y = y - y_delta
        self.c0 = np.where(flat, 0.0, across - self.n * delta * y_delta) / self.scale
        told = np.append(length[self.varies], self.square if y.any() else 1.0)
        ratio = np.append(squares[self.varies], y_square if y.any() else 1.0) / told
        operations = ROWS + self.rows // ROWS + 9
        spread = 1.01 * float(ratio.max())
        self.rho = up(math.sqrt(spread)) if spread > 0 else math.nan
        self.off = above(gamma(16 * operations + 2 * self.p) * spread * self.rho, 4)
        sound = self.off < 1e-3 and ((told > SMALLEST) & (told < 1.0 / SMALLEST)).all()
        self.objection = "" if sound and np.isfinite(self.c0).all() else TOO_FLAT
        self.by_gram = self.p <= min(self.rows, LARGEST_SPECTRUM)
        self.G = self._gram(delta) if self.by_gram else np.zeros((0, 0))
        self.length = above(math.sqrt(max(0.0, self.square * (1 + self.off))), 4)  # ‖y‖

    def _shifts(self, centred: bool) -> tuple[FloatArray, AnyArray]:
        """t, and which columns are constant, or zero where nothing is centred."""
        self.sparse = sparse.issparse(self.X) and self.rows * self.p > DENSE
        low, high = (np.asarray(end.todense()).ravel() if sparse.issparse(end) else end
                     for end in (self.X.min(axis=0), self.X.max(axis=0)))  # fmt: skip
        flat = (low == high) & (centred or low == 0)
        mean = np.asarray(self.X.mean(axis=0, dtype=np.float64)).ravel()
        # A sparse column can be shifted if it has no zeros: then every entry is stored.
        shifted = centred & (((low > 0) | (high < 0)) | (not self.sparse))
        return np.where(shifted, np.where(flat, low, mean), 0.0), flat

    def _sum(self, read: Callable[[slice, Matrix], FloatArray]) -> FloatArray:
        """Σ over the blocks of rows of what `read` finds in D."""
        spans = [slice(a, min(a + ROWS, self.rows)) for a in range(0, self.rows, ROWS)]
        return np.asarray(sum(self.each(lambda span: read(span, self._shifted(span)), spans)))

    def _shifted(self, span: slice) -> Matrix:
        rows = self.X[span].astype(np.float64)
        if self.sparse:
            rows.data = rows.data - self.shift[rows.indices]
            return rows
        return (rows.toarray() if sparse.issparse(rows) else rows) - self.shift

    def _gram(self, delta: FloatArray) -> FloatArray:
        def read(span: slice, D: Matrix) -> FloatArray:
            w = self.w[span][:, None]
            product = D.T @ D.multiply(w) if sparse.issparse(D) else D.T @ (D * w)
            return np.asarray(product.toarray() if sparse.issparse(product) else product)

        inverse = self.varies / self.scale
        found = (self._sum(read) - self.n * np.outer(delta, delta)) * np.outer(inverse, inverse)
        np.fill_diagonal(found, self.varies)
        return np.asarray(found)

    def columns(self, chosen: IntArray | slice) -> FloatArray:
        """Some columns, as an array of their own."""
        picked: Any = self.X[:, chosen]
        dense = picked.toarray() if sparse.issparse(picked) else np.asarray(picked)
        shift, delta = self.mean[0][chosen], self.mean[1][chosen]
        found = (dense.astype(np.float64) - shift - delta) / self.scale[chosen]
        return np.asarray(found * self.varies[chosen])

    def correlations(self, states: FloatArray) -> FloatArray:
        """Xᵀr for each state of a run: β where XᵀX is at hand, and r where it is not."""
        if self.by_gram:
            return self.c0[:, None] - self.G @ states
        found = self._sum(lambda span, D: D.T @ (self.w[span][:, None] * states[span]))
        return np.asarray(found * (self.varies / self.scale)[:, None])

    def curvature(self) -> tuple[float, float]:
        """μ ≤ λ_pmin(XᵀX) and F ≥ ‖Xβ_LS‖².

        A, which a Cholesky factorization proves definite, is XᵀX − (μ + error)I for columns that
        are independent. For more columns than rows it is XXᵀ less the same: there √w is in
        the null space of the centred columns, and is added, so as to leave λ_pmin as it is.
        μ is zero where that does not run through: nothing is then known of λ_pmin.
        """
        used, most = np.flatnonzero(self.varies), above(self.square * (1 + self.off), 4)
        if self.objection or not 0 < min(self.rows, len(used)) <= LARGEST_SPECTRUM:
            return 0.0, most * bool(len(used))
        A = self.G[np.ix_(used, used)] if self.by_gram else self._kernel()
        values, vectors = np.linalg.eigh(A)
        error = above((self.p + 1) * (3 * self.off + gamma(2 * len(A) + 8)), 4)
        mu = _shortened(float(values[0]) - 4 * error)
        if mu <= 0.0 or not is_definite(A - up(mu + error) * np.eye(len(A))):
            return 0.0, most
        if not self.by_gram:
            return mu, most
        beta = np.zeros(self.p)
        beta[used] = vectors @ ((vectors.T @ self.c0[used]) / values)
        return mu, min(most, self._fitted(beta, mu))

    def _fitted(self, beta: FloatArray, mu: float) -> float:
        """‖Xβ_LS‖² = (‖y‖² − ‖r‖²) + ‖X(β − β_LS)‖² ≤ β·(c⁰ + c) + ‖c‖²/μ, rounded up."""
        c = self.correlations(beta[:, None])[:, 0]
        size = total_up(np.abs(beta))
        error = above(self.off * (self.length + size), 4)
        drop = total_up(beta * (self.c0 + c)) + above(4 * error * size, 4)
        return total_up([drop, above((norm_up(c) + error * math.sqrt(self.p)) ** 2 / mu, 8)])

    def _kernel(self) -> FloatArray:
        """XXᵀ, by blocks of columns, and what makes it regular where the columns are centred."""
        roots = np.sqrt(self.w)[:, None]
        found = roots @ roots.T * (self.centred / self.n)
        width = max(1, (1 << 22) // (8 * self.rows))
        for start in range(0, self.p, width):
            part = roots * self.columns(slice(start, start + width))
            found += part @ part.T
        return found

    def apart(self, beta: FloatArray, coef: FloatArray, intercept: float) -> tuple[float, float]:
        """How far at most the predictions of a model are from those of β, and what to compare.

        Columns have length one, so it is Σ|σⱼcoefⱼ − βⱼ| and √n times the difference of the bias.
        """
        shift, delta, y_shift, y_delta = self.mean
        moved = np.abs(np.where(self.varies, coef * self.scale - beta, 0.0))
        size = above(total_up(np.abs(beta)) + total_up(moved), 4)
        bias, off = dot(coef, shift, [intercept, -y_shift, -y_delta])
        far = total_up([abs(bias + float(coef @ delta)), off])
        root = math.sqrt(self.n)
        # σ and δ are off by less than `off` says, and so is the sum of coefⱼδⱼ.
        error = 4 * self.off * (size + self.length) + 8 * gamma(self.p + 8) * root * far
        whole = size + self.length + root * float(np.abs(coef) @ np.abs(shift) + abs(y_shift))
        whole += math.sqrt(SMALLEST)
        return above(total_up(moved) + root * far + error, 16), whole


def _shortened(x: float) -> float:
    """x to 24 digits of its binary form, rounded down: the same on every machine, nearly always."""
    part, exponent = math.frexp(max(x, 0.0))
    return math.ldexp(math.floor(part * 2**24), exponent - 24)
