"""What a file of data is, told from its beginning, and how a text table is written.

Of text: encoding, separator, quotes, header; its lines, in blocks that end with one, and tidied.
Untidy are the line ends of old Macintoshes, remarks and titles above a table, and columns lined up
with spaces.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from cotas.files.cells import MISSING, SURE_COMMA, SURE_POINT, looks_like_a_number
from cotas.files.compression import Place, on_disk
from cotas.files.dates import looks_like_a_date
from cotas.files.names import without_twins
from cotas.files.problems import DataFileError, Remark, UnusedWishError, asked, remark
from cotas.refusals import ParameterError

FORMATS = ("csv", "parquet", "arrow", "json", "excel", "sqlite", "libsvm", "npz")
_FIRST_BYTES = {
    b"PAR1": "parquet",
    b"ARRO": "arrow",
    b"SQLi": "sqlite",
    b"\xd0\xcf\x11\xe0": "excel",
    b"PK\x03\x04": "npz",
}
# What is often taken for a table and is none, by how it begins, and what to do with it.
_NO_TABLES = (
    (rb"%PDF", "it is a PDF; take the table out of it, as CSV or a spreadsheet."),
    (rb"\{\\rtf", "it is a text document; save its table as CSV or a spreadsheet."),
    (
        rb"\x89PNG|\xff\xd8\xff|GIF8|II\*\0|MM\0\*",
        "it is a picture; type its table in, or get the data.",
    ),
    (
        rb"Rar!|7z\xbc\xaf|BZh\d|\xfd7zXZ",
        "it is packed in a way not read here; unpack it first, or use zip or gzip.",
    ),
    (
        rb"(?i)\s*(<!doctype html|<html|<head)",
        "it is a page for a browser, such as one that asks to sign in; get the data itself, "
        "as CSV.",
    ),
    (rb"\s*<\?xml", "it is XML; save the table as CSV, JSON or a spreadsheet."),
)
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[{\]])')
# A label is a number, or several with commas, and a value has no second colon: the rest are cells
# of a CSV that ends in a date and an hour.
_LABEL = rb"[+-]?[\d.]+(e[+-]?\d+)?"
_EXAMPLE = re.compile(
    rb"%b(,%b)*(\s+qid:\S+)?(\s+\d+:[^\s,;:]+)+\s*(#.*)?" % (_LABEL, _LABEL), re.IGNORECASE
)
_ENDINGS = (".svm", ".libsvm", ".svmlight", ".light")


def tell_format(path: Place, stream: io.BufferedReader, source: str, wanted: str | None) -> str:
    """Return one of FORMATS; `wanted` if it is given and the first bytes do not contradict it."""
    if wanted is not None and wanted not in FORMATS:
        raise ParameterError("format", f"format must be one of {FORMATS}, not {wanted!r}.")
    head = stream.peek(4096)[:4096]
    if not head:
        raise DataFileError("it is empty; was it saved or downloaded to the end?", source)
    if is_a_model(head):
        raise DataFileError("it is a model file; a table is needed here.", source)
    signed = _FIRST_BYTES.get(head[:4])
    if signed == "npz" and not _first_name(head).endswith(b".npy"):
        signed = "excel"
    if wanted not in (None, "csv", "json", "libsvm") and signed != wanted:
        raise DataFileError("it is no {wanted} file.", source, wanted=wanted)
    if signed or wanted:
        return str(signed or wanted)
    if head.startswith((b"\x80", b"\x89HDF")):
        raise DataFileError(
            "it is a pickle or an HDF5 file, which are not read here; save the "
            "table as Parquet, CSV or .npz.",
            source,
        )
    bare = head.removeprefix(codecs.BOM_UTF8)
    for sign, words in _NO_TABLES:
        if re.match(sign, bare):
            raise DataFileError(words, source)
    if _JSON.match(head):
        return "json"
    name = re.sub(r"\.(gz|zst|zip)$", "", str(path)) if on_disk(path) else ""
    if Path(name).suffix in (".json", ".jsonl", ".ndjson"):
        return "json"
    return "libsvm" if Path(name).suffix in _ENDINGS or _looks_like_libsvm(head) else "csv"


def is_a_model(head: bytes) -> bool:
    """Tell whether a file that begins so may be a model: the length of a header, of which the first
    bytes may look like anything and the last are zero, and the header.
    """
    return head[5:9] == b"\0\0\0{"


def is_a_table(head: bytes) -> bool:
    """Tell whether a file that begins so is a table, and surely no model: models have zeros early
    on."""
    if _FIRST_BYTES.get(head[:4]) in ("parquet", "arrow", "sqlite", "excel") or _JSON.match(head):
        return True
    return b"\0" not in head and any(mark in head.partition(b"\n")[0] for mark in b",;\t|")


def _first_name(head: bytes) -> bytes:
    """Return the name of the first file in a zip."""
    return head[30 : 30 + int.from_bytes(head[26:28], "little")]


def _looks_like_libsvm(head: bytes) -> bool:
    lines = [line.strip() for line in head.split(b"\n")[:20]]
    whole = lines[:-1] if len(lines) > 1 else lines
    return any(_EXAMPLE.fullmatch(line) for line in whole if not line.startswith(b"#"))


SAMPLE_BYTES = 1 << 16
SEPARATORS = ",;\t|"

_COMMA, _POINT = re.compile(SURE_COMMA), re.compile(SURE_POINT)
_FRACTION = re.compile(r"\d[.,]\d*[1-9]")
_UNSURE_COMMA = re.compile(r"[^\d]*\d{1,3},\d{3}\D*")
_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
# What text that is no UTF-8 may be written in; of equals the first is taken.
_WESTERN = frozenset("áéíóúñüçàèìòùâêîôûäëïöãõåæøßÁÉÍÓÚÑÜÇÀÈÌÒÙÂÊÎÔÛÄËÏÖÃÕÅÆØ")
_SIGNS = frozenset("€£°ºª¿¡«»–—’“”")
_OF_ONE_BYTE = ("cp1252", "cp850", "mac_roman")
# UTF-8 with letters of Windows among it, as when two files were put together.
MIXED = "utf-8 and cp1252"


@dataclass(frozen=True)
class Wishes:
    """Knowledge of the caller about a text table, in the place of what would be guessed.

    Attributes
    ----------
    separator, header, encoding : as for `cotas.files.tables.read_table`
    missing, not_missing : tuple of str
        More words that stand for a missing value, and those that do not though they usually do.
    words : tuple of str
        Columns that are text, whatever they look like.
    decimal_commas : tuple of str
        Columns whose numbers have a decimal comma, where they do not tell themselves.
    """

    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    not_missing: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    decimal_commas: tuple[str, ...] = ()

    @property
    def gone(self) -> tuple[str, ...]:
        """Return all words that stand for a missing value."""
        return tuple(word for word in (*MISSING, *self.missing) if word not in self.not_missing)

    def refuse_unused(self, kind: str, source: str) -> None:
        """Raise for what a file of this kind cannot be asked for."""
        both = [word for word in self.not_missing if not word.strip() or word in self.missing]
        if both:
            words = "{how} cannot be: an empty cell is a missing value."
            if both[0].strip():
                words = "{how} cannot be: the same word is given as missing."
            raise UnusedWishError(words, source, how=asked("not-missing", both[0]))
        matrix = kind in ("libsvm", "npz")
        unused = {
            "separator": self.separator is not None and kind != "csv",
            "header": self.header is not None and kind != "csv",
            "encoding": self.encoding is not None and kind != "csv",
            "missing": bool(self.missing) and matrix,
            "not-missing": bool(self.not_missing) and matrix,
        }
        for name in (name for name, given in unused.items() if given):
            words = "{how} is about tables of text; this is one of the kind {kind}."
            raise UnusedWishError(words, source, how=asked(name), kind=kind)


@dataclass(frozen=True)
class Dialect:
    """A dialect: what the reader must know before it can read a text table.

    Attributes
    ----------
    encoding : str
        Such as "utf-8", "utf-8-sig", "utf-16" or "cp1252".
    separator, quote : str
    decimal_comma : bool
        Numbers are written 1,5, where a column does not tell by itself.
    header : bool
        The first line holds the names of the columns.
    names : tuple of str
        Those names, or column_1, column_2, … if there is no header. Of columns with one name the
        second and later ones get a number.
    missing : tuple of str
        The words for a missing value that occur in the sample, or that the caller has named.
    remarks : tuple of Remark
        On the columns whose name was taken.
    """

    encoding: str
    separator: str
    quote: str
    decimal_comma: bool
    header: bool
    names: tuple[str, ...]
    missing: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


def detect(sample: bytes, source: str, wishes: Wishes = Wishes()) -> Dialect:
    """Return the dialect of a table that begins with these bytes; what is given is not guessed."""
    encoding = _known(wishes.encoding, source) or _encoding(sample)
    text = decoded(sample, encoding, "ignore")
    lines = _whole_lines(text, len(sample) >= SAMPLE_BYTES)
    if not lines:
        raise DataFileError("it is empty; was it saved or downloaded to the end?", source)
    if "\0" in text:
        raise DataFileError(
            "it is neither text nor a format known here (CSV, JSON, Parquet, Arrow, "
            "Excel, SQLite, LibSVM, npz). Save the table as one of these.",
            source,
        )
    quote = _quote(text)
    # As it is typed on a command line.
    separator = "\t" if wishes.separator == r"\t" else wishes.separator
    if separator is not None and (len(separator) != 1 or not separator.isascii()):
        raise DataFileError(
            "the separator must be one character such as ; or a tab, not {separator!r}.",
            source,
            separator=separator,
        )
    if separator is None:
        separator = _separator(lines, quote)
    try:
        rows = [row for row in csv.reader(lines, delimiter=separator, quotechar=quote) if row]
    except csv.Error:
        raise DataFileError(
            "a field has more than 131072 characters; is a quote left open?", source
        ) from None
    header = _has_header(rows) if wishes.header is None else wishes.header
    comma = _decimal_comma(rows[1:] if header else rows, separator)
    cells = {cell for row in rows[1:] for cell in row}
    gone = (word for word in wishes.gone if word in cells or word in wishes.missing)
    missing = tuple(word for word in gone if word)
    names, remarks = _names(rows[0], header)
    return Dialect(encoding, separator, quote, comma, header, names, missing, tuple(remarks))


def sample_of(text: bytes) -> bytes:
    """Return the beginning of a table, some lines beyond SAMPLE_BYTES so that wide ones show a
    row."""
    end = SAMPLE_BYTES
    for _ in range(3):
        end = text.find(b"\n", end) + 1
        if end == 0:
            return text
    return text[:end]


def _known(encoding: str | None, source: str) -> str | None:
    """Return the name that was given, as Python writes it."""
    if encoding is None:
        return None
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise DataFileError(
            "there is no encoding {encoding!r}.", source, encoding=encoding
        ) from None


def _encoding(sample: bytes) -> str:
    for mark, name in _MARKS.items():
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        return _of_two_bytes(sample)
    try:
        sample[:-4].decode("utf-8")  # the sample may end within a character
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 8:
            return of_one_byte(sample)
    return "utf-8"


def decoded(data: bytes, encoding: str, errors: str = "strict") -> str:
    """Return the text that bytes stand for."""
    return data.decode("utf-8", _ELSE) if encoding == MIXED else data.decode(encoding, errors)


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


_ELSE = "cotas.windows"
codecs.register_error(_ELSE, _as_windows)


def of_one_byte(text: bytes) -> str:
    """Return what text is written in that is not all UTF-8."""
    sound = sum(ord(letter) > 127 for letter in text.decode("utf-8", "ignore"))
    odd = sum(letter == "\ufffd" for letter in text.decode("utf-8", "replace"))
    if sound > odd:
        return MIXED
    return max(_OF_ONE_BYTE, key=lambda name: _letters(text, name))


def _of_two_bytes(sample: bytes) -> str:
    """Recognize UTF-16 without a mark by a zero beside each letter of Western text."""
    for zeros, others, name in ((1, 0, "utf-16-le"), (0, 1, "utf-16-be")):
        if sample[zeros::2].count(0) > len(sample) // 4 and not sample[others::2].count(0):
            return name
    return "utf-8"


def _letters(sample: bytes, encoding: str) -> float:
    """Count how many letters and signs of Western languages there are beyond ASCII, less what is
    none."""
    strange = [c for c in sample.decode(encoding, "replace") if ord(c) > 127]
    return sum(1 if c in _WESTERN or c in _SIGNS else -1 for c in strange)


def _whole_lines(text: str, cut: bool) -> list[str]:
    """Return the lines with something in them; one that the end of the sample cuts through is left
    out."""
    lines = text.splitlines(keepends=True)
    if cut and len(lines) > 1:
        lines = lines[:-1]
    return [line for line in lines if line.strip()]


def _quote(text: str) -> str:
    """Choose single quotes only if words stand between them and no double quote occurs."""
    if '"' not in text and re.search(r"(^|[,;\t|])'[^'\n]*'([,;\t|\r\n]|$)", text, re.MULTILINE):
        return "'"
    return '"'


def _separator(lines: list[str], quote: str) -> str:
    """Choose the one that cuts the lines into the same number of parts most often, and into
    most."""

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
    """Tell whether the first line is made of names.

    It is if somewhere a word stands above numbers; it is not if numbers stand above numbers, unless
    they count up, as 0, 1, 2 or 2019, 2020, 2021, above fractions. An empty cell tells nothing. A
    table of words alone is taken to have one, unless a name would occur twice.
    """
    first, rest = rows[0], rows[1:100]
    if not rest:
        return not any(map(_is_value, first))
    above_numbers, counted = [], []
    for position, cell in enumerate(first):
        below = [row[position].strip() for row in rest if position < len(row)]
        below = [word for word in below if word not in MISSING]
        if cell.strip() not in MISSING and below and all(map(_is_value, below)):
            above_numbers.append(_is_value(cell))
            counted.append(cell.strip() if any(map(_FRACTION.search, below)) else "")
    if above_numbers:
        return not all(above_numbers) or _counts_up(counted)
    return len({cell.strip() for cell in first}) == len(first) and all(map(str.strip, first))


def _counts_up(cells: list[str]) -> bool:
    """Tell whether these are at least three whole numbers, each one more than that before it."""
    if len(cells) < 3 or not all(map(str.isdecimal, cells)):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_value(word: str) -> bool:
    """Tell whether a cell is a number or a date, and so no name of a column of them."""
    return looks_like_a_number(word) or looks_like_a_date(word)


def _decimal_comma(rows: list[list[str]], separator: str) -> bool:
    """Tell whether some cells must have a decimal comma and none a point; 1,234 may be either."""
    cells = [cell.strip() for row in rows for cell in row]
    cells = [cell for cell in cells if looks_like_a_number(cell)]
    if any(map(_POINT.match, cells)):
        return False
    # Semicolons stand between the cells because commas stand within the numbers.
    unsure = separator == ";" and any(map(_UNSURE_COMMA.fullmatch, cells))
    return unsure or any(map(_COMMA.match, cells))


def _names(first: list[str], header: bool) -> tuple[tuple[str, ...], list[Remark]]:
    """Return a name for each column, none twice, and remarks on those that were taken."""
    if not header:
        return tuple(f"column_{k}" for k in range(1, len(first) + 1)), []
    wanted = [cell.strip() or f"column_{k}" for k, cell in enumerate(first, 1)]
    return without_twins(wanted)


# ---- lines ---------------------------------------------------------------------------------------

_BETWEEN = b",;\t|"
_NUMBER = re.compile(rb"(^|[,;\t|])\s*[+-]?\d")
BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 30
# So many lines at most stand above the names of the columns, and so many below tell that they do.
MOST_TITLES, SOME_LINES = 6, 30
# The part of a column of numbers that has to be numbers: a last row may be called Total.
MOSTLY = 0.8


class Untidy(NamedTuple):
    """Repairs to be done: line ends to change, bytes to skip, runs of spaces to make one.

    `titles` are the lines above the names of the columns among what is skipped.
    """

    returns: bool = False
    skip: int = 0
    aligned: bool = False
    titles: int = 0

    def tidy(self, text: bytes, first: bool = True) -> bytes:
        """Return the text, or with `first` its beginning, as others write it."""
        if self.returns:
            text = text.replace(b"\r", b"\n")
        if first:
            text = text[self.skip :]
        if self.aligned:
            text = re.sub(rb"(?m)^ +| +$", b"", re.sub(rb" +", b" ", text))
        return text


def tell_untidy(sample: bytes, header: bool | None = None) -> Untidy:
    """Return what is untidy about a table that begins so; nothing about text of wide letters.

    Who says whether the first line is a `header` has no titles above it.
    """
    if b"\0" in sample:
        return Untidy()
    returns = b"\r" in sample and b"\n" not in sample.rstrip(b"\n")
    text = sample.replace(b"\r", b"\n") if returns else sample
    skip = _remarks(text)
    some = text.splitlines(keepends=True)[: MOST_TITLES + SOME_LINES]
    above = _titles(some) if not skip and header is None else []
    skip += sum(map(len, above))
    return Untidy(returns, skip, _is_aligned(text[skip:]), len(above))


def _remarks(text: bytes) -> int:
    """Tell how long the remarks above a table are: lines that begin with # and have other cells."""
    lines = text.splitlines(keepends=True)
    count = next((k for k, line in enumerate(lines) if not line.startswith(b"#")), 0)
    if count == 0:
        return 0
    below = [lines[count].count(mark) for mark in _BETWEEN]
    last = [lines[count - 1].count(mark) for mark in _BETWEEN]
    if last == below and _NUMBER.search(lines[count]):  # the names of the columns, after a #
        count -= 1
    return sum(map(len, lines[:count]))


