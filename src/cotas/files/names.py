"""The names of columns: none twice, and found as they are typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cotas.files.problems import DataFileError
from cotas.files.remarks import Remark
from cotas.words import say


def without_twins(
    wanted: Sequence[str],
) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...]]:
    """The names, later ones of the same numbered, and the position and name of those.

    >>> without_twins(["a", "b", "a"])
    (('a', 'b', 'a_2'), ((2, 'a'),))
    """
    names: list[str] = []
    renamed = []
    for position, name in enumerate(wanted):
        own, number = name, 2
        while own in names or (own != name and own in wanted):
            own, number = f"{name}_{number}", number + 1
        if own != name:
            renamed.append((position, name))
        names.append(own)
    return tuple(names), tuple(renamed)


def twins_in_words(names: Sequence[str], renamed: Sequence[tuple[int, str]]) -> Iterator[Remark]:
    """A remark for each column that got another name because its own was taken."""
    for position, name in renamed:
        own = names[position]
        words = "Another column is called {name!r}; this one is {own!r} here."
        yield Remark("renamed", own, say(words, name=name, own=own))


def names_among(words: Sequence[str], known: Sequence[str], source: str = "") -> list[str]:
    """The columns that are meant: a word is a name, or several with commas between them.

    >>> names_among(["a,b", "c,d"], ["a", "b", "c,d"])
    ['a', 'b', 'c,d']
    """
    found: list[str] = []
    for word in words:
        found += [word] if word in known else [part.strip() for part in word.split(",")]
    for name in found:
        if name not in known:
            raise DataFileError(f"there is no column {name!r}; there are {some(known)}.", source)
    return list(dict.fromkeys(found))


def some(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"
