"""All commands under one name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

import cotas
from cotas.cli.along import curve, path
from cotas.cli.certify import certify
from cotas.cli.command import add
from cotas.cli.compare import compare
from cotas.cli.exits import MEANINGS
from cotas.cli.explain import explain
from cotas.cli.export import export
from cotas.cli.fit import fit
from cotas.cli.house import bench, info, reproduce, warmup
from cotas.cli.predict import predict
from cotas.cli.separable import separable

app = typer.Typer(
    name="cotas",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: " + "; ".join(f"{code} {words}" for code, words in MEANINGS.items()) + ".",
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"cotas {cotas.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Supervised learning where every fit says how far it is from the best, and proves it."""


_COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fit,
    "predict": predict,
    "certify": certify,
    "explain": explain,
    "compare": compare,
    "path": path,
    "curve": curve,
    "separable": separable,
    "export": export,
    "reproduce": reproduce,
    "bench": bench,
    "warmup": warmup,
    "info": info,
}

for _name, _function in _COMMANDS.items():
    add(app, _name, _function)


def run() -> None:
    """Run the command line of this process."""
    try:
        app(prog_name="cotas")
    except BrokenPipeError:
        # Whoever read the output went away; Python would complain once more when it closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
