"""A stream of bytes in blocks of whole lines."""

from __future__ import annotations

import io
from collections.abc import Iterator

from cotas.files.problems import DataFileError

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 30


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
