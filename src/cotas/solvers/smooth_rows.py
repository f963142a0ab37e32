"""The mean loss of rows as a function of (θ, θ₀): in memory, and as a sum over blocks of a source.

Newton's methods ask a *place*, which is the loss at one point: for its value, its gradient and its
second derivatives there, and for the places along a step. Rows in memory keep their scores, so
that to go along a step costs no product with X. Of a source nothing is kept: a place is a pass, in
which each part of a block answers as rows in memory do, and the answers are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add, methodcaller
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.design.blocks import (
    BLOCK_BYTES,
    row_block,
    row_spans,
    times,
    times_transposed,
)
from cotas.solvers.bordered_gram import bordered, bordered_parts, weighted_gram
from cotas.solvers.losses import Logistic
from cotas.solvers.risks import Local, LogisticRisk, RowRisk, SoftmaxLoss
from cotas.source import Block, Source, Sums

# Up to so many unknowns the Newton system is formed and factorized; above, it is solved by
# conjugate gradients. In memory they count once for each score: its matrices cost more than they.
LARGEST_SYSTEM = 1000
EPS = 2.0**-52
# A step that is shortened to this part of itself was not worth the passes.
SHORTEST = 1e-10
# Multiples of the dual point whose entropies tell that at others near one.
NEAR = (1.0, 0.99)
# The coefficients of a working set: features and scores.
Used: TypeAlias = tuple[IntArray, IntArray]


def rows_with(
    X: Matrix | Source, loss: Any, bias: bool, corners: bool = False
) -> RowsInMemory | RowsInBlocks:
    """Return the loss of all rows; of a source, `loss` is that of any of them, such as `RowLosses`.

    `corners` says whether the penalty has some: then entropies will be asked for.
    """
    if isinstance(X, Source):
        return RowsInBlocks(X, loss, bias, corners)
    return RowsInMemory(X, loss, bias)


# ---- rows in memory ----------------------------------------------------------------------------


class RowsInMemory:
    """The loss of rows in memory, whose scores are kept."""

    # Halving a step costs next to nothing, and so does a conjugate direction beside the matrix.
    shorter, roughest, directions, most_used = 0.5, 0.0, 500, np.inf

    def __init__(self, X: Matrix, loss: Any, bias: bool) -> None:
        self.X, self.loss, self.bias = X, loss, float(bias)
        self.shape = (X.shape[1] + 1, loss.columns)
        self.small = self.shape[0] * self.shape[1] ** 2 <= LARGEST_SYSTEM

    @cached_property
    def few(self) -> FloatArray | None:
        """Return (X, 1) if X is dense and so small that a step takes less time than to form it."""
        if sparse.issparse(self.X) or 8 * self.X.size > BLOCK_BYTES:
            return None
        return bordered(self.X, self.bias)

    def parts(self) -> Iterator[tuple[slice, Matrix]]:
        """Return (x, 1) of some rows at a time; sparse ones stay so where that is faster."""
        if self.few is not None:
            yield slice(0, len(self.few)), self.few
            return
        yield from bordered_parts(self.X, self.bias)

    def scores(self, point: FloatArray) -> FloatArray:
        """Compute Xθ + θ₀"""
        if self.few is not None:
            return np.asarray(self.few @ point)
        return np.asarray(times(self.X, point[:-1]) + point[-1] * self.bias)

    def gathered(self, slopes: FloatArray) -> FloatArray:
        """Compute (X, 1)ᵀ · slopes"""
        if self.few is not None:
            return np.asarray(self.few.T @ slopes)
        return np.vstack([times_transposed(self.X, slopes), self.bias * slopes.sum(axis=0)])

    def at(self, point: FloatArray) -> LossPoint:
        """Return the loss at (θ, θ₀)."""
        scores = self.scores(point)
        return LossPoint(self, scores, self.loss.near(scores))


class LossPoint(NamedTuple):
    """The loss of rows in memory at some scores, and what it is like near them."""

    rows: RowsInMemory
    scores: FloatArray
    local: Local

    @property
    def risk(self) -> float:
        return self.local.risk

    @property
    def slopes(self) -> FloatArray:
        return self.local.slopes

    def gradient(self) -> FloatArray:
        """Compute the gradient by θ and θ₀, which is the last row."""
        return self.rows.gathered(self.local.slopes)

    def second(self) -> FloatArray:
        """Compute the Hessian, (score, coefficient) by (score, coefficient); an array of the
        caller's."""
        n, k = self.rows.shape
        hessian = np.zeros((k, n, k, n))
        for span, rows in self.rows.parts():
            local = self.local.part(span)
            for a in range(k):
                for b in range(a, k):
                    found = weighted_gram(rows, local.second(a, b), a == b)
                    hessian[a, :, b] += found
                    if a != b:
                        hessian[b, :, a] += found
        return hessian

    def second_of(self, used: Used) -> Sums:
        """Compute the Hessian by some coefficients, by these and biases, and by biases."""
        X, local, ((features, classes), k) = self.rows.X, self.local, (used, self.rows.shape[1])
        m = len(features)
        needed, place = np.unique(features, return_inverse=True)
        hessian, border = np.zeros((m, m)), np.zeros((m, k))
        of = [np.flatnonzero(classes == c) for c in range(k)]
        for span in row_spans(X, max(1, len(needed))):
            block = row_block(X, span)[:, needed]
            block = block.toarray() if sparse.issparse(block) else block
            for a in range(k):
                left = block[:, place[of[a]]]
                for b in range(a, k):
                    bent = left * local.second(a, b)[span, None]
                    border[of[a], b] += bent.sum(axis=0)
                    right = left if a == b else block[:, place[of[b]]]
                    hessian[np.ix_(of[a], of[b])] += bent.T @ right
                    if a != b:
                        border[of[b], a] += right.T @ local.second(a, b)[span]
        for a in range(k):
            for b in range(a):
                hessian[np.ix_(of[a], of[b])] = hessian[np.ix_(of[b], of[a])].T
        corner = np.array([[local.second(a, b).sum() for b in range(k)] for a in range(k)])
        return Sums(hessian, border, corner)

    def diagonal(self) -> FloatArray:
        """Compute the diagonal of the Hessian, a column for each score."""
        local, X = self.local, self.rows.X
        own = local.diagonal if local.outer is None else local.diagonal - local.outer**2
        total = np.zeros(self.rows.shape)
        for span in row_spans(X):
            block = row_block(X, span)
            squares = block.multiply(block) if sparse.issparse(block) else np.square(block)
            total[:-1] += squares.T @ own[span]
        total[-1] = self.rows.bias * own.sum(axis=0)
        return total

    def bend(self, direction: FloatArray) -> FloatArray:
        """Return the Hessian times a direction."""
        return self.rows.gathered(self.local.bend(self.rows.scores(direction)))

    def entropy(self, t: float) -> float:
        """Compute the entropy of the probabilities at t times the dual point."""
        return float(self.rows.loss.entropy(self.local.slopes, t))

    def along(self, step: FloatArray) -> Ray:
        """Return the places in this direction."""
        return Ray(self, self.rows.scores(step))


