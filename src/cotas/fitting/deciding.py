"""From the scores of a classifier to its decision function and its labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cotas.fitting.from_source import accuracy
from cotas.source import MatrixLike, comes_in_blocks, source_of


class Deciding(ClassifierMixin):
    """A classifier with one score for each class, or one for two of them."""

    classes_: AnyArray

    def _decided(self, scores: FloatArray) -> FloatArray:
        """Return the decision function: a vector with two classes, a column for each with more."""
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def _chosen(self, decision: FloatArray) -> AnyArray:
        """Return the label that a decision is for."""
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[chosen])


class DecidingInBlocks(Deciding):
    """One whose rows may also come from a source; it has `decision_function` and `_of_source`."""

    def predict(self, X: MatrixLike) -> AnyArray:
        """Return the class of each row; a score of exactly zero belongs to the first class (−1).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        model: Any = self
        if comes_in_blocks(X):
            return model._of_source(X, "predict")  # type: ignore[no-any-return]
        return self._chosen(model.decision_function(X))

    def score(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`, the rows weighted where weights are given.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source has y and the weights itself.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        if (source := source_of(X, y, sample_weight)) is not None:
            return accuracy(self, source)
        return float(super().score(X, y, sample_weight))


def brier_scores(truth: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Compute Brier's score of each row, halved for two classes; `truth` has a one in each row."""
    off = np.square(probabilities - truth).sum(axis=1)
    return np.asarray(off / (2 if probabilities.shape[1] == 2 else 1))


def shared_by_all(codes: IntArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Tell whether all scores between `low` and `high` give the class with the code predicted.

    One column for each class; a single column is the score of the second of two.
    """
    if low.shape[1] == 1:
        return np.where(codes == 1, low[:, 0] > 0, high[:, 0] <= 0)
    own = np.take_along_axis(low, codes[:, None], axis=1)[:, 0]
    others = high.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    return np.asarray(own > others.max(axis=1))
