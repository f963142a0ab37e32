"""What a reader should know about a table, said by whoever noticed it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from cotas.words import Spoken, say

# So many columns are named one by one where the same is to be said of many.
NAMED = 8


@dataclass(frozen=True)
class Remark:
    """Something a reader should know about the data.

    Attributes
    ----------
    kind : str
        Such as "renamed", "cells", "identifier", "text", "constant", "missing", "leak",
        "duplicates", "unbalanced" or "unmeasured".
    column : str or None
    message : str
        In words, with what to do.
    """

    kind: str
    column: str | None
    message: Spoken[str] = Spoken()

    def __str__(self) -> str:
        return self.message


def gathered(remarks: Iterable[Remark]) -> list[Remark]:
    """The remarks, with one in the place of all that say the same of yet another column.

    >>> found = gathered(Remark("constant", f"c{k}", f"c{k} never changes.") for k in range(20))
    >>> [str(remark) for remark in found[-2:]]
    ['c7 never changes.', 'The same is true of 12 more columns: c8, c9, c10, c11, …']
    """
    said: list[Remark] = []
    known: defaultdict[str, list[str]] = defaultdict(list)
    for remark in remarks:
        names = known[remark.kind]
        if remark.column is not None:
            names.append(remark.column)
        if len(names) <= NAMED:
            said.append(remark)
        elif len(names) == NAMED + 1:
            said.append(Remark("more", None, remark.kind))  # its words when all are counted
    return [_counted(known[str(r)]) if r.kind == "more" else r for r in said]


def _counted(names: list[str]) -> Remark:
    rest = names[NAMED:]
    some = ", ".join(rest[: NAMED // 2]) + (", …" if len(rest) > NAMED // 2 else "")
    words = "The same is true of {count} more columns: {some}"
    return Remark("more", None, say(words, count=len(rest), some=some))
