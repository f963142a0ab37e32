"""The proofs of boosted models whose rows come in blocks: each is a sum over blocks.

A block is measured as a whole X is, and its sums are rounded outwards and added up outwards. The
weights of the examples stay with the rows. What is no sum is not claimed: the margins beside the
best that stumps can reach, and rows that no test tells apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.certificates.blocks import as_source, class_factors, weighed
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.blocks import Down, Least, Most, NamedSums, Up, counted
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.choices import APART
from cotas.certificates.core.rounding import TINY, total_down, total_up, up
from cotas.certificates.sound import Sound
from cotas.certificates.theorems.additive import (
    RISE,
    TAKEN_OFF,
    AdditiveFit,
    DualSums,
)
from cotas.certificates.theorems.combinations import (
    Combined,
    ExampleWeights,
)
from cotas.certificates.theorems.products import Totals
from cotas.certificates.theorems.surrogates import (
    AFTER_A_ROUND,
    AFTER_A_VOTE,
    SurrogateBound,
)
from cotas.source import Block, Changed, Source, Sums

# Where rows are not looked at again, the best of these stands for the best θ.
THETAS = tuple(k / 128 for k in range(65))
NOT_LOOKED_FOR = "Rows that no test tells apart are not looked for where rows come in blocks."
ENDS: dict[str, Any] = {"max": Most, "min": Least, "sum": np.asarray, "up ": Up, "dow": Down}


@dataclass(frozen=True, kw_only=True)
class CombinedInBlocks(Combined):
    """The base of both witnesses: classes may weigh more than their rows do."""

    takes_blocks: ClassVar[bool] = True
    targets: ClassVar[bool] = False

    labels: AnyArray | None = None
    factors: FloatArray | None = None

    def check(self, X: Any, y: Any = None, each: Each = map) -> Certificate:
        source = as_source(X, y)
        sound = Changed(source, Sound(source.n_features, self.targets), each)
        return self.proved(lambda: self.over(sound))

    def over(self, source: Source) -> Certificate:
        """Return what is proved of the model, which is sound, from all the blocks."""
        raise NotImplementedError

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if self.weights is not None:
            raise Objection("weights")
        self.pairs()

    def pairs(self) -> tuple[tuple[Any, float], ...]:
        """Return label and factor of each class that has one."""
        return class_factors(self.labels, self.factors)


def weights_of(block: Block, pairs: tuple[tuple[Any, float], ...]) -> ExampleWeights:
    """Return the weights of the rows of a block, as they are."""
    s = weighed(block, pairs)
    w = np.ones(block.n_rows) if s is None else np.asarray(s, dtype=np.float64)
    if not np.isfinite(w).all() or (w < 0).any() or (w[w > 0] < TINY).any():
        raise Objection("The weights of the examples are negative, or all zero.")
    return ExampleWeights(w, total_down(w), total_up(w), False)


def whole(weights: ExampleWeights, totals: Totals) -> NamedSums:
    """Return what is found in a block, which adds up outwards, and its rows and weights."""
    w = weights.w
    ends = {name: ENDS[name[:3]](value) for name, value in totals.items()}
    about = {"rows": len(w), "low": Down(weights.mass), "high": Up(weights.most)}
    return NamedSums(ends | about | {"lightest": Least(w.min()), "heaviest": Most(w.max())})


def all_weights(found: NamedSums) -> ExampleWeights:
    """Return the sum of all weights from both sides; those of the rows are not kept."""
    low, high = float(found["low"]), float(found["high"])
    if not (low > 0 and high < math.inf):
        raise Objection("The weights of the examples are negative, or all zero.")
    return ExampleWeights(np.zeros(0), low, high, found["lightest"] == found["heaviest"])


def in_few_digits(found: Certificate, unit: float) -> Certificate:
    """Return the same, with figures that are small differences of sums rounded to a millionth.

    They are still true, and no longer depend on how the rows are divided into blocks.
    """
    grid, figures = math.ldexp(1.0, math.frexp(unit)[1] - 20), dict(found.figures)
    for name in figures.keys() & {AFTER_A_ROUND, AFTER_A_VOTE, RISE}:
        if grid > 0 and math.isfinite(figures[name] / grid):
            figures[name] = grid * math.ceil(figures[name] / grid)
    if math.isfinite(figures.get(TAKEN_OFF, math.inf)):
        figures[TAKEN_OFF] = math.floor(figures[TAKEN_OFF] * 2**20) / 2**20
    return replace(found, figures=figures)


# ---- the training error ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BlockSurrogate(CombinedInBlocks, SurrogateBound):
    """The training error of a booster, and the surrogate that bounds it, from blocks."""

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if self.stumps is not None:
            raise Objection("This surrogate does not belong to so many classes.")

    def thetas(self) -> tuple[float, ...]:
        """Return the θ of which the best is taken; any would be true, and the others have one."""
        return THETAS if self.surrogate == "votes" else ()

    def over(self, source: Source) -> Certificate:
        """Return one pass."""
        found = counted(source.map_reduce(partial(margins_of_block, self)), source.n_rows)
        weights, shape = all_weights(found), (source.n_rows, source.n_features)
        return in_few_digits(self.in_certificate(found, weights, shape, thetas=self.thetas()), 1.0)


@np.errstate(all="ignore")
def margins_of_block(witness: BlockSurrogate, block: Block) -> NamedSums:
    """Return the margins of the rows of a block, and their costs, as sums."""
    weights = weights_of(block, witness.pairs())
    found = witness.margins(witness.data_pass(block.X, block.y, block.start), weights, map)
    return whole(weights, witness.sums(found, weights, witness.thetas()))


# ---- numbers -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BlockAdditive(CombinedInBlocks, AdditiveFit):
    """A sum b + Σ cₘfₘ(x), to be compared with others of the same kind, from blocks."""

    targets: ClassVar[bool] = True

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if self.loss != "squared" or self.labels is not None or self.tests.thresholds is None:
            raise Objection("There is not one combination with a known loss.")

    def over(self, source: Source) -> Certificate:
        """Return two passes: the losses, and the dual point that is made of the residuals."""
        n, shape, radius = source.n_rows, (source.n_rows, source.n_features), self.radius()
        first = counted(source.map_reduce(partial(losses_of_block, self)), n)
        weights, sketch = all_weights(first), self.sketch(first, shape)
        low, high = self.ends(first, weights)
        low = min(low, high - APART * high)  # the same rows in other blocks prove a little less
        middles = [float(first[f"sum {name}"]) / weights.mass for name in ("numbers", "residuals")]
        second = partial(duals_of_block, self, middles, radius is not None)
        dual = counted(source.map_reduce(second), n)
        if not sketch.matches(self.sketch(dual, shape)):
            raise Objection("The blocks of the source were not the same when read again.")
        largest = float(first["max largest"])
        of_y, of_r = (DualSums(*map(float, dual[name])) for name in ("of y", "of r"))
        constant, lower, more = self.least(of_y, largest, weights), 0.0, [NOT_LOOKED_FOR]
        if radius is not None:
            total, more = max(-of_r.least, of_r.most), []
            edge = self.tests.edge_of_sums(dual["bins"], total, n, of_r.size)
            lower = self.least(of_r, up(largest + radius), weights, radius, edge)
        found = self.in_certificate(first, (low, high), (lower, constant), weights, shape, *more)
        return in_few_digits(found, float(first["sum losses"][0]) / weights.most)


@np.errstate(all="ignore")
def losses_of_block(witness: BlockAdditive, block: Block) -> NamedSums:
    """Return the losses of the rows of a block, as sums, and what the second pass begins with."""
    weights, y, r, slack, totals = _residuals(witness, block)
    guesses = {"sum residuals": (weights.w * r).sum(), "sum numbers": (weights.w * y).sum()}
    return whole(weights, totals | witness.losses(y, r, slack, weights) | guesses)


@np.errstate(all="ignore")
def duals_of_block(
    witness: BlockAdditive, middles: Sequence[float], edges: bool, block: Block
) -> NamedSums:
    """Sum, for u = y less its mean and for u = r less its mean, what the bounds are made of."""
    weights, y, r, _, totals = _residuals(witness, block)
    found = whole(weights, totals | {"max furthest": np.abs(y).max()})
    for name, v, middle in zip(("of y", "of r"), (y, r), middles, strict=True):
        u = np.where(weights.w > 0, v - middle, 0.0)
        n, size, least, most, gain, curve, _ = DualSums.of(weights.w, u, y)
        found[name] = Sums(n, Up(size), Down(least), Up(most), Down(gain), Up(curve))
    if edges:
        found["bins"] = witness.tests.bin_sums(block.X, weights.w * u)
    return found


def _residuals(witness: BlockAdditive, block: Block) -> Any:
    """Return the weights, y, y − F as computed, how far it may be off, and what the sweep found."""
    data_pass, weights = witness.data_pass(block.X, block.y, block.start), weights_of(block, ())
    return weights, data_pass.y, *witness.residuals(data_pass, weights, map)


def in_blocks(witness: Any, factors: tuple[tuple[Any, float], ...]) -> Any:
    """Return the same witness for rows in blocks; classes may have weights besides the rows'."""
    kind = BlockSurrogate if isinstance(witness, SurrogateBound) else BlockAdditive
    given = {f.name: getattr(witness, f.name) for f in fields(witness)}
    if factors:
        labels, numbers = zip(*factors, strict=True)
        given |= {"labels": np.array(labels), "factors": np.array(numbers)}
    return kind(**given)
