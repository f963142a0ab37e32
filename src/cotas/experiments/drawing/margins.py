"""Drawing linear classifiers and margins: document 000, and λ in document 004."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.drawing.sheet import (
    Words,
    arrow,
    below,
    beside,
    ring,
    scatter,
    sheet,
    sides,
    span_of,
    words,
)
from cotas.experiments.margins import Halves, Margin, Margins, Projection, Series, Widest
from cotas.experiments.memorizing import Memory
from cotas.experiments.samples import Labelled
from cotas.plots.style import COLOURS, GREY, INK, legend, look

BOX = (-3.2, 3.2, -3.2, 3.2)


def draw_halves(result: Halves, lang: str = "en") -> Any:
    """The boundary, θ as an arrow from it, and the points by their side."""
    say = words(lang)
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
        facts = say("θ points to the\npositive side", "θ apunta al\nlado positivo")
        if theta0 != 0:
            _line(ax, theta, 0.0, label="θ · x = 0", color=GREY, linestyle="--", linewidth=1.4)
            far = f"{abs(theta0) / float(np.linalg.norm(theta)):.2f}"
            facts += say(
                f"\n\nthe bias moves the\nboundary by |θ₀|/‖θ‖\n= {far}, and does not\nturn it",
                f"\n\nel sesgo desplaza la\nfrontera |θ₀|/‖θ‖ = {far}\ny no la gira",
            )
        ax.set_aspect("equal")
        beside(ax, title=facts + "\n")
    return figure


def draw_projection(result: Projection, lang: str = "en") -> Any:
    """The point, its foot on the boundary, and the distance between them."""
    say = words(lang)
    theta, theta0, point, foot = result.theta, result.theta0, result.point, result.foot
    with sheet() as (figure, (ax,)):
        sides(ax, lambda X: X @ theta + theta0, BOX, (r"$\hat\theta\cdot x+\hat\theta_0=0$", None))
        ax.plot(*np.array([point, foot]).T, color=INK, linestyle="--", linewidth=1.6,
                label=say("distance", "distancia"))  # fmt: skip
        ax.plot(*point, "s", color=COLOURS[1], markersize=10, label="$x^{(t)}$, $y^{(t)}=+1$")
        ax.plot(*foot, "o", color=INK, markersize=8, label="$x^{(0)}$")
        ax.annotate("$x^{(t)}$", point, (-8, 8), textcoords="offset points", ha="right", size=15)
        ax.annotate("$x^{(0)}$", foot, (10, -12), textcoords="offset points", size=15)
        away = -theta0 * theta / (theta @ theta) - 2.0 * np.array([0.6, 1.0])
        arrow(ax, away, away + 0.8 * theta)
        ax.annotate(r"$\hat\theta$", away + 0.8 * theta, (-16, 2), textcoords="offset points",
                    size=15)  # fmt: skip
        facts = say(
            "measured: {:.3f}\ny(θ·x + θ₀)/‖θ‖ = {:.3f}\n",
            "medida: {:.3f}\ny(θ·x + θ₀)/‖θ‖ = {:.3f}\n",
        )
        ax.set_aspect("equal")
        beside(ax, title=facts.format(result.distance, result.agreement))
    return figure


def draw_margins(result: Margins, lang: str = "en") -> Any:
    """One panel for each λ: boundary, margins, and the violations ringed."""
    say, many = words(lang), len(result.fits)
    with sheet(many, sharey=True) as (figure, axes):
        for ax, fit in zip(axes, result.fits, strict=True):
            _draw_margin(ax, result.data, fit, say)
        if many == 1:
            fit = result.fits[0]
            beside(axes[0], title="\n".join(_facts(fit, result.data, say)) + "\n")
        else:
            for ax, fit in zip(axes, result.fits, strict=True):
                counts = say(
                    f"{fit.inside} violations, {fit.wrong} wrong",
                    f"{fit.inside} violaciones, {fit.wrong} errores",
                )
                ax.set_title(f"λ = {fit.lam:g}: 1/‖θ‖ = {fit.margin:.3g}\n{counts}")
            axes[1].set_ylabel("")
            below(figure, axes[1], 3)
    return figure


def _draw_margin(ax: Any, data: Labelled, fit: Margin, say: Words) -> None:
    _plane(ax, data, fit, say)
    scatter(ax, data)
    agreement = data.y * (data.X @ fit.theta + fit.theta0)
    ring(ax, data.X[agreement < 1 - 1e-3], "inside", say("margin violated", "viola el margen"))
    ring(ax, data.X[np.abs(agreement - 1) <= 1e-3], "on", say("on the margin", "sobre el margen"))


def _plane(ax: Any, data: Labelled, fit: Margin, say: Words) -> None:
    names = say("boundary", "frontera de decisión"), say("margins", "fronteras de margen")
    sides(ax, lambda X: X @ fit.theta + fit.theta0, span_of(data.X, 0.12), names)


def _facts(fit: Margin, data: Labelled, say: Words) -> list[str]:
    """λ, the width of the margin, how many violate it, and how many are on the wrong side."""
    many = len(data.y)
    return [
        f"λ = {fit.lam:g}",
        f"1/‖θ‖ = {fit.margin:.3g}",
        say(
            f"{fit.inside} of {many} violate the margin", f"{fit.inside} de {many} violan el margen"
        ),
        say(f"{fit.wrong} on the wrong side", f"{fit.wrong} en el lado contrario"),
    ]


def draw_widest(result: Widest, lang: str = "en") -> Any:
    """The separator with the largest margin, and others that the perceptron found."""
    say, data, fit = words(lang), result.data, result.fit
    with sheet() as (figure, (ax,)):
        _draw_margin(ax, data, fit, say)
        for k, other in enumerate(result.others):
            label = say("perceptron: margin", "perceptrón: margen")
            line = {"color": COLOURS[2], "linestyle": ("-.", ":", (0, (5, 1)))[k % 3]}
            _line(ax, other.theta, other.theta0, label=f"{label} {other.margin:.3g}", **line,
                  linewidth=1.4)  # fmt: skip
        facts = say(
            f"largest margin:\n1/‖θ‖ = {fit.margin:.3g}\n",
            f"margen máximo:\n1/‖θ‖ = {fit.margin:.3g}\n",
        )
        beside(ax, title=facts)
    return figure


def draw_series(result: Series, lang: str = "en") -> Any:
    """One of several λ; examples without influence are pale, other boundaries are thin lines."""
    say, data, fit = words(lang), result.data, result.fit
    counts = np.zeros(len(data.y), dtype=bool)
    counts[fit.model.support_] = True
    with sheet() as (figure, (ax,)):
        _plane(ax, data, fit, say)
        scatter(ax, data, size=34, pale=~counts)
        ring(ax, data.X[counts], "inside", say("has influence", "influye"))
        for k, other in enumerate(result.fits):
            if other is not fit:
                line = {"color": COLOURS[4], "linestyle": (":", "-.", (0, (5, 1)))[k]}
                _line(ax, other.theta, other.theta0, label=f"λ = {other.lam:g}", linewidth=1.6,
                      **line)  # fmt: skip
        facts = _facts(fit, data, say)
        share = int(counts.sum()), len(data.y)
        facts.append(say("{} of {} have influence", "influyen {} de {}").format(*share))
        beside(ax, title="\n".join(facts) + "\n")
    return figure


def _line(ax: Any, theta: FloatArray, theta0: float, **look: Any) -> None:
    """The line θ·x + θ₀ = 0, within the limits of the axes."""
    foot = -theta0 * theta / (theta @ theta)
    along = np.array([-theta[1], theta[0]])
    limits = ax.axis()
    ax.axline(tuple(foot), tuple(foot + along), **look)
    ax.axis(limits)


def draw_memory(result: Memory, lang: str = "en") -> Any:
    """Both errors of the memorizer against ε, and those of a linear classifier as a level."""
    say = words(lang)
    with sheet() as (figure, (ax,)):
        training = say("training error", "error de entrenamiento")
        validation = say("validation error", "error de validación")
        ax.semilogx(result.eps, result.training, label=training, **look(0, points=True))
        ax.semilogx(result.eps, result.validation, label=validation, **look(3, points=True))
        ax.axhline(0.5, color=INK, linewidth=0.8, linestyle=":")
        ax.annotate("½", (result.eps[0], 0.5), (0, 5), textcoords="offset points")
        ax.axhline(
            result.linear_validation,
            color=COLOURS[2],
            linestyle="-.",
            label=say("linear SVM, validation error", "SVM lineal, error de validación"),
        )
        radius = say("radius ε of the balls", "radio ε de las bolas")
        ax.set(xlabel=radius, ylabel=say("error", "error"), ylim=(-0.03, 0.62))
        legend(ax, loc="center left")
    return figure
