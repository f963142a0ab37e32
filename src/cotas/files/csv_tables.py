"""Text tables, read by polars once it is clear how they are written, and given back as they came"""

from __future__ import annotations

import codecs
import io
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import IntArray
from cotas.files.cells import (
    ColumnReading,
    are_codes,
    in_plain_numbers,
    tell_readings,
    understood,
    with_commas,
    without_missing,
)
from cotas.files.compression import (
    USUAL,
    Limits,
    Place,
    is_compressed,
    on_disk,
    open_bytes,
    source_name,
)
from cotas.files.csv_dialect import (
    MIXED,
    SAMPLE_BYTES,
    SEPARATORS,
    Dialect,
    Untidy,
    Wishes,
    about_titles,
    blocks_of_lines,
    decoded,
    detect,
    of_one_byte,
    sample_of,
    tell_untidy,
    with_the_last,
)
from cotas.files.frames import coded, first_line, polars, polars_errors
from cotas.files.names import names_among
from cotas.files.problems import DataFileError, Remark, remark
from cotas.files.table import AsGiven, Table, TextBlock, table_of
from cotas.words import say

if TYPE_CHECKING:
    from polars import DataFrame

# What a last row is called that sums up the others.
TOTALS = ("total", "totals", "grand total", "sum", "totales", "total general", "suma", "sumas")
# Rows from which the type of a column is told; a later cell that does not fit has all looked at.
ROWS_FOR_TYPES = 10_000
# Rows from which it is told how many digits the numbers of a column have.
ROWS_FOR_CODES = 1000


def read_csv(path: Place, wishes: Wishes | None = None, *, limits: Limits = USUAL) -> Table:
    """Return a text table with coded words, and what is known of how it was written."""
    source, wishes = source_name(path), wishes or Wishes()
    text, sample = _text_and_sample(path, limits, source)
    marks = wishes.separator or SEPARATORS
    limits.check_line(sample, marks, source)
    untidy = tell_untidy(sample, wishes.header)
    if any(untidy):
        text = untidy.tidy(_bytes_of(text))
        sample = sample_of(text)
        limits.check_line(sample, marks, source)
    said = about_titles(untidy.titles)
    dialect = detect(sample, source, wishes)
    words = names_among(wishes.words, dialect.names, source)
    limits.check_text(text, sample, len(dialect.names), source)
    if dialect.encoding != "utf-8":
        text = _decoded(_bytes_of(text), dialect, source)
    try:
        frame = _parse(text, dialect, source, wishes.gone, words)
    except DataFileError:
        if _is_utf8(text):
            raise
        # A letter that is no UTF-8 stands beyond the sample.
        dialect = replace(dialect, encoding=wishes.encoding or of_one_byte(_bytes_of(text)))
        text = _decoded(_bytes_of(text), dialect, source)
        frame = _parse(text, dialect, source, wishes.gone, words)
    _refuse_short_rows(frame, text, dialect, source)
    frame = _as_written(frame, text, dialect, source, wishes.gone)
    frame, total = without_totals(_without_blank_lines(frame, text))
    found = understood(coded(frame), dialect.decimal_comma, source, wishes.gone, words)
    if dialect.encoding == MIXED:
        both = "Most letters are written in UTF-8 and some in Windows-1252: each is read as it is."
        said.append(remark(both, "encoding"))
    return table_of(found, source, "csv", (*said, *dialect.remarks, *total))


def _text_and_sample(path: Place, limits: Limits, source: str) -> tuple[bytes | Path, bytes]:
    """Return a plain file stays on disk, for polars to map; anything else is read here."""
    if on_disk(path) and not is_compressed(path):
        file = Path(str(path))
        with file.open("rb") as stream:
            lines = (stream.readline(limits.text) for _ in range(3))
            beginning = [stream.read(SAMPLE_BYTES), *lines]
            return file, b"".join(beginning)
    with open_bytes(path, limits.text) as unpacked:
        text = limits.read(unpacked, source)
    return text, sample_of(text)


