"""Tables in JSON, of spreadsheets, and of SQLite databases, named as file.db::table."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.files.compression import Limits, Place, open_bytes
from cotas.files.csv_dialect import MOST_TITLES, SOME_LINES, titles_above
from cotas.files.frames import first_line, polars, polars_errors
from cotas.files.names import without_twins
from cotas.files.problems import DataFileError
from cotas.words import say

if TYPE_CHECKING:
    from polars import DataFrame, Series

DEEPEST = 64
_WORDS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def read_json(path: Place, source: str, limits: Limits) -> DataFrame:
    """Return the frame; the values of objects within objects are columns such as "place.city"."""
    with open_bytes(path, limits.text) as stream:
        text = limits.read(stream, source)
    lines = _has_lines(text)
    if max(map(_deepest, text.splitlines() if lines else [text]), default=0) > DEEPEST:
        words = "it holds objects within objects, more than {most} deep."
        raise DataFileError(words, source, most=DEEPEST)
    pl = polars()
    try:
        if lines:
            return _flat(pl.read_ndjson(io.BytesIO(text), infer_schema_length=None))
        return _flat(_of_objects(json.loads(text)))
    except polars_errors() as error:
        raise DataFileError("it is no table ({error}).", source, error=first_line(error)) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise DataFileError(
            "it is no sound JSON ({error}); correct it, or get it again if it breaks off.",
            source,
            error=first_line(error),
        ) from None


def _deepest(text: bytes) -> int:
    """Tell how deep lists and objects stand within one another, at most.

    What reads them goes as deep, and would end the process when its stack is full.
    """
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return 0
    letters = np.frombuffer(_WORDS.sub(b"", text), dtype=np.uint8)
    steps = np.isin(letters, list(b"{[")).astype(np.int64) - np.isin(letters, list(b"}]"))
    return int(np.cumsum(steps).max(initial=0))


def _flat(frame: DataFrame) -> DataFrame:
    """Return the frame with the fields of objects in the place of these, as deep as they go."""
    pl = polars()
    while within := [name for name, kind in frame.schema.items() if kind == pl.Struct]:
        for name in within:
            place, fields = frame.columns.index(name), frame[name].struct.unnest()
            frame = frame.drop(name)
            called = [*frame.columns, *(f"{name}.{field}" for field in fields.columns)]
            fields.columns = without_twins(called)[0][frame.width :]
            names = frame.columns
            frame = frame.hstack(fields)[[*names[:place], *fields.columns, *names[place:]]]
    return frame


def _has_lines(text: bytes) -> bool:
    """Tell whether an object stands on each line; one object alone may be a table of columns."""
    first, _, rest = text.strip().partition(b"\n")
    return bool(rest) and first.rstrip().startswith(b"{") and first.rstrip().endswith(b"}")


def _of_objects(found: object) -> Any:
    pl = polars()
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        if len(lists) == 1 and all(isinstance(row, dict) for row in lists[0]):
            found = lists[0]  # the rows stand beside remarks on them
        elif not lists:
            found = [found]
    return pl.DataFrame(found, infer_schema_length=None, strict=False)


# A stream in the place of the sheets, in the letters of its format.
_LOCKED = "EncryptedPackage".encode("utf-16-le")


def read_sheet(path: Place, name: str | None, source: str, limits: Limits) -> tuple[DataFrame, int]:
    """Read the sheet with this name, or the first, and how many rows stand above the names in
    it."""
    with open_bytes(path, limits.text) as stream:
        content = io.BytesIO(limits.read(stream, source))
    try:
        import fastexcel  # noqa: F401
    except ImportError as error:
        raise ImportError("Spreadsheets need fastexcel: pip install 'cotas[excel]'.") from error
    read = partial(polars().read_excel, content, sheet_name=name, engine="calamine")
    try:
        frame = read()
        titles = titles_above(_first_rows(frame))
        return (read(read_options={"header_row": titles}) if titles else frame), titles
    except Exception as error:  # each reader of polars has errors of its own
        if _LOCKED in content.getvalue():
            words = "it is protected by a password; save it without one."
            raise DataFileError(words, source) from None
        raise DataFileError(
            "its sheet cannot be read ({error}); open it in a spreadsheet program and save it as "
            ".xlsx or CSV.",
            source,
            error=first_line(error),
        ) from None


def _first_rows(frame: DataFrame) -> list[list[str]]:
    """Read the rows of a sheet as text, the names first, of which those that are missing are made
    up."""
    names = ["" if name.startswith("__UNNAMED__") else name for name in frame.columns]
    some = frame.head(MOST_TITLES + SOME_LINES).rows()
    return [names, *(["" if cell is None else str(cell) for cell in row] for row in some)]


def read_sqlite(path: Path, name: str | None, source: str) -> DataFrame:
    """Return a table or view of the database; the only one if none is named."""
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            found = _table(connection, name, source)
            quoted = found.replace('"', '""')
            cursor = connection.execute(f'SELECT * FROM "{quoted}"')
            names = [column[0] for column in cursor.description]
            return _frame(names, cursor.fetchall())
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DataFileError("the database cannot be read ({error}).", source, error=error) from None


def _table(connection: sqlite3.Connection, name: str | None, source: str) -> str:
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    known = [str(row[0]) for row in rows]
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        there = ", ".join(known) or say("none")
        if name is None:
            words = say("name its table as file::table; there are {there}.", there=there)
        else:
            words = say("it has no table {name!r}; there are {there}.", name=name, there=there)
        raise DataFileError(words, source)
    return str(name)


def _frame(names: list[str], rows: list[tuple[Any, ...]]) -> DataFrame:
    """Make columns text where values of several types stand side by side, as SQLite allows."""
    pl = polars()
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    found: DataFrame = pl.DataFrame(
        [_column(name, values) for name, values in zip(names, columns, strict=True)]
    )
    return found


def _column(name: str, values: Any) -> Series:
    pl = polars()
    kinds = {type(value) for value in values if value is not None}
    found: Series
    if kinds <= {int, float} or len(kinds) == 1:
        found = pl.Series(name, values, strict=False)
    else:
        plain = [None if value is None else str(value) for value in values]
        found = pl.Series(name, plain, dtype=pl.String)
    return found
