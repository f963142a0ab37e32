"""Growing a small tree on binned features, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray
from cotas.solvers.binning import MOST_BINS, Bins, Scale
from cotas.solvers.bundles import make_bundles, readings_of, units_of
from cotas.solvers.level_search import (
    Placed,
    Space,
    gather,
    grow_levels,
    open_nodes,
    pick_nodes,
    place_rows,
    search,
    send,
    sum_children,
    sum_leaves,
)
from cotas.solvers.split_search import (
    COUNT_BITS,
    BinLayout,
    CountedSquares,
    Cuts,
    Edge,
    Groups,
    Tests,
    choose_cuts,
)
from cotas.solvers.trees import Trees

KEPT_BYTES = 1 << 26  # of histograms that the next level subtracts from
WORTH_A_THREAD = 1 << 21  # entries of X: of fewer, a thread wakes up after the work is done


class Grower:
    """A grower of trees of one depth on one set of binned rows.

    At each level every node that can be improved is cut by the feature and threshold with the best
    score (see `split_search`). Departures from a tree grown on the sorted values: thresholds lie
    between bins. Invariant: the sums of two siblings add up to the sum of their parent, so only
    the smaller sibling is read. Cost: O(n·d) for the root and at most half of it for each further
    level, d counting bundles of features once; 16·256·d bytes for each node but those of the last
    level, up to 64 MB.
    """

    def __init__(self, bins: Bins, scale: Scale, depth: int, each: Each, threads: int) -> None:
        self.depth, self.each = depth, each
        n, d = bins.codes.shape[1], len(bins.place)
        threads = threads if n * d > WORTH_A_THREAD else 1
        self.shares = [np.arange(k, d, threads, dtype=np.int32) for k in range(min(threads, d))]
        self.units = units_of(bins, make_bundles(bins))
        self.bins = bins._replace(codes=self.units.codes[: len(bins.codes)])
        readings = readings_of(self.units)
        self.readings = [readings[k::threads] for k in range(min(threads, len(readings)))]
        self.every_row = np.arange(n, dtype=np.uint32)
        self.placed = _placed(n, depth, bool((bins.place < 0).any()))
        self.node = self.placed.node
        self.tests = new_tests(2**depth - 1)
        self.spaces: dict[Any, list[Space]] = {}  # of each criterion, for each thread
        self.know(bins, scale)

    def know(self, bins: Bins, scale: Scale) -> None:
        """Keep what is known of the features."""
        self.n_features = len(bins.place)
        self.features = BinLayout(bins.place, bins.sizes, bins.missing, bins.categorical)
        self.named = bool(bins.categorical.any())
        # All thresholds one after the other; the one after the last bin is infinite.
        parts = [part for edges in scale.edges for part in (edges, [np.inf])]
        self.thresholds = np.concatenate(parts)
        self.first = np.cumsum([0, *(len(edges) + 1 for edges in scale.edges)])

    def reset(self) -> None:
        """Put all rows in the root, in their order, which the tests of a stump leave as it is."""
        if self.depth > 1:
            np.copyto(self.placed.rows, self.every_row)
        self.node[:] = 0
        self.placed.begin[:2] = 0, len(self.node)

    def grow(
        self, criterion: Any, g: AnyArray, total: Any, exact: FloatArray | None = None
    ) -> tuple[Trees, AnyArray, AnyArray]:
        """Return a tree without values, the leaf of each row, and Σ gᵢ over each leaf.

        `total` is Σ gᵢ, or Σ gᵢ + i·Σ|gᵢ| for `Gini`. If g are `CountedSquares`, `exact` is summed
        in their place, and the sums have the counts as imaginary parts. The leaves are a view that
        the next tree overwrites.
        """
        spaces = self._spaces(criterion, g)
        summed, exact = (criterion, g) if exact is None else (Edge(0.0), exact)
        sums: AnyArray = np.empty(2**self.depth, dtype=_kind(summed))
        lanes = np.zeros((4, 2 * len(sums)), dtype=exact.dtype)
        self.reset()
        spaces[0].totals[0] = total
        if len(self.readings) == 1:
            grow_levels(
                self.features, self.units, self.readings[0], criterion, g, self.depth, self.placed,
                spaces[0], self.tests, summed, exact, lanes, sums,
            )  # fmt: skip
        else:
            self._grow_in_threads(criterion, g, spaces)
            sum_leaves(summed, self.node, exact, lanes, sums)
        if summed is not criterion:
            packed = spaces[0].totals[len(sums) - 1 :]
            sums = sums + 1j * ((packed + (1 << (COUNT_BITS - 1))) >> COUNT_BITS)
        return self.tree(), self.node, sums

    def _grow_in_threads(self, criterion: Any, g: AnyArray, spaces: list[Space]) -> None:
        """Grow as `grow_levels` does, each thread with a share of the readings."""
        placed, space, cuts = self.placed, spaces[0], spaces[0].cuts
        begin, read, rows = placed.begin, placed.read, placed.rows
        for level in range(self.depth):
            first = 2**level - 1
            if level > 0:
                place_rows((first + 1) // 2, begin, placed.node, rows, placed.spare)
            n_read = pick_nodes(first, len(space.kept), begin, read, placed.buffer)
            if level > 0:
                gather(n_read, read, begin, rows, g, space.gathered)
            open_nodes(criterion, first, space.totals, space.before, cuts.scores)

            def find(k: int, first: int = first, n_read: int = n_read) -> None:
                search(
                    self.features, self.units, self.readings[k], criterion, g, first, n_read,
                    placed, spaces[k],
                )  # fmt: skip

            list(self.each(find, range(len(self.readings))))
            self.write(level, cuts, space.before[: first + 1])
            sum_children(first, self.tests.feature, cuts.left, space.totals)
            self.send(level)

    def _spaces(self, criterion: Any, g: AnyArray) -> list[Space]:
        """Return what trees of this criterion are grown in, in each thread."""
        kind = type(criterion), g.dtype
        if kind not in self.spaces:
            sums, widest = _kind(criterion), 2 ** (self.depth - 1)
            own = [_of_thread(widest, g.dtype, sums) for _ in self.readings]
            size = len(self.units.width), int(self.units.width.max())
            most = KEPT_BYTES // (size[0] * size[1] * np.dtype(sums).itemsize)
            n_kept = max([0, *(2**k for k in range(1, self.depth) if 2**k <= most)])
            shared: dict[str, Any] = {
                "cuts": new_cuts(self.features, widest, sums, self.units.extras is None),
                "totals": np.zeros(4 * widest - 1, dtype=sums),
                "before": np.empty(widest),
                "gathered": np.empty(len(g) if self.depth > 1 else 0, dtype=g.dtype),
                "kept": np.empty((n_kept, *size), dtype=sums),
            }
            self.spaces[kind] = [Space(**shared, **arrays) for arrays in own]
        return self.spaces[kind]

    def send(self, level: int) -> None:
        """Send each row of a level from node v to 2v, or to 2v + 1 if the test of v says so."""
        send(self.features, self.units, 2**level - 1, self.tests, self.placed)

    def share(self, search: Any) -> None:
        """Give each thread some of the features to search."""
        list(self.each(search, self.shares) if len(self.shares) > 1 else map(search, self.shares))

    def write(self, level: int, cuts: Cuts, before: FloatArray) -> tuple[IntArray, AnyArray]:
        """Choose the best cuts of a level; the features, and which way each code goes at each node.

        `before` are the scores of the nodes as they are: a cut must have a better one.
        """
        first, nodes = 2**level - 1, slice(2**level - 1, 2 ** (level + 1) - 1)
        choose_cuts(self.features, cuts, before, first, self.tests)
        return self.tests.feature[nodes], self.tests.route[nodes]

    def tree(self, n_nodes: int | None = None) -> Trees:
        """Make a tree of the tests that were chosen, or of those of the first nodes; without
        values."""
        tests, j = self.tests, self.tests.feature.copy()
        if n_nodes is not None:
            j[n_nodes:] = -1
        none = j < 0
        threshold = self.thresholds.take(self.first[j] + tests.last, mode="clip")
        missing_left = tests.missing_left & self.features.missing[j]
        group, groups = np.full(len(j), -1, dtype=np.int32), NO_GROUPS
        if self.named:
            by_name = np.flatnonzero(~none & self.features.categorical[j])
            groups = 1 - tests.route[by_name]
            group[by_name] = np.arange(len(by_name))
            threshold[by_name], missing_left[by_name] = np.inf, 1
        gain = tests.gain.copy()
        threshold[none], missing_left[none], gain[none] = np.inf, 1, 0.0
        return Trees(
            feature=j[None],
            threshold=threshold[None],
            missing_left=missing_left[None],
            group=group[None],
            groups=groups,
            value=np.zeros((1, len(j) + 1)),
            gain=gain[None],
        )


NO_GROUPS = np.zeros((0, MOST_BINS), dtype=np.uint8)


def _kind(criterion: Any) -> type:
    """Tell of which type the sums of a criterion are."""
    if isinstance(criterion, CountedSquares):
        return np.int64
    return np.float64 if isinstance(criterion, Edge) else np.complex128


def new_cuts(features: BinLayout, n_nodes: int, kind: Any, plain: bool = False) -> Cuts:
    """Make room for the best cuts; `plain` tells that nothing is to be compiled for categories."""
    shape, groups = (len(features.sizes), n_nodes), None
    if not plain:
        rows = shape if features.categorical.any() else (0, 0)
        groups = Groups(
            order=np.zeros((*rows, MOST_BINS), dtype=np.uint8),
            ranks=np.empty((rows[0], MOST_BINS)),
        )
    return Cuts(
        scores=np.full(shape, -1.0),
        last=np.zeros(shape, dtype=np.int32),
        missing_left=np.zeros(shape, dtype=np.uint8),
        left=np.zeros(shape, dtype=kind),
        groups=groups,
    )


def new_tests(n_nodes: int) -> Tests:
    """Make room for the tests of so many nodes."""
    return Tests(
        feature=np.full(n_nodes, -1, dtype=np.int32),
        gain=np.zeros(n_nodes),
        last=np.zeros(n_nodes, dtype=np.int32),
        missing_left=np.zeros(n_nodes, dtype=np.uint8),
        route=np.zeros((n_nodes, MOST_BINS), dtype=np.uint8),
    )


def _placed(n: int, depth: int, listed: bool) -> Placed:
    """Make room for n rows; `listed` tells whether some columns are lists."""
    return Placed(
        rows=np.arange(n, dtype=np.uint32),
        spare=np.empty(n, dtype=np.uint32),
        node=np.zeros(n, dtype=np.uint8),
        column=np.empty(n if listed else 0, dtype=np.uint8),
        begin=np.zeros(2**depth + 1, dtype=np.int64),
        read=np.zeros(2**depth, dtype=np.int64),
        buffer=np.zeros(2**depth, dtype=np.int64),
    )


def _of_thread(widest: int, g: Any, sums: Any) -> dict[str, Any]:
    """Return the arrays of a `Space` that each thread has for itself."""
    return {
        "lanes": np.empty((max(4, 2 * widest), MOST_BINS), dtype=g),
        "sums": np.zeros((widest, 2, MOST_BINS), dtype=sums),
        "part": np.empty(MOST_BINS, dtype=sums),
    }
