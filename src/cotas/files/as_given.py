"""Tables given back as they came: their own cells, with more columns beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cotas.files.csv_dialect import Dialect


def rows_of_text(text: bytes, quote: str = '"') -> list[bytes]:
    """The rows of a text table without their line ends; one between quotes ends no row.

    >>> rows_of_text(b'a,"b' + bytes([10]) + b'c"' + bytes([10, 10]) + b"d,e")
    [b'a,"b\\nc"', b'd,e']
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    outside = np.cumsum(letters == ord(quote)) % 2 == 0
    ends = [*np.flatnonzero((letters == ord("\n")) & outside).tolist(), len(text)]
    rows = (text[start:end] for start, end in zip([0, *(k + 1 for k in ends)], ends, strict=False))
    return [row.removesuffix(b"\r") for row in rows if row.strip(b"\r\n")]


@dataclass
class Block:
    """A piece of a text table in UTF-8 that ends where a row ends."""

    text: bytes
    dialect: Dialect
    header: bool

    @cached_property
    def rows(self) -> list[bytes]:
        """The rows that are not blank, and the names first where they are there."""
        return rows_of_text(self.text, self.dialect.quote)

    @property
    def line_end(self) -> bytes:
        """What ends a line."""
        return b"\r\n" if b"\r\n" in self.text[: 2 + self.text.find(b"\n")] else b"\n"

    def written(self, frame: Any) -> list[bytes]:
        """The names and rows of a frame in the same dialect."""
        how = self.dialect
        commas = how.decimal_comma and how.separator != ","
        style = {"separator": how.separator, "quote_char": how.quote, "decimal_comma": commas}
        return rows_of_text(frame.write_csv(**style).encode(), how.quote)


@dataclass(frozen=True)
class AsGiven:
    """Some rows of a table before anything in them was understood.

    Attributes
    ----------
    cells : polars DataFrame
    block : Block or None
        Where they stand, of a text table.
    start : int
        The first of them in the block.
    """

    cells: Any
    block: Block | None = None
    start: int = 0

    def span(self, start: int, rows: int) -> AsGiven:
        """Some of these rows."""
        return AsGiven(self.cells[start : start + rows], self.block, self.start + start)

    @property
    def names(self) -> bytes | None:
        """The line with the names of the columns, where it stands in the block."""
        return self.block.rows[0] if self.block is not None and self.block.header else None

    @property
    def lines(self) -> list[bytes] | None:
        """The rows as they are written; None where lines and rows do not go together."""
        if self.block is None:
            return None
        first = self.start + self.block.header
        lines = self.block.rows[first : first + self.cells.height]
        return lines if len(lines) == self.cells.height else None
