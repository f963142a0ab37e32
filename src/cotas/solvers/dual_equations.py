"""Least squares and ridge with more columns than rows: an unknown for each row."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpocon, dpotrf

from cotas.arrays import FloatArray, Matrix
from cotas.design.blocks import times, times_transposed
from cotas.solvers.moments import EPS
from cotas.solvers.normal_equations import ClosedForm

# The data are read again for the residuals as long as they correct the answer by more than this.
PASSES, ACCURATE = 4, 1e-13
BLOCK_BYTES = 1 << 20  # of columns that stay in the cache while they are multiplied


def dual_equations(
    X: Matrix,
    Y: FloatArray,
    shares: FloatArray | None,
    centre: tuple[FloatArray, FloatArray] | None,
    penalty: FloatArray,
) -> ClosedForm | None:
    """Compute θ = D⁻¹Aᵀα with (AD⁻¹Aᵀ + 1)α = b, or None where rounding would show in the answer.

        min  ½ Σ sᵢ(yᵢ − θ·xᵢ)² + ½ Σ penaltyⱼθⱼ²        (x and y less their `centre`)

    A has the rows √sᵢxᵢ, b the entries √sᵢyᵢ, and D is the diagonal of the penalties: the closed
    form of Fuentes Cabrera, section 4.2, since (AᵀA + D)⁻¹Aᵀ = D⁻¹Aᵀ(AD⁻¹Aᵀ + 1)⁻¹. Without
    a penalty it is θ = Aᵀα with AAᵀα = b, the solution of smallest norm that reaches every y.
    Departures: α is refined by the residuals of the data themselves; AAᵀ of centred rows is
    singular along √s, where α is kept at zero.
    Invariant: α = b − Aθ with a penalty, Aθ = b without. Cost: O(n²d + n³), memory for n².
    """
    roots = np.full(X.shape[0], X.shape[0] ** -0.5) if shares is None else np.sqrt(shares)
    ridge = bool(penalty.any())
    scale = np.divide(1.0, penalty, where=penalty > 0, out=np.zeros_like(penalty))
    D = scale if ridge else np.ones_like(penalty)
    mean, target_mean = (np.zeros(X.shape[1]), 0.0) if centre is None else centre
    K = _gram(X, D, mean) * np.outer(roots, roots)
    # Rows of weight zero have no equation; the mean of the others has none if the bias is free.
    idle = np.where(roots > 0, 0.0, 1.0)
    size = float(np.trace(K)) / max(1, len(K)) or 1.0
    system = K + np.diag(1.0 * ridge + size * idle)
    if centre is not None:
        system += size * np.outer(roots, roots)
    lower, failed = dpotrf(system, lower=1)
    if failed:
        return None
    reciprocal, _ = dpocon(lower, np.abs(system).sum(axis=0).max(), uplo="L")
    if not reciprocal > len(K) * EPS:
        return None
    b = roots[:, None] * (Y - target_mean)
    alpha = cho_solve((lower, True), b)
    for _ in range(PASSES):
        pulled = times_transposed(X, roots[:, None] * alpha) - np.outer(mean, roots @ alpha)
        theta = D[:, None] * pulled
        left = b - roots[:, None] * (times(X, theta) - mean @ theta)
        step = cho_solve((lower, True), left - alpha * ridge)
        alpha += step
        if np.linalg.norm(step) <= ACCURATE * np.linalg.norm(alpha):
            return ClosedForm(theta.T.copy(), 1.0 / float(reciprocal))
    return None


def _gram(X: Matrix, D: FloatArray, mean: FloatArray) -> FloatArray:
    """Compute (X − mean)D(X − mean)ᵀ, some columns at a time, so that no copy of X is made."""
    n, d = X.shape
    if sparse.issparse(X):
        rows = X.astype(np.float64, copy=False)
        K = np.asarray((rows.multiply(D) @ rows.T).toarray())
        side = np.asarray(rows @ (D * mean))
        return np.asarray(K - side[:, None] - side + float(mean @ (D * mean)))
    even, width = D.min() == D.max(), min(d, max(1, BLOCK_BYTES // (8 * n)))
    K, memory = np.zeros((n, n), order="F"), np.empty(n * width)
    for start in range(0, d, width):
        part = X[:, start : start + width]
        block = memory[: part.size].reshape(part.shape)
        np.subtract(part, mean[start : start + width], out=block)
        if not even:
            block *= np.sqrt(D[start : start + width])
        # Half of it, which is half of the work; BLAS sees the transpose of the block as its own.
        K = dsyrk(D[0] if even else 1.0, block.T, beta=1.0, c=K, trans=1, lower=1, overwrite_c=1)
    return np.asarray(np.tril(K, -1).T + K)
