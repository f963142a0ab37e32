"""One page: some rows in a file that can be read at once, with a checksum over all of it.

8 bytes     COTASPG1
8 bytes     how long the header is, little-endian
the header  JSON: for each array its type, its shape and where it begins
the arrays  each at a multiple of 64 bytes from the beginning of the file
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Matrix

MAGIC, ALIGN = b"COTASPG1", 64
# All that a page may hold; nothing of it is code.
KINDS = ("f", "i", "u", "b")


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
    """What a page of these arrays is put together of, how many bytes, and their checksum."""
    layout, place = {}, 0
    for name, array in arrays.items():
        layout[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "at": place}
        place += -(-array.nbytes // ALIGN) * ALIGN
    header = json.dumps(layout).encode()
    start = -(-(16 + len(header)) // ALIGN) * ALIGN
    pieces: list[Any] = [MAGIC + len(header).to_bytes(8, "little") + header.ljust(start - 16)]
    for array in arrays.values():
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        pieces += [flat.data, bytes(-array.nbytes % ALIGN)]
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return pieces, sum(map(len, pieces)), checksum


def read_page(path: Path, size: int, checksum: int | None) -> dict[str, AnyArray]:
    """The arrays of a page; without a checksum only its size is looked at."""
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
    return _arrays(path, content)


def _fill(file: Any, view: memoryview) -> None:
    while len(view):
        came = file.readinto(view)
        if not came:
            raise PageError("A page breaks off.")
        view = view[came:]


def _arrays(path: Path, content: AnyArray) -> dict[str, AnyArray]:
    """The arrays as views of the bytes."""
    try:
        if content[:8].tobytes() != MAGIC:
            raise ValueError
        length = int.from_bytes(content[8:16].tobytes(), "little")
        layout = json.loads(content[16 : 16 + length].tobytes())
        start = -(-(16 + length) // ALIGN) * ALIGN
        return {name: _array(content[start:], **entry) for name, entry in layout.items()}
    except (ValueError, TypeError, KeyError):
        raise PageError(f"{path} is no page.") from None


def _array(content: AnyArray, dtype: str, shape: list[int], at: int) -> AnyArray:
    kind = np.dtype(dtype)
    if kind.kind not in KINDS:
        raise ValueError(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    part = content[at : at + count * kind.itemsize]
    return part.view(kind).reshape(shape)


def matrix_to_arrays(X: Matrix) -> dict[str, AnyArray]:
    """A dense or CSR matrix as the arrays of a page."""
    if not sparse.issparse(X):
        return {"X": X}
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr}


def matrix_of(arrays: Mapping[str, AnyArray], n_features: int) -> Matrix:
    """The matrix that a page holds."""
    if "X" in arrays:
        return arrays["X"]
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    X = sparse.csr_matrix(parts, shape=(len(parts[2]) - 1, n_features), copy=False)
    X.has_sorted_indices = X.has_canonical_format = True
    return X
