"""How a command is declared: what all of them share is written here once."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from os import environ
from typing import Annotated, Any, get_type_hints

import typer

from cotas import words
from cotas.cli.exits import UsageError, guarded
from cotas.cli.session import Session
from cotas.cli.usage import SpokenCommand
from cotas.files.asking import on_the_command_line
from cotas.words import LANGUAGES, SETTING, say

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print no summary and no notes: only data, JSON and errors."
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error happened.")]

Lang = Annotated[str, typer.Option("--lang", help="en or es; if not given, what COTAS_LANG says.")]

_SHARED = {"json_": Json, "quiet": Quiet, "debug": Debug}


def as_command(name: str, function: Callable[..., None]) -> Any:
    """A command of typer from a function of a Session and its options."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    groups = {p.name: hints[p.name] for p in own if is_dataclass(hints[p.name])}
    parameters = [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own
        if parameter.name not in groups
    ]
    for group in groups.values():
        parameters += _options_of(group)
    parameters += [
        inspect.Parameter(
            shared, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation
        )
        for shared, annotation in _SHARED.items()
    ]

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters += [
        inspect.Parameter("lang", kind, default="", annotation=Lang),
        inspect.Parameter("context", kind, annotation=typer.Context),
    ]

    def run(**values: Any) -> None:
        json_, quiet, debug = (values.pop(shared) for shared in _SHARED)
        context = values.pop("context")
        before = context.meta.get("cotas.lang")
        names = tuple(values)
        given = {p.name: p.opts[0] for p in context.command.params if _was_typed(context, p.name)}
        for parameter, group in groups.items():
            options = {field.name: values.pop(field.name) for field in fields(group)}
            values[parameter] = group(**options)
        lang = values.pop("lang") or before or environ.get(SETTING) or "en"
        session = Session(name, json=json_, quiet=quiet, debug=debug, given=given)
        known = lang in LANGUAGES
        spoken, asking = words.lang(lang if known else "en"), on_the_command_line()
        with spoken, asking, guarded(session), _options_blamed(names), _warnings_said(session):
            if not known:
                raise UsageError(
                    "--lang is en or es, and so is COTAS_LANG; not {lang!r}.", lang=lang
                )
            function(session, **values)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name, cls=SpokenCommand)(run)
    return typer.main.get_command(alone)


def _was_typed(context: Any, name: str) -> bool:
    """Whether an option was given, and is not there by default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@contextmanager
def _options_blamed(names: Collection[str]) -> Iterator[None]:
    """A parameter that the library refuses is wrong use of the option of that name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        name = str(getattr(error, "parameter", ""))
        if name not in names:
            raise
        raise UsageError(f"--{name.replace('_', '-')}: {error}") from error


@contextmanager
def _warnings_said(session: Session) -> Iterator[None]:
    """What is warned of on the way is a note of the command, in one line."""

    def note(message: Any, *_: Any) -> None:
        session.note(f"{say('Warning')}: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.showwarning = note  # type: ignore[assignment]
        yield


def _options_of(group: Any) -> list[inspect.Parameter]:
    """An option for each field of a dataclass, which several commands share."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
