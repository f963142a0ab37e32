"""What Parquet and Arrow files say of their size, before polars believes it.

The footer of a Parquet file tells how many rows a row group has, which polars reads in one piece.
It is a struct of Thrift in its compact protocol, of which little is needed: field 4 of the file are
the row groups, and field 3 of such a group are its rows.

polars takes as much memory as a compressed buffer of an Arrow file says that it needs. Where there
is not so much, the process ends at once, without an error that could be caught: eight damaged bytes
are enough. No codec of Arrow makes more than 32,768 bytes of one, and a batch must fit into memory.
"""

from __future__ import annotations

import io
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cotas.arrays import IntArray
from cotas.files.compression import USUAL, Limits
from cotas.files.problems import DataFileError, damaged
from cotas.words import say

MAGIC = b"PAR1"
ROW_GROUPS, NUM_ROWS = 4, 3
# A file is written with row groups of one size, but for the last.
LOOKED_AT = 2
ARROW = b"ARROW1"
# A block of zstandard that repeats one byte: 4 bytes for 128 KiB. LZ4 reaches 255.
MOST_FROM_A_BYTE = 1 << 15
CONTINUES = 0xFFFFFFFF
DICTIONARY_BATCH, RECORD_BATCH = 2, 3


class Compact:
    """A reader of Thrift's compact protocol, which skips what nobody asks for."""

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
        """Tell how many elements a list has, and their type."""
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
    """Count the rows of the largest of the first row groups; zero where the footer cannot be
    read."""
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


def refuse_false_claims(place: Path | io.BytesIO, source: str, limits: Limits = USUAL) -> None:
    """End with an error if a part of the Arrow file cannot be as large as it says."""
    try:
        if isinstance(place, io.BytesIO):
            _check(place.getbuffer(), source, limits)
            return
        with place.open("rb") as file:
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with closing(view):
            _check(view, source, limits)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        if isinstance(error, DataFileError):
            raise
        raise damaged(say("its description points to what is not there"), source) from None


def _check(data: Any, source: str, limits: Limits) -> None:
    for claimed, stored in _compressed_parts(data):
        if (claimed > MOST_FROM_A_BYTE * stored).any():
            raise damaged(say("a part says to be longer than it can be"), source)
        limits.check_memory(sum(claimed.tolist()), source)


def _compressed_parts(data: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """Return for each batch the sizes that its compressed buffers claim, and how many bytes they
    are."""
    end = len(data) - len(ARROW)
    if end < 4 or data[end:] != ARROW:
        return  # no file of Arrow, or not whole, as polars will say
    footer = _root(data, end - 4 - _number(data, "<i", end - 4))
    for field in (2, 3):  # the dictionaries, the record batches
        for block in footer.vector(field, 24):
            offset, length = _number(data, "<q", block), _number(data, "<i", block + 8)
            batch = _batch(data, offset)
            if batch is not None and batch.field(3) is not None:  # which says how it is compressed
                yield _claims(data, offset + length, batch.vector(2, 16))


def _batch(data: Any, offset: int) -> _Table | None:
    """Return the record batch of a message, which a dictionary holds inside."""
    message = _root(data, offset + (8 if _number(data, "<I", offset) == CONTINUES else 4))
    kind = message.field(1)
    code = 0 if kind is None else _number(data, "<B", kind)
    if code not in (DICTIONARY_BATCH, RECORD_BATCH):
        return None
    header = message.table(2)
    return header if code == RECORD_BATCH else header.table(1)


def _claims(data: Any, body: int, buffers: range) -> tuple[IntArray, IntArray]:
    """Return what stands before each compressed buffer; −1 before one that is stored as it is."""
    found = np.frombuffer(data, "<i8", 2 * len(buffers), buffers.start).reshape(-1, 2)
    places, stored = body + found[:, 0], found[:, 1]
    there = (stored >= 8) & (places >= 0) & (places <= len(data) - 8)
    places, stored = places[there], stored[there].copy()
    entries = np.frombuffer(data, np.uint8)[places[:, None] + np.arange(8)]
    return np.maximum(entries.view("<i8")[:, 0], 0).astype(np.int64), stored - 8


@dataclass(frozen=True)
class _Table:
    """A table of FlatBuffers at a place of the data: fields are found through its own index."""

    data: Any
    at: int

    def field(self, k: int) -> int | None:
        """Tell where field k is, if it is there."""
        index = self.at - _number(self.data, "<i", self.at)
        if 6 + 2 * k > _number(self.data, "<H", index):
            return None
        offset = _number(self.data, "<H", index + 4 + 2 * k)
        return self.at + offset if offset else None

    def table(self, k: int) -> _Table:
        """Return the table that field k points to."""
        at = self.field(k)
        if at is None:
            raise ValueError("a table is missing")
        return _root(self.data, at)

    def vector(self, k: int, size: int) -> range:
        """Tell where the items of the vector of field k begin, each of so many bytes."""
        at = self.field(k)
        if at is None:
            return range(0)
        start = at + _number(self.data, "<I", at)
        stop = start + 4 + size * _number(self.data, "<I", start)
        if stop > len(self.data):
            raise ValueError("a vector ends outside")
        return range(start + 4, stop, size)


def _root(data: Any, at: int) -> _Table:
    return _Table(data, at + int(_number(data, "<I", at)))


def _number(data: Any, form: str, at: int) -> int:
    if at < 0:
        raise ValueError("a place before the beginning")
    return int(struct.unpack_from(form, data, at)[0])