def csv_batches(
    stream: io.BufferedReader,
    rows: int,
    types: Mapping[str, Any] | None = None,
    wishes: Wishes | None = None,
    *,
    source: str = "",
    limits: Limits = USUAL,
) -> Iterator[Table]:
    """Read tables of at most `rows` rows, in order, read with the types given for their columns.

    Columns without a type are text: what the types are must not depend on the batch. Numbers in
    them are written as programs write them, as the first block shows how they were written.
    """
    wishes = wishes or Wishes()
    stream = _narrow(stream, wishes, source)
    dialect: Dialect | None = None
    untidy = Untidy()
    readings: dict[str, ColumnReading] = {}
    before = 0
    for block, is_last in with_the_last(blocks_of_lines(stream, source, quote=b'"')):
        first = dialect is None
        if dialect is None:
            untidy = tell_untidy(sample_of(block), wishes.header)
        block = untidy.tidy(block, first) if any(untidy) else block
        if dialect is None:
            limits.check_line(block, wishes.separator or SEPARATORS, source)
            dialect = detect(sample_of(block), source, wishes)
        if dialect.encoding == "utf-8" and not wishes.encoding and not _is_utf8(block):
            dialect = replace(dialect, encoding=of_one_byte(block))
        text = block if dialect.encoding == "utf-8" else _decoded(block, dialect, source)
        skip = first and dialect.header
        if skip and text.count(b"\n") <= 1 and not text.partition(b"\n")[2].strip():
            continue
        # Words for a missing value stay for whoever wants the cells as they are.
        frame = _parse(text, dialect, source, (), dialect.names, skip_header=skip)
        _refuse_short_rows(frame, text, dialect, source)
        limits.check_shape(min(rows, frame.height), frame.width, source)
        frame = _without_blank_lines(frame, text)
        given = AsGiven(frame, TextBlock(text, dialect, skip))
        frame = without_missing(frame, frame.columns, wishes.gone)
        frame, said = without_totals(frame, before) if is_last else (frame, [])
        before += frame.height
        if not readings:
            remaining = frame.drop(wishes.words, strict=False)
            readings = tell_readings(remaining, dialect.decimal_comma, wishes.decimal_commas)
        frame = _cast(in_plain_numbers(frame, readings), types or {}, source)
        commas = with_commas(readings)
        for start in range(0, frame.height, rows):
            part = frame[start : start + rows]
            how: dict[str, Any] = {
                "decimal_commas": commas,
                "given": given.span(start, part.height),
            }
            yield Table(part, None, source, "csv", remarks=tuple(said), **how)
            said = []


def _narrow(stream: io.BufferedReader, wishes: Wishes, source: str) -> io.BufferedReader:
    """Return the same text in UTF-8 if its letters take several bytes each, where no byte ends a
    line."""
    head = stream.peek(4096)[:4096]
    if not head:
        return stream
    dialect = detect(head, source, wishes)
    if not dialect.encoding.replace("_", "-").startswith(("utf-16", "utf-32")):
        return stream
    return io.BufferedReader(io.BytesIO(_decoded(stream.read(), dialect, source)))


def _bytes_of(text: bytes | Path) -> bytes:
    return text.read_bytes() if isinstance(text, Path) else text


def _is_utf8(text: bytes | Path) -> bool:
    """Tell whether all of it is, and not only its beginning."""
    try:
        _bytes_of(text).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, dialect: Dialect, source: str) -> bytes:
    if dialect.encoding == "utf-8-sig":
        return data.removeprefix(codecs.BOM_UTF8)
    try:
        return decoded(data, dialect.encoding).encode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFileError(
            "it is written neither in UTF-8 nor in {encoding}.",
            source,
            line,
            encoding=dialect.encoding,
        ) from None


