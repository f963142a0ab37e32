"""What a column of a table is: a number, a truth value, a category, a date, or nothing of use.

And what of a date a model can learn from: the season, the day of the week, the time that went by.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray
from cotas.files.cells import (
    FEW_WORDS,
    are_codes,
    are_exceptions,
    as_they_are,
    cells_in_words,
    numbers_of_words,
    shown_cells,
)
from cotas.files.dates import order_is_open, parsed, tell_form
from cotas.files.frames import different_words, is_category, is_text, polars, uncoded
from cotas.files.problems import DataFileError, Remark, asked, remark
from cotas.fitting.certified import outside
from cotas.words import say

if TYPE_CHECKING:
    from polars import DataFrame, Series

# Words with more distinct values than FEW_WORDS, in more than half of the rows, are free text.
FREE_TEXT_SHARE = 0.5
# Fewer rows than this may all have another number by chance.
FEWEST_ROWS = 30
# Whole numbers between these are years, which mean something though each comes once.
YEARS = 1500, 2100
_NUMBERING = {"id", "ids", "uuid", "guid", "key", "index", "idx", "rowid", "rownames", "serial"}
LEFT_OUT = ("identifier", "text", "other")
# Of the different cells of a column, so many at least have a unit.
MOSTLY = 0.8
UNIT_AS_WORD = (
    "Column {name!r} holds numbers with a unit, such as {value!r}, which are taken as words: put "
    "{unit!r} into the name of the column, and the numbers alone into its cells."
)
UNIT_LEFT_OUT = (
    "Column {name!r} is left out: it holds numbers with a unit, such as {value!r}. Put {unit!r} "
    "into the name of the column, and the numbers alone into its cells."
)
_WITH_UNIT = r"^[+-]?\d[\d.,]*\s*([^\d\s.,:/%$€£-][^\d,;:]{0,11})$"


class ColumnError(DataFileError):
    """A column that a model cannot use, or that is not as the model expects it."""


class ColumnWarning(UserWarning):
    """Cells that are not as the model expects them: taken as missing, or as no known value."""


class Role(NamedTuple):
    """A role: what a column is used as.

    `kind` is "number", "boolean", "category", "date", "empty", or one of LEFT_OUT; `form` is how
    dates are written; `remark` is what a reader should know about it.
    """

    kind: str
    form: str = ""
    remark: Remark | None = None


def written(column: Series) -> Series:
    """Write numbers as words, whole ones without a point: a missing value makes doubles of them
    all."""
    pl = polars()
    if not column.dtype.is_float():
        return column.cast(pl.String)
    return column.fill_nan(None).cast(pl.String).str.strip_suffix(".0")


def roles_of(
    frame: DataFrame, keep: Collection[str] = (), unix_seconds: Collection[str] = ()
) -> dict[str, Role]:
    """Return what each column of a frame is used as.

    Parameters
    ----------
    frame : polars DataFrame
    keep : names of columns that are used though they look like identifiers or free text
    unix_seconds : names of columns of numbers that count the seconds since 1970
    """
    unknown = [name for name in (*keep, *unix_seconds) if name not in frame.columns]
    if unknown:
        raise ColumnError(
            "there is no column {name!r} among {names}.",
            name=unknown[0],
            names=", ".join(frame.columns),
        )
    different = cache(frame.n_unique)  # asked for where it decides
    roles = {
        name: Role("date", "unix")
        if name in unix_seconds
        else _role_of(frame[name], name, name in keep, different)
        for name in frame.columns
    }
    if all(role.kind in ("empty", *LEFT_OUT) for role in roles.values()):
        # Whole numbers that count the rows are then what there is to learn from.
        counts = [name for name, role in roles.items() if role.kind == "identifier"]
        roles |= {name: Role("number") for name in counts if not _has_name_of_one(name)}
    return roles


def _role_of(column: Series, name: str, keep: bool, different: Callable[[], int]) -> Role:
    pl = polars()
    dtype = column.dtype
    if column.null_count() == len(column) or dtype == pl.Null:
        return Role("empty")
    if dtype == pl.Boolean:
        return Role("boolean")
    if dtype.is_numeric():
        counts = not keep and _is_identifier(column, name, different)
        return Role("identifier", remark=_identifier(name)) if counts else Role("number")
    if dtype == pl.Duration:
        return Role("number")
    if dtype.is_temporal():
        return Role("date", "time" if dtype == pl.Time else "ymd")
    if is_text(column):
        return _role_of_words(column, name, keep)
    if is_category(column):
        return Role("category")
    return Role("other", remark=_other(column, name))


def _is_identifier(column: Series, name: str, different: Callable[[], int]) -> bool:
    """Tell whether whole numbers merely tell the rows apart.

    All are different, but for copies of whole rows, and they stand close together or have such a
    name; years do too. `different` counts the different rows.
    """
    if not column.dtype.is_integer() or len(column) <= FEWEST_ROWS:
        return False
    count = column.n_unique()
    if column.null_count() or 2 * count <= len(column):
        return False
    ends: Any = column.min(), column.max()
    low, high = map(int, ends)
    if YEARS[0] <= low and high <= YEARS[1]:
        return False
    close = high - low < 2 * len(column) or _has_name_of_one(name)
    return close and (count == len(column) or count >= different())


def _has_name_of_one(name: str) -> bool:
    """Tell whether a column is called as identifiers are."""
    words = re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+", name)
    return bool(words and words[-1].lower() in _NUMBERING)


def left_out(frame: DataFrame, dropped: Collection[tuple[str, str]]) -> Iterator[Remark]:
    """Yield a remark on each column that was dropped for what it is, by its name and kind."""
    for name, kind in dropped:
        if kind == "identifier":
            yield _identifier(name)
        elif kind == "text":
            yield _text(different_words(frame[name]), frame[name], name)
        elif kind == "other":
            yield _other(frame[name], name)


def _other(column: Series, name: str) -> Remark:
    words = "Column {name!r} is left out: it holds {type}, which no model here can use."
    return remark(words, "other", name, type=_type_of(column))


def _type_of(column: Series) -> str:
    """Return what a column holds; of Python's objects, what the first one is."""
    if column.dtype != polars().Object:
        return str(column.dtype)
    return type(next(value for value in column if value is not None)).__name__


