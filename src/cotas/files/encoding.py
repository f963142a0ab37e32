"""From objects to JSON and arrays and back: a closed set of values, and no code among them.

Numbers, strings, True, False and None stand for themselves. Everything else is a JSON object whose
first key tells what it is. Objects are written by the families that declare them,
`cotas.files.schema`. What is read is checked before it is used.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray
from cotas.files.container import NAME_OF_TYPE
from cotas.files.numpy_tables import compressed
from cotas.files.problems import ModelFileError
from cotas.files.schema import DEEPEST, LONGEST, Family, Scope, cannot_store

SPARSE = {
    kind.__name__: kind
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array)
}
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
SCALARS = {dtype.name: dtype.type for dtype in NAME_OF_TYPE}
PARTS = ("data", "indices", "indptr")  # of a sparse matrix


class ValueDecoder:
    """A decoder of JSON into values.

    A method `_read_array` reads {"array": …}; the parts that it may have are its parameters.

    Parameters
    ----------
    tensors : the arrays of the file
    families : what objects there may be among the parameters
    """

    def __init__(self, tensors: dict[str, AnyArray], families: Sequence[Family] = ()) -> None:
        self.tensors = tensors
        self.families = {family.word: family for family in families}
        self._made: dict[tuple[str, bool, bool], AnyArray] = {}
        self._depth = 0

    def decode(self, value: Any) -> Any:
        """Return the value that this JSON stands for."""
        if not isinstance(value, dict | list):
            return value
        _must("The objects of the file are nested too deep.", self._depth <= DEEPEST + 1)
        self._depth += 1
        try:
            return self._object(value)
        finally:
            self._depth -= 1

    def _object(self, value: Any) -> Any:
        kind = next(iter(value), "") if isinstance(value, dict) else ""
        if kind in self.families:
            return self.families[kind].read(value, self, Scope(depth=self._depth), f"the {kind}")
        read = getattr(self, f"_read_{kind}", None)
        if read is None:
            raise ModelFileError("The file holds a value of an unknown kind.")
        try:
            given = inspect.signature(read).bind(**value)
        except TypeError:
            message = "A value of the file has not the parts that it should have."
            raise ModelFileError(message) from None
        return read(**given.arguments)

    # ---- numbers and arrays --------------------------------------------------------------------

    def _read_float(self, float: Any) -> Any:
        return _one_of(float, FLOATS)

    def tensor(self, name: Any, kinds: str) -> AnyArray:
        """Return an array of the file, which must be of one of these kinds of numbers."""
        found = self.tensors.get(name) if isinstance(name, str) else None
        if found is None or found.dtype.kind not in kinds:
            raise ModelFileError("The array {name!r} is missing, or of the wrong type.", name=name)
        return found

    def _read_array(self, array: Any, order: Any = "", readonly: Any = False) -> AnyArray:
        sound = order in ("", "F") and isinstance(readonly, bool)
        _must("An array of the file is laid out in an unknown way.", sound)
        stored, key = self.tensor(array, "biuf"), (array, order == "F", readonly)
        if key not in self._made:
            made = stored.copy()
            self._made[key] = made = made.T if order == "F" else made
            made.flags.writeable = not readonly
        return self._made[key]

    def vectors(self, stored: dict[str, Any]) -> list[AnyArray]:
        """Return the vectors that {"vectors": …, "lengths": …} stands for."""
        _must("A list of vectors is none.", set(stored) == {"vectors", "lengths"})
        whole, lengths = self.tensor(stored["vectors"], "biuf"), self.tensor(stored["lengths"], "i")
        sound = whole.ndim == lengths.ndim == 1 and not (lengths < 0).any()
        # Added up in whole numbers of any size.
        sound = sound and len(whole) == sum(lengths.tolist())
        _must("The lengths of the parts of an array do not add up.", sound)
        return [part.copy() for part in np.split(whole, np.cumsum(lengths))[: len(lengths)]]

    def _read_objects(self, objects: Any, shape: Any, kind: Any = "object") -> AnyArray:
        items, sides = [self._label(item) for item in _list(objects)], _whole_numbers(shape)
        if math.prod(sides) != len(items) or not items:
            raise ModelFileError("A shape of the file does not fit what it holds.")
        if kind == "object":
            made = np.empty(len(items), dtype=object)
            made[:] = items
        else:
            texts = kind == "str" and all(type(item) is str for item in items)
            _must("An array of texts in the file is none.", texts)
            longest = len(items) * max(map(len, items))
            if sum(map(len, items)) * 64 + 4096 < longest:
                raise ModelFileError("One text of an array is far longer than the others.")
            made = np.array(items, dtype=np.str_)
        return made.reshape(sides)

    def _label(self, value: Any) -> Any:
        """Return a number or a text, alone or in a dictionary's key."""
        plain = not isinstance(value, list | dict) or next(iter(value), None) in ("scalar", "float")
        _must("A label in the file is neither a number nor a text.", plain)
        return self.decode(value)

    def _read_scalar(self, scalar: Any, value: Any) -> Any:
        if scalar == "str":
            _must("A text in the file is none.", isinstance(value, str))
            return np.str_(value)
        make, plain = _one_of(scalar, SCALARS), self.decode(value)
        expected = {"b": (bool,), "i": (int,), "u": (int,)}.get(np.dtype(make).kind, (int, float))
        _must("A number in the file is of the wrong type.", type(plain) in expected)
        try:
            return make(plain)
        except OverflowError:
            raise ModelFileError("A number in the file is too large for its type.") from None

    def _read_sparse(self, sparse: Any, shape: Any, data: Any, indices: Any, indptr: Any) -> Any:
        make, sides = _one_of(sparse, SPARSE), _whole_numbers(shape)
        parts = [self.decode(part) for part in (data, indices, indptr)]
        sound = len(sides) == 2 and max(sides) < LONGEST
        sound = sound and all(isinstance(part, np.ndarray) for part in parts)
        sound = sound and parts[0].dtype.kind == "f" and np.isfinite(parts[0]).all()
        _must("A sparse matrix of the file is not sound.", sound)
        try:
            matrix = compressed(make, parts[0], parts[1], parts[2], sides)
        except ValueError as error:
            message = "A sparse matrix of the file is not sound: {error}."
            raise ModelFileError(message, error=error) from None
        for name, part in zip(PARTS, parts, strict=True):
            getattr(matrix, name).flags.writeable = part.flags.writeable
        return matrix

    # ---- collections and objects ---------------------------------------------------------------

    def _read_list(self, list: Any) -> Any:
        return [self.decode(item) for item in _list(list)]

    def _read_tuple(self, tuple: Any) -> Any:
        return (*self._read_list(tuple),)

    def _read_dict(self, dict: Any) -> Any:
        pairs = _list(dict)
        sound = all(len(_list(pair)) == 2 for pair in pairs)
        _must("A dictionary of the file is not made of pairs.", sound)
        return {self._label(key): self.decode(item) for key, item in pairs}

    def _read_random_state(self, random_state: Any, state: Any) -> np.random.RandomState:
        key = self.tensor(random_state, "u")
        sound = key.shape == (624,) and key.dtype == np.uint32
        sound = sound and [type(item) for item in _list(state)] == [int, int, float]
        sound = sound and 0 <= state[0] <= 624 and state[1] in (0, 1) and math.isfinite(state[2])
        _must("A random state of the file is not sound.", sound)
        random = np.random.RandomState()
        random.set_state(("MT19937", key, *state))
        return random


