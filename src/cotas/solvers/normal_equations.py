"""Least squares and ridge in closed form, from the moments of the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from cotas.arrays import BoolArray, FloatArray
from cotas.solvers.moments import EPS, Moments

# Below this the digits lost by squaring the data show, and the orthogonal way is taken.
SAFE_CONDITION = 1e-8
# Of the digits that centring left, so many must be left again by the conditioning.
SAFE_ERROR = 1e-7


class ClosedForm(NamedTuple):
    """A solution θ with a row for each target, and the condition number of the scaled system."""

    theta: FloatArray
    condition: float


class Factor(NamedTuple):
    """The Cholesky factor of A + diag(penalty) with the columns scaled to unit diagonal."""

    lower: FloatArray
    scale: FloatArray  # of the columns that are used, 1/√Aⱼⱼ
    used: BoolArray
    condition: float

    def solve(self, b: FloatArray) -> FloatArray:
        """Compute θ with one column for each column of b, zero where a column is not used."""
        theta = np.zeros(b.shape)
        if self.used.any():
            scaled = self.scale[:, None] * b[self.used]
            theta[self.used] = self.scale[:, None] * dpotrs(self.lower, scaled, lower=1)[0]
        return theta


def factorize(
    moments: Moments, penalty: FloatArray, free_bias: bool, safe: float = SAFE_CONDITION
) -> Factor | None:
    """Return the factor, or None where the reciprocal condition number is not `safe`."""
    A = moments.hessian(free_bias) + np.diag(penalty)
    diagonal = A.diagonal()
    used = diagonal > 0
    if free_bias:
        used &= ~moments.constant()
    if not used.any():
        return Factor(np.zeros((0, 0)), np.zeros(0), used, 1.0)
    scale = 1.0 / np.sqrt(diagonal[used])
    scaled = (A if used.all() else A[used][:, used]) * scale * scale[:, None]
    factor, failed = dpotrf(scaled, lower=1)
    if failed:
        return None
    reciprocal, _ = dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")
    if not reciprocal > max(safe, _error(moments, used, free_bias) / SAFE_ERROR):
        return None
    return Factor(factor, scale, used, 1.0 / float(reciprocal))


def normal_equations(moments: Moments, penalty: FloatArray, free_bias: bool) -> ClosedForm | None:
    """Solve (A + diag(penalty)) θ = b, or None where rounding would show in the answer.

        min  ½ Σ sᵢ(yᵢ − θ·xᵢ − θ₀)² + ½ Σ penaltyⱼθⱼ²

    The closed form of Fuentes Cabrera, sections 4.1 and 4.2: A = Σ sᵢxᵢxᵢᵀ and b = Σ sᵢyᵢxᵢ, of the
    centred data with a free bias, whose θ₀ = ȳ − θ·x̄. Departures: the columns are scaled to unit
    diagonal, so that their units play no part in the conditioning; a constant column beside a
    free bias has the coefficient zero, as in the solution of smallest norm.
    Invariant: the gradient of P vanishes. Cost: O(nd²) for the moments, O(d³) here.
    """
    factor = factorize(moments, penalty, free_bias)
    if factor is None:
        return None
    theta = factor.solve(moments.slope(free_bias))
    return ClosedForm(theta.T.copy(), factor.condition)


def _error(moments: Moments, used: BoolArray, free_bias: bool) -> float:
    """Return the relative error of the scatter: its digits less those that the means cancelled."""
    left = 1.0 - moments.centring_loss[used] if free_bias else np.ones(1)
    return float(EPS / max(left.min(initial=1.0), EPS))


class PseudoFactor(NamedTuple):
    """Eigenvectors of A + diag(penalty) scaled to unit diagonal, those of eigenvalue zero left out.

    `null` are the directions along which the data should be constant, for columns as they are;
    `clear` tells whether all other eigenvalues are safely above rounding.
    """

    vectors: FloatArray  # of all columns, zero for those that are not used
    values: FloatArray
    root: FloatArray
    used: BoolArray
    condition: float
    null: FloatArray
    clear: bool

    def solve(self, b: FloatArray) -> FloatArray:
        """Return the solution of smallest norm, with one column for each column of b."""
        V, root = self.vectors, self.root[:, None]
        theta = (V @ ((V.T @ (b / root)) / self.values[:, None])) / root
        basis = qr(V * root, mode="economic")[0]
        return np.where(self.used[:, None], basis @ (basis.T @ theta), 0.0)


def pseudo_factorize(moments: Moments, penalty: FloatArray, free_bias: bool) -> PseudoFactor:
    """Return the factor for systems that are singular, from the moments alone.

    Eigenvalues of the scaled matrix that rounding could have made are taken for zero, so nearly
    collinear columns are taken for collinear ones sooner than `orthogonal` would.
    """
    A = moments.hessian(free_bias) + np.diag(penalty)
    used = np.diag(A) > 0
    if free_bias:
        used &= ~moments.constant()
    root = np.sqrt(np.where(used, np.diag(A), 1.0))
    values, vectors = eigh(np.where(np.outer(used, used), A, 0.0) / np.outer(root, root))
    vectors[~used] = 0.0  # what rounding leaves there would count: those columns have no unit
    largest = max(values.max(initial=0.0), 1e-300)
    kept = values > len(A) * 1e-12 * largest
    least = float(values[kept][0]) if kept.any() else largest
    null = vectors[:, ~kept][:, np.any(vectors[used][:, ~kept], axis=0)] / root[:, None]
    clear = least > SAFE_CONDITION * largest
    condition = float(largest / least)
    return PseudoFactor(vectors[:, kept], values[kept], root, used, condition, null, clear)


def pseudo_inverse(moments: Moments, penalty: FloatArray, free_bias: bool) -> ClosedForm:
    """Return the solution of smallest norm from the moments alone, where the rows are gone."""
    factor = pseudo_factorize(moments, penalty, free_bias)
    theta = factor.solve(moments.slope(free_bias))
    return ClosedForm(theta.T.copy(), factor.condition)