class Ray(NamedTuple):
    """A ray from a place in one direction."""

    place: LossPoint
    moves: FloatArray  # of the scores

    def at(self, length: float) -> LossPoint:
        """Return the place at this part of the step."""
        scores = self.place.scores + length * self.moves
        return LossPoint(self.place.rows, scores, self.place.rows.loss.near(scores))

    def is_spent(self, length: float) -> bool:
        """Tell whether such a part of the step moves no score by more than its last digits."""
        far, scores = np.abs(self.moves).max(), np.abs(self.place.scores).max() or 1.0
        return not length * far > EPS * scores


# ---- rows in blocks ----------------------------------------------------------------------------


@dataclass(frozen=True)
class RowLosses:
    """The loss of any rows of a source whose weights sum to `total`: one score, y being ±1."""

    loss: Any
    total: float
    columns: int = 1

    def of(self, y: AnyArray, s: FloatArray) -> Any:
        """Return the loss of some rows, as a function of their scores."""
        y, s = np.ascontiguousarray(y), s / self.total
        return LogisticRisk(y, s) if isinstance(self.loss, Logistic) else RowRisk(y, s, self.loss)


@dataclass(frozen=True)
class SoftmaxLosses:
    """The same with a score for each class, y being the number of one."""

    columns: int
    total: float

    def of(self, y: AnyArray, s: FloatArray) -> Any:
        """Return the loss of some rows, as a function of their scores."""
        return SoftmaxLoss(np.asarray(y, dtype=np.int64), s / self.total, self.columns)


