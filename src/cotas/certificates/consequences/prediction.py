"""Where the exact optimum must lie, and which predictions it therefore shares.

A gap of g proves ‖θ − θ*‖ ≤ r = √(2g/λ), with a free bias too: P minimized over θ₀ is still
λ-strongly convex in θ. So θ*·x differs from θ·x by at most r‖x‖, and a free bias lies between the
best biases for the scores so lowered and so raised. Moving all rows by one vector changes nothing
but the free bias, so lengths are measured from the middle of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.consequences.biases import best_biases, outer
from cotas.certificates.core.choices import FAR, in_columns, means
from cotas.certificates.core.rounding import above, up
from cotas.certificates.core.rows import Rows
from cotas.certificates.duality import DualPoint
from cotas.certificates.passes import (
    as_double,
    as_rows,
    class_signs,
    outwards,
    products,
    read_span,
    refuse_other_features,
    refuse_other_rows,
    row_lengths,
    spans_of,
)
from cotas.losses import Hinge


def centre_of(X: Matrix, rows: int = 1000) -> FloatArray | None:
    """Return a vector in the middle of about so many rows, if one of its columns is far from zero.

    Of sparse rows none: they would be filled.
    """
    if sparse.issparse(X):
        return None
    some = in_columns(X[:: max(1, X.shape[0] // rows)])
    with np.errstate(over="ignore", invalid="ignore"):
        middle = means(some)
        far = np.abs(middle) > FAR * means(np.abs(some - middle[:, None]))
    return middle if far.any() and np.isfinite(middle).all() else None


@dataclass(frozen=True)
class Region:
    """The set of all (θ*, θ₀*) that can be optimal: a ball around θ and an interval for the bias.

    The bias is that of rows seen from `centre`: θ*·(x − centre) + bias. Without a centre it is
    θ₀* itself.
    """

    theta: FloatArray
    radius: float
    lowest_bias: float
    highest_bias: float
    centre: FloatArray | None = None

    def scores(self, X: Matrix) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest θ*·x + θ₀* that an optimum can give to each row."""
        ball = self.theta[:, None], np.array([self.radius])
        values, room = around(as_double(X), self.centre, *ball)
        return outer(values[:, 0], room[:, 0], (self.lowest_bias, self.highest_bias))


def around(
    rows: Matrix, centre: FloatArray | None, thetas: FloatArray, radii: FloatArray,
    lengths: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Compute θ·x for each column θ, and how far θ*·x can be from it if θ* is within its radius.

    Rows are seen from the centre, each entry rounded once; ‖x‖ is computed unless it is known.
    """
    rows = rows if centre is None else rows - centre
    lengths = row_lengths(rows) if lengths is None else lengths
    values, off = products(rows, thetas, lengths)
    with np.errstate(over="ignore", invalid="ignore"):
        room = outwards(lengths[:, None] * radii + off)
    return values, np.where(np.isnan(room), math.inf, room)


def optimum_region(certificate: Certificate, X: Matrix, y: AnyArray) -> Region | None:
    """Return the region that a duality certificate proves, from its data; None if none."""
    return optimum_regions([certificate], X, y)[0]


def optimum_regions(
    certificates: Sequence[Certificate], X: Matrix, y: AnyArray, rows: Rows | None = None
) -> list[Region | None]:
    """Return the regions of several classes of one fit, the data being read for all at once.

    `rows` are X as the core has measured it already.
    """
    regions = [_ball(certificate) for certificate in certificates]
    open_ones = [k for k, region in enumerate(regions) if region and region.highest_bias > 0]
    if not open_ones:
        return regions
    points: list[Any] = [certificates[k].witness for k in open_ones]
    balls = [cast(Region, regions[k]) for k in open_ones]
    thetas = np.array([ball.theta for ball in balls]).T
    X, signs = as_rows(X), class_signs(np.asarray(y), [point.positive for point in points])
    refuse_other_features(X.shape[1], len(thetas))
    refuse_other_rows(X.shape[0], *signs.T)
    centre, radii = centre_of(X), np.array([ball.radius for ball in balls])
    each, lengths = map if rows is None else rows.each, None
    if rows is not None and rows.plain and rows.shift is None and centre is None:
        lengths = rows.lengths
    lowest, highest = np.empty((2, *signs.shape))

    def read(span: slice) -> None:
        known = None if lengths is None else lengths[span]
        values, room = around(read_span(X, span), centre, thetas, radii, known)
        corners = signs[span] - values
        room = outwards(room + np.abs(corners) * 2.0**-53)
        lowest[span], highest[span] = outer(corners, room)

    list(each(read, spans_of(X)))
    for c, (k, ball, point) in enumerate(zip(open_ones, balls, points, strict=True)):
        bias = best_biases(lowest[:, c], highest[:, c], signs[:, c] > 0, point.weights)
        regions[k] = Region(ball.theta, ball.radius, *bias, centre)
    return regions


def _ball(certificate: Certificate) -> Region | None:
    """Return what is proved of θ*; the bias is zero, or anything where it is free."""
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
