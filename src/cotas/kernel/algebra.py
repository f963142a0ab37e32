"""The operations that keep a kernel valid (Fuentes-Pineda, "the kernel trick").

If k₁ and k₂ have feature maps φ₁ and φ₂, the sum has (φ₁, φ₂) side by side, the product has all
products of their coordinates, and the rest follows: positive multiples, powers, power series with
positive coefficients, and division by the lengths of φ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.kernel.functions import raised, to_the_power
from cotas.kernel.interface import (
    Kernel,
    KernelValueError,
    Side,
    check_above_zero,
    check_exponent,
    number,
)
from cotas.refusals import ParameterError

LARGEST_EXPONENT = {np.dtype(np.float64): 709.0, np.dtype(np.float32): 88.0}


@dataclass(frozen=True, repr=False)
class CombinedKernel(Kernel):
    """A kernel made of several others on the same rows, joined by an operation."""

    parts: tuple[Kernel, ...]
    word: ClassVar[str]
    operation: ClassVar[Any]

    @classmethod
    def of(cls, *kernels: Kernel) -> Self:
        """Return the combination; those of the same kind among the parts are opened."""
        flat = [k.parts if isinstance(k, cls) else (k,) for k in kernels]
        return cls(tuple(part for parts in flat for part in parts))

    @property
    def known_mercer(self) -> bool | None:  # type: ignore[override]
        """Return True if all the parts are known to be valid."""
        return True if all(part.known_mercer for part in self.parts) else None

    def spec(self) -> Any:
        """Return ("sum", k₁, k₂, …) or ("product", k₁, k₂, …)"""
        return (self.word, *(part.spec() for part in self.parts))

    def _side(self, X: Matrix, like: Side | None) -> Side:
        others = [None] * len(self.parts) if like is None else like.inner
        pairs = zip(self.parts, others, strict=True)
        return Side(X, inner=tuple(kernel._side(X, other) for kernel, other in pairs))

    def _block(self, left: Side, right: Side, dtype: DTypeLike) -> AnyArray:
        first, *others = zip(self.parts, left.inner, right.inner, strict=True)
        out = first[0]._block(*first[1:], dtype)
        for part, a, b in others:
            self.operation(out, part._block(a, b, dtype), out=out)
        return out

    def _diagonal(self, side: Side) -> FloatArray:
        found = [k._diagonal(s) for k, s in zip(self.parts, side.inner, strict=True)]
        return np.asarray(self.operation.reduce(found))


@dataclass(frozen=True, repr=False)
class Sum(CombinedKernel):
    """The sum of kernels k₁ + k₂ + …"""

    word, operation = "sum", np.add

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute k₁ + k₂"""
        return " + ".join(part.formula(x, z) for part in self.parts)


@dataclass(frozen=True, repr=False)
class Product(CombinedKernel):
    """The product of kernels k₁ · k₂ · …"""

    word, operation = "product", np.multiply

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute k₁ · k₂"""
        return "·".join(_factor(part, x, z) for part in self.parts)


class ChangedKernel(Kernel):
    """A kernel whose values are another's, changed one by one."""

    kernel: Kernel

    @property
    def known_mercer(self) -> bool | None:  # type: ignore[override]
        """Return True if the kernel that is changed is known to be valid."""
        return self.kernel.known_mercer

    def _side(self, X: Matrix, like: Side | None) -> Side:
        return Side(X, inner=(self.kernel._side(X, None if like is None else like.inner[0]),))

    def _block(self, left: Side, right: Side, dtype: DTypeLike) -> AnyArray:
        return self._changed(self.kernel._block(left.inner[0], right.inner[0], dtype))

    def _diagonal(self, side: Side) -> FloatArray:
        return self._changed(self.kernel._diagonal(side.inner[0]).copy())

    def _changed(self, values: AnyArray) -> AnyArray:
        """Return the values as they are to be; they may be overwritten."""
        return values


@dataclass(frozen=True, repr=False)
class Scaled(ChangedKernel):
    """A scaled kernel c · k with c > 0"""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        check_above_zero(self.factor, "The factor of a kernel")

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute c·k"""
        return f"{number(self.factor)}·{_factor(self.kernel, x, z)}"

    def spec(self) -> Any:
        """Return a product with a constant."""
        return ("product", ("constant", float(self.factor)), self.kernel.spec())

    def _changed(self, values: AnyArray) -> AnyArray:
        values *= values.dtype.type(self.factor)
        return values


@dataclass(frozen=True, repr=False)
class Power(ChangedKernel):
    """A power of a kernel, k ** p with a positive integer p"""

    kernel: Kernel
    exponent: int

    def __post_init__(self) -> None:
        check_exponent(self.exponent, "The exponent of a kernel")

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute (k)^p"""
        return raised(f"({self.kernel.formula(x, z)})", self.exponent)

    def spec(self) -> Any:
        """Return ("power", k, p)"""
        return ("power", self.kernel.spec(), int(self.exponent))

    def _changed(self, values: AnyArray) -> AnyArray:
        return to_the_power(values, self.exponent)


