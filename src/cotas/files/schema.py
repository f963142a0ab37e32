"""The language in which model files are declared: fields, the arrays in them, and what they share.

A field says what may stand in one place of a file. The same declaration writes it, reads it, and
refuses what does not belong there; `tests/file_format.py` describes it. The lengths of arrays are
letters: what is n in one field is n in all fields of the same record and of those inside it.

Files never name a class. Where the place in the file says what an object is, its fields stand there
by name; where there is a choice, as among kernels, a word of the field tells: {"kernel": "rbf", …}.
Which class that is at present stands here as a `location`, and only here.

What an object holds its class has declared: the annotations of its fields say what may stand in
them. A record adds what they do not tell, the lengths that arrays share and the limits of entries.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from importlib import import_module
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
        """Return the scope of the fields of a record: what is known outside, or letters of its
        own."""
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
        """Return a limit, which may be the length of a letter."""
        return self.known[limit] if isinstance(limit, str) else limit


@dataclass(frozen=True)
class Field:
    """A field: what may stand in one place of a file.

    `attribute` is what the object calls it, where that is not its name in the file. A field that
    is not `required` is left out where the object has no such attribute.
    """

    attribute: str = field(default="", kw_only=True)
    required: bool = field(default=True, kw_only=True)

    def check(self, value: Any, scope: Scope, where: str) -> None:
        """Refuse a value that does not belong here."""

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        """Return the value as JSON; its arrays go to `out`, a `ValueEncoder`."""
        self.check(value, scope, where)
        return out.encode(value, where)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        """Return the value of this JSON; its arrays come from `source`, a `ValueDecoder`."""
        try:
            value = source.decode(stored)
        except ModelFileError as error:
            raise ModelFileError(f"{where}: {error}") from None
        self.check(value, scope, where)
        return value

    def at(self, attribute: str) -> Self:
        """Return the same, called `attribute` by the object."""
        return replace(self, attribute=attribute)

    def maybe(self) -> Self:
        """Return the same, left out where there is none."""
        return replace(self, required=False)

    def or_none(self) -> Optional:
        """Return the same or None."""
        return Optional(self, attribute=self.attribute, required=self.required)


# ---- numbers and texts ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Flag(Field):
    """A truth value."""

    def check(self, value: Any, scope: Scope, where: str) -> None:
        require(isinstance(value, bool | np.bool_), where, "is neither true nor false")


@dataclass(frozen=True)
class IntegerField(Field):
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
class ArrayField(Field):
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
class UnionField(Field):
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
class ListField(Field):
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
        if not isinstance(self.of, ArrayField):
            return [self.of.write(item, out, inside, place) for item, inside, place in places]
        for place in places:
            self.of.check(*place)
        return out.vectors(value, self.of.types)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        vectors = isinstance(self.of, ArrayField)
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
class TupleField(Field):
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
    """Mapping of things by name, or by number where `numbered`."""

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


# ---- records, families of records that a word tells apart, and estimators ------------------------

# They belong to the session in which a model is trained, not to the model.
OF_THE_SESSION = frozenset({"callbacks", "progress"})
# How what scikit-learn itself keeps on an estimator begins.
OF_SCIKIT_LEARN = ("_metadata_request", "_skl", "_callback_fit", "_parent_callback")


def location_of(cls: type[Any]) -> str:
    """Return the qualified name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


# What an annotation stands for; records and families add the names of their classes.
KNOWN: dict[str, Field] = {
    "bool": Flag(),
    "int": IntegerField(),
    "float": Number(),
    "unbounded": Number(finite=False),
    "Mapping[str, unbounded]": Mapped(Number(finite=False)),
    "str": Text(),
    "Any": Plain(),
    "Spoken[str]": Sentence(),
    "Spoken[tuple[str, ...]]": ListField(Sentence(), tuple),
}
RECORDS: dict[str, Record] = {}  # by location
_SEVERAL = re.compile(r"(tuple|list)\[(\w+)(?:, \.\.\.)?\]")