def _parse(
    text: bytes | Path,
    dialect: Dialect,
    source: str,
    gone: Sequence[str],
    words: Sequence[str] = (),
    skip_header: bool | None = None,
    rows: int | None = None,
) -> Any:
    """Parse the frame, with types told from all rows if the first ones mislead; `words` are
    text."""
    pl = polars()
    options: dict[str, Any] = {
        "has_header": dialect.header if skip_header is None else skip_header,
        "separator": dialect.separator,
        "quote_char": dialect.quote,
        "decimal_comma": dialect.decimal_comma and dialect.separator != ",",
        # Any word here makes polars a third slower, so none that the beginning does not show.
        "null_values": [word for word in gone if word in dialect.missing] or None,
        "new_columns": list(dialect.names),
        "glob": False,
        "n_rows": rows,
    }
    if tuple(words) == dialect.names:
        options |= {"infer_schema": False}
    elif words:
        options |= {"schema_overrides": dict.fromkeys(words, pl.String)}
    try:
        # Columns in one piece are worked with several times as fast.
        return pl.read_csv(text, infer_schema_length=ROWS_FOR_TYPES, **options).rechunk()
    except pl.exceptions.NoDataError:
        raise DataFileError("it holds no rows.", source) from None
    except polars_errors():
        return _parse_after_all(text, options | {"null_values": [*gone]}, dialect, source)


def _as_written(
    frame: DataFrame, text: bytes | Path, dialect: Dialect, source: str, gone: Sequence[str]
) -> Any:
    """Return the frame with codes such as 08001, and with True and TRUE, as they are written.

    Polars takes them for numbers and for truth values, which have one spelling.
    """
    whole = [name for name in frame.columns if frame[name].dtype.is_integer()]
    truths = [name for name in frame.columns if frame[name].dtype == polars().Boolean]
    if not whole and not truths:
        return frame
    first = _parse(text, dialect, source, gone, dialect.names, rows=ROWS_FOR_CODES)
    whole = [name for name in whole if _may_be_codes(frame[name], first[name])]
    truths = [name for name in truths if not first[name].is_in(["true", "false"]).all()]
    if not whole and not truths:
        return frame
    written = _parse(text, dialect, source, gone, [*whole, *truths])
    codes = [name for name in whole if are_codes(written[name])]
    return frame.with_columns(written[name] for name in (*codes, *truths))


def _may_be_codes(numbers: Any, first: Any) -> bool:
    """Tell whether numbers may be codes of as many digits each, of which some begin with a zero.

    The first of them, as they are written, tell how many digits; a zero in front makes a number
    that has fewer.
    """
    digits = first.drop_nulls().str.len_bytes().unique().to_list()
    if len(digits) != 1:
        return len(digits) == 0 and numbers.null_count() < len(numbers)
    low, high = numbers.min(), numbers.max()
    return bool(digits[0] > 1 and 0 <= low < 10 ** (digits[0] - 1) and high < 10 ** digits[0])


def _numbers_of_letters(text: bytes | Path) -> IntArray:
    """Return the bytes of a text, which stays where it is."""
    if isinstance(text, bytes):
        return np.frombuffer(text, dtype=np.uint8)
    empty = os.path.getsize(text) == 0
    return np.empty(0, np.uint8) if empty else np.memmap(text, dtype=np.uint8, mode="r")


def _parse_after_all(
    text: bytes | Path, options: dict[str, Any], dialect: Dialect, source: str
) -> Any:
    pl = polars()
    _refuse_ragged_lines(text, dialect, source)
    stray = _stray_quote(text, dialect)
    if stray is not None:
        raise DataFileError(
            "a quote ({quote}) stands inside a cell. Put the cell between quotes "
            "and write the quote in it twice.",
            source,
            stray,
            quote=dialect.quote,
        )
    try:
        return pl.read_csv(text, infer_schema_length=None, **options).rechunk()
    except polars_errors():
        options |= {"infer_schema": False}
    try:  # as text, of which `understood` knows more ways to be numbers
        return pl.read_csv(text, **options).rechunk()
    except polars_errors() as error:
        words = say("it cannot be read ({error}).", error=first_line(error))
        raise DataFileError(words, source) from None


