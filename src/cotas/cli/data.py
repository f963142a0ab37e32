"""From the name of a data set to a table with its target."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.cli.command import UsageError
from cotas.cli.models import task_of
from cotas.cli.options import Columns, TextOptions, known_task, writable
from cotas.cli.session import writing
from cotas.datasets import HOUSE_COLUMNS, houses
from cotas.files.atomic import replacing
from cotas.files.dates import SOME_CELLS, tell_form, without_odd_cells
from cotas.files.frames import is_text, polars
from cotas.files.names import names_among
from cotas.files.problems import DataFileError, Remark, remark
from cotas.files.table import Table
from cotas.files.tables import as_told, read_coded
from cotas.preparation.targets import as_target, tell_task
from cotas.words import in_one, say

if TYPE_CHECKING:
    from cotas.preparation.preparation import Preparation


def drawable(picture: Path | None, data: str) -> None:
    """Refuse a place that cannot be written, and an ending that no picture has."""
    if picture is None:
        return
    writable(picture, "--picture", data)
    from matplotlib.backend_bases import FigureCanvasBase

    if _ending(picture) not in FigureCanvasBase.filetypes:
        raise UsageError("--picture cannot be {ending}; name a .png.", ending=picture.suffix)


def save_picture(figure: Any, picture: Path) -> None:
    """Write a figure of matplotlib, whole or not at all."""
    with writing(picture), replacing(picture) as file:
        figure.savefig(file, format=_ending(picture), dpi=150, bbox_inches="tight")


def _ending(picture: Path) -> str:
    return picture.suffix.removeprefix(".").lower() or "png"


BUILTIN = {
    "houses": "price",
    "breast-cancer": "diagnosis",
    "iris": "species",
    "wine": "cultivar",
    "diabetes": "progression",
    "digits": "digit",
}


# Columns with these names are what is to be predicted, if nothing is said.
_TARGETS = ("target", "label", "class", "y", "outcome", "response", "objetivo", "clase", "etiqueta")


def open_table(
    name: str, target: str | None, columns: Columns | None = None, **options: Any
) -> Table:
    """The table of a file or a built-in one, with its target and without what is to be dropped.

    Words that repeat in a file are coded.
    """
    columns = columns or Columns()
    if columns.rows_without_target not in ("drop", "error"):
        raise UsageError(
            "--rows-without-target is drop or error, not {rows_without_target!r}.",
            rows_without_target=columns.rows_without_target,
        )
    drop = columns.drop or []
    if name.startswith("builtin:"):
        refuse_reading(name, columns)
        table = builtin(name.removeprefix("builtin:"), name)
        words = names_among(columns.category or [], table.names, name)
        table = replace(table, features=table.features.with_columns(polars().col(words).cast(str)))
        target = table.target_name if target is None else target
        if target != table.target_name:
            whole = table.features.with_columns(polars().Series(table.target_name, table.target))
            table = Table(whole, None, name, "builtin")
            table = table.with_target(target)
    else:
        # What is dropped is not looked at, so it may hold anything.
        text = [*(columns.category or []), *drop, *options.pop("categories", [])]
        wishes, limits = as_told(columns.reading() | {"categories": text})
        table = read_coded(name, wishes, limits, **options)
        table, target = _with_a_target(table, _by_number(table, target), drop)
        _refuse_infinite(table, target)
        table = _dates_alone(table, [*text, target])
        table = table.with_target(target, columns.rows_without_target)
    for option in ("category", "keep", "unix_seconds"):
        table.refuse_names(option.replace("_", "-"), getattr(columns, option))
    return table.without(drop) if drop else table


def _refuse_infinite(table: Table, target: str | None) -> None:
    """Raise for an infinite target while its row is still that of the file."""
    if not table.has_names or target not in table.names:
        return
    column = table.features[target]
    infinite = column.is_infinite() if column.dtype.is_float() else polars().Series([False])
    if infinite.any():
        raise DataFileError(
            "the target {name!r} holds an infinite number in row {row}: correct it, or leave the "
            "cell empty, as rows without a target are left out.",
            table.source,
            name=target,
            row=int(infinite.arg_true()[0]) + 1,
        )


def _dates_alone(table: Table, others: Collection[str | None]) -> Table:
    """Return the table, in whose columns of dates the few cells that are none are missing.

    It is done before rows are told apart: all are held to one measure, in the rows of the file.
    """
    remarks, columns = [*table.remarks], []
    for name in table.names if table.has_names else ():
        if is_text(table.features[name]) and name not in others:
            column, odd = without_odd_cells(table.features[name])
            if odd is not None:
                columns.append(column)
                remarks.append(odd)
    if not columns:
        return table
    return replace(table, features=table.features.with_columns(columns), remarks=tuple(remarks))


def refuse_reading(name: str, text: TextOptions) -> None:
    """Raise for options about a file where there is none."""
    for option, given in text.reading().items():
        if given not in (None, ()):
            how = f"--{option.replace('_', '-')}"
            raise UsageError("{how} is about files; {name} is built in.", how=how, name=name)


def preparation_of(table: Table, columns: Columns) -> Preparation:
    """Tell how the columns of this table are to be prepared."""
    from cotas.preparation.preparation import Preparation

    if not table.has_names:
        return Preparation()
    keep, seconds = (
        names_among(words or [], table.names, table.source)
        for words in (columns.keep, columns.unix_seconds)
    )
    return Preparation(keep=keep, strict=columns.strict_columns, unix_seconds=seconds)


def _with_a_target(table: Table, target: str | None, drop: list[str]) -> tuple[Table, str | None]:
    """Return the column to predict if none was named: one that is called so, or the last."""
    if target is not None or table.target is not None or not table.has_names:
        return table, target
    dropped = set(names_among(drop, table.names))
    # The last column of lines that end in a separator has neither a name nor values.
    nameless = {f"column_{k}" for k in range(1, len(table.names) + 1)}
    names = [
        name
        for name in table.names
        if name not in dropped
        and not (name in nameless and table.features[name].null_count() == table.n_rows)
    ]
    called = [name for name in names if name.lower() in _TARGETS]
    if len(names) < 2:
        raise DataFileError("it has one column only; there is nothing to learn from.", table.source)
    chosen = called[0] if len(called) == 1 else names[-1]
    words = (
        "No target was named: {name!r} is predicted, for its name (--target NAME for another)."
        if len(called) == 1
        else "No target was named: {name!r} is predicted, the last column (--target NAME for "
        "another)."
    )
    said = remark(words, "target", chosen)
    return replace(table, remarks=(said, *table.remarks)), chosen


def target_name(table: Table, target: str | None, drop: list[str]) -> str:
    """Return the name of the column to predict, of a table with names."""
    _, found = _with_a_target(table, _by_number(table, target), drop)
    assert found is not None
    return found


def _by_number(table: Table, target: str | None) -> str | None:
    """Return a column without a name can be called by its number, the last one by -1."""
    if target is None or not table.has_names or target in table.names:
        return target
    try:
        number = int(target)
    except ValueError:
        return target
    names = table.names
    if number == 0 or abs(number) > len(names):
        raise UsageError(
            "there is no column number {number}: they count from 1 to {count}, or back from -1.",
            number=number,
            count=len(names),
        )
    return names[number - 1 if number > 0 else number]


def builtin(name: str, source: str) -> Table:
    """Return one of the data sets that come with the packages."""
    if name not in BUILTIN:
        known = ", ".join(f"builtin:{each}" for each in BUILTIN)
        raise UsageError(
            "there is no data set {source!r}; there are {known}.", source=source, known=known
        )
    pl = polars()
    if name == "houses":
        X, y = houses()
        frame = pl.DataFrame(X, schema=list(HOUSE_COLUMNS))
        return Table(frame, y, source, "builtin", BUILTIN[name])
    from sklearn import datasets

    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    columns = [str(column) for column in found.feature_names]
    y = found.target
    if name in ("breast-cancer", "iris", "wine"):
        y = np.asarray(found.target_names).astype(str)[y]
    return Table(pl.DataFrame(found.data, schema=columns), y, source, "builtin", BUILTIN[name])


def read_as_classes(y: Any, name: str | None) -> list[Remark]:
    """What is said where nobody has said that dates, or more than two numbers, are classes."""
    values = np.asarray(y)
    if values.dtype.kind in "OU" and tell_form(polars().Series(values[:SOME_CELLS].astype(str))):
        words = (
            "The target {name!r} holds dates, and each is taken as a class; to predict when, write "
            "a number in its place, such as the days since the first."
        )
        return [remark(words, "classes", name)]
    count = len(np.unique(values)) if values.dtype.kind in "fiu" else 0
    words = (
        "The target {name!r} holds {count} different whole numbers, and each is taken as a class; "
        "if it is a quantity, say so (--task regression)."
    )
    return [remark(words, "classes", name, count=count)] if count > 2 else []


def target_of(table: Table, task: str, model: str | None = None) -> tuple[Table, Any, str]:
    """Return the table, its target as the estimators take it, and the task.

    If that is "auto" it is the task of the model, or else told from the target; the table then has
    a remark if that can be taken in two ways.
    """
    known_task(task)
    if task == "auto":
        task = told = tell_task(table.target)
        if model not in (None, "auto"):
            task = task_of(str(model))
        elif task == "classification":
            said = read_as_classes(table.target, table.target_name)
            table = replace(table, remarks=(*table.remarks, *said))
        if (told, task) == ("regression", "classification"):
            different = len(np.unique(np.asarray(table.target)))
            raise DataFileError(
                "{model} tells classes apart, and the target {target!r} holds {count} "
                "different numbers, like a quantity and no classes. Take a model for numbers "
                "(--model svr, ridge or auto), or say --task classification.",
                model=model,
                target=table.target_name,
                count=different,
            )
        words = np.asarray(table.target).dtype.kind not in "biufmM"
        if words and task == "regression":
            raise DataFileError(
                "{model} predicts numbers, and the target {target!r} holds words. Take a model for "
                "classes (--model svm, logistic or auto); if some words stand for a missing "
                "number, name them (--missing WORD).",
                model=model,
                target=table.target_name,
            )
    return table, labels_or_numbers(table, task), task


def labels_or_numbers(table: Table, task: str) -> Any:
    """Return the target for a task: classes as they were written, or numbers."""
    values = table.classes() if task == "classification" else table.target
    try:
        return as_target(values, task, table.target_name)
    except DataFileError as error:
        if error.source:
            raise
        # A class may be among the words that were taken as missing.
        why = [one.message for one in table.remarks if one.kind == "without target"]
        why += [say("It has one row only; a model is learned from many.")] * (table.n_rows == 1)
        raise DataFileError(in_one([error.args[0], *why]), table.source) from None
