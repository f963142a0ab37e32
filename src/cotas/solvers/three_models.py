"""Boosting by three models (Schapire 1990; Rugeles Ospina, section 1.1): the first of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.solvers.boosting import Round
from cotas.solvers.weak_learners import WeakLearner


def three_models(
    weak: WeakLearner,
    y: FloatArray,
    s: FloatArray,
    F: FloatArray,
    n_first: int,
    random: np.random.RandomState,
) -> Iterator[Round]:
    """Train h₁ on some examples, h₂ where half are mistakes of h₁, h₃ where both differ; the
    majority.

    The first sample has `n_first` of the rows; the second is drawn from the others, as many that
    h₁ gets wrong as it gets right; the third are all those left where h₁ and h₂ differ.
    Departures: Schapire draws as many examples as he wants from an oracle, and here there are as
    many as there are; where a sample would be empty, its model is the one before. Weights of
    examples count in the training of each model, and not in the draws.
    Invariant: F = h₁ + h₂ + h₃, whose sign is the majority, and which is never zero at the end.
    Cost: three learners.
    """
    left = random.permutation(np.flatnonzero(s > 0))
    first, left = left[:n_first], left[n_first:]
    first_round = _trained(weak, y, s, F, first)
    h1 = F.copy()
    yield first_round
    wrong, right = left[h1[left] != y[left]], left[h1[left] == y[left]]
    half = min(len(wrong), len(right))
    second = np.concatenate([wrong[:half], right[:half]])
    yield _trained(weak, y, s, F, second) if half else _again(y, s, F, h1, first_round)
    h2 = F - h1
    left = np.setdiff1d(left, second)
    third = left[h1[left] != h2[left]]
    yield _trained(weak, y, s, F, third) if len(third) else _again(y, s, F, h1, first_round)


def _trained(
    weak: WeakLearner, y: FloatArray, s: FloatArray, F: FloatArray, rows: IntArray
) -> Round:
    """Return a model of these rows alone, added to F."""
    signed = np.zeros(len(y))
    signed[rows] = y[rows] * s[rows]
    f = weak.edge(signed)
    error = float(np.abs(signed[f.values != y]).sum() / np.abs(signed).sum())
    F += f.values
    return Round((f.learner,), 1.0, error, float(signed @ f.values), _loss(y, s, F))


def _again(y: FloatArray, s: FloatArray, F: FloatArray, h: FloatArray, before: Round) -> Round:
    """Return the first model once more, where there is nothing to train another on."""
    F += h
    return before._replace(loss=_loss(y, s, F))


def _loss(y: FloatArray, s: FloatArray, F: FloatArray) -> float:
    return float(s @ np.exp(-y * F))