def _stray_quote(text: bytes | Path, dialect: Dialect) -> int | None:
    """Return the first line with a quote in the middle of a cell."""
    mark, quote = re.escape(dialect.separator.encode()), re.escape(dialect.quote.encode())
    stray = re.compile(rb"[^\s%b%b]%b(?!%b|%b|\s*$)" % (mark, quote, quote, quote, mark))
    with text.open("rb") if isinstance(text, Path) else io.BytesIO(text) as lines:
        return next((k for k, line in enumerate(lines, 1) if stray.search(line)), None)


def _cast(frame: DataFrame, types: Mapping[str, Any], source: str) -> DataFrame:
    """Cast text to the types asked for, or an error that shows the first cell that does not fit."""
    pl = polars()
    wanted = {name: kind for name, kind in types.items() if kind != pl.String}
    cast = frame.with_columns(
        pl.col(name).str.strip_chars().cast(kind, strict=False) for name, kind in wanted.items()
    )
    for name in wanted:
        if cast[name].null_count() > frame[name].null_count():
            lost = frame[name].filter(cast[name].is_null() & frame[name].is_not_null())[0]
            raise DataFileError(
                "column {name!r} holds {lost!r}, where the model expects numbers.",
                source,
                name=name,
                lost=lost,
            )
    return cast


def _refuse_short_rows(frame: DataFrame, text: bytes | Path, dialect: Dialect, source: str) -> None:
    """Refuse rows with too few fields, which would pass as rows with missing values at their
    end."""
    if frame.width < 2 or frame[frame.columns[-1]].null_count() == 0:
        return
    _refuse_ragged_lines(text, dialect, source)


def _without_blank_lines(frame: DataFrame, text: bytes | Path) -> DataFrame:
    """Leave out blank lines, which Polars takes for rows in which all is missing.

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


def without_totals(frame: DataFrame, before: int = 0) -> tuple[DataFrame, list[Remark]]:
    """Return the frame without a last row that sums up the others, as spreadsheets have it.

    Its first cell with anything in it says so, in that row alone, and another cell is empty.
    `before` are rows that came before those of the frame.
    """
    last = frame.row(-1) if before + frame.height > 2 else ()
    filled = [(j, cell) for j, cell in enumerate(last) if cell not in (None, "")]
    j, word = filled[0] if 0 < len(filled) < len(last) else (0, None)
    remaining = isinstance(word, str) and word.strip().rstrip(":").casefold() in TOTALS
    if not remaining or (frame[:, j] == word).sum() > 1:
        return frame, []
    words = "Row {row} is left out: it begins with {word!r}, like the sum of those above it."
    said = remark(words, "total", row=before + frame.height, word=str(word).strip())
    return frame.head(frame.height - 1), [said]


def _refuse_ragged_lines(text: bytes | Path, dialect: Dialect, source: str) -> None:
    """Refuse a line with too few or too many fields."""
    found = first_ragged_line(text, dialect)
    if found is None:
        return
    line, fields = found
    with text.open("rb") if isinstance(text, Path) else io.BytesIO(text) as lines:
        begun = next(itertools.islice(lines, line - 1, None), b"")
    left_open = begun.count(dialect.quote.encode()) % 2
    open_quote = say(" A quote ({quote}) is left open in it.", quote=dialect.quote)
    advice = open_quote if left_open else ""
    raise DataFileError(
        "it has {fields} fields, and the first line has {expected}.{advice}",
        source,
        line,
        fields=fields,
        expected=len(dialect.names),
        advice=advice,
    )


def first_ragged_line(text: bytes | Path, dialect: Dialect) -> tuple[int, int] | None:
    """Return the first line with another number of fields than the first, and that number."""
    data = _numbers_of_letters(text)
    if not len(data):
        return None
    from cotas.files.ragged import ragged_line  # compiled, and rarely needed

    line, fields = ragged_line(data, ord(dialect.separator), ord(dialect.quote), len(dialect.names))
    return (int(line), int(fields)) if line else None
