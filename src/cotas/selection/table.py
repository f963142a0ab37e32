"""Tables as text and for a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from cotas.certificates.presentation import NO_FORMULAS


def number(value: Any, digits: int = 4) -> str:
    """A number as a table shows it; "–" where there is none."""
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.{digits}g}"
    return str(value)


def gap_in_words(gap: float) -> str:
    """A relative gap, or "–" where there is none."""
    return "–" if math.isnan(gap) else f"{gap:.1e}"


def as_text(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as they need be, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [names, *rows]
    ]


def as_html(
    title: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    conclusions: Sequence[str],
    bold: int | None = None,
) -> str:
    """A table with a title above it and sentences below."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(_row(row, k == bold) for k, row in enumerate(rows))
    below = "".join(f"<p>{html.escape(line)}</p>" for line in conclusions)
    return (
        f"{NO_FORMULAS}<b>{html.escape(title)}</b><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}</div>"
    )


def _row(cells: Sequence[str], bold: bool) -> str:
    style = " style='font-weight: bold'" if bold else ""
    inner = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    return f"<tr{style}>{inner}</tr>"
