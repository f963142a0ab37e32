"""Drawing algorithms and theorems that the documents state without a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments import promises
from cotas.experiments.drawing.sheet import sheet
from cotas.experiments.figure import draws
from cotas.experiments.promises import MARGINS, Descents, MeasuredBound, Mistakes, Risks, RoundCosts
from cotas.experiments.statistics import standard_error
from cotas.plots.style import COLOURS, INK, MARKERS, legend, look, tint
from cotas.words import say

TERMS = {
    "training error": "L(βᵏ) − L*",
    "correlation": "largest correlation ‖Xᵀr‖∞",
}
ITERATION = "iteration k"
KINDS = {
    "convex AnyBoost": "convex AnyBoost",
    "Algorithm 7": "Algorithm 7, convex",
    "η = 1/t": "η = 1/t, as printed",
    "η = 1/(λt), mean of θ": "η = 1/(λt), mean of θ",
    "PEGASOS": "kernelized PEGASOS",
}


@draws(
    "000-perceptron",
    "Theorem 3.1: mistakes that the perceptron makes, and may make",
    promises.mistakes,
)
def draw_mistakes(result: Mistakes) -> Any:
    """Mistakes against the bound: nothing may lie above the diagonal."""
    with sheet() as (figure, (ax,)):
        for k, gamma in enumerate(MARGINS):
            ax.loglog(result.allowed[:, k], result.made[:, k], MARKERS[k], color=COLOURS[k],
                      markersize=8, markeredgecolor="white", label=f"γ ≈ {gamma:g}")  # fmt: skip
        ends = np.array([0.7 * result.allowed.min(), 1.4 * result.allowed.max()])
        ax.plot(ends, ends, color=INK, label=say("bound (R/γ)²"))
        top = 2 * ends[1]
        ax.fill_between(ends, ends, top, color=tint(COLOURS[3], 0.12), linewidth=0)
        ax.text(1.1 * ends[0], 0.45 * top, say("impossible"), fontsize=13, color=INK)
        ax.set(
            xlabel=say("mistakes allowed, (R/γ)²"),
            ylabel=say("mistakes made"),
            xlim=tuple(ends),
            ylim=(0.7 * max(1, result.made.min()), top),
        )
        legend(ax, loc="lower right")
    return figure


@draws("000-pegasos", "PEGASOS: how far J is above its minimum", promises.subgradient)
@draws("002-smo", "SMO and kernelized PEGASOS: how far J is above its minimum", promises.kernelized)
def draw_descents(result: Descents) -> Any:
    """The excess over the minimum against the epochs."""
    with sheet() as (figure, (ax,)):
        for k, (name, excess) in enumerate(result.excess.items()):
            label = say(KINDS.get(name, name))
            ax.loglog(result.epochs, np.maximum(excess, 1e-9), label=label, **look(k, points=True))
        ax.set(xlabel=say("epochs"), ylabel="(J − J*)/J*")
        ax.set_ylim(bottom=max(1e-8, ax.get_ylim()[0]))
        legend(ax, loc="best")
    return figure


@draws("000-ridge", "Ridge regression: training and test error against λ", promises.ridge)
def draw_risks(result: Risks) -> Any:
    """Training and test error against λ, with their standard errors over the seeds."""
    series = (
        (result.training, say("training error"), 0),
        (result.new, say("test error"), 3),
    )
    with sheet() as (figure, (ax,)):
        for values, label, k in series:
            error = np.array([standard_error(column) for column in values.T])
            ax.errorbar(result.lams, values.mean(axis=0), error, label=label, capsize=3,
                        **look(k, points=True))  # fmt: skip
        best = float(result.lams[result.new.mean(axis=0).argmin()])
        ax.axvline(best, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(say("best λ = {best:.2g}", best=best), (best, 0.0), (6, 8),
                    xycoords=ax.get_xaxis_transform(), textcoords="offset points")  # fmt: skip
        many = len(result.new)
        ax.set(xscale="log", xlabel="λ", ylim=(0, None))
        ax.set_ylabel(say("mean squared error"))
        ax.set_title(say("mean of {many} seeds ± standard error", many=many))
        legend(ax, loc="lower left")
    return figure


@draws("001-ls-boost", "Theorem 2.1.2: LS-Boost(0.3) converges linearly", promises.ls_boost_bound)
def draw_linear(result: MeasuredBound) -> Any:
    """Bound and measurement of linear convergence, which is a straight line here."""
    return _draw_bounds(result, TERMS[result.name], ITERATION, ("linear", "log"))


@draws("001-fs", "Theorem 2.2.1: FS₁ converges sublinearly", promises.forward_bound)
@draws(
    "001-r-fs",
    "Theorem 2.2.3: R-FS₁ with δ = 200 converges to the Lasso",
    promises.regularized_bound,
)
def draw_sublinear(result: MeasuredBound) -> Any:
    """Bound and measurement of a convergence like 1/k, which is a straight line here.

    Such a theorem speaks of the best of the first k iterations.
    """
    found = "measured, the best up to k"
    return _draw_bounds(result, TERMS[result.name], ITERATION, ("log", "log"), found)


@draws(
    "001-adaboost",
    "Theorem 1.1.5: AdaBoost's training error, and the J(F) above it",
    promises.surrogate,
)
def draw_surrogate(result: MeasuredBound) -> Any:
    """The training error of AdaBoost below J(F), round by round."""
    terms = "share of wrong examples"
    return _draw_bounds(result, terms, "round", ("log", "linear"))


def _draw_bounds(
    result: MeasuredBound,
    terms: str,
    steps: str,
    scales: tuple[str, str],
    found: str = "measured",
) -> Any:
    """What a theorem allows and what was measured; above the bound is shaded."""
    across, scale = scales
    k = np.arange(1, len(result.allowed) + 1)
    with sheet() as (figure, (ax,)):
        allowed = say("allowed by the theorem")
        ax.plot(k, _visible(result.allowed, scale), label=allowed, **look(3))
        ax.plot(k, _visible(result.measured, scale), label=say(found), **look(0))
        ax.fill_between(k, result.allowed, max(1.0, 1.05 * float(result.allowed.max())),
                        color=tint(COLOURS[3], 0.1), linewidth=0)  # fmt: skip
        ax.set(xscale=across, yscale=scale, xlabel=say(steps), ylabel=say(terms))
        if scale == "linear":
            ax.set_ylim(0, 1)
        legend(ax, loc="best")
    return figure


def _visible(values: FloatArray, scale: str) -> FloatArray:
    """Without what a logarithmic axis cannot show, or shows as rounding only."""
    floor = 1e-9 * float(np.max(values)) if scale == "log" else 0.0
    return np.asarray(np.where(values >= floor, values, np.nan))


@draws(
    "001-anyboost",
    "AnyBoost, its convex form, and AdaBoost: the cost H(F) by round",
    promises.abstract,
)
def draw_rounds(result: RoundCosts) -> Any:
    """H(F) against the rounds."""
    with sheet() as (figure, (ax,)):
        for k, (name, losses) in enumerate(result.losses.items()):
            rounds = np.arange(1, len(losses) + 1)
            wide = {"linewidth": 5, "alpha": 0.5} if k == 0 else {}
            ax.plot(rounds, losses, label=say(KINDS.get(name, name)), **look(k), **wide)
        ax.set(xlabel=say("round"), ylabel="H(F)", ylim=(0, 1), xscale="log")
        legend(ax, loc="lower left")
    return figure
