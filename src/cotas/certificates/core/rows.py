"""The data as rows of numbers: scores Xθ + b and combinations Xᵀc, with their rounding.

With a free bias every column may be moved by any number: (x − m)·θ + (b + m·θ) is the same score,
and columns far from zero then lose no digits. Columns are measured in units of about their own
size, powers of two, so that one bound serves large and small ones:

    |Σ xⱼθⱼ − computed| ≤ γ Σ|xⱼθⱼ| ≤ γ ‖x/unit‖ ‖unit·θ‖        (Cauchy and Schwarz)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.regularizers import Pull
from cotas.certificates.core.rounding import (
    SMALL,
    TINY,
    FloatArray,
    U,
    above,
    dot,
    gamma,
    norm_up,
    up,
)

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

# Bytes of a block, which should stay in the cache, and its rows, which rounding counts.
BLOCK_BYTES, BLOCK_ROWS, SAMPLE = 1 << 20, 1024, 256
# A column is moved if its centre is so many times as far from zero as its rows are from it.
FAR = 4.0


def pairwise(parts: Iterable[Any]) -> tuple[Any, int]:
    """Σ of arrays, added up two by two, and the number of additions that each went through."""
    stack: list[Any] = []
    count = 0
    for part in parts:
        stack.append(part)
        count += 1
        for _ in range((count & -count).bit_length() - 1):
            last = stack.pop()
            stack[-1] = stack[-1] + last
    whole = stack.pop()
    while stack:
        whole = stack.pop() + whole
    return whole, 2 * count.bit_length()


class Rows:
    """X in blocks of double precision, moved by `shift` where the bias is free.

    Attributes
    ----------
    n, d : its shape
    shift : m, or None where nothing is moved
    unit : powers of two, about the size of each column
    lengths : upper bounds of ‖(x − m)/unit‖ of each row
    width : the products that a score is the sum of, at most
    """

    def __init__(self, X: Any, movable: bool, each: Each = map) -> None:
        self.sparse, self.each = hasattr(X, "indptr"), each
        if self.sparse and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # an entry that is stored twice would be counted once in a length
        self.X, self.movable = X, movable
        self.n, self.d = int(X.shape[0]), int(X.shape[1])
        self.width = self.d
        if self.sparse:
            self.width = int(np.diff(X.indptr).max(initial=0))
        self._measure(movable)
        self._lengths: FloatArray | None = None
        self.also: Callable[[slice, Any], Any] | None = None  # is called with each block once

    def _measure(self, movable: bool) -> None:
        """Choose shift and unit by looking at some rows; any choice gives valid bounds."""
        self.shift: FloatArray | None = None
        some = self.read(slice(0, self.n, max(1, self.n // SAMPLE)), moved=False)
        with np.errstate(all="ignore"):
            if self.sparse:
                some = some.toarray() if some.shape[0] * self.d < 1 << 22 else np.zeros((1, self.d))
            centre = np.asarray(some.mean(axis=0))
            spread = np.asarray(np.abs(some - some[:1]).mean(axis=0))
            far = (spread > 0) & (np.abs(centre) > FAR * spread) & np.isfinite(centre)
            if movable and far.any() and not self.sparse:  # sparse rows would have to store zeros
                self.shift = np.where(far, centre, 0.0)
                some = some - self.shift
            size = np.asarray(np.abs(some).mean(axis=0))
            sound = np.isfinite(size) & (size > 2.0**-960)
            powers = np.clip(np.round(np.log2(np.where(sound, size, 1.0))), -960, 960)
        # Columns of about the size one need no unit: that saves a product of each entry.
        self.plain = not powers.any()
        self.unit = np.exp2(powers)

    def read(self, span: slice, moved: bool = True) -> Any:
        """Some rows in double precision; no entry is copied unless it has to be changed."""
        if not self.sparse:
            rows = np.asarray(self.X[span]).astype(np.float64, copy=False)
            return rows - self.shift if moved and self.shift is not None else rows
        if span.step not in (None, 1):
            return self.X[span].astype(np.float64)
        begin, end = self.X.indptr[span.start], self.X.indptr[span.stop]
        data = self.X.data[begin:end].astype(np.float64, copy=False)
        pointers = self.X.indptr[span.start : span.stop + 1] - begin
        parts = (data, self.X.indices[begin:end], pointers)
        return type(self.X)(parts, shape=(len(pointers) - 1, self.d), copy=False)

    def spans(self) -> list[slice]:
        """The blocks, which depend on nothing but the shape of X."""
        entries = 2 * self.X.nnz / max(1, self.n) if self.sparse else self.d
        rows = int(min(max(1, BLOCK_BYTES // (8 * max(1.0, entries))), BLOCK_ROWS))
        return [slice(i, min(i + rows, self.n)) for i in range(0, self.n, rows)]

    def _block_lengths(self, rows: Any) -> FloatArray:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if not self.sparse:
                scaled = rows if self.plain else rows * (1.0 / self.unit)
                squares = np.einsum("ij,ij->i", scaled, scaled)
            else:
                scaled = rows.data / self.unit[rows.indices]
                squares = np.zeros(rows.shape[0])
                filled = rows.indptr[1:] > rows.indptr[:-1]
                if filled.any():
                    squares[filled] = np.add.reduceat(scaled * scaled, rows.indptr[:-1][filled])
        # One rounding of x − m, one of the square, those of the sum, and that of the root.
        return np.asarray(np.sqrt(squares) * (1.0 + gamma(self.width + 8)) + SMALL)

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

        @np.errstate(over="ignore", invalid="ignore")
        def read(span: slice) -> Any:
            rows = self.read(span)
            if first:
                lengths[span] = self._block_lengths(rows)
                if self.also is not None:
                    self.also(span, rows)
            return use(span, rows)

        yield from self.each(read, self.spans())
        if not np.isfinite(lengths).all():
            raise Objection("rows")
        self._lengths = lengths

    def longest(self) -> float:
        """max ‖x − m‖, rounded up."""
        return above(float(self.unit.max(initial=0.0)) * float(self.lengths.max(initial=0.0)))

    def scores(
        self, thetas: FloatArray, biases: Sequence[Sequence[float]]
    ) -> tuple[FloatArray, FloatArray]:
        """Xθ + b for each column of θ, and how far each score may be off; b is a sum of numbers."""
        return self.scores_and(thetas, biases, lambda span, rows, z: 0.0)[:2]

    def scores_and(
        self, thetas: FloatArray, biases: Sequence[Sequence[float]], use: Callable[..., Any]
    ) -> tuple[FloatArray, FloatArray, tuple[Any, int]]:
        """The scores, and the sum of what `use` makes of each block while it is at hand."""
        moved = [self.moved_bias(theta, b) for theta, b in zip(thetas.T, biases, strict=True)]
        offsets = np.array([value for value, _ in moved])
        sizes = np.array([up(norm_up(theta * self.unit) + TINY) for theta in thetas.T])
        if not (np.isfinite(offsets).all() and np.isfinite(sizes).all()):
            raise Objection("not finite")
        directions = thetas[:, 0] if thetas.shape[1] == 1 else np.ascontiguousarray(thetas)
        z = np.empty((self.n, thetas.shape[1]))

        def read(span: slice, rows: Any) -> Any:
            z[span] = np.asarray(rows @ directions).reshape(-1, thetas.shape[1]) + offsets
            return use(span, rows, z[span])

        whole = pairwise(self.blocks(read))
        factor = gamma(self.width + 6) * (1.0 + 16 * U)
        slack = np.array([up(off + factor * abs(value)) for value, off in moved])
        return z, np.multiply.outer(self.lengths, factor * sizes) + (slack + TINY), whole

    def moved_bias(self, theta: FloatArray, biases: Sequence[float]) -> tuple[float, float]:
        """b + m·θ and how far it is off."""
        if self.shift is None:
            return dot(np.zeros(0), np.zeros(0), biases)
        return dot(self.shift, theta, biases)

    def pull(self, c: FloatArray) -> list[Pull]:
        """Xᵀc for each column of c, and how far each may be off."""
        return self.pulled(c, pairwise(self.blocks(lambda span, rows: self.combine(rows, c[span]))))

    def combine(self, rows: Any, factors: FloatArray) -> FloatArray:
        """Xᵀc of one block; rows with no factor at all are not read."""
        used = np.flatnonzero(factors.any(axis=1))
        if 4 * len(used) < len(factors):
            rows, factors = rows[used], factors[used]
        product = rows.T @ (factors[:, 0] if factors.shape[1] == 1 else factors)
        return np.asarray(product).reshape(self.d, -1)

    def pulled(self, c: FloatArray, whole: tuple[FloatArray, int]) -> list[Pull]:
        """What the sum of all `combine` is, and how far it may be off."""
        u, additions = whole
        with np.errstate(over="ignore", invalid="ignore"):
            masses = np.abs(c).T @ self.lengths
        tallest = max(span.stop - span.start for span in self.spans())
        factor = gamma(tallest + additions + 4)
        lost = self.n * self.d * 2.0**-1074 / float(self.unit.min(initial=1.0))  # by underflow
        lost = above(lost)
        offs = [up(above(factor * above(float(mass), self.n + 2), 2) + lost) for mass in masses]
        if not (np.isfinite(u).all() and all(map(math.isfinite, offs))):
            raise Objection("not finite")
        return [Pull(column, self.unit, off) for column, off in zip(u.T, offs, strict=True)]

    def column_lengths(self, s: FloatArray, sum_low: float) -> tuple[FloatArray, FloatArray]:
        """√(Σ sᵢ(xᵢⱼ − aⱼ)²/S) for a centre a of each column, rounded up, and |a| from the shift.

        Sparse columns are measured from zero.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            parts = self.each(lambda span: self.read(span).T @ s[span], self.spans())
            centre = np.zeros(self.d) if self.sparse else pairwise(parts)[0] / sum_low

            def read(span: slice) -> FloatArray:
                rows = self.read(span)
                if self.sparse:
                    squares = rows.copy()
                    squares.data = np.square(squares.data / self.unit[squares.indices])
                    return np.asarray(squares.T @ s[span])
                return np.asarray(s[span] @ np.square((rows - centre) / self.unit))

            squares, additions = pairwise(self.each(read, self.spans()))
            lengths = np.sqrt(squares / sum_low) * (1.0 + gamma(BLOCK_ROWS + additions + 12))
            # What underflows is less than SMALL in these units.
            lengths = self.unit * (lengths + SMALL) * (1.0 + 4 * U) + TINY
        return np.where(np.isfinite(lengths), lengths, math.inf), np.abs(centre)
