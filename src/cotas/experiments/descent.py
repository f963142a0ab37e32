"""Moreno Chávez: gradient descent on the table of houses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cotas import stops
from cotas.arrays import FloatArray
from cotas.datasets import houses
from cotas.regression.least_squares import LeastSquares

# Multiples of 1/L, L being the largest curvature: beyond 1 every step goes too far, and beyond 2
# each goes farther than the one before.
STEPS = (0.05, 0.5, 1.9, 2.1)
START = (300.0, 0.0)


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
    step: float
    excess: FloatArray
    theta: FloatArray


@dataclass(frozen=True)
class Walks:
    """Several descents on the same J."""

    walks: tuple[Walk, ...]
    rows: FloatArray
    target: FloatArray
    best: FloatArray


@dataclass(frozen=True)
class Normalization:
    """The same descent on the raw and the normalized area.

    `conditions` are the condition numbers of the two Hessians; `left` is the share of J − J* that
    is left after `steps`, a row for each; `iterations` tells when a ten-thousandth is.
    """

    raw: Walks
    normalized: Walks
    conditions: tuple[float, float]
    steps: FloatArray
    left: FloatArray
    iterations: tuple[int, int]


def line(seed: int = 0) -> Houses:
    """Price as a function of the area. Nothing is drawn at random: `seed` changes nothing."""
    X, price = houses()
    area = X[:, :1]
    rule = stops.ChangeOfJ(1e-9) | stops.MaxIterations(10_000)
    walked = LeastSquares(solver="gradient", standardize=True, stop=rule).fit(area, price)
    exact = LeastSquares().fit(area, price)
    return Houses(
        area[:, 0],
        price,
        (float(walked.coef_[0]), float(walked.intercept_)),
        (float(exact.coef_[0]), float(exact.intercept_)),
        walked.n_iter_,
    )


def step_sizes(seed: int = 0, iterations: int = 10) -> Walks:
    """Batch descent with α too small, right, too large and far too large.

    On the normalized area, from θ⁽⁰⁾ = (mean price, 0), so that only θ₁ has to move. The numbers
    are chosen: 0.05, 0.5, 1.9 and 2.1 times 1/L.
    """
    X, price = houses()
    steps = [(f"α = {s:g}/L", s) for s in STEPS]
    return _walks(_normalized(X[:, :1]), price, steps, iterations, (float(price.mean()), 0.0))


def crossings(walk: Walk, best: FloatArray) -> int:
    """How many steps led θ₁ from one side of the minimum to the other."""
    side = np.sign(walk.theta[:, 1] - best[1])
    return int((side[1:] * side[:-1] < 0).sum())


def normalization(seed: int = 0, iterations: int = 300) -> Normalization:
    """Descent with α = 1/L, area in square metres and normalized.

    Both start from the same line, price = 300 (chosen).
    """
    X, price = houses()
    area = X[:, :1]
    pair = [
        _walks(rows, price, [("α = 1/L", 1.0)], iterations, START)
        for rows in (area, _normalized(area))
    ]
    curvatures = [np.linalg.eigvalsh(_hessian(p.rows)) for p in pair]
    conditions = [float(found[-1] / found[0]) for found in curvatures]
    left = [_left(p.rows, p.best) for p in pair]
    needed = [_needed(share) for share in left]
    steps = np.unique(np.append(0.0, np.geomspace(1, 2 * max(needed), 200).round()))
    return Normalization(
        pair[0],
        pair[1],
        (conditions[0], conditions[1]),
        steps,
        np.array([[share(int(k)) for k in steps] for share in left]),
        (needed[0], needed[1]),
    )


def batches(seed: int = 0, epochs: int = 40) -> Walks:
    """Batch, stochastic and mini-batch descent on the normalized area; an entry an epoch.

    Chosen: step 0.15 for all, mini-batches of 4 of the 11 houses, with and without replacement.
    """
    X, price = houses()
    rows = _normalized(X[:, :1])
    kinds: dict[str, dict[str, Any]] = {
        "batch": {"solver": "gradient"},
        "stochastic": {"solver": "stochastic", "batch_size": 1},
        "mini-batch": {"solver": "stochastic", "batch_size": 4},
        "mini-batch, replacement": {
            "solver": "stochastic",
            "batch_size": 4,
            "replacement": True,
        },
    }
    best = _best(rows, price)
    walks = [
        _walk(
            name,
            0.15,
            LeastSquares(step=0.15, random_state=seed, stop=stops.MaxIterations(epochs), **kind),
            rows,
            price,
            best,
        )
        for name, kind in kinds.items()
    ]
    return Walks(tuple(walks), rows, price, best)


def soonest(seed: int = 0, epochs: int = 2) -> tuple[float, float]:
    """The share of J − J* left after some epochs on all three columns: stochastic, and batch.

    Batch descent has the best of the rates 0.05, 0.10, … for this very run, stochastic descent
    always 0.1 (chosen): a rate that suits one of the two does not suit the other.
    """
    X, price = houses()
    rows = _normalized(X)
    best, rule = _best(rows, price), stops.MaxIterations(epochs)
    limit = 2 / float(np.linalg.eigvalsh(_hessian(rows))[-1])

    def left(step: float, **kind: Any) -> float:
        model = LeastSquares(step=step, random_state=seed, stop=rule, **kind)
        walk = _walk("", step, model, rows, price, best)
        return float(walk.excess[-1] / walk.excess[0])

    batch = min(left(step, solver="gradient") for step in np.arange(0.05, limit, 0.05))
    return left(0.1, solver="stochastic"), batch


# ---- how a descent is run ------------------------------------------------------------------------


def _normalized(X: FloatArray) -> FloatArray:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _extended(rows: FloatArray) -> FloatArray:
    """With x₀ = 1, the convention of the document."""
    return np.column_stack([np.ones(len(rows)), rows])


def _hessian(rows: FloatArray) -> FloatArray:
    X = _extended(rows)
    return np.asarray(X.T @ X / len(X))


def _best(rows: FloatArray, y: FloatArray) -> FloatArray:
    model = LeastSquares().fit(rows, y)
    return np.append(model.intercept_, model.coef_)


def objective(rows: FloatArray, y: FloatArray, theta: FloatArray) -> FloatArray:
    """J/m for each row (θ₀, θ₁, …) of `theta`."""
    residuals = _extended(rows) @ np.atleast_2d(theta).T - y[:, None]
    return np.asarray((residuals**2).mean(axis=0) / 2)


def _walks(
    rows: FloatArray,
    y: FloatArray,
    steps: list[tuple[str, float]],
    iterations: int,
    start: tuple[float, ...] | None = None,
) -> Walks:
    best, largest = _best(rows, y), float(np.linalg.eigvalsh(_hessian(rows))[-1])
    rule = stops.MaxIterations(iterations)
    walks = [
        _walk(
            name,
            step,
            LeastSquares(solver="gradient", step=step / largest, stop=rule),
            rows,
            y,
            best,
            start,
        )
        for name, step in steps
    ]
    return Walks(tuple(walks), rows, y, best)


def _walk(
    name: str,
    step: float,
    model: LeastSquares,
    rows: FloatArray,
    y: FloatArray,
    best: FloatArray,
    start: tuple[float, ...] | None = None,
) -> Walk:
    """Follow a descent from θ⁽⁰⁾ = (θ₀, θ), or from zero."""
    first = np.zeros(rows.shape[1] + 1) if start is None else np.array(start)
    model.set_params(start=(first[1:], first[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a step too large does not converge
        model.fit(rows, y)
    past = model.history_
    theta = np.column_stack([past["intercept"], past["theta"]])
    theta = np.vstack([first, theta])
    excess = objective(rows, y, theta) - objective(rows, y, best)
    return Walk(name, step, np.maximum(excess, 0.0), theta)


def _left(rows: FloatArray, best: FloatArray) -> Callable[[int], float]:
    """The share of J − J* that k steps of 1/L from START leave, as a function of k.

    By the closed form: step k leaves (1 − λ/L)ᵏ of the error along each eigenvector, so
    J − J* = ½ Σ λ (1 − λ/L)²ᵏ e², which falls with k.
    """
    curvature, directions = np.linalg.eigh(_hessian(rows))
    weights = curvature * (directions.T @ (np.array(START) - best)) ** 2
    kept = np.maximum(0.0, 1 - curvature / curvature[-1])
    return lambda k: float((weights * kept ** (2 * k)).sum() / weights.sum())


def _needed(share: Callable[[int], float]) -> int:
    """The first k that leaves a ten-thousandth."""
    low, high = 0, 1
    while share(high) > 1e-4:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) <= 1e-4 else (middle, high)
    return high
