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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.blocks import (  # isort: skip
    SumArray, Between, Claims, Down, Most, Pulled, Reader, Sharp, NamedSums, Up, OneBlock, counted,
    kept_frame,
)  # fmt: skip
from cotas.certificates.core import choices
from cotas.certificates.core.bounds import Bounds, Objection, Pull
from cotas.certificates.core.gap import Claim, Margin, Weights, best_multiple, objective
from cotas.certificates.core.imbalance import longest

from cotas.certificates.core.rounding import (  # isort: skip
    FloatArray, U, above, down, gamma, norm_up, ratio, total, total_down, total_up, up,
)  # fmt: skip
from cotas.certificates.core.rows import Rows


def feasible(p: FloatArray, truth: FloatArray, kept: FloatArray, lacking: FloatArray) -> FloatArray:
    """Return rows of numbers as probabilities, balanced; those that are none become the truth."""
    if lacking.any():
        p = p * kept + np.outer(np.maximum(0.0, 1.0 - p @ kept), lacking)
    p = np.where(np.isfinite(p).all(axis=1, keepdims=True) & (p >= 0), p, truth)
    sums = p.sum(axis=1, keepdims=True)
    sound = (sums > 0) & (sums < math.inf)  # divided by infinity, numbers no longer sum to one
    return np.asarray(np.where(sound, p / np.where(sound, sums, 1.0), truth))


