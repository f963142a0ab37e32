"""How a text table is written, told from its beginning: encoding, separator, quotes, header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

from cotas.files.problems import DataFileError

SAMPLE_BYTES = 1 << 16
SEPARATORS = ",;\t|"
# Words that stand for a value that is not there.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "none", "?")

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class Dialect:
    """What the reader must know before it can read a text table.

    Attributes
    ----------
    encoding : str
        "utf-8", "utf-8-sig", "utf-16" or "cp1252".
    separator, quote : str
    decimal_comma : bool
        Numbers are written 1,5.
    header : bool
        The first line holds the names of the columns.
    names : tuple of str
        Those names, or column_1, column_2, … if there is no header.
    missing : tuple of str
        The words for a missing value that occur in the sample.
    """

    encoding: str
    separator: str
    quote: str
    decimal_comma: bool
    header: bool
    names: tuple[str, ...]
    missing: tuple[str, ...] = ()


def detect(
    sample: bytes, source: str, separator: str | None = None, header: bool | None = None
) -> Dialect:
    """The dialect of a table that begins with these bytes; what is given is not guessed."""
    encoding = _encoding(sample)
    text = sample.decode(encoding, "ignore")
    lines = _whole_lines(text, len(sample) >= SAMPLE_BYTES)
    if not lines:
        raise DataFileError("it is empty.", source)
    if "\0" in text:
        raise DataFileError(
            "it is neither text nor a format known here (CSV, Parquet, Arrow, LibSVM, npz).", source
        )
    quote = _quote(text)
    separator = "\t" if separator == r"\t" else separator  # as it is typed on a command line
    if separator is not None and (len(separator) != 1 or not separator.isascii()):
        raise DataFileError(
            f"the separator must be one character such as ; or a tab, not {separator!r}.", source
        )
    if separator is None:
        separator = _separator(lines, quote)
    try:
        rows = [row for row in csv.reader(lines, delimiter=separator, quotechar=quote) if row]
    except csv.Error:
        raise DataFileError(
            "a field has more than 131072 characters; is a quote left open?", source
        ) from None
    if header is None:
        header = _has_header(rows)
    comma = separator != "," and _decimal_comma(rows[1:] if header else rows)
    cells = {cell for row in rows[1:] for cell in row}
    missing = tuple(word for word in MISSING if word and word in cells)
    names = _names(rows[0], header, source)
    return Dialect(encoding, separator, quote, comma, header, names, missing)


def sample_of(text: bytes) -> bytes:
    """The beginning of a table, some lines beyond SAMPLE_BYTES so that wide ones show a row."""
    end = SAMPLE_BYTES
    for _ in range(3):
        end = text.find(b"\n", end) + 1
        if end == 0:
            return text
    return text[:end]


def _encoding(sample: bytes) -> str:
    for mark, name in _MARKS.items():
        if sample.startswith(mark):
            return name
    try:
        sample[:-4].decode("utf-8")  # the sample may end within a character
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 8:
            return "cp1252"
    return "utf-8"


def _whole_lines(text: str, cut: bool) -> list[str]:
    """The lines with something in them; one that the end of the sample cuts through is left out."""
    lines = text.splitlines(keepends=True)
    if cut and len(lines) > 1:
        lines = lines[:-1]
    return [line for line in lines if line.strip()]


def _quote(text: str) -> str:
    """Single quotes only if words stand between them and no double quote occurs."""
    if '"' not in text and re.search(r"(^|[,;\t|])'[^'\n]*'([,;\t|\r\n]|$)", text, re.MULTILINE):
        return "'"
    return '"'


def _separator(lines: list[str], quote: str) -> str:
    """The one that cuts the lines into the same number of parts most often, and into most."""

    def merit(separator: str) -> tuple[float, int]:
        try:
            rows = csv.reader(lines[:200], delimiter=separator, quotechar=quote)
            widths = [len(row) for row in rows]
        except csv.Error:  # a field longer than any should be
            return 0.0, 1
        width, times = Counter(widths).most_common(1)[0]
        return (times / len(widths), width) if width > 1 else (0.0, 1)

    best = max(SEPARATORS, key=merit)
    if merit(best)[1] == 1 and len(lines[0].split()) > 1:
        widths = {len(line.split(" ")) for line in lines[:200]}
        return " " if len(widths) == 1 else best
    return best


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first line is made of names.

    It is if somewhere a word stands above numbers; it is not if numbers stand above numbers. A
    table of words alone is taken to have one, unless a name would occur twice.
    """
    first, rest = rows[0], rows[1:100]
    if not rest:
        return not any(is_number(cell) for cell in first)
    above_numbers = []
    for position, cell in enumerate(first):
        below = [row[position].strip() for row in rest if position < len(row)]
        below = [word for word in below if word not in MISSING]
        if below and all(map(is_number, below)):
            above_numbers.append(is_number(cell))
    if above_numbers:
        return not all(above_numbers)
    return len({cell.strip() for cell in first}) == len(first) and all(map(str.strip, first))


def is_number(word: str) -> bool:
    """Whether a cell is written as a number, with a point or a comma."""
    word = word.strip()
    return bool(_NUMBER.fullmatch(word) or _COMMA_NUMBER.fullmatch(word))


def _decimal_comma(rows: list[list[str]]) -> bool:
    cells = [cell.strip() for row in rows for cell in row]
    commas = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    points = any(_NUMBER.fullmatch(cell) and "." in cell for cell in cells)
    return commas and not points


def _names(first: list[str], header: bool, source: str) -> tuple[str, ...]:
    if not header:
        return tuple(f"column_{k}" for k in range(1, len(first) + 1))
    names = [cell.strip() for cell in first]
    twice = [name for name, times in Counter(names).items() if times > 1 and name]
    if twice:
        raise DataFileError(f"two columns are called {twice[0]!r}; give each its own name.", source)
    return tuple(name or f"column_{k}" for k, name in enumerate(names, 1))
