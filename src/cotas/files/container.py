"""The container: safetensors, read and written here so that every length is checked first.

Eight bytes give the length of a header, the header is JSON, and the numbers of all tensors follow
one after the other. Nothing in it is compressed, and nothing is run.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray
from cotas.files.csv_dialect import is_a_table
from cotas.files.problems import ModelFileError
from cotas.words import in_one, say

# A header of this size needs at most a few hundred megabytes when it is parsed.
LONGEST_HEADER = 1 << 25
# An array without entries may still have a long side, and a loop over it would not end.
LONGEST_EMPTY_SIDE = 1 << 24
TYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
NAME_OF_TYPE = {np.dtype(code): name for name, code in TYPES.items()}


class Contents(NamedTuple):
    """Contents of a container; the arrays are views of one read-only buffer."""

    tensors: dict[str, AnyArray]
    metadata: dict[str, str]


def pack(tensors: Mapping[str, AnyArray], metadata: Mapping[str, str]) -> list[Any]:
    """Return the pieces of the file in order; arrays must be C-contiguous and of a known type."""
    # Wide types first: then each tensor begins at a multiple of its width.
    names = sorted(tensors, key=lambda name: -tensors[name].itemsize)
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    offset = 0
    for name in names:
        array = tensors[name]
        end = offset + array.nbytes
        header[name] = {
            "dtype": NAME_OF_TYPE[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise ModelFileError(
            "The description of the model takes {length} bytes, and a file may have {most}.",
            length=len(text),
            most=LONGEST_HEADER,
        )
    return [struct.pack("<Q", len(text)), text, *(_bytes(tensors[name]) for name in names)]


def _bytes(array: AnyArray) -> Any:
    return array.reshape(-1).view(np.uint8).data if array.size else b""


def unpack(path: str | os.PathLike[str]) -> Contents:
    """Read a container; whatever is wrong with it is a `ModelFileError`."""
    with open(path, "rb") as file:
        size, start = os.fstat(file.fileno()).st_size, file.read(8)
        if is_a_table(start + file.read(4096)):
            raise ModelFileError(
                "{name} is a table, and no model: cotas.tables.read_table reads it. "
                "Models are what model.save and cotas fit --out write.",
                name=file.name,
            )
        file.seek(8)
        length = _header_length(start, size)
        metadata, places = _described(file.read(length), size - 8 - length)
        try:  # not a byte of the arrays was read before
            body = file.read()
        except MemoryError:
            raise ModelFileError(
                "The arrays of the file take {length} bytes of memory.", length=size - 8 - length
            ) from None
    if len(body) != size - 8 - length:
        raise ModelFileError("The file became shorter while it was read.")
    return Contents({place.name: place.view(body) for place in places}, metadata)


def arrays_in(content: AnyArray) -> dict[str, AnyArray]:
    """Return the arrays of a container that was read already, as views of its bytes."""
    body = content[8 + _header_length(content[:8].tobytes(), len(content)) :]
    _, places = _described(content[8 : len(content) - len(body)].tobytes(), len(body))
    return {place.name: place.view(body) for place in places}


def _header_length(start: bytes, size: int) -> int:
    if len(start) < 8:
        raise ModelFileError("The file is too short to be a model file.")
    (length,) = struct.unpack("<Q", start)
    if not 2 <= length <= min(size - 8, LONGEST_HEADER):
        raise ModelFileError(
            "This is no model file of cotas, or it was cut off: by its first bytes "
            "the header would take {length} bytes, and there are {size} in all.",
            length=length,
            size=size,
        )
    return int(length)


def _described(text: bytes, length: int) -> tuple[dict[str, str], list[_Place]]:
    """Return what a header says: the metadata, and where in so many bytes the arrays are."""
    header = parse(text, say("The header"))
    if not isinstance(header, dict):
        raise ModelFileError("The header of the file is no JSON object.")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ModelFileError("The metadata of the file are not strings by name.")
    return metadata, _places(header, length)


def parse(text: str | bytes, what: str) -> Any:
    """Parse JSON strictly: no key twice, no NaN, no nesting that exhausts the stack."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except ModelFileError as error:
        raise ModelFileError(in_one([what, error.args[0]], ": ")) from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            "{what} of the file is not sound JSON: {error}.", what=what, error=error
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("a name occurs twice.")
    return found


def _no_constant(name: str) -> Any:
    raise ModelFileError("{name} is no number of JSON.", name=name)


class _Place(NamedTuple):
    """The place of an array in the body of the file."""

    begin: int
    end: int
    name: str
    dtype: np.dtype[Any]
    shape: list[int]

    def view(self, body: Any) -> AnyArray:
        if self.begin == self.end:
            return np.empty(self.shape, self.dtype)
        count = (self.end - self.begin) // self.dtype.itemsize
        return np.frombuffer(body, self.dtype, count, self.begin).reshape(self.shape)


def _places(header: dict[str, Any], length: int) -> list[_Place]:
    """Return the arrays, which must fill the body without a gap and without an overlap."""
    places = sorted(
        (_place(name, value) for name, value in header.items()), key=lambda place: place[:2]
    )
    expected = 0
    for begin, end, name, dtype, shape in places:
        if begin != expected or end - begin != math.prod(shape) * dtype.itemsize or end > length:
            raise ModelFileError(
                "The place of the array {name!r} in the file is not possible.", name=name
            )
        if max(shape, default=0) > max(LONGEST_EMPTY_SIDE, length) or len(shape) > 8:
            raise ModelFileError(
                "The array {name!r} has a shape that cannot be, {shape}.", name=name, shape=shape
            )
        expected = end
    if expected != length:
        raise ModelFileError(
            "The arrays take {expected} bytes, and the file has {length}.",
            expected=expected,
            length=length,
        )
    return places


def _place(name: str, value: object) -> _Place:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError("The array {name!r} is not described as safetensors says.", name=name)
    if not isinstance(value["dtype"], str) or value["dtype"] not in TYPES:
        raise ModelFileError(
            "The array {name!r} has the unknown type {type!r}.", name=name, type=value["dtype"]
        )
    shape, offsets = value["shape"], value["data_offsets"]
    numbers = isinstance(shape, list) and isinstance(offsets, list) and len(offsets) == 2
    if not numbers or not all(type(n) is int and 0 <= n < 1 << 62 for n in [*shape, *offsets]):
        raise ModelFileError("The array {name!r} has no sound shape and place.", name=name)
    return _Place(offsets[0], offsets[1], name, np.dtype(TYPES[value["dtype"]]), shape)
