"""The Lasso from products: many models of one data set, for which no row is read again.

G = Σ sᵢaᵢaᵢᵀ of `streamed.py` has a = (x, 1, y) less a centre m. With w = (θ, b + m·(θ, −1), −1)
residuals are r = a·w, so that Σ sr² = wᵀGw and Σ sra = Gw. The dual points are the multiples of
c = s(r − r̄), r̄ = Σ sr/S, whose sum is zero; without a bias those of sr. Weak duality then gives

    P = wᵀGw/2S + λ Σ wⱼ|θⱼ|,    min P ≥ − (tL + ½t²Q)/S    where t|uⱼ| ≤ λwⱼS for all j,

with L = Σ cy, Q = Σ c²/s and u = Xᵀc, all of them sums of entries of Gw. In the following each
vector has an entry for each model. Of true numbers |G − Ĝ|ᵢⱼ ≤ γgᵢgⱼ, gᵢ² ≥ Gᵢᵢ, so that an entry
of Ĝw is off by γgᵢ Σ|wⱼ|gⱼ at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.bounds import Bounds, Objection, Pull
from cotas.certificates.core.gap import Found
from cotas.certificates.core.rounding import SMALL, TINY, U, gamma
from cotas.certificates.lasso import LassoPoint, in_certificate
from cotas.certificates.streamed import ROOM, Stream


def lasso_from_products(stream: Stream, points: Sequence[LassoPoint]) -> list[Certificate]:
    """Return the certificates of several models of one target, whose problems differ in λ alone."""
    c = points[0].column or 0
    constant = stream.constant_model(c, points[0].problem.free_bias)
    try:
        found: Sequence[Found] = _bounds(stream, c, points)
    except Objection as objection:
        found = [Found(objection)] * len(points)
    weights = stream.weight[1], stream.weights
    return [
        in_certificate(point, one, weights, constant, stream.sketches[c])
        for point, one in zip(points, found, strict=True)
    ]


class _Products(NamedTuple):
    """The Gram matrix Ĝ of the columns, the one and the target, gᵢ, and the models as columns of
    w."""

    G: FloatArray
    roots: FloatArray
    w: FloatArray
    bias_off: FloatArray  # of the rounded b + m·(θ, −1)
    factor: float  # γ

    @property
    def spread(self) -> FloatArray:
        """Compute Σ|wⱼ|gⱼ."""
        sizes = self.roots @ np.abs(self.w) + self.bias_off * self.roots[-2]
        return _above(sizes, len(self.roots) + 4)


def _above(x: FloatArray, operations: int) -> FloatArray:
    """Return what x ≥ 0 stands for after so many rounded operations, or more."""
    return np.asarray(x * (1.0 + gamma(operations + 3)) + TINY)


def _read(stream: Stream, c: int, points: Sequence[LassoPoint]) -> _Products:
    """Return the models, refused where they are none of their problems."""
    d = len(points[0].coef)
    for point in points:
        risk = point.problem.risk(point.penalty_scale)
        net = risk.regularizer
        net.refuse(np.asarray(point.coef, np.float64))
        if point.problem.delta is not None or net.lam2 or len(net.free()):
            raise Objection("penalty")  # whose conjugate is another
        if point.intercept and not risk.free_bias:
            raise Objection("bias")
    theta = np.array([point.coef for point in points], np.float64).T
    bias = np.array([float(point.intercept) for point in points])
    m, y_centre = stream.centre[:d], stream.centre[d + c]
    G = stream.products_with(c)
    sizes = np.abs(bias) + np.abs(m) @ np.abs(theta) + abs(y_centre)
    w = np.vstack([theta, bias + m @ theta - y_centre, np.full(len(points), -1.0)])
    if not (np.isfinite(G).all() and np.isfinite(w).all() and stream.weight[0] > 0):
        raise Objection("not finite")
    factor = gamma(2 * (stream.roundings + len(w)) + 16)
    roots = np.sqrt(np.maximum(G.diagonal(), 0.0)) * (1 + factor) + SMALL
    return _Products(G, roots, w, _above(gamma(d + 4) * sizes, d + 6), factor)


@np.errstate(all="ignore")  # what is not finite is refused
def _bounds(stream: Stream, c: int, points: Sequence[LassoPoint]) -> list[Found]:
    given = _read(stream, c, points)
    (low, high), one, d = stream.weight, points[0], len(points[0].coef)
    G, roots, w, bias_off, factor = given
    spread, Gw = given.spread, G @ w
    # Of each entry of Gw, in units of gᵢ, and of wᵀGw.
    off = _above(factor * spread + roots[d] * bias_off, 3)
    doubt = _above((factor * spread + 4 * roots[d] * bias_off) * spread, 6)
    square = np.add.reduce(w * Gw)
    scale = np.ones(d) if one.penalty_scale is None else np.asarray(one.penalty_scale)
    lams = np.array([float(point.problem.lam or 0.0) for point in points])
    penalty = _above(lams * (scale @ np.abs(w[:d])), d + 6)
    upper = _above(_above(0.5 * (np.maximum(square, 0.0) + doubt) / low, 6) + penalty, 2)
    # From sums over (x − m, y − m) to c, or to x and y: h times the sum over ones is added.
    free = one.problem.free_bias
    h = -G[d] / G[d, d] if free else np.append(stream.centre[:d], [0.0, stream.centre[d + c]])
    u, wide = Gw + h[:, None] * Gw[d], roots + np.abs(h) * roots[d]
    slack = wide[:, None] * _above(off + 8 * factor * spread, 6)
    mean = np.maximum(np.abs(Gw[d]) - roots[d] * off, 0.0) * (1 - 8 * U) if free else 0.0
    # Q, rounded up, and −L, rounded down.
    Q = _above(np.maximum(square, 0.0) + doubt, 3) - mean * (mean / high) * (1 - 16 * U)
    known = np.isfinite(Q)  # what is infinite may cancel the wrong way
    Q, gain = _above(np.maximum(Q, 0.0), 1), -u[-1] - slack[-1] * (1 + 8 * U)
    gain -= 4 * U * np.abs(gain)
    sizes = (-u[:d] if one.problem.positive else np.abs(u[:d])) + slack[:d]
    steepest = _above((np.maximum(sizes, 0.0) / scale[:, None]).max(axis=0, initial=0.0), 4)
    t = np.minimum(gain / Q, lams * low / steepest * (1 - 16 * U))
    t = np.where((t > 0) & (t < np.inf), t, 0.0)
    dual = t * gain * (1 - 16 * U) - 0.5 * t * (t * Q) * (1 + 16 * U) - TINY
    lower = np.where(known, np.maximum(dual * (1 - 8 * U) / high - TINY, 0.0), 0.0)
    # What rounding has cost, to first order: t is as much too small as the steepest uⱼ is blurred.
    blurred = (slack[:d] / scale[:, None]).max(axis=0, initial=0.0) / steepest
    charge = (doubt + 2 * t * slack[-1]) / low + 2 * upper * blurred
    # The rows themselves may prove a little less: the bounds leave room for that.
    ends = np.array([lower * (1 - ROOM), upper * (1 + ROOM), charge + ROOM * upper]).T
    unit, offs = np.ones(d), _above(np.sqrt(d) * slack[:d].max(axis=0, initial=0.0), 2)
    return [
        _found(ends[k].tolist(), Pull(u[:d, k], unit, float(offs[k])), float(t[k]))
        for k in range(len(points))
    ]


def _found(ends: Sequence[float], pull: Pull, t: float) -> Found:
    """Return the bounds, from both values and what rounding has cost."""
    try:
        return Found(Bounds.proved(*ends), None, pull, t)
    except Objection as objection:
        return Found(objection)
