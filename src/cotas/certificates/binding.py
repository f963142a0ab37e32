"""Whether a model predicts what its witnesses say: the proof is of nothing else.

A witness has parameters of its own, and its proof is about them. A model that is loaded from a
file, or that was changed, may compute something else from other arrays. Here both are evaluated on
the rows of the proof and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.certificates.passes import as_rows
from cotas.certificates.verification import UNCHECKED, positive_of
from cotas.source import Block, Source
from cotas.words import again, say

OTHER_SCORES = "The model does not compute what the certificate speaks of."
OTHER_LABELS = "The model does not predict the classes that its certificates speak of."
OTHER_ROWS = "The support vectors of the model are not rows of these data."
# Two ways to compute the same sum differ by rounding, far less than this share of its terms.
SCORE_TOLERANCE = 1e-6
ROWS_AT_A_TIME = 1 << 12
# β, the kernel and the support vectors are compared entry by entry: what is left to compare is
# the arithmetic, and so many rows are enough for that.
KERNEL_ROWS = 1 << 10


@dataclass(frozen=True)
class Comparison:
    """The comparison of a model with some rows: words against it, their labels, and what it makes
    of them.

    `predicted` has each place among the classes that scores point to, with the label predicted
    there.
    """

    words: tuple[str, ...] = ()
    labels: frozenset[Any] = frozenset()
    predicted: frozenset[tuple[int, Any]] = frozenset()

    def __add__(self, other: Comparison) -> Comparison:
        labels, predicted = self.labels | other.labels, self.predicted | other.predicted
        return Comparison(self.words or other.words, labels, predicted)


@dataclass(frozen=True)
class Compare:
    """A comparison of a model with its witnesses on the rows of a block."""

    model: Any
    witnesses: Sequence[Any]

    @np.errstate(all="ignore")  # numbers that are none agree with nothing
    def __call__(self, block: Any) -> Comparison:
        try:
            return self._compared(as_rows(block.X), np.asarray(block.y))
        except UNCHECKED as error:
            return Comparison((_not_predicted(error),))

    def _compared(self, rows: Matrix, y: AnyArray) -> Comparison:
        model, witnesses = self.model, self.witnesses
        if model._foreign_rows(rows):
            return Comparison((say(OTHER_ROWS),))
        scores = model._binary_scores(rows)
        targets = y.shape[1] if y.ndim == 2 else scores.shape[1]
        if scores.shape[1] != targets or not _scores_agree(scores, witnesses, rows):
            return Comparison((say(OTHER_SCORES),))
        if not self.has_labels:
            return Comparison()
        labels = frozenset(np.unique(y).tolist())
        predicted = _predicted_labels(model, WitnessClasses.of(witnesses), scores)
        words = (say(OTHER_LABELS),) if predicted is None else ()
        return Comparison(words, labels, predicted or frozenset())

    @property
    def has_labels(self) -> bool:
        """Tell whether it predicts labels that all its witnesses speak of."""
        return hasattr(self.model, "_chosen") and all(w is not None for w in self.witnesses)

    def concluded(self, found: Comparison) -> list[str]:
        """Say in words what all the rows together say against the model."""
        if found.words or not self.has_labels:
            return [*map(again, found.words)]  # threads have a language of their own
        try:
            labels = WitnessClasses.of(self.witnesses).labels_among(sorted(found.labels))
        except UNCHECKED as error:
            return [_not_predicted(error)]
        if labels and any(labels[place] != label for place, label in found.predicted):
            return [say(OTHER_LABELS)]
        return []


def _not_predicted(error: Exception) -> str:
    return say("The model does not predict these rows: {error}", error=str(error))


def contradictions(
    model: Any, witnesses: Sequence[Any], X: Matrix | Source, y: AnyArray
) -> list[str]:
    """Say in words where the model predicts other than its witnesses say; empty if nowhere.

    The model has `_foreign_rows` and `_binary_scores`; a classifier also `_decided`, from scores
    to its decision function, and `_chosen`, from that to labels. The witnesses are all that it
    has, and None where it has none. X may be a source of row blocks, which has y; it is read once.
    """
    compare = Compare(model, witnesses)
    if isinstance(X, Source):
        return compare.concluded(X.map_reduce(compare))
    return compare.concluded(compare(Block(0, X, y)))


def _scores_agree(scores: FloatArray, witnesses: Sequence[Any], rows: Matrix) -> bool:
    together = len(witnesses) == 1  # one witness may speak of all the columns
    if not together and scores.shape[1] != len(witnesses):
        return False
    return all(
        _agrees(scores if together else scores[:, [k]], witness, rows)
        for k, witness in enumerate(witnesses)
        if witness is not None
    )


def _agrees(scores: FloatArray, witness: Any, rows: Matrix) -> bool:
    """Tell whether these are the values of the witness, up to rounding; NaN is none."""
    some = np.arange(rows.shape[0])
    if hasattr(witness, "kernel"):
        some = some[:: -(-len(some) // KERNEL_ROWS)]
    values, given = outputs(witness, rows, some), scores[some]
    if values.shape != given.shape:
        return False
    off = np.abs(given - values)
    far = np.flatnonzero(~(off <= SCORE_TOLERANCE * np.abs(values)).all(axis=1))
    if not len(far):
        return True
    # A small value may be the sum of large terms.
    return bool((off[far] <= SCORE_TOLERANCE * outputs(witness, rows, some[far], np.abs)).all())


def outputs(
    witness: Any, rows: Matrix, some: IntArray, sign: Callable[[Any], Any] = np.asarray
) -> FloatArray:
    """Return what the parameters of the witness compute of some rows, a column for each function.

    With `sign=np.abs`, the sum of the sizes of the terms.
    """
    if hasattr(witness, "combinations"):
        part = rows if len(some) == rows.shape[0] else rows[some]
        sums = [_sum_of_functions(each, part, sign) for each in witness.combinations]
        return np.asarray(np.stack(sums, axis=1) + sign(np.asarray(witness.intercept)))
    theta, theta0 = sign(np.atleast_2d(witness.coef).T), sign(np.asarray(witness.intercept))
    if hasattr(witness, "kernel"):
        return np.asarray(_expansion(witness.kernel, theta, rows, some, sign) + theta0)
    features = getattr(witness, "features", None)
    found = np.empty((len(some), theta.shape[1]))
    for start in range(0, len(some), ROWS_AT_A_TIME):
        span = slice(start, start + ROWS_AT_A_TIME)
        block = rows[span if len(some) == rows.shape[0] else some[span]]
        block = block.astype(np.float64, copy=False)
        block = block if features is None else features.transform(block)
        found[span] = (block if sign is np.asarray else abs(block)) @ theta
    return np.asarray(found + theta0)


def _expansion(
    kernel: Any, beta: FloatArray, rows: Matrix, some: IntArray, sign: Callable[[Any], Any]
) -> FloatArray:
    support = np.flatnonzero(beta.any(axis=1))
    if sign is not np.asarray:  # |k(x, x′)| ≤ √k(x, x)·√k(x′, x′)
        lengths = np.sqrt(np.abs(kernel.diagonal(rows)))
        return np.asarray(lengths[some, None] * (lengths @ beta))
    total = np.zeros((len(some), beta.shape[1]))
    for start in range(0, len(support), ROWS_AT_A_TIME):
        part = support[start : start + ROWS_AT_A_TIME]
        total += kernel.prepare(rows, part).against(rows[some]) @ beta[part]
    return total


def _sum_of_functions(combination: Any, rows: Matrix, sign: Callable[[Any], Any]) -> FloatArray:
    total = np.zeros(rows.shape[0])
    given = np.asarray(combination.coefficients, np.float64)
    for c, f in zip(given, combination.learners.values(rows), strict=True):
        total += sign(c) * sign(f)
    return total


# ---- labels ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WitnessClasses:
    """The labels that witnesses count as +1, and whether classes are told apart in pairs.

    A witness says which label is its +1. With two classes, or pairs of them, one label has no
    witness: it is the one of y that is left.
    """

    known: list[Any]
    all_known: bool
    paired: bool

    @classmethod
    def of(cls, witnesses: Sequence[Any]) -> WitnessClasses:
        """Return those of a model."""
        together = np.size(getattr(witnesses[0], "classes", ())) > 1
        positives = (
            list(witnesses[0].classes)
            if together
            else [positive_of(getattr(witness, "point", witness)) for witness in witnesses]
        )
        known = list(dict.fromkeys(positives))
        all_known = len(known) == len(positives) > 1
        return cls(known, all_known, len(positives) > 1 and not all_known)

    def __len__(self) -> int:
        return len(self.known) + (not self.all_known)

    def labels_among(self, there: list[Any]) -> list[Any]:
        """Return the labels in the order of the classes; None if the others have no one label."""
        others = [label for label in there if label not in self.known]
        # Where y has one label for all the others, it is about one class against the rest.
        most = 0 if self.all_known else 1
        if len(others) > most and all(label in there for label in self.known):
            raise ValueError(say("it does not know {label!r}", label=others[-1]))
        if self.all_known:
            return self.known
        return [others[0], *self.known] if others else []


def _predicted_labels(
    model: Any, classes: WitnessClasses, scores: FloatArray
) -> frozenset[tuple[int, Any]] | None:
    """Return the label predicted at each place; None if decisions do not follow from scores."""
    decision = model._decided(scores)
    predicted = np.asarray(model._chosen(decision))
    if len(classes) == 2:
        chosen = (scores[:, 0] > 0).astype(int)
        same = decision.ndim == 1 and np.array_equal(decision, scores[:, 0])
    else:
        chosen = np.argmax(decision, axis=1)
        same = _follows(decision, scores, len(classes), classes.paired)
    if not same or predicted.shape != chosen.shape:
        return None
    places = np.unique(chosen).tolist()
    return frozenset((k, label) for k in places for label in set(predicted[chosen == k].tolist()))


def _follows(decision: FloatArray, scores: FloatArray, k: int, paired: bool) -> bool:
    """Tell whether these are the votes of the pairs, the scores, or those less their mean.

    Scores less their mean, times (k − 1)/k, are what a logistic model of several classes has.
    """
    centred = (k - 1) / k * (scores - scores.mean(axis=1, keepdims=True))
    allowed = [_votes(scores, k)] if paired else [scores, centred]
    slack = SCORE_TOLERANCE * np.abs(decision).max(axis=1, keepdims=True, initial=0.0)
    return any(
        decision.shape == expected.shape and bool((abs(decision - expected) <= slack).all())
        for expected in allowed
    )


def _votes(scores: FloatArray, k: int) -> FloatArray:
    """Return the votes of each class, plus or minus less than half a vote by how clear they are."""
    votes, clear = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for column, (first, second) in zip(scores.T, combinations(range(k), 2), strict=True):
        votes[:, second] += column > 0
        votes[:, first] += column <= 0
        clear[:, second] += column
        clear[:, first] -= column
    return np.asarray(votes + clear / (3 * (np.abs(clear) + 1)))
