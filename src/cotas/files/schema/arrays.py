"""Fields that hold arrays: their types, their sides, the limits of their entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cotas.files.schema.fields import Field, Label, Scope, require


@dataclass(frozen=True)
class Array(Field):
    """An array of numbers: its sides, its type, and the limits of its entries.

    `low` and `high` include the limit, `below` excludes it; each may be a letter. Entries are
    finite unless `infinite` or `nan` allow more.
    """

    sides: str
    types: str = "float64"
    low: float | str | None = None
    high: float | str | None = None
    below: float | str | None = None
    infinite: bool = False
    nan: bool = False

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, np.ndarray), where, "is no array")
        sides = self.sides.split()
        require(value.dtype.name in self.types.split(), where, f"is an array of {value.dtype}")
        require(value.ndim == len(sides), where, f"has {value.ndim} dimensions")
        for side, length in zip(sides, value.shape, strict=True):
            scope.agree(side, length, where)
        if value.dtype.kind == "f":
            self._check_floats(value, where)
        self._check_limits(value, scope, where)

    def _check_floats(self, value: Any, where: str) -> None:
        if not self.nan and not self.infinite:
            require(np.isfinite(value).all(), where, "holds NaN or infinity")
        elif not self.nan:
            require(not np.isnan(value).any(), where, "holds NaN")

    def _check_limits(self, value: Any, scope: Scope, where: str) -> None:
        if not value.size:
            return
        smallest, largest = value.min(), value.max()
        if self.low is not None:
            require(smallest >= scope.number(self.low), where, f"has the entry {smallest}")
        if self.high is not None:
            require(largest <= scope.number(self.high), where, f"has the entry {largest}")
        if self.below is not None:
            require(largest < scope.number(self.below), where, f"has the entry {largest}")

    def words(self) -> str:
        limits = [f"≥ {self.low}"] if self.low is not None else []
        limits += [f"≤ {self.high}"] if self.high is not None else []
        limits += [f"< {self.below}"] if self.below is not None else []
        limits += ["infinity allowed"] if self.infinite else []
        limits += ["NaN allowed"] if self.nan else []
        kinds = " or ".join(self.types.split())
        return ", ".join([f"{kinds} ({', '.join(self.sides.split())})", *limits])


FLOATS = "float32 float64"
NUMBERS = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"  # of a witness
)


@dataclass(frozen=True)
class Labels(Field):
    """The labels of the classes, sorted, each once."""

    side: str
    least: int = 1

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, np.ndarray) and value.ndim == 1, where, "is no vector")
        require(len(value) >= self.least, where, f"has {len(value)} labels")
        for label in value.tolist():
            Label().check(label, scope, where)
        try:
            rising = bool((value[1:] > value[:-1]).all())
        except TypeError:
            rising = False
        require(rising, where, "is not sorted")
        scope.agree(self.side, len(value), where)

    def words(self) -> str:
        return f"labels ({self.side}), sorted, at least {self.least}"


@dataclass(frozen=True)
class Names(Field):
    """The names of columns."""

    side: str

    def check(self, value: Any, scope: Scope, where: str) -> None:
        sound = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == object
        require(sound and all(type(name) is str for name in value), where, "are no names")
        scope.agree(self.side, len(value), where)

    def words(self) -> str:
        return f"texts ({self.side})"


@dataclass(frozen=True)
class RowsField(Field):
    """Rows of finite numbers, dense or CSR; the decoder has looked at the parts of sparse ones."""

    sides: str

    def check(self, value: Any, scope: Scope, where: str) -> None:
        dense = isinstance(value, np.ndarray) and value.ndim == 2
        known = dense or (sparse.issparse(value) and value.format == "csr")
        require(known, where, "is no matrix, dense or CSR")
        require(value.dtype.name in FLOATS.split(), where, f"is a matrix of {value.dtype}")
        numbers = value if dense else value.data
        require(np.isfinite(numbers).all(), where, "holds NaN or infinity")
        for side, length in zip(self.sides.split(), value.shape, strict=True):
            scope.agree(side, length, where)

    def words(self) -> str:
        return f"float32 or float64 ({', '.join(self.sides.split())}), dense or CSR"
