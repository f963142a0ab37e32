"""Rugeles Ospina, chapter 2: LS-Boost, forward stagewise regression and the Lasso."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.figure import draws, panels
from cotas.experiments.samples import Regression, informative_covariates
from cotas.experiments.sheet import apart, beside
from cotas.plots.style import GREY, INK, PALE, line_style
from cotas.regression.lasso import Lasso
from cotas.regression.lasso_path import lasso_path
from cotas.regression.least_squares import LeastSquares
from cotas.regression.ls_boost import LSBoost
from cotas.regression.stagewise import ForwardStagewise, RegularizedForwardStagewise
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DELTA = 200.0
RUNS = (250, 500, 1000)
# A coefficient is named if it is at least such a share of the largest; the others are grey.
NAMED = 0.1
# About so many bars are drawn, at round iterations.
BARS = 10
YELLOW = 7


@dataclass(frozen=True)
class StagewiseTrial:
    """The coefficients of a run at every iteration, and what it is compared with.

    Attributes
    ----------
    name : str
    coefficients : array of shape (iterations + 1, n_features)
    lengths : array of shape (iterations + 1,)
        ‖βᵏ‖₁
    losses : array of shape (iterations + 1,)
        L_n(βᵏ)
    goal : array of shape (n_features,)
        The coefficients of least squares, or of the Lasso in the ball.
    goal_loss : float
    """

    name: str
    coefficients: FloatArray
    lengths: FloatArray
    losses: FloatArray
    goal: FloatArray
    goal_loss: float

    @property
    def suboptimality(self) -> FloatArray:
        """Compute how much of L_n(0) − L_n(goal) is still to be gained, at every iteration."""
        return np.asarray((self.losses - self.goal_loss) / (self.losses[0] - self.goal_loss))


@dataclass(frozen=True)
class Runs:
    """Several runs on the same data."""

    runs: tuple[StagewiseTrial, ...]
    delta: float


@dataclass(frozen=True)
class LassoBreakpoints:
    """The Lasso for all δ: coefficients at its breakpoints, between which they are linear."""

    delta: FloatArray
    coefficients: FloatArray
    gap: float


def data_of(dimension: int, seed: int, n: int | None = None) -> Regression:
    """Return the data in dimension 10, or 100 with more rows and more informative covariates."""
    if dimension == 10:
        return informative_covariates(seed, n or 200)
    return informative_covariates(seed, n or 500, dimension, informative=10)


def loss(data: Regression, beta: FloatArray) -> float:
    """Compute L_n(β) = ‖y − Xβ‖²/(2n)."""
    return float(((data.y - data.X @ beta) ** 2).sum() / (2 * len(data.y)))


def least_squares(data: Regression) -> FloatArray:
    """Return the coefficients without a limit."""
    return np.asarray(LeastSquares(fit_intercept=False).fit(data.X, data.y).coef_)


def in_the_ball(data: Regression, delta: float = DELTA) -> FloatArray:
    """Return the coefficients of the Lasso, ‖β‖₁ ≤ δ."""
    return np.asarray(Lasso(delta=delta, fit_intercept=False).fit(data.X, data.y).coef_)


def follow(name: str, model: Any, data: Regression, goal: FloatArray) -> StagewiseTrial:
    """Fit a stagewise model and list its coefficients."""
    path = model.fit(data.X, data.y).path_
    coefficients = np.array([path.unit_coef(k) for k in range(len(path))])
    return StagewiseTrial(name, coefficients, path.lengths, path.losses, goal, loss(data, goal))


def ls_boost(
    seed: int = 0, eps: float = 0.3, iterations: int = 50, dimension: int = 10
) -> StagewiseTrial:
    """Run LS-Boost(ε); Figure 2.1 with ε = 0.3 and 50 iterations in dimension 10."""
    data = data_of(dimension, seed)
    model = LSBoost(eps=eps, max_iter=iterations)
    return follow(f"LS-Boost({eps:g})", model, data, least_squares(data))


def forward(seed: int = 0, iterations: int = 225, dimension: int = 10) -> StagewiseTrial:
    """Run FS₁ beside least squares; Figure 2.2 with 225 iterations in dimension 10."""
    data = data_of(dimension, seed)
    return follow("FS₁", ForwardStagewise(eps=1.0, max_iter=iterations), data, least_squares(data))


def regularized(seed: int = 0, runs: tuple[int, ...] = RUNS, dimension: int = 10) -> Runs:
    """Run R-FS₁ with δ = 200, and the Lasso there: Figures 2.3 and 2.11."""
    data = data_of(dimension, seed)
    goal = in_the_ball(data)
    found = [
        follow(
            "R-FS₁",
            RegularizedForwardStagewise(eps=1.0, delta=DELTA, max_iter=iterations),
            data,
            goal,
        )
        for iterations in runs
    ]
    return Runs(tuple(found), DELTA)


def forward_and_lasso(seed: int = 0, iterations: int = 200, dimension: int = 10) -> StagewiseTrial:
    """Run FS₁ beside the Lasso with δ = 200: Figure 2.4."""
    data = data_of(dimension, seed)
    return follow("FS₁", ForwardStagewise(eps=1.0, max_iter=iterations), data, in_the_ball(data))


def steps_of_forward(seed: int = 0, most: int = 5000) -> int:
    """Count after how many iterations FS₁ has as little left as LS-Boost(0.3) after 50."""
    reached = ls_boost(seed).losses[-1]
    run = forward(seed, most)
    return int(np.argmax(run.losses <= reached))


def whole_path(seed: int = 0, dimension: int = 10) -> LassoBreakpoints:
    """Return the Lasso path by homotopy: Figures 2.5 and 2.10."""
    data = data_of(dimension, seed)
    path = lasso_path(data.X, data.y, method="homotopy", ratio=1e-4, fit_intercept=False)
    assert path.deltas is not None
    return LassoBreakpoints(path.deltas, path.coefs, float(path.gaps.max()))


# Figures 2.6 to 2.11 are in dimension 100; LS-Boost has 100 iterations there, and FS₁ 200.
slow = partial(ls_boost, eps=0.01, iterations=100, dimension=100)
medium = partial(ls_boost, eps=0.1, iterations=100, dimension=100)
fast = partial(ls_boost, eps=1.0, iterations=100, dimension=100)
forward_in_100 = partial(forward, iterations=200, dimension=100)
path_in_100 = partial(whole_path, dimension=100)
regularized_in_100 = partial(regularized, dimension=100)


@draws("001-2.1", "LS-Boost(0.3) for 50 iterations, and least squares", ls_boost)
@draws("001-2.2", "FS₁ for 225 iterations, and least squares", forward)
def draw_bars(result: StagewiseTrial, ax: Axes) -> None:
    """Draw β stacked at some iterations, so that each bar is ‖β‖₁ long; the last is the optimum.

    What is positive is above zero, what is negative below.
    """
    shown = _round_iterations(len(result.coefficients) - 1)
    bars = np.vstack([result.coefficients[shown], result.goal])
    place = np.append(np.arange(len(shown)), len(shown) + 0.4)
    named = _named(result.goal)
    tops, bottoms = np.zeros(len(place)), np.zeros(len(place))
    for rank, j in enumerate(named):
        floor = np.where(bars[:, j] >= 0, tops, bottoms)
        _bar(ax, place, bars[:, j], floor, _style(rank)["color"], f"β{_below(j + 1)}")
        tops, bottoms = tops + np.maximum(bars[:, j], 0), bottoms + np.minimum(bars[:, j], 0)
    rest = np.setdiff1d(np.arange(bars.shape[1]), named)
    for sign, floor in ((1, tops), (-1, bottoms)):
        small = np.maximum(sign * bars[:, rest], 0).sum(axis=1)
        label = say("the other {many}", many=len(rest)) if sign == 1 else None
        _bar(ax, place, sign * small, floor, PALE, label)
    for k, x in enumerate(place):
        left = _share(100 * result.suboptimality[shown[k]]) if k < len(shown) else "0"
        top = float(np.maximum(bars[k], 0).sum())
        ax.annotate(left, (x, top), (0, 3), textcoords="offset points", ha="center",
                    fontsize=10)  # fmt: skip
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set_xticks(place, [f"{k}" for k in shown] + [say("least\nsquares")])
    ax.margins(y=0.09)
    ax.set(xlabel=say("iteration"), ylabel="β")
    ax.set_title(say("a bar is ‖β‖₁ long; above it, how many % of L(β) − L* are left"))
    ax.grid(visible=False, axis="x")
    beside(ax)


def _bar(
    ax: Axes, x: FloatArray, height: FloatArray, floor: FloatArray, colour: str, label: str | None
) -> None:
    ax.bar(
        x, height, 0.86, bottom=floor, color=colour, edgecolor="white", linewidth=0.5, label=label
    )


def _round_iterations(last: int) -> list[int]:
    """Choose iterations from 0 to the last in equal steps that are whole, as near to `BARS` of them
    as may be."""
    counts = [count for count in range(1, last + 1) if last % count == 0 and count <= 2 * BARS]
    many = min(counts, key=lambda count: abs(count - BARS))
    return list(range(0, last + 1, last // many))


@draws("001-2.4", "FS₁ for 200 iterations, and the Lasso with δ = 200", forward_and_lasso)
@draws("001-2.8", "LS-Boost(1) for 100 iterations in dimension 100", fast)
def draw_run(result: StagewiseTrial, ax: Axes) -> None:
    """Draw the coefficients of one run; where they go to stands at the right of each."""
    _draw_one(result, ax, say("● optimum, ‖β‖₁ = {goal}", goal=_length(result)), targets=True)


@draws("001-2.6", "LS-Boost(0.01) for 100 iterations in dimension 100", slow)
@draws("001-2.7", "LS-Boost(0.1) for 100 iterations in dimension 100", medium)
@draws("001-2.9", "FS₁ for 200 iterations in dimension 100", forward_in_100)
def draw_progress(result: StagewiseTrial, ax: Axes) -> None:
    """Draw the coefficients of one run far from its end; the optimum is given in numbers."""
    _draw_one(result, ax, say("→ optimum, ‖β‖₁ = {goal}", goal=_length(result)), targets=False)


def _length(result: StagewiseTrial) -> str:
    return f"{np.abs(result.goal).sum():.4g}"


def _draw_one(result: StagewiseTrial, ax: Axes, note: str, targets: bool) -> None:
    """Draw a run with what is left of it in the title, and a note on its optimum."""
    _draw_coefficients(ax, result, targets)
    ax.set(xlabel=say("iteration"), ylabel="β")
    left, norm = _percent(100 * result.suboptimality[-1]), result.lengths[-1]
    ax.set_title(
        say("‖β‖₁ = {norm:.4g} at the end, {left} of L(β) − L* left", norm=norm, left=left)
    )
    _note(ax, note)


@draws("001-2.3", "R-FS₁ with δ = 200 for 250, 500 and 1000 iterations, and the Lasso", regularized)
@draws("001-2.11", "R-FS₁ with δ = 200 in dimension 100, and the Lasso", regularized_in_100)
@panels(lambda result: len(result.runs), sharey=True)
def draw_runs(result: Runs, *axes: Any) -> None:
    """Draw several runs side by side, with the same optimum."""
    for ax, run in zip(axes, result.runs, strict=True):
        _draw_coefficients(ax, run, targets=True, labels=ax is axes[-1])
        norm, left = run.lengths[-1], _percent(100 * run.suboptimality[-1])
        many = len(run.lengths) - 1
        ax.set_xlabel(say("iteration"))
        counted = say("{many} iterations", many=many)
        rest = say("{left} left", left=left)
        ax.set_title(f"{counted}\n‖β‖₁ = {norm:.1f}, {rest}")
    axes[0].set_ylabel("β")
    _note(axes[-1], f"● Lasso, δ = {result.delta:g}")


@draws("001-2.5", "The Lasso path", whole_path)
@draws("001-2.10", "The Lasso path in dimension 100", path_in_100)
def draw_path(result: LassoBreakpoints, ax: Axes) -> None:
    """Draw the coefficients of the Lasso against δ."""
    final, end = result.coefficients[-1], float(result.delta[-1])
    named = _lines(ax, result.delta, result.coefficients, final)
    ax.axvline(200.0, color=INK, linestyle=":", linewidth=1.4)
    ax.annotate("δ = 200", (200.0, 0.0), (5, 5), textcoords="offset points",
                xycoords=ax.get_xaxis_transform())  # fmt: skip
    many = len(result.delta)
    ax.set(xlabel="δ", ylabel="β", xlim=(0, end))
    ax.set_title(say("exact path with {many} breakpoints", many=many))
    _label_ends(ax, end, final, named)


def _draw_coefficients(ax: Axes, run: StagewiseTrial, targets: bool, labels: bool = True) -> None:
    """Draw the lines of a run, with targets in their colours, or the names only."""
    end = len(run.coefficients) - 1
    named = _lines(ax, np.arange(end + 1.0), run.coefficients, run.goal)
    ax.set_xlim(0, (1.06 if targets else 1.0) * end)
    if not targets:
        _label_ends(ax, end, run.coefficients[-1], named, run.goal)
        return
    for rank, j in enumerate(named):
        ax.plot(1.03 * end, run.goal[j], "o", color=_style(rank)["color"], markersize=8, zorder=4,
                markeredgecolor="white", clip_on=False)  # fmt: skip
    rest = np.setdiff1d(np.arange(len(run.goal)), named)
    ax.plot(np.full(len(rest), 1.03 * end), run.goal[rest], "o", color=GREY, markersize=4)
    if labels:
        _label_ends(ax, 1.06 * end, run.goal, named)


def _lines(ax: Axes, x: FloatArray, coefficients: FloatArray, goal: FloatArray) -> list[int]:
    """Return a line for each coefficient; those that are named on top. Returns these."""
    named = _named(goal)
    for j in np.setdiff1d(np.arange(len(goal)), named):
        ax.plot(x, coefficients[:, j], color=GREY, linewidth=0.8, alpha=0.6)
    for rank, j in reversed(list(enumerate(named))):
        ax.plot(x, coefficients[:, j], **_style(rank))
    ax.axhline(0, color=INK, linewidth=0.6)
    return named


def _label_ends(
    ax: Axes, x: float, values: FloatArray, named: list[int], goal: FloatArray | None = None
) -> None:
    """Write β₁, β₂, … to the right of where the lines end, apart from each other.

    With a goal its value is added: where the coefficient has yet to go.
    """
    low, high = ax.get_ylim()
    # A line of 12 points on a panel of about 220.
    spread = apart(values[named], 0.062 * (high - low))
    spread += min(0.0, high - float(spread.max(initial=high)))
    spread += max(0.0, low - float(spread.min(initial=low)))
    for rank, (j, y) in enumerate(zip(named, spread, strict=True)):
        text = f"β{_below(j + 1)}" + ("" if goal is None else f" → {goal[j]:.0f}".replace("-", "−"))
        ax.annotate(text, (x, values[j]), (1.04, y), textcoords=ax.get_yaxis_transform(),
                    color=_style(rank)["color"], va="center", annotation_clip=False,
                    arrowprops={"arrowstyle": "-", "color": PALE, "linewidth": 0.8})  # fmt: skip


def _note(ax: Axes, text: str) -> None:
    """Say what the points are, under the right corner of the panel."""
    ax.annotate(text, (1.0, 0.0), (0, -34), xycoords="axes fraction", textcoords="offset points",
                ha="right", va="top", fontsize=11, color=INK)  # fmt: skip


def _named(values: FloatArray) -> list[int]:
    """Return the coefficients that matter, the largest first."""
    size = np.abs(values)
    order = np.argsort(-size, kind="stable")
    return [int(j) for j in order if size[j] >= NAMED * size.max() and size[j] > 0]


def _style(rank: int) -> dict[str, Any]:
    """Return the colour and line of a rank; yellow, which no projector shows, is left out."""
    return line_style(rank if rank < YELLOW else rank + 1)


def _percent(share: float) -> str:
    return f"{_share(share)}%"


def _share(share: float) -> str:
    """Write per cent, in two digits at most, and without an exponent down to a thousandth."""
    if share < 0.0005:
        return "<0.001"
    return f"{share:.0f}" if share >= 9.5 else f"{share:.2g}" if share >= 0.095 else f"{share:.1g}"


def _below(number: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
