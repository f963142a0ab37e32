"""From objects to JSON and arrays: a closed set of values, and no code among them.

Numbers, strings, True, False and None stand for themselves. Everything else is a JSON object whose
first key tells what it is; `cotas.files.decoding` reads each of them again. Objects are written by
the families that declare them, `cotas.files.records`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray
from cotas.files.container import NAME_OF_TYPE
from cotas.files.errors import ModelFileError
from cotas.files.records import Family, cannot_store
from cotas.files.schema import DEEPEST, Scope

SHORT = 16  # up to so many arrays in a list are kept each by itself


class Encoder:
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
