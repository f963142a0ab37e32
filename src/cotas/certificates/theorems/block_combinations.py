"""The proofs of boosted models whose rows come in blocks: each is a sum over blocks.

A block is measured as a whole X is, and its sums are rounded outwards and added up outwards. The
weights of the examples stay with the rows. What is no sum is not claimed: the margins beside the
best that stumps can reach, and rows that no test tells apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.certificates.blocks import as_source, class_factors, weighed
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.blocks import Down, Least, Most, Up, counted
from cotas.certificates.core.blocks import Tally as BlockTally
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.choices import APART
from cotas.certificates.core.rounding import TINY, above, gamma, total_down, total_up, up
from cotas.certificates.sound import Sound
from cotas.certificates.targets import ROUNDED
from cotas.certificates.theorems.additive import (
    OVERFLOWS,
    RISE,
    TAKEN_OFF,
    VALUE_OPERATIONS,
    AdditiveFit,
    Compared,
    DualSums,
    MeanLosses,
    products_down,
)
from cotas.certificates.theorems.combinations import (
    Combined,
    ExampleWeights,
    read_sketch,
    weighted_total,
)
from cotas.certificates.theorems.products import Tally
from cotas.certificates.theorems.surrogates import (
    AFTER_A_ROUND,
    AFTER_A_VOTE,
    OPERATIONS,
    SurrogateBound,
    Surveyed,
    exp_up,
)
from cotas.source import Block, Changed, Source

# Where rows are not looked at again, the best of these stands for the best θ.
THETAS = tuple(k / 128 for k in range(65))
NOT_LOOKED_FOR = "Rows that no test tells apart are not looked for where rows come in blocks."
ENDS: dict[str, Any] = {"max": Most, "min": Least, "sum": np.asarray}


@dataclass(frozen=True, kw_only=True)
class InBlocks(Combined):
    """What both witnesses have in common: classes may weigh more than their rows do."""

    takes_blocks: ClassVar[bool] = True
    targets: ClassVar[bool] = False

    labels: AnyArray | None = None
    factors: FloatArray | None = None

    def check(self, X: Any, y: Any = None, each: Each = map) -> Certificate:
        source = as_source(X, y)
        sound = Changed(source, Sound(source.n_features, self.targets), each)
        return self.proved(lambda: self.over(sound))

    def over(self, source: Source) -> Certificate:
        """What is proved of the model, which is sound, from all the blocks."""
        raise NotImplementedError

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if self.weights is not None:
            raise Objection("weights")
        self.pairs()

    def pairs(self) -> tuple[tuple[Any, float], ...]:
        """Label and factor of each class that has one."""
        return class_factors(self.labels, self.factors)


def weights_of(block: Block, pairs: tuple[tuple[Any, float], ...]) -> ExampleWeights:
    """The weights of the rows of a block, as they are."""
    s = weighed(block, pairs)
    w = np.ones(block.n_rows) if s is None else np.asarray(s, dtype=np.float64)
    if not np.isfinite(w).all() or (w < 0).any() or (w[w > 0] < TINY).any():
        raise Objection("The weights of the examples are negative, or all zero.")
    return ExampleWeights(w, total_down(w), total_up(w), False)


def common(weights: ExampleWeights, tally: Tally) -> BlockTally:
    """What both proofs add up of each block: rows, weights and what a sweep has found."""
    w = weights.w
    whole = BlockTally(rows=len(w), low=Down(weights.mass), high=Up(weights.most))
    whole |= {"lightest": Least(w.min()), "heaviest": Most(w.max())}
    return BlockTally(whole | {name: ENDS[name[:3]](value) for name, value in tally.items()})


def all_weights(found: BlockTally) -> ExampleWeights:
    """The sum of all weights from both sides; those of the rows are not kept."""
    low, high = float(found["low"]), float(found["high"])
    if not (low > 0 and high < math.inf):
        raise Objection("The weights of the examples are negative, or all zero.")
    return ExampleWeights(np.zeros(0), low, high, found["lightest"] == found["heaviest"])


def in_few_digits(found: Certificate, unit: float) -> Certificate:
    """The same with figures that are small differences of sums rounded to a millionth of a unit.

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
class BlockSurrogate(InBlocks, SurrogateBound):
    """The training error of a booster, and the surrogate that bounds it, from blocks."""

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if self.stumps is not None:
            raise Objection("This surrogate does not belong to so many classes.")

    def thetas(self) -> tuple[float, ...]:
        """The θ of which the best is taken; any would be true, and the others have one."""
        return THETAS if self.surrogate == "votes" else (1.0,)

    def over(self, source: Source) -> Certificate:
        """One pass."""
        found = counted(source.map_reduce(partial(survey_of_block, self)), source.n_rows)
        weights = all_weights(found)
        if found["strange"]:
            raise Objection("F is not a finite number for some example.")
        share = min(1.0, weights.quotient(0.0, float(found["wrongly"]))[1])
        cost, theta = min((float(found[f"cost {t}"]), t) for t in self.thetas())
        if weights.uniform:
            share = min(1.0, up(found["wrong"] / source.n_rows))
        share, bound = share if found["wrong"] else 0.0, weights.quotient(0.0, cost)[1]
        about = (source.n_rows, found["wrong"], share, bound, theta, float(found["least"]))
        surveyed = Surveyed(*about, weights.mass, weights.uniform, found)
        sketch = read_sketch(found, (source.n_rows, source.n_features))
        return in_few_digits(self.in_certificate(surveyed, math.inf, sketch), 1.0)


