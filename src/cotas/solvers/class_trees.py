"""Trees that name one of several classes, grown on binned features.

Each bin holds the weight of every class, S = (S₁ … S_K). Two criteria for the sums of a side:

    MostVotes    max_k S_k             what the class named there gets right
    ClassGini         Σ_k S_k² / Σ_k S_k    the Gini criterion of scikit-learn's trees

A cut is as good as the two sides together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.loops import generic, loop
from cotas.solvers.binning import MOST_BINS, Bins
from cotas.solvers.split_search import TIE, Cuts, sort_places
from cotas.solvers.tree_growing import Grower, new_cuts
from cotas.solvers.trees import Trees


class MostVotes(NamedTuple):
    """The weight of the heaviest class. `least` is not used."""

    least: float


class ClassGini(NamedTuple):
    """The Gini criterion Σ S²/W; a side must weigh more than `least`."""

    least: float


@generic
def side_score(criterion: Any, S: FloatArray) -> float:  # type: ignore[empty-body]
    """Tell how good one side of a cut is; −∞ where it is too light."""


@side_score.when(MostVotes)
def most_votes(criterion: MostVotes, S: FloatArray) -> float:
    best = 0.0
    for k in range(len(S)):
        best = max(best, S[k])
    return best


@side_score.when(ClassGini)
def gini_score(criterion: ClassGini, S: FloatArray) -> float:
    squares, total = 0.0, 0.0
    for k in range(len(S)):
        squares += S[k] * S[k]
        total += S[k]
    return squares / total if total > criterion.least else -np.inf


@loop
def class_totals(node: IntArray, classes: AnyArray, w: FloatArray, totals: FloatArray) -> None:
    """Compute totals[v, k], the weight of class k in node v."""
    totals[:] = 0
    for i in range(len(node)):
        totals[node[i], classes[i]] += w[i]


@loop
def class_histogram(
    bins: Bins,
    j: int,
    node: IntArray,
    classes: AnyArray,
    w: FloatArray,
    totals: FloatArray,
    sums: FloatArray,
) -> None:
    """Compute sums[v, b, k], the weight of class k in node v with feature j in bin b."""
    sums[:] = 0
    place = bins.place[j]
    if place >= 0:
        codes = bins.codes[place]
        for i in range(len(codes)):
            sums[node[i], codes[i], classes[i]] += w[i]
        return
    for e in range(bins.starts[-place - 1], bins.starts[-place]):
        i = bins.rows[e]
        sums[node[i], bins.listed[e], classes[i]] += w[i]
    for v in range(len(sums)):
        for k in range(sums.shape[2]):
            rest = totals[v, k]
            for b in range(sums.shape[1]):
                rest -= sums[v, b, k]
            sums[v, bins.usual[j], k] = max(rest, 0.0)


@loop
def cut_numbers(
    bins: Bins, criterion: Any, j: int, v: int, sums: FloatArray, total: FloatArray, cuts: Cuts
) -> None:
    """Find the best threshold, with the missing values on the better side."""
    n, K = bins.sizes[j], len(total)
    below, left, right = np.zeros(K), np.zeros(K), np.zeros(K)
    best = -1.0
    for b in range(n if bins.missing[j] else n - 1):
        for k in range(K):
            below[k] += sums[b, k]
        for side in range(2 if bins.missing[j] else 1):
            for k in range(K):
                left[k] = below[k] + sums[n, k] if side == 1 else below[k]
                right[k] = total[k] - left[k]
            found = side_score(criterion, left) + side_score(criterion, right)
            if found > best + TIE * abs(best):
                best = found
                cuts.last[j, v], cuts.missing_left[j, v] = b, side
    cuts.scores[j, v] = best


@loop
def cut_categories(
    bins: Bins, criterion: Any, j: int, v: int, sums: FloatArray, total: FloatArray, cuts: Cuts
) -> None:
    """Find a good grouping: the best cut among the orders by the share of each class.

    With two classes that is the best of all groupings; with more nobody knows a fast way to it.
    """
    n, K = bins.sizes[j] + 1, len(total)
    left, right, shares = np.zeros(K), np.zeros(K), np.zeros(n)
    order = np.zeros(n, dtype=np.int64)
    best = -1.0
    for c in range(K):
        for b in range(n):
            weight = sums[b].sum()
            shares[b] = sums[b, c] / weight if weight > 0 else 0.0
        sort_places(shares, n, order)
        left[:] = 0
        for at in range(n - 1):
            for k in range(K):
                left[k] += sums[order[at], k]
                right[k] = total[k] - left[k]
            found = side_score(criterion, left) + side_score(criterion, right)
            if found > best + TIE * abs(best):
                best = found
                cuts.last[j, v] = at + 1
                for b in range(n):
                    cuts.groups.order[j, v, b] = order[b]
    cuts.scores[j, v] = best


@loop
def cut_nodes(
    bins: Bins, criterion: Any, j: int, sums: FloatArray, totals: FloatArray, cuts: Cuts
) -> None:
    """Find the best cut of each node by one feature, from its histograms."""
    for v in range(len(totals)):
        if bins.categorical[j]:
            cut_categories(bins, criterion, j, v, sums[v], totals[v], cuts)
        else:
            cut_numbers(bins, criterion, j, v, sums[v], totals[v], cuts)


@loop
def search_classes(
    bins: Bins,
    features: IntArray,
    criterion: Any,
    node: IntArray,
    classes: AnyArray,
    w: FloatArray,
    totals: FloatArray,
    cuts: Cuts,
) -> None:
    """Find the best cut of each node of a level by each of these features."""
    sums = np.zeros((len(totals), MOST_BINS, totals.shape[1]))
    for j in features:
        class_histogram(bins, j, node, classes, w, totals, sums)
        cut_nodes(bins, criterion, j, sums, totals, cuts)


def light_scores(criterion: Any, totals: FloatArray) -> FloatArray:
    """Return the score of each node as it is; infinite where it is too light to be cut."""
    found = np.array([side_score(criterion, S) for S in totals])
    found[~np.isfinite(found)] = np.inf
    return found


def grow_class_tree(
    grower: Grower, criterion: Any, classes: AnyArray, w: FloatArray, n_classes: int
) -> tuple[Trees, AnyArray, FloatArray]:
    """Grow a tree without values, the leaf of each row, and the weight of each class in each leaf.

    Cost: O(n·d) a level, and 2048·K bytes for each of its nodes and each thread.
    """
    bins, node = grower.bins, grower.node
    grower.reset()
    for level in range(grower.depth):
        totals = np.zeros((2**level, n_classes))
        class_totals(node, classes, w, totals)
        cuts = new_cuts(grower.features, len(totals), np.float64)
        grower.share(
            lambda part, totals=totals, cuts=cuts: search_classes(
                bins, part, criterion, node, classes, w, totals, cuts
            )
        )
        grower.write(level, cuts, light_scores(criterion, totals))
        grower.send(level)
    leaves = np.zeros((2**grower.depth, n_classes))
    class_totals(node, classes, w, leaves)
    return grower.tree(), node, leaves
