"""A certificate as the lab shows it: in words, and its two bounds as a bar."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import cotas
from cotas.certificates import Certificate
from cotas.certificates.presentation import bounds_in_digits, percent
from cotas.lab.words import Wording
from cotas.report.certificates import STANDINGS, has_gap, in_words, standing
from cotas.report.markup import minus, text
from cotas.tracing import Trace
from cotas.tracing.printed import Line
from cotas.words import english, say

# The width of the drawing, and the height of the bar of each report.
WIDTH, HEIGHT = 300.0, 7.0
# A proof that leaves more than this part of the objective open is no tick for a fit.
FAR = 0.01
# So many reports are drawn, evenly over the run.
MOST_BARS = 8


def page(trace: Trace, executed: Iterable[Line], wording: Wording, lang: str) -> str:
    """The title, the lines, those executed marked, and where the numbers are not the page's."""
    algorithm = trace.algorithm
    marked = {line.number for line in executed}
    lines = "".join(
        f'<span class="line{" now" if line.number in marked else ""}" '
        f'style="--depth: {line.depth}">'
        f"{text(line.number):>3}  {text(line.indented(lang))}</span>"
        for line in algorithm.lines
    )
    title = algorithm.spanish if lang == "es" else algorithm.english
    heading = wording("printed", title=title, author=algorithm.author)
    with cotas.lang(lang):
        notes = "".join(f"<p>{text(note)}</p>" for note in trace.notes)
    return f"<h2 class='next'>{text(heading)}</h2><pre>{lines}</pre>{notes}"


def card(certificate: Certificate, reports: Sequence[Any], wording: Wording) -> str:
    """What is proved of a model, how the bounds came together, and where the theorem stands.

    The certificate speaks the language of the moment, and `wording` should too.
    """
    worst = worst_part(certificate)
    state = standing(certificate)
    verdict = say(STANDINGS[state])
    if state == "holds" and has_gap(worst) and worst.relative_gap > FAR:
        state, verdict = "open", wording("far", gap=minus(percent(worst.relative_gap)))
    verdict = f'<span class="standing">{text(verdict)}</span>'
    heading = f"{text(wording('certificate'))}: {verdict}"
    body = f'<p class="say">{text(in_words(worst))}</p>'
    if certificate.parts:
        which = wording("part", count=len(certificate.parts), label=worst.label)
        body = f'<p class="soft">{text(which)}</p>{body}'
    if certificate.objection and state == "fails":
        body += f'<p class="say">{text(certificate.objection)}</p>'
    if state != "none":
        body += bars(worst, reports, wording)
    details = f"{certificate.statement} {certificate.reference}".strip()
    body += (
        f"<details><summary>{text(wording('statement'))}</summary>"
        f'<p class="say">{text(details)}</p></details>'
    )
    return f'<div class="card {state}"><h2>{heading}</h2>{body}</div>'


def worst_part(certificate: Certificate) -> Certificate:
    """The part whose bounds those of the whole are."""
    same = [
        part
        for part in certificate.singles
        if (part.lower, part.upper) == (certificate.lower, certificate.upper)
    ]
    return same[0] if same else certificate


def bars(certificate: Certificate, reports: Sequence[Any], wording: Wording) -> str:
    """The interval between the bounds, as it was at each look and as it is now."""
    if not has_gap(certificate):
        return _measured_and_allowed(certificate, wording)
    seen = _of_the_part(certificate, reports)
    chosen = [seen[round(k)] for k in _spread(len(seen))]
    rows = [*((c.lower, c.upper) for c in chosen), (certificate.lower, certificate.upper)]
    rows = [(low, high) for low, high in rows if math.isfinite(low) and math.isfinite(high)]
    if not rows:
        return ""
    most = max(high for _, high in rows) or 1.0
    least = min(0.0, *(low for low, _ in rows))
    drawn = "".join(
        _interval(k, low, high, least, most, k == len(rows) - 1)
        for k, (low, high) in enumerate(rows)
    )
    lower, upper = map(minus, bounds_in_digits(certificate))
    note = f'<p class="soft">{text(wording("steps of proof"))}</p>' if len(rows) > 1 else ""
    return (
        f"{_drawing(len(rows), drawn, f'{lower} – {upper}')}"
        f'<div class="ends"><span>{text(wording("lower"))} <b>{lower}</b></span>'
        f"<span>{text(wording('upper'))} <b>{upper}</b></span></div>{note}"
        f"<dl><dt>{text(wording('relative gap'))}</dt>"
        f'<dd id="gap">{minus(percent(certificate.relative_gap))}</dd></dl>'
    )


def _of_the_part(certificate: Certificate, reports: Sequence[Any]) -> list[Certificate]:
    """What was told of this part of the model alone, or of a model that has no parts."""
    told = [report for report in reports if hasattr(report, "certificate")]
    if len({str(report.label) for report in told}) > 1:
        name = english(certificate.label)
        told = [report for report in told if name == _called(report.label)]
    return [report.certificate for report in told]


def _called(label: Any) -> str:
    """What a certificate calls the part that a report is about: a pair of classes, or one."""
    pair = label if isinstance(label, tuple) else (label, "the rest")
    return " against ".join(map(str, pair))


def _measured_and_allowed(certificate: Certificate, wording: Wording) -> str:
    """What was measured beside what a theorem allows."""
    low, high = certificate.lower, certificate.upper
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    most = max(low, high) or 1.0
    drawn = _interval(0, 0.0, low, 0.0, most, True) + _interval(1, 0.0, high, 0.0, most, False)
    lower, upper = map(minus, bounds_in_digits(certificate))
    return (
        f"{_drawing(2, drawn, f'{lower}, {upper}')}"
        f'<div class="ends"><span>{text(wording("measured"))} <b>{lower}</b></span>'
        f"<span>{text(wording('allowed'))} <b>{upper}</b></span></div>"
    )


def _drawing(rows: int, drawn: str, label: str) -> str:
    height = rows * (HEIGHT + 2)
    return (
        f'<svg class="bar" role="img" aria-label="{text(label)}" '
        f'viewBox="0 0 {WIDTH:g} {height:g}" preserveAspectRatio="none" '
        f'style="height:{height:g}px">{drawn}</svg>'
    )


def _interval(row: int, low: float, high: float, least: float, most: float, strong: bool) -> str:
    scale = WIDTH / ((most - least) or 1.0)
    x, width = (low - least) * scale, max(2.0, (high - low) * scale)
    x = min(x, WIDTH - width)
    opacity = 1.0 if strong else 0.45
    return (
        f'<rect x="0" y="{row * (HEIGHT + 2):g}" width="{WIDTH:g}" height="{HEIGHT:g}" rx="3" '
        f'fill="var(--lab-line, #d9dee3)" opacity=".5"/>'
        f'<rect x="{max(0.0, x):.2f}" y="{row * (HEIGHT + 2):g}" width="{width:.2f}" '
        f'height="{HEIGHT:g}" fill="var(--lab-band, #0072b2)" opacity="{opacity}"/>'
    )


def _spread(count: int) -> list[float]:
    if count <= MOST_BARS:
        return [float(k) for k in range(count)]
    return [k * (count - 1) / (MOST_BARS - 1) for k in range(MOST_BARS)]


def capital(words: str) -> str:
    """The words with a capital letter, as a list has them."""
    return words[:1].upper() + words[1:]
