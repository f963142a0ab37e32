"""X seen through means, scales and weights: x̃ᵢⱼ = (xᵢⱼ − mⱼ)/σⱼ with Σ sᵢ = 1, never formed.

The inner product of two columns is Σ sᵢ x̃ᵢⱼ x̃ᵢₖ. Sparse matrices stay sparse and dense ones are
not copied, except in blocks of a few megabytes.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from cotas.arrays import Each, FloatArray, IntArray, Matrix, Sparse
from cotas.design.blocks import row_block, row_spans, times, times_transposed

# Columns whose Gram matrix is formed in one go.
WIDEST_BLOCK = 512


class CentredColumns:
    """The columns of X, centred and scaled on the fly.

    Parameters
    ----------
    X : dense array, CSR or CSC matrix
    weights : sᵢ, which sum to one
    centre : whether the weighted means are subtracted
    scale : whether columns are divided by their length √Σ sᵢ(xᵢⱼ − mⱼ)²; a constant column is not
    each, threads : a map that may work in threads, and how many, for Gram matrices of dense columns
    """

    def __init__(
        self,
        X: Matrix,
        weights: FloatArray,
        centre: bool = True,
        scale: bool = False,
        each: Each = map,
        threads: int = 1,
    ) -> None:
        self.each, self.threads = each, threads
        if sparse.issparse(X):
            X = sparse.csc_matrix(X, dtype=np.float64)
            X.sum_duplicates()
        self.X, self.weights, self.centre = X, weights, centre
        self.n, self.p = X.shape
        self.mean = self._transposed(weights) if centre else np.zeros(self.p)
        self.scale = np.ones(self.p)
        self.constant = np.zeros(0, dtype=np.int64)
        self.standardize = scale
        if scale:
            self.scale = self.lengths()
            # Among those as short as rounding can make a column that does not vary.
            short = np.flatnonzero(self.scale <= self.rounding())
            self.constant = short[[self._is_constant(int(j)) for j in short]]
            self.scale[self.constant] = 1.0
            self.scale[self.scale == 0.0] = 1.0

    def _is_constant(self, j: int) -> bool:
        """Tell whether all entries of the rows with a weight are equal."""
        column = self.X[:, [j]]
        column = (column.toarray() if sparse.issparse(column) else column)[:, 0]
        used = column[self.weights > 0]
        return bool((used == used[0]).all())

    def rounding(self) -> FloatArray:
        """Bound how long rounding alone can make a column that is constant, and so zero once
        centred."""
        return np.asarray(self.n * 2.0**-52 * np.abs(self.mean))

    def centred(self, y: FloatArray) -> FloatArray:
        """Compute y less its weighted mean; zero if y is constant."""
        if not self.centre:
            return y
        used = y if self._even else y[self.weights > 0]
        if (used == used[0]).all():
            return np.zeros(self.n)
        once = y - self.weights @ y
        return np.asarray(once - self.weights @ once)

    def lengths(self) -> FloatArray:
        """Compute √Σ sᵢ x̃ᵢⱼ² of each column."""
        if sparse.issparse(self.X):
            total = self._sparse_squares(self.X)
        else:
            total = np.zeros(self.p)
            for span in row_spans(self.X):
                total += self.weights[span] @ (row_block(self.X, span) - self.mean) ** 2
        return np.asarray(np.sqrt(np.maximum(total, 0.0)) / self.scale)

    def _sparse_squares(self, X: Sparse) -> FloatArray:
        """Compute Σ sᵢ(xᵢⱼ − mⱼ)² over the stored entries, plus mⱼ² for the weight of the
        others."""
        column = np.repeat(np.arange(self.p), np.diff(X.indptr))
        weights = self.weights[X.indices]
        deviation = weights * (X.data - self.mean[column]) ** 2
        stored = np.bincount(column, weights, self.p)
        total = np.bincount(column, deviation, self.p)
        return np.asarray(total + np.maximum(1.0 - stored, 0.0) * self.mean**2)

    def correlations(self, residual: FloatArray) -> FloatArray:
        """Compute Σ sᵢ x̃ᵢⱼ rᵢ of each column; each column of a matrix of residuals on its own."""
        weighted = (self.weights * residual.T).T
        found = self._transposed(weighted)
        if self.centre:
            found -= np.multiply.outer(self.mean, np.add.reduce(weighted))
        return np.asarray((found.T / self.scale).T) if self.standardize else found

    def start(self, y: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Compute y centred, ⟨y, y⟩, and the correlations with y, zero where they are rounding."""
        target = self.centred(y)
        square = float(self.weights @ target**2)
        c = self.correlations(target)
        noise = self.rounding() / self.scale * np.sqrt(square)
        return target, square, np.where(np.abs(c) <= noise, 0.0, c)

    def combination(self, chosen: IntArray, beta: FloatArray) -> FloatArray:
        """Compute Σ x̃ⱼ βⱼ over the chosen columns."""
        factors = beta / self.scale[chosen]
        columns = self.X[:, chosen]
        return np.asarray(times(columns, factors) - self.mean[chosen] @ factors)

    def gram(self, some: IntArray, others: IntArray) -> FloatArray:
        """Compute Σ sᵢ x̃ᵢⱼ x̃ᵢₖ for j in `some` and k in `others`."""
        X = self.X
        spans = (some, others)
        found = self._sparse_gram(X, *spans) if sparse.issparse(X) else self._dense_gram(*spans)
        if self.standardize:
            found /= np.multiply.outer(self.scale[some], self.scale[others])
        return found

    def gram_with_all(self, some: IntArray) -> FloatArray:
        """Compute Σ sᵢ x̃ᵢⱼ x̃ᵢₖ for j in `some` and every k."""
        if sparse.issparse(self.X):
            return self.gram(some, np.arange(self.p))
        chosen = np.asarray(self.X[:, some], dtype=np.float64) - self.mean[some]
        chosen *= self.weights[:, None] / self.scale[some]
        # A few rows times X: the other way round BLAS is slower, and the answer lies by columns.
        double = self.X.dtype == np.float64
        found = np.asarray(chosen.T @ self.X if double else self._transposed(chosen).T)
        if self.centre:
            found -= np.multiply.outer(chosen.sum(axis=0), self.mean)
        found /= self.scale
        return found

    def _sparse_gram(self, X: Sparse, some: IntArray, others: IntArray) -> FloatArray:
        right = X[:, others]
        found = np.empty((len(some), len(others)))
        for start in range(0, len(some), WIDEST_BLOCK):
            part = some[start : start + WIDEST_BLOCK]
            left = X[:, part].multiply(self.weights[:, None]).tocsc()
            found[start : start + len(part)] = (left.T @ right).toarray()
        return found - np.multiply.outer(self.mean[some], self.mean[others])

    def _dense_gram(self, some: IntArray, others: IntArray) -> FloatArray:
        """Compute the Gram matrix centred block by block: large moments would cancel."""
        spans = row_spans(self.X, len(others))
        parts = [spans[k :: self.threads] for k in range(min(self.threads, len(spans)))]
        found = sum(self.each(lambda part: self._gram_of_rows(some, others, part), parts))
        return np.asarray(found * self.weights[0] if self._even else found)

    @cached_property
    def _even(self) -> bool:
        return bool((self.weights == self.weights[0]).all())

    def _gram_of_rows(self, some: IntArray, others: IntArray, spans: list[slice]) -> FloatArray:
        """Compute the Gram matrix of some rows; the weights, where they are all the same, are left
        out."""
        found = np.zeros((len(some), len(others)))
        whole, even = len(some) == len(others) == self.p, self._even
        for span in spans:
            rows = self.X[span]
            right = self._centred_block(rows, others, whole)
            if some is not others:
                left = self._centred_block(rows, some, whole)
                found += (left if even else left * self.weights[span][:, None]).T @ right
                continue
            if not even:
                right = right * np.sqrt(self.weights[span])[:, None]
            found += right.T @ right
        return found

    def _centred_block(self, rows: Matrix, chosen: IntArray, whole: bool) -> FloatArray:
        picked = np.asarray(rows if whole else rows[:, chosen], dtype=np.float64)
        mean = self.mean[chosen]
        return picked - mean if mean.any() else picked

    def _transposed(self, factors: FloatArray) -> FloatArray:
        return times_transposed(self.X, factors)
