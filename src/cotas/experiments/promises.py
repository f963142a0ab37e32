"""Algorithms and theorems that the documents state without a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.boosting.adaboost import AdaBoost
from cotas.boosting.anyboost import AnyBoost, ConvexAnyBoost
from cotas.experiments.boosting import REPEATS, Accuracies, draw_comparison, repeated
from cotas.experiments.descent import quietly
from cotas.experiments.figure import draws
from cotas.experiments.generalization import hinge_objective
from cotas.experiments.kernel_machines import LAM
from cotas.experiments.samples import (
    LabelledSample,
    noisy_line,
    overlapping_groups,
    standard_error,
    two_gaussians,
    two_moons,
    with_margin,
)
from cotas.experiments.stagewise import DELTA, data_of
from cotas.kernel.pegasos import KernelPegasos
from cotas.kernel.svm import KernelSVM
from cotas.kernels import RBF
from cotas.linear.passive_aggressive import PassiveAggressive
from cotas.linear.pegasos import Pegasos
from cotas.linear.perceptron import AveragedPerceptron, Perceptron
from cotas.linear.svm import LinearSVM
from cotas.plots.style import COLOURS, INK, MARKERS, legend, line_style, tint
from cotas.regression.ls_boost import LSBoost
from cotas.regression.ridge import Ridge
from cotas.regression.stagewise import ForwardStagewise, RegularizedForwardStagewise
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGINS = (0.32, 0.16, 0.08, 0.04, 0.02)
# Theorems on sublinear rates speak of the best of the first k iterations.
BEST_SO_FAR = "measured, the best up to k"
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200)
STEPS = {"1/(lam*t)": "η = 1/(λt)", "1/t": "η = 1/t"}
KINDS = {
    "convex AnyBoost": "convex AnyBoost",
    "Algorithm 7": "Algorithm 7, convex",
    "η = 1/t": "η = 1/t, as printed",
    "η = 1/(λt), mean of θ": "η = 1/(λt), mean of θ",
    "PEGASOS": "kernelized PEGASOS",
}


@dataclass(frozen=True)
class Mistakes:
    """Mistakes of the perceptron and what Theorem 3.1 allows: a row a seed, a column a margin."""

    made: IntArray
    allowed: FloatArray


@dataclass(frozen=True)
class Descents:
    """Descents: J minus its minimum, as a share of it, after some epochs, for several ways to
    descend."""

    epochs: FloatArray
    suboptimality: dict[str, FloatArray]


@dataclass(frozen=True)
class Risks:
    """Mean squared errors of ridge regression for each λ, a row for each seed.

    `stochastic` is how far the coefficients of stochastic descent (Algorithm 7) are from those of
    the closed form, as a share of their length.
    """

    lams: FloatArray
    training: FloatArray
    new: FloatArray
    stochastic: FloatArray


@dataclass(frozen=True)
class MeasuredBound:
    """A bound that a theorem allows beside what was measured at each iteration, for one of its
    items.

    `terms` are what is measured, as the picture has it; `scales` are those of its two axes, on
    which the rate of the theorem is a straight line.
    """

    terms: str
    allowed: FloatArray
    measured: FloatArray
    scales: tuple[str, str]
    found: str = "measured"
    steps: str = "iteration k"


@dataclass(frozen=True)
class RoundCosts:
    """Costs H(F) after each round of boosting, by algorithm."""

    losses: dict[str, FloatArray]


def mistakes(seed: int = 0, n: int = 300, dimension: int = 20, repeats: int = REPEATS) -> Mistakes:
    """Measure Theorem 3.1: mistakes against (R/γ)², for γ from 0.32 to 0.02 and R = 1 (chosen).

    Algorithm 1, without bias, over the examples until there is no mistake; γ is the largest margin
    there is, which the hard-margin machine finds.
    """
    runs = [
        [_run(with_margin(seed + k, n, gamma, dimension)) for gamma in MARGINS]
        for k in range(repeats)
    ]
    made, allowed = np.moveaxis(np.array(runs, dtype=np.float64), 2, 0)
    return Mistakes(made.astype(np.int64), allowed)


def _run(data: LabelledSample) -> tuple[float, float]:
    model: Any = Perceptron(fit_intercept=False, max_iter=100_000, certify=False).fit(*data)
    widest: Any = LinearSVM(lam=1.0, margin="hard", fit_intercept=False).fit(*data)
    radius = float(np.linalg.norm(data.X, axis=1).max())
    length = float(np.linalg.norm(widest.coef_[0]))
    return float(model.mistakes_per_epoch_.sum()), (radius * length) ** 2


def averages(seed: int = 0, n: int = 100, epochs: int = 5, repeats: int = REPEATS) -> Accuracies:
    """Compare Algorithms 1, 3 and 4 on classes that overlap: the last θ and the mean of all of
    them.

    Chosen: 100 examples of `overlapping_groups`, five epochs, λ = 0.1 for the passive-aggressive
    algorithm, and beside them the support vector machine with λ = 0.01.
    """
    return repeated(lambda k: _last_and_mean(k, n, epochs), seed, repeats)


def _last_and_mean(seed: int, n: int, epochs: int) -> Accuracies:
    training, new = overlapping_groups(seed, n), overlapping_groups(seed + 10_000, 5000)
    shared: dict[str, Any] = {"max_iter": epochs, "random_state": seed, "certify": False}
    models: dict[str, Any] = {
        "Perceptron": Perceptron(shuffle=True, **shared),
        "Averaged perceptron": AveragedPerceptron(shuffle=True, **shared),
        "PA": PassiveAggressive(lam=0.1, **shared),
        "Averaged PA": PassiveAggressive(lam=0.1, average=True, **shared),
        "SVM": LinearSVM(lam=0.01),
    }
    scores = []
    for model in models.values():
        quietly(model, *training)
        scores.append([model.score(*training), model.score(*new)])
    accuracies = np.array(scores).T
    return Accuracies(tuple(models), accuracies[:1], accuracies[1:], np.zeros((1, 0)))


def subgradient(seed: int = 0, n: int = 200, lam: float = 0.05) -> Descents:
    """Run Algorithm 5, PEGASOS: J against the epochs, with η = 1/(λt) and as printed with η = 1/t.

    Without bias, on `overlapping_groups`; the third is the mean of all θ with η = 1/(λt).
    """
    data = overlapping_groups(seed, n)
    best = LinearSVM(lam=lam, fit_intercept=False, tol=1e-9).fit(*data).certificate_.lower
    kinds: list[tuple[str, dict[str, Any]]] = [
        (label, {"step": step}) for step, label in STEPS.items()
    ]
    kinds.append(("η = 1/(λt), mean of θ", {"step": "1/(lam*t)", "average": True}))
    found = {}
    for label, kind in kinds:
        thetas = [
            quietly(
                Pegasos(lam=lam, max_iter=k, fit_intercept=False, random_state=seed, **kind), *data
            ).coef_[0]
            for k in EPOCHS
        ]
        found[label] = hinge_objective(data, lam, np.array(thetas)) / best - 1
    return Descents(np.array(EPOCHS, dtype=np.float64), found)


def kernelized(seed: int = 0, n: int = 120) -> Descents:
    """Compare kernelized PEGASOS (Fuentes-Pineda) with SMO, which solves pairs exactly, on two
    moons."""
    data = two_moons(seed, n)
    kernel = RBF(0.5)
    records: list[Any] = []
    smo: Any = KernelSVM(kernel=kernel, lam=LAM, tol=1e-8, solver="smo-simple",
                         callbacks=records.append)  # fmt: skip
    best = smo.fit(*data).certificate_.lower
    online = [
        quietly(KernelPegasos(kernel=kernel, lam=LAM, max_iter=k, random_state=seed), *data)
        for k in EPOCHS
    ]
    pairs = np.array([record.certificate.upper for record in records])
    at = np.minimum(EPOCHS, len(pairs)) - 1
    found = {
        "SMO": np.minimum.accumulate(pairs)[at] / best - 1,
        "PEGASOS": np.array([model.certificate_.upper for model in online]) / best - 1,
    }
    return Descents(np.array(EPOCHS, dtype=np.float64), found)


def ridge(
    seed: int = 0, n: int = 40, dimension: int = 20, n_values: int = 13, repeats: int = REPEATS
) -> Risks:
    """Measure Section 4.2 and Algorithm 7: training and test error of ridge regression against
    λ."""
    lams = np.geomspace(1e-3, 1e1, n_values)
    runs = [[_risk(seed + k, n, dimension, float(lam)) for lam in lams] for k in range(repeats)]
    training, new, off = np.moveaxis(np.array(runs), 2, 0)
    return Risks(lams, training, new, off)


def _risk(seed: int, n: int, dimension: int, lam: float) -> tuple[float, float, float]:
    (X, y), (X_new, y_new) = noisy_line(seed, n, dimension)
    exact: Any = Ridge(lam=lam, fit_intercept=False).fit(X, y)
    walked = Ridge(lam=lam, fit_intercept=False, solver="stochastic", random_state=seed)
    coef = quietly(walked, X, y).coef_
    off = np.linalg.norm(coef - exact.coef_) / np.linalg.norm(exact.coef_)
    errors = [float(((t - exact.predict(Z)) ** 2).mean()) for Z, t in ((X, y), (X_new, y_new))]
    return errors[0], errors[1], float(off)


def ls_boost_bound(seed: int = 0, iterations: int = 400) -> MeasuredBound:
    """Measure Theorem 2.1.2, item 1: L(βᵏ) − L* of LS-Boost(0.3) against (L(0) − L*)γᵏ."""
    bounds = _bounds(LSBoost(eps=0.3, max_iter=iterations), seed, "training error")
    return MeasuredBound("L(βᵏ) − L*", *bounds, ("linear", "log"))


def forward_bound(seed: int = 0, iterations: int = 2000) -> MeasuredBound:
    """Measure Theorem 2.2.1, item 4: the largest correlation of FS₁ with the residual."""
    bounds = _bounds(ForwardStagewise(eps=1.0, max_iter=iterations), seed, "correlation")
    return MeasuredBound("largest correlation ‖Xᵀr‖∞", *bounds, ("log", "log"), BEST_SO_FAR)


def regularized_bound(seed: int = 0, iterations: int = 1000) -> MeasuredBound:
    """Measure Theorem 2.2.3, item 1: L(βᵏ) − L* of R-FS₁ with δ = 200."""
    model = RegularizedForwardStagewise(eps=1.0, delta=DELTA, max_iter=iterations)
    bounds = _bounds(model, seed, "training error")
    return MeasuredBound("L(βᵏ) − L*", *bounds, ("log", "log"), BEST_SO_FAR)


def _bounds(model: Any, seed: int, item: str) -> tuple[FloatArray, FloatArray]:
    data = data_of(10, seed)
    proof = model.fit(data.X, data.y).certificate_.proof
    row = proof.names.index(item)
    return proof.bounds[row, 1:], proof.measured[row, 1:]


def abstract(seed: int = 0, n: int = 1000, n_estimators: int = 100) -> RoundCosts:
    """Run Algorithms 5 to 7: H(F) of AnyBoost, its convex form and the example, beside AdaBoost."""
    data = two_gaussians(seed, n, n_new=0).training
    kinds: dict[str, Any] = {
        "AnyBoost": AnyBoost("stump", n_estimators=n_estimators),
        "convex AnyBoost": ConvexAnyBoost("stump", n_estimators=n_estimators),
        "Algorithm 7": ConvexAnyBoost("stump", n_estimators=n_estimators, step="closed-form"),
        "AdaBoost": AdaBoost("stump", n_estimators=n_estimators),
    }
    found = {}
    for name, model in kinds.items():
        scores = quietly(model, *data).staged_decision_function(data.X)
        found[name] = np.array([np.exp(-data.y * np.ravel(F)).mean() for F in scores])
    return RoundCosts(found)


def surrogate(seed: int = 0, n: int = 1000, n_estimators: int = 100) -> MeasuredBound:
    """Measure Theorem 1.1.5: AdaBoost's training error against J(F) = Π 2√(err(1 − err))."""
    data = two_gaussians(seed, n, n_new=0).training
    model: Any = AdaBoost("stump", n_estimators=n_estimators, n_jobs=1).fit(*data)
    errors = np.ravel(model.round_errors_)
    allowed = np.cumprod(2 * np.sqrt(errors * (1 - errors)))
    measured = np.array([1 - score for score in model.staged_score(*data)])
    scales = ("log", "linear")
    return MeasuredBound("share of wrong examples", allowed, measured, scales, steps="round")


