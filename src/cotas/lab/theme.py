"""The looks of the lab: the palette of the pictures, on light and dark paper."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from typing import Any

import panel as pn
from bokeh.models import ColumnDataSource, Plot, Range1d
from bokeh.plotting import figure

from cotas.arrays import FloatArray
from cotas.plots.fitted import axis_of
from cotas.plots.style import COLOURS, MARKERS
from cotas.report.markup import text

# What the server fills in, and style sheets: of the page, of each widget inside its shadow root, of
# panes that hold HTML of the lab's own, of a card that folds, of a room and of what is set in it.
# The variables reach into every widget; in a notebook, where no page defines them, the values after
# the commas stand.
TEMPLATE, PAGE, WIDGET, PROSE, CARD, FLOOR, CONTROLS = (
    resources.files("cotas.lab").joinpath("page", name).read_text("utf-8")
    for name in ("page.html", *(f"{part}.css" for part in
                 ("page", "widget", "prose", "card", "floor", "controls")))
)  # fmt: skip
WRAPPED = ":host { flex-wrap: wrap; }"

# The markers of the pictures, as Bokeh calls them.
_NAMES = {"o": "circle", "s": "square", "^": "triangle", "D": "diamond", "v": "inverted_triangle",
          "P": "plus", "X": "x", "*": "star"}  # fmt: skip
BOKEH_MARKERS = tuple(_NAMES[marker] for marker in MARKERS)


class Theme:
    """Colours on one kind of paper.

    >>> Theme(dark=False).mixed("#000000", 0.5)
    '#808080'
    """

    def __init__(self, dark: bool) -> None:
        self.dark = dark
        self.paper = "#14181c" if dark else "#ffffff"
        self.ink = "#e8ecef" if dark else "#1b1f23"
        self.soft = "#a6b0b9" if dark else "#59636e"
        self.line = "#343c44" if dark else "#d9dee3"
        self.accent = "#4aa8e0" if dark else "#0072b2"
        swap = {"#000000": self.ink, "#0072B2": self.accent}
        self.colours = tuple(swap.get(colour, colour) for colour in COLOURS)

    def colour(self, number: int) -> str:
        """Return the colour of a class or a curve."""
        return self.colours[number % len(self.colours)]

    def marker(self, number: int) -> str:
        """Return the marker of a class."""
        return BOKEH_MARKERS[number % len(BOKEH_MARKERS)]

    def marks(self, codes: Iterable[int]) -> dict[str, list[str]]:
        """Return the colour and the marker of each point, by the number of its class."""
        numbers = [int(code) for code in codes]
        return {"colour": [*map(self.colour, numbers)], "mark": [*map(self.marker, numbers)]}

    def mixed(self, colour: str, strength: float) -> str:
        """Return the colour thinned with the paper."""
        parts = zip(_bytes(colour), _bytes(self.paper), strict=True)
        return "#" + "".join(f"{round(strength * a + (1 - strength) * b):02x}" for a, b in parts)

    def dress(self, figure: Any) -> Any:
        """Give a figure of Bokeh these colours."""
        # Bokeh leaves what it drew before where there is no colour to draw over it.
        figure.background_fill_color = figure.border_fill_color = self.paper
        figure.outline_line_color = self.line
        # Room for the numbers of the axes, so that nothing moves when they change.
        figure.min_border_left, figure.min_border_bottom, figure.min_border_right = 64, 52, 14
        figure.grid.grid_line_color = self.line
        figure.grid.grid_line_alpha = 0.6
        for axis in figure.axis:
            axis.axis_line_color = axis.major_tick_line_color = self.soft
            axis.minor_tick_line_color = None
            axis.major_label_text_color = axis.axis_label_text_color = self.soft
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size = "13px"
            axis.major_label_text_font_size = "12px"
        figure.toolbar.logo = None
        return figure

    def key(self, kind: str, number: int = 0) -> str:
        """Return a small drawing for a legend: a line, dashes, dots, a ring, an area or a point."""
        colour = self.colour(number)
        line = '<line x1="1" y1="8" x2="25" y2="8" stroke="{}" stroke-width="2.4"{}/>'
        shapes = {
            "ink": line.format(self.ink, ""),
            "soft": line.format(self.soft, ""),
            "upright": f'<line x1="13" y1="0" x2="13" y2="16" stroke="{self.ink}"/>',
            "small": f'<circle cx="13" cy="8" r="2.5" fill="{self.mixed(colour, 0.5)}"/>',
            "dashed ink": line.format(self.ink, ' stroke-dasharray="4 3"'),
            "solid": line.format(colour, ""),
            "dashed": line.format(colour, ' stroke-dasharray="5 3"'),
            "dotted": line.format(colour, ' stroke-dasharray="2 3"'),
            "dotdash": line.format(colour, ' stroke-dasharray="2 3 6 3"'),
            "ring": f'<circle cx="13" cy="8" r="6.5" fill="none" stroke="{self.ink}"/>',
            "area": f'<rect x="3" y="2" width="20" height="12" fill="{self.mixed(colour, 0.2)}"/>',
            "hatch": "".join(
                f'<line x1="{x}" y1="14" x2="{x + 8}" y2="2" stroke="{self.soft}"/>'
                for x in (2, 7, 12, 17)
            ),
            "point": _POINTS[self.marker(number)].format(colour),
        }
        return f'<svg class="key" viewBox="0 0 26 16" aria-hidden="true">{shapes[kind]}</svg>'


def prose(html: str = "", **options: Any) -> Any:
    """Return a pane for HTML; whoever fills it escapes what is not its own."""
    return pn.pane.HTML(html, stylesheets=[PROSE], **{"margin": 0, **options})


def wide(html: str = "", **options: Any) -> Any:
    """Return the same over the whole width."""
    return prose(html, sizing_mode="stretch_width", **options)


def stack(*parts: Any, **options: Any) -> Any:
    """Put parts of a page one under the other, over its whole width."""
    shown = [pn.pane.Bokeh(p, sizing_mode="stretch_width", margin=0) if isinstance(p, Plot) else p
             for p in parts]  # fmt: skip
    return pn.Column(*shown, **{"sizing_mode": "stretch_width", "margin": 0, **options})


def plane(theme: Theme, aspect: float, **options: Any) -> Any:
    """Return an empty picture of the plane, as those that are moved in have it."""
    plot = figure(
        x_range=Range1d(), y_range=Range1d(), sizing_mode="scale_width", aspect_ratio=aspect,
        min_height=300, name="plane", **{"tools": "", "toolbar_location": None, **options},
    )  # fmt: skip
    theme.dress(plot)
    plot.grid.grid_line_color = None
    return plot


def frame(plot: Any, X: FloatArray) -> None:
    """Let a picture of the plane show all these points, and a little around them."""
    for axis, values in zip((plot.x_range, plot.y_range), X.T, strict=True):
        start, end = map(float, axis_of(values, 2))
        axis.update(start=start, end=end, reset_start=start, reset_end=end)


def columns(*names: str, name: str | None = None) -> ColumnDataSource:
    """Return what a picture draws from, empty."""
    return ColumnDataSource({each: [] for each in names}, name=name)


def legend(items: Iterable[tuple[str, str]]) -> str:
    """Draw small pictures, each with the words that say what it is."""
    shown = "".join(f"<span>{drawing}{text(words)}</span>" for drawing, words in items)
    return f'<div class="legend">{shown}</div>'


_POLYGON = '<polygon points="{}" fill="{{}}"/>'
_POINTS = {
    "circle": '<circle cx="13" cy="8" r="5" fill="{}"/>',
    "square": '<rect x="8" y="3" width="10" height="10" fill="{}"/>',
    "triangle": _POLYGON.format("13,2 19,13 7,13"),
    "diamond": _POLYGON.format("13,1 18,8 13,15 8,8"),
    "inverted_triangle": _POLYGON.format("13,14 19,3 7,3"),
    "plus": _POLYGON.format("11,2 15,2 15,6 19,6 19,10 15,10 15,14 11,14 11,10 7,10 7,6 11,6"),
    "x": '<path d="M8 3 L18 13 M18 3 L8 13" stroke="{}" stroke-width="3"/>',
    "star": _POLYGON.format("13,1 15,6 20,6 16,9 18,14 13,11 8,14 10,9 6,6 11,6"),
}


def _bytes(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
