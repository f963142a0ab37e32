"""Softmax regression: the same inequality, with a score for each class.

    P(W, b) = Σ sᵢ [log Σₖ exp(zᵢₖ) − zᵢ,y₍ᵢ₎]/S + Σₖ Ω(wₖ),      zᵢ = Wᵀxᵢ + b

The dual variable of a row is s(p − e), p being any probabilities and e those that are sure of yᵢ:

    min P  ≥  Σ sᵢ H(pᵢ)/S − Σₖ Ω*(−Σ sᵢ xᵢ(pᵢ − eᵢ)ₖ/S) − Σₖ|δₖ|B/S,    δ = Σ sᵢ(pᵢ − eᵢ).

Ω is a sum over the entries of W, H the entropy. Rows of numbers q ≥ 0 stand for the probabilities
q/Σq, which sum to one exactly; so do the δₖ to zero, and only differences of biases matter: those
of a model with P ≤ `level` are at most B = 2 max‖x‖·r + level/(smallest share of a class), where
Ω ≤ level implies ‖W‖ ≤ r.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotas.certificates.core.bounds import Bounds, Objection, Pull
from cotas.certificates.core.gap import MULTIPLES, Weights

from cotas.certificates.core.rounding import (  # isort: skip
    FloatArray, U, above, below, down, gamma, norm_up, sharp_total, total, total_down, total_up, up,
)  # fmt: skip


def balanced(p: FloatArray, truth: FloatArray, s: FloatArray) -> FloatArray:
    """Give each class its mass, Σ sp = Σ se (Altschuler, Weed and Rigollet 2017); roughly will do.

    Classes with too much are scaled down, and what a row then lacks goes to those that lack mass.
    """
    wanted, given = s @ truth, s @ p
    kept = np.minimum(1.0, wanted / np.where(given > 0, given, 1.0))
    lacking = np.maximum(0.0, wanted - kept * given)
    if not lacking.sum() > 0:
        return p
    missing = np.maximum(0.0, 1.0 - p @ kept)
    return np.asarray(p * kept + np.outer(missing, lacking / lacking.sum()))


@np.errstate(all="ignore")  # what is not finite is refused, or gives the bound zero
def softmax_bounds(
    penalty: Any,
    rows: Any,
    truth: FloatArray,
    W: FloatArray,
    b: FloatArray,
    p: FloatArray,
    free_bias: bool,
    weights: Any = None,
) -> Bounds:
    """Both bounds of one model; p are any probabilities, one row for each example."""
    n, k = truth.shape
    if W.shape != (rows.d, k) or b.shape != (k,) or p.shape != (n, k) or n != rows.n:
        raise Objection("shape")
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise Objection("model not finite")
    if b.any() and not free_bias:
        raise Objection("bias")
    if penalty.weights is not None:
        raise Objection("penalty")
    penalty.refuse(W.ravel())
    w = Weights.of(weights, n)
    z, off, _ = rows.scores(W, [(value,) for value in b])
    # Scores off by `off` move log Σ exp and the score of the truth by the largest `off` each.
    slack = 2 * off.max(axis=1)
    top = z.max(axis=1)
    with np.errstate(over="ignore", under="ignore"):
        tails = np.exp(z - top[:, None]).sum(axis=1)
    parts = np.abs(top) + np.abs((z * truth).sum(axis=1)) + np.log(tails)
    losses = (top - (z * truth).sum(axis=1)) + np.log(tails) + slack + (k + 16) * U * (1.0 + parts)
    value, error = total(w.s * np.maximum(losses, 0.0))
    upper = up(above(up(value + error) / w.low, 4) + penalty.value(W.ravel()))
    if not math.isfinite(upper):
        raise Objection("not finite")
    p = np.where(np.isfinite(p).all(axis=1, keepdims=True) & (p >= 0), p, truth)
    if free_bias:
        p = balanced(p, truth, w.s)
    sums = p.sum(axis=1, keepdims=True)
    p = np.where(sums > 0, p / np.where(sums > 0, sums, 1.0), truth)
    lower, charge = _lower(penalty, rows, w, truth, W, p, upper, free_bias)
    return Bounds.proved(lower, upper, 2 * charge + 2 * total_up(w.s * slack) / w.low)


def _lower(
    penalty: Any,
    rows: Any,
    w: Weights,
    truth: FloatArray,
    W: FloatArray,
    p: FloatArray,
    level: float,
    free: bool,
) -> tuple[float, float]:
    """D of e + t(p − e) at the best of some t, rounded down; p is known to k + 4 roundings."""
    k, share = truth.shape[1], up(1.0 / w.low)
    c = w.s[:, None] * (p - truth)
    # What the roundings of p and of c are worth: γ of their sizes, |p − e| ≤ p + e.
    felt = [above(gamma(k + 8) * total_up(column * rows.lengths), rows.d + 4)
            for column in (w.s[:, None] * (p + truth)).T]  # fmt: skip
    pulls = [
        pull._replace(off=up(pull.off + more))
        for pull, more in zip(rows.pull(c), felt, strict=True)
    ]

    def cost(t: float, pulls: list[Pull]) -> float:
        paid = 0.0
        for pull in pulls:
            paid = up(paid + penalty.conjugate(pull, t, share))
        return paid

    slip = 0.0
    if free:
        rests = [sharp_total(column) for column in c.T]
        mass = above(gamma(k + 8) * 2 * w.high, 2)
        rest = up(sum(abs(value) + off for value, off in rests) + mass)
        smallest = min(total_down(w.s * column) for column in truth.T)
        if not smallest > 0:
            return 0.0, 0.0
        level = min(level, above(math.log(k), 8))  # that of W = 0, b = 0
        reach = above(2 * rows.longest() * penalty.radius(level), 2)
        slip = above(rest * share * up(reach + above(level * w.high / smallest, 3)), 4)
    exact = [pull._replace(off=0.0) for pull in pulls]
    known = zip(pulls, W.T, strict=True)
    charge = sum(pull.off * norm_up(theta * rows.unit) * share for pull, theta in known)
    reach = min(penalty.reach(pull, theta, share) for pull, theta in zip(pulls, W.T, strict=True))
    best, rounding = 0.0, 0.0
    for t in {1.0, *(t * min(1.0, reach) for t in MULTIPLES)}:
        q = p if t == 1.0 else truth + t * (p - truth)
        log = np.log(np.where(q > 0, q, 1.0))
        value, off = total(w.s[:, None] * (-q * log))
        # k + 4 roundings of p, or of 1 − p, move a term by so many units of these.
        sizes = total_up(w.s[:, None] * (q if t == 1.0 else q + truth) * (2.0 + np.abs(log)))
        gain = down(value - up(off + above(gamma(k + 24) * sizes, 2)))
        paid = cost(t, pulls)
        found = down(down(below(max(gain, 0.0) / w.high, 1) - paid) - above(t * slip))
        if found > best:
            best, rounding = found, paid - cost(t, exact) + slip
    return best, rounding + charge
