"""Means over seeds, and how sure they are."""

from __future__ import annotations

from typing import Any

import numpy as np


def standard_error(values: Any) -> float:
    """The standard error of the mean of some numbers; of a single one there is none, so 0."""
    found = np.asarray(values, dtype=np.float64)
    return float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0


def mean(values: Any) -> float:
    """The mean of some numbers."""
    return float(np.mean(np.asarray(values, dtype=np.float64)))


def plus_minus(values: Any, digits: int = 1, unit: str = "") -> str:
    """The mean with its standard error, in per cent if that is the unit: "90.4 ± 1.2%"."""
    scale = 100.0 if unit == "%" else 1.0
    middle, error = scale * mean(values), scale * standard_error(values)
    text = f"{middle:.{digits}f} ± {error:.{digits}f}{unit}"
    return text.replace("-", "−")


def spaced(number: int) -> str:
    """A large number with its thousands apart."""
    return f"{number:,}".replace(",", " ")
