"""What typer says of a call that it does not understand, in the language of the moment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer

from cotas.files.names import meant
from cotas.words import say

# The sentences of typer, of click and of pydantic, which they ask, and those of the library on
# parameters, which it says in English. The first that fits is said, so longer ones come first.
SENTENCES = (
    "--{option}: {words}",
    "{name} must be {means}, not {value}.",
    "{name} must be {means}: {value}.",
    "a finite number above zero",
    "a finite number, zero or above",
    "a finite number",
    "a whole number above zero",
    "a whole number or None",
    "a number from zero to one",
    "above zero and below one",
    "above zero and at most one",
    "one of {known}",
    "n_jobs must not be 0: give a number of threads, -1 or None for all.",
    "Give lam or C, not both: λ = 1/(C · sum of the weights).",
    "Missing command.",
    "Missing argument {name}. {more}",
    "Missing argument {name}.",
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
WITHIN = {"words", "more", "kind", "means"}
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
    """A sentence of typer in the language of the moment; one that is not known as it is."""
    for sentence, pattern in _PATTERNS.items():
        found = pattern.fullmatch(message)
        if found is not None:
            parts = found.groupdict()
            for name in WITHIN & parts.keys():
                parts[name] = in_words(parts[name])
            return say(sentence, **parts)
    return message


def command_meant(name: str, known: Sequence[str]) -> str:
    """A sentence with the command that may have been meant, or nothing."""
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
