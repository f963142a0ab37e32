"""Drawing linear classifiers and margins: Fuentes Cabrera, and λ in Clasificación lineal."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments import generalization, margins, memorizing
from cotas.experiments.drawing.sheet import (
    arrow,
    below,
    beside,
    ring,
    scatter,
    sheet,
    sides,
    span_of,
)
from cotas.experiments.figure import draws
from cotas.experiments.margins import FittedMargin, Halves, Margins, Projection, Series, Widest
from cotas.experiments.memorizing import Memory
from cotas.experiments.samples import LabelledSample
from cotas.plots.style import COLOURS, GREY, INK, legend, look
from cotas.words import say

BOX = (-3.2, 3.2, -3.2, 3.2)


@draws("000-3.1", "A linear classifier without bias", margins.halves)
@draws("000-3.2", "A linear classifier with bias", margins.with_bias)
def draw_halves(result: Halves) -> Any:
    """The boundary, θ as an arrow from it, and the points by their side."""
    theta, theta0 = result.theta, result.theta0
    with sheet() as (figure, (ax,)):
        plane = "θ · x = 0" if theta0 == 0 else "θ · x + θ₀ = 0"
        sides(ax, lambda X: X @ theta + theta0, BOX, (plane, None))
        scatter(ax, result.data)
        foot = -theta0 * theta / (theta @ theta)
        arrow(ax, foot, foot + 1.3 * theta)
        ax.annotate("θ", foot + 1.3 * theta, (-14, 4), textcoords="offset points", fontsize=16)
        ax.axhline(0, color=INK, linewidth=0.5)
        ax.axvline(0, color=INK, linewidth=0.5)
        facts = say("θ points to the\npositive side")
        if theta0 != 0:
            _line(ax, theta, 0.0, label="θ · x = 0", color=GREY, linestyle="--", linewidth=1.4)
            far = f"{abs(theta0) / float(np.linalg.norm(theta)):.2f}"
            facts += say(
                "\n\nthe bias moves the\nboundary by |θ₀|/‖θ‖\n= {far}, and does not\nturn it",
                far=far,
            )
        ax.set_aspect("equal")
        beside(ax, title=facts + "\n")
    return figure


@draws("000-3.3", "The orthogonal projection on the boundary", margins.projection)
def draw_projection(result: Projection) -> Any:
    """The point, its foot on the boundary, and the distance between them."""
    theta, theta0, point, foot = result.theta, result.theta0, result.point, result.foot
    with sheet() as (figure, (ax,)):
        sides(ax, lambda X: X @ theta + theta0, BOX, (r"$\hat\theta\cdot x+\hat\theta_0=0$", None))
        ax.plot(*np.array([point, foot]).T, color=INK, linestyle="--", linewidth=1.6,
                label=say("distance"))  # fmt: skip
        ax.plot(*point, "s", color=COLOURS[1], markersize=10, label="$x^{(t)}$, $y^{(t)}=+1$")
        ax.plot(*foot, "o", color=INK, markersize=8, label="$x^{(0)}$")
        ax.annotate("$x^{(t)}$", point, (-8, 8), textcoords="offset points", ha="right", size=15)
        ax.annotate("$x^{(0)}$", foot, (10, -12), textcoords="offset points", size=15)
        away = -theta0 * theta / (theta @ theta) - 2.0 * np.array([0.6, 1.0])
        arrow(ax, away, away + 0.8 * theta)
        ax.annotate(r"$\hat\theta$", away + 0.8 * theta, (-16, 2), textcoords="offset points",
                    size=15)  # fmt: skip
        measured = say("measured: {distance:.3f}", distance=result.distance)
        facts = f"{measured}\ny(θ·x + θ₀)/‖θ‖ = {result.agreement:.3f}\n"
        ax.set_aspect("equal")
        beside(ax, title=facts)
    return figure


@draws("000-3.4", "Margins and boundary: ringed examples have a hinge loss", margins.violations)
@draws("000-3.5", "A small λ avoids violations, a large one accepts them", margins.small_and_large)
def draw_margins(result: Margins) -> Any:
    """One panel for each λ: boundary, margins, and the violations ringed."""
    many = len(result.fits)
    with sheet(many, sharey=True) as (figure, axes):
        for ax, fit in zip(axes, result.fits, strict=True):
            _draw_margin(ax, result.data, fit)
        if many == 1:
            fit = result.fits[0]
            beside(axes[0], title="\n".join(_facts(fit, result.data)) + "\n")
        else:
            for ax, fit in zip(axes, result.fits, strict=True):
                counts = say(
                    "{inside} violations, {wrong} wrong", inside=fit.inside, wrong=fit.wrong
                )
                ax.set_title(f"λ = {fit.lam:g}: 1/‖θ‖ = {fit.margin:.3g}\n{counts}")
            axes[1].set_ylabel("")
            below(figure, axes[1], 3)
    return figure


def _draw_margin(ax: Any, data: LabelledSample, fit: FittedMargin) -> None:
    _plane(ax, data, fit)
    scatter(ax, data)
    agreement = data.y * (data.X @ fit.theta + fit.theta0)
    ring(ax, data.X[agreement < 1 - 1e-3], "inside", say("margin violated"))
    ring(ax, data.X[np.abs(agreement - 1) <= 1e-3], "on", say("on the margin"))


def _plane(ax: Any, data: LabelledSample, fit: FittedMargin) -> None:
    names = say("boundary"), say("margins")
    sides(ax, lambda X: X @ fit.theta + fit.theta0, span_of(data.X, 0.12), names)


def _facts(fit: FittedMargin, data: LabelledSample) -> list[str]:
    """λ, the width of the margin, how many violate it, and how many are on the wrong side."""
    many = len(data.y)
    return [
        f"λ = {fit.lam:g}",
        f"1/‖θ‖ = {fit.margin:.3g}",
        say("{inside} of {many} violate the margin", inside=fit.inside, many=many),
        say("{wrong} on the wrong side", wrong=fit.wrong),
    ]


@draws("000-3.6", "The linear separator with the largest margin", margins.widest)
def draw_widest(result: Widest) -> Any:
    """The separator with the largest margin, and others that the perceptron found."""
    data, fit = result.data, result.fit
    with sheet() as (figure, (ax,)):
        _draw_margin(ax, data, fit)
        for k, other in enumerate(result.others):
            label = say("perceptron: margin")
            line = {"color": COLOURS[2], "linestyle": ("-.", ":", (0, (5, 1)))[k % 3]}
            _line(ax, other.theta, other.theta0, label=f"{label} {other.margin:.3g}", **line,
                  linewidth=1.4)  # fmt: skip
        facts = say("largest margin:\n1/‖θ‖ = {margin:.3g}\n", margin=fit.margin)
        beside(ax, title=facts)
    return figure


@draws("004-lambda-0.1", "λ = 0.1: every example on its side", generalization.lam_small)
@draws("004-lambda-100", "λ = 100: the margins let some examples in", generalization.lam_medium)
@draws(
    "004-lambda-1000", "λ = 1000: many more points influence the solution", generalization.lam_large
)
def draw_series(result: Series) -> Any:
    """One of several λ; examples without influence are pale, other boundaries are thin lines."""
    data, fit = result.data, result.fit
    counts = np.zeros(len(data.y), dtype=bool)
    counts[fit.model.support_] = True
    with sheet() as (figure, (ax,)):
        _plane(ax, data, fit)
        scatter(ax, data, size=34, pale=~counts)
        ring(ax, data.X[counts], "inside", say("has influence"))
        for k, other in enumerate(result.fits):
            if other is not fit:
                line = {"color": COLOURS[4], "linestyle": (":", "-.", (0, (5, 1)))[k]}
                _line(ax, other.theta, other.theta0, label=f"λ = {other.lam:g}", linewidth=1.6,
                      **line)  # fmt: skip
        facts = _facts(fit, data)
        some, many = int(counts.sum()), len(data.y)
        facts.append(say("{some} of {many} have influence", some=some, many=many))
        beside(ax, title="\n".join(facts) + "\n")
    return figure


def _line(ax: Any, theta: FloatArray, theta0: float, **look: Any) -> None:
    """The line θ·x + θ₀ = 0, within the limits of the axes."""
    foot = -theta0 * theta / (theta @ theta)
    along = np.array([-theta[1], theta[0]])
    limits = ax.axis()
    ax.axline(tuple(foot), tuple(foot + along), **look)
    ax.axis(limits)


@draws(
    "000-memorizer", "Learning by heart: no training error, validation error ½", memorizing.memory
)
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
            label=say("linear SVM, validation error"),
        )
        radius = say("radius ε of the balls")
        ax.set(xlabel=radius, ylabel=say("error"), ylim=(-0.03, 0.62))
        legend(ax, loc="center left")
    return figure
