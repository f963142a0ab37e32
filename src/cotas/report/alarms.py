"""What must be said loudly: a model that is of no use, however well its training is proved."""

from __future__ import annotations

from collections.abc import Mapping

from cotas.preparation.quality import Quality
from cotas.report.figures import number


def alarms_of(quality: Quality | None, words: Mapping[str, str]) -> list[str]:
    """A sentence for each reason not to use the model, the gravest first."""
    if quality is None:
        return []
    found = []
    if quality.constant is not None:
        found.append(words["alarm_constant"].format(answer=quality.constant))
    if quality.verdict != "better":
        kind = "classes" if quality.classes else "numbers"
        key = f"alarm_{quality.verdict}_{kind}"
        error = quality.measures["error" if quality.classes else "RMSE"]
        figures = {"own": number(error.value), "error": number(quality.baseline.value)}
        found.append(words[key].format(answer=quality.answer, **figures))
    if quality.silent and quality.constant is None:
        rows = sum(one.rows for one in quality.classes if one.label in quality.silent)
        names = ", ".join(quality.silent)
        found.append(words["alarm_silent"].format(labels=names, rows=rows))
    return found
