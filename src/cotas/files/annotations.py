"""Whether the fields of a loaded object are of the types that its class declares."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from cotas.files.checks import require


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"


KNOWN: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, Real) and not isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "FloatArray": _is_array,
    "IntArray": _is_array,
    "BoolArray": _is_array,
    "AnyArray": lambda value: isinstance(value, np.ndarray),
    "tuple": lambda value: isinstance(value, tuple),
    "list": lambda value: isinstance(value, list),
    "dict": lambda value: isinstance(value, dict),
}


PLAIN = (bool, int, float, str, list, dict, np.ndarray, np.generic, type(None))


@cache
def declared_types(cls: Any) -> dict[str, tuple[Callable[[Any], bool], ...]]:
    """For each field the tests of which its value must pass one; what may be anything is left out.

    >>> from cotas.certificates import DualPoint
    >>> [test(None) for test in declared_types(DualPoint)["weights"]]
    [False, True]
    """
    if dataclasses.is_dataclass(cls):
        given = {field.name: field.type for field in dataclasses.fields(cls)}
    else:
        given = {name: cls.__annotations__[name] for name in cls._fields}
    found = {}
    for name, hint in given.items():
        text = str(getattr(hint, "__forward_arg__", getattr(hint, "__name__", hint)))
        tests = [_test_of(part, cls) for part in _alternatives(text)]
        if None not in tests:
            found[name] = tuple(test for test in tests if test is not None)
    return found


def _test_of(annotation: str, cls: type[Any]) -> Callable[[Any], bool] | None:
    """How to recognize a value of this type; None if it cannot be told."""
    name = annotation.partition("[")[0].strip()
    if name in KNOWN:
        return KNOWN[name]
    named = getattr(sys.modules[cls.__module__], name, None)
    if not isinstance(named, type) or not named.__module__.startswith("cotas."):
        return None
    if getattr(named, "_is_protocol", False):
        return lambda value: not isinstance(value, PLAIN)
    return lambda value: isinstance(value, named)


def _alternatives(text: str) -> list[str]:
    """The parts of a union; what stands in brackets is not looked at."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def check_types(made: Any, name: str) -> None:
    """Refuse an object with a field of another type than its class declares."""
    cls: Any = type(made)
    for field, tests in declared_types(cls).items():
        value = getattr(made, field)
        require(any(t(value) for t in tests), f"{field} of {name} is a {type(value).__name__}")
