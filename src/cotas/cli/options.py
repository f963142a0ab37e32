"""Arguments and options that several commands share."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from cotas.cli.command import UsageError
from cotas.cli.session import Session
from cotas.fitting.parameters import check_positive
from cotas.words import say

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, JSON, Parquet, Arrow, Excel, SQLite (file.db::table), LibSVM or .npz, also in "
        ".gz, .zst or .zip; 'data-*.csv' for many files; - is standard input; builtin:houses, "
        "builtin:breast-cancer and others are built in.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="The column to predict, by name or number. Default: the last, or one called target.",
    ),
]
Task = Annotated[str, typer.Option(help="classification, regression or auto.")]
HoldOut = Annotated[
    float, typer.Option("--hold-out", help="The share of the rows to set aside; 0 for none.")
]
Group = Annotated[
    str | None,
    typer.Option("--group", help="Rows with the same value here are on one side of the split."),
]
EqualRows = Annotated[
    str,
    typer.Option(
        "--equal-rows",
        help="copies: rows that occur more than once are kept on one side, and future rows have no "
        "bound. independent: each is an observation of its own, equal by chance.",
    ),
]
Param = Annotated[
    list[str] | None, typer.Option("--param", "-p", help="Any other parameter: name=value.")
]
# The largest number that NumPy takes for a seed, and the most rows or values in one piece.
MOST_SEED, MOST = 2**32 - 1, 2**31 - 1
Seed = Annotated[
    int, typer.Option(min=0, max=MOST_SEED, help="For everything that is drawn at random.")
]


@dataclass(frozen=True)
class TextOptions:
    """Options of how a text table is written, where that is not to be guessed."""

    separator: Annotated[
        str | None, typer.Option(help="Between the cells of a text table, if it is not recognized.")
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first line of a text table is names."
        ),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Of a text table, such as latin-1, if it is not recognized.")
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", help="A word for a missing value; may be repeated."),
    ] = None
    not_missing: Annotated[
        list[str] | None,
        typer.Option(
            "--not-missing", help="A word that is a value, such as NA or None; may be repeated."
        ),
    ] = None
    max_columns: Annotated[
        int | None,
        typer.Option(
            "--max-columns",
            min=1,
            max=MOST,
            help="Refuse a table with more; 100,000, and 10,000,000 for LibSVM and .npz.",
        ),
    ] = None
    max_memory: Annotated[
        float | None,
        typer.Option("--max-memory", help="Refuse a table that takes more GiB; what there is."),
    ] = None

    def reading(self) -> dict[str, Any]:
        """Return the arguments for who reads the table."""
        return {
            "separator": self.separator,
            "header": self.header,
            "encoding": self.encoding,
            "missing": tuple(self.missing or ()),
            "not_missing": tuple(self.not_missing or ()),
            "max_columns": self.max_columns,
            "max_memory": self._bytes(),
        }

    def knowing(self, missing: Iterable[str], not_missing: Iterable[str]) -> Self:
        """Return the same, with the words that a model was trained with, where nothing else is
        said."""
        more = [word for word in missing if word not in (self.not_missing or ())]
        less = [word for word in not_missing if word not in (self.missing or ())]
        return replace(
            self,
            missing=[*(self.missing or ()), *more],
            not_missing=[*(self.not_missing or ()), *less],
        )

    def _bytes(self) -> int | None:
        if self.max_memory is None:
            return None
        check_positive(self.max_memory, "max_memory")
        return int(self.max_memory * 2**30)


@dataclass(frozen=True)
class ColumnOptions(TextOptions):
    """Options of which columns and rows of a table are used, and as what."""

    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="Leave these columns out: a,b.")
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Use these columns though they look like identifiers or text."),
    ] = None
    category: Annotated[
        list[str] | None,
        typer.Option("--category", help="Take these columns as categories, not as numbers."),
    ] = None
    unix_seconds: Annotated[
        list[str] | None,
        typer.Option("--unix-seconds", help="These columns count the seconds since 1970."),
    ] = None
    rows_without_target: Annotated[
        str, typer.Option("--rows-without-target", help="drop or error.")
    ] = "drop"
    strict_columns: Annotated[
        bool,
        typer.Option(
            "--strict-columns", help="Refuse columns that would be left out, naming all of them."
        ),
    ] = False


NO_WISHES = ColumnOptions()


ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="svm, kernel-svm, perceptron, averaged-perceptron, passive-aggressive, pegasos, "
        "adaboost, real-adaboost, logitboost, gentleboost, …; ridge, least-squares, lasso, "
        "elastic-net, kernel-ridge, kernel-svr, ls-boost, forward-stagewise, …; or auto. "
        "Default: svm or ridge, by the task.",
    ),
]


@dataclass(frozen=True)
class FitOptions:
    """Options of what is trained, how it is judged, and where it goes."""

    model: ModelName = None
    task: Task = "auto"
    lam: Annotated[float | None, typer.Option(help="λ, the weight of the penalty.")] = None
    tol: Annotated[float | None, typer.Option(help="The relative gap to prove.")] = None
    select: Annotated[
        str | None, typer.Option(help="Choose this parameter by validation: lam, n_estimators, …")
    ] = None
    param: Param = None
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the model here.")] = None
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None
    hold_out: HoldOut = 0.2
    group: Group = None
    equal_rows: EqualRows = "copies"
    confidence: Annotated[float, typer.Option(help="Of the bound for future rows.")] = 0.95
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="Learn probabilities from the scores, on folds of the rows."
        ),
    ] = False
    max_time: Annotated[float | None, typer.Option(help="Seconds for training.")] = None
    time: Annotated[float, typer.Option(help="Seconds for the choice of --model auto.")] = 60.0
    trials: Annotated[
        int | None, typer.Option(help="So many settings at most for --model auto.")
    ] = None
    single: Annotated[
        bool, typer.Option("--single", help="No blend of several models from --model auto.")
    ] = False
    memory: Annotated[
        str | None,
        typer.Option(
            help="A table that takes more, such as 2GB, is read from pages on disk. Default: what "
            "is free."
        ),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if the gap asked for was not proved.")
    ] = False
    seed: Seed = 0


# ---- what is refused before anything is read ----------------------------------------------------


def known_task(task: str) -> None:
    """Raise for a task that there is not."""
    if task not in ("auto", "classification", "regression"):
        raise UsageError("--task is classification, regression or auto, not {task!r}.", task=task)


def known_equal_rows(session: Session, equal_rows: str, group: str | None) -> None:
    """Raise for what equal rows cannot be, and where a column tells what belongs together."""
    if equal_rows not in ("copies", "independent"):
        words = "--equal-rows is copies or independent, not {equal_rows!r}."
        raise UsageError(words, equal_rows=equal_rows)
    if group is not None:
        refuse(session, ["equal_rows"], "is for tables without --group.")


def refuse(session: Session, names: Iterable[str], why: str) -> None:
    """Raise if one of these options was typed: it would change nothing.

    Parameters
    ----------
    session : Session
    names : as the function of the command calls them
    why : a text of the catalogue, to follow the name of the option
    """
    for name in names:
        if name in session.given:
            raise UsageError(f"{session.given[name]} {say(why)}")


def writable(path: Path | None, what: str, *read: str | Path) -> None:
    """Fail before hours of work, not after; and write over none of the files that are read."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise UsageError("{what} {path} is a folder; name a file.", what=what, path=path)
    if not path.parent.is_dir():
        raise UsageError(
            "{what} cannot be written: there is no folder {parent}.", what=what, parent=path.parent
        )
    if not os.access(path.parent, os.W_OK):
        raise UsageError(
            "{what} cannot be written: the folder {parent} is read-only.",
            what=what,
            parent=path.parent,
        )
    # Of people.db::visits the file is what stands before the colons.
    for other in (Path(name) for each in read for name in (each, str(each).rpartition("::")[0])):
        if path.exists() and other.exists() and path.samefile(other):
            raise UsageError(
                "{what} would write over {other}, which is read; name another file.",
                what=what,
                other=other,
            )


def parameters(pairs: Iterable[str], **options: float | None) -> dict[str, Any]:
    """Make parameters of `name=value` words and of options that were given."""
    found = {name: value for name, value in options.items() if value is not None}
    for pair in pairs:
        name, equals, word = pair.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError("--param takes name=value, such as lam=0.1, not {pair!r}.", pair=pair)
        if name in ("callbacks", "progress"):
            raise UsageError("{name} cannot be set from the command line.", name=name)
        if name in found:
            raise UsageError("{name} is given twice.", name=name)
        found[name] = literal(word)
    return found


def literal(word: str) -> Any:
    """Return what a word stands for, itself if it is nothing else."""
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(word.lower(), word)
