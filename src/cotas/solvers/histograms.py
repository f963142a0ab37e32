"""Sums of a quantity over the rows of each bin, for the features of a table.

What is added for each row is a real number, a complex one where two sums are wanted at a time (the
real part is then weight times target, the imaginary part the weight), or less than that:

    Added    the number itself
    Signed   a weight with the sign of a target of ±1: each bin keeps one sum for each sign
    Counted  n·2⁴⁴ + S in one whole number, n counting rows of equal weight and S being a sum of
             whole numbers: one addition does for both, and no order of the rows changes them

The sums that are made of them are S or S + iW. One loop serves all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, IntArray
from cotas.loops import generic, loop
from cotas.solvers.binning import Bins

COUNT_BITS = 44  # below those of the count; more than half of these are of the sum


class Added(NamedTuple):
    """Numbers, real or complex, that are added up; cuts are judged by the criterion."""

    criterion: Any


class Signed(NamedTuple):
    """Weights with the sign of the target."""

    criterion: Any


class Counted(NamedTuple):
    """Whole numbers of the form n·2⁴⁴ + S."""

    criterion: Any


class Lists(NamedTuple):
    """The features that `Bins` has as lists: entries starts[k] to starts[k+1] are those of list k.

    Rows that it does not name have the code usual[k].
    """

    starts: IntArray
    rows: AnyArray
    codes: AnyArray
    usual: AnyArray


def lists_of(bins: Bins) -> Lists:
    """Its lists."""
    features = np.flatnonzero(bins.place < 0)
    usual = np.empty(len(features), dtype=np.uint8)
    usual[-1 - bins.place[features]] = bins.usual[features]
    return Lists(bins.starts, bins.rows.view(np.uint32), bins.listed, usual)


@generic
def lane_of(kind: Any, r: int, g: Any) -> int:  # type: ignore[empty-body]
    """To which of two histograms the r-th row is added.

    They take turns, so that an addition need not wait for the one before it to the same bin.
    """


@lane_of.when(Added)
def lane_of_added(kind: Added, r: int, g: Any) -> int:
    return r & 1


@lane_of.when(Counted)
def lane_of_counted(kind: Counted, r: int, g: int) -> int:
    return r & 1


@lane_of.when(Signed)
def lane_by_sign(kind: Signed, r: int, g: float) -> int:
    return int(g > 0)


@generic
def collected(kind: Any, first: Any, second: Any) -> Any:
    """The sum of a bin, from what both histograms have there."""


@collected.when(Added)
def collected_added(kind: Added, first: Any, second: Any) -> Any:
    return first + second


@collected.when(Signed)
def collected_signs(kind: Signed, first: float, second: float) -> complex:
    return complex(second + first, second - first)


@collected.when(Counted)
def collected_counted(kind: Counted, first: int, second: int) -> complex:
    both = first + second
    low = (both << (64 - COUNT_BITS)) >> (64 - COUNT_BITS)
    return complex(float(low), float((both - low) >> COUNT_BITS))


@loop
def read_pair(
    a: AnyArray, b: AnyArray, rows: AnyArray, start: int, stop: int, kind: Any, g: AnyArray,
    width: int, lanes: AnyArray, sums: AnyArray,
) -> None:  # fmt: skip
    """sums[0] and sums[1]: the histograms of two columns, gᵣ being that of rows[r].

    The rows are unsigned, as the codes are: of other numbers an index must be looked at first.
    """
    for p in range(4):
        for c in range(width):
            lanes[p, c] = 0
    for r in range(np.uint64(start), np.uint64(stop)):
        i, x = rows[r], g[r]
        lane = np.uint64(lane_of(kind, r, x))
        lanes[lane, a[i]] += x
        lanes[lane + np.uint64(2), b[i]] += x
    for c in range(width):
        sums[0, c] = collected(kind, lanes[0, c], lanes[1, c])
        sums[1, c] = collected(kind, lanes[2, c], lanes[3, c])


@loop
def add_histograms(codes: AnyArray, g: AnyArray, node: IntArray, whole: AnyArray) -> None:
    """whole[j, v, b] += Σ gᵢ over the rows of node v with feature j in bin b."""
    for j in range(len(codes)):
        for i in range(len(g)):
            whole[j, node[i], codes[j, i]] += g[i]


@loop
def send_rows(codes: AnyArray, column: IntArray, route: AnyArray, node: IntArray) -> None:
    """Row i goes from node v to 2v + route[v, its code in the column of v]."""
    for i in range(len(node)):
        v = node[i]
        node[i] = 2 * v + route[v, codes[column[v], i]]
