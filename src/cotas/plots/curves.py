"""Error against what was varied: c = 1/(λn), the number of examples, the complexity."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.plots.style import COLOURS, GREY, INK, drawing, legend, look, tint


def loss_against_c(
    choice: Any = None,
    *,
    c: Any = None,
    training: Any = None,
    validation: Any = None,
    best: float | None = None,
    measure: str = "loss",
    ax: Any = None,
    title: str | None = None,
    lang: str | None = None,
) -> Any:
    """Training and validation loss over c = 1/(λn), with ĉ and the regions beside it.

    To the left of ĉ the penalty rules and the model underfits; to the right it follows the
    training data and overfits.

    Parameters
    ----------
    choice : the answer of `cotas.selection.choose`, optional
        Anything with `c`, `training` and `validation`; in its place the three arrays below.
    c : array of shape (n_values,), positive
    training, validation : arrays of shape (n_values,) or (n_values, n_folds)
        With folds the mean is drawn, and a band of one standard deviation.
    best : float, optional
        ĉ; that of `choice`, or else the c with the smallest mean on validation, of several the
        smallest.
    measure : "loss" or "error"
        What the two arrays hold, for the label of the axis.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from cotas.plots import loss_against_c
    >>> ax = loss_against_c(c=[0.1, 1, 10], training=[3, 2, 1], validation=[4, 2.5, 3])
    >>> ax.get_xscale()
    'log'
    """
    if choice is not None:
        c, training, validation = choice.c, choice.training, choice.validation
        best = getattr(choice, "best_c", None) if best is None else best
    c = _numbers(c, "c")
    order = np.argsort(c, kind="stable")
    curves = [
        _rows(values, len(c), name)[order]
        for values, name in ((training, "training"), (validation, "validation"))
    ]
    c = c[order]
    if not (c > 0).all():
        raise ValueError("c must be positive: it is 1/(λn), and drawn on a logarithmic axis.")
    if measure not in ("loss", "error"):
        raise ValueError(f"measure must be 'loss' or 'error', not {measure!r}.")
    best = float(c[int(np.argmin(curves[1].mean(axis=1)))]) if best is None else float(best)
    with drawing(ax, lang) as (ax, say):
        ax.set_xscale("log")
        for k, (values, key) in enumerate(zip(curves, ("training", "validation"), strict=True)):
            _band(ax, c, values, k, say(key))
        room = (c[-1] / c[0]) ** 0.03 if c[-1] > c[0] else 2.0
        low, high = c[0] / room, c[-1] * room
        _fitting_regions(ax, low, best, high, (say("underfitting"), say("overfitting")))
        ax.axvline(best, color=INK, linestyle=":", label=say("best c", value=best), gid="best")
        ax.set(xlim=(low, high), xlabel=say("c"), ylabel=say(measure))
        ax.set_title(say("loss against c") if title is None else title)
        legend(ax)
    return ax


def learning_curve(
    sizes: Any,
    training: Any,
    validation: Any,
    *,
    measure: str = "error",
    ax: Any = None,
    title: str | None = None,
    lang: str | None = None,
) -> Any:
    """Training and validation error against the number of training examples.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
    training, validation : arrays of shape (n_sizes,) or (n_sizes, n_folds)
        With folds the mean is drawn, and a band of one standard deviation. scikit-learn's
        `learning_curve` gives scores: hand over 1 − score.
    measure : "error" or "loss"
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes
    """
    sizes = _numbers(sizes, "sizes")
    named = (("training", training), ("validation", validation))
    curves = [(name, _rows(values, len(sizes), name)) for name, values in named]
    if measure not in ("loss", "error"):
        raise ValueError(f"measure must be 'error' or 'loss', not {measure!r}.")
    with drawing(ax, lang) as (ax, say):
        for k, (name, values) in enumerate(curves):
            _band(ax, sizes, values, k, say(name))
        ax.set(xlabel=say("examples"), ylabel=say(measure))
        ax.set_ylim(bottom=min(0.0, *(values.min() for _, values in curves)))
        ax.set_title(say("learning curve") if title is None else title)
        legend(ax)
    return ax


def bias_variance(
    complexity: Any,
    bias: Any,
    variance: Any,
    noise: Any = 0.0,
    *,
    log: bool = False,
    ax: Any = None,
    title: str | None = None,
    lang: str | None = None,
) -> Any:
    """The squared bias, the variance and their sum against the complexity of the model.

    Parameters
    ----------
    complexity : array of shape (n_values,)
        A degree, a depth, c, …
    bias, variance : arrays of shape (n_values,)
        The *squared* bias, and the variance.
    noise : float or array of shape (n_values,), default=0
        What no model can explain; part of the sum.
    log : bool, default=False
        Whether the complexity is drawn on a logarithmic axis.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes
    """
    x = _numbers(complexity, "complexity")
    parts = {"bias": _numbers(bias, "bias"), "variance": _numbers(variance, "variance")}
    floor = np.broadcast_to(np.asarray(noise, dtype=np.float64), x.shape)
    for name, values in parts.items():
        if len(values) != len(x):
            raise ValueError(f"{name} has {len(values)} values and complexity has {len(x)}.")
    if floor.any():
        parts["noise"] = np.asarray(floor)
    total = sum(parts.values(), np.zeros(len(x)))
    least = int(np.argmin(total))
    with drawing(ax, lang) as (ax, say):
        for k, (name, values) in enumerate(parts.items()):
            ax.plot(x, values, label=say(name), markevery=_every(x), **look(k, points=True))
        ax.plot(x, total, color=INK, linewidth=2.4, label=say("total"))
        label = say("least", value=x[least])
        ax.plot(x[least], total[least], "*", color=INK, markersize=13, label=label, gid="least")
        ax.set(xlabel=say("complexity"), ylabel=say("error"), xscale="log" if log else "linear")
        ax.set_title(say("bias variance") if title is None else title)
        legend(ax)
    return ax


def _fitting_regions(ax: Any, low: float, best: float, high: float, names: tuple[str, str]) -> None:
    """The two sides of ĉ, in pale colours, each with its name above the picture's floor."""
    sides = ((low, best, COLOURS[5], "left"), (best, high, COLOURS[3], "right"))
    for (start, end, colour, side), name in zip(sides, names, strict=True):
        if end <= start:
            continue
        ax.axvspan(start, end, color=tint(colour, 0.14), zorder=0, linewidth=0)
        at, shift = (start, 6) if side == "left" else (end, -6)
        ax.annotate(
            name,
            (at, 0.0),
            xycoords=ax.get_xaxis_transform(),
            xytext=(shift, 5),
            textcoords="offset points",
            ha=side,
            va="bottom",
            color=GREY,
            style="italic",
            fontsize=9,
        )


def _band(ax: Any, x: FloatArray, values: FloatArray, number: int, label: str) -> None:
    """The mean over the folds, and one standard deviation to both sides."""
    mean, spread = values.mean(axis=1), values.std(axis=1)
    ax.plot(x, mean, label=label, markevery=_every(x), **look(number, points=True))
    if values.shape[1] > 1:
        colour = COLOURS[number]
        ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)


def _every(x: FloatArray) -> int:
    """Markers on at most twenty points of a curve."""
    return max(1, len(x) // 20)


def _numbers(values: Any, name: str) -> FloatArray:
    if values is None:
        raise ValueError(f"{name} is missing.")
    found = np.asarray(values, dtype=np.float64).ravel()
    if not len(found):
        raise ValueError(f"{name} must hold at least one number.")
    return found


def _rows(values: Any, count: int, name: str) -> FloatArray:
    """One row for each point of the axis, one column for each fold."""
    if values is None:
        raise ValueError(f"{name} is missing.")
    found = np.asarray(values, dtype=np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or len(found) != count:
        raise ValueError(f"{name} must have one row for each of the {count} points of the axis.")
    return found
