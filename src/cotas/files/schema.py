"""The language in which model files are declared: fields, the arrays in them, and what they share.

A field says what may stand in one place of a file. The same declaration writes it, reads it, and
refuses what does not belong there; `tests/file_format.py` describes it. The lengths of arrays are
letters: what is n in one field is n in all fields of the same record and of those inside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse

from cotas.files.problems import ModelFileError
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
        """The value as JSON; its arrays go to `out`, a `ValueEncoder`."""
        self.check(value, scope, where)
        return out.encode(value, where)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        """The value of this JSON; its arrays come from `source`, a `ValueDecoder`."""
        try:
            value = source.decode(stored)
        except ModelFileError as error:
            raise ModelFileError(f"{where}: {error}") from None
        self.check(value, scope, where)
        return value

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


@dataclass(frozen=True)
class Text(Field):
    """A text, one of the `choices` if there are any."""

    choices: tuple[str, ...] = ()

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(type(value) is str, where, "is no text")
        require(not self.choices or value in self.choices, where, f"is {value!r}")


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


@dataclass(frozen=True)
class Plain(Field):
    """A parameter: numbers, texts, arrays, collections of them, and the values of the tables."""


@dataclass(frozen=True)
class Optional(Field):
    """A field or None."""

    of: Field

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        return None if value is None else self.of.write(value, out, scope, where)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        return None if stored is None else self.of.read(stored, source, scope, where)


# ---- arrays: their types, their sides, the limits of their entries -------------------------------


@dataclass(frozen=True)
class Array(Field):
    """An array of numbers: its sides, its type, and the limits of its entries.

    `low` and `high` include the limit, `below` excludes it; each may be a letter. Entries are
    finite unless `infinite` or `nan` allow more.
    """

    sides: str
    types: str = "float64"
    low: float | str | None = None
    high: float | str | None = None
    below: float | str | None = None
    infinite: bool = False
    nan: bool = False

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, np.ndarray), where, "is no array")
        sides = self.sides.split()
        require(value.dtype.name in self.types.split(), where, f"is an array of {value.dtype}")
        require(value.ndim == len(sides), where, f"has {value.ndim} dimensions")
        for side, length in zip(sides, value.shape, strict=True):
            scope.agree(side, length, where)
        if value.dtype.kind == "f":
            self._check_floats(value, where)
        self._check_limits(value, scope, where)

    def _check_floats(self, value: Any, where: str) -> None:
        if not self.nan and not self.infinite:
            require(np.isfinite(value).all(), where, "holds NaN or infinity")
        elif not self.nan:
            require(not np.isnan(value).any(), where, "holds NaN")

    def _check_limits(self, value: Any, scope: Scope, where: str) -> None:
        if not value.size:
            return
        smallest, largest = value.min(), value.max()
        if self.low is not None:
            require(smallest >= scope.number(self.low), where, f"has the entry {smallest}")
        if self.high is not None:
            require(largest <= scope.number(self.high), where, f"has the entry {largest}")
        if self.below is not None:
            require(largest < scope.number(self.below), where, f"has the entry {largest}")


FLOATS = "float32 float64"
NUMBERS = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"  # of a witness
)


@dataclass(frozen=True)
class Labels(Field):
    """The labels of the classes, sorted, each once."""

    side: str
    least: int = 1

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, np.ndarray) and value.ndim == 1, where, "is no vector")
        require(len(value) >= self.least, where, f"has {len(value)} labels")
        for label in value.tolist():
            Label().check(label, scope, where)
        try:
            rising = bool((value[1:] > value[:-1]).all())
        except TypeError:
            rising = False
        require(rising, where, "is not sorted")
        scope.agree(self.side, len(value), where)


@dataclass(frozen=True)
class Names(Field):
    """The names of columns."""

    side: str

    def check(self, value: Any, scope: Scope, where: str) -> None:
        sound = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == object
        require(sound and all(type(name) is str for name in value), where, "are no names")
        scope.agree(self.side, len(value), where)


@dataclass(frozen=True)
class RowsField(Field):
    """Rows of finite numbers, dense or CSR; the decoder has looked at the parts of sparse ones."""

    sides: str

    def check(self, value: Any, scope: Scope, where: str) -> None:
        dense = isinstance(value, np.ndarray) and value.ndim == 2
        known = dense or (sparse.issparse(value) and value.format == "csr")
        require(known, where, "is no matrix, dense or CSR")
        require(value.dtype.name in FLOATS.split(), where, f"is a matrix of {value.dtype}")
        numbers = value if dense else value.data
        require(np.isfinite(numbers).all(), where, "holds NaN or infinity")
        for side, length in zip(self.sides.split(), value.shape, strict=True):
            scope.agree(side, length, where)


# ---- alternatives, lists, tuples, dictionaries ---------------------------------------------------


@dataclass(frozen=True)
class Either(Field):
    """The first of several fields that fits."""

    fields: tuple[Field, ...]

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        return self._first("write", value, out, scope, where)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        return self._first("read", stored, source, scope, where)

    def _first(self, way: str, given: Any, coder: Any, scope: Scope, where: str) -> Any:
        for each in self.fields[:-1]:
            trial = Scope(scope.known, scope.depth)
            try:
                found = getattr(each, way)(given, coder, trial, where)
            except ModelFileError:
                continue
            scope.known = trial.known
            return found
        return getattr(self.fields[-1], way)(given, coder, scope, where)


@dataclass(frozen=True)
class Each(Field):
    """A list or a tuple of the same; vectors are kept together in one array."""

    of: Field
    kind: type[Any] = list
    side: str = ""

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        require(type(value) is self.kind, where, f"is no {self.kind.__name__}")
        self._count(value, scope, where)
        places = [
            (item, scope.inside(False, where), f"{where}[{i}]") for i, item in enumerate(value)
        ]
        if not isinstance(self.of, Array):
            return [self.of.write(item, out, inside, place) for item, inside, place in places]
        for place in places:
            self.of.check(*place)
        return out.vectors(value, self.of.types)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        vectors = isinstance(self.of, Array)
        require(isinstance(stored, dict if vectors else list), where, "is no list")
        items = source.vectors(stored) if vectors else stored
        self._count(items, scope, where)
        places = [
            (item, scope.inside(False, where), f"{where}[{i}]") for i, item in enumerate(items)
        ]
        if not vectors:
            return self.kind(self.of.read(item, source, inside, at) for item, inside, at in places)
        for place in places:
            self.of.check(*place)
        return self.kind(items)

    def _count(self, value: Any, scope: Scope, where: str) -> None:
        if self.side:
            scope.agree(self.side, len(value), where)


@dataclass(frozen=True)
class Together(Field):
    """A tuple of so many things, each of its own kind."""

    fields: tuple[Field, ...]

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        require(type(value) is tuple and len(value) == len(self.fields), where, "is no such tuple")
        pairs = zip(self.fields, value, strict=True)
        return [each.write(v, out, scope, f"{where}[{i}]") for i, (each, v) in enumerate(pairs)]

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        sound = isinstance(stored, list) and len(stored) == len(self.fields)
        require(sound, where, "is no such list")
        pairs = zip(self.fields, stored, strict=True)
        return tuple(
            each.read(item, source, scope, f"{where}[{i}]") for i, (each, item) in enumerate(pairs)
        )


@dataclass(frozen=True)
class Mapped(Field):
    """Things by name, or by number where `numbered`."""

    of: Field
    numbered: bool = False

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        require(isinstance(value, dict), where, "is no dictionary")
        found = {}
        for name, item in value.items():
            sound = type(name) is (int if self.numbered else str)
            require(sound, where, f"has the key {name!r}")
            inside = scope.inside(False, where)
            found[str(name)] = self.of.write(item, out, inside, f"{where}[{name!r}]")
        return found

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        require(isinstance(stored, dict), where, "is no object of JSON")
        found: dict[Any, Any] = {}
        for name, item in stored.items():
            inside = scope.inside(False, where)
            found[self._key(name, where)] = self.of.read(item, source, inside, f"{where}[{name!r}]")
        return found

    def _key(self, name: str, where: str) -> Any:
        if not self.numbered:
            return name
        sound = name.isascii() and name.isdigit() and name == str(int(name[:10]))
        require(sound, where, f"has the key {name!r}")
        return int(name)
