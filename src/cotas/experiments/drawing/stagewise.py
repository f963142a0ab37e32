"""Drawing chapter 2 of document 001."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.experiments.drawing.sheet import sheet
from cotas.experiments.stagewise import LassoBreakpoints, Runs, StagewiseTrial
from cotas.plots.style import COLOURS, GREY, INK, PALE, legend, look
from cotas.words import say

# So many coefficients have a colour of their own; the others are grey.
NAMED = 8
BARS = 11


def draw_bars(result: StagewiseTrial) -> Any:
    """|β| stacked at some iterations, so that each bar is ‖β‖₁; the last bar is the optimum."""
    last = len(result.coefficients) - 1
    shown = np.unique(np.linspace(0, last, BARS).round().astype(int))
    bars = np.abs(np.vstack([result.coefficients[shown], result.goal]))
    place = np.append(np.arange(len(shown)), len(shown) + 0.6)
    order = np.argsort(-np.abs(result.goal), kind="stable")
    with sheet(width=8.0, height=4.6) as (figure, (ax,)):
        floor = np.zeros(len(place))
        for rank, j in enumerate(order):
            colour = COLOURS[rank] if rank < NAMED - 1 else PALE
            label = f"β{_below(j + 1)}" if rank < NAMED - 1 else None
            ax.bar(place, bars[:, j], bottom=floor, color=colour, edgecolor="white", label=label)
            floor += bars[:, j]
        left = 100 * result.excess[shown]
        for x, top, share in zip(place, floor, left, strict=False):
            ax.annotate(_percent(share), (x, top), (0, 3), textcoords="offset points",
                        ha="center", fontsize=8)  # fmt: skip
        names = [f"{k}" for k in shown] + [say("least\nsquares")]
        ax.set_xticks(place, names)
        ax.set(
            xlabel=say("iteration"),
            ylabel=say("‖β‖₁, stacked by coefficient"),
            title=say("{name}; above the bars: what is left of L(β) − L*", name=result.name),
        )
        ax.grid(visible=False, axis="x")
        legend(ax, loc="upper left", ncols=2)
    return figure


def draw_run(result: StagewiseTrial) -> Any:
    """The coefficients of one run, and the optimum as points at the right."""
    with sheet(width=7.0, height=4.6) as (figure, (ax,)):
        _draw_coefficients(ax, result, COLOURS[3])
        goal = say("optimum")
        ax.plot(
            [], [], "o", color=COLOURS[3], label=f"{goal}, ‖β‖₁ = {np.abs(result.goal).sum():.4g}"
        )
        ax.set(xlabel=say("iteration"), ylabel="β")
        left, norm = _percent(100 * result.excess[-1]), result.lengths[-1]
        ax.set_title(
            say(
                "{name}: ‖β‖₁ = {norm:.4g} at the end, {left} of L(β) − L* left",
                name=result.name,
                norm=norm,
                left=left,
            )
        )
        _beside(ax)
    return figure


def draw_runs(result: Runs) -> Any:
    """Several runs side by side, with the same optimum."""
    with sheet(len(result.runs), width=4.2, height=4.2, sharey=True) as (figure, axes):
        for ax, run in zip(axes, result.runs, strict=True):
            _draw_coefficients(ax, run, COLOURS[3])
            norm, left = run.lengths[-1], _percent(100 * run.excess[-1])
            ax.set(xlabel=say("iteration"))
            many = len(run.lengths) - 1
            text = say("left")
            ax.set_title(f"{run.name}, {many}: ‖β‖₁ = {norm:.4g}, {text} {left}", fontsize=10)
        axes[0].set_ylabel("β")
        axes[-1].plot([], [], "o", color=COLOURS[3], label=f"Lasso, δ = {result.delta:g}")
        _beside(axes[-1])
    return figure


def draw_path(result: LassoBreakpoints) -> Any:
    """The coefficients of the Lasso against δ."""
    final = result.coefficients[-1]
    with sheet(width=7.0, height=4.6) as (figure, (ax,)):
        for rank, j in _ranked(final):
            ax.plot(result.delta, result.coefficients[:, j], **_line(rank, j))
        ax.axhline(0, color=INK, linewidth=0.6)
        ax.axvline(200.0, color=COLOURS[3], linestyle=":", linewidth=1.2, label="δ = 200")
        many = len(result.delta)
        ax.set(xlabel="δ", ylabel="β", xlim=(0, float(result.delta[-1])))
        ax.set_title(say("exact path, {many} breakpoints", many=many))
        _beside(ax)
    return figure


def _beside(ax: Any) -> None:
    """A legend to the right of the picture: lines are everywhere inside."""
    handles, labels = ax.get_legend_handles_labels()
    legend(ax, handles=handles[::-1], labels=labels[::-1], loc="upper left", bbox_to_anchor=(1, 1))


def _draw_coefficients(ax: Any, run: StagewiseTrial, colour: str) -> None:
    end = len(run.coefficients) - 1
    for rank, j in _ranked(run.goal):
        ax.plot(run.coefficients[:, j], **_line(rank, j))
    ax.axhline(0, color=INK, linewidth=0.6)
    ax.plot(np.full(len(run.goal), 1.03 * end), run.goal, "o", color=colour, markersize=4)


def _ranked(values: FloatArray) -> list[tuple[int, int]]:
    """(rank, index), the smallest first, so that the largest are drawn on top."""
    order: IntArray = np.argsort(-np.abs(values), kind="stable")
    return [(rank, int(j)) for rank, j in enumerate(order)][::-1]


def _line(rank: int, j: int) -> dict[str, Any]:
    if rank < NAMED - 1:
        return {**look(rank), "label": f"β{_below(j + 1)}"}
    return {"color": GREY, "linewidth": 0.7, "alpha": 0.6}


def _percent(share: float) -> str:
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"


def _below(number: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
