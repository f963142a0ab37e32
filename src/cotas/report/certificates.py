"""A certificate in plain words: what it proves, what it does not, and its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cotas.certificates import Certificate
from cotas.certificates.presentation import (
    BOUNDS,
    OPTIMIZATION,
    at_most,
    bounds_in_digits,
    lines,
    percent,
    remarks,
)
from cotas.report.markup import details, items, pairs, table, text
from cotas.words import say

STANDINGS = {
    "holds": "proved",
    "fails": "not proved",
    "vacuous": "true, but says nothing",
    "none": "no bound",
}
GAP = (
    "The best model of this kind has an objective between {lower} and {upper} on these rows; "
    "this one has {upper}. So no other choice of its parameters is better by more than {gap}."
)
NOT_PROVED = (
    "That the model is right about new rows. The certificate is about the training rows and this "
    "kind of model; the rows kept apart are the evidence about new ones."
)
# What the kinds without a gap prove.
STATEMENTS = {
    "mistakes": ("Training made {lower} mistakes, and the theorem allows no more than {upper}."),
    "training error": (
        "The model is wrong on {lower} of the training rows (as a share), and "
        "the theorem allows no more than {upper}."
    ),
    "stagewise": (
        "The training error is at most {lower} above the best one, and the "
        "theorem, unless its bound is left open, allows {upper}."
    ),
    "stationary": (
        "The conditions that hold at the best model are missed by {upper}; zero would be exact."
    ),
    "separation": (
        "A plane separates the classes with a margin of {lower}, and no plane "
        "has a margin above {upper}."
    ),
}


def standing(certificate: Certificate) -> str:
    """Return one of "none", "fails", "vacuous" and "holds"."""
    if certificate.kind == "none":
        return "none"
    if not certificate.holds:
        return "fails"
    return "vacuous" if certificate.vacuous else "holds"


def labels_of(certificate: Certificate) -> list[str]:
    """Return what each certificate is about, where there are several."""
    parts = certificate.parts
    counts = Counter(part.member for part in parts)
    # Of a model of a blend that has one proof, its name says all.
    return [p.member if p.member and counts[p.member] == 1 else p.title for p in parts] or [""]


def has_gap(certificate: Certificate) -> bool:
    """Tell whether it says how far an objective is from the best."""
    return certificate.kind in OPTIMIZATION


def in_words(certificate: Certificate) -> str:
    """Return the statement as one would say it to a colleague."""
    if certificate.kind == "none":
        return say(
            "This algorithm has no bound that holds for these data: {statement}",
            statement=certificate.statement,
        )
    lower, upper = bounds_in_digits(certificate)  # as the tables have them
    figures = {"lower": lower, "upper": upper, "gap": at_most(certificate.gap)}
    if not has_gap(certificate):
        said = STATEMENTS.get(certificate.kind)
        return certificate.statement if said is None else say(said, **figures)
    share = say(
        "That is {percent} of its objective, the relative gap.",
        percent=percent(certificate.relative_gap),
    )
    return f"{say(GAP, **figures)} {share}"


def overview(some: Sequence[tuple[str, Certificate]]) -> str:
    """Write a table of certificates of one kind, their numbers under what they are of that kind."""
    kind = some[0][1].kind
    headings = [say("part"), say("The certificate")]
    rows = [[label, say(STANDINGS[standing(one)])] for label, one in some]
    if kind != "none":
        below, above = map(say, BOUNDS[kind])
        headings += [above, below]
        for row, (_, one) in zip(rows, some, strict=True):
            row += bounds_in_digits(one)[::-1]
    if kind in OPTIMIZATION:
        headings.append(say("relative gap"))
        for row, (_, one) in zip(rows, some, strict=True):
            row.append(percent(one.relative_gap))
    return table(headings, rows)


def card(label: str, certificate: Certificate) -> str:
    """Return one certificate, with the colour and the word of its standing."""
    state = standing(certificate)
    heading = f"{text(label)} " if label else ""
    body = f"<p><b>{text(say('What it proves'))}.</b> {text(in_words(certificate))}</p>"
    if certificate.objection and state == "fails":
        body += f"<p>{text(certificate.objection)}</p>"
    body += (
        f"<p><b>{text(say('What it does not prove'))}.</b> {text(say(NOT_PROVED))}</p>"
        f"{_numbers(certificate)}"
    )
    return (
        f'<article class="certificate {state}"><h3>{heading}'
        f'<span class="standing">{text(say(STANDINGS[state]))}</span></h3>{body}</article>'
    )


def _numbers(certificate: Certificate) -> str:
    if certificate.kind == "none":
        return items(remarks(certificate)) if remarks(certificate) else ""
    numbers = f"<p>{text(certificate.statement)}</p>{pairs(dict(lines(certificate)))}"
    if remarks(certificate):
        numbers += items(remarks(certificate))
    return details(say("All the numbers, and where the theorem stands"), numbers)
