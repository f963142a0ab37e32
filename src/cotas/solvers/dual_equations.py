"""Least squares and ridge with more columns than rows: an unknown for each row."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpocon, dpotrf

from cotas.arrays import Each, FloatArray, Matrix
from cotas.design.blocks import times, times_transposed
from cotas.solvers.moments import EPS, rough_centre
from cotas.solvers.normal_equations import ClosedForm

# The data are read again for the residuals as long as they correct the answer by more than this.
PASSES, ACCURATE = 4, 1e-13
# Rows of a tile of AAᵀ, and columns that are changed at a time before they are multiplied.
TILE, WIDTH = 512, 2048


def dual_equations(
    X: Matrix,
    Y: FloatArray,
    shares: FloatArray | None,
    centre: tuple[FloatArray, FloatArray] | None,
    penalty: FloatArray,
    each: Each = map,
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
    system = _gram(X, D, mean, each)
    system *= roots
    system *= roots[:, None]
    size = float(np.trace(system)) / max(1, len(system)) or 1.0
    # Rows of weight zero have no equation; the mean of the others has none if the bias is free.
    system.flat[:: len(system) + 1] += 1.0 * ridge + size * (roots == 0)
    if centre is not None:
        system += (size * roots) * roots[:, None]
    norm = max(float(np.abs(line).sum()) for line in system)
    # As symmetric as it is, its transpose lies as LAPACK wants it: nothing is copied.
    lower, failed = dpotrf(system.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    reciprocal, _ = dpocon(lower, norm, uplo="L")
    if not reciprocal > len(lower) * EPS:
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


def _gram(X: Matrix, D: FloatArray, mean: FloatArray, each: Each) -> FloatArray:
    """Compute (X − mean)D(X − mean)ᵀ, tile by tile; X is copied only in blocks that are changed.

    Rows near zero are centred afterwards, which then costs no digits.
    """
    even = D.min() == D.max()
    shift = None if sparse.issparse(X) else rough_centre(X)
    rest = mean if shift is None else mean - shift
    side = times(X, D * rest) - (0.0 if shift is None else shift @ (D * rest))
    middle = float(rest @ (D * rest))
    if sparse.issparse(X):
        rows = X.astype(np.float64, copy=False)
        K = (rows.multiply(D) @ rows.T).toarray()
    else:
        n, as_it_is = len(X), even and shift is None and X.dtype == np.float64
        width = X.shape[1] if as_it_is else min(X.shape[1], WIDTH)
        parts = [slice(a, min(a + TILE, n)) for a in range(0, n, TILE)]
        K = np.empty((n, n))

        def block(rows: slice, columns: slice) -> FloatArray:
            found = X[rows, columns].astype(np.float64, copy=False)
            found = found if shift is None else found - shift[columns]
            return found if even else found * np.sqrt(D[columns])

        def fill(tile: tuple[slice, slice]) -> None:
            one, other = tile
            found = np.zeros((one.stop - one.start, other.stop - other.start))
            for start in range(0, X.shape[1], width):
                columns = slice(start, start + width)
                left = block(one, columns)
                found += left @ (left if one == other else block(other, columns)).T
            K[one, other] = found * D[0] if even else found
            K[other, one] = K[one, other].T

        list(each(fill, [(one, other) for k, one in enumerate(parts) for other in parts[k:]]))
    K -= side
    K -= side[:, None]
    K += middle
    return np.asarray(K)
