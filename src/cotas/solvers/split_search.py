"""The best way to cut a histogram in two.

Two criteria, for sums S over the rows of a side:

    Edge          |S_left| + |S_right|,               S = Σ sᵢ, signed weights
    LeastSquares  S_left²/W_left + S_right²/W_right,  S = Σ wᵢzᵢ, W = Σ wᵢ
    Gini          the same for z = ±1, where the signed weights wᵢzᵢ tell both

The first is the largest Σ sᵢ f(xᵢ) that leaves of ±1 can reach. The second is what leaves that
hold the weighted mean of z take off Σ wᵢzᵢ²; for z = ±1 it is the Gini criterion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import generic, loop
from cotas.solvers.binning import MOST_BINS, Bins

# Scores nearer to each other than this are equal, and the first of them is taken: sums that were
# added in another order must not change the tree.
TIE = 1e-12


class Edge(NamedTuple):
    """Leaves of ±1; the sums are real numbers. `least` is not used."""

    least: float


class SquaresCriterion(NamedTuple):
    """Leaves of any real number; the sums are S + iW. A side must weigh more than `least`."""

    least: float


class Gini(NamedTuple):
    """`SquaresCriterion` for z = ±1: the sums are S + iW too, made from signed weights."""

    least: float


class Signs(NamedTuple):
    """The positive and the negative part of signed weights, each by itself; it compares nothing."""

    least: float


@loop
def split_squares(least: float, left: complex, right: complex) -> float:
    """S²/W of both sides, with one division in place of two."""
    if left.imag <= least or right.imag <= least:
        return -1.0
    both = left.real * left.real * right.imag + right.real * right.real * left.imag
    return both / (left.imag * right.imag)


@loop
def squares_above(least: float, left: complex, right: complex, bar: float) -> bool:
    """Whether S²/W of both sides is above the bar."""
    both = left.real * left.real * right.imag + right.real * right.real * left.imag
    allowed = (left.imag > least) & (right.imag > least)
    return allowed & (both > bar * (left.imag * right.imag))


@generic
def score(criterion: Any, left: Any, right: Any) -> float:  # type: ignore[empty-body]
    """How good a cut with these two sums is; negative where it is not allowed."""


@score.when(Edge)
def edge_score(criterion: Edge, left: float, right: float) -> float:
    return abs(left) + abs(right)


@score.when(SquaresCriterion)
def least_squares_score(criterion: SquaresCriterion, left: complex, right: complex) -> float:
    return split_squares(criterion.least, left, right)


@score.when(Gini)
def gini_score(criterion: Gini, left: complex, right: complex) -> float:
    return split_squares(criterion.least, left, right)


@generic
def beats(criterion: Any, left: Any, right: Any, bar: float) -> bool:  # type: ignore[empty-body]
    """Whether a cut with these two sums has a score above the bar; without a division."""


@beats.when(Edge)
def edge_beats(criterion: Edge, left: float, right: float, bar: float) -> bool:
    return abs(left) + abs(right) > bar


@beats.when(SquaresCriterion)
def squares_beat(criterion: SquaresCriterion, left: complex, right: complex, bar: float) -> bool:
    return squares_above(criterion.least, left, right, bar)


@beats.when(Gini)
def gini_beats(criterion: Gini, left: complex, right: complex, bar: float) -> bool:
    return squares_above(criterion.least, left, right, bar)


@generic
def score_whole(criterion: Any, total: Any) -> float:  # type: ignore[empty-body]
    """The score of a node that is not cut; infinite where it is too light to be."""


@score_whole.when(Edge)
def edge_of_whole(criterion: Edge, total: float) -> float:
    return abs(total)


@score_whole.when(SquaresCriterion)
def squares_of_whole(criterion: SquaresCriterion, total: complex) -> float:
    return total.real * total.real / total.imag if total.imag > criterion.least else np.inf


@score_whole.when(Gini)
def gini_of_whole(criterion: Gini, total: complex) -> float:
    return total.real * total.real / total.imag if total.imag > criterion.least else np.inf


@generic
def rank(criterion: Any, sums: AnyArray) -> FloatArray:  # type: ignore[empty-body]
    """Numbers to sort categories by, so that some best cut is one of that order."""


@rank.when(Edge)
def edge_rank(criterion: Edge, sums: AnyArray) -> FloatArray:
    return sums.copy()


@rank.when(SquaresCriterion)
def least_squares_rank(criterion: SquaresCriterion, sums: AnyArray) -> FloatArray:
    return weighted_means(sums)


@rank.when(Gini)
def gini_rank(criterion: Gini, sums: AnyArray) -> FloatArray:
    return weighted_means(sums)


@loop
def weighted_means(sums: AnyArray) -> FloatArray:
    """S/W of each"""
    means = np.zeros(len(sums))
    for b in range(len(sums)):
        means[b] = sums[b].real / sums[b].imag if sums[b].imag > 0 else 0.0
    return means


class Cuts(NamedTuple):
    """The best cut of each feature (first index) in each node (second index)."""

    scores: FloatArray
    last: IntArray  # the last bin on the left; for categories how many are on the left
    missing_left: AnyArray
    left: AnyArray  # the sum on the left, missing values included
    order: Any  # of the categories; None where no feature has any


@loop
def cut_numbers(
    bins: Bins, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    """The best threshold, with the missing values on the better side.

    Missing values against all others is a cut too: the one after the last bin.
    """
    n, gaps, missing = bins.sizes[j], bins.missing[j], sums[0] * 0
    if gaps:
        missing = sums[n]
    left, best, bar = sums[0] * 0, -1.0, -1.0
    last, side, kept = 0, 0, left
    for b in range(n if gaps else n - 1):
        left = left + sums[b]
        if beats(criterion, left, total - left, bar):
            best, last, side, kept = score(criterion, left, total - left), b, 0, left
            bar = best + TIE * abs(best)
        if gaps and beats(criterion, left + missing, total - (left + missing), bar):
            kept = left + missing
            best, last, side = score(criterion, kept, total - kept), b, 1
            bar = best + TIE * abs(best)
    cuts.scores[j, v], cuts.last[j, v] = best, last
    cuts.missing_left[j, v], cuts.left[j, v] = side, kept


@loop
def sorted_order(values: FloatArray) -> IntArray:
    """The places of the values from the smallest to the largest, by insertion: they are few.

    NumPy's own sort would take seconds to compile.
    """
    order = np.zeros(len(values), dtype=np.int64)
    for k in range(len(values)):
        at = k
        while at > 0 and values[order[at - 1]] > values[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    return order


@loop
def cut_categories(
    bins: Bins, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    """The best two groups of categories: some best cut is one of the order of their means."""
    n = bins.sizes[j] + 1
    order = sorted_order(rank(criterion, sums[:n]))
    left, best = sums[0] * 0, -1.0
    for k in range(n - 1):
        left = left + sums[order[k]]
        if beats(criterion, left, total - left, best + TIE * abs(best)):
            best = score(criterion, left, total - left)
            cuts.last[j, v] = k + 1
            cuts.left[j, v] = left
    cuts.scores[j, v] = best
    for k in range(n):
        cuts.order[j, v, k] = order[k]


@generic
def cut_node(
    order: Any, bins: Bins, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    """The best cut of feature j in node v, whose histogram is `sums`; `order` is that of the cuts.

    Without categories it is None, and nothing is compiled for them.
    """


@cut_node.when(type(None))
def cut_node_of_numbers(
    order: None, bins: Bins, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    cut_numbers(bins, criterion, j, v, sums, total, cuts)


@cut_node.when(np.ndarray)
def cut_node_of_either(
    order: AnyArray, bins: Bins, criterion: Any, j: int, v: int, sums: AnyArray, total: Any,
    cuts: Cuts,
) -> None:  # fmt: skip
    if bins.categorical[j]:
        cut_categories(bins, criterion, j, v, sums, total, cuts)
    else:
        cut_numbers(bins, criterion, j, v, sums, total, cuts)


def new_cuts(n_features: int, n_nodes: int, categorical: bool, kind: Any) -> Cuts:
    """Room for the best cuts."""
    shape = (n_features, n_nodes)
    return Cuts(
        scores=np.full(shape, -1.0),
        last=np.zeros(shape, dtype=np.int32),
        missing_left=np.zeros(shape, dtype=np.uint8),
        left=np.zeros(shape, dtype=kind),
        order=np.zeros((*shape, 256), dtype=np.uint8) if categorical else None,
    )


@generic
def send_groups(order: Any, cuts: Cuts, j: int, v: int, route: AnyArray) -> None:
    """Of the categories of feature j in node v the first ones left, the others right."""


@send_groups.when(type(None))
def send_no_groups(order: None, cuts: Cuts, j: int, v: int, route: AnyArray) -> None:
    pass


@send_groups.when(np.ndarray)
def send_first_left(order: AnyArray, cuts: Cuts, j: int, v: int, route: AnyArray) -> None:
    route[:] = 1
    for k in range(cuts.last[j, v]):
        route[order[j, v, k]] = 0


class Tests(NamedTuple):
    """The tests of some nodes: feature −1 for none, and `route` is 1 for the codes that go right.

    `last` and `missing_left` are those of the cut.
    """

    feature: IntArray
    gain: FloatArray
    last: IntArray
    missing_left: AnyArray
    route: AnyArray


def new_tests(n_nodes: int) -> Tests:
    """Room for the tests of so many nodes."""
    return Tests(
        feature=np.full(n_nodes, -1, dtype=np.int32),
        gain=np.zeros(n_nodes),
        last=np.zeros(n_nodes, dtype=np.int32),
        missing_left=np.zeros(n_nodes, dtype=np.uint8),
        route=np.zeros((n_nodes, MOST_BINS), dtype=np.uint8),
    )


@loop
def choose_cuts(bins: Bins, cuts: Cuts, before: FloatArray, first: int, tests: Tests) -> None:
    """The feature with the best cut of each node, if one is better than `before`.

    Of equal ones the first. The nodes are those from `first` on.
    """
    for v in range(len(before)):
        best, at = -np.inf, first + v
        for j in range(len(cuts.scores)):
            best = max(best, cuts.scores[j, v])
        j = 0
        while cuts.scores[j, v] < best - TIE * abs(best):
            j += 1
        tests.gain[at], tests.feature[at] = cuts.scores[j, v] - before[v], -1
        tests.route[at] = 0
        if not tests.gain[at] > 1e-12 * abs(before[v]):
            continue
        tests.feature[at], tests.last[at] = j, cuts.last[j, v]
        tests.missing_left[at] = cuts.missing_left[j, v]
        if bins.categorical[j]:
            send_groups(cuts.order, cuts, j, v, tests.route[at])
        else:
            tests.route[at, cuts.last[j, v] + 1 :] = 1
            if bins.missing[j]:
                tests.route[at, bins.sizes[j]] = 1 - cuts.missing_left[j, v]
