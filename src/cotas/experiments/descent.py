"""Moreno Chávez: gradient descent on the table of houses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cotas import stops
from cotas.arrays import FloatArray
from cotas.datasets import houses
from cotas.experiments.figure import draws, panels
from cotas.experiments.samples import spaced
from cotas.experiments.sheet import below, over, span_of
from cotas.plots.style import COLOURS, GREY, INK, PALE, legend, line_style, tint
from cotas.regression.least_squares import LeastSquares
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Multiples of 1/L, L being the largest curvature: beyond 1 every step goes too far, and beyond 2
# each goes farther than the one before.
STEPS = (0.05, 0.5, 1.9, 2.1)
START = (300.0, 0.0)
# What the four rates of Figure 003-step do.
EFFECTS = ("too small", "just right", "large: oscillates", "too large: diverges")


@dataclass(frozen=True)
class Houses:
    """Area and price, and the line by descent and in closed form: (θ₁, θ₀)."""

    area: FloatArray
    price: FloatArray
    by_descent: tuple[float, float]
    closed_form: tuple[float, float]
    iterations: int


@dataclass(frozen=True)
class Walk:
    """One descent: J minus its minimum, and the parameters (θ₀, θ₁, …), at each iteration."""

    name: str
    suboptimality: FloatArray
    theta: FloatArray


@dataclass(frozen=True)
class Walks:
    """Several descents on the same J."""

    walks: tuple[Walk, ...]
    rows: FloatArray
    target: FloatArray
    best: FloatArray

    def J(self, theta: FloatArray) -> FloatArray:
        """Compute J/m for each row (θ₀, θ₁, …) of `theta`."""
        return objective(self.rows, self.target, theta)


@dataclass(frozen=True)
class Normalization:
    """The same descent on the raw and the normalized area.

    `conditions` are the condition numbers of the two Hessians; `left` is the share of J − J* that
    is left after `steps`, a row for each; `iterations` tells when a ten-thousandth is.
    """

    raw: Walks
    normalized: Walks
    conditions: tuple[float, ...]
    steps: FloatArray
    left: FloatArray
    iterations: tuple[int, ...]


def line(seed: int = 0) -> Houses:
    """Fit the price as a function of the area. Nothing is drawn at random: `seed` changes
    nothing."""
    area, price = _area()
    rule = stops.ChangeOfJ(1e-9) | stops.MaxIterations(10_000)
    walked = LeastSquares(solver="gradient", standardize=True, stop=rule).fit(area, price)
    exact = LeastSquares().fit(area, price)
    by_descent, closed_form = (
        (float(model.coef_[0]), float(model.intercept_)) for model in (walked, exact)
    )
    return Houses(area[:, 0], price, by_descent, closed_form, walked.n_iter_)


def step_sizes(seed: int = 0, iterations: int = 10) -> Walks:
    """Run batch descent with α too small, right, too large and far too large.

    On the normalized area, from θ⁽⁰⁾ = (mean price, 0), so that only θ₁ has to move. The numbers
    are chosen: 0.05, 0.5, 1.9 and 2.1 times 1/L.
    """
    area, price = _area()
    kinds = {f"α = {s:g}/L": _batch(_normalized(area), s, iterations) for s in STEPS}
    return _walks(_normalized(area), price, kinds, (float(price.mean()), 0.0))


def crossings(walk: Walk, best: FloatArray) -> int:
    """Tell how many steps led θ₁ from one side of the minimum to the other."""
    side = np.sign(walk.theta[:, 1] - best[1])
    return int((side[1:] * side[:-1] < 0).sum())


def normalization(seed: int = 0, iterations: int = 300) -> Normalization:
    """Run descent with α = 1/L, area in square metres and normalized.

    Both start from the same line, price = 300 (chosen).
    """
    area, price = _area()
    pair = [
        _walks(rows, price, {"α = 1/L": _batch(rows, 1.0, iterations)}, START)
        for rows in (area, _normalized(area))
    ]
    curvatures = [np.linalg.eigvalsh(_hessian(p.rows)) for p in pair]
    left = [_left(p.rows, p.best) for p in pair]
    needed = [_needed(share) for share in left]
    steps = np.unique(np.append(0.0, np.geomspace(1, 2 * max(needed), 200).round()))
    shares = np.array([[share(int(k)) for k in steps] for share in left])
    conditions = tuple(float(found[-1] / found[0]) for found in curvatures)
    return Normalization(pair[0], pair[1], conditions, steps, shares, tuple(needed))


def batches(seed: int = 0, epochs: int = 40) -> Walks:
    """Run batch, stochastic and mini-batch descent on the normalized area; an entry an epoch.

    Chosen: step 0.15 for all, mini-batches of 4 of the 11 houses, with and without replacement.
    """
    area, price = _area()
    shared = {"step": 0.15, "random_state": seed, "stop": stops.MaxIterations(epochs)}
    mini = {"solver": "stochastic", "batch_size": 4, **shared}
    kinds = {
        "batch": {"solver": "gradient", **shared},
        "stochastic": {"solver": "stochastic", "batch_size": 1, **shared},
        "mini-batch": mini,
        "mini-batch, replacement": {**mini, "replacement": True},
    }
    return _walks(_normalized(area), price, kinds)


def soonest(seed: int = 0, epochs: int = 2) -> tuple[float, float]:
    """Compute the share of J − J* left after some epochs on all three columns: stochastic, and
    batch.

    Batch descent has the best of the rates 0.05, 0.10, … for this very run, stochastic descent
    always 0.1 (chosen): a rate that suits one of the two does not suit the other.
    """
    X, price = houses()
    rows = _normalized(X)
    limit = 2 / float(np.linalg.eigvalsh(_hessian(rows))[-1])
    shared = {"random_state": seed, "stop": stops.MaxIterations(epochs)}
    kinds = {
        f"{step:g}": {"solver": "gradient", "step": step, **shared}
        for step in np.arange(0.05, limit, 0.05)
    }
    kinds["stochastic"] = {"solver": "stochastic", "step": 0.1, **shared}
    left = [
        float(w.suboptimality[-1] / w.suboptimality[0]) for w in _walks(rows, price, kinds).walks
    ]
    return left[-1], min(left[:-1])


# ---- how a descent is run ------------------------------------------------------------------------


def _area() -> tuple[FloatArray, FloatArray]:
    """Return the area of the houses, and the price."""
    X, price = houses()
    return X[:, :1], price


def _normalized(X: FloatArray) -> FloatArray:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _extended(rows: FloatArray) -> FloatArray:
    """Add x₀ = 1, the convention of the document."""
    return np.column_stack([np.ones(len(rows)), rows])


def _hessian(rows: FloatArray) -> FloatArray:
    X = _extended(rows)
    return np.asarray(X.T @ X / len(X))


def objective(rows: FloatArray, y: FloatArray, theta: FloatArray) -> FloatArray:
    """Compute J/m for each row (θ₀, θ₁, …) of `theta`."""
    residuals = _extended(rows) @ np.atleast_2d(theta).T - y[:, None]
    return np.asarray((residuals**2).mean(axis=0) / 2)


def _batch(rows: FloatArray, share: float, iterations: int) -> dict[str, Any]:
    """Run batch descent by so many times 1/L."""
    step = share / float(np.linalg.eigvalsh(_hessian(rows))[-1])
    return {"solver": "gradient", "step": step, "stop": stops.MaxIterations(iterations)}


def _walks(
    rows: FloatArray,
    y: FloatArray,
    kinds: dict[str, dict[str, Any]],
    start: tuple[float, ...] | None = None,
) -> Walks:
    """Run descents from θ⁽⁰⁾ = (θ₀, θ), or from zero: for each name, how `LeastSquares` is made."""
    exact = LeastSquares().fit(rows, y)
    best = np.append(exact.intercept_, exact.coef_)
    first = np.zeros(rows.shape[1] + 1) if start is None else np.array(start)
    walks = []
    for name, kind in kinds.items():
        past = quietly(LeastSquares(start=(first[1:], first[0]), **kind), rows, y).history_
        theta = np.vstack([first, np.column_stack([past["intercept"], past["theta"]])])
        suboptimality = objective(rows, y, theta) - objective(rows, y, best)
        walks.append(Walk(name, np.maximum(suboptimality, 0.0), theta))
    return Walks(tuple(walks), rows, y, best)


def quietly(model: Any, *data: Any) -> Any:
    """Fit a model that is stopped before it has converged, as these are meant to be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


