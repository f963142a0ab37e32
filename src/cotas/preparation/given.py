"""Tables as callers hand them over: frames of pandas, polars and Arrow, dicts, what was read."""

from __future__ import annotations

import datetime
import decimal
import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.files.cells import MISSING, in_plain_numbers, tell_readings, understood, without_missing
from cotas.files.frames import is_text, polars, uncoded
from cotas.files.names import without_twins
from cotas.files.table import Table
from cotas.fitting.certified import outside
from cotas.preparation.columns import ColumnWarning, written

if TYPE_CHECKING:
    from polars import DataFrame, Series

# What one cell may hold beside others of another type.
_SCALARS = (
    *(str, bool, int, float, decimal.Decimal),
    *(datetime.date, datetime.time, datetime.timedelta, np.number, np.bool_),
)


def as_frame(X: Any) -> DataFrame | None:
    """Return a polars frame for anything with named columns; None for a matrix.

    Of columns with the same name the later ones are numbered, as those of a file are.
    """
    pl = polars()
    if isinstance(X, Table):
        X = X.features
    frame: DataFrame | None
    if isinstance(X, pl.DataFrame):
        frame = X
    elif isinstance(X, pl.LazyFrame):
        frame = X.collect()
    elif type(X) is dict:  # sparse matrices of one kind are dicts too
        frame = pl.DataFrame(X, strict=False)
    elif (wanted := _names(X)) is None:
        frame = None
    else:
        names, renamed = without_twins(wanted)
        if hasattr(X, "iloc"):
            columns = (_from_pandas(X.iloc[:, j]) for j in range(len(names)))
            frame = pl.DataFrame(dict(zip(names, columns, strict=True)))
        else:
            frame = pl.DataFrame(X.rename_columns(list(names)) if renamed else X)
    return frame


def _names(X: Any) -> list[str] | None:
    """Return the names of the columns of pandas and pyarrow, as words; None for anything else."""
    if hasattr(X, "column_names") and hasattr(X, "__arrow_c_stream__"):
        return [str(name) for name in X.column_names]
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # a lazy frame warns of being asked
        return [str(name) for name in X.columns]
    return None


def as_matrix(X: Any) -> Any:
    """Return the matrix in a table without names, or what was given."""
    return X.features if isinstance(X, Table) else X


def as_read(X: Any) -> Any:
    """Read the table of a frame, its text as the reader of files has it: gaps, numbers, truth
    values.

    One table is one model then, whether it comes from a file or as a frame. What is no text, and
    categories of pandas and polars, is taken as it is; a Table was read already.
    """
    frame = None if isinstance(X, Table) else as_frame(X)
    if frame is None:
        return X
    found = understood(frame, False, "")
    for remark in (*without_twins(_names(X) or [])[1], *found.remarks):
        warnings.warn(str(remark), ColumnWarning, stacklevel=outside())
    return Table(found.frame, None, "", "frame", decimal_commas=found.commas)


def as_read_again(
    X: Any, numbers: Collection[str], commas: Collection[str], gone: Sequence[str] = MISSING
) -> Any:
    """Read the same for a fitted model, which knows its columns: these hold numbers, some with
    commas.

    `gone` are the words that stand for a missing value.

    One row alone does not tell whether 63,096 is about sixty-three or sixty-three thousand.
    """
    frame = as_frame(X)
    if frame is None:
        return X
    text = [column.name for column in frame if is_text(column)]
    frame, numbers = without_missing(frame, text, gone), set(numbers)
    words = frame.select(uncoded(frame[name]) for name in text if name in numbers)
    return frame.with_columns(in_plain_numbers(words, tell_readings(words, False, commas)))


def _from_pandas(column: Any) -> Series:
    """Return the values, with None wherever pandas has one of its missing values."""
    pl = polars()
    if type(column.dtype).__name__ == "PeriodDtype":  # a month, say, is where it begins
        column = column.dt.to_timestamp()
    kind = getattr(column.dtype, "kind", "O")
    found: Series
    if kind in "fiubM" and isinstance(column.dtype, np.dtype):
        found = pl.Series(values=column.to_numpy())
        return found
    missing = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    plain = [None if gone else value for gone, value in zip(missing, values, strict=True)]
    if hasattr(column.dtype, "categories"):  # whatever they are: whoever made them said so
        found = pl.Series(values=plain, strict=False)
        if found.dtype == pl.Object:  # intervals, for example
            found = _spelled(plain)
        return written(found).cast(pl.Categorical)
    if type(column.dtype).__name__ == "IntervalDtype":
        return _spelled(plain)
    kinds = {type(value) for value in plain if value is not None}
    if len(kinds) > 1 and not all(issubclass(each, _SCALARS) for each in kinds):
        found = pl.Series(values=plain, dtype=pl.Object)  # polars would spell what it cannot hold
    else:
        found = pl.Series(values=plain, strict=False)  # a column of objects may hold several types
    return found


def _spelled(plain: Sequence[Any]) -> Series:
    words = [None if value is None else str(value) for value in plain]
    found: Series = polars().Series(values=words)
    return found
