"""Text tables, read by polars once it is clear how they are written."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cotas.arrays import IntArray
from cotas.files.compression import (
    MAX_BYTES,
    Place,
    is_compressed,
    on_disk,
    open_bytes,
    source_name,
)
from cotas.files.csv_dialect import MISSING, SAMPLE_BYTES, Dialect, detect, sample_of
from cotas.files.lines import blocks_of_lines
from cotas.files.problems import DataFileError
from cotas.loops import loop

# Rows from which the type of a column is told; a later cell that does not fit has all looked at.
ROWS_FOR_TYPES = 10_000
_WITH_COMMA = r"^\s*([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)\s*$"


def polars() -> Any:
    """The library that reads tables, or a message on how to get it."""
    try:
        import polars
    except ImportError as error:
        raise ImportError("Reading tables needs polars: pip install 'cotas[files]'.") from error
    return polars


def polars_errors() -> tuple[type[BaseException], ...]:
    """What polars raises when a file is damaged; it also panics, which is no Exception."""
    pl = polars()
    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def first_line(error: BaseException) -> str:
    """A short form of what a library says about a file."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def read_csv(
    path: Place,
    *,
    separator: str | None = None,
    header: bool | None = None,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """A text table as a polars frame; see `cotas.files.tables.read_table`."""
    source = source_name(path)
    text, sample = _text_and_sample(path, max_bytes)
    dialect = detect(sample, source, separator, header)
    if dialect.encoding != "utf-8":
        text = _as_utf8(text, dialect, source)
    try:
        frame = _parse(text, dialect, source)
    except DataFileError:
        other = replace(dialect, encoding="cp1252")
        if _is_utf8(text):
            raise
        text = _as_utf8(text, other, source)
        frame = _parse(text, dialect, source)
    _refuse_short_rows(frame, text, dialect, source)
    return _without_blank_lines(frame, text)


def _text_and_sample(path: Place, max_bytes: int) -> tuple[bytes | Path, bytes]:
    """A plain file stays on disk, for polars to map; anything else is read here."""
    if on_disk(path) and not is_compressed(path):
        file = Path(str(path))
        with file.open("rb") as stream:
            beginning = [stream.read(SAMPLE_BYTES), *(stream.readline() for _ in range(3))]
            return file, b"".join(beginning)
    with open_bytes(path, max_bytes) as unpacked:
        text = unpacked.read()
    return text, sample_of(text)


def csv_batches(
    stream: io.BufferedReader,
    rows: int,
    types: Mapping[str, Any] | None = None,
    *,
    separator: str | None = None,
    header: bool | None = None,
    source: str = "",
) -> Iterator[Any]:
    """Frames of at most `rows` rows, in order, read with the types given for their columns.

    Columns without a type are text: what the types are must not depend on the batch.
    """
    pl = polars()
    dialect: Dialect | None = None
    for block in blocks_of_lines(stream, source, quote=b'"'):
        first = dialect is None
        if dialect is None:
            dialect = detect(sample_of(block), source, separator, header)
            if dialect.encoding == "utf-16":
                raise DataFileError("UTF-16 cannot be read in batches; save it as UTF-8.", source)
            overrides = {name: (types or {}).get(name, pl.String) for name in dialect.names}
        text = block if dialect.encoding == "utf-8" else _decoded(block, dialect, source)
        skip = first and dialect.header
        if skip and text.count(b"\n") <= 1 and not text.partition(b"\n")[2].strip():
            continue
        frame = _parse(text, dialect, source, overrides, skip_header=skip)
        _refuse_short_rows(frame, text, dialect, source)
        yield from _without_blank_lines(frame, text).iter_slices(rows)


def _is_utf8(text: bytes | Path) -> bool:
    """Whether all of it is, and not only its beginning."""
    data = text.read_bytes() if isinstance(text, Path) else text
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _as_utf8(text: bytes | Path, dialect: Dialect, source: str) -> bytes:
    data = text.read_bytes() if isinstance(text, Path) else text
    return _decoded(data, dialect, source)


def _decoded(data: bytes, dialect: Dialect, source: str) -> bytes:
    if dialect.encoding == "utf-8-sig":
        return data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode(dialect.encoding).encode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFileError(
            f"it is written neither in UTF-8 nor in {dialect.encoding}.", source, line
        ) from None


