"""What the pictures ask of a model before they draw it."""

from __future__ import annotations

from typing import Any


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
