"""`@generic`: one name, one implementation for each type of the first argument."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numba import types
from numba.extending import overload

from cotas.loops.inside import INSIDE

# Sums may be reordered into vector registers; NaN and infinities keep their meaning.
REORDERED = frozenset({"reassoc", "contract", "nsz", "arcp"})
# Only a multiplication and the addition after it may share one rounding.
EXACT = frozenset({"contract"})

Case = Callable[..., Any]


class Generic(Protocol):
    """A function that accepts implementations through `when`."""

    def __call__(self, first: Any, *rest: Any) -> Any: ...

    def when(self, kind: type, arithmetic: frozenset[str] = EXACT) -> Callable[[Case], Case]: ...


def _python_class(numba_type: Any) -> type | None:
    """Return the Python class behind a Numba type, for the types we dispatch on."""
    if isinstance(numba_type, types.BaseNamedTuple):
        return numba_type.instance_class  # type: ignore[no-any-return]
    if isinstance(numba_type, types.Array):
        return np.ndarray
    if isinstance(numba_type, types.NoneType):
        return type(None)
    return None


def generic(function: Case) -> Generic:
    """Declare an operation that dispatches on the class of its first argument.

    >>> from typing import NamedTuple
    >>> class Celsius(NamedTuple):
    ...     degrees: float
    >>> @generic
    ... def kelvin(temperature): "The absolute temperature."
    >>> @kelvin.when(Celsius)
    ... def celsius_kelvin(temperature): return temperature.degrees + 273.15
    >>> kelvin(Celsius(20.0))
    293.15
    """
    cases: dict[type, Case] = {}

    @functools.wraps(function)
    def dispatch(first: Any, *rest: Any) -> Any:
        case = cases.get(type(first))
        if case is None:
            known = ", ".join(kind.__name__ for kind in cases)
            raise TypeError(
                f"{function.__name__} knows no {type(first).__name__}; it knows {known}."
            )
        return case(first, *rest)

    def when(kind: type, arithmetic: frozenset[str] = EXACT) -> Callable[[Case], Case]:
        def register(case: Case) -> Case:
            cases[kind] = case

            def compiled_case(first: Any, *rest: Any) -> Case | None:
                return case if _python_class(first) is kind else None

            # Left to itself LLVM calls it with all the arrays of a design on the stack, row by row.
            options = {**INSIDE, "fastmath": set(arithmetic), "forceinline": True}
            overload(dispatch, jit_options=options, strict=False)(compiled_case)
            return case

        return register

    dispatch.when = when  # type: ignore[attr-defined]
    return dispatch  # type: ignore[return-value]
