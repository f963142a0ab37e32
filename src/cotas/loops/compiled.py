"""`@loop`: compile to machine code, keep it on disk, let other threads run meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def loop(function: Function) -> Function:
    """Compile a loop over examples with Numba.

    The code is cached on disk when a folder can be written and compiled in every process
    otherwise, since Numba refuses to decorate at all when it finds no place for its cache. The
    loop releases the global lock, so classes can be trained in threads. Division by zero gives
    an infinity, as in NumPy, and not an exception that would cost a test at every division.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)
