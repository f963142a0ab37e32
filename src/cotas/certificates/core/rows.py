"""The data as rows of numbers: scores Xθ + b and combinations Xᵀc, with their rounding.

With a free bias every column may be moved by any number: (x − m)·θ + (b + m·θ) is the same score,
and columns far from zero then lose no digits. Columns are measured in units of about their own
size, powers of two, so that one bound serves large and small ones:

    |Σ xⱼθⱼ − computed| ≤ γ Σ|xⱼθⱼ| ≤ γ ‖x/unit‖ ‖unit·θ‖        (Cauchy and Schwarz)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Objection, Pull

from cotas.certificates.core.rounding import (  # isort: skip
    SMALL, TINY, FloatArray, U, above, dot, gamma, norm_up, total, up,
)  # fmt: skip

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

# Bytes of a block, which should stay in the cache, and its rows, which rounding counts.
BLOCK_BYTES, BLOCK_ROWS = 1 << 20, 1024
# Rows that are measured, twice as many at most, and entries of them where they are sparse.
SAMPLE, LARGEST_SAMPLE = 256, 1 << 22
# A column is moved if its centre is so many times as far from zero as its rows are from it.
FAR = 4.0
# The squares of 2³¹ entries that underflow, measured in this unit, come to less than SMALL².
SMALLEST_UNIT = 2.0**-20


def pairwise(parts: Iterable[Any]) -> tuple[Any, int]:
    """Σ of arrays, added up two by two, and the number of additions that each went through."""
    stack: list[Any] = []
    count = 0
    for count, part in enumerate(parts, start=1):
        stack.append(part)
        for _ in range((count & -count).bit_length() - 1):
            last = stack.pop()
            stack[-1] = stack[-1] + last
    whole = stack.pop()
    while stack:
        whole = stack.pop() + whole
    return whole, 2 * count.bit_length()


def column_means(rows: FloatArray) -> FloatArray:
    """The mean of each column; that of NumPy takes longer for a few rows."""
    return np.asarray(np.add.reduce(rows) / len(rows))


def made_of(kind: Any, parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Any:
    """A sparse matrix of these arrays; its class, if given them, checks and copies them."""
    made = copy(_empty(kind, False))
    made.data, made.indices, made.indptr = parts
    made._shape = shape
    return made


@lru_cache(maxsize=8)
def _empty(kind: Any, turned: bool) -> Any:
    """A sparse matrix of zeros, or its transpose, which takes longer to make than to copy."""
    return kind((1, 1)).T if turned else kind((1, 1))


def flipped(rows: Any) -> Any:
    """The transpose of some rows, of which no entry is copied."""
    if not hasattr(rows, "indptr"):
        return rows.T
    parts = (rows.data, rows.indices, rows.indptr)
    kind: Any = type(rows)
    return made_of(type(_empty(kind, True)), parts, rows.shape[::-1])


@lru_cache(maxsize=2)
def _counting(n: int, kind: Any) -> Any:
    """0, 1, 2, …, which every block needs."""
    return np.arange(n, dtype=kind)


def row_squares(rows: Any, factors: FloatArray | None = None) -> FloatArray:
    """Σ x² over the entries of each sparse row, times the factors of their columns, if any.

    As one product of a sparse matrix and a vector, which without factors are the same numbers.
    """
    data, places, vector = rows.data, rows.indices, factors
    if vector is None:
        places, vector = _counting(1 << len(data).bit_length(), places.dtype)[: len(data)], data
    else:
        data = np.square(data)
    parts = (data, places, rows.indptr)
    return np.asarray(made_of(type(rows), parts, (rows.shape[0], len(vector))) @ vector)


def sparse_sizes(rows: Any) -> FloatArray:
    """The root mean square of each column of some sparse rows; no zero is written down."""
    n, d = rows.shape
    most = np.full(d, TINY)
    np.maximum.at(most, rows.indices, np.abs(rows.data))
    squares = np.square(rows.data / most[rows.indices])
    return np.asarray(most * np.sqrt(np.bincount(rows.indices, squares, d) / max(1, n)))


class Frame(NamedTuple):
    """How rows are measured: what they are moved by, the units of columns, whether all are one."""

    shift: FloatArray | None
    unit: FloatArray
    plain: bool


class Rows:
    """X, of the shape n × d, in blocks of double precision, moved by `shift` if the bias is free.

    `unit` are powers of two, `width` is the number of products in a score, at most, and `spans` are
    the blocks, which depend on nothing but the shape of X. Rows that are a part of others are
    measured as those, by their `frame`. No fewer than `roundings` are charged for a sum of rows.
    """

    def __init__(
        self,
        X: Any,
        movable: bool,
        each: Each = map,
        frame: Frame | None = None,
        roundings: int = 0,
    ) -> None:
        if hasattr(X, "tocsr"):  # rows that others have moved can be moved only if they are dense
            moved = frame is not None and frame.shift is not None
            X = X.toarray() if moved else X.tocsr()
        self.sparse, self.each = hasattr(X, "indptr"), each
        if self.sparse and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # an entry that is stored twice would be counted once in a length
        self.X, self.movable, self.roundings = X, movable, roundings
        self.n, self.d = int(X.shape[0]), int(X.shape[1])
        self.width = int(np.diff(X.indptr).max(initial=0)) if self.sparse else self.d
        entries = 2 * X.nnz / max(1, self.n) if self.sparse else self.d
        step = int(min(max(1, BLOCK_BYTES // (8 * max(1.0, entries))), BLOCK_ROWS))
        self.spans = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        self._lengths: FloatArray | None = None
        self.shift: FloatArray | None = None
        self.also: Callable[[slice, Any], Any] | None = None  # is called with each block once
        if frame is None:
            self._measure()
        else:
            self.shift, self.unit, self.plain = frame

    @property
    def frame(self) -> Frame:
        """How these rows are measured, for others that are to be measured alike."""
        return Frame(self.shift, self.unit, self.plain)

    @np.errstate(all="ignore")
    def _measure(self) -> None:
        """Choose shift and unit by looking at some rows; any choice gives valid bounds."""
        some = self.X[:: max(1, self.n // SAMPLE)].astype(np.float64, copy=False)
        if self.sparse:
            size = sparse_sizes(some if some.shape[0] * self.d < LARGEST_SAMPLE else some[:0])
        else:
            if self.movable:  # sparse rows would have to store zeros
                some = self._moved(some)
            most = np.maximum.reduce(np.abs(some), initial=TINY)
            size = most * np.sqrt(column_means(np.square(some / most)))
        size = np.where((size > 2.0**-960) & (size < math.inf), size, 1.0)
        powers = np.minimum(np.frexp(math.sqrt(2.0) * size)[1] - 1, 960)  # log₂ of it, rounded
        # Columns of about the size one need no unit: that saves a product of each entry.
        self.plain, self.unit = not powers.any(), np.ldexp(1.0, powers)

    def _moved(self, some: FloatArray) -> FloatArray:
        """Choose the shift by some rows, and move them by it."""
        spread = column_means(np.abs(some - some[0]))
        # The mean of equal numbers may be rounded, and what is left of them then counts.
        centre = np.where(spread > 0, column_means(some), some[0])
        far = (np.abs(centre) > FAR * spread) & np.isfinite(centre)
        if not far.any():
            return some
        self.shift = np.where(far, centre, 0.0)
        return some - self.shift

    def read(self, span: slice) -> Any:
        """Some rows in double precision; no entry is copied unless it has to be changed."""
        if not self.sparse:
            rows = np.asarray(self.X[span]).astype(np.float64, copy=False)
            return rows if self.shift is None else rows - self.shift
        begin, end = self.X.indptr[span.start], self.X.indptr[span.stop]
        data = self.X.data[begin:end].astype(np.float64, copy=False)
        pointers = self.X.indptr[span.start : span.stop + 1] - begin
        parts = (data, self.X.indices[begin:end], pointers)
        return made_of(type(self.X), parts, (len(pointers) - 1, self.d))

    def _block_lengths(self, rows: Any) -> FloatArray:
        if self.sparse:
            sums = self._sparse_squares(rows)
        else:
            scaled = rows if self.plain else rows * (1.0 / self.unit)
            sums = np.einsum("ij,ij->i", scaled, scaled)
        # One rounding of x − m, one of the square, those of the sum, and that of the root.
        return np.asarray(np.sqrt(sums) * (1.0 + gamma(self.width + 8)) + SMALL)

    def _sparse_squares(self, rows: Any) -> FloatArray:
        """Σ (x/unit)²; where a square may leave the range of numbers, of what was divided."""
        if self.plain or self.unit.min(initial=1.0) >= SMALLEST_UNIT:
            sums = row_squares(rows, None if self.plain else 1.0 / np.square(self.unit))
            if np.isfinite(sums).all():
                return sums
        divided = rows.data / self.unit[rows.indices]
        return row_squares(made_of(type(rows), (divided, rows.indices, rows.indptr), rows.shape))

    @property
    def lengths(self) -> FloatArray:
        """‖(x − m)/unit‖ of each row, rounded up; computed once."""
        if self._lengths is None:
            list(self.blocks(lambda span, rows: None))
        assert self._lengths is not None
        return self._lengths

    def blocks(self, use: Callable[[slice, Any], Any]) -> Iterator[Any]:
        """What `use` finds in each block; the first pass measures the lengths besides."""
        first = self._lengths is None
        lengths = np.empty(self.n) if self._lengths is None else self._lengths

        def read(span: slice) -> Any:
            with np.errstate(all="ignore"):
                rows = self.read(span)
                if first:
                    lengths[span] = self._block_lengths(rows)
                    if self.also is not None:
                        self.also(span, rows)
                return use(span, rows)

        yield from self.each(read, self.spans)
        if first and not np.isfinite(lengths).all():
            raise Objection("rows")
        self._lengths = lengths

    def longest(self) -> float:
        """max ‖x − m‖, rounded up."""
        return above(float(self.unit.max(initial=0.0)) * float(self.lengths.max(initial=0.0)))

    def scores(
        self, thetas: FloatArray, biases: Sequence[Sequence[float]], use: Any = None
    ) -> tuple[FloatArray, FloatArray, tuple[Any, int]]:
        """Xθ + b for each column of θ, and how far each score may be off; b is a sum of numbers.

        Also the sum of what `use` makes of each block and its scores, while they are at hand.
        """
        moved = [self.moved_bias(theta, b) for theta, b in zip(thetas.T, biases, strict=True)]
        offsets = np.array([value for value, _ in moved])
        sizes = np.array([up(norm_up(theta * self.unit) + TINY) for theta in thetas.T])
        if not (np.isfinite(offsets).all() and np.isfinite(sizes).all()):
            raise Objection("not finite")
        directions = np.ascontiguousarray(thetas.T)
        z = np.empty((self.n, thetas.shape[1]))

        def read(span: slice, rows: Any) -> Any:
            for k, direction in enumerate(directions):  # the bits of one depend on no other
                z[span, k] = np.asarray(rows @ direction) + offsets[k]
            return use(span, rows, z[span]) if use else 0.0

        whole = pairwise(self.blocks(read))
        factor = gamma(self.width + 6) * (1.0 + 16 * U)
        slack = np.array([up(off + factor * abs(value)) + TINY for value, off in moved])
        return z, self.lengths[:, None] * (factor * sizes) + slack, whole

    def moved_bias(self, theta: FloatArray, biases: Sequence[float]) -> tuple[float, float]:
        """b + m·θ and how far it is off."""
        return total(biases) if self.shift is None else dot(self.shift, theta, biases)

    def combine(self, rows: Any, factors: FloatArray) -> FloatArray:
        """Xᵀc of one block; dense rows with no factor at all are not read."""
        if not self.sparse:  # to choose sparse ones takes longer
            used = np.asarray(factors.any(axis=1)).nonzero()[0]
            if 4 * len(used) < len(factors):
                rows, factors = rows[used], factors[used]
        turned = flipped(rows)
        return np.array([turned @ column for column in np.ascontiguousarray(factors.T)]).T

    @np.errstate(all="ignore")
    def pull(self, c: FloatArray, whole: tuple[FloatArray, int] | None = None) -> list[Pull]:
        """Xᵀc for each column of c, and how far each may be off: infinitely far where too large.

        `whole` is the sum of all `combine`, if there is one already.
        """
        if whole is None:
            whole = pairwise(self.blocks(lambda span, rows: self.combine(rows, c[span])))
        factor = gamma(max(self.spans[0].stop + whole[1], self.roundings) + 4)
        lost = above(self.n * self.d * 2.0**-1074 / float(self.unit.min(initial=1.0)))  # underflow
        found, nothing = [], Pull(np.zeros(self.d), self.unit, math.inf)
        for u, column in zip(whole[0].T, np.ascontiguousarray(c.T), strict=True):
            mass = np.abs(column) @ self.lengths
            off = up(above(factor * above(float(mass), self.n + 2), 2) + lost)
            found.append(Pull(u, self.unit, off) if np.isfinite(u.sum() + off) else nothing)
        return found
