"""A digest of what a fitted object is made of, whatever that is: equal values, equal digest."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from cotas.files.kinds import name_in_files

# scikit-learn adds to what it pickles by which version that was done; the model is the same.
VERSION = "_sklearn_version"
# What is written as Python writes it.
PLAIN = (bool, int, float, complex, str, bytes, slice)
AS_WRITTEN = frozenset((*PLAIN, type(None)))
# Pieces longer than this are hashed where they lie, the others together.
LONG = 1 << 12
PAIR = b"tuple\x001\x002"  # how a tuple of two begins


def digest(value: Any) -> str:
    """A hash of the value, of all it holds and of their types.

    Arrays count by their entries, not by their layout in memory; dictionaries by what they hold,
    not by its order. Two copies of an object have the same digest, in any process.

    >>> digest([np.zeros(2), "a"]) == digest([np.zeros(2), "a"])
    True
    >>> digest([np.zeros(2), "a"]) == digest([np.array([0.0, 1.0]), "a"])
    False
    """
    walk = _Walk()
    walk.enter(value)
    return walk.hexdigest()


class _Walk:
    """Goes through a value in a fixed order and hashes what it meets."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._inside: list[int] = []
        self._short: list[bytes] = []  # what was met since something was hashed

    def hexdigest(self) -> str:
        """The hash of all that was met."""
        self._hash_short()
        return self._hash.hexdigest()

    def enter(self, value: Any) -> None:
        """One value, unless we are inside of it already."""
        kind = type(value)
        if kind in AS_WRITTEN:
            self._write(kind.__name__, repr(value).encode())
        elif id(value) in self._inside:
            self._write("again", b"")
        else:
            self._inside.append(id(value))
            WAYS.get(kind, _Walk._visit)(self, value)
            self._inside.pop()

    def _visit(self, value: Any) -> None:
        if isinstance(value, PLAIN):
            self._write(type(value).__name__, repr(value).encode())
        elif isinstance(value, (np.ndarray, np.generic)):
            self._array(np.asarray(value))
        elif sparse.issparse(value):
            self._sparse(value)
        elif isinstance(value, dict):
            self._dict(value)
        elif isinstance(value, (set, frozenset)):
            self._each("set", sorted(digest(item) for item in value))
        elif isinstance(value, (list, tuple)):
            self._each(_kind(value), value)
        elif isinstance(value, (type, types.BuiltinFunctionType, np.ufunc)):
            self._write("name", _name(value).encode())
        else:
            self._object(value)

    def _write(self, kind: str, content: Any) -> None:
        self._short.append(f"{kind}\0{len(content)}\0".encode())
        if len(content) > LONG:
            self._hash_short()
            self._hash.update(content)
        else:
            self._short.append(content)

    def _hash_short(self) -> None:
        self._hash.update(b"".join(self._short))
        self._short.clear()

    def _each(self, kind: str, items: Any) -> None:
        self._write(kind, str(len(items)).encode())
        for item in items:
            self.enter(item)

    def _dict(self, value: dict[Any, Any]) -> None:
        self._write("dict", str(len(value)).encode())
        for key, held in sorted(value.items(), key=lambda pair: repr(pair[0])):
            if type(key) is str:
                self._short.append(_pair(key))
            else:
                self._short.append(PAIR)
                self.enter(key)
            self.enter(held)

    def _list(self, value: list[Any]) -> None:
        self._each("list", value)

    def _tuple(self, value: tuple[Any, ...]) -> None:
        self._each("tuple", value)

    def _array(self, array: Any) -> None:
        self._write("shape", repr(array.shape).encode())
        if array.dtype.names:  # between the fields of a record there may be anything
            self._each("record", [array[name] for name in array.dtype.names])
        elif array.dtype.kind in "OU":
            self._each("labels", array.ravel().tolist())
        else:
            kind = _little(array.dtype)
            plain = array.astype(kind, copy=False)
            if plain.nbytes <= LONG:
                self._write(kind.str, plain.tobytes())
            else:
                self._write(kind.str, np.ascontiguousarray(plain).reshape(-1).view(np.uint8).data)

    def _sparse(self, matrix: Any) -> None:
        rows = sparse.csr_matrix(matrix).sorted_indices()
        self._each("sparse", (rows.shape, rows.indptr.astype(np.int64)))
        self._each(matrix.format, (rows.indices.astype(np.int64), rows.data))

    def _object(self, value: Any) -> None:
        value = getattr(value, "py_func", value)  # the function that was compiled
        if isinstance(value, types.FunctionType):
            given = (value.__defaults__, value.__kwdefaults__)
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            self._each(_name(value), (value.__code__, *given, cells))
        elif isinstance(value, types.MethodType):
            self._each("method", (value.__func__, value.__self__))
        elif isinstance(value, types.CodeType):
            self._each("code", (value.co_code, value.co_names, value.co_consts))
        else:
            kind: Any = type(value)
            self._each(name_in_files(kind), (_state(value),))


# What is met most often; the others are looked at more closely.
WAYS: dict[Any, Callable[[_Walk, Any], None]] = {
    dict: _Walk._dict,
    list: _Walk._list,
    tuple: _Walk._tuple,
    np.ndarray: _Walk._array,
}


def _kind(value: Any) -> str:
    """What a list or a tuple is called; the fields of a named one stand in a fixed order."""
    kind: Any = type(value)
    return name_in_files(kind) if hasattr(value, "_fields") else str(kind.__qualname__)


@functools.lru_cache(maxsize=1024)
def _pair(name: str) -> bytes:
    """How a tuple of a name and something else begins; most are those of attributes."""
    written = repr(name).encode()
    return PAIR + f"str\0{len(written)}\0".encode() + written


@functools.cache
def _little(kind: Any) -> Any:
    """The same type of number with its least byte first."""
    return kind.newbyteorder("<")


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"


def _state(value: Any) -> Any:
    """What the object would be pickled as, less what it computed for its own use."""
    try:
        state = value.__getstate__()
        state = value.__reduce_ex__(2)[1:3] if state is None else state
    except TypeError:  # nothing can be said of it but its type: it is taken on trust
        return None
    if not isinstance(state, dict):
        return state
    kind: Any = type(value)
    left_out = _computed(kind)
    return {k: v for k, v in state.items() if k not in left_out}


@functools.cache
def _computed(kind: Any) -> frozenset[str]:
    """What objects of this class keep for their own use, and the version that pickled them."""
    owned = (vars(base).items() for base in kind.__mro__)
    cached = (k for own in owned for k, v in own if isinstance(v, functools.cached_property))
    return frozenset((VERSION, *cached))
