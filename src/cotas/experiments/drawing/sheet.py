"""The paper the figures are drawn on."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.samples import LabelledSample
from cotas.plots.style import COLOURS, INK, MARKERS, STYLE, pyplot, tidy, tint


@contextmanager
def sheet(
    columns: int = 1, rows: int = 1, width: float = 6.0, height: float = 4.4, **options: Any
) -> Iterator[tuple[Any, list[Any]]]:
    """A figure with panels of this size in inches, in the style of `cotas.plots`.

    It belongs to nobody else: pyplot does not know it, so nothing has to be closed.
    """
    plt = pyplot()
    from matplotlib.figure import Figure

    with plt.rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, **options)
        axes = list(panels.ravel())
        yield figure, axes
        for ax in axes:
            tidy(ax)


def caption(figure: Any, text: str) -> None:
    """A title over all panels, broken to the width of the figure."""
    width = round(figure.get_size_inches()[0] * 12)
    figure.suptitle(textwrap.fill(text, width), fontsize=11, color=INK)


def scatter(ax: Any, data: LabelledSample, size: float = 20.0, **options: Any) -> None:
    """The examples, −1 blue circles and +1 orange squares, as `decision_boundary` draws them."""
    for k, label in enumerate((-1, 1)):
        ax.scatter(
            *data.X[data.y == label].T,
            s=size,
            c=COLOURS[k],
            marker=MARKERS[k],
            edgecolors="white",
            linewidths=0.4,
            label=f"y = {label:+d}",
            **{"zorder": 2, **options},
        )


def sides(
    ax: Any,
    score: Callable[[FloatArray], FloatArray],
    span: tuple[float, float, float, float],
    margins: bool = False,
) -> None:
    """The two sides of score(x) = 0 in pale colours, the line, and score = ±1 if asked."""
    x1, x2 = np.linspace(span[0], span[1], 300), np.linspace(span[2], span[3], 300)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x1, x2)])
    values = score(grid).reshape(len(x2), len(x1))
    pale = [tint(colour) for colour in COLOURS[:2]]
    ax.contourf(x1, x2, values, levels=[-np.inf, 0, np.inf], colors=pale, zorder=0)
    ax.contour(x1, x2, values, levels=[0], colors=INK, linewidths=1.8)
    if margins:
        ax.contour(x1, x2, values, levels=[-1, 1], colors=INK, linewidths=1, linestyles="dashed")
    ax.set(xlim=span[:2], ylim=span[2:], xlabel="$x_1$", ylabel="$x_2$")
    ax.grid(False)


def span_of(X: FloatArray, room: float = 0.08) -> tuple[float, float, float, float]:
    """The box around the points, with some room."""
    low, high = X.min(axis=0), X.max(axis=0)
    extra = room * (high - low)
    (left, bottom), (right, top) = low - extra, high + extra
    return float(left), float(right), float(bottom), float(top)


def arrow(ax: Any, start: FloatArray, end: FloatArray, **options: Any) -> None:
    """An arrow between two points of the plane."""
    look = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops={**look, **options})
