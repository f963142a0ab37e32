"""How large a table may be, looked at before memory is taken for it."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import IO

from cotas.files.asking import asked
from cotas.files.problems import DataFileError

# The most that a compressed file may decompress to, unless the caller allows more.
MAX_BYTES = 16 << 30
# Each column of a table costs some kilobytes and a look at it, whatever its length; a column of a
# sparse matrix costs the few numbers that a model has for it.
MOST_COLUMNS, MOST_SPARSE_COLUMNS = 100_000, 10_000_000
NUMBER_BYTES = 8
PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What a table may take.

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
        """Bytes of a text that must be held in memory whole."""
        most = memory_of_the_machine() if self.memory is None else self.memory
        return self.decompressed if most is None else min(self.decompressed, most)

    def read(self, stream: IO[bytes], source: str) -> bytes:
        """All that a stream holds, or an error as soon as it is too much."""
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

    def check_memory(self, needed: int, source: str) -> None:
        """Refuse what would take more bytes."""
        most = memory_of_the_machine() if self.memory is None else self.memory
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


USUAL = Limits()


def memory_of_the_machine() -> int | None:
    """Bytes of memory, where the system tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
