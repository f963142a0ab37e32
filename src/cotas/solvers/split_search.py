"""The best way to cut a histogram in two.

Two criteria, for sums S over the rows of a side:

    Edge          |S_left| + |S_right|,               S = Σ sᵢ, signed weights
    LeastSquares  S_left²/W_left + S_right²/W_right,  S = Σ wᵢzᵢ, W = Σ wᵢ
    Counted       the same for equal weights, both sums in one whole number
    Gini          the same for z = ±1, where the signed weights wᵢzᵢ tell both

The first is the largest Σ sᵢ f(xᵢ) that leaves of ±1 can reach. The second is what leaves that
hold the weighted mean of z take off Σ wᵢzᵢ²; for z = ±1 it is the Gini criterion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import generic, loop
from cotas.solvers.binning import MOST_BINS

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


class CountedSquares(NamedTuple):
    """`SquaresCriterion` for equal weights: the sums are n·2⁴⁴ + S, S being a sum of whole numbers.

    So one addition does for both sums, and no order of the rows changes them.
    """

    least: float


COUNT_BITS = 44  # below those of the count; more than half of these are of the sum


@loop
def unpacked(packed: int) -> complex:
    """Compute S + iW"""
    low = (packed << (64 - COUNT_BITS)) >> (64 - COUNT_BITS)
    return complex(float(low), float((packed - low) >> COUNT_BITS))


@loop
def split_squares(least: float, left: complex, right: complex) -> float:
    """Compute S²/W of both sides, with one division in place of two."""
    if left.imag <= least or right.imag <= least:
        return -1.0
    both = left.real * left.real * right.imag + right.real * right.real * left.imag
    return both / (left.imag * right.imag)


@loop
def squares_above(least: float, left: complex, right: complex, bar: float) -> bool:
    """Tell whether S²/W of both sides is above the bar."""
    both = left.real * left.real * right.imag + right.real * right.real * left.imag
    allowed = (left.imag > least) & (right.imag > least)
    return allowed & (both > bar * (left.imag * right.imag))


@generic
def score(criterion: Any, left: Any, right: Any) -> float:  # type: ignore[empty-body]
    """Tell how good a cut with these two sums is; negative where it is not allowed."""


@score.when(Edge)
def edge_score(criterion: Edge, left: float, right: float) -> float:
    return abs(left) + abs(right)


@score.when(SquaresCriterion)
def least_squares_score(criterion: SquaresCriterion, left: complex, right: complex) -> float:
    return split_squares(criterion.least, left, right)


@score.when(Gini)
def gini_score(criterion: Gini, left: complex, right: complex) -> float:
    return split_squares(criterion.least, left, right)


@score.when(CountedSquares)
def counted_score(criterion: CountedSquares, left: int, right: int) -> float:
    return split_squares(criterion.least, unpacked(left), unpacked(right))


@generic
def beats(criterion: Any, left: Any, right: Any, bar: float) -> bool:  # type: ignore[empty-body]
    """Tell whether a cut with these two sums has a score above the bar; without a division."""


@beats.when(Edge)
def edge_beats(criterion: Edge, left: float, right: float, bar: float) -> bool:
    return abs(left) + abs(right) > bar


@beats.when(SquaresCriterion)
def squares_beat(criterion: SquaresCriterion, left: complex, right: complex, bar: float) -> bool:
    return squares_above(criterion.least, left, right, bar)


@beats.when(Gini)
def gini_beats(criterion: Gini, left: complex, right: complex, bar: float) -> bool:
    return squares_above(criterion.least, left, right, bar)


@beats.when(CountedSquares)
def counted_beats(criterion: CountedSquares, left: int, right: int, bar: float) -> bool:
    return squares_above(criterion.least, unpacked(left), unpacked(right), bar)


@generic
def score_whole(criterion: Any, total: Any) -> float:  # type: ignore[empty-body]
    """Return the score of a node that is not cut; infinite where it is too light to be."""


@score_whole.when(Edge)
def edge_of_whole(criterion: Edge, total: float) -> float:
    return abs(total)


@loop
def whole_squares(least: float, total: complex) -> float:
    """Compute S²/W."""
    return total.real * total.real / total.imag if total.imag > least else np.inf


@score_whole.when(SquaresCriterion)
def squares_of_whole(criterion: SquaresCriterion, total: complex) -> float:
    return whole_squares(criterion.least, total)


@score_whole.when(Gini)
def gini_of_whole(criterion: Gini, total: complex) -> float:
    return whole_squares(criterion.least, total)


@score_whole.when(CountedSquares)
def counted_of_whole(criterion: CountedSquares, total: int) -> float:
    return whole_squares(criterion.least, unpacked(total))


@generic
def rank(criterion: Any, total: Any) -> float:  # type: ignore[empty-body]
    """Return a number to sort categories by, so that some best cut is one of that order."""


@rank.when(Edge)
def edge_rank(criterion: Edge, total: float) -> float:
    return total


@rank.when(SquaresCriterion)
def squares_rank(criterion: SquaresCriterion, total: complex) -> float:
    return mean_of(total)


@rank.when(Gini)
def gini_rank(criterion: Gini, total: complex) -> float:
    return mean_of(total)


@rank.when(CountedSquares)
def counted_rank(criterion: CountedSquares, total: int) -> float:
    return mean_of(unpacked(total))


@loop
def mean_of(total: complex) -> float:
    """Compute S/W."""
    return total.real / total.imag if total.imag > 0 else 0.0


class BinLayout(NamedTuple):
    """A layout of each feature: its place (see `Bins`), how many codes its values have, and whether
    some are missing, or names."""

    place: IntArray
    sizes: IntArray
    missing: AnyArray
    categorical: AnyArray


class Groups(NamedTuple):
    """The order of the categories of each feature in each node, and room to sort them."""

    order: AnyArray
    ranks: FloatArray


class Cuts(NamedTuple):
    """The best cut of each feature (first index) in each node (second index)."""

    scores: FloatArray
    last: IntArray  # the last bin on the left; for categories how many are on the left
    missing_left: AnyArray
    left: AnyArray  # the sum on the left, missing values included
    groups: Any  # room for categories, as `Groups`; None where nothing is compiled for them


@loop
def cut_numbers(
    n: int, gaps: bool, criterion: Any, sums: AnyArray, total: Any
) -> tuple[float, int, int, Any]:
    """Return the best threshold of n bins, with the missing values on the better side.

    Its score, the last bin on the left, whether missing values are there, and the sum on the left.
    Missing values against all others is a cut too: the one after the last bin.
    """
    left = total - total  # zero, without a product of complex numbers to be compiled
    missing = sums[n] if gaps else left
    best, bar, last, side, kept = -1.0, -1.0, 0, 0, left
    for b in range(n if gaps else n - 1):
        left = left + sums[b]
        for right in range(2 if gaps else 1):
            here = left + missing if right else left
            if beats(criterion, here, total - here, bar):
                best, last, side, kept = score(criterion, here, total - here), b, right, here
                bar = best + TIE * abs(best)
    return best, last, side, kept


@loop
def sort_places(values: FloatArray, n: int, order: AnyArray) -> None:
    """Sort the places of the first n values from the smallest to the largest, by insertion.

    They are few, and NumPy's own sort would take seconds to compile.
    """
    for k in range(n):
        at = k
        while at > 0 and values[order[at - 1]] > values[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@generic
def cut_categories(  # type: ignore[empty-body]
    groups: Any, j: int, v: int, n: int, criterion: Any, sums: AnyArray, total: Any
) -> tuple[float, int, int, Any]:
    """Return the best two groups of n categories: some best cut is one of the order of their means.

    Its score, how many are on the left, zero, and the sum on the left.
    """


@cut_categories.when(type(None))
def cut_no_categories(
    groups: None, j: int, v: int, n: int, criterion: Any, sums: AnyArray, total: Any
) -> tuple[float, int, int, Any]:
    return -1.0, 0, 0, total


@cut_categories.when(Groups)
def cut_some_categories(
    groups: Groups, j: int, v: int, n: int, criterion: Any, sums: AnyArray, total: Any
) -> tuple[float, int, int, Any]:
    ranks, order = groups.ranks[j], groups.order[j, v]
    for c in range(n):
        ranks[c] = rank(criterion, sums[c])
    sort_places(ranks, n, order)
    left = total - total
    best, bar, count, kept = -1.0, -1.0, 0, left
    for k in range(n - 1):
        left = left + sums[order[k]]
        if beats(criterion, left, total - left, bar):
            best, count, kept = score(criterion, left, total - left), k + 1, left
            bar = best + TIE * abs(best)
    return best, count, 0, kept


@loop
def cut_feature(
    features: BinLayout, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    """Find the best cut of node v by feature j, whose histogram there is `sums`."""
    n = features.sizes[j]
    if features.categorical[j]:
        found = cut_categories(cuts.groups, j, v, n + 1, criterion, sums, total)
    else:
        found = cut_numbers(n, features.missing[j], criterion, sums, total)
    cuts.scores[j, v], cuts.last[j, v], cuts.missing_left[j, v], cuts.left[j, v] = found


@generic
def send_groups(groups: Any, j: int, v: int, last: int, route: AnyArray) -> None:
    """Send of the categories of feature j in node v the first ones left, the others right."""


@send_groups.when(type(None))
def send_no_groups(groups: None, j: int, v: int, last: int, route: AnyArray) -> None:
    pass


@send_groups.when(Groups)
def send_first_left(groups: Groups, j: int, v: int, last: int, route: AnyArray) -> None:
    for k in range(len(route)):
        route[k] = 1
    for k in range(last):
        route[groups.order[j, v, k]] = 0


class Tests(NamedTuple):
    """The tests of some nodes: feature −1 for none, and `route` is 1 for the codes that go right.

    `last` and `missing_left` are those of the cut; without one no code is above the last.
    """

    feature: IntArray
    gain: FloatArray
    last: IntArray
    missing_left: AnyArray
    route: AnyArray


@loop
def choose_cuts(
    features: BinLayout, cuts: Cuts, before: FloatArray, first: int, tests: Tests
) -> None:
    """Choose the feature with the best cut of each node, if one is better than `before`.

    Of equal ones the first. The nodes are those from `first` on.
    """
    scores = cuts.scores
    for v in range(len(before)):
        best, at, j, route = scores[0, v], first + v, 0, tests.route[first + v]
        for k in range(1, len(scores)):
            best = scores[k, v] if scores[k, v] > best else best
        while scores[j, v] < best - TIE * abs(best):
            j += 1
        gain = scores[j, v] - before[v]
        improves = gain > 1e-12 * abs(before[v])
        last, missing_left = cuts.last[j, v] if improves else MOST_BINS - 1, cuts.missing_left[j, v]
        tests.feature[at], tests.gain[at] = j if improves else -1, gain
        tests.last[at], tests.missing_left[at] = last, missing_left
        for c in range(MOST_BINS):
            route[c] = c > last
        if improves & features.missing[j]:
            route[features.sizes[j]] = 1 - missing_left
        if improves & features.categorical[j]:
            send_groups(cuts.groups, j, v, last, route)
