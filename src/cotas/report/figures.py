"""Numbers with their intervals, as the terminal and the page write them."""

from __future__ import annotations

from collections.abc import Mapping

from cotas.preparation.quality import ClassQuality, Measure, Quality


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def span(measure: Measure, words: Mapping[str, str], confidence: float) -> str:
    """The interval of a measure in words."""
    if measure.low is None or measure.high is None:
        return words["no_interval"]
    ends = {"low": number(measure.low), "high": number(measure.high)}
    return words["interval"].format(confidence=100 * confidence, **ends)


def about_calibration(quality: Quality, words: Mapping[str, str]) -> str:
    """What the probabilities are compared with."""
    if quality.positive is None:
        return words["calibration_likeliest"]
    return words["calibration_positive"].format(label=quality.positive)


def calibration_headings(words: Mapping[str, str]) -> list[str]:
    """Of the table of probabilities."""
    return [words[name] for name in ("probability_said", "rows", "share_found")]


def calibration_rows(quality: Quality, words: Mapping[str, str]) -> list[list[str]]:
    """Probabilities that were given, to how many rows, and how often it was so."""
    return [
        [
            f"{one.said:.3f}",
            str(one.rows),
            f"{one.found.value:.3f} ({_ends(one.found, words)})",
        ]
        for one in quality.calibration
    ]


def _ends(measure: Measure, words: Mapping[str, str]) -> str:
    ends = {"low": f"{measure.low:.2f}", "high": f"{measure.high:.2f}"}
    return words["short_interval"].format(**ends)


def found(one: ClassQuality, words: Mapping[str, str]) -> list[str]:
    """Recall and precision of a class, each with its interval."""
    cells = []
    for measure in (one.recall, one.precision):
        if measure is None or measure.low is None or measure.high is None:
            cells.append("–")
        else:
            cells.append(f"{measure.value:.3f} ({_ends(measure, words)})")
    return cells
