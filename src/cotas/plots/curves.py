"""Error against what was varied: c = 1/(λn), the number of examples, the complexity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.plots.style import COLOURS, GREY, INK, drawing, legend, line_style, tint
from cotas.refusals import ParameterError
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def loss_against_c(
    choice: Any = None,
    *,
    c: Any = None,
    training: Any = None,
    validation: Any = None,
    best: float | None = None,
    measure: str = "loss",
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Draw training and validation loss over c = 1/(λn), with ĉ and the regions beside it.

    To the left of ĉ the penalty rules and the model underfits; to the right it follows the
    training data and overfits.

    Parameters
    ----------
    choice : the answer of `cotas.choose` over λ, optional
        In its place the three arrays below will do.
    c : array of shape (n_values,), positive
    training, validation : arrays of shape (n_values,) or (n_values, n_folds)
        With folds the mean is drawn, and a band of one standard deviation.
    best : float, optional
        ĉ; that of `choice`, or else the c with the smallest mean on validation, of several the
        smallest.
    measure : "loss" or "error"
        Which of the two of `choice`, or what the arrays hold.
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
    _check_measure(measure)
    if choice is not None:
        if choice.c is None:
            raise ParameterError(
                "choice", f"This choice is over {choice.over}; only one over λ has a c."
            )
        c, best = choice.c, choice.best_c if best is None else best
        training, validation = _of_result(choice, measure)
    c = _numbers(c, "c")
    order = np.argsort(c, kind="stable")
    named = (("training", training), ("validation", validation))
    curves = {name: _curve(values, len(c), name).at(order) for name, values in named}
    c = c[order]
    if not (c > 0).all():
        raise ParameterError(
            "c", "c must be positive: it is 1/(λn), and drawn on a logarithmic axis."
        )
    best = float(c[int(np.argmin(curves["validation"].mean))]) if best is None else float(best)
    with drawing(ax, lang) as ax:
        ax.set_xscale("log")
        for k, (name, curve) in enumerate(curves.items()):
            _draw(ax, c, curve, k, say(name))
        low, high = ax.get_ylim()
        ax.set_ylim(low - 0.08 * (high - low), high)  # a strip for the names of the regions
        room = (c[-1] / c[0]) ** 0.03 if c[-1] > c[0] else 2.0
        low, high = c[0] / room, c[-1] * room
        _fitting_regions(ax, low, best, high, (say("underfitting"), say("overfitting")))
        ax.axvline(best, color=INK, linestyle=":", label=f"ĉ = {best:.3g}", gid="best")
        ax.set(xlim=(low, high), xlabel="c = 1/(λn)", ylabel=say(measure))
        ax.set_title(say("Training and validation over c") if title is None else title)
        legend(ax, loc="upper center")  # inside the U, and off the names below
    return ax


def learning_curve(
    sizes: Any,
    training: Any = None,
    validation: Any = None,
    *,
    measure: str = "error",
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Draw training and validation error against the number of training examples.

    Parameters
    ----------
    sizes : array of shape (n_sizes,), or the answer of `cotas.learning_curves`
        With the latter nothing else is needed.
    training, validation : arrays of shape (n_sizes,) or (n_sizes, n_folds)
        With folds the mean is drawn, and a band of one standard deviation. scikit-learn's
        `learning_curve` gives scores: hand over 1 − score.
    measure : "error" or "loss"
        Which of the two of the answer, or what the arrays hold.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes
    """
    _check_measure(measure)
    if hasattr(sizes, "sizes"):
        training, validation = _of_result(sizes, measure)
        sizes = sizes.sizes
    sizes = _numbers(sizes, "sizes")
    named = (("training", training), ("validation", validation))
    curves = {name: _curve(values, len(sizes), name) for name, values in named}
    with drawing(ax, lang) as ax:
        for k, (name, curve) in enumerate(curves.items()):
            _draw(ax, sizes, curve, k, say(name))
        ax.set(xlabel=say("training examples"), ylabel=say(measure))
        ax.set_ylim(bottom=min(0.0, *(curve.mean.min() for curve in curves.values())))
        ax.set_title(say("Learning curve") if title is None else title)
        legend(ax)
    return ax


