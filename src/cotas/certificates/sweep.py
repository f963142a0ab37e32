"""One pass over the data for the checker: blocks of rows in double precision, and their sketch.

The blocks are small enough for the cache and the pass keeps nothing of the size of X, whatever
the precision of the data. Each block is read on its own and the results are merged, so the order
in which blocks are read does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rows import Rows, flipped, made_of
from cotas.certificates.enclosures import row_lengths

# A block in double precision already is a view; others have to be converted. What SciPy does for
# each block, however few its entries are, is worth longer ones.
VIEWED_BYTES, CONVERTED_BYTES, SPARSE_BYTES = 1 << 21, 1 << 20, 1 << 22
EPS = float(np.finfo(np.float64).eps)
# Fractional parts of their multiples never repeat, which makes them weights for a sketch.
GOLDEN_RATIO, SQUARE_ROOT_OF_TWO = 0.6180339887498949, 0.41421356237309515
MISSING = 0.7548776662466927  # stands for a missing value in a sketch

# What a block contributes: each name begins with how to merge it, "sum", "max" or "min".
Tally: TypeAlias = dict[str, Any]
MERGE = {"sum": np.add, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class Sketch:
    """A few numbers that change when the data do: a fingerprint that survives rounding.

    Each is a sum over all entries with fixed weights that never repeat, so another value, another
    label, or two rows exchanged give another sum. It does not depend on how X is laid out.
    """

    n_rows: int
    n_features: int
    entries: float
    labels: float
    scale: float
    label_scale: float = 1.0  # the largest |y|

    def matches(self, other: Sketch) -> bool:
        """Whether this can be one of the data of the other, allowing for their rounding."""
        if (self.n_rows, self.n_features) != (other.n_rows, other.n_features):
            return False
        slack, label_slack = 1e-12 * other.scale, 1e-12 * self.n_rows * other.label_scale
        return (
            abs(self.entries - other.entries) <= slack
            and abs(self.labels - other.labels) <= label_slack
        )

    def to_dict(self) -> dict[str, Any]:
        """The sketch in plain Python types."""
        return {
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "entries": self.entries,
            "labels": self.labels,
        }


@dataclass(frozen=True)
class Block:
    """Some consecutive rows in double precision.

    `signs` are the labels as ±1 and `products` the rows times the directions of the sweep, one
    column for each class.
    """

    span: slice
    rows: Matrix
    signs: FloatArray
    products: FloatArray

    def combine(self, factors: FloatArray) -> FloatArray:
        """Σ factorᵢ xᵢ for each column of factors; rows with no factor at all are not read."""
        touched = np.flatnonzero(factors.any(axis=1))
        rows = self.rows
        if 4 * len(touched) < len(factors):
            rows, factors = rows[touched], factors[touched]
        return _times(flipped(rows), factors)


class Sweep:
    """X and y, to be read block by block, and multiplied by some directions on the way."""

    def __init__(
        self, X: Matrix, y: AnyArray, positives: Sequence[Any], directions: FloatArray
    ) -> None:
        self.X = as_rows(X)
        self.y = np.asarray(y)
        self.positives = list(positives)
        self.directions = np.ascontiguousarray(directions)
        n, d = self.X.shape
        if self.y.ndim != 1 or len(self.y) != n:
            raise ValueError(f"y must have one label for each of the {n} rows of X.")
        if directions.shape[0] != d:
            raise ValueError(f"X has {d} features; the certificate is about {directions.shape[0]}.")

    def tally(self, read: Callable[[Block], Tally], each: Each = map) -> Tally:
        """What `read` finds in all the blocks together; `each` may read blocks in threads."""
        total: Tally = {}
        for part in each(lambda span: read(self._block(span)), self._spans()):
            for name, value in part.items():
                known = total.get(name)
                total[name] = value if known is None else MERGE[name[:3]](known, value)
        return total

    def _spans(self) -> list[slice]:
        return _spans(self.X)

    def _block(self, span: slice) -> Block:
        rows = _rows(self.X, span)
        with np.errstate(over="ignore", invalid="ignore"):
            return Block(span, rows, self._signs(span), _times(rows, self.directions))

    def _signs(self, span: slice) -> FloatArray:
        labels = self.y[span]
        return np.array([signs_of(labels, p) for p in self.positives]).T


@dataclass(frozen=True)
class Facts:
    """What can be said of the data before there is a model: how long rows are, and the sketches."""

    lengths: FloatArray  # of the rows, rounded up
    sketches: list[Sketch]
    rows: Rows | None = None  # X for the core, with what it knows of it already

    def longest(self, weights: FloatArray | None = None) -> float:
        """The length of the longest row, of those with a weight."""
        used = self.lengths if weights is None else self.lengths[np.asarray(weights) > 0]
        return float(used.max(initial=0.0))


def gather_facts(X: Matrix, y: AnyArray, positives: Sequence[Any], each: Each = map) -> Facts:
    """One pass for the lengths of the rows and for the sketches."""
    X = as_rows(X)
    sweep, lengths = Sweep(X, y, positives, np.zeros((X.shape[1], 0))), np.empty(X.shape[0])

    def read(block: Block) -> Tally:
        lengths[block.span] = row_lengths(block.rows)
        return {"sum sketch": sketch_sums(project(block.rows), block.signs, block.span.start)}

    return Facts(lengths, as_sketches(sweep.tally(read, each)["sum sketch"], X.shape))


def signs_of(y: AnyArray, positive: Any) -> FloatArray:
    """±1 for each label."""
    return np.where(y == positive, 1.0, -1.0)


def sketches_of(X: Matrix, targets: FloatArray, each: Each = map, first: int = 0) -> list[Sketch]:
    """One for each column of the targets, in one pass; X are the rows after the `first` ones."""
    X = as_rows(X)

    def read(span: slice) -> FloatArray:
        return sketch_sums(project(_rows(X, span)), targets[span], first + span.start)

    n, d = X.shape
    sums = np.asarray(sum(each(read, _spans(X))))
    return as_sketches(sums, (first + n, d), np.abs(targets).max(axis=0))


@np.errstate(over="ignore", invalid="ignore")
def sketch_sums(projected: FloatArray, labels: FloatArray, first: int) -> FloatArray:
    """Σ over rows, counted from `first`, of what they are projected to, its size, and labels."""
    fixed = _fixed_weights(first, first + len(labels), SQUARE_ROOT_OF_TWO)
    return np.array([fixed @ projected, fixed @ np.abs(projected), *(fixed @ labels)])


@np.errstate(over="ignore", invalid="ignore")
def project(rows: Matrix, gaps: bool = False) -> FloatArray:
    """The entries of each row added up with fixed weights; with `gaps` NaN is a fixed number."""
    weights = _column_weights(rows.shape[1])
    projected = np.asarray(rows @ weights)
    if gaps and np.isnan(projected).any():
        return np.asarray(_without_gaps(rows) @ weights)
    return projected


def as_sketches(
    sums: FloatArray, shape: tuple[int, int], largest: Sequence[float] | FloatArray | None = None
) -> list[Sketch]:
    """One for each column of the labels, of which the largest are given where they are not ±1."""
    entries, scale, *labels = sums.tolist()
    most = [1.0] * len(labels) if largest is None else [float(value) for value in largest]
    pairs = zip(labels, most, strict=True)
    return [Sketch(*shape, entries, label, scale, top) for label, top in pairs]


def one_in_each_row(sketches: Sequence[Sketch | None]) -> bool:
    """Whether each row counts as +1 in one of these sketches of the same rows, and never in two.

    Labels of ±1 then add up to 2 − k in each row, which is less where a row is in none; it is
    multiplied by its fixed weight, which is above ½.
    """
    known = [sketch for sketch in sketches if sketch is not None]
    if not known or len(known) < len(sketches):
        return False
    n, size = known[0].n_rows, 1 << 16
    parts = (slice(start, min(start + size, n)) for start in range(0, n, size))
    whole = sum(_fixed_weights(p.start, p.stop, SQUARE_ROOT_OF_TWO).sum() for p in parts)
    return bool(abs(sum(one.labels for one in known) - (2 - len(known)) * whole) < 0.5)


@lru_cache(maxsize=2)
def _column_weights(d: int) -> FloatArray:
    """Those of the columns, which every block needs."""
    return _fixed_weights(0, d, GOLDEN_RATIO)


def _fixed_weights(start: int, stop: int, step: float) -> FloatArray:
    """Numbers between 0.5 and 1.5 that are fixed and never twice the same."""
    multiples = np.arange(start + 1, stop + 1) * step
    return np.asarray(0.5 + multiples - np.floor(multiples))


def _without_gaps(rows: Matrix) -> Matrix:
    """The rows with a fixed number in the place of each missing value."""
    if not sparse.issparse(rows):
        return np.where(np.isnan(rows), MISSING, rows)
    filled = rows.copy()
    filled.data[np.isnan(filled.data)] = MISSING
    return filled


def as_rows(X: Matrix) -> Matrix:
    """X as an array or a CSR matrix with no entry stored twice."""
    if not sparse.issparse(X):
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"X must have two dimensions, and it has {array.ndim}.")
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    rows = X if X.format == "csr" else sparse.csr_matrix(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _spans(X: Matrix) -> list[slice]:
    """Blocks of rows that stay in the cache."""
    n, d = X.shape
    entries, size = d, VIEWED_BYTES if X.dtype == np.float64 else CONVERTED_BYTES
    if sparse.issparse(X):
        entries, size = 1.5 * X.nnz / n, SPARSE_BYTES
    rows = int(min(max(size // (8 * max(1, entries)), 1), n))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def _rows(X: Matrix, span: slice) -> Matrix:
    """Rows of X in double precision; of double precision data no entry is copied."""
    if not sparse.issparse(X):
        return X[span].astype(np.float64, copy=False)
    begin, end = X.indptr[span.start], X.indptr[span.stop]
    data = X.data[begin:end].astype(np.float64, copy=False)
    pointers = X.indptr[span.start : span.stop + 1] - begin
    parts = (data, X.indices[begin:end], pointers)
    return made_of(sparse.csr_matrix, parts, (span.stop - span.start, X.shape[1]))


def _times(rows: Matrix, directions: FloatArray) -> FloatArray:
    """rows · directions, one after another: the bits of one class depend on no other."""
    found = np.empty((rows.shape[0], directions.shape[1]))
    for k, direction in enumerate(np.ascontiguousarray(directions.T)):
        found[:, k] = rows @ direction
    return found


# Times the mean square of the targets it is added to the objective of the constant model, so that
# what their rounding leaves of an objective, EPS² of it, is a relative gap of 1e-6 at most.
ROUNDED = 1e15 * EPS**2


def constant_model(
    y: FloatArray, weights: Any, free_bias: bool, loss: Any = None
) -> tuple[float, float]:
    """The mean loss of the mean of y, or of zero without a bias, and Σ sᵢyᵢ²/S.

    A loss of the core; that of squares, ½(y − z)², if none is given.
    """
    s = np.ones(len(y)) if weights is None else np.asarray(weights)
    with np.errstate(all="ignore"):
        share = s / np.add.reduce(s)
        about = y - share @ y if free_bias else y
        losses = 0.5 * about**2 if loss is None else loss.value(about, np.zeros_like(y), 0.0)
        return float(share @ losses), float(share @ y**2)


def targets_of(n: int, y: AnyArray, columns: Sequence[int | None]) -> FloatArray:
    """The targets of n rows in double precision: the columns of y that certificates speak of."""
    y = np.asarray(y, dtype=np.float64)
    if y.ndim not in (1, 2) or any(c is None for c in columns) == (y.ndim == 2):
        raise ValueError(f"y has {y.ndim} dimensions; the certificate is about other targets.")
    if y.ndim == 2 and max(c or 0 for c in columns) >= y.shape[1]:
        raise ValueError(f"y has {y.shape[1]} targets; the certificate is about another one.")
    if len(y) != n:
        raise ValueError(f"y must have one target for each of the {n} rows of X.")
    return y[:, None] if y.ndim == 1 else y[:, [int(c or 0) for c in columns]]


def sketches_in_passing(rows: Rows, targets: FloatArray) -> Callable[[], list[Sketch]]:
    """Have the first pass of the core project the rows, and make the sketches after it."""
    projected = np.full(rows.n, np.nan)

    def note(span: slice, block: Matrix) -> None:
        projected[span] = project(block)

    def sketches() -> list[Sketch]:
        with suppress(Objection):
            rows.lengths  # noqa: B018  # the pass, if there was none
        whole = projected if rows.shift is None else projected + project(rows.shift[None])
        sums = sketch_sums(whole, targets, 0)
        return as_sketches(sums, (rows.n, rows.d), np.abs(targets).max(axis=0))

    rows.also = note
    return sketches
