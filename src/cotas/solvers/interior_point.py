"""The linear support vector machine by an interior-point method with d × d systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cotas.arrays import FloatArray, Matrix
from cotas.design.blocks import times, times_transposed
from cotas.solvers.bordered_gram import bordered_gram

# How far a step may go towards the boundary of the positive numbers.
TO_THE_BOUNDARY = 0.995
# How far a start that is known moves towards the middle of the box.
INWARDS = 0.05


class PrimalDual(NamedTuple):
    """A primal and a dual point: θ, θ₀ and α at some moment, with the objective and the dual value
    they give."""

    theta: FloatArray
    theta0: float
    alpha: Any  # an array, or `Rounds`, which make it
    primal: float
    dual: float
    steps: int = 1  # since the last one that was shown


class Start(NamedTuple):
    """A start of a solver: a dual point, and the model that goes with it."""

    alpha: FloatArray
    theta0: float
    theta: FloatArray


@dataclass
class _Point:
    """A point: all the unknowns; margins = y(Xθ + θ₀) is kept beside them."""

    theta: FloatArray
    theta0: float
    alpha: FloatArray
    below: FloatArray  # multipliers of α ≥ 0: the margin beyond 1
    above: FloatArray  # multipliers of α ≤ s: the loss
    margins: FloatArray
    missing: FloatArray  # λθ − Σ αᵢyᵢxᵢ


def interior_point(
    X: Matrix,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    start: Start | None = None,
) -> Iterator[PrimalDual]:
    """Yield primal–dual iterates for the SVM, one for each Newton step.

        min Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²

    The conditions of optimality, with u, v ≥ 0 for the bounds 0 ≤ α ≤ s,

        λθ = Σ αᵢyᵢxᵢ,   Σ αᵢyᵢ = 0,   yᵢ(θ·xᵢ + θ₀) − 1 = uᵢ − vᵢ,   uᵢαᵢ = vᵢ(sᵢ − αᵢ) = μ,

    are solved by Newton's method while μ goes to zero (Mehrotra's predictor and corrector). Each
    step comes down to a system of the size of θ with the matrix λI + XᵀWX, W = 1/(u/α + v/(s−α)),
    after Ferris and Munson 2002. Departures: the start satisfies all the linear conditions but
    the first, and what is missing there shrinks with each step; the system is scaled to a unit
    diagonal before it is factorized, which takes care of features of any scale.
    Invariant: λθ = Σ αᵢyᵢxᵢ + `missing`, and Σ αᵢyᵢ = 0 with a bias, in every iterate; `dual` is
    the dual value of α.
    Cost: one weighted Gram matrix, O(nd²), and five products with X a step.
    """
    point = _start(X, y, weights, lam, bias, start)
    goes_on = True
    while goes_on:  # until the caller has seen enough
        yield _iterate(point, weights, lam)
        # Where a number overflows, or 0/0 is asked for, the step that comes of it is not taken.
        with np.errstate(all="ignore"):
            goes_on = _newton_step(X, y, weights, point, lam, bias)


def _newton_step(
    X: Matrix, y: FloatArray, weights: FloatArray, point: _Point, lam: float, bias: float
) -> bool:
    """Predict, correct and move the point; False if rounding has the upper hand."""
    slack = weights - point.alpha
    products = point.below @ point.alpha + point.above @ slack
    if not 0 < products < np.inf:
        return False
    mu = products / (2 * len(y))
    solve = _newton_system(X, y, point, slack, lam, bias)
    if solve is None:
        return False  # the last digits are used up
    affine = solve(-point.below * point.alpha, -point.above * slack)
    reach = _reach(point, slack, affine)
    moved = _moved_products(point, slack, affine, reach)
    sigma = (moved / products) ** 3
    direction = solve(
        sigma * mu - point.below * point.alpha - affine.alpha * affine.below,
        sigma * mu - point.above * slack + affine.alpha * affine.above,
    )
    step = min(1.0, TO_THE_BOUNDARY * _reach(point, slack, direction))
    if not step > 1e-12 or not direction.is_finite():
        return False
    _advance(point, direction, step)
    return True


def _start(
    X: Matrix,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    start: Start | None,
) -> _Point:
    """Compute θ = 0 and a balanced α in the middle of its box; the rest follows.

    A point that is known already is moved a little towards the middle: Newton's method would
    only creep away from the walls of the box.
    """
    alpha, theta0, middle = _inside(y, weights, bool(bias), start)
    combination = times_transposed(X, alpha * y)
    theta, margins = np.zeros(X.shape[1]), np.zeros(len(y))
    if middle < 1.0:
        theta = combination / lam
        margins = y * (times(X, theta) + theta0)
    slack = margins - 1.0
    below = np.maximum(slack, 0.0) + middle
    above = below - slack
    missing = lam * theta - combination
    return _Point(theta, theta0, alpha, below, above, margins, missing)


def _inside(
    y: FloatArray, weights: FloatArray, balanced: bool, start: Start | None
) -> tuple[FloatArray, float, float]:
    """Return a balanced α inside the box, its bias, and which part of it is not the known start."""
    middle, known, theta0 = 1.0, np.zeros(len(y)), 0.0
    if start is not None:
        middle, known, theta0 = INWARDS, (1.0 - INWARDS) * start.alpha, start.theta0
    lean = 0.0
    if balanced:
        lean = -float((known + middle * 0.5 * weights) @ y) / (middle * float(weights.sum()))
    if abs(lean) >= 0.5 and start is not None:
        return _inside(y, weights, balanced, None)
    return known + middle * weights * (0.5 + lean * y), theta0, middle


def _iterate(point: _Point, weights: FloatArray, lam: float) -> PrimalDual:
    penalty = 0.5 * lam * float(point.theta @ point.theta)
    combination = lam * point.theta - point.missing
    cost = 0.5 * float(combination @ combination) / lam
    primal = float(weights @ np.maximum(0.0, 1.0 - point.margins)) + penalty
    dual = float(point.alpha.sum()) - cost
    return PrimalDual(point.theta.copy(), point.theta0, point.alpha.copy(), primal, dual)


@dataclass(frozen=True)
class _Direction:
    theta: FloatArray
    theta0: float
    alpha: FloatArray
    below: FloatArray
    above: FloatArray
    margins: FloatArray

    def is_finite(self) -> bool:
        """Tell whether all of it is made of numbers."""
        return all(np.isfinite(part).all() for part in vars(self).values())


def _newton_system(
    X: Matrix, y: FloatArray, point: _Point, slack: FloatArray, lam: float, bias: float
) -> Callable[[FloatArray, FloatArray], _Direction] | None:
    """Factorize once; the function returned solves for given products u·α and v·(s − α).

    None if rounding has brought an unknown to its bound, where there is no system any more.
    """
    if min(point.alpha.min(), slack.min(), point.below.min(), point.above.min()) <= 0:
        return None
    spread = 1.0 / (point.below / point.alpha + point.above / slack)
    d, system = X.shape[1], bordered_gram(X, spread, float(bias))
    own = np.append(np.full(d, lam), 0.0 if bias else 1.0)
    system[np.diag_indices_from(system)] += own
    solve_system = factorized(system)
    if solve_system is None:
        return None

    def solve(low: FloatArray, high: FloatArray) -> _Direction:
        right = low / point.alpha - high / slack
        pushed = spread * right
        target = np.append(times_transposed(X, y * pushed), bias * float(y @ pushed))
        target[:-1] -= point.missing
        step = solve_system(target)
        theta, theta0 = step[:-1], float(bias * step[-1])
        margins = y * (times(X, theta) + theta0)
        alpha = pushed - spread * margins
        below = (low - point.below * alpha) / point.alpha
        above = (high + point.above * alpha) / slack
        return _Direction(theta, theta0, alpha, below, above, margins)

    return solve


def factorized(system: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
    """Factorize a positive definite matrix, of which the lower triangle is enough, to solve
    systems.

    The matrix is scaled to a unit diagonal first. Cholesky, with as little added to the diagonal
    as it takes; None if that is too much, or if there is a NaN. A target that is not finite has
    no solution that is.
    """
    diagonal = np.diag(system)
    if not np.isfinite(system).all() or not (diagonal > 0).all():
        return None
    scale = 1.0 / np.sqrt(diagonal)
    scaled = system * scale[:, None] * scale
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            factor = cho_factor(scaled + jitter * np.eye(len(scaled)), lower=True)
        except np.linalg.LinAlgError:
            continue
        return lambda target: np.asarray(
            scale * cho_solve(factor, scale * target, check_finite=False)
        )
    return None


def _reach(point: _Point, slack: FloatArray, step: _Direction) -> float:
    """Return the longest step that keeps everything positive that has to be."""
    ratios = [
        (-step.alpha / point.alpha).max(),
        (step.alpha / slack).max(),
        (-step.below / point.below).max(),
        (-step.above / point.above).max(),
    ]
    steepest = float(np.max(ratios))  # a NaN among them is passed on
    return np.inf if steepest <= 0 else 1.0 / steepest


def _moved_products(point: _Point, slack: FloatArray, step: _Direction, reach: float) -> float:
    """Compute u·α + v·(s − α) after the step."""
    t = min(1.0, reach)
    alpha = point.alpha + t * step.alpha
    return float(
        (point.below + t * step.below) @ alpha
        + (point.above + t * step.above) @ (slack - t * step.alpha)
    )


def _advance(point: _Point, step: _Direction, t: float) -> None:
    point.theta = point.theta + t * step.theta
    point.theta0 += t * step.theta0
    point.alpha += t * step.alpha
    point.below += t * step.below
    point.above += t * step.above
    point.margins += t * step.margins
    point.missing = (1.0 - t) * point.missing