@np.errstate(all="ignore")
def survey_of_block(witness: BlockSurrogate, block: Block) -> BlockTally:
    """The margins of the rows of a block, and their costs, as sums."""
    weights = weights_of(block, witness.pairs())
    sweep = witness.sweep(block.X, block.y)
    sweep.first = block.start
    survey = witness.survey(sweep, weights, map)
    used, wrong = weights.w > 0, survey.margins <= 0
    margins, operations = survey.margins[used], OPERATIONS + len(witness.combinations)
    votes = witness.surrogate == "votes"
    costs = {
        f"cost {t}": exp_up(survey.margins, t) if votes else survey.costs for t in witness.thetas()
    }
    return BlockTally(
        common(weights, survey.tally)
        | {t: Up(weighted_total(weights.w, c, operations)[1]) for t, c in costs.items()}
        | {
            "wrong": int(np.count_nonzero(wrong)),
            "wrongly": Up(weighted_total(weights.w, wrong.astype(np.float64))[1]),
            "least": Least(margins.min(initial=math.inf)),
            "strange": int(np.count_nonzero(~np.isfinite(margins))),
        }
    )


# ---- numbers -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BlockAdditive(InBlocks, AdditiveFit):
    """b + Σ cₘfₘ(x), to be compared with others of the same kind, from blocks."""

    targets: ClassVar[bool] = True

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if self.loss != "squared" or self.labels is not None or self.tests.thresholds is None:
            raise Objection("There is not one combination with a known loss.")

    def over(self, source: Source) -> Certificate:
        """Two passes: the losses, and the dual point that is made of the residuals."""
        n, shape = source.n_rows, (source.n_rows, source.n_features)
        first = counted(source.map_reduce(partial(residuals_of_block, self)), n)
        weights, sketch = all_weights(first), read_sketch(first, shape, float(first["furthest"]))
        if not math.isfinite(first["value high"]):
            raise Objection(OVERFLOWS)
        total = weights.mass
        middles = (float(first["residuals"]) / total, float(first["numbers"]) / total)
        radius = self.radius()
        second = partial(dual_of_block, self, middles, radius is not None)
        dual = counted(source.map_reduce(second), n)
        if not sketch.matches(read_sketch(dual, shape, float(dual["furthest"]))):
            raise Objection("The blocks of the source were not the same when read again.")
        largest = float(first["largest"])
        constant = self.least(_sums(dual, n, "of y"), largest, weights, 0.0, 0.0)
        lower = 0.0
        if radius is not None:
            sums = _sums(dual, n, "of r")
            whole = max(-dual["of r low"], dual["of r high"])
            edge = self.tests.edge_of_sums(dual["bins"], whole, n, sums.size)
            lower = self.least(sums, up(largest + radius), weights, radius, edge)
        high = weights.quotient(0.0, float(first["value high"]))[1]
        low = weights.quotient(float(first["value low"]), 0.0)[0]
        low = min(low, high - APART * high)  # the same rows in other blocks prove a little less
        after, rounded = first["sum losses"], ROUNDED * float(first["squares"]) / total
        losses = MeanLosses(low, high, after, float(first["slack"]), constant, rounded, n)
        said = self.said()
        if radius is None:
            said = Compared(said.who, [*said.remarks, NOT_LOOKED_FOR])
        found = self.in_certificate(losses, lower, said, weights, sketch)
        return in_few_digits(found, float(after[0]) / weights.most)