@draws("000-perceptron", "Theorem 3.1: mistakes that the perceptron makes, and may make", mistakes)
def draw_mistakes(result: Mistakes, ax: Axes) -> None:
    """Draw mistakes against the bound: nothing may lie above the diagonal."""
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


@draws("000-pegasos", "PEGASOS: how far J is above its minimum", subgradient)
@draws("002-smo", "SMO and kernelized PEGASOS: how far J is above its minimum", kernelized)
def draw_descents(result: Descents, ax: Axes) -> None:
    """Draw the excess over the minimum against the epochs."""
    for k, (name, suboptimality) in enumerate(result.suboptimality.items()):
        label = say(KINDS.get(name, name))
        ax.loglog(
            result.epochs,
            np.maximum(suboptimality, 1e-9),
            label=label,
            **line_style(k, points=True),
        )
    ax.set(xlabel=say("epochs"), ylabel="(J − J*)/J*")
    ax.set_ylim(bottom=max(1e-8, ax.get_ylim()[0]))
    legend(ax, loc="best")


@draws("000-ridge", "Ridge regression: training and test error against λ", ridge)
def draw_risks(result: Risks, ax: Axes) -> None:
    """Draw training and test error against λ, with their standard errors over the seeds."""
    series = ((result.training, say("training error"), 0), (result.new, say("test error"), 3))
    for values, label, k in series:
        error = np.array([standard_error(column) for column in values.T])
        ax.errorbar(result.lams, values.mean(axis=0), error, label=label, capsize=3,
                    **line_style(k, points=True))  # fmt: skip
    best = float(result.lams[result.new.mean(axis=0).argmin()])
    ax.axvline(best, color=INK, linestyle=":", linewidth=1.2)
    ax.annotate(say("best λ = {best:.2g}", best=best), (best, 0.0), (6, 8),
                xycoords=ax.get_xaxis_transform(), textcoords="offset points")  # fmt: skip
    many = len(result.new)
    ax.set(xscale="log", xlabel="λ", ylim=(0, None))
    ax.set_ylabel(say("mean squared error"))
    ax.set_title(say("mean of {many} seeds ± standard error", many=many))
    legend(ax, loc="lower left")


