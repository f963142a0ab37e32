"""Means, scatter and correlations of the data, in one pass: all that least squares needs of them.

x̄ = Σ sᵢxᵢ,   ȳ = Σ sᵢyᵢ,   C = Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ,   c = Σ sᵢ(xᵢ − x̄)(yᵢ − ȳ)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk, ssyrk

from cotas.arrays import BoolArray, Each, FloatArray, Matrix
from cotas.design import add, add_outer, as_design
from cotas.design.blocks import moved, row_block
from cotas.loops import loop
from cotas.refusals import ParameterError
from cotas.source import Block

# Rows in double precision that stay in the cache of a core while they are added up, but not
# fewer than it takes for the product of a block to outweigh the start of it.
BLOCK_BYTES, FEWEST_ROWS = 1 << 20, 1024
# Parts of the rows that are added up by themselves, and rows of the smallest.
PARTS, FEWEST_IN_PART = 16, 4096
EPS = float(np.finfo(np.float64).eps)
# So many vectors are multiplied one by one.
FEW_VECTORS = 3
# A mean so many deviations from zero is taken out of the rows before they are squared.
FAR_FROM_ZERO = 30.0
SAMPLE = 64  # dense rows that are looked at to see it, twice as many at most


@dataclass(frozen=True)
class Moments:
    """Moments that one pass keeps of some rows; those of more rows are a merge of two."""

    weight: float  # Σ of the weights as they were given
    mean: FloatArray
    target_mean: FloatArray
    scatter: FloatArray
    cross: FloatArray  # one column for each target
    target_scatter: FloatArray
    centring_loss: FloatArray  # which part of Σ s(x − shift)² was mean and cancelled

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows together."""
        total = self.weight + other.weight
        a, b = self.weight / total, other.weight / total
        dx, dy = other.mean - self.mean, other.target_mean - self.target_mean
        return Moments(
            total,
            self.mean + b * dx,
            self.target_mean + b * dy,
            a * self.scatter + b * other.scatter + a * b * np.outer(dx, dx),
            a * self.cross + b * other.cross + a * b * np.outer(dx, dy),
            a * self.target_scatter + b * other.target_scatter + a * b * dy**2,
            np.maximum(self.centring_loss, other.centring_loss),
        )

    def __add__(self, other: Moments) -> Moments:
        """Merge as `merge` does, where rows without any weight may be on one side."""
        if not (self.weight and other.weight):
            return self if self.weight else other
        return self.merge(other)

    def hessian(self, free_bias: bool) -> FloatArray:
        """Compute C with a free bias, Σ sᵢxᵢxᵢᵀ without."""
        return self.scatter if free_bias else self.scatter + np.outer(self.mean, self.mean)

    def slope(self, free_bias: bool) -> FloatArray:
        """Compute c with a free bias, Σ sᵢyᵢxᵢ without."""
        return self.cross if free_bias else self.cross + np.outer(self.mean, self.target_mean)

    def deviation(self, free_bias: bool) -> FloatArray:
        """Return the scale of each column: its deviation, or its root mean square without a
        bias."""
        return np.sqrt(np.maximum(np.diag(self.hessian(free_bias)), 0.0))

    def constant(self) -> BoolArray:
        """Return the columns whose deviation is what rounding leaves of zero."""
        return np.asarray(self.scatter.diagonal() <= (16 * EPS * np.abs(self.mean)) ** 2)


