"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet, Arrow, LibSVM or .npz, also .gz or .zst; - is standard input; "
        "builtin:houses, builtin:breast-cancer and others are built in.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="The column to predict, by name or number (-1 is the last)."
    ),
]
Task = Annotated[str, typer.Option(help="classification, regression or auto.")]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", help="Leave this column out; may be repeated.")
]
HoldOut = Annotated[
    float, typer.Option("--hold-out", help="The share of the rows to set aside; 0 for none.")
]
Seed = Annotated[int, typer.Option(min=0, help="For everything that is drawn at random.")]
Lang = Annotated[str, typer.Option(help="en or es.")]
Separator = Annotated[
    str | None, typer.Option(help="Between the cells of a text table, if it is not recognized.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line of a text table is names."),
]
