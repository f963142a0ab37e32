"""Features of few values that are read together: one code for the values of several of them.

A histogram costs one addition for each row and column. Where few combinations of the values of some
features occur, the sums over the combinations tell those over the values of each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, IntArray
from cotas.loops import loop
from cotas.solvers.binning import MOST_BINS, Bins
from cotas.solvers.histograms import n_codes
from cotas.solvers.split_search import Cuts, cut_node

LARGEST = 128  # values of a feature that is bundled
MOST_MEMBERS = 16  # features of a bundle
FEWEST_ROWS = 16 * MOST_BINS  # of fewer, a column is read before a bundle is told apart
MOST_FAILURES = 8  # features that did not fit, after which a bundle is given up
LIST_ENTRY = 4  # an entry of a list takes as long as so many of a column


class Bundles(NamedTuple):
    """What has a histogram, each a unit: bundles of features first, then single features.

    Unit u has the features members[starts[u]] to members[starts[u + 1] − 1]. Column u of `joint`
    has the codes of bundle u, and where that is c, feature members[m] has the code told[m, c].
    Each of the `readings` is one look at the rows: two units with a column, or one and −1.
    """

    joint: Bins
    starts: IntArray
    members: IntArray
    told: AnyArray
    readings: IntArray


@loop
def number_pairs(a: AnyArray, b: AnyArray, size: int, number: IntArray) -> int:
    """Number the pairs of codes that occur, b being below `size`; more than 256 are not counted."""
    found = 0
    number[:] = -1
    for i in range(len(a)):
        pair = size * int(a[i]) + int(b[i])
        if number[pair] < 0:
            if found == MOST_BINS:
                return MOST_BINS + 1
            number[pair] = found
            found += 1
    return found


@loop
def write_pairs(a: AnyArray, b: AnyArray, size: int, number: IntArray) -> None:
    """In the place of a the number of each pair."""
    for i in range(len(a)):
        a[i] = number[size * int(a[i]) + int(b[i])]


class Bundle:
    """Features that are bundled, and what it costs to read them one by one."""

    def __init__(self, codes: AnyArray, j: int, size: int, cost: float) -> None:
        self.codes, self.features, self.size, self.cost = codes, [j], size, cost
        self.told = [np.arange(size)]
        self.failures = 0

    @property
    def ended(self) -> bool:
        """Whether it is full, or was given up."""
        return self.failures == MOST_FAILURES or len(self.features) == MOST_MEMBERS

    def takes(self, codes: AnyArray, j: int, size: int, cost: float) -> bool:
        """Take the feature in, if the combinations with it are not too many."""
        number = np.empty(self.size * size, dtype=np.int32)
        found = number_pairs(self.codes, codes, size, number)
        if found > MOST_BINS:
            self.failures += 1
            return False
        write_pairs(self.codes, codes, size, number)
        pairs = np.argsort(number, kind="stable")[-found:]
        self.told = [*(told[pairs // size] for told in self.told), pairs % size]
        self.features.append(j)
        self.size, self.cost, self.failures = found, self.cost + cost, 0
        return True


def make_bundles(bins: Bins) -> Bundles:
    """Bundle features greedily, those of many values first; a bundle must be worth a column.

    Cost: O(n) for each feature of few values, and one byte for each row and bundle.
    """
    n, sizes = bins.codes.shape[1], bins.sizes + bins.missing
    cost = np.ones(len(sizes))
    lists = -1 - bins.place[bins.place < 0]
    cost[bins.place < 0] = LIST_ENTRY * np.diff(bins.starts)[lists] / n
    # Of what costs less, not even a full bundle would be worth a column.
    few = np.flatnonzero((sizes <= LARGEST) & (MOST_MEMBERS * cost > 1))
    few = few if n >= FEWEST_ROWS else few[:0]
    made: list[Bundle] = []
    opened: list[Bundle] = []
    for j in few[np.argsort(-sizes[few], kind="stable")].tolist():
        feature = (_codes_of(bins, j), j, int(sizes[j]), float(cost[j]))
        if not any(bundle.takes(*feature) for bundle in opened):
            opened.append(Bundle(*feature))
            made.append(opened[-1])
        opened = [bundle for bundle in opened if not bundle.ended]
    kept = [one for one in made if len(one.features) > 1 and one.cost > 1]
    return _as_units(bins, kept)


def _codes_of(bins: Bins, j: int) -> AnyArray:
    """The codes of feature j as a column."""
    k = int(bins.place[j])
    if k >= 0:
        return np.array(bins.codes[k])
    codes = np.full(bins.codes.shape[1], bins.usual[j])
    part = slice(bins.starts[-k - 1], bins.starts[-k])
    codes[bins.rows[part]] = bins.listed[part]
    return codes


def _as_units(bins: Bins, bundles: list[Bundle]) -> Bundles:
    bundled = [bundle.features for bundle in bundles]
    members = [j for features in bundled for j in features]
    alone = np.setdiff1d(np.arange(len(bins.place)), members)
    told = np.zeros((max(1, len(members)), MOST_BINS), dtype=np.uint8)
    for row, codes in zip(told, (codes for one in bundles for codes in one.told), strict=False):
        row[: len(codes)] = codes
    n, k = bins.codes.shape[1], len(bundles)
    joint = Bins(
        codes=np.array([one.codes for one in bundles], dtype=np.uint8).reshape(k, n),
        place=np.arange(k, dtype=np.int32),
        usual=np.zeros(k, dtype=np.uint8),
        starts=np.zeros(1, dtype=np.int64),
        rows=np.empty(0, dtype=np.int32),
        listed=np.empty(0, dtype=np.uint8),
        sizes=np.array([one.size for one in bundles], dtype=np.int32),
        missing=np.zeros(k, dtype=np.bool_),
        categorical=np.zeros(k, dtype=np.bool_),
    )
    lengths = [len(features) for features in bundled] + [1] * len(alone)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    listed = np.concatenate([np.zeros(k, dtype=np.bool_), bins.place[alone] < 0])
    columns = np.append(np.flatnonzero(~listed), [-1] * (np.count_nonzero(~listed) % 2))
    single = np.stack([np.flatnonzero(listed), np.full(np.count_nonzero(listed), -1)], axis=1)
    return Bundles(
        joint,
        starts,
        np.concatenate([members, alone]).astype(np.int32),
        told,
        np.concatenate([columns.reshape(-1, 2), single]).astype(np.int32),
    )


@loop
def column_of(bins: Bins, bundles: Bundles, u: int) -> tuple[Bins, int]:
    """Where the codes of a unit are, and under which number."""
    if u < len(bundles.joint.place):
        return bundles.joint, u
    return bins, bundles.members[bundles.starts[u]]


@loop
def width_of(bins: Bins, bundles: Bundles, u: int) -> int:
    """The codes of a unit; asked for so often that no `Bins` should be handed over for it."""
    if u < len(bundles.joint.place):
        return n_codes(bundles.joint, u)
    return n_codes(bins, bundles.members[bundles.starts[u]])


@loop
def cut_unit(
    bins: Bins, bundles: Bundles, criterion: Any, u: int, v: int, sums: AnyArray, total: Any,
    cuts: Cuts, part: AnyArray,
) -> None:  # fmt: skip
    """The best cut of node v by each feature of unit u, whose histogram is `sums`.

    `part` is room for the histogram of a feature.
    """
    first = bundles.starts[u]
    if u >= len(bundles.joint.place):
        cut_node(cuts.order, bins, criterion, bundles.members[first], v, sums, total, cuts)
        return
    for m in range(first, bundles.starts[u + 1]):
        j = bundles.members[m]
        part[: bins.sizes[j] + 1] = 0
        for c in range(bundles.joint.sizes[u]):
            part[bundles.told[m, c]] += sums[c]
        cut_node(cuts.order, bins, criterion, j, v, part, total, cuts)
