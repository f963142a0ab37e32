"""How curved the squared loss is at least: the scatter of the rows, or of some of them.

    C = Σ sᵢ x̃ᵢx̃ᵢᵀ  ⪰  C_S = Σ_{i in S} sᵢ x̃ᵢx̃ᵢᵀ        for every set S of rows,

where x̃ = x − x̄ with a free bias and x̃ = x without. Leaving rows out makes the matrix smaller, so
what is proved with C_S holds with C: a few rows often prove enough, at a small part of the price.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpocon, dpotrf

from cotas.arrays import Each, FloatArray, Matrix
from cotas.certificates.sweep import EPS, Block, Sweep, Tally
from cotas.certificates.targets import moved

# Beyond this many features the matrix is not formed.
LARGEST_SCATTER = 2000
# Below this reciprocal condition number a Cholesky factor is not trusted with the bound.
SAFE_CONDITION = 1e-9
# Below this a square may have lost digits to underflow: nothing is said along such a column.
SMALLEST_SQUARE = 1e-290
# Rows for each feature in the set S.
ROWS_A_FEATURE = 4


class Decrease(NamedTuple):
    """How far the objective can fall, for each target, and how many directions are flat."""

    amounts: FloatArray
    flat: int


class Scatter:
    """C_S for a few rows and for all rows, each formed when it is first asked for."""

    def __init__(
        self,
        sweep: Sweep,
        weights: FloatArray | None,
        mean: FloatArray | None,
        shift: FloatArray | None = None,
    ) -> None:
        self.sweep, self.weights, self.mean, self.shift = sweep, weights, mean, shift
        self.n, self.d = int(sweep.X.shape[0]), int(sweep.X.shape[1])
        self._few: FloatArray | None = None
        self._all: FloatArray | None = None

    @property
    def affordable(self) -> bool:
        """Whether a matrix of this size may be formed."""
        return self.d <= LARGEST_SCATTER

    @property
    def formed(self) -> bool:
        """Whether the matrix of all rows is at hand."""
        return self._all is not None

    @property
    def n_few(self) -> int:
        """How many rows the set S has, about."""
        return max(256, ROWS_A_FEATURE * self.d)

    def of_few_rows(self) -> FloatArray:
        """C_S for rows spread over the data."""
        if self._few is None:
            every, rows = self.sweep.sample(self.n_few)
            self._few = self._add_up(rows, self._shares(every))
        return self._few

    def of_all_rows(self, each: Each = map) -> FloatArray:
        """C itself, in one pass over the data."""
        if self._all is None:

            def read(block: Block) -> Tally:
                return {"sum scatter": self._add_up(block.rows, self._shares(block.span))}

            self._all = self.sweep.tally(read, each)["sum scatter"]
        return self._all

    def _shares(self, span: slice) -> FloatArray:
        if self.weights is None:
            count = len(range(*span.indices(self.n)))
            return np.full(count, 1.0 / self.n)
        return self.weights[span]

    def _add_up(self, rows: Matrix, shares: FloatArray) -> FloatArray:
        """Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ over these rows."""
        if not sparse.issparse(rows):
            centred = rows if self.mean is None else rows - self.mean
            scaled = centred * np.sqrt(shares)[:, None]
            return np.asarray(scaled.T @ scaled)
        mean = self.mean
        if mean is not None and self.shift is not None:
            rows, mean = moved(rows, self.shift), mean - self.shift
        scaled = sparse.diags(np.sqrt(shares)) @ rows
        total = np.asarray((scaled.T @ scaled).toarray())
        if mean is not None:
            mixed = np.outer(np.asarray(rows.T @ shares), mean)
            total += shares.sum() * np.outer(mean, mean) - mixed - mixed.T
        return total


def decrease(
    C: FloatArray, penalty: FloatArray, g: FloatArray, floor: FloatArray
) -> FloatArray | None:
    """½ gᵀH⁻¹g with H = C + diag(penalty): at most so much can a quadratic of that curvature fall.

    The columns are first scaled to unit diagonal, which changes nothing in exact arithmetic and
    makes small and large features alike. A column whose variance is below `floor` cannot be told
    from a constant one, along which nothing changes, and is left out unless it is penalised.
    None if H is so near a singular matrix that rounding would show in the bound.
    """
    constant = (np.diag(C) <= floor) & (floor > 0) & (penalty == 0)
    diagonal = np.maximum(np.diag(C), 0.0) + penalty
    used = (diagonal > SMALLEST_SQUARE) & ~constant
    endless = g[~used & ~constant].any(axis=0)  # a slope, and no curvature to stop it
    scale = np.zeros(len(C))
    np.divide(1.0, np.sqrt(diagonal), out=scale, where=used)
    E = C * scale[:, None] * scale
    np.fill_diagonal(E, 1.0)
    slope = g * scale[:, None]
    factor, failed = dpotrf(E, lower=1)
    if failed:
        return None
    condition, _ = dpocon(factor, np.abs(E).sum(axis=0).max(), uplo="L")
    if not condition > SAFE_CONDITION:
        return None
    # Rounding in the factor is at most this part of the smallest eigenvalue.
    inflation = 1.0 + 8 * len(E) * EPS / condition
    solved = np.einsum("jk,jk->k", slope, cho_solve((factor, True), slope))
    return np.where(endless, np.inf, 0.5 * inflation * np.maximum(solved, 0.0))
