"""What data may hold: what is proved must be about them as they were given.

Numbers that a double cannot hold are refused and not rounded, masked entries are not uncovered, and
labels of different types are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.source import Block, rows_of

# Up to here every whole number is a double.
WHOLE = 1 << 53
# What labels are, by the kind of an array of them.
LABELS = {"b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text"}


def refuse_inexact(values: Any, name: str) -> None:
    """Raise if the entries of an argument would be rounded, or left out, on their way to a double.

    Whole numbers above 2⁵³, of which nanoseconds since 1970 are some, fractions, decimals and long
    doubles with more digits than a double has, complex numbers, masked entries, and entries of a
    sparse matrix that are stored in parts whose sum is no double.

    >>> refuse_inexact([[2**53 + 1, 0.5]], "X")
    Traceback (most recent call last):
        ...
    ValueError: X holds 9007199254740993, a number that double precision cannot hold: \
it would be rounded, and what is proved would be about other data. Subtract an offset first, for \
example the smallest value of the column, or pass floats if the last digits do not matter.
    """
    refuse_masked(values, name)
    for part in _parts(values):
        if part.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name} holds complex numbers.")
        for number in _rounded(part):
            raise ValueError(
                f"{name} holds {number}, a number that double precision cannot hold: it would be "
                "rounded, and what is proved would be about other data. Subtract an offset first, "
                "for example the smallest value of the column, or pass floats if the last digits "
                "do not matter."
            )
    if sparse.issparse(values):
        _refuse_inexact_sums(values, name)


def refuse_masked(values: Any, name: str) -> None:
    """Raise if some entries of an argument are masked: validation would uncover them."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked entries, which would count as if they were not masked. Fill them "
            "in, or leave those rows out."
        )


def _parts(values: Any) -> Iterator[Any]:
    """The argument as arrays that hold what was given: of a table each column has its own type."""
    if sparse.issparse(values):
        yield np.asarray(values.data) if hasattr(values, "data") else values.tocoo().data
    elif hasattr(values, "iloc") and getattr(values, "ndim", 1) == 2:
        for k in range(values.shape[1]):
            yield from _parts(values.iloc[:, k])
    elif hasattr(values, "dtype") and not isinstance(values, np.ndarray | np.generic):
        dtype = values.dtype
        if getattr(dtype, "kind", "O") in "iuOcmM" or getattr(dtype, "itemsize", 8) > 8:
            yield np.asarray(values)
    elif isinstance(values, list | tuple):
        # Beside a float a whole number becomes one, so we look at what is in the list itself.
        try:
            array = np.asarray(values)
        except ValueError:
            return  # of no shape, which validation says
        yield np.asarray(values, dtype=object) if array.dtype.kind == "f" else array
    elif hasattr(values, "__array__"):
        yield np.asarray(values)


def _rounded(part: Any) -> Iterator[Any]:
    """The numbers that are no doubles."""
    if part.dtype.kind in "mM":
        part = part.view(np.int64)
    if part.dtype.kind == "O":
        yield from (v for v in part.ravel().tolist() if _is_rounded(v))
    elif part.dtype.kind == "f" and part.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            there = part.astype(np.float64).astype(part.dtype)
        yield from part[(there != part) & ~np.isnan(part)].tolist()
    elif part.dtype.kind in "iu" and part.dtype.itemsize >= 8 and part.size:
        within = int(part.max()) <= WHOLE and int(part.min()) >= -WHOLE  # which needs no copy
        large = [] if within else part[(part > WHOLE) | (part < -WHOLE)].tolist()
        yield from (v for v in large if _is_rounded(v))


def _is_rounded(value: Any) -> bool:
    """Whether a number changes on its way to a double."""
    if isinstance(value, int):
        return abs(value) > WHOLE and (value.bit_length() > 1024 or int(float(value)) != value)
    if isinstance(value, Fraction | Decimal) and math.isfinite(value):
        return Fraction(float(value)) != Fraction(value)
    if isinstance(value, np.longdouble):
        return bool(np.isfinite(value) and np.longdouble(float(value)) != value)
    return False


def _refuse_inexact_sums(X: Any, name: str) -> None:
    """Raise if an entry is stored in parts whose sum would be rounded."""
    if getattr(X, "has_canonical_format", False):
        return
    coo = X.tocoo()
    if coo.ndim != 2 or not coo.nnz:
        return
    place = np.asarray(coo.row, dtype=np.int64) * X.shape[1] + coo.col
    order = np.argsort(place, kind="stable")
    place, data = place[order], np.asarray(coo.data, dtype=np.float64)[order]
    again = np.flatnonzero(place[1:] == place[:-1])
    for key in np.unique(place[again]):
        parts = data[np.searchsorted(place, key) : np.searchsorted(place, key, side="right")]
        whole = np.add.reduce(parts)
        if np.isfinite(parts).all() and sum(map(Fraction, parts.tolist())) != Fraction(whole):
            raise ValueError(
                f"{name} stores an entry in parts whose sum double precision cannot hold: it would "
                "be rounded, and what is proved would be about other data. Call sum_duplicates() "
                "first if the last digits do not matter."
            )


