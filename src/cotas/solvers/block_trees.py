"""Trees on rows that come in blocks: each level is one pass, and its histograms are a sum.

A block comes binned, F of its rows is computed from the model so far, and what comes back is for
each feature, node and bin the sum of what the round asks for. So nothing of the size of n is kept,
and a block that is lost is computed again. The cut of a histogram is searched as in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from cotas.arrays import AnyArray, FloatArray
from cotas.loops import loop
from cotas.refusals import ParameterError
from cotas.solvers.block_binning import CodedRows, Coder, SparselyCodedRows
from cotas.solvers.class_trees import ClassGini, MostVotes, cut_nodes, light_scores
from cotas.solvers.histograms import add_histograms
from cotas.solvers.split_search import (
    BinLayout,
    Cuts,
    Edge,
    Gini,
    SquaresCriterion,
    cut_feature,
    score_whole,
)
from cotas.solvers.tree_growing import Grower, new_cuts, new_tests
from cotas.solvers.trees import Trees, join_trees
from cotas.solvers.weak_learners import LEAST_SHARE, BinnedTrees, Fitted, Named, naming
from cotas.source import Block, Source, Sums

# Bytes of the histograms of a level, which come back from each block.
LARGEST_LEVEL = 1 << 26
# Bytes of F that are kept: of eight million rows, while more are computed from the model.
REMEMBERED = 1 << 26
Rows: TypeAlias = CodedRows | SparselyCodedRows
ROWS_ONLY = "This weak learner needs rows in memory."


class TreeSum(NamedTuple):
    """The sum F of each row: a constant, and trees for each function, whose coefficients are the
    same."""

    constant: float
    trees: tuple[Trees, ...]
    coefficients: FloatArray

    def and_then(self, trees: tuple[Trees, ...], a: float) -> TreeSum:
        """Return the model with one more round."""
        if not len(self.coefficients):
            return self._replace(trees=trees, coefficients=np.array([a]))
        joined = tuple(join_trees(pair) for pair in zip(self.trees, trees, strict=True))
        return self._replace(trees=joined, coefficients=np.append(self.coefficients, a))

    def values(self, rows: Rows, n_functions: int) -> FloatArray:
        """Compute F of each function, in these rows."""
        return self.beyond(0, np.full((n_functions, rows.n_rows), self.constant), rows)

    def beyond(self, rounds: int, F: FloatArray, rows: Rows) -> FloatArray:
        """Compute F, that has the first rounds already, with the others added in their order."""
        for trees, out in zip(self.trees, F, strict=False):
            rows.add(trees.after(rounds), self.coefficients[rounds:], out)
        return F


class Remembered:
    """A memory of F of blocks, as long as there is room; where it is not, it is computed again.

    Only this process has it: a copy in another one is empty, and stays so.
    """

    def __init__(self, room: int) -> None:
        self.room, self.kept = room, dict[int, tuple[int, FloatArray]]()

    def __reduce__(self) -> tuple[Any, ...]:
        return Remembered, (0,)

    def values(self, model: TreeSum, start: int, rows: Rows, n_functions: int) -> FloatArray:
        """Compute F of the block that begins so, by the model; an array of the caller's."""
        rounds, known = self.kept.get(start, (0, None))
        if known is None:
            F = model.values(rows, n_functions)
            if self.room < F.nbytes:
                return F
            self.room -= F.nbytes
        else:
            F = model.beyond(rounds, known.copy(), rows)
        self.kept[start] = (len(model.coefficients), F)
        return F.copy()


class Quantity(NamedTuple):
    """A name of what a tree is fitted to: the blocks compute it of F, y and the weights."""

    name: str
    of_class: int = 0


class Cost(Protocol):
    """A cost: sums over the rows of a block after a step, and what trees are fitted to."""

    @property
    def n_functions(self) -> int:
        """Tell how many functions F has."""
        ...

    def evaluate(
        self, y: AnyArray, s: FloatArray, F: FloatArray, f: FloatArray | None, a: float
    ) -> tuple[Sums, Callable[[Quantity], AnyArray]]:
        """Return, after F ← F + a·f, sums over the rows, and each quantity; real ones are ±w."""
        ...


