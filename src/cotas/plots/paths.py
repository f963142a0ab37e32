"""Coefficients, and errors, along a path of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.fitting.path import Path
from cotas.plots.fitted import require_fitted
from cotas.plots.style import COLOURS, INK, drawing, legend, line_style, names_of
from cotas.refusals import ParameterError
from cotas.regression.stagewise import StagewisePath, StagewiseRegressor
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of a longer run so many iterations are drawn, evenly spread.
MOST_POINTS = 500
AXES = {"norm": "‖β‖₁", "lam": "λ", "iteration": "iteration"}
TITLES = {"errors": "Validation error along λ", "coefficients": "Coefficients along λ"}
# With more coefficients than this a legend would hide the picture.
LONGEST_LEGEND = 12


class _Curves(NamedTuple):
    """Coefficients in the rows, points of the path in the columns, and where each point lies."""

    coefs: FloatArray
    norms: FloatArray
    steps: FloatArray
    units: FloatArray  # a coefficient in the units of X, times this, is as it is drawn
    name: str


def coefficient_path(
    model: Any,
    *,
    against: str = "norm",
    optimum: Any = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Return each coefficient against ‖β‖₁ or the iteration.

    Parameters
    ----------
    model : a fitted `LSBoost`, `ForwardStagewise` or `RegularizedForwardStagewise`, or the
        `Path` of `lasso_path`
        The coefficients of the first three are for columns centred and of unit length, as
        Rugeles Ospina has them; those of a `Path` are in the units of X.
    against : "norm", "iteration" or "lam"
        The horizontal axis: ‖β‖₁; the iteration of a stagewise model; λ of a `Path`.
    optimum : a fitted model, optional
        Its coefficients are marked, at its ‖β‖₁, or with "iteration" at the right: those of
        `LeastSquares`, where the paths end, or of a `Lasso` with some δ. For a `Path` also a
        number: the λ to mark.
    names : sequence of str, optional
        A name for each feature.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cotas
    >>> from cotas.plots import coefficient_path
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ax = coefficient_path(cotas.lasso_path(X, y, method="homotopy"), optimum=0.5)
    >>> len(ax.lines) > 10
    True
    """
    choices = ("norm", "lam") if _is_lasso(model) else ("norm", "iteration")
    if against not in choices:
        raise ParameterError(
            "against", f"against must be one of {choices} for this path, not {against!r}."
        )
    curves = _curves(model)
    features = names_of(names, len(curves.coefs))
    x = curves.norms if against == "norm" else curves.steps
    with drawing(ax, lang) as ax:
        _draw_coefficients(ax, x, curves.coefs, features)
        if optimum is not None:
            _mark(ax, model, curves, optimum, against)
        unit = "coefficient" if _is_lasso(model) else "coefficient (unit columns)"
        ax.set(xlabel=say(AXES[against]), ylabel=say(unit))
        if against == "lam":
            ax.set_xscale("log")
            ax.invert_xaxis()
        ax.set_title(say("Coefficients of {name}", name=curves.name) if title is None else title)
        ax.axhline(0.0, color=INK, linewidth=0.6, zorder=0)
        _legend_beside(ax, len(curves.coefs))
    return ax


