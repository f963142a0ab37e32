"""One pass over the data for the checker: blocks of rows, their lengths, targets and sketch.

The blocks are small enough for the cache and the pass keeps nothing of the size of X, whatever
the precision of the data. Each block is read on its own and the results are merged, so the order
in which blocks are read does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix, Sparse
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import TINY, U, gamma, norm_up
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.sparse_rows import row_squares, rows_in, some_of
from cotas.certificates.presentation import other_rows
from cotas.refusals import ParameterError

# A block in double precision already is a view; others have to be converted. What SciPy does for
# each block, however few its entries are, is worth longer ones.
VIEWED_BYTES, CONVERTED_BYTES, SPARSE_BYTES = 1 << 21, 1 << 20, 1 << 22
EPS = float(np.finfo(np.float64).eps)
# Fractional parts of their multiples never repeat, which makes them weights for a sketch.
GOLDEN_RATIO, SQUARE_ROOT_OF_TWO = 0.6180339887498949, 0.41421356237309515
MISSING = 0.7548776662466927  # stands for a missing value in a sketch
MORE = 8  # roundings of rows that were shifted, and of a bound itself
# Times the mean square of the targets it is added to the objective of the constant model, so that
# what their rounding leaves of an objective, EPS² of it, is a relative gap of 1e-6 at most.
ROUNDED = 1e15 * EPS**2


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
        """Tell whether this can be one of the data of the other, allowing for their rounding."""
        if (self.n_rows, self.n_features) != (other.n_rows, other.n_features):
            return False
        slack, label_slack = 1e-12 * other.scale, 1e-12 * self.n_rows * other.label_scale
        return (
            abs(self.entries - other.entries) <= slack
            and abs(self.labels - other.labels) <= label_slack
        )

    def to_dict(self) -> dict[str, Any]:
        shown = ("n_rows", "n_features", "entries", "labels")
        return {name: getattr(self, name) for name in shown}


@dataclass(frozen=True)
class Facts:
    """Facts of the data before there is a model: the sketches, and how long rows are."""

    sketches: list[Sketch]
    lengths: FloatArray | None = None  # of the rows, rounded up, if anybody asked
    rows: Rows | None = None  # X for the core, with what it knows of it already

    @property
    def measured(self) -> FloatArray:
        """Return the lengths, where they were asked for."""
        assert self.lengths is not None
        return self.lengths

    def longest(self, weights: FloatArray | None = None) -> float:
        """Return the length of the longest row, of those with a weight."""
        used = self.measured if weights is None else self.measured[np.asarray(weights) > 0]
        return float(used.max(initial=0.0))


def gather_facts(X: Matrix, y: AnyArray, positives: Sequence[Any], each: Each = map) -> Facts:
    """Gather the lengths of the rows and the sketches in one pass."""
    X = as_rows(X)
    lengths = np.empty(X.shape[0])

    def measure(span: slice, rows: Matrix) -> None:
        lengths[span] = row_lengths(rows)

    return Facts(class_sketches(X, y, positives, each, measure), lengths)


def class_sketches(
    X: Matrix,
    y: AnyArray,
    positives: Sequence[Any],
    each: Each = map,
    also: Callable[[slice, Matrix], None] | None = None,
) -> list[Sketch]:
    """Return one for each label that counts as +1, in one pass, which `also` sees each block of."""
    X, y = as_rows(X), np.asarray(y)
    refuse_other_labels(X, y)
    return sketches_of(X, class_signs(y, positives), each, also=also)


def sketches_of(
    X: Matrix,
    targets: FloatArray,
    each: Each = map,
    first: int = 0,
    also: Callable[[slice, Matrix], None] | None = None,
) -> list[Sketch]:
    """Make one sketch for each column of targets, in one pass; X are the rows from `first` on."""
    X = as_rows(X)

    def read(span: slice) -> FloatArray:
        rows = read_span(X, span)
        if also is not None:
            also(span, rows)
        return sketch_sums(project(rows), targets[span], first + span.start)

    n, d = X.shape
    sums = np.asarray(sum(each(read, spans_of(X))))
    return as_sketches(sums, (first + n, d), np.abs(targets).max(axis=0))


def refuse_other_labels(X: Matrix, y: AnyArray) -> None:
    """Raise where there is not one label for each row."""
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise ParameterError("y", f"y must have one label for each of the {X.shape[0]} rows of X.")


def class_signs(labels: AnyArray, positives: Sequence[Any]) -> FloatArray:
    """Compute ±1 for each label, a column for each of those that count as +1."""
    return np.array([signs_of(labels, p) for p in positives]).T


def outwards(a: FloatArray) -> FloatArray:
    """Return numbers above what a ≥ 0 stand for after at most `MORE` rounded operations."""
    above = np.asarray(a * (1.0 + (MORE + 2) * U))
    above += TINY
    return above


def row_lengths(rows: Matrix) -> FloatArray:
    """Compute ‖x‖ of each row, rounded up, whatever the size of the entries."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares, unit = _squares(rows), 1.0
        if not 1e-200 < squares.max(initial=0.0) < math.inf:
            # Squares that vanish or overflow: measure in a power of two as large as the entries.
            values: AnyArray = rows.data if sparse.issparse(rows) else rows
            top = float(np.abs(values).max(initial=0.0))
            if not 0.0 < top < math.inf:
                return np.full(rows.shape[0], 0.0 if top == 0.0 else math.inf)
            unit = math.ldexp(1.0, math.frexp(top)[1] - 1)
            squares = _squares(rows / unit)
        lengths = unit * np.sqrt(squares) * (1.0 + gamma(rows.shape[1] + MORE))
        # An entry lost to underflow has a square below 2⁻¹⁰⁷⁴, in that unit.
        return np.where(np.isfinite(lengths), lengths + unit * 2.0**-500 + TINY, math.inf)


