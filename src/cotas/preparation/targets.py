"""What is to be predicted: classes or numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cotas.files.cells import MISSING, as_spelled, understood
from cotas.files.dates import SOME_CELLS, tell_form
from cotas.files.frames import polars
from cotas.files.problems import DataFileError, Remark, asked, remark
from cotas.files.table import Table
from cotas.refusals import ParameterError
from cotas.words import in_one, say

TASKS = ("classification", "regression")
# Whole numbers with more values than this, or in more than that part of the rows, are no labels.
MOST_LABELS, LABEL_SHARE = 20, 0.2


def tell_task(y: Any) -> str:
    """Return "classification" or "regression", by what the target holds.

    Words and truth values are classes. Two different whole numbers are, and up to twenty are if
    each comes often; all other numbers are quantities.

    >>> tell_task(["yes", "no"]), tell_task([0, 1, 1]), tell_task([1.5, 2.0, 0.1])
    ('classification', 'classification', 'regression')
    """
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        return "classification"
    values = np.unique(y)
    whole = y.dtype.kind in "iu" or bool(np.all(values == np.round(values)))
    few = len(values) <= max(2, min(MOST_LABELS, LABEL_SHARE * len(y)))
    return "classification" if whole and few else "regression"


def read_as_classes(y: Any, name: str | None) -> list[Remark]:
    """Remark on dates, or more than two numbers, that are taken for classes unasked."""
    values = np.asarray(y)
    if values.dtype.kind in "OU" and tell_form(polars().Series(values[:SOME_CELLS].astype(str))):
        words = (
            "The target {name!r} holds dates, and each is taken as a class; to predict when, write "
            "a number in its place, such as the days since the first."
        )
        return [remark(words, "classes", name)]
    count = len(np.unique(values)) if values.dtype.kind in "fiu" else 0
    if count <= 2:
        return []
    words = (
        "The target {name!r} holds {count} different whole numbers, and each is taken as a class; "
        "if it is a quantity, say so ({how})."
    )
    return [remark(words, "classes", name, count=count, how=asked("task", "regression"))]


def as_target(y: Any, task: str, column: str | None = None) -> AnyArray:
    """Return the target, from this column, as the estimators take it: labels, or doubles."""
    if task not in TASKS:
        raise ParameterError("task", f"task must be one of {TASKS}, not {task!r}.")
    values = np.asarray(y)
    values = values.astype(str) if values.dtype.kind == "O" else values
    if values.dtype.kind in "mM":
        raise DataFileError(
            "{name} holds dates or times, which are not predicted here.", name=_called(column)
        )
    if task == "regression":
        if values.dtype.kind not in "fiu":
            raise DataFileError(
                "{name} holds words; regression needs numbers.", name=_called(column)
            )
        values = values.astype(np.float64)
        _refuse_infinite(values, column)
        _refuse_overflow(values, column)
        return values
    if values.dtype.kind == "f":
        _refuse_infinite(values, column)
        if not np.all(values == np.round(values)):
            raise DataFileError(
                "{name} holds numbers with decimals, which are quantities and no "
                "classes; take a model and a task for regression.",
                name=_called(column),
            )
        if np.abs(values).max(initial=0.0) < 2**53:
            values = values.astype(np.int64)
    if values.dtype.kind == "b":
        values = np.where(values, "true", "false")
    distinct = len(np.unique(values))
    if distinct < 2:
        raise DataFileError(
            "{name} has one value only ({label}); there is nothing to tell apart.",
            name=_called(column),
            label=repr(values.tolist()[0]),
        )
    if values.dtype.kind == "U" and distinct > max(MOST_LABELS, len(values) / 2):
        raise DataFileError(
            "{name} holds {distinct} different words in {rows} rows, which are "
            "names and no classes; name another column as the target.",
            name=_called(column),
            distinct=distinct,
            rows=len(values),
        )
    return values


def _called(column: str | None) -> str:
    return say("the target") if column is None else say("the target {column!r}", column=column)


def target_of(table: Table, task: str) -> tuple[Table, AnyArray, str]:
    """Return the table, its target as the estimators take it, and the task.

    If that is "auto" it is told from the target; the table then has a remark if that can be taken
    in two ways.
    """
    if task == "auto":
        task = tell_task(table.target)
        if task == "classification":
            said = read_as_classes(table.target, table.target_name)
            table = replace(table, remarks=(*table.remarks, *said))
    return table, labels_or_numbers(table, task), task


def labels_or_numbers(table: Table, task: str) -> AnyArray:
    """Return the target for a task: classes as they were written, or numbers."""
    values, written = table.target, table.written.get(str(table.target_name))
    if task == "classification" and values is not None and written is not None:
        values = as_spelled(polars().Series(values), written).to_numpy()
    try:
        return as_target(values, task, table.target_name)
    except DataFileError as error:
        if error.source:
            raise
        # A class may be among the words that were taken as missing.
        why = [one.message for one in table.remarks if one.kind == "without target"]
        why += [say("It has one row only; a model is learned from many.")] * (table.n_rows == 1)
        raise DataFileError(in_one([error.args[0], *why]), table.source) from None


def target_is_there(y: Any, task: str) -> BoolArray:
    """Tell where a target is no None, NaN or another missing value.

    Of numbers that are written as text, a word for a missing value is one.
    """
    there = _is_there(y)
    values = np.asarray(y)
    if task == "regression" and values.dtype.kind in "OU" and values.ndim == 1:
        there &= [str(value).strip() not in MISSING for value in values.tolist()]
    return there


def _is_there(y: Any) -> BoolArray:
    if isinstance(y, np.ma.MaskedArray):
        return np.asarray(~np.ma.getmaskarray(y))
    if hasattr(y, "isna"):  # pandas
        there = ~np.asarray(y.isna(), dtype=np.bool_)
    elif isinstance(y, list | tuple) or hasattr(y, "is_null"):  # NumPy would make words of NaN
        there = np.array([not np.any(_is_missing(value)) for value in y], dtype=np.bool_)
    else:
        values = np.asarray(y)
        if values.dtype.kind == "f":
            there = ~np.isnan(values)
        elif values.dtype.kind == "O":
            there = np.array([not _is_missing(value) for value in values.flat], dtype=np.bool_)
        else:
            there = np.ones(values.shape, dtype=np.bool_)
    return np.asarray(there.all(axis=1) if there.ndim == 2 else there)


def _is_missing(value: Any) -> bool:
    """Tell whether it is None, NaN, or what pandas writes for one of them."""
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "NaT", "<NA>"))


def targets_at(y: Any, rows: IntArray) -> AnyArray:
    """Return the targets of some rows, in the type that they have when none is missing."""
    if np.ndim(y) == 2:
        return np.asarray(y)[rows]
    values = y.to_list() if hasattr(y, "to_list") else list(y)  # whole numbers stay whole
    return np.array([values[row] for row in rows])


def rows_left_out(y: Any, there: BoolArray) -> str:
    """Return what is said of rows without a target."""
    name, count, rows = str(getattr(y, "name", None) or "y"), int((~there).sum()), len(there)
    if count == rows:
        raise DataFileError(
            "the target {name!r} is missing in all {rows} rows.", name=name, rows=rows
        )
    return say(
        "The target {name!r} is missing in {count} of {rows} rows, first in row {row}; they are "
        "left out.",
        name=name,
        count=count,
        rows=rows,
        row=int(there.argmin()) + 1,
    )


def read_target(y: Any, task: str) -> Any:
    """Read the target of a frame as the reader of files has it: for regression "$6.18" is a number.

    What is no text is taken as it is.
    """
    values = np.asarray(y)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if task == "classification" or values.ndim != 1 or values.dtype.kind in "fiubc":
        return y
    pl = polars()
    cells = [None if str(each) in ("None", "nan", "<NA>") else each for each in values.tolist()]
    found = understood(pl.DataFrame({"y": cells}, strict=False), False, "")
    return as_target(found.frame["y"].to_numpy(), task)


def _refuse_infinite(values: FloatArray, column: str | None) -> None:
    odd = np.flatnonzero(~np.isfinite(values))
    if len(odd):
        raise DataFileError(
            "{name} holds NaN or an infinite number, first in row {row}: correct it, or leave the "
            "row out.",
            name=_called(column),
            row=int(odd[0]) + 1,
        )


def _refuse_overflow(values: FloatArray, column: str | None) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.square(values - values.mean()).sum() if len(values) else 0.0
    if not np.isfinite(spread):
        raise DataFileError(
            "{name} holds numbers as large as {value:.3g}, whose squares overflow: "
            "measure it in a larger unit.",
            name=_called(column),
            value=np.abs(values).max(),
        )
