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


def digest(value: object) -> str:
    """Return a hash of the value, of all it holds and of their types.

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
    """A walk through a value in a fixed order that hashes what it meets."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._inside: list[int] = []
        self._short: list[bytes] = []  # what was met since something was hashed

    def hexdigest(self) -> str:
        """Return the hash of all that was met."""
        self._hash_short()
        return self._hash.hexdigest()

    def enter(self, value: object) -> None:
        """Enter one value, unless we are inside of it already."""
        kind: Any = type(value)
        if kind in AS_WRITTEN:
            self._write(kind.__name__, repr(value).encode())
        elif id(value) in self._inside:
            self._write("again", b"")
        else:
            self._inside.append(id(value))
            _way(kind)(self, value)
            self._inside.pop()

    def _plain(self, value: object) -> None:
        self._write(type(value).__name__, repr(value).encode())

    def _set(self, value: Any) -> None:
        self._each("set", sorted(digest(item) for item in value))

    def _named(self, value: object) -> None:
        self._write("name", _name(value).encode())

    def _write(self, kind: str, content: Any) -> None:
        size = len(content)
        if size <= LONG:
            self._short.append(b"%b\0%d\0%b" % (kind.encode(), size, content))
            return
        self._short.append(f"{kind}\0{size}\0".encode())
        self._hash_short()
        self._hash.update(content)

    def _hash_short(self) -> None:
        self._hash.update(b"".join(self._short))
        self._short.clear()

    def _each(self, kind: str, items: Any) -> None:
        self._write(kind, str(len(items)).encode())
        for item in items:
            self.enter(item)

    def _dict(self, value: dict[Any, Any]) -> None:
        self._write("dict", str(len(value)).encode())
        for key in sorted(value, key=repr):
            if type(key) is str:
                self._short.append(_pair(key))
            else:
                self._short.append(PAIR)
                self.enter(key)
            self.enter(value[key])

    def _sequence(self, value: object) -> None:
        kind: Any = type(value)
        self._each(_kind(kind), value)

    def _numbers(self, value: object) -> None:
        array = np.asarray(value)
        self._short.append(_shape(array.shape))
        if array.dtype.names:  # between the fields of a record there may be anything
            self._each("record", [array[name] for name in array.dtype.names])
        elif array.dtype.kind in "OU":
            self._each("labels", array.ravel().tolist())
        else:
            kind, name = _little(array.dtype)
            plain = array.astype(kind, copy=False)
            if plain.nbytes <= LONG:
                self._write(name, plain.tobytes())
            else:
                self._write(name, np.ascontiguousarray(plain).reshape(-1).view(np.uint8).data)

    def _sparse(self, matrix: Any) -> None:
        rows = sparse.csr_matrix(matrix).sorted_indices()
        self._each("sparse", (rows.shape, rows.indptr.astype(np.int64)))
        self._each(matrix.format, (rows.indices.astype(np.int64), rows.data))

    def _object(self, value: object) -> None:
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


# What is done with the values of each of these types, and of those made of them.
WAYS: list[tuple[Any, Callable[[_Walk, Any], None]]] = [
    (PLAIN, _Walk._plain),
    ((np.ndarray, np.generic), _Walk._numbers),
    ((sparse.sparray, sparse.spmatrix), _Walk._sparse),
    (dict, _Walk._dict),
    ((set, frozenset), _Walk._set),
    ((list, tuple), _Walk._sequence),
    ((type, types.BuiltinFunctionType, np.ufunc), _Walk._named),
]


@functools.cache
def _way(kind: Any) -> Callable[[_Walk, Any], None]:
    """Return what is done with values of this type."""
    return next((way for kinds, way in WAYS if issubclass(kind, kinds)), _Walk._object)


@functools.cache
def _kind(kind: Any) -> str:
    """Return what a list or a tuple is called; the fields of a named one stand in a fixed order."""
    return name_in_files(kind) if hasattr(kind, "_fields") else str(kind.__qualname__)


@functools.lru_cache(maxsize=1024)
def _pair(name: str) -> bytes:
    """Tell how a tuple of a name and something else begins; most are those of attributes."""
    written = repr(name).encode()
    return PAIR + f"str\0{len(written)}\0".encode() + written


@functools.lru_cache(maxsize=1024)
def _shape(shape: tuple[int, ...]) -> bytes:
    """Tell how an array of this shape begins."""
    written = repr(shape).encode()
    return b"shape\0%d\0%b" % (len(written), written)


@functools.cache
def _little(kind: Any) -> tuple[Any, str]:
    """Return the same type of number with its least byte first, and what it is called."""
    little = kind.newbyteorder("<")
    return little, little.str


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"


def _state(value: object) -> Any:
    """Return what the object would be pickled as, less what it computed for its own use."""
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
    """Return what objects of this class keep for their own use, and the version that pickled
    them."""
    owned = (vars(base).items() for base in kind.__mro__)
    cached = (k for own in owned for k, v in own if isinstance(v, functools.cached_property))
    return frozenset((VERSION, *cached))
