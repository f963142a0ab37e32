"""The names of columns: none twice, and found as they are typed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from cotas.files.problems import DataFileError, Remark
from cotas.words import say


def without_twins(wanted: Sequence[str]) -> tuple[tuple[str, ...], list[Remark]]:
    """Return the names, later ones of the same numbered, and a remark on each of those.

    >>> names, remarks = without_twins(["a", "b", "a"])
    >>> names, str(remarks[0])
    (('a', 'b', 'a_2'), "Another column is called 'a'; this one is 'a_2' here.")
    """
    taken: dict[str, None] = {}  # in their order
    known, remarks = set(wanted), []
    numbers: dict[str, int] = {}
    for name in wanted:
        own = name
        while own in taken or (own != name and own in known):
            numbers[name] = numbers.get(name, 1) + 1
            own = f"{name}_{numbers[name]}"
        if own != name:
            words = "Another column is called {name!r}; this one is {own!r} here."
            remarks.append(Remark("renamed", own, say(words, name=name, own=own)))
        taken[own] = None
    return tuple(taken), remarks


def names_among(words: Sequence[str], known: Sequence[str], source: str = "") -> list[str]:
    """Return the columns that are meant: a word is a name, or several with commas between them.

    >>> names_among(["a,b", "c,d"], ["a", "b", "c,d"])
    ['a', 'b', 'c,d']
    """
    found: list[str] = []
    for word in words:
        found += [word] if word in known else [part.strip() for part in word.split(",")]
    for name in found:
        if name not in known:
            raise DataFileError(no_column(name, known), source)
    return list(dict.fromkeys(found))


def no_column(name: str, known: Sequence[str]) -> str:
    """Say that a column is not there, with those that are and those that may be meant.

    >>> print(no_column("Prcie", ["size", "price"]))
    there is no column 'Prcie'; there are size, price. Did you mean price?
    """
    return say(
        "there is no column {name!r}; there are {names}.{advice}",
        name=name,
        names=some(known),
        advice=meant(name, known),
    )


def meant(name: str, known: Sequence[str], most: int = 2) -> str:
    """Return a sentence with the names that may have been meant, or nothing.

    Several may be as near as one another: `svm` and `svr` to `smv`.
    """
    plain = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), plain, n=most)
    names = say(" or ").join(plain[each] for each in near)
    return say(" Did you mean {name}?", name=names) if near else ""


def some(names: Sequence[str], most: int = 8) -> str:
    """Return the first names, and how many there are."""
    shown = ", ".join(names[:most])
    if len(names) <= most:
        return shown
    return say("{shown}, … ({count} in all)", shown=shown, count=len(names))
