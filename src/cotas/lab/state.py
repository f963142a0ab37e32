"""The state of a room: what can be set, and how a link holds it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

import numpy as np

import cotas
from cotas.words import say


@dataclass(frozen=True)
class Call:
    """A call that makes an object of the library, such as an estimator, a kernel or a stopping
    rule.

    >>> call = Call("KernelSVM", {"kernel": Call("kernels.RBF", {"sigma": 0.5}), "lam": 0.1})
    >>> str(call)
    'cotas.KernelSVM(kernel=cotas.kernels.RBF(sigma=0.5), lam=0.1)'
    >>> call.make().lam
    0.1
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def make(self, **others: Any) -> Any:
        """Return the object itself, with other arguments besides."""
        given = {
            name: value.make() if isinstance(value, Call) else value
            for name, value in self.arguments.items()
        }
        return attrgetter(self.name)(cotas)(**given, **others)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_written(value)}" for name, value in self.arguments.items())
        return f"cotas.{self.name}({given})"


def _written(value: object) -> str:
    return str(value) if isinstance(value, Call) else repr(value)


class Refused(Exception):
    """An error for what a visitor cannot have: a text of the catalogue, and the values in it."""

    def __init__(self, text: str, **values: Any) -> None:
        super().__init__(text)
        self.text, self.values = text, values

    def __str__(self) -> str:
        return say(self.text, **self.values)


@dataclass(frozen=True)
class Setting:
    """One thing that can be set, with its name in the link."""

    name: str
    default: Any

    def read(self, word: str) -> Any:
        """Return the value that a link writes so; refuse what is none."""
        raise NotImplementedError

    def write(self, value: Any) -> str:
        """Return the value as a link has it."""
        return str(value)


@dataclass(frozen=True)
class Menu(Setting):
    """One of several words, under a label, each with what the page calls it."""

    label: str
    options: Mapping[str, str]

    def read(self, word: str) -> str:
        if word not in self.options:
            raise not_in_the_lab(self.name, word)
        return word


@dataclass(frozen=True)
class Slider(Setting):
    """One of several numbers in rising order, which a slider under a label goes through."""

    label: str
    grid: Sequence[float]

    def read(self, word: str) -> float:
        """Return the nearest number of the grid, for one that lies within it."""
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not self.grid[0] <= value <= self.grid[-1]:
            raise not_in_the_lab(self.name, word)
        return min(self.grid, key=lambda number: abs(number - value))

    def write(self, value: float) -> str:
        return f"{value:g}"


def read_link(
    fields: Iterable[Setting], query: Mapping[str, str]
) -> tuple[dict[str, Any], list[Refused]]:
    """Read the state that a link holds, with the default for what it lacks, and what was
    refused."""
    known = {field.name: field for field in fields}
    values, problems = {name: field.default for name, field in known.items()}, []
    for name, word in query.items():
        if name not in known:
            problems.append(not_in_the_lab(name, word))
            continue
        try:
            values[name] = known[name].read(word)
        except Refused as problem:
            problems.append(problem)
    return values, problems


def write_link(fields: Iterable[Setting], values: Mapping[str, Any]) -> str:
    """Return the part of a link after the question mark: what differs from the defaults."""
    return urlencode(
        {
            field.name: field.write(values[field.name])
            for field in fields
            if values[field.name] != field.default
        }
    )


def decades(low: int, high: int, each: int = 4) -> tuple[float, ...]:
    """Return numbers from 10^low to 10^high, so many in each decade, in three digits."""
    exponents = np.linspace(low, high, (high - low) * each + 1)
    return tuple(float(f"{10.0**e:.3g}") for e in exponents)


def not_in_the_lab(name: str, word: str) -> Refused:
    """Return what is said of a word of a link that there is not, or of no more of it than fits."""
    name, value = (each if len(each) <= 40 else each[:40] + "…" for each in (name, word))
    return Refused(
        "The link asks for {name} = {value}, which there is not; the default is taken.",
        name=name,
        value=value,
    )
