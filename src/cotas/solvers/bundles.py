"""Features of few values that are read together: one code for the values of several of them.

A histogram costs one addition for each row and column. Where few combinations of the values of some
features occur, the sums over the combinations tell those over the values of each.
"""

from __future__ import annotations

import numpy as np

from cotas.arrays import AnyArray, IntArray
from cotas.loops import loop
from cotas.solvers.binning import MOST_BINS, Bins
from cotas.solvers.histograms import lists_of
from cotas.solvers.level_search import Extras, Units

LARGEST = 128  # values of a feature that is bundled
MOST_MEMBERS = 16  # features of a bundle
FEWEST_ROWS = 16 * MOST_BINS  # of fewer, a column is read before a bundle is told apart
MOST_FAILURES = 8  # features that did not fit, after which a bundle is given up
LIST_ENTRY = 4  # an entry of a list takes as long as so many of a column


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
    """Write the number of each pair in the place of a."""
    for i in range(len(a)):
        a[i] = number[size * int(a[i]) + int(b[i])]


class Bundle:
    """Features that are bundled, and what it costs to read them one by one."""

    def __init__(self, codes: AnyArray, j: int, size: int, cost: float) -> None:
        self.codes, self.features, self.size, self.cost = codes, [j], size, cost
        self.members = [np.arange(size)]
        self.failures = 0

    @property
    def ended(self) -> bool:
        """Tell whether it is full, or was given up."""
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
        self.members = [*(members[pairs // size] for members in self.members), pairs % size]
        self.features.append(j)
        self.size, self.cost, self.failures = found, self.cost + cost, 0
        return True


def make_bundles(bins: Bins) -> list[Bundle]:
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
    return [one for one in made if len(one.features) > 1 and one.cost > 1]


def _codes_of(bins: Bins, j: int) -> AnyArray:
    """Return the codes of feature j as a column."""
    k = int(bins.place[j])
    if k >= 0:
        return np.array(bins.codes[k])
    codes = np.full(bins.codes.shape[1], bins.usual[j])
    part = slice(bins.starts[-k - 1], bins.starts[-k])
    codes[bins.rows[part]] = bins.listed[part]
    return codes


def units_of(bins: Bins, bundles: list[Bundle]) -> Units:
    """Return what is read: each bundle, and each feature that is in none of them."""
    n, k = len(bins.codes), len(bundles)
    joint = [one.codes[None] for one in bundles]
    alone = np.setdiff1d(np.arange(len(bins.place)), _members(bundles))
    single = np.minimum(bins.sizes[alone] + 1, MOST_BINS)  # 256 values leave no code for a gap
    plain = not bundles and not (bins.place < 0).any() and not bins.categorical.any()
    return Units(
        codes=np.concatenate([bins.codes, *joint]) if bundles else bins.codes,
        column=np.concatenate([np.arange(n, n + k), bins.place[alone]]).astype(np.int32),
        width=np.array([*(one.size for one in bundles), *single], dtype=np.int32),
        extras=None if plain else _extras(bins, bundles, alone),
    )


def _members(bundles: list[Bundle]) -> list[int]:
    return [j for one in bundles for j in one.features]


def _extras(bins: Bins, bundles: list[Bundle], alone: IntArray) -> Extras:
    codes = [members for one in bundles for members in one.members]
    members = np.zeros((len(codes), MOST_BINS), dtype=np.uint8)
    for row, known in zip(members, codes, strict=True):
        row[: len(known)] = known
    lengths = [0, *(len(one.features) for one in bundles), *([1] * len(alone))]
    return Extras(
        lists=lists_of(bins),
        starts=np.cumsum(lengths).astype(np.int32),
        features=np.concatenate([_members(bundles), alone]).astype(np.int32),
        members=members,
    )


def readings_of(units: Units) -> IntArray:
    """Return each of them one look at the rows: two units with a column, or one and −1."""
    listed = units.column < 0
    columns = np.flatnonzero(~listed)
    pairs = np.append(columns, [-1] * (len(columns) % 2)).reshape(-1, 2)
    lists = np.stack([np.flatnonzero(listed), np.full(np.count_nonzero(listed), -1)], axis=1)
    return np.concatenate([pairs, lists]).astype(np.int32)
