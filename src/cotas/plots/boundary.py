"""What a classifier of two features does to the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.plots.fitted import (
    axis_of,
    codes_of,
    has_margins,
    last_step,
    leads_of,
    like,
    names_in,
    require_fitted,
    rows_to_ring,
    scores_of,
)
from cotas.plots.style import COLOURS, INK, MARKERS, drawing, legend, panels, plain, tint
from cotas.refusals import ParameterError
from cotas.source import MatrixLike
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE: dict[str, Any] = {"colors": INK, "linewidths": 1.8}
DASHES: dict[str, Any] = {"colors": INK, "linewidths": 1.0, "linestyles": "dashed"}


def decision_boundary(
    model: Any,
    X: MatrixLike,
    y: ArrayLike | None,
    ax: Axes | None = None,
    title: str | None = None,
    *,
    lang: str | None = None,
    margins: bool | None = None,
    rings: bool = True,
    resolution: int = 200,
) -> Axes:
    """Draw where a classifier decides for which class, and the examples.

    With two classes: the decision boundary f(x) = 0, and for linear models and support vector
    machines the margins f(x) = ±1, which lie at a distance 1/‖θ‖ from the boundary of a linear
    one. With more: the region of each class. Support vectors are ringed; for a linear model
    without them, the examples that violate their margin, y·f(x) < 1, as in Figure 3.4 of
    Fuentes Cabrera.

    Parameters
    ----------
    model : a fitted classifier of two features, ours or one of scikit-learn
    X : array or data frame of shape (n_samples, 2)
        The data of the fit, if support vectors are to be ringed. The columns of a data frame name
        the axes.
    y : array of shape (n_samples,)
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.
    title : str, optional
        The name of the model if not given.
    lang : "en" or "es", optional
        The language; if not given, that of `cotas.lang`, or else English.
    margins : bool, optional
        Whether to draw f(x) = ±1; if not given, where they mean something.
    rings : bool, default=True
        Whether to ring support vectors.
    resolution : int, default=200
        Points of the grid on each side.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cotas
    >>> from cotas.plots import decision_boundary
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]], [1, 1, -1, -1]
    >>> ax = decision_boundary(cotas.LinearSVM(lam=0.1).fit(X, y), X, y)
    >>> ax.get_title()
    'LinearSVM'
    """
    require_fitted(model, "decision_boundary")
    table, names = like(X), names_in(X) or ("$x_1$", "$x_2$")
    X, y = _two_features(model, X, y)
    classes = np.asarray(model.classes_)
    with drawing(ax, lang, (6.0, 5.0)) as ax:
        x1, x2 = axis_of(X[:, 0], resolution), axis_of(X[:, 1], resolution)
        grid = table(np.stack([part.ravel() for part in np.meshgrid(x1, x2)], axis=1))
        shape = (len(x2), len(x1))
        if margins is None:
            margins = has_margins(model)
        scores = scores_of(model, grid) if len(classes) == 2 else None
        if scores is None:
            codes = codes_of(model, grid, classes)
            leads = [lead.reshape(shape) for lead in leads_of(model, grid, codes, len(classes))]
            _draw_regions(ax, x1, x2, codes.reshape(shape), leads)
        else:
            _draw_two_sides(ax, x1, x2, scores.reshape(shape), margins)
        _draw_examples(ax, X, y, classes)
        ringed = rows_to_ring(model, table(X), y, classes, margins) if rings else None
        if ringed is not None and len(ringed[0]):
            rows, key = ringed
            line_style: dict[str, Any] = {
                "facecolors": "none",
                "edgecolors": INK,
                "linewidths": 1.0,
            }
            first, second = X[rows].T
            ax.scatter(first, second, s=85, label=say(key), gid="rings", zorder=3, **line_style)
        ax.set(xlim=(x1[0], x1[-1]), ylim=(x2[0], x2[-1]), xlabel=names[0], ylabel=names[1])
        ax.set_title(type(last_step(model)).__name__ if title is None else title)
        ax.grid(False)
        legend(ax)
    return ax


def lambda_sweep(
    X: MatrixLike,
    y: ArrayLike | None,
    lams: Sequence[float],
    model: Any = None,
    *,
    ax: Sequence[Axes] | None = None,
    title: str | None = None,
    lang: str | None = None,
    columns: int = 3,
) -> AnyArray:
    """Draw the same data and one classifier for each λ, side by side (Figure 3.5 of Fuentes
    Cabrera).

    Parameters
    ----------
    X, y : examples of two features
    lams : sequence of positive numbers
    model : an estimator with a parameter `lam`, optional
        `LinearSVM` if not given. It is cloned and fitted for each λ.
    ax : sequence of matplotlib Axes, optional
        One for each λ; a new figure if not given.
    title, lang : as in `decision_boundary`
    columns : int, default=3
        Pictures side by side in a new figure.

    Returns
    -------
    array of matplotlib Axes, one for each λ
    """
    from sklearn.base import clone

    from cotas.linear.svm import LinearSVM

    lams = [float(lam) for lam in lams]
    if not lams:
        raise ParameterError("lams", "lams must hold at least one value of λ.")
    model = LinearSVM() if model is None else model
    if "lam" not in model.get_params():
        raise ParameterError("model", f"{type(model).__name__} has no parameter lam to sweep over.")
    axes = panels(len(lams), columns) if ax is None else np.ravel(np.asarray(ax))
    if len(axes) < len(lams):
        raise ParameterError(
            "ax", f"ax must hold {len(lams)} Axes, one for each λ; it has {len(axes)}."
        )
    axes = axes[: len(lams)]
    for panel, lam in zip(axes, lams, strict=True):
        fitted = clone(model).set_params(lam=lam).fit(X, y)
        decision_boundary(fitted, X, y, panel, title="", lang=lang)
        with drawing(panel, lang):
            panel.set_title(_margin_in_words(fitted, lam))
        panel.get_legend().remove()
    fullest = max(axes, key=lambda panel: len(panel.get_legend_handles_labels()[0]))
    with drawing(axes[0], lang):
        if ax is not None:
            axes[0].legend(*fullest.get_legend_handles_labels(), fontsize=7)
            return np.asarray(axes)
        figure, handles = axes[0].figure, fullest.get_legend_handles_labels()
        figure.suptitle(say("What λ does to the margin") if title is None else title, fontsize=12)
        figure.legend(*handles, loc="outside lower center", ncols=len(handles[0]))
    return np.asarray(axes)


def _margin_in_words(model: Any, lam: float) -> str:
    coef = getattr(model, "coef_", None)
    length = 0.0 if coef is None else float(np.linalg.norm(coef))
    if length == 0 or len(model.classes_) > 2:
        return f"λ = {lam:.3g}"
    return say("λ = {lam:.3g}: margin {width:.3g}", lam=lam, width=2 / length)


def _two_features(model: Any, X: MatrixLike, y: ArrayLike | None) -> tuple[FloatArray, AnyArray]:
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    y = np.asarray(y).ravel()
    if X.ndim != 2 or X.shape[1] != 2 or getattr(model, "n_features_in_", 2) != 2:
        raise ParameterError(
            "X",
            "decision_boundary draws in the plane, so it needs data and a model of two features; "
            f"X has the shape {X.shape} and the model "
            f"{getattr(model, 'n_features_in_', 'an unknown number of')} features.",
        )
    if len(X) != len(y):
        raise ParameterError("y", f"X has {len(X)} rows and y has {len(y)}; they must agree.")
    if not hasattr(model, "classes_"):
        raise ParameterError(
            "model", f"{type(model).__name__} is no classifier: it has no classes_."
        )
    return X, y


def _draw_two_sides(
    ax: Axes, x1: FloatArray, x2: FloatArray, scores: FloatArray, margins: bool
) -> None:
    """Draw the sides in pale colours, and the lines by contour: a vertical one is no special
    case."""
    sides = [tint(colour) for colour in COLOURS[:2]]
    ax.contourf(x1, x2, scores, levels=[-np.inf, 0, np.inf], colors=sides, zorder=0)
    for levels, how, key, name in (
        ([0], LINE, "boundary", "decision boundary"),
        ([-1, 1], DASHES, "margins", "margins ±1"),
    ):
        inside = any(scores.min() < level < scores.max() for level in levels)
        if not inside or (key == "margins" and not margins):
            continue
        ax.contour(x1, x2, scores, levels=levels, **how).set_gid(key)
        line = "-" if key == "boundary" else "--"
        ax.plot([], [], color=INK, linestyle=line, linewidth=how["linewidths"], label=say(name))


def _draw_regions(
    ax: Axes, x1: FloatArray, x2: FloatArray, codes: IntArray, leads: list[FloatArray]
) -> None:
    from matplotlib.colors import ListedColormap

    count = len(leads)
    colours = ListedColormap([tint(COLOURS[k % len(COLOURS)], 0.22) for k in range(count)])
    ax.pcolormesh(x1, x2, codes, cmap=colours, vmin=-0.5, vmax=count - 0.5, rasterized=True)
    for lead in leads:
        if lead.min() < 0 < lead.max():
            ax.contour(x1, x2, lead, levels=[0], colors=INK, linewidths=1.0)


def _draw_examples(ax: Axes, X: FloatArray, y: AnyArray, classes: AnyArray) -> None:
    for k, label in enumerate(classes):
        line_style: dict[str, Any] = {
            "c": COLOURS[k % len(COLOURS)],
            "marker": MARKERS[k % len(MARKERS)],
        }
        first, second = X[y == label].T
        ax.scatter(
            first,
            second,
            s=24,
            edgecolors="white",
            linewidths=0.4,
            label=f"y = {plain(label)}",
            zorder=2,
            **line_style,
        )
