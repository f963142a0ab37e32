"""Curves in one style for all rooms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import FixedTicker, LogTicker, Span, Ticker
from bokeh.plotting import figure

from cotas.arrays import FloatArray
from cotas.lab.theme import Theme, columns, legend, stack, wide
from cotas.report.markup import text

# An axis on a telephone has room for so many numbers.
MOST_NUMBERS = 6
# How a line is dashed: another way in each round of the colours.
DASHES: dict[str, list[int]] = {
    "solid": [],
    "dashed": [7, 4],
    "dotdash": [2, 4, 7, 4],
    "dotted": [2, 4],
}


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve: its name, where it goes, and how it looks."""

    name: str
    x: Any
    y: Any
    number: int = 0
    dash: str = "solid"
    dots: bool = False


class Chart:
    """A figure of Bokeh with curves, one upright line that can be moved, and a legend below.

    What goes upwards is called above the figure, where long words find room on a telephone.
    """

    def __init__(
        self,
        theme: Theme,
        x: str,
        y: str,
        *,
        title: str = "",
        log: tuple[bool, bool] = (False, False),
        aspect: float = 1.8,
        name: str = "",
    ) -> None:
        self.theme, self.log, self.title = theme, log, title
        kinds = ["log" if each else "linear" for each in log]
        self.figure = figure(
            x_axis_label=x, x_axis_type=kinds[0], y_axis_type=kinds[1], tools="",
            sizing_mode="scale_width", aspect_ratio=aspect, min_height=220, toolbar_location=None,
            name=name,
        )  # fmt: skip
        self.lines = columns("xs", "ys", "colour", "dash", name=f"{name} lines")
        self.dots = columns("x", "y", "colour", "mark")
        self.figure.multi_line(
            "xs", "ys", source=self.lines, line_color="colour", line_dash="dash", line_width=2.2
        )
        self.figure.scatter(
            "x", "y", source=self.dots, color="colour", marker="mark", size=7,
            line_color=theme.paper,
        )  # fmt: skip
        self.mark = Span(dimension="height", line_color=theme.ink, line_width=1.4, visible=False)
        self.figure.add_layout(self.mark)
        theme.dress(self.figure)
        self.figure.min_border_left = 50
        self.caption, self.keys = wide(), wide()
        self.call(y)

    def call(self, y: str, title: str = "") -> None:
        """Say what goes upwards, and give the figure a title."""
        self.y, self.title = y, title or self.title
        heading = f"<b>{text(self.title)}</b> · " if self.title else ""
        self.caption.object = f'<div class="caption">{heading}{text(y)}</div>'

    def draw(
        self,
        curves: Iterable[Curve],
        at: float | None = None,
        called: str = "",
        others: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Draw these in the place of what was there.

        Parameters
        ----------
        curves : what is drawn
        at, called : where the upright line stands, if anywhere, and what the legend calls it
        others : more of the legend: small drawings with their words
        """
        shown, theme = [(curve, *self._visible(curve)) for curve in curves], self.theme
        self.lines.data = {
            "xs": [x for _, x, _ in shown],
            "ys": [y for _, _, y in shown],
            "colour": [theme.colour(curve.number) for curve, _, _ in shown],
            "dash": [DASHES[curve.dash] for curve, _, _ in shown],
        }
        if self.log[0]:
            self.figure.xaxis.ticker = _ticker([v for _, x, _ in shown for v in x])
        if self.log[1]:
            self.figure.yaxis.ticker = _ticker([v for _, _, y in shown for v in y])
        points = [
            (a, b, theme.colour(curve.number), theme.marker(curve.number))
            for curve, x, y in shown
            if curve.dots
            for a, b in zip(x, y, strict=True)
        ]
        parts = zip(*points, strict=True) if points else ([], [], [], [])
        self.dots.data = dict(zip(self.dots.data, map(list, parts), strict=True))
        self.mark.visible = at is not None
        if at is not None:
            self.mark.location = at
        keys = [
            (theme.key(curve.dash, curve.number), curve.name)
            for curve, _, _ in shown
            if curve.name not in ("", self.y)
        ]
        mark = [(theme.key("upright"), called)] if called and at is not None else []
        self.keys.object = legend([*keys, *mark, *others])

    def _visible(self, curve: Curve) -> tuple[list[float], list[float]]:
        """Return what the axes can show: a logarithm knows no zero."""
        x, y = np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64)
        fine = np.isfinite(x) & np.isfinite(y)
        fine &= (x > 0) | (not self.log[0])
        fine &= (y > 0) | (not self.log[1])
        return x[fine].tolist(), y[fine].tolist()

    def pane(self) -> Any:
        """Return the figure with its legend."""
        return stack(self.caption, self.figure, self.keys, margin=(0, 0, 12, 0))


def coefficients(names: Sequence[str], x: Any, values: FloatArray) -> list[Curve]:
    """Return a curve for each column of the values."""
    dashes = [*DASHES]
    return [
        Curve(name, x, values[:, j], j, dashes[j // 8 % len(dashes)])
        for j, name in enumerate(names)
    ]


def _ticker(values: list[float]) -> Ticker:
    """Make what gives a logarithmic axis its numbers; Bokeh's own is good within less than a
    decade."""
    if not values or max(values) < 10 * min(values):
        return LogTicker()
    return FixedTicker(ticks=_ticks(values))


def _ticks(values: list[float]) -> list[float]:
    """Tell where a logarithmic axis has numbers: six or so.

    >>> _ticks([0.7, 30.0])
    [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    """
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    if high - low > MOST_NUMBERS // 2:
        return [10.0**k for k in range(low, high + 1, -(-(high - low) // MOST_NUMBERS))]
    found = [float(f"{m}e{k}") for k in range(low - 1, high + 1) for m in (1, 2, 5)]
    return [tick for tick in found if min(values) / 2 <= tick <= 2 * max(values)]
