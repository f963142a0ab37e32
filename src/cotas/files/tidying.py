"""Text tables that need a hand before they are lines of cells.

Line ends of old Macintoshes, remarks above the table, and columns lined up with spaces.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MARKS = b",;\t|"
_NUMBER = re.compile(rb"(^|[,;\t|])\s*[+-]?\d")


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
