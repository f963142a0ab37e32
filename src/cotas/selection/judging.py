"""What models answer about rows that they were not trained on, how wrong it is, and their mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.fitting.deciding import brier_scores
from cotas.selection.blend import answers

# A model that counts for less takes longer than it is worth.
LEAST_SHARE = 0.02


class Judge:
    """The truth about rows, which answers are compared with: a label or a number for each.

    Rows with the same group are one draw.
    """

    def __init__(self, y: AnyArray, classes: bool, groups: AnyArray | None = None) -> None:
        self._y, self._labels = y, np.unique(y) if classes else None
        self._groups = groups

    def answers(self, model: Any, X: Matrix) -> FloatArray:
        """What a `Blend` would count: numbers, or probabilities of all the labels there are.

        A label that the model was not shown has the probability zero.
        """
        found = answers(model, X)
        if self._labels is None:
            return found
        everywhere = np.zeros((len(found), len(self._labels)))
        everywhere[:, np.searchsorted(self._labels, model.classes_)] = found
        return everywhere

    def error(self, answers: FloatArray, rows: IntArray) -> float:
        """The share of mistakes, or the root of the mean square."""
        if self._labels is None:
            return float(np.sqrt(np.mean((answers - self._y[rows]) ** 2)))
        return float(np.mean(self._labels[answers.argmax(axis=1)] != self._y[rows]))

    def shares(self, rivals: Sequence[FloatArray], rows: IntArray) -> FloatArray:
        """The weights of the mean of these answers that has the smallest sum of squares.

        They are not negative and sum to one (Breiman 1996); most are zero. The squares are those of
        the numbers, or of the probabilities: Brier's score.
        """
        truth = self._truth(rows)
        off = np.stack([(one - truth).ravel() for one in rivals], axis=1)
        largest = np.abs(off).max()
        if largest == 0 or not np.isfinite(largest):  # nothing to choose by
            return np.asarray(np.eye(len(rivals))[0])
        off /= largest
        # Σ wⱼ(aⱼ − t) is the error of the mean, since the weights sum to one: the row added to a
        # factor of the squares asks for that, and the shares of what comes out are the solution.
        factor = np.linalg.qr(off, mode="r")
        asked = float(np.abs(factor).max())
        system = np.vstack([factor, np.full(off.shape[1], asked)])
        found, _ = nnls(system, np.append(np.zeros(len(factor)), asked))
        kept = np.where(found >= LEAST_SHARE * found.sum(), found, 0.0)
        return np.asarray(kept / kept.sum())

    def is_better(self, new: FloatArray, old: FloatArray, rows: IntArray) -> bool:
        """Whether the squares of new answers are smaller by more than a standard error.

        A row that was answered several times counts once, and so do the rows of a group.
        """
        gains = self.squares(old, rows) - self.squares(new, rows)
        draws = rows if self._groups is None else self._groups[rows]
        each = np.bincount(np.unique(draws, return_inverse=True)[1], gains)
        return bool(len(each) > 1 and each.mean() > each.std(ddof=1) / np.sqrt(len(each)))

    def squares(self, answers: FloatArray, rows: IntArray) -> FloatArray:
        """The squared error of each answer, for classes Brier's score."""
        if self._labels is not None:
            return brier_scores(self._truth(rows), answers)
        return np.asarray((answers - self._truth(rows)) ** 2)

    def _truth(self, rows: IntArray) -> FloatArray:
        """The numbers, or a one in the column of the label."""
        if self._labels is None:
            return self._y[rows].astype(np.float64)
        return np.asarray(self._y[rows][:, None] == self._labels, dtype=np.float64)