def _identifier(name: str) -> Remark:
    words = (
        "Column {name!r} is left out: another whole number in every row, like an identifier "
        "({how} takes it)."
    )
    return remark(words, "identifier", name, how=asked("keep", name))


def _role_of_words(column: Series, name: str, keep: bool) -> Role:
    form = tell_form(column)
    if form is not None:
        order = _open_order(column, name) if form in ("dmy", "mdy") else None
        return Role("date", form, order)
    values = different_words(column)
    distinct, rows = len(values), len(column) - column.null_count()
    if keep or distinct <= FEW_WORDS or distinct <= FREE_TEXT_SHARE * rows:
        known = _codes(values, name) if are_codes(values) else _unit(values, name, UNIT_AS_WORD)
        return Role("category", remark=known)
    return Role("text", remark=_text(values, column, name))


def _unit(values: Any, name: str, words: str) -> Remark | None:
    """Remark on numbers that have their unit beside them, the same in most of the cells."""
    units = values.str.extract(_WITH_UNIT)
    known = units.drop_nulls()
    if len(values) < 3 or len(known) < MOSTLY * len(values) or known.n_unique() > 1:
        return None
    shown = values.filter(units.is_not_null()).min()
    return remark(words, "unit", name, value=shown, unit=known[0].strip())


def _text(values: Any, column: Series, name: str) -> Remark:
    words = (
        "Column {name!r} is left out: {distinct} different texts in {rows} rows, names or free "
        "text ({how} takes it)."
    )
    counts = {"distinct": len(values), "rows": len(column) - column.null_count()}
    measured = _unit(values, name, UNIT_LEFT_OUT)
    return measured or remark(words, "text", name, how=asked("keep", name), **counts)


def _codes(values: Any, name: str) -> Remark:
    words = "Column {name!r} holds codes with leading zeros, such as {cell!r}: taken as categories."
    return remark(words, "codes", name, cell=values.min())


def _open_order(column: Series, name: str) -> Remark | None:
    """Return a remark where nothing in the column tells the day from the month."""
    if not order_is_open(column):
        return None
    form, cell = tell_form(column), column.drop_nulls()[0]
    first = "day" if form == "dmy" else "month"
    words = (
        "Column {name!r}: nothing tells the day from the month in dates such as {cell!r}; the "
        "{first} is taken to come first."
    )
    return remark(words, f"{first} first", name, cell=cell, first=say(first))


def numbers_of(frame: DataFrame, names: list[str]) -> FloatArray:
    """Return columns as a matrix of numbers, NaN where a value is missing."""
    if not names:
        return np.empty((frame.height, 0))
    text = [frame[name] for name in names if is_text(frame[name])]
    if text:
        words = frame.with_columns(map(uncoded, text))
        frame = words.with_columns(*as_they_are(words.select(names)))
    parts = np.empty((frame.height, len(names)), order="F")
    for j, name in enumerate(names):
        parts[:, j] = _as_numbers(frame[name], name)
    return parts


def _as_numbers(column: Series, name: str) -> FloatArray:
    pl = polars()
    if column.dtype == pl.Duration:
        column = column.dt.total_milliseconds() / 1000
    if column.dtype == pl.Boolean or column.dtype.is_numeric() or column.dtype == pl.Null:
        cast = column.cast(pl.Float64)
    elif column.dtype == pl.String:
        cast = _from_words(column)
        refuse_odd_cells(column, cast, name, say("numbers"))
    else:
        raise ColumnError(
            "column {name!r} holds {type}; the model expects numbers.", name=name, type=column.dtype
        )
    values = cast.to_numpy()
    if np.isinf(values).any():
        raise ColumnError(
            "column {name!r} holds an infinite number in row {value}.",
            name=name,
            value=_first(values),
        )
    return np.asarray(values, dtype=np.float64)


