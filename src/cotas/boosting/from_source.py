"""Boosters from a source of row blocks: the rounds of the algorithm, each level a pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each
from cotas.boosting.weak_learners import PreparedLearner, Stump, Tree, check_tests
from cotas.certificates.blocks import Scatter, Signs, TargetColumns, Watched, weighed
from cotas.certificates.theorems.weak_learners import StumpClass
from cotas.fitting.data import refuse_extreme_weights
from cotas.fitting.from_source import (
    SourceClasses,
    bound_to,
    classes_of,
    label_totals,
    refuse_not_finite,
)
from cotas.refusals import ParameterError
from cotas.solvers.block_binning import Coder, ColumnSampler
from cotas.solvers.block_boosting import (
    BlockExponential,
    BlockLikelihood,
    BlockResiduals,
    BlockVotes,
)
from cotas.solvers.block_trees import BlockRounds, BlockTrees, TreeSum
from cotas.solvers.moments import Lowest
from cotas.source import Block, NotInBlocksError, Source, Sums, is_sparse

IN_BLOCKS = "Trained on histograms, the rows coming in blocks."


@dataclass(frozen=True)
class FirstPass:
    """A first pass over a block, before anything is fitted to it: y, and its columns."""

    columns: ColumnSampler
    targets: bool

    def __call__(self, block: Block) -> Sums:
        refuse_not_finite(block, gaps=True)
        return Sums(numbers(block) if self.targets else label_totals(block), self.columns(block))


def numbers(block: Block) -> Sums:
    """Return the mean of the targets and their squares about it, the smallest and minus the
    largest."""
    y = np.asarray(block.y, dtype=np.float64)
    if y.ndim != 1:
        raise ParameterError("y", f"y must be a vector of numbers, and its shape is {y.shape}.")
    if not np.isfinite(y).all():
        raise ParameterError("y", "Input y contains NaN or infinity.")
    s = block.shares()
    used = y[s > 0]
    ends = (Lowest(used.min(initial=np.inf)), Lowest((-used).min(initial=np.inf)))
    with np.errstate(over="ignore", invalid="ignore"):
        return Sums(Scatter.of(y[:, None], s), *ends)


@dataclass(frozen=True)
class BlockCoding:
    """A block with the bins of its values for X, and for y numbers, or places among the classes."""

    coder: Coder
    classes: tuple[Any, ...] = ()

    def __call__(self, block: Block) -> Block:
        y = np.asarray(block.y)
        if self.classes:
            y = np.searchsorted(np.array(self.classes), y).astype(np.uint16)
        else:
            y = y.astype(np.float64, copy=False)
        return block._replace(X=self.coder.coded(block.X), y=y)


@dataclass(frozen=True)
class ToLearnFrom:
    """A coded block with y as an algorithm has it, and weights that sum to one over all the rows.

    Attributes
    ----------
    total : the weight of all rows
    factors : of each class, where they have some
    positive : the class that counts as +1 against the rest; None where y stays as it is
    """

    total: float
    factors: tuple[float, ...] = ()
    positive: int | None = None

    def __call__(self, block: Block) -> Block:
        s, y = weighed(block, tuple(enumerate(self.factors))), np.asarray(block.y)
        shares = np.full(len(y), 1.0 / self.total) if s is None else s / self.total
        if self.positive is not None:
            y = np.where(y == self.positive, 1.0, -1.0)
        elif y.dtype.kind == "u":
            y = y.astype(np.int64)  # for which the loops are compiled
        return block._replace(y=y, weights=shares)


@dataclass
class BlockRun:
    """One run of an algorithm over blocks; it stands for a `BoostingRun` in memory."""

    label: Any
    source: Source  # coded
    change: ToLearnFrom
    coder: Coder
    constant: float = 0.0
    n_functions: int = 1
    before: None = None
    first: int = 1

    def _rounds(self) -> BlockRounds:
        empty_sum = TreeSum(self.constant, (), np.empty(0))
        return BlockRounds(self.source, self.change, self.coder, empty_sum)

    def exponential(self, each: Each) -> Any:
        """Return the weights of the algorithms that descend on E[exp(−yF)]."""
        return BlockExponential(self._rounds())

    def logistic(self, each: Each) -> Any:
        """Return the weights and targets of LogitBoost."""
        return BlockLikelihood(self._rounds())

    def of_classes(self) -> Any:
        """Return the same for several classes at once."""
        return BlockLikelihood(self._rounds(), self.n_functions)

    def of_votes(self, each: Each) -> Any:
        """Return the votes for one of several classes."""
        return BlockVotes(self._rounds(), self.n_functions)

    def residuals(self, error: Any) -> Any:
        """Return what is left of numbers to be predicted."""
        return BlockResiduals(self._rounds())


@dataclass(frozen=True)
class BlockExamples:
    """The training data of a fit from blocks; `weights` stay with the rows."""

    source: Source
    X: Watched  # the same, for the proof
    coded: Source  # the same, as trees are grown on it
    coder: Coder
    total: float
    classes: Any = None
    factors: tuple[tuple[Any, float], ...] = ()
    constant: float = 0.0
    y: None = None
    weights: None = None

    @property
    def n_entries(self) -> int:
        """Tell how many numbers X has."""
        return self.source.n_rows * self.source.n_features

    def positives(self) -> AnyArray:
        """Return the labels that are trained against the rest."""
        return np.asarray(self.classes[1:] if len(self.classes) == 2 else self.classes)

    def prepared(self, learner: Any) -> PreparedLearner:
        """Return the learner with its bins."""
        scale = self.coder.scale
        trees = BlockTrees(self.coder, learner.depth, learner.criterion == "gini")
        tests = StumpClass(tuple(scale.edges), scale.categorical)
        return PreparedLearner(trees, self.coder.categories(), None, tests)

    def run(self, label: object = None, together: bool = False) -> BlockRun:
        """Return a run for one class against the rest, for all together, or for numbers."""
        one = self.classes is not None and not together
        positive = self.classes.tolist().index(label) if one else None
        change = ToLearnFrom(self.total, tuple(factor for _, factor in self.factors), positive)
        n_functions = len(self.classes) if together else 1
        return BlockRun(label, self.coded, change, self.coder, self.constant, n_functions)


def read_blocks(
    source: Source, learner: Any, each: Each, *, targets: bool, class_weight: Any = None
) -> BlockExamples:
    """Read in one pass the classes or the mean of y, and some rows that the bins are chosen
    from."""
    bound = bound_to(source, each, targets=targets)
    categorical = check_tests(learner, source.n_features)
    sampler = ColumnSampler.at(source.n_rows, categorical, bound.of_first(is_sparse))
    found, columns = bound.map_reduce(FirstPass(sampler, targets))
    if targets:
        scatter, lowest, highest = found
        if not scatter.total > 0:
            raise ParameterError(
                "sample_weight", "The weights of the source are zero for all rows: one must count."
            )
        refuse_extreme_weights(min(1.0, scatter.total), "The weight of all rows")
        if not np.isfinite(scatter.squares).all():
            raise ParameterError(
                "y", "The squares of y overflow. Rescale y, and what is predicted with it."
            )
        middle = float(np.clip(scatter.mean[0], float(lowest), -float(highest)))
        coder = Coder.of(columns, categorical)
        watched = seen_once(bound, TargetColumns((None,)))
        coded = bound.coded(BlockCoding(coder))
        return BlockExamples(bound, watched, coded, coder, scatter.total, constant=middle)
    classes: SourceClasses = classes_of(found, class_weight)
    watched = seen_once(bound, Signs(tuple(classes.positives().tolist()), classes.pairs))
    coder = Coder.of(columns, categorical)
    coded = bound.coded(BlockCoding(coder, tuple(classes.labels.tolist())))
    return BlockExamples(bound, watched, coded, coder, classes.total, classes.labels, classes.pairs)


def seen_once(source: Source, read: Any) -> Watched:
    """Make the source for the proof, which notices if its blocks are no longer those of the fit."""
    watched = Watched(source, read)
    watched.sketches()
    return watched


def refuse_what_needs_rows(model: Any, learner: Any) -> None:
    """Raise for wishes that blocks do not serve."""
    name = type(model).__name__
    if not isinstance(learner, Stump | Tree) or learner.search != "histogram":
        raise NotInBlocksError(
            f"{name}({learner!r}) needs X as an array, and takes no source of row blocks: of the "
            "weak learners Stump and Tree, on histograms, do."
        )
    for wish in ("early_stopping", "warm_start"):
        if getattr(model, wish):
            raise NotInBlocksError(
                f"{wish}=True needs X as an array: leave it out for a source of row blocks."
            )
