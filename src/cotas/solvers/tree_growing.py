"""Growing a small tree on binned features, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray
from cotas.solvers.binning import MOST_BINS, Bins, Scale
from cotas.solvers.bundles import make_bundles
from cotas.solvers.exponential_weights import parts_of
from cotas.solvers.histograms import (
    LANES,
    gather_rows,
    n_places,
    node_counts,
    node_totals,
    send_listed,
)
from cotas.solvers.level_search import (
    Placed,
    Space,
    choose_level,
    choose_slots,
    grow_levels,
    plan_ways,
    search,
    send_part,
)
from cotas.solvers.split_search import Cuts, Edge, Tests, choose_cuts, new_cuts, new_tests
from cotas.solvers.trees import Trees, tree_without_tests

KEPT_BYTES = 1 << 26  # of histograms that the next level subtracts from
WORTH_A_THREAD = 1 << 19  # entries of X


class Grower:
    """Grows trees of one depth on one set of binned rows.

    At each level every node that can be improved is cut by the feature and threshold with the best
    score (see `split_search`). Departures from a tree grown on the sorted values: thresholds lie
    between bins. Invariant: the sums of two siblings add up to the sum of their parent, so only
    the smaller sibling is read. Cost: O(n·d) for the root and at most half of it for each further
    level, d counting bundles of features once; 16·256·d bytes for each node but those of the last
    level, up to 64 MB.
    """

    def __init__(self, bins: Bins, scale: Scale, depth: int, each: Each, threads: int) -> None:
        self.bins, self.scale, self.depth, self.each = bins, scale, depth, each
        n, d = bins.codes.shape[1], len(bins.place)
        self.n_rows, self.n_features = n, d
        self.codes = bins.codes if len(bins.codes) else np.zeros((1, n), dtype=np.uint8)
        threads = threads if n * d > WORTH_A_THREAD else 1
        self.shares = [np.arange(k, d, threads, dtype=np.int32) for k in range(min(threads, d))]
        self.bundles = make_bundles(bins)
        readings = self.bundles.readings
        self.readings = [readings[k::threads] for k in range(min(threads, len(readings)))]
        self.parts = parts_of(n)
        self.placed = _placed(n, depth, len(self.parts))
        self.node = self.placed.node
        self.tests = new_tests(2**depth - 1)
        self.spaces: dict[Any, list[Space]] = {}  # of each criterion, for each thread

    def grow(self, criterion: Any, g: AnyArray, total: Any) -> tuple[Trees, AnyArray, AnyArray]:
        """A tree without values, the leaf of each row, and Σ gᵢ over each leaf.

        `total` is Σ gᵢ, or Σ gᵢ + i·Σ|gᵢ| for `Gini`. The leaves are a view that the next tree
        overwrites.
        """
        spaces = self._spaces(criterion, g)
        self.node[:] = self.placed.slot_node[0] = 0  # the root has the only slot
        spaces[0].totals[0], spaces[0].cuts.scores[:, 0] = total, -1.0
        if len(self.parts) == len(self.readings) == 1:
            grow_levels(
                self.bins, self.codes, self.bundles, criterion, g, self.depth, self.placed,
                spaces[0], self.tests,
            )  # fmt: skip
        else:
            self._grow_in_threads(criterion, g, spaces)
        tree = self.put(tree_without_tests(self.depth), 0, self.tests)
        return tree, self.node, self._totals(criterion, g, 2**self.depth)

    def _grow_in_threads(self, criterion: Any, g: AnyArray, spaces: list[Space]) -> None:
        """As `grow_levels`, each thread with a share of the readings, and of the rows."""
        n_slots = 1
        for level in range(self.depth):
            first = 2**level - 1
            if level > 0:
                n_slots = self._gather(first, g, spaces[0])

            def find(k: int, first: int = first, n_slots: int = n_slots) -> None:
                search(
                    self.bins, self.bundles, self.readings[k], criterion, g, first, n_slots,
                    self.placed, spaces[k],
                )  # fmt: skip

            shares = range(len(self.readings))
            list(self.each(find, shares) if len(shares) > 1 else map(find, shares))
            choose_level(self.bins, criterion, first, spaces[0], self.tests)
            nodes = slice(first, 2 * first + 1)
            self.send(self.tests.feature[nodes], self.tests.route[nodes])

    def _gather(self, first: int, g: AnyArray, space: Space) -> int:
        """Gather the rows of a level that are read; how many nodes they belong to."""
        placed, parts = self.placed, self.parts

        def count(p: int) -> None:
            node_counts(placed.node[parts[p]], placed.counts[p, :, : first + 1])

        def gather(p: int) -> None:
            part, to = parts[p], slice(placed.starts[p], placed.starts[p + 1])
            gather_rows(
                placed.node[part], placed.slot, part.start, g[part], placed.rows[to],
                placed.slots[to], space.gathered[to],
            )  # fmt: skip

        list(self.each_part(count))
        n_slots = choose_slots(first, placed, space)
        list(self.each_part(gather))
        return n_slots

    def _spaces(self, criterion: Any, g: AnyArray) -> list[Space]:
        """What trees of this criterion are grown in, in each thread."""
        kind = type(criterion), g.dtype
        if kind not in self.spaces:
            places, sums = n_places(criterion, MOST_BINS), _kind(criterion)
            one = self._space(places, g.dtype, sums)
            others = (_of_thread(self.depth, places, g.dtype, sums) for _ in self.readings[1:])
            self.spaces[kind] = [one, *(one._replace(**arrays) for arrays in others)]
        return self.spaces[kind]

    def _space(self, places: int, g: Any, sums: Any) -> Space:
        widest, units = 2 ** (self.depth - 1), len(self.bundles.starts) - 1
        each_node = units * MOST_BINS * np.dtype(sums).itemsize
        n_kept = max(2**k - 1 for k in range(self.depth) if (2**k - 1) * each_node <= KEPT_BYTES)
        named = bool(self.bins.categorical.any())
        return Space(
            cuts=new_cuts(self.n_features, 2 * widest, named, sums),
            totals=np.zeros(4 * widest - 1, dtype=sums),
            before=np.empty(widest),
            slot_total=np.empty(widest, dtype=sums),
            gathered=np.empty(len(self.placed.rows), dtype=g),
            kept=np.empty((units, n_kept, MOST_BINS), dtype=sums),
            **_of_thread(self.depth, places, g, sums),
        )

    def _totals(self, criterion: Any, g: AnyArray, n_nodes: int) -> AnyArray:
        """Σ gᵢ over each node."""
        kind = _kind(criterion)

        def add(p: int) -> AnyArray:
            part = self.parts[p]
            lanes = np.zeros((LANES, 2 * n_nodes), dtype=g.dtype)
            totals: AnyArray = np.zeros(n_nodes, dtype=kind)
            node_totals(criterion, self.node[part], g[part], lanes, totals)
            return totals

        return np.asarray(sum(self.each_part(add)))

    def each_part(self, read: Any) -> Any:
        """Rows in threads, if there are many; the parts are told by their numbers."""
        parts = range(len(self.parts))
        return self.each(read, parts) if len(parts) > 1 else map(read, parts)

    def send(self, feature: IntArray, route: AnyArray) -> None:
        """Each row from node v to 2v + route[v, code of feature[v]]; without a feature to 2v."""
        n_nodes, node, child = len(feature), self.node, self.placed.child
        column, way = self.placed.column[:n_nodes], self.placed.way[:n_nodes]
        listed = plan_ways(self.bins, feature, route, column, way)

        def send(p: int) -> None:
            part = self.parts[p]
            send_part(self.codes[:, part], column, way, node[part], child[part])

        list(self.each_part(send))
        if listed:
            send_listed(self.bins, feature, route, node)

    def share(self, search: Any) -> None:
        """Each thread searches some of the features."""
        list(self.each(search, self.shares) if len(self.shares) > 1 else map(search, self.shares))

    def write(
        self, level: int, tree: Trees, cuts: Cuts, before: FloatArray
    ) -> tuple[IntArray, AnyArray, Trees]:
        """Put the best cuts of a level into the tree; which way each code goes at each node.

        `before` are the scores of the nodes as they are: a cut must have a better one.
        """
        tests = new_tests(2**level)
        choose_cuts(self.bins, cuts, before, 0, tests)
        return tests.feature, tests.route, self.put(tree, 2**level - 1, tests)

    def put(self, tree: Trees, first: int, tests: Tests) -> Trees:
        """The tree with these tests of the nodes from `first` on."""
        groups: list[AnyArray] = []
        lasts, missing = tests.last.tolist(), tests.missing_left.tolist()
        for v, j in enumerate(tests.feature.tolist()):
            if j < 0:
                continue
            at, edges = first + v, self.scale.edges[j]
            tree.feature[0, at], tree.gain[0, at] = j, tests.gain[v]
            if self.bins.categorical[j]:
                tree.group[0, at] = len(tree.groups) + len(groups)
                groups.append(1 - tests.route[v])
            else:
                tree.missing_left[0, at] = missing[v] if self.bins.missing[j] else 0
                tree.threshold[0, at] = edges[lasts[v]] if lasts[v] < len(edges) else np.inf
        if groups:
            tree = tree._replace(groups=np.vstack([tree.groups, *groups]))
        return tree


def _kind(criterion: Any) -> type:
    """Of which type the sums of a criterion are."""
    return np.float64 if isinstance(criterion, Edge) else np.complex128


def _placed(n: int, depth: int, parts: int) -> Placed:
    """Room for n rows in so many parts."""
    read = n if depth > 1 else 0
    return Placed(
        node=np.zeros(n, dtype=np.uint8),
        child=np.zeros(n, dtype=np.uint8),
        rows=np.empty(read, dtype=np.int32),
        slots=np.empty(read, dtype=np.uint8),
        slot=np.full(2**depth, -1, dtype=np.int16),
        slot_node=np.zeros(2**depth, dtype=np.int16),
        counts=np.zeros((parts, LANES, 2**depth), dtype=np.int64),
        starts=np.zeros(parts + 1, dtype=np.int64),
        column=np.zeros(2**depth, dtype=np.int32),
        way=np.zeros((2**depth, MOST_BINS), dtype=np.uint8),
    )


def _of_thread(depth: int, places: int, g: Any, sums: Any) -> dict[str, Any]:
    """The arrays of a `Space` that each thread has for itself."""
    widest = 2 ** (depth - 1)
    return {
        "lanes": np.empty((LANES, places), dtype=g),
        "added": np.empty((2, widest, places), dtype=g),
        "sums": np.zeros((2, widest, MOST_BINS), dtype=sums),
        "other": np.empty(MOST_BINS, dtype=sums),
        "part": np.empty(MOST_BINS, dtype=sums),
    }