def _must(message: str, condition: Any) -> None:
    if not condition:
        raise ModelFileError(message)


def _one_of(value: Any, known: dict[str, Any]) -> Any:
    if not isinstance(value, str) or value not in known:
        raise ModelFileError("{value!r} is nothing that a model file may hold.", value=value)
    return known[value]


def _list(value: Any) -> list[Any]:
    _must("The file has something else where a list must be.", isinstance(value, list))
    return list(value)


def _whole_numbers(value: Any) -> list[int]:
    sound = all(type(n) is int and n >= 0 for n in _list(value))
    _must("A shape of the file is not made of whole numbers.", sound)
    return list(value)


@dataclass
class ValueEncoder:
    """An encoder of values into JSON; the arrays they hold are put aside in `tensors`.

    Parameters
    ----------
    families : what objects there may be among the parameters
    """

    families: Sequence[Family] = ()
    tensors: dict[str, AnyArray] = field(default_factory=dict, init=False)
    _names: dict[int, tuple[AnyArray, str]] = field(default_factory=dict, init=False)

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """Encode the value as JSON; `where` is its place, for the error that says it cannot be
        stored."""
        if depth > DEEPEST:
            raise ModelFileError(f"{where} is nested more than {DEEPEST} levels deep.")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.str_):
            return {"scalar": "str", "value": str(value)}
        if isinstance(value, np.generic):
            _refuse_type(value, where)
            return {"scalar": value.dtype.name, "value": self.encode(value.item(), where)}
        if sparse.issparse(value):
            return self._sparse(value, where)
        if type(value) is dict:
            pairs = value.items()
            more = ((self._label(k, where), v, f"{where}[{k!r}]") for k, v in pairs)
            return {"dict": [[key, self.encode(v, place, depth + 1)] for key, v, place in more]}
        if type(value) in (list, tuple):
            items = (self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value))
            return {type(value).__name__: [*items]}
        if isinstance(value, np.random.RandomState):
            return self._random_state(value, where)
        for family in self.families:
            if family.name_of(value) is not None:
                return family.write(value, self, Scope(), where)
        raise ModelFileError(cannot_store(value, where))

    def tensor(self, array: AnyArray) -> str:
        """Return the name under which the file keeps an array; the same array is kept once."""
        known = self._names.get(id(array))
        if known is None:
            name = f"t{len(self.tensors)}"
            little = array.dtype.newbyteorder("<")
            self.tensors[name] = np.ascontiguousarray(array, dtype=little).reshape(array.shape)
            # Keeping the array keeps its id from being used again.
            known = self._names[id(array)] = (array, name)
        return known[1]

    def vectors(self, items: Iterable[AnyArray], dtype: str) -> Any:
        """Put vectors of one type, together in one array."""
        lengths = np.array([len(item) for item in items], dtype=np.int64)
        whole = np.concatenate([np.empty(0, dtype), *items])
        return {"vectors": self.tensor(whole), "lengths": self.tensor(lengths)}

    def _array(self, value: AnyArray, where: str) -> Any:
        if value.dtype.kind in "UO":
            items = [self._label(item, where) for item in value.ravel().tolist()]
            texts = {"kind": "str"} if value.dtype.kind == "U" else {}
            return {"objects": items, "shape": list(value.shape), **texts}
        _refuse_type(value, where)
        # The layout in memory is kept: products of the same numbers in another order round
        # differently.
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        found: dict[str, Any] = {"array": self.tensor(value.T if fortran else value)}
        if fortran:
            found["order"] = "F"
        if not value.flags.writeable:
            found["readonly"] = True
        return found

    def _label(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, str | bool | int | float | np.generic):
            return self.encode(value, where)
        raise ModelFileError(f"{where} holds {value!r}; labels can be numbers and strings.")

    def _sparse(self, value: Any, where: str) -> Any:
        if value.format not in ("csr", "csc"):
            raise ModelFileError(f"{where} is sparse in the format {value.format!r}; use CSR.")
        parts = {part: self._array(getattr(value, part), where) for part in PARTS}
        return {"sparse": type(value).__name__, "shape": list(value.shape), **parts}

    def _random_state(self, value: np.random.RandomState, where: str) -> Any:
        kind, key, position, has_gauss, gauss = value.get_state(legacy=True)
        if kind != "MT19937":
            raise ModelFileError(f"{where} is a generator of another kind; give a whole number.")
        state = [int(position), int(has_gauss), float(gauss)]
        return {"random_state": self.tensor(np.asarray(key)), "state": state}


def _refuse_type(value: AnyArray | np.generic, where: str) -> None:
    if value.dtype.newbyteorder("<") not in NAME_OF_TYPE:
        what = "an array of" if isinstance(value, np.ndarray) else "a"
        raise ModelFileError(f"{where} is {what} {value.dtype}, which no file can hold.")
