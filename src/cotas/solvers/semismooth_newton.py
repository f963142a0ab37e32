"""The linear support vector machine by Newton's method on its smoothed hinge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.design import Dense, add, add_outer, as_design, dot, n_features, n_vectors
from cotas.loops import loop
from cotas.solvers.interior_point import Iterate, Start, factorised

# The smoothing of the first round, what the next rounds make of it, and when that ends.
SMOOTHING, SHARPER, SHARPEST = 2.0, 0.3, 3e-4
# With a start that is known.
SMOOTHING_FROM_START = 0.2
# The rows are summed up in so many spans, whatever the number of threads, so that runs repeat.
SPANS = 8
# A part of the rows this small is solved first, if it has so many rows and rows for each feature.
SAMPLE, FEWEST, FEWEST_BY_FEATURE = 0.1, 1000, 15
SAMPLE_GAP = 0.01
# Rows with fewer entries than this part of the features are summed up entry by entry.
FEW_ENTRIES = 0.25
BLOCK_BYTES = 1 << 20

# Calls a function on each span of the rows, possibly in threads.
Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class RowState(NamedTuple):
    """What is known of each row."""

    y: FloatArray
    weights: FloatArray
    centre: FloatArray  # α/s of the last round
    part: FloatArray  # α/s now
    excess: FloatArray  # e = y(θ·x + θ₀) − 1
    turn: FloatArray  # how e changes along the step


@loop
def respond(
    rows: Any,
    state: RowState,
    nu: float,
    first: int,
    last: int,
    curved: IntArray,
    combination: FloatArray,
) -> tuple[int, float, float, float]:
    """α = s·clip(centre − e/2ν, 0, 1) in each row, and Σ αᵢyᵢxᵢ.

    Returns how many rows are strictly between the bounds, which `curved` lists, and the sums of
    the hinge losses, of α and of αy.
    """
    loss = total = balance = 0.0
    count = 0
    for i in range(first, last):
        e = state.excess[i]
        part = state.centre[i] - e / (2.0 * nu)
        if 0.0 < part < 1.0:
            curved[count] = i
            count += 1
        part = min(max(part, 0.0), 1.0)
        state.part[i] = part
        loss += state.weights[i] * max(0.0, -e)
        if part > 0.0:
            alpha = state.weights[i] * part
            total += alpha
            balance += alpha * state.y[i]
            add(rows, i, alpha * state.y[i], combination)
    return count, loss, total, balance


@loop
def scale_rows(
    rows: Any, weights: FloatArray, curved: IntArray, scaled: FloatArray, border: FloatArray
) -> float:
    """The curved rows times √s, in full; their weighted sum is added to the border."""
    scaled[:] = 0.0
    total = 0.0
    for r in range(scaled.shape[0]):
        s = weights[curved[r]]
        add(rows, curved[r], np.sqrt(s), scaled[r])
        add(rows, curved[r], s, border)
        total += s
    return total


@loop
def add_weighted_gram(
    rows: Any, weights: FloatArray, curved: IntArray, gram: FloatArray, border: FloatArray
) -> float:
    """The lower triangle of Σ sᵢxᵢxᵢᵀ over the curved rows, entry by entry."""
    total = 0.0
    for i in curved:
        add_outer(rows, i, weights[i], gram)
        add(rows, i, weights[i], border)
        total += weights[i]
    return total


@loop
def look_along(
    rows: Any, state: RowState, theta: FloatArray, theta0: float, first: int, last: int
) -> None:
    """How fast e changes in each row when θ moves."""
    for i in range(first, last):
        state.turn[i] = state.y[i] * (dot(rows, i, theta) + theta0)


@loop
def slope(state: RowState, nu: float, step: float, first: int, last: int) -> float:
    """Σ αᵢ·turnᵢ at some step: what the smoothed loss gains by going further."""
    total = 0.0
    for i in range(first, last):
        e = state.excess[i] + step * state.turn[i]
        part = min(max(state.centre[i] - e / (2.0 * nu), 0.0), 1.0)
        total += state.weights[i] * part * state.turn[i]
    return total


@dataclass
class _Point:
    """θ and θ₀ with the sums over the rows that go with them."""

    theta: FloatArray
    theta0: float
    combination: FloatArray
    balance: float
    loss: float
    total: float
    curved: list[IntArray]


def semismooth_newton(
    X: Matrix,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    bias_scale: float = 0.0,
    start: Start | None = None,
    each: Each = map,
) -> Iterator[Iterate]:
    """Primal–dual iterates for the SVM, one for each Newton step.

        min Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²

    The proximal point method on the dual: each round maximises D(α) − ν Σ (αᵢ − cᵢ)²/sᵢ, c being
    the α of the round before. In θ that is the primal with a hinge that a parabola rounds off,

        αᵢ = sᵢ clip(cᵢ/sᵢ − eᵢ/2ν, 0, 1),      eᵢ = yᵢ(θ·xᵢ + θ₀) − 1,      λθ = Σ αᵢyᵢxᵢ,

    whose second derivative sees only the rows with 0 < αᵢ < sᵢ: a Newton step costs a Gram matrix
    over those few, and two passes over X. The line search is exact. This is the method of Li,
    Sun and Toh 2018 (SSNAL) for the SVM. Departures: ν shrinks from round to round while θ is
    still far off; a tenth of the rows is solved first, roughly, for the start. With `bias_scale`
    = c the bias is penalised by (λ/2)(θ₀/c)².
    Invariant: 0 ≤ α ≤ s; `primal` is P, and `dual` the dual value of α if Σ αᵢyᵢ = 0 is demanded
    and holds. Cost: O(nnz) and O(md²) a step, m being the rows with 0 < αᵢ < sᵢ.
    """
    bias = 1.0 if bias_scale else bias
    anchor = lam / bias_scale**2 if bias_scale else 0.0
    if start is None:
        start = _from_a_sample(X, y, weights, lam, bias, bias_scale)
    rows = _Rows(as_design(X), y, weights, each)
    nu = SMOOTHING if start is None else SMOOTHING_FROM_START
    theta, theta0 = np.zeros(X.shape[1]), 0.0
    if start is not None:
        theta, theta0 = np.asarray(start.theta, dtype=np.float64), bias * start.theta0
    point = rows.begin(theta, theta0, nu)
    while True:
        iterate = _iterate(point, rows, lam, anchor)
        yield iterate
        slope0 = bias * (anchor * point.theta0 - point.balance)
        gradient = np.append(lam * point.theta - point.combination, slope0)
        solve = factorised(rows.hessian(point, nu, lam, bias, anchor))
        if solve is None:
            return
        step = solve(-gradient)
        gap = iterate.primal - iterate.dual
        if gradient[:-1] @ gradient[:-1] <= lam * gap and abs(slope0) <= 0.1 * gap:
            # The gap is what rounding the hinge off costs, no longer what θ lacks.
            rows.recentre()
            nu = max(SHARPER * nu, SHARPEST)
            point = rows.respond(point.theta, point.theta0, nu)
            continue
        length = rows.search(point, step, nu, lam, bias, anchor)
        if not length > 0.0:
            return  # rounding has the upper hand
        point = rows.move(point, step, length, nu, bias)


def _from_a_sample(
    X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float, bias_scale: float
) -> Start | None:
    """A rough solution for a part of the rows, which does the same in its turn."""
    n, d = X.shape
    size = int(SAMPLE * n)
    if size < max(FEWEST, FEWEST_BY_FEATURE * d):
        return None
    some = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    if not (y[some] > 0).any() or not (y[some] < 0).any():
        return None
    share = weights[some] / weights[some].sum()
    for iterate in semismooth_newton(X[some], y[some], share, lam, bias, bias_scale):
        if iterate.primal - iterate.dual <= SAMPLE_GAP * iterate.primal:
            break
    return Start(iterate.alpha, iterate.theta0, iterate.theta)


def _iterate(point: _Point, rows: _Rows, lam: float, anchor: float) -> Iterate:
    penalty = 0.5 * (lam * float(point.theta @ point.theta) + anchor * point.theta0**2)
    cost = 0.5 * float(point.combination @ point.combination) / lam
    if anchor:
        cost += 0.5 * point.balance**2 / anchor
    alpha = rows.state.weights * rows.state.part
    return Iterate(point.theta, point.theta0, alpha, point.loss + penalty, point.total - cost)


class _Rows:
    """The rows and what is known of them, gone over in spans."""

    def __init__(self, rows: Any, y: FloatArray, weights: FloatArray, each: Each) -> None:
        self.rows, self.each = rows, each
        n, d = n_vectors(rows), n_features(rows)
        self.n_features = d
        self.state = RowState(y, weights, np.full(n, 0.5), *(np.empty(n) for _ in range(3)))
        cuts = np.linspace(0, n, min(SPANS, n) + 1).astype(int)
        self.spans = [slice(a, b) for a, b in pairwise(cuts)]
        filled = 1.0 if isinstance(rows, Dense) else len(rows.data) / max(1, n * d)
        self.entry_by_entry = filled < FEW_ENTRIES

    def begin(self, theta: FloatArray, theta0: float, nu: float) -> _Point:
        """The point that belongs to θ."""
        self._look_along(theta, theta0)
        np.subtract(self.state.turn, 1.0, out=self.state.excess)
        return self.respond(theta, theta0, nu)

    def recentre(self) -> None:
        """Begins another round."""
        self.state.centre[:] = self.state.part

    def respond(self, theta: FloatArray, theta0: float, nu: float) -> _Point:
        """α and all the sums for an e that is known."""

        def one(span: slice) -> tuple[IntArray, FloatArray, float, float, float]:
            curved = np.empty(span.stop - span.start, dtype=np.int64)
            combination = np.zeros(self.n_features)
            count, loss, total, balance = respond(
                self.rows, self.state, nu, span.start, span.stop, curved, combination
            )
            return curved[:count].copy(), combination, loss, total, balance

        parts = list(self.each(one, self.spans))
        combination = np.sum([part[1] for part in parts], axis=0)
        loss, total, balance = (float(sum(part[k] for part in parts)) for k in (2, 3, 4))
        curved = [part[0] for part in parts]
        return _Point(theta, theta0, combination, balance, loss, total, curved)

    def hessian(
        self, point: _Point, nu: float, lam: float, bias: float, anchor: float
    ) -> FloatArray:
        """λI + Σ sᵢxᵢxᵢᵀ/2ν over the curved rows, with the bias as the last line."""
        d = self.n_features
        gram, border, total = np.zeros((d, d)), np.zeros(d), 0.0
        for part in self.each(self._gram, point.curved):
            gram, border, total = gram + part[0], border + part[1], total + part[2]
        system = np.empty((d + 1, d + 1))
        system[:d, :d] = gram / (2.0 * nu)
        system[np.arange(d), np.arange(d)] += lam
        system[d, :d] = system[:d, d] = bias * border / (2.0 * nu)
        # A bias that no curved row holds is held a little by itself.
        system[d, d] = anchor + max(total, 1e-6) / (2.0 * nu) if bias else 1.0
        return system

    def _gram(self, curved: IntArray) -> tuple[FloatArray, FloatArray, float]:
        """The lower triangle of Σ sᵢxᵢxᵢᵀ, or all of it."""
        d = self.n_features
        gram, border, weights = np.zeros((d, d)), np.zeros(d), self.state.weights
        if self.entry_by_entry:
            return gram, border, add_weighted_gram(self.rows, weights, curved, gram, border)
        size = int(np.clip(BLOCK_BYTES // (8 * d), 256, 8192))
        scaled = np.empty((min(size, len(curved)), d))
        total = 0.0
        for first in range(0, len(curved), size):
            some = curved[first : first + size]
            total += scale_rows(self.rows, weights, some, scaled[: len(some)], border)
            gram += scaled[: len(some)].T @ scaled[: len(some)]
        return gram, border, total

    def search(
        self, point: _Point, step: FloatArray, nu: float, lam: float, bias: float, anchor: float
    ) -> float:
        """The step length with the least smoothed objective: where its derivative is zero."""
        theta, theta0 = step[:-1], bias * float(step[-1])
        self._look_along(theta, theta0)
        fixed = lam * float(point.theta @ theta) + anchor * point.theta0 * theta0
        linear = lam * float(theta @ theta) + anchor * theta0**2

        def derivative(length: float) -> float:
            parts = self.each(
                lambda span: slope(self.state, nu, length, span.start, span.stop), self.spans
            )
            return fixed + length * linear - float(sum(parts))

        return _zero(derivative)

    def move(
        self, point: _Point, step: FloatArray, length: float, nu: float, bias: float
    ) -> _Point:
        """The point after the step."""
        self.state.excess[:] += length * self.state.turn
        theta = point.theta + length * step[:-1]
        return self.respond(theta, point.theta0 + length * bias * float(step[-1]), nu)

    def _look_along(self, theta: FloatArray, theta0: float) -> None:
        def one(span: slice) -> None:
            look_along(self.rows, self.state, theta, theta0, span.start, span.stop)

        list(self.each(one, self.spans))


def _zero(derivative: Callable[[float], float]) -> float:
    """Where an increasing function that begins below zero comes close to it, tried at 1 first."""
    low, at_low = 0.0, derivative(0.0)
    if not at_low < 0.0:
        return 0.0
    high, at_high = 1.0, derivative(1.0)
    for _ in range(30):
        if abs(at_high) <= 0.1 * abs(at_low) or (at_high < 0.0 and high >= 16.0):
            return high
        if at_high < 0.0:
            low, high = high, 4.0 * high
            at_high = derivative(high)
            continue
        break
    slope0 = abs(derivative(0.0))
    for _ in range(30):
        middle = low - at_low * (high - low) / (at_high - at_low)
        middle = min(max(middle, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        value = derivative(middle)
        if abs(value) <= 0.1 * slope0:
            return middle
        if value < 0.0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return low
