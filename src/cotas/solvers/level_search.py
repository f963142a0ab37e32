"""The levels of a tree: which nodes are read, the best cut of each, and where its rows go.

Nodes are numbered as in `trees`; node v of a level is node first + v of the tree, `first` being how
many nodes there are above. Each loop is compiled twice for a kind of sums: for tables of numbers in
columns, and for those that have lists, bundles or categories, where any of these may be empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import add_atomically, generic, loop, loop_in_place, read_atomically
from cotas.solvers.binning import MOST_BINS
from cotas.solvers.histograms import Lists, collected, lane_of, read_pair
from cotas.solvers.split_search import (
    Cuts,
    Features,
    Tests,
    choose_cuts,
    cut_feature,
    cut_numbers,
    score_whole,
)

FEW_NODES = 8  # to which rows are sent one after the other
# Where the threads that grow a tree tell each other how many readings are taken, how many may be,
# and how many are done, in all levels together; far enough apart for a cache. Then how many threads
# there are, and how often the first of them has looked whether the others are done.
TAKEN, OPEN, DONE, THREADS, WAITED = 0, 16, 32, 48, 64


class Extras(NamedTuple):
    """What tables have beyond columns of numbers: lists and bundles; both may be empty.

    Unit u tells its members, starts[u] to starts[u + 1] − 1: one feature, or those of a bundle (see
    `bundles`), which come first: where its code is c, features[m] has told[m, c].
    """

    lists: Lists
    starts: IntArray
    features: IntArray
    told: AnyArray


class Units(NamedTuple):
    """What has a histogram: column[u] of `codes`, or list −column[u] − 1, with width[u] codes.

    Without extras unit j is feature j.
    """

    codes: AnyArray
    column: IntArray
    width: IntArray
    extras: Extras | None


class Placed(NamedTuple):
    """The rows in the order of their nodes: those of node v of a level begin at begin[v].

    `node` is that of each row; `spare` and `column` are room to move rows in. Of the first n_read
    nodes of `read` the rows are read, and the histogram of node v is in buffer[v].
    """

    rows: AnyArray
    spare: AnyArray
    node: AnyArray
    column: AnyArray
    begin: IntArray
    read: IntArray
    n_read: IntArray
    buffer: IntArray


class Space(NamedTuple):
    """What trees of one kind of sums are grown in; the last three have a part for each thread.

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
def open_level(kind: Any, g: AnyArray, first: int, placed: Placed, space: Space) -> None:
    """Which nodes of a level are read, and where each has its histogram; no cut of them is known.

    Of two nodes with rows the one with fewer of them, the other being what it leaves of the
    histogram of their parent, if that was kept; a node that is alone could not be cut. Of what is
    read gᵢ are gathered, in the order of the rows.
    """
    begin, read, buffer, n = placed.begin, placed.read, placed.buffer, 0
    if first == 0:
        read[0] = buffer[0] = 0
        n = 1
    for v in range(first - 1, -1, -2):
        middle = begin[v + 1]
        left, right = middle - begin[v], begin[v + 2] - middle
        smaller = v if left <= right else v + 1
        buffer[smaller ^ 1], buffer[smaller] = buffer[v // 2], (first + 1 + v) // 2
        if left > 0 and right > 0:
            read[n] = smaller
            n += 1
            if first >= len(space.kept):
                read[n] = smaller ^ 1
                n += 1
    placed.n_read[0] = n
    for s in range(n if first > 0 else 0):
        for r in range(begin[read[s]], begin[read[s] + 1]):
            space.gathered[r] = g[placed.rows[r]]
    for v in range(first + 1):
        space.before[v] = score_whole(kind.criterion, space.totals[first + v])
        for j in range(len(space.cuts.scores)):
            space.cuts.scores[j, v] = -1.0


@generic
def read_extra(
    extras: Any, k: int, width: int, kind: Any, g: AnyArray, placed: Placed, first: int,
    totals: AnyArray, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    """sums[s, 0]: the histogram of list k over the rows of the s-th node that is read."""


@read_extra.when(type(None))
def read_no_list(
    extras: None, k: int, width: int, kind: Any, g: AnyArray, placed: Placed, first: int,
    totals: AnyArray, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    pass


@read_extra.when(Extras)
def read_some_list(
    extras: Extras, k: int, width: int, kind: Any, g: AnyArray, placed: Placed, first: int,
    totals: AnyArray, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    lists, node = extras.lists, placed.node
    for p in range(2 * first + 2):
        for c in range(width):
            lanes[p, c] = 0
    for e in range(lists.starts[k], lists.starts[k + 1]):
        i = lists.rows[e]
        lane = 2 * np.uint64(node[i]) + np.uint64(lane_of(kind, e, g[i]))
        lanes[lane, lists.codes[e]] += g[i]
    for s in range(placed.n_read[0]):
        v = placed.read[s]
        rest = totals[first + v]
        for c in range(width):
            found = collected(kind, lanes[2 * v, c], lanes[2 * v + 1, c])
            sums[s, 0, c], rest = found, rest - found
        sums[s, 0, lists.usual[k]] = rest  # what the others leave


@generic
def cut_unit(
    extras: Any, features: Features, criterion: Any, u: int, v: int, sums: AnyArray, width: int,
    total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    """The best cut of node v by each feature of unit u, whose histogram is `sums`."""


@cut_unit.when(type(None))
def cut_single(
    extras: None, features: Features, criterion: Any, u: int, v: int, sums: AnyArray, width: int,
    total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    found = cut_numbers(features.sizes[u], features.missing[u], criterion, sums, total)
    cuts.scores[u, v], cuts.last[u, v], cuts.missing_left[u, v], cuts.left[u, v] = found


@cut_unit.when(Extras)
def cut_members(
    extras: Extras, features: Features, criterion: Any, u: int, v: int, sums: AnyArray, width: int,
    total: Any, cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    for m in range(extras.starts[u], extras.starts[u + 1]):
        j, known = extras.features[m], sums
        if m < len(extras.told):
            known = part
            for c in range(features.sizes[j] + 1):
                part[c] = 0
            for c in range(width):
                part[extras.told[m, c]] += sums[c]
        cut_feature(features, criterion, j, v, known, total, cuts)


@loop
def search(
    features: Features, units: Units, readings: IntArray, p: int, kind: Any, g: AnyArray,
    first: int, placed: Placed, space: Space, thread: int,
) -> None:  # fmt: skip
    """The best cut of each node of a level by each feature of the p-th reading.

    A reading is two units with a column each, or one unit and −1. `space.gathered` has the g of the
    rows that are read, but for the root, whose g are all. If histograms are kept, that of the node
    that is not read is what its sibling leaves.
    """
    keeps, given = first < len(space.kept), space.gathered if first > 0 else g
    begin, read, n_read = placed.begin, placed.read, placed.n_read[0]
    lanes, all_sums, widths = space.lanes[thread], space.sums[thread], units.width
    u, other = readings[p, 0], readings[p, 1]
    a, b, width = units.column[u], units.column[other], widths[u]
    if a < 0:
        read_extra(
            units.extras, -a - 1, width, kind, g, placed, first, space.totals, lanes, all_sums
        )
    else:
        if other < 0:
            b = a
        elif widths[other] > width:
            width = widths[other]
        for s in range(n_read):
            v = read[s]
            read_pair(
                units.codes[a], units.codes[b], placed.rows, begin[v], begin[v + 1], kind, given,
                width, lanes, all_sums[s],
            )  # fmt: skip
    for k in range(2 if other >= 0 else 1):
        u = readings[p, k]
        for s in range(n_read):
            for side in range(2 if first > 0 and keeps else 1):
                v, sums = read[s] ^ side, all_sums[s, k]
                if keeps:
                    kept = space.kept[placed.buffer[v], u]
                    for c in range(widths[u]):
                        kept[c] = kept[c] - sums[c] if side == 1 else sums[c]
                    sums = kept
                cut_unit(
                    units.extras, features, kind.criterion, u, v, sums, widths[u],
                    space.totals[first + v], space.cuts, space.part[thread],
                )  # fmt: skip


@generic
def write_list(extras: Any, k: int, room: AnyArray) -> None:
    """The codes of list k, written out."""


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
    """Of the rows of node v those with a code above the last, up to the most, go right.

    In bytes throughout.
    """
    here, left, right = np.uint8(v), np.uint8(2 * v), np.uint8(2 * v + 1)
    below, highest = np.uint8(last), np.uint8(most)
    for i in range(len(node)):
        to = right if (column[i] > below) & (column[i] <= highest) else left
        node[i] = to if node[i] == here else node[i]


@loop
def send(features: Features, units: Units, first: int, tests: Tests, placed: Placed) -> None:
    """Each row of a level goes from node v to 2v + route[first + v, its code in the feature].

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
def place_rows(n_nodes: int, placed: Placed) -> None:
    """The rows in the order of the nodes that they were sent to, from that of those above.

    No branch depends on a row, which none could foresee. Rows stay in their order.
    """
    begin, node, rows, spare = placed.begin, placed.node, placed.rows, placed.spare
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
def sum_leaves(kind: Any, node: AnyArray, g: AnyArray, lanes: AnyArray, totals: AnyArray) -> None:
    """totals[v] = Σ gᵢ over the rows of leaf v.

    Four rows take turns in `lanes`, zeros, and both histograms lie side by side: of two rows of
    sums one would be chosen by a branch that no row can foresee.
    """
    for i in range(len(node)):
        place = 2 * np.uint64(node[i]) + np.uint64(lane_of(kind, i, g[i]))
        lanes[i & 3, place] += g[i]
    for p in range(2 * len(totals)):
        lanes[0, p] += lanes[1, p] + lanes[2, p] + lanes[3, p]
    for v in range(len(totals)):
        totals[v] = collected(kind, lanes[0, 2 * v], lanes[0, 2 * v + 1])


@loop
def take_turns(
    features: Features, units: Units, readings: IntArray, kind: Any, g: AnyArray, placed: Placed,
    space: Space, crew: IntArray, thread: int, turn: int, most: int,
) -> int:  # fmt: skip
    """Search the reading of this turn, then of others as long as some are left; the next turn.

    The turns of one level follow those of the one above, and begin when they are open.
    """
    n = len(readings)
    while turn < most:
        while read_atomically(crew, OPEN) <= turn:
            pass
        first = (1 << (turn // n)) - 1
        search(features, units, readings, turn % n, kind, g, first, placed, space, thread)
        add_atomically(crew, DONE, 1)
        turn = add_atomically(crew, TAKEN, 1)
    return turn


@loop_in_place
def grow_levels(
    features: Features, units: Units, readings: IntArray, kind: Any, g: AnyArray, depth: int,
    placed: Placed, space: Space, tests: Tests, summed: Any, exact: AnyArray, lanes: AnyArray,
    sums: AnyArray, crew: IntArray,
) -> None:  # fmt: skip
    """All the levels of a tree, and the sums over its leaves (see `sum_leaves`).

    The thread that comes first does it, but for readings that others take. They need not come, and
    who comes late finds fewer left; which thread has searched a reading makes no difference.
    """
    thread = add_atomically(crew, THREADS, 1)
    turn = add_atomically(crew, TAKEN, 1)
    for level in range(depth):
        first, n_open = (1 << level) - 1, (level + 1) * len(readings)
        if thread == 0:
            if level > 0:
                place_rows((first + 1) // 2, placed)
            open_level(kind, g, first, placed, space)
            add_atomically(crew, OPEN, len(readings))
        turn = take_turns(
            features, units, readings, kind, g, placed, space, crew, thread, turn, n_open
        )
        if thread == 0:
            while read_atomically(crew, DONE) < n_open:
                crew[WAITED] += 1
            choose_cuts(features, space.cuts, space.before[: first + 1], first, tests)
            for at in range(first, 2 * first + 1):
                j, total = tests.feature[at], space.totals[at]
                # A node without a test sends all left.
                left = space.cuts.left[j, at - first] if j >= 0 else total
                space.totals[2 * at + 1], space.totals[2 * at + 2] = left, total - left
            send(features, units, first, tests, placed)
    if thread == 0:
        sum_leaves(summed, placed.node, exact, lanes, sums)
