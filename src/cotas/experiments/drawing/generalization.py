"""Drawing document 004."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.experiments.drawing.sheet import sheet, span_of
from cotas.experiments.generalization import Balance, DescentCurve, Losses, Surface, hinge_objective
from cotas.plots.style import COLOURS, INK, PALE, legend, look, tint
from cotas.words import say


def draw_balance(result: Balance) -> Any:
    """The loss falls, the penalty grows, and their sum is least at the solution."""
    total = result.loss + result.penalty
    with sheet(width=6.4, height=4.4) as (figure, (ax,)):
        loss = say("mean hinge loss")
        ax.plot(result.scale, result.loss, label=loss, **look(0))
        ax.plot(result.scale, result.penalty, label="(λ/2)‖θ‖²", **look(1))
        ax.plot(result.scale, total, label="J", **look(2))
        best = int(np.argmin(total))
        ax.plot(result.scale[best], total[best], "o", color=COLOURS[2])
        ax.set(
            xlabel=say("length of θ, the best being 1"),
            ylabel="J(tθ, tθ₀)",
            ylim=(0, 1.15 * float(total[0])),
        )
        ax.set_title(say("margin at the best: {margin:.3g}", margin=result.margin))
        legend(ax)
    return figure


def draw_losses(result: Losses) -> Any:
    """Training and test loss against c."""
    with sheet(width=6.4, height=4.4) as (figure, (ax,)):
        training, test = say("training"), say("test")
        ax.semilogx(result.c, result.training, label=training, **look(0, points=True))
        ax.semilogx(result.c, result.test, label=test, **look(3, points=True))
        _mark(ax, result.best, f"c* = {result.best:.2g}")
        ax.set(xlabel="c = 1/(λn)", ylabel=say("mean hinge loss"))
        ax.set_ylim(bottom=0)
        legend(ax)
    return figure


def draw_regimes(result: Losses) -> Any:
    """The two regimes beside c*, and the ĉ that a validation part of the data chooses."""
    with sheet(width=6.4, height=4.4) as (figure, (ax,)):
        low, high = float(result.c[0]), float(result.c[-1])
        ax.axvspan(low, result.best, color=tint(COLOURS[5], 0.16), linewidth=0)
        ax.axvspan(result.best, high, color=tint(COLOURS[3], 0.16), linewidth=0)
        ax.semilogx(result.c, result.test, label=say("test"), **look(3, points=True))
        validation = say("validation, 25 %")
        ax.semilogx(result.c, result.validation, label=validation, **look(2))
        _mark(ax, result.best, f"c* = {result.best:.2g}")
        ax.plot(result.chosen, result.chosen_loss, "*", color=INK, markersize=13, zorder=4,
                label=f"ĉ = {result.chosen:.2g}")  # fmt: skip
        where = ax.get_xaxis_transform()
        for x, side, name in (
            (low * 1.2, "left", say("underfitting")),
            (high / 1.2, "right", say("overfitting")),
        ):
            ax.text(x, 0.04, name, transform=where, ha=side, fontsize=11, color=INK)
        ax.set(
            xlabel="c = 1/(λn)",
            ylabel=say("mean hinge loss"),
            xlim=(low, high),
            ylim=(0, None),
        )
        legend(ax, loc="upper left")
    return figure


def draw_slope(result: DescentCurve) -> Any:
    """J of one parameter, the tangent at the start, and the steps down."""
    with sheet(width=6.4, height=4.4) as (figure, (ax,)):
        ax.plot(result.theta, result.objective, label="J(θ)", **look(0))
        start, value = result.walked[0], result.walked_objective[0]
        near = np.array([start - 1.2, start + 0.5])
        tangent = say("slope ∂J/∂θ")
        ax.plot(near, value + result.slope * (near - start), label=tangent, **look(1))
        walked = {"color": COLOURS[3], "marker": "o", "linewidth": 0.8, "linestyle": ":"}
        label = "θ ← θ − η ∂J/∂θ"
        ax.plot(result.walked, result.walked_objective, label=label, **walked)
        ax.set(xlabel="θ", ylabel="J(θ)", ylim=(0, 1.1 * float(result.objective.max())))
        legend(ax)
    return figure


def draw_surface(result: Surface) -> Any:
    """J of two parameters: descent goes straight, stochastic descent about it."""
    with sheet(width=6.6, height=5.4) as (figure, (ax,)):
        left, right, bottom, top = span_of(np.vstack([result.descent, result.stochastic]), 0.15)
        axis = np.linspace(left, right, 160), np.linspace(bottom, top, 160)
        grid = np.column_stack([part.ravel() for part in np.meshgrid(*axis)])
        values = hinge_objective(result.data, result.lam, grid).reshape(160, 160)
        ax.contourf(*axis, values, levels=18, cmap="Blues", alpha=0.55)
        ax.contour(*axis, values, levels=18, colors=PALE, linewidths=0.6)
        sgd = say("stochastic, η = 1/(1+t)")
        ax.plot(*result.stochastic.T, color=COLOURS[1], linewidth=0.9, label=sgd)
        path = say("gradient descent")
        ax.plot(*result.descent.T, color=COLOURS[3], marker="o", markersize=3, label=path)
        ax.plot(*result.best, "X", color=INK, markersize=10, label=say("minimum"))
        ax.set(xlabel="θ₁", ylabel="θ₂")
        ax.grid(False)
        legend(ax)
    return figure


def _mark(ax: Any, x: float, text: str) -> None:
    ax.axvline(x, color=INK, linewidth=1.0, linestyle=":")
    ax.annotate(text, (x, 1.0), (4, -10), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", fontsize=9)  # fmt: skip
