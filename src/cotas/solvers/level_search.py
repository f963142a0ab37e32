"""One level of a tree: which nodes are read, the best cut of each, and where its rows go.

Nodes are numbered as in `trees`; node v of a level is node first + v of the tree, `first` being how
many nodes there are above. Each loop is compiled twice for a criterion: for tables of numbers in
columns, and for those that have lists, bundles or categories, where any of these may be empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import generic, loop, loop_in_place
from cotas.solvers.binning import MOST_BINS
from cotas.solvers.histograms import Lists, collected, lane_of, read_pair
from cotas.solvers.split_search import BinLayout, Cuts, Tests, choose_cuts, cut_feature, score_whole

FEW_NODES = 8  # to which rows are sent one after the other


class Extras(NamedTuple):
    """Extras of tables beyond columns of numbers: lists and bundles; both may be empty.

    Unit u tells its members, starts[u] to starts[u + 1] − 1: one feature, or those of a bundle (see
    `bundles`), which come first: where its code is c, features[m] has told[m, c].
    """

    lists: Lists
    starts: IntArray
    features: IntArray
    members: AnyArray


class Units(NamedTuple):
    """Units that have a histogram: column[u] of `codes`, or list −column[u] − 1, with width[u]
    codes.

    Without extras unit j is feature j.
    """

    codes: AnyArray
    column: IntArray
    width: IntArray
    extras: Extras | None


class Placed(NamedTuple):
    """The rows in the order of their nodes: those of node v of a level begin at begin[v].

    `node` is that of each row; `spare` and `column` are room to move rows in. Of the nodes `read`
    the rows are read, and the histogram of node v is in buffer[v].
    """

    rows: AnyArray
    spare: AnyArray
    node: AnyArray
    column: AnyArray
    begin: IntArray
    read: IntArray
    buffer: IntArray


class Space(NamedTuple):
    """A space that trees of one criterion are grown in; the last four are of one thread.

    `totals` has Σ gᵢ over each node of the tree, `kept` the histograms of each unit in the nodes of
    a level, as long as there is room for them, and `sums` those of a reading; `part` is room for
    the histogram of a member of a bundle.
    """

    cuts: Cuts
    totals: AnyArray
    before: FloatArray
    gathered: AnyArray
    kept: AnyArray
    lanes: AnyArray
    sums: AnyArray
    part: AnyArray


@loop
def pick_nodes(first: int, n_kept: int, begin: IntArray, read: IntArray, buffer: IntArray) -> int:
    """Tell which nodes of a level are read, and how many they are; where each has its histogram.

    Of two nodes with rows the one with fewer of them, the other being what it leaves of the
    histogram of their parent, if that was kept; a node that is alone could not be cut.
    """
    n = 0
    if first == 0:
        read[0] = buffer[0] = 0
        return 1
    for v in range(first - 1, -1, -2):
        middle = begin[v + 1]
        left, right = middle - begin[v], begin[v + 2] - middle
        smaller = v if left <= right else v + 1
        buffer[smaller ^ 1], buffer[smaller] = buffer[v // 2], (first + 1 + v) // 2
        if left > 0 and right > 0:
            read[n] = smaller
            n += 1
            if first >= n_kept:
                read[n] = smaller ^ 1
                n += 1
    return n


@loop
def gather(
    n_read: int, read: IntArray, begin: IntArray, rows: AnyArray, g: AnyArray, gathered: AnyArray
) -> None:
    """Gather gᵢ of the rows of the nodes that are read, in the order of the rows."""
    for s in range(n_read):
        v = read[s]
        for r in range(begin[v], begin[v + 1]):
            gathered[r] = g[rows[r]]


@generic
def read_extra(
    extras: Any, k: int, width: int, criterion: Any, g: AnyArray, node: AnyArray, first: int,
    n_read: int, read: IntArray, totals: AnyArray, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    """Fill sums[s, 0]: the histogram of list k over the rows of the s-th node that is read."""


@read_extra.when(type(None))
def read_no_list(
    extras: None, k: int, width: int, criterion: Any, g: AnyArray, node: AnyArray, first: int,
    n_read: int, read: IntArray, totals: AnyArray, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    pass


@read_extra.when(Extras)
def read_some_list(
    extras: Extras, k: int, width: int, criterion: Any, g: AnyArray, node: AnyArray, first: int,
    n_read: int, read: IntArray, totals: AnyArray, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    lists = extras.lists
    for p in range(2 * first + 2):
        for c in range(width):
            lanes[p, c] = 0
    for e in range(lists.starts[k], lists.starts[k + 1]):
        i = lists.rows[e]
        lane = 2 * np.uint64(node[i]) + np.uint64(lane_of(criterion, e, g[i]))
        lanes[lane, lists.codes[e]] += g[i]
    for s in range(n_read):
        v = read[s]
        rest = totals[first + v]
        for c in range(width):
            found = collected(criterion, lanes[2 * v, c], lanes[2 * v + 1, c])
            sums[s, 0, c], rest = found, rest - found
        sums[s, 0, lists.usual[k]] = rest  # what the others leave


@generic
def cut_unit(
    extras: Any, features: BinLayout, criterion: Any, u: int, v: int, sums: AnyArray, width: int,
    total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    """Find the best cut of node v by each feature of unit u, whose histogram is `sums`."""


@cut_unit.when(type(None))
def cut_single(
    extras: None, features: BinLayout, criterion: Any, u: int, v: int, sums: AnyArray, width: int,
    total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    cut_feature(features, criterion, u, v, sums, total, cuts)


@cut_unit.when(Extras)
def cut_members(
    extras: Extras, features: BinLayout, criterion: Any, u: int, v: int, sums: AnyArray, width: int,
    total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    for m in range(extras.starts[u], extras.starts[u + 1]):
        j, known = extras.features[m], sums
        if m < len(extras.members):
            known = part
            for c in range(features.sizes[j] + 1):
                part[c] = 0
            for c in range(width):
                part[extras.members[m, c]] += sums[c]
        cut_feature(features, criterion, j, v, known, total, cuts)


@loop
def search(
    features: BinLayout, units: Units, readings: IntArray, criterion: Any, g: AnyArray, first: int,
    n_read: int, placed: Placed, space: Space,
) -> None:  # fmt: skip
    """Find the best cut of each node of a level by each feature of these readings.

    A reading is two units with a column each, or one unit and −1. `space.gathered` has the g of the
    rows that are read, but for the root, whose g are all. If histograms are kept, that of the node
    that is not read is what its sibling leaves.
    """
    keeps, given = first < len(space.kept), space.gathered if first > 0 else g
    begin, read, codes, widths = placed.begin, placed.read, units.codes, units.width
    for p in range(len(readings)):
        u, other = readings[p, 0], readings[p, 1]
        a, b, width = units.column[u], units.column[other], widths[u]
        if a < 0:
            read_extra(
                units.extras, -a - 1, width, criterion, g, placed.node, first, n_read, read,
                space.totals, space.lanes, space.sums,
            )  # fmt: skip
        else:
            if other < 0:
                b = a
            elif widths[other] > width:
                width = widths[other]
            for s in range(n_read):
                v = read[s]
                read_pair(
                    codes[a], codes[b], placed.rows, begin[v], begin[v + 1], criterion, given,
                    width, space.lanes, space.sums[s],
                )  # fmt: skip
        for k in range(2 if other >= 0 else 1):
            u = readings[p, k]
            for s in range(n_read):
                for side in range(2 if first > 0 and keeps else 1):
                    v, sums = read[s] ^ side, space.sums[s, k]
                    if keeps:
                        kept = space.kept[placed.buffer[v], u]
                        for c in range(widths[u]):
                            kept[c] = kept[c] - sums[c] if side == 1 else sums[c]
                        sums = kept
                    cut_unit(
                        units.extras, features, criterion, u, v, sums, widths[u],
                        space.totals[first + v], space.cuts, space.part,
                    )  # fmt: skip


@loop
def open_nodes(
    criterion: Any, first: int, totals: AnyArray, before: FloatArray, scores: FloatArray
) -> None:
    """Start from the scores of the nodes of a level as they are; no cut of them is known."""
    for v in range(first + 1):
        before[v] = score_whole(criterion, totals[first + v])
        for j in range(len(scores)):
            scores[j, v] = -1.0


@loop
def sum_children(first: int, feature: IntArray, left: AnyArray, totals: AnyArray) -> None:
    """Compute the sums of the nodes below a level: a node without a test sends all left."""
    for at in range(first, 2 * first + 1):
        j, total = feature[at], totals[at]
        low = left[j, at - first] if j >= 0 else total
        totals[2 * at + 1], totals[2 * at + 2] = low, total - low


@generic
def write_list(extras: Any, k: int, room: AnyArray) -> None:
    """Write out the codes of list k."""


@write_list.when(type(None))
def write_no_list(extras: None, k: int, room: AnyArray) -> None:
    pass


@write_list.when(Extras)
def write_some_list(extras: Extras, k: int, room: AnyArray) -> None:
    lists = extras.lists
    for i in range(len(room)):
        room[i] = lists.usual[k]
    for e in range(lists.starts[k], lists.starts[k + 1]):
        room[lists.rows[e]] = lists.codes[e]


@loop
def send_range(column: AnyArray, last: int, most: int, v: int, node: AnyArray) -> None:
    """Send those rows of node v right that have a code above the last, up to the most.

    In bytes throughout.
    """
    here, left, right = np.uint8(v), np.uint8(2 * v), np.uint8(2 * v + 1)
    below, highest = np.uint8(last), np.uint8(most)
    for i in range(len(node)):
        to = right if (column[i] > below) & (column[i] <= highest) else left
        node[i] = to if node[i] == here else node[i]


@loop
def send(features: BinLayout, units: Units, first: int, tests: Tests, placed: Placed) -> None:
    """Send each row of a level from node v to 2v + route[first + v, its code in the feature].

    Few nodes are quicker one after the other, all rows at a time, but for groups of categories. Of
    the nodes the last comes first: no number is then met twice.
    """
    node, rows, column = placed.node, placed.rows, placed.column
    for v in range(first, -1, -1):
        at = first + v
        j = tests.feature[at] if tests.feature[at] > 0 else 0  # without a test nothing goes right
        k, last = features.place[j], tests.last[at]
        most = features.sizes[j] - 1 if tests.missing_left[at] else MOST_BINS - 1
        if k < 0:
            write_list(units.extras, -k - 1, column)
        codes = units.codes[k] if k >= 0 else column
        if first < FEW_NODES and not features.categorical[j]:
            send_range(codes, last, most, v, node)
            continue
        for r in range(np.uint64(placed.begin[v]), np.uint64(placed.begin[v + 1])):
            node[rows[r]] = np.uint8(2 * v) + tests.route[at, codes[rows[r]]]


@loop
def place_rows(
    n_nodes: int, begin: IntArray, node: AnyArray, rows: AnyArray, spare: AnyArray
) -> None:
    """Place the rows in the order of the nodes that they were sent to, from that of those above.

    No branch depends on a row, which none could foresee. Rows stay in their order.
    """
    for v in range(n_nodes - 1, -1, -1):
        start, stop, right = np.uint64(begin[v]), np.uint64(begin[v + 1]), np.uint64(0)
        at = start
        for r in range(start, stop):
            i = rows[r]
            side = np.uint64(node[i] & np.uint8(1))
            rows[at] = spare[right] = i
            right += side
            at += np.uint64(1) - side
        for r in range(right):
            rows[at + r] = spare[r]
        begin[2 * v], begin[2 * v + 1], begin[2 * v + 2] = start, at, stop


@loop
def sum_leaves(
    criterion: Any, node: AnyArray, g: AnyArray, lanes: AnyArray, totals: AnyArray
) -> None:
    """Compute totals[v] = Σ gᵢ over the rows of leaf v.

    Four rows take turns in `lanes`, zeros, and both histograms lie side by side: of two rows of
    sums one would be chosen by a branch that no row can foresee.
    """
    for i in range(len(node)):
        place = 2 * np.uint64(node[i]) + np.uint64(lane_of(criterion, i, g[i]))
        lanes[i & 3, place] += g[i]
    for p in range(2 * len(totals)):
        lanes[0, p] += lanes[1, p] + lanes[2, p] + lanes[3, p]
    for v in range(len(totals)):
        totals[v] = collected(criterion, lanes[0, 2 * v], lanes[0, 2 * v + 1])


@loop_in_place
def grow_levels(
    features: BinLayout, units: Units, readings: IntArray, criterion: Any, g: AnyArray, depth: int,
    placed: Placed, space: Space, tests: Tests, summed: Any, exact: AnyArray, lanes: AnyArray,
    sums: AnyArray,
) -> None:  # fmt: skip
    """Grow all the levels of a tree in one thread, and the sums over its leaves (see
    `sum_leaves`)."""
    begin, read, rows, cuts = placed.begin, placed.read, placed.rows, space.cuts
    for level in range(depth):
        first = (1 << level) - 1
        if level > 0:
            place_rows((first + 1) // 2, begin, placed.node, rows, placed.spare)
        n_read = pick_nodes(first, len(space.kept), begin, read, placed.buffer)
        if level > 0:
            gather(n_read, read, begin, rows, g, space.gathered)
        open_nodes(criterion, first, space.totals, space.before, cuts.scores)
        search(features, units, readings, criterion, g, first, n_read, placed, space)
        choose_cuts(features, cuts, space.before[: first + 1], first, tests)
        sum_children(first, tests.feature, cuts.left, space.totals)
        send(features, units, first, tests, placed)
    sum_leaves(summed, placed.node, exact, lanes, sums)
