"""What the pictures ask of a model before they draw it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray


def last_step(model: Any) -> Any:
    """The estimator at the end of a pipeline or a search; any other model is its own."""
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
    """Each of one or several models by the name that the legend gives it.

    `detail` is the attribute that tells two models of one class apart.
    """
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    several = list(models) if isinstance(models, list | tuple) else [models]
    if not several:
        raise ValueError("There is no model to draw: the list is empty.")
    if labels is None:
        labels = [_own_name(model, detail) for model in several]
        if len(set(labels)) < len(labels):
            labels = [f"{name} {k + 1}" for k, name in enumerate(labels)]
    if len(labels) != len(several):
        raise ValueError(f"labels must hold {len(several)} names, one for each model.")
    return dict(zip(map(str, labels), several, strict=True))


def _own_name(model: Any, detail: str) -> str:
    name = type(last_step(model)).__name__
    more = getattr(model, detail, None) if detail else None
    return name if more is None else f"{name} ({more})"


def names_in(X: Any) -> list[str] | None:
    """The names of the columns of a data frame; None for anything else."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


def like(X: Any) -> Callable[[FloatArray], Any]:
    """What makes rows of numbers the kind of table that X is, so that a model knows its columns."""
    if not hasattr(X, "columns"):
        return lambda rows: rows
    kind, columns = type(X), list(X.columns)
    return lambda rows: kind(dict(zip(columns, np.asarray(rows).T, strict=True)))


def table(X: Any) -> Any:
    """X as the model gets it: lists become arrays, everything else stays as it is."""
    return np.asarray(X, dtype=np.float64) if isinstance(X, list | tuple) else X


def agreement(model: Any, X: Any, y: Any) -> FloatArray:
    """The margins of a model on rows and their labels."""
    labels, scores = labels_of(model, y), np.asarray(model.decision_function(table(X)), np.float64)
    return margins_of(scores, labels, model.classes_)


def margins_of(scores: FloatArray, labels: AnyArray, classes: AnyArray) -> FloatArray:
    """y·f(x) of each row; with several classes, its own score less the best of the others."""
    if scores.ndim == 1:
        return np.where(labels == classes[1], scores, -scores)
    own = np.searchsorted(classes, labels)
    rows = np.arange(len(own))
    rivals = scores.copy()
    rivals[rows, own] = -np.inf
    return np.asarray(scores[rows, own] - rivals.max(axis=1))


def labels_of(model: Any, y: Any) -> AnyArray:
    """y as a vector, if the model knows all its labels."""
    labels = np.asarray(y).ravel()
    unknown = np.setdiff1d(labels, model.classes_)
    if len(unknown):
        raise ValueError(f"y holds labels that the model does not know: {unknown.tolist()}.")
    return labels