def _left(rows: FloatArray, best: FloatArray) -> Callable[[int], float]:
    """Return the share of J − J* that k steps of 1/L from START leave, as a function of k.

    By the closed form: step k leaves (1 − λ/L)ᵏ of the error along each eigenvector, so
    J − J* = ½ Σ λ (1 − λ/L)²ᵏ e², which falls with k.
    """
    curvature, directions = np.linalg.eigh(_hessian(rows))
    weights = curvature * (directions.T @ (np.array(START) - best)) ** 2
    kept = np.maximum(0.0, 1 - curvature / curvature[-1])
    return lambda k: float((weights * kept ** (2 * k)).sum() / weights.sum())


def _needed(share: Callable[[int], float]) -> int:
    """Return the first k that leaves a ten-thousandth."""
    low, high = 0, 1
    while share(high) > 1e-4:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) <= 1e-4 else (middle, high)
    return high


@draws("003-houses", "Price against area, and the line of least squares", line)
def draw_houses(result: Houses, ax: Axes) -> None:
    """Draw the table as points, and the line that descent and the closed form agree on."""
    ends = np.array([0.9 * result.area.min(), 1.05 * result.area.max()])
    lines: tuple[tuple[tuple[float, float], dict[str, Any]], ...] = (
        (result.closed_form, {"color": tint(COLOURS[1], 0.6), "linewidth": 7}),
        (result.by_descent, {"color": COLOURS[0], "linestyle": "--"}),
    )
    names = (say("closed form"), say("gradient descent"))
    for ((slope, offset), style), name in zip(lines, names, strict=True):
        ax.plot(ends, slope * ends + offset, label=name, **style)
    ax.plot(result.area, result.price, "o", color=INK, markersize=8,
            label=say("the 11 houses of the table"))  # fmt: skip
    slope, offset = result.closed_form
    sign = "+" if offset >= 0 else "−"
    size = abs(offset)
    line = say("price = {slope:.3f} · area {sign} {size:.2f}", slope=slope, sign=sign, size=size)
    ax.set_title(line)
    ax.set(xlabel=say("area [m²]"), ylabel=say("price [k$]"))
    legend(ax, loc="upper left")


