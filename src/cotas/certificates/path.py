"""What fits at a few λ prove of the optimum at every λ between them.

A feasible α is feasible for every λ: neither its box nor Σ αᵢyᵢ = 0 knows of λ. Take a model
(θ, θ₀), such an α, any 0 ≤ c ≤ 1, and write u = 1/λ, v = c Σ αᵢyᵢxᵢ, A = c Σ αᵢ, R = Σ sᵢHᵢ.
The primal is λ-strongly convex in θ and the dual in Σ αᵢyᵢxᵢ, so for the optimum θ* at λ

    ‖θ − θ*‖² + ‖uv − θ*‖²  ≤  2u(P − D),

which is a ball around m = (θ + uv)/2 with the squared radius

    ρ²(u) = ‖θ‖²/4 + (R − A + θ·v/2)u + ‖v‖²u²/4.

m is linear in u and ρ² convex, so over an interval both are bounded by their values at its ends.
`docs/theory/svm-path.md` has the proofs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.duality import DualPoint
from cotas.certificates.old_survey import DualSurvey
from cotas.certificates.prediction import quantile
from cotas.certificates.sweep import EPS, Block, Facts, Sweep, Tally, gather_facts
from cotas.losses import Hinge


@dataclass(frozen=True, eq=False)
class ValidationBound:
    """A lower bound on the validation error of the exact optimum, for every λ of a range.

    Attributes
    ----------
    lams : array
        The λ of the fits, falling.
    lower : array, one entry shorter
        The optimum at any λ between two neighbours has at least this validation error.
    pieces : array of int
        Into how many parts each interval was cut to prove it.
    n_rows : int
        How many validation examples there are.
    """

    lams: FloatArray
    lower: FloatArray
    pieces: IntArray
    n_rows: int

    @property
    def error(self) -> float:
        """No optimum at any λ of the whole range has a validation error below this."""
        return float(self.lower.min())

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: an error is never below zero."""
        return self.error <= 0.0


class _Rows(NamedTuple):
    """Rows as one class of one fit sees them: θ·x, (Σ αᵢyᵢxᵢ)·x and ‖x‖."""

    along_theta: FloatArray
    along_v: FloatArray
    lengths: FloatArray


