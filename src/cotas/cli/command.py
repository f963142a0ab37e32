"""How a command is declared and how it ends: what all of them share is written here once."""

from __future__ import annotations

import contextlib
import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from os import environ
from typing import Annotated, Any, get_type_hints

import typer

from cotas.cli import (
    BAD_DATA,
    BAD_MODEL,
    INTERRUPTED,
    NOT_INSTALLED,
    NOT_WRITTEN,
    PROOF_FAILED,
    UNEXPECTED,
    WRONG_USE,
)
from cotas.cli.app import SpokenCommand, in_words
from cotas.cli.session import NotWrittenError, PipeClosedError, Session
from cotas.files.problems import DataFileError, ModelFileError, UnusedWishError
from cotas.words import LANGUAGES, SETTING, Said, say


class SpokenError(Exception):
    """An error that is said to the user: a text of the catalogue, and what it has in braces."""

    def __init__(self, message: str, /, **values: object) -> None:
        super().__init__(message if isinstance(message, Said) else say(message, **values))


class UsageError(SpokenError):
    """The call makes no sense, in words for the user."""


class ProofFailedError(SpokenError):
    """A proof that failed; everything about it has been said already."""


class InterruptedEarlyError(SpokenError):
    """Ctrl-C ended the work early, and the best so far was kept."""


OF_MODELS = {
    "cotas.linear.hard_margin": "NotSeparableError",
    "cotas.regression.task": "DivergedError",
}


def code_of(error: BaseException) -> int:
    """Return the exit code for an error."""
    kinds: tuple[tuple[type[BaseException], int], ...] = (
        (UsageError, WRONG_USE),
        (UnusedWishError, WRONG_USE),
        (ProofFailedError, PROOF_FAILED),
        (InterruptedEarlyError, INTERRUPTED),
        (ModelFileError, BAD_MODEL),
        (ImportError, NOT_INSTALLED),
        (KeyboardInterrupt, INTERRUPTED),
        (NotWrittenError, NOT_WRITTEN),
        (DataFileError, BAD_DATA),
        (OSError, BAD_DATA),
        (MemoryError, BAD_DATA),
    )
    # A model raised it only if its module is loaded.
    loaded = [(sys.modules[m], name) for m, name in OF_MODELS.items() if m in sys.modules]
    kinds += tuple((getattr(module, name), BAD_DATA) for module, name in loaded)
    return next((code for kind, code in kinds if isinstance(error, kind)), UNEXPECTED)


@contextmanager
def guarded(session: Session) -> Iterator[None]:
    """Let no traceback reach the user, except with --debug."""
    try:
        yield
        session.close()
    except (typer.Exit, typer.Abort, typer.BadParameter, PipeClosedError):
        raise
    except (Exception, KeyboardInterrupt) as error:
        code = code_of(error)
        if session.debug:
            traceback.print_exc()
        session.failed(_in_words(error, code), code)
        with contextlib.suppress(NotWrittenError):  # which is what was said, if it happens again
            session.close()
        raise typer.Exit(code) from None


def _in_words(error: BaseException, code: int) -> str:
    if isinstance(error, KeyboardInterrupt):
        return say("interrupted.")
    if isinstance(error, MemoryError):
        return say("there is not enough memory for this.")
    words = " ".join(str(error).split()) or type(error).__name__
    if code == UNEXPECTED:
        return say(
            "unexpected {name}: {words} (--debug shows where it happened)",
            name=type(error).__name__,
            words=words,
        )
    return in_words(words) if code == WRONG_USE else words


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


def _option(name: str, annotation: Any, default: object = inspect.Parameter.empty) -> Any:
    """Return an option of a command."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def as_command(name: str, function: Callable[..., None]) -> Any:
    """Return a command of typer from a function of a Session and its options."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    groups = {p.name: hints[p.name] for p in own if is_dataclass(hints[p.name])}
    parameters = [_option(p.name, hints[p.name], p.default) for p in own if p.name not in groups]
    for group in groups.values():  # several commands share the fields of a dataclass
        declared = get_type_hints(group, include_extras=True)
        parameters += [_option(f.name, declared[f.name], f.default) for f in fields(group)]
    parameters += [_option(name, annotation, False) for name, annotation in _SHARED.items()]
    parameters += [_option("lang", Lang, ""), _option("context", typer.Context)]

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
        with guarded(session), _options_blamed(names), _warnings_said(session):
            if lang not in LANGUAGES:
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
    """Tell whether an option was given, and is not there by default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@contextmanager
def _options_blamed(names: Collection[str]) -> Iterator[None]:
    """Blame the option of that name for a parameter that the library refuses."""
    try:
        yield
    except (TypeError, ValueError) as error:
        name = str(getattr(error, "parameter", ""))
        if name not in names:
            raise
        raise UsageError(f"--{name.replace('_', '-')}: {error}") from error


@contextmanager
def _warnings_said(session: Session) -> Iterator[None]:
    """Make what is warned of on the way a note of the command, in one line."""

    def note(message: Any, *_: Any) -> None:
        session.note(f"{say('Warning')}: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.showwarning = note  # type: ignore[assignment]
        yield
