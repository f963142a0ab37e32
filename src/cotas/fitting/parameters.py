"""Checks of parameters that scikit-learn's own do not cover."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.refusals import ParameterError, ParameterTypeError


def check_number(value: object, name: str, means: str = "a finite number") -> None:
    """Refuse what is no finite number: NaN, which compares with nothing, True, or a string."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterTypeError(name, f"{name} must be {means}, not {value!r}.")
    if not math.isfinite(value):
        raise ParameterError(name, f"{name} must be {means}, not {value!r}.")


def _limited(means: str, within: Callable[[Any], bool]) -> Callable[[Any, str], None]:
    """Make what checks that a number, given with the name of its parameter, is as it must be."""

    def check(value: Any, name: str) -> None:
        check_number(value, name, means)
        if not within(value):
            raise ParameterError(name, f"{name} must be {means}, not {value!r}.")

    return check


check_positive = _limited("a finite number above zero", lambda x: x > 0)
check_not_negative = _limited("a finite number, zero or above", lambda x: x >= 0)
check_fraction = _limited("above zero and below one", lambda x: 0 < x < 1)
check_share = _limited("a number from zero to one", lambda x: 0 <= x <= 1)
check_rate = _limited("above zero and at most one", lambda x: 0 < x <= 1)


def check_count(value: object, name: str) -> None:
    """Refuse what is no whole number above zero, of any integer type; True counts nothing."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterTypeError(name, f"{name} must be a whole number above zero, not {value!r}.")
    if value < 1:
        raise ParameterError(name, f"{name} must be a whole number above zero, not {value!r}.")


def check_jobs(value: object, name: str = "n_jobs") -> None:
    """Refuse what is no number of threads as scikit-learn counts them, nor None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterTypeError(name, f"{name} must be a whole number or None, not {value!r}.")
    if value == 0:
        raise ParameterError(
            name, f"{name} must not be 0: give a number of threads, -1 or None for all."
        )


def check_validation(value: Any, name: str = "validation_fraction") -> None:
    """Refuse what is no number between zero and one, nor an array of bool, one for each row."""
    if not np.ndim(value):
        check_fraction(value, name)
    elif np.asarray(value).dtype != np.bool_:
        raise ParameterTypeError(
            name,
            f"{name} must be a number, or an array of bool that names the rows to be set aside.",
        )


def read_start(start: Any, d: int, targets: int, of: str) -> tuple[FloatArray, FloatArray]:
    """Read θ⁽⁰⁾, a row for each target or class, and its bias: `start` is θ, or both in a
    tuple."""
    pair = start if isinstance(start, tuple) and len(start) == 2 else (start, 0.0)
    try:
        theta, theta0 = (np.asarray(part, dtype=np.float64) for part in pair)
        theta = np.broadcast_to(theta, (targets, d)) if theta.ndim else theta
        theta0 = np.broadcast_to(theta0, (targets,))
    except (TypeError, ValueError):
        theta = np.zeros(())
    if theta.shape != (targets, d) or not (np.isfinite(theta).all() and np.isfinite(theta0).all()):
        rows = f"; for {targets} {of} θ has a row for each" if targets > 1 else ""
        raise ParameterError(
            "start", f"start must be θ, {d} finite numbers, or a tuple (θ, θ₀){rows}."
        )
    return theta, theta0


# What these mean in every estimator that has them.
ASKED: dict[str, Callable[[Any, str], None]] = {
    "tol": check_positive,
    "max_iter": check_count,
    "max_time": check_positive,
    "n_jobs": check_jobs,
    "cache_mb": check_positive,
    "batch_size": check_count,
    "n_components": check_count,
    "n_iter_no_change": check_count,
    "n_estimators": check_count,
    "learning_rate": check_positive,
    "validation_fraction": check_validation,
}


def check_parameters(model: Any, **choices: tuple[Any, ...]) -> None:
    """Raise where a parameter cannot be what it is; one whose default is None may be None.

    `choices` are the values that each of some other parameters may have.
    """
    for name, check, optional in _asked(model.__class__):
        value = getattr(model, name)
        if not (optional and value is None):
            check(value, name)
    if hasattr(model, "C"):
        penalty_of(model, 1.0)
    for name, known in choices.items():
        if (value := getattr(model, name)) not in known:
            raise ParameterError(name, f"{name} must be one of {known}, not {value!r}.")


@cache
def _asked(kind: Any) -> list[tuple[str, Callable[[Any, str], None], bool]]:
    given = signature(kind).parameters
    return [(k, check, given[k].default is None) for k, check in ASKED.items() if k in given]


@cache
def _default_penalty(kind: Any) -> Any:
    return signature(kind).parameters["lam"].default


def penalty_of(model: Any, total: float) -> float:
    """Return λ: `lam`, or 1/(C · total) with the sum of the weights; one of them may be given."""
    if model.C is None:
        check_positive(model.lam, "lam")
        return float(model.lam)
    if model.lam != _default_penalty(model.__class__):
        raise ParameterError("C", "Give lam or C, not both: λ = 1/(C · sum of the weights).")
    check_positive(model.C, "C")
    return 1.0 / (float(model.C) * total)


def check_time(value: object) -> None:
    """Refuse what is no number of seconds above zero, nor None."""
    if value is not None:
        check_positive(value, "max_time")