def path(
    path: Path,
    *,
    show: str | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Return the classifiers of a `Path` along λ.

    Parameters
    ----------
    path : Path, the answer of `svm_path` or `logistic_path`
    show : "errors" or "coefficients", optional
        The validation error at each λ, with the best λ, and the bound that is proved between
        them; or the coefficients. The errors if the path has them.
    names : sequence of str, optional
        A name for each feature, for the coefficients.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes
    """
    if not isinstance(path, Path) or path.classes is None:
        raise ParameterError(
            "path", f"path draws the answer of svm_path or logistic_path, not {type(path)!r}."
        )
    if show is None:
        show = "coefficients" if path.validation_errors is None else "errors"
    if show not in ("errors", "coefficients"):
        raise ParameterError("show", f"show must be 'errors' or 'coefficients', not {show!r}.")
    if show == "errors" and path.validation_errors is None:
        raise ParameterError("path", "Errors need a path with validation=(X_val, y_val).")
    if show == "coefficients" and len(path.coefs[0]) > 1:
        raise ParameterError(
            "path", "With more than two classes there are too many coefficients to draw."
        )
    with drawing(ax, lang) as ax:
        ax.set_xscale("log")
        if show == "errors":
            _draw_errors(ax, path)
        else:
            features = names_of(names, path.coefs.shape[2])
            _draw_coefficients(ax, path.lams, path.coefs[:, 0].T, features)
            ax.axhline(0.0, color=INK, linewidth=0.6, zorder=0)
        ax.set(xlabel="λ", ylabel=say("error" if show == "errors" else "coefficient"))
        ax.set_title(say(TITLES[show]) if title is None else title)
        if show == "errors":
            legend(ax)
        else:
            _legend_beside(ax, path.coefs.shape[2])
    return ax


def _draw_errors(ax: Axes, path: Path) -> None:
    assert path.validation_errors is not None
    ax.plot(
        path.lams, path.validation_errors, label=say("validation"), **line_style(0, points=True)
    )
    bound = path.validation_bound
    if bound is not None:
        # One level for each interval between two λ.
        edges, levels = path.lams[::-1], bound.lower[::-1]
        how: dict[str, Any] = {"color": COLOURS[3], "linewidth": 1.6, "linestyle": "--"}
        ax.stairs(levels, edges, baseline=None, label=say("proved: none is below"), **how)
    best, error = path.best_lam, float(np.min(path.validation_errors))
    label = say("best: λ = {value:.3g}", value=best)
    ax.plot(best, error, "*", color=INK, markersize=13, label=label, gid="best")
    ax.set_ylim(bottom=0.0)


def _curves(model: Any) -> _Curves:
    if _is_lasso(model):
        ones = np.ones(model.coefs.shape[1])
        return _Curves(model.coefs.T, model.deltas, model.lams, ones, "Lasso")
    if not isinstance(model, StagewiseRegressor):
        raise ParameterError(
            "model",
            "coefficient_path draws LSBoost, ForwardStagewise, RegularizedForwardStagewise or the "
            f"answer of lasso_path, not {type(model).__name__}.",
        )
    require_fitted(model, "coefficient_path")
    if not hasattr(model, "path_"):
        raise ParameterError(
            "model", "coefficient_path draws coefficients, and a model with trees has none."
        )
    run = model.path_
    ks, coefs = spread(run, MOST_POINTS)
    return _Curves(coefs.T, run.lengths[ks], ks.astype(float), run.scale, type(model).__name__)


def spread(run: StagewisePath, most: int) -> tuple[IntArray, FloatArray]:
    """Choose at most so many iterations of a run, evenly spread, and the coefficients at each."""
    ks = np.unique(np.linspace(0, len(run) - 1, most).round().astype(np.int64))
    return ks, np.array([run.unit_coef(int(k)) for k in ks])


def _draw_coefficients(
    ax: Axes, x: FloatArray, coefs: FloatArray, features: list[str] | None
) -> None:
    for j, values in enumerate(coefs):
        label = say("feature {number}", number=j) if features is None else features[j]
        ax.plot(x, values, linewidth=1.5, label=label, gid="coefficient", **line_style(j))


def _mark(ax: Axes, model: Any, curves: _Curves, optimum: Any, against: str) -> None:
    """Mark the coefficients of the optimum, each in the colour of its curve."""
    if isinstance(optimum, int | float):
        if not _is_lasso(model):
            raise ParameterError(
                "optimum", "A number marks a λ of lasso_path; here give a fitted model."
            )
        coef, norm, lam = _at(model, float(optimum))
    else:
        require_fitted(optimum, "coefficient_path")
        coef = np.ravel(optimum.coef_) * curves.units
        norm = float(np.abs(coef).sum())
        if _is_lasso(model):
            norm = float(getattr(optimum, "delta_", norm))
        lam = float(getattr(optimum, "lam_", np.nan))
    if len(coef) != len(curves.coefs):
        raise ParameterError(
            "optimum", f"optimum has {len(coef)} features and the path {len(curves.coefs)}."
        )
    last = float(curves.steps[-1])
    at = {"norm": norm, "lam": lam, "iteration": last}[against]
    colours = [COLOURS[j % len(COLOURS)] for j in range(len(coef))]
    ax.scatter(
        np.full(len(coef), at),
        coef,
        s=55,
        c=colours,
        marker="*",
        edgecolors=INK,
        linewidths=0.6,
        zorder=4,
        clip_on=False,
        gid="optimum",
    )
    ax.axvline(at, color=INK, linestyle=":", linewidth=1.0, label=say("optimum"))


def _at(path: Path, lam: float) -> tuple[FloatArray, float, float]:
    """Return β and ‖β‖₁ at λ: exactly there where the breakpoints are known, or of the nearest
    λ."""
    if path.exact:
        return path.coef_at(lam), path.delta_at(lam), lam
    assert path.deltas is not None
    nearest = int(np.argmin(np.abs(np.log(path.lams / lam))))
    return path.coefs[nearest], float(path.deltas[nearest]), float(path.lams[nearest])


def _is_lasso(model: Any) -> bool:
    return isinstance(model, Path) and model.deltas is not None


def _legend_beside(ax: Axes, count: int) -> None:
    """Put the legend to the right of the curves, which cross everywhere; none where there are too
    many."""
    if count <= LONGEST_LEGEND:
        legend(ax, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False)
