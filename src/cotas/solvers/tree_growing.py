"""Growing a small tree on binned features, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray
from cotas.loops import assign, loop
from cotas.solvers.binning import MOST_BINS, Bins, Scale
from cotas.solvers.exponential_weights import parts_of
from cotas.solvers.histograms import (
    LANES,
    column_histogram,
    gather_rows,
    n_codes,
    node_counts,
    node_totals,
    nodes_histogram,
    send_listed,
    send_rows,
)
from cotas.solvers.split_search import Cuts, Edge, choose_cuts, cut_node, new_cuts
from cotas.solvers.trees import Trees, tree_without_tests

KEPT_BYTES = 1 << 26  # of histograms that the next level subtracts from
WORTH_A_THREAD = 1 << 19  # entries of X


@loop
def search_root(
    bins: Bins, features: IntArray, criterion: Any, g: AnyArray, total: AnyArray, kept: AnyArray,
    cuts: Cuts, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    """The best cut of all the rows by each of these features; the histograms go to `kept`.

    `lanes` and `sums` are room to work in: to make it here would take longer to compile.
    """
    for j in features:
        column_histogram(bins, j, criterion, g, total, lanes, sums[0])
        for v in range(1):  # as in `search_level`, so that one compiled function serves both
            cut_node(cuts.order, bins, criterion, j, v, sums[v], total[v], cuts)
        if len(kept):
            assign(kept[j, 0], sums[0])


@loop
def search_level(
    bins: Bins, features: IntArray, criterion: Any, g: AnyArray, total: AnyArray,
    node: IntArray, slot: IntArray, rows: IntArray, slots: IntArray, gathered: AnyArray,
    slot_node: IntArray, slot_total: AnyArray, parents: AnyArray, kept: AnyArray, cuts: Cuts,
    added: AnyArray, sums: AnyArray, other: AnyArray,
) -> None:  # fmt: skip
    """The best cut of each node of a level by each of these features.

    Slot s is node slot_node[s]. With the histograms of the `parents` the sibling of a node with a
    slot has what the node leaves of its parent; without them every node has a slot. `added`, `sums`
    and `other` are room to work in.
    """
    for j in features:
        nodes_histogram(
            bins, j, criterion, node, slot, rows, slots, gathered, g, slot_total, added, sums
        )
        for s in range(len(slot_node)):
            v = slot_node[s]
            cut_node(cuts.order, bins, criterion, j, v, sums[s], total[v], cuts)
            if len(kept):
                assign(kept[j, v], sums[s])
            if len(parents):
                sibling = v ^ 1
                for b in range(n_codes(bins, j)):
                    other[b] = parents[j, v // 2, b] - sums[s, b]
                cut_node(cuts.order, bins, criterion, j, sibling, other, total[sibling], cuts)
                if len(kept):
                    assign(kept[j, sibling], other)


class Grower:
    """Grows trees of one depth on one set of binned rows.

    At each level every node that can be improved is cut by the feature and threshold with the best
    score (see `split_search`). Departures from a tree grown on the sorted values: thresholds lie
    between bins. Invariant: the sums of two siblings add up to the sum of their parent, so only
    the smaller sibling is read. Cost: O(n·d) for the root and at most half of it for each further
    level; 16·256·d bytes for each node of the last level but one, up to 64 MB.
    """

    def __init__(self, bins: Bins, scale: Scale, depth: int, each: Each, threads: int) -> None:
        self.bins, self.scale, self.depth, self.each = bins, scale, depth, each
        n, d = bins.codes.shape[1], len(bins.place)
        self.n_rows, self.n_features = n, d
        self.node = np.zeros(n, dtype=np.uint8)
        self.codes = bins.codes if len(bins.codes) else np.zeros((1, n), dtype=np.uint8)
        threads = threads if n * d > WORTH_A_THREAD else 1
        self.shares = [np.arange(k, d, threads, dtype=np.int32) for k in range(min(threads, d))]
        self.parts = parts_of(n)
        self.rows = np.empty(n if depth > 1 else 0, dtype=np.int32)
        self.slots = np.empty(len(self.rows), dtype=np.uint8)

    def grow(self, criterion: Any, g: AnyArray, total: Any) -> tuple[Trees, AnyArray, AnyArray]:
        """A tree without values, the leaf of each row, and Σ gᵢ over each leaf.

        `total` is Σ gᵢ, or Σ gᵢ + i·Σ|gᵢ| for `Gini`. The leaves are a view that the next tree
        overwrites.
        """
        tree = tree_without_tests(self.depth)
        self.node[:] = 0
        totals, counts = np.array([total]), np.array([self.n_rows])
        kept = np.empty((0, 0, 0), dtype=totals.dtype)
        for level in range(self.depth):
            cuts, kept = self._search(level, criterion, g, totals, counts, kept)
            before = np.array([score_of(total, criterion) for total in totals])
            feature, route, tree = self.write(level, tree, cuts, before)
            self.send(feature, route)
            if level + 1 < self.depth:
                totals = _children(totals, cuts, feature)
                counted = np.zeros((LANES, 2 ** (level + 1)), dtype=np.int64)
                node_counts(self.node, counted)
                counts = counted[0]
        return tree, self.node, self._totals(criterion, g, 2**self.depth)

    def _totals(self, criterion: Any, g: AnyArray, n_nodes: int) -> AnyArray:
        """Σ gᵢ over each node."""
        kind = np.float64 if isinstance(criterion, Edge) else np.complex128

        def add(part: slice) -> AnyArray:
            lanes = np.zeros((LANES, 2 * n_nodes), dtype=g.dtype)
            totals = np.zeros(n_nodes, dtype=kind)
            node_totals(criterion, self.node[part], g[part], lanes, totals)
            return totals

        return np.asarray(sum(self.each_part(add)))

    def each_part(self, read: Any) -> Any:
        """Rows in threads, if there are many."""
        return self.each(read, self.parts) if len(self.parts) > 1 else map(read, self.parts)

    def send(self, feature: IntArray, route: AnyArray) -> None:
        """Each row from node v to 2v + route[v, code of feature[v]]; without a feature to 2v."""
        bins, node, column = self.bins, self.node, self.bins.place[feature]
        same = np.flatnonzero(column < 0)  # nodes whose rows have the usual code, at first
        if len(same):
            usual = route[same, bins.usual[feature[same]]]
            first, column = route.copy(), np.maximum(column, 0)
            first[same] = np.where(feature[same] < 0, 0, usual)[:, None]
        else:
            first = route
        list(self.each_part(lambda p: send_rows(self.codes[:, p], column, first, node[p])))
        if len(same):
            send_listed(bins, feature, route, node)

    def _search(
        self,
        level: int,
        criterion: Any,
        g: AnyArray,
        totals: AnyArray,
        counts: IntArray,
        parents: AnyArray,
    ) -> tuple[Cuts, AnyArray]:
        n_nodes, d = 2**level, self.n_features
        cuts = new_cuts(d, n_nodes, bool(self.bins.categorical.any()), totals.dtype)
        kept = np.empty((0, 0, 0), dtype=totals.dtype)
        if level + 1 < self.depth and d * n_nodes * MOST_BINS * totals.itemsize <= KEPT_BYTES:
            kept = np.empty((d, n_nodes, MOST_BINS), dtype=totals.dtype)
        if level == 0:
            self.share(
                lambda part: search_root(
                    self.bins, part, criterion, g, totals, kept, cuts,
                    np.zeros((LANES, 2 * MOST_BINS), dtype=g.dtype),
                    np.zeros((1, MOST_BINS), dtype=totals.dtype),
                )
            )  # fmt: skip
            return cuts, kept
        chosen = _smaller_siblings(counts) if len(parents) else np.flatnonzero(counts)
        slot = np.full(n_nodes, -1, dtype=np.int16)
        slot[chosen] = np.arange(len(chosen))
        gathered = np.empty(int(counts[chosen].sum()), dtype=g.dtype)
        k = gather_rows(self.node, slot, g, self.rows, self.slots, gathered)
        rows, slots = self.rows[:k], self.slots[:k]
        self.share(
            lambda part: search_level(
                self.bins, part, criterion, g, totals, self.node, slot, rows, slots, gathered,
                chosen, totals[chosen], parents, kept, cuts,
                np.zeros((len(chosen), 2 * MOST_BINS), dtype=g.dtype),
                np.zeros((len(chosen), MOST_BINS), dtype=totals.dtype),
                np.zeros(MOST_BINS, dtype=totals.dtype),
            )
        )  # fmt: skip
        return cuts, kept

    def share(self, search: Any) -> None:
        """Each thread searches some of the features."""
        list(self.each(search, self.shares) if len(self.shares) > 1 else map(search, self.shares))

    def write(
        self, level: int, tree: Trees, cuts: Cuts, before: FloatArray
    ) -> tuple[IntArray, AnyArray, Trees]:
        """Put the best cuts of a level into the tree; which way each code goes at each node.

        `before` are the scores of the nodes as they are: a cut must have a better one.
        """
        first, n_nodes = 2**level - 1, 2**level
        feature = np.full(n_nodes, -1, dtype=np.int32)
        route, gain = np.zeros((n_nodes, MOST_BINS), dtype=np.uint8), np.zeros(n_nodes)
        choose_cuts(self.bins, cuts, before, feature, gain, route)
        groups: list[AnyArray] = []
        for v, j in enumerate(feature.tolist()):
            if j < 0:
                continue
            at, last = first + v, int(cuts.last[j, v])
            tree.feature[0, at], tree.gain[0, at] = j, gain[v]
            if self.bins.categorical[j]:
                tree.group[0, at] = len(tree.groups) + len(groups)
                groups.append(1 - route[v])
            else:
                tree.missing_left[0, at] = cuts.missing_left[j, v] if self.bins.missing[j] else 0
                edges = self.scale.edges[j]
                tree.threshold[0, at] = edges[last] if last < len(edges) else np.inf
        if groups:
            tree = tree._replace(groups=np.vstack([tree.groups, *groups]))
        return feature, route, tree


def _children(totals: AnyArray, cuts: Cuts, feature: IntArray) -> AnyArray:
    """The sums of the next level; a node that was not cut hands everything to its left child."""
    nodes = np.arange(len(totals))
    left = np.where(feature >= 0, cuts.left[np.maximum(feature, 0), nodes], totals)
    return np.stack([left, totals - left], axis=1).ravel()


def score_of(total: Any, criterion: Any) -> float:
    """The score of a node that is not cut."""
    if isinstance(total, complex):
        return total.real**2 / total.imag if total.imag > criterion.least else np.inf
    return float(abs(total))


def _smaller_siblings(counts: IntArray) -> IntArray:
    """Of each pair of nodes with rows the one with fewer of them; of a pair with one node, that."""
    pairs = counts.reshape(-1, 2)
    filled = np.flatnonzero((pairs > 0).all(axis=1))
    return np.asarray(2 * filled + np.argmin(pairs[filled], axis=1))
