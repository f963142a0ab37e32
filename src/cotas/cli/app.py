"""All commands under one name, each loaded when it is called; their help and errors of use."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from os import environ
from typing import Annotated, Any

import typer
import typer.core
from typer.core import TyperCommand, TyperGroup

import cotas
from cotas import words
from cotas.cli import MEANINGS, WRONG_USE, loading
from cotas.files.names import meant
from cotas.files.problems import on_the_command_line
from cotas.words import LANGUAGES, SETTING, Said, again, say

# The sentences of typer, of click and of pydantic, which they ask, and those of the library on
# parameters, which it says in English. The first that fits is said, so longer ones come first.
SENTENCES = (
    "--{option}: {words}",
    "{name} must be {means}, not {value}.",
    "{name} must be {means}: {value}.",
    "a finite number above zero",
    "a finite number, zero or above",
    "a finite number",
    "a number",
    "a whole number above zero",
    "a whole number or None",
    "a number from zero to one",
    "above zero and below one",
    "above zero and at most one",
    "one of {known}",
    "n_jobs must not be 0: give a number of threads, -1 or None for all.",
    "Give lam or C, not both: λ = 1/(C · sum of the weights).",
    "a kernel of cotas.kernels, such as RBF(0.5) or Custom(function), or one of {known}",
    "{name}={value} is not one of 'stump', 'tree' and 'linear', nor an estimator.",
    "Missing command.",
    "Missing argument '{place}'. {more}",
    "Missing argument '{place}'.",
    *("DATA", "MODEL", "PLACE"),
    "Missing option {name}. {more}",
    "Missing option {name}.",
    "Missing parameter: {name}",
    "No such option: {name} (Possible options: {names})",
    "No such option: {name} Did you mean {names}?",
    "No such option: {name}",
    "Invalid value for {name}: {words}",
    "Invalid value: {words}",
    "Got unexpected extra argument(s) ({names})",
    "Got unexpected extra argument ({names})",
    "Got unexpected extra arguments ({names})",
    "Option {name} does not take a value.",
    "Option {name} requires an argument.",
    "Option {name} requires {count} arguments.",
    "Argument {name} takes {count} values.",
    "Value must be an iterable.",
    "Value {value} is not a valid {type}.",
    "{value} is not a valid integer.",
    "{value} is not a valid integer range.",
    "{value} is not a valid float.",
    "{value} is not a valid boolean.",
    "{value} is not in the range {range}.",
    "Input should be a valid integer, unable to parse string as an integer",
    "Input should be a valid number, unable to parse string as a number",
    "Input should be a finite number",
    "Input should be a valid boolean, unable to interpret input",
    "Input should be a valid string",
    "Input should be greater than or equal to {least}",
    "Input should be less than or equal to {most}",
    "Unable to parse input string as an integer, exceeded maximum size",
    "{kind} {name} does not exist.",
    "{kind} {name} is a file.",
    "{kind} {name} is a directory.",
    "{kind} {name} is not readable.",
    "{kind} {name} is not writable.",
    *("File", "Directory", "Path"),
    "Could not open file {name}: {words}",
    "'{one}' or '{other}'",
)
# Where such a sentence or word stands; what stands in other places is what was typed.
WITHIN = {"words", "more", "kind", "means", "place"}
_PATTERNS = {
    sentence: re.compile(
        re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(sentence)), flags=re.DOTALL
    )
    for sentence in SENTENCES
}
# What people call a command that has another name, in both languages.
OTHER_NAMES = {
    **dict.fromkeys(("train", "learn", "entrenar", "ajustar", "aprender"), "fit"),
    **dict.fromkeys(("apply", "score", "predecir", "aplicar"), "predict"),
    **dict.fromkeys(("check", "prove", "test", "comprobar", "certificar", "verificar"), "certify"),
    **dict.fromkeys(("show", "describe", "inspect", "explicar", "mostrar"), "explain"),
    **dict.fromkeys(("versus", "comparar"), "compare"),
    **dict.fromkeys(("camino", "trayectoria"), "path"),
    **dict.fromkeys(("curves", "curva", "curvas"), "curve"),
    **dict.fromkeys(("report", "reporte", "informe"), "fit --report"),
    **dict.fromkeys(("onnx", "exportar"), "export"),
    **dict.fromkeys(("figures", "reproducir"), "reproduce"),
    **dict.fromkeys(("version", "doctor", "informacion", "información"), "info"),
}


def in_words(message: str) -> str:
    """Return a sentence of typer in the language of the moment; one that is not known as it is."""
    for sentence, pattern in _PATTERNS.items():
        found = pattern.fullmatch(message)
        # What a parameter must be is said whole in one language, or not at all.
        if found is not None and _is_known(found.groupdict().get("means")):
            parts = found.groupdict()
            for name in WITHIN & parts.keys():
                parts[name] = in_words(parts[name])
            return say(sentence, **parts)
    return message


def _is_known(part: str | None) -> bool:
    return part is None or any(pattern.fullmatch(part) for pattern in _PATTERNS.values())


def command_meant(name: str, known: Sequence[str]) -> str:
    """Return a sentence with the command that may have been meant, or nothing."""
    other = OTHER_NAMES.get(name.lower())
    return say(" Did you mean {name}?", name=other) if other else meant(name, known, most=1)


@contextmanager
def spoken() -> Iterator[None]:
    """Have an error of use show itself in the language of the moment."""
    try:
        yield
    except Exception as error:
        # An error that shows the help shows it well already; it has no words of its own.
        if hasattr(error, "format_message") and type(error).__name__ != "NoArgsIsHelpError":
            error.show = partial(_show, error)  # type: ignore[attr-defined]
        raise


def _show(error: Any, file: Any = None) -> None:
    context = getattr(error, "ctx", None)
    if context is not None:
        typer.echo(context.get_usage(), file=file, err=True)
        command = f"{context.command_path} {context.help_option_names[0]}"
        typer.echo(say("Try '{command}' for help.", command=command) + "\n", file=file, err=True)
    typer.echo(f"{say('Error')}: {in_words(error.format_message())}", file=file, err=True)


# ---- help --------------------------------------------------------------------------------------

# The words of typer itself that we know in Spanish.
OF_TYPER = (
    *("Arguments", "Options", "Commands", "required", "default: {default}"),
    *("No such command {name!r}.", "[OPTIONS]", "COMMAND [ARGS]...", "Aborted!"),
    *("<float>", "<int>", "<int range>", "<str>", "<path>", "<list[str]>"),
    "Show this message and exit.",
)
# It asks gettext for them, which would need files of its own.
setattr(typer.core, "_", say)  # noqa: B010


def language_of(arguments: Sequence[str]) -> str:
    """Find the language that the arguments of a call ask for, wherever they do, or the
    environment."""
    asked = environ.get(SETTING) or "en"
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == "--lang":
            asked = following
        elif word.startswith("--lang="):
            asked = word.removeprefix("--lang=")
    return asked if asked in LANGUAGES else "en"


class _Spoken:
    """A command that says its help in the language of the moment."""

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


class SpokenCommand(_Spoken, TyperCommand):
    """A command whose help knows both languages."""


class SpokenGroup(_Spoken, TyperGroup):
    """The commands under one name, whose help knows both languages."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run a command; help and errors of use are said in the language asked for."""
        asked = language_of(sys.argv[1:] if args is None else args)
        with words.lang(asked), on_the_command_line():
            return super().main(args, *rest, **options)

    def make_context(self, *parts: Any, **options: Any) -> Any:
        with spoken():
            return super().make_context(*parts, **options)

    def invoke(self, ctx: Any) -> Any:
        with spoken():
            return super().invoke(ctx)


