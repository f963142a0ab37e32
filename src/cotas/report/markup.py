"""HTML from values: everything that comes from outside is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from cotas.report.figures import number
from cotas.words import say


def text(value: object) -> str:
    return escape(str(value))


def paragraph(words: str) -> str:
    return f"<p>{text(words)}</p>"


def and_more(count: int) -> str:
    """Return what is said of those that are not shown, if there are any."""
    return paragraph(say("and {count} more", count=count)) if count > 0 else ""


def section(title: str, *body: str) -> str:
    return f"<section><h2>{text(title)}</h2>{''.join(body)}</section>"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table that scrolls sideways on a narrow screen instead of breaking the page."""
    head = "".join(f'<th scope="col">{text(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return _scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def pairs(values: Mapping[str, object]) -> str:
    """Return names with their values, one under the other."""
    body = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in values.items())
    return f"<dl>{body}</dl>"


def items(lines: Iterable[str], kind: str = "") -> str:
    shown = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f'<ul class="{kind}">{shown}</ul>' if kind else f"<ul>{shown}</ul>"


def details(title: str, body: str) -> str:
    return f"<details><summary>{text(title)}</summary>{body}</details>"


def bars(headings: Sequence[str], rows: Sequence[tuple[str, float, float]]) -> str:
    """Return a name, a number and a bar to the left or right of zero in each row."""
    largest = max((abs(size) for _, _, size in rows), default=0.0) or 1.0
    head = "".join(f'<th scope="col">{text(heading)}</th>' for heading in headings)
    body = "".join(_bar(name, shown, size, 50 * abs(size) / largest) for name, shown, size in rows)
    return _scrolling(
        f'<table class="bars"><thead><tr>{head}<td></td></tr></thead><tbody>{body}</tbody></table>'
    )


def _bar(name: str, shown: float, size: float, width: float) -> str:
    side, start = ("right", 50.0) if size >= 0 else ("left", 50.0 - width)
    return (
        f'<tr><th scope="row">{text(name)}</th><td class="number">{number(shown)}</td>'
        f'<td class="bar" aria-hidden="true"><i class="{side}" '
        f'style="margin-left:{start:.2f}%;width:{width:.2f}%"></i></td></tr>'
    )


def _scrolling(wide: str) -> str:
    """Wrap what scrolls: by the keyboard too, so it can be focused."""
    return f'<div class="scroll" tabindex="0">{wide}</div>'
