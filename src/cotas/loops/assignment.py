"""Assigning one array to another inside a loop."""

from __future__ import annotations

from cotas.arrays import AnyArray
from cotas.loops.compiled import loop


@loop
def assign(target: AnyArray, source: AnyArray) -> None:
    """Copy: target[: len(source)] = source, entry by entry.

    Numba compiles that statement in seconds: it comes with an error message about shapes, and that
    with all there is to strings.
    """
    for i in range(len(source)):
        target[i] = source[i]
