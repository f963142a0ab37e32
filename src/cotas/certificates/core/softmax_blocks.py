"""Softmax regression when the rows come in blocks: the inequality of `softmax.py` as sums.

A block is read as in `blocks.py`. The dual point of a row are the probabilities of a model, which
are balanced by what a first pass has found of all the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.blocks import (
    Array,
    Between,
    Claims,
    Down,
    Most,
    Pulled,
    Reader,
    Sharp,
    Tally,
    Up,
    counted,
    kept_frame,
)
from cotas.certificates.core.bounds import APART, Bounds, Objection, Pull
from cotas.certificates.core.gap import MULTIPLES, Weights

from cotas.certificates.core.rounding import (  # isort: skip
    FloatArray, total_down, total_up, up,
)  # fmt: skip
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.softmax import (
    Dual,
    Masses,
    balance,
    entropy_down,
    feasible,
    felt_of,
    losses_of,
    objective,
    refuse,
    slip_of,
)


class Known(NamedTuple):
    """What every pass knows of a block: scores, how far they are off, and probabilities."""

    rows: Rows
    truth: FloatArray
    s: FloatArray
    z: FloatArray
    off: FloatArray
    p: FloatArray


@dataclass(frozen=True)
class ClassReader(Reader):
    """What both passes have in common: y = ±1 of a block, and the probabilities of its rows.

    They are those of the model, or of another one whose W and b are given.
    """

    reference: tuple[FloatArray, FloatArray] | None

    def known(self, block: Any) -> Known:
        """The rows with all that follows from a model."""
        rows, (y, s) = self.rows(block), self.targets(block)
        truth = np.asarray(y > 0, dtype=np.float64)
        if not (truth.sum(axis=1) == 1.0).all():
            raise Objection("unknown label")  # a row of none of the classes, or of two
        z, off, _ = self.scores(rows, truth)
        there = z
        if self.reference is not None:
            W, b = self.reference
            there = rows.scores(W, [(value,) for value in b])[0]
        p = np.exp(there - there.max(axis=1, keepdims=True))
        return Known(rows, truth, s, z, off, p / p.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class ClassValues(ClassReader):
    """The first pass: Σ of the weights and of the losses, and the mass of each class."""

    @np.errstate(all="ignore")
    def __call__(self, block: Any) -> Tally:
        rows, truth, s, z, off, p = self.known(block)
        k = truth.shape[1]
        losses, slack = losses_of(z, off, truth)
        whole = Tally(
            rows=len(s),
            weights=Between.sum_of(s),
            longest=Most(rows.longest()),
            losses=Up(total_up(s * losses)),
            felt=Up(total_up(s * slack)),
            wanted=Array(s @ truth),
            given=Array(s @ feasible(p, truth, np.ones(k), np.zeros(k))),
        )
        masses = (total_down(s * column) for column in truth.T)
        return Tally({**whole, **{f"mass {j}": Down(mass) for j, mass in enumerate(masses)}})


@dataclass(frozen=True)
class ClassPulls(ClassReader):
    """The second pass: Xᵀc of each class, and the gains at some multiples."""

    kept: FloatArray
    lacking: FloatArray
    multiples: tuple[float, ...]

    @np.errstate(all="ignore")
    def __call__(self, block: Any) -> Tally:
        rows, truth, s, _, _, p = self.known(block)
        p = feasible(p, truth, self.kept, self.lacking)
        c = s[:, None] * (p - truth)
        reached = (s[:, None] * (p + truth)).T
        whole = Tally(rows=len(s))
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
def softmax_in_blocks(
    source: Any, claims: Claims, reference: tuple[FloatArray, FloatArray] | None = None
) -> Bounds:
    """Both bounds of one model whose columns are those of the claims; the blocks are read twice.

    A third time where the penalty allows multiples below one only. The targets are ±1, a column
    for each class. The dual point are the probabilities of the model, or of a reference.
    """
    penalty, W, k = claims.risk.regularizer, claims.thetas, len(claims.biases)
    if W.shape[1] != k or (reference is not None and reference[0].shape != W.shape):
        raise Objection("shape")
    claims.refuse()
    refuse(penalty, W, np.array(claims.biases), claims.risk.free_bias)
    given = (claims, *kept_frame(source, claims), reference)
    first = counted(source.map_reduce(ClassValues(*given)), claims.n)
    w = Weights.between(*first["weights"])
    low, high = w.low, w.high
    upper, felt = objective(penalty, W, float(first["losses"]), low), float(first["felt"]) / low
    shares = (np.ones(k), np.zeros(k))
    smallest = min(float(first[f"mass {j}"]) for j in range(k))
    if claims.risk.free_bias:
        shares = balance(first["wanted"].value, first["given"].value)
        if not smallest > 0:
            return Bounds.proved(0.0, upper, 2 * felt)
    gains, multiples = dict[float, float](), tuple(MULTIPLES)
    for _ in range(2):
        second = counted(source.map_reduce(ClassPulls(*given, *shares, multiples)), claims.n)
        pulls, rest = _pulls(claims, given[1].unit, second)
        known = Masses(low, high, smallest, float(first["longest"]), rest)
        slip = slip_of(penalty, k, upper, known) if claims.risk.free_bias else 0.0
        dual = Dual(penalty, pulls, W, low, high, slip)
        gains |= {t: float(second[f"gain {j}"]) for j, t in enumerate(multiples)}
        multiples = tuple(t * dual.reach() for t in MULTIPLES)
        if all(t in gains for t in multiples):
            break
    lower, charge = dual.best(gains)
    # The same rows in other blocks prove a little more or less: there is room for that.
    room = 2 * charge + 2 * felt
    return Bounds.proved(lower, upper, room + APART * upper, room)


def _pulls(claims: Claims, unit: FloatArray, second: Tally) -> tuple[list[Pull], float]:
    """Xᵀc of each class, and Σₖ|δₖ| at most."""
    k, found, rest = len(claims.biases), [], 0.0
    for j in range(k):
        felt = felt_of(k, claims.d, float(second[f"reached {j}"]))
        found.append(second[f"pull {j}"].whole(unit, claims.additions, felt))
        rest = up(rest + second[f"rest {j}"].most)
    return found, rest
