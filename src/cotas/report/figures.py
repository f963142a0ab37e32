"""Numbers with their intervals, as the terminal and the page write them."""

from __future__ import annotations

from collections.abc import Mapping

from cotas.preparation.quality import ClassQuality, Measure


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def span(measure: Measure, words: Mapping[str, str], confidence: float) -> str:
    """The interval of a measure in words."""
    if measure.low is None or measure.high is None:
        return words["no_interval"]
    ends = {"low": number(measure.low), "high": number(measure.high)}
    return words["interval"].format(confidence=100 * confidence, **ends)


def found(one: ClassQuality, words: Mapping[str, str]) -> list[str]:
    """Recall and precision of a class, each with its interval."""
    cells = []
    for measure in (one.recall, one.precision):
        if measure is None or measure.low is None or measure.high is None:
            cells.append("–")
        else:
            ends = words["short_interval"].format(
                low=f"{measure.low:.2f}", high=f"{measure.high:.2f}"
            )
            cells.append(f"{measure.value:.3f} ({ends})")
    return cells
