"""Ctrl-C while code is compiled or loaded: noted, and answered right after."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
