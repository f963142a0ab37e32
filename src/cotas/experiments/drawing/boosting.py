"""Drawing chapter 1 of Rugeles Ospina."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.experiments import boosting, promises
from cotas.experiments.boosting import THEORY, Cloud, Comparison, Costs, Stages
from cotas.experiments.drawing.sheet import (
    below,
    beside,
    scatter,
    sheet,
    sides,
    signed,
    span_of,
)
from cotas.experiments.figure import draws
from cotas.experiments.statistics import plus_minus, standard_error
from cotas.plots.style import COLOURS, GREY, legend, look, tint
from cotas.words import say

# All comparisons begin at the same place, in per cent: a coin, for two classes of the same size.
SCALE = 50.0
NAMES = {
    THEORY: "Theory\n(Lemma 1.1.3)",
    "Perceptron": "Perceptron",
    "Averaged perceptron": "Averaged\nperceptron",
    "PA": "Passive-\naggressive",
    "Averaged PA": "Averaged p.-a.",
}


@draws("001-1.1", "The two costs as functions of F(x)", boosting.costs)
def draw_costs(result: Costs) -> Any:
    """Both costs against F, for each class."""
    panels = (
        (result.exponential, "$e^{-yF(x)}$", say("to be minimized")),
        (result.log_likelihood, "$L(y^*; p(x))$", say("to be maximized")),
    )
    with sheet(2) as (figure, axes):
        for ax, (values, name, what) in zip(axes, panels, strict=True):
            for k, y in enumerate((-1, 1)):
                ax.plot(result.F, values[y], label=signed(y), **look(k))
            ax.axhline(0, color=GREY, linewidth=0.8)
            ax.set(xlabel="F(x)", ylabel=name, title=what)
        legend(axes[0], loc="upper center")
        legend(axes[1], loc="lower center")
    return figure


@draws("001-1.2", "Ten clouds of points, five for each class, 1000 in all", boosting.clouds)
@draws("001-1.7", "Two normal distributions and the theoretical boundary", boosting.gaussians)
def draw_cloud(result: Cloud) -> Any:
    """The points; and the boundary of the theoretical classifier where it is known."""
    X = result.data.X
    with sheet() as (figure, (ax,)):
        if result.theory is not None:
            boundary = say("Lemma 1.1.3:\nF(x) = 0")
            sides(ax, result.theory, span_of(X), (boundary, None))
        scatter(ax, result.data, size=16)
        ax.set(xlabel="$x_1$", ylabel="$x_2$")
        beside(ax, title=say("{many} points\n", many=len(X)))
    return figure


@draws("001-1.3", "Discrete AdaBoost with stumps after 1, 5, 10 and 100 models", boosting.stages)
def draw_stages(result: Stages) -> Any:
    """What AdaBoost decides after its first rounds."""
    with sheet(2, 2, sharex=True, sharey=True) as (figure, axes):
        span = span_of(result.data.X)
        for k, ax in enumerate(axes):
            sides(ax, result.models[k].decision_function, span)
            scatter(ax, result.data, size=7)
            m, correct = result.rounds[k], 100 * result.training[k]
            many = say("model" if m == 1 else "models")
            share = say("{correct:.1f}% right", correct=correct)
            ax.set_title(f"{m} {many}: {share}")
            ax.label_outer()
        below(figure, axes[0], 2)
    return figure


@draws(
    "001-1.4",
    "LogitBoost and GentleBoost with regressions, the others with stumps",
    boosting.with_regressions,
)
@draws("001-1.5", "Trees of depth 1 for all the algorithms", boosting.with_stumps)
@draws("001-1.6", "Trees of depth 3 for all the algorithms", boosting.with_trees)
@draws(
    "001-1.8",
    "Trees of depth 1 on two normal distributions, and the theory",
    boosting.against_theory,
)
@draws("001-1.9", "Trees of depth 3 in dimension 100, on ten clouds", boosting.clouds_in_100)
@draws(
    "001-1.10",
    "Trees of depth 3 in dimension 100, on two normal distributions",
    boosting.gaussians_in_100,
)
def draw_comparison(result: Comparison, scale: float = SCALE) -> Any:
    """Accuracies as points, with their standard errors; every seed is a thin stroke.

    `scale` is where the axis begins, in per cent.
    """
    seeds, count = result.new.shape
    series = (
        (result.training, say("training"), 0.2, "white"),
        (result.new, say("new data"), -0.2, None),
    )
    with sheet() as (figure, (ax,)):
        for values, label, shift, fill in series:
            for k in range(count):
                colour = COLOURS[1 if k == count - 1 else 0]
                x, y = 100 * values[:, k], shift - k
                ax.plot(x, np.full(seeds, y), "|", color=tint(colour, 0.5), markersize=11)
                ax.errorbar(x.mean(), y, xerr=standard_error(x), fmt="o", color=colour, capsize=4,
                            markersize=8, markerfacecolor=fill or colour, zorder=3,
                            clip_on=False)  # fmt: skip
                ax.text(1.02, y, plus_minus(x, 2), va="center", fontsize=11,
                        transform=ax.get_yaxis_transform())  # fmt: skip
            ax.plot(
                [], [], "o", color=GREY, markerfacecolor=fill or GREY, markersize=8, label=label
            )
        ax.plot([], [], "|", color=GREY, markersize=11, label=say("one seed"))
        low = float(min(result.training.min(), result.new.min()))
        ax.set_yticks(-np.arange(count), [say(NAMES.get(name, name)) for name in result.names])
        ax.set_xlim(min(scale, 10 * np.floor(10 * low)), 100.5)
        ax.set_ylim(0.6 - count, 0.6)
        ax.set_xlabel(say("accuracy [%]: mean of {seeds} seeds ± standard error", seeds=seeds))
        ax.grid(visible=False, axis="y")
        below(figure, ax, 3)
    return figure


@draws("000-averaged", "The last θ and the mean of all, on classes that overlap", promises.averages)
def draw_averages(result: Comparison) -> Any:
    """The same for online algorithms, which lie closer together."""
    return draw_comparison(result, 80.0)
