"""What the compressed parts of an Arrow file say of their size, before polars believes it.

polars takes as much memory as a compressed buffer says that it needs. Where there is not so much,
the process ends at once, without an error that could be caught: eight damaged bytes are enough.
No codec of Arrow makes more than 32,768 bytes of one, and a batch must fit into memory.
"""

from __future__ import annotations

import io
import mmap
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cotas.arrays import IntArray
from cotas.files.limits import USUAL, Limits
from cotas.files.problems import DataFileError
from cotas.words import say

MAGIC = b"ARROW1"
# A block of zstandard that repeats one byte: 4 bytes for 128 KiB. LZ4 reaches 255.
MOST_FROM_A_BYTE = 1 << 15
CONTINUES = 0xFFFFFFFF
DICTIONARY_BATCH, RECORD_BATCH = 2, 3


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
        raise _damaged(say("its description points to what is not there"), source) from None


def _damaged(how: str, source: str) -> DataFileError:
    return DataFileError("it is damaged ({error}).", source, error=how)


def _check(data: Any, source: str, limits: Limits) -> None:
    for claimed, stored in _compressed_parts(data):
        if (claimed > MOST_FROM_A_BYTE * stored).any():
            raise _damaged(say("a part says to be longer than it can be"), source)
        limits.check_memory(sum(claimed.tolist()), source)


def _compressed_parts(data: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """For each batch: the sizes that its compressed buffers claim, and how many bytes they are."""
    end = len(data) - len(MAGIC)
    if end < 4 or data[end:] != MAGIC:
        return  # no file of Arrow, or not whole, as polars will say
    footer = _root(data, end - 4 - _number(data, "<i", end - 4))
    for field in (2, 3):  # the dictionaries, the record batches
        for block in footer.vector(field, 24):
            offset, length = _number(data, "<q", block), _number(data, "<i", block + 8)
            batch = _batch(data, offset)
            if batch is not None and batch.field(3) is not None:  # which says how it is compressed
                yield _claims(data, offset + length, batch.vector(2, 16))


def _batch(data: Any, offset: int) -> _Table | None:
    """The record batch of a message, which a dictionary holds inside."""
    message = _root(data, offset + (8 if _number(data, "<I", offset) == CONTINUES else 4))
    kind = message.field(1)
    code = 0 if kind is None else _number(data, "<B", kind)
    if code not in (DICTIONARY_BATCH, RECORD_BATCH):
        return None
    header = message.table(2)
    return header if code == RECORD_BATCH else header.table(1)


def _claims(data: Any, body: int, buffers: range) -> tuple[IntArray, IntArray]:
    """What stands before each compressed buffer; −1 before one that is stored as it is."""
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
        """Where field k is, if it is there."""
        index = self.at - _number(self.data, "<i", self.at)
        if 6 + 2 * k > _number(self.data, "<H", index):
            return None
        offset = _number(self.data, "<H", index + 4 + 2 * k)
        return self.at + offset if offset else None

    def table(self, k: int) -> _Table:
        """The table that field k points to."""
        at = self.field(k)
        if at is None:
            raise ValueError("a table is missing")
        return _root(self.data, at)

    def vector(self, k: int, size: int) -> range:
        """Where the items of the vector of field k begin, each of so many bytes."""
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
