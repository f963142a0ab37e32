"""Which matrices are positive semi-definite, by a factorization in floating point.

A Cholesky factorization of K + σI that runs through proves it of K + εI, ε being σ and the a-priori
error of the factorization (Rump 2006).
"""

from __future__ import annotations

import math

import numpy as np

from cotas.certificates.core.rounding import TINY, FloatArray, above, gamma


def is_definite(A: FloatArray) -> bool:
    """Tell whether the Cholesky factorization of a symmetric A runs through in floating point.

    Then λ_min(A) ≥ −γ_{n+1}/(1 − γ_{n+1})·trace(A), n being the order of A (Rump 2006).
    """
    try:
        return bool(np.isfinite(np.linalg.cholesky(A)).all())
    except np.linalg.LinAlgError:
        return False


def proved_shift(K: FloatArray) -> float:
    """Find ε with K + εI positive semi-definite, for a symmetric K; infinite if it is too far."""
    n = len(K)
    error = above(2.0 * gamma(n + 4) * above(float(np.abs(np.diag(K)).sum()), n), 4) + TINY

    # The diagonal of K less the error is smaller than that of K, and so is its own error.
    if is_definite(K - error * np.eye(n)):
        return 0.0
    # Where the eigenvalues are is only a hint.
    for sigma in (error, error - 1.01 * float(np.linalg.eigvalsh(K)[0])):
        if 0.0 < sigma < math.inf and is_definite(K + sigma * np.eye(n)):
            return above(sigma + error + above(4.0 * gamma(n + 4) * n * sigma, 4), 4)
    return math.inf
