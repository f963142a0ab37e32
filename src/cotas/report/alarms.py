"""What must be said loudly: a model that is of no use, however well its training is proved."""

from __future__ import annotations

from cotas.files.names import some
from cotas.preparation.quality import Quality
from cotas.report.figures import number
from cotas.words import say

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
    """A sentence for each reason not to use the model, the gravest first."""
    if quality is None:
        return []
    found = []
    if quality.constant is not None:
        found.append(
            say(
                "This model gives the same answer for every row: {answer}.", answer=quality.constant
            )
        )
    if quality.verdict != "better":
        text = NO_BETTER[bool(quality.classes), quality.verdict]
        error = quality.measures["error" if quality.classes else "RMSE"]
        figures = {"own": number(error.value), "error": number(quality.baseline.value)}
        found.append(say(text, answer=quality.answer, **figures))
    if quality.silent and quality.constant is None:
        rows = sum(one.rows for one in quality.classes if one.label in quality.silent)
        names = some(quality.silent)
        found.append(
            say(
                "This model never answers {labels}, though {rows} of these rows are of that kind.",
                labels=names,
                rows=rows,
            )
        )
    return found
