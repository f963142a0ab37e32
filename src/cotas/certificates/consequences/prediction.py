"""Where the exact optimum must lie, and which predictions it therefore shares.

A gap of g proves ‖θ − θ*‖ ≤ r = √(2g/λ), with a free bias too: P minimized over θ₀ is still
λ-strongly convex in θ. So θ*·x differs from θ·x by at most r‖x‖, and a free bias lies between the
best biases for the scores so lowered and so raised. Moving all rows by one vector changes nothing
but the free bias, so lengths are measured from the middle of the rows.

Σ wᵢ max(0, 1 − yᵢ(fᵢ + b)) is piecewise linear in b with the corners tᵢ = yᵢ − fᵢ, and its slope
beside b is the weight of the corners below b less W, the weight of all positive examples. So

    b is best   ⇔   Σ wᵢ over tᵢ < b   ≤   W   ≤   Σ wᵢ over tᵢ ≤ b,

a quantile of the corners. A quantile rises with its numbers: corners that are only known to lie
between two numbers put every best bias between the quantiles of the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.rounding import above, exact_sum, gamma, up
from cotas.certificates.core.rows import FAR, column_means
from cotas.certificates.duality import DualPoint
from cotas.certificates.sweep import Block, Sweep, Tally, as_double, outwards, products, row_lengths
from cotas.losses import Hinge


def centre_of(X: Matrix, rows: int = 1000) -> FloatArray | None:
    """A vector in the middle of about so many rows, if one of its columns is far from zero.

    Of sparse rows none: they would be filled.
    """
    if sparse.issparse(X):
        return None
    some = np.asarray(X[:: max(1, X.shape[0] // rows)], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = column_means(some)
        far = np.abs(middle) > FAR * column_means(np.abs(some - middle))
    return middle if far.any() and np.isfinite(middle).all() else None


def shifted(rows: Matrix, centre: FloatArray | None) -> Matrix:
    """The rows as seen from the centre, each entry rounded once."""
    return rows if centre is None else rows - centre


@dataclass(frozen=True)
class Region:
    """All (θ*, θ₀*) that can be optimal: a ball around θ and an interval for the bias.

    The bias is that of rows seen from `centre`: θ*·(x − centre) + bias. Without a centre it is
    θ₀* itself.
    """

    theta: FloatArray
    radius: float
    lowest_bias: float
    highest_bias: float
    centre: FloatArray | None = None

    def scores(self, X: Matrix) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest θ*·x + θ₀* that an optimum can give to each row."""
        values, room = self.around(shifted(as_double(X), self.centre))
        return outer(values, room, (self.lowest_bias, self.highest_bias))

    def around(self, rows: Matrix) -> tuple[FloatArray, FloatArray]:
        """θ·x of rows seen from the centre, and how far θ*·x can be from it."""
        values, room = around(rows, self.theta[:, None], np.array([self.radius]))
        return values[:, 0], room[:, 0]


