"""Lines of text tables: in blocks that end with one, and tidied.

Untidy are the line ends of old Macintoshes, remarks above a table, and columns lined up with
spaces.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import NamedTuple

from cotas.files.problems import DataFileError

_MARKS = b",;\t|"
_NUMBER = re.compile(rb"(^|[,;\t|])\s*[+-]?\d")
BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 30


class Untidy(NamedTuple):
    """What is to be done: line ends to change, bytes to skip, runs of spaces to make one."""

    returns: bool = False
    skip: int = 0
    aligned: bool = False

    def tidy(self, text: bytes, first: bool = True) -> bytes:
        """The text, or with `first` its beginning, as others write it."""
        if self.returns:
            text = text.replace(b"\r", b"\n")
        if first:
            text = text[self.skip :]
        if self.aligned:
            text = re.sub(rb"(?m)^ +| +$", b"", re.sub(rb" +", b" ", text))
        return text


def tell_untidy(sample: bytes) -> Untidy:
    """What is untidy about a table that begins so; nothing about text of wide letters."""
    if b"\0" in sample:
        return Untidy()
    returns = b"\r" in sample and b"\n" not in sample.rstrip(b"\n")
    text = sample.replace(b"\r", b"\n") if returns else sample
    skip = _remarks(text)
    return Untidy(returns, skip, _is_aligned(text[skip:]))


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


def _is_aligned(text: bytes) -> bool:
    """Whether runs of spaces cut all lines into the same number of words, and nothing else does."""
    if any(mark in text for mark in _MARKS) or b'"' in text:
        return False
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    widths = {len(line.split()) for line in lines}
    runs = any(b"  " in line or line.startswith(b" ") for line in lines)
    return runs and len(widths) == 1 and widths != {1}


def blocks_of_lines(
    stream: io.BufferedReader,
    source: str,
    size: int = BLOCK_BYTES,
    quote: bytes | None = None,
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
