"""Drawings of matplotlib as SVG inside the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

from cotas.plots.style import STYLE

IDENTIFIED = re.compile(r'(\bid="|url\(#|href="#)')


def drawn(draw: Callable[[Any], Any], name: str, size: tuple[float, float] = (6.4, 4.0)) -> str:
    """The SVG of what `draw` puts on an Axes; `name` keeps its identifiers apart from others'."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The same drawing gives the same bytes: fixed salt, no date; letters stay letters.
    with mpl.rc_context({**STYLE, "svg.fonttype": "none", "svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        out = StringIO()
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    return _of_the_page(out.getvalue(), name)


def _of_the_page(svg: str, name: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = IDENTIFIED.sub(rf"\g<1>{name}-", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    return re.sub(r'<svg ([^>]*?)height="[^"]*"', r'<svg \1role="img"', svg, count=1)
