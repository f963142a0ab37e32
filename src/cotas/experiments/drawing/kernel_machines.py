"""Drawing kernels, Fuentes-Pineda."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.experiments import kernel_machines
from cotas.experiments.drawing.sheet import beside, ring, scatter, sheet, sides, span_of
from cotas.experiments.figure import draws
from cotas.experiments.kernel_machines import KernelFit, Lifted
from cotas.plots.style import COLOURS, GREY, INK, MARKERS
from cotas.words import say


@draws("002-linear", "Support vector machine with the linear kernel", kernel_machines.linear)
@draws("002-rbf", "Support vector machine with a radial basis function", kernel_machines.radial)
@draws(
    "002-polynomial", "Support vector machine with a polynomial kernel", kernel_machines.polynomial
)
def draw_kernel(result: KernelFit) -> Any:
    """The boundary of a kernel machine in the plane, its margins and its support vectors."""
    data = result.data
    with sheet() as (figure, (ax,)):
        names = (
            say("boundary f(x) = 0"),
            say("margins f(x) = ±1"),
        )
        sides(ax, result.model.decision_function, span_of(data.X, 0.1), names)
        scatter(ax, data)
        ring(
            ax,
            data.X[result.model.support_],
            "inside",
            say("support vectors"),
        )
        wrong = f"{100 * result.error:.1f}%"
        facts = (
            f"k(x, x′) = {result.model.kernel_}"
            if result.name == "linear"
            else f"{result.model.kernel_}",
            say("{wrong} wrong in training", wrong=wrong),
            say("{support} support vectors", support=result.support),
        )
        beside(ax, title="\n".join(facts) + "\n")
    return figure


@draws(
    "002-intuition",
    "What a kernel is for: separable after a map to more features",
    kernel_machines.lifted,
)
def draw_lifted(result: Lifted) -> Any:
    """The points in the plane, and in three features with the plane that separates them."""
    with sheet(2, width_ratios=(1, 1.25)) as (figure, axes):
        flat = axes[0]
        a, b, c = result.normal
        sides(flat, lambda X: X @ np.array([a, b]) + c * (X**2).sum(axis=1) + result.offset,
              span_of(result.data.X, 0.06))  # fmt: skip
        scatter(flat, result.data)
        flat.set_aspect("equal")
        flat.set_title(say("no line separates them…"))
        flat.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
        axes[1].remove()
        axes[1] = _draw_space(figure, result)
        axes[1].set_title(say("…but a plane does, in three dimensions"))
    return figure


def _draw_space(figure: Any, result: Lifted) -> Any:
    """The bowl that the points lie on, and the plane between the two classes."""
    space = figure.add_subplot(1, 2, 2, projection="3d", computed_zorder=False)
    a, b, c = result.normal
    reach = 1.05 * float(np.abs(result.data.X).max())
    u, v = np.meshgrid(np.linspace(-reach, reach, 2), np.linspace(-reach, reach, 2))
    heights = -(a * u + b * v + result.offset) / c
    order = ((1, 1), (-1, 3))  # below the plane first, so that the plane covers it
    for label, level in order:
        k = (label + 1) // 2
        rows = result.features[result.data.y == label]
        space.scatter(*rows.T, c=COLOURS[k], marker=MARKERS[k], s=22, zorder=level,
                      depthshade=False, edgecolors="white", linewidths=0.3)  # fmt: skip
    space.plot_surface(u, v, heights, color=GREY, alpha=0.35, zorder=2)
    corners = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]).T
    space.plot(
        *(part[tuple(corners)] for part in (u, v, heights)), color=INK, linewidth=1.0, zorder=2
    )
    space.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_1^2+x_2^2$")
    space.set(xticklabels=[], yticklabels=[], zticklabels=[])
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.labelpad = -8
    space.view_init(elev=10, azim=-60)
    space.set_box_aspect((1.2, 1.2, 1), zoom=1.15)
    return space
