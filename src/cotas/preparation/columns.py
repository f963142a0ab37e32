"""What a column of a table is: a number, a truth value, a category, or nothing a model can use."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray
from cotas.files.csv_tables import polars
from cotas.files.problems import DataFileError
from cotas.files.tables import Table

# Words with more distinct values than this, in more than half of the rows, are free text.
FEW_WORDS, FREE_TEXT_SHARE = 20, 0.5
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}( .*)?")


class ColumnError(DataFileError):
    """A column that a model cannot use, or that is not as the model expects it."""


def as_frame(X: Any) -> Any:
    """A polars frame for anything with named columns; None for a matrix."""
    pl = polars()
    if isinstance(X, Table):
        X = X.features
    if isinstance(X, pl.DataFrame):
        return X
    if isinstance(X, pl.LazyFrame):
        return X.collect()
    if hasattr(X, "columns") and hasattr(X, "iloc"):  # pandas
        return pl.DataFrame({str(name): _from_pandas(X[name]) for name in X.columns})
    return None


def as_matrix(X: Any) -> Any:
    """The matrix in a table without names, or what was given."""
    return X.features if isinstance(X, Table) else X


def _from_pandas(column: Any) -> Any:
    """The values, with None wherever pandas has one of its missing values."""
    pl = polars()
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fiubM" and isinstance(column.dtype, np.dtype):
        return pl.Series(values=column.to_numpy())
    missing = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    plain = [None if gone else value for gone, value in zip(missing, values, strict=True)]
    return pl.Series(values=plain)


def kind_of(column: Any, name: str) -> str:
    """ "number", "boolean", "category" or "empty"; a date or free text raises."""
    pl = polars()
    dtype = column.dtype
    if column.null_count() == len(column) or dtype == pl.Null:
        return "empty"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        raise _is_a_date(name)
    if dtype == pl.String:
        _refuse_free_text(column, name)
        return "category"
    if dtype in (pl.Categorical, pl.Enum):
        return "category"
    raise ColumnError(
        f"column {name!r} holds {dtype}, which no model here can use. Leave it out, or turn it "
        "into numbers first."
    )


def _refuse_free_text(column: Any, name: str) -> None:
    present = column.drop_nulls()
    if all(_DATE.fullmatch(word.strip()) for word in present.head(200)):
        raise _is_a_date(name)
    distinct = present.n_unique()
    if distinct > FEW_WORDS and distinct > FREE_TEXT_SHARE * len(present):
        raise ColumnError(
            f"column {name!r} holds {distinct} different texts in {len(present)} rows (such as "
            f"{present[0][:40]!r}): free text or names, from which nothing can be learned this "
            "way. Leave it out."
        )


def _is_a_date(name: str) -> ColumnError:
    return ColumnError(
        f"column {name!r} holds dates or times. Turn them into numbers that mean something (the "
        "year, the days since a date), or leave the column out."
    )


def numbers_of(frame: Any, names: list[str]) -> FloatArray:
    """Columns as a matrix of numbers, NaN where a value is missing."""
    if not names:
        return np.empty((frame.height, 0))
    parts = np.empty((frame.height, len(names)), order="F")
    for j, name in enumerate(names):
        parts[:, j] = _as_numbers(frame[name], name)
    return parts


def _as_numbers(column: Any, name: str) -> FloatArray:
    pl = polars()
    if column.dtype == pl.Boolean or column.dtype.is_numeric() or column.dtype == pl.Null:
        cast = column.cast(pl.Float64)
    elif column.dtype == pl.String:
        cast = _from_words(column)
        if cast.null_count() > column.null_count():
            bad = column.filter(cast.is_null() & column.is_not_null())[0]
            raise ColumnError(f"column {name!r} holds {bad!r}, where the model expects numbers.")
    else:
        raise ColumnError(f"column {name!r} holds {column.dtype}; the model expects numbers.")
    values = cast.to_numpy()
    if np.isinf(values).any():
        raise ColumnError(f"column {name!r} holds an infinite number in row {_first(values)}.")
    return np.asarray(values, dtype=np.float64)


def _first(values: AnyArray) -> int:
    return int(np.flatnonzero(np.isinf(values))[0]) + 1


def _from_words(column: Any) -> Any:
    """Numbers that are written as text, true and false included."""
    pl = polars()
    words = column.str.strip_chars().str.to_lowercase()
    truth = pl.when(words == "true").then(1.0).when(words == "false").then(0.0)
    return pl.select(truth.otherwise(words.cast(pl.Float64, strict=False))).to_series()


def words_of(column: Any, name: str) -> Any:
    """A column as text; whole numbers are written without a point."""
    pl = polars()
    if column.dtype.is_nested() or column.dtype.is_temporal():
        raise ColumnError(f"column {name!r} holds {column.dtype}; the model expects categories.")
    return column.cast(pl.String)


def one_hot(codes: FloatArray, width: int) -> Any:
    """A one in the column with that number; NaN leaves a row of zeros."""
    rows = np.flatnonzero(~np.isnan(codes))
    ones = np.ones(len(rows))
    return sparse.csr_matrix((ones, (rows, codes[rows].astype(int))), shape=(len(codes), width))
