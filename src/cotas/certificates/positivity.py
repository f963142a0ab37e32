"""Whether a symmetric matrix is positive semi-definite, with the evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.passes import EPS
from cotas.words import say


@dataclass(frozen=True)
class Definiteness:
    """Evidence of what a matrix K is.

    Attributes
    ----------
    n : the number of rows
    asymmetry : the largest |K − Kᵀ|
    smallest, largest : the extreme eigenvalues of (K + Kᵀ)/2; NaN if they are not known
    rounding : an eigenvalue nearer to zero than this may be zero
    vector : c with cᵀKc < 0 beyond all rounding, or None
    value : cᵀKc
    """

    n: int
    asymmetry: float
    smallest: float
    largest: float
    rounding: float
    vector: FloatArray | None = field(default=None, repr=False)
    value: float = 0.0

    @property
    def symmetric(self) -> bool:
        """Tell whether K is symmetric up to rounding."""
        return self.asymmetry <= self.rounding

    @property
    def semidefinite(self) -> bool:
        """Tell whether K is symmetric without negative eigenvalues, up to rounding."""
        return self.symmetric and self.vector is None

    @property
    def in_words(self) -> str:
        """Say the evidence in a sentence."""
        if not self.symmetric:
            text = "the Gram matrix is not symmetric: two entries differ by {asymmetry:.3g}"
        elif self.vector is None:
            text = (
                "the smallest eigenvalue of the Gram matrix of {n} rows is {smallest:.3g}, and "
                "rounding alone can make one of ±{rounding:.1g}"
            )
        elif math.isnan(self.largest):
            text = "a combination c of length 1 has cᵀKc = {value:.3g} < 0"
        else:
            text = (
                "a combination c of length 1 has cᵀKc = {value:.3g} < 0; the eigenvalues of the "
                "Gram matrix reach from {smallest:.3g} to {largest:.3g}"
            )
        return say(text, **vars(self))


def definiteness(K: FloatArray, precision: float = EPS) -> Definiteness:
    """Return the evidence for or against cᵀKc ≥ 0 for all c.

    `precision` is that of the entries, a rounding of 1; a matrix that was made in single precision
    is no better than that.

    Eigenvalues from floating-point arithmetic are those of a matrix that differs from K by a few
    roundings of its norm; the entries of K themselves may be off by as many roundings of the
    largest. An eigenvector of a more negative eigenvalue is multiplied out again: only if cᵀKc
    stays below zero is it evidence.
    """
    n = len(K)
    if n == 0:
        return Definiteness(0, 0.0, 0.0, 0.0, 0.0)
    symmetric = (K + K.T) / 2
    values, vectors = np.linalg.eigh(symmetric)
    size = float(np.abs(K).max())
    # The eigenvalues as a problem of their own, and a matrix of independent errors in the entries.
    rounding = 64 * EPS * float(np.abs(values).max()) + 32 * precision * math.sqrt(n) * size
    ends, c = (float(values[0]), float(values[-1])), vectors[:, 0]
    found = Definiteness(n, float(np.abs(K - K.T).max()), *ends, rounding)
    value = float(c @ symmetric @ c)
    negative = max(value, ends[0]) < -rounding
    return replace(found, vector=c, value=value) if negative else found


def shown_by(vector: FloatArray, value: float) -> Definiteness:
    """Return the evidence that c of length 1 with cᵀKc = value < 0 is, where K is not at hand."""
    return Definiteness(len(vector), 0.0, math.nan, math.nan, 0.0, vector=vector, value=value)
