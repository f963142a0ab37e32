"""How good a model is, in lines and tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cotas.certificates import Certificate
from cotas.certificates.presentation import percent
from cotas.cli.session import Session
from cotas.cli.words import kind_in, speak
from cotas.preparation.quality import Quality
from cotas.report.certificates import in_words
from cotas.report.figures import found, number, span
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
            lines.append((words[name], f"{number(measure.value)} ({_about(name, quality, words)})"))
    return lines


def _about(name: str, quality: Quality, words: Mapping[str, str]) -> str:
    """The interval of a measure, and which of two classes it is about."""
    said = span(quality.measures[name], words, quality.confidence)
    if name == "average precision" and quality.positive is not None:
        said += f"; {words['of_class'].format(label=quality.positive)}"
    return said


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


def upwards(bound: float) -> float:
    """An upper bound in the four decimals that are printed."""
    return math.ceil(bound * 1e4) / 1e4


def proof(certificate: Certificate, estimator: Any, lang: str) -> str:
    """What one certificate says, in one line."""
    say, kind = speak(lang), kind_in(lang, certificate.kind)
    if certificate.kind == "none":
        return say("none", why=certificate.statement)
    if not certificate.holds:
        return say("fails", kind=kind, why=certificate.objection)
    if certificate.vacuous:
        return say("vacuous", kind=kind)
    if certificate.kind in ("duality", "gradient"):
        tol = getattr(estimator, "tol", None)
        asked = "–" if tol is None else percent(tol)
        return say("gap", gap=percent(certificate.relative_gap), asked=asked)
    if lang != "en":
        return in_words(certificate, words_of(lang))
    return f"{say('holds', kind=kind)}: {certificate.statement}"
