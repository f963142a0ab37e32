"""The parameters of a model in words, as they are typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cotas.words import say


def called(name: str, estimator: Any) -> str:
    """Return a model by its name on the command line; of a blend how many models it has."""
    many = getattr(estimator, "names_", None)
    return name if many is None else say("blend of {count} models", count=len(many))


def telling_parameters(estimator: Any, always: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that differ from their defaults, and those that are always told.

    What only watches the training says nothing about the model. A blend is told by its models,
    called as in the leaderboard, with their weights.
    """
    if hasattr(estimator, "names_"):
        pairs = zip(estimator.names_, estimator.weights_, strict=True)
        return {name: f"{weight:.3f}" for name, weight in pairs}
    usual = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    # λ follows from C where that is given, and patience is for who stops early.
    silent = ["callbacks", "progress"] + ["lam"] * (given.get("C") is not None)
    silent += ["n_iter_no_change"] * (not given.get("early_stopping", True))
    return in_parts(
        {
            name: value
            for name, value in given.items()
            if name not in silent and (name in always or str(value) != str(usual[name]))
        }
    )


def in_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read parameters as the command line takes them: gamma for a kernel, depth for a tree."""
    parameters: dict[str, Any] = {}
    for name, value in given.items():
        made = {"kernel": ("RBF", "gamma"), "weak_learner": ("Tree", "depth")}.get(name)
        plain = made is not None and type(value).__name__ == made[0]
        if made is not None and plain and getattr(value, "categorical_features", None) is None:
            parameters[made[1]] = getattr(value, made[1])
        else:
            parameters[name] = value
    return parameters


def label(name: str, parameters: Mapping[str, Any]) -> str:
    """Return a model with its parameters in short."""
    return f"{name} ({', '.join(f'{key}={short(value)}' for key, value in parameters.items())})"


def short(value: object) -> str:
    """Return a parameter, numbers in four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