def losses_of(z: FloatArray, off: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log loss of each row at scores that are off by `off`, rounded up, and that slack.

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
    """Compute Σ s H(e + t(p − e)), rounded down; p is known to k + 4 roundings."""
    q = p if t == 1.0 else truth + t * (p - truth)
    log = np.log(np.where(q > 0, q, 1.0))
    value, off = total(s[:, None] * (-q * log))
    # k + 4 roundings of p, or of 1 − p, move a term by so many units of these.
    sizes = total_up(s[:, None] * (q if t == 1.0 else q + truth) * (2.0 + np.abs(log)))
    return down(value - up(off + above(gamma(truth.shape[1] + 24) * sizes, 2)))


class LogLoss(Margin):
    """The log loss log Σ exp(zₖ) less the score of the truth; `losses_of` and `entropy_down` count
    roundings."""

    ulps, quadratic = 2, False


class Masses(NamedTuple):
    """Masses of classes: Σ s and its least part that a class has, max ‖x‖, and Σₖ|δₖ| at most."""

    w: Weights
    smallest: float
    longest: float
    rest: float


def slip_of(penalty: Any, k: int, level: float, m: Masses) -> float:
    """Return what the biases may take away: Σₖ|δₖ|B/S, rounded up."""
    share, mass = up(1.0 / m.w.low), above(gamma(k + 8) * 2 * m.w.high, 2)
    level = min(level, above(math.log(k), 8))  # that of W = 0, b = 0
    reach = above(2 * m.longest * penalty.radius(level), 2)
    far = up(reach + above(ratio(level * m.w.high, m.smallest), 3))  # a class may have no rows
    return above(up(m.rest + mass) * share * far, 4)


def felt_of(k: int, d: int, reached: float) -> float:
    """Bound what the roundings of p and c are worth in Xᵀc: γ of their sizes, |p − e| ≤ p + e."""
    return above(gamma(k + 8) * reached, d + 4)


# ---- the passes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassReader(Reader):
    """The base of both passes: y = ±1 of a block, and the probabilities of its rows.

    They are those of the model, of another one whose W and b are given, or as the block has them.
    """

    reference: tuple[FloatArray, FloatArray] | None

    def known(self, block: Any) -> tuple[Rows, FloatArray, FloatArray]:
        """Return the rows, their classes and their weights; rows in memory are looked at once."""
        if isinstance(block, OneBlock) and block.known is not None:
            return block.rows, *block.known
        rows, (y, s) = self.rows(block), self.targets(block)
        truth = np.asarray(y > 0, dtype=np.float64)
        if not (truth.sum(axis=1) == 1.0).all():
            raise Objection("unknown label")  # a row of none of the classes, or of two
        if isinstance(block, OneBlock):
            block.known = truth, s
        return rows, truth, s

    def probabilities(self, block: Any, rows: Rows, z: FloatArray | None) -> FloatArray:
        """Compute the probabilities of each row and class; z are the scores, if they are known."""
        given = getattr(block, "p", None)
        if given is not None:
            return np.asarray(given)
        if self.reference is not None or z is None:
            W, b = self.reference or (self.claims.thetas, self.claims.biases)
            z = rows.scores(W, [(value,) for value in b])[0]
        p = choices.probabilities(z)
        if isinstance(block, OneBlock):
            block.p = p  # the next pass need not compute it again
        return p


@dataclass(frozen=True)
class ClassValues(ClassReader):
    """The first pass: Σ of the weights and of the losses, and the mass of each class."""

    @np.errstate(all="ignore")
    def __call__(self, block: Any) -> NamedSums:
        rows, truth, s = self.known(block)
        z, off, _ = self.scores(rows)
        p, k = self.probabilities(block, rows, z), truth.shape[1]
        losses, slack = losses_of(z, off, truth)
        whole = NamedSums(
            rows=len(s),
            weights=Between.sum_of(s),
            longest=Most(longest(rows)),
            losses=Up(total_up(s * losses)),
            felt=Up(total_up(s * slack)),
            wanted=SumArray(s @ truth),
            given=SumArray(s @ feasible(p, truth, np.ones(k), np.zeros(k))),
        )
        masses = (total_down(s * column) for column in truth.T)
        return NamedSums({**whole, **{f"mass {j}": Down(mass) for j, mass in enumerate(masses)}})


@dataclass(frozen=True)
class ClassPulls(ClassReader):
    """The second pass: Xᵀc of each class, and the gains at some multiples."""

    kept: FloatArray
    lacking: FloatArray
    multiples: tuple[float, ...]

    @np.errstate(all="ignore")
    def __call__(self, block: Any) -> NamedSums:
        rows, truth, s = self.known(block)
        p = feasible(self.probabilities(block, rows, None), truth, self.kept, self.lacking)
        c = s[:, None] * (p - truth)
        reached = (s[:, None] * (p + truth)).T
        whole = NamedSums(rows=len(s))
        for j, (pull, sizes) in enumerate(zip(rows.pull(c), reached, strict=True)):
            whole |= {
                f"pull {j}": Pulled.of(pull),
                f"reached {j}": Up(total_up(sizes * rows.lengths)),
                f"rest {j}": Sharp.of(c[:, j]),
            }
        for j, t in enumerate(self.multiples):
            whole |= {f"gain {j}": Down(entropy_down(p, truth, s, t))}
        return whole


@np.errstate(all="ignore")
def softmax_bounds(
    source: Any, claims: Claims, reference: tuple[FloatArray, FloatArray] | None = None
) -> Bounds:
    """Compute both bounds of one model, its columns being the claims'; blocks are read twice.

    A third time where the penalty allows multiples below one only. The targets are ±1, a column
    for each class. The dual point are the probabilities of the model, or of a reference.
    """
    penalty, W, k = claims.risk.regularizer, claims.thetas, len(claims.biases)
    if W.shape != (claims.d, k) or (reference is not None and reference[0].shape != W.shape):
        raise Objection("shape")
    if penalty.weights is not None:
        raise Objection("penalty")
    claims.refuse()
    claim = Claim(replace(claims.risk, loss=LogLoss()), np.zeros(0), W.T.ravel(), 0.0)
    given = (claims, *kept_frame(source, claims), reference)
    first = counted(source.map_reduce(ClassValues(*given)), claims.n)
    w = Weights(None, *first["weights"])
    upper = objective(claim, float(first["losses"]), w.low)
    shares = (np.ones(k), np.zeros(k))
    smallest = min(float(first[f"mass {j}"]) for j in range(k))
    if claims.risk.free_bias:
        shares = choices.balance(first["wanted"].value, first["given"].value)
    gains, multiples = dict[float, float](), tuple(choices.MULTIPLES)
    for _ in range(2):
        second = counted(source.map_reduce(ClassPulls(*given, *shares, multiples)), claims.n)
        gains |= {t: float(second[f"gain {j}"]) for j, t in enumerate(multiples)}
        pull, rest = _pull(claims, given[1].unit, second)
        reach = min(1.0, float(penalty.reach(pull, claim.theta, up(1.0 / w.low))))
        multiples = tuple(t * reach for t in choices.MULTIPLES)
        if all(t in gains for t in multiples):
            break
    masses = Masses(w, smallest, float(first["longest"]), rest)
    slip = slip_of(penalty, k, upper, masses) if claims.risk.free_bias else 0.0

    def gain(t: float) -> tuple[float, float]:
        return gains.get(t, -math.inf), 0.0  # rounded down already

    known = (pull, gain, gains.__getitem__, 0.0, slip, math.inf)
    lower, t, rounding = best_multiple(claim, w, *known)
    rounding += choices.blur(penalty, claim.theta, pull, t, w.low)
    room = choices.charge(float(first["felt"]) / w.low + rounding, lower, upper)
    if isinstance(source, OneBlock):
        return Bounds.proved(lower, upper, room)
    # The same rows in other blocks prove a little more or less: there is room for that.
    return Bounds.proved(lower, upper, room + choices.APART * upper, room)


def _pull(claims: Claims, unit: FloatArray, second: NamedSums) -> tuple[Pull, float]:
    """Compute Xᵀc of all classes, one after the other as θ, and Σₖ|δₖ| at most."""
    k, found, rest = len(claims.biases), list[Pull](), 0.0
    for j in range(k):
        felt = felt_of(k, claims.d, float(second[f"reached {j}"]))
        found.append(second[f"pull {j}"].whole(unit, claims.additions, felt))
        rest = up(rest + second[f"rest {j}"].most)
    off = norm_up(np.array([pull.off for pull in found]))
    return Pull(np.concatenate([pull.u for pull in found]), np.tile(unit, k), off), rest
