"""Dual variables as a function of the row, so that nobody has to keep one for each of them.

Newton's method on the hinge that a parabola rounds off (`solvers/semismooth_newton.py`) goes in
rounds. The dual variables of a round are, s being the weight of the row,

    αᵢ = sᵢ clip(cᵢ/sᵢ − eᵢ/2ν, 0, 1),      eᵢ = yᵢ(θ·xᵢ + θ₀) − 1,

and its centre c is the α of the round before; the first centre is s/2. So the (θ, θ₀, ν) at the
end of each round make α anew from any row, wherever it lies: a few vectors of the length of θ take
the place of a number for each row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, Matrix

FIRST_CENTRE = 0.5


class Rounds(NamedTuple):
    """Rounds: θ, θ₀ and ν at the end of each round."""

    thetas: FloatArray  # a row for each round
    biases: FloatArray
    smoothings: FloatArray

    @classmethod
    def none(cls, n_features: int) -> Rounds:
        """Return the state before the first round."""
        return cls(np.zeros((0, n_features)), np.zeros(0), np.zeros(0))

    def followed_by(self, theta: FloatArray, theta0: float, nu: float) -> Rounds:
        """Return these and one more."""
        return Rounds(
            np.vstack([self.thetas, theta]),
            np.append(self.biases, theta0),
            np.append(self.smoothings, nu),
        )

    def parts(self, X: Matrix, y: FloatArray) -> FloatArray:
        """Compute αᵢ/sᵢ of some rows in double precision, y being ±1."""
        part = np.full(X.shape[0], FIRST_CENTRE)
        if not len(self.biases):
            return part
        scores = np.asarray(X @ self.thetas.T) + self.biases
        for z, nu in zip(scores.T, self.smoothings, strict=True):
            part = np.clip(part - (y * z - 1.0) / (2.0 * nu), 0.0, 1.0)
        return part