def _called(name: str) -> str:
    """Return an option with what it takes, such as <float>, or an argument."""
    argument, space, rest = name.partition(" ")
    first = _said(argument) if argument.isupper() or argument.endswith("…") else argument
    return re.sub(r"<[^<>]+>", lambda kind: _said(kind[0]), f"{first}{space}{rest}")


def _piece(text: str) -> str:
    """Return a piece of a line of usage: a name, which may be in brackets and may be repeated."""
    found = re.fullmatch(r"([\[{]*)(.*?)([\]}]*(?:\.\.\.)?)", text)
    whole = _said(text)
    if found is None or whole != text:
        return whole
    return f"{found[1]}{_said(found[2])}{found[3]}"


def _said(text: str) -> str:
    """Return a text in the language of the moment, whether it was said before or not."""
    return again(text) if isinstance(text, Said) else say(inspect.cleandoc(text))


# The module and function of each command, and the first line of its help: with these at hand
# `cotas --help` loads none of them.
COMMANDS = {
    "fit": ("fit:fit", "Train a model on a table, and say what is proved about it."),
    "predict": (
        "predict:predict",
        "Predict every row of a table, in its order and without reading it all at once.",
    ),
    "certify": (
        "certify:certify",
        "Prove a saved model again from its data, trusting nothing that the file says.",
    ),
    "explain": (
        "explain:explain",
        "Say what a saved model has learned, and what is proved about it.",
    ),
    "compare": (
        "along:compare",
        "Train all suitable models side by side: time, gap, error and its bound.",
    ),
    "path": (
        "along:path",
        "Solve for many λ: support vector machines for classes, the Lasso for numbers.",
    ),
    "curve": (
        "along:curve",
        "Training and validation loss against c = 1/(λn), and where under- and overfitting begin.",
    ),
    "separable": (
        "along:separable",
        "Is there a hyperplane between two classes? The answer is proved, yes or no.",
    ),
    "export": ("explain:export", "Write a model for other programs, as ONNX."),
    "clean": ("info:clean", "Remove the pages that were made of tables too large for memory."),
    "lab": ("lab:lab", "Open the lab in a browser: move points, take steps, see the proof follow."),
    "reproduce": (
        "info:reproduce",
        "Compute the figures of the source documents anew and save them as PNG, SVG or PDF.",
    ),
    "bench": ("info:bench", "Measure speed against other libraries; needs the source tree."),
    "warmup": (
        "info:warmup",
        "Compile the loops ahead, so that the first fit does not wait for them.",
    ),
    "info": (
        "info:info",
        "Versions, what is installed, where compiled code is kept, and what the names are.",
    ),
}


