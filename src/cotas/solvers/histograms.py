"""Sums of a quantity over the rows of each bin, for the features of a table.

What is added is told by the criterion: a real number for each row, a complex one where two sums are
wanted at a time (the real part is then weight times target, the imaginary part the weight), or a
whole number that packs a target and a one. Where the target is ±1 the signed weight alone tells
both, and each bin keeps one sum for each sign until all rows are in. One loop serves all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, IntArray
from cotas.loops import generic, loop
from cotas.solvers.binning import Bins
from cotas.solvers.split_search import CountedSquares, Edge, Gini, SquaresCriterion


class Lists(NamedTuple):
    """The features that `Bins` has as lists: entries starts[k] to starts[k+1] are those of list k.

    Rows that it does not name have the code usual[k].
    """

    starts: IntArray
    rows: AnyArray
    codes: AnyArray
    usual: AnyArray


def lists_of(bins: Bins) -> Lists:
    """Return its lists."""
    features = np.flatnonzero(bins.place < 0)
    usual = np.empty(len(features), dtype=np.uint8)
    usual[-1 - bins.place[features]] = bins.usual[features]
    return Lists(bins.starts, bins.rows.view(np.uint32), bins.listed, usual)


@generic
def lane_of(criterion: Any, r: int, g: Any) -> int:  # type: ignore[empty-body]
    """Tell to which of two histograms the r-th row is added.

    They take turns, so that an addition need not wait for the one before it to the same bin.
    """


@lane_of.when(Edge)
def lane_of_edge(criterion: Edge, r: int, g: float) -> int:
    return r & 1


@lane_of.when(SquaresCriterion)
def lane_of_squares(criterion: SquaresCriterion, r: int, g: complex) -> int:
    return r & 1


@lane_of.when(CountedSquares)
def lane_of_counted(criterion: CountedSquares, r: int, g: int) -> int:
    return r & 1


@lane_of.when(Gini)
def lane_by_sign(criterion: Gini, r: int, g: float) -> int:
    return int(g > 0)


@generic
def collected(criterion: Any, first: Any, second: Any) -> Any:
    """Return the sum of a bin, from what both histograms have there."""


@collected.when(Edge)
def collected_edge(criterion: Edge, first: float, second: float) -> float:
    return first + second


@collected.when(SquaresCriterion)
def collected_squares(criterion: SquaresCriterion, first: complex, second: complex) -> complex:
    return first + second


@collected.when(CountedSquares)
def collected_counted(criterion: CountedSquares, first: int, second: int) -> int:
    return first + second


@collected.when(Gini)
def collected_signs(criterion: Gini, first: float, second: float) -> complex:
    return complex(second + first, second - first)


@loop
def read_pair(
    a: AnyArray, b: AnyArray, rows: AnyArray, start: int, stop: int, criterion: Any, g: AnyArray,
    width: int, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    """Fill sums[0] and sums[1]: the histograms of two columns, gᵣ being that of rows[r].

    The rows are unsigned, as the codes are: of other numbers an index must be looked at first.
    """
    for p in range(4):
        for c in range(width):
            lanes[p, c] = 0
    for r in range(np.uint64(start), np.uint64(stop)):
        i, x = rows[r], g[r]
        lane = np.uint64(lane_of(criterion, r, x))
        lanes[lane, a[i]] += x
        lanes[lane + np.uint64(2), b[i]] += x
    for c in range(width):
        sums[0, c] = collected(criterion, lanes[0, c], lanes[1, c])
        sums[1, c] = collected(criterion, lanes[2, c], lanes[3, c])


@loop
def add_histograms(codes: AnyArray, g: AnyArray, node: IntArray, whole: AnyArray) -> None:
    """Add Σ gᵢ over the rows of node v with feature j in bin b to whole[j, v, b]."""
    for j in range(len(codes)):
        for i in range(len(g)):
            whole[j, node[i], codes[j, i]] += g[i]


@loop
def send_rows(codes: AnyArray, column: IntArray, route: AnyArray, node: IntArray) -> None:
    """Send row i from node v to 2v + route[v, its code in the column of v]."""
    for i in range(len(node)):
        v = node[i]
        node[i] = 2 * v + route[v, codes[column[v], i]]
