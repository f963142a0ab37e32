"""Rows in a random order, without ever holding all of them: first into bins, then bin by bin.

Each row goes to a bin drawn at random. When all have come, each bin is small enough to be read
whole, is put into a random order itself, and is cut into pages. Both draws follow from the seed and
from the numbers of the rows alone, so that the same files give the same pages, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Matrix
from cotas.files.container import arrays_in
from cotas.scale.page_files import page_pieces

# Bytes of a bin, of which one at a time is in memory; and the most bins.
BIN_BYTES, MOST_BINS = 1 << 25, 1024
# Rows whose bins are drawn at a time.
ROWS_AT_A_TIME = 1 << 18


class RowBatch(NamedTuple):
    """Some rows on their way to a page: their numbers in the files, X, y and the weights."""

    rows: AnyArray
    X: Matrix
    y: AnyArray
    weights: AnyArray | None

    def take(self, chosen: Any) -> RowBatch:
        """Return some of these rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return RowBatch(self.rows[chosen], self.X[chosen], self.y[chosen], weights)

    def arrays(self) -> dict[str, AnyArray]:
        """Return all of it by name, as pages hold it."""
        found = {"rows": self.rows, "y": self.y}
        found |= {} if self.weights is None else {"weights": self.weights}
        if not sparse.issparse(self.X):
            return {**found, "X": self.X}
        X = self.X.tocsr()
        return {**found, "data": X.data, "indices": X.indices, "indptr": X.indptr}

    @classmethod
    def of(cls, arrays: Mapping[str, AnyArray], n_features: int) -> RowBatch:
        """Return the rows that a page holds."""
        rows, y, weights = arrays["rows"], arrays["y"], arrays.get("weights")
        if "X" in arrays:
            return cls(rows, arrays["X"], y, weights)
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        X = sparse.csr_matrix(parts, shape=(len(rows), n_features), copy=False)
        X.has_sorted_indices = X.has_canonical_format = True
        return cls(rows, X, y, weights)

    @property
    def n_bytes(self) -> int:
        """Return the bytes of X."""
        X = self.X
        return int(X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes)


def scattered(rows: AnyArray, seed: int) -> AnyArray:
    """Return a number for each row that looks drawn at random (splitmix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def bin_count(expected_bytes: float) -> int:
    """Tell how many bins there are for rows of about this size."""
    return int(np.clip(np.ceil(expected_bytes / BIN_BYTES), 1, MOST_BINS))


def _bins_of(rows: AnyArray, count: int, seed: int) -> AnyArray:
    return (scattered(rows, seed) % np.uint64(count)).astype(np.int16)  # sorted in linear time


def _order_in(k: int, size: int, seed: int) -> AnyArray:
    """Tell which row of a bin comes first, second, and so on."""
    return np.random.default_rng((seed, 1, k)).permutation(size)


class Foremost:
    """A selection of those rows, one after the other, which have one of the first places among the
    pages.

    Examples
    --------
    >>> first = Foremost(5, 100.0, seed=0, most=3)
    >>> first(np.arange(2)).tolist(), first(np.arange(2, 5)).tolist()
    ([False, True], [False, True, True])
    >>> Foremost(5, 100.0, seed=0, most=3).among(np.array([1, 2])).tolist()
    [True, False]
    """

    def __init__(self, n_rows: int, expected_bytes: float, seed: int, most: int) -> None:
        self.n_rows, self.count, self.seed = n_rows, bin_count(expected_bytes), seed
        sizes = np.zeros(self.count, dtype=np.int64)
        for first in range(0, n_rows, ROWS_AT_A_TIME):
            rows = np.arange(first, min(first + ROWS_AT_A_TIME, n_rows))
            sizes += np.bincount(_bins_of(rows, self.count, seed), minlength=self.count)
        ends = np.cumsum(sizes)
        self.split = int(np.searchsorted(ends, most, side="right"))  # the bin that is cut in two
        self.inside, self.seen = np.zeros(0, dtype=np.bool_), 0
        if self.split < self.count:
            size = int(sizes[self.split])
            self.inside = np.zeros(size, dtype=np.bool_)
            taken = most - int(ends[self.split]) + size
            self.inside[_order_in(self.split, size, seed)[:taken]] = True

    def __call__(self, rows: AnyArray) -> AnyArray:
        """Take the rows that come next, given by their numbers."""
        bins = _bins_of(rows, self.count, self.seed)
        found = bins < self.split
        cut = np.flatnonzero(bins == self.split)
        found[cut] = self.inside[self.seen : self.seen + len(cut)]
        self.seen += len(cut)
        return found

    def among(self, rows: AnyArray) -> AnyArray:
        """Take some rows, whose numbers rise; all have to be gone over."""
        found = np.empty(len(rows), dtype=np.bool_)
        for first in range(0, self.n_rows, ROWS_AT_A_TIME):
            every = self(np.arange(first, min(first + ROWS_AT_A_TIME, self.n_rows)))
            here = slice(*np.searchsorted(rows, (first, first + len(every))))
            found[here] = every[rows[here] - first]
        return found


class ShuffleBins:
    """Files in a folder, to which rows are added and from which they are read again, shuffled."""

    def __init__(self, folder: Path, expected_bytes: float, seed: int) -> None:
        self.seed = seed
        self.paths = [folder / f"bin-{k:03d}" for k in range(bin_count(expected_bytes))]
        self.n_features = 0

    def add(self, part: RowBatch) -> None:
        """Add each row to a bin drawn at random."""
        self.n_features = max(self.n_features, part.X.shape[1])
        chosen = _bins_of(part.rows, len(self.paths), self.seed)
        order = np.argsort(chosen, kind="stable")
        edges = np.searchsorted(chosen[order], np.arange(len(self.paths) + 1))
        for k, path in enumerate(self.paths):
            some = order[edges[k] : edges[k + 1]]
            if len(some):
                pieces, size, _ = page_pieces(part.take(some).arrays())
                with open(path, "ab") as file:
                    file.writelines([size.to_bytes(8, "little"), *pieces])

    def shuffled(self) -> Iterator[RowBatch]:
        """Yield the rows of each bin in a random order; its file is gone afterwards."""
        for k, path in enumerate(self.paths):
            if not path.exists():
                continue
            whole = _joined(list(_parts_of(path, self.n_features)))
            path.unlink()
            yield whole.take(_order_in(k, len(whole.rows), self.seed))


def _parts_of(path: Path, n_features: int) -> Iterator[RowBatch]:
    with open(path, "rb") as file:
        while size := file.read(8):
            content = np.frombuffer(file.read(int.from_bytes(size, "little")), dtype=np.uint8)
            yield RowBatch.of(arrays_in(content), n_features)


def _joined(parts: list[RowBatch]) -> RowBatch:
    rows, X, y, weights = zip(*parts, strict=True)
    return RowBatch(
        np.concatenate(rows),
        sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X),
        np.concatenate(y),
        None if weights[0] is None else np.concatenate(weights),
    )
