"""Clasificación lineal: what λ and c = 1/(λn) do to the margin, and to training and test loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.experiments.figure import draws
from cotas.experiments.margins import MarginExperiment, draw_series, fit_margin
from cotas.experiments.samples import (
    LabelledSample,
    noisy_plane,
    overlapping_groups,
    standard_error,
    two_groups,
)
from cotas.experiments.sheet import beside, over, span_of
from cotas.linear.svm import LinearSVM
from cotas.plots.style import COLOURS, INK, PALE, legend, line_style, tint
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAMS = (0.1, 100.0, 1000.0)
VALIDATION_SHARE = 0.25
SPLITS = 10


@dataclass(frozen=True)
class Balance:
    """The two terms of J along tθ, θ being the best for λ; the best t is 1."""

    scale: FloatArray
    loss: FloatArray
    penalty: FloatArray
    margin: float


@dataclass(frozen=True)
class Losses:
    """Mean hinge losses for each c = 1/(λn).

    `validation` has a row for each random split of the training data. `best` is the c* with the
    smallest test loss, `chosen` the ĉ with the smallest mean over the splits, `each` the ĉ of every
    split alone, and `chosen_loss` the test loss at ĉ.
    """

    c: FloatArray
    training: FloatArray
    test: FloatArray
    validation: FloatArray
    best: float
    chosen: float
    each: FloatArray
    chosen_loss: float


@dataclass(frozen=True)
class DescentCurve:
    """Descent on a function of one parameter."""

    theta: FloatArray
    objective: FloatArray
    walked: FloatArray
    walked_objective: FloatArray
    slope: float


@dataclass(frozen=True)
class Surface:
    """Descent and stochastic descent on a function of two parameters."""

    data: LabelledSample
    lam: float
    descent: FloatArray
    stochastic: FloatArray
    best: FloatArray


def series(shown: int = 0, seed: int = 0, n: int = 60) -> MarginExperiment:
    """Train the machines for λ = 0.1, 100 and 1000 on `two_groups`, closer together and none
    astray."""
    data = two_groups(seed, n, gap=8.0, stray=False)
    return MarginExperiment(data, tuple(fit_margin(data, lam) for lam in LAMS), shown)


# λ = 0.1, 100 and 1000.
lam_small, lam_medium, lam_large = (partial(series, shown) for shown in range(3))


def balance(seed: int = 0, n: int = 40) -> Balance:
    """Compute mean hinge loss and (λ/2)‖θ‖² for λ = 100, when θ is made longer or shorter."""
    X, y = data = two_groups(seed, n)
    fit = fit_margin(data, LAMS[1])
    scale = np.linspace(0.05, 3, 200)
    scores = X @ fit.theta + fit.theta0
    loss = np.array([np.maximum(0, 1 - t * y * scores).mean() for t in scale])
    penalty = fit.lam / 2 * float(fit.theta @ fit.theta) * scale**2
    return Balance(scale, loss, penalty, fit.margin)


def losses(seed: int = 0, n: int = 400, n_values: int = 21, splits: int = SPLITS) -> Losses:
    """Compute training and test loss for c from 10⁻³ to 10² (chosen), and ĉ by splits of 75 to 25%.

    The document splits once; a single split of so few examples may choose a ĉ far from c*, so that
    the mean of several decides, and what each would have chosen is kept.
    """
    training, new = noisy_plane(seed, n)
    cs = np.geomspace(1e-3, 1e2, n_values)
    rng = np.random.default_rng(seed)
    on_training, on_test = _losses_along(cs, training, training, new).T
    on_validation = np.array([_on_a_split(cs, training, rng.permutation(n)) for _ in range(splits)])
    chosen = int(np.argmin(on_validation.mean(axis=0)))
    return Losses(
        cs,
        on_training,
        on_test,
        on_validation,
        float(cs[np.argmin(on_test)]),
        float(cs[chosen]),
        cs[on_validation.argmin(axis=1)],
        float(on_test[chosen]),
    )


def _on_a_split(cs: FloatArray, data: LabelledSample, order: IntArray) -> FloatArray:
    """Return the loss for each c on a quarter of the examples, trained on the others."""
    held, kept = np.split(order, [round(VALIDATION_SHARE * len(order))])
    part, rest = (LabelledSample(data.X[rows], data.y[rows]) for rows in (kept, held))
    return np.asarray(_losses_along(cs, part, rest)[:, 0])


def slope(seed: int = 0, n: int = 30, iterations: int = 12) -> DescentCurve:
    """Compute J of one parameter: mean hinge loss of θx plus (λ/2)θ², λ = 0.2, η = 0.8 (chosen)."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    z, lam, eta = y * (y + 0.8 * rng.normal(size=n)), 0.2, 0.8

    def value(theta: float) -> float:
        return float(np.maximum(0, 1 - theta * z).mean() + lam / 2 * theta**2)

    def derivative(theta: float) -> float:
        return float(-(z * (theta * z < 1)).mean() + lam * theta)

    grid, walked = np.linspace(-2, 5, 281), [4.5]
    for _ in range(iterations):
        walked.append(walked[-1] - eta * derivative(walked[-1]))
    return DescentCurve(
        grid,
        np.array([value(t) for t in grid]),
        np.array(walked),
        np.array([value(t) for t in walked]),
        derivative(walked[0]),
    )


