"""The names of columns: none twice, and found as they are typed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from cotas.files.problems import DataFileError, Remark
from cotas.words import say


def without_twins(wanted: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...]]:
    """Return the names, later ones of the same numbered, and the position and name of those.

    >>> without_twins(["a", "b", "a"])
    (('a', 'b', 'a_2'), ((2, 'a'),))
    """
    taken: dict[str, None] = {}  # in their order
    known, renamed = set(wanted), []
    numbers: dict[str, int] = {}
    for position, name in enumerate(wanted):
        own = name
        while own in taken or (own != name and own in known):
            numbers[name] = numbers.get(name, 1) + 1
            own = f"{name}_{numbers[name]}"
        if own != name:
            renamed.append((position, name))
        taken[own] = None
    return tuple(taken), tuple(renamed)


def twins_in_words(names: Sequence[str], renamed: Sequence[tuple[int, str]]) -> Iterator[Remark]:
    """Yield a remark for each column that got another name because its own was taken."""
    for position, name in renamed:
        own = names[position]
        words = "Another column is called {name!r}; this one is {own!r} here."
        yield Remark("renamed", own, say(words, name=name, own=own))


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
    """A sentence that a column is not there, with those that are and those that may be meant.

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
