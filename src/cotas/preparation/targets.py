"""What is to be predicted: classes or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, IntArray
from cotas.files.problems import DataFileError

TASKS = ("classification", "regression")
# Whole numbers with more values than this, or in more than that part of the rows, are no labels.
MOST_LABELS, LABEL_SHARE = 20, 0.2


def tell_task(y: Any) -> str:
    """ "classification" or "regression", by what the target holds.

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


def as_target(y: Any, task: str, name: str = "the target") -> AnyArray:
    """The target as the estimators take it: labels, or numbers of double precision."""
    if task not in TASKS:
        raise ValueError(f"task must be one of {TASKS}, not {task!r}.")
    values = _plain(y)
    if task == "regression":
        if values.dtype.kind not in "fiu":
            raise DataFileError(f"{name} holds words; regression needs numbers.")
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            raise DataFileError(f"{name} holds NaN or an infinite number.")
        return values
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise DataFileError(f"{name} holds NaN or an infinite number.")
        if not np.all(values == np.round(values)):
            raise DataFileError(
                f"{name} holds numbers with decimals, which are quantities and no classes; take a "
                "model and a task for regression."
            )
        if np.abs(values).max(initial=0.0) < 2**53:
            values = values.astype(np.int64)
    if values.dtype.kind == "b":
        values = np.where(values, "true", "false")
    if len(np.unique(values)) < 2:
        raise DataFileError(
            f"{name} has one value only ({values.tolist()[0]!r}); there is nothing to tell apart."
        )
    return values


def _plain(y: Any) -> AnyArray:
    y = np.asarray(y)
    return np.asarray(y.astype(str)) if y.dtype.kind == "O" else y


def hold_out_rows(y: AnyArray, task: str, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """The rows to train on and the rows to hold out, both in their order, drawn with the seed.

    They are drawn without regard to the classes, as the bound for the error on future rows asks.
    If the draw takes all rows of a class away, the next one is tried.
    """
    n = len(y)
    count = round(share * n)
    if not 0 < share < 1 or not 0 < count < n:
        raise ValueError(
            f"holding out a share of {share!r} of {n} rows leaves none to train on, or none to "
            "hold out."
        )
    rng = np.random.default_rng(seed)
    classes = np.unique(y) if task == "classification" else y[:0]
    for _ in range(100):
        order = rng.permutation(n)
        train, test = np.sort(order[count:]), np.sort(order[:count])
        if len(np.unique(y[train])) >= len(classes):
            return train, test
    raise DataFileError("some classes are so rare that no split leaves a row of each to train on.")
