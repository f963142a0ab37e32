"""Drawing linear classifiers and margins: document 000, and λ in document 004."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.experiments.drawing.sheet import arrow, scatter, sheet, sides, span_of
from cotas.experiments.margins import FittedMargin, Halves, Margins, Projection
from cotas.experiments.memorizing import Memory
from cotas.experiments.samples import LabelledSample
from cotas.plots.style import COLOURS, INK, legend, look
from cotas.words import say

BOX = (-3.2, 3.2, -3.2, 3.2)


def draw_halves(result: Halves) -> Any:
    """The boundary, θ as an arrow from it, and the points by their side."""
    theta, theta0 = result.theta, result.theta0
    with sheet(width=5.6, height=5.2) as (figure, (ax,)):
        sides(ax, lambda X: X @ theta + theta0, BOX)
        scatter(ax, result.data)
        foot = -theta0 * theta / (theta @ theta)
        arrow(ax, foot, foot + 1.3 * theta)
        ax.annotate("θ", foot + 1.3 * theta, (-12, 4), textcoords="offset points", fontsize=14)
        plane = "θ · x = 0" if theta0 == 0 else "θ · x + θ₀ = 0"
        ax.plot([], [], color=INK, label=plane)
        ax.axhline(0, color=INK, linewidth=0.5)
        ax.axvline(0, color=INK, linewidth=0.5)
        ax.set_title(say("θ points to the positive side"))
        ax.set_aspect("equal")
        legend(ax)
    return figure


def draw_projection(result: Projection) -> Any:
    """The point, its foot on the boundary, and the distance between them."""
    theta, theta0, point, foot = result.theta, result.theta0, result.point, result.foot
    with sheet(width=5.6, height=5.2) as (figure, (ax,)):
        sides(ax, lambda X: X @ theta + theta0, BOX)
        ax.plot(*np.array([point, foot]).T, color=INK, linestyle="--", linewidth=1.2)
        ax.plot(*point, "s", color=COLOURS[1], markersize=8)
        ax.plot(*foot, "o", color=INK, markersize=6)
        ax.annotate("$x^{(t)}$", point, (-8, 8), textcoords="offset points", ha="right")
        ax.annotate("$x^{(0)}$", foot, (8, -12), textcoords="offset points")
        away = -theta0 * theta / (theta @ theta) - 2.0 * np.array([0.6, 1.0])
        arrow(ax, away, away + 0.8 * theta)
        ax.annotate(r"$\hat\theta$", away + 0.8 * theta, (-14, 2), textcoords="offset points")
        ax.set_title(
            say(
                "distance {distance:.3f} = y(θ·x + θ₀)/‖θ‖ = {agreement:.3f}",
                distance=result.distance,
                agreement=result.agreement,
            )
        )
        ax.set_aspect("equal")
    return figure


def draw_margins(result: Margins) -> Any:
    """One panel for each λ: boundary, margins, and the violations ringed."""
    with sheet(len(result.fits), width=5.4, height=4.8) as (figure, axes):
        for ax, fit in zip(axes, result.fits, strict=True):
            _draw_margin(ax, result.data, fit)
    return figure


def _draw_margin(ax: Any, data: LabelledSample, fit: FittedMargin) -> None:
    sides(ax, lambda X: X @ fit.theta + fit.theta0, span_of(data.X, 0.12), margins=True)
    scatter(ax, data, size=30)
    agreement = data.y * (data.X @ fit.theta + fit.theta0)
    rings = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.0, "s": 95, "zorder": 3}
    if fit.inside:
        label = say("margin violated")
        ax.scatter(*data.X[agreement < 1 - 1e-3].T, label=label, **rings)
    else:
        label = say("support vectors")
        ax.scatter(*data.X[agreement < 1 + 1e-3].T, label=label, **rings)
    hard = fit.model.margin == "hard"
    kind = say("hard margin") if hard else f"λ = {fit.lam:g}"
    counts = say(
        "1/‖θ‖ = {margin:.3g}, {inside} violations, {wrong} wrong",
        margin=fit.margin,
        inside=fit.inside,
        wrong=fit.wrong,
    )
    ax.set_title(f"{kind}: {counts}", fontsize=10)
    legend(ax)


def draw_memory(result: Memory) -> Any:
    """Both errors of the memorizer against ε, and those of a linear classifier as a level."""
    with sheet() as (figure, (ax,)):
        training = say("training error")
        validation = say("validation error")
        ax.semilogx(result.eps, result.training, label=training, **look(0, points=True))
        ax.semilogx(result.eps, result.validation, label=validation, **look(3, points=True))
        ax.axhline(0.5, color=INK, linewidth=0.8, linestyle=":")
        ax.annotate("½", (result.eps[0], 0.5), (0, 5), textcoords="offset points")
        ax.axhline(
            result.linear_validation,
            color=COLOURS[2],
            linestyle="-.",
            label=say("linear SVM, validation"),
        )
        ax.set(xlabel="ε", ylabel=say("error"), ylim=(-0.03, 0.62))
        legend(ax, loc="center left")
    return figure
