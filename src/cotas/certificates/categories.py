"""Columns of categories of pandas, polars and Arrow, as numbers.

A category is the place of its name among the names that the column holds, in alphabetical order:
so the numbers follow from the values alone, and whoever verifies a fit finds the same ones.
Categories that are numbers stand for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.refusals import ParameterError

_NAMES = ("category", "Categorical", "Enum", "dictionary")
_NUMBERS = ("int", "uint", "float", "double", "bool", "halffloat")


class Cells(NamedTuple):
    """A column: its values, and for each row which of them it has, or −1 for none."""

    values: list[Any]
    places: IntArray

    def names(self) -> list[str]:
        """Return the values that occur, as text and sorted; none of numbers."""
        there = [self.values[k] for k in np.unique(self.places[self.places >= 0]).tolist()]
        return [] if _are_numbers(there) else sorted({str(value) for value in there})

    def codes(self, names: Sequence[str]) -> FloatArray:
        """Return for each row the place of its value among the names; NaN for none of them."""
        place = {name: float(k) for k, name in enumerate(names)}
        known = [place.get(str(value), np.nan) for value in self.values]
        return np.array([*known, np.nan])[self.places]


def categories_of(X: Any) -> dict[int, list[str]]:
    """Return by the number of each column of categories, the names that it holds, sorted.

    >>> import polars as pl
    >>> towns = pl.Series(["Vigo", "Lugo", None, "Vigo"], dtype=pl.Categorical)
    >>> X = pl.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "town": towns})
    >>> categories_of(X)
    {1: ['Lugo', 'Vigo']}
    >>> coded(X)["town"].to_list()
    [1.0, 0.0, nan, 1.0]
    """
    return {j: _cells(X, j).names() for j, kind in enumerate(_kinds(X)) if kind.startswith(_NAMES)}


def coded(X: Any, known: Mapping[int, Sequence[str]] | None = None) -> Any:
    """Copy X with numbers in the place of its categories; NaN where one is missing or not `known`.

    Anything without columns of categories is handed back as it is.
    """
    own = categories_of(X)
    known = own if known is None else known
    new = sorted(set(own) - set(known))
    if new:
        raise ParameterError(
            "X", f"Column {new[0]} of X holds categories, and was numbers in the fit."
        )
    for j, kind in enumerate(_kinds(X)):
        if j in known and not kind.lower().startswith(_NUMBERS):
            cells = _cells(X, j)
            if known[j] or cells.names():
                X = _with(X, j, cells.codes(known[j]))
    return X


def _kinds(X: Any) -> list[str]:
    """Return the types of the columns of a frame, in words; none of anything else."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # Arrow
        return [str(field.type) for field in X.schema]
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return [str(kind) for kind in X.dtypes]
    return []


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, Real) for value in values)


def _cells(X: Any, j: int) -> Cells:
    if hasattr(X, "iloc"):  # pandas
        column = X.iloc[:, j].astype("category")
        return Cells(column.cat.categories.tolist(), column.cat.codes.to_numpy().astype(np.int64))
    values = X.column(j).to_pylist() if hasattr(X, "column_names") else X[:, j].to_list()
    places = {value: k for k, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
    return Cells([*places], np.array([places.get(v, -1) for v in values], dtype=np.int64))


def _with(X: Any, j: int, codes: FloatArray) -> Any:
    """Return the frame with these numbers in that column."""
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        X.isetitem(j, codes)
        return X
    if hasattr(X, "column_names"):
        return X.set_column(j, X.column_names[j], [codes])
    return X.clone().replace_column(j, type(X[:, j])(X.columns[j], codes))
