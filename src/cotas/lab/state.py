"""The state of a room: what can be set, and how a link holds it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol
from urllib.parse import urlencode

import numpy as np

import cotas


@dataclass(frozen=True)
class Call:
    """What makes an object of the library, such as an estimator, a kernel or a stopping rule.

    >>> call = Call("KernelSVM", {"kernel": Call("kernels.RBF", {"sigma": 0.5}), "lam": 0.1})
    >>> str(call)
    'cotas.KernelSVM(kernel=cotas.kernels.RBF(sigma=0.5), lam=0.1)'
    >>> call.make().lam
    0.1
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def make(self, **others: Any) -> Any:
        """The object itself, with other arguments besides."""
        given = {
            name: value.make() if isinstance(value, Call) else value
            for name, value in self.arguments.items()
        }
        return attrgetter(self.name)(cotas)(**given, **others)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_written(value)}" for name, value in self.arguments.items())
        return f"cotas.{self.name}({given})"


def _written(value: Any) -> str:
    return str(value) if isinstance(value, Call) else repr(value)


class Refused(Exception):
    """What a visitor cannot have, by a key of the words and the values in it."""

    def __init__(self, key: str, **values: Any) -> None:
        super().__init__(key)
        self.key, self.values = key, values


class Setting(Protocol):
    """One thing that can be set, with its name in the link."""

    @property
    def name(self) -> str: ...

    @property
    def default(self) -> Any: ...

    def read(self, word: str) -> Any:
        """The value that a link writes so; refuse what is none."""
        ...

    def write(self, value: Any) -> str:
        """The value as a link has it."""
        ...


@dataclass(frozen=True)
class Menu:
    """One of several words."""

    name: str
    options: tuple[str, ...]
    default: str

    def read(self, word: str) -> str:
        if word not in self.options:
            raise Refused("bad link", name=self.name, value=_shown(word))
        return word

    def write(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class Slider:
    """One of several numbers in rising order, which a slider goes through."""

    name: str
    grid: tuple[float, ...]
    default: float

    def read(self, word: str) -> float:
        """The nearest number of the grid, for one that lies within it."""
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not self.grid[0] <= value <= self.grid[-1]:
            raise Refused("bad link", name=self.name, value=_shown(word))
        return self.grid[int(np.argmin(np.abs(np.array(self.grid) - value)))]

    def write(self, value: float) -> str:
        return f"{value:g}"


def read_link(
    fields: Iterable[Setting], query: Mapping[str, str]
) -> tuple[dict[str, Any], list[Refused]]:
    """The state that a link holds, with the default for what it lacks, and what was refused."""
    known = {field.name: field for field in fields}
    values, problems = {name: field.default for name, field in known.items()}, []
    for name, word in query.items():
        if name not in known:
            problems.append(Refused("bad link", name=_shown(name), value=_shown(word)))
            continue
        try:
            values[name] = known[name].read(word)
        except Refused as problem:
            problems.append(problem)
    return values, problems


def write_link(fields: Iterable[Setting], values: Mapping[str, Any]) -> str:
    """The part of a link after the question mark: what differs from the defaults."""
    return urlencode(
        {
            field.name: field.write(values[field.name])
            for field in fields
            if values[field.name] != field.default
        }
    )


def decades(low: int, high: int, each: int = 4) -> tuple[float, ...]:
    """Numbers from 10^low to 10^high, so many in each decade, in three digits."""
    exponents = np.linspace(low, high, (high - low) * each + 1)
    return tuple(float(f"{10.0**e:.3g}") for e in exponents)


def _shown(word: str) -> str:
    """No more of a word than a message can hold."""
    return word if len(word) <= 40 else word[:40] + "…"
