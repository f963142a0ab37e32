"""Drawing λ and generalization, Clasificación lineal."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments import generalization
from cotas.experiments.drawing.sheet import beside, sheet, span_of
from cotas.experiments.figure import draws
from cotas.experiments.generalization import Balance, DescentCurve, Losses, Surface, hinge_objective
from cotas.experiments.statistics import standard_error
from cotas.plots.style import COLOURS, INK, PALE, legend, look, tint
from cotas.words import say


@draws("004-objective", "The balance of loss and penalty", generalization.balance)
def draw_balance(result: Balance) -> Any:
    """The loss falls, the penalty grows, and their sum is least at the solution."""
    total = result.loss + result.penalty
    with sheet() as (figure, (ax,)):
        loss = say("mean hinge loss")
        ax.plot(result.scale, result.loss, label=loss, **look(0))
        ax.plot(result.scale, result.penalty, label="(λ/2)‖θ‖²", **look(1))
        ax.plot(result.scale, total, label=say("J, their sum"), **look(2))
        best = int(np.argmin(total))
        ax.plot(result.scale[best], total[best], "o", color=COLOURS[2], markersize=9)
        t, margin = float(result.scale[best]), result.margin
        said = say("least J at t = {t:.2f}:\nmargin {margin:.3g}", t=t, margin=margin)
        lowest = (result.scale[best], total[best])
        ax.annotate(said, lowest, (20, 60),
                    textcoords="offset points",
                    arrowprops={"arrowstyle": "-", "color": INK})  # fmt: skip
        ax.set(
            xlabel=say("t: θ is made t times as long"),
            ylabel="J(tθ, tθ₀)",
            ylim=(0, 1.15 * float(total[0])),
        )
        legend(ax, loc="upper right")
    return figure


@draws("004-loss", "Training and test loss against c", generalization.losses)
def draw_losses(result: Losses) -> Any:
    """Training and test loss against c."""
    with sheet() as (figure, (ax,)):
        training, test = say("training"), say("test")
        whole = {"clip_on": False}  # the frame cuts no mark in two
        ax.semilogx(result.c, result.training, label=training, **whole, **look(0, points=True))
        ax.semilogx(result.c, result.test, label=test, **whole, **look(3, points=True))
        _mark(ax, result.best, f"c* = {result.best:.2g}")
        ax.set(xlabel="c = 1/(λn)", ylabel=say("mean hinge loss"))
        ax.set_ylim(bottom=0)
        legend(ax, loc="upper right")
    return figure


@draws("004-fitting", "Underfitting and overfitting, and ĉ by validation", generalization.losses)
def draw_regimes(result: Losses) -> Any:
    """The two regimes beside c*, and the ĉ that validation parts of the data choose."""
    with sheet() as (figure, (ax,)):
        low, high = float(result.c[0]), float(result.c[-1])
        ax.axvspan(low, result.best, color=tint(COLOURS[5], 0.16), linewidth=0)
        ax.axvspan(result.best, high, color=tint(COLOURS[3], 0.16), linewidth=0)
        ax.semilogx(result.c, result.test, label=say("test"), clip_on=False, **look(3, points=True))
        many, middle = len(result.validation), result.validation.mean(axis=0)
        error = np.array([standard_error(column) for column in result.validation.T])
        name = say("validation:\nmean ± standard error\nof {many} splits,\n75 to 25%", many=many)
        ax.fill_between(
            result.c, middle - error, middle + error, color=tint(COLOURS[2], 0.4), zorder=1
        )
        ax.semilogx(result.c, middle, label=name, **look(2))
        _mark(ax, result.best, f"c* = {result.best:.2g}")
        where = ax.get_xaxis_transform()
        ax.plot(result.each, 0.03 + 0.04 * earlier(result.each), "o", color=COLOURS[2],
                markersize=5, transform=where, clip_on=False,
                label=say("ĉ of each split"))  # fmt: skip
        ax.plot(result.chosen, result.chosen_loss, "*", color=INK, markersize=17, zorder=4,
                clip_on=False, label=f"ĉ = {result.chosen:.2g}")  # fmt: skip
        for x, side, text in (
            (low * 1.2, "left", say("underfitting")),
            (high / 1.2, "right", say("overfitting")),
        ):
            ax.text(x, 0.92, text, transform=where, ha=side, fontsize=13, color=INK)
        ax.set(
            xlabel="c = 1/(λn)",
            ylabel=say("mean hinge loss"),
            xlim=(low, high),
            ylim=(0, 1.25 * float(result.test.max())),
        )
        beside(ax)
    return figure


@draws("004-slope", "Gradient descent with one parameter", generalization.slope)
def draw_slope(result: DescentCurve) -> Any:
    """J of one parameter, the tangent at the start, and the steps down."""
    with sheet() as (figure, (ax,)):
        ax.plot(result.theta, result.objective, label="J(θ)", **look(0))
        start, value = result.walked[0], result.walked_objective[0]
        near = np.array([start - 1.5, start + 0.5])
        tangent = say("slope ∂J/∂θ at the start")
        ax.plot(near, value + result.slope * (near - start), label=tangent, **look(1))
        walked = {"color": COLOURS[3], "marker": "o", "linewidth": 0.8, "linestyle": ":"}
        label = "θ ← θ − η ∂J/∂θ"
        ax.plot(result.walked, result.walked_objective, label=label, **walked)
        ax.annotate(say("start"), (start, value), (10, -6), textcoords="offset points")
        ax.set(xlabel="θ", ylabel="J(θ)", ylim=(0, 1.1 * float(result.objective.max())))
        legend(ax, loc="upper center")
    return figure


@draws(
    "004-surface",
    "Gradient descent with two parameters, and stochastic descent",
    generalization.surface,
)
def draw_surface(result: Surface) -> Any:
    """J of two parameters: descent goes straight, stochastic descent about it."""
    with sheet() as (figure, (ax,)):
        left, right, bottom, top = span_of(np.vstack([result.descent, result.stochastic]), 0.15)
        axis = np.linspace(left, right, 160), np.linspace(bottom, top, 160)
        grid = np.column_stack([part.ravel() for part in np.meshgrid(*axis)])
        values = hinge_objective(result.data, result.lam, grid).reshape(160, 160)
        ax.contourf(*axis, values, levels=18, cmap="Blues", alpha=0.55)
        ax.contour(*axis, values, levels=18, colors=PALE, linewidths=0.6)
        sgd = say("stochastic,\nη = 1/(1+t)")
        ax.plot(*result.stochastic.T, color=COLOURS[1], linewidth=1.3, label=sgd)
        path = say("gradient descent,\nη = 0.5")
        ax.plot(*result.descent.T, color=COLOURS[3], marker="o", markersize=4, label=path)
        ax.plot(*result.best, "X", color=INK, markersize=11, label=say("minimum"))
        ax.annotate(say("start"), result.descent[0], (8, 4), textcoords="offset points")
        ax.set(xlabel="θ₁", ylabel="θ₂")
        ax.grid(False)
        beside(ax, title=say("dark: large J\n"))
    return figure


def earlier(values: FloatArray) -> FloatArray:
    """How many of the values before each are equal to it: equal ones are drawn as a pile."""
    return np.array([float(np.sum(values[:k] == value)) for k, value in enumerate(values)])


def _mark(ax: Any, x: float, text: str) -> None:
    ax.axvline(x, color=INK, linewidth=1.2, linestyle=":")
    ax.annotate(text, (x, 1.0), (5, -14), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", fontsize=12)  # fmt: skip
