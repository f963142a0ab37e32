"""How good a model is, in lines and tables for the terminal."""

from __future__ import annotations

from cotas.cli.session import Session
from cotas.preparation.quality import Quality
from cotas.report.figures import MEASURES, found, number, span
from cotas.words import say

# More classes than this have no room for their matrix in a line of the terminal.
MOST_CLASSES = 8


def quality_lines(quality: Quality) -> list[tuple[str, str]]:
    """What answering always the same would give, and what was measured beside the error."""
    always = say("always “{answer}”", answer=quality.answer)
    meaning = say(
        "the baseline: the most frequent class" if quality.classes else "the baseline: the mean"
    )
    lines = [(always, f"{number(quality.baseline.value)} ({meaning})")]
    for name, measure in quality.measures.items():
        if name not in ("error", "RMSE", "R²"):
            lines.append(
                (say(MEASURES[name]), f"{number(measure.value)} ({_about(name, quality)})")
            )
    return lines


def _about(name: str, quality: Quality) -> str:
    """The interval of a measure, and which of two classes it is about."""
    said = span(quality.measures[name], quality.confidence)
    if name == "average precision" and quality.positive is not None:
        said += f"; {say('class “{label}”', label=quality.positive)}"
    return said


def show_classes(session: Session, quality: Quality) -> None:
    """A row for each class: what its rows were taken for, how many were found, how surely."""
    if quality.confusion is None:
        return
    small = len(quality.classes) <= MOST_CLASSES
    taken = [say("as {label}", label=one.label) for one in quality.classes] * small
    names = [
        say("class"),
        say("rows"),
        *taken,
        say("recall"),
        say("precision"),
    ]
    rows = []
    for one, counts in zip(quality.classes, quality.confusion, strict=True):
        cells = [str(count) for count in counts] * small
        rows.append([one.label, str(one.rows), *cells, *found(one)])
    session.say("")
    session.table(names, rows)