@np.errstate(all="ignore")
def residuals_of_block(witness: BlockAdditive, block: Block) -> BlockTally:
    """The losses of the rows of a block, as sums, and what the second pass begins with."""
    weights, y, r, slack, tally = _residuals(witness, block)
    w, value = weights.w, witness.value
    return BlockTally(
        common(weights, tally)
        | {
            "value low": Down(weighted_total(w, value(r))[0]),
            "value high": Up(weighted_total(w, value(np.abs(r) + slack), VALUE_OPERATIONS)[1]),
            "slack": Most(slack[w > 0].max(initial=0.0)),
            "largest": Most(np.abs(y[w > 0]).max(initial=0.0)),
            "furthest": Most(np.abs(y).max()),
            # Guesses, which need not be accurate.
            "residuals": float((w * r).sum()),
            "numbers": float((w * y).sum()),
            "squares": float((w * y * y).sum()),
        }
    )


@np.errstate(all="ignore")
def dual_of_block(
    witness: BlockAdditive, middles: tuple[float, float], edges: bool, block: Block
) -> BlockTally:
    """g = wu for u = r less its mean, and for u = y less its mean: what the bounds are made of."""
    weights, y, r, _, tally = _residuals(witness, block)
    whole = common(weights, tally) | {"furthest": Most(np.abs(y).max())}
    for name, v, middle in zip(("of r", "of y"), (r, y), middles, strict=True):
        u = np.where(weights.w > 0, v - middle, 0.0)
        g = weights.w * u
        whole |= {
            f"{name} size": Up(total_up(np.abs(g))),
            f"{name} low": Down(total_down(g)),
            f"{name} high": Up(total_up(g)),
            f"{name} gain": Down(products_down(g, y)),
            f"{name} curve": Up(total_up(g * u)),
        }
        if edges and name == "of r":
            whole["bins"] = witness.tests.bin_sums(block.X, g)
    return BlockTally(whole)


def _residuals(witness: BlockAdditive, block: Block) -> Any:
    """The weights, y, y − F as computed, how far it may be off, and what the sweep found."""
    y = np.asarray(block.y, dtype=np.float64)
    if not np.isfinite(y).all():
        raise Objection("y holds what is not a finite number.")
    sweep, weights = witness.sweep(block.X, y), weights_of(block, ())
    sweep.first = block.start
    return weights, y, *witness.residuals(sweep, weights, map)


def _sums(found: BlockTally, n: int, name: str) -> DualSums:
    """Those of all the blocks; the products g have been rounded themselves."""
    size = float(found[f"{name} size"])
    rest = max(-float(found[f"{name} low"]), float(found[f"{name} high"]), 0.0)
    rest = up(rest + above(gamma(4) * size))
    return DualSums(n, size, rest, float(found[f"{name} gain"]), float(found[f"{name} curve"]))


def in_blocks(witness: Any, factors: tuple[tuple[Any, float], ...]) -> Any:
    """The same witness for rows in blocks; classes may have weights besides those of the rows."""
    kind = BlockSurrogate if isinstance(witness, SurrogateBound) else BlockAdditive
    given = {f.name: getattr(witness, f.name) for f in fields(witness)}
    if factors:
        labels, numbers = zip(*factors, strict=True)
        given |= {"labels": np.array(labels), "factors": np.array(numbers)}
    return kind(**given)