def gather_moments(
    X: Matrix,
    Y: FloatArray,
    weights: FloatArray | None,
    each: Each = map,
    rough: bool = False,
) -> Moments:
    """Return the moments of all rows; X is read once, in blocks, and no copy of it is made.

    `each` may work in threads; the parts that it is given depend on the data alone, and so do all
    digits of the moments. Where `rough`, the rows of a dense X are multiplied in single precision,
    and the blocks added up in double.
    """
    n = X.shape[0]
    shift = rough_centre(X)
    near, count = rough_target(Y), max(1, min(PARTS, n // max(FEWEST_IN_PART, X.shape[1])))
    Y = Y - near
    parts = [slice(n * k // count, n * (k + 1) // count) for k in range(count)]
    found = each(lambda part: _add_up(X, Y, weights, shift, part, rough), parts)
    gram, first, cross, y_first, y_second = reduce(_both, found)
    total = float(n if weights is None else weights.sum())
    gram = gram + gram.T  # of which the lower half was added up
    gram.flat[:: len(gram) + 1] *= 0.5
    return centred_moments(total, shift, near, (gram, first, cross, y_first, y_second))


def _both(some: list[FloatArray], more: list[FloatArray]) -> list[FloatArray]:
    for one, other in zip(some, more, strict=True):
        one += other
    return some


def centred_moments(
    total: float,
    shift: FloatArray | None,
    near: FloatArray,
    sums: Sequence[FloatArray],
) -> Moments:
    """Compute the moments, from Σ w xxᵀ, Σ w x, Σ w xyᵀ, Σ w y and Σ w y² of shifted rows and
    targets."""
    gram, first, cross, y_first, y_second = (part / total for part in sums)
    scatter = gram - np.multiply.outer(first, first)
    # Centred targets make cross small; what the mean of y adds to it is taken out here.
    cross = cross - np.multiply.outer(first, y_first)
    square = gram.diagonal()
    loss = np.divide(first**2, square, where=square > 0, out=np.zeros(len(first)))
    mean = first if shift is None else first + shift
    return Moments(
        total, mean, y_first + near, scatter, cross, y_second - y_first**2, np.minimum(loss, 1.0)
    )


def _add_up(
    X: Matrix,
    Y: FloatArray,
    weights: FloatArray | None,
    shift: FloatArray | None,
    part: slice,
    rough: bool,
) -> list[FloatArray]:
    """Compute Σ w xxᵀ (lower half), Σ w x, Σ w xyᵀ, Σ w y and Σ w y² of some rows, shifted."""
    y = Y[part]
    side = np.ones((len(y), 1 + y.shape[1]), order="F")  # to multiply the rows with
    side[:, 1:] = y
    if weights is not None:
        side *= weights[part, None]
    add_up = _add_up_stored if sparse.issparse(X) else _add_up_dense
    gram, right = add_up(X, side, None if weights is None else weights[part], shift, part, rough)
    totals = np.add.reduce(side[:, 1:]), np.add.reduce(side[:, 1:] * y)
    return [gram, right[:, 0], right[:, 1:], *totals]


def _add_up_stored(
    X: Matrix, side: FloatArray, w: Any, shift: FloatArray | None, part: slice, rough: bool
) -> tuple[FloatArray, FloatArray]:
    """Compute Σ w xxᵀ (lower half) and Σ x·side of sparse rows, entry by entry."""
    gram, right = np.zeros((X.shape[1],) * 2), np.zeros((side.shape[1], X.shape[1]))
    if shift is None:
        add_products(as_design(X), part.start, side, gram, right)
        return gram, right.T
    for span in _spans(X, part):
        rows = as_design(moved(row_block(X, span), shift))
        add_products(rows, 0, side[span.start - part.start : span.stop - part.start], gram, right)
    return gram, right.T


@loop
def add_products(
    rows: Any, first: int, side: FloatArray, gram: FloatArray, right: FloatArray
) -> None:
    """Add Σ w xxᵀ and Σ x·side of the rows from the first on; w is the first column of the side."""
    for i in range(len(side)):
        add_outer(rows, first + i, side[i, 0], gram)
        for k in range(side.shape[1]):
            add(rows, first + i, side[i, k], right[k])


def _add_up_dense(
    X: Any, side: FloatArray, w: Any, shift: FloatArray | None, part: slice, rough: bool
) -> tuple[FloatArray, FloatArray]:
    """Compute the same of dense rows, some at a time."""
    d = X.shape[1]
    gram, right = np.zeros((d, d), order="F"), np.zeros((d, side.shape[1]))
    for span in _spans(X, part):
        rows = X[span] if rough else X[span].astype(np.float64, copy=False)
        if shift is not None:
            rows = rows - shift
        if rough:
            rows = rows.astype(np.float32, copy=False)
        some = slice(span.start - part.start, span.stop - part.start)
        right += _combined(rows, side[some])
        if w is not None:
            rows = rows * np.sqrt(w[some, None]).astype(rows.dtype)
        gram = _add_gram(gram, rows)
    return gram, right


def _combined(rows: FloatArray, factors: FloatArray) -> FloatArray:
    """Compute rowsᵀ·factors; a few vectors, one by one, are faster than as a matrix."""
    factors = factors.astype(rows.dtype, copy=False)
    if factors.shape[1] > FEW_VECTORS:
        return np.asarray(rows.T @ factors)
    return np.array([rows.T @ factor for factor in factors.T]).T


def _add_gram(gram: FloatArray, rows: FloatArray) -> FloatArray:
    """Compute gram + rowsᵀ·rows, the lower half, above which there are zeros."""
    if not rows.flags.c_contiguous:
        rows = np.ascontiguousarray(rows)
    if rows.dtype == np.float32:
        return np.asarray(gram + ssyrk(1.0, rows.T, lower=1))
    # BLAS sees the transpose of these rows as a matrix in its own layout: nothing is copied.
    return np.asarray(dsyrk(1.0, rows.T, beta=1.0, c=gram, overwrite_c=1, lower=1))


def _spans(X: Matrix, part: slice) -> Iterable[slice]:
    entries, size = X.shape[1], BLOCK_BYTES
    if sparse.issparse(X):  # each block costs a dense matrix of its own: fewer and larger ones
        entries, size = max(1.0, X.nnz / X.shape[0]), 16 * BLOCK_BYTES
    rows = int(max(FEWEST_ROWS, size // (8 * max(1, entries))))
    return (slice(a, min(a + rows, part.stop)) for a in range(part.start, part.stop, rows))


def rough_target(Y: FloatArray) -> FloatArray:
    """Return the targets of a few rows on average: near enough to the mean for the sums not to
    cancel."""
    some = Y[:: max(1, len(Y) // SAMPLE)]
    return np.asarray(np.add.reduce(some) / len(some))


def rough_centre(X: Matrix, unit: float = 0.0) -> FloatArray | None:
    """Return a centre of the columns that lie far from zero, from a sample; None if there are none.

    It is zero for the other columns of a sparse X, whose entries are mostly zeros. A constant
    column of a dense X counts as one with a deviation of `unit`.
    """
    rows = X[:: max(1, X.shape[0] // (256 if sparse.issparse(X) else SAMPLE))]
    rows = rows.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(rows):
            centre = np.asarray(rows.mean(axis=0)).ravel()
            squares = np.asarray(rows.power(2).mean(axis=0)).ravel()
            deviation = np.sqrt(np.maximum(squares - centre**2, 0.0))
        else:
            centre = np.add.reduce(rows) / len(rows)
            deviation = np.sqrt(np.add.reduce(np.square(rows - centre)) / len(rows))
            varied = (deviation > 1e-8 * np.abs(centre)) & (deviation < np.inf)
            flat = (~varied).nonzero()[0]  # as far as sums can tell
            if len(flat):
                deviation[flat[(rows[:, flat] == rows[0, flat]).all(axis=0)]] = unit
        far = np.abs(centre) > FAR_FROM_ZERO * deviation
    if not (far.any() and np.isfinite(centre).all()):
        return None
    return np.where(far, centre, 0.0) if sparse.issparse(X) else centre


def weighted_mean(
    X: Matrix, Y: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Compute x̄ and ȳ alone, in one pass."""
    n, shift = X.shape[0], rough_centre(X)
    total, first, y_first = 0.0, np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    rough = rough_target(Y)
    for span in _spans(X, slice(0, n)):
        w = np.ones(span.stop - span.start) if weights is None else weights[span]
        rows = row_block(X, span)
        first += (rows if shift is None else moved(rows, shift)).T @ w
        y_first += w @ (Y[span] - rough)
        total += float(w.sum())
    mean = first / total + (0.0 if shift is None else shift)
    return mean, y_first / total + rough


def column_deviation(
    X: Matrix, mean: FloatArray, weights: FloatArray | None, free_bias: bool
) -> FloatArray:
    """Return the deviation of each column from its mean; without a bias its root mean square."""
    centre = mean if free_bias else np.zeros_like(mean)
    total, squares = 0.0, np.zeros_like(mean)
    for span in _spans(X, slice(0, X.shape[0])):
        w = np.ones(span.stop - span.start) if weights is None else weights[span]
        rows = row_block(X, span)
        total += float(w.sum())
        if sparse.issparse(rows):
            # Σ w(x − m)² over the stored entries, and w·m² for each that is not stored.
            stored = rows.copy()
            stored.data = (rows.data - centre[rows.indices]) ** 2
            squares += stored.T @ w
            stored.data = np.ones_like(stored.data)
            full = np.bincount(rows.indices, minlength=len(centre)) == len(w)
            squares += np.where(full, 0.0, w.sum() - stored.T @ w) * centre**2
        else:
            squares += w @ (rows - centre) ** 2
    deviation = np.sqrt(np.maximum(squares, 0.0) / total)
    noise = EPS * (16 + np.sqrt(X.shape[0])) * np.abs(centre)
    return np.where(deviation > noise, deviation, 0.0)


# ---- of a block --------------------------------------------------------------------------------


def targets(block: Block) -> FloatArray:
    """Compute y of a block with a column for each target."""
    if np.asarray(block.y).dtype.kind not in "biuf":
        raise ParameterError("y", "y of the source holds words, and a regression needs numbers.")
    y = np.asarray(block.y, dtype=np.float64)
    return y[:, None] if y.ndim == 1 else y


def block_moments(block: Block) -> Moments:
    """Return the moments of the rows of a block."""
    Y, d = targets(block), block.X.shape[1]
    if block.weights is not None and not block.weights.any():
        k = Y.shape[1]
        shapes = (d, k, (d, d), (d, k), k, d)
        return Moments(0.0, *(np.zeros(shape) for shape in shapes))
    with np.errstate(over="ignore", invalid="ignore"):
        return gather_moments(block.X, Y, block.weights)


class Lowest(float):
    """A number of which the smallest counts.

    >>> Lowest(2.0) + Lowest(1.5)
    1.5
    """

    def __add__(self, other: float) -> Lowest:
        return Lowest(min(float(self), float(other)))


class Ends(NamedTuple):
    """The smallest and the largest entry of each column, of the rows that have a weight."""

    low: FloatArray
    high: FloatArray

    def __add__(self, other: Any) -> Any:
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def ends_of(block: Block) -> Ends:
    """Return those of the columns of a block, and of its targets."""
    X, Y, s = block.X, targets(block), block.weights
    if s is not None and not s.all():
        X, Y = X[s > 0], Y[s > 0]
    if not len(Y):
        unbounded = np.full(X.shape[1] + Y.shape[1], np.inf)
        return Ends(unbounded, -unbounded)
    ends = [
        np.concatenate([_column_of(of_X(axis=0)), of_Y(axis=0)])
        for of_X, of_Y in ((X.min, Y.min), (X.max, Y.max))
    ]
    return Ends(*ends)


def _column_of(ends: Any) -> FloatArray:
    dense = ends.toarray().ravel() if sparse.issparse(ends) else ends
    return np.asarray(dense, dtype=np.float64)
