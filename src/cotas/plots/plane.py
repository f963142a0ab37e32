"""What a classifier of two features does at each point of the plane, for whoever draws it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.plots.fitted import last_step


def axis_of(values: FloatArray, resolution: int) -> FloatArray:
    """Evenly spread numbers over the range of the values, and a little beyond."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))  # boosters take NaN
    room = 0.08 * (high - low if high > low else 1.0)
    return np.linspace(low - room, high + room, resolution)


def scores_of(model: Any, grid: Any) -> FloatArray | None:
    """f(x) of a classifier of two classes, zero on the boundary; None if it tells no score."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(grid), dtype=np.float64).ravel()
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(grid)[:, 1] - 0.5)
    return None


def codes_of(model: Any, grid: Any, classes: AnyArray) -> IntArray:
    """The number of the class that is predicted for each row."""
    return np.asarray(np.searchsorted(classes, model.predict(grid)))


def has_margins(model: Any) -> bool:
    """Whether f(x) = ±1 means something: for hyperplanes, in the data or of a feature space."""
    return any(hasattr(last_step(model), name) for name in ("dual_coef_", "coef_"))


def leads_of(model: Any, grid: Any, codes: IntArray, count: int) -> list[FloatArray]:
    """For each class a number that is positive where it is chosen, and negative elsewhere."""
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
    """The rows to ring, and what they are called."""
    if hasattr(last_step(model), "support_") and hasattr(last_step(model), "dual_coef_"):
        rows = _flat(last_step(model).support_)
        if len(rows) and rows[-1] >= len(X):
            raise ValueError(
                "The support vectors are rows of the data of the fit, and X has fewer rows. Give "
                "the data of the fit, or rings=False."
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
    """The row numbers of one machine or of several, each once."""
    parts = support if isinstance(support, list) else [support]
    return np.unique(np.concatenate([np.asarray(part) for part in parts]))
