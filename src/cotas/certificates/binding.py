"""Whether a model predicts what its witnesses say: the proof is of nothing else.

A witness has parameters of its own, and its proof is about them. A model that is loaded from a
file, or that was changed, may compute something else from other arrays. Here both are evaluated on
the rows of the proof and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.kernel_duality import kernel_times
from cotas.certificates.sweep import as_rows

OTHER_SCORES = "The model does not compute what the certificate speaks of."
OTHER_LABELS = "The model does not predict the classes that its certificates speak of."
OTHER_ROWS = "The support vectors of the model are not rows of these data."
# Two ways to compute the same sum differ by rounding, far less than this share of its terms.
AGREEMENT = 1e-6
ROWS_AT_A_TIME = 1 << 12


def contradictions(model: Any, witnesses: Sequence[Any], X: Matrix, y: AnyArray) -> list[str]:
    """In words, where the model predicts other than its witnesses say; empty if nowhere.

    The model has `_machine_scores`, `_foreign_rows`, `predict` and, of classes, its
    `decision_function`; the witnesses are all that it has, and None where it has none.
    """
    rows = as_rows(X)
    try:
        if model._foreign_rows(rows):
            return [OTHER_ROWS]
        scores = model._machine_scores(rows)
        if not _scores_agree(scores, witnesses, rows):
            return [OTHER_SCORES]
        if hasattr(model, "decision_function") and all(w is not None for w in witnesses):
            classes, paired = _classes(witnesses, y)
            if classes and not _labels_agree(model, classes, paired, scores, rows):
                return [OTHER_LABELS]
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        return [f"The model does not predict these rows: {error}"]
    return []


def _scores_agree(scores: FloatArray, witnesses: Sequence[Any], rows: Matrix) -> bool:
    together = len(witnesses) == 1  # one witness may speak of all the columns
    if not together and scores.shape[1] != len(witnesses):
        return False
    for k, witness in enumerate(witnesses):
        if witness is None:
            continue
        values, sizes = outputs(witness, rows)
        given = scores if together else scores[:, [k]]
        # Written so that NaN is no agreement.
        if given.shape != values.shape or not (abs(given - values) <= AGREEMENT * sizes).all():
            return False
    return True


def outputs(witness: Any, rows: Matrix) -> tuple[FloatArray, FloatArray]:
    """What the parameters of the witness compute of each row, and the sizes of the terms."""
    if hasattr(witness, "combinations"):
        found = [_sum_of_functions(each, rows) for each in witness.combinations]
        return np.stack([f[0] for f in found], axis=1), np.stack([f[1] for f in found], axis=1)
    if hasattr(witness, "combination"):
        values, sizes = _sum_of_functions(witness.combination, rows)
        return values[:, None], sizes[:, None]
    theta, theta0 = np.atleast_2d(witness.coef).T, np.asarray(witness.intercept)
    if hasattr(witness, "kernel"):
        values, sizes = _expansion(witness.kernel, theta, rows)
    elif hasattr(witness, "features"):
        values, sizes = _linear(witness.features.transform(rows), theta)
    else:
        values, sizes = _linear(rows, theta)
    return values + theta0, sizes + np.abs(theta0)


def _linear(rows: Matrix, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, sizes = (np.empty((rows.shape[0], theta.shape[1])) for _ in range(2))
    for start in range(0, rows.shape[0], ROWS_AT_A_TIME):
        span = slice(start, start + ROWS_AT_A_TIME)
        block = rows[span].astype(np.float64)
        values[span], sizes[span] = block @ theta, abs(block) @ np.abs(theta)
    return values, sizes


def _expansion(kernel: Any, beta: FloatArray, rows: Matrix) -> tuple[FloatArray, FloatArray]:
    values = kernel_times(kernel, rows, beta, np.ones(rows.shape[0], dtype=np.bool_))
    lengths = np.sqrt(np.abs(kernel.diagonal(rows)))[:, None]
    return values, np.abs(values) + lengths * (lengths.T @ np.abs(beta))


def _sum_of_functions(combination: Any, rows: Matrix) -> tuple[FloatArray, FloatArray]:
    values, sizes = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    learners = combination.learners.values(rows)
    for c, f in zip(combination.coefficients(), learners, strict=True):
        values += c * f
        sizes += abs(c) * np.abs(f)
    return values, sizes


# ---- labels ------------------------------------------------------------------------------------


def _classes(witnesses: Sequence[Any], y: AnyArray) -> tuple[list[Any], bool]:
    """The labels in the order of the classes, and whether they are told apart in pairs.

    A witness says which label is its +1. With two classes, or pairs of them, one label has no
    witness: it is the one of y that is left. There are no labels if that cannot be said.
    """
    if hasattr(witnesses[0], "classes"):
        return list(witnesses[0].classes), False
    positives = [getattr(witness, "point", witness).positive for witness in witnesses]
    known = list(dict.fromkeys(positives))
    if len(known) == len(positives) > 1:
        return known, False
    others = [label for label in np.unique(np.asarray(y)) if label not in known]
    return [others[0], *known] if len(others) == 1 else [], len(positives) > 1


def _labels_agree(
    model: Any, classes: list[Any], paired: bool, scores: FloatArray, rows: Matrix
) -> bool:
    """Whether `decision_function` follows from the scores, and `predict` from both."""
    decision, predicted = model.decision_function(rows), model.predict(rows)
    if len(classes) == 2:
        chosen = (scores[:, 0] > 0).astype(int)
        same = decision.ndim == 1 and np.array_equal(decision, scores[:, 0])
    else:
        chosen = np.argmax(decision, axis=1)
        same = _follows(decision, scores, len(classes), paired)
    expected = np.array([classes[c] for c in chosen], dtype=np.asarray(predicted).dtype)
    return same and bool(np.array_equal(predicted, expected))


def _follows(decision: FloatArray, scores: FloatArray, k: int, paired: bool) -> bool:
    """Whether these are the votes of the pairs, the scores themselves, or those less their mean.

    Scores less their mean, times (k − 1)/k, are what a logistic model of several classes has.
    """
    centred = (k - 1) / k * (scores - scores.mean(axis=1, keepdims=True))
    allowed = [_votes(scores, k)] if paired else [scores, centred]
    slack = AGREEMENT * np.abs(decision).max(axis=1, keepdims=True, initial=0.0)
    return any(
        decision.shape == expected.shape and bool((abs(decision - expected) <= slack).all())
        for expected in allowed
    )


def _votes(scores: FloatArray, k: int) -> FloatArray:
    """The votes of each class, and less than half a vote more or less by how clear they are."""
    votes, clear = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for column, (first, second) in zip(scores.T, combinations(range(k), 2), strict=True):
        votes[:, second] += column > 0
        votes[:, first] += column <= 0
        clear[:, second] += column
        clear[:, first] -= column
    return np.asarray(votes + clear / (3 * (np.abs(clear) + 1)))
