"""What is to be predicted, classes or numbers, and the rows held out to judge it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cotas.files.cells import MISSING, understood
from cotas.files.frames import polars
from cotas.files.problems import DataFileError
from cotas.refusals import ParameterError
from cotas.words import say

TASKS = ("classification", "regression")
# Whole numbers with more values than this, or in more than that part of the rows, are no labels.
MOST_LABELS, LABEL_SHARE = 20, 0.2


def tell_task(y: Any) -> str:
    """Compute "classification" or "regression", by what the target holds.

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


def as_target(y: Any, task: str, column: str | None = None) -> AnyArray:
    """Return the target, from this column, as the estimators take it: labels, or doubles."""
    if task not in TASKS:
        raise ParameterError("task", f"task must be one of {TASKS}, not {task!r}.")
    name = say("the target") if column is None else say("the target {column!r}", column=column)
    values = _plain(y)
    if values.dtype.kind in "mM":
        raise DataFileError("{name} holds dates or times, which are not predicted here.", name=name)
    if task == "regression":
        if values.dtype.kind not in "fiu":
            raise DataFileError("{name} holds words; regression needs numbers.", name=name)
        values = values.astype(np.float64)
        _refuse_infinite(values, name)
        _refuse_overflow(values, name)
        return values
    if values.dtype.kind == "f":
        _refuse_infinite(values, name)
        if not np.all(values == np.round(values)):
            raise DataFileError(
                "{name} holds numbers with decimals, which are quantities and no "
                "classes; take a model and a task for regression.",
                name=name,
            )
        if np.abs(values).max(initial=0.0) < 2**53:
            values = values.astype(np.int64)
    if values.dtype.kind == "b":
        values = np.where(values, "true", "false")
    distinct = len(np.unique(values))
    if distinct < 2:
        raise DataFileError(
            "{name} has one value only ({label}); there is nothing to tell apart.",
            name=name,
            label=repr(values.tolist()[0]),
        )
    if values.dtype.kind == "U" and distinct > max(MOST_LABELS, len(values) / 2):
        raise DataFileError(
            "{name} holds {distinct} different words in {rows} rows, which are "
            "names and no classes; name another column as the target.",
            name=name,
            distinct=distinct,
            rows=len(values),
        )
    return values


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


def _refuse_infinite(values: FloatArray, name: str) -> None:
    odd = np.flatnonzero(~np.isfinite(values))
    if len(odd):
        raise DataFileError(
            "{name} holds NaN or an infinite number, first in row {row}: correct it, or leave the "
            "row out.",
            name=name,
            row=int(odd[0]) + 1,
        )


def _refuse_overflow(values: FloatArray, name: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.square(values - values.mean()).sum() if len(values) else 0.0
    if not np.isfinite(spread):
        raise DataFileError(
            "{name} holds numbers as large as {value:.3g}, whose squares overflow: "
            "measure it in a larger unit.",
            name=name,
            value=np.abs(values).max(),
        )


def _plain(y: Any) -> AnyArray:
    y = np.asarray(y)
    return np.asarray(y.astype(str)) if y.dtype.kind == "O" else y


def hold_out_rows(
    y: AnyArray, task: str, share: float, seed: int, groups: AnyArray | None = None
) -> tuple[IntArray, IntArray]:
    """Divide rows into those to train on and those to hold out, both in their order, drawn with the
    seed.

    Each class gives its share of the rows, as nearly as whole rows allow, and keeps one to train
    on. With `groups`, whole groups are drawn, each as one row of the class of its first, and a
    class that would be left without a row to train on is trained on whole.
    """
    n = len(y)
    codes = np.unique(y, return_inverse=True)[1] if task == "classification" else np.zeros(n, int)
    if groups is None:
        held = _drawn(codes, share, seed)
    else:
        first, labels = np.unique(groups, return_index=True, return_inverse=True)[1:]
        held = _drawn(np.unique(codes[first], return_inverse=True)[1], share, seed)[labels]
        lost = np.setdiff1d(codes, codes[~held])
        held &= ~np.isin(labels, labels[np.isin(codes, lost)])
    if not held.any():
        raise DataFileError("no split leaves rows to hold out: the groups are too large.")
    return np.flatnonzero(~held), np.flatnonzero(held)


def _drawn(codes: IntArray, share: float, seed: int) -> BoolArray:
    """Tell which are held out, class by class."""
    n = len(codes)
    count = round(share * n)
    if not 0 < share < 1 or not 0 < count < n:
        raise DataFileError(
            "holding out a share of {share} of {n} rows or groups leaves none to "
            "train on, or none to hold out.",
            share=repr(share),
            n=n,
        )
    order = np.random.default_rng(seed).permutation(n)
    held = np.zeros(n, dtype=np.bool_)
    for code, most in enumerate(_shares(np.bincount(codes), count)):
        held[order[codes[order] == code][:most]] = True
    return held


def _shares(sizes: IntArray, count: int) -> IntArray:
    """Tell how many rows each class gives, `count` in all where each can keep one."""
    wanted = count * sizes / sizes.sum()
    given = np.minimum(np.floor(wanted).astype(np.int64), sizes - 1)
    for code in np.argsort(given - wanted, kind="stable"):
        if given.sum() < count and given[code] < sizes[code] - 1:
            given[code] += 1
    return np.asarray(given)
