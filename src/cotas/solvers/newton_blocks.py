"""Newton's method for smooth losses when the rows come in blocks: every step is a sum over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.solvers.interior_point import factorized
from cotas.solvers.losses import Logistic
from cotas.solvers.newton import LARGEST_SYSTEM, NewtonPoint, newton
from cotas.solvers.risks import Local, LogisticRisk, RowRisk, SoftmaxLoss
from cotas.source import Block, Source, Sums, double

# How exactly conjugate gradients solve a system, and how many of them there are at most.
RESIDUAL, DIRECTIONS = 0.1, 100
# A sample is solved until its gap is this part of its objective: it differs from the whole by more.
SAMPLE_GAP = 1e-4
# Multiples of the dual point whose entropies tell that at others near one.
NEAR = (1.0, 0.99)


class SmoothPoint(NamedTuple):
    """θ and θ₀, a column for each score, the objective there, and about how far above the best."""

    theta: FloatArray
    theta0: FloatArray
    objective: float
    gap: float


# ---- the loss of rows, which are known when their block is there -------------------------------


@dataclass(frozen=True)
class RowLosses:
    """One score for each row, whose y is ±1."""

    loss: Any
    columns: int = 1

    def of(self, y: AnyArray, s: FloatArray) -> Any:
        """The loss of some rows, as a function of their scores."""
        y = np.ascontiguousarray(y)
        return LogisticRisk(y, s) if isinstance(self.loss, Logistic) else RowRisk(y, s, self.loss)


@dataclass(frozen=True)
class SoftmaxLosses:
    """A score for each class and row, whose y is the number of its class."""

    columns: int

    def of(self, y: AnyArray, s: FloatArray) -> Any:
        """The loss of some rows, as a function of their scores."""
        return SoftmaxLoss(np.asarray(y, dtype=np.int64), s, self.columns)


@dataclass(frozen=True)
class Derivatives:
    """Σ s ℓ, its gradient by (θ, θ₀) and its Hessian if it is small, of a block.

    Where the penalty has corners, also the entropy of the probabilities at the multiples of `NEAR`.
    """

    point: FloatArray  # a column of θ for each score, θ₀ in the last row
    losses: Any
    total: float  # Σ of the weights
    with_hessian: bool
    with_entropy: bool = False

    def __call__(self, block: Block) -> Sums:
        rows, k = self.point.shape
        gradient, entropy = np.zeros((rows, k)), np.zeros(len(NEAR))
        hessian = np.zeros((k, rows, k, rows) if self.with_hessian else 0)
        risk = 0.0
        for span in block.spans():
            X, local, loss = self.of_rows(block, span)
            risk += local.risk
            gradient[:-1] += X.T @ local.slopes
            gradient[-1] += local.slopes.sum(axis=0)
            if self.with_hessian:
                add_second(hessian, X, local)
            if self.with_entropy:
                entropy += [loss.entropy(local.slopes, t) for t in NEAR]
        return Sums(risk, gradient, hessian, entropy)

    def of_rows(self, block: Block, span: slice) -> tuple[Matrix, Local, Any]:
        """X of some rows, the loss near their scores, and the loss itself."""
        X = double(block.X[span])
        loss = self.losses.of(block.y[span], block.shares()[span] / self.total)
        z = np.asarray(X @ self.point[:-1]) + self.point[-1]
        return X, loss.near(z), loss


def add_second(hessian: FloatArray, X: Matrix, local: Local) -> None:
    """Σ cᵢ(xᵢ, 1)(xᵢ, 1)ᵀ for each pair of scores, c being their second derivatives."""
    k = len(hessian)
    for a in range(k):
        for b in range(a, k):
            part = _weighted_gram(X, local.second(a, b), a == b)
            hessian[a, :, b] += part
            if a != b:
                hessian[b, :, a] += part


def _weighted_gram(X: Matrix, curved: FloatArray, positive: bool) -> FloatArray:
    """Σ cᵢ(xᵢ, 1)(xᵢ, 1)ᵀ."""
    d = X.shape[1]
    found = np.empty((d + 1, d + 1))
    used = np.flatnonzero(curved)
    if 2 * len(used) < len(curved):
        X, curved = X[used], curved[used]
    found[d, :d] = found[:d, d] = X.T @ curved
    found[d, d] = float(curved.sum())
    if sparse.issparse(X):
        found[:d, :d] = (X.T @ sparse.diags(curved) @ X).toarray()
    elif positive:
        scaled = X * np.sqrt(curved)[:, None]
        found[:d, :d] = scaled.T @ scaled
    else:
        found[:d, :d] = X.T @ (X * curved[:, None])
    return found


@dataclass(frozen=True)
class Bent:
    """The Hessian of a block times a direction, or its diagonal where there is none."""

    at: Derivatives
    direction: FloatArray | None

    def __call__(self, block: Block) -> FloatArray:
        found = np.zeros_like(self.at.point)
        for span in block.spans():
            X, local, _ = self.at.of_rows(block, span)
            if self.direction is None:
                curved = np.stack([local.second(a, a) for a in range(found.shape[1])], axis=1)
                squares = X.multiply(X) if sparse.issparse(X) else X * X
                found[:-1] += squares.T @ curved
                found[-1] += curved.sum(axis=0)
            else:
                moves = np.asarray(X @ self.direction[:-1]) + self.direction[-1]
                pressed = local.bend(moves)
                found[:-1] += X.T @ pressed
                found[-1] += pressed.sum(axis=0)
        return found


class SmoothRisk:
    """Σ sᵢ ℓ of a source as a function of (θ, θ₀), and its Newton systems."""

    def __init__(self, source: Source, total: float, losses: Any, bias: bool) -> None:
        self.source, self.total, self.losses, self.bias = source, total, losses, bias
        self.shape = (source.n_features + 1, losses.columns)
        self.small = self.shape[0] * self.shape[1] <= LARGEST_SYSTEM
        self.kept = np.ones((self.shape[0], 1))
        self.kept[-1] = float(bias)

    def at(self, point: FloatArray, corners: bool = False) -> tuple[Derivatives, Sums]:
        """The value and the derivatives at a point, in one pass."""
        function = Derivatives(point, self.losses, self.total, self.small, corners)
        risk, gradient, hessian, entropy = self.source.map_reduce(function)
        return function, Sums(risk, self.kept * gradient, hessian, entropy)

    def system(self, hessian: FloatArray, own: FloatArray) -> FloatArray:
        """The Hessian with that of the penalty, as a matrix: a score after the other."""
        rows, k = self.shape
        whole = hessian * (self.kept[:, :, None] * self.kept[:, 0])  # (k, rows, k, rows)
        if self.bias and k > 1:
            # Moving all the biases together changes nothing.
            whole[:, -1, :, -1] += 1.0 / k**2
        matrix = whole.reshape(k * rows, k * rows)
        matrix.flat[:: k * rows + 1] += np.tile((own + (1.0 - self.kept))[:, 0], k)
        corner = matrix.diagonal()[rows - 1 :: rows]
        if not (corner > 0).all():
            # A bias that no row holds any more stays where it is.
            stuck = np.flatnonzero(~(corner > 0)) * rows + rows - 1
            matrix[stuck, stuck] = 1.0
        return np.asarray(matrix)


def smooth_over_blocks(
    source: Source, total: float, losses: Any, lam: float, bias: bool, sample: Block | None
) -> Iterator[SmoothPoint]:
    """Newton's method with a line search, for a source whose y is as `losses` has it.

        min Σ sᵢ ℓᵢ(θᵀxᵢ + θ₀) + (λ/2)‖θ‖²,      the weights sᵢ of the source sum to `total`

    It is `newton` with the sums made by the source: one pass for the value, the gradient and the
    Hessian at a point, and one more for each shortening of a step. It begins where the `sample`
    ends. Departures: with very many unknowns each conjugate gradient is a pass.
    Invariant: the objective never rises. It ends when rounding allows no further descent.
    """
    risk = SmoothRisk(source, total, losses, bias)
    own = np.full((risk.shape[0], 1), lam)
    own[-1] = 0.0
    point = np.zeros(risk.shape)
    if sample is not None:
        point = of_sample(newton(sample.X, loss_of(sample, losses), lam, 0.0 if bias else None))

    def at(place: FloatArray) -> tuple[Derivatives, float, FloatArray, FloatArray]:
        function, (value, gradient, hessian, _) = risk.at(place)
        value += 0.5 * float((own * place**2).sum())
        return function, value, gradient + own * place, hessian

    function, objective, gradient, hessian = at(point)
    while True:
        gap = 0.5 * float((gradient**2 / lam).sum())
        yield SmoothPoint(point[:-1].copy(), point[-1].copy(), objective, gap)
        step = _step(risk, function, gradient, hessian, own)
        promised = 0.0 if step is None else float((gradient * step).sum())
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


def loss_of(sample: Block, losses: Any) -> Any:
    """The loss of some rows in memory, whose weights are made to sum to one."""
    s = sample.shares()
    return losses.of(sample.y, s / s.sum())


def of_sample(points: Iterator[NewtonPoint]) -> FloatArray:
    """The solution for some rows in memory."""
    for found in points:
        if found.gap <= SAMPLE_GAP * found.objective:
            break
    return np.vstack([found.theta, found.theta0])


def _step(
    risk: SmoothRisk,
    function: Derivatives,
    gradient: FloatArray,
    hessian: FloatArray,
    own: FloatArray,
) -> FloatArray | None:
    """Hessian⁻¹ · (−gradient)"""
    rows, k = risk.shape
    if risk.small:
        solve = factorized(risk.system(hessian, own))
        return None if solve is None else solve(-gradient.T.ravel()).reshape(k, rows).T
    kept = risk.kept
    diagonal = own + (1.0 - kept) + kept * risk.source.map_reduce(Bent(function, None))
    diagonal = np.where(diagonal > 0, diagonal, 1.0).ravel()

    def times_hessian(flat: FloatArray) -> FloatArray:
        direction = flat.reshape(rows, k)
        bent = risk.source.map_reduce(Bent(function, kept * direction))
        return np.asarray(((own + (1.0 - kept)) * direction + kept * bent).ravel())

    size = rows * k
    step, _ = cg(
        LinearOperator((size, size), matvec=times_hessian, dtype=np.float64),
        -gradient.ravel(),
        rtol=RESIDUAL,
        maxiter=DIRECTIONS,
        M=LinearOperator((size, size), matvec=lambda v: v / diagonal, dtype=np.float64),
    )
    return np.asarray(step.reshape(rows, k))
