"""All commands under one name, each loaded when it is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer

import cotas
from cotas.cli.codes import MEANINGS, NOT_WRITTEN, PIPE_CLOSED, WRONG_USE
from cotas.cli.loading import loading
from cotas.cli.streams import NotWrittenError, PipeClosedError, standard_streams
from cotas.cli.usage import SpokenGroup, command_meant, in_words
from cotas.words import say

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
        "compare:compare",
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
        "separable:separable",
        "Is there a hyperplane between two classes? The answer is proved, yes or no.",
    ),
    "export": ("export:export", "Write a model for other programs, as ONNX."),
    "clean": ("house:clean", "Remove the pages that were made of tables too large for memory."),
    "lab": ("lab:lab", "Open the lab in a browser: move points, take steps, see the proof follow."),
    "reproduce": (
        "house:reproduce",
        "Compute the figures of the source documents anew and save them as PNG, SVG or PDF.",
    ),
    "bench": ("house:bench", "Measure speed against other libraries; needs the source tree."),
    "warmup": (
        "house:warmup",
        "Compile the loops ahead, so that the first fit does not wait for them.",
    ),
    "info": (
        "info:info",
        "Versions, what is installed, where compiled code is kept, and what the names are.",
    ),
}


class Commands(SpokenGroup):
    """Knows the commands by name, and loads the one that is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["cotas.json"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Programs that asked for JSON get it even when the call could not be understood."""
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
        """An error for a name that there is not names the command that may have been meant."""
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


def run() -> None:
    """Run the command line of this process."""
    try:
        with standard_streams():
            try:
                app(prog_name="cotas")
            except SystemExit as ended:
                code = ended.code
    except PipeClosedError:
        code = PIPE_CLOSED
    except NotWrittenError as error:
        print(f"cotas: {error}", file=sys.stderr, flush=True)
        code = NOT_WRITTEN
    raise SystemExit(code)
