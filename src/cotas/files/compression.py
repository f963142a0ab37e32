"""Bytes from a file or from standard input, decompressed on the way and never without bound.

A few kilobytes of gzip or zstandard can stand for many gigabytes. What comes out is therefore
counted while it is read, and reading ends with an error when it passes `max_bytes`, or when far
more has come out than a table of honest data would give for what went in.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from cotas.files.problems import DataFileError, asked
from cotas.words import say

# The most that a compressed file may decompress to, unless the caller allows more.
MAX_BYTES = 16 << 30
# Each column of a table costs some kilobytes and a look at it, whatever its length; a column of a
# sparse matrix costs the few numbers that a model has for it.
MOST_COLUMNS, MOST_SPARSE_COLUMNS = 100_000, 10_000_000
NUMBER_BYTES = 8
PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of what a table may take.

    Attributes
    ----------
    decompressed : int
        Bytes of a compressed file.
    columns : int or None
        None means 100,000, and 10,000,000 where only the filled ones are stored (LibSVM).
    memory : int or None
        Bytes; None means as many as the machine has.
    """

    decompressed: int = MAX_BYTES
    columns: int | None = None
    memory: int | None = None

    @property
    def text(self) -> int:
        """Limit the bytes of a text that must be held in memory whole."""
        most = physical_memory() if self.memory is None else self.memory
        return self.decompressed if most is None else min(self.decompressed, most)

    def read(self, stream: IO[bytes], source: str) -> bytes:
        """Return all that a stream holds, or an error as soon as it is too much."""
        held, left = io.BytesIO(), self.text + 1
        # Memory for all that a read asks for is taken before it, however little there is to read.
        while left and (piece := stream.read(min(left, PIECE_BYTES))):
            left -= held.write(piece)
        self.check_memory(held.tell(), source)
        return held.getvalue()

    def check_columns(self, count: int, source: str, most: int = MOST_COLUMNS) -> None:
        """Refuse a table with more columns."""
        most = most if self.columns is None else self.columns
        if count > most:
            raise DataFileError(
                "it has {count:,} columns, more than {most:,}. If that is what it "
                "should have, allow more with {how}.",
                source,
                how=asked("max-columns"),
                count=count,
                most=most,
            )

    def check_line(self, text: bytes, marks: str, source: str) -> None:
        """Refuse a text whose first line has more fields between such marks, before it is cut."""
        first = text.lstrip(b"\r\n").partition(b"\n")[0]
        self.check_columns(1 + max(first.count(mark.encode()) for mark in marks), source)

    def check_memory(self, needed: int, source: str) -> None:
        """Refuse what would take more bytes."""
        most = physical_memory() if self.memory is None else self.memory
        if most is not None and needed > most:
            raise DataFileError(
                "it would take about {needed:,} bytes of memory, more than {most:,}. "
                "Use fewer rows or columns, or allow more with {how}.",
                source,
                how=asked("max-memory"),
                needed=needed,
                most=most,
            )

    def check_shape(self, rows: int, columns: int, source: str) -> None:
        """Refuse a table of numbers of this shape if it is too wide or too large."""
        self.check_columns(columns, source)
        self.check_memory(rows * columns * NUMBER_BYTES, source)

    def check_text(self, text: bytes | Path, sample: bytes, columns: int, source: str) -> None:
        """Refuse a table of text, of as many rows as the lines of its beginning are long."""
        size = os.path.getsize(text) if isinstance(text, Path) else len(text)
        self.check_shape(size * max(1, sample.count(b"\n")) // max(1, len(sample)), columns, source)


USUAL = Limits()


def physical_memory() -> int | None:
    """Return the bytes of memory, where the system tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


# Beyond the first of these, what comes out may be at most so many times what went in.
UNSUSPICIOUS_BYTES, MAX_RATIO = 256 << 20, 200

GZIP, ZSTANDARD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
STANDARD_INPUT = "standard input"
DAMAGED = "the compressed data are damaged or break off ({error}); get the file again, whole."


class CountedBytes(io.RawIOBase):
    """A decompressed stream that ends with an error when too much comes out of it."""

    def __init__(
        self, stream: IO[bytes], packed: io.BufferedReader, source: str, max_bytes: int
    ) -> None:
        self._stream, self._packed = stream, packed
        self._source, self._max_bytes = source, max_bytes
        self._came = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as `io.RawIOBase` asks, and count."""
        view = memoryview(buffer)
        try:
            piece = self._stream.read(len(view))
        except Exception as error:
            damage = (EOFError, OSError, zlib.error, zipfile.BadZipFile, NotImplementedError)
            if not isinstance(error, (*damage, _zstandard_error())):
                raise
            message = say(DAMAGED, error=error)
            raise DataFileError(message, self._source) from None
        view[: len(piece)] = piece
        self._came += len(piece)
        self._refuse_too_much()
        return len(piece)

    def _refuse_too_much(self) -> None:
        if self._came > self._max_bytes:
            raise DataFileError(
                "it decompresses to more than {most:,} bytes. Pass a larger max_bytes "
                "if you trust it, or decompress it first.",
                self._source,
                most=self._max_bytes,
            )
        if self._came > UNSUSPICIOUS_BYTES and self._came > MAX_RATIO * _taken(self._packed):
            raise DataFileError(
                "it decompresses to more than {most} times its size, as only files made "
                "to exhaust a machine do. Decompress it first if you trust it.",
                self._source,
                most=MAX_RATIO,
            )


class Frames:
    """Decompressed zstandard, frame after frame.

    The library's own stream takes a file that breaks off for one that ends. Its input goes in by
    small pieces, since one of them can stand for thirty thousand times as much.
    """

    PIECE = 4096

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw, self._rest = raw, memoryview(b"")
        self._library = _zstandard()
        self._frame: Any = None

    def read(self, size: int) -> bytes:
        """Read at most so many bytes; none at the end."""
        while not self._rest:
            piece = self._raw.read(self.PIECE)
            if not piece:
                if self._frame is not None:
                    raise EOFError("the file breaks off")
                return b""
            self._rest = memoryview(self._unpacked(piece))
        found, self._rest = self._rest[:size], self._rest[size:]  # of a view nothing is copied
        return bytes(found)

    def _unpacked(self, piece: bytes) -> bytes:
        parts = []
        while piece:
            if self._frame is None:
                self._frame = self._library.ZstdDecompressor().decompressobj()
            parts.append(self._frame.decompress(piece))
            if not self._frame.eof:
                break
            piece, self._frame = self._frame.unused_data, None
        return b"".join(parts)


# A file by its name, "-" for standard input, bytes that were read already, or an open stream.
Place: TypeAlias = str | Path | bytes | io.BufferedReader


@contextmanager
def open_bytes(path: Place, max_bytes: int = MAX_BYTES) -> Iterator[io.BufferedReader]:
    """Open the bytes of a file, or of standard input for "-", decompressed if they are compressed.

    gzip, zstandard and zip are recognized by their first bytes, whatever the file is called. A zip
    must hold one file besides folders; those that are a format by themselves are left as they are.
    """
    source = source_name(path)
    with _raw(path, source) as raw:
        head = raw.peek(4)[:4]
        if head[:2] == GZIP:
            unpacked: Any = gzip.GzipFile(fileobj=raw)
        elif head == ZSTANDARD:
            unpacked = Frames(raw)
        elif head == ZIP and (member := _member_of(raw, source)) is not None:
            unpacked = member
        else:
            yield raw
            return
        counted = CountedBytes(unpacked, raw, source, max_bytes)
        yield io.BufferedReader(counted, 1 << 20)


def _taken(raw: io.BufferedReader) -> int:
    """Tell how many compressed bytes have been taken, also of a stream that cannot tell."""
    try:
        return max(1, raw.tell())
    except (OSError, io.UnsupportedOperation):
        return sys.maxsize  # a pipe: only the absolute limit applies


def _member_of(raw: io.BufferedReader, source: str) -> IO[bytes] | None:
    """Return the one file in a zip; None if the zip is an .npz or a spreadsheet, or is damaged."""
    if not raw.seekable():
        raw = io.BufferedReader(io.BytesIO(raw.read()))
    try:
        archive = zipfile.ZipFile(raw)
        names = archive.namelist()
        known = ("[Content_Types].xml", "mimetype", "schema.json")
        if any(name.endswith(".npy") or name in known for name in names):
            raw.seek(0)
            return None
        held = [name for name in names if not name.endswith("/") and "__MACOSX/" not in name]
        if len(held) != 1:
            some = ", ".join(held[:5])
            raise DataFileError(
                "it holds {count} files, not one ({some}); take out the one to be read.",
                source,
                count=len(held),
                some=some,
            )
        return archive.open(held[0])
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(DAMAGED, source, error=error) from None


def is_compressed(path: Place) -> bool:
    """Tell whether it begins as gzip, zstandard or zip does."""
    with _raw(path, source_name(path)) as raw:
        head = raw.peek(4)[:4]
        return head[:2] == GZIP or head in (ZSTANDARD, ZIP)


def source_name(path: Place) -> str:
    """Tell how a file is called in messages."""
    named = isinstance(path, str | Path) and str(path) != "-"
    return str(path) if named else STANDARD_INPUT


def on_disk(path: Place) -> bool:
    """Tell whether it is a file with a name, that can be read as often as one likes; a pipe is
    none."""
    named = isinstance(path, str | Path) and str(path) != "-"
    return named and not Path(str(path)).is_fifo()


@contextmanager
def _raw(path: Place, source: str) -> Iterator[io.BufferedReader]:
    if isinstance(path, bytes):
        yield io.BufferedReader(io.BytesIO(path))
        return
    if isinstance(path, io.BufferedReader):
        yield path
        return
    if str(path) == "-":
        yield _standard_input()
        return
    if Path(path).is_char_device() or Path(path).is_block_device():
        raise DataFileError("this is a device, not a file.", source)
    try:
        file = Path(path).open("rb")  # noqa: SIM115  (closed below)
    except FileNotFoundError:
        raise DataFileError("there is no such file.", source) from None
    except IsADirectoryError:
        raise DataFileError(
            "this is a folder, not a file; name a file in it, or all of a kind ('folder/*.csv').",
            source,
        ) from None
    except OSError as error:
        raise DataFileError("it cannot be read ({error}).", source, error=error.strerror) from None
    with file:
        yield file


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise DataFileError("it is closed.", STANDARD_INPUT)
    stream = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        return stream
    buffered: Any = stream
    return io.BufferedReader(buffered)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError("Files in .zst need zstandard: pip install 'cotas[files]'.") from error
    return zstandard


def _zstandard_error() -> type[Exception]:
    """Return the error of a library that may not be there."""
    try:
        from zstandard import ZstdError
    except ImportError:
        return EOFError
    error: type[Exception] = ZstdError
    return error
