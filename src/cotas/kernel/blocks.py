"""Parts of the Gram matrix for the solvers, in the precision they ask for."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from cotas.arrays import AnyArray, IntArray, Matrix
from cotas.design.blocks import row_spans
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel, Prepared, Side
from cotas.kernel.products import dense_rows

# In single precision the exponent of an RBF is off by some roundings of the squared lengths: up
# to this exponent its values are right to about five digits, which is enough to choose steps by.
SAFE_IN_SINGLE = 64.0


class KernelBlocks:
    """k(xᵢ, xⱼ) for any rows and columns of X.

    In single precision a dense copy of X in that precision is used where it fits into `room`
    bytes (`copied` tells how many it takes); else the rows are converted as they are needed. In
    double precision X is used as it is. The number of rows of X is the size of the matrix.
    """

    def __init__(self, kernel: Kernel, X: Matrix, room: int) -> None:
        self._double = General(kernel.prepare(X), np.float64)
        n, d = X.shape
        self._single: _Maker = General(self._double.prepared, np.float32)
        self.copied = 0
        if 4 * n * (d + 2) <= room:
            self.copied = 4 * n * (d + 2)
            radial = Radial.of(kernel, X) if isinstance(kernel, RBF) else None
            copy = dense_rows(X, np.float32) if radial is None else X
            self._single = radial or General(kernel.prepare(copy), np.float32)

    def __len__(self) -> int:
        return len(self._double.prepared)

    def side(self, rows: IntArray, dtype: Any) -> tuple[_Maker, Any]:
        """Some rows of X, ready to be compared in that precision."""
        maker = self._single if dtype is np.float32 else self._double
        return maker, maker.side(rows)

    def block(self, side: tuple[_Maker, Any], columns: slice | IntArray) -> AnyArray:
        """k of each of these rows with each of the given columns."""
        maker, left = side
        return maker.block(left, columns)


class _Maker(Protocol):
    def side(self, rows: IntArray) -> Any: ...

    def block(self, side: Any, columns: slice | IntArray) -> AnyArray: ...


class General:
    """Blocks of any kernel, computed by itself."""

    def __init__(self, prepared: Prepared, dtype: Any) -> None:
        self.prepared, self.dtype = prepared, dtype

    def side(self, rows: IntArray) -> Side:
        """Some rows of X with what the kernel keeps about them."""
        return self.prepared._side.take(rows)

    def block(self, side: Side, columns: slice | IntArray) -> AnyArray:
        """k of each of these rows with each of the given columns."""
        right = self.prepared._side.take(columns)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.prepared.kernel._block(side, right, self.dtype)


class Radial:
    """Blocks of an RBF in single precision, by one product of matrices and one exponential.

    With u = √(2γ)(x − centre) the exponent is −½‖u − v‖² = (u, 1, −½‖u‖²)·(v, −½‖v‖², 1).
    """

    def __init__(self, rows: AnyArray) -> None:
        self.rows = rows

    @classmethod
    def of(cls, kernel: RBF, X: Matrix) -> Radial | None:
        """None where single precision would not be enough."""
        n, d = X.shape
        rows = np.empty((n, d + 2), dtype=np.float32)
        scale = np.sqrt(2.0) * kernel.inverse_length
        centre = X.mean(axis=0, dtype=np.float64)
        centre = np.asarray(centre).reshape(-1)
        for span in row_spans(X, d):
            u = dense_rows(X[span], np.float64) - centre
            u *= scale
            rows[span, :d] = u
            rows[span, d] = -0.5 * np.einsum("ij,ij->i", u, u)
        rows[:, d + 1] = 1.0
        return cls(rows) if -rows[:, d].min() <= SAFE_IN_SINGLE else None

    def side(self, rows: IntArray) -> AnyArray:
        """Some rows with their last two entries exchanged."""
        left = self.rows[rows]
        left[:, -1], left[:, -2] = left[:, -2].copy(), 1.0
        return left

    def block(self, side: AnyArray, columns: slice | IntArray) -> AnyArray:
        """exp of the products."""
        out = side @ self.rows[columns].T
        return np.exp(out, out=out)
