"""The same inequality when the rows come in blocks, of which only one at a time is looked at.

Each block is read as `Rows` in the frame of all, and what it contributes is a number or a vector
with its two ends. Ends are added up outwards, vectors with a count of the additions that they went
through, so that nothing depends on who adds them up or in which order. A source has
`map_reduce(function)`, which gives the sum of what the function returns for each block, and it may
keep what `frame_of` finds; a block has X and the number of its first row. The rows are counted:
none may be left out or come twice.

The dual point c is a function of the row, given (X, y, s), or the slopes of the loss; any will do.
Where the bias is free, the squared loss has c centred, and others have the two signs of c shrunk to
the same sum, which leaves them in the domain; what is left of Σ cᵢ is charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core import choices
from cotas.certificates.core.bounds import Bounds, Objection, Pull
from cotas.certificates.core.imbalance import Extent, bias_slip, level_of, longest
from cotas.certificates.core.rows import BLOCK_ROWS, Frame
from cotas.certificates.core.sparse_rows import rows_in

from cotas.certificates.core.gap import (  # isort: skip
    Claim, Found, Risk, Weights, best_multiple, blurred, clipped, gain_of, objective, weights_of,
)  # fmt: skip

from cotas.certificates.core.rounding import (  # isort: skip
    FloatArray, U, above, down, exact_sum, gamma, norm_up, total_down, total_up,
    up,
)  # fmt: skip
from cotas.certificates.core.rows import Rows

# Entries of c are products of rounded factors, whose sums were rounded too.
LEFT = 2 * U
Dual = Callable[[Any, FloatArray, FloatArray], FloatArray]
# Gives the targets of a block, a column for each claim, and its weights; None for ones.
Read = Callable[[Any], tuple[FloatArray, FloatArray | None]]


class Up(float):
    """A number rounded up; sums of such are rounded up."""

    def __add__(self, other: float) -> Up:
        return Up(up(float(self) + float(other)))


class Down(float):
    """A number rounded down; sums of such are rounded down."""

    def __add__(self, other: float) -> Down:
        return Down(down(float(self) + float(other)))


class Most(float):
    """A number of which the largest counts."""

    def __add__(self, other: float) -> Most:
        return Most(np.maximum(float(self), float(other)))  # NaN stays visible


class Least(float):
    """A number of which the smallest counts."""

    def __add__(self, other: float) -> Least:
        return Least(np.minimum(float(self), float(other)))


class Sharp(NamedTuple):
    """A sum Σ aᵢ as two numbers, and how far they are off: for sums that nearly vanish."""

    value: float
    tail: float
    off: float

    @classmethod
    def of(cls, a: Any) -> Sharp:
        """Compute Σ of some numbers."""
        value = exact_sum(a)
        tail = exact_sum(np.append(a, -value))
        return cls(value, tail, up(U * abs(tail)) if tail else 0.0)

    def __add__(self, other: Any) -> Sharp:
        value = self.value + other.value
        back = value - self.value
        error = (self.value - (value - back)) + (other.value - back)  # exactly (Knuth)
        size = abs(self.tail) + abs(other.tail) + abs(error)
        off = self.off + other.off
        off = up(up(off) + above(gamma(2) * size, 4)) if size or off else 0.0
        return Sharp(value, self.tail + other.tail + error, off)

    @property
    def most(self) -> float:
        """Compute |Σ aᵢ|, rounded up."""
        found = abs(self.value + self.tail)
        if not math.isfinite(found + self.off):
            return math.inf
        return up(up(found) + self.off) if found or self.off else 0.0


class SumArray(NamedTuple):
    """An array, each entry of which is a sum, and the additions that it went through at most."""

    value: FloatArray
    additions: int = 0

    def __add__(self, other: Any) -> SumArray:
        most = max(self.additions, other.additions)
        return SumArray(self.value + other.value, most + 1)


class Between(NamedTuple):
    """A number that lies between two; sums of such are rounded outwards."""

    low: float
    high: float

    @classmethod
    def sum_of(cls, a: FloatArray) -> Between:
        """Compute Σ of some numbers."""
        return cls(total_down(a), total_up(a))

    def __add__(self, other: Any) -> Between:
        return Between(down(self.low + other.low), up(self.high + other.high))

    def middle(self) -> tuple[float, float]:
        """Return the middle, and how far it is from both ends, rounded up."""
        middle = 0.5 * (self.low + self.high)
        return middle, up(max(up(self.high - middle), up(middle - self.low)))


class Pulled(NamedTuple):
    """A sum of Xᵀc of some blocks, how far it is off, ‖u/unit‖ of each, and its additions at
    most."""

    u: FloatArray
    off: float
    mass: float
    additions: int = 0

    @classmethod
    def of(cls, pull: Pull) -> Pulled:
        """Pull one block: compute its Xᵀc."""
        return cls(pull.u, pull.off, norm_up(pull.u / pull.unit))

    def __add__(self, other: Any) -> Pulled:
        off, mass = up(self.off + other.off), up(self.mass + other.mass)
        return Pulled(self.u + other.u, off, mass, max(self.additions, other.additions) + 1)

    def whole(self, unit: FloatArray, expected: int, more: float = 0.0) -> Pull:
        """Compute Xᵀc, off by `more`; so many additions have been charged to its rows already."""
        added = above(gamma(self.additions + 2) * self.mass, 2)
        off = up(up(self.off + (added if self.additions > expected else 0.0)) + more)
        sound = np.isfinite(self.u.sum() + off)
        return Pull(self.u, unit, off) if sound else Pull(np.zeros(len(unit)), unit, math.inf)


class NamedSums(dict[str, Any]):
    """Sums over a block, by name, each added up by itself."""

    def __add__(self, other: NamedSums) -> NamedSums:
        return NamedSums({name: value + other[name] for name, value in self.items()})


@dataclass(frozen=True)
class Claims:
    """Models of one problem, their targets and dual points as functions of a block.

    Attributes
    ----------
    thetas, biases : the models, a column of θ for each
    read : gives the targets and the weights of a block
    duals : for each model c as a function of (X, y, s), or None for the slopes at the model
    n, d : the shape of X
    """

    risk: Risk
    thetas: FloatArray
    biases: tuple[float, ...]
    read: Read
    duals: tuple[Dual | None, ...]
    n: int
    d: int

    @property
    def additions(self) -> int:
        """Count the additions a number goes through, at most, as blocks are added two by two."""
        return 2 * self.n.bit_length()

    @property
    def roundings(self) -> int:
        """Count the roundings of a sum over rows, at most, however the rows are divided.

        Rows are added up some at a time, then these sums two by two, then those of the blocks.
        """
        return min(BLOCK_ROWS, self.n) + 2 * self.additions

    def refuse(self) -> None:
        """Refuse models that are none of the problem."""
        if self.risk.loss.rescaled or len(getattr(self.risk.regularizer, "free", tuple)()):
            raise Objection("parameters")
        for k in range(len(self.biases)):
            claim = self.claim(k)
            if claim.theta.shape != (self.d,):
                raise Objection("shape")
            # Labels and targets are refused with their blocks.
            claim._replace(y=np.ones(1)).refuse(1, self.d)

    def claim(self, k: int) -> Claim:
        """Return one of them, without its targets."""
        theta = np.ascontiguousarray(self.thetas[:, k])
        return Claim(self.risk, np.zeros(0), theta, self.biases[k])


class OneBlock:
    """Rows in memory as a source of one block, with their targets, weights and a dual point."""

    start = 0

    def __init__(self, rows: Rows, y: FloatArray, s: Any, p: Any = None) -> None:
        self.rows, self.X, self.y, self.s, self.p = rows, rows.X, y, s, p
        self.known: tuple[FloatArray, FloatArray] | None = None  # classes and weights, once read

    def read(self, block: Any) -> tuple[FloatArray, FloatArray | None]:
        """Return the targets, a column for each claim, and the weights."""
        return self.y, self.s

    def frame(self, claims: Claims) -> tuple[Frame, FloatArray]:
        """Return how the rows are measured already; targets that are labels are not moved."""
        return self.rows.frame, np.zeros(len(claims.biases))

    def map_reduce(self, function: Callable[[Any], Any]) -> Any:
        """Return what the function finds in all the rows."""
        return function(self)


@dataclass(frozen=True)
class Reader:
    """The base of every pass: the claims, the frame of the rows and that of the targets."""

    claims: Claims
    frame: Frame
    middles: FloatArray

    def targets(self, block: Any) -> tuple[FloatArray, FloatArray]:
        """Compute y, moved, a column for each claim, and s of a block."""
        y, given = self.claims.read(block)
        s = weights_of(given, len(y))
        if y.shape != (block.X.shape[0], len(self.middles)):
            raise Objection("shape")
        for column in y.T:
            self.claims.risk.loss.refuse(column)
        return y - self.middles if self.middles.any() else y, s

    def scores(self, rows: Rows, use: Any = None) -> Any:
        """Compute z, how far it may be off, and the sum of what `use` finds."""
        biases = [*zip(self.claims.biases, -self.middles, strict=True)]
        return rows.scores(self.claims.thetas, biases, use)

    def rows(self, block: Any) -> Rows:
        """Return the rows of a block in the frame of all."""
        if isinstance(block, OneBlock):
            return block.rows
        given = (self.frame, self.claims.roundings)
        return rows_in(block.X, self.claims.risk.free_bias, map, *given)


@dataclass(frozen=True)
class Values(Reader):
    """The first pass: Σ of the weights and of the losses, and how far the data reach."""

    @np.errstate(all="ignore")
    def __call__(self, block: Any) -> NamedSums:
        rows, (y, s) = self.rows(block), self.targets(block)
        z, off, _ = self.scores(rows)
        whole = NamedSums(rows=len(s), weights=Between.sum_of(s), longest=Most(longest(rows)))
        for k in range(y.shape[1]):
            whole |= self._of_claim(k, rows, y[:, k], s, z[:, k], off[:, k])
        return whole

    def _of_claim(self, k: int, rows: Rows, y: Any, s: Any, z: Any, off: Any) -> NamedSums:
        loss, used = self.claims.risk.loss, s > 0
        losses = np.where(used, s * loss.value(y, z, blurred(z, off)), 0.0)
        zero_losses = s * loss.value(y, np.zeros_like(y), 0.0)
        c = feasible(self.claims, k, rows.X, y, s, z)
        return NamedSums(
            {
                f"losses {k}": Up(total_up(losses)),
                f"nothing {k}": Up(total_up(zero_losses)),
                f"most {k}": Most(np.abs(np.where(used, y, 0.0)).max()),
                f"plus {k}": Down(total_down(s[y > 0])),
                f"minus {k}": Down(total_down(s[y < 0])),
                # Guesses, which need not be accurate.
                f"more {k}": float(c[c > 0].sum()),
                f"less {k}": float(-c[c < 0].sum()),
                f"felt {k}": float(s @ choices.sensed(loss, y, z, off)),
            }
        )


def feasible(claims: Claims, k: int, X: Any, y: Any, s: Any, z: Any) -> FloatArray:
    """Return the dual point of some rows, in its domain."""
    dual, loss = claims.duals[k], claims.risk.loss
    return clipped(loss, y, choices.slopes(loss, y, z, s) if dual is None else dual(X, y, s), s)


@dataclass(frozen=True)
class Pulls(Reader):
    """The second pass: Xᵀc and the gains at some multiples, c being shrunk or centred before."""

    shares: FloatArray  # a row for each claim: see `choices.shares`
    multiples: FloatArray  # a row for each claim

    @np.errstate(all="ignore")
    def __call__(self, block: Any) -> NamedSums:
        rows, (y, s) = self.rows(block), self.targets(block)
        loss, c = self.claims.risk.loss, np.empty_like(y)
        # Where c comes from the rows alone, no score is needed.
        z = self.scores(rows)[0] if None in self.claims.duals else np.full_like(y, math.nan)
        for k in range(y.shape[1]):
            more, less, centre = self.shares[k]
            given = feasible(self.claims, k, rows.X, y[:, k], s, z[:, k]) - s * centre
            c[:, k] = clipped(loss, y[:, k], given * np.where(given > 0, more, less), s)
        whole = NamedSums(rows=len(s))
        for k, pull in enumerate(rows.pull(c)):
            used = np.flatnonzero(c[:, k])
            whole |= {
                f"pull {k}": Pulled.of(pull),
                f"rest {k}": Sharp.of(c[:, k]),
                f"least {k}": Least(np.abs(c[used, k]).min(initial=math.inf)),
            }
            for j, t in enumerate(self.multiples[k]):
                value, off = gain_of(loss, y[used, k], c[used, k], s[used], float(t))
                whole[f"gain {k} {j}"] = Between(down(value - off), up(value + off))
        return whole


@np.errstate(all="ignore")
def sampled(claims: Claims, block: Any) -> NamedSums:
    """Return some rows, the same ones in whatever blocks they come, and Σ of the targets."""
    y, s = claims.read(block)
    n, d = claims.n, claims.d
    step, (rows, width) = max(1, n // choices.SAMPLE), block.X.shape
    sound = y.shape == (rows, len(claims.biases)) and width == d
    if not sound or (s is not None and np.shape(s) != (rows,)):
        raise Objection("shape")
    is_sparse = hasattr(block.X, "tocsr")
    X = block.X.tocsr() if is_sparse else block.X
    some = X[-block.start % step :: step]
    if is_sparse:  # of too many columns none is measured
        few = -(-n // step) * d < choices.LARGEST_SAMPLE
        some = some.toarray() if few else np.zeros((0, d))
    used = np.ones(rows, bool) if s is None else s > 0
    return NamedSums(
        rows=rows,
        X=[np.asarray(some, np.float64)],
        sparse=Least(is_sparse),  # beside dense rows sparse ones are moved too
        y=SumArray(y[used].sum(axis=0)),
        used=int(np.count_nonzero(used)),
    )


def frame_of(source: Any, claims: Claims) -> tuple[Frame, FloatArray]:
    """Choose how columns and targets are measured, from rows of all blocks; any choice is valid.

    It is the choice that is made of the same rows in memory.
    """
    found = counted(source.map_reduce(partial(sampled, claims)), claims.n)
    middles = np.zeros(len(claims.biases))
    if claims.risk.free_bias and claims.risk.loss.moves:
        middles = found["y"].value / max(1, found["used"])
        middles = np.where(np.isfinite(middles), middles, 0.0)
    some = np.concatenate(found["X"])
    movable = claims.risk.free_bias and not found["sparse"]
    return rows_in(some if len(some) else np.zeros((1, claims.d)), movable).frame, middles


def kept_frame(source: Any, claims: Claims) -> tuple[Frame, FloatArray]:
    """Return the frame that a source keeps for several models, or a new one."""
    found: Callable[[Claims], Any] = getattr(source, "frame", lambda c: frame_of(source, c))
    frame, middles = found(claims)
    return frame, middles


@np.errstate(all="ignore")
def block_bounds(source: Any, claims: Claims) -> list[Found]:
    """Return both bounds of each model; the blocks are read twice for all of them together."""
    k = range(len(claims.biases))
    try:
        claims.refuse()
        reader = kept_frame(source, claims)
        first = counted(source.map_reduce(Values(claims, *reader)), claims.n)
        passes = _Passes(source, claims, reader, first)
        found = [objected(passes.bounds, j) for j in k]
        return [Found(one) if isinstance(one, Objection) else one for one in found]
    except Objection as objection:
        return [Found(objection) for _ in k]


def objected(call: Callable[..., Any], *given: Any) -> Any:
    """Return what a call returns, or its objection."""
    try:
        return call(*given)
    except Objection as objection:
        return objection


def counted(whole: NamedSums, n: int) -> NamedSums:
    """Return the sums, if all the rows have been counted."""
    if whole["rows"] != n:
        raise Objection("shape")
    return whole


class _Passes:
    """The state after the first pass; the second is made once for all the models."""

    def __init__(self, source: Any, claims: Claims, reader: Any, first: NamedSums) -> None:
        self.source, self.claims, self.reader, self.first = source, claims, reader, first
        self.w = Weights(None, *first["weights"])
        self.low, self.high = self.w.low, self.w.high
        k, quadratic = len(claims.biases), claims.risk.loss.quadratic
        self.multiples = np.tile((1.0, 2.0) if quadratic else choices.MULTIPLES, (k, 1))
        self.second = self._second_pass()
        reach = np.array([1.0 if quadratic else self._reach(j) for j in range(k)])
        if (reach < 1.0).any():  # the gains at multiples inside the domain of the conjugate
            self.multiples = reach[:, None] * choices.MULTIPLES
            self.second = self._second_pass()

    def _second_pass(self) -> NamedSums:
        k, risk = len(self.claims.biases), self.claims.risk
        shares = [(1.0, 1.0, 0.0)] * k
        if risk.free_bias:
            shares = [choices.shares(risk.loss, *self._signs(j), self.high) for j in range(k)]
        given = (self.claims, *self.reader, np.array(shares), self.multiples)
        return counted(self.source.map_reduce(Pulls(*given)), self.claims.n)

    def _signs(self, k: int) -> tuple[float, float]:
        """Sum the positive entries of c, and the negative ones, before any is shrunk."""
        return self.first[f"more {k}"], self.first[f"less {k}"]

    def _rest(self, k: int) -> float:
        """Compute |Σ cᵢ| at most, and no less than what rounding c leaves of it in any blocks.

        Where the bias may be large, blocks in which less happens to be left would prove more.
        """
        more, less = self._signs(k)
        mass = more + less if self.claims.risk.loss.centred else min(more, less)
        return max(float(self.second[f"rest {k}"].most), LEFT * mass)

    def _reach(self, k: int) -> float:
        """Return the largest multiple that the regularizer allows, one at most."""
        theta, share = self.claims.claim(k).theta, up(1.0 / self.low)
        return min(1.0, float(self.claims.risk.regularizer.reach(self.pull(k), theta, share)))

    def pull(self, k: int) -> Pull:
        """Compute Xᵀc, and how far it may be off: also by the additions of the blocks."""
        found: Pulled = self.second[f"pull {k}"]
        return found.whole(self.reader[0].unit, self.claims.additions)

    def gain(self, k: int, t: float) -> tuple[float, float]:
        """Compute − Σ sᵢ ℓᵢ*(tcᵢ/sᵢ) and how far it is off, from that at the multiples."""
        sums = self.second
        found = [sums[f"gain {k} {j}"].middle() for j in range(self.multiples.shape[1])]
        if not self.claims.risk.loss.quadratic:
            known: dict[float, tuple[float, float]]
            known = dict(zip(self.multiples[k].tolist(), found, strict=True))
            return known.get(t, (-math.inf, 0.0))
        # tL − t²Q from its values at 1 and 2.
        (one, off_one), (two, off_two) = found
        a, b = t * (2.0 - t), 0.5 * t * (t - 1.0)
        off = abs(a) * off_one + abs(b) * off_two + 8 * U * (abs(a * one) + abs(b * two))
        return a * one + b * two, above(off, 6)

    def bounds(self, k: int) -> Found:
        """Compute both bounds of one model, with Xᵀc and t."""
        claims, claim, first = self.claims, self.claims.claim(k), self.first
        risk = claims.risk
        value = objective(claim, float(first[f"losses {k}"]), self.low)
        pull, slip = self.pull(k), 0.0
        rest = self._rest(k) if risk.free_bias or risk.bias_scale else 0.0
        if risk.free_bias and rest > 0:
            lighter = min(float(first[f"plus {k}"]), float(first[f"minus {k}"]))
            extent = Extent(float(first["longest"]), float(first[f"most {k}"]), lighter)
            level = level_of(risk.loss, value, float(first[f"nothing {k}"]), self.low)
            slip = bias_slip(risk, extent, self.w, level, rest)
        least = float(self.second[f"least {k}"])

        def gain(t: float) -> tuple[float, float]:
            return self.gain(k, t)

        def rough(t: float) -> float:
            return self.gain(k, t)[0]

        best, t, rounding = best_multiple(claim, self.w, pull, gain, rough, rest, slip, least)
        rounding += choices.blur(risk.regularizer, claim.theta, pull, t, self.low)
        charge = choices.charge(first[f"felt {k}"] / self.low + rounding, best, value)
        # The same rows in other blocks prove a little more or less: there is room for that.
        room = charge + choices.APART * value
        return Found(Bounds.proved(best, value, room, charge), None, pull, t)
