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
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Bounds, Objection, Pull
from cotas.certificates.core.gap import MULTIPLES, Weights

from cotas.certificates.core.rounding import (  # isort: skip
    FloatArray, U, above, below, down, gamma, norm_up, sharp_total, total, total_down, total_up, up,
)  # fmt: skip


def balance(wanted: FloatArray, given: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What gives each class its mass, Σ sp = Σ se (Altschuler, Weed and Rigollet 2017), roughly.

    Classes with too much are scaled down by the first, and what a row then lacks goes to those
    that lack mass, in the parts of the second; they are zero where none does.
    """
    kept = np.minimum(1.0, wanted / np.where(given > 0, given, 1.0))
    lacking = np.maximum(0.0, wanted - kept * given)
    if not lacking.sum() > 0:
        return np.ones_like(kept), np.zeros_like(kept)
    return kept, lacking / lacking.sum()


def feasible(p: FloatArray, truth: FloatArray, kept: FloatArray, lacking: FloatArray) -> FloatArray:
    """Rows of numbers as probabilities, balanced; those that are none become the truth."""
    p = np.where(np.isfinite(p).all(axis=1, keepdims=True) & (p >= 0), p, truth)
    if lacking.any():
        p = p * kept + np.outer(np.maximum(0.0, 1.0 - p @ kept), lacking)
    sums = p.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > 0, p / np.where(sums > 0, sums, 1.0), truth))


def losses_of(z: FloatArray, off: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The log loss of each row at scores that are off by `off`, rounded up, and that slack.

    Scores off by so much move log Σ exp and the score of the truth by the largest of it each.
    """
    slack, top, k = 2 * off.max(axis=1), z.max(axis=1), truth.shape[1]
    with np.errstate(over="ignore", under="ignore"):
        tails = np.exp(z - top[:, None]).sum(axis=1)
    own = (z * truth).sum(axis=1)
    parts = np.abs(top) + np.abs(own) + np.log(tails)
    losses = (top - own) + np.log(tails) + slack + (k + 16) * U * (1.0 + parts)
    return np.maximum(losses, 0.0), slack


def entropy_down(p: FloatArray, truth: FloatArray, s: FloatArray, t: float) -> float:
    """Σ s H(e + t(p − e)), rounded down; p is known to k + 4 roundings."""
    q = p if t == 1.0 else truth + t * (p - truth)
    log = np.log(np.where(q > 0, q, 1.0))
    value, off = total(s[:, None] * (-q * log))
    # k + 4 roundings of p, or of 1 − p, move a term by so many units of these.
    sizes = total_up(s[:, None] * (q if t == 1.0 else q + truth) * (2.0 + np.abs(log)))
    return down(value - up(off + above(gamma(truth.shape[1] + 24) * sizes, 2)))


class Masses(NamedTuple):
    """Bounds of Σ s and of its least part that a class has, max ‖x‖, and Σₖ|δₖ| at most."""

    low: float
    high: float
    smallest: float
    longest: float
    rest: float


def slip_of(penalty: Any, k: int, level: float, m: Masses) -> float:
    """What the biases may take away: Σₖ|δₖ|B/S, rounded up."""
    share, mass = up(1.0 / m.low), above(gamma(k + 8) * 2 * m.high, 2)
    level = min(level, above(math.log(k), 8))  # that of W = 0, b = 0
    reach = above(2 * m.longest * penalty.radius(level), 2)
    far = up(reach + above(level * m.high / m.smallest, 3))
    return above(up(m.rest + mass) * share * far, 4)


def felt_of(k: int, d: int, reached: float) -> float:
    """What the roundings of p and of c are worth in Xᵀc: γ of their sizes, |p − e| ≤ p + e."""
    return above(gamma(k + 8) * reached, d + 4)


class Dual(NamedTuple):
    """Xᵀc of each class, what the biases may take away, and how to find the gain at a multiple."""

    penalty: Any
    pulls: list[Pull]
    W: FloatArray
    low: float
    high: float
    slip: float

    def reach(self) -> float:
        """The largest multiple, one at most, that all the classes allow."""
        share = up(1.0 / self.low)
        known = zip(self.pulls, self.W.T, strict=True)
        return float(min(1.0, *(self.penalty.reach(pull, theta, share) for pull, theta in known)))

    def cost(self, t: float, pulls: list[Pull]) -> float:
        """Σₖ Ω*, rounded up."""
        paid = 0.0
        for pull in pulls:
            paid = up(paid + self.penalty.conjugate(pull, t, up(1.0 / self.low)))
        return paid

    def best(self, gains: Mapping[float, float]) -> tuple[float, float]:
        """D at the best of some multiples, rounded down, and about what rounding has cost it."""
        exact, best, rounding = [pull._replace(off=0.0) for pull in self.pulls], 0.0, 0.0
        known, share = zip(self.pulls, self.W.T, strict=True), up(1.0 / self.low)
        charge = sum(pull.off * norm_up(theta * pull.unit) * share for pull, theta in known)
        for t, gain in gains.items():
            paid = self.cost(t, self.pulls)
            found = down(below(max(gain, 0.0) / self.high, 1) - paid)
            found = down(found - above(t * self.slip))
            if found > best:
                best, rounding = found, paid - self.cost(t, exact) + self.slip
        return best, rounding + charge


def refuse(penalty: Any, W: FloatArray, b: FloatArray, free_bias: bool) -> None:
    """Refuse a model that is none of the problem."""
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise Objection("model not finite")
    if b.any() and not free_bias:
        raise Objection("bias")
    if penalty.weights is not None:
        raise Objection("penalty")
    penalty.refuse(W.ravel())


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
    refuse(penalty, W, b, free_bias)
    w = Weights.of(weights, n)
    z, off, _ = rows.scores(W, [(value,) for value in b])
    losses, slack = losses_of(z, off, truth)
    upper = objective(penalty, W, total_up(w.s * losses), w.low)
    nothing = np.ones(k), np.zeros(k)
    wanted = balance(w.s @ truth, w.s @ feasible(p, truth, *nothing)) if free_bias else nothing
    p = feasible(p, truth, *wanted)
    c = w.s[:, None] * (p - truth)
    reached = [total_up(column * rows.lengths) for column in (w.s[:, None] * (p + truth)).T]
    pulls = [
        pull._replace(off=up(pull.off + felt_of(k, rows.d, more)))
        for pull, more in zip(rows.pull(c), reached, strict=True)
    ]
    slip = 0.0
    if free_bias:
        rests = [sharp_total(column) for column in c.T]
        rest = up(sum(abs(value) + off for value, off in rests))
        smallest = min(total_down(w.s * column) for column in truth.T)
        if not smallest > 0:
            return Bounds.proved(0.0, upper, 2 * total_up(w.s * slack) / w.low)
        slip = slip_of(penalty, k, upper, Masses(w.low, w.high, smallest, rows.longest(), rest))
    dual = Dual(penalty, pulls, W, w.low, w.high, slip)
    multiples = dict.fromkeys((1.0, *(t * dual.reach() for t in MULTIPLES)))
    gains = {t: entropy_down(p, truth, w.s, t) for t in multiples}
    lower, charge = dual.best(gains)
    return Bounds.proved(lower, upper, 2 * charge + 2 * total_up(w.s * slack) / w.low)


def objective(penalty: Any, W: FloatArray, losses: float, low: float) -> float:
    """P(W, b), rounded up, from a sum of the losses and a lower bound of that of the weights."""
    upper = up(above(losses / low, 4) + penalty.value(W.ravel()))
    if not math.isfinite(upper):
        raise Objection("not finite")
    return float(upper)
