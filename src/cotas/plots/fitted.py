"""What the pictures ask of a model before they draw it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.refusals import ParameterError
from cotas.source import MatrixLike


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a pipeline or a search; any other model is its own."""
    for _ in range(10):  # a pipeline in a search in a pipeline
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps") and hasattr(model, "named_steps"):
            model = model.steps[-1][1]
        else:
            break
    return model


def require_fitted(model: Any, picture: str) -> None:
    """Raise scikit-learn's NotFittedError for a model that has learnt nothing yet."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        name = type(model).__name__
        raise NotFittedError(
            f"{picture} draws what a model has learnt, and this {name} has learnt nothing yet: "
            "call its fit first."
        ) from error


def named(models: Any, labels: Sequence[str] | None, detail: str = "") -> dict[str, Any]:
    """Return each of one or several models by the name that the legend gives it.

    `detail` is the attribute that tells two models of one class apart.
    """
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    several = list(models) if isinstance(models, list | tuple) else [models]
    if not several:
        raise ParameterError("models", "There is no model to draw: the list is empty.")
    if labels is None:
        labels = [_own_name(model, detail) for model in several]
        if len(set(labels)) < len(labels):
            labels = [f"{name} {k + 1}" for k, name in enumerate(labels)]
    if len(labels) != len(several):
        raise ParameterError(
            "labels", f"labels must hold {len(several)} names, one for each model."
        )
    return dict(zip(map(str, labels), several, strict=True))


def _own_name(model: Any, detail: str) -> str:
    name = type(last_step(model)).__name__
    more = getattr(model, detail, None) if detail else None
    return name if more is None else f"{name} ({more})"


def names_in(X: MatrixLike) -> list[str] | None:
    """Return the names of the columns of a data frame; None for anything else."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


def like(X: Any) -> Callable[[FloatArray], Any]:
    """Make what makes rows of numbers the kind of table that X is, so that a model knows its
    columns."""
    if not hasattr(X, "columns"):
        return lambda rows: rows
    kind, columns = type(X), list(X.columns)
    return lambda rows: kind(dict(zip(columns, np.asarray(rows).T, strict=True)))


def table(X: MatrixLike) -> Any:
    """Compute X as the model gets it: lists become arrays, everything else stays as it is."""
    return np.asarray(X, dtype=np.float64) if isinstance(X, list | tuple) else X


def margins_on(model: Any, X: MatrixLike, y: ArrayLike | None) -> FloatArray:
    """Return the margins of a model on rows and their labels."""
    labels, scores = labels_of(model, y), np.asarray(model.decision_function(table(X)), np.float64)
    return margins_of(scores, labels, model.classes_)


def margins_of(scores: FloatArray, labels: AnyArray, classes: AnyArray) -> FloatArray:
    """Compute y·f(x) of each row; with several classes, its own score less the best of the
    others."""
    if scores.ndim == 1:
        return np.where(labels == classes[1], scores, -scores)
    own = np.searchsorted(classes, labels)
    rows = np.arange(len(own))
    rivals = scores.copy()
    rivals[rows, own] = -np.inf
    return np.asarray(scores[rows, own] - rivals.max(axis=1))


def labels_of(model: Any, y: ArrayLike | None) -> AnyArray:
    """Compute y as a vector, if the model knows all its labels."""
    labels = np.asarray(y).ravel()
    unknown = np.setdiff1d(labels, model.classes_)
    if len(unknown):
        raise ParameterError(
            "y", f"y holds labels that the model does not know: {unknown.tolist()}."
        )
    return labels


def axis_of(values: FloatArray, resolution: int) -> FloatArray:
    """Return evenly spread numbers over the range of the values, and a little beyond."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))  # boosters take NaN
    room = 0.08 * (high - low if high > low else 1.0)
    return np.linspace(low - room, high + room, resolution)


def scores_of(model: Any, grid: Any) -> FloatArray | None:
    """Compute f(x) of a classifier of two classes, zero on the boundary; None if it tells no
    score."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(grid), dtype=np.float64).ravel()
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(grid)[:, 1] - 0.5)
    return None


def codes_of(model: Any, grid: Any, classes: AnyArray) -> IntArray:
    """Return the number of the class that is predicted for each row."""
    return np.asarray(np.searchsorted(classes, model.predict(grid)))


def has_margins(model: Any) -> bool:
    """Tell whether f(x) = ±1 means something: for hyperplanes, in the data or of a feature
    space."""
    return any(hasattr(last_step(model), name) for name in ("dual_coef_", "coef_"))


def leads_of(model: Any, grid: Any, codes: IntArray, count: int) -> list[FloatArray]:
    """Compute for each class a number that is positive where it is chosen, and negative
    elsewhere."""
    own = codes[None, :] == np.arange(count)[:, None]
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(grid), dtype=np.float64)
        if scores.shape == (len(grid), count) and np.array_equal(scores.argmax(axis=1), codes):
            ranked = np.sort(scores, axis=1)
            rival = np.where(own, ranked[:, -2], ranked[:, -1])
            return list(scores.T - rival)
    return list(own - 0.5)


def rows_to_ring(
    model: Any, X: Any, y: AnyArray, classes: AnyArray, margins: bool
) -> tuple[IntArray, str] | None:
    """Return the rows to ring, and what they are called."""
    if hasattr(last_step(model), "support_") and hasattr(last_step(model), "dual_coef_"):
        rows = _flat(last_step(model).support_)
        if len(rows) and rows[-1] >= len(X):
            raise ParameterError(
                "X",
                "The support vectors are rows of the data of the fit, and X has fewer rows. Give "
                "the data of the fit, or rings=False.",
            )
        return rows, "support vectors"
    if len(classes) > 2 or not margins:
        return None
    scores = scores_of(model, X)
    if scores is None:
        return None
    signs = np.where(y == classes[1], 1.0, -1.0)
    return np.flatnonzero(signs * scores < 1), "margin violated"


def _flat(support: Any) -> IntArray:
    """Return the row numbers of one machine or of several, each once."""
    parts = support if isinstance(support, list) else [support]
    return np.unique(np.concatenate([np.asarray(part) for part in parts]))
