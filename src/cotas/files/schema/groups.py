"""Fields that are made of fields: alternatives, lists, tuples, dictionaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cotas.files.errors import ModelFileError
from cotas.files.schema.arrays import Array
from cotas.files.schema.fields import Field, Scope, require


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

    def words(self) -> str:
        return "; or ".join(each.words() for each in self.fields)


@dataclass(frozen=True)
class Each(Field):
    """A list or a tuple of the same; many vectors of one type are kept together."""

    of: Field
    kind: type[Any] = list
    side: str = ""

    def write(self, value: Any, out: Any, scope: Scope, where: str) -> Any:
        require(type(value) is self.kind, where, f"is no {self.kind.__name__}")
        self._count(value, scope, where)
        if isinstance(self.of, Array) and out.together(value):
            for i, item in enumerate(value):
                self.of.check(item, scope.inside(False, where), f"{where}[{i}]")
            return out.encode(value, where)
        return [
            self.of.write(item, out, scope.inside(False, where), f"{where}[{i}]")
            for i, item in enumerate(value)
        ]

    def read(self, stored: Any, source: Any, scope: Scope, where: str) -> Any:
        if isinstance(stored, dict) and isinstance(self.of, Array):
            value = source.decode(stored)
            require(type(value) is self.kind, where, f"is no {self.kind.__name__}")
            for i, item in enumerate(value):
                self.of.check(item, scope.inside(False, where), f"{where}[{i}]")
        else:
            require(isinstance(stored, list), where, "is no list")
            value = self.kind(
                self.of.read(item, source, scope.inside(False, where), f"{where}[{i}]")
                for i, item in enumerate(stored)
            )
        self._count(value, scope, where)
        return value

    def _count(self, value: Any, scope: Scope, where: str) -> None:
        if self.side:
            scope.agree(self.side, len(value), where)

    def words(self) -> str:
        return f"list{f' ({self.side})' if self.side else ''} of: {self.of.words()}"


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

    def words(self) -> str:
        return "list of " + ", then ".join(each.words() for each in self.fields)


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

    def words(self) -> str:
        return f"by {'number' if self.numbered else 'name'}: {self.of.words()}"