def _squares(rows: Matrix) -> FloatArray:
    if sparse.issparse(rows):
        return row_squares(rows)
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def as_double(X: Matrix) -> Matrix:
    """Return rows in double precision, an array or a CSR matrix with no entry stored twice."""
    return as_rows(X).astype(np.float64, copy=False)


def products(rows: Matrix, theta: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute θ·x for each row and column θ, and how far it may be off; infinite where unknown."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = np.asarray(rows @ theta)
        sizes = np.array([norm_up(column) for column in theta.T])
        off = outwards(gamma(len(theta) + MORE) * lengths[:, None] * sizes)
    lost = ~(np.isfinite(values) & np.isfinite(off))
    return np.where(lost, 0.0, values), np.where(lost, math.inf, off)


def refuse_other_features(d: int, others: int) -> None:
    """Raise if the data have another number of columns than the witness."""
    if d != others:
        raise ParameterError("X", f"X has {d} features; the certificate is about {others}.")


def refuse_other_rows(n: int, *needed: Any, weights: Any = None) -> None:
    """Raise unless all that a witness has for each row is about n rows; it may have no weights."""
    for given in needed if weights is None else (*needed, weights):
        if np.shape(given) != (n,):
            raise other_rows(n, np.size(given))


def signs_of(y: AnyArray, positive: Any) -> FloatArray:
    """Compute ±1 for each label."""
    return np.where(y == positive, 1.0, -1.0)


@np.errstate(over="ignore", invalid="ignore")
def sketch_sums(projected: FloatArray, labels: FloatArray, first: int) -> FloatArray:
    """Sum over rows, counted from `first`, of what they are projected to, its size, and labels."""
    fixed = _fixed_weights(first, first + len(labels), SQUARE_ROOT_OF_TWO)
    return np.array([fixed @ projected, fixed @ np.abs(projected), *(fixed @ labels)])


@np.errstate(over="ignore", invalid="ignore")
def project(rows: Matrix, gaps: bool = False) -> FloatArray:
    """Add up the entries of each row with fixed weights; with `gaps` NaN is a fixed number."""
    weights = _column_weights(rows.shape[1])
    projected = np.asarray(rows @ weights)
    if gaps and np.isnan(projected).any():
        return np.asarray(_without_gaps(rows) @ weights)
    return projected


def as_sketches(
    sums: FloatArray, shape: tuple[int, int], largest: Sequence[float] | FloatArray | None = None
) -> list[Sketch]:
    """Make one sketch for each column of labels; the largest are given where they are not ±1."""
    entries, scale, *labels = sums.tolist()
    most = [1.0] * len(labels) if largest is None else [float(value) for value in largest]
    pairs = zip(labels, most, strict=True)
    return [Sketch(*shape, entries, label, scale, top) for label, top in pairs]


def one_in_each_row(sketches: Sequence[Sketch | None]) -> bool:
    """Tell whether each row counts as +1 in exactly one of these sketches of the same rows.

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
    """Return those of the columns, which every block needs."""
    return _fixed_weights(0, d, GOLDEN_RATIO)


def _fixed_weights(start: int, stop: int, step: float) -> FloatArray:
    """Return numbers between 0.5 and 1.5 that are fixed and never twice the same."""
    multiples = np.arange(start + 1.0, stop + 1.0) * step
    whole = np.floor(multiples)
    multiples += 0.5
    multiples -= whole
    return multiples


def _without_gaps(rows: Matrix) -> Matrix:
    """Return the rows with a fixed number in the place of each missing value."""
    if not sparse.issparse(rows):
        return np.where(np.isnan(rows), MISSING, rows)
    filled = rows.copy()
    filled.data[np.isnan(filled.data)] = MISSING
    return filled


def as_rows(X: Matrix) -> Matrix:
    """Compute X as an array or a CSR matrix with no entry stored twice."""
    if not sparse.issparse(X):
        array = np.asarray(X)
        if array.ndim != 2:
            raise ParameterError("X", f"X must have two dimensions, and it has {array.ndim}.")
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    rows = X if X.format == "csr" else sparse.csr_matrix(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def rows_of(X: Matrix, movable: bool, facts: Facts | None = None, each: Each = map) -> Rows:
    """Compute X for the core; the rows of the facts, if they are the ones that are needed."""
    known = None if facts is None else facts.rows
    if known is not None and known.movable == movable:
        return known
    return rows_in(as_rows(X), movable, each)


def spans_of(X: Matrix) -> list[slice]:
    """Return blocks of rows that stay in the cache."""
    n, d = X.shape
    entries, size = d, VIEWED_BYTES if X.dtype == np.float64 else CONVERTED_BYTES
    if sparse.issparse(X):
        entries, size = 1.5 * X.nnz / n, SPARSE_BYTES
    rows = int(min(max(size // (8 * max(1, entries)), 1), n))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def read_span(X: Matrix, span: slice) -> Matrix:
    """Return rows of X in double precision; of double precision data no entry is copied."""
    if sparse.issparse(X):
        return cast(Sparse, some_of(X, span))
    return X[span].astype(np.float64, copy=False)


# ---- the targets of regressions: which columns of y are meant, and the constant model ------------


def targets_of(n: int, y: AnyArray, columns: Sequence[int | None]) -> FloatArray:
    """Return the targets of n rows in double precision, as certificates speak of them."""
    y = np.asarray(y, dtype=np.float64)
    if y.ndim not in (1, 2) or any(c is None for c in columns) == (y.ndim == 2):
        raise ParameterError(
            "y", f"y has {y.ndim} dimensions; the certificate is about other targets."
        )
    if y.ndim == 2 and max(c or 0 for c in columns) >= y.shape[1]:
        raise ParameterError(
            "y", f"y has {y.shape[1]} targets; the certificate is about another one."
        )
    if len(y) != n:
        raise ParameterError("y", f"y must have one target for each of the {n} rows of X.")
    return y[:, None] if y.ndim == 1 else y[:, [int(c or 0) for c in columns]]


def constant_model(
    y: FloatArray, weights: Any, free_bias: bool, loss: Any = None
) -> tuple[float, float]:
    """Return the mean loss of the mean of y, or of zero without a bias, and Σ sᵢyᵢ²/S.

    A loss of the core; that of squares, ½(y − z)², if none is given.
    """
    with np.errstate(all="ignore"):
        if weights is None and loss is None:
            about = y - np.add.reduce(y) / len(y) if free_bias else y
            return float(0.5 * (about @ about) / len(y)), float(y @ y / len(y))
        s = np.ones(len(y)) if weights is None else np.asarray(weights)
        share = s / np.add.reduce(s)
        about = y - share @ y if free_bias else y
        losses = 0.5 * about**2 if loss is None else loss.value(about, np.zeros_like(y), 0.0)
        return float(share @ losses), float(share @ y**2)


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
