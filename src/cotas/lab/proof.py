"""A certificate as the lab shows it: in words, and its two bounds as a bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cotas.certificates import Certificate
from cotas.certificates.presentation import bounds_in_digits, percent
from cotas.report.certificates import STANDINGS, has_gap, in_words, standing
from cotas.report.markup import text
from cotas.tracing import Trace
from cotas.tracing.printed import Line
from cotas.words import current, english, say

# The width of the drawing, and the height of the bar of each report.
WIDTH, HEIGHT = 300.0, 7.0
# A proof that leaves more than this part of the objective open is no tick for a fit.
FAR = 0.01
# So many reports are drawn, evenly over the run.
MOST_BARS = 8


def page(trace: Trace, executed: Iterable[Line]) -> str:
    """Write the title, the lines, those executed marked, and where the numbers are not the
    page's."""
    algorithm = trace.algorithm
    marked = {line.number for line in executed}
    lines = "".join(
        f'<span class="line{" now" if line.number in marked else ""}" '
        f'style="--depth: {line.depth}">'
        f"{text(line.number):>3}  {text(line.indented())}</span>"
        for line in algorithm.lines
    )
    title = algorithm.spanish if current() == "es" else algorithm.english
    heading = say("{title}, as {author} prints it", title=title, author=algorithm.author)
    notes = "".join(f"<p>{text(note)}</p>" for note in trace.notes)
    return f"<h2 class='next'>{text(heading)}</h2><pre>{lines}</pre>{notes}"


def card(certificate: Certificate, reports: Sequence[Any] = ()) -> str:
    """Show what is proved of a model, how the bounds came together, and where the theorem
    stands."""
    worst, state = worst_part(certificate), standing(certificate)
    verdict = say(STANDINGS[state])
    if state == "holds" and has_gap(worst) and worst.relative_gap > FAR:
        gap = percent(worst.relative_gap)
        state, verdict = "open", say("proved, but the best may be {gap} lower", gap=gap)
    body = f'<p class="say">{text(in_words(worst))}</p>'
    if certificate.parts:
        count, label = len(certificate.parts), worst.label
        which = say("The worst of {count} parts: {label}", count=count, label=label)
        body = f'<p class="soft">{text(which)}</p>{body}'
    if certificate.objection and state == "fails":
        body += f'<p class="say">{text(certificate.objection)}</p>'
    if state != "none":
        body += bars(worst, reports)
    details = f"{certificate.statement} {certificate.reference}".strip()
    return (
        f'<div class="card {state}"><h2>{text(say("The certificate"))}: '
        f'<span class="standing">{text(verdict)}</span></h2>{body}'
        f"<details><summary>{text(say('The statement, and where it is proved'))}</summary>"
        f'<p class="say">{text(details)}</p></details></div>'
    )


def worst_part(certificate: Certificate) -> Certificate:
    """Return the part whose bounds those of the whole are."""
    bounds = (certificate.lower, certificate.upper)
    same = (part for part in certificate.singles if (part.lower, part.upper) == bounds)
    return next(same, certificate)


def bars(certificate: Certificate, reports: Sequence[Any]) -> str:
    """Return the interval between the bounds, as it was at each look and as it is now.

    Without a gap: what was measured, above what the theorem allows.
    """
    low, high, gap = certificate.lower, certificate.upper, has_gap(certificate)
    if gap:
        seen = _of_the_part(certificate, reports)
        some = np.linspace(0, len(seen) - 1, min(len(seen), MOST_BARS)).round().astype(int)
        rows = [*((seen[k].lower, seen[k].upper) for k in some), (low, high)]
    else:
        rows = [(0.0, low), (0.0, high)]
    rows = [row for row in rows if np.isfinite(row).all()]
    if not rows or not (gap or len(rows) == 2):
        return ""
    lower, upper = bounds_in_digits(certificate)
    at_least, at_most = map(say, ends_of(certificate))
    ends = (
        f"{_drawing(rows, len(rows) - 1 if gap else 0, f'{lower} – {upper}')}"
        f'<div class="ends"><span>{text(at_least)} <b>{lower}</b></span>'
        f"<span>{text(at_most)} <b>{upper}</b></span></div>"
    )
    if not gap:
        return ends
    if len(rows) > 1:
        note = say("What was proved while it solved, from top to bottom")
        ends += f'<p class="soft">{text(note)}</p>'
    share = percent(certificate.relative_gap)
    return f'{ends}<dl><dt>{text(say("Relative gap"))}</dt><dd id="gap">{share}</dd></dl>'


def ends_of(certificate: Certificate) -> tuple[str, str]:
    """Return what the two bounds are."""
    if has_gap(certificate):
        return "at least", "at most"
    return "measured", "allowed by the theorem"


def _of_the_part(certificate: Certificate, reports: Sequence[Any]) -> list[Certificate]:
    """Return what was told of this part of the model alone, or of a model that has no parts."""
    certified = [report for report in reports if hasattr(report, "certificate")]
    if len({str(report.label) for report in certified}) > 1:
        name = english(certificate.label)
        certified = [report for report in certified if name == _called(report.label)]
    return [report.certificate for report in certified]


def _called(label: object) -> str:
    """Say what a certificate calls the part that a report is about: a pair of classes, or one."""
    pair = label if isinstance(label, tuple) else (label, "the rest")
    return " against ".join(map(str, pair))


def _drawing(rows: list[tuple[float, float]], strong: int, label: str) -> str:
    """Draw the intervals as bars one under the other, all of the same length, one of them
    strong."""
    least, most = min(0.0, *(low for low, _ in rows)), max(high for _, high in rows) or 1.0
    scale, height, drawn = WIDTH / ((most - least) or 1.0), len(rows) * (HEIGHT + 2), ""
    for k, (low, high) in enumerate(rows):
        width = max(2.0, (high - low) * scale)
        x = max(0.0, min((low - least) * scale, WIDTH - width))
        size = f'y="{k * (HEIGHT + 2):g}" height="{HEIGHT:g}"'
        drawn += (
            f'<rect x="0" {size} width="{WIDTH:g}" rx="3" fill="var(--lab-line, #d9dee3)" '
            f'opacity=".5"/><rect x="{x:.2f}" {size} width="{width:.2f}" '
            f'fill="var(--lab-band, #0072b2)" opacity="{1.0 if k == strong else 0.45}"/>'
        )
    return (
        f'<svg class="bar" role="img" aria-label="{text(label)}" '
        f'viewBox="0 0 {WIDTH:g} {height:g}" preserveAspectRatio="none" '
        f'style="height:{height:g}px">{drawn}</svg>'
    )


def table(kinds: Sequence[str], heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose columns are of these kinds: "n" for numbers, "word", or "" for names."""
    lines = [zip(kinds, row, strict=True) for row in (heads, *rows)]
    tags = ["th", *["td"] * (len(lines) - 1)]
    shown = (
        "".join(f"<{tag} class='{kind}'>{text(cell)}</{tag}>" for kind, cell in line)
        for tag, line in zip(tags, lines, strict=True)
    )
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in shown)}</table>"


def capital(words: str) -> str:
    """Return the words with a capital letter, as a list has them."""
    return words[:1].upper() + words[1:]
