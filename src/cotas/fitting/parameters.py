"""Checks of parameters that scikit-learn's own do not cover."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from sklearn.utils import check_scalar


def check_positive(value: Any, name: str) -> None:
    """A finite number above zero; NaN compares with nothing and would slip through."""
    check_scalar(value, name, Real)
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number above zero, not {value!r}.")
