"""What a kernel is: a frozen value that gives blocks of Gram matrices and prints as a formula."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.kernel.products import as_rows, filled
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.source import MatrixLike

if TYPE_CHECKING:
    from cotas.kernel.algebra import (
        ExponentialOf,
        Normalized,
        OnColumns,
        Power,
        Product,
        Scaled,
        Sum,
    )


class KernelValueError(ValueError):
    """A kernel has no finite value somewhere: an overflow, or NaN from the data or a function."""


@dataclass(frozen=True)
class Side:
    """Rows, and what a kernel keeps about them: an entry of each note for each row.

    `inner` holds the sides of the kernels that a kernel is made of. `frame` is what two sides
    must have in common to be compared, such as the point that distances are measured from.
    """

    rows: Matrix
    notes: tuple[FloatArray, ...] = ()
    inner: tuple[Side, ...] = ()
    frame: Any = None

    def take(self, which: Any) -> Side:
        """Return some of the rows, with their notes."""
        return Side(
            self.rows[which],
            tuple(note[which] for note in self.notes),
            tuple(side.take(which) for side in self.inner),
            self.frame,
        )

    def __len__(self) -> int:
        return int(self.rows.shape[0])


class Kernel(ABC):
    """A function k(x, x′) = φ(x)·φ(x′) of two rows.

    Kernels are frozen values: equal if they have the same formula, hashable, picklable. They can
    be combined by the operations that keep a kernel valid: `k1 + k2`, `k1 * k2`, `c * k` with
    c > 0, `k + c` with c ≥ 0, `k ** p` with a positive integer p, `k.exp()`, `k.normalized()` and
    `k.on(columns)`.

    Examples
    --------
    >>> from cotas import kernels
    >>> k = 2 * kernels.RBF(0.5) + kernels.Linear() ** 2
    >>> print(k)
    2·exp(−‖x−x′‖²/(2·0.5²)) + (x·x′)²
    >>> k([[1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]).round(4)
    array([[3.    , 0.2707]])
    """

    # True if the formula alone shows that every Gram matrix is positive semi-definite; None if
    # that has to be looked at on the data.
    known_mercer: bool | None = True

    @abstractmethod
    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Return the formula, with these names for the two rows."""

    @abstractmethod
    def spec(self) -> Any:
        """Return the kernel as plain data, from which the checker computes it by itself."""

    def _side(self, X: Matrix, like: Side | None) -> Side:
        """Return what depends on these rows alone, in the frame of another side if there is one."""
        return Side(X)

    @abstractmethod
    def _block(self, left: Side, right: Side, dtype: Any) -> AnyArray:
        """Compute k of each row of the left with each of the right, in an array of its own."""

    @abstractmethod
    def _diagonal(self, side: Side) -> FloatArray:
        """Compute k(x, x) of each row."""

    def __call__(self, A: MatrixLike, B: MatrixLike | None = None) -> FloatArray:
        """Compute the matrix of k(a, b) for each row a of A and each row b of B (of A if B is
        None)."""
        prepared = self.prepare(A if B is None else B)
        return prepared.rows(np.arange(len(prepared))) if B is None else prepared.against(A)

    def diagonal(self, A: Matrix) -> FloatArray:
        """Compute k(a, a) of each row of A."""
        return self.prepare(A).diagonal

    def prepare(self, X: MatrixLike, indices: IntArray | None = None) -> Prepared:
        """Keep what depends on the rows of X alone (of X[indices], if given), such as norms.

        X itself is not copied; rows that are not very sparse are made dense.
        """
        X = as_rows(X)
        return Prepared(self, X if indices is None else filled(X[indices]))

    def _whole(self, X: MatrixLike) -> FloatArray:
        """Return the Gram matrix as it is, valid or not."""
        prepared = Prepared(self, as_rows(X))
        return np.asarray(prepared.rows(np.arange(len(prepared))))

    def exp(self) -> ExponentialOf:
        """Compute exp(k): a power series in k with positive coefficients."""
        from cotas.kernel.algebra import ExponentialOf

        return ExponentialOf(self)

    def normalized(self) -> Normalized:
        """Compute k(x, x′)/√(k(x, x)·k(x′, x′)): the cosine of the angle between φ(x) and φ(x′)."""
        from cotas.kernel.algebra import Normalized

        return Normalized(self)

    def on(self, columns: Sequence[int] | IntArray) -> OnColumns:
        """Return the same kernel on some of the columns only."""
        from cotas.kernel.algebra import OnColumns

        return OnColumns(self, columns)

    def __add__(self, other: Any) -> Sum:
        from cotas.kernel.algebra import Sum
        from cotas.kernel.functions import Constant

        if isinstance(other, Real):
            other = Constant(float(other))
        return Sum.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        # `sum(kernels)` begins with the number zero.
        return self if isinstance(other, Real) and other == 0 else self + other

    def __mul__(self, other: Any) -> Product | Scaled:
        from cotas.kernel.algebra import Product, Scaled

        if isinstance(other, Real):
            return Scaled(float(other), self)
        return Product.of(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Power:
        from cotas.kernel.algebra import Power

        return Power(self, exponent)

    def __repr__(self) -> str:
        return self.formula()


class Prepared:
    """A kernel beside the rows of X, with what depends on X alone computed once.

    Attributes
    ----------
    diagonal : array of k(x, x)
    """

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        self.kernel, self.X = kernel, X
        with np.errstate(over="ignore", invalid="ignore"):
            self._side = kernel._side(X, None)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @cached_property
    def diagonal(self) -> FloatArray:
        """Compute k(x, x) of each row."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.kernel._diagonal(self._side)
        return np.asarray(self._finite(values), dtype=np.float64)

    def rows(self, indices: IntArray, dtype: Any = np.float64) -> AnyArray:
        """Return the rows of the Gram matrix with these numbers, as an array (len(indices), n).

        Each call is one product of matrices. What lies on the diagonal of the Gram matrix is
        exactly `diagonal`.
        """
        indices = np.asarray(indices)
        out = self._compared(self._side.take(indices), dtype)
        out[np.arange(len(indices)), indices] = self.diagonal[indices]
        return out

    def against(self, A: MatrixLike, dtype: Any = np.float64) -> AnyArray:
        """Compute k(a, x) for each row a of A and each row x of X, as an array (len(A), n)."""
        A = as_rows(A, "A")
        if A.shape[1] != self.X.shape[1]:
            raise ParameterError(
                "X",
                f"The rows have {A.shape[1]} columns, and those they are compared with "
                f"{self.X.shape[1]}; they need the same.",
            )
        with np.errstate(over="ignore", invalid="ignore"):
            left = self.kernel._side(A, self._side)
        return self._compared(left, dtype)

    def _compared(self, left: Side, dtype: Any) -> AnyArray:
        with np.errstate(over="ignore", invalid="ignore"):
            out = self.kernel._block(left, self._side, np.dtype(dtype).type)
        return self._finite(out)

    def _finite(self, values: AnyArray) -> AnyArray:
        # The extremes are enough: NaN is the largest and the smallest of what it is among.
        if values.size and not (np.isfinite(values.max()) and np.isfinite(values.min())):
            raise KernelValueError(
                f"The kernel {self.kernel} has values that are not finite on these rows. Scale "
                "the columns (e.g. with StandardScaler), or the kernel. NaN in a row does it too."
            )
        return values


def number(value: float) -> str:
    """Return a number as people write it."""
    return f"{value:.6g}"


def check_above_zero(value: Any, name: str) -> float:
    """Return a finite number above zero."""
    if not isinstance(value, Real):
        raise ParameterTypeError(name, f"{name} must be a number, not {value!r}.")
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ParameterError(name, f"{name} must be a finite number above zero, not {value!r}.")
    return number


def check_exponent(value: Any, name: str) -> int:
    """Return an integer of at least one."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise ParameterError(name, f"{name} must be an integer of at least 1, not {value!r}.")
    return int(value)
