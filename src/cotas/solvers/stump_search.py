"""The best stump over all thresholds, on presorted features, with pruning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix
from cotas.loops import loop
from cotas.solvers.binning import MOST_BINS, midpoints
from cotas.solvers.split_search import TIE
from cotas.solvers.trees import Trees

HEAVIEST = 8  # one row in so many is looked at first
WORTH_PRUNING = 0.6  # the share of all weight that these rows must hold


class Presorted(NamedTuple):
    """The rows in the order of each feature, missing values last.

    `ends` marks the last row of each distinct value, `present` counts the values that are there.
    """

    order: IntArray
    ends: BoolArray
    present: IntArray


@loop
def best_cut(
    rows: Presorted, j: int, s: FloatArray, chosen: AnyArray
) -> tuple[float, int, int, float]:
    """Return the largest |Σ_left sᵢ| + |Σ_right sᵢ| over the cuts of feature j, and Σ|sᵢ|.

    Only the rows with chosen[i] count. Also where the cut is (the number of rows on the left) and
    whether the missing values go left.
    """
    n, present = rows.order.shape[1], rows.present[j]
    total, mass, missing = 0.0, 0.0, 0.0
    for k in range(n):
        i = rows.order[j, k]
        if chosen[i]:
            total += s[i]
            mass += abs(s[i])
            if k >= present:
                missing += s[i]
    best, at, side, left = abs(total), 0, 0, 0.0
    for k in range(present):
        i = rows.order[j, k]
        if chosen[i]:
            left += s[i]
        if not rows.ends[j, k] or (k == n - 1):
            continue
        for missing_left in range(2 if present < n else 1):
            here = left + missing if missing_left else left
            found = abs(here) + abs(total - here)
            if found > best + TIE * best:
                best, at, side = found, k + 1, missing_left
    return best, at, side, mass


class ExactStumps:
    """The stump that maximizes Σ sᵢ f(xᵢ) over all features, all thresholds and both signs.

    Pruning as in Appel, Fuchs, Dollár and Perona 2013: the weight that a stump misclassifies among
    some rows is at most what it misclassifies among all. So a feature whose best stump on the
    heaviest rows is already worse than a stump known is not looked at further. Departures: one
    subset, an eighth of the rows, and only when it holds most of the weight; features are presorted
    rather than binned. Invariant: pruning does not change the stump. Cost: O(n·d) a search and
    5 bytes for each entry of X.
    """

    def __init__(self, X: Matrix, used: IntArray | None, each: Each, prune: bool = True) -> None:
        self.X, self.each, self.prune = X.tocsc() if sparse.issparse(X) else X, each, prune
        n, d = X.shape
        self.used = np.ones(n, dtype=np.bool_)
        if used is not None:
            self.used[:] = False
            self.used[used] = True
        self.sorted = Presorted(
            np.empty((d, n), dtype=np.int32),
            np.zeros((d, n), dtype=np.bool_),
            np.empty(d, dtype=np.int64),
        )
        list(each(self._sort, range(d)))
        self.searched = 0  # features looked at on all rows, in all searches together

    def _column(self, j: int) -> FloatArray:
        column = self.X[:, [j]].toarray()[:, 0] if sparse.issparse(self.X) else self.X[:, j]
        return np.asarray(column, dtype=np.float64)

    def _sort(self, j: int) -> None:
        column = self._column(j)
        # Rows that are not used take no part in the choice of a threshold: they count as missing.
        column = np.where(self.used, column, np.nan)
        order = np.argsort(column, kind="stable")
        present = len(column) - int(np.isnan(column).sum())
        values = column[order[:present]]
        self.sorted.order[j] = order
        self.sorted.ends[j, :present] = np.r_[values[1:] != values[:-1], True][:present]
        self.sorted.present[j] = present

    def search(self, s: FloatArray) -> tuple[Trees, FloatArray]:
        """Return the best stump and its values on all the rows."""
        d = len(self.sorted.order)
        ceiling, mass = np.full(d, np.inf), float(np.abs(s).sum())
        heavy = self._heaviest(s, mass)
        if heavy is not None:
            partial = list(self.each(lambda j: best_cut(self.sorted, j, s, heavy), range(d)))
            ceiling = np.array([mass - (part[3] - part[0]) for part in partial])
        edges, cuts = np.full(d, -np.inf), {}
        best = -np.inf
        for j in np.argsort(-ceiling, kind="stable"):
            if ceiling[j] < best - 4 * TIE * mass:
                break
            cuts[j] = best_cut(self.sorted, j, s, self.used)
            edges[j] = cuts[j][0]
            best = max(best, edges[j])
        self.searched += len(cuts)
        j = int(np.argmax(edges >= best - TIE * abs(best)))
        return self._stump(j, cuts[j], s)

    def _heaviest(self, s: FloatArray, mass: float) -> AnyArray | None:
        k = len(s) // HEAVIEST
        if not self.prune or k < 1:
            return None
        sizes = np.abs(s)
        least = np.partition(sizes, len(s) - k)[len(s) - k]
        chosen = (sizes >= least) & self.used
        return chosen if sizes[chosen].sum() >= WORTH_PRUNING * mass else None

    def _stump(
        self, j: int, cut: tuple[float, int, int, float], s: FloatArray
    ) -> tuple[Trees, FloatArray]:
        edge, at, side, _ = cut
        column = self._column(j)
        order, present = self.sorted.order[j], self.sorted.present[j]
        threshold = np.inf
        if 0 < at < present:
            threshold = midpoints(column[order[[at - 1, at]]])[0]
        left = np.where(np.isnan(column), bool(side) or at == 0, column <= threshold)
        values = np.array([_sign(s[left].sum()), _sign(s[~left].sum())])
        tree = Trees(
            feature=np.array([[j if at else -1]], dtype=np.int32),
            threshold=np.array([[threshold]]),
            missing_left=np.array([[side if at else 1]], dtype=np.uint8),
            group=np.array([[-1]], dtype=np.int32),
            groups=np.zeros((0, MOST_BINS), dtype=np.uint8),
            value=values[None, :],
            gain=np.array([[edge - abs(s.sum())]]),
        )
        return tree, np.where(left, values[0], values[1])


def _sign(x: float) -> float:
    """Compute −1 at zero: the documents put the boundary on the negative side."""
    return 1.0 if x > 0 else -1.0
