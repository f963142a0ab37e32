"""Memory that a worker of Dask frees, and asks for again at once."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

# What glibc calls them, and as far as it would go by itself.
TRIM, MMAP, MOST_TRIM, MOST_MMAP = -1, -3, 1 << 26, 1 << 25
FIRST_MMAP = 1 << 17  # where it begins


@cache
def _mallopt() -> Any:
    """Return the function of glibc by which its allocator is told, or None where there is none."""
    try:
        return ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return None


class _FreedMemoryUsers:
    """Users that want freed memory kept at this moment: the first says so, the last takes it
    back."""

    def __init__(self) -> None:
        self.lock, self.count = Lock(), 0

    def change(self, by: int) -> None:
        """Count one more, or one less."""
        tell, trim = _mallopt(), os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
        if tell is None or not trim.isdigit():
            return
        mmap = os.environ.get("MALLOC_MMAP_THRESHOLD_", "")
        with self.lock:
            self.count += by
            if by > 0 and self.count == 1:
                tell(MMAP, MOST_MMAP)
                tell(TRIM, MOST_TRIM)
            elif not self.count:
                tell(MMAP, int(mmap) if mmap.isdigit() else FIRST_MMAP)
                tell(TRIM, int(trim))


_USERS = _FreedMemoryUsers()


@contextmanager
def keeping_what_is_freed() -> Iterator[None]:
    """Let the allocator keep freed memory for a while, as it does outside of Dask.

    Workers are started with `MALLOC_TRIM_THRESHOLD_`, by which glibc gives all that is freed back
    to the system, and each array of a megabyte that is made again is then paid for page by page:
    more than half the time of a pass. What the environment asks for holds again after the task.
    """
    _USERS.change(1)
    try:
        yield
    finally:
        _USERS.change(-1)
