"""How a fitted model is measured on some rows: its mean loss and its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import get_scorer

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.kernel.base import KernelClassifier
from cotas.linear.base import LinearClassifier
from cotas.losses import Hinge, Squared
from cotas.refusals import ParameterError
from cotas.selection.parameter import final_step

OF_CLASSES = ("hinge", "log", "zero-one")
OF_NUMBERS = ("squared", "absolute")
SMALLEST_PROBABILITY = float(np.finfo(np.float64).tiny)


class Counted(NamedTuple):
    """Means over some rows: the mean loss, the mean of what the error is made of, their weight."""

    loss: float
    error: float
    weight: float


def pooled(all_counts: Sequence[Counted]) -> Counted:
    """Pool several sets of rows."""
    weights = np.array([counts.weight for counts in all_counts])
    losses, errors = (np.array([counts[k] for counts in all_counts]) for k in (0, 1))
    total = float(weights.sum())
    return Counted(float(weights @ losses / total), float(weights @ errors / total), total)


@dataclass(frozen=True)
class Yardstick:
    """A loss for classes or for numbers, or a score of scikit-learn with its sign changed.

    The error is the share of rows that are wrong; for numbers the root of the mean square.
    """

    loss: str
    classifies: bool
    row_loss: Callable[[Any, Any], Any] | None = None
    scorer: Any = None

    def counts(self, model: Any, X: Matrix, y: AnyArray, weights: FloatArray | None) -> Counted:
        """Measure a model on these rows."""
        shares = shares_of(len(y), weights)
        total = float(len(y) if weights is None else weights.sum())
        losses, errors = self.rows(model, X, y)
        if self.scorer is None:
            return Counted(float(shares @ losses), float(shares @ errors), total)
        extra = {} if weights is None else {"sample_weight": weights}
        # The mean over the folds counts each fold once, as scikit-learn's does.
        return Counted(-float(self.scorer(model, X, y, **extra)), float(shares @ errors), 1.0)

    def rows(self, model: Any, X: Matrix, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the loss of each row, and whether it is wrong or the square of what is missing."""
        named = self.row_loss is None and self.scorer is None
        if named and self.loss == "hinge":
            scores = np.asarray(model.decision_function(X), dtype=np.float64)
            losses = mean_hinge(scores, np.searchsorted(model.classes_, y))
            return losses, self._errors(_predicted(model, X, scores), y)
        predicted = model.predict(X)
        errors = self._errors(predicted, y)
        if self.row_loss is not None:
            return self._own(y, predicted), errors
        if named and self.loss == "log":
            p = np.asarray(model.predict_proba(X), dtype=np.float64)
            right = own(p, np.searchsorted(model.classes_, y))
            return -np.log(np.maximum(right, SMALLEST_PROBABILITY)), errors
        if self.loss == "squared":
            return Squared().value(np.sqrt(errors)), errors
        if self.loss == "absolute":
            return _by_row(np.abs(y - np.asarray(predicted).reshape(y.shape))), errors
        return errors, errors

    def _errors(self, predicted: AnyArray, y: AnyArray) -> FloatArray:
        found = np.asarray(predicted).reshape(y.shape)
        if self.classifies:
            return np.asarray(found != y, dtype=np.float64)
        return _by_row(np.square(y - found))

    def _own(self, y: AnyArray, predicted: AnyArray) -> FloatArray:
        assert self.row_loss is not None
        found = np.asarray(self.row_loss(y, predicted), dtype=np.float64)
        if found.shape != (len(y),):
            raise ParameterError("loss", "loss(y, predictions) must return a number for each row.")
        return found

    def error(self, mean: float) -> float:
        """Return the error, from the mean of what it is made of."""
        return mean if self.classifies else float(np.sqrt(mean))


def yardstick(model: Any, n_classes: int, loss: Any, scoring: Any) -> Yardstick:
    """Choose what the model is judged by: as asked, or what suits the task; no classes mean
    numbers."""
    classifies = n_classes > 0
    if scoring is not None:
        if loss is not None:
            raise ParameterError("scoring", "Give loss or scoring, not both.")
        name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        return Yardstick(f"−{name}", classifies, scorer=get_scorer(scoring))
    if callable(loss):
        return Yardstick(getattr(loss, "__name__", "loss"), classifies, row_loss=loss)
    known = OF_CLASSES if classifies else OF_NUMBERS
    name = default_loss(model, n_classes) if loss is None else loss
    if name not in known:
        task = "classes" if classifies else "numbers"
        raise ParameterError(
            "loss", f"loss must be one of {known} for {task}, or a function: {loss!r}."
        )
    needed = {"hinge": "decision_function", "log": "predict_proba"}.get(name)
    if needed and not hasattr(model, needed):
        raise ParameterError("loss", f"loss={name!r} needs a model with `{needed}`.")
    return Yardstick(name, classifies)


def default_loss(model: Any, n_classes: int) -> str:
    """Choose the log loss for probabilities, the hinge for what is trained by it, half the
    square."""
    if not n_classes:
        return "squared"
    if hasattr(model, "predict_proba"):
        return "log"
    last = final_step(model)
    votes = n_classes > 2 and getattr(last, "multiclass", None) == "ovo"
    if isinstance(last, LinearClassifier | KernelClassifier):
        return "zero-one" if votes else "hinge"
    return "hinge" if hasattr(model, "decision_function") else "zero-one"


def shares_of(n: int, weights: FloatArray | None) -> FloatArray:
    """Return weights that sum to one."""
    if weights is None:
        return np.full(n, 1.0 / n)
    total = float(weights.sum())
    if not total > 0:
        raise ParameterError(
            "sample_weight", "sample_weight leaves no row to judge by: all of them weigh nothing."
        )
    return np.asarray(weights / total)


def mean_hinge(scores: FloatArray, codes: AnyArray) -> FloatArray:
    """Compute the hinge of each row; of several classes the mean of their machines, each against
    the rest.

    That is what one against the rest minimizes; that of the difference between two scores is not.
    """
    if scores.ndim == 1:
        return np.asarray(Hinge().value(np.where(codes == 1, scores, -scores)))
    mine = codes[:, None] == np.arange(scores.shape[1])
    return np.asarray(Hinge().value(np.where(mine, scores, -scores)).mean(axis=1))


def own(scores: FloatArray, codes: AnyArray) -> FloatArray:
    """Return the score of the class that each row belongs to."""
    return np.asarray(np.take_along_axis(scores, codes[:, None], axis=1)[:, 0])


def best_other(scores: FloatArray, codes: AnyArray) -> FloatArray:
    """Return the largest score of the other classes."""
    others = scores.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    return np.asarray(others.max(axis=1))


def _predicted(model: Any, X: Matrix, scores: FloatArray) -> AnyArray:
    """Return the class of each row; from the scores, if that is how the model finds it."""
    votes = scores.ndim > 1 and getattr(final_step(model), "multiclass", "") == "ovo"
    if votes or not isinstance(final_step(model), LinearClassifier | KernelClassifier):
        return np.asarray(model.predict(X))
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(model.classes_[codes])


def _by_row(values: FloatArray) -> FloatArray:
    """Return the mean over the targets, where there are several."""
    return values if values.ndim == 1 else np.asarray(values.mean(axis=1))
