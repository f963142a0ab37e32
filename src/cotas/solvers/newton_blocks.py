"""Newton's method for smooth losses when the rows come in blocks: every step is a sum over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from cotas.arrays import FloatArray, Matrix
from cotas.solvers.interior_point import factorized
from cotas.solvers.losses import derivatives
from cotas.solvers.newton import LARGEST_SYSTEM, newton
from cotas.solvers.risks import RowRisk
from cotas.source import Block, Source, Sums, double

# How exactly conjugate gradients solve a system, and how many of them there are at most.
RESIDUAL, DIRECTIONS = 0.1, 100
# A sample is solved until its gap is this part of its objective: it differs from the whole by more.
SAMPLE_GAP = 1e-4


class BlockPoint(NamedTuple):
    """θ and θ₀, the objective there, and an estimate of how far it is above the best."""

    theta: FloatArray
    theta0: float
    objective: float
    gap: float


@dataclass(frozen=True)
class Derivatives:
    """Σ s ℓ, its gradient by (θ, θ₀) and its Hessian if it is small, of a block; y is ±1."""

    point: FloatArray  # θ, and θ₀ last
    loss: Any
    total: float  # Σ of the weights
    with_hessian: bool

    def __call__(self, block: Block) -> Sums:
        d = len(self.point) - 1
        gradient, hessian = np.zeros(d + 1), np.zeros((d + 1, d + 1) if self.with_hessian else 0)
        risk = 0.0
        for span in block.spans():
            X, _, slopes, curved, value = self._of_rows(block, span)
            risk += value
            gradient[:d] += X.T @ slopes
            gradient[d] += float(slopes.sum())
            if self.with_hessian:
                _add_gram(hessian, X, curved)
        return Sums(risk, gradient, hessian)

    def _of_rows(
        self, block: Block, span: slice
    ) -> tuple[Matrix, FloatArray, FloatArray, FloatArray, float]:
        """X, the scores, slopes and second derivatives, and the sum of the losses."""
        X, y = double(block.X[span]), np.ascontiguousarray(block.y[span])
        s = block.shares()[span] / self.total
        z = np.asarray(X @ self.point[:-1]) + self.point[-1]
        slopes, curved = np.empty(len(y)), np.empty(len(y))
        value = float(derivatives(self.loss, y, s, z, slopes, curved))
        return X, z, slopes, curved, value


def _add_gram(hessian: FloatArray, X: Matrix, curved: FloatArray) -> None:
    """Σ cᵢ(xᵢ, 1)(xᵢ, 1)ᵀ."""
    d = X.shape[1]
    used = np.flatnonzero(curved)
    if 2 * len(used) < len(curved):
        X, curved = X[used], curved[used]
    border = X.T @ curved
    hessian[d, :d] += border
    hessian[:d, d] += border
    hessian[d, d] += float(curved.sum())
    if sparse.issparse(X):
        hessian[:d, :d] += (X.T @ sparse.diags(curved) @ X).toarray()
    else:
        scaled = X * np.sqrt(curved)[:, None]
        hessian[:d, :d] += scaled.T @ scaled


@dataclass(frozen=True)
class Bent:
    """The Hessian of a block times a direction, or its diagonal where there is none."""

    at: Derivatives
    direction: FloatArray | None

    def __call__(self, block: Block) -> FloatArray:
        found = np.zeros(len(self.at.point))
        for span in block.spans():
            X, _, _, curved, _ = self.at._of_rows(block, span)
            if self.direction is None:
                squares = X.multiply(X) if sparse.issparse(X) else X * X
                found[:-1] += squares.T @ curved
                found[-1] += float(curved.sum())
            else:
                pressed = curved * (np.asarray(X @ self.direction[:-1]) + self.direction[-1])
                found[:-1] += X.T @ pressed
                found[-1] += float(pressed.sum())
        return found


def smooth_over_blocks(
    source: Source, total: float, loss: Any, lam: float, bias: bool, sample: Block | None
) -> Iterator[BlockPoint]:
    """Newton's method with a line search, for a source whose y is ±1.

        min Σ sᵢ ℓ(yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²,      the weights sᵢ of the source sum to `total`

    It is `newton` with the sums made by the source: one pass for the value, the gradient and the
    Hessian at a point, and one more for each halving of a step. It begins where the `sample`
    ends. Departures: with very many features each conjugate gradient is a pass.
    Invariant: the objective never rises. It ends when rounding allows no further descent.
    """
    d = source.n_features
    own = np.append(np.full(d, lam), 0.0)
    kept = np.append(np.ones(d), float(bias))
    point = np.zeros(d + 1) if sample is None else _of_sample(sample, loss, lam, bias)

    def at(place: FloatArray) -> tuple[Derivatives, float, FloatArray, FloatArray]:
        function = Derivatives(place, loss, total, d + 1 <= LARGEST_SYSTEM)
        risk, gradient, hessian = source.map_reduce(function)
        value = risk + 0.5 * float(own @ place**2)
        return function, value, kept * gradient + own * place, hessian

    function, objective, gradient, hessian = at(point)
    while True:
        gap = 0.5 * float((gradient**2 / lam).sum())
        yield BlockPoint(point[:-1].copy(), float(point[-1]), objective, gap)
        step = _step(source, function, gradient, hessian, own, kept)
        promised = 0.0 if step is None else float(gradient @ step)
        if step is None or not promised < 0:
            return
        length = 1.0
        while True:
            found = at(point + length * step)
            if found[1] <= objective + 1e-4 * length * promised:
                break
            length /= 4
            if length < 1e-10:
                return  # the last digits are used up
        point = point + length * step
        function, objective, gradient, hessian = found


def _of_sample(sample: Block, loss: Any, lam: float, bias: bool) -> FloatArray:
    """The solution for some rows in memory."""
    s = sample.shares()
    risk = RowRisk(sample.y, s / s.sum(), loss)
    for found in newton(sample.X, risk, lam, 0.0 if bias else None):
        if found.gap <= SAMPLE_GAP * found.objective:
            break
    return np.append(found.theta[:, 0], found.theta0[0] if bias else 0.0)


def _step(
    source: Source,
    function: Derivatives,
    gradient: FloatArray,
    hessian: FloatArray,
    own: FloatArray,
    kept: FloatArray,
) -> FloatArray | None:
    """Hessian⁻¹ · (−gradient)"""
    size = len(gradient)
    if function.with_hessian:
        system = hessian * kept[:, None] * kept + np.diag(own + (1.0 - kept))
        if not system[-1, -1] > 0.0:
            system[-1, -1] = 1.0  # a bias that no row holds any more stays where it is
        solve = factorized(system)
        return None if solve is None else solve(-gradient)
    diagonal = own + (1.0 - kept) + kept * source.map_reduce(Bent(function, None))
    diagonal = np.where(diagonal > 0, diagonal, 1.0)

    def times_hessian(direction: FloatArray) -> FloatArray:
        bent = source.map_reduce(Bent(function, kept * direction))
        return (own + (1.0 - kept)) * direction + kept * bent

    step, _ = cg(
        LinearOperator((size, size), matvec=times_hessian, dtype=np.float64),
        -gradient,
        rtol=RESIDUAL,
        maxiter=DIRECTIONS,
        M=LinearOperator((size, size), matvec=lambda v: v / diagonal, dtype=np.float64),
    )
    return np.asarray(step)
