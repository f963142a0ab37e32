"""Work shared between the calling thread and those of a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cotas.arrays import Each


def shared_with(pool: ThreadPoolExecutor, helpers: int) -> Each:
    """A `map` whose items are taken in turn by this thread and by so many threads of the pool.

    A round of boosting shares work that takes a fraction of a millisecond. This thread therefore
    begins at once, and does all of it if no other wakes up in time.
    """

    def each(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        listed = list(items)
        results: list[Any] = [None] * len(listed)
        turns = iter(range(len(listed)))  # the next number is taken in one step of the interpreter

        def take_turns() -> None:
            for k in turns:
                results[k] = function(listed[k])

        called = [pool.submit(take_turns) for _ in range(min(helpers, len(listed) - 1))]
        try:
            take_turns()
        finally:
            for future in called:
                if not future.cancel():
                    future.result()
        return results

    return each