@draws("003-step", "Batch descent with four rates α", step_sizes)
@panels(len(STEPS), 2, sharex="row", sharey="row", height_ratios=(1.3, 1))
def draw_steps(result: Walks, *axes: Any) -> None:
    """Draw for each step θ₁ on the curve of J above, and against the iteration below."""
    count = len(result.walks)
    best = float(result.best[1])
    reach = 1.05 * max(float(np.abs(walk.theta[:, 1] - best).max()) for walk in result.walks)
    grid = np.linspace(best - reach, best + reach, 201)
    curve = _section(result, grid)
    for k, walk in enumerate(result.walks):
        above, under, theta = axes[k], axes[count + k], walk.theta[:, 1]
        path = {"color": COLOURS[3], "marker": "o", "markersize": 4, "linewidth": 1.2}
        above.plot(grid, curve, color=COLOURS[0])
        above.plot(theta, _section(result, theta), **path)
        above.set_title(f"{walk.name}\n{say(EFFECTS[k])}")
        above.set_xlabel("θ₁", labelpad=0)
        under.axhline(best, color=INK, linewidth=1.0, linestyle=":")
        under.plot(theta, **path)
        under.set_xlabel(say("iteration"))
    axes[0].set_ylabel("J − J*")
    axes[0].set_yticks([])
    axes[count].set_ylabel("θ₁")
    axes[count].annotate(say("minimum"), (0, best), (0, 3), textcoords="offset points",
                         va="bottom", fontsize=11)  # fmt: skip
    for ax in axes:
        ax.grid(False)
        ax.locator_params(axis="x", nbins=3)


def _section(walks: Walks, theta: FloatArray) -> FloatArray:
    """Compute J − J* where θ₀ is the best."""
    points = np.column_stack([np.full(len(theta), walks.best[0]), theta])
    return np.asarray(walks.J(points) - walks.J(walks.best))


