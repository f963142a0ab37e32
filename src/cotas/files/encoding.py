"""From objects to JSON and arrays and back: a closed set of values, and no code among them.

Numbers, strings, True, False and None stand for themselves. Everything else is a JSON object whose
first key tells what it is. Objects are written by the families that declare them,
`cotas.files.records`. What is read is checked before it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray
from cotas.files.container import NAME_OF_TYPE
from cotas.files.errors import ModelFileError
from cotas.files.numpy_tables import compressed
from cotas.files.records import Family, cannot_store
from cotas.files.schema import DEEPEST, LONGEST, Scope

SPARSE = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
}
COLLECTIONS: dict[str, type[Any]] = {"list": list, "tuple": tuple}
SCALARS = {dtype.name: dtype.type for dtype in NAME_OF_TYPE}
SHORT = 16  # up to so many arrays in a list are kept each by itself


class ValueDecoder:
    """Turns JSON into values.

    Parameters
    ----------
    tensors : the arrays of the file
    families : what objects there may be among the parameters
    """

    def __init__(self, tensors: dict[str, AnyArray], families: Sequence[Family] = ()) -> None:
        self.tensors = tensors
        self.families = {family.word: family for family in families}
        self._made: dict[tuple[str, bool, bool], AnyArray] = {}
        self._readers: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "float": self._float,
            "array": self._array,
            "strings": self._strings,
            "objects": self._objects,
            "scalar": self._scalar,
            "sparse": self._sparse,
            "list": self._items,
            "tuple": self._items,
            "ragged": self._ragged,
            "dict": self._dict,
            "random_state": self._random_state,
        }

    def decode(self, value: Any, depth: int = 0) -> Any:
        """The value that this JSON stands for."""
        if depth > DEEPEST + 1:
            raise ModelFileError("The objects of the file are nested too deep.")
        if not isinstance(value, dict | list):
            return value
        kind = next(iter(value), None) if isinstance(value, dict) else None
        if kind in self.families:
            return self.families[kind].read(value, self, Scope(depth=depth), f"the {kind}")
        if not isinstance(value, dict) or kind not in self._readers:
            raise ModelFileError("The file holds a value of an unknown kind.")
        return self._readers[kind](value, depth)

    # ---- numbers and arrays --------------------------------------------------------------------

    def _float(self, value: dict[str, Any], depth: int) -> float:
        known = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
        return known[_one_of(_keys(value, "float")["float"], known)]

    def tensor(self, name: Any, kinds: str) -> AnyArray:
        """An array of the file, which must be of one of these kinds of numbers."""
        found = self.tensors.get(name) if isinstance(name, str) else None
        if found is None or found.dtype.kind not in kinds:
            raise ModelFileError("The array {name!r} is missing, or of the wrong type.", name=name)
        return found

    def _array(self, value: dict[str, Any], depth: int) -> AnyArray:
        _keys(value, "array", optional=("order", "readonly"))
        fortran, fixed = "order" in value, "readonly" in value
        if (fortran and value["order"] != "F") or (fixed and value["readonly"] is not True):
            raise ModelFileError("An array of the file is laid out in an unknown way.")
        key = (value["array"], fortran, fixed)
        stored = self.tensor(value["array"], "biuf")
        if key not in self._made:
            made = stored.copy()
            made = made.T if fortran else made
            made.flags.writeable = not fixed
            self._made[key] = made
        return self._made[key]

    def _pieces(self, value: dict[str, Any], name: str, kinds: str) -> tuple[AnyArray, AnyArray]:
        """An array, and where in it each piece ends."""
        whole, lengths = self.tensor(value[name], kinds), self.tensor(value["lengths"], "i")
        if whole.ndim != 1 or lengths.ndim != 1 or (lengths < 0).any():
            raise ModelFileError("The lengths of the parts of an array are not sound.")
        ends = np.cumsum(lengths)
        if len(whole) != sum(lengths.tolist()):  # in whole numbers of any size
            raise ModelFileError("The lengths of the parts of an array do not add up.")
        return whole, ends

    def _strings(self, value: dict[str, Any], depth: int) -> AnyArray:
        _keys(value, "strings", "lengths", "shape", "kind")
        letters, ends = self._pieces(value, "strings", "u")
        if letters.dtype != np.uint8:
            raise ModelFileError("The letters of a text are bytes.")
        raw = letters.tobytes()
        try:
            texts = [raw[a:b].decode() for a, b in zip([0, *ends[:-1]], ends, strict=False)]
        except UnicodeDecodeError:
            raise ModelFileError("A text in the file is not UTF-8.") from None
        if value["kind"] == "object":
            return _shaped(texts, value["shape"])
        if sum(map(len, texts)) * 64 + 4096 < len(texts) * max(map(len, texts), default=0):
            raise ModelFileError("One text of an array is far longer than the others.")
        made: AnyArray = np.array(texts, dtype=np.str_)
        return made.reshape(_shaped(texts, value["shape"]).shape)

    def _objects(self, value: dict[str, Any], depth: int) -> AnyArray:
        _keys(value, "objects", "shape")
        return _shaped([self._label(item) for item in _list(value["objects"])], value["shape"])

    def _label(self, value: Any) -> Any:
        """A number or a text, alone or in a dictionary's key."""
        if isinstance(value, list | dict) and next(iter(value), None) not in ("scalar", "float"):
            raise ModelFileError("A label in the file is neither a number nor a text.")
        return self.decode(value, DEEPEST)

    def _scalar(self, value: dict[str, Any], depth: int) -> Any:
        _keys(value, "scalar", "value")
        if value["scalar"] == "str":
            if not isinstance(value["value"], str):
                raise ModelFileError("A text in the file is none.")
            return np.str_(value["value"])
        make = SCALARS[_one_of(value["scalar"], SCALARS)]
        plain = self.decode(value["value"], depth + 1)
        expected = {"b": (bool,), "i": (int,), "u": (int,)}.get(np.dtype(make).kind, (int, float))
        if type(plain) not in expected:
            raise ModelFileError("A number in the file is of the wrong type.")
        try:
            return make(plain)
        except OverflowError:
            raise ModelFileError("A number in the file is too large for its type.") from None

    def _sparse(self, value: dict[str, Any], depth: int) -> Any:
        _keys(value, "sparse", "shape", "data", "indices", "indptr")
        make = SPARSE[_one_of(value["sparse"], SPARSE)]
        shape = _whole_numbers(value["shape"])
        parts = [self.decode(value[part], depth + 1) for part in ("data", "indices", "indptr")]
        sound = len(shape) == 2 and max(shape) < LONGEST
        sound = sound and all(isinstance(part, np.ndarray) for part in parts)
        if not sound or parts[0].dtype.kind != "f" or not np.isfinite(parts[0]).all():
            raise ModelFileError("A sparse matrix of the file is not sound.")
        try:
            matrix = compressed(make, parts[0], parts[1], parts[2], shape)
        except ValueError as error:
            raise ModelFileError(
                "A sparse matrix of the file is not sound: {error}.", error=error
            ) from None
        for name, part in zip(("data", "indices", "indptr"), parts, strict=True):
            getattr(matrix, name).flags.writeable = part.flags.writeable
        return matrix

    # ---- collections and objects ---------------------------------------------------------------

    def _items(self, value: dict[str, Any], depth: int) -> Any:
        kind = next(iter(value))
        items = _list(_keys(value, kind)[kind])
        return COLLECTIONS[kind](self.decode(item, depth + 1) for item in items)

    def _ragged(self, value: dict[str, Any], depth: int) -> Any:
        _keys(value, "ragged", "lengths", "kind")
        whole, ends = self._pieces(value, "ragged", "biuf")
        make = COLLECTIONS[_one_of(value["kind"], COLLECTIONS)]
        return make(part.copy() for part in np.split(whole, ends[:-1])[: len(ends)])

    def _dict(self, value: dict[str, Any], depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in _list(_keys(value, "dict")["dict"]):
            if len(_list(pair)) != 2:
                raise ModelFileError("A dictionary of the file is not made of pairs.")
            found[self._label(pair[0])] = self.decode(pair[1], depth + 1)
        return found

    def _random_state(self, value: dict[str, Any], depth: int) -> np.random.RandomState:
        _keys(value, "random_state", "state")
        key, state = self.tensor(value["random_state"], "u"), _list(value["state"])
        types = [type(item) for item in state]
        if key.shape != (624,) or key.dtype != np.uint32 or types != [int, int, float]:
            raise ModelFileError("A random state of the file is not sound.")
        if not (0 <= state[0] <= 624 and state[1] in (0, 1) and math.isfinite(state[2])):
            raise ModelFileError("A random state of the file is not sound.")
        random = np.random.RandomState()
        random.set_state(("MT19937", key, *state))
        return random


def _keys(value: dict[str, Any], *names: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    if not set(names) <= set(value) <= {*names, *optional}:
        raise ModelFileError("A value of the file has not the parts that it should have.")
    return value


def _one_of(value: Any, known: Any) -> Any:
    if not isinstance(value, str) or value not in known:
        raise ModelFileError("{value!r} is nothing that a model file may hold.", value=value)
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFileError("The file has something else where a list must be.")
    return value


def _whole_numbers(value: Any) -> list[int]:
    if not all(type(n) is int and n >= 0 for n in _list(value)):
        raise ModelFileError("A shape of the file is not made of whole numbers.")
    return list(value)


def _shaped(items: list[Any], shape: Any) -> AnyArray:
    sides = _whole_numbers(shape)
    if math.prod(sides) != len(items) or not items:
        raise ModelFileError("A shape of the file does not fit what it holds.")
    made = np.empty(len(items), dtype=object)
    made[:] = items
    return made.reshape(sides)


class ValueEncoder:
    """Turns values into JSON; the arrays they hold are put aside in `tensors`.

    Parameters
    ----------
    families : what objects there may be among the parameters
    """

    def __init__(self, families: Sequence[Family] = ()) -> None:
        self.families = families
        self.tensors: dict[str, AnyArray] = {}
        self._names: dict[int, tuple[AnyArray, str]] = {}

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """The value as JSON; `where` is its place, for the error that says it cannot be stored."""
        if depth > DEEPEST:
            raise ModelFileError(f"{where} is nested more than {DEEPEST} levels deep.")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if sparse.issparse(value):
            return self._sparse(value, where)
        if type(value) in (list, tuple, dict):
            return self._collection(value, where, depth)
        if isinstance(value, np.random.RandomState):
            return self._random_state(value, where)
        return self._object(value, where)

    # ---- arrays --------------------------------------------------------------------------------

    def tensor(self, array: AnyArray) -> str:
        """The name under which the file keeps an array; the same array is kept once."""
        known = self._names.get(id(array))
        if known is None:
            name = f"t{len(self.tensors)}"
            little = array.dtype.newbyteorder("<")
            self.tensors[name] = np.ascontiguousarray(array, dtype=little).reshape(array.shape)
            # Keeping the array keeps its id from being used again.
            known = self._names[id(array)] = (array, name)
        return known[1]

    def _array(self, value: AnyArray, where: str) -> Any:
        if value.dtype.kind == "U":
            return self._strings(value, "str")
        if value.dtype.kind == "O":
            if all(isinstance(item, str) for item in value.flat):
                return self._strings(value, "object")
            items = [self._label(item, where) for item in value.flat]
            return {"objects": items, "shape": list(value.shape)}
        if value.dtype.newbyteorder("<") not in NAME_OF_TYPE:
            raise ModelFileError(f"{where} is an array of {value.dtype}, which no file can hold.")
        # The layout in memory is kept: products of the same numbers in another order round
        # differently.
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        found: dict[str, Any] = {"array": self.tensor(value.T if fortran else value)}
        if fortran:
            found["order"] = "F"
        if not value.flags.writeable:
            found["readonly"] = True
        return found

    def _strings(self, value: AnyArray, kind: str) -> Any:
        try:
            texts = [str(item).encode() for item in value.flat]
        except UnicodeEncodeError as error:
            raise ModelFileError(f"A text of the model is not Unicode: {error}.") from error
        letters = np.frombuffer(b"".join(texts), dtype=np.uint8)
        return {
            "strings": self.tensor(letters),
            "lengths": self.tensor(np.array([len(text) for text in texts], dtype=np.int64)),
            "shape": list(value.shape),
            "kind": kind,
        }

    def _label(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, str | bool | int | float | np.generic):
            return self.encode(value, where)
        raise ModelFileError(f"{where} holds {value!r}; labels can be numbers and strings.")

    def _scalar(self, value: np.generic, where: str) -> Any:
        if isinstance(value, np.str_):
            return {"scalar": "str", "value": str(value)}
        if value.dtype.newbyteorder("<") not in NAME_OF_TYPE:
            raise ModelFileError(f"{where} is a {value.dtype}, which no file can hold.")
        return {"scalar": value.dtype.name, "value": self.encode(value.item(), where)}

    def _sparse(self, value: Any, where: str) -> Any:
        if value.format not in ("csr", "csc"):
            raise ModelFileError(f"{where} is sparse in the format {value.format!r}; use CSR.")
        return {
            "sparse": type(value).__name__,
            "shape": list(value.shape),
            **{part: self._array(getattr(value, part), where) for part in _PARTS},
        }

    # ---- collections and objects ---------------------------------------------------------------

    def _collection(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, dict):
            pairs = [
                [self._label(key, where), self.encode(item, f"{where}[{key!r}]", depth + 1)]
                for key, item in value.items()
            ]
            return {"dict": pairs}
        kind = type(value).__name__
        if self.together(value):
            lengths = np.array([len(item) for item in value], dtype=np.int64)
            together = self.tensor(np.concatenate(value))
            return {"ragged": together, "lengths": self.tensor(lengths), "kind": kind}
        items = enumerate(value)
        return {kind: [self.encode(item, f"{where}[{i}]", depth + 1) for i, item in items]}

    def _random_state(self, value: np.random.RandomState, where: str) -> Any:
        kind, key, position, has_gauss, gauss = value.get_state(legacy=True)
        if kind != "MT19937":
            raise ModelFileError(f"{where} is a generator of another kind; give a whole number.")
        state = [int(position), int(has_gauss), float(gauss)]
        return {"random_state": self.tensor(np.asarray(key)), "state": state}

    def _object(self, value: Any, where: str) -> Any:
        for family in self.families:
            if family.name_of(value) is not None:
                return family.write(value, self, Scope(), where)
        raise ModelFileError(cannot_store(value, where))

    def together(self, items: Any) -> bool:
        """Whether these are so many vectors of one type that they are kept as one."""
        return len(items) > SHORT and _alike(items)


_PARTS = ("data", "indices", "indptr")


def _alike(items: Any) -> bool:
    """Whether these are vectors of numbers of one type."""
    first = items[0]
    return all(
        isinstance(item, np.ndarray)
        and item.ndim == 1
        and item.dtype == first.dtype
        and item.dtype in NAME_OF_TYPE
        for item in items
    )
