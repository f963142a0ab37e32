"""The kernels of Fuentes-Pineda that are made of inner products, and a given Gram matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.kernel.interface import (
    Kernel,
    KernelValueError,
    Prepared,
    Side,
    check_above_zero,
    check_exponent,
    number,
)
from cotas.kernel.products import as_rows, dense_rows, norms, products, squared_norms
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.source import MatrixLike

SAMPLE = 256  # about so many rows of a given matrix are tested for symmetry


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """The linear kernel k(x, x′) = x·x′"""

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute x·x′"""
        return f"{x}·{z}"

    def spec(self) -> Any:
        """Return ("linear",)"""
        return ("linear",)

    def _block(self, left: Side, right: Side, dtype: Any) -> AnyArray:
        return products(left.rows, right.rows, dtype)

    def _diagonal(self, side: Side) -> FloatArray:
        return squared_norms(side.rows)


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """A constant kernel k(x, x′) = c, with c ≥ 0: one feature of value √c, what a penalized bias
    amounts to."""

    value: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0):
            raise ParameterError(
                "value", f"A constant kernel must be finite and not negative: {self.value!r}."
            )

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Return c."""
        return number(self.value)

    def spec(self) -> Any:
        """Return ("constant", c)"""
        return ("constant", float(self.value))

    def _block(self, left: Side, right: Side, dtype: Any) -> AnyArray:
        return np.full((len(left), len(right)), self.value, dtype=dtype)

    def _diagonal(self, side: Side) -> FloatArray:
        return np.full(len(side), self.value)


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """The polynomial kernel k(x, x′) = (γ x·x′ + c)^degree

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    coef0 : float, default=1.0
        c, not negative: with c < 0 this is no kernel.
    gamma : float, default=1.0
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_exponent(self.degree, "degree")
        check_above_zero(self.gamma, "gamma")
        if not (math.isfinite(self.coef0) and self.coef0 >= 0):
            raise ParameterError(
                "coef0",
                f"coef0 must be finite and not negative, not {self.coef0!r}: otherwise the Gram "
                "matrix may have negative eigenvalues. Custom(function) takes any function.",
            )

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute (γ x·x′ + c)^degree"""
        inside = f"{x}·{z}" if self.gamma == 1 else f"{number(self.gamma)}·{x}·{z}"
        if self.coef0:
            inside += f" + {number(self.coef0)}"
        return raised(f"({inside})", self.degree)

    def spec(self) -> Any:
        """Return a power of a sum of a multiple of the linear kernel and a constant."""
        multiple = ("product", ("constant", float(self.gamma)), ("linear",))
        inside = ("sum", multiple, ("constant", float(self.coef0)))
        return ("power", inside, int(self.degree))

    def _block(self, left: Side, right: Side, dtype: Any) -> AnyArray:
        out = products(left.rows, right.rows, dtype)
        out *= dtype(self.gamma)
        out += dtype(self.coef0)
        return to_the_power(out, self.degree)

    def _diagonal(self, side: Side) -> FloatArray:
        inside = self.gamma * squared_norms(side.rows) + self.coef0
        return to_the_power(inside, self.degree)


@dataclass(frozen=True, repr=False)
class Cosine(Kernel):
    """The cosine kernel k(x, x′) = x·x′/(‖x‖·‖x′‖), and 0 where one of them is the zero vector."""

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute x·x′/(‖x‖·‖x′‖)"""
        return f"{x}·{z}/(‖{x}‖·‖{z}‖)"

    def spec(self) -> Any:
        """Return the linear kernel, normalized."""
        return ("normalized", ("linear",))

    def _side(self, X: Matrix, like: Side | None) -> Side:
        lengths = norms(X)
        return Side(X, (np.where(lengths > 0, lengths, np.inf),))

    def _block(self, left: Side, right: Side, dtype: Any) -> AnyArray:
        # One side is made of unit length first, so that no product can overflow.
        unit = _scaled_rows(left.rows, 1.0 / left.notes[0])
        out = products(unit, right.rows, dtype)
        out /= right.notes[0].astype(dtype)
        return np.clip(out, -1.0, 1.0, out=out)

    def _diagonal(self, side: Side) -> FloatArray:
        return np.where(np.isfinite(side.notes[0]), 1.0, 0.0)


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """The Gram matrix itself is handed over in place of X.

    Fit with the square matrix of k(xᵢ, xⱼ); predict with the matrix of k(a, xⱼ), one row for each
    new a and one column for each training row.
    """

    known_mercer = None

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute k(x, x′)"""
        return f"k({x}, {z})"

    def spec(self) -> Any:
        """Return ("precomputed",)"""
        return ("precomputed",)

    def prepare(self, X: MatrixLike, indices: IntArray | None = None) -> Prepared:
        """Return the rows of the given matrix."""
        return GivenRows(self, as_rows(X), indices)

    def _whole(self, X: MatrixLike) -> FloatArray:
        X = as_rows(X)
        refuse_not_square(X)
        return np.asarray(dense_rows(X, np.float64))

    def _side(self, X: Matrix, like: Side | None) -> Side:
        raise ParameterTypeError(
            "kernel",
            "A precomputed kernel is a matrix of numbers: combine the matrices themselves, "
            "e.g. 2 * K1 + K2, and hand over the result.",
        )

    def _block(self, left: Side, right: Side, dtype: Any) -> AnyArray:
        raise NotImplementedError

    def _diagonal(self, side: Side) -> FloatArray:
        raise NotImplementedError


class GivenRows(Prepared):
    """The rows and columns of a precomputed Gram matrix that belong to some of its examples."""

    def __init__(self, kernel: Precomputed, X: Matrix, indices: IntArray | None) -> None:
        refuse_not_square(X)
        self.kernel, self.X = kernel, X
        self.indices = np.arange(X.shape[0]) if indices is None else np.asarray(indices)
        sample = self.indices[:: max(1, len(self.indices) // SAMPLE)]
        refuse_asymmetric(dense_rows(X[sample][:, sample], np.float64), sample)

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def diagonal(self) -> FloatArray:
        """Compute k(x, x) of each row."""
        every = np.asarray(self.X.diagonal(), dtype=np.float64)
        return np.asarray(self._finite(every[self.indices]))

    def rows(self, indices: IntArray, dtype: Any = np.float64) -> AnyArray:
        """Return the rows of the Gram matrix with these numbers."""
        return self.against(self.X[self.indices[indices]], dtype)

    def against(self, A: MatrixLike, dtype: Any = np.float64) -> AnyArray:
        """Return the columns of A that belong to these examples."""
        A = as_rows(A, "A")
        if A.shape[1] != self.X.shape[0]:
            raise ParameterError(
                "X",
                f"A precomputed kernel needs one column for each of the {self.X.shape[0]} "
                f"training rows; there are {A.shape[1]}.",
            )
        whole = len(self.indices) == A.shape[1] and (np.diff(self.indices) == 1).all()
        return self._finite(dense_rows(A if whole else A[:, self.indices], dtype))


def refuse_not_square(K: Matrix) -> None:
    """Raise unless K can be a Gram matrix."""
    if K.shape[0] != K.shape[1]:
        raise ParameterError(
            "X",
            "A precomputed kernel needs the square matrix of k(xᵢ, xⱼ) at the rows of the fit; "
            f"this one has shape {K.shape}.",
        )


def refuse_asymmetric(K: FloatArray, numbers: IntArray) -> None:
    """Raise if K, the Gram matrix of the rows with these numbers, is not symmetric."""
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise KernelValueError(
            f"The kernel is {K[i, j]} for rows {numbers[i]} and {numbers[j]}: it must be finite."
        )
    scale = np.abs(K).max(initial=0.0)
    off = np.abs(K - K.T)
    if off.max(initial=0.0) > 1e-8 * scale:
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        raise ParameterError(
            "kernel",
            f"The kernel is not symmetric: k(x{numbers[i]}, x{numbers[j]}) = {K[i, j]:.8g}, and "
            f"k(x{numbers[j]}, x{numbers[i]}) = {K[j, i]:.8g}. No kernel model can use it.",
        )


def to_the_power(values: AnyArray, exponent: int) -> AnyArray:
    """Compute values^exponent in place, by squaring: np.power is many times slower."""
    if exponent == 1:
        return values
    base, result, p = values, None, exponent
    while p:
        if p & 1:
            result = base.copy() if result is None else np.multiply(result, base, out=result)
        p >>= 1
        if p:
            np.multiply(base, base, out=base)
    assert result is not None
    return result


def raised(inside: str, exponent: int) -> str:
    """Compute inside^exponent with a raised number."""
    small = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(exponent))
    return inside if exponent == 1 else f"{inside}{small}"


def _scaled_rows(A: Matrix, factors: FloatArray) -> Matrix:
    if not isinstance(A, np.ndarray):
        A = A.astype(np.float64)
        return A.multiply(factors[:, None]).tocsr()
    return A * factors[:, None]