def surface(seed: int = 0, n: int = 60, iterations: int = 1000) -> Surface:
    """Compute J of two parameters without bias: θ ← θ − η∇J with η = 0.5, and SGD with η_t =
    1/(1+t).

    λ = 0.5, the step 0.5 and the start (−1.5, 2.5) are chosen.
    """
    X, y = data = overlapping_groups(seed, n)
    lam, start = 0.5, np.array([-1.5, 2.5])
    rng = np.random.default_rng(seed)

    def gradient(theta: FloatArray, rows: IntArray) -> FloatArray:
        violated = y[rows] * (X[rows] @ theta) < 1
        push = (y[rows] * violated)[:, None] * X[rows]
        return np.asarray(lam * theta - push.mean(axis=0))

    everyone = np.arange(n)
    descent, stochastic = [start], [start]
    for t in range(1, iterations + 1):
        descent.append(descent[-1] - 0.5 * gradient(descent[-1], everyone))
        one = rng.integers(n, size=1)
        stochastic.append(stochastic[-1] - gradient(stochastic[-1], one) / (1 + t))
    best = LinearSVM(lam=lam, fit_intercept=False, tol=1e-8).fit(X, y).coef_[0]
    return Surface(data, lam, np.array(descent), np.array(stochastic), best)


def hinge_objective(data: LabelledSample, lam: float, theta: FloatArray) -> FloatArray:
    """Compute J(θ) without bias, for each row of `theta`."""
    margins = data.y[:, None] * (data.X @ theta.T)
    loss = np.maximum(0, 1 - margins).mean(axis=0)
    return np.asarray(loss + lam / 2 * (theta**2).sum(axis=1))


def _losses_along(cs: FloatArray, training: LabelledSample, *others: LabelledSample) -> FloatArray:
    """Return the mean hinge losses of the machine for each c, on each of the other data."""
    found = np.empty((len(cs), len(others)))
    for k, c in enumerate(cs):
        model = LinearSVM(lam=1 / (c * len(training.y)), tol=1e-7).fit(*training)
        for j, (X, y) in enumerate(others):
            found[k, j] = np.maximum(0, 1 - y * model.decision_function(X)).mean()
    return found


