"""Numbers with their intervals, as the terminal and the page write them."""

from __future__ import annotations

from cotas.preparation.quality import ClassQuality, Measure
from cotas.words import say

# What the measures are called.
MEASURES = {
    "error": "share of wrong predictions",
    "RMSE": "root of the mean squared error",
    "MAE": "mean absolute error",
    "R²": "R²",
    "balanced accuracy": "balanced accuracy",
    "ROC AUC": "ROC AUC",
    "average precision": "average precision",
}


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def span(measure: Measure, confidence: float) -> str:
    """The interval of a measure in words."""
    if measure.low is None or measure.high is None:
        return say("too few rows for an interval")
    ends = {"low": number(measure.low), "high": number(measure.high)}
    return say("{confidence:.4g}%: {low} to {high}", confidence=100 * confidence, **ends)


def found(one: ClassQuality) -> list[str]:
    """Recall and precision of a class, each with its interval."""
    cells = []
    for measure in (one.recall, one.precision):
        if measure is None or measure.low is None or measure.high is None:
            cells.append("–")
        else:
            cells.append(f"{measure.value:.3f} ({measure.low:.2f}–{measure.high:.2f})")
    return cells