class Commands(SpokenGroup):
    """The group of commands by name, which loads the one that is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["cotas.json"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; programs that asked for JSON get it even when the call could not be
        understood."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if ctx.meta["cotas.json"] and hasattr(error, "format_message"):
                from cotas.cli.session import Session

                session = Session(ctx.invoked_subcommand or "", json=True)
                said = in_words(error.format_message())
                session.document({"error": said, "exit_code": WRONG_USE})
                session.close()
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; the error for a name that there is not names the command that may have
        been meant."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            if hasattr(error, "message"):
                error.message += command_meant(args[0], list(COMMANDS))
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        with loading():
            from cotas.cli.command import as_command

            return as_command(cmd_name, getattr(import_module(f"cotas.cli.{module}"), function))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section(say("Commands")):
            formatter.write_dl([(name, say(words)) for name, (_, words) in COMMANDS.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        codes = "; ".join(f"{code} {say(words)}" for code, words in MEANINGS.items())
        self.epilog = say("Exit codes: {codes}.", codes=codes)
        super().format_epilog(ctx, formatter)


app = typer.Typer(
    name="cotas",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"cotas {cotas.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    lang: Annotated[str, typer.Option("--lang", help="en or es, for any command.")] = "",
) -> None:
    """Supervised learning where every fit says how far it is from the best, and proves it."""
    context.meta["cotas.lang"] = lang
