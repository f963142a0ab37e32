"""How good a model is, in lines and tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cotas.certificates import Certificate
from cotas.certificates.certificate import MEAN, badness
from cotas.certificates.presentation import OPTIMIZATION, percent
from cotas.cli.session import Session
from cotas.preparation.quality import Quality
from cotas.report.figures import about_calibration, calibration_headings, calibration_rows, found
from cotas.words import in_one, say

# More classes than this have no room for their matrix in a line of the terminal.
MOST_CLASSES = 8
# Of so many classes each has a line; of more, those with the most rows.
SHOWN_CLASSES = 20


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
    names = [say("class"), say("rows"), *taken, say("recall"), say("precision")]
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


def proofs(whole: Certificate, estimator: Any) -> list[str]:
    """A line for each certificate; where there are several, they begin with what they are about.

    Of many, those that prove least; of a blend what each of its models proves at least.
    """
    if not whole.parts:
        return [proof(whole, estimator)]
    if whole.kind == MEAN:
        return [*_proofs_of_members(whole, estimator)]
    gaps = [part.relative_gap if part.holds else math.inf for part in whole.parts]
    worst = np.argsort(-np.nan_to_num(gaps, nan=np.inf), kind="stable")[:SHOWN_CLASSES]
    some = [whole.parts[k] for k in np.sort(worst)]
    lines = [f"{part.title}: {proof(part, estimator)}" for part in some]
    more = len(gaps) - len(lines)
    return [*lines, say("{count} more, none of them worse", count=more)] if more else lines


def whole_in_lines(whole: Certificate, estimator: Any) -> list[str]:
    """A certificate in full; of a blend a line for each of its models, with its weight."""
    if whole.kind != MEAN:
        return [str(whole)]
    shares = zip(estimator.weights_, proofs(whole, estimator), strict=False)
    return [whole.statement, *(f"  {weight:.3f}·{line}" for weight, line in shares)]


def _proofs_of_members(whole: Certificate, estimator: Any) -> Iterator[str]:
    for name in dict.fromkeys(part.member for part in whole.parts):
        parts = [part for part in whole.parts if part.member == name]
        one = max(parts, key=badness)
        words = f"{name}: {proof(one, estimator)}"
        if len(parts) > 1:
            worst = say("the worst of {count} parts: {label}", count=len(parts), label=one.label)
            words = f"{words}; {worst}"
        yield words


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