def _titles(lines: list[bytes]) -> list[bytes]:
    """Return the lines above the names of the columns, if the best separator cuts them so."""
    return lines[
        : titles_above(max((_cut(lines, mark) for mark in map(chr, _BETWEEN)), key=_merit))
    ]


def _merit(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Tell how many rows are as long as most, and how long that is."""
    width, times = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    return (times, width) if width > 1 else (0, 0)


def titles_above(rows: Sequence[Sequence[str]]) -> int:
    """Tell how many rows stand above the names: a title, or what several columns have in common.

    They have empty cells, or fewer than the others. The names are the first row that has none:
    words that differ, and a column of numbers stands below one of them.
    """
    # A separator at the end of each line makes no column.
    ends = [max((j for j, cell in enumerate(row, 1) if cell.strip()), default=0) for row in rows]
    rows = [row[:end] for row, end in zip(rows, ends, strict=True)]
    width = Counter(ends).most_common(1)[0][0] if rows else 0
    full = (k for k, row in enumerate(rows) if len(row) == width and all(map(str.strip, row)))
    names = next(full, 0)
    sound = width > 1 and 0 < names <= MOST_TITLES and _are_names(rows[names], rows[names + 1 :])
    return names if sound else 0


def about_titles(count: int) -> list[Remark]:
    """Return what is said of the rows above the names."""
    words = "The names of the columns stand in line {line}: what is above is left out."
    return [remark(words, "titles", line=count + 1)] if count else []


def _cut(lines: list[bytes], mark: str) -> list[list[str]]:
    text = [line.decode("utf-8", "replace") for line in lines]
    try:
        return [next(csv.reader([line], delimiter=mark), []) for line in text]
    except csv.Error:  # a field longer than any should be
        return []


def _are_names(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    words = {cell.strip() for cell in first}
    if len(words) < len(first) or any(w in MISSING or looks_like_a_number(w) for w in words):
        return False
    columns = ([row[j].strip() for row in below if j < len(row)] for j in range(len(first)))
    return any(
        len(there) > 1 and sum(map(looks_like_a_number, there)) > MOSTLY * len(there)
        for there in ([cell for cell in column if cell not in MISSING] for column in columns)
    )


def _is_aligned(text: bytes) -> bool:
    """Tell whether runs of spaces cut all lines into the same number of words, and nothing else
    does."""
    if any(mark in text for mark in _BETWEEN) or b'"' in text:
        return False
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    widths = {len(line.split()) for line in lines}
    runs = any(b"  " in line or line.startswith(b" ") for line in lines)
    return runs and len(widths) == 1 and widths != {1}


def blocks_of_lines(
    stream: io.BufferedReader, source: str, size: int = BLOCK_BYTES, quote: bytes | None = None
) -> Iterator[bytes]:
    """Yield blocks of about `size` bytes that end where a line ends; the last may lack its newline.

    With a `quote` a newline between quotes ends no line.
    """
    rest = b""
    while piece := stream.read(size):
        rest += piece
        cut = _last_end(rest, quote)
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        elif len(rest) > LONGEST_LINE:
            raise DataFileError("no line ends within its first gigabyte.", source)
    if rest:
        yield rest


def with_the_last(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the blocks, each with whether it is the last."""
    for block, following in pairwise(chain(blocks, [None])):
        if block is not None:
            yield block, following is None


def _last_end(text: bytes, quote: bytes | None) -> int:
    """Tell where the last whole line ends; 0 if none does."""
    cut = text.rfind(b"\n") + 1
    if quote is None:
        return cut
    # A line has ended where an even number of quotes stands before its newline.
    odd = text.count(quote, 0, cut) % 2
    while cut and odd:
        before = text.rfind(b"\n", 0, cut - 1) + 1
        odd = (odd - text.count(quote, before, cut)) % 2
        cut = before
    return cut