@dataclass(frozen=True, eq=False)
class Outlook:
    """All that one class of one fit proves of the optimum at other λ.

    Attributes
    ----------
    risk, total : R = Σ sᵢHᵢ and Σ αᵢ, α being feasible
    square, product, v_square : ‖θ‖², θ·v and ‖v‖² with v = Σ αᵢyᵢxᵢ
    signs, weights, train : the training rows, which the bias depends on
    rows : the validation rows
    """

    risk: float
    total: float
    square: float
    product: float
    v_square: float
    free_bias: bool
    signs: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    train: _Rows = field(repr=False)
    rows: _Rows = field(repr=False)

    def scores(self, least: float, most: float) -> tuple[FloatArray, FloatArray]:
        """What the optimum at any λ with least ≤ 1/λ ≤ most can give to each validation row."""
        c = self._multiple(least, most)
        radius = math.sqrt(max(self._square_radius(u, c) for u in (least, most)))
        low, high = self._without_bias(self.rows, least, most, c, radius)
        if not self.free_bias:
            return low, high
        # The best bias is a quantile of the corners yᵢ − θ*·xᵢ, and rises with them.
        lowest, highest = self._without_bias(self.train, least, most, c, radius)
        level = float(self.weights[self.signs > 0].sum())
        low_bias = quantile(self.signs - highest, self.weights, level, lower=True)
        high_bias = quantile(self.signs - lowest, self.weights, level)
        return low + low_bias, high + high_bias

    def _square_radius(self, u: float, c: float) -> float:
        slope = self.risk - c * self.total + 0.5 * c * self.product
        value = 0.25 * self.square + slope * u + 0.25 * self.v_square * (c * u) ** 2
        terms = (self.risk + self.total + abs(self.product)) * u + self.v_square * u**2
        rounding = 64 * EPS * math.sqrt(len(self.weights)) * (self.square + terms)
        return max(value, 0.0) + rounding

    def _multiple(self, least: float, most: float) -> float:
        """A good c; any between 0 and 1 is valid."""
        fall = 2 * self.total - self.product
        curved = [self.v_square * u for u in (least, most)]
        choices = [1.0, *(min(1.0, max(0.0, fall / size)) for size in curved if size > 0)]
        worst = [max(self._square_radius(u, c) for u in (least, most)) for c in choices]
        return choices[int(np.argmin(worst))]

    def _without_bias(
        self, rows: _Rows, least: float, most: float, c: float, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """θ*·x for each row: between the smaller and the larger m·x of the two ends, ± ρ‖x‖."""
        ends = [0.5 * (rows.along_theta + c * u * rows.along_v) for u in (least, most)]
        longest = math.sqrt(self.square) + most * math.sqrt(self.v_square)
        # Rounding of the products themselves, generously.
        room = (radius + 1e-12 * longest) * rows.lengths
        return np.minimum(*ends) - room, np.maximum(*ends) + room


def outlooks(
    certificates: Sequence[Certificate],
    X: Matrix,
    y: AnyArray,
    X_val: Matrix,
    y_val: AnyArray,
    facts: Facts | None = None,
) -> list[Outlook]:
    """One for each class of a fit, every number computed from the data and the witnesses."""
    points = [c.witness for c in certificates if isinstance(c.witness, DualPoint)]
    if len(points) < len(certificates) or not all(_is_soft_margin(p) for p in points):
        raise ValueError("Only a soft margin with a free bias or none has a path over λ.")
    survey = DualSurvey(points, X, y, facts, map)
    found = [survey.feasible(c) for c in range(len(points))]
    directions = [point.coef for point in points] + [v for _, v, _ in found]
    positives = [point.positive for point in points]
    train, signs = _seen(X, y, positives, directions)
    rows, _ = _seen(X_val, y_val, positives, directions)
    n = len(signs)
    return [
        Outlook(
            risk=float(survey.found["sum risk"][c]),
            total=found[c][0],
            square=float(point.coef @ point.coef),
            product=float(point.coef @ found[c][1]),
            v_square=float(found[c][1] @ found[c][1]),
            free_bias=point.problem.free_bias,
            signs=signs[:, c],
            weights=np.full(n, 1.0 / n) if point.weights is None else point.weights,
            train=train[c],
            rows=rows[c],
        )
        for c, point in enumerate(points)
    ]


def _is_soft_margin(point: DualPoint) -> bool:
    return isinstance(point.problem.loss, Hinge) and not point.problem.bias_scale


def _seen(
    X: Matrix, y: AnyArray, positives: list[object], directions: list[FloatArray]
) -> tuple[list[_Rows], FloatArray]:
    """The rows as each class sees them, and their labels as ±1."""
    sweep = Sweep(X, y, positives, np.stack(directions, axis=1))
    n, k = sweep.X.shape[0], len(positives)
    products, lengths, signs = np.empty((2 * k, n)), np.empty(n), np.empty((n, k))

    def read(block: Block) -> Tally:
        products[:, block.span] = block.products.T
        lengths[block.span], signs[block.span] = block.norms(), block.signs
        return {}

    sweep.tally(read)
    return [_Rows(products[c], products[k + c], lengths) for c in range(k)], signs


def certainly_wrong(
    fits: Sequence[Sequence[Outlook]], codes: IntArray, least: float, most: float
) -> BoolArray:
    """Which validation rows the optimum at every λ with least ≤ 1/λ ≤ most gets wrong.

    `codes` are the positions of the true labels among the classes. Each of the fits encloses the
    scores of the optimum, so they lie in all the enclosures.
    """
    bounds = [[outlook.scores(least, most) for outlook in fit] for fit in fits]
    low = np.max([[one[0] for one in fit] for fit in bounds], axis=0)
    high = np.min([[one[1] for one in fit] for fit in bounds], axis=0)
    if len(low) == 1:
        return np.asarray(np.where(codes == 1, high[0] <= 0, low[0] > 0))
    own = np.take_along_axis(high, codes[None, :].astype(np.intp), axis=0)[0]
    np.put_along_axis(low, codes[None, :].astype(np.intp), -np.inf, axis=0)
    return np.asarray(low.max(axis=0) > own)


def bound_between(
    fits: Sequence[Sequence[Outlook]],
    lams: tuple[float, float],
    codes: IntArray,
    pieces: int,
    enough: int,
) -> tuple[int, int]:
    """At least so many validation rows are wrong for every λ of the interval, and its pieces.

    The piece with the smallest count is halved until there are `pieces`, or until all of them
    prove `enough`.
    """

    def piece(low: float, high: float) -> tuple[int, float, float]:
        return int(certainly_wrong(fits, codes, 1.0 / high, 1.0 / low).sum()), low, high

    parts = [piece(min(lams), max(lams))]
    while len(parts) < pieces and parts[0][0] < enough:
        _, low, high = heapq.heappop(parts)
        middle = math.sqrt(low * high)
        if not low < middle < high:
            heapq.heappush(parts, piece(low, high))
            break
        heapq.heappush(parts, piece(low, middle))
        heapq.heappush(parts, piece(middle, high))
    return parts[0][0], len(parts)


def bound_validation_error(
    certificates: Sequence[Sequence[Certificate]],
    X: Matrix,
    y: AnyArray,
    X_val: Matrix,
    y_val: AnyArray,
    classes: AnyArray,
    pieces: int = 64,
    enough: int | None = None,
) -> ValidationBound:
    """The bound that the certificates of fits along falling λ prove together.

    Parameters
    ----------
    certificates : for each λ the certificates of its classes; their witnesses carry λ
    X, y : the training data
    X_val, y_val : the validation data
    classes : the labels in order, as the models know them
    pieces : the most parts that an interval is cut into
    enough : so many errors need not be exceeded; all of them if None
    """
    y_val = np.asarray(y_val)
    if not np.isin(y_val, classes).all():
        raise ValueError("y_val holds labels that are not among the classes.")
    codes = np.searchsorted(classes, y_val)
    n_rows = len(y_val)
    lams = np.array([_lam(group) for group in certificates])
    if len(lams) < 2 or not (np.diff(lams) < 0).all():
        raise ValueError("A path takes two values of λ or more, falling.")
    positives = [c.witness.positive for c in certificates[0]]  # type: ignore[union-attr]
    facts = gather_facts(X, y, positives)
    counts, parts = [], []
    before = outlooks(certificates[0], X, y, X_val, y_val, facts)
    for k in range(1, len(lams)):
        here = outlooks(certificates[k], X, y, X_val, y_val, facts)
        ends = (float(lams[k]), float(lams[k - 1]))
        goal = n_rows if enough is None else enough
        count, used = bound_between([before, here], ends, codes, pieces, goal)
        counts.append(count)
        parts.append(used)
        before = here
    return ValidationBound(lams, np.array(counts) / n_rows, np.array(parts), n_rows)


def _lam(certificates: Sequence[Certificate]) -> float:
    point = certificates[0].witness
    if not isinstance(point, DualPoint):
        raise ValueError("Only a soft margin has a path over λ.")
    return point.problem.lam
