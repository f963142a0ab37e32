"""Fields that hold objects: records, families of records that a word tells apart, and estimators.

Files never name a class. Where the place in the file says what an object is, its fields stand there
by name; where there is a choice, as among kernels, a word of the field tells: {"kernel": "rbf", …}.
Which class that is at present stands here as a `location`, and only here.

What an object holds its class has declared: the annotations of its fields say what may stand in
them. A record adds what they do not tell, the lengths that arrays share and the limits of entries.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from cotas.files.problems import ModelFileError
from cotas.files.schema import (
    Each,
    Field,
    Flag,
    Mapped,
    Number,
    Plain,
    Scope,
    Sentence,
    Text,
    Whole,
    require,
)

# They belong to the session in which a model is trained, not to the model.
OF_THE_SESSION = frozenset({"callbacks", "progress"})
# How what scikit-learn itself keeps on an estimator begins.
OF_SCIKIT_LEARN = ("_metadata_request", "_skl", "_callback_fit", "_parent_callback")


def location_of(cls: type[Any]) -> str:
    """The qualified name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


# What an annotation stands for; records and families add the names of their classes.
KNOWN: dict[str, Field] = {
    "bool": Flag(),
    "int": Whole(),
    "float": Number(),
    "unbounded": Number(finite=False),
    "Mapping[str, unbounded]": Mapped(Number(finite=False)),
    "str": Text(),
    "Any": Plain(),
    "Spoken[str]": Sentence(),
    "Spoken[tuple[str, ...]]": Each(Sentence(), tuple),
}
RECORDS: dict[str, Record] = {}  # by location
_SEVERAL = re.compile(r"(tuple|list)\[(\w+)(?:, \.\.\.)?\]")


@dataclass(frozen=True)
class Known(Field):
    """What an annotation stands for, looked up when all is declared."""

    name: str

    @property
    def of(self) -> Field:
        """The field itself."""
        if self.name.endswith(" | None"):
            return Known(self.name.removesuffix(" | None")).of.or_none()
        if several := _SEVERAL.fullmatch(self.name):
            return Each(Known(several[2]).of, tuple if several[1] == "tuple" else list)
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
        """The class of the object."""
        module, _, name = self.location.rpartition(".")
        found: type[Any] = getattr(import_module(module), name)
        return found

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """All fields: those that are given, and those that the annotations of the class tell."""
        given = {each.attribute or name for name, each in self.given.items()}
        told = _annotations(self.cls).items()
        rest = {name: self._meant(name, said) for name, said in told if name not in given}
        return {**self.given, **rest}  # in this order: a limit may be the length of one before

    def _meant(self, name: str, annotation: str) -> Field:
        plain = annotation.removesuffix(" | None")
        if name in self.usual and plain.endswith(("Array", "Any", "int")):
            return self.usual[name] if plain == annotation else self.usual[name].or_none()
        return Known(annotation if self.finite else annotation.replace("float", "unbounded")).of

    def is_of(self, value: Any) -> bool:
        """Whether the value is an object of this class."""
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
        """What was fitted, of which no annotation tells."""
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
        """What files call this value; None if it is not of the family."""
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
    """What a dataclass or a named tuple says of its fields, less those that no file holds."""
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
    """An object by its own constructor, which looks at what it gets."""
    try:
        return maker(**values)
    except Exception as error:
        raise ModelFileError(f"{where} cannot be made of what the file holds: {error}") from error


def cannot_store(value: Any, where: str) -> str:
    """Why this value cannot be in a file, and what to do."""
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
