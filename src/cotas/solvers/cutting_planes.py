"""The linear support vector machine by cutting planes with a line search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray, Matrix
from cotas.design.blocks import times, times_transposed

# How far towards the solution of the master problem, from the best point, the next plane is taken.
LOOK_AHEAD = 0.1
# The part of the master problem's error at its own solution that the next plane has to remove.
LEAST_PROGRESS = 0.1
# A longer step would multiply the rounding in the scores of two points that almost agree.
LONGEST_STEP = 100.0
# Planes beyond this number are dropped once they have been idle for so many iterations.
MOST_PLANES, IDLE_ITERATIONS = 300, 20
# The master problem is solved when no plane promises more than this.
MASTER_ACCURACY = 1e-13
# Where the gap is so small a part of the objective, rounding has the upper hand.
ROUNDING = 1e-14


class _Line(NamedTuple):
    """A point seen from the examples: their scores θ·xᵢ, and θ with the bias that goes with it."""

    theta: FloatArray
    theta0: float
    scores: FloatArray


class _Cut(NamedTuple):
    """Which share of each loss a plane adds up: all, nothing, or for one example a part."""

    violated: BoolArray
    divided: int
    share: float

    def add_to(self, total: FloatArray, factor: float, weights: FloatArray) -> None:
        """total ← total + factor·a, aᵢ being sᵢ times the share."""
        total += np.where(self.violated, factor * weights, 0.0)
        total[self.divided] += factor * self.share * weights[self.divided]

    def value(self, margins: FloatArray, weights: FloatArray) -> float:
        """The height of the plane, Σ aᵢ(1 − yᵢθ·xᵢ), where the margins yᵢθ·xᵢ are these."""
        divided = self.share * weights[self.divided] * (1.0 - margins[self.divided])
        return float(weights[self.violated] @ (1.0 - margins[self.violated]) + divided)


def cutting_planes(
    X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float
) -> Iterator[tuple[FloatArray, float, FloatArray]]:
    """θ, θ₀ and α after every iteration.

        min R(θ) + (λ/2)‖θ‖²,   R(θ) = min over θ₀ of Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀))

    OCAS of Franc and Sonnenburg 2009. R lies above each of its tangent planes,
    R(θ) ≥ Σ aᵢ − θ·Σ aᵢyᵢxᵢ with aᵢ = sᵢ where the margin is violated and 0 elsewhere. The master
    problem puts the planes found so far in the place of R; its dual weighs them by β ≥ 0, Σβ ≤ 1,
    and α = Σ βₜaₜ is the witness. The best point moves along the line to the solution of the
    master problem as far as the objective falls, and the next plane touches R a little beyond.
    Departures: the bias is minimized out of R, so one example at its corner may count in part,
    which makes Σ aᵢyᵢ = 0 in each plane, and the master problem needs no constraint for it.
    Planes long idle are dropped when there are many. Where the plane beyond the best point would
    hardly change the master problem, the one at its solution is taken, which always does.
    Invariant: 0 ≤ αᵢ ≤ sᵢ, and Σ αᵢyᵢ = 0 with a bias; the objective never rises and the dual
    value never falls. Ends when the gap is down to rounding.
    Cost: two products with X and two or three sorts of n numbers an iteration.
    """
    y = np.asarray(y, dtype=np.float64)
    best, cut = _touch(np.zeros(X.shape[1]), np.zeros(len(y)), y, weights, bias)
    primal = _objective(best, y, weights, lam)
    master = _Master(X.shape[1], lam)
    while True:
        coefficients = np.zeros(len(y))
        cut.add_to(coefficients, 1.0, weights)
        master.add(cut, times_transposed(X, coefficients * y), float(coefficients.sum()))
        dual = master.solve()
        theta = master.theta()
        goal, deepest = _touch(theta, times(X, theta), y, weights, bias)
        step = min(_line_search(best, goal, y, weights, lam), LONGEST_STEP)
        moved, _ = _touch(*_between(best, goal, step), y, weights, bias)
        value = _objective(moved, y, weights, lam)
        if value < primal:  # which rounding may deny when the two points almost agree
            best, primal = moved, value
        yield best.theta.copy(), best.theta0, master.alpha(weights)
        if not primal - dual > ROUNDING * primal:
            return
        reached = dual - 0.5 * lam * float(theta @ theta)
        _, ahead = _touch(*_between(best, goal, LOOK_AHEAD), y, weights, bias)
        cut = _worthwhile(ahead, deepest, y * goal.scores, weights, reached)


def _worthwhile(
    ahead: _Cut, deepest: _Cut, margins: FloatArray, weights: FloatArray, reached: float
) -> _Cut:
    """The plane ahead, unless it hardly corrects what the master problem takes R for.

    At its own solution, where the margins are these, the master problem believes R = `reached`,
    and the deepest plane gives the true value.
    """
    error = deepest.value(margins, weights) - reached
    corrected = ahead.value(margins, weights) - reached
    return ahead if corrected >= LEAST_PROGRESS * error else deepest


def _touch(
    theta: FloatArray, scores: FloatArray, y: FloatArray, weights: FloatArray, bias: float
) -> tuple[_Line, _Cut]:
    """The best θ₀ for this θ, and the plane that touches R there.

    Seen from θ₀ the loss of a positive example ends at its corner 1 − θ·x and that of a negative
    one begins at −1 − θ·x. At the best θ₀ the corners to its left weigh as much as all the
    positive examples; the example whose corner straddles that mark counts in part.
    """
    if not bias:
        return _Line(theta, 0.0, scores), _Cut(y * scores < 1.0, 0, 0.0)
    corners = y - scores
    order = np.argsort(corners)
    below = np.cumsum(weights[order])
    mark = float(weights[y > 0].sum())
    k = min(int(np.searchsorted(below, mark)), len(order) - 1)
    divided = int(order[k])
    left = np.zeros(len(y), dtype=np.bool_)
    left[order[:k]] = True
    violated = left == (y < 0)
    violated[divided] = False
    share = float(np.clip(1.0 - (below[k] - mark) / weights[divided], 0.0, 1.0))
    share = 1.0 - share if y[divided] > 0 else share
    return _Line(theta, float(corners[divided]), scores), _Cut(violated, divided, share)


def _objective(point: _Line, y: FloatArray, weights: FloatArray, lam: float) -> float:
    losses = np.maximum(0.0, 1.0 - y * (point.scores + point.theta0))
    return float(weights @ losses) + 0.5 * lam * float(point.theta @ point.theta)


def _between(start: _Line, end: _Line, step: float) -> tuple[FloatArray, FloatArray]:
    """θ and the scores at start + step·(end − start)."""
    theta = start.theta + step * (end.theta - start.theta)
    return theta, start.scores + step * (end.scores - start.scores)


def _line_search(start: _Line, end: _Line, y: FloatArray, weights: FloatArray, lam: float) -> float:
    """The t ≥ 0 with the least objective at start + t·(end − start), the bias included.

    The slope in t grows at the rate λ‖end − start‖² and jumps where a loss begins or ends.
    """
    direction = end.theta - start.theta
    rate = lam * float(direction @ direction)
    if not rate > 0:
        return 0.0  # the bias is already the best one
    losses = 1.0 - y * (start.scores + start.theta0)
    growth = -y * (end.scores - start.scores + (end.theta0 - start.theta0))
    begun = (losses > 0) | ((losses == 0) & (growth > 0))
    slope = float(weights[begun] @ growth[begun]) + lam * float(direction @ start.theta)
    if slope >= 0:
        return 0.0
    turning = np.flatnonzero(losses * growth < 0)
    corners = -losses[turning] / growth[turning]
    order = np.argsort(corners)
    corners = corners[order]
    jumps = (weights[turning] * np.abs(growth[turning]))[order]
    slopes = slope + np.cumsum(jumps)  # right of each corner, the penalty's part set aside
    after = np.flatnonzero(slopes + rate * corners >= 0)
    if not len(after):
        return -float(slopes[-1] if len(slopes) else slope) / rate
    i = int(after[0])
    before = float(slopes[i - 1]) if i else slope
    return float(min(corners[i], max(-before / rate, corners[i - 1] if i else 0.0)))


class _Master:
    """The planes found so far and their weights β.

        max Σ βₜbₜ − (1/2λ)‖Σ βₜgₜ‖²    s.t.  β ≥ 0, Σβ = 1

    Plane 0 stands for R ≥ 0: with it Σβ ≤ 1 becomes an equality.
    """

    def __init__(self, n_features: int, lam: float) -> None:
        self.lam = lam
        self.cuts: list[_Cut | None] = [None]
        self.slopes = np.zeros((1, n_features))  # gₜ
        self.heights = np.zeros(1)  # bₜ
        self.gram = np.zeros((1, 1))  # gₜ·gᵤ/λ
        self.beta = np.ones(1)
        self.idle = np.zeros(1, dtype=np.int64)

    def add(self, cut: _Cut, slope: FloatArray, height: float) -> None:
        """One more plane, of weight zero for now."""
        if len(self.cuts) > MOST_PLANES:
            self._drop_idle()
        products = self.slopes @ slope / self.lam
        corner = np.array([[float(slope @ slope) / self.lam]])
        self.cuts.append(cut)
        self.slopes = np.vstack([self.slopes, slope])
        self.heights = np.append(self.heights, height)
        self.gram = np.block([[self.gram, products[:, None]], [products[None, :], corner]])
        self.beta = np.append(self.beta, 0.0)
        self.idle = np.append(self.idle, 0)

    def _drop_idle(self) -> None:
        keep = self.idle < IDLE_ITERATIONS
        keep[0] = True
        self.cuts = [cut for cut, kept in zip(self.cuts, keep, strict=True) if kept]
        self.slopes, self.heights = self.slopes[keep], self.heights[keep]
        self.gram = self.gram[np.ix_(keep, keep)]
        self.beta, self.idle = self.beta[keep], self.idle[keep]

    def solve(self) -> float:
        """The best β, from the last one on; returns the dual value."""
        self.beta = simplex_maximum(self.gram, self.heights, self.beta)
        self.idle = np.where(self.beta > 0, 0, self.idle + 1)
        return float(self.beta @ self.heights - 0.5 * self.beta @ self.gram @ self.beta)

    def theta(self) -> FloatArray:
        """θ = (1/λ) Σ βₜgₜ."""
        theta: FloatArray = self.beta @ self.slopes / self.lam
        return theta

    def alpha(self, weights: FloatArray) -> FloatArray:
        """α = Σ βₜaₜ, kept in its box against rounding."""
        alpha = np.zeros(len(weights))
        for cut, beta in zip(self.cuts, self.beta, strict=True):
            if cut is not None and beta > 0:
                cut.add_to(alpha, float(beta), weights)
        return np.minimum(alpha, weights)


def simplex_maximum(K: FloatArray, b: FloatArray, start: FloatArray) -> FloatArray:
    """The β that maximizes b·β − ½ βᵀKβ over the simplex, K positive semidefinite.

    An active-set method after Wolfe 1976: the coordinate with the steepest slope joins the
    support, and β goes to the best point of the support's affine hull; where that would make a
    coordinate negative, β stops there and the coordinate leaves.
    Departures: a linear term, so when the newcomer makes K singular on the hull β goes as far
    as the simplex lets it. Ends also where rounding keeps the value from rising.
    Invariant: β in the simplex; the value never falls; K is regular on the support's hull.
    Cost: one system of the size of the support for each coordinate that joins or leaves.
    """
    beta = start.copy()
    value = float(b @ beta - 0.5 * beta @ K @ beta)
    for _ in range(20 * len(b)):
        slopes = b - K @ beta
        newcomer = int(np.argmax(slopes))
        if slopes[newcomer] - beta @ slopes <= MASTER_ACCURACY:
            break
        candidate = _admit(K, b, beta, newcomer)
        new_value = float(b @ candidate - 0.5 * candidate @ K @ candidate)
        if not new_value > value:
            break
        beta, value = candidate, new_value
    return beta


def _admit(K: FloatArray, b: FloatArray, start: FloatArray, newcomer: int) -> FloatArray:
    """β after one coordinate has joined the support and others perhaps have left it."""
    beta = start.copy()
    if beta[newcomer] == 0:
        support = np.flatnonzero(beta > 0)
        direction = np.zeros(len(b))
        direction[support] = -_on_hull(K, support, K[support, newcomer])
        direction[newcomer] = 1.0
        curvature = float(direction @ K @ direction)
        slope = float((b - K @ beta) @ direction)
        flat = curvature <= 1e-15 * float(K.diagonal().max())
        if _move(beta, direction, np.inf if flat else max(slope, 0.0) / curvature):
            return _normalized(beta)
    while beta.any():
        support = np.flatnonzero(beta > 0)
        direction = np.zeros(len(b))
        direction[support] = _on_hull(K, support, b[support]) - beta[support]
        if _move(beta, direction, 1.0):
            return _normalized(beta)
    return start  # rounding has emptied the support


def _normalized(beta: FloatArray) -> FloatArray:
    """Σβ = 1 again, which rounding wears away."""
    normalized: FloatArray = beta / beta.sum()
    return normalized


def _on_hull(K: FloatArray, support: IntArray, right: FloatArray) -> FloatArray:
    """The w with Σw = 1 for which K w − right is the same number all over the support."""
    size = len(support)
    part = K[np.ix_(support, support)]
    scale = max(float(part.diagonal().max()), 1e-300)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = part / scale
    system[size, size] = 0.0
    target = np.append((right - right.mean()) / scale, 1.0)  # the mean only moves that number
    try:
        solution = np.linalg.solve(system, target)
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(system, target)[0]
    return solution[:size]


def _move(beta: FloatArray, direction: FloatArray, step: float) -> bool:
    """β ← β + step·direction, or to the edge of the simplex; whether it got all the way."""
    falling = np.flatnonzero(direction < 0)
    reaches = beta[falling] / -direction[falling]
    nearest = int(np.argmin(reaches)) if len(falling) else -1
    if nearest < 0 or reaches[nearest] > step:
        beta += step * direction
        return True
    beta += reaches[nearest] * direction
    beta[falling[nearest]] = 0.0
    np.maximum(beta, 0.0, out=beta)
    return False
