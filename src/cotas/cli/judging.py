"""How good a model is, in lines and tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cotas.certificates import Certificate
from cotas.certificates.presentation import OPTIMIZATION, percent
from cotas.cli.session import Session
from cotas.preparation.quality import Quality
from cotas.report.figures import (
    MEASURES,
    about_calibration,
    about_groups,
    calibration_headings,
    calibration_rows,
    found,
    number,
    span,
)
from cotas.words import in_one, say

# More classes than this have no room for their matrix in a line of the terminal.
MOST_CLASSES = 8
# Of so many classes each has a line; of more, those with the most rows.
SHOWN_CLASSES = 20


def quality_lines(quality: Quality) -> list[tuple[str, str]]:
    """What answering always the same would give, and what was measured beside the error."""
    lines = [baseline_line(quality.answer, quality.baseline.value, bool(quality.classes))]
    for name, measure in quality.measures.items():
        if name not in ("error", "RMSE", "R²"):
            lines.append(
                (say(MEASURES[name]), f"{number(measure.value)} ({_about(name, quality)})")
            )
    return lines + [(say("intervals"), words) for words in about_groups(quality)]


def baseline_line(answer: str, error: float, classes: bool) -> tuple[str, str]:
    """What answering always the same gives."""
    meaning = say("the baseline: the most frequent class" if classes else "the baseline: the mean")
    return say("always “{answer}”", answer=answer), f"{number(error)} ({meaning})"


def _about(name: str, quality: Quality) -> str:
    """The interval of a measure, and which of two classes it is about."""
    said = span(quality.measures[name], quality.confidence)
    if name == "average precision" and quality.positive is not None:
        said += f"; {say('class “{label}”', label=quality.positive)}"
    if name == "Brier score" and quality.guess is not None:
        guess = number(quality.guess.value)
        said += f"; {say('giving each class its share: {value}', value=guess)}"
    return said


def show_calibration(session: Session, quality: Quality) -> None:
    """How often what was said with a probability was so."""
    rows = calibration_rows(quality)
    if rows:
        session.say("", about_calibration(quality))
        session.table(calibration_headings(), rows)


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
    by_rows = sorted(range(len(quality.classes)), key=lambda k: -quality.classes[k].rows)
    rows = []
    for k in sorted(by_rows[:SHOWN_CLASSES]):
        one, counts = quality.classes[k], quality.confusion[k]
        cells = [str(count) for count in counts] * small
        rows.append([one.label, str(one.rows), *cells, *found(one)])
    session.say("")
    session.table(names, rows)
    if len(by_rows) > len(rows):
        more = len(by_rows) - len(rows)
        session.say(say("… and {count} more classes (--json shows all)", count=more))


def proof(certificate: Certificate, estimator: Any) -> str:
    """What one certificate says, in one line."""
    kind = say(certificate.kind)
    if certificate.kind == "none":
        return say("nothing: {why}", why=certificate.statement)
    if not certificate.holds:
        return say(
            "the {kind} certificate DOES NOT HOLD: {why}", kind=kind, why=certificate.objection
        )
    if certificate.vacuous:
        return say("the {kind} certificate holds, but says nothing here", kind=kind)
    if certificate.kind in ("duality", "gradient"):
        tol = tol_of(certificate, estimator)
        asked = "–" if tol is None else percent(tol)
        return say(
            "the best objective is at most {gap} lower than this one (asked: {asked})",
            gap=percent(certificate.relative_gap),
            asked=asked,
        )
    return f"{say('the {kind} certificate holds', kind=kind)}: {certificate.statement}"


def tol_of(certificate: Certificate, estimator: Any) -> float | None:
    """The relative gap that was asked for, of a part of a blend by its own estimator."""
    if certificate.member:
        estimator = estimator.estimators_[estimator.names_.index(certificate.member)]
    return getattr(estimator, "tol", None)


def short_of(part: Certificate, tol: float | None) -> Iterator[str]:
    """In words, what a part proves less than a relative gap of tol."""
    if tol is None or part.kind not in OPTIMIZATION:
        words = say("this model proves no gap to the best one.")
        yield in_one([part.title, words], ": ") if part.title else words
    elif part.relative_gap > tol:
        yield say(
            "the relative gap proved is {percent}, above {asked}.",
            percent=percent(part.relative_gap),
            asked=percent(tol),
        )
