"""Texts for people, in English and Spanish: where the language is set, and how a text is said.

A text is written in English where it is needed, and `say` gives it in the language of the moment;
`es.po` holds the same texts in Spanish. Nothing in the package decides by what a text says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from functools import cache, lru_cache
from importlib import resources
from os import environ
from string import Formatter
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from cotas.refusals import ParameterError

LANGUAGES = ("en", "es")
# The variable of the environment that says which language is spoken where none is set.
SETTING = "COTAS_LANG"
T = TypeVar("T")
FIELD = re.compile(r"\{(\w+)(!r)?[^}]*\}")

JOINED = re.compile(r"\{text\d+\}(.{0,2}\{text\d+\})*")

_current: ContextVar[str] = ContextVar(
    "language", default=environ[SETTING] if environ.get(SETTING) in LANGUAGES else "en"
)


class lang:
    """The language of everything that is said: certificates, warnings, plots, reports, the command
    line.

    It lasts as long as the context (the thread or the asynchronous task), or as the block that
    follows `with`. Errors of wrong arguments stay in English in Python, and the command line says
    them in its language. Where no language was set it is the one that the variable COTAS_LANG of
    the environment had when cotas was imported, or English.

    Parameters
    ----------
    language : {"en", "es"}
        English or Spanish.

    Examples
    --------
    >>> import cotas
    >>> with cotas.lang("es"):
    ...     print(cotas.hold_out_bound(3, 100).statement)
    Con un 95% de confianza, el error en filas futuras es a lo sumo 0.07572; aquí 3 de 100 filas \
están mal predichas.
    """

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            words = f"lang must be 'en' (English) or 'es' (Spanish), not {language!r}."
            raise ParameterError("lang", words)
        self._language = language
        self._token: Token[str] | None = _current.set(language)

    def __enter__(self) -> Self:
        if self._token is None:  # a second time
            self._token = _current.set(self._language)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)
            self._token = None


def current() -> str:
    """Return the language of the moment."""
    return _current.get()


class Said(str):
    """A text with its values, in the language in which it was said; `again` says it in another.

    Attributes
    ----------
    text : the English text, with {names} where the values go
    values : each value as it is written, which may be a text itself
    """

    __slots__ = ("language", "text", "values")
    language: str
    text: str
    values: Mapping[str, str]

    def __new__(cls, text: str, values: Mapping[str, str]) -> Self:
        """Fill in the values, which are written already."""
        said = super().__new__(cls, _filled(_in_current(text), values))
        said.language, said.text, said.values = _current.get(), text, values
        return said

    def again(self) -> Said:
        """Return the same in the language of the moment."""
        if self.language == _current.get():
            return self
        return Said(self.text, {name: again(value) for name, value in self.values.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return Said, (self.text, dict(self.values))


def say(text: str, /, **values: object) -> str:
    """Return a text of the catalogue in the language of the moment.

    >>> with lang("es"):
    ...     say("best: λ = {value:.3g}", value=0.25)
    'mejor: λ = 0.25'
    """
    if not values:
        return _alone(text, _current.get())  # it may be a name with braces
    written: dict[str, str] = {}
    for name, form in _fields(text):
        value = values[name]
        written[name] = value.again() if isinstance(value, Said) else format(value, form)
    return Said(text, written)


def knows(text: str, values: Mapping[str, str]) -> bool:
    """Tell whether it is a text of the catalogue, or joins others, and these are its values."""
    names = [name for name, _ in FIELD.findall(text)]
    joins = JOINED.fullmatch(text) and len(set(names)) == len(names)
    return set(names) == set(values) and (text in spanish() or bool(joins))


def again(text: str) -> str:
    """Say a text in the language of the moment; what is no text of the catalogue stays as it is."""
    return text.again() if isinstance(text, Said) else text


def english(text: T) -> T:
    """Return a text in English, as files keep it and proofs compare it; anything else as it is."""
    if not isinstance(text, Said):
        return text
    values = {name: english(value) for name, value in text.values.items()}
    return _filled(text.text, values)  # type: ignore[return-value]


def in_one(texts: Sequence[str], between: str = " ") -> str:
    """Return several texts in one."""
    names = [f"text{k}" for k in range(len(texts))]
    return Said(
        between.join(f"{{{name}}}" for name in names),
        dict(zip(names, map(again, texts), strict=True)),
    )


class Spoken(Generic[T]):
    """An attribute of a dataclass that holds a text, or a tuple of texts, in today's language.

    It may be given a function that makes the text, which is called when the text is first read.
    """

    def __init__(self, default: Any = None) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Any: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            if self.default is None:
                raise AttributeError(self.name)  # there is no default
            return self.default
        held = instance.__dict__[self.name]
        if callable(held):
            held = instance.__dict__[self.name] = held()
        return tuple(map(spoken, held)) if isinstance(held, tuple) else spoken(held)

    def __set__(self, instance: object, value: T | Callable[[], T]) -> None:
        instance.__dict__[self.name] = value


def spoken(text: str) -> str:
    """Return a text in the language of the moment; a plain one has no values, and was not said
    before."""
    return say(text) if type(text) is str else again(text)


@lru_cache(maxsize=256)
def _alone(text: str, language: str) -> Said:
    """Return a text without values in the language of the moment, of which most are said in every
    fit."""
    return Said(text, {})


@cache
def _fields(text: str) -> list[tuple[str, str]]:
    """Return the name and the format of each value in a text."""
    return [(name, form or "") for _, name, form, _ in Formatter().parse(text) if name]


def _in_current(text: str) -> str:
    if _current.get() == "en":
        return text
    return spanish().get(text, text)


@cache
def spanish() -> dict[str, str]:
    """Return every text in Spanish, by its English: the entries of `es.po`."""
    found: dict[str, str] = {}
    english = ""
    for line in resources.files(__name__).joinpath("es.po").read_text("utf-8").splitlines():
        word, _, text = line.partition(" ")
        if word == "msgid":
            english = json.loads(text)
        elif word == "msgstr" and english:  # the header has an empty one
            found[english] = json.loads(text)
    return found


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its values; {name!r} quotes one."""
    if not values:
        return text
    return FIELD.sub(lambda f: repr(str(values[f[1]])) if f[2] else values[f[1]], text)