@draws("004-objective", "The balance of loss and penalty", balance)
def draw_balance(result: Balance, ax: Axes) -> None:
    """Draw how the loss falls, the penalty grows, and their sum is least at the solution."""
    total = result.loss + result.penalty
    loss = say("mean hinge loss")
    ax.plot(result.scale, result.loss, label=loss, **line_style(0))
    ax.plot(result.scale, result.penalty, label="(λ/2)‖θ‖²", **line_style(1))
    ax.plot(result.scale, total, label=say("J, their sum"), **line_style(2))
    best = int(np.argmin(total))
    ax.plot(result.scale[best], total[best], "o", color=COLOURS[2], markersize=9)
    t, margin = float(result.scale[best]), result.margin
    said = say("least J at t = {t:.2f}:\nmargin {margin:.3g}", t=t, margin=margin)
    lowest = (result.scale[best], total[best])
    ax.annotate(said, lowest, (20, 60),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": INK})  # fmt: skip
    ax.set(
        xlabel=say("t: θ is made t times as long"),
        ylabel="J(tθ, tθ₀)",
        ylim=(0, 1.15 * float(total[0])),
    )
    legend(ax, loc="upper right")


@draws("004-loss", "Training and test loss against c", losses)
def draw_losses(result: Losses, ax: Axes) -> None:
    """Draw training and test loss against c."""
    training, test = say("training"), say("test")
    whole = {"clip_on": False}  # the frame cuts no mark in two
    ax.semilogx(result.c, result.training, label=training, **whole, **line_style(0, points=True))
    ax.semilogx(result.c, result.test, label=test, **whole, **line_style(3, points=True))
    _mark(ax, result.best, f"c* = {result.best:.2g}")
    ax.set(xlabel="c = 1/(λn)", ylabel=say("mean hinge loss"))
    ax.set_ylim(bottom=0)
    legend(ax, loc="upper right")


@draws("004-fitting", "Underfitting and overfitting, and ĉ by validation", losses)
def draw_regimes(result: Losses, ax: Axes) -> None:
    """Draw the two regimes beside c*, and the ĉ that validation parts of the data choose."""
    low, high = float(result.c[0]), float(result.c[-1])
    ax.axvspan(low, result.best, color=tint(COLOURS[5], 0.16), linewidth=0)
    ax.axvspan(result.best, high, color=tint(COLOURS[3], 0.16), linewidth=0)
    ax.semilogx(
        result.c, result.test, label=say("test"), clip_on=False, **line_style(3, points=True)
    )
    many, middle = len(result.validation), result.validation.mean(axis=0)
    error = np.array([standard_error(column) for column in result.validation.T])
    name = say("validation:\nmean ± standard error\nof {many} splits,\n75 to 25%", many=many)
    ax.fill_between(result.c, middle - error, middle + error, color=tint(COLOURS[2], 0.4), zorder=1)
    ax.semilogx(result.c, middle, label=name, **line_style(2))
    _mark(ax, result.best, f"c* = {result.best:.2g}")
    where = ax.get_xaxis_transform()
    ax.plot(result.each, 0.03 + 0.04 * earlier(result.each), "o", color=COLOURS[2],
            markersize=5, transform=where, clip_on=False,
            label=say("ĉ of each split"))  # fmt: skip
    ax.plot(result.chosen, result.chosen_loss, "*", color=INK, markersize=17, zorder=4,
            clip_on=False, label=f"ĉ = {result.chosen:.2g}")  # fmt: skip
    for x, side, text in (
        (low * 1.2, "left", say("underfitting")),
        (high / 1.2, "right", say("overfitting")),
    ):
        ax.text(x, 0.92, text, transform=where, ha=side, fontsize=13, color=INK)
    ax.set(
        xlabel="c = 1/(λn)",
        ylabel=say("mean hinge loss"),
        xlim=(low, high),
        ylim=(0, 1.25 * float(result.test.max())),
    )
    beside(ax)


@draws("004-slope", "Gradient descent with one parameter", slope)
def draw_slope(result: DescentCurve, ax: Axes) -> None:
    """Draw J of one parameter, the tangent at the start, and the steps down."""
    ax.plot(result.theta, result.objective, label="J(θ)", **line_style(0))
    start, value = result.walked[0], result.walked_objective[0]
    near = np.array([start - 1.5, start + 0.5])
    tangent = say("slope ∂J/∂θ at the start")
    ax.plot(near, value + result.slope * (near - start), label=tangent, **line_style(1))
    walked: dict[str, Any] = {
        "color": COLOURS[3],
        "marker": "o",
        "linewidth": 0.8,
        "linestyle": ":",
    }
    label = "θ ← θ − η ∂J/∂θ"
    ax.plot(result.walked, result.walked_objective, label=label, **walked)
    ax.annotate(say("start"), (start, value), (10, -6), textcoords="offset points")
    ax.set(xlabel="θ", ylabel="J(θ)", ylim=(0, 1.1 * float(result.objective.max())))
    legend(ax, loc="upper center")


@draws("004-surface", "Gradient descent with two parameters, and stochastic descent", surface)
def draw_surface(result: Surface, ax: Axes) -> None:
    """Draw J of two parameters: descent goes straight, stochastic descent about it."""
    span = span_of(np.vstack([result.descent, result.stochastic]), 0.15)
    J = over(lambda theta: hinge_objective(result.data, result.lam, theta), span)
    ax.contourf(*J, levels=18, cmap="Blues", alpha=0.55)
    ax.contour(*J, levels=18, colors=PALE, linewidths=0.6)
    sgd = say("stochastic,\nη = 1/(1+t)")
    ax.plot(*result.stochastic.T, color=COLOURS[1], linewidth=1.3, label=sgd)
    path = say("gradient descent,\nη = 0.5")
    ax.plot(*result.descent.T, color=COLOURS[3], marker="o", markersize=4, label=path)
    ax.plot(*result.best, "X", color=INK, markersize=11, label=say("minimum"))
    ax.annotate(say("start"), result.descent[0], (8, 4), textcoords="offset points")
    ax.set(xlabel="θ₁", ylabel="θ₂")
    ax.grid(False)
    beside(ax, title=say("dark: large J\n"))


def earlier(values: FloatArray) -> FloatArray:
    """Tell how many of the values before each are equal to it: equal ones are drawn as a pile."""
    return np.array([float(np.sum(values[:k] == value)) for k, value in enumerate(values)])


def _mark(ax: Axes, x: float, text: str) -> None:
    ax.axvline(x, color=INK, linewidth=1.2, linestyle=":")
    ax.annotate(text, (x, 1.0), (5, -14), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", fontsize=12)  # fmt: skip


# The pictures of three λ, each with the other two as lines.
for _name, _english, _compute in (
    ("004-lambda-0.1", "λ = 0.1: every example on its side", lam_small),
    ("004-lambda-100", "λ = 100: the margins let some examples in", lam_medium),
    ("004-lambda-1000", "λ = 1000: many more points influence the solution", lam_large),
):
    draws(_name, _english, _compute)(draw_series)