def whole(value: Any) -> bool:
    """Whether a count is one: a whole number that is not negative."""
    return isinstance(value, Integral) and int(value) >= 0


# ---- blocks of rows, each of which is looked at before it is used --------------------------------


@dataclass(frozen=True)
class Sound:
    """A block in single or double precision, or an error that says which rows are none.

    Attributes
    ----------
    n_features : columns that every block has
    targets : whether y holds numbers to be predicted; labels otherwise
    is_sparse : whether all blocks are sparse, or none is; None where both may come
    """

    n_features: int
    targets: bool
    is_sparse: bool | None = None

    def __call__(self, block: Block) -> Block:
        X = self._rows(block)
        n, where = X.shape[0], rows_of(block)
        y = _numbers(block.y, "y", where) if self.targets else _labels(block.y, where)
        if y.shape[:1] != (n,):
            raise ValueError(f"X has {n} rows, and y has {len(y) if y.ndim else 1}: {where}.")
        if block.weights is None:
            return Block(block.start, X, y)
        weights = _numbers(block.weights, "weights", where)
        if weights.shape != (n,):
            raise ValueError(
                f"The weights must be one number for each of {n} rows, and their shape is "
                f"{weights.shape}: {where}."
            )
        return Block(block.start, X, y, weights)

    def _rows(self, block: Block) -> Matrix:
        X: Any = block.X
        shape: Any = getattr(X, "shape", ())
        where = rows_of(block)
        if len(shape) != 2 or not shape[0]:
            raise ValueError(
                f"X of a block must have rows and columns, and its shape is {shape}: {where}. "
                "Leave out blocks that are empty."
            )
        if shape[1] != self.n_features:
            raise ValueError(
                f"X has {shape[1]} columns where {self.n_features} are expected: {where}."
            )
        if self.is_sparse not in (None, sparse.issparse(X)):
            raise ValueError(
                "Some blocks of X are sparse and others are dense: make all of them CSR matrices, "
                f"or all of them arrays; the first that differs holds {where}."
            )
        if sparse.issparse(X):
            refuse_inexact(X, f"X, in {where},")
            rows = X.tocsr()
            return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        return _numbers(X, "X", where)


def _numbers(values: Any, name: str, where: str) -> FloatArray:
    """Numbers in double precision, none of which is rounded; single precision is left alone."""
    refuse_inexact(values, f"{name}, in {where},")
    found = np.asarray(values)
    if found.dtype in (np.float32, np.float64) and (name == "X" or found.dtype == np.float64):
        return found
    try:
        if found.dtype.kind not in "biufO":
            raise TypeError(found.dtype)
        return found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers, and in {where} it holds something else ({error})."
        ) from None


# ---- labels ------------------------------------------------------------------------------------


def _labels(values: Any, where: str) -> AnyArray:
    """Labels as they are, all of them text or all of them numbers."""
    refuse_masked(values, f"y, in {where},")
    kind_of_labels(values, where)
    y = np.asarray(values)
    if y.dtype.kind != "f":
        return y
    if (np.abs(y) >= WHOLE).any():  # other blocks may have whole numbers
        raise ValueError(
            f"y holds labels of 2⁵³ or more as floats, in {where}: two classes would become one. "
            "Make them whole numbers in all blocks, or text."
        )
    return y.astype(np.float64, copy=False)  # 2²⁴ + 1 would be equal to a short 2²⁴


def kind_of_labels(values: Any, where: str) -> str:
    """What the labels of some rows are; raises if they are neither text nor numbers."""
    y = np.asarray(values)
    kinds = {y.dtype.kind}
    if y.dtype.kind == "O":
        several = {type(label): label for label in y.ravel().tolist()}
        kinds = {np.asarray(label).dtype.kind for label in several.values()}
    found = sorted({LABELS.get(kind, "") for kind in kinds})
    if "" in found or (y.dtype.kind == "O" and (y != y).any()):
        raise ValueError(
            f"y must hold labels that are text or numbers, and in {where} some are neither, or "
            "missing: turn them into text, or leave those rows out."
        )
    refuse_mixed_labels(found, where)
    return found[0]


def refuse_mixed_labels(kinds: Sequence[str], where: str) -> None:
    """Raise if labels are of several kinds."""
    if len(set(kinds)) > 1:
        raise ValueError(
            f"y holds labels that are {' and others that are '.join(kinds)}, and whether 1 is the "
            f"class '1' cannot be told: make all of them text, or all numbers; see {where}."
        )
