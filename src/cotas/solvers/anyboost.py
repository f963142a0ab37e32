"""Algorithms 5, 6 and 7 of Rugeles Ospina: gradient descent in a space of functions.

    H(F) = Σ sᵢ C(yᵢF(xᵢ)),   −∇H(F)(xᵢ) = −sᵢ yᵢ C'(yᵢF(xᵢ)),   ⟨F, G⟩ = Σ F(xᵢ) G(xᵢ)

C is any differentiable cost of the margin: an object with `value` and `slope`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq

from cotas.arrays import FloatArray
from cotas.losses import Exponential, Loss
from cotas.solvers.boosting import (
    CHANCE,
    ERR_CLIP,
    NoDescentLeft,
    Round,
    Steps,
    best_step,
    step_of,
)
from cotas.solvers.weak_learners import Fitted, WeakLearner

LONGEST_STEP = best_step(ERR_CLIP)  # a line search that sees no end stops here
NO_DESCENT = "−⟨∇H(F), f⟩ ≤ 0: no learner found lowers the cost"
NO_FARTHER = "−⟨∇H(F), f − F⟩ ≤ 0: no learner found is farther down the slope than F"


def cost_of(cost: Loss, y: FloatArray, s: FloatArray, F: FloatArray) -> float:
    """Compute H(F)"""
    with np.errstate(over="ignore"):
        return float(s @ cost.value(y * F))


def descent(cost: Loss, y: FloatArray, s: FloatArray, F: FloatArray) -> tuple[FloatArray, float]:
    """Compute −∇H(F) on the rows as a direction and its length factor, so that no exponential
    overflows."""
    if not isinstance(cost, Exponential):
        return -s * y * cost.slope(y * F), 1.0
    margins = y * F
    lowest = float(margins[s > 0].min())
    with np.errstate(over="ignore"):
        weights = np.where(s > 0, s * np.exp(np.minimum(lowest - margins, 0.0)), 0.0)
        return y * weights, float(np.exp(-lowest))


def anyboost(
    weak: WeakLearner,
    cost: Loss,
    y: FloatArray,
    s: FloatArray,
    F: FloatArray,
    steps: Steps | str,
    first: int = 1,
    rate: float = 1.0,
    target: str = "sign",
    towards: bool = False,
) -> Iterator[Round]:
    """Run AnyBoost, Algorithm 5 of Rugeles Ospina: F ← F + w·f, f maximizing −⟨∇H(F), f⟩.

    `steps` is "closed-form" (½ ln((1−err)/err), which minimizes H for the exponential cost),
    "line-search", "printed", a number, numbers or a function of the round; `rate` multiplies it.
    "printed" is w/Σ|w| over the rounds so far, as Algorithms 6 and 7 print it, with w in closed
    form or by a line search; `towards` has the run end as Algorithm 6 does, at
    −⟨∇H(F), f − F⟩ ≤ 0. `target` is "sign", where f fits the signs of −∇H with its sizes as
    weights, or "gradient", where f is the sign of a regression of −∇H itself.
    Departures: a line search ends at 18.02, the closed form at an error of 2⁻⁵². Invariant: every
    f takes the values ±1, so Σ|w| is what a combination costs. It ends when −⟨∇H(F), f⟩ ≤ 0: if f
    is the best of a class closed under negation, F minimizes H over lin(F).
    Cost: a learner and O(n) a round, O(n) for each trial of a line search.
    """
    m, spent = first, 0.0
    while True:
        direction, scale = descent(cost, y, s, F)
        f = _learn(weak, direction, s, target)
        along, mass = float(direction @ f.values), float(np.abs(direction).sum())
        if not along - (float(direction @ F) if towards else 0.0) > CHANCE * mass:
            raise NoDescentLeft(NO_FARTHER if towards else NO_DESCENT)
        error = float(np.abs(direction[y * f.values < 0]).sum()) / mass
        if steps == "closed-form":
            w = best_step(error)
        elif steps == "line-search":
            w = _line_search(cost, y, s, F, f.values, None)
        elif steps == "printed":
            exact = isinstance(cost, Exponential)
            w = best_step(error) if exact else _line_search(cost, y, s, F, f.values, None)
            spent += abs(w)
            w /= spent
        else:
            w = step_of(steps, m)  # type: ignore[arg-type]
        w *= rate
        F += w * f.values
        yield Round((f.learner,), w, error, along * scale, cost_of(cost, y, s, F))
        m += 1


def convex_anyboost(
    weak: WeakLearner,
    cost: Loss,
    y: FloatArray,
    s: FloatArray,
    F: FloatArray,
    steps: Steps | str,
    radius: float,
    tol: float = 0.0,
    first: int = 1,
    rate: float = 1.0,
    target: str = "sign",
) -> Iterator[Round]:
    """Run AnyBoost over a convex hull, Algorithm 6 of Rugeles Ospina: F ← (1−a)F + a·radius·f.

    This is the Frank–Wolfe method on radius·conv(F). `steps` is "line-search" (the best a in
    [0, 1]), "closed-form" (a = w/Σ|w| with w = ½ ln((1−err)/err), Algorithm 7), "2/(m+2)", a
    number, numbers or a function of the round; `rate`, at most 1, multiplies it.
    Departures: Algorithms 6 and 7 print F + w·f/Σ|w|, which leaves the hull (`anyboost` runs them
    so); the text before them and the invariant need the convex combination. It ends when the gap
    −⟨∇H(F), radius·f − F⟩ is zero, or at most tol·H(F).
    Invariant: the coefficients' absolute values sum to at most `radius`.
    Cost: a learner and O(n) a round.
    """
    m, spent = first, 0.0
    while True:
        direction, scale = descent(cost, y, s, F)
        f = _learn(weak, direction, s, target)
        corner = radius * f.values
        gap, mass = float(direction @ (corner - F)), float(np.abs(direction).sum())
        if not gap > CHANCE * mass * radius:
            raise NoDescentLeft("the Frank–Wolfe gap is zero: no learner found lowers the cost")
        if gap * scale <= tol * cost_of(cost, y, s, F):
            raise NoDescentLeft("the gap asked for is reached")
        error = float(np.abs(direction[y * f.values < 0]).sum()) / mass
        if steps == "line-search":
            a = _line_search(cost, y, s, F, corner - F, 1.0)
        elif steps == "closed-form":
            w = best_step(error)
            spent += abs(w)
            a = abs(w) / spent
        elif steps == "2/(m+2)":
            a = 2.0 / (m + 2.0)
        else:
            a = min(max(step_of(steps, m), 0.0), 1.0)  # type: ignore[arg-type]
        a *= rate
        F += a * (corner - F)
        yield Round(
            (f.learner,), a * radius, error, gap * scale, cost_of(cost, y, s, F), shrink=1.0 - a
        )
        m += 1


def _learn(weak: WeakLearner, direction: FloatArray, s: FloatArray, target: str) -> Fitted:
    """Compute f = ±1 with a large −⟨∇H(F), f⟩."""
    return weak.edge(direction) if target == "sign" else weak.gradient_sign(direction, s)


def _line_search(
    cost: Loss,
    y: FloatArray,
    s: FloatArray,
    F: FloatArray,
    d: FloatArray,
    longest: float | None,
) -> float:
    """Tell where the slope of the convex function H(F + t·d) changes sign on 0 ≤ t ≤ longest."""

    def slope(t: float) -> float:
        direction, _ = descent(cost, y, s, F + t * d)
        return -float(direction @ d)

    low, high = 0.0, 1.0 if longest is None else longest
    while slope(high) < 0:
        if longest is not None or high >= LONGEST_STEP:
            return min(high, LONGEST_STEP) if longest is None else longest
        low, high = high, 2 * high
    if slope(low) >= 0:
        return low
    return float(brentq(slope, low, high, xtol=1e-15, rtol=1e-14))
