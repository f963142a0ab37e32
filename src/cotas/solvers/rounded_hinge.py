"""The rows of the support vector machine when a parabola rounds the hinge off.

With a centre cᵢ for each αᵢ and a smoothing ν, each row answers to its e = y(θ·x + θ₀) − 1 with

    α = s·clip(c/s − e/2ν, 0, 1),

which is minus the slope of its rounded loss. The second derivative is s/2ν where 0 < α < s, in
the *curved* rows, and zero in all the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray, IntArray
from cotas.design import Dense, Design, add, add_outer, add_squares, dot, n_features, n_vectors
from cotas.loops import loop
from cotas.rounds import FIRST_CENTRE, Rounds
from cotas.solvers.newton_round import RowState, respond, set_direction, slope

# The rows are summed up in so many spans, whatever the number of threads, so that runs repeat;
# in few of them where each sum is long, or where there is little to be summed up.
SPANS, SPANS_OF_LONG_ROWS, LONG, A_SPAN = 8, 2, 1000, 1 << 14
# Rows with fewer entries than this part of the features are summed up entry by entry.
FEW_ENTRIES = 0.25
BLOCK_BYTES = 1 << 20


@loop
def recall(rows: Design, y: FloatArray, rounds: Rounds, centre: FloatArray) -> None:
    """Compute α/s of each row at the end of these rounds, the first of which begins at
    `FIRST_CENTRE`."""
    for i in range(n_vectors(rows)):
        part = FIRST_CENTRE
        for k in range(len(rounds.biases)):
            e = y[i] * (dot(rows, i, rounds.thetas[k]) + rounds.biases[k]) - 1.0
            part = min(max(part - e / (2.0 * rounds.smoothings[k]), 0.0), 1.0)
        centre[i] = part


@loop
def scale_rows(rows: Design, weights: FloatArray, curved: IntArray, scaled: FloatArray) -> None:
    """Write the curved rows times √s, in full."""
    scaled[:] = 0.0
    for r in range(scaled.shape[0]):
        add(rows, curved[r], np.sqrt(weights[curved[r]]), scaled[r])


@loop
def add_gram(rows: Design, weights: FloatArray, curved: IntArray, gram: FloatArray) -> None:
    """Add up the lower triangle of Σ sᵢxᵢxᵢᵀ over the curved rows, entry by entry."""
    for i in curved:
        add_outer(rows, i, weights[i], gram)


@loop
def add_border(rows: Design, weights: FloatArray, curved: IntArray, border: FloatArray) -> float:
    """Compute Σ sᵢxᵢ over the curved rows; returns Σ sᵢ."""
    total = 0.0
    for i in curved:
        add(rows, i, weights[i], border)
        total += weights[i]
    return total


@loop
def add_diagonal(rows: Design, weights: FloatArray, curved: IntArray, diagonal: FloatArray) -> None:
    """Add up Σ sᵢxᵢ² over the curved rows."""
    for i in curved:
        add_squares(rows, i, weights[i], diagonal)


@loop
def bend(
    rows: Design,
    weights: FloatArray,
    curved: IntArray,
    theta: FloatArray,
    theta0: float,
    bent: FloatArray,
) -> float:
    """Compute Σ sᵢ(θ·xᵢ + θ₀)xᵢ over the curved rows; returns Σ sᵢ(θ·xᵢ + θ₀)."""
    total = 0.0
    for i in curved:
        pressed = weights[i] * (dot(rows, i, theta) + theta0)
        add(rows, i, pressed, bent)
        total += pressed
    return total


def sum_up_curved(rows: Any, weights: FloatArray, curved: IntArray, gram: FloatArray) -> None:
    """Add Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows, the lower triangle of it at least."""
    n, d = n_vectors(rows), n_features(rows)
    gram[d, d] += add_border(rows, weights, curved, gram[d, :d])
    if not isinstance(rows, Dense) and len(rows.data) < FEW_ENTRIES * n * d:
        add_gram(rows, weights, curved, gram[:d, :d])
        return
    size = int(np.clip(BLOCK_BYTES // (8 * d), 256, 8192))
    scaled = np.empty((min(size, len(curved)), d))
    for first in range(0, len(curved), size):
        block = scaled[: len(curved[first : first + size])]
        scale_rows(rows, weights, curved[first : first + size], block)
        gram[:d, :d] += block.T @ block


@dataclass(frozen=True)
class Response:
    """The response of all rows to a θ: Σ αᵢyᵢxᵢ, Σ αᵢyᵢ, Σ sᵢ max(0, −eᵢ), Σ αᵢ, the curved
    rows."""

    combination: FloatArray
    balance: float
    loss: float
    total: float
    curved: list[IntArray]


class HingeRows:
    """The rows and what is known of them, gone over in spans."""

    def __init__(
        self, rows: Any, y: FloatArray, weights: FloatArray, each: Each, spans: int | None = None
    ) -> None:
        self.rows, self.each = rows, each
        n, d = n_vectors(rows), n_features(rows)
        self.n_features = d
        centre, part, slack, slack_change = (
            np.full(n, FIRST_CENTRE),
            np.zeros(n),
            np.empty(n),
            np.empty(n),
        )
        self.state = RowState(y, weights, centre, part, slack, slack_change)
        self.combination = np.zeros(d)
        most = SPANS if d <= LONG else SPANS_OF_LONG_ROWS
        spans = spans or min(most, 1 + n * d // A_SPAN, n)
        self.spans = [slice(n * k // spans, n * (k + 1) // spans) for k in range(spans)]

    @property
    def alpha(self) -> FloatArray:
        """Return α as it is now."""
        return self.state.weights * self.state.part

    def place(self, theta: FloatArray, theta0: float) -> None:
        """Compute e at this θ."""
        if theta.any():
            self.set_direction(theta, theta0)
        else:  # as at the start: no loop need be compiled for that
            np.multiply(self.state.y, theta0, out=self.state.slack_change)
        np.subtract(self.state.slack_change, 1.0, out=self.state.slack)

    def set_direction(self, theta: FloatArray, theta0: float) -> None:
        """Compute how e changes in this direction."""

        def one(span: slice) -> None:
            set_direction(self.rows, self.state, theta, theta0, span.start, span.stop)

        list(self.each(one, self.spans))

    def move(self, length: float) -> None:
        """Move so far in the direction that was looked along."""
        self.state.slack[:] += length * self.state.slack_change

    def recentre(self) -> None:
        """Move the centres to where α is now."""
        self.state.centre[:] = self.state.part

    def respond(self, nu: float) -> Response:
        """Compute α and all the sums at the present e."""

        def one(span: slice) -> tuple[IntArray, FloatArray, float, float, float]:
            curved = np.empty(span.stop - span.start, dtype=np.int64)
            change = np.zeros(self.n_features)
            count, loss, total, balance = respond(
                self.rows, self.state, nu, span.start, span.stop, curved, change
            )
            return curved[:count].copy(), change, loss, total, balance

        parts = list(self.each(one, self.spans))
        self.combination = self.combination + np.sum([part[1] for part in parts], axis=0)
        loss, total, balance = (float(sum(part[k] for part in parts)) for k in (2, 3, 4))
        return Response(self.combination, balance, loss, total, [part[0] for part in parts])

    def slope(self, nu: float, length: float) -> float:
        """Compute Σ αᵢ·turnᵢ after a step of this length."""
        parts = self.each(
            lambda span: slope(self.state, nu, length, span.start, span.stop), self.spans
        )
        return float(sum(parts))

    def gram(self, curved: list[IntArray]) -> FloatArray:
        """Compute Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows, the lower triangle of it at least."""
        d, weights = self.n_features, self.state.weights

        def one(some: IntArray) -> FloatArray:
            part = np.zeros((d + 1, d + 1))
            sum_up_curved(self.rows, weights, some, part)
            return part

        return np.asarray(sum(self.each(one, curved)))

    def diagonal(self, curved: list[IntArray]) -> FloatArray:
        """Compute Σ sᵢ(xᵢ, 1)² over the curved rows."""

        def one(some: IntArray) -> FloatArray:
            part = np.zeros(self.n_features + 1)
            part[-1] = self.state.weights[some].sum()
            add_diagonal(self.rows, self.state.weights, some, part[:-1])
            return part

        return np.asarray(sum(self.each(one, curved)))

    def bend(self, curved: list[IntArray], direction: FloatArray) -> FloatArray:
        """Compute Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows, times a direction."""

        def one(some: IntArray) -> FloatArray:
            part = np.zeros(len(direction))
            theta, theta0 = direction[:-1], float(direction[-1])
            part[-1] = bend(self.rows, self.state.weights, some, theta, theta0, part[:-1])
            return part

        return np.asarray(sum(self.each(one, curved)))
