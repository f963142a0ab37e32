"""Mean losses as functions of the scores of all the rows: what Newton's method needs to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import entr, logsumexp

from cotas.arrays import FloatArray, IntArray
from cotas.solvers.losses import Logistic, derivatives, total


class Local(NamedTuple):
    """A loss near given scores: one row for each example, one column for each score.

    The second derivative of example i is diag(diagonalᵢ) − outerᵢ outerᵢᵀ.
    """

    risk: float
    slopes: FloatArray
    diagonal: FloatArray
    outer: FloatArray | None = None

    def bend(self, moves: FloatArray) -> FloatArray:
        """Return the second derivatives times the moves of the scores."""
        bent = self.diagonal * moves
        if self.outer is not None:
            bent -= self.outer * (self.outer * moves).sum(axis=1, keepdims=True)
        return bent

    def part(self, span: slice) -> Local:
        """Return the same of some examples, whose share of the risk is not known."""
        outer = None if self.outer is None else self.outer[span]
        return Local(np.nan, self.slopes[span], self.diagonal[span], outer)

    def second(self, k: int, m: int) -> FloatArray:
        """Return the second derivatives by scores k and m."""
        found = self.diagonal[:, k] if k == m else np.zeros(len(self.diagonal))
        return found if self.outer is None else found - self.outer[:, k] * self.outer[:, m]


class ScoreLoss(Protocol):
    """The mean loss as a function of the scores of all examples."""

    @property
    def columns(self) -> int: ...

    def near(self, scores: FloatArray) -> Local:
        """Return value and derivatives at these scores."""
        ...

    def risk(self, scores: FloatArray) -> float:
        """Return the value alone."""
        ...


class MeanLogLoss(ScoreLoss, Protocol):
    """A mean log loss: its dual is the entropy of probabilities."""

    def entropy(self, slopes: FloatArray, t: float) -> float:
        """Compute − Σ sᵢ ℓ*(tvᵢ) for the slopes s·v, 0 ≤ t ≤ 1."""
        ...


@dataclass(frozen=True)
class RowRisk:
    """The risk Σ sᵢ ℓ(yᵢ, zᵢ), one score for each example; `loss` is one of `losses.py` with a
    slope."""

    y: FloatArray
    weights: FloatArray
    loss: Any
    columns: int = field(default=1, init=False)

    def risk(self, scores: FloatArray) -> float:
        return total(self.loss, self.y, self.weights, scores[:, 0])

    def near(self, scores: FloatArray) -> Local:
        slopes, diagonal = np.empty((2, len(self.y), 1))
        given = (self.loss, self.y, self.weights, scores[:, 0])
        return Local(derivatives(*given, slopes[:, 0], diagonal[:, 0]), slopes, diagonal)


@dataclass(frozen=True)
class LogisticRisk(RowRisk):
    """The logistic risk Σ sᵢ log(1 + exp(−yᵢzᵢ)); each slope is the probability of the other
    class."""

    loss: Any = field(default=Logistic(), init=False)

    def entropy(self, slopes: FloatArray, t: float) -> float:
        other = t * np.abs(slopes[:, 0]) / np.where(self.weights > 0, self.weights, 1.0)
        return float(self.weights @ (entr(other) + entr(1.0 - other)))


@dataclass(frozen=True)
class SoftmaxLoss:
    """The softmax loss Σ sᵢ [log Σₖ exp(zᵢₖ) − zᵢ,y₍ᵢ₎], one score for each class; codes are the
    yᵢ."""

    codes: IntArray
    weights: FloatArray
    columns: int

    def risk(self, scores: FloatArray) -> float:
        own = scores[np.arange(len(scores)), self.codes]
        return float(self.weights @ (logsumexp(scores, axis=1) - own))

    def near(self, scores: FloatArray) -> Local:
        rows, top = np.arange(len(scores)), scores.max(axis=1, keepdims=True)
        p = np.exp(scores - top)
        sums = p.sum(axis=1, keepdims=True)
        p /= sums
        risk = float(self.weights @ (top[:, 0] + np.log(sums[:, 0]) - scores[rows, self.codes]))
        diagonal = self.weights[:, None] * p
        slopes = diagonal.copy()
        slopes[rows, self.codes] -= self.weights
        return Local(risk, slopes, diagonal, np.sqrt(self.weights)[:, None] * p)

    def entropy(self, slopes: FloatArray, t: float) -> float:
        q = t * slopes / np.where(self.weights > 0, self.weights, 1.0)[:, None]
        q[np.arange(len(q)), self.codes] += 1.0
        return float(self.weights @ entr(np.maximum(q, 0.0)).sum(axis=1))
