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
    rows = _Centred(X, mean, whole=D.min() == D.max())
    system = _gram(rows, D, each)
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
        theta = D[:, None] * rows.transposed_times(roots[:, None] * alpha)
        left = b - roots[:, None] * rows.times(theta)
        left -= alpha * ridge
        if centre is not None:  # what the mean leaves along √s is no equation, but the bias
            left -= roots[:, None] * (roots @ left / (roots @ roots))
        step = cho_solve((lower, True), left)
        alpha += step
        if np.linalg.norm(step) <= ACCURATE * np.linalg.norm(alpha):
            return ClosedForm(theta.T.copy(), 1.0 / float(reciprocal))
    return None


class _Centred:
    """The rows less their mean: a rough centre is taken off the entries, the rest off products.

    Entries far from zero would lose in a product what they have in common, and all its digits. X
    is copied only in blocks of columns that are changed.
    """

    def __init__(self, X: Matrix, mean: FloatArray, whole: bool) -> None:
        self.X = X
        self.shift = None if sparse.issparse(X) else rough_centre(X)
        self.rest = mean if self.shift is None else mean - self.shift
        whole = whole and self.shift is None and X.dtype == np.float64
        width = X.shape[1] if whole else WIDTH
        self.spans = [slice(a, a + width) for a in range(0, X.shape[1], width)]

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return some entries less the rough centre."""
        found = self.X[rows, columns].astype(np.float64, copy=False)
        return np.asarray(found if self.shift is None else found - self.shift[columns])

    def times(self, theta: FloatArray) -> FloatArray:
        """Compute the rows times the columns of theta."""
        if self.shift is None:
            return times(self.X, theta) - self.rest @ theta
        every = slice(None)
        found = sum(self.block(every, span) @ theta[span] for span in self.spans)
        return np.asarray(found - self.rest @ theta)

    def transposed_times(self, alpha: FloatArray) -> FloatArray:
        """Compute the sums of the rows times their entries in the columns of alpha."""
        apart = np.outer(self.rest, alpha.sum(axis=0))
        if self.shift is None:
            return times_transposed(self.X, alpha) - apart
        every = slice(None)
        return np.vstack([self.block(every, span).T @ alpha for span in self.spans]) - apart


def _gram(rows: _Centred, D: FloatArray, each: Each) -> FloatArray:
    """Compute ADAᵀ, tile by tile.

    What is left of the mean is taken off afterwards, which then costs no digits.
    """
    even, X, rest = D.min() == D.max(), rows.X, rows.rest
    if sparse.issparse(X):
        entries = X.astype(np.float64, copy=False)
        K = (entries.multiply(D) @ entries.T).toarray()
    else:
        n = len(X)
        parts = [slice(a, min(a + TILE, n)) for a in range(0, n, TILE)]
        K = np.empty((n, n))

        def block(part: slice, columns: slice) -> FloatArray:
            found = rows.block(part, columns)
            return found if even else found * np.sqrt(D[columns])

        def fill(tile: tuple[slice, slice]) -> None:
            one, other = tile
            found = np.zeros((one.stop - one.start, other.stop - other.start))
            for columns in rows.spans:
                left = block(one, columns)
                found += left @ (left if one == other else block(other, columns)).T
            K[one, other] = found * D[0] if even else found
            K[other, one] = K[one, other].T

        list(each(fill, [(one, other) for k, one in enumerate(parts) for other in parts[k:]]))
    side = rows.times(D * rest) + rest @ (D * rest)
    K -= side
    K -= side[:, None]
    K += float(rest @ (D * rest))
    return np.asarray(K)