def _parse(
    text: bytes | Path,
    dialect: Dialect,
    source: str,
    types: Mapping[str, Any] | None = None,
    skip_header: bool | None = None,
) -> Any:
    """The frame, with the types given or told from all rows if the first ones mislead."""
    pl = polars()
    options: dict[str, Any] = {
        "has_header": dialect.header if skip_header is None else skip_header,
        "separator": dialect.separator,
        "quote_char": dialect.quote,
        "decimal_comma": dialect.decimal_comma,
        # Any word here makes polars a third slower, so none that the beginning does not show.
        "null_values": list(dialect.missing) or None,
        "new_columns": list(dialect.names),
        "glob": False,
    }
    if types is not None:
        options |= {"infer_schema": False}
    try:
        frame = pl.read_csv(text, infer_schema_length=ROWS_FOR_TYPES, **options)
    except pl.exceptions.NoDataError:
        raise DataFileError("it holds no rows.", source) from None
    except polars_errors():
        frame = _parse_after_all(text, options, dialect, source)
    frame = _without_missing_words(frame, numbers=types is None)
    if types is not None:
        if dialect.decimal_comma:
            text_columns = pl.col(pl.String).str
            frame = frame.with_columns(text_columns.replace(_WITH_COMMA, "${1}.${2}"))
        frame = _cast(frame, types, source)
    return frame


def _parse_after_all(
    text: bytes | Path, options: dict[str, Any], dialect: Dialect, source: str
) -> Any:
    pl = polars()
    found = first_ragged_line(text, dialect)
    if found is not None:
        line, fields = found
        raise DataFileError(
            f"it has {fields} fields, and the first line has {len(dialect.names)}.", source, line
        )
    try:
        return pl.read_csv(
            text, infer_schema_length=None, **{**options, "null_values": list(MISSING)}
        )
    except polars_errors() as error:
        raise DataFileError(first_line(error), source) from None


def _without_missing_words(frame: Any, numbers: bool) -> Any:
    """Columns of text in which a word stands for a missing value; what is left may be numbers."""
    pl = polars()
    changed = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype != pl.String or not (missing := column.is_in(list(MISSING))).any():
            continue
        column = column.set(missing, None)
        if numbers:
            for kind in (pl.Int64, pl.Float64):
                cast = column.cast(kind, strict=False)
                if cast.null_count() == column.null_count() < len(column):
                    column = cast
                    break
        changed.append(column)
    return frame.with_columns(changed) if changed else frame


def _cast(frame: Any, types: Mapping[str, Any], source: str) -> Any:
    """Text to the types asked for, or an error that shows the first cell that does not fit."""
    pl = polars()
    wanted = {name: kind for name, kind in types.items() if kind != pl.String}
    cast = frame.with_columns(
        pl.col(name).str.strip_chars().cast(kind, strict=False) for name, kind in wanted.items()
    )
    for name in wanted:
        if cast[name].null_count() > frame[name].null_count():
            lost = frame[name].filter(cast[name].is_null() & frame[name].is_not_null())[0]
            raise DataFileError(
                f"column {name!r} holds {lost!r}, where the model expects numbers.", source
            )
    return cast


def _refuse_short_rows(frame: Any, text: bytes | Path, dialect: Dialect, source: str) -> None:
    """Rows with too few fields would pass as rows with missing values at their end."""
    if frame.width < 2 or frame[frame.columns[-1]].null_count() == 0:
        return
    found = first_ragged_line(text, dialect)
    if found is not None:
        line, fields = found
        raise DataFileError(
            f"it has {fields} fields, and the first line has {len(dialect.names)}.", source, line
        )


def _without_blank_lines(frame: Any, text: bytes | Path) -> Any:
    """Polars takes a blank line for a row in which all is missing.

    Such rows go if there are as many as blank lines; else some are written out as ",,", and stay.
    """
    if frame.width < 2 or frame[frame.columns[-1]].null_count() == 0:
        return frame
    pl = polars()
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if not empty.any():
        return frame
    with text.open("rb") if isinstance(text, Path) else io.BytesIO(text) as lines:
        blank = sum(not line.strip(b"\r\n") for line in lines)
    return frame.filter(~empty) if blank == empty.sum() else frame


def first_ragged_line(text: bytes | Path, dialect: Dialect) -> tuple[int, int] | None:
    """The first line with another number of fields than the first, and that number."""
    if isinstance(text, Path):
        if os.path.getsize(text) == 0:
            return None
        data: IntArray = np.memmap(text, dtype=np.uint8, mode="r")
    else:
        data = np.frombuffer(text, dtype=np.uint8)
    line, fields = _ragged(data, ord(dialect.separator), ord(dialect.quote), len(dialect.names))
    return (int(line), int(fields)) if line else None


@loop
def _ragged(text: IntArray, separator: int, quote: int, expected: int) -> tuple[int, int]:
    line, fields, quoted, empty = 1, 1, False, True
    begun = 1
    for p in range(len(text)):
        letter = text[p]
        if letter == quote:
            quoted = not quoted
            empty = False
        elif letter == 10:
            line += 1
            if not quoted:
                if not empty and fields != expected:
                    return begun, fields
                fields, empty, begun = 1, True, line
        elif letter == separator:
            empty = False
            if not quoted:
                fields += 1
        elif letter != 13:
            empty = False
    if not empty and fields != expected:
        return begun, fields
    return 0, 0