@dataclass(frozen=True)
class Known(Field):
    """A field that an annotation stands for, looked up when all is declared."""

    name: str

    @property
    def of(self) -> Field:
        """Return the field itself."""
        if self.name.endswith(" | None"):
            return Known(self.name.removesuffix(" | None")).of.or_none()
        if several := _SEVERAL.fullmatch(self.name):
            return ListField(Known(several[2]).of, tuple if several[1] == "tuple" else list)
        return KNOWN[self.name]

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        return self.of.write(value, out, scope, where)

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        return self.of.read(stored, source, scope, where)


@dataclass(frozen=True)
class Record(Field):
    """An object of one class, as its fields by name.

    `given` are fields of which the annotations of the class do not say enough; `usual` are those
    that several classes share, for arrays, whole numbers and what may be anything. `finite` is
    false where numbers may be infinite or NaN. `own` gives it letters of its own; `relation`
    refuses what no single field can; `maker` is the method of its class that makes it, if the
    constructor does not.
    """

    location: str
    given: Mapping[str, Field] = field(default_factory=dict)
    own: bool = False
    relation: Callable[[Any], None] | None = None
    maker: str = ""
    usual: Mapping[str, Field] = field(default_factory=dict)
    finite: bool = True

    def __post_init__(self) -> None:
        RECORDS.setdefault(self.location, self)
        KNOWN.setdefault(self.location.rpartition(".")[2], self)

    @property
    def cls(self) -> type[Any]:
        """Return the class of the object."""
        module, _, name = self.location.rpartition(".")
        found: type[Any] = getattr(import_module(module), name)
        return found

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """Return all fields: those that are given, and those that the annotations of the class
        tell."""
        given = {each.attribute or name for name, each in self.given.items()}
        annotated = _annotations(self.cls).items()
        rest = {name: self._meant(name, said) for name, said in annotated if name not in given}
        return {**self.given, **rest}  # in this order: a limit may be the length of one before

    def _meant(self, name: str, annotation: str) -> Field:
        plain = annotation.removesuffix(" | None")
        if name in self.usual and plain.endswith(("Array", "Any", "int")):
            return self.usual[name] if plain == annotation else self.usual[name].or_none()
        return Known(annotation if self.finite else annotation.replace("float", "unbounded")).of

    def is_of(self, value: Any) -> bool:
        """Tell whether the value is an object of this class."""
        return location_of(type(value)) == self.location

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        if not self.is_of(value):
            raise ModelFileError(cannot_store(value, where))
        inside = scope.inside(self.own, where)
        written = _write_fields(value, self.fields, "", out, inside, where)
        self._relate(value, where)
        return written

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        values = _read_fields(stored, self.fields, "", source, scope.inside(self.own, where), where)
        made = _make(getattr(self.cls, self.maker) if self.maker else self.cls, values, where)
        self._relate(made, where)
        return made

    def _relate(self, value: Any, where: str) -> None:
        if self.relation is not None:
            try:
                self.relation(value)
            except ModelFileError as error:
                raise ModelFileError(f"{where}: {error}") from None


@dataclass(frozen=True)
class Estimator(Record):
    """A scikit-learn estimator: the parameters of its constructor, and what was fitted.

    A field `coef` of the file is the attribute `coef_`, unless the field says otherwise.
    """

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """Return what was fitted, of which no annotation tells."""
        return self.given

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        if not self.is_of(value):
            raise ModelFileError(cannot_store(value, where))
        known = value.get_params(deep=False)
        kept = {name: item for name, item in known.items() if name not in OF_THE_SESSION}
        self._refuse_unknown(value, set(known), where)
        parameters = {n: Plain().write(v, out, scope, f"{where}.{n}") for n, v in kept.items()}
        inside = scope.inside(self.own, where)
        fitted = _write_fields(value, self.fields, "_", out, inside, where)
        self._relate(value, where)
        return {"parameters": parameters, "fitted": fitted}

    def _refuse_unknown(self, value: Any, parameters: set[str], where: str) -> None:
        declared = {each.attribute or f"{name}_" for name, each in self.fields.items()}
        for name in vars(value):
            known = name in parameters | declared or name.startswith(OF_SCIKIT_LEARN)
            require(known, f"{where}.{name}", "is an attribute that no model file has a place for")

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        sound = isinstance(stored, dict) and set(stored) == {"parameters", "fitted"}
        require(sound, where, "has not the parts that it should have")
        cls, given = self.cls, stored["parameters"]
        require(isinstance(given, dict), where, "has no parameters")
        unknown = sorted(set(given) - set(inspect.signature(cls).parameters))
        require(not unknown, where, f"has no parameter {', '.join(unknown)}: update cotas")
        read = {n: Plain().read(v, source, scope, f"{where}.{n}") for n, v in given.items()}
        model = _make(cls, read, where)
        inside = scope.inside(self.own, where)
        fitted = _read_fields(stored["fitted"], self.fields, "_", source, inside, where)
        for name, value in fitted.items():
            setattr(model, name, value)
        self._relate(model, where)
        return model