def bias_variance(
    complexity: Any,
    bias: Any = None,
    variance: Any = None,
    noise: Any = 0.0,
    *,
    log: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Return the squared bias, the variance and their sum against the complexity of the model.

    Parameters
    ----------
    complexity : array of shape (n_values,), or the answer of `cotas.bias_variance`
        A degree, a depth, c, …; with the latter the arrays below are not needed.
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
    name = None
    if hasattr(complexity, "bias_squared"):
        found = complexity
        bias, variance, noise = found.bias_squared, found.variance, np.nan_to_num(found.noise)
        complexity, name = found.values, found.over
    x = _numbers(complexity, "complexity")
    given = {"bias": _numbers(bias, "bias"), "variance": _numbers(variance, "variance")}
    floor = np.broadcast_to(np.asarray(noise, dtype=np.float64), x.shape)
    for part, values in given.items():
        if len(values) != len(x):
            raise ParameterError(
                part, f"{part} has {len(values)} values and complexity has {len(x)}."
            )
    parts = {"bias²": given["bias"], "variance": given["variance"]}
    if floor.any():
        parts["noise"] = np.asarray(floor)
    total = sum(parts.values(), np.zeros(len(x)))
    least = int(np.argmin(total))
    with drawing(ax, lang) as ax:
        for k, (part, values) in enumerate(parts.items()):
            ax.plot(x, values, label=say(part), markevery=_every(x), **line_style(k, points=True))
        ax.plot(x, total, color=INK, linewidth=2.4, label=say("total error"))
        label = say("least: {value:.3g}", value=x[least])
        ax.plot(x[least], total[least], "*", color=INK, markersize=13, label=label, gid="least")
        ax.set(
            xlabel=name or say("complexity of the model"),
            ylabel=say("error"),
            xscale="log" if log else "linear",
        )
        ax.set_title(say("Bias and variance") if title is None else title)
        legend(ax)
    return ax


def _fitting_regions(
    ax: Axes, low: float, best: float, high: float, names: tuple[str, str]
) -> None:
    """Draw the two sides of ĉ, in pale colours, each with its name above the picture's floor."""
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


def _check_measure(measure: str) -> None:
    if measure not in ("loss", "error"):
        raise ParameterError("measure", f"measure must be 'loss' or 'error', not {measure!r}.")


class _Curve(NamedTuple):
    """The value at each point of the axis, and the standard deviation over the folds."""

    mean: FloatArray
    spread: FloatArray | None

    def at(self, order: IntArray) -> _Curve:
        """Return the points in another order."""
        return _Curve(self.mean[order], None if self.spread is None else self.spread[order])


def _of_result(result: Any, measure: str) -> tuple[_Curve, _Curve]:
    """Return the two curves of an answer of `cotas.choose` or `cotas.learning_curves`."""
    training, validation = (
        np.asarray(getattr(result, f"{name}_{measure}")) for name in ("training", "validation")
    )
    folds = getattr(result, "fold_losses", None) if measure == "loss" else None
    spread = None if folds is None or np.shape(folds)[1] < 2 else np.std(folds, axis=1)
    return _Curve(training, None), _Curve(validation, spread)


def _draw(ax: Axes, x: FloatArray, curve: _Curve, number: int, label: str) -> None:
    """Draw the mean, and one standard deviation of the folds to both sides."""
    mean, spread = curve
    ax.plot(x, mean, label=label, markevery=_every(x), **line_style(number, points=True))
    if spread is not None:
        pale: dict[str, Any] = {"color": COLOURS[number], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(x, mean - spread, mean + spread, gid="band", **pale)


def _every(x: FloatArray) -> int:
    """Put markers on at most twenty points of a curve."""
    return max(1, len(x) // 20)


def _numbers(values: Any, name: str) -> FloatArray:
    if values is None:
        raise ParameterError(name, f"{name} is missing.")
    found = np.asarray(values, dtype=np.float64).ravel()
    if not len(found):
        raise ParameterError(name, f"{name} must hold at least one number.")
    return found


def _curve(values: Any, count: int, name: str) -> _Curve:
    """Read a curve from one number for each point of the axis, or one for each point and fold."""
    if isinstance(values, _Curve):
        return values
    if values is None:
        raise ParameterError(name, f"{name} is missing.")
    found = np.asarray(values, dtype=np.float64)
    if found.ndim not in (1, 2) or len(found) != count:
        raise ParameterError(
            name, f"{name} must have one row for each of the {count} points of the axis."
        )
    if found.ndim == 1:
        return _Curve(found, None)
    return _Curve(found.mean(axis=1), found.std(axis=1))
