"""A certificate in plain words: what it proves, what it does not, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from cotas.certificates import Certificate
from cotas.certificates.presentation import lines, percent, remarks
from cotas.report.markup import bounds, details, items, number, pairs, text

OBJECTIVES = ("duality", "gradient")


def standing(certificate: Certificate) -> str:
    """One of "none", "fails", "vacuous" and "holds"."""
    if certificate.kind == "none":
        return "none"
    if not certificate.holds:
        return "fails"
    return "vacuous" if certificate.vacuous else "holds"


def has_gap(certificate: Certificate) -> bool:
    """Whether it says how far an objective is from the best."""
    return certificate.kind in OBJECTIVES


def in_words(certificate: Certificate, words: Mapping[str, str]) -> str:
    """The statement as one would say it to a colleague."""
    if certificate.kind == "none":
        return words["none_words"].format(statement=certificate.statement)
    lower, upper = bounds(certificate.lower, certificate.upper)
    figures = {"lower": lower, "upper": upper, "gap": number(certificate.gap)}
    if not has_gap(certificate):
        said = words.get(f"{certificate.kind}_words", certificate.statement)
        return said.format(**figures)
    share = words["gap_percent"].format(percent=percent(certificate.relative_gap))
    return f"{words['gap_words'].format(**figures)} {share}"


def label_in(label: str, words: Mapping[str, str]) -> str:
    """What a part is about, in the language of the reader; the names of classes stay.

    >>> label_in("setosa against the rest", {"against the rest": "contra el resto"})
    'setosa contra el resto'
    """
    if label.endswith(" against the rest"):
        return f"{label.removesuffix(' against the rest')} {words['against the rest']}"
    if " against " in label:
        return label.replace(" against ", f" {words['against']} ", 1)
    return label.replace("target", words["target"], 1)


def card(label: str, certificate: Certificate, words: Mapping[str, str]) -> str:
    """One certificate, with the colour and the word of its standing."""
    state = standing(certificate)
    heading = f"{text(label)} " if label else ""
    body = f"<p><b>{text(words['proves'])}.</b> {text(in_words(certificate, words))}</p>"
    if certificate.objection and state == "fails":
        body += f"<p>{text(certificate.objection)}</p>"
    body += (
        f"<p><b>{text(words['does_not_prove'])}.</b> {text(words['optimization_only'])}</p>"
        f"{_numbers(certificate, words)}"
    )
    return (
        f'<article class="certificate {state}"><h3>{heading}'
        f'<span class="standing">{text(words[state])}</span></h3>{body}</article>'
    )


def _numbers(certificate: Certificate, words: Mapping[str, str]) -> str:
    if certificate.kind == "none":
        return items(remarks(certificate)) if remarks(certificate) else ""
    numbers = f"<p>{text(certificate.statement)}</p>{pairs(dict(lines(certificate)))}"
    if remarks(certificate):
        numbers += items(remarks(certificate))
    return details(words["details"], numbers)
