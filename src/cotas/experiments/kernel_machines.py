"""Fuentes-Pineda: support vector machines with three kernels, and what a kernel is for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.figure import draws, panels
from cotas.experiments.samples import LabelledSample, two_moons, two_rings
from cotas.experiments.sheet import beside, ring, scatter, sides, span_of
from cotas.kernel.svm import KernelSVM
from cotas.kernels import RBF, Linear, Polynomial
from cotas.linear.separability import separability
from cotas.plots.style import COLOURS, GREY, INK, MARKERS, tidy
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAM = 1e-3


@dataclass(frozen=True)
class KernelFit:
    """A kernel machine on points of the plane, with its training error and proved gap."""

    name: str
    data: LabelledSample
    support: int
    error: float
    gap: float
    model: Any


@dataclass(frozen=True)
class Lifted:
    """Points of the plane, the same points in three features, and whether a plane separates."""

    data: LabelledSample
    features: FloatArray
    separable: bool
    separable_lifted: bool
    normal: FloatArray
    offset: float


def _fit(name: str, kernel: Any, seed: int = 0, n: int = 120) -> KernelFit:
    """Return the machine on two half circles; λ = 0.001 (chosen) for all three kernels."""
    data = two_moons(seed, n)
    model: Any = KernelSVM(kernel=kernel, lam=LAM, tol=1e-6).fit(*data)
    return KernelFit(
        name,
        data,
        len(model.support_),
        1 - float(model.score(*data)),
        model.certificate_.relative_gap,
        model,
    )


# With σ = 0.5, degree 3 and the constant 1, all chosen.
linear = partial(_fit, "linear", Linear())
radial = partial(_fit, "RBF", RBF(0.5))
polynomial = partial(_fit, "polynomial", Polynomial(degree=3, coef0=1.0))


def lifted(seed: int = 0, n: int = 120) -> Lifted:
    """Return the intuition: φ(x) = (x₁, x₂, x₁² + x₂²), whose inner product is x·z + ‖x‖²‖z‖².

    The slide shows a picture only. Chosen: a disc inside a ring, and this φ, which can be drawn.
    """
    data = two_rings(seed, n)
    features = np.column_stack([data.X, (data.X**2).sum(axis=1)])
    before, after = separability(data.X, data.y), separability(features, data.y, widest=True)
    assert after.coef is not None
    assert after.intercept is not None
    return Lifted(data, features, before.separable, after.separable, after.coef, after.intercept)


@draws("002-linear", "Support vector machine with the linear kernel", linear)
@draws("002-rbf", "Support vector machine with a radial basis function", radial)
@draws("002-polynomial", "Support vector machine with a polynomial kernel", polynomial)
def draw_kernel(result: KernelFit, ax: Axes) -> None:
    """Draw the boundary of a kernel machine in the plane, its margins and its support vectors."""
    data = result.data
    names = (say("boundary f(x) = 0"), say("margins f(x) = ±1"))
    sides(ax, result.model.decision_function, span_of(data.X, 0.1), names)
    scatter(ax, data)
    ring(ax, data.X[result.model.support_], "inside", say("support vectors"))
    wrong = f"{100 * result.error:.1f}%"
    facts = (
        f"k(x, x′) = {result.model.kernel_}"
        if result.name == "linear"
        else f"{result.model.kernel_}",
        say("{wrong} wrong in training", wrong=wrong),
        say("{support} support vectors", support=result.support),
    )
    beside(ax, title="\n".join(facts) + "\n")


@draws("002-intuition", "What a kernel is for: separable after a map to more features", lifted)
@panels(2, width_ratios=(1, 1.25))
def draw_lifted(result: Lifted, flat: Any, space: Any) -> None:
    """Draw the points in the plane, and in three features with the plane that separates them."""
    a, b, c = result.normal
    sides(flat, lambda X: X @ np.array([a, b]) + c * (X**2).sum(axis=1) + result.offset,
          span_of(result.data.X, 0.06))  # fmt: skip
    scatter(flat, result.data)
    flat.set_aspect("equal")
    flat.set_title(say("no line separates them…"))
    flat.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
    space.remove()
    _draw_space(flat.figure, result).set_title(say("…but a plane does, in three dimensions"))


def _draw_space(figure: Figure, result: Lifted) -> Any:
    """Return the bowl that the points lie on, and the plane between the two classes."""
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
    tidy(space, 11)
    return space
