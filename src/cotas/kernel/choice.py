"""From what the user gives as `kernel` to the kernel of a fit, and whether it may be used."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.certificates.kernel import examine
from cotas.design.blocks import row_spans
from cotas.kernel.functions import Cosine, Linear, Polynomial, Precomputed
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel
from cotas.kernel.products import row_squares
from cotas.refusals import ParameterError

NAMED: dict[str, Kernel] = {
    "cosine": Cosine(),
    "linear": Linear(),
    "poly": Polynomial(),
    "precomputed": Precomputed(),
}


def as_kernel(given: object, X: Matrix, weights: FloatArray | None = None) -> Kernel:
    """Return a kernel, one of the names, or None or "rbf" for an RBF as wide as the data.

    Its γ is then 1/(d·Var(X)), d being the number of columns, as with scikit-learn's
    `gamma="scale"`. With weights, a row counts as often as its weight says.
    """
    if isinstance(given, Kernel):
        return given
    if given is None or given == "rbf":
        return scaled_rbf(X, weights)
    if isinstance(given, str) and given in NAMED:
        return NAMED[given]
    raise ParameterError(
        "kernel",
        "kernel must be a kernel of cotas.kernels, such as RBF(0.5) or Custom(function), or one of "
        f"{['rbf', *NAMED]}, not {given!r}.",
    )


def refuse_indefinite(kernel: Kernel, X: Matrix, rows: IntArray, indefinite: str) -> None:
    """Raise if K is seen not to be positive semi-definite, unless that is explicitly allowed."""
    n, columns = X.shape
    if is_precomputed(kernel) and n != columns:
        raise ParameterError(
            "X",
            f"A precomputed kernel needs as X the square matrix of k(xᵢ, xⱼ) at the rows of the "
            f"fit, not one of shape ({n}, {columns}).",
        )
    if indefinite not in ("refuse", "allow"):
        raise ParameterError(
            "indefinite", f"indefinite must be 'refuse' or 'allow', not {indefinite!r}."
        )
    if indefinite == "allow" or kernel.known_mercer:
        return
    evidence = examine(kernel, X, rows)
    if evidence is not None and not evidence.semidefinite:
        raise ParameterError(
            "kernel",
            f"{kernel} is not a Mercer kernel: {evidence.in_words}. Nothing can be proved about a "
            "model that uses it; indefinite='allow' trains one nevertheless.",
        )


def is_precomputed(given: object) -> bool:
    """Tell whether X is the Gram matrix itself."""
    return isinstance(given, Precomputed) or (isinstance(given, str) and given == "precomputed")


def scaled_rbf(X: Matrix, weights: FloatArray | None = None) -> RBF:
    """Compute γ = 1/(d·Var(X)), the variance being that of all entries together; 1 if they are the
    same.

    A row counts as often as its weight says, as if it were repeated.
    """
    if weights is not None:
        X, weights = X[weights > 0], weights[weights > 0]
    n, d = X.shape
    share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    largest = max(float(X.max()), -float(X.min()))
    unit = largest if largest > 0 else 1.0  # so that no square overflows
    spans = row_spans(X)
    mean = variance = 0.0
    for span in spans:
        sums = (X[span].astype(np.float64) / unit).sum(axis=1)
        mean += float(share[span] @ np.asarray(sums).ravel()) / d
    for span in spans:
        rows, zeros = X[span].astype(np.float64) / unit, 0.0
        if sparse.issparse(rows):  # entries that are not stored differ by the mean
            rows = rows.tocsr()
            rows.data, zeros = rows.data - mean, (d - np.diff(rows.indptr)) * mean**2
        else:
            rows -= mean
        variance += float(share[span] @ (row_squares(rows) + zeros)) / d
    width = unit * math.sqrt(max(0.0, variance) * d)
    if not width > 0:
        return RBF(gamma=1.0)
    return RBF(gamma=1.0 / width**2) if 1e-100 < width < 1e100 else RBF(width / math.sqrt(2.0))
