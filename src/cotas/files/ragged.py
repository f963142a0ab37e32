"""Lines of a text table with another number of fields than the first."""

from __future__ import annotations

from cotas.arrays import IntArray
from cotas.loops import loop


@loop
def ragged_line(text: IntArray, separator: int, quote: int, expected: int) -> tuple[int, int]:
    """Find the first line with another number of fields than expected, and that number; or
    zeros."""
    line, fields, quoted, empty = 1, 1, False, True
    begun = 1
    for p in range(len(text)):
        letter = text[p]
        if letter == quote:
            quoted = not quoted
            empty = False
        elif letter == 10:
            line += 1
            if not quoted:
                if not empty and fields != expected:
                    return begun, fields
                fields, empty, begun = 1, True, line
        elif letter == separator:
            empty = False
            if not quoted:
                fields += 1
        elif letter != 13:
            empty = False
    if not empty and fields != expected:
        return begun, fields
    return 0, 0
