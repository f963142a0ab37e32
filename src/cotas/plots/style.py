"""One style for all pictures: told apart by every eye, and in black and white.

The style holds while a picture is drawn and is then taken back: the user's own settings of
matplotlib are never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas import words
from cotas.arrays import AnyArray
from cotas.refusals import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, those first that stand out most on white paper.
COLOURS = (
    "#0072B2",  # blue
    "#E69F00",  # orange
    "#009E73",  # green
    "#D55E00",  # vermilion
    "#CC79A7",  # purple
    "#56B4E9",  # sky
    "#000000",
    "#F0E442",  # yellow
)
# Colours alone do not survive a printer, so each comes with a marker and a line of its own.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)), (0, (3, 3)))

INK, GREY, PALE = "#222222", "#666666", "#DDDDDD"
SIZE = (6.0, 4.2)

STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "grid.linestyle": "-",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.fontsize": 8.5,
    "legend.framealpha": 0.9,
    "legend.edgecolor": PALE,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "contour.negative_linestyle": "dashed",
}


def plain(text: object) -> str:
    """Return a text of the user's in which a dollar is one: matplotlib takes what stands between
    two of them for a formula."""
    return str(text).replace("$", r"\$")


def pyplot() -> Any:
    """Import matplotlib's pyplot, or raise an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'cotas[plots]'.") from error
    return plt


def load_backend(plt: Any) -> None:
    """Load matplotlib's backend before the style is put on.

    That of notebooks makes matplotlib interactive when the first figure loads it. If that happened
    inside the style, it would be taken back with it, and no later figure would be shown.
    """
    plt.draw_if_interactive()


@contextmanager
def drawing(
    ax: Axes | None = None, lang: str | None = None, size: tuple[float, float] = SIZE
) -> Iterator[Axes]:
    """Draw in the style: on the axes given, or on those of a new figure.

    Gives the axes; what is said inside is in the language asked for. A new figure is closed again
    if the drawing fails.
    """
    plt = pyplot()
    if ax is None:
        load_backend(plt)
    with words.lang(lang or words.current()), plt.rc_context(STYLE):
        mine = None
        if ax is None:
            mine, ax = plt.subplots(figsize=size, layout="constrained")
        try:
            yield ax
        except BaseException:
            if mine is not None:
                plt.close(mine)
            raise
        tidy(ax)


def panels(count: int, columns: int = 3, size: tuple[float, float] = (3.6, 3.3)) -> AnyArray:
    """Return a new figure in the style with so many Axes, `size` being that of each."""
    plt = pyplot()
    columns = max(1, min(columns, count))
    rows = -(-count // columns)
    whole = (size[0] * columns, size[1] * rows + 0.3)
    load_backend(plt)
    with plt.rc_context(STYLE):
        grid = plt.subplots(rows, columns, figsize=whole, layout="constrained", squeeze=False)[1]
    for spare in grid.flat[count:]:
        spare.set_visible(False)
    return np.asarray(grid.ravel()[:count])


def tidy(ax: Axes, size: float = 9) -> None:
    """Fix what matplotlib would otherwise look up when it renders, with the settings of the
    user."""
    ax.tick_params(which="both", labelsize=size, colors=INK)


def line_style(number: int, points: bool = False) -> dict[str, Any]:
    """Choose colour and line of the curve with this number, and its marker where `points` are
    drawn."""
    found: dict[str, Any] = {
        "color": COLOURS[number % len(COLOURS)],
        # One further in each round of the colours, so that 64 curves look different.
        "linestyle": LINES[(number + number // len(COLOURS)) % len(LINES)],
    }
    if points:
        found["marker"] = MARKERS[number % len(MARKERS)]
    return found


def tint(colour: str, strength: float = 0.16) -> tuple[float, float, float]:
    """Return the colour thinned with white, for areas; unlike transparency it does not add up."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (1 - strength * (1 - part) for part in parts)
    return red, green, blue


def names_of(names: Sequence[str] | None, count: int, what: str = "names") -> list[str] | None:
    """Return the names as a list, one for each thing; None if none were given."""
    if names is None:
        return None
    if len(names) != count:
        raise ParameterError(
            what, f"{what} must hold {count} names, one for each; it has {len(names)}."
        )
    return [str(name) for name in names]


def legend(ax: Axes, **options: Any) -> None:
    """Draw a legend, where there is something to explain."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(**{"loc": "best", **options})
