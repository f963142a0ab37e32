"""How an iterative fit comes down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.least_squares import SquaredLossPoint
from cotas.plots.fitted import named, require_fitted
from cotas.plots.style import COLOURS, drawing, legend, line_style
from cotas.refusals import ParameterError
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What the checker calls ρ²ᵏ(P₀ − P*).
ALLOWED = "gap that the rate of gradient descent allows"


def convergence(
    models: Any,
    *,
    data: tuple[Any, Any] | None = None,
    suboptimality: bool = True,
    labels: Any = None,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Compute J against the iteration, on a logarithmic axis, for one run or several.

    Parameters
    ----------
    models : a fitted model with a `history_`, or a list or dictionary of them
        `LeastSquares` or `Ridge` with an iterative solver. In the place of a model, its history
        as a dictionary with "iteration" and "J", or just the values of J.
    data : (X, y), optional
        The data of the fit. With them the bound of the rate, ρ²ᵏ(J₀ − J*), is drawn beside each
        gradient descent with a constant step; the checker computes it.
    suboptimality : bool, default=True
        Draw J minus the best that is possible, as the certificate proves it; otherwise J itself.
        Runs without a certificate show J itself in any case.
    labels : sequence of str, optional
        Names for the legend; those of the dictionary or of the models if not given.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cotas
    >>> from cotas.plots import convergence
    >>> X, price = cotas.datasets.houses()
    >>> model = cotas.LeastSquares(solver="gradient", standardize=True).fit(X, price)
    >>> ax = convergence(model, data=(X, price))
    >>> ax.get_yscale()
    'log'
    """
    runs = {"J": models} if _is_history(models) else named(models, labels, "solver_")
    suboptimality = suboptimality and all(_lowest(run) is not None for run in runs.values())
    with drawing(ax, lang) as ax:
        for k, (label, run) in enumerate(runs.items()):
            steps, J = _history(run)
            lowest = (_lowest(run) or 0.0) if suboptimality else 0.0
            above = np.where(lowest < J, J - lowest, np.nan)  # a logarithm knows no zero
            ax.plot(steps, above, label=label, **line_style(k))
            bound = _bound(run, data, steps) if suboptimality and data is not None else None
            if bound is not None:
                name = (
                    f"{label}: {say('bound of the rate')}"
                    if len(runs) > 1
                    else say("bound of the rate")
                )
                colour = COLOURS[k % len(COLOURS)]
                ax.plot(steps, bound, color=colour, linestyle=":", linewidth=1.2, label=name)
        ax.set(
            xlabel=say("iteration"),
            ylabel=say("J − best that is possible" if suboptimality else "objective J"),
        )
        ax.set_yscale("log")
        ax.set_title(say("Convergence") if title is None else title)
        legend(ax)
    return ax


def _is_history(models: Any) -> bool:
    """Tell whether it is one history or one list of values, rather than a model or several."""
    if isinstance(models, Mapping):
        return "J" in models
    several = isinstance(models, list | tuple | np.ndarray) and len(models) > 0
    return several and np.isscalar(models[0])


def _history(run: Any) -> tuple[FloatArray, FloatArray]:
    if isinstance(run, Mapping):
        table: Any = run
    elif hasattr(run, "get_params"):
        require_fitted(run, "convergence")
        table = getattr(run, "history_", None)
        if not table or not len(table["J"]):
            raise ParameterError(
                "run",
                f"This {type(run).__name__} has no history: it was solved by "
                f"{getattr(run, 'solver_', 'a method')!r}, without iterations. Fit it with "
                "solver='gradient', 'stochastic' or 'conjugate-gradients'.",
            )
    else:
        J = np.asarray(run, dtype=np.float64).ravel()
        return np.arange(1.0, len(J) + 1), J
    J = np.asarray(table["J"], dtype=np.float64)
    return np.asarray(table.get("iteration", np.arange(1, len(J) + 1)), dtype=np.float64), J


def _certificates(run: Any) -> list[Any]:
    return list(run.certificate_.singles) if hasattr(run, "certificate_") else []


def _lowest(run: Any) -> float | None:
    """Return what no model can beat, added up over the targets as J is."""
    certificates = _certificates(run)
    return sum(c.lower for c in certificates) if certificates else None


def _bound(run: Any, data: tuple[Any, Any], steps: FloatArray) -> FloatArray | None:
    """Compute ρ²ᵏ(J₀ − J*), from what the checker allows after no step and after one."""
    total = np.zeros(len(steps))
    for certificate in _certificates(run):
        point = certificate.witness
        if not isinstance(point, SquaredLossPoint) or point.descent is None:
            return None
        allowed = []
        for k in (0, 1):
            shorter = replace(point, descent=replace(point.descent, iterations=k))
            allowed.append(shorter.check(*data).figures.get(ALLOWED, np.nan))
        if not allowed[0] > 0 or not np.isfinite(allowed[1]):
            return None
        with np.errstate(under="ignore"):
            total += allowed[0] * (allowed[1] / allowed[0]) ** steps
    return np.where(total > 0, total, np.nan)