@dataclass(frozen=True, repr=False)
class ExponentialOf(ChangedKernel):
    """The exponential exp(k) of a kernel"""

    kernel: Kernel

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute exp(k)"""
        return f"exp({self.kernel.formula(x, z)})"

    def spec(self) -> Any:
        """Return ("exp", k)"""
        return ("exp", self.kernel.spec())

    def _changed(self, values: AnyArray) -> AnyArray:
        limit = LARGEST_EXPONENT[values.dtype]
        largest = values.max(initial=-np.inf)
        if largest > limit:
            raise KernelValueError(
                f"exp(k) overflows: {self.kernel} reaches {largest:.4g} on these rows, and "
                f"exp of more than {limit:g} is too large for {values.dtype}. Use (c * k).exp() "
                "with a small c, or k.normalized().exp()."
            )
        return np.exp(values, out=values)


@dataclass(frozen=True, repr=False)
class Normalized(ChangedKernel):
    """A normalized kernel k(x, x′)/√(k(x, x)·k(x′, x′)), and 0 where φ(x) or φ(x′) is zero"""

    kernel: Kernel

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute k(x, x′)/√(k(x, x)·k(x′, x′))"""
        inner = self.kernel
        above = _factor(inner, x, z)
        return f"{above}/√({_factor(inner, x, x)}·{_factor(inner, z, z)})"

    def spec(self) -> Any:
        """Return ("normalized", k)"""
        return ("normalized", self.kernel.spec())

    def _side(self, X: Matrix, like: Side | None) -> Side:
        inner = self.kernel._side(X, None if like is None else like.inner[0])
        squares = self.kernel._diagonal(inner)
        if squares.size and squares.min() < 0:
            raise KernelValueError(
                f"{self.kernel} has a negative value k(x, x) = {squares.min():.4g} at row "
                f"{squares.argmin()}: it is no kernel, and cannot be normalized."
            )
        lengths = np.sqrt(squares)
        return Side(X, (np.where(lengths > 0, lengths, np.inf),), (inner,))

    def _block(self, left: Side, right: Side, dtype: DTypeLike) -> AnyArray:
        out = super()._block(left, right, dtype)
        out /= left.notes[0].astype(dtype)[:, None]
        out /= right.notes[0].astype(dtype)
        return out

    def _diagonal(self, side: Side) -> FloatArray:
        return np.where(side.notes[0] < np.inf, 1.0, 0.0)


@dataclass(frozen=True, init=False, repr=False)
class OnColumns(ChangedKernel):
    """A kernel k on some of the columns"""

    kernel: Kernel
    columns: tuple[int, ...]

    def __init__(self, kernel: Kernel, columns: Sequence[int] | IntArray) -> None:
        given = np.asarray(columns)
        if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu" or given.min() < 0:
            raise ParameterError(
                "columns", f"columns must be column numbers from 0 on, not {columns!r}."
            )
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "columns", tuple(given.tolist()))

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute k(x[columns], x′[columns])"""
        names = ",".join(map(str, self.columns))
        return self.kernel.formula(f"{x}[{names}]", f"{z}[{names}]")

    def spec(self) -> Any:
        """Return ("columns", k, columns)"""
        return ("columns", self.kernel.spec(), self.columns)

    def _side(self, X: Matrix, like: Side | None) -> Side:
        return super()._side(self._those(X), like)

    def _those(self, X: Matrix) -> Matrix:
        """Return the columns; neighbouring ones of an array are only looked at, others are
        copied."""
        columns = np.array(self.columns)
        if columns.max() >= X.shape[1]:
            raise ParameterError(
                "columns", f"on({list(columns)}): the rows have only {X.shape[1]} columns."
            )
        if (np.diff(columns) == 1).all():
            return X[:, columns[0] : columns[-1] + 1]
        return X[:, columns]


def _factor(kernel: Kernel, x: str, z: str) -> str:
    """Return the formula, in brackets where it would be misread as a factor."""
    text = kernel.formula(x, z)
    return f"({text})" if isinstance(kernel, Sum | Normalized) or text.startswith(x) else text
