"""Sums of a quantity over the rows of each bin, for one feature and several nodes of a tree.

The quantity is a real number for each row, or a complex one where two sums are wanted at a time:
its real part is then weight times target, its imaginary part the weight. One loop serves both.
"""

from __future__ import annotations

from cotas.arrays import AnyArray, IntArray
from cotas.loops import loop
from cotas.solvers.binning import Bins

LANES = 4  # sums of the same bin in turn, so that an addition need not wait for the one before


@loop
def column_histogram(bins: Bins, j: int, g: AnyArray, total: AnyArray, lanes: AnyArray) -> None:
    """lanes[0, b] = Σ gᵢ over the rows with feature j in bin b; total[0] = Σ gᵢ."""
    lanes[:] = 0
    k = bins.place[j]
    if k >= 0:
        codes = bins.codes[k]
        whole = len(codes) - len(codes) % LANES
        for i in range(0, whole, LANES):
            lanes[0, codes[i]] += g[i]
            lanes[1, codes[i + 1]] += g[i + 1]
            lanes[2, codes[i + 2]] += g[i + 2]
            lanes[3, codes[i + 3]] += g[i + 3]
        for i in range(whole, len(codes)):
            lanes[0, codes[i]] += g[i]
    else:
        for e in range(bins.starts[-k - 1], bins.starts[-k]):
            lanes[e & 3, bins.listed[e]] += g[bins.rows[e]]
    for b in range(lanes.shape[1]):
        lanes[0, b] += lanes[1, b] + lanes[2, b] + lanes[3, b]
    if k < 0:
        _fill_usual(bins.usual[j], total[0], lanes[0])


@loop
def nodes_histogram(
    bins: Bins,
    j: int,
    node: IntArray,
    slot: IntArray,
    rows: IntArray,
    slots: IntArray,
    gathered: AnyArray,
    g: AnyArray,
    total: AnyArray,
    sums: AnyArray,
) -> None:
    """sums[s, b] = Σ gᵢ over the rows of slot s with feature j in bin b.

    `rows` are the rows that have a slot, `slots` and `gathered` their slots and gᵢ; slot[node[i]]
    is the slot of row i, or negative; total[s] = Σ gᵢ over slot s.
    """
    sums[:] = 0
    k = bins.place[j]
    if k >= 0:
        codes = bins.codes[k]
        for r in range(len(rows)):
            sums[slots[r], codes[rows[r]]] += gathered[r]
        return
    for e in range(bins.starts[-k - 1], bins.starts[-k]):
        i = bins.rows[e]
        s = slot[node[i]]
        if s >= 0:
            sums[s, bins.listed[e]] += g[i]
    for s in range(len(sums)):
        _fill_usual(bins.usual[j], total[s], sums[s])


@loop
def _fill_usual(usual: int, total: float, sums: AnyArray) -> None:
    """The bin that was not listed has what the others leave."""
    for b in range(len(sums)):
        if b != usual:
            total = total - sums[b]
    sums[usual] = total


@loop
def gather_rows(
    node: IntArray, slot: IntArray, g: AnyArray, rows: IntArray, slots: IntArray, gathered: AnyArray
) -> int:
    """The rows whose node has a slot, with their slots and gᵢ; how many they are."""
    k = 0
    for i in range(len(node)):
        s = slot[node[i]]
        if s >= 0:
            rows[k], slots[k], gathered[k] = i, s, g[i]
            k += 1
    return k


@loop
def node_totals(node: IntArray, g: AnyArray, lanes: AnyArray) -> None:
    """lanes[0, v] = Σ gᵢ over the rows of node v."""
    lanes[:] = 0
    for i in range(len(node)):
        lanes[i & 3, node[i]] += g[i]
    for v in range(lanes.shape[1]):
        lanes[0, v] += lanes[1, v] + lanes[2, v] + lanes[3, v]


@loop
def node_counts(node: IntArray, lanes: IntArray) -> None:
    """lanes[0, v] = the number of rows of node v."""
    lanes[:] = 0
    for i in range(len(node)):
        lanes[i & 3, node[i]] += 1
    for v in range(lanes.shape[1]):
        lanes[0, v] += lanes[1, v] + lanes[2, v] + lanes[3, v]


@loop
def send_rows(bins: Bins, feature: IntArray, route: AnyArray, node: IntArray) -> None:
    """Row i goes from node v to 2v + route[v, code of feature[v]]; without a feature to 2v."""
    columns = bins.place[feature]
    if len(feature) == 1 and feature[0] >= 0 and columns[0] >= 0:
        codes = bins.codes[columns[0]]
        for i in range(len(node)):
            node[i] = route[0, codes[i]]
        return
    for i in range(len(node)):
        v = node[i]
        if feature[v] < 0:
            node[i] = 2 * v
        elif columns[v] >= 0:
            node[i] = 2 * v + route[v, bins.codes[columns[v], i]]
        else:
            node[i] = 2 * v + route[v, bins.usual[feature[v]]]
    for v in range(len(feature)):
        k = columns[v]
        if feature[v] < 0 or k >= 0:
            continue
        for e in range(bins.starts[-k - 1], bins.starts[-k]):
            i = bins.rows[e]
            if node[i] // 2 == v:
                node[i] = 2 * v + route[v, bins.listed[e]]
