"""`@loop`: compile to machine code, keep it on disk, let other threads run meanwhile."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar, cast

import numba

from cotas.loops.cache import SealedCache
from cotas.loops.inside import INSIDE

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
    return _compiled(function)


def loop_in_place(function: Function) -> Function:
    """Compile a loop that makes no array, and calls none that does.

    It counts no references to the arrays it is given: where these are dozens, in tuples, that is
    half of the code, and a fifth of the time to compile it. An array that it makes, or that another
    loop gives back to it, would never be freed.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **options: bool) -> Function:
    usual = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(**usual, **options)(function)
    if compiled is not function:  # else Numba was told not to compile
        inside = numba.njit(**INSIDE, **options)(function)
        compiled.get_call_template = inside.get_call_template
        compiled.get_overload = inside.get_overload
        with suppress(RuntimeError):  # no folder can be written
            compiled._cache = SealedCache(function)
        compiled.compile = _undisturbed(compiled.compile)
    return cast(Function, compiled)


def _undisturbed(compile_for: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def compile_or_load(signature: Any) -> Any:
        with interrupts_deferred(), garbage_kept():
            return compile_for(signature)

    return compile_or_load


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Keep Ctrl-C from arriving inside, and let it arrive at the end.

    LLVM calls back into Python while it compiles and loads, and an exception raised in such a
    call is printed and forgotten. Masking the signal would not do: any other thread of the
    process could take it, and Python would still raise in this one. Only the main thread answers
    signals, so in others there is nothing to keep away.
    """
    outer = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(outer):
        yield
        return
    arrived: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, outer)
        if arrived:
            outer(signal.SIGINT, arrived[-1])


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Look for no garbage inside.

    Numba makes so many small objects that Python searches all it has for garbage again and again,
    which takes an eighth of the time. Whoever has switched that off finds it off.
    """
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


def kept_in() -> str | None:
    """Return the folder where compiled code is kept; None where none can be written."""
    try:
        return str(SealedCache(kept_in).cache_path)
    except RuntimeError:
        return None
