"""Where the exact optimum must lie, and which predictions it therefore shares.

A gap of g proves ‖θ − θ*‖ ≤ r = √(2g/λ), with a free bias too: P minimized over θ₀ is still
λ-strongly convex in θ. So θ*·x differs from θ·x by at most r‖x‖, and a free bias lies between the
best biases (`bias.py`) for the scores so lowered and so raised. Moving all rows by one vector
changes nothing but the free bias, so lengths are measured from the middle of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.consequences.bias import best_biases, outer
from cotas.certificates.core.rounding import above, up
from cotas.certificates.duality import DualPoint
from cotas.certificates.enclosures import (
    as_double,
    centre_of,
    outwards,
    products,
    row_lengths,
    shifted,
)
from cotas.certificates.sweep import Block, Sweep, Tally
from cotas.losses import Hinge


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
        lengths = row_lengths(rows)
        values, off = products(rows, self.theta[:, None], lengths)
        with np.errstate(over="ignore", invalid="ignore"):
            room = outwards(self.radius * lengths + off[:, 0])
        return values[:, 0], np.where(np.isnan(room), math.inf, room)


def optimum_region(certificate: Certificate, X: Matrix, y: AnyArray) -> Region | None:
    """The region that a duality certificate proves, from the data it is about; None if none."""
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
    sweep = Sweep(X, y, [point.positive], np.zeros((len(point.coef), 1)))
    ball = Region(point.coef, radius, -math.inf, math.inf, centre_of(sweep.X))
    lowest, highest = np.empty((2, sweep.X.shape[0]))

    def read(block: Block) -> Tally:
        values, room = ball.around(shifted(block.rows, ball.centre))
        corners = block.signs[:, 0] - values
        room = outwards(room + np.abs(corners) * 2.0**-53)
        lowest[block.span], highest[block.span] = outer(corners, room)
        return {}

    sweep.tally(read)
    ends = best_biases(lowest, highest, sweep.y == point.positive, point.weights)
    return Region(point.coef, radius, *ends, ball.centre)
