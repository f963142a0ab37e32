"""Lines of text tables: in blocks that end with one, and tidied.

Untidy are the line ends of old Macintoshes, remarks and titles above a table, and columns lined up
with spaces.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from cotas.files.cells import MISSING, looks_like_a_number
from cotas.files.problems import DataFileError, Remark, remark

_MARKS = b",;\t|"
_NUMBER = re.compile(rb"(^|[,;\t|])\s*[+-]?\d")
BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 30
# So many lines at most stand above the names of the columns, and so many below tell that they do.
MOST_TITLES, SOME_LINES = 6, 30
# The part of a column of numbers that has to be numbers: a last row may be called Total.
MOSTLY = 0.8


class Untidy(NamedTuple):
    """What is to be done: line ends to change, bytes to skip, runs of spaces to make one.

    `titles` are the lines above the names of the columns among what is skipped.
    """

    returns: bool = False
    skip: int = 0
    aligned: bool = False
    titles: int = 0

    def tidy(self, text: bytes, first: bool = True) -> bytes:
        """The text, or with `first` its beginning, as others write it."""
        if self.returns:
            text = text.replace(b"\r", b"\n")
        if first:
            text = text[self.skip :]
        if self.aligned:
            text = re.sub(rb"(?m)^ +| +$", b"", re.sub(rb" +", b" ", text))
        return text


def tell_untidy(sample: bytes, header: bool | None = None) -> Untidy:
    """What is untidy about a table that begins so; nothing about text of wide letters.

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
    """How long the remarks above a table are: lines that begin with # and have other cells."""
    lines = text.splitlines(keepends=True)
    count = next((k for k, line in enumerate(lines) if not line.startswith(b"#")), 0)
    if count == 0:
        return 0
    below = [lines[count].count(mark) for mark in _MARKS]
    last = [lines[count - 1].count(mark) for mark in _MARKS]
    if last == below and _NUMBER.search(lines[count]):  # the names of the columns, after a #
        count -= 1
    return sum(map(len, lines[:count]))


def _titles(lines: list[bytes]) -> list[bytes]:
    """The lines above the names of the columns, if the best separator cuts them so."""
    return lines[: titles_above(max((_cut(lines, mark) for mark in map(chr, _MARKS)), key=_merit))]


def _merit(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """How many rows are as long as most, and how long that is."""
    width, times = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    return (times, width) if width > 1 else (0, 0)


def titles_above(rows: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the names: a title, or what several columns have in common.

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
    """What is said of the rows above the names."""
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
    """Whether runs of spaces cut all lines into the same number of words, and nothing else does."""
    if any(mark in text for mark in _MARKS) or b'"' in text:
        return False
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    widths = {len(line.split()) for line in lines}
    runs = any(b"  " in line or line.startswith(b" ") for line in lines)
    return runs and len(widths) == 1 and widths != {1}


def blocks_of_lines(
    stream: io.BufferedReader, source: str, size: int = BLOCK_BYTES, quote: bytes | None = None
) -> Iterator[bytes]:
    """Blocks of about `size` bytes that end where a line ends; the last may lack its newline.

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
    """The blocks, each with whether it is the last."""
    for block, following in pairwise(chain(blocks, [None])):
        if block is not None:
            yield block, following is None


def _last_end(text: bytes, quote: bytes | None) -> int:
    """Where the last whole line ends; 0 if none does."""
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
