"""What of a date a model can learn from: the season, the day of the week, the time that went by."""

from __future__ import annotations

from typing import Any

from cotas.files.cells import numbers_of_words
from cotas.files.dates import parsed
from cotas.files.frames import polars, uncoded
from cotas.preparation.columns import ColumnError, refuse_odd_cells
from cotas.words import say

# The part whose missing values stand for those of all parts.
MARKED = ("days since 1970", "hour of day")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def part_name(name: str, part: str) -> str:
    """The name of one part of a date."""
    return f"{name}: {part}"


def parts_of(column: Any, way: str) -> dict[str, Any]:
    """The parts of the dates in a column, by name, as columns of numbers and of words."""
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


def _moments(column: Any, way: str) -> Any:
    """The column as dates with times, without a time zone."""
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
