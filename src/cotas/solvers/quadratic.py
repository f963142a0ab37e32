"""The objective of least squares and ridge as the quadratic that iterative solvers walk down.

    P(z) = ½ zᵀHz − b·z + P(0),        z = (θ₀, v),  θ = v/σ,  with one column for each target

The rows are (1, (x − m)/σ): m = 0 and σ = 1 as in Moreno Chávez, where the bias is the coefficient
of x₀ = 1, or the means and deviations of the columns where the data are to be standardized.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import LinearOperator, eigsh

from cotas.arrays import Each, FloatArray, Matrix
from cotas.design.blocks import row_block, row_spans
from cotas.solvers.moments import Moments

Steps: TypeAlias = Callable[[int], float]


class QuadraticIterate(NamedTuple):
    """A point of a run: z, the objective and the length of the gradient over all targets."""

    number: int
    z: FloatArray
    objective: float
    slope: float
    move: float


@dataclass(frozen=True)
class Coordinates:
    """Coordinates: from z to (θ, θ₀) and back."""

    centre: FloatArray
    scale: FloatArray  # zero for a column that is left out
    free_bias: bool

    @property
    def stretch(self) -> FloatArray:
        """Return 1/σ, and zero for a column that is left out."""
        return np.divide(1.0, self.scale, where=self.scale > 0, out=np.zeros_like(self.scale))

    @property
    def size(self) -> int:
        """Tell how many coordinates z has."""
        return len(self.centre) + self.free_bias

    def model(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute θ with a row for each target, and θ₀."""
        theta = (self.stretch[:, None] * z[self.free_bias :]).T
        theta0 = z[0] - theta @ self.centre if self.free_bias else np.zeros(len(theta))
        return theta, theta0

    def point(self, theta: FloatArray, theta0: FloatArray) -> FloatArray:
        """Compute z of a model; a column that is left out stays at zero."""
        v = self.scale[:, None] * theta.T
        return np.vstack([theta0 + theta @ self.centre, v]) if self.free_bias else v


def plain_coordinates(d: int, free_bias: bool) -> Coordinates:
    """Compute z = (θ₀, θ)"""
    return Coordinates(np.zeros(d), np.ones(d), free_bias)


class Quadratic(Protocol):
    """The objective as a solver asks for it."""

    @property
    def size(self) -> tuple[int, int]: ...

    def apply(self, direction: FloatArray) -> FloatArray:
        """Compute H·direction."""
        ...

    def value_and_gradient(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective, added up over the targets, and its gradient."""
        ...

    def largest_curvature(self) -> float:
        """Compute L, the largest eigenvalue of H; a step of gradient descent converges below
        2/L."""
        ...


class MomentQuadratic:
    """A quadratic with H and b as matrices, from the moments: a step costs O(d²) whatever the
    number of rows."""

    def __init__(self, moments: Moments, lam: float, coordinates: Coordinates) -> None:
        stretch, free_bias = coordinates.stretch, coordinates.free_bias
        mean = (moments.mean - coordinates.centre) * stretch
        second = moments.scatter * np.outer(stretch, stretch) + np.outer(mean, mean)
        cross = moments.cross * stretch[:, None] + np.outer(mean, moments.target_mean)
        H = second + lam * np.eye(len(mean))
        if free_bias:
            H = np.block([[np.ones((1, 1)), mean[None, :]], [mean[:, None], H]])
            cross = np.vstack([moments.target_mean[None, :], cross])
        self.H, self.b = H, cross
        self.at_zero = 0.5 * float(np.sum(moments.target_scatter + moments.target_mean**2))

    @property
    def size(self) -> tuple[int, int]:
        return int(self.b.shape[0]), int(self.b.shape[1])

    def apply(self, direction: FloatArray) -> FloatArray:
        return np.asarray(self.H @ direction)

    def value_and_gradient(self, z: FloatArray) -> tuple[float, FloatArray]:
        gradient = self.H @ z - self.b
        return 0.5 * float(np.sum(z * (gradient - self.b))) + self.at_zero, gradient

    def largest_curvature(self) -> float:
        m = len(self.H)
        return float(eigvalsh(self.H, subset_by_index=[m - 1, m - 1])[0])


class RowQuadratic:
    """A quadratic with H never formed: each product is one pass over the rows."""

    def __init__(
        self,
        X: Matrix,
        Y: FloatArray,
        shares: FloatArray | None,
        lam: float,
        coordinates: Coordinates,
        each: Each = map,
    ) -> None:
        self.X, self.Y, self.lam, self.coordinates, self.each = X, Y, lam, coordinates, each
        self.shares = np.full(X.shape[0], 1.0 / X.shape[0]) if shares is None else shares
        self.spans = row_spans(X)

    @property
    def size(self) -> tuple[int, int]:
        return self.coordinates.size, self.Y.shape[1]

    def apply(self, direction: FloatArray) -> FloatArray:
        return -self._pass(direction, None)[1]

    def value_and_gradient(self, z: FloatArray) -> tuple[float, FloatArray]:
        squares, back = self._pass(z, self.Y)
        v = z[self.coordinates.free_bias :]
        return 0.5 * squares + 0.5 * self.lam * float(np.sum(v * v)), -back

    def largest_curvature(self) -> float:
        m = self.size[0]
        if m < 3:
            return float(eigvalsh(self.apply(np.eye(m)))[-1])
        H = LinearOperator((m, m), matvec=lambda p: self.apply(p.reshape(-1, 1))[:, 0])
        start = np.cos(np.arange(m))
        # Lanczos comes from below: a little more is on the safe side.
        return 1.001 * float(eigsh(H, k=1, v0=start, tol=1e-4, return_eigenvectors=False)[0])

    def _pass(self, z: FloatArray, Y: FloatArray | None) -> tuple[float, FloatArray]:
        """Compute Σ s r² and the gradient of −P, for the residuals r = Y − f(z); Y = None stands
        for 0."""
        at, bias = self.coordinates, self.coordinates.free_bias
        theta, theta0 = at.model(z)

        def read(span: slice) -> tuple[float, FloatArray, FloatArray]:
            rows, s = row_block(self.X, span), self.shares[span]
            values = np.asarray(rows @ theta.T) + theta0
            residuals = -values if Y is None else Y[span] - values
            weighted = residuals * s[:, None]
            total = float(np.sum(weighted * residuals))
            return total, np.asarray(rows.T @ weighted), weighted.sum(axis=0)

        squares, back, sums = 0.0, np.zeros(theta.T.shape), np.zeros(len(theta))
        for a, b, c in self.each(read, self.spans):
            squares, back, sums = squares + a, back + b, sums + c
        v = z[bias:]
        inner = at.stretch[:, None] * (back - np.outer(at.centre, sums)) - self.lam * v
        return squares, np.vstack([sums[None, :], inner]) if bias else inner


def standardizing(mean: FloatArray, deviation: FloatArray, free_bias: bool) -> Coordinates:
    """Return columns of zero mean and unit deviation; without a bias they are only scaled."""
    centre = mean if free_bias else np.zeros_like(mean)
    return Coordinates(centre, deviation, free_bias)