@dataclass(frozen=True)
class BlockQuery:
    """A query to the rows of a block at a point, some of them at a time, added up."""

    question: Callable[[LossPoint], Any]
    point: FloatArray
    losses: Any
    bias: bool

    def __call__(self, block: Block) -> Any:
        return reduce(add, (self.question(self._place(block, span)) for span in block.spans()))

    def _place(self, block: Block, span: slice) -> LossPoint:
        loss = self.losses.of(block.y[span], block.shares()[span])
        return RowsInMemory(block.X[span], loss, self.bias).at(self.point)


@dataclass(frozen=True)
class Derivatives:
    """The value, the gradient, the Hessian if it is wanted, and the entropies if they are."""

    second: bool
    entropies: bool

    def __call__(self, place: LossPoint) -> Sums:
        found = (place.second() if self.second else 0.0, place.risk, place.gradient())
        return Sums(*found, np.array([place.entropy(t) for t in NEAR] if self.entropies else []))


class RowsInBlocks:
    """The loss of the rows of a source, of which nothing is kept."""

    # A shorter step is a pass, as a conjugate direction is.
    shorter, roughest, directions = 0.25, 0.1, 100

    def __init__(self, source: Source, losses: Any, bias: bool, corners: bool) -> None:
        self.source, self.losses, self.bias, self.corners = source, losses, bias, corners
        self.shape = (source.n_features + 1, losses.columns)
        self.most_used = LARGEST_SYSTEM
        self.small = self.shape[0] * self.shape[1] <= LARGEST_SYSTEM

    def ask(self, question: Callable[[LossPoint], Any], point: FloatArray) -> Any:
        """Return the answers of all rows at a point, in one pass."""
        return self.source.map_reduce(BlockQuery(question, point, self.losses, self.bias))

    def at(self, point: FloatArray) -> BlockPlace:
        """Return the loss at (θ, θ₀)."""
        found = self.ask(Derivatives(self.small, self.corners), point)
        return BlockPlace(self, point, *found)


OF_NO_ROW = np.empty((0, 0))


class BlockPlace(NamedTuple):
    """The loss of a source at a point, as the pass has found it."""

    rows: RowsInBlocks
    point: FloatArray
    hessian: FloatArray
    risk: float
    slope: FloatArray
    entropies: FloatArray
    scores: FloatArray = OF_NO_ROW
    slopes: FloatArray = OF_NO_ROW

    def gradient(self) -> FloatArray:
        """Compute the gradient by θ and θ₀, which is the last row."""
        return self.slope

    def second(self) -> FloatArray:
        """Compute the Hessian, (score, coefficient) by (score, coefficient); an array of the
        caller's."""
        for k in np.flatnonzero(self.hessian[:, -1, :, -1].diagonal() <= 0):
            # A bias that no row holds any more stays near where it is.
            self.hessian[k, -1, k, -1] = 1.0
        return self.hessian

    def second_of(self, used: Used) -> Sums:
        """Compute the Hessian by some coefficients, by these and biases, and by biases; another
        pass if it is large."""
        if not self.rows.small:
            found: Sums = self.rows.ask(methodcaller("second_of", used), self.point)
            return found
        n, k = self.rows.shape
        whole = self.hessian.reshape(k * n, k * n)
        some, biases = used[1] * n + used[0], np.arange(k) * n + n - 1
        return Sums(
            *(whole[np.ix_(a, b)] for a, b in ((some, some), (some, biases), (biases,) * 2))
        )

    def diagonal(self) -> FloatArray:
        """Compute the diagonal of the Hessian, a column for each score; a pass."""
        return np.asarray(self.rows.ask(methodcaller("diagonal"), self.point))

    def bend(self, direction: FloatArray) -> FloatArray:
        """Return the Hessian times a direction; a pass."""
        return np.asarray(self.rows.ask(methodcaller("bend", direction), self.point))

    def entropy(self, t: float) -> float:
        """Compute the entropy of the probabilities at t times the dual point, about, from that at
        two of them."""
        slope = (self.entropies[0] - self.entropies[1]) / (NEAR[0] - NEAR[1])
        return float(self.entropies[0] + (t - NEAR[0]) * slope)

    def along(self, step: FloatArray) -> BlockLine:
        """Return the places in this direction."""
        return BlockLine(self, step)


class BlockLine(NamedTuple):
    """A ray from a place in one direction."""

    place: BlockPlace
    step: FloatArray

    def at(self, length: float) -> BlockPlace:
        """Return the place at this part of the step, in one pass."""
        return self.place.rows.at(self.place.point + length * self.step)

    def is_spent(self, length: float) -> bool:
        """Tell whether no more passes are worth it."""
        return length < SHORTEST
