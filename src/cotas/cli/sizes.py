"""Whether a table fits into memory, told from the sizes of its files; what trains is not loaded"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cotas.cli.command import UsageError
from cotas.cli.data import BUILTIN
from cotas.files.compression import memory_of_the_machine
from cotas.files.problems import DataFileError
from cotas.words import say

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# The table, what it is prepared to, and the parts that are trained on and held out: measured with
# the SVM, 4.4 to 4.8 times the numbers of a table of numbers, and as much of one of words.
COPIES = 5
# What Python and its libraries take before there is a table, measured: 0.37 GB.
BASE = 4 * 10**8
# What Python, its libraries and a few pages take, whatever the table; see docs/scale.md.
LEAST_MEMORY = 10**9
# Of this, what does not depend on the file or the threads; each thread; and how often a row group
# of a Parquet file is in memory while it is read. Measured: 0.74 GB, 35 MB and 1.3 times.
FROM_PAGES, OF_A_THREAD, ROW_GROUPS = 8 * 10**8, 4 * 10**7, 1.5


def parse_size(words: str) -> int:
    """Return the bytes of a size such as 2GB, 500M or 1.5g.

    >>> parse_size("2GB"), parse_size("1.5 g"), parse_size("300MB")
    (2000000000, 1500000000, 300000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", words.lower())
    if found is None:
        raise UsageError("--memory takes a size such as 2GB or 800MB, not {words!r}.", words=words)
    size = int(float(found[1]) * UNITS[found[2].upper()])
    if found[1] == words.strip() and size < LEAST_MEMORY:  # as bytes it would be nothing
        text = "--memory {size} has no unit: write {size}GB or {size}MB."
        raise UsageError(text, size=found[1])
    return size


def free_memory() -> int | None:
    """Return the bytes of memory that are free; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration, ValueError):
        return memory_of_the_machine()


@dataclass(frozen=True)
class TooBig:
    """A table that does not fit: its files, about how large it is in memory, and the limit."""

    files: list[Path]
    needed: float
    allowed: int
    piece: float = 0.0  # bytes of what is read at a time

    @property
    def least(self) -> float:
        """Return what one thread needs to fit it from pages."""
        return max(LEAST_MEMORY, FROM_PAGES + OF_A_THREAD + ROW_GROUPS * self.piece)

    @property
    def threads(self) -> int:
        """Tell how many of them fit into what is allowed."""
        left = self.allowed - FROM_PAGES - ROW_GROUPS * self.piece
        return max(1, int(left // OF_A_THREAD))

    def words(self) -> str:
        """Tell why it is read from pages."""
        return say(
            "In memory this table would take about {needed:.1f} GB, and {allowed:.1f} GB are "
            "allowed: its rows are read from pages on disk.",
            needed=self.needed / 1e9,
            allowed=self.allowed / 1e9,
        )


def too_big(data: str, memory: str | None) -> TooBig | None:
    """Tell whether a table has to be read from pages, by the sizes of its files."""
    given = None if memory is None else parse_size(memory)
    if given is not None and given < LEAST_MEMORY:
        raise UsageError(
            "--memory {memory} is too little: cotas and its libraries need {least:g} GB "
            "whatever the table.",
            memory=memory,
            least=LEAST_MEMORY / 1e9,
        )
    if data.removeprefix("builtin:") in BUILTIN:
        return None
    if data == "-" or "::" in data:
        _refuse_memory(given)
        return None
    allowed = given if given is not None else free_memory()
    file = Path(data)
    if allowed is None or (file.is_file() and _surely_fit([file], allowed)):
        return None
    if not file.exists() and not any(mark in data for mark in "*?["):
        return None  # who reads it says what is wrong
    from cotas.scale.decoding import (  # it loads SciPy
        KINDS,
        decoded_bytes,
        input_files,
        kind_of,
        row_group_bytes,
    )

    try:
        files = input_files(data)
        if _surely_fit(files, allowed):
            return None
        kinds = [kind_of(file) for file in files]
        if not set(kinds) <= set(KINDS):
            _refuse_memory(given)
            return None
        sizes = [decoded_bytes(file, kind) for file, kind in zip(files, kinds, strict=True)]
    except DataFileError:
        return None
    needed = BASE + COPIES * sum(sizes)
    if needed <= allowed:
        return None
    pieces = [row_group_bytes(file) for file, kind in zip(files, kinds, strict=True)
              if kind == "parquet"]  # fmt: skip
    found = TooBig(files, needed, allowed, max(pieces, default=0.0))
    if given is not None and given < found.least:
        raise UsageError(
            "--memory {memory} is too little for this file: a row group of it, which is read "
            "in one piece, takes {piece:.1f} GB, and {least:.1f} GB are needed. "
            "Give as much, or write the file with fewer rows in a group.",
            memory=memory,
            piece=found.piece / 1e9,
            least=found.least / 1e9,
        )
    return found


def _refuse_memory(given: int | None) -> None:
    """Raise if a limit was given for what cannot be read from pages."""
    if given is not None:
        raise UsageError(
            "--memory is for files of CSV, Parquet, Arrow or LibSVM: they become pages."
        )


def _surely_fit(files: list[Path], allowed: int) -> bool:
    """Tell whether files are so small that they fit even if they are well compressed."""
    return BASE + COPIES * 20 * sum(file.stat().st_size for file in files) < allowed
