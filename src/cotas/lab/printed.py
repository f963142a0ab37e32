"""An algorithm as its document prints it, with the lines that are executed."""

from __future__ import annotations

from collections.abc import Iterable

import cotas
from cotas.lab.words import Wording
from cotas.report.markup import text
from cotas.tracing import Trace
from cotas.tracing.printed import Line


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
