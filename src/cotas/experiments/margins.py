"""Linear classifiers and their margins: the figures of Fuentes Cabrera, and those of λ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.figure import draws, panels
from cotas.experiments.samples import LabelledSample, overlapping_groups, two_groups
from cotas.experiments.sheet import arrow, below, beside, ring, scatter, sides, span_of
from cotas.linear.perceptron import Perceptron
from cotas.linear.svm import LinearSVM
from cotas.plots.style import COLOURS, GREY, INK
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOL = 1e-6
SMALL_AND_LARGE = (0.1, 300.0)
BOX = (-3.2, 3.2, -3.2, 3.2)


@dataclass(frozen=True)
class Halves:
    """A linear classifier and random points; `cosines` of the angles between them and θ."""

    theta: FloatArray
    theta0: float
    data: LabelledSample
    cosines: FloatArray


@dataclass(frozen=True)
class Projection:
    """A point, its foot on the decision boundary, and their distance computed in two ways."""

    theta: FloatArray
    theta0: float
    point: FloatArray
    foot: FloatArray
    distance: float
    signed_distance: float


@dataclass(frozen=True)
class FittedMargin:
    """One support vector machine, in numbers.

    `margin` is 1/‖θ‖, `inside` counts the examples with y(θ·x + θ₀) < 1, `wrong` those on the
    wrong side of the decision boundary, `turned` is the angle in degrees between θ and the line
    between the means of the two classes, and `gap` what the certificate proves.
    """

    lam: float
    theta: FloatArray
    theta0: float
    margin: float
    inside: int
    wrong: int
    support: int
    mean_loss: float
    turned: float
    gap: float
    model: Any


@dataclass(frozen=True)
class SeparatingLine:
    """A hyperplane that separates, and its margin: the distance of the nearest example."""

    theta: FloatArray
    theta0: float
    margin: float


@dataclass(frozen=True)
class MarginExperiment:
    """Support vector machines on the same data, one of which is shown, and other separators."""

    data: LabelledSample
    fits: tuple[FittedMargin, ...]
    shown: int = 0
    others: tuple[SeparatingLine, ...] = ()

    @property
    def fit(self) -> FittedMargin:
        """Return the fit that is shown."""
        return self.fits[self.shown]


def halves(seed: int = 0, n: int = 60, theta0: float = 0.0) -> Halves:
    """Place points on the two sides of θ·x + θ₀ = 0; θ = (−1, 0.6) points to the left, as in the
    text."""
    rng = np.random.default_rng(seed)
    theta = np.array([-1.0, 0.6])
    X = rng.uniform(-3, 3, size=(n, 2))
    # Nothing on the line itself, where the sign is a matter of definition.
    X = X[np.abs(X @ theta + theta0) > 0.25]
    cosines = X @ theta / (np.linalg.norm(X, axis=1) * np.linalg.norm(theta))
    return Halves(
        theta, theta0, LabelledSample(X, np.where(X @ theta + theta0 > 0, 1, -1)), cosines
    )


# The same θ with θ₀ = −1.2 (chosen).
with_bias = partial(halves, theta0=-1.2)


def projection(seed: int = 0) -> Projection:
    """Return a positive point at random, and its orthogonal projection x⁽⁰⁾."""
    rng = np.random.default_rng(seed)
    theta, theta0 = np.array([-1.0, 0.6]), -0.5
    length = float(np.linalg.norm(theta))
    along = np.array([theta[1], -theta[0]]) / length
    on_the_line = -theta0 * theta / length**2 + rng.uniform(-1, 1) * along
    point = on_the_line + rng.uniform(1.2, 2.0) * theta / length
    signed_distance = float(theta @ point + theta0) / length
    foot = point - signed_distance * theta / length
    return Projection(
        theta, theta0, point, foot, float(np.linalg.norm(point - foot)), float(signed_distance)
    )


def fit_margin(data: LabelledSample, lam: float, kind: str = "soft") -> FittedMargin:
    """Train the support vector machine for λ, to a relative gap of 1e-6, and what there is to
    count."""
    X, y = data
    model: Any = LinearSVM(lam=lam, margin=kind, tol=TOL).fit(X, y)
    theta, theta0 = model.coef_[0], float(model.intercept_[0])
    signed_distance = y * (X @ theta + theta0)
    between = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    length = float(np.linalg.norm(theta))
    cosine = theta @ between / (length * np.linalg.norm(between))
    return FittedMargin(
        lam=lam,
        theta=theta,
        theta0=theta0,
        margin=1 / length,
        inside=int((signed_distance < 1 - 1e-3).sum()),
        wrong=int((signed_distance <= 0).sum()),
        support=int(np.ravel(model.n_support_)[0]),
        mean_loss=float(np.maximum(0, 1 - signed_distance).mean()),
        turned=float(np.degrees(np.arccos(np.clip(cosine, -1, 1)))),
        gap=model.certificate_.relative_gap,
        model=model,
    )


def violations(seed: int = 0, n: int = 60) -> MarginExperiment:
    """Make Figure 3.4: two clouds that overlap, λ = 0.05 (chosen), violations marked."""
    data = overlapping_groups(seed, n)
    return MarginExperiment(data, (fit_margin(data, 0.05),))


def small_and_large(seed: int = 0, n: int = 40) -> MarginExperiment:
    """Make Figure 3.5: λ = 0.1 and λ = 300 (chosen) on `two_groups`."""
    data = two_groups(seed, n)
    return MarginExperiment(data, tuple(fit_margin(data, lam) for lam in SMALL_AND_LARGE))


def widest(seed: int = 0, n: int = 40, others: int = 3) -> MarginExperiment:
    """Make Figure 3.6: the hard margin on `two_groups` without a stray example.

    Beside it what the perceptron finds in so many random orders (chosen): all separate, and none
    has a larger margin.
    """
    data = two_groups(seed, n, stray=False)
    found = tuple(_perceptron(data, seed + k) for k in range(others))
    return MarginExperiment(data, (fit_margin(data, 1.0, "hard"),), others=found)


def _perceptron(data: LabelledSample, seed: int) -> SeparatingLine:
    model: Any = Perceptron(max_iter=1000, shuffle=True, random_state=seed).fit(*data)
    theta, theta0 = model.coef_[0], float(model.intercept_[0])
    nearest = float((data.y * (data.X @ theta + theta0)).min() / np.linalg.norm(theta))
    return SeparatingLine(theta, theta0, nearest)


@draws("000-3.1", "A linear classifier without bias", halves)
@draws("000-3.2", "A linear classifier with bias", with_bias)
def draw_halves(result: Halves, ax: Axes) -> None:
    """Draw the boundary, θ as an arrow from it, and the points by their side."""
    theta, theta0 = result.theta, result.theta0
    plane = "θ · x = 0" if theta0 == 0 else "θ · x + θ₀ = 0"
    sides(ax, lambda X: X @ theta + theta0, BOX, (plane, None))
    scatter(ax, result.data)
    foot = -theta0 * theta / (theta @ theta)
    arrow(ax, foot, foot + 1.3 * theta)
    ax.annotate("θ", tuple(foot + 1.3 * theta), (-14, 4), textcoords="offset points", fontsize=16)
    ax.axhline(0, color=INK, linewidth=0.5)
    ax.axvline(0, color=INK, linewidth=0.5)
    facts = say("θ points to the\npositive side")
    if theta0 != 0:
        _line(ax, theta, 0.0, label="θ · x = 0", color=GREY, linestyle="--", linewidth=1.4)
        far = f"{abs(theta0) / float(np.linalg.norm(theta)):.2f}"
        facts += say(
            "\n\nthe bias moves the\nboundary by |θ₀|/‖θ‖\n= {far}, and does not\nturn it", far=far
        )
    ax.set_aspect("equal")
    beside(ax, title=facts + "\n")


@draws("000-3.3", "The orthogonal projection on the boundary", projection)
def draw_projection(result: Projection, ax: Axes) -> None:
    """Draw the point, its foot on the boundary, and the distance between them."""
    theta, theta0, point, foot = result.theta, result.theta0, result.point, result.foot
    sides(ax, lambda X: X @ theta + theta0, BOX, (r"$\hat\theta\cdot x+\hat\theta_0=0$", None))
    ax.plot(*np.array([point, foot]).T, color=INK, linestyle="--", linewidth=1.6,
            label=say("distance"))  # fmt: skip
    ax.plot(*point, "s", color=COLOURS[1], markersize=10, label="$x^{(t)}$, $y^{(t)}=+1$")
    ax.plot(*foot, "o", color=INK, markersize=8, label="$x^{(0)}$")
    ax.annotate("$x^{(t)}$", tuple(point), (-8, 8), textcoords="offset points", ha="right", size=15)
    ax.annotate("$x^{(0)}$", tuple(foot), (10, -12), textcoords="offset points", size=15)
    away = -theta0 * theta / (theta @ theta) - 2.0 * np.array([0.6, 1.0])
    arrow(ax, away, away + 0.8 * theta)
    ax.annotate(r"$\hat\theta$", tuple(away + 0.8 * theta), (-16, 2), textcoords="offset points",
                size=15)  # fmt: skip
    measured = say("measured: {distance:.3f}", distance=result.distance)
    facts = f"{measured}\ny(θ·x + θ₀)/‖θ‖ = {result.signed_distance:.3f}\n"
    ax.set_aspect("equal")
    beside(ax, title=facts)


@draws("000-3.4", "Margins and boundary: ringed examples have a hinge loss", violations)
@draws("000-3.5", "A small λ avoids violations, a large one accepts them", small_and_large)
@panels(lambda result: len(result.fits), sharey=True)
def draw_margins(result: MarginExperiment, *axes: Any) -> None:
    """Draw one panel for each λ: boundary, margins, and the violations ringed."""
    many = len(result.fits)
    for ax, fit in zip(axes, result.fits, strict=True):
        _draw_margin(ax, result.data, fit)
    if many == 1:
        fit = result.fits[0]
        beside(axes[0], title="\n".join(_facts(fit, result.data)) + "\n")
    else:
        for ax, fit in zip(axes, result.fits, strict=True):
            counts = say("{inside} violations, {wrong} wrong", inside=fit.inside, wrong=fit.wrong)
            ax.set_title(f"λ = {fit.lam:g}: 1/‖θ‖ = {fit.margin:.3g}\n{counts}")
        axes[1].set_ylabel("")
        below(axes[1], 3)


def _draw_margin(ax: Axes, data: LabelledSample, fit: FittedMargin) -> None:
    _plane(ax, data, fit)
    scatter(ax, data)
    signed_distance = data.y * (data.X @ fit.theta + fit.theta0)
    ring(ax, data.X[signed_distance < 1 - 1e-3], "inside", say("margin violated"))
    ring(ax, data.X[np.abs(signed_distance - 1) <= 1e-3], "on", say("on the margin"))


def _plane(ax: Axes, data: LabelledSample, fit: FittedMargin) -> None:
    names = say("boundary"), say("margins")
    sides(ax, lambda X: X @ fit.theta + fit.theta0, span_of(data.X, 0.12), names)


def _facts(fit: FittedMargin, data: LabelledSample) -> list[str]:
    """Compute λ, the width of the margin, how many violate it, and how many are on the wrong
    side."""
    many = len(data.y)
    return [
        f"λ = {fit.lam:g}",
        f"1/‖θ‖ = {fit.margin:.3g}",
        say("{inside} of {many} violate the margin", inside=fit.inside, many=many),
        say("{wrong} on the wrong side", wrong=fit.wrong),
    ]


@draws("000-3.6", "The linear separator with the largest margin", widest)
def draw_widest(result: MarginExperiment, ax: Axes) -> None:
    """Draw the separator with the largest margin, and others that the perceptron found."""
    data, fit = result.data, result.fit
    _draw_margin(ax, data, fit)
    for k, other in enumerate(result.others):
        label = say("perceptron: margin")
        line = {"color": COLOURS[2], "linestyle": ("-.", ":", (0, (5, 1)))[k % 3]}
        _line(ax, other.theta, other.theta0, label=f"{label} {other.margin:.3g}", **line,
              linewidth=1.4)  # fmt: skip
    facts = say("largest margin:\n1/‖θ‖ = {margin:.3g}\n", margin=fit.margin)
    beside(ax, title=facts)


def draw_series(result: MarginExperiment, ax: Axes) -> None:
    """Draw one of several λ; examples without influence are pale, other boundaries are thin
    lines."""
    data, fit = result.data, result.fit
    counts = np.zeros(len(data.y), dtype=bool)
    counts[fit.model.support_] = True
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


def _line(ax: Axes, theta: FloatArray, theta0: float, **line_style: Any) -> None:
    """Draw the line θ·x + θ₀ = 0, within the limits of the axes."""
    foot = -theta0 * theta / (theta @ theta)
    along = np.array([-theta[1], theta[0]])
    limits = ax.axis()
    ax.axline(tuple(foot), tuple(foot + along), **line_style)
    ax.axis(limits)
