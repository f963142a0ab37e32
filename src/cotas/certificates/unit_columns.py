"""The data of document 001, chapter 2, for the checker: columns centred and of length one.

With weights wᵢ that sum to n, row i counts wᵢ times: it is multiplied by √wᵢ, and every product
below is a plain one. Columns that are constant have no length, and are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.moments import Moments, column_lengths, gather_moments
from cotas.certificates.sweep import EPS, Block, Sweep, Tally

# Up to so many rows or columns the eigenvalues of XᵀX are computed.
LARGEST_SPECTRUM = 3000


@dataclass(frozen=True)
class Spectrum:
    """What the theorems need of XᵀX and of the least-squares solutions.

    `smallest` is λ_pmin, the smallest eigenvalue that is not zero as far as rounding can tell;
    zero if it is not known. `fitted` is ‖Xβ_LS‖², or ‖y‖², which is no less, if not known.
    """

    smallest: float
    fitted: float
    known: bool
    vectors: FloatArray  # eigenvectors of XᵀX, or of XXᵀ if there are fewer rows
    values: FloatArray


class UnitColumns:
    """X and y as the theorems see them, without a copy of X."""

    def __init__(
        self,
        X: Matrix,
        y: AnyArray,
        weights: FloatArray | None,
        centred: bool,
        each: Each = map,
    ) -> None:
        self.each = each
        shares = None if weights is None else weights / weights.sum()
        self.X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        self.moments: Moments = gather_moments(self.X, y, shares, centred, each=each)
        self.rows, self.p = self.X.shape
        self.n = float(self.rows if weights is None else weights.sum())
        lengths = column_lengths(self.X, self.moments, each)
        self.roots = np.sqrt(self.n * self.moments.weights)
        self.varies = lengths > 0
        self.scale = np.where(self.varies, lengths * np.sqrt(self.n), 1.0)
        self.y = self.roots * self.moments.targets
        self.square = float(self.y @ self.y)
        self.by_gram = self.p <= self.rows and self.p <= LARGEST_SPECTRUM
        self.c0 = self.correlations(self.y)
        self.G = self._gram() if self.by_gram else np.zeros((0, 0))

    def columns(self, chosen: IntArray | slice) -> FloatArray:
        """Some columns, as an array of their own."""
        picked: Any = self.X[:, chosen]
        dense = picked.toarray() if sparse.issparse(picked) else np.asarray(picked)
        found = (dense.astype(np.float64) - self.moments.x_mean[chosen]) / self.scale[chosen]
        return np.asarray(self.roots[:, None] * found * self.varies[chosen])

    def correlations(self, residuals: FloatArray) -> FloatArray:
        """Xᵀr, for a vector or for each column of a matrix."""
        factors = (self.roots * residuals.T).T
        vector = factors.ndim == 1
        matrix = factors[:, None] if vector else factors
        sweep = Sweep(self.X, self.moments.targets, [0.0], np.zeros((self.p, 0)))

        def read(block: Block) -> Tally:
            return {"sum found": np.asarray(block.rows.T @ matrix[block.span])}

        found = sweep.tally(read, self.each)["sum found"]
        found = found - np.multiply.outer(self.moments.x_mean, matrix.sum(axis=0))
        found = found / self.scale[:, None] * self.varies[:, None]
        return np.asarray(found[:, 0] if vector else found)

    def spectrum(self) -> Spectrum:
        """The eigenvalues of XᵀX, through the smaller of XᵀX and XXᵀ."""
        if min(self.rows, self.p) > LARGEST_SPECTRUM:
            return Spectrum(0.0, self.square, False, np.zeros((0, 0)), np.zeros(0))
        values, vectors = np.linalg.eigh(self.G if self.by_gram else self._kernel())
        least = max(self.rows, self.p) * EPS * max(float(values[-1]), 0.0)
        used = values > least
        values, vectors = values[used], vectors[:, used]
        if len(values) == 0:
            return Spectrum(0.0, 0.0, True, vectors, values)
        along = vectors.T @ (self.c0 if self.by_gram else self.y)
        fitted = float((along**2 / values).sum() if self.by_gram else (along**2).sum())
        return Spectrum(float(values[0]), min(fitted, self.square), True, vectors, values)

    def distances(self, spectrum: Spectrum, states: FloatArray) -> FloatArray:
        """min ‖β − β_LS‖ over the least-squares solutions, for each state of a run.

        It is ‖X⁺r‖, X⁺ being the pseudo-inverse. A state is β by columns, or r by rows.
        """
        if not spectrum.known:
            return np.full(states.shape[1], np.nan)
        if self.by_gram:
            rest = self.c0[:, None] - self.G @ states
            along = (spectrum.vectors.T @ rest) / spectrum.values[:, None]
        else:
            along = (spectrum.vectors.T @ states) / np.sqrt(spectrum.values)[:, None]
        return np.asarray(np.sqrt((along**2).sum(axis=0)))

    def _gram(self) -> FloatArray:
        sweep = Sweep(self.X, self.moments.targets, [0.0], np.zeros((self.p, 0)))
        mean = self.moments.x_mean

        def read(block: Block) -> Tally:
            roots = self.roots[block.span][:, None]
            if sparse.issparse(block.rows):
                weighted = block.rows.multiply(roots).tocsr()
                return {"sum gram": (weighted.T @ weighted).toarray()}
            centred = (block.rows - mean) * roots
            return {"sum gram": centred.T @ centred}

        found = sweep.tally(read, self.each)["sum gram"]
        if sparse.issparse(self.X):
            found = found - self.n * np.multiply.outer(mean, mean)
        inverse = self.varies / self.scale
        return np.asarray(found * np.multiply.outer(inverse, inverse))

    def _kernel(self) -> FloatArray:
        """XXᵀ, by blocks of columns."""
        found = np.zeros((self.rows, self.rows))
        width = max(1, (1 << 22) // (8 * self.rows))
        for start in range(0, self.p, width):
            part = self.columns(slice(start, start + width))
            found += part @ part.T
        return found
