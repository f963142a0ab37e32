"""How good a model is, in lines and tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from cotas.cli.session import Session
from cotas.preparation.quality import Quality
from cotas.report.figures import (
    about_calibration,
    calibration_headings,
    calibration_rows,
    found,
    number,
    span,
)
from cotas.report.words import words_of

# More classes than this have no room for their matrix in a line of the terminal.
MOST_CLASSES = 8


def quality_lines(quality: Quality, lang: str) -> list[tuple[str, str]]:
    """What answering always the same would give, and what was measured beside the error."""
    words = words_of(lang)
    always = words["always"].format(answer=quality.answer)
    meaning = words["the_most_frequent" if quality.classes else "the_mean"]
    lines = [(always, f"{number(quality.baseline.value)} ({meaning})")]
    for name, measure in quality.measures.items():
        if name not in ("error", "RMSE", "R²"):
            about = _about(name, quality, words)
            lines.append((words[name], f"{number(measure.value)} ({about})"))
    return lines


def _about(name: str, quality: Quality, words: Mapping[str, str]) -> str:
    """The interval of a measure, and which of two classes it is about."""
    said = span(quality.measures[name], words, quality.confidence)
    if name == "average precision" and quality.positive is not None:
        said += f"; {words['of_class'].format(label=quality.positive)}"
    if name == "Brier score" and quality.guess is not None:
        said += f"; {words['brier_guess'].format(value=number(quality.guess.value))}"
    return said


def show_calibration(session: Session, quality: Quality, lang: str) -> None:
    """How often what was said with a probability was so."""
    words = words_of(lang)
    rows = calibration_rows(quality, words)
    if rows:
        session.say("", about_calibration(quality, words))
        session.table(calibration_headings(words), rows)


def show_classes(session: Session, quality: Quality, lang: str) -> None:
    """A row for each class: what its rows were taken for, how many were found, how surely."""
    if quality.confusion is None:
        return
    words = words_of(lang)
    small = len(quality.classes) <= MOST_CLASSES
    taken = [words["taken_for"].format(label=one.label) for one in quality.classes] * small
    names = [words["class"], words["rows"], *taken, words["recall"], words["precision"]]
    rows = []
    for one, counts in zip(quality.classes, quality.confusion, strict=True):
        cells = [str(count) for count in counts] * small
        rows.append([one.label, str(one.rows), *cells, *found(one, words)])
    session.say("")
    session.table(names, rows)
