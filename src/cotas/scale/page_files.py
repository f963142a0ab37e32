"""One page: some rows in a file that can be read at once, with a checksum over all of it.

The arrays lie in a container as those of model files do, safetensors.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cotas.arrays import AnyArray
from cotas.files.container import arrays_in, pack
from cotas.files.problems import ModelFileError


class PageError(OSError):
    """A page that is gone, or whose bytes are not those that were written."""


@dataclass(frozen=True)
class Page:
    """One file of pages, as those who read it know it."""

    name: str
    start: int
    rows: int
    size: int
    checksum: int


def write_page(path: Path, arrays: Mapping[str, AnyArray]) -> tuple[int, int]:
    """Write the arrays, and return the number of bytes and their checksum."""
    pieces, size, checksum = page_pieces(arrays)
    with open(path, "wb") as file:
        file.writelines(pieces)
    return size, checksum


def page_pieces(arrays: Mapping[str, AnyArray]) -> tuple[list[Any], int, int]:
    """Return what a page of these arrays is put together of, how many bytes, and their checksum."""
    pieces = pack({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {})
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return pieces, sum(map(len, pieces)), checksum


def read_page(path: Path, size: int, checksum: int | None) -> dict[str, AnyArray]:
    """Return the arrays of a page; without a checksum only its size is looked at."""
    content = np.empty(size, dtype=np.uint8)
    try:
        with open(path, "rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size != size:
                raise PageError(f"{path} is not as long as it was when it was written.")
            _fill(file, content.data)
    except FileNotFoundError:
        raise PageError(f"{path} is gone.") from None
    if checksum is not None and zlib.crc32(content.data) != checksum:
        raise PageError(f"{path} is damaged: its checksum is another.")
    try:
        return arrays_in(content)
    except ModelFileError:
        raise PageError(f"{path} is no page.") from None


def _fill(file: Any, view: memoryview) -> None:
    while len(view):
        came = file.readinto(view)
        if not came:
            raise PageError("A page breaks off.")
        view = view[came:]
