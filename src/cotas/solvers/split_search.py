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
    """S + iW"""
    low = (packed << (64 - COUNT_BITS)) >> (64 - COUNT_BITS)
    return complex(float(low), float((packed - low) >> COUNT_BITS))


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


@score.when(CountedSquares)
def counted_score(criterion: CountedSquares, left: int, right: int) -> float:
    return split_squares(criterion.least, unpacked(left), unpacked(right))


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


@beats.when(CountedSquares)
def counted_beats(criterion: CountedSquares, left: int, right: int, bar: float) -> bool:
    return squares_above(criterion.least, unpacked(left), unpacked(right), bar)


@generic
def score_whole(criterion: Any, total: Any) -> float:  # type: ignore[empty-body]
    """The score of a node that is not cut; infinite where it is too light to be."""


@score_whole.when(Edge)
def edge_of_whole(criterion: Edge, total: float) -> float:
    return abs(total)


@loop
def whole_squares(least: float, total: complex) -> float:
    """S²/W"""
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


@rank.when(CountedSquares)
def counted_rank(criterion: CountedSquares, sums: AnyArray) -> FloatArray:
    means = np.zeros(len(sums))
    for b in range(len(sums)):
        means[b] = mean_of(unpacked(sums[b]))
    return means


@loop
def mean_of(total: complex) -> float:
    """S/W"""
    return total.real / total.imag if total.imag > 0 else 0.0


@loop
def weighted_means(sums: AnyArray) -> FloatArray:
    """S/W of each"""
    means = np.zeros(len(sums))
    for b in range(len(sums)):
        means[b] = mean_of(sums[b])
    return means


class Features(NamedTuple):
    """What is known of each feature: its place (see `Bins`), how many codes its values have, and
    whether some are missing, or names."""

    place: IntArray
    sizes: IntArray
    missing: AnyArray
    categorical: AnyArray


class Cuts(NamedTuple):
    """The best cut of each feature (first index) in each node (second index)."""

    scores: FloatArray
    last: IntArray  # the last bin on the left; for categories how many are on the left
    missing_left: AnyArray
    left: AnyArray  # the sum on the left, missing values included
    order: Any  # of the categories; None where no feature has any


@loop
def cut_numbers(
    n: int, gaps: bool, criterion: Any, sums: AnyArray, total: Any
) -> tuple[float, int, int, Any]:
    """The best threshold of n bins, with the missing values on the better side.

    Its score, the last bin on the left, whether missing values are there, and the sum on the left.
    Missing values against all others is a cut too: the one after the last bin.
    """
    left, missing = sums[0] * 0, sums[0] * 0
    if gaps:
        missing = sums[n]
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


@generic
def cut_categories(
    order: Any, n: int, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    """The best two groups of n categories: some best cut is one of the order of their means.

    `order` is that of the cuts; without categories it is None, and nothing is compiled for them.
    """


@cut_categories.when(type(None))
def cut_no_categories(
    order: None, n: int, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    pass


@cut_categories.when(np.ndarray)
def cut_some_categories(
    order: AnyArray, n: int, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    ranked = sorted_order(rank(criterion, sums[:n]))
    left, best = sums[0] * 0, -1.0
    for k in range(n - 1):
        left = left + sums[ranked[k]]
        if beats(criterion, left, total - left, best + TIE * abs(best)):
            best = score(criterion, left, total - left)
            cuts.last[j, v] = k + 1
            cuts.left[j, v] = left
    cuts.scores[j, v] = best
    for k in range(n):
        order[j, v, k] = ranked[k]


@loop
def cut_feature(
    features: Features, criterion: Any, j: int, v: int, sums: AnyArray, total: Any, cuts: Cuts
) -> None:
    """The best cut of node v by feature j, whose histogram there is `sums`."""
    n = features.sizes[j]
    if features.categorical[j]:
        cut_categories(cuts.order, n + 1, criterion, j, v, sums, total, cuts)
        return
    best, last, side, left = cut_numbers(n, features.missing[j], criterion, sums, total)
    cuts.scores[j, v], cuts.last[j, v] = best, last
    cuts.missing_left[j, v], cuts.left[j, v] = side, left


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
    for k in range(len(route)):
        route[k] = 1
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
def choose_cuts(
    features: Features, cuts: Cuts, before: FloatArray, first: int, tests: Tests
) -> None:
    """The feature with the best cut of each node, if one is better than `before`.

    Of equal ones the first. The nodes are those from `first` on.
    """
    scores, gain, route = cuts.scores, tests.gain, tests.route
    for v in range(len(before)):
        best, at, j = -np.inf, first + v, 0
        for k in range(len(scores)):
            best = max(best, scores[k, v])
        while scores[j, v] < best - TIE * abs(best):
            j += 1
        last, missing_left = cuts.last[j, v], cuts.missing_left[j, v]
        gain[at] = scores[j, v] - before[v]
        improves = gain[at] > 1e-12 * abs(before[v])
        tests.feature[at], tests.last[at] = j if improves else -1, last
        tests.missing_left[at] = missing_left
        for c in range(MOST_BINS):
            route[at, c] = c > last
        if features.missing[j]:
            route[at, features.sizes[j]] = 1 - missing_left
        if features.categorical[j]:
            send_groups(cuts.order, cuts, j, v, route[at])
