"""The Gram matrix, and whether it is that of a valid kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.passes import EPS
from cotas.certificates.positivity import Definiteness, definiteness
from cotas.kernel.interface import Kernel
from cotas.kernel.products import as_rows
from cotas.refusals import ParameterTypeError
from cotas.source import MatrixLike
from cotas.words import in_one, say


def gram(kernel: Kernel, X: MatrixLike) -> FloatArray:
    """Return the matrix K of k(xᵢ, xⱼ) for all pairs of rows: n² numbers.

    Examples
    --------
    >>> from cotas import kernels
    >>> kernels.gram(kernels.Linear(), [[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """
    return kernel(X)


@dataclass(frozen=True, kw_only=True)
class Mercer(Definiteness):
    """The answer to "is this a Mercer kernel?", with its evidence; true or false by itself.

    Attributes
    ----------
    valid : bool
        Whether the Gram matrix of the rows is symmetric and positive semi-definite up to rounding.
    by_construction : bool
        Whether the formula alone proves it for all rows.
    smallest_eigenvalue, rounding : float
        Of the Gram matrix, and what rounding alone can make of a zero.
    vector : array or None
        Where it is not valid: c with cᵀKc < 0.
    value : float
        cᵀKc
    asymmetry : float
        The largest |k(x, x′) − k(x′, x)|.
    """

    kernel: Kernel
    by_construction: bool

    @property
    def valid(self) -> bool:
        return self.semidefinite

    @property
    def smallest_eigenvalue(self) -> float:
        return self.smallest

    def __bool__(self) -> bool:
        return self.valid

    def verify(self, X: MatrixLike) -> bool:
        """Tell whether the same answer comes out of these rows; a vector c is multiplied out
        again."""
        if self.vector is None:
            return _evidence(self.kernel, X).semidefinite == self.valid
        K = self.kernel._whole(X)
        if len(K) != len(self.vector):
            return False
        return abs(float(self.vector @ K @ self.vector) - self.value) <= self.rounding

    def to_dict(self) -> dict[str, Any]:
        """Return the answer in plain Python types."""
        return {
            "valid": self.valid,
            "by_construction": self.by_construction,
            "kernel": str(self.kernel),
            "smallest_eigenvalue": self.smallest_eigenvalue,
            "rounding": self.rounding,
            "asymmetry": self.asymmetry,
            "vector": None if self.vector is None else self.vector.tolist(),
            "value": self.value,
        }

    def __str__(self) -> str:
        found = {"kernel": self.kernel, "evidence": self.in_words}
        if not self.valid:
            return say("{kernel} is not a Mercer kernel: {evidence}.", **found)
        here = say("{kernel} is a Mercer kernel on these rows: {evidence}.", **found)
        if self.by_construction:
            return in_one([here, say("It is one on all rows, by its formula.")])
        return in_one([here, say("On other rows it may not be one.")])


def is_mercer(kernel: Kernel, X: MatrixLike) -> Mercer:
    """Prove whether k is symmetric and cᵀKc ≥ 0 for every c, K being its Gram matrix on the rows of
    X.

    A no is a proof: the vector c. A yes is about these rows; for kernels made of valid ones by
    valid operations it is a yes for all rows, which the answer says. It takes the n² numbers of
    the Gram matrix, and its eigenvalues.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of rows; the Gram matrix itself for `Precomputed()`

    Returns
    -------
    Mercer

    Examples
    --------
    >>> from cotas import kernels
    >>> X = [[0.0], [1.0], [3.0]]
    >>> bool(kernels.is_mercer(kernels.RBF(), X))
    True
    >>> distance = kernels.Custom(lambda x, z: abs(x - z).sum())
    >>> answer = kernels.is_mercer(distance, X)
    >>> bool(answer), round(answer.value, 3)
    (False, -3.202)
    """
    if not isinstance(kernel, Kernel):
        raise ParameterTypeError(
            "kernel", f"is_mercer needs a kernel of cotas.kernels, not {kernel!r}."
        )
    known = kernel.known_mercer is True
    return Mercer(**vars(_evidence(kernel, X)), kernel=kernel, by_construction=known)


def _evidence(kernel: Kernel, X: MatrixLike) -> Definiteness:
    precision = float(np.finfo(as_rows(X).dtype).eps)
    # Only functions and matrices of the user can be less precise than double precision.
    return definiteness(kernel._whole(X), EPS if kernel.known_mercer else precision)
