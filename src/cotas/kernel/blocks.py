"""Blocks of kernel values, in the precision that is asked for."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix, Sparse
from cotas.design import Csr
from cotas.design.blocks import row_spans
from cotas.kernel.functions import Precomputed
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel, Prepared, Side
from cotas.kernel.products import dense_rows, row_squares
from cotas.loops import loop

# The exponent of an RBF is off by some roundings of the squared lengths, in units of its width.
# Up to these lengths its values are right to five digits in single precision, enough to choose
# steps by, and to twelve in double.
SAFE_EXPONENT = {np.float32: 64.0, np.float64: 512.0}
SMALL_COPY = 1 << 24  # bytes
TILE = 128  # rows of a symmetric matrix that are computed together
# Sparse rows are compared by their entries if they have at least so many zeros for each, and no
# more columns than these; so many bytes of each column then lie in the cache of a core.
WORTH_SKIPPING, MOST_COLUMNS, SCATTERED = 4, 1 << 13, 1 << 10


class Blocks(Protocol):
    """Blocks of k between any rows and the rows of one matrix X, its columns."""

    def left(self, A: Matrix) -> Any:
        """Return the rows of A, ready to be compared."""
        ...

    def own(self, rows: IntArray) -> Any:
        """Return some rows of X itself, ready to be compared."""
        ...

    def block(self, left: Any, columns: slice | IntArray) -> AnyArray:
        """Compute k of each of those rows with each of these rows of X."""
        ...

    def whole(self) -> AnyArray:
        """Compute k of each row of X with each."""
        ...


def blocks_of(kernel: Kernel, X: Matrix, dtype: Any, room: int) -> Blocks:
    """Return the fastest way to compute k with X that needs no copy of more than `room` bytes.

    The copy is dense and of the precision asked for. Where X is dense and has it already, only
    an RBF needs one; where there is no room, rows are converted as they are needed.
    """
    fits = bytes_of_copy(kernel, X, dtype) <= room
    if isinstance(kernel, Precomputed):
        return Given(X, dtype)
    if fits and isinstance(kernel, RBF):
        skips = sparse.issparse(X) and _entries_only(kernel, X)
        kinds = (SparseRadial, Radial) if skips else (Radial,)
        found = (kind.of(kernel, X, dtype) for kind in kinds)
        if radial := next((blocks for blocks in found if blocks is not None), None):
            return radial
    if fits and (sparse.issparse(X) or X.dtype != dtype):
        return General(kernel.prepare(dense_rows(X, dtype)), dtype)
    return General(kernel.prepare(X), dtype)


def bytes_of_copy(kernel: Kernel, X: Matrix, dtype: Any) -> int:
    """Compute what a copy of X in that precision takes, for an RBF of sparse rows of their
    entries."""
    size = np.dtype(dtype).itemsize
    if sparse.issparse(X) and _entries_only(kernel, X):
        return int(X.nnz * (size + X.indices.itemsize))
    return int(X.shape[0] * (X.shape[1] + 2) * size)


def _entries_only(kernel: Kernel, X: Sparse) -> bool:
    """Tell whether it is faster to go through the entries of the rows than to fill in their
    zeros."""
    narrow = isinstance(kernel, RBF) and X.shape[1] <= MOST_COLUMNS
    return narrow and bool(X.shape[0] * X.shape[1] >= WORTH_SKIPPING * X.nnz)


class General:
    """Blocks of any kernel, computed by itself."""

    def __init__(self, prepared: Prepared, dtype: Any) -> None:
        self._kernel, self._dtype = prepared.kernel, dtype
        self._side = prepared._side

    def left(self, A: Matrix) -> Side:
        """Return the rows of A with what the kernel keeps about them."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._kernel._side(A, self._side)

    def own(self, rows: IntArray) -> Side:
        """Return some rows of X with what the kernel keeps about them."""
        return self._side.take(rows)

    def block(self, left: Side, columns: slice | IntArray) -> AnyArray:
        """Compute k of each of those rows with each of these rows of X."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._kernel._block(left, self._side.take(columns), self._dtype)

    def whole(self) -> AnyArray:
        """Compute k of each row of X with each."""
        every = slice(None)
        return self.block(self._side.take(every), every)


class Radial:
    """Blocks of an RBF, by one product of matrices and one exponential.

    With u = √(2γ)(x − centre) the exponent is −½‖u − v‖² = (u, 1, −½‖u‖²)·(v, −½‖v‖², 1).
    """

    def __init__(self, rows: AnyArray, centre: FloatArray, scale: float) -> None:
        self._rows, self._centre, self._scale = rows, centre, scale

    @classmethod
    def of(cls, kernel: RBF, X: Matrix, dtype: Any) -> Radial | None:
        """Make the rows; None where this precision would not be enough."""
        scale = float(np.sqrt(2.0) * kernel.inverse_length)
        centre = np.asarray(X.mean(axis=0, dtype=np.float64)).reshape(-1)
        rows = np.empty((X.shape[0], X.shape[1] + 2), dtype=dtype)
        blocks = cls(rows, centre, scale)
        for span in row_spans(X, X.shape[1]):
            rows[span] = blocks.left(X[span])
        rows[:, -2:] = rows[:, [-1, -2]]
        return blocks if -rows[:, -2].min(initial=0.0) <= SAFE_EXPONENT[dtype] else None

    def left(self, A: Matrix) -> AnyArray:
        """Compute (u, 1, −½‖u‖²) of each row."""
        d = A.shape[1]
        out = np.empty((A.shape[0], d + 2), dtype=self._rows.dtype)
        u = dense_rows(A, np.float64) - self._centre
        u *= self._scale
        out[:, :d], out[:, d] = u, 1.0
        out[:, d + 1] = -0.5 * np.einsum("ij,ij->i", u, u)
        return out

    def own(self, rows: IntArray) -> AnyArray:
        """Return the same of some rows of X."""
        left = self._rows[rows]
        left[:, -1], left[:, -2] = left[:, -2].copy(), 1.0
        return left

    def block(self, left: AnyArray, columns: slice | IntArray) -> AnyArray:
        """Compute k of each of those rows with each of these rows of X."""
        out = left @ self._rows[columns].T
        return np.asarray(np.exp(out, out=out))

    def whole(self) -> AnyArray:
        """Compute k of each row of X with each: what lies below the diagonal is what lies above
        it."""
        n = len(self._rows)
        left, out = self.own(np.arange(n)), np.empty((n, n), dtype=self._rows.dtype)
        for start in range(0, n, TILE):
            here = slice(start, start + TILE)
            some = np.matmul(left[here], self._rows[start:].T, out=out[here, start:])
            np.exp(some, out=some)
            out[start + TILE :, here] = some[:, TILE:].T
        return out


class SparseRadial:
    """Blocks of an RBF between sparse rows, by the entries that they have.

    With u = √(2γ)x the exponent is −½‖u − v‖² = u·v − ½‖u‖² − ½‖v‖². Where the rows are whole
    numbers, such as ones, it is 2γx·x′ − γ‖x‖² − γ‖x′‖²: in single precision x·x′ is then exact.
    """

    def __init__(self, X: Matrix, dtype: Any, gamma: float) -> None:
        self._dtype, self._own = dtype, threading.local()
        self._whole = _are_whole(_summed(X))
        self._scale = 1.0 if self._whole else float(np.sqrt(2.0 * gamma))
        self._factor = 2.0 * gamma if self._whole else 1.0
        self._rows, self._halves = self.left(X)

    @classmethod
    def of(cls, kernel: RBF, X: Matrix, dtype: Any) -> SparseRadial | None:
        """Make the rows; None where this precision would not be enough."""
        blocks = cls(X, dtype, kernel.inverse_length**2)
        return blocks if -blocks._halves.min(initial=0.0) <= SAFE_EXPONENT[dtype] else None

    def left(self, A: Matrix) -> tuple[Sparse, AnyArray]:
        """Compute u or x of each row, and what of the exponent it has alone."""
        rows = _summed(A)
        rows.data *= self._scale
        halves = (-0.5 * self._factor * row_squares(rows)).astype(self._dtype)
        exact = self._whole and _are_whole(rows)
        return rows.astype(np.float32 if exact else self._dtype, copy=False), halves

    def own(self, rows: IntArray) -> tuple[Sparse, AnyArray]:
        """Return the same of some rows of X."""
        return self._rows[rows], self._halves[rows]

    def block(self, left: tuple[Sparse, AnyArray], columns: slice | IntArray) -> AnyArray:
        """Compute k of each of those rows with each of these rows of X."""
        if isinstance(columns, slice):
            columns = np.arange(*columns.indices(len(self._halves)))
        out = np.empty((len(left[1]), len(columns)), dtype=self._dtype)
        rows, halves = (_csr(left[0]), _csr(self._rows)), (left[1], self._halves[columns])
        sum_products(*rows, columns, self._factor, *halves, self._zeros(), out)
        return np.asarray(np.exp(out, out=out))

    def _zeros(self) -> AnyArray:
        """Tell where each thread scatters rows; to make it anew would take a part of their time."""
        if not hasattr(self._own, "zeros"):
            width = SCATTERED // self._rows.data.itemsize
            self._own.zeros = np.zeros((self._rows.shape[1], width), dtype=self._rows.dtype)
        found: AnyArray = self._own.zeros
        return found

    def whole(self) -> AnyArray:
        """Compute k of each row of X with each."""
        return self.block((self._rows, self._halves), slice(None))


def _summed(A: Matrix) -> sparse.csr_matrix:
    """Return a copy of sparse rows in double precision, each entry once."""
    rows = sparse.csr_matrix(A, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    return rows


def _are_whole(rows: Sparse) -> bool:
    """Tell whether all entries are whole numbers, and no sum of products is beyond 24 bits."""
    whole = (rows.data == np.rint(rows.data)).all()
    return bool(whole and row_squares(rows).max(initial=0.0) <= 1 << 24)


def _csr(rows: Sparse) -> Csr:
    return Csr(rows.data, rows.indices, rows.indptr, rows.shape[1])


@loop
def sum_products(
    left: Csr, right: Csr, columns: IntArray, factor: float, p: AnyArray, q: AnyArray,
    scattered: AnyArray, out: AnyArray,
) -> None:  # fmt: skip
    """Write factor·u·v + p + q into out, u being on the left and v one of these on the right.

    Some rows of the right at a time lie in the columns of `scattered`, which is zero before and
    after, so that an entry on the left is multiplied by all of them at once; four such entries
    take one pass over the row of the result.
    """
    x, j, sums = left.data, left.indices, np.empty(scattered.shape[1], dtype=left.data.dtype)
    for start in range(0, len(columns), scattered.shape[1]):
        some = columns[start : start + scattered.shape[1]]
        scatter(right, some, 1.0, scattered)
        for i in range(len(out)):
            row, k, end = sums[: len(some)], left.indptr[i], left.indptr[i + 1]
            row[:] = 0
            while k + 4 <= end:
                s, t = scattered[j[k]], scattered[j[k + 1]]
                u, v = scattered[j[k + 2]], scattered[j[k + 3]]
                for c in range(len(row)):
                    row[c] += x[k] * s[c] + x[k + 1] * t[c] + x[k + 2] * u[c] + x[k + 3] * v[c]
                k += 4
            for rest in range(k, end):
                s = scattered[j[rest]]
                for c in range(len(row)):
                    row[c] += x[rest] * s[c]
            for c in range(len(row)):
                out[i, start + c] = factor * row[c] + p[i] + q[start + c]
        scatter(right, some, 0.0, scattered)


@loop
def scatter(rows: Csr, some: IntArray, factor: float, out: AnyArray) -> None:
    """Write some rows, times a factor, into the columns of `out`, entry by entry."""
    for c in range(len(some)):
        for k in range(rows.indptr[some[c]], rows.indptr[some[c] + 1]):
            out[rows.indices[k], c] = factor * rows.data[k]


class Given:
    """Blocks of a precomputed matrix."""

    def __init__(self, K: Matrix, dtype: Any) -> None:
        self._K, self._dtype = K, dtype

    def left(self, A: Matrix) -> Matrix:
        """Return the kernel values of other rows with all the training rows."""
        return A

    def own(self, rows: IntArray) -> Matrix:
        """Return some rows of the matrix."""
        return self._K[rows]

    def block(self, left: Matrix, columns: slice | IntArray) -> AnyArray:
        """Return some of its columns."""
        return dense_rows(left[:, columns], self._dtype)

    def whole(self) -> AnyArray:
        """Return the matrix."""
        return dense_rows(self._K, self._dtype)


class KernelBlocks:
    """The Gram matrix of X for a solver; in single precision from a copy of X of that precision.

    `copied` tells how many bytes the copy takes, at most `room`. In double precision X is used as
    it is, unless it is small.
    """

    def __init__(self, kernel: Kernel, X: Matrix, room: int) -> None:
        self._kernel, self._X, self._room = kernel, X, room
        size = bytes_of_copy(kernel, X, np.float32)
        self.copied = size if size <= room else 0

    def __len__(self) -> int:
        return int(self._X.shape[0])

    def side(self, rows: IntArray, dtype: Any) -> tuple[Blocks, Any]:
        """Return some rows of X, ready to be compared in that precision."""
        blocks = self._single if dtype is np.float32 else self._double
        return blocks, blocks.own(rows)

    def block(self, side: tuple[Blocks, Any], columns: slice | IntArray) -> AnyArray:
        """Compute k of each of these rows with each of the given columns."""
        blocks, left = side
        return blocks.block(left, columns)

    def whole(self) -> AnyArray:
        """Compute k of each row with each, in double precision."""
        return self._double.whole()

    @cached_property
    def _single(self) -> Blocks:
        return blocks_of(self._kernel, self._X, np.float32, self._room)

    @cached_property
    def _double(self) -> Blocks:
        return blocks_of(self._kernel, self._X, np.float64, min(self._room, SMALL_COPY))
