"""Curves in one style for all rooms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Span
from bokeh.plotting import figure

from cotas.lab.looks import Looks, legend

# The lines of a legend for each kind of dash.
KEYS = {"solid": "line", "dashed": "dashed", "dotted": "dotted", "dotdash": "dotdash"}


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
    """A figure of Bokeh with curves, one upright line that can be moved, and a legend below."""

    def __init__(
        self,
        looks: Looks,
        x: str,
        y: str,
        *,
        title: str = "",
        log: tuple[bool, bool] = (False, False),
        aspect: float = 1.8,
        name: str = "",
    ) -> None:
        self.looks, self.log = looks, log
        kinds = ["log" if each else "linear" for each in log]
        self.figure = figure(
            x_axis_label=x, y_axis_label=y, x_axis_type=kinds[0], y_axis_type=kinds[1],
            title=title or None, tools="pan,wheel_zoom,box_zoom,reset", active_drag=None,
            active_scroll=None, sizing_mode="scale_width", aspect_ratio=aspect, min_height=220,
            toolbar_location=None, name=name,
        )  # fmt: skip
        self.lines = ColumnDataSource(
            {"xs": [], "ys": [], "colour": [], "dash": []}, name=f"{name} lines"
        )
        self.dots = ColumnDataSource({"x": [], "y": [], "colour": [], "mark": []})
        self.figure.multi_line(
            "xs", "ys", source=self.lines, line_color="colour", line_dash="dash", line_width=2.2
        )
        self.figure.scatter(
            "x", "y", source=self.dots, color="colour", marker="mark", size=7,
            line_color=looks.paper,
        )  # fmt: skip
        self.mark = Span(dimension="height", line_color=looks.ink, line_width=1.4, visible=False)
        self.figure.add_layout(self.mark)
        looks.dress(self.figure)
        if title:
            self.figure.title.text_color = looks.ink
            self.figure.title.text_font_size = "14px"
        self.keys = pn.pane.HTML("", margin=0, sizing_mode="stretch_width")

    def draw(self, curves: Iterable[Curve], at: float | None = None) -> None:
        """Draw these in the place of what was there, and the upright line."""
        shown = [(curve, *self._visible(curve)) for curve in curves]
        looks = self.looks
        self.lines.data = {
            "xs": [x for _, x, _ in shown],
            "ys": [y for _, _, y in shown],
            "colour": [looks.colour(curve.number) for curve, _, _ in shown],
            "dash": [[] if curve.dash == "solid" else _DASHES[curve.dash] for curve, _, _ in shown],
        }
        points = [
            (a, b, looks.colour(curve.number), looks.marker(curve.number))
            for curve, x, y in shown
            if curve.dots
            for a, b in zip(x, y, strict=True)
        ]
        columns = zip(*points, strict=True) if points else ([], [], [], [])
        self.dots.data = dict(zip(("x", "y", "colour", "mark"), map(list, columns), strict=True))
        self.mark.visible = at is not None
        if at is not None:
            self.mark.location = at
        self.keys.object = legend(
            (looks.key(KEYS[curve.dash], curve.number), curve.name)
            for curve, _, _ in shown
            if curve.name
        )

    def _visible(self, curve: Curve) -> tuple[list[float], list[float]]:
        """What the axes can show: a logarithm knows no zero."""
        x, y = np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64)
        fine = np.isfinite(x) & np.isfinite(y)
        fine &= (x > 0) | (not self.log[0])
        fine &= (y > 0) | (not self.log[1])
        return x[fine].tolist(), y[fine].tolist()

    def pane(self) -> Any:
        """The figure with its legend."""
        from cotas.lab.looks import PROSE

        self.keys.stylesheets = [PROSE]
        return pn.Column(
            pn.pane.Bokeh(self.figure, sizing_mode="stretch_width", margin=0),
            self.keys,
            sizing_mode="stretch_width",
            margin=(0, 0, 12, 0),
        )


_DASHES = {"dashed": [7, 4], "dotted": [2, 4], "dotdash": [2, 4, 7, 4]}