def around(rows: Matrix, thetas: FloatArray, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
    """θ·x for each column θ, and how far θ*·x can be from it if θ* is within its radius."""
    lengths = row_lengths(rows)
    values, off = products(rows, thetas, lengths)
    with np.errstate(over="ignore", invalid="ignore"):
        room = outwards(lengths[:, None] * radii + off)
    return values, np.where(np.isnan(room), math.inf, room)


def optimum_region(certificate: Certificate, X: Matrix, y: AnyArray) -> Region | None:
    """The region that a duality certificate proves, from the data it is about; None if none."""
    return optimum_regions([certificate], X, y)[0]


def optimum_regions(
    certificates: Sequence[Certificate], X: Matrix, y: AnyArray
) -> list[Region | None]:
    """The regions of several classes of one fit, the data being read for all at once."""
    regions = [_ball(certificate) for certificate in certificates]
    open_ones = [k for k, region in enumerate(regions) if region and region.highest_bias > 0]
    if not open_ones:
        return regions
    points: list[Any] = [certificates[k].witness for k in open_ones]
    balls = [cast(Region, regions[k]) for k in open_ones]
    thetas = np.array([ball.theta for ball in balls]).T
    sweep = Sweep(X, y, [point.positive for point in points], np.zeros((len(thetas), 0)))
    centre, radii = centre_of(sweep.X), np.array([ball.radius for ball in balls])
    lowest, highest = np.empty((2, sweep.X.shape[0], len(balls)))

    def read(block: Block) -> Tally:
        values, room = around(shifted(block.rows, centre), thetas, radii)
        corners = block.signs - values
        room = outwards(room + np.abs(corners) * 2.0**-53)
        lowest[block.span], highest[block.span] = outer(corners, room)
        return {}

    sweep.tally(read)
    for column, (k, ball, point) in enumerate(zip(open_ones, balls, points, strict=True)):
        positive, ends = sweep.y == point.positive, (lowest[:, column], highest[:, column])
        bias = best_biases(*ends, positive, point.weights)
        regions[k] = Region(ball.theta, ball.radius, *bias, centre)
    return regions


def _ball(certificate: Certificate) -> Region | None:
    """What is proved of θ*; the bias is zero, or anything where it is free."""
    point = certificate.witness
    if not isinstance(point, DualPoint) or not certificate.holds:
        return None
    if point.problem.bias_scale or point.problem.l1_ratio:
        return None
    gap = up(certificate.upper - certificate.lower)
    radius = above(math.sqrt(above(2.0 * gap / point.problem.lam, 3)))
    if not point.problem.free_bias:
        return Region(point.coef, radius, 0.0, 0.0)
    if not isinstance(point.problem.loss, Hinge):
        return None  # the best bias of another loss is no quantile
    return Region(point.coef, radius, -math.inf, math.inf)


# ---- the best biases of the hinge loss -----------------------------------------------------------


def best_biases(
    lowest: FloatArray, highest: FloatArray, positive: BoolArray, weights: FloatArray | None = None
) -> tuple[float, float]:
    """Between which every best bias lies, tᵢ being somewhere between lowestᵢ and highestᵢ.

    Equal weights are counted, which is exact. Sums of others are known up to γₙ, and each end is
    the outermost corner that they do not exclude. A class without weight leaves one end open.
    """
    if weights is not None:
        used = weights > 0
        lowest, highest, positive = lowest[used], highest[used], positive[used]
        given = weights[used]
        weights = given if len(given) and given.min() < given.max() else None
    k, n = int(np.count_nonzero(positive)), len(positive)
    if np.isnan(lowest).any() or np.isnan(highest).any():
        return -math.inf, math.inf
    low = _position(lowest, weights, positive, -1) if k else -1
    high = _position(highest, weights, positive, 1) if k < n else n
    return (
        -math.inf if low < 0 else float(np.partition(lowest, low)[low]),
        math.inf if high == n else float(np.partition(highest, high)[high]),
    )


def _position(
    corners: FloatArray, weights: FloatArray | None, positive: BoolArray, side: int
) -> int:
    """Which corner in rising order ends the best biases: the lower end (−1) or the upper one (1).

    They begin where the weights up to a corner reach W, and end where they exceed it.
    """
    if weights is None:
        k = int(np.count_nonzero(positive))
        return k - 1 if side < 0 else k
    with np.errstate(over="ignore"):
        up_to = np.cumsum(weights[np.argsort(corners, kind="stable")])
    level, slack = exact_sum(weights[positive]), up(2.0 * gamma(len(weights) + 4))
    if not (up_to[-1] < math.inf and level < math.inf):
        return -1 if side < 0 else len(corners)
    if side < 0:
        return int(np.searchsorted(up_to, level * (1.0 - slack)))
    return min(int(np.searchsorted(up_to, level * (1.0 + slack), side="right")), len(corners) - 1)


def outer(
    values: FloatArray, room: FloatArray, ends: tuple[Any, Any] | None = None
) -> tuple[FloatArray, FloatArray]:
    """values − room and values + room, each rounded outwards; with what is added at either end."""
    low, high = np.nextafter(values - room, -math.inf), np.nextafter(values + room, math.inf)
    if ends is None:
        return low, high
    return np.nextafter(low + ends[0], -math.inf), np.nextafter(high + ends[1], math.inf)
