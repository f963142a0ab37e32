"""Numbers that no double holds as they are: what is proved must be about the data as given."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from cotas.refusals import ParameterError

# Up to here every whole number is a double.
WHOLE = 1 << 53


def refuse_inexact(values: Any, parameter: str, called: str = "") -> None:
    """Raise if the entries of an argument would be rounded, or left out, on their way to a double.

    Whole numbers above 2⁵³, of which nanoseconds since 1970 are some, fractions, decimals and long
    doubles with more digits than a double has, complex numbers, masked entries, and entries of a
    sparse matrix that are stored in parts whose sum is no double.

    >>> refuse_inexact([[2**53 + 1, 0.5]], "X")
    Traceback (most recent call last):
        ...
    cotas.refusals.ParameterError: X holds 9007199254740993, a number that double precision \
cannot hold: it would be rounded, and what is proved would be about other data. Subtract an \
offset first, for example the smallest value of the column, or pass floats if the last digits do \
not matter.
    """
    name = called or parameter
    refuse_masked(values, parameter, name)
    for part in _parts(values):
        if part.dtype.kind == "c":
            raise ParameterError(
                parameter, f"Complex data not supported: {name} holds complex numbers."
            )
        for number in _rounded(part):
            raise ParameterError(
                parameter,
                f"{name} holds {number}, a number that double precision cannot hold: it would be "
                "rounded, and what is proved would be about other data. Subtract an offset first, "
                "for example the smallest value of the column, or pass floats if the last digits "
                "do not matter.",
            )
    if sparse.issparse(values):
        _refuse_inexact_sums(values, parameter, name)


def refuse_masked(values: Any, parameter: str, called: str = "") -> None:
    """Raise if some entries of an argument are masked: validation would uncover them."""
    if np.ma.is_masked(values):
        raise ParameterError(
            parameter,
            f"{called or parameter} has masked entries, which would count as if they were not "
            "masked. Fill them in, or leave those rows out.",
        )


def _parts(values: Any) -> Iterator[Any]:
    """Return the argument as arrays that hold what was given: a type for each column of a table."""
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
    """Yield the numbers that are no doubles."""
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


def _is_rounded(value: object) -> bool:
    """Tell whether a number changes on its way to a double."""
    if isinstance(value, int):
        return abs(value) > WHOLE and (value.bit_length() > 1024 or int(float(value)) != value)
    if isinstance(value, Fraction | Decimal) and math.isfinite(value):
        return Fraction(float(value)) != Fraction(value)
    if isinstance(value, np.longdouble):
        return bool(np.isfinite(value) and np.longdouble(float(value)) != value)
    return False


def _refuse_inexact_sums(X: Any, parameter: str, name: str) -> None:
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
            raise ParameterError(
                parameter,
                f"{name} stores an entry in parts whose sum double precision cannot hold: it would "
                "be rounded, and what is proved would be about other data. Call sum_duplicates() "
                "first if the last digits do not matter.",
            )


def whole(value: object) -> bool:
    """Tell whether a count is one: a whole number that is not negative."""
    return isinstance(value, Integral) and int(value) >= 0
