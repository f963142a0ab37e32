"""How many threads BLAS has while we work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    """Looking for the BLAS in memory takes a millisecond; it does not move."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Users:
    """Who wants one thread at this moment: the first one says so, the last one takes it back."""

    def __init__(self) -> None:
        self.lock, self.count = Lock(), 0
        self.before: list[int] = []

    def enter(self) -> None:
        with self.lock:
            if not self.count:
                self.before = [library.get_num_threads() for library in _libraries()]
                self._set([1] * len(self.before))
            self.count += 1

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if not self.count:
                self._set(self.before)

    def _set(self, threads: list[int]) -> None:
        for library, before, count in zip(_libraries(), self.before, threads, strict=True):
            if before != 1:
                library.set_num_threads(count)


_USERS = _Users()


@contextmanager
def one_thread_in_blas() -> Iterator[None]:
    """Our own threads share the cores out; a BLAS with threads of its own gets in their way.

    The blocks of the checker are too small for it, and it then spends its time waiting, above
    all when another process wants the cores too. The last digits of its products depend on how
    many threads it has, so the limit holds until the last of several fits at once has ended.
    """
    _USERS.enter()
    try:
        yield
    finally:
        _USERS.leave()
