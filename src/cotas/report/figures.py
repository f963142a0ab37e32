"""Numbers with their intervals and what they mean, as the terminal and the page write them."""

from __future__ import annotations

from cotas.files.names import some
from cotas.preparation.quality import ClassQuality, Measure, Quality
from cotas.words import say

# A bound has so many, rounded up, here as in the certificate that it stands in.
DIGITS = 4
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
    """Print four digits, on the terminal and on the page."""
    return f"{value:.4g}"


def span(measure: Measure, confidence: float) -> str:
    """Return the interval of a measure in words."""
    if measure.low is None or measure.high is None:
        return say("these rows give no interval")
    ends = {"low": number(measure.low), "high": number(measure.high)}
    return say("{confidence:.4g}%: {low} to {high}", confidence=100 * confidence, **ends)


def quality_lines(quality: Quality) -> list[tuple[str, str]]:
    """Return what answering always the same would give, and what was measured beside the error."""
    lines = [baseline_line(quality.answer, quality.baseline.value, bool(quality.classes))]
    for name, measure in quality.measures.items():
        if name not in ("error", "RMSE", "R²"):
            lines.append(
                (say(MEASURES[name]), f"{number(measure.value)} ({_about(name, quality)})")
            )
    return lines + [(say("intervals"), words) for words in about_groups(quality)]


def baseline_line(answer: str, error: float, classes: bool) -> tuple[str, str]:
    """Return what answering always the same gives."""
    meaning = say("the baseline: the most frequent class" if classes else "the baseline: the mean")
    return say("always “{answer}”", answer=answer), f"{number(error)} ({meaning})"


def _about(name: str, quality: Quality) -> str:
    """Return the interval of a measure, and which of two classes it is about."""
    said = span(quality.measures[name], quality.confidence)
    if name == "average precision" and quality.positive is not None:
        said += f"; {say('class “{label}”', label=quality.positive)}"
    if name == "Brier score" and quality.guess is not None:
        guess = number(quality.guess.value)
        said += f"; {say('giving each class its share: {value}', value=guess)}"
    return said


def about_groups(quality: Quality) -> list[str]:
    """Return what the intervals count where rows belong together."""
    words = (
        "made of {groups} groups for {rows} rows: rows that belong together are one draw"
        if quality.groups != 1
        else "none: all {rows} rows are of one group"
    )
    return [say(words, groups=quality.groups, rows=quality.rows)] if quality.groups else []


def about_calibration(quality: Quality) -> str:
    """Return what the probabilities are compared with."""
    if quality.positive is None:
        return say("The likeliest class, by the probability that it was given:")
    return say("Class “{label}”, by the probability that it was given:", label=quality.positive)


def calibration_headings() -> list[str]:
    """Return the headings of the table of probabilities."""
    return [say("probability given"), say("rows"), say("share that was so")]


def calibration_rows(quality: Quality) -> list[list[str]]:
    """Return probabilities that were given, to how many rows, and how often it was so."""
    return [
        [f"{one.said:.3f}", str(one.rows), _with_interval(one.found)] for one in quality.calibration
    ]


def found(one: ClassQuality) -> list[str]:
    """Recall and precision of a class, each with its interval."""
    return ["–" if each is None else _with_interval(each) for each in (one.recall, one.precision)]


def _with_interval(measure: Measure) -> str:
    """Return a share, and its interval if there is one."""
    if measure.low is None or measure.high is None:
        return f"{measure.value:.3f}"
    return f"{measure.value:.3f} ({measure.low:.2f}–{measure.high:.2f})"


# ---- what must be said loudly: a model of no use, however well its training is proved ------------

# By whether the answers are classes, and by what is known about the model and the baseline.
NO_BETTER = {
    (True, "no better"): (
        "This model is no better than answering always “{answer}”: its error is "
        "{own}, that one’s {error}."
    ),
    (True, "unclear"): (
        "It is not clear that this model is better than answering always "
        "“{answer}”: its error is {own}, that one’s {error}, which may be chance."
    ),
    (False, "no better"): (
        "This model is no better than answering always {answer}, the mean: the "
        "root of its mean squared error is {own}, that one’s {error}."
    ),
    (False, "unclear"): (
        "It is not clear that this model is better than answering always "
        "{answer}, the mean: the root of its mean squared error is {own}, that "
        "one’s {error}, which may be chance."
    ),
}


def alarms_of(quality: Quality | None) -> list[str]:
    """Return a sentence for each reason not to use the model, the gravest first."""
    if quality is None:
        return []
    found = []
    if quality.constant is not None:
        words = "This model gives the same answer for every row: {answer}."
        found.append(say(words, answer=quality.constant))
    if quality.verdict != "better":
        text = NO_BETTER[bool(quality.classes), quality.verdict]
        error = quality.measures["error" if quality.classes else "RMSE"]
        figures = {"own": number(error.value), "error": number(quality.baseline.value)}
        found.append(say(text, answer=quality.answer, **figures))
    if quality.silent and quality.constant is None:
        rows = sum(one.rows for one in quality.classes if one.label in quality.silent)
        words = "This model never answers {labels}, though {rows} of these rows are of that kind."
        found.append(say(words, labels=some(quality.silent), rows=rows))
    return found
