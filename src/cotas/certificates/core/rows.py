"""The data as rows of numbers: scores Xθ + b and combinations Xᵀc, with what rounding left open.

With a free bias every column may be moved by any number: (x − m)·θ + (b + m·θ) is the same score,
and columns far from zero then lose no digits. Columns are measured in units of about their own
size, powers of two, so that one bound serves large and small ones:

    |Σ xⱼθⱼ − computed| ≤ γ Σ|xⱼθⱼ| ≤ γ ‖x/unit‖ ‖unit·θ‖        (Cauchy and Schwarz)

Any m and any units, the frame of the rows, give valid bounds. `sparse_rows.py` reads sparse rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core.bounds import Objection, Pull

from cotas.certificates.core.rounding import (  # isort: skip
    SMALL, TINY, FloatArray, U, above, dot, gamma, norm_up, total, up,
)  # fmt: skip

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

# Bytes of a block, which should stay in the cache, and its rows, which rounding counts.
BLOCK_BYTES, BLOCK_ROWS = 1 << 20, 1024


def pairwise(parts: Iterable[Any]) -> tuple[Any, int]:
    """Sum arrays, added up two by two, and the number of additions that each went through."""
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


class Frame(NamedTuple):
    """A frame in which rows are measured: what they are moved by, and the units of columns."""

    shift: FloatArray | None
    unit: FloatArray

    def refuse(self) -> None:
        """Refuse units that are no powers of two, and a shift that is no number."""
        sound = (self.unit > 0) & (self.unit < math.inf) & (np.frexp(self.unit)[0] == 0.5)
        if not sound.all() or (self.shift is not None and not np.isfinite(self.shift).all()):
            raise Objection("rows")


class Rows:
    """A matrix X, of the shape n × d, in blocks of double precision, moved by the shift of a frame.

    `width` is the number of products in a score, at most, and `spans` are the blocks, which depend
    on nothing but the shape of X. No fewer than `roundings` are charged for a sum of rows.
    """

    sparse = movable = False

    def __init__(self, X: Any, frame: Frame, each: Each = map, roundings: int = 0) -> None:
        frame.refuse()
        self.X, self.frame, self.each, self.roundings = X, frame, each, roundings
        self.shift, self.unit = frame
        # Columns of about the size one need no unit: that saves a product of each entry.
        self.plain = bool((self.unit == 1.0).all())
        self.n, self.d = int(X.shape[0]), int(X.shape[1])
        self.width, entries = self._entries()
        step = int(min(max(1, BLOCK_BYTES // (8 * max(1.0, entries))), BLOCK_ROWS))
        self.spans = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        self._lengths: FloatArray | None = None
        self.also: Callable[[slice, Any], Any] | None = None  # is called with each block once

    def _entries(self) -> tuple[int, float]:
        """Count the entries of a row, at most and on average."""
        return self.d, self.d

    def read(self, span: slice) -> Any:
        """Return some rows in double precision; no entry is copied unless it has to be changed."""
        rows = np.asarray(self.X[span]).astype(np.float64, copy=False)
        return rows if self.shift is None else rows - self.shift

    def _squares(self, rows: Any) -> FloatArray:
        """Compute ‖(x − m)/unit‖² of each row, up to one rounding for each entry and two more."""
        scaled = rows if self.plain else rows * (1.0 / self.unit)
        return np.asarray(np.einsum("ij,ij->i", scaled, scaled))

    @property
    def lengths(self) -> FloatArray:
        """Compute ‖(x − m)/unit‖ of each row, rounded up; computed once."""
        if self._lengths is None:
            list(self.blocks(lambda span, rows: None))
        assert self._lengths is not None
        return self._lengths

    def blocks(self, use: Callable[[slice, Any], Any]) -> Iterator[Any]:
        """Yield what `use` finds in each block; the first pass measures the lengths besides."""
        first = self._lengths is None
        lengths = np.empty(self.n) if self._lengths is None else self._lengths
        # One rounding of x − m, one of the square, those of the sum, and that of the root.
        factor = 1.0 + gamma(self.width + 8)

        def read(span: slice) -> Any:
            with np.errstate(all="ignore"):
                rows = self.read(span)
                if first:
                    lengths[span] = np.sqrt(self._squares(rows)) * factor + SMALL
                    if self.also is not None:
                        self.also(span, rows)
                return use(span, rows)

        yield from self.each(read, self.spans)
        if first and not np.isfinite(lengths).all():
            raise Objection("rows")
        self._lengths = lengths

    def scores(
        self, thetas: FloatArray, biases: Sequence[Sequence[float]], use: Any = None
    ) -> tuple[FloatArray, FloatArray, tuple[Any, int]]:
        """Compute Xθ + b for each column of θ, b a sum of numbers, and how far each may be off.

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
        """Compute b + m·θ and how far it is off."""
        return total(biases) if self.shift is None else dot(self.shift, theta, biases)

    def combine(self, rows: Any, factors: FloatArray) -> FloatArray:
        """Compute Xᵀc of one block; rows with no factor at all are not read."""
        used = np.asarray(factors.any(axis=1)).nonzero()[0]
        if 4 * len(used) < len(factors):
            rows, factors = rows[used], factors[used]
        return np.array([rows.T @ column for column in np.ascontiguousarray(factors.T)]).T

    @np.errstate(all="ignore")
    def pull(self, c: FloatArray, whole: tuple[FloatArray, int] | None = None) -> list[Pull]:
        """Compute Xᵀc for each column of c, and how far it may be off: infinitely where too large.

        `whole` is the sum of all `combine`, if there is one already.
        """
        if whole is None:
            whole = pairwise(self.blocks(lambda span, rows: self.combine(rows, c[span])))
        factor = gamma(max(self.spans[0].stop + whole[1], self.roundings) + 4)
        lost = above(self.n * self.d * 2.0**-1074 / float(self.unit.min(initial=1.0)))  # underflow
        found, no_pull = [], Pull(np.zeros(self.d), self.unit, math.inf)
        for u, column in zip(whole[0].T, np.ascontiguousarray(c.T), strict=True):
            mass = np.abs(column) @ self.lengths
            off = up(above(factor * above(float(mass), self.n + 2), 2) + lost)
            found.append(Pull(u, self.unit, off) if np.isfinite(u.sum() + off) else no_pull)
        return found
