"""The slide the figures are drawn on."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from cotas.arrays import BoolArray, FloatArray
from cotas.experiments.samples import LabelledSample
from cotas.plots.style import COLOURS, GREY, INK, MARKERS, STYLE, legend, pyplot, tidy, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A slide of 16 to 9, in inches, and the smallest text on it, in points: a thirtieth of the height,
# which is still read from the last row. At DPI a picture has the points of a projector.
SLIDE = (8.0, 4.5)
SMALLEST = 10.0
FOOT = 0.055  # the share of the height where the source stands
DPI = 240
SLIDE_STYLE: dict[str, Any] = {
    **STYLE,
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.labelsize": 12,
    "legend.fontsize": 11,
    "legend.title_fontsize": 11,
    "lines.linewidth": 2.0,
    "lines.markersize": 6,
    "axes.unicode_minus": True,
}
# A ring says how an example stands to the margin, and the same ring says it in every figure.
RINGS: dict[str, dict[str, Any]] = {
    "inside": {"linewidths": 1.3, "linestyles": "-"},
    "on": {"linewidths": 1.3, "linestyles": ":"},
}


@contextmanager
def sheet(columns: int = 1, rows: int = 1, **options: Any) -> Iterator[tuple[Figure, list[Axes]]]:
    """Open a slide with so many panels, in the style of `cotas.plots` with larger letters.

    It belongs to nobody else: pyplot does not know it, so nothing has to be closed. `options` are
    those of matplotlib's `subplots`.
    """
    plt = pyplot()
    from matplotlib.figure import Figure

    with plt.rc_context(SLIDE_STYLE):
        figure = Figure(figsize=SLIDE, layout="constrained")
        _leave(figure, FOOT)
        axes = list(figure.subplots(rows, columns, squeeze=False, **options).ravel())
        yield figure, axes
        for ax in axes:
            tidy(ax, 11)


def caption(figure: Figure, text: str, source: str) -> None:
    """Write a title over all panels, broken to the width of the slide, and below where it is
    from."""
    figure.suptitle(textwrap.fill(text, 66), fontsize=14, color=INK)
    figure.text(0.99, 0.012, source, fontsize=SMALLEST, color=GREY, ha="right", va="bottom")


def beside(ax: Axes, **options: Any) -> None:
    """Put a legend to the right of the panel, where it hides nothing."""
    place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
    legend(ax, **{**place, "frameon": False, "alignment": "left", **options})


def below(ax: Axes, columns: int) -> None:
    """Put one legend for all panels, under them, with what one of them has."""
    figure: Any = ax.figure
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, FOOT), ncols=columns,
                  frameon=False, borderaxespad=0.0)  # fmt: skip
    lines = -(-len(labels) // columns)
    _leave(figure, FOOT + 0.02 + 0.056 * lines)


def _leave(figure: Figure, share: float) -> None:
    """Keep the panels off the lowest part of the slide."""
    layout: Any = figure.get_layout_engine()
    layout.set(rect=(0.0, share, 1.0, 1.0 - share))


def signed(label: int) -> str:
    """Return a label with its sign, and a minus where there is one."""
    return f"y = {label:+d}".replace("-", "−")


def scatter(
    ax: Axes,
    data: LabelledSample,
    size: float = 26.0,
    pale: BoolArray | None = None,
    **options: Any,
) -> None:
    """Draw the examples, −1 blue circles and +1 orange squares; those that are `pale` thinned."""
    for k, label in enumerate((-1, 1)):
        here = data.y == label
        faint = here & pale if pale is not None else np.zeros(len(here), dtype=bool)
        line_style: dict[str, Any] = {
            "marker": MARKERS[k],
            "s": size,
            "edgecolors": "white",
            "linewidths": 0.4,
        }
        line_style = {"zorder": 2, **line_style, **options}
        sharp, thinned = data.X[here & ~faint], data.X[faint]
        ax.scatter(sharp[:, 0], sharp[:, 1], c=COLOURS[k], label=signed(label), **line_style)
        if faint.any():
            ax.scatter(thinned[:, 0], thinned[:, 1], color=tint(COLOURS[k], 0.45), **line_style)


def ring(ax: Axes, X: FloatArray, kind: str, label: str, size: float = 110.0) -> None:
    """Draw rings around examples, if there are any."""
    if len(X):
        line_style: dict[str, Any] = {
            "facecolors": "none",
            "edgecolors": INK,
            "s": size,
            "zorder": 3,
        }
        ax.scatter(X[:, 0], X[:, 1], label=label, **line_style, **RINGS[kind])


def sides(
    ax: Axes,
    score: Callable[[FloatArray], FloatArray],
    span: tuple[float, float, float, float],
    names: tuple[str | None, str | None] = (None, None),
) -> None:
    """Draw the two sides of score(x) = 0 in pale colours, and the line.

    `names` are those of the line and of score(x) = ±1 in the legend; without the second these are
    not drawn.
    """
    x1, x2, values = over(score, span, 300)
    pale = [tint(colour) for colour in COLOURS[:2]]
    ax.contourf(x1, x2, values, levels=[-np.inf, 0, np.inf], colors=pale, zorder=0)
    boundary, margins = names
    ax.contour(x1, x2, values, levels=[0], colors=INK, linewidths=2.0)
    if boundary is not None:
        ax.plot([], [], color=INK, label=boundary)
    if margins is not None:
        ax.contour(x1, x2, values, levels=[-1, 1], colors=INK, linewidths=1.2, linestyles="dashed")
        ax.plot([], [], color=INK, linewidth=1.2, linestyle="--", label=margins)
    ax.set(xlim=span[:2], ylim=span[2:], xlabel="$x_1$", ylabel="$x_2$")
    ax.grid(False)


def over(
    score: Callable[[FloatArray], FloatArray], span: Sequence[float], points: int = 160
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a function of the plane on a grid over a box: both axes, and its values."""
    x1, x2 = np.linspace(span[0], span[1], points), np.linspace(span[2], span[3], points)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x1, x2)])
    return x1, x2, score(grid).reshape(points, points)


def span_of(X: FloatArray, room: float = 0.08) -> tuple[float, float, float, float]:
    """Return the box around the points, with some room."""
    low, high = X.min(axis=0), X.max(axis=0)
    extra = room * (high - low)
    (left, bottom), (right, top) = low - extra, high + extra
    return float(left), float(right), float(bottom), float(top)


def arrow(ax: Axes, start: FloatArray, end: FloatArray, **options: Any) -> None:
    """Draw an arrow between two points of the plane."""
    line_style = {"arrowstyle": "-|>", "color": INK, "linewidth": 2.0, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops={**line_style, **options})


def apart(values: FloatArray, distance: float) -> FloatArray:
    """Return the same values, moved as little as needed for labels at them to be `distance` apart.

    Isotonic regression, after the distances are taken off: neighbours that are too close become
    one block around their mean.
    """
    order = np.argsort(values, kind="stable")
    steps = distance * np.arange(len(values))
    moved = np.empty(len(values))
    moved[order] = isotonic_regression(values[order] - steps) + steps
    return moved
