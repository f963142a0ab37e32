"""Sums of a quantity over the rows of each bin, for one feature and several nodes of a tree.

The quantity is a real number for each row, or a complex one where two sums are wanted at a time:
its real part is then weight times target, its imaginary part the weight. Where the target is ±1
the signed weight alone tells both, and each bin keeps one sum for each sign until all rows are in.
One loop serves all three; the criterion says which it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, IntArray
from cotas.loops import assign, generic, loop
from cotas.solvers.binning import MOST_BINS, Bins
from cotas.solvers.split_search import Edge, Gini, Signs, SquaresCriterion

LANES = 4  # sums of the same bin in turn, so that an addition need not wait for the one before
FEW_NODES = 8  # that many rows at a time are compared with, one node after the other


@generic
def place_of(criterion: Any, code: int, g: Any) -> int:  # type: ignore[empty-body]
    """Where the quantity of a row with this code is added."""


@place_of.when(Edge)
def place_of_edge(criterion: Edge, code: int, g: float) -> int:
    return code


@place_of.when(SquaresCriterion)
def place_of_squares(criterion: SquaresCriterion, code: int, g: complex) -> int:
    return code


@place_of.when(Gini)
def place_by_sign(criterion: Gini, code: int, g: float) -> int:
    return 2 * int(code) + int(g > 0)


@place_of.when(Signs)
def place_of_signs(criterion: Signs, code: int, g: float) -> int:
    return 2 * int(code) + int(g > 0)


@generic
def n_places(criterion: Any, n_codes: int) -> int:  # type: ignore[empty-body]
    """How many places so many codes have."""


@n_places.when(Edge)
def places_of_edges(criterion: Edge, n_codes: int) -> int:
    return n_codes


@n_places.when(SquaresCriterion)
def places_of_squares(criterion: SquaresCriterion, n_codes: int) -> int:
    return n_codes


@n_places.when(Gini)
def places_by_sign(criterion: Gini, n_codes: int) -> int:
    return 2 * n_codes


@n_places.when(Signs)
def places_of_signs(criterion: Signs, n_codes: int) -> int:
    return 2 * n_codes


@generic
def collected(criterion: Any, added: AnyArray, b: int) -> Any:
    """The sum of bin b, from what was added in the places above."""


@collected.when(Edge)
def collected_edge(criterion: Edge, added: AnyArray, b: int) -> float:
    return added[b]  # type: ignore[no-any-return]


@collected.when(SquaresCriterion)
def collected_squares(criterion: SquaresCriterion, added: AnyArray, b: int) -> complex:
    return added[b]  # type: ignore[no-any-return]


@collected.when(Gini)
def collected_signs(criterion: Gini, added: AnyArray, b: int) -> complex:
    return complex(added[2 * b + 1] + added[2 * b], added[2 * b + 1] - added[2 * b])


@collected.when(Signs)
def collected_parts(criterion: Signs, added: AnyArray, b: int) -> complex:
    return complex(added[2 * b + 1], -added[2 * b])


@loop
def n_codes(bins: Bins, j: int) -> int:
    """How many codes feature j has: those of its values, and one for what is missing.

    A feature with 256 values has no code left for that.
    """
    return min(bins.sizes[j] + 1, MOST_BINS)  # type: ignore[no-any-return]


@loop
def column_histogram(
    bins: Bins,
    j: int,
    criterion: Any,
    g: AnyArray,
    total: AnyArray,
    lanes: AnyArray,
    sums: AnyArray,
) -> None:
    """sums[b] = Σ gᵢ over the rows with feature j in bin b; total[0] = Σ gᵢ."""
    width = n_places(criterion, n_codes(bins, j))
    lanes[:, :width] = 0
    k = bins.place[j]
    if k >= 0:
        codes = bins.codes[k]
        whole = len(codes) - len(codes) % LANES
        for i in range(0, whole, LANES):
            lanes[0, place_of(criterion, codes[i], g[i])] += g[i]
            lanes[1, place_of(criterion, codes[i + 1], g[i + 1])] += g[i + 1]
            lanes[2, place_of(criterion, codes[i + 2], g[i + 2])] += g[i + 2]
            lanes[3, place_of(criterion, codes[i + 3], g[i + 3])] += g[i + 3]
        for i in range(whole, len(codes)):
            lanes[0, place_of(criterion, codes[i], g[i])] += g[i]
    else:
        for e in range(bins.starts[-k - 1], bins.starts[-k]):
            x = g[bins.rows[e]]
            lanes[e & 3, place_of(criterion, bins.listed[e], x)] += x
    for p in range(width):
        lanes[0, p] += lanes[1, p] + lanes[2, p] + lanes[3, p]
    for b in range(n_codes(bins, j)):
        sums[b] = collected(criterion, lanes[0], b)
    if k < 0:
        fill_usual(bins, j, total[0], sums)


@loop
def nodes_histogram(
    bins: Bins,
    j: int,
    criterion: Any,
    node: IntArray,
    slot: IntArray,
    rows: IntArray,
    slots: IntArray,
    gathered: AnyArray,
    g: AnyArray,
    total: AnyArray,
    added: AnyArray,
    sums: AnyArray,
) -> None:
    """sums[s, b] = Σ gᵢ over the rows of slot s with feature j in bin b.

    `rows` are the rows that have a slot, `slots` and `gathered` their slots and gᵢ; slot[node[i]]
    is the slot of row i, or negative; total[s] = Σ gᵢ over slot s.
    """
    added[:, : n_places(criterion, n_codes(bins, j))] = 0
    k = bins.place[j]
    if k >= 0:
        codes = bins.codes[k]
        for r in range(len(rows)):
            added[slots[r], place_of(criterion, codes[rows[r]], gathered[r])] += gathered[r]
    else:
        for e in range(bins.starts[-k - 1], bins.starts[-k]):
            i = bins.rows[e]
            s = slot[node[i]]
            if s >= 0:
                added[s, place_of(criterion, bins.listed[e], g[i])] += g[i]
    for s in range(len(sums)):
        for b in range(n_codes(bins, j)):
            sums[s, b] = collected(criterion, added[s], b)
        if k < 0:
            fill_usual(bins, j, total[s], sums[s])


@loop
def two_columns(
    a: AnyArray, b: AnyArray, n_codes: int, criterion: Any, g: AnyArray, lanes: AnyArray
) -> None:  # fmt: skip
    """lanes[0] and lanes[2]: what is added in the places of two columns, with one look at gᵢ."""
    width = n_places(criterion, n_codes)
    lanes[:, :width] = 0
    whole = len(g) - len(g) % 2
    for i in range(0, whole, 2):
        lanes[0, place_of(criterion, a[i], g[i])] += g[i]
        lanes[2, place_of(criterion, b[i], g[i])] += g[i]
        lanes[1, place_of(criterion, a[i + 1], g[i + 1])] += g[i + 1]
        lanes[3, place_of(criterion, b[i + 1], g[i + 1])] += g[i + 1]
    for i in range(whole, len(g)):
        lanes[0, place_of(criterion, a[i], g[i])] += g[i]
        lanes[2, place_of(criterion, b[i], g[i])] += g[i]
    for p in range(width):
        lanes[0, p] += lanes[1, p]
        lanes[2, p] += lanes[3, p]


@loop
def two_columns_of_nodes(
    a: AnyArray, b: AnyArray, n_codes: int, criterion: Any, rows: IntArray, slots: IntArray,
    gathered: AnyArray, added: AnyArray, more: AnyArray,
) -> None:  # fmt: skip
    """added[s] and more[s]: the same for the rows of slot s, as `gather_rows` left them."""
    width = n_places(criterion, n_codes)
    added[:, :width] = 0
    more[:, :width] = 0
    for r in range(len(rows)):
        i, s, x = rows[r], slots[r], gathered[r]
        added[s, place_of(criterion, a[i], x)] += x
        more[s, place_of(criterion, b[i], x)] += x


@loop
def fill_usual(bins: Bins, j: int, total: Any, sums: AnyArray) -> None:
    """The bin that was not listed has what the others leave."""
    usual = bins.usual[j]
    for b in range(n_codes(bins, j)):
        if b != usual:
            total = total - sums[b]
    sums[usual] = total


@loop
def gather_rows(
    node: IntArray, slot: IntArray, first: int, g: AnyArray, rows: IntArray, slots: IntArray,
    gathered: AnyArray,
) -> None:  # fmt: skip
    """The rows whose node has a slot, with their slots and gᵢ; row i has the number first + i.

    There is room for as many as they are. No branch depends on a node, which none could foresee.
    """
    k = 0
    for i in range(len(node)):
        if k == len(rows):
            break
        rows[k] = first + i
        k += int(slot[node[i]] >= 0)
    for r in range(len(rows)):
        slots[r], gathered[r] = slot[node[rows[r] - first]], g[rows[r] - first]


@loop
def node_totals(
    criterion: Any, node: IntArray, g: AnyArray, lanes: AnyArray, totals: AnyArray
) -> None:
    """totals[v] += Σ gᵢ over the rows of node v."""
    lanes[:] = 0
    for i in range(len(node)):
        lanes[i & 3, place_of(criterion, node[i], g[i])] += g[i]
    for p in range(lanes.shape[1]):
        lanes[0, p] += lanes[1, p] + lanes[2, p] + lanes[3, p]
    for v in range(len(totals)):
        totals[v] += collected(criterion, lanes[0], v)


@loop
def node_counts(node: IntArray, lanes: IntArray) -> None:
    """lanes[0, v] = the number of rows of node v; few nodes are counted one after the other."""
    n_nodes = lanes.shape[1]
    if n_nodes <= FEW_NODES:
        for v in range(n_nodes):
            count, here = 0, np.uint8(v)
            for i in range(len(node)):
                count += int(node[i] == here)
            lanes[0, v] = count
        return
    lanes[:] = 0
    for i in range(len(node)):
        lanes[i & 3, node[i]] += 1
    for v in range(n_nodes):
        lanes[0, v] += lanes[1, v] + lanes[2, v] + lanes[3, v]


@loop
def send_rows(codes: AnyArray, column: IntArray, route: AnyArray, node: IntArray) -> None:
    """Row i goes from node v to 2v + route[v, its code in the column of v]."""
    for i in range(len(node)):
        v = node[i]
        node[i] = 2 * v + route[v, codes[column[v], i]]


@loop
def send_nodes(
    codes: AnyArray, column: IntArray, route: AnyArray, node: IntArray, child: IntArray
) -> None:
    """The same one node after the other, which few nodes are quicker; `child` is room for it."""
    for v in range(len(column)):
        low, high, right = 256, -1, 0
        for b in range(route.shape[1]):
            if route[v, b]:
                low, high, right = min(low, b), b, right + 1
        if right and right <= high - low:  # a group with gaps
            for i in range(len(node)):
                if node[i] == v:
                    child[i] = 2 * v + route[v, codes[column[v], i]]
        else:
            send_range(codes[column[v]], low, high, v, node, child)
    assign(node, child)


@loop
def send_range(
    codes: AnyArray, low: int, high: int, v: int, node: IntArray, child: IntArray
) -> None:
    """Of the rows of node v those with a code from low to high go right; in bytes throughout."""
    here, left, right = np.uint8(v), np.uint8(2 * v), np.uint8(2 * v + 1)
    least, most = np.uint8(min(low, 255)), np.uint8(max(high, 0))
    if low > high:  # none
        right = left
    for i in range(len(node)):
        to = right if (codes[i] >= least) & (codes[i] <= most) else left
        child[i] = to if node[i] == here else child[i]


@loop
def send_listed(bins: Bins, feature: IntArray, route: AnyArray, node: IntArray) -> None:
    """Those that a list names go where their own code says, and not where the usual one does."""
    for v in range(len(feature)):
        k = bins.place[feature[v]]
        if feature[v] < 0 or k >= 0:
            continue
        for e in range(bins.starts[-k - 1], bins.starts[-k]):
            i = bins.rows[e]
            if node[i] // 2 == v:
                node[i] = 2 * v + route[v, bins.listed[e]]