@dataclass(frozen=True)
class HistogramQuery:
    """A request for histograms from a pass: those of the nodes of a level of a tree."""

    quantities: tuple[Quantity, ...]
    tree: Trees | None = None
    level: int = 0

    def histograms(self, rows: Rows, quantity: Callable[[Quantity], AnyArray]) -> AnyArray:
        """Compute for each quantity, feature, node and bin the sum over these rows.

        Of ±w it is the sum of the positive ones, and as the imaginary part that of the others.
        """
        given, node = [quantity(one) for one in self.quantities], self._nodes(rows)
        size = (rows.coder.n_features, 2**self.level, rows.coder.width)
        whole = np.zeros((len(given), *size), dtype=np.complex128)
        for span, codes in rows.parts():
            for g, sums in zip(given, whole, strict=True):
                part = g[span] if g.dtype == np.complex128 else _by_sign(g[span])
                add_histograms(codes, part, node[span], sums)
        return whole

    def _nodes(self, rows: Rows) -> AnyArray:
        """Return the node of each row."""
        if self.tree is None:
            return np.zeros(rows.n_rows, dtype=np.uint8)
        return rows.nodes(self.tree, 0, self.level)


def _by_sign(s: FloatArray) -> AnyArray:
    """Return the positive ones, and as the imaginary part the others without their sign."""
    return np.asarray(np.maximum(s, 0.0) + 1j * np.maximum(-s, 0.0))


@dataclass(frozen=True)
class TreePass:
    """One pass: F ← F + a·f, what is known after it, and the histograms that were asked for."""

    change: Callable[[Block], Block]
    coder: Coder
    model: TreeSum
    remembered: Remembered
    cost: Cost
    trees: tuple[Trees, ...]
    a: float
    asked: HistogramQuery | None

    def __call__(self, block: Block) -> Sums:
        block, rows, K = self.change(block), self.coder.rows(block.X), self.cost.n_functions
        F, f = self.remembered.values(self.model, block.start, rows, K), None
        if self.trees:
            f = TreeSum(0.0, self.trees, np.ones(1)).values(rows, K)
        sums, quantity = self.cost.evaluate(block.y, block.shares(), F, f, self.a)
        return Sums(sums, 0 if self.asked is None else self.asked.histograms(rows, quantity))


class BlockRounds:
    """The model so far and how to go over coded blocks with it; the next root is looked at ahead.

    The pass that tells what a step has done makes the histograms of the roots, too, of the
    quantities that the next round will ask for; so a tree of depth D costs D passes.
    """

    def __init__(
        self, source: Source, change: Callable[[Block], Block], coder: Coder, model: TreeSum
    ) -> None:
        self.source, self.change, self.coder, self.model = source, change, coder, model
        self.expected: tuple[Quantity, ...] = ()
        self.roots: dict[Quantity, AnyArray] = {}
        self.remembered = Remembered(REMEMBERED)
        self.cost: Any = None

    def expect(self, *quantities: Quantity) -> None:
        """Tell what each round will ask for, if all of it at once is not too much."""
        size = 16 * self.coder.n_features * self.coder.width * len(quantities)
        self.expected = quantities if size <= LARGEST_LEVEL else ()

    def evaluate(self, cost: Cost, trees: tuple[Trees, ...] = (), a: float = 0.0) -> TreePassResult:
        """Return what the blocks say after F ← F + a·f, which is not yet the model."""
        asked = HistogramQuery(self.expected) if self.expected else None
        seen, found = self._pass(cost, trees, a, asked)
        roots = dict(zip(self.expected, found if asked else (), strict=True))
        return TreePassResult(
            seen, roots, self.model.and_then(trees, a) if trees else self.model, cost
        )

    def adopt(self, looked: TreePassResult) -> None:
        """Make it the model."""
        self.model, self.cost, self.roots = looked.model, looked.cost, looked.roots

    def level(self, quantities: tuple[Quantity, ...], tree: Trees, level: int) -> AnyArray:
        """Compute the histograms of the nodes of a level, in one pass, but for roots that are
        known."""
        if level == 0 and all(quantity in self.roots for quantity in quantities):
            return np.array([self.roots[quantity] for quantity in quantities])
        asked = HistogramQuery(quantities, tree, level)
        return np.asarray(self._pass(self.cost, (), 0.0, asked)[1])

    def _pass(
        self, cost: Any, trees: tuple[Trees, ...], a: float, asked: HistogramQuery | None
    ) -> Any:
        given = (self.change, self.coder, self.model, self.remembered, cost, trees, a, asked)
        return self.source.map_reduce(TreePass(*given))


