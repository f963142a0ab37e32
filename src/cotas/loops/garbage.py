"""Python's search for garbage, which finds none worth its time while code is compiled."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
