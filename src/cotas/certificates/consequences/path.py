"""What fits at a few λ prove of the optimum at every λ between them.

Neither the box 0 ≤ αᵢ ≤ sᵢ nor anything else here knows of λ. Take a model (θ, θ₀), such an α, any
0 ≤ c ≤ 1, and write u = 1/λ, v ≈ Σ αᵢyᵢxᵢ, A = Σ αᵢ, R = Σ sᵢHᵢ. At the optimum (θ*, θ₀*) of λ

    P ≥ P* + (λ/2)‖θ − θ*‖²,    P* ≥ c(A − v·θ* − e) + (λ/2)‖θ*‖²,

e being what rounding adds: ‖v − Σ αᵢyᵢxᵢ‖·‖θ*‖ + |Σ αᵢyᵢ|·|θ₀*|, with ‖θ*‖ ≤ √2u, since P(0) = 1,
and |θ₀*| ≤ 1 + ‖θ*‖ max‖xᵢ‖. Added up, they are a ball around m = (θ + cuv)/2 of squared radius

    ρ²(u) = ‖θ‖²/4 + (R − cA + cθ·v/2 + ce)u + ‖cv‖²u²/4.

m is linear in u and ρ² convex, so over an interval both are bounded by their values at its ends.
`docs/theory/svm-path.md` has the proofs. With a free bias rows are seen from their middle.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.consequences.biases import best_biases, outer
from cotas.certificates.consequences.prediction import Region, centre_of
from cotas.certificates.core import rounding
from cotas.certificates.core.bounds import Bounds
from cotas.certificates.core.gap import Weights, all_bounds
from cotas.certificates.core.rounding import U, above, below, dot, gamma, norm_up, total_up, up
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.duality import DualPoint
from cotas.certificates.passes import (
    MORE,
    as_rows,
    outwards,
    refuse_other_features,
    row_lengths,
    rows_of,
)
from cotas.certificates.verification import SAME, same
from cotas.losses import Hinge
from cotas.refusals import ParameterError


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
        """Return the validation error below which no optimum at any λ of the whole range lies."""
        return float(self.lower.min())

    @property
    def vacuous(self) -> bool:
        """Tell whether it says nothing: an error is never below zero."""
        return self.error <= 0.0


class _Rows(NamedTuple):
    """Rows as one class of one fit sees them: θ·x, v·x and ‖x‖."""

    along_theta: FloatArray
    along_v: FloatArray
    lengths: FloatArray


@dataclass(frozen=True, eq=False)
class Outlook:
    """Bounds at other λ: all that one class of one fit proves of the optimum at other λ, each
    number on its safe side.

    Attributes
    ----------
    risk, total : R rounded up, A rounded down
    theta, v : the two vectors
    off, slip : ‖v − Σ αᵢyᵢxᵢ‖ and |Σ αᵢyᵢ|, rounded up
    positive, weights, train : the training rows, which a free bias depends on
    rows : the validation rows
    """

    risk: float
    total: float
    theta: FloatArray = field(repr=False)
    v: FloatArray = field(repr=False)
    off: float
    slip: float
    free_bias: bool
    positive: BoolArray = field(repr=False)
    weights: FloatArray | None = field(repr=False)
    train: _Rows = field(repr=False)
    rows: _Rows = field(repr=False)

    @cached_property
    def _dots(self) -> list[tuple[float, float]]:
        """Compute ‖θ‖², θ·v and ‖v‖², each with how far it may be off."""
        return [dot(self.theta, self.theta), dot(self.theta, self.v), dot(self.v, self.v)]

    @cached_property
    def _sizes(self) -> tuple[float, float, float]:
        """Compute ‖θ‖, ‖v‖ and the longest training row, rounded up."""
        longest = float(self.train.lengths.max(initial=0.0))
        return norm_up(self.theta), norm_up(self.v), longest

    def scores(self, least: float, most: float, room: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return what the optimum at any λ with least ≤ 1/λ ≤ most can give to each validation row.

        With `room` for so large a part of them that another order of sums could not leave it.
        """
        c = self._multiple(least, most)
        square = max(self._square_radius(u, c) for u in (least, most))
        radius = above(math.sqrt(square)) if square < math.inf else math.inf
        theta, v, _ = self._sizes
        radius = above(radius + room * (radius + theta + most * v), 4)
        low, high = self._without_bias(self.rows, least, most, c, radius)
        if not self.free_bias:
            return low, high
        lowest, highest = self._without_bias(self.train, least, most, c, radius)
        signs = np.where(self.positive, 1.0, -1.0)
        corners = np.nextafter(signs - highest, -math.inf), np.nextafter(signs - lowest, math.inf)
        ends = best_biases(*corners, self.positive, self.weights)
        return np.nextafter(low + ends[0], -math.inf), np.nextafter(high + ends[1], math.inf)

    def _square_radius(self, u: float, c: float) -> float:
        """Compute ρ²(u), rounded up; infinite where it overflows."""
        (square, off), (product, cross), (v_square, v_off) = self._dots
        reach = above(math.sqrt(2.0 * u), 2)
        bias = up(1.0 + up(reach * self._sizes[2]))
        terms = [0.25 * square, self.risk * u, -c * self.total * u, 0.5 * c * u * product]
        terms += [0.25 * v_square * (c * u) * (c * u), (self.off * reach + self.slip * bias) * u]
        offs = [0.25 * off, 0.5 * u * cross, 0.25 * v_off * u * u]
        rounding = gamma(32) * sum(map(abs, (*terms, *offs)))
        value = total_up([*terms, *offs, above(rounding)]) if math.isfinite(rounding) else math.inf
        return max(value, 0.0)

    def _multiple(self, least: float, most: float) -> float:
        """Return a good c; any between 0 and 1 is valid."""
        product, v_square = self._dots[1][0], self._dots[2][0]
        fall = 2 * self.total - product
        curved = [v_square * u for u in (least, most)]
        choices = [1.0, *(min(1.0, max(0.0, fall / size)) for size in curved if size > 0)]
        worst = [max(self._square_radius(u, c) for u in (least, most)) for c in choices]
        return choices[int(np.argmin(worst))]

    def _without_bias(
        self, rows: _Rows, least: float, most: float, c: float, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """Enclose θ*·x of each row: between the m·x of the two ends, and ± ρ‖x‖."""
        theta, v, _ = self._sizes
        # The products are off by γ times the lengths of both factors, and so is their sum.
        off = above(gamma(len(self.theta) + 2 * MORE) * (theta + most * v), 3)
        if not math.isfinite(radius + off):
            return np.full(len(rows.lengths), -math.inf), np.full(len(rows.lengths), math.inf)
        ends = [0.5 * (rows.along_theta + c * u * rows.along_v) for u in (least, most)]
        room = outwards(up(radius + off) * rows.lengths)
        return outer(np.minimum(*ends), room)[0], outer(np.maximum(*ends), room)[1]


def outlooks(
    certificates: Sequence[Certificate], X: Matrix, y: AnyArray, X_val: Matrix
) -> list[Outlook]:
    """Return one for each class of a fit, every number computed from the data and the witnesses."""
    return [_outlook(point, X, y, X_val) for point in _points(certificates)]


def _points(certificates: Sequence[Certificate]) -> list[DualPoint]:
    """Return the witnesses of a fit, if there is a path over λ."""
    points = [c.witness for c in certificates if isinstance(c.witness, DualPoint)]
    problems = [point.problem for point in points]
    soft = all(
        isinstance(one.loss, Hinge) and not (one.bias_scale or one.l1_ratio) for one in problems
    )
    if len(points) < len(certificates) or not soft:
        raise ValueError("Only a soft margin with a free bias or none has a path over λ.")
    return points


def _refuse_others(fits: Sequence[Sequence[DualPoint]], classes: AnyArray) -> None:
    """Raise unless these are fits of one problem but for λ, a point for each class in order.

    Of two classes there is one point, for the second.
    """
    if not np.array_equal(np.unique(classes), classes):
        raise ValueError("The classes must be in order, and each named once.")
    named, first = list(classes[1:] if len(classes) == 2 else classes), fits[0][0]
    for points in fits:
        alike = [point.positive for point in points] == named and all(
            same(point.problem, replace(first.problem, lam=points[0].problem.lam))
            and same(point.weights, first.weights)
            for point in points
        )
        if not alike:
            raise ValueError("The certificates are about other classes, weights or problems.")


def _outlook(point: DualPoint, X: Matrix, y: AnyArray, X_val: Matrix) -> Outlook:
    free, theta = point.problem.free_bias, point.coef
    rows, claim = rows_of(X, free), point._claim(np.asarray(y))
    centre = centre_of(rows.X) if free else None
    if centre is not None:
        rows = rows_in(rows.X, free, frame=rows.frame._replace(shift=centre))
    bounds, c, pull, _ = all_bounds(rows, [claim], point.weights)[0]
    risk, total, v, off, slip = math.inf, 0.0, np.zeros(len(theta)), math.inf, 0.0
    if isinstance(bounds, Bounds) and c is not None and pull is not None:
        w = Weights.of(point.weights, rows.n)
        # P without its penalty; c = −αy, in units of the sum of the weights.
        square, slack = dot(theta, theta)
        penalty = below(0.5 * point.problem.lam * max(0.0, square - slack), 8)
        risk, v = max(0.0, up(bounds.upper - penalty)), -pull.u / w.low
        total = max(0.0, below(rounding.total_down(np.abs(c)) / w.high, 2))
        loose = (w.high / w.low - 1.0 + 8 * U) * norm_up(v)
        off = above(float(pull.unit.max()) * pull.off / w.low + loose, 8)
        value, slack = rounding.total(c)
        slip = above((abs(value) + slack) / w.low, 4) if free else 0.0
    other = rows_in(as_rows(X_val), free, frame=rows.frame)
    seen = (_seen(part, np.stack([theta, v], axis=1)) for part in (rows, other))
    signs = claim.y > 0
    return Outlook(risk, total, theta, v, off, slip, free, signs, point.weights, *seen)


def _seen(rows: Rows, directions: FloatArray) -> _Rows:
    """Return the rows as a class sees them."""
    refuse_other_features(rows.d, len(directions))
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = map(rows.read, rows.spans)
        found = [(np.asarray(block @ directions), row_lengths(block)) for block in blocks]
    along, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return _Rows(along[:, 0], along[:, 1], lengths)


def certainly_wrong(
    fits: Sequence[Sequence[Outlook]], codes: IntArray, least: float, most: float, room: float = 0.0
) -> BoolArray:
    """Tell which validation rows the optimum at every λ with least ≤ 1/λ ≤ most gets wrong.

    `codes` are the positions of the true labels among the classes. Each of the fits encloses the
    scores of the optimum, so they lie in all the enclosures.
    """
    bounds = [[outlook.scores(least, most, room) for outlook in fit] for fit in fits]
    low = np.max([[one[0] for one in fit] for fit in bounds], axis=0)
    high = np.min([[one[1] for one in fit] for fit in bounds], axis=0)
    return _wrong(low, high, codes)


def _wrong(low: FloatArray, high: FloatArray, codes: IntArray) -> BoolArray:
    """Tell which rows are wrong with any scores between two arrays of them, a row for each class.

    Of two classes there is one row, the score of the second.
    """
    if len(low) == 1:
        return np.asarray(np.where(codes == 1, high[0] <= 0, low[0] > 0))
    index = codes[None, :].astype(np.intp)
    others = low.copy()
    np.put_along_axis(others, index, -np.inf, axis=0)
    return np.asarray(others.max(axis=0) > np.take_along_axis(high, index, axis=0)[0])


def counts_of_errors(
    coef: FloatArray, intercept: FloatArray, X: Matrix, codes: IntArray
) -> tuple[int, int]:
    """Bound a linear model's number of wrong rows, whatever rounding does to a score.

    A row and a number for each class, or those of the second of two.
    """
    regions = (Region(theta, 0.0, b, b) for theta, b in zip(coef, intercept, strict=True))
    low, high = np.array([region.scores(X) for region in regions]).transpose(1, 0, 2)
    # With all scores at their worst ends those rows are wrong that may be.
    sure, possible = _wrong(low, high, codes), _wrong(high, low, codes)
    return int(np.count_nonzero(sure)), int(np.count_nonzero(possible))


def bound_between(
    fits: Sequence[Sequence[Outlook]],
    lams: tuple[float, float],
    codes: IntArray,
    pieces: int,
    fewest_errors: int,
    room: float = 0.0,
) -> tuple[int, int]:
    """Count validation rows that are wrong for every λ of the interval, at least, and its pieces.

    The piece with the smallest count is halved until there are `pieces`, or until all of them
    prove `fewest_errors`.
    """

    def piece(low: float, high: float) -> tuple[int, float, float]:
        found = certainly_wrong(fits, codes, 1.0 / high, 1.0 / low, room)
        return int(np.count_nonzero(found)), low, high

    parts = [piece(min(lams), max(lams))]
    while len(parts) < pieces and parts[0][0] < fewest_errors:
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
    fewest_errors: int | IntArray | None = None,
    room: float = SAME,
) -> ValidationBound:
    """Return the bound that the certificates of fits along falling λ prove together.

    Parameters
    ----------
    certificates : for each λ the certificates of its classes; their witnesses carry λ
    X, y : the training data
    X_val, y_val : the validation data
    classes : the labels in order, as the models know them
    pieces : the most parts that an interval is cut into
    fewest_errors : so many errors need not be exceeded, in each interval; all of them if None
    room : the part of a score that is left to rounding: with none at all, whatever is proved here
        with some is proved again, in any order of sums
    """
    y_val, classes = np.asarray(y_val), np.asarray(classes)
    if not np.isin(y_val, classes).all():
        raise ParameterError("y_val", "y_val holds labels that are not among the classes.")
    codes = np.searchsorted(classes, y_val)
    n_rows = len(y_val)
    fits = [_points(group) for group in certificates]
    lams = np.array([points[0].problem.lam for points in fits])
    if len(lams) < 2 or not (np.diff(lams) < 0).all():
        raise ParameterError("lams", "A path takes two values of λ or more, falling.")
    _refuse_others(fits, classes)
    goals = np.broadcast_to(n_rows if fewest_errors is None else fewest_errors, len(lams) - 1)
    found, before = [], outlooks(certificates[0], X, y, X_val)
    for k, goal in enumerate(goals, start=1):
        here = outlooks(certificates[k], X, y, X_val)
        ends = (float(lams[k]), float(lams[k - 1]))
        found.append(bound_between([before, here], ends, codes, pieces, goal, room))
        before = here
    counts, parts = np.array(found).T
    return ValidationBound(lams, counts / n_rows, parts, n_rows)
