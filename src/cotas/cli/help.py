"""What `--help` shows, in the language of the moment."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from os import environ
from typing import Any

import typer.core
from typer.core import TyperCommand, TyperGroup

from cotas import words
from cotas.cli.usage import spoken
from cotas.words import LANGUAGES, SETTING, Said, again, say

# The words of typer itself that we know in Spanish.
OF_TYPER = (
    *("Arguments", "Options", "Commands", "required", "default: {default}"),
    *("No such command {name!r}.", "[OPTIONS]", "COMMAND [ARGS]...", "Aborted!"),
    *("<float>", "<int>", "<int range>", "<str>", "<path>", "<list[str]>"),
)
# It asks gettext for them, which would need files of its own.
setattr(typer.core, "_", say)  # noqa: B010


def language_of(arguments: Sequence[str]) -> str:
    """The language that the arguments of a call ask for, wherever they do, or the environment."""
    asked = environ.get(SETTING) or "en"
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == "--lang":
            asked = following
        elif word.startswith("--lang="):
            asked = word.removeprefix("--lang=")
    return asked if asked in LANGUAGES else "en"


class _Spoken:
    """Says its help in the language of the moment."""

    def format_help(self: Any, ctx: Any, formatter: Any) -> None:
        for part in (self, *self.get_params(ctx)):
            if getattr(part, "help", None):
                part.help = _said(part.help)
        write = formatter.write_dl
        formatter.write_dl = lambda rows, *more, **options: write(
            [(_called(name), words) for name, words in rows], *more, **options
        )
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def format_usage(self: Any, ctx: Any, formatter: Any) -> None:
        pieces = " ".join(map(_piece, self.collect_usage_pieces(ctx)))
        formatter.write_usage(ctx.command_path, pieces, prefix=f"{say('Usage')}: ")

    def get_help_option(self: Any, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.help = say("Show this message and exit.")
        return option


class SpokenCommand(_Spoken, TyperCommand):
    """A command whose help knows both languages."""


class SpokenGroup(_Spoken, TyperGroup):
    """The commands under one name, whose help knows both languages."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run a command; help and errors of use are said in the language asked for."""
        with words.lang(language_of(sys.argv[1:] if args is None else args)):
            return super().main(args, *rest, **options)

    def make_context(self, *parts: Any, **options: Any) -> Any:
        with spoken():
            return super().make_context(*parts, **options)

    def invoke(self, ctx: Any) -> Any:
        with spoken():
            return super().invoke(ctx)


def _called(name: str) -> str:
    """An option with what it takes, such as <float>, or an argument."""
    argument, space, rest = name.partition(" ")
    first = _said(argument) if argument.isupper() or argument.endswith("…") else argument
    return re.sub(r"<[^<>]+>", lambda kind: _said(kind[0]), f"{first}{space}{rest}")


def _piece(text: str) -> str:
    """A piece of a line of usage: a name, which may be in brackets and may be repeated."""
    found = re.fullmatch(r"([\[{]*)(.*?)([\]}]*(?:\.\.\.)?)", text)
    whole = _said(text)
    if found is None or whole != text:
        return whole
    return f"{found[1]}{_said(found[2])}{found[3]}"


def _said(text: str) -> str:
    """A text in the language of the moment, whether it was said before or not."""
    return again(text) if isinstance(text, Said) else say(inspect.cleandoc(text))