@draws("001-ls-boost", "Theorem 2.1.2: LS-Boost(0.3) converges linearly", ls_boost_bound)
@draws("001-fs", "Theorem 2.2.1: FS₁ converges sublinearly", forward_bound)
@draws("001-r-fs", "Theorem 2.2.3: R-FS₁ with δ = 200 converges to the Lasso", regularized_bound)
@draws("001-adaboost", "Theorem 1.1.5: AdaBoost's training error, and the J(F) above it", surrogate)
def draw_bounds(result: MeasuredBound, ax: Axes) -> None:
    """Draw what a theorem allows and what was measured; above the bound is shaded."""
    across, scale = result.scales
    k = np.arange(1, len(result.allowed) + 1)
    allowed = say("allowed by the theorem")
    ax.plot(k, _visible(result.allowed, scale), label=allowed, **line_style(3))
    ax.plot(k, _visible(result.measured, scale), label=say(result.found), **line_style(0))
    ax.fill_between(k, result.allowed, max(1.0, 1.05 * float(result.allowed.max())),
                    color=tint(COLOURS[3], 0.1), linewidth=0)  # fmt: skip
    ax.set(xscale=across, yscale=scale, xlabel=say(result.steps), ylabel=say(result.terms))
    if scale == "linear":
        ax.set_ylim(0, 1)
    legend(ax, loc="best")


def _visible(values: FloatArray, scale: str) -> FloatArray:
    """Leave out what a logarithmic axis cannot show, or shows as rounding only."""
    floor = 1e-9 * float(np.max(values)) if scale == "log" else 0.0
    return np.asarray(np.where(values >= floor, values, np.nan))


@draws("001-anyboost", "AnyBoost, its convex form, and AdaBoost: the cost H(F) by round", abstract)
def draw_rounds(result: RoundCosts, ax: Axes) -> None:
    """Draw H(F) against the rounds."""
    for k, (name, losses) in enumerate(result.losses.items()):
        rounds = np.arange(1, len(losses) + 1)
        wide: dict[str, Any] = {"linewidth": 5, "alpha": 0.5} if k == 0 else {}
        ax.plot(rounds, losses, label=say(KINDS.get(name, name)), **line_style(k), **wide)
    ax.set(xlabel=say("round"), ylabel="H(F)", ylim=(0, 1), xscale="log")
    legend(ax, loc="lower left")


@draws("000-averaged", "The last θ and the mean of all, on classes that overlap", averages)
def draw_averages(result: Accuracies, ax: Axes) -> None:
    """Draw the same for online algorithms, which lie closer together."""
    draw_comparison(result, ax, 80.0)
