"""Drawing chapter 1 of document 001."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.experiments.boosting import FOREST, THEORY, Cloud, Comparison, Costs, Stages
from cotas.experiments.drawing.sheet import scatter, sheet, sides, span_of
from cotas.plots.style import COLOURS, GREY, INK, legend, look, tint
from cotas.words import say


def draw_costs(result: Costs) -> Any:
    """Both costs against F, for each class."""
    panels = (
        (result.exponential, "$e^{-yF(x)}$", say("to be minimized")),
        (result.log_likelihood, "$L(y^*; p(x))$", say("to be maximized")),
    )
    with sheet(2, width=4.6, height=3.8) as (figure, axes):
        for ax, (values, name, what) in zip(axes, panels, strict=True):
            for k, y in enumerate((-1, 1)):
                ax.plot(result.F, values[y], label=f"y = {y:+d}", **look(k))
            ax.axhline(0, color=GREY, linewidth=0.8)
            ax.set(xlabel="F(x)", ylabel=name, title=what)
            legend(ax)
    return figure


def draw_cloud(result: Cloud) -> Any:
    """The points; and the boundary of the theoretical classifier where it is known."""
    with sheet(width=6.2, height=5.2) as (figure, (ax,)):
        if result.theory is not None:
            sides(ax, result.theory, span_of(result.data.X))
            ax.plot([], [], color=INK, label=say("Lemma 1.1.3: F = 0"))
        scatter(ax, result.data, size=14)
        ax.set(xlabel="$x_1$", ylabel="$x_2$")
        legend(ax)
    return figure


def draw_stages(result: Stages) -> Any:
    """What AdaBoost decides after its first rounds."""
    with sheet(2, 2, width=4.4, height=3.9, sharex=True, sharey=True) as (figure, axes):
        span = span_of(result.data.X)
        for k, ax in enumerate(axes):
            sides(ax, result.models[k].decision_function, span)
            scatter(ax, result.data, size=7)
            m, correct = result.rounds[k], 100 * result.training[k]
            text = (
                "{m} model: {correct:.1f} % right"
                if m == 1
                else "{m} models: {correct:.1f} % right"
            )
            ax.set_title(say(text, m=m, correct=correct))
        for ax in (axes[1], axes[3]):
            ax.set_ylabel("")
        for ax in axes[:2]:
            ax.set_xlabel("")
    return figure


def draw_comparison(result: Comparison) -> Any:
    """Accuracy on the training data and on new data, a pair of bars for each classifier."""
    known = {
        FOREST: say("Random Forest"),
        THEORY: say("Theory\n(Lemma 1.1.3)"),
    }
    place = np.arange(len(result.names))
    series = (
        (result.training, say("training"), -0.2, 0.45),
        (result.new, say("new data"), 0.2, 1.0),
    )
    colours = [COLOURS[0]] * (len(place) - 1) + [COLOURS[1]]
    with sheet(width=7.4, height=4.2) as (figure, (ax,)):
        for values, label, shift, strength in series:
            fill = [tint(colour, strength) for colour in colours]
            bars = ax.bar(place + shift, 100 * values, 0.38, color=fill, edgecolor=colours)
            ax.bar_label(bars, fmt="%.1f", padding=2, fontsize=8, color=INK)
            ax.bar([0], [0], color=tint(GREY, strength), edgecolor=GREY, label=label)
        least = float(min(result.training.min(), result.new.min()))
        floor = max(0.0, 10 * np.floor(10 * least - 0.3))
        ax.set_xticks(place, [known.get(name, name) for name in result.names])
        ax.set(ylabel=say("accuracy [%]"), ylim=(floor, 100 + 0.08 * (100 - floor)))
        ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 100])
        ax.grid(visible=False, axis="x")
        legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    return figure
