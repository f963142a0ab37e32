"""Certificates as people read them, and the sentences that several of them share."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cotas.certificates.core.bounds import Bounds, Objection
from cotas.words import current, say

if TYPE_CHECKING:
    from cotas.certificates.certificate import Certificate

OPTIMIZATION_ONLY = "It certifies the optimization, not the error on new data."
OPTIMIZATION = ("duality", "gradient")  # the kinds whose bounds enclose the best objective
# A notebook would take what stands between two dollars, as in the names of classes, for a formula.
NO_FORMULAS = "<div class='tex2jax_ignore mathjax_ignore'>"
BOUNDS = {
    "duality": ("best objective is at least", "objective of this model"),
    "stagewise": ("training error above the best, at most", "the theorem allows, unless open"),
    "gradient": ("best objective is at least", "objective of this model"),
    "mistakes": ("mistakes made", "mistakes the theorem allows"),
    "stationary": ("violation at a stationary point", "violation of the KKT conditions"),
    "training error": ("training error of this model", "the bound allows"),
    "separation": ("margin found", "no separator has a margin above"),
    "hold-out": ("error on these rows", "error on future rows, at most"),
}


def at_most(x: float, digits: int = 6) -> str:
    """Return the number in so many digits, rounded up."""
    return _written(x, digits, ROUND_CEILING)


def at_least(x: float, digits: int = 6) -> str:
    """Return the number in so many digits, rounded down."""
    return _written(x, digits, ROUND_FLOOR)


def _written(x: float, digits: int, rounding: str) -> str:
    if not math.isfinite(x):
        return f"{x:g}"
    return f"{float(Context(digits, rounding).create_decimal_from_float(float(x))):.{digits}g}"


def apart(low: float, high: float, digits: int = 6) -> tuple[str, str]:
    """Print two bounds, each on its safe side, in as many digits as show their difference.

    >>> apart(0.06607775610594092, 0.06607775660437853)
    ('0.0660777561', '0.0660777567')
    """
    for places in range(digits, 17):
        ends = at_least(low, places), at_most(high, places)
        if not float(ends[1]) - float(ends[0]) > 2 * (high - low):
            return ends
    return repr(float(low)), repr(float(high))


def ends(lower: float, upper: float) -> dict[str, str]:
    """Return both bounds of the best objective, for a sentence that has places for them."""
    return dict(zip(("lower", "upper"), apart(lower, upper), strict=True))


def bounds_in_digits(certificate: Certificate) -> tuple[str, str]:
    """Return both bounds as they are printed, each on its safe side; a measurement to nearest."""
    if certificate.kind in OPTIMIZATION:
        return apart(certificate.lower, certificate.upper)
    below, _ = BOUNDS.get(certificate.kind, ("", ""))
    return _safe(below, certificate.lower), at_most(certificate.upper)


def _safe(name: str, value: float) -> str:
    """Return a figure on the side that its name promises, and to nearest if it promises none."""
    if name.endswith(("at most", "above")):
        return at_most(value)
    return at_least(value) if name.endswith("at least") else f"{value:.6g}"


def verdict(certificate: Certificate) -> str:
    """Return one word, or a few, on what the reader may rely on."""
    if not certificate.holds:
        return say("DOES NOT HOLD. {objection}", objection=certificate.objection)
    return say("holds, but the bound is vacuous" if certificate.vacuous else "holds")


def percent(relative_gap: float) -> str:
    """Print a relative gap: the best is lower by at most that much of the objective.

    >>> percent(0.0234), percent(1.2345e-7), percent(0.0)
    ('2.34%', '1.24e-05%', '0%')
    """
    return f"{at_most(100 * relative_gap * (1 - 1e-12), 3)}%"  # 100·1e-12 is not 1e-10


def lines(certificate: Certificate) -> list[tuple[str, str]]:
    """Return the numbers, each with its name."""
    below, above = map(say, BOUNDS[certificate.kind])
    lower, upper = bounds_in_digits(certificate)
    table = [(above, upper), (below, lower)]
    if certificate.kind in OPTIMIZATION:
        table.append((say("gap"), _gap(certificate)))
    table += [(say(name), _safe(name, value)) for name, value in certificate.figures.items()]
    if certificate.reference:
        table.append((say("proved in"), certificate.reference))
    return table


def remarks(certificate: Certificate) -> list[str]:
    """Return what is to be known besides the numbers: what is trusted, and who says what."""
    return [
        *(say("Taken on trust: {text}", text=trusted) for trusted in certificate.trusted),
        *(say("Note: {text}", text=remark) for remark in certificate.remarks),
        *(say("Said besides, not proved: {text}", text=note) for note in certificate.notes),
    ]


def _gap(certificate: Certificate) -> str:
    relative = certificate.relative_gap
    if relative < certificate.gap / max(certificate.upper, 5e-324) * (1 - 1e-9):
        # The best may be zero: the percentage would not be one of this objective.
        return at_most(certificate.gap)
    text = "{gap} (the best is at most {percent} lower)"
    return say(text, gap=at_most(certificate.gap), percent=percent(relative))


def as_text(certificate: Certificate) -> str:
    """Return several lines for a terminal."""
    title, body = say("Certificate: none"), [*certificate.remarks, *certificate.notes]
    if certificate.kind != "none" or certificate.parts:
        parts = [_heading(), *map(_part, certificate.parts)]
        title, table = _title(certificate), parts if certificate.parts else lines(certificate)
        body = [*_aligned(table), *remarks(certificate)]
    return "\n".join([title, *(f"  {line}" for line in (certificate.statement, *body))])


def _title(certificate: Certificate) -> str:
    kind = say(certificate.kind)
    return say("Certificate: {kind}, {verdict}", kind=kind, verdict=verdict(certificate))


def _heading() -> tuple[str, ...]:
    return say("part"), say("lower"), say("upper"), say("relative gap"), ""


def _part(part: Certificate) -> tuple[str, ...]:
    gap = percent(part.relative_gap) if part.kind in OPTIMIZATION else "–"
    bounds = ("–", "–") if part.kind == "none" else bounds_in_digits(part)
    return (part.title, *bounds, gap, f"{say(part.kind)}, {verdict(part)}")


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def as_html(certificate: Certificate) -> str:
    """Write a small table for a notebook; a composite has a row for each part, parts inside."""
    if certificate.kind == "none" and not certificate.parts:
        none, statement = say("Certificate: none"), html.escape(certificate.statement)
        return f"<p><b>{none}.</b> {statement}</p>"
    if certificate.parts:
        head = "".join(f"<th align='left'>{html.escape(name)}</th>" for name in _heading())
        table = f"<tr>{head}</tr>" + "".join(_html_row(_part(part)) for part in certificate.parts)
    else:
        table = "".join(_html_row(row) for row in lines(certificate))
    notes = "".join(f"<li>{html.escape(remark)}</li>" for remark in remarks(certificate))
    details = "".join(
        f"<details><summary>{html.escape(part.title)}</summary>{as_html(part)}</details>"
        for part in certificate.parts
    )
    title = html.escape(_title(certificate))
    return (
        f"{NO_FORMULAS}<b>{title}</b><p>{html.escape(certificate.statement)}</p><table>{table}</table>"
        f"{f'<ul>{notes}</ul>' if notes else ''}{details}</div>"
    )


def _html_row(cells: Sequence[str]) -> str:
    first, *others = map(html.escape, cells)
    return f"<tr><th align='left'>{first}</th>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>"


OBJECTIONS = {
    "contradiction": "The lower bound is above the upper one: the checker itself is wrong.",
    "shape": "The model or the witness is of another size than the data.",
    "labels": "Labels must be told apart as +1 and −1.",
    "unknown label": "y holds labels that the certificate does not know.",
    "targets": "A target is not a finite number.",
    "weights": "Weights must be numbers ≥ 0, one for each row, with a sum of 1e-150 or more.",
    "dual point": "The dual point holds NaN or infinity, or is of another size than the data.",
    "model not finite": "The model holds NaN or infinity.",
    "bias": "The problem has no bias, and the model has one.",
    "sign": "A coefficient is negative, and the problem asks for β ≥ 0.",
    "ball": "‖β‖₁ = {length:.17g} is more than δ = {delta:.17g}.",
    "rows": "A row holds NaN or infinity, or is too long for double precision.",
    "not finite": "The objective of this model is not finite in double precision.",
    "not separated": "The model is not proved to separate the data.",
    "collinear": (
        "The columns are nearly collinear, and from the products of the batches alone nothing can "
        "be proved: cotas.certify(model, X, y) with all the rows can, and so can Ridge."
    ),
    "parameters": "A parameter of the problem is negative, not finite or of another size.",
    "penalty": "λ must be a finite number above zero.",
    "indefinite": "The kernel is not positive semi-definite: nothing bounds the best objective.",
    "square": "A precomputed kernel needs the square matrix of k(xᵢ, xⱼ) at the rows of the fit.",
    "kernel": "The kernel is not one that the checker can evaluate.",
}


def against(one: object, other: object) -> str:
    """Return what a part about two of the classes is called; no two pairs are called the same."""
    first, second = (repr(k) if " against " in k else k for k in (str(one), str(other)))
    return _against(first, second, current())


@lru_cache(maxsize=256)  # many fits have the same classes
def _against(one: str, other: str, language: str) -> str:
    return say("{one} against {other}", one=one, other=other)


def against_the_rest(label: object) -> str:
    """Return what a part about one class and all others is called."""
    return say("{label} against the rest", label=label)


def other_rows(n: int, others: int) -> ValueError:
    """Return the error of data that have another number of rows than the witness."""
    return ValueError(say("X has {n} rows; the certificate is about {m}.", n=n, m=others))


def in_words(objection: Bounds | Objection) -> str:
    """Return the sentence for what the core objects to; none where it has proved its bounds."""
    if isinstance(objection, Bounds):
        return ""
    return say(OBJECTIONS.get(objection.code, objection.code), **objection.details)


def mean_of(weights: Any) -> str:
    """Return the mean that is minimized, in words: whether some rows count more than others."""
    equal = weights is None or (weights == weights[:1]).all()
    return say("mean" if equal else "weighted mean")


def bias_in_words(free: bool, scale: float = 0.0) -> str:
    """Return what is asked of the bias."""
    if scale:
        return say("the bias penalized as one more weight")
    return say("the bias is free" if free else "without bias")


def not_examined(most: int) -> str:
    """Tell why nothing is said about K."""
    text = "It was not examined, there being more than {most} rows."
    return say(text, most=most)


def proof_of(shift: float) -> str:
    """Tell how K, with `shift` on its diagonal, was proved positive semi-definite."""
    if not shift:
        return say("K is positive semi-definite, as a Cholesky factorization proves.")
    return say(
        "K is positive semi-definite up to rounding: K + {shift:.3g}·I is, as a Cholesky "
        "factorization proves, and the bounds are about that matrix.",
        shift=shift,
    )


def on_trust(spec: Any) -> tuple[str, ...]:
    """Return what of a kernel is a function of the user's own."""
    match spec:
        case ("custom", _):
            return ("the kernel, a function whose values are taken as they come",)
        case ("features", _):
            return ("the feature map, a function whose values are taken as they come",)
        case tuple():
            return tuple(dict.fromkeys(t for part in spec for t in on_trust(part)))
    return ()
