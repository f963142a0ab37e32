"""Numbers with their intervals, as the terminal and the page write them."""

from __future__ import annotations

import math

from cotas.preparation.intervals import Measure
from cotas.preparation.quality import ClassQuality, Quality
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
    "Brier score": "Brier score",
}


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def upwards(bound: float) -> float:
    """An upper bound in the four decimals that are printed."""
    return math.ceil(bound * 1e4) / 1e4


def span(measure: Measure, confidence: float) -> str:
    """The interval of a measure in words."""
    if measure.low is None or measure.high is None:
        return say("these rows give no interval")
    ends = {"low": number(measure.low), "high": number(measure.high)}
    return say("{confidence:.4g}%: {low} to {high}", confidence=100 * confidence, **ends)


def about_groups(quality: Quality) -> list[str]:
    """What the intervals count where rows belong together."""
    words = (
        "made of {groups} groups for {rows} rows: rows that belong together are one draw"
        if quality.groups != 1
        else "none: all {rows} rows are of one group"
    )
    return [say(words, groups=quality.groups, rows=quality.rows)] if quality.groups else []


def about_calibration(quality: Quality) -> str:
    """What the probabilities are compared with."""
    if quality.positive is None:
        return say("The likeliest class, by the probability that it was given:")
    return say("Class “{label}”, by the probability that it was given:", label=quality.positive)


def calibration_headings() -> list[str]:
    """Of the table of probabilities."""
    return [say("probability given"), say("rows"), say("share that was so")]


def calibration_rows(quality: Quality) -> list[list[str]]:
    """Probabilities that were given, to how many rows, and how often it was so."""
    return [
        [f"{one.said:.3f}", str(one.rows), _with_interval(one.found)] for one in quality.calibration
    ]


def found(one: ClassQuality) -> list[str]:
    """Recall and precision of a class, each with its interval."""
    return ["–" if each is None else _with_interval(each) for each in (one.recall, one.precision)]


def _with_interval(measure: Measure) -> str:
    """A share, and its interval if there is one."""
    if measure.low is None or measure.high is None:
        return f"{measure.value:.3f}"
    return f"{measure.value:.3f} ({measure.low:.2f}–{measure.high:.2f})"