class TreePassResult(NamedTuple):
    """The findings of one pass on a step."""

    sums: Any
    roots: dict[Quantity, AnyArray]
    model: TreeSum
    cost: Cost


@dataclass(frozen=True)
class Target:
    """A quantity of the rows of a run: what weak learners are handed in the place of an array."""

    rounds: BlockRounds
    quantity: Quantity


class Leaves(NamedTuple):
    """A tree, and the sums over its leaves: of wz and w, or of the weights of both signs."""

    tree: Trees
    parts: AnyArray

    @property
    def value(self) -> FloatArray:
        """Return what the function is in each leaf."""
        return np.asarray(self.tree.value[0])

    def wrong(self) -> float:
        """Compute Σ w|f| over the rows where f has the other sign, of ±w."""
        value = self.value
        return float(np.abs(value) @ np.where(value > 0, self.parts.imag, self.parts.real))

    def sign(self) -> Self:
        """Return the sign of the function."""
        return self._replace(tree=self.tree._replace(value=np.sign(self.tree.value)))


@loop
def search_sums(
    features: BinLayout, criterion: Any, sums: AnyArray, totals: AnyArray, cuts: Cuts
) -> None:
    """Find the best cut of each node by each feature, from their histograms."""
    for j in range(sums.shape[0]):
        for v in range(sums.shape[1]):
            cut_feature(features, criterion, j, v, sums[j, v], totals[v], cuts)


class BlockGrower(Grower):
    """A grower of trees on histograms that come from passes over the blocks.

    Departures from `Grower`: no histogram is a difference of two others, so that the sums of the
    leaves are exact zeros where they should be. Cost: a pass for each level.
    """

    def __init__(self, coder: Coder, depth: int) -> None:
        self.bins = coder.bins(np.empty((coder.n_features, 0), dtype=np.uint8))
        self.depth, self.width, self.tests = depth, coder.width, new_tests(2**depth - 1)
        self.know(self.bins, coder.scale)
        self.refuse_large_levels(1)

    def refuse_large_levels(self, n_classes: int) -> None:
        """Raise if the histograms of the last level, one for each class, take too much memory."""
        size = 16 * self.n_features * 2 ** (self.depth - 1) * self.width * n_classes
        if size > LARGEST_LEVEL:
            raise ParameterError(
                "weak_learner",
                f"The histograms of {self.n_features} features for trees of depth {self.depth} "
                f"take {size / 2**20:.0f} MiB for each block of rows; "
                f"{LARGEST_LEVEL / 2**20:.0f} MiB are the most. Give a smaller depth, or fewer "
                "columns." + (" multiclass='ovr' needs less." if n_classes > 1 else ""),
            )

    def grow_naming(
        self, kind: Any, rounds: BlockRounds, n_classes: int
    ) -> tuple[Trees, FloatArray]:
        """Grow a tree that is to name classes, without values, and the weight of each in its
        leaves."""
        self.refuse_large_levels(n_classes)
        leaves = np.empty(0)
        quantities, criterion = votes_of(n_classes), None
        for level in range(self.depth):
            found = rounds.level(quantities, self.tree(2**level - 1), level).real
            sums = np.ascontiguousarray(np.moveaxis(found, 0, -1))  # feature, node, bin, class
            totals = sums[0].sum(axis=1)
            criterion = criterion or kind(LEAST_SHARE * float(totals.sum()))
            cuts = new_cuts(self.features, len(totals), np.float64)
            for j in range(self.n_features):
                cut_nodes(self.bins, criterion, j, sums[j], totals, cuts)
            ways = self.write(level, cuts, light_scores(criterion, totals))
            leaves = np.stack([_of_children(one, *ways) for one in found], axis=1)
        return self.tree(), leaves

    def grow_on(
        self, kind: Any, target: Target, converted: Callable[[AnyArray], AnyArray]
    ) -> tuple[Trees, AnyArray]:
        """Return a tree without values, and the sums over its leaves as they came from the blocks.

        `converted` makes of such sums those that the criterion compares.
        """
        parts = np.empty(0)
        criterion: Any = None
        for level in range(self.depth):
            above = self.tree(2**level - 1)
            found = target.rounds.level((target.quantity,), above, level)[0]
            sums = np.ascontiguousarray(converted(found))
            totals = sums[0].sum(axis=1)
            criterion = kind(LEAST_SHARE * float(totals.imag.sum())) if not level else criterion
            cuts = new_cuts(self.features, len(totals), totals.dtype)
            search_sums(self.features, criterion, sums, totals, cuts)
            before = np.array([score_whole(criterion, total) for total in totals])
            parts = _of_children(found, *self.write(level, cuts, before))
        return self.tree(), parts


