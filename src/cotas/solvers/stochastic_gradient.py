"""Stochastic descent for least squares and ridge: Algorithms 6 and 7 of Fuentes Cabrera."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, dot, n_vectors
from cotas.loops import loop
from cotas.solvers.run import NO_WEIGHTS, weight

# Below this the factor of θ is multiplied into w, long before anything could underflow.
SMALLEST_SCALE = 1e-9


class RunState(NamedTuple):
    """The state θ = scale · w and θ₀, one row for each target."""

    w: FloatArray
    b: FloatArray
    scale: FloatArray

    def model(self) -> tuple[FloatArray, FloatArray]:
        """Compute θ and θ₀."""
        return self.scale[:, None] * self.w, self.b.copy()


def new_descent(targets: int, features: int) -> RunState:
    """Compute θ = 0, θ₀ = 0."""
    return RunState(np.zeros((targets, features)), np.zeros(targets), np.ones(targets))


@loop
def stochastic_pass(
    rows: Design,
    Y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    order: IntArray,
    steps: FloatArray,
    batch: int,
    state: RunState,
    c: int,
) -> float:
    """Return one step for each batch of `order`, on target c; returns Σ r², each r as it was met.

        min  ½ Σ sᵢ(yᵢ − θ·xᵢ − θ₀)² + (λ/2)‖θ‖²

        θ ← (1 − λη)θ + η · mean of (yᵢ − θ·xᵢ − θ₀)xᵢ,     θ₀ ← θ₀ + η · mean of (yᵢ − θ·xᵢ − θ₀)

    Algorithm 6 of Fuentes Cabrera with λ = 0, Algorithm 7 with λ > 0, both with batches of one; the
    mini-batches of Moreno Chávez with more. Departures: a bias, which is not penalized; a weight
    is n·sᵢ and multiplies the residual.
    Invariant: the residuals of a batch are all taken before it moves θ.
    Cost: O(nnz) a pass; the shrinking of θ costs O(1) since θ = scale · w.
    """
    w, b, scale = state.w[c], state.b[c], state.scale[c]
    residuals = np.empty(batch)
    met = 0.0
    for q in range(len(steps)):
        eta, start = steps[q], q * batch
        size = min(batch, len(order) - start)
        total = 0.0
        for p in range(size):
            i = order[start + p]
            r = Y[i, c] - scale * dot(rows, i, w) - b
            residuals[p] = weight(weights, i) * r
            met += residuals[p] * r
            total += residuals[p]
        scale *= 1.0 - eta * lam
        if abs(scale) < SMALLEST_SCALE:
            w *= scale
            scale = 1.0
        # Divided once for the batch, and before the residuals are known: the next step waits.
        each, of_bias = eta / (scale * size), eta * bias / size
        for p in range(size):
            add(rows, order[start + p], each * residuals[p], w)
        b += of_bias * total
    state.b[c] = b
    state.scale[c] = scale
    return met


class PassOverRows(NamedTuple):
    """Facts known after an epoch without another look at the data."""

    done: int  # steps made so far
    loss: float  # the mean of ½r² over the examples as they were met, added up over the targets
    length: float  # Σ η, the way that a gradient of length one would have gone


class Sampling(NamedTuple):
    """A way to draw the examples, and in batches of how many."""

    batch: int
    replacement: bool
    shuffle: bool

    def order(self, examples: IntArray, random: np.random.RandomState) -> IntArray:
        """Return the examples of one epoch."""
        if self.replacement:
            return examples[random.randint(0, len(examples), size=len(examples))]
        return random.permutation(examples) if self.shuffle else examples


class StepPlan(NamedTuple):
    """The examples of an epoch in their order, the step of each batch, and the size of a batch."""

    order: IntArray
    etas: FloatArray
    batch: int

    def batches(self) -> Iterator[StepPlan]:
        """Yield the same, one batch at a time."""
        for q in range(len(self.etas)):
            some = slice(q * self.batch, (q + 1) * self.batch)
            yield StepPlan(self.order[some], self.etas[q : q + 1], self.batch)


class StochasticDescent(NamedTuple):
    """The data and the problem; `steps(k)` gives η for an array k of times."""

    rows: Any
    Y: FloatArray
    weights: FloatArray | None
    lam: float
    bias: float
    steps: Any
    sampling: Sampling

    def plans(self, random: np.random.RandomState, done: int = 0) -> Iterator[StepPlan]:
        """Yield the epochs without end, after so many steps."""
        n, weights = n_vectors(self.rows), self.weights
        kind = np.int32 if n < 2**31 else np.int64
        used = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
        examples = used.astype(kind)
        batch = min(self.sampling.batch, len(examples))
        while True:
            order = self.sampling.order(examples, random)
            times = np.arange(done + 1, done + 1 + -(-len(order) // batch))
            yield StepPlan(order, self.steps(times), batch)
            done += len(times)

    def follow(self, plan: StepPlan, state: RunState) -> float:
        """Make the steps of the plan; Σ r² over the targets, each r as it was met."""
        weights = NO_WEIGHTS if self.weights is None else self.weights
        given = (self.rows, self.Y, weights, self.lam, self.bias, *plan)
        return sum(stochastic_pass(*given, state, c) for c in range(self.Y.shape[1]))

    def epochs(
        self, random: np.random.RandomState, state: RunState, done: int = 0
    ) -> Iterator[PassOverRows]:
        """Yield epochs without end."""
        for plan in self.plans(random, done):
            met = self.follow(plan, state)
            done += len(plan.etas)
            yield PassOverRows(done, 0.5 * met / len(plan.order), float(plan.etas.sum()))
