"""Checks of parameters that scikit-learn's own do not cover."""

from __future__ import annotations

import math
from inspect import signature
from numbers import Integral, Real
from typing import Any

from sklearn.utils import check_scalar


def check_positive(value: Any, name: str) -> None:
    """A finite number above zero; NaN compares with nothing and would slip through."""
    check_scalar(value, name, Real)
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number above zero, not {value!r}.")


def check_fraction(value: Any, name: str) -> None:
    """A number between zero and one, neither included."""
    check_scalar(value, name, Real, min_val=0, max_val=1, include_boundaries="neither")


def check_jobs(value: Any) -> None:
    """A number of threads as scikit-learn counts them, or None."""
    if value is not None:
        check_scalar(value, "n_jobs", Integral)


def check_rate(value: Any, name: str) -> None:
    """A number above zero and at most one."""
    check_scalar(value, name, Real, min_val=0, max_val=1, include_boundaries="right")


def penalty_of(model: Any, total: float) -> float:
    """λ: `lam`, or 1/(C · total) with the sum of the weights; only one of them may be given."""
    if model.C is None:
        check_positive(model.lam, "lam")
        return float(model.lam)
    if model.lam != signature(type(model)).parameters["lam"].default:
        raise ValueError("Give lam or C, not both: λ = 1/(C · sum of the weights).")
    check_positive(model.C, "C")
    return 1.0 / (float(model.C) * total)


def check_time(value: Any) -> None:
    """A number of seconds above zero, or None."""
    if value is not None:
        check_positive(value, "max_time")
