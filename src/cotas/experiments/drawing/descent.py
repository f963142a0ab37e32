"""Drawing document 003."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.experiments.descent import Houses, Normalization, Walk, Walks, objective
from cotas.experiments.drawing.sheet import sheet
from cotas.plots.style import COLOURS, INK, PALE, legend, look
from cotas.words import say


def draw_houses(result: Houses) -> Any:
    """The table as points, and the line that descent and the closed form agree on."""
    with sheet(width=6.2, height=4.6) as (figure, (ax,)):
        ax.plot(result.area, result.price, "o", color=COLOURS[0], markersize=6)
        ends = np.array([0.9 * result.area.min(), 1.05 * result.area.max()])
        for k, (pair, label) in enumerate(
            (
                (result.closed_form, say("closed form")),
                (result.by_descent, say("gradient descent")),
            )
        ):
            slope, offset = pair
            ax.plot(ends, slope * ends + offset, label=label, **look(2 + k))
        slope, offset = result.closed_form
        ax.set_title(say("price = {slope:.3f} · area {offset:+.2f}", slope=slope, offset=offset))
        ax.set(xlabel=say("area [m²]"), ylabel=say("price [k$]"))
        legend(ax)
    return figure


def draw_steps(result: Walks) -> Any:
    """J − J* against the iteration, for each step."""
    with sheet(width=6.4, height=4.6) as (figure, (ax,)):
        for k, walk in enumerate(result.walks):
            ax.semilogy(walk.excess, label=walk.name, **look(k))
        ax.set(xlabel=say("iteration"), ylabel="J(θ) − J*")
        legend(ax)
    return figure


def draw_normalization(result: Normalization) -> Any:
    """The path of θ over the level lines of J, raw and normalized, and J − J* for both."""
    names = (say("area in m²"), say("normalized area"))
    with sheet(3, width=4.3, height=4.2) as (figure, axes):
        for k, walks in enumerate((result.raw, result.normalized)):
            _draw_levels(axes[k], walks, [walks.walks[0]], room=0.35)
            condition = f"{result.conditions[k]:.3g}"
            axes[k].set_title(
                say("{name}, condition {condition}", name=names[k], condition=condition)
            )
            steps = f"{result.iterations[k]:,}".replace(",", " ")
            shown = np.maximum(walks.walks[0].excess, 1e-6)
            label = say("{name}: {steps} steps", name=names[k], steps=steps)
            axes[2].semilogy(shown, label=label, **look(k, points=True), markevery=25)
        axes[2].set(xlabel=say("iteration"), ylabel="J(θ) − J*")
        axes[2].set_title(say("steps until 10⁻⁴ of it is left"))
        legend(axes[2])
    return figure


def draw_batches(result: Walks) -> Any:
    """The paths of θ epoch by epoch, and J − J*."""
    with sheet(2, width=5.2, height=4.6) as (figure, axes):
        _draw_levels(axes[0], result, list(result.walks), room=0.25)
        for k, walk in enumerate(result.walks):
            axes[1].semilogy(np.maximum(walk.excess, 1e-3), label=say(walk.name), **look(k))
        axes[0].set_title(say("θ after each epoch"))
        axes[1].set(xlabel=say("epoch"), ylabel="J(θ) − J*")
        legend(axes[1])
    return figure


def _draw_levels(ax: Any, walks: Walks, shown: list[Walk], room: float) -> None:
    """Level lines of J of (θ₀, θ₁), the paths, and the minimum as a cross."""
    points = np.vstack([walk.theta for walk in shown] + [walks.best[None, :]])
    low, high = points.min(axis=0), points.max(axis=0)
    extra = room * np.maximum(high - low, 1e-9)
    axis = [np.linspace(low[j] - extra[j], high[j] + extra[j], 160) for j in (0, 1)]
    grid = np.column_stack([part.ravel() for part in np.meshgrid(*axis)])
    values = objective(walks.rows, walks.target, grid).reshape(160, 160)
    least = float(objective(walks.rows, walks.target, walks.best)[0])
    top = float(values.max() - least)
    levels = least + top * np.geomspace(1e-4, 1, 14)
    ax.contour(*axis, values, levels=levels, colors=PALE, linewidths=0.9)
    for k, walk in enumerate(shown):
        ax.plot(*walk.theta.T, **look(k, points=True), markersize=3, linewidth=1.2)
    ax.plot(*walks.best, "x", color=INK, markersize=9, markeredgewidth=2, label=say("minimum"))
    ax.set(xlabel="θ₀", ylabel="θ₁")
    ax.grid(False)
    legend(ax)
