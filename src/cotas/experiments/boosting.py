"""Rugeles Ospina, chapter 1: the algorithms of boosting beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from cotas.arrays import FloatArray
from cotas.boosting.adaboost import AdaBoost, RealAdaBoost
from cotas.boosting.gentleboost import GentleBoost
from cotas.boosting.logitboost import LogitBoost
from cotas.boosting.weak_learners import Tree
from cotas.experiments.figure import draws, panels
from cotas.experiments.samples import (
    LabelledSample,
    Split,
    half_log_odds,
    plus_minus,
    standard_error,
    ten_clouds,
    two_gaussians,
)
from cotas.experiments.sheet import below, beside, scatter, sides, signed, span_of
from cotas.plots.style import COLOURS, GREY, legend, line_style, tint
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGES = (1, 5, 10, 100)
# So many seeds are behind each point of a comparison.
REPEATS = 10
FOREST, THEORY = "Random Forest", "Lemma 1.1.3"
ALGORITHMS: dict[str, Any] = {
    "AdaBoost": AdaBoost,
    "Real AdaBoost": RealAdaBoost,
    "LogitBoost": LogitBoost,
    "GentleBoost": GentleBoost,
}
# All comparisons begin at the same place, in per cent: a coin, for two classes of the same size.
SCALE = 50.0
NAMES = {
    THEORY: "Theory\n(Lemma 1.1.3)",
    "Perceptron": "Perceptron",
    "Averaged perceptron": "Averaged\nperceptron",
    "PA": "Passive-\naggressive",
    "Averaged PA": "Averaged p.-a.",
}


@dataclass(frozen=True)
class Costs:
    """Figure 1.1: e^{−yF} and the log-likelihood, for y = 1 and y = −1, at each F."""

    F: FloatArray
    exponential: dict[int, FloatArray]
    log_likelihood: dict[int, FloatArray]


@dataclass(frozen=True)
class Cloud:
    """Labelled points, and the classifier of Lemma 1.1.3 where it is known."""

    data: LabelledSample
    theory: Any = None


@dataclass(frozen=True)
class Stages:
    """AdaBoost after its first rounds, with the accuracies there."""

    data: LabelledSample
    rounds: tuple[int, ...]
    training: FloatArray
    new: FloatArray
    models: tuple[Any, ...]


@dataclass(frozen=True)
class Accuracies:
    """Accuracies of several classifiers on the training data and on new data, a row for each seed.

    The last of `names` is what the document compares with. `bounds` are what the certificates
    prove about the training error of the boosted ones.
    """

    names: tuple[str, ...]
    training: FloatArray
    new: FloatArray
    bounds: FloatArray

    def of(self, name: str) -> FloatArray:
        """Return the accuracies of one on new data, a number for each seed."""
        return np.asarray(self.new[:, self.names.index(name)])

    def mean(self, name: str) -> float:
        """Average the accuracy on new data over the seeds."""
        return float(self.of(name).mean())


def costs(seed: int = 0) -> Costs:
    """Return both costs for F between −3 and 3 (chosen). `seed` changes nothing.

    The log-likelihood y*·ln p + (1 − y*)·ln(1 − p) with p = 1/(1 + e^{−2F}) is −ln(1 + e^{−2yF}).
    """
    F = np.linspace(-3, 3, 301)
    return Costs(
        F,
        {y: np.exp(-y * F) for y in (1, -1)},
        {y: -np.logaddexp(0.0, -2.0 * y * F) for y in (1, -1)},
    )


def clouds(seed: int = 0, n: int = 1000) -> Cloud:
    """Make Figure 1.2: the ten clouds."""
    return Cloud(ten_clouds(seed, n, n_new=0).training)


def gaussians(seed: int = 0, n: int = 1000) -> Cloud:
    """Make Figure 1.7: the two normal distributions, and F of Lemma 1.1.3."""
    return Cloud(two_gaussians(seed, n, n_new=0).training, half_log_odds)


def stages(seed: int = 0, n: int = 1000) -> Stages:
    """Make Figure 1.3: discrete AdaBoost with stumps on the ten clouds, after 1, 5, 10, 100
    rounds."""
    data = ten_clouds(seed, n)
    model = AdaBoost("stump", n_estimators=max(STAGES), n_jobs=1).fit(*data.training)
    models = tuple(model[:k] for k in STAGES)
    training = np.array([m.score(*data.training) for m in models])
    new = np.array([m.score(*data.new) for m in models])
    return Stages(data.training, STAGES, training, new, models)


def _compared(
    draw: Callable[..., Split],
    weak_learner: Any,
    regressor: Any = None,
    theory: bool = False,
    **sizes: int,
) -> Callable[..., Accuracies]:
    """Return a function of the seed that compares the algorithms on data that are drawn so."""

    def compute(
        seed: int = 0, n: int = 1000, n_estimators: int = 100, repeats: int = REPEATS, **more: int
    ) -> Accuracies:
        def one(k: int) -> Accuracies:
            data = draw(k, n, **{**sizes, **more})
            return compare(data, weak_learner, n_estimators, regressor, theory, seed=k)

        return repeated(one, seed, repeats)

    return compute


# Linear regressions for LogitBoost and GentleBoost, stumps for the others; trees of depth 1 for
# all, and of depth 3; stumps on the two normal distributions, beside the theoretical classifier.
with_regressions = _compared(ten_clouds, "stump", regressor="linear")
with_stumps = _compared(ten_clouds, "stump")
with_trees = _compared(ten_clouds, Tree(depth=3))
against_theory = _compared(two_gaussians, "stump", theory=True, n_new=20_000)
# Figures 1.9 and 1.10 carry the same caption. As the section has two kinds of data, the first is
# taken for the ten clouds, with the Random Forest, and the second for the normal distributions.
clouds_in_100 = _compared(ten_clouds, Tree(depth=3), dimension=100)
gaussians_in_100 = _compared(two_gaussians, Tree(depth=3), theory=True, dimension=100)


def repeated(one: Callable[[int], Accuracies], seed: int, repeats: int) -> Accuracies:
    """Return the comparison for `seed` and those after it: a single one shows nothing."""
    return stacked([one(seed + k) for k in range(repeats)])


def stacked(runs: Sequence[Accuracies]) -> Accuracies:
    """Join comparisons of the same classifiers into one."""
    return Accuracies(
        runs[0].names,
        np.vstack([run.training for run in runs]),
        np.vstack([run.new for run in runs]),
        np.vstack([run.bounds for run in runs]),
    )


def compare(
    data: Split,
    weak_learner: Any,
    n_estimators: int,
    regressor: Any = None,
    theory: bool = False,
    seed: int = 0,
) -> Accuracies:
    """Fit the four algorithms and the reference: a Random Forest of 100 trees, or the theory.

    The number of rounds of the comparisons is not stated; 100 is that of Figure 1.3. `regressor`
    is the weak learner of the two algorithms that fit regressions, if it is another.
    """
    training, new, bounds = [], [], []
    for name, algorithm in ALGORITHMS.items():
        regresses = name in ("LogitBoost", "GentleBoost")
        weak = regressor if regressor is not None and regresses else weak_learner
        model = algorithm(weak, n_estimators=n_estimators, n_jobs=1).fit(*data.training)
        training.append(model.score(*data.training))
        new.append(model.score(*data.new))
        bounds.append(model.certificate_.upper)
    reference: Any = _Theory() if theory else RandomForestClassifier(100, random_state=seed)
    reference.fit(*data.training)
    training.append(reference.score(*data.training))
    new.append(reference.score(*data.new))
    names = (*ALGORITHMS, THEORY if theory else FOREST)
    return Accuracies(names, np.array([training]), np.array([new]), np.array([bounds]))


class _Theory:
    """The sign of the F of Lemma 1.1.3, with the face of a classifier."""

    def fit(self, X: FloatArray, y: Any) -> None:
        """Learn nothing: the distributions are known."""

    def score(self, X: FloatArray, y: Any) -> float:
        return float(np.mean(np.where(half_log_odds(X) > 0, 1, -1) == y))


@draws("001-1.1", "The two costs as functions of F(x)", costs)
@panels(2)
def draw_costs(result: Costs, *axes: Any) -> None:
    """Draw both costs against F, for each class."""
    panels = (
        (result.exponential, "$e^{-yF(x)}$", say("to be minimized")),
        (result.log_likelihood, "$L(y^*; p(x))$", say("to be maximized")),
    )
    for ax, (values, name, what) in zip(axes, panels, strict=True):
        for k, y in enumerate((-1, 1)):
            ax.plot(result.F, values[y], label=signed(y), **line_style(k))
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.set(xlabel="F(x)", ylabel=name, title=what)
    legend(axes[0], loc="upper center")
    legend(axes[1], loc="lower center")


@draws("001-1.2", "Ten clouds of points, five for each class, 1000 in all", clouds)
@draws("001-1.7", "Two normal distributions and the theoretical boundary", gaussians)
def draw_cloud(result: Cloud, ax: Axes) -> None:
    """Draw the points; and the boundary of the theoretical classifier where it is known."""
    X = result.data.X
    if result.theory is not None:
        boundary = say("Lemma 1.1.3:\nF(x) = 0")
        sides(ax, result.theory, span_of(X), (boundary, None))
    scatter(ax, result.data, size=16)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    beside(ax, title=say("{many} points\n", many=len(X)))


@draws("001-1.3", "Discrete AdaBoost with stumps after 1, 5, 10 and 100 models", stages)
@panels(2, 2, sharex=True, sharey=True)
def draw_stages(result: Stages, *axes: Any) -> None:
    """Draw what AdaBoost decides after its first rounds."""
    span = span_of(result.data.X)
    for k, ax in enumerate(axes):
        sides(ax, result.models[k].decision_function, span)
        scatter(ax, result.data, size=7)
        m, correct = result.rounds[k], 100 * result.training[k]
        many = say("model" if m == 1 else "models")
        share = say("{correct:.1f}% right", correct=correct)
        ax.set_title(f"{m} {many}: {share}")
        ax.label_outer()
    below(axes[0], 2)


@draws(
    "001-1.4",
    "LogitBoost and GentleBoost with regressions, the others with stumps",
    with_regressions,
)
@draws("001-1.5", "Trees of depth 1 for all the algorithms", with_stumps)
@draws("001-1.6", "Trees of depth 3 for all the algorithms", with_trees)
@draws("001-1.8", "Trees of depth 1 on two normal distributions, and the theory", against_theory)
@draws("001-1.9", "Trees of depth 3 in dimension 100, on ten clouds", clouds_in_100)
@draws(
    "001-1.10", "Trees of depth 3 in dimension 100, on two normal distributions", gaussians_in_100
)
def draw_comparison(result: Accuracies, ax: Axes, scale: float = SCALE) -> None:
    """Draw accuracies as points, with their standard errors; every seed is a thin stroke.

    `scale` is where the axis begins, in per cent.
    """
    seeds, count = result.new.shape
    series = (
        (result.training, say("training"), 0.2, "white"),
        (result.new, say("new data"), -0.2, None),
    )
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
        ax.plot([], [], "o", color=GREY, markerfacecolor=fill or GREY, markersize=8, label=label)
    ax.plot([], [], "|", color=GREY, markersize=11, label=say("one seed"))
    low = float(min(result.training.min(), result.new.min()))
    ax.set_yticks(-np.arange(count), [say(NAMES.get(name, name)) for name in result.names])
    ax.set_xlim(min(scale, 10 * np.floor(10 * low)), 100.5)
    ax.set_ylim(0.6 - count, 0.6)
    ax.set_xlabel(say("accuracy [%]: mean of {seeds} seeds ± standard error", seeds=seeds))
    ax.grid(visible=False, axis="y")
    below(ax, 3)