def refuse_odd_cells(column: Series, found: Any, name: str, expected: str) -> None:
    """Warn of a few cells that are not what the model expects; more are an error."""
    odd = found.is_null() & column.is_not_null()
    count, there = int(odd.sum()), len(column) - column.null_count()
    if count == 0:
        return
    if are_exceptions(count, there):
        remark = cells_in_words(column.rename(name), odd, expected)
        warnings.warn(remark, ColumnWarning, stacklevel=outside())
        return
    raise ColumnError(
        "column {name!r} holds {value}, where the model expects {expected} "
        "({count} of {there} cells; {some}).",
        name=name,
        value=repr(column.filter(odd)[0]),
        expected=expected,
        count=count,
        there=there,
        some=shown_cells(column, odd),
    )


def _first(values: AnyArray) -> int:
    return int(np.flatnonzero(np.isinf(values))[0]) + 1


def _from_words(column: Series) -> Series:
    """Return numbers that are written as text, true and false included."""
    pl = polars()
    words = column.str.strip_chars().str.to_lowercase()
    truth = pl.when(words == "true").then(1.0).when(words == "false").then(0.0)
    found: Series = pl.select(truth.otherwise(words.cast(pl.Float64, strict=False))).to_series()
    if found.null_count() == column.null_count():
        return found
    return found.fill_null(numbers_of_words(column, comma=False))


def words_of(column: Series, name: str) -> Series:
    """Return a column as text or as categories; whole numbers are written without a point."""
    if column.dtype.is_nested() or column.dtype.is_temporal():
        raise ColumnError(
            "column {name!r} holds {type}; the model expects categories.",
            name=name,
            type=column.dtype,
        )
    return column if is_category(column) else written(column)


def warn_of_new(cells: Any, codes: Any, name: str) -> None:
    """Warn of values that no row trained on had, where nothing else stands for them."""
    if codes.null_count() == cells.null_count():
        return
    new = cells.filter(codes.is_null() & cells.is_not_null())
    some = ", ".join(repr(value[:40]) for value in new.unique(maintain_order=True)[:3].to_list())
    words = (
        "Column {name!r}: {count} cells hold values that no row trained on had, such as {some}; "
        "they count as none of the known ones."
        if len(new) != 1
        else "Column {name!r}: {count} cell holds a value that no row trained on had, {some}; it "
        "counts as none of the known ones."
    )
    remark = say(words, name=name, count=len(new), some=some)
    warnings.warn(remark, ColumnWarning, stacklevel=outside())


# ---- dates ---------------------------------------------------------------------------------------

# The part whose missing values stand for those of all parts.
MARKED = ("days since 1970", "hour of day")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def part_name(name: str, part: str) -> str:
    """Return the name of one part of a date."""
    return f"{name}: {part}"


def parts_of(column: Series, way: str) -> dict[str, Any]:
    """Return the parts of the dates in a column, by name, as columns of numbers and of words."""
    pl = polars()
    moments = _moments(column, way)
    hour = moments.dt.hour() + moments.dt.minute() / 60 + moments.dt.second() / 3600
    if way == "time":
        return {part_name(column.name, "hour of day"): hour}
    weekdays = dict(enumerate(WEEKDAYS, 1))
    found = {
        "year": moments.dt.year(),
        "day of year": moments.dt.ordinal_day(),
        "hour": hour,
        "days since 1970": moments.dt.epoch("s") / 86400,
        "month": moments.dt.strftime("%m"),
        "weekday": moments.dt.weekday().replace_strict(weekdays, return_dtype=pl.String),
    }
    return {part_name(column.name, part): values for part, values in found.items()}


def _moments(column: Series, way: str) -> Any:
    """Return the column as dates with times, without a time zone."""
    pl, words, column = polars(), column, uncoded(column)
    dtype, name = column.dtype, column.name
    if dtype == pl.Null:
        return column.cast(pl.Datetime)
    if way == "unix":
        seconds = numbers_of_words(column, comma=False) if dtype == pl.String else column
        if not seconds.dtype.is_numeric():
            raise ColumnError(
                "column {name!r} holds {dtype}; the model expects Unix seconds.",
                name=name,
                dtype=dtype,
            )
        if dtype == pl.String:
            refuse_odd_cells(column, seconds, name, say("Unix seconds"))
        return (seconds * 1_000_000).cast(pl.Int64).cast(pl.Datetime("us"))
    if dtype == pl.Time:
        return (column.cast(pl.Int64) // 1000).cast(pl.Datetime("us"))
    if dtype == pl.Date:
        return column.cast(pl.Datetime("us"))
    if dtype == pl.Datetime:
        return column.dt.replace_time_zone(None)
    if dtype != pl.String:
        raise ColumnError(
            "column {name!r} holds {dtype}; the model expects dates.", name=name, dtype=dtype
        )
    found = parsed(words, way)
    refuse_odd_cells(column, found, name, say("dates" if way != "time" else "times"))
    return found
