"""Drawing document 002."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.experiments.drawing.sheet import scatter, sheet
from cotas.experiments.kernel_machines import KernelFit, Lifted
from cotas.plots.boundary import decision_boundary
from cotas.plots.style import COLOURS, GREY, MARKERS, legend
from cotas.words import say


def draw_kernel(result: KernelFit) -> Any:
    """The boundary of a kernel machine in the plane, its margins and its support vectors."""
    wrong = 100 * result.error
    with sheet(width=6.0, height=5.0) as (figure, (ax,)):
        name, many = result.model.kernel_, result.support
        title = say(
            "{name}: {wrong:.1f} % wrong, {many} support vectors", name=name, wrong=wrong, many=many
        )
        decision_boundary(result.model, *result.data, ax, title)
    return figure


def draw_lifted(result: Lifted) -> Any:
    """The points in the plane, and in three features with the plane that separates them."""
    with sheet(2, width=5.0, height=4.6) as (figure, axes):
        scatter(axes[0], result.data)
        axes[0].set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        axes[0].set_title(say("no line separates them"))
        legend(axes[0], loc="upper right")
        axes[1].remove()
        space = figure.add_subplot(1, 2, 2, projection="3d")
        for k, label in enumerate((-1, 1)):
            rows = result.features[result.data.y == label]
            space.scatter(*rows.T, c=COLOURS[k], marker=MARKERS[k], s=14)
        u, v = np.meshgrid(np.linspace(0, 2, 2), np.linspace(-1.5, 1.5, 2))
        a, b, c = result.normal
        height = -(a * u + b * v + result.offset) / c
        space.plot_surface(u, v, height, color=GREY, alpha=0.3)
        space.set(xlabel="$x_1^2$", ylabel=r"$\sqrt{2}x_1x_2$", zlabel="$x_2^2$", zlim=(0, 4))
        space.set_title(say("a plane does, in three features"))
        space.view_init(elev=12, azim=-70)
        axes[1] = space
    return figure
