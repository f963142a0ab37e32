"""One level of a tree: which nodes are read, the best cut of each, and where its rows go.

Nodes are numbered as in `trees`; node v of a level is node first + v of the tree, `first` being how
many nodes there are above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import generic, loop
from cotas.solvers.binning import MOST_BINS
from cotas.solvers.histograms import Lists, collected, lane_of, list_histograms, two_columns
from cotas.solvers.split_search import Cuts, Features, Tests, choose_cuts, cut_feature, score_whole

FEW_NODES = 8  # to which rows are sent one after the other


class Bundles(NamedTuple):
    """Features that are read together: where the code of unit u is c, members[m] has told[m, c].

    The members of unit u are starts[u] to starts[u + 1] − 1; a feature by itself has none.
    """

    starts: IntArray
    members: IntArray
    told: AnyArray


class Units(NamedTuple):
    """What has a histogram: column[u] of `codes`, or list −column[u] − 1, with width[u] codes.

    A unit is the feature member[u], or a bundle of several (see `bundles`).
    """

    codes: AnyArray
    column: IntArray
    width: IntArray
    member: IntArray
    lists: Lists | None
    bundles: Bundles | None


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
    """What trees of one criterion are grown in; the last three are of one thread.

    `totals` has Σ gᵢ over each node of the tree, `kept` the histograms of each unit in the nodes of
    a level, as long as there is room for them, and `sums` those of a reading.
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
def pick_nodes(first: int, kept: AnyArray, placed: Placed) -> int:
    """Which nodes of a level are read, and how many they are; where each has its histogram.

    Of two nodes with rows the one with fewer of them, the other being what it leaves of the
    histogram of their parent, if that was kept; a node that is alone could not be cut.
    """
    begin, buffer, read = placed.begin, placed.buffer, placed.read
    n, every = 0, first + 1 > len(kept)
    if first == 0:
        read[0] = buffer[0] = 0
        return 1
    for v in range(first - 1, -1, -2):
        left, right = begin[v + 1] - begin[v], begin[v + 2] - begin[v + 1]
        smaller = v if left <= right else v + 1
        buffer[smaller ^ 1], buffer[smaller] = buffer[v // 2], (first + 1) // 2 + v // 2
        for child in range(v, v + 2):
            if every:
                buffer[child] = child
            if min(left, right) > 0 and (every or child == smaller):
                read[n] = child
                n += 1
    return n


@loop
def gather(n_read: int, placed: Placed, g: AnyArray, gathered: AnyArray) -> None:
    """gᵢ of the rows of the nodes that are read, in the order of the rows."""
    rows, begin = placed.rows, placed.begin
    for s in range(n_read):
        v = placed.read[s]
        for r in range(begin[v], begin[v + 1]):
            gathered[r] = g[rows[r]]


@generic
def read_list(
    lists: Any, k: int, width: int, criterion: Any, g: AnyArray, totals: AnyArray, n_read: int,
    placed: Placed, sums: AnyArray,
) -> None:  # fmt: skip
    """sums[0, s]: the histogram of list k over the rows of the s-th node that is read."""


@read_list.when(type(None))
def read_no_list(
    lists: None, k: int, width: int, criterion: Any, g: AnyArray, totals: AnyArray, n_read: int,
    placed: Placed, sums: AnyArray,
) -> None:  # fmt: skip
    pass


@read_list.when(Lists)
def read_some_list(
    lists: Lists, k: int, width: int, criterion: Any, g: AnyArray, totals: AnyArray, n_read: int,
    placed: Placed, sums: AnyArray,
) -> None:  # fmt: skip
    lanes = np.empty((len(totals), 2, width), dtype=g.dtype)
    list_histograms(lists, k, width, criterion, placed.node, g, lanes)
    for s in range(n_read):
        v, usual = placed.read[s], lists.usual[k]
        rest = totals[v]
        for c in range(width):
            if c != usual:
                sums[0, s, c] = collected(criterion, lanes[v, 0, c], lanes[v, 1, c])
                rest = rest - sums[0, s, c]
        sums[0, s, usual] = rest  # what the others leave


@loop
def read_pair(
    units: Units, u: int, other: int, criterion: Any, g: AnyArray, n_read: int, placed: Placed,
    lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    """sums[k, s]: the histogram of the k-th of two units over the rows of the s-th node read."""
    a, b = units.codes[units.column[u]], units.codes[units.column[other]]
    width = max(units.width[u], units.width[other])
    for s in range(n_read):
        v = placed.read[s]
        start, stop = placed.begin[v], placed.begin[v + 1]
        two_columns(a, b, placed.rows[start:stop], criterion, g[start:stop], width, lanes)
        for c in range(width):
            sums[0, s, c] = collected(criterion, lanes[0, c], lanes[1, c])
            sums[1, s, c] = collected(criterion, lanes[2, c], lanes[3, c])


@generic
def cut_unit(
    bundles: Any, features: Features, criterion: Any, units: Units, u: int, v: int, sums: AnyArray,
    total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    """The best cut of node v by each feature of unit u, whose histogram is `sums`.

    `part` is room for the histogram of a feature.
    """


@cut_unit.when(type(None))
def cut_single(
    bundles: None, features: Features, criterion: Any, units: Units, u: int, v: int,
    sums: AnyArray, total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    cut_feature(features, criterion, units.member[u], v, sums, total, cuts)


@cut_unit.when(Bundles)
def cut_bundle(
    bundles: Bundles, features: Features, criterion: Any, units: Units, u: int, v: int,
    sums: AnyArray, total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    first, last = bundles.starts[u], bundles.starts[u + 1]
    for m in range(first, max(last, first + 1)):
        j, told = units.member[u], sums
        if last > first:
            j, told = bundles.members[m], part
            for c in range(features.sizes[j] + 1):
                part[c] = 0
            for c in range(units.width[u]):
                part[bundles.told[m, c]] += sums[c]
        cut_feature(features, criterion, j, v, told, total, cuts)


@loop
def search(
    features: Features, units: Units, readings: IntArray, criterion: Any, g: AnyArray, first: int,
    n_read: int, placed: Placed, space: Space,
) -> None:  # fmt: skip
    """The best cut of each node of a level by each feature of these readings.

    A reading is two units with a column each, or one unit and −1. `space.gathered` has the g of the
    rows that are read, but for the root, whose g are all.
    """
    keeps, totals, width = first + 1 <= len(space.kept), space.totals[first:], units.width
    for p in range(len(readings)):
        u = readings[p, 0]
        if units.column[u] < 0:
            read_list(
                units.lists, -units.column[u] - 1, width[u], criterion, g, totals[: first + 1],
                n_read, placed, space.sums,
            )  # fmt: skip
        else:
            given = space.gathered if first > 0 else g
            other = u if readings[p, 1] < 0 else readings[p, 1]
            read_pair(units, u, other, criterion, given, n_read, placed, space.lanes, space.sums)
        for k in range(2):
            u = readings[p, k]
            if u < 0:
                break
            for s in range(n_read):
                sums = space.sums[k, s]
                for side in range(2 if first > 0 and keeps else 1):
                    v = placed.read[s] ^ side
                    kept = space.kept[placed.buffer[v], u] if keeps else sums
                    for c in range(width[u] if keeps else 0):
                        kept[c] = kept[c] - sums[c] if side == 1 else sums[c]
                    cut_unit(
                        units.bundles, features, criterion, units, u, v, kept, totals[v],
                        space.cuts, space.part,
                    )  # fmt: skip


@loop
def choose_level(
    features: Features, criterion: Any, first: int, space: Space, tests: Tests
) -> None:
    """The tests of a level, and the sums of its children: a node without one sends all left."""
    before, totals, scores = space.before[: first + 1], space.totals, space.cuts.scores
    for v in range(first + 1):
        before[v] = score_whole(criterion, totals[first + v])
    choose_cuts(features, space.cuts, before, first, tests)
    for v in range(first + 1):
        at, j = first + v, tests.feature[first + v]
        left = space.cuts.left[j, v] if j >= 0 else totals[at]
        totals[2 * at + 1], totals[2 * at + 2] = left, totals[at] - left
    for j in range(len(scores)):  # of the next level
        for v in range(2 * first + 2):
            scores[j, v] = -1.0


@generic
def column_of(lists: Any, codes: AnyArray, k: int, room: AnyArray) -> AnyArray:  # type: ignore[empty-body]
    """The codes of a feature with the place k; those of a list are written out."""


@column_of.when(type(None))
def stored_column(lists: None, codes: AnyArray, k: int, room: AnyArray) -> AnyArray:
    return codes[k]  # type: ignore[no-any-return]


@column_of.when(Lists)
def written_column(lists: Lists, codes: AnyArray, k: int, room: AnyArray) -> AnyArray:
    if k >= 0:
        return codes[k]  # type: ignore[no-any-return]
    for i in range(len(room)):
        room[i] = lists.usual[-k - 1]
    for e in range(lists.starts[-k - 1], lists.starts[-k]):
        room[lists.rows[e]] = lists.codes[e]
    return room


@loop
def send_range(column: AnyArray, low: int, high: int, v: int, node: AnyArray) -> None:
    """Of the rows of node v those with a code from low to high go right; in bytes throughout."""
    here, left, right = np.uint8(v), np.uint8(2 * v), np.uint8(2 * v + 1)
    least, most = np.uint8(low), np.uint8(high)
    for i in range(len(node)):
        to = right if (column[i] >= least) & (column[i] <= most) else left
        node[i] = to if node[i] == here else node[i]


@loop
def send(
    features: Features, lists: Any, codes: AnyArray, feature: IntArray, route: AnyArray,
    placed: Placed,
) -> None:  # fmt: skip
    """Each row goes from node v to 2v + route[v, its code in feature[v]]; without one to 2v.

    Few nodes are quicker one after the other, all rows at a time, unless those that go right are
    a group with gaps. Of the nodes the last comes first: no number is then met twice.
    """
    node, rows = placed.node, placed.rows
    for v in range(len(feature) - 1, -1, -1):
        j, low, high, right = feature[v], 1, 0, 0
        column = column_of(lists, codes, features.place[max(j, 0)], placed.column)
        for c in range(MOST_BINS if j >= 0 else 0):
            if route[v, c]:
                low, high, right = (low if right else c), c, right + 1
        if len(feature) <= FEW_NODES and (right == 0 or right > high - low):
            send_range(column, low, high, v, node)
            continue
        for r in range(np.uint64(placed.begin[v]), np.uint64(placed.begin[v + 1])):
            side = route[v, column[rows[r]]] if j >= 0 else np.uint8(0)
            node[rows[r]] = np.uint8(2 * v) + side


@loop
def place_rows(n_nodes: int, placed: Placed) -> None:
    """The rows in the order of the nodes that they were sent to, from that of those above.

    No branch depends on a row, which none could foresee. Rows stay in their order.
    """
    rows, spare, begin, node = placed.rows, placed.spare, placed.begin, placed.node
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
def sum_leaves(criterion: Any, node: AnyArray, g: AnyArray, totals: AnyArray) -> None:
    """totals[v] = Σ gᵢ over the rows of leaf v.

    Four rows take turns, and both histograms lie side by side: of two rows of sums one would be
    chosen by a branch that no row can foresee.
    """
    lanes = np.zeros((4, 2 * len(totals)), dtype=g.dtype)
    for i in range(len(node)):
        place = 2 * np.uint64(node[i]) + np.uint64(lane_of(criterion, i, g[i]))
        lanes[i & 3, place] += g[i]
    for p in range(2 * len(totals)):
        lanes[0, p] += lanes[1, p] + lanes[2, p] + lanes[3, p]
    for v in range(len(totals)):
        totals[v] = collected(criterion, lanes[0, 2 * v], lanes[0, 2 * v + 1])


@loop
def grow_levels(
    features: Features, units: Units, readings: IntArray, criterion: Any, g: AnyArray, depth: int,
    placed: Placed, space: Space, tests: Tests, summed: Any, exact: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    """All the levels of a tree in one thread, and the sums over its leaves (see `sum_leaves`)."""
    for level in range(depth):
        first = (1 << level) - 1
        if level > 0:
            place_rows((first + 1) // 2, placed)
        n_read = pick_nodes(first, space.kept, placed)
        if level > 0:
            gather(n_read, placed, g, space.gathered)
        search(features, units, readings, criterion, g, first, n_read, placed, space)
        choose_level(features, criterion, first, space, tests)
        send(
            features, units.lists, units.codes, tests.feature[first : 2 * first + 1],
            tests.route[first : 2 * first + 1], placed,
        )  # fmt: skip
    sum_leaves(summed, placed.node, exact, sums)