@draws("003-normalization", "Descent on raw and on normalized data", normalization)
@panels(3, width_ratios=(1, 1, 1.35))
def draw_normalization(result: Normalization, *axes: Any) -> None:
    """Draw the level lines of J and the path of θ, raw and normalized, and what is left of J −
    J*."""
    names = (say("area in m²"), say("normalized area"))
    for k, walks in enumerate((result.raw, result.normalized)):
        ax = axes[k]
        _draw_square(ax, walks, walks.walks[0])
        ratio = np.sqrt(result.conditions[k])
        shape = say("level lines {ratio:.0f} times\nas long as wide", ratio=ratio)
        circles = say("level lines are circles")
        ax.set_title(f"{names[k]}:\n" + (circles if ratio < 1.01 else shape))
    axes[1].set_ylabel("")
    axes[0].figure.get_layout_engine().set(w_pad=0.12)
    last = axes[2]
    for k, share in enumerate(result.left):
        many = result.iterations[k]
        steps = say("step" if many == 1 else "steps")
        label = f"{names[k]}:\n{spaced(many)} {steps}"
        last.semilogy(result.steps, np.maximum(share, 1e-8), label=label, **line_style(k))
    last.set_xscale("symlog", linthresh=1)
    last.set_xticks([0, 1, 1e2, 1e4, 1e6])
    last.axhline(1e-4, color=INK, linewidth=1.0, linestyle=":")
    last.set(xlabel=say("iteration"), ylim=(1e-6, 3))
    last.set_title(say("share of J − J* left,\nand steps to 10⁻⁴"))
    legend(last, loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)


def _draw_square(ax: Axes, walks: Walks, walk: Walk) -> None:
    """Draw level lines with the same scale on both axes, the start, the end and the minimum."""
    start, end, best = walk.theta[0], walk.theta[-1], walks.best
    middle = (start + best) / 2
    reach = 0.75 * float(np.abs(start - best).max())
    span = [float(m + side) for m in middle for side in (-reach, reach)]
    x1, x2, J = over(walks.J, span, 201)
    least = float(walks.J(best)[0])
    levels = least + float(J.max() - least) * np.linspace(0.08, 1, 8) ** 2
    ax.contour(x1, x2, J, levels=levels, colors=GREY, linewidths=0.9)
    ax.plot(*walk.theta.T, color=COLOURS[3], linewidth=2.0)
    many = len(walk.theta) - 1
    steps = say("step" if many == 1 else "steps")
    ax.plot(*start, "o", color=COLOURS[3], markersize=9, markerfacecolor="white",
            label=say("start"))  # fmt: skip
    ax.plot(*end, "o", color=COLOURS[3], markersize=5,
            label=say("after {many} {steps}", many=many, steps=steps))  # fmt: skip
    ax.plot(*best, "x", color=INK, markersize=10, markeredgewidth=2.5, label=say("minimum"))
    ax.set(xlabel="θ₀", ylabel="θ₁", xlim=span[:2], ylim=span[2:])
    ax.set_box_aspect(1)
    ax.grid(False)
    ax.locator_params(nbins=4)
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)


@draws("003-stochastic", "Batch, stochastic and mini-batch descent", batches)
@panels(2)
def draw_batches(result: Walks, *axes: Any) -> None:
    """Draw the paths of θ epoch by epoch, and J − J*."""
    _draw_levels(axes[0], result)
    for k, walk in enumerate(result.walks):
        name = say(walk.name)
        axes[1].semilogy(np.maximum(walk.suboptimality, 1e-3), label=name, **line_style(k))
    axes[0].set_title(say("θ after each epoch"))
    axes[1].set(xlabel=say("epoch"), title="J(θ) − J*")
    axes[1].plot([], [], "x", color=INK, markersize=10, markeredgewidth=2.5, label=say("minimum"))
    below(axes[1], 3)


def _draw_levels(ax: Axes, walks: Walks) -> None:
    """Draw level lines of J of (θ₀, θ₁), the paths, and the minimum as a cross."""
    points = np.vstack([walk.theta for walk in walks.walks] + [walks.best[None, :]])
    x1, x2, J = over(walks.J, span_of(points, 0.2))
    least = float(walks.J(walks.best)[0])
    levels = least + float(J.max() - least) * np.geomspace(1e-4, 1, 14)
    ax.contour(x1, x2, J, levels=levels, colors=PALE, linewidths=0.9)
    for k, walk in enumerate(walks.walks):
        ax.plot(*walk.theta.T, **line_style(k, points=True), markersize=4, linewidth=1.3)
    ax.plot(*walks.best, "x", color=INK, markersize=10, markeredgewidth=2.5)
    ax.set(xlabel="θ₀", ylabel="θ₁")
    ax.grid(False)
