"""What stands in one place of a file: numbers, texts, and the lengths that places share."""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from cotas.files.errors import ModelFileError
from cotas.words import Said, english, knows

DEEPEST = 60  # records within records
LARGEST = (1 << 63) - 1  # whole number
LONGEST = 1 << 31  # of the sides of matrices: compiled loops count in 32 bits


def require(condition: Any, where: str, what: str) -> None:
    """Refuse a value unless the condition holds."""
    if not condition:
        raise ModelFileError(f"{where} {what}.")


class Scope:
    """The lengths that are known so far, by letter."""

    def __init__(self, known: MappingABC[str, int] | None = None, depth: int = 0) -> None:
        self.known, self.depth = dict(known or {}), depth

    def inside(self, own: bool, where: str) -> Scope:
        """For the fields of a record: what is known outside, unless it has letters of its own."""
        require(self.depth < DEEPEST, where, "is nested too deep")
        return Scope(None if own else self.known, self.depth + 1)

    def agree(self, side: str, length: int, where: str) -> None:
        """Learn the length of a side such as "n" or "d+1", or compare it with what is known."""
        letter, _, more = side.partition("+")
        if letter.isdigit():
            expected = int(letter)
        else:
            expected = self.known.setdefault(letter, length - int(more or 0)) + int(more or 0)
        require(length == expected, where, f"has {length} entries where {side} = {expected}")

    def number(self, limit: float | str) -> float:
        """A limit, which may be the length of a letter."""
        return self.known[limit] if isinstance(limit, str) else limit


@dataclass(frozen=True)
class Field:
    """What may stand in one place of a file.

    `attribute` is what the object calls it, where that is not its name in the file. A field that
    is not `required` is left out where the object has no such attribute.
    """

    attribute: str = field(default="", kw_only=True)
    required: bool = field(default=True, kw_only=True)

    def check(self, value: Any, scope: Scope, where: str) -> None:
        """Refuse a value that does not belong here."""

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        """The value as JSON; its arrays go to `out`, an `Encoder`."""
        self.check(value, scope, where)
        return out.encode(value, where)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        """The value of this JSON; its arrays come from `source`, a `Decoder`."""
        try:
            value = source.decode(stored)
        except ModelFileError as error:
            raise ModelFileError(f"{where}: {error}") from None
        self.check(value, scope, where)
        return value

    def words(self) -> str:
        """What may stand here, for the documentation."""
        raise NotImplementedError

    def at(self, attribute: str) -> Self:
        """The same, called `attribute` by the object."""
        return replace(self, attribute=attribute)

    def maybe(self) -> Self:
        """The same, left out where there is none."""
        return replace(self, required=False)

    def or_none(self) -> Optional:
        """The same or None."""
        return Optional(self, attribute=self.attribute, required=self.required)


# ---- numbers and texts ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Flag(Field):
    """True or false."""

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, bool | np.bool_), where, "is neither true nor false")

    def words(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Whole(Field):
    """A whole number; `letter` is the length that it tells."""

    low: int = -LARGEST
    high: int = LARGEST
    letter: str = ""

    def check(self, value: Any, scope: Scope, where: str) -> None:
        sound = isinstance(value, Integral) and not isinstance(value, bool)
        require(sound and self.low <= value <= self.high, where, f"is {value!r}")
        if self.letter:
            scope.agree(self.letter, int(value), where)

    def words(self) -> str:
        name = f", {self.letter}" if self.letter else ""
        return f"whole number{name}{_limits(self.low, self.high)}"


@dataclass(frozen=True)
class Number(Field):
    """A real number; without `finite` it may be infinite or NaN."""

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, Real) and not isinstance(value, bool), where, "is no number")
        whole = isinstance(value, Integral)
        require(not whole or abs(value) <= LARGEST, where, "is too large")
        if self.finite:
            sound = math.isfinite(value) and self.low <= value <= self.high
            require(sound, where, f"is {value!r}")

    def words(self) -> str:
        return "number" + (_limits(self.low, self.high) if self.finite else ", may be infinite")


@dataclass(frozen=True)
class Text(Field):
    """A text, one of the `choices` if there are any."""

    choices: tuple[str, ...] = ()

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(type(value) is str, where, "is no text")
        require(not self.choices or value in self.choices, where, f"is {value!r}")

    def words(self) -> str:
        return " or ".join(f'"{choice}"' for choice in self.choices) or "text"


@dataclass(frozen=True)
class Sentence(Field):
    """A text for people: its English, and where it has values these beside it."""

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, str), where, "is no text")

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        self.check(value, scope, where)
        whole = not isinstance(value, Said) or not value.values
        return str(english(value)) if whole else _said(value)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        if not isinstance(stored, dict):
            self.check(stored, scope, where)
            return Said(stored, {}) if stored else ""
        values: Any = stored.get("values")
        sound = set(stored) == {"english", "text", "values"} and isinstance(values, dict)
        require(sound, where, "is no text")
        self.check(stored["english"], scope, where)
        self.check(stored["text"], scope, where)
        inside = scope.inside(False, where)
        # A value that is no text of the catalogue is a name or a number.
        made = {
            name: each if isinstance(each, str) else self.read(each, source, inside, where)
            for name, each in values.items()
        }
        # A text that this version does not know stays in English.
        return Said(stored["text"], made) if knows(stored["text"], made) else stored["english"]

    def words(self) -> str:
        return "text, or a record of its `english`, its `text` and the `values` in it"


def _said(text: str) -> Any:
    if not isinstance(text, Said) or not knows(text.text, text.values):
        return str(english(text))
    values = {name: _said(value) for name, value in text.values.items()}
    return {"english": english(text), "text": text.text, "values": values}


@dataclass(frozen=True)
class Label(Field):
    """A label of a class: a text, a number or a truth value."""

    def check(self, value: Any, scope: Scope, where: str) -> None:
        sound = isinstance(value, str | bool | int | float | np.bool_ | np.number)
        require(sound and value == value, where, "is no label")

    def words(self) -> str:
        return "label"


@dataclass(frozen=True)
class Plain(Field):
    """A parameter: numbers, texts, arrays, collections of them, and the values of the tables."""

    def words(self) -> str:
        return "any value of a parameter"


@dataclass(frozen=True)
class Optional(Field):
    """A field or None."""

    of: Field

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        return None if value is None else self.of.write(value, out, scope, where)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        return None if stored is None else self.of.read(stored, source, scope, where)

    def words(self) -> str:
        return f"{self.of.words()}; or null"


def _limits(low: float, high: float) -> str:
    found = f" from {low}" if low > -LARGEST else ""
    return found + (f" to {high}" if high < LARGEST else "")
