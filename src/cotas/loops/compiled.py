"""`@loop`: compile to machine code, keep it on disk, let other threads run meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from cotas.loops.cache import SealedCache
from cotas.loops.garbage import garbage_kept
from cotas.loops.inside import INSIDE
from cotas.loops.interrupts import interrupts_deferred

Function = TypeVar("Function", bound=Callable[..., object])


def loop(function: Function) -> Function:
    """Compile a loop over examples with Numba.

    The code is cached on disk when a folder can be written and compiled in every process
    otherwise. The loop releases the global lock, so classes can be trained in threads. Division
    by zero gives an infinity, as in NumPy, and not an exception that would cost a test at every
    division. Ctrl-C is answered before or after compiling and loading, never lost in between.
    Where another loop calls it, it becomes a part of that one, from which no way leads back to
    Python: it cannot print, call itself, or raise an error with values of the moment.
    """
    compiled: Any = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    if compiled is not function:  # else Numba was told not to compile
        inside = numba.njit(**INSIDE)(function)
        compiled.get_call_template = inside.get_call_template
        compiled.get_overload = inside.get_overload
        with contextlib.suppress(RuntimeError):  # no folder can be written
            compiled._cache = SealedCache(function)
        compiled.compile = _undisturbed(compiled.compile)
    return cast(Function, compiled)


def _undisturbed(compile_for: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def compile_or_load(signature: Any) -> Any:
        with interrupts_deferred(), garbage_kept():
            return compile_for(signature)

    return compile_or_load


def kept_in() -> str | None:
    """The folder where compiled code is kept; None where none can be written."""
    try:
        return str(SealedCache(kept_in).cache_path)
    except RuntimeError:
        return None
