"""What is said of files: what is wrong, what a reader should know, and how to ask otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from cotas.words import Said, Spoken, in_one, knows, say


class ModelFileError(ValueError):
    """A model that cannot be stored without code, or a file that is not a sound model file.

    Parameters
    ----------
    message : str
        A text of the catalogue, one that was said already, or a plain one.
    **values : what the message has in braces
    """

    def __init__(self, message: str, /, **values: object) -> None:
        known = knows(message, dict.fromkeys(values, ""))
        super().__init__(say(message, **values) if known else message)


# So many columns are named one by one where the same is to be said of many.
NAMED = 8


@dataclass(frozen=True)
class Remark:
    """A remark: something a reader should know about the data.

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


def remark(text: str, /, kind: str, column: str | None = None, **values: object) -> Remark:
    """Return a remark in words of the catalogue, which call the column {name}."""
    return Remark(kind, column, say(text, name=column, **values))


def gathered(remarks: Iterable[Remark]) -> list[Remark]:
    """Return the remarks, with one in the place of all that say the same of yet another column.

    >>> found = gathered(Remark("constant", f"c{k}", f"c{k} never changes.") for k in range(20))
    >>> [str(remark) for remark in found[-2:]]
    ['c7 never changes.', 'The same is true of 12 more columns: c8, c9, c10, c11, …']
    """
    said: list[Remark] = []
    known: defaultdict[str, list[str]] = defaultdict(list)
    for one in remarks:
        names = known[one.kind]
        if one.column is not None:
            names.append(one.column)
        if len(names) <= NAMED:
            said.append(one)
        elif len(names) == NAMED + 1:
            said.append(Remark("more", None, one.kind))  # its words when all are counted
    return [_counted(known[str(r)]) if r.kind == "more" else r for r in said]


def _counted(names: list[str]) -> Remark:
    rest = names[NAMED:]
    some = ", ".join(rest[: NAMED // 2]) + (", …" if len(rest) > NAMED // 2 else "")
    words = "The same is true of {count} more columns: {some}"
    return remark(words, "more", count=len(rest), some=some)


_typed: ContextVar[bool] = ContextVar("typed", default=False)
# Where an option and the argument have different names.
_ARGUMENTS = {"category": "categories", "rows-without-target": "without_target"}
# The arguments that are lists.
_LISTS = ("missing", "not-missing", "category", "keep")


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """Let messages name options: whoever calls has typed these."""
    token = _typed.set(True)
    try:
        yield
    finally:
        _typed.reset(token)


def leaving_out(column: str) -> str:
    """Tell how a column is left out, in parentheses, where that is an option."""
    return f" (--drop {column!r})" if _typed.get() else ""


def parameter(name: str, value: str) -> str:
    """Tell how a parameter of a model is given."""
    return f"--param {name}={value}" if _typed.get() else f"{name}={value!r}"


def asked(option: str, value: str | None = None) -> str:
    """Tell how an option is given, with this value.

    >>> asked("missing", "none"), asked("keep", "id")
    ("missing=['none']", "Preparation(keep=['id'])")
    >>> with on_the_command_line():
    ...     asked("keep", "id"), asked("max-columns")
    ("--keep 'id'", '--max-columns')
    """
    if _typed.get():
        between = "=" if value is not None and value.startswith("-") else " "
        return f"--{option}" if value is None else f"--{option}{between}{value!r}"
    name = _ARGUMENTS.get(option, option.replace("-", "_"))
    if value is None:
        return name
    given = f"{name}=[{value!r}]" if option in _LISTS else f"{name}={value!r}"
    return f"Preparation({given})" if option == "keep" else given


class DataFileError(ValueError):
    """A file of data that cannot be used, with its name and, where known, the line.

    Parameters
    ----------
    message : str
        A text of the catalogue, or one that was said already.
    source, line : as below
    **values : what the message has in braces

    Attributes
    ----------
    source : str
        The file, or "standard input".
    line : int or None
        The line, counted from one.
    """

    def __init__(
        self, message: str, source: str = "", line: int | None = None, /, **values: object
    ) -> None:
        self.source = source
        self.line = line
        place = source
        if line is not None:
            words = "{source}, line {line}" if source else "line {line}"
            place = say(words, source=source, line=line)
        # The text keeps its parts, so that it can be said again in another language.
        said = message if isinstance(message, Said) else say(message, **values)
        super().__init__(in_one([place, said], ": ") if place else said)


def damaged(how: object, source: str) -> DataFileError:
    """Return the error for a file that is not whole."""
    words = "it is damaged or breaks off ({error}); get it again, whole."
    return DataFileError(words, source, error=how)


class UnusedWishError(DataFileError):
    """A wish that this kind of file cannot give."""