@dataclass(frozen=True)
class Family(Field):
    """One of several records, told by a word: {"loss": "hinge"}.

    `annotated` are the names by which classes say that they hold one.
    """

    word: str
    members: Mapping[str, Record]
    annotated: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        KNOWN.update(dict.fromkeys(self.annotated, self))

    def name_of(self, value: Any) -> str | None:
        """Return what files call this value; None if it is not of the family."""
        return next((name for name, each in self.members.items() if each.is_of(value)), None)

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        name = self.name_of(value)
        if name is None:
            raise ModelFileError(cannot_store(value, where))
        return {self.word: name, **self.members[name].write(value, out, scope, where)}

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        sound = isinstance(stored, dict) and self.word in stored
        require(sound, where, f"does not say which {self.word} it is")
        name, rest = stored[self.word], {k: v for k, v in stored.items() if k != self.word}
        known = isinstance(name, str) and name in self.members
        require(known, where, f"names the {self.word} {name!r}, which this cotas does not know")
        return self.members[name].read(rest, source, scope, where)


def _annotations(cls: type[Any]) -> dict[str, str]:
    """Return what a dataclass or a named tuple says of its fields, less those that no file
    holds."""
    if is_dataclass(cls):
        return {f.name: str(f.type) for f in fields(cls) if f.metadata.get("stored", True)}
    kinds = cls.__annotations__ if hasattr(cls, "_fields") else {}
    return {name: str(getattr(kind, "__forward_arg__", kind)) for name, kind in kinds.items()}


def _write_fields(
    value: Any, fields: Mapping[str, Field], ending: str, out: Any, scope: Scope, where: str
) -> dict[str, Any]:
    found = {}
    for name, each in fields.items():
        attribute = each.attribute or f"{name}{ending}"
        if each.required or hasattr(value, attribute):
            place = f"{where}.{attribute}"
            require(hasattr(value, attribute), place, "is missing")
            found[name] = each.write(getattr(value, attribute), out, scope, place)
    return found


def _read_fields(
    stored: Any, fields: Mapping[str, Field], ending: str, source: Any, scope: Scope, where: str
) -> dict[str, Any]:
    require(isinstance(stored, dict), where, "has no fields")
    unknown = sorted(set(stored) - set(fields))
    require(not unknown, where, f"has no {', '.join(unknown)}: update cotas")
    found = {}
    for name, each in fields.items():
        place = f"{where}.{name}"
        if each.required or name in stored:
            require(name in stored, place, "is missing")
            found[each.attribute or f"{name}{ending}"] = each.read(
                stored[name], source, scope, place
            )
    return found


def _make(maker: Callable[..., Any], values: dict[str, Any], where: str) -> Any:
    """Return an object by its own constructor, which looks at what it gets."""
    try:
        return maker(**values)
    except Exception as error:
        raise ModelFileError(f"{where} cannot be made of what the file holds: {error}") from error


def cannot_store(value: Any, where: str) -> str:
    """Tell why this value cannot be in a file, and what to do."""
    module = type(value).__module__.partition(".")[0]
    if callable(value) and not hasattr(value, "fit"):
        return (
            f"{where} is a function, and model files hold no code. Give numbers or an object of "
            "cotas in its place, or keep the model with pickle where you trust the file."
        )
    if module in ("cotas", "builtins", "numpy"):
        return f"{where} is a {type(value).__name__}, which model files cannot hold there."
    return (
        f"{where} is a {type(value).__name__} of {module}, which cannot be stored without pickle. "
        "Weak learners that can are 'stump', 'tree' and 'linear'; with others, keep the model "
        "with skops or joblib."
    )