def _of_children(found: AnyArray, feature: AnyArray, route: AnyArray) -> AnyArray:
    """Return the sums of both sides of each node; one that was not cut hands all to its left
    child."""
    width, nodes = found.shape[2], np.arange(found.shape[1])
    mine = found[np.maximum(feature, 0), nodes]
    right = np.where(feature[:, None] >= 0, route[:, :width], 0)
    sides = [np.where(right == side, mine, 0).sum(axis=1) for side in (0, 1)]
    return np.stack(sides, axis=1).ravel()


class BlockTrees(BinnedTrees):
    """Trees on histograms of rows in blocks; what is asked for comes as a `Target`."""

    def __init__(self, coder: Coder, depth: int, gini: bool) -> None:
        self.blocks = BlockGrower(coder, depth)
        self.by_edge = depth == 1 and not gini

    def least_absolute(self, z: Any, w: Any) -> Fitted:
        raise ParameterError("weak_learner", ROWS_ONLY)

    def name(self, classes: Any, w: Any, n_classes: int) -> Named:
        """Make the same from blocks: `classes` are the rounds, and the codes the weights of
        leaves."""
        kind = MostVotes if self.by_edge else ClassGini
        tree, weights = self.blocks.grow_naming(kind, classes, n_classes)
        return Named(naming(tree, weights), weights)

    def _grow_edge(self, s: Any) -> tuple[Trees, AnyArray, AnyArray]:
        tree, parts = self.blocks.grow_on(Edge, s, _signed)
        return tree, parts, _signed(parts)

    def _grow(self, wz: Any, w: Any) -> tuple[Trees, AnyArray, AnyArray]:
        if wz.quantity == SIGNED:
            return self._grow_signed(wz)
        tree, parts = self.blocks.grow_on(SquaresCriterion, wz, np.asarray)
        return tree, parts, parts

    def _grow_signed(self, s: Any) -> tuple[Trees, AnyArray, AnyArray]:
        tree, parts = self.blocks.grow_on(Gini, s, _both)
        return tree, parts, _both(parts)

    def _with(self, tree: Trees, leaf: AnyArray, value: FloatArray) -> Fitted:
        found = tree._replace(value=value[None, :])
        return Fitted(found, Leaves(found, leaf))  # type: ignore[arg-type]


SIGNED = Quantity("signed")


def votes_of(n_classes: int) -> tuple[Quantity, ...]:
    """Return the weights of the rows of each class."""
    return tuple(Quantity("votes", k) for k in range(n_classes))


def _signed(parts: AnyArray) -> AnyArray:
    """Compute Σ ±w"""
    return np.asarray(parts.real - parts.imag)


def _both(parts: AnyArray) -> AnyArray:
    """Compute Σ ±w + i·Σ w"""
    return np.asarray((parts.real - parts.imag) + 1j * (parts.real + parts.imag))
