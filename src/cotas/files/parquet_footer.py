"""How many rows a row group of a Parquet file has, from its footer: polars reads it in one piece.

The footer is a struct of Thrift in its compact protocol, of which little is needed: field 4 of the
file are the row groups, and field 3 of such a group are its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAGIC = b"PAR1"
ROW_GROUPS, NUM_ROWS = 4, 3
# A file is written with row groups of one size, but for the last.
LOOKED_AT = 2


class Compact:
    """Reads Thrift's compact protocol, and skips what nobody asks for."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        found, shift = 0, 0
        while True:
            part = self.byte()
            found |= (part & 0x7F) << shift
            if part < 0x80:
                return found
            shift += 7
            if shift >= 64:
                raise ValueError("no number of Thrift is so long")

    def number(self) -> int:
        found = self.varint()
        return (found >> 1) ^ -(found & 1)

    def fields(self, use: Callable[[int, int], Any]) -> None:
        """Call `use` with the number and the type of each field of a struct; it reads the value."""
        field = 0
        while head := self.byte():
            field = field + (head >> 4) if head >> 4 else self.number()
            use(field, head & 0x0F)

    def size_of_list(self) -> tuple[int, int]:
        """How many elements a list has, and their type."""
        head = self.byte()
        return (head >> 4 if head >> 4 < 15 else self.varint()), head & 0x0F

    def skip(self, kind: int) -> None:
        """Go past a value of this type, which must be there: lists say what they like of it."""
        if self.at > len(self.data):
            raise IndexError("the footer ends before its values")
        if kind in (4, 5, 6):
            self.varint()
        elif kind in (3, 7):
            self.at += 1 if kind == 3 else 8
        elif kind == 8:
            length = self.varint()
            self.at += length
        elif kind in (9, 10):
            count, inner = self.size_of_list()
            for _ in range(count):
                self.at += inner in (1, 2)
                self.skip(inner)
        elif kind == 12:
            self.fields(lambda _, inner: self.skip(inner))
        elif kind not in (1, 2):
            raise ValueError("no type of a Parquet footer")


class _Enough(Exception):  # no error: what was looked for is there
    pass


def rows_of_a_group(path: Path) -> int:
    """The rows of the largest of the first row groups; zero where the footer cannot be read."""
    found: list[int] = []
    try:
        reader = Compact(_footer(path))

        def of_group(field: int, kind: int) -> None:
            if field == NUM_ROWS:
                found.append(reader.number())
            else:
                reader.skip(kind)

        def of_file(field: int, kind: int) -> None:
            if field != ROW_GROUPS:
                return reader.skip(kind)
            for _ in range(min(LOOKED_AT, reader.size_of_list()[0])):
                reader.fields(of_group)
            raise _Enough

        reader.fields(of_file)
    except _Enough:
        pass
    except (OSError, ValueError, IndexError, RecursionError):
        return 0
    return max([0, *found])


def _footer(path: Path) -> bytes:
    with path.open("rb") as stream:
        stream.seek(-8, os.SEEK_END)
        tail = stream.read(8)
        if tail[4:] != MAGIC:
            raise ValueError("no Parquet file")
        stream.seek(-8 - int.from_bytes(tail[:4], "little"), os.SEEK_END)
        return stream.read()[:-8]
