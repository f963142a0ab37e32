"""The state of an online run, and what all online algorithms share inside their loops.

Every algorithm here moves θ by multiples of yᵢxᵢ, so the whole run is summed up by one number
for each example: the *ledger*. For the perceptron and PEGASOS it counts how often the example
moved θ, for the passive-aggressive algorithm it adds up the steps. The ledger is what the
checker later uses to rebuild θ from the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.design import Design, add
from cotas.loops import generic, loop


class Run(NamedTuple):
    """The state that a pass over the examples changes: one row for each class trained against the
    rest."""

    positive: IntArray  # the code of the class that counts as +1
    w: FloatArray  # θ = scale · w
    b: FloatArray  # θ₀
    scale: FloatArray  # PEGASOS shrinks all of θ at each step by changing this one number
    seen: IntArray  # examples presented so far
    mistakes: IntArray  # presentations with y(θ·x + θ₀) ≤ 0
    updates: IntArray  # presentations that moved θ towards yx
    ledger: AnyArray


class Average(NamedTuple):
    """Sums needed to average all the vectors θ of the run without visiting each.

    The sum of all θ is weight · w − Average.w, w being the one of the Run: an update that comes
    after a total weight A was already spent must not count for that past, so A times the update
    is set aside here. Perceptron and passive-aggressive spend weight 1 for each example.
    """

    w: FloatArray
    b: FloatArray  # for PEGASOS the plain sum of all θ₀
    weight: FloatArray
    ledger: AnyArray


def new_run(
    positive: IntArray, n_features: int, n_examples: int, ledger_type: np.dtype[Any]
) -> Run:
    """Return a run that starts at θ = 0, θ₀ = 0. The ledger has the precision of the data."""
    k = len(positive)
    return Run(
        positive=positive,
        w=np.zeros((k, n_features)),
        b=np.zeros(k),
        scale=np.ones(k),
        seen=np.zeros(k, dtype=np.int64),
        mistakes=np.zeros(k, dtype=np.int64),
        updates=np.zeros(k, dtype=np.int64),
        ledger=np.zeros((k, n_examples), dtype=ledger_type),
    )


def new_average(run: Run, keep_ledger: bool) -> Average:
    """Return an average that starts with the run."""
    ledger = np.zeros_like(run.ledger) if keep_ledger else run.ledger[:, :0].copy()
    k = len(run.b)
    return Average(np.zeros_like(run.w), np.zeros(k), np.zeros(k), ledger)


@loop
def sign(labels: IntArray, i: int, positive: int) -> float:
    """Compute +1 for the class being trained, −1 for the rest."""
    return 1.0 if labels[i] == positive else -1.0


# An array too, so that the same compiled loop serves whoever gives none.
NO_WEIGHTS = np.empty(0)


@loop
def weight(weights: FloatArray, i: int) -> float:
    """Return the weight of example i; 1 where the array is empty."""
    return weights[i] if len(weights) else 1.0


@generic
def set_aside(
    average: Any, c: int, rows: Design, i: int, past: float, a: float, bias: float, entry: float
) -> None:
    """Note that θ ← θ + a xᵢ, θ₀ ← θ₀ + a·bias, ledgerᵢ ← ledgerᵢ + entry came after `past`."""


@set_aside.when(type(None))
def nothing_to_set_aside(
    average: None, c: int, rows: Design, i: int, past: float, a: float, bias: float, entry: float
) -> None:
    return


@set_aside.when(Average)
def set_aside_update(
    average: Average, c: int, rows: Design, i: int, past: float, a: float, bias: float, entry: float
) -> None:
    add(rows, i, past * a, average.w[c])
    average.b[c] += past * a * bias
    average.ledger[c, i] += past * entry


@generic
def learn(
    rule: Any,
    rows: Design,
    labels: IntArray,
    weights: FloatArray,
    order: IntArray,
    steps: FloatArray,
    run: Run,
    average: Any,
    c: int,
) -> None:
    """Present the examples of `order` to class c of the run: the algorithm itself."""


@loop
def learn_classes(
    rule: Any,
    rows: Any,
    labels: IntArray,
    weights: FloatArray,
    order: IntArray,
    steps: FloatArray,
    run: Run,
    average: Any,
    classes: IntArray,
    tile: int,
) -> None:
    """Present the examples of `order` to each of the classes, `tile` examples at a time.

    While a tile is in the cache all the classes look at it, so X is read from memory once and
    not once for each class. Each class sees every example in the same order as if it were alone.
    """
    for start in range(0, len(order), tile):
        stop = min(start + tile, len(order))
        for c in classes:
            learn(
                rule, rows, labels, weights, order[start:stop], steps[start:stop], run, average, c
            )
