"""Drawing gradient descent, Moreno Chávez."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments import descent
from cotas.experiments.descent import Houses, Normalization, Walk, Walks, objective
from cotas.experiments.drawing.sheet import below, sheet
from cotas.experiments.figure import draws
from cotas.experiments.statistics import spaced
from cotas.plots.style import COLOURS, GREY, INK, PALE, legend, look, tint
from cotas.words import say

# What the four rates of Figure 003-step do.
EFFECTS = ("too small", "just right", "large: oscillates", "too large: diverges")


@draws("003-houses", "Price against area, and the line of least squares", descent.line)
def draw_houses(result: Houses) -> Any:
    """The table as points, and the line that descent and the closed form agree on."""
    with sheet() as (figure, (ax,)):
        ends = np.array([0.9 * result.area.min(), 1.05 * result.area.max()])
        lines: tuple[tuple[tuple[float, float], dict[str, Any]], ...] = (
            (result.closed_form, {"color": tint(COLOURS[1], 0.6), "linewidth": 7}),
            (result.by_descent, {"color": COLOURS[0], "linestyle": "--"}),
        )
        names = (
            say("closed form"),
            say("gradient descent"),
        )
        for ((slope, offset), style), name in zip(lines, names, strict=True):
            ax.plot(ends, slope * ends + offset, label=name, **style)
        ax.plot(result.area, result.price, "o", color=INK, markersize=8,
                label=say("the 11 houses of the table"))  # fmt: skip
        slope, offset = result.closed_form
        sign = "+" if offset >= 0 else "−"
        size = abs(offset)
        line = say(
            "price = {slope:.3f} · area {sign} {size:.2f}", slope=slope, sign=sign, size=size
        )
        ax.set_title(line)
        ax.set(xlabel=say("area [m²]"), ylabel=say("price [k$]"))
        legend(ax, loc="upper left")
    return figure


@draws("003-step", "Batch descent with four rates α", descent.step_sizes)
def draw_steps(result: Walks) -> Any:
    """For each step: θ₁ on the curve of J above, and against the iteration below."""
    count = len(result.walks)
    best = float(result.best[1])
    reach = 1.05 * max(float(np.abs(walk.theta[:, 1] - best).max()) for walk in result.walks)
    rows = {"sharex": "row", "sharey": "row", "height_ratios": (1.3, 1)}
    with sheet(count, 2, **rows) as (figure, axes):
        grid = np.linspace(best - reach, best + reach, 201)
        curve = _section(result, grid)
        for k, walk in enumerate(result.walks):
            above, under, theta = axes[k], axes[count + k], walk.theta[:, 1]
            path = {"color": COLOURS[3], "marker": "o", "markersize": 4, "linewidth": 1.2}
            above.plot(grid, curve, color=COLOURS[0])
            above.plot(theta, _section(result, theta), **path)
            above.set_title(f"{walk.name}\n{say(EFFECTS[k])}")
            above.set_xlabel("θ₁", labelpad=0)
            under.axhline(best, color=INK, linewidth=1.0, linestyle=":")
            under.plot(theta, **path)
            under.set_xlabel(say("iteration"))
        axes[0].set_ylabel("J − J*")
        axes[0].set_yticks([])
        axes[count].set_ylabel("θ₁")
        axes[count].annotate(say("minimum"), (0, best), (0, 3), textcoords="offset points",
                             va="bottom", fontsize=11)  # fmt: skip
        for ax in axes:
            ax.grid(False)
            ax.locator_params(axis="x", nbins=3)
    return figure


def _section(walks: Walks, theta: FloatArray) -> FloatArray:
    """J − J* where θ₀ is the best."""
    points = np.column_stack([np.full(len(theta), walks.best[0]), theta])
    least = objective(walks.rows, walks.target, walks.best)
    return np.asarray(objective(walks.rows, walks.target, points) - least)


@draws("003-normalization", "Descent on raw and on normalized data", descent.normalization)
def draw_normalization(result: Normalization) -> Any:
    """The level lines of J and the path of θ, raw and normalized, and what is left of J − J*."""
    names = (say("area in m²"), say("normalized area"))
    with sheet(3, width_ratios=(1, 1, 1.35)) as (figure, axes):
        for k, walks in enumerate((result.raw, result.normalized)):
            ax = axes[k]
            _draw_square(ax, walks, walks.walks[0])
            ratio = np.sqrt(result.conditions[k])
            shape = say("level lines {ratio:.0f} times\nas long as wide", ratio=ratio)
            circles = say("level lines are circles")
            ax.set_title(f"{names[k]}:\n" + (circles if ratio < 1.01 else shape))
        axes[1].set_ylabel("")
        figure.get_layout_engine().set(w_pad=0.12)
        last = axes[2]
        for k, share in enumerate(result.left):
            many = result.iterations[k]
            steps = say("step" if many == 1 else "steps")
            label = f"{names[k]}:\n{spaced(many)} {steps}"
            last.semilogy(result.steps, np.maximum(share, 1e-8), label=label, **look(k))
        last.set_xscale("symlog", linthresh=1)
        last.set_xticks([0, 1, 1e2, 1e4, 1e6])
        last.axhline(1e-4, color=INK, linewidth=1.0, linestyle=":")
        last.set(xlabel=say("iteration"), ylim=(1e-6, 3))
        last.set_title(say("share of J − J* left,\nand steps to 10⁻⁴"))
        legend(last, loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)
    return figure


def _draw_square(ax: Any, walks: Walks, walk: Walk) -> None:
    """Level lines with the same scale on both axes, the start, the end and the minimum."""
    start, end, best = walk.theta[0], walk.theta[-1], walks.best
    middle = (start + best) / 2
    reach = 0.75 * float(np.abs(start - best).max())
    axis = [np.linspace(middle[j] - reach, middle[j] + reach, 201) for j in (0, 1)]
    grid = np.column_stack([part.ravel() for part in np.meshgrid(*axis)])
    values = objective(walks.rows, walks.target, grid).reshape(201, 201)
    least = float(objective(walks.rows, walks.target, best)[0])
    levels = least + float(values.max() - least) * np.linspace(0.08, 1, 8) ** 2
    ax.contour(*axis, values, levels=levels, colors=GREY, linewidths=0.9)
    ax.plot(*walk.theta.T, color=COLOURS[3], linewidth=2.0)
    many = len(walk.theta) - 1
    steps = say("step" if many == 1 else "steps")
    ax.plot(*start, "o", color=COLOURS[3], markersize=9, markerfacecolor="white",
            label=say("start"))  # fmt: skip
    ax.plot(*end, "o", color=COLOURS[3], markersize=5,
            label=say("after {many} {steps}", many=many, steps=steps))  # fmt: skip
    ax.plot(*best, "x", color=INK, markersize=10, markeredgewidth=2.5, label=say("minimum"))
    ax.set(xlabel="θ₀", ylabel="θ₁")
    ax.set_xlim(middle[0] - reach, middle[0] + reach)
    ax.set_ylim(middle[1] - reach, middle[1] + reach)
    ax.set_box_aspect(1)
    ax.grid(False)
    ax.locator_params(nbins=4)
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)


@draws("003-stochastic", "Batch, stochastic and mini-batch descent", descent.batches)
def draw_batches(result: Walks) -> Any:
    """The paths of θ epoch by epoch, and J − J*."""
    with sheet(2) as (figure, axes):
        _draw_levels(axes[0], result, room=0.2)
        for k, walk in enumerate(result.walks):
            name = say(walk.name)
            axes[1].semilogy(np.maximum(walk.excess, 1e-3), label=name, **look(k))
        axes[0].set_title(say("θ after each epoch"))
        axes[1].set(xlabel=say("epoch"), title="J(θ) − J*")
        axes[1].plot(
            [],
            [],
            "x",
            color=INK,
            markersize=10,
            markeredgewidth=2.5,
            label=say("minimum"),
        )
        below(figure, axes[1], 3)
    return figure


def _draw_levels(ax: Any, walks: Walks, room: float) -> None:
    """Level lines of J of (θ₀, θ₁), the paths, and the minimum as a cross."""
    points = np.vstack([walk.theta for walk in walks.walks] + [walks.best[None, :]])
    low, high = points.min(axis=0), points.max(axis=0)
    extra = room * np.maximum(high - low, 1e-9)
    axis = [np.linspace(low[j] - extra[j], high[j] + extra[j], 160) for j in (0, 1)]
    grid = np.column_stack([part.ravel() for part in np.meshgrid(*axis)])
    values = objective(walks.rows, walks.target, grid).reshape(160, 160)
    least = float(objective(walks.rows, walks.target, walks.best)[0])
    levels = least + float(values.max() - least) * np.geomspace(1e-4, 1, 14)
    ax.contour(*axis, values, levels=levels, colors=PALE, linewidths=0.9)
    for k, walk in enumerate(walks.walks):
        ax.plot(*walk.theta.T, **look(k, points=True), markersize=4, linewidth=1.3)
    ax.plot(*walks.best, "x", color=INK, markersize=10, markeredgewidth=2.5)
    ax.set(xlabel="θ₀", ylabel="θ₁")
    ax.grid(False)
