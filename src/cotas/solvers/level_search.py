"""One level of a tree: which nodes are read, the best cut of each, and where its rows go.

Nodes are numbered as in `trees`; node v of a level is node first + v of the tree, `first` being how
many nodes there are above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import assign, loop
from cotas.solvers.binning import Bins
from cotas.solvers.bundles import Bundles, column_of, cut_unit, width_of
from cotas.solvers.histograms import (
    FEW_NODES,
    collected,
    column_histogram,
    gather_rows,
    n_codes,
    node_counts,
    nodes_histogram,
    send_listed,
    send_nodes,
    send_rows,
    two_columns,
    two_columns_of_nodes,
)
from cotas.solvers.split_search import Cuts, Tests, choose_cuts, score_whole


class Placed(NamedTuple):
    """The node of each row, and which rows are read: those whose node has a slot.

    Node v of the level has slot[v], or −1, and slot s is node slot_node[s]. The rows are divided
    into parts: counts[p, 0, v] are those of part p in node v, and those of them that are read begin
    at starts[p] of `rows` and `slots`. `child`, `column` and `way` are room to send rows in.
    """

    node: IntArray
    child: IntArray
    rows: IntArray
    slots: IntArray
    slot: IntArray
    slot_node: IntArray
    counts: IntArray
    starts: IntArray
    column: IntArray
    way: AnyArray


class Space(NamedTuple):
    """What trees of one criterion are grown in; the last five are of one thread.

    `totals` has Σ gᵢ over each node of the tree, `kept` the histograms of each unit in the nodes
    that there is room for.
    """

    cuts: Cuts
    totals: AnyArray
    before: FloatArray
    slot_total: AnyArray
    gathered: AnyArray
    kept: AnyArray
    lanes: AnyArray
    added: AnyArray
    sums: AnyArray
    other: AnyArray
    part: AnyArray


@loop
def read_root(
    bins: Bins, bundles: Bundles, reading: IntArray, criterion: Any, g: AnyArray, space: Space
) -> None:
    """sums[k, 0]: the histogram of unit k of a reading, over all the rows."""
    lanes, sums = space.lanes, space.sums
    if reading[1] < 0:
        given, u = (criterion, g, space.totals, lanes, sums[0, 0]), reading[0]
        if u < len(bundles.joint.place):
            column_histogram(bundles.joint, u, *given)
        else:
            column_histogram(bins, bundles.members[bundles.starts[u]], *given)
        return
    source, j = column_of(bins, bundles, reading[0])
    other, k = column_of(bins, bundles, reading[1])
    a, b = source.codes[source.place[j]], other.codes[other.place[k]]
    width = max(n_codes(source, j), n_codes(other, k))
    two_columns(a, b, width, criterion, g, lanes)
    for c in range(width):
        sums[0, 0, c] = collected(criterion, lanes[0], c)
        sums[1, 0, c] = collected(criterion, lanes[2], c)


@loop
def read_nodes(
    bins: Bins, bundles: Bundles, reading: IntArray, criterion: Any, g: AnyArray, n_slots: int,
    placed: Placed, space: Space,
) -> None:  # fmt: skip
    """sums[k, s]: the histogram of unit k of a reading, over the rows of slot s."""
    n, added, sums = placed.starts[-1], space.added[:, :n_slots], space.sums[:, :n_slots]
    rows, slots, gathered = placed.rows[:n], placed.slots[:n], space.gathered[:n]
    source, j = column_of(bins, bundles, reading[0])
    if reading[1] < 0:
        nodes_histogram(
            source, j, criterion, placed.node, placed.slot, rows, slots, gathered, g,
            space.slot_total, added[0], sums[0],
        )  # fmt: skip
        return
    other, k = column_of(bins, bundles, reading[1])
    a, b = source.codes[source.place[j]], other.codes[other.place[k]]
    width = max(n_codes(source, j), n_codes(other, k))
    two_columns_of_nodes(a, b, width, criterion, rows, slots, gathered, added[0], added[1])
    for s in range(n_slots):
        for c in range(width):
            sums[0, s, c] = collected(criterion, added[0, s], c)
            sums[1, s, c] = collected(criterion, added[1, s], c)


@loop
def search(
    bins: Bins, bundles: Bundles, readings: IntArray, criterion: Any, g: AnyArray, first: int,
    n_slots: int, placed: Placed, space: Space,
) -> None:  # fmt: skip
    """The best cut of each node of a level by each feature of these readings.

    Where the histogram of the parent was kept, the sibling of a node with a slot has what the node
    leaves of it; else every node has a slot.
    """
    kept, totals, n_kept = space.kept, space.totals, space.kept.shape[1]
    for reading in readings:
        if first == 0:
            read_root(bins, bundles, reading, criterion, g, space)
        else:
            read_nodes(bins, bundles, reading, criterion, g, n_slots, placed, space)
        for k in range(1 if reading[1] < 0 else 2):
            u = reading[k]
            width = width_of(bins, bundles, u)
            for s in range(n_slots):
                sums = space.sums[k, s, :width]
                for side in range(2):
                    v = placed.slot_node[s] ^ side
                    at = first + v
                    if side == 1:
                        if first == 0 or (at - 1) // 2 >= n_kept:
                            break
                        for b in range(width):
                            space.other[b] = kept[u, (at - 1) // 2, b] - sums[b]
                        sums = space.other[:width]
                    cut_unit(
                        bins, bundles, criterion, u, v, sums, totals[at], space.cuts, space.part
                    )
                    if at < n_kept:
                        assign(kept[u, at], sums)


@loop
def choose_level(bins: Bins, criterion: Any, first: int, space: Space, tests: Tests) -> None:
    """The tests of a level, and the sums of its children: a node without one sends all left."""
    before, totals = space.before[: first + 1], space.totals
    for v in range(first + 1):
        before[v] = score_whole(criterion, totals[first + v])
    choose_cuts(bins, space.cuts, before, first, tests)
    for v in range(first + 1):
        at = first + v
        left = totals[at]
        if tests.feature[at] >= 0:
            left = space.cuts.left[tests.feature[at], v]
        totals[2 * at + 1], totals[2 * at + 2] = left, totals[at] - left
        for j in range(len(space.cuts.scores)):  # of the next level
            space.cuts.scores[j, 2 * v] = space.cuts.scores[j, 2 * v + 1] = -1.0


@loop
def choose_slots(first: int, placed: Placed, space: Space) -> int:
    """Which nodes of a level are read, and how many they are.

    Of two nodes with rows the one with fewer of them, if the histogram of their parent was kept; a
    node that is alone could not be cut.
    """
    n_slots, parts = 0, len(placed.counts)
    every = first > space.kept.shape[1]
    placed.starts[:] = 0
    for v in range(0, first + 1, 2):
        left, right = 0, 0
        for p in range(parts):
            left += placed.counts[p, 0, v]
            right += placed.counts[p, 0, v + 1]
        for child in range(v, v + 2):
            mine, its = (left, right) if child == v else (right, left)
            smaller = its > 0 and (mine < its or (mine == its and child == v))
            placed.slot[child] = -1
            if mine > 0 and (every or smaller):
                placed.slot[child], placed.slot_node[n_slots] = n_slots, child
                space.slot_total[n_slots] = space.totals[first + child]
                n_slots += 1
                for p in range(parts):
                    placed.starts[p + 1] += placed.counts[p, 0, child]
    for p in range(parts):
        placed.starts[p + 1] += placed.starts[p]
    return n_slots


@loop
def plan_ways(
    bins: Bins, feature: IntArray, route: AnyArray, column: IntArray, way: AnyArray
) -> bool:
    """The column of each test, and its route; whether a feature is a list instead.

    Then all rows go where the usual code goes, at first; without a test they go left.
    """
    listed = False
    for v in range(len(feature)):
        column[v] = 0 if feature[v] < 0 else bins.place[feature[v]]
        assign(way[v], route[v])
        if column[v] < 0:
            way[v] = route[v, bins.usual[feature[v]]]
            column[v], listed = 0, True
    return listed


@loop
def send_part(
    codes: AnyArray, column: IntArray, way: AnyArray, node: IntArray, child: IntArray
) -> None:
    """Row i goes from node v to 2v + way[v, its code in the column of v]."""
    if len(column) <= FEW_NODES:
        send_nodes(codes, column, way, node, child)
    else:
        send_rows(codes, column, way, node)


@loop
def grow_levels(
    bins: Bins, codes: AnyArray, bundles: Bundles, criterion: Any, g: AnyArray, depth: int,
    placed: Placed, space: Space, tests: Tests,
) -> None:  # fmt: skip
    """All the levels of a tree on rows that are one part, in one thread."""
    n_slots = 1
    for level in range(depth):
        first = (1 << level) - 1
        if level > 0:
            node_counts(placed.node, placed.counts[0, :, : first + 1])
            n_slots = choose_slots(first, placed, space)
            n = placed.starts[1]
            gather_rows(
                placed.node, placed.slot, 0, g, placed.rows[:n], placed.slots[:n],
                space.gathered[:n],
            )  # fmt: skip
        search(bins, bundles, bundles.readings, criterion, g, first, n_slots, placed, space)
        choose_level(bins, criterion, first, space, tests)
        feature, route = tests.feature[first : 2 * first + 1], tests.route[first : 2 * first + 1]
        column, way = placed.column[: first + 1], placed.way[: first + 1]
        listed = plan_ways(bins, feature, route, column, way)
        send_part(codes, column, way, placed.node, placed.child)
        if listed:
            send_listed(bins, feature, route, placed.node)
