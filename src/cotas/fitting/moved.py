"""Data far from zero: beside a free bias a solver may see each column less a number near it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, Matrix
from cotas.certificates.core.rounding import dot
from cotas.solvers.moments import rough_centre


class Moved(NamedTuple):
    """X less a shift m of its columns, for solvers; None where no column lies far from zero.

    θ·(x − m) + θ₀ is the model θ·x + (θ₀ − θ·m) of the rows as they were given. Squares of the
    digits that m takes away would leave none for the rest.
    """

    X: Matrix
    shift: FloatArray | None = None

    @classmethod
    def near_zero(cls, X: Matrix, free_bias: bool) -> Moved:
        """Return a dense X with all columns near zero, which is a copy where one was not.

        A constant column is a multiple of the ones that the bias stands for, and the solver has to
        live with those: it is far where such ones would be.
        """
        shift = rough_centre(X, unit=1.0) if free_bias and not sparse.issparse(X) else None
        return cls(X) if shift is None else cls(X - shift, shift)

    def given(self, theta: FloatArray, theta0: Any) -> Any:
        """θ₀ for the rows as they were given; θ is a vector, or has a column for each of θ₀."""
        return theta0 if self.shift is None else self._along(-theta, theta0)

    def seen(self, theta: FloatArray, theta0: Any) -> Any:
        """Compute θ₀ for the rows that the solver sees."""
        return theta0 if self.shift is None else self._along(theta, theta0)

    def _along(self, theta: FloatArray, theta0: Any) -> Any:
        """Compute θ₀ + θ·m, rounded once: at these sizes each rounding shows in the objective."""
        assert self.shift is not None
        if theta.ndim == 1:
            return dot(self.shift, theta, [float(theta0)])[0]
        return np.array([self._along(t, b) for t, b in zip(theta.T, theta0, strict=True)])
