"""From the name of a data set to a table with its target."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from cotas.cli.exits import UsageError
from cotas.datasets import HOUSE_COLUMNS, houses
from cotas.files.frames import polars
from cotas.files.tables import Table, read_table
from cotas.preparation.targets import as_target, tell_task

BUILTIN = {
    "houses": "price",
    "breast-cancer": "diagnosis",
    "iris": "species",
    "wine": "cultivar",
    "diabetes": "progression",
    "digits": "digit",
}


def open_table(
    name: str, target: str | None, drop: list[str] | None = None, **options: Any
) -> Table:
    """The table of a file or a built-in one, with its target."""
    if name.startswith("builtin:"):
        table = builtin(name.removeprefix("builtin:"), name)
        target = table.target_name if target is None else target
        if target != table.target_name:
            whole = table.features.with_columns(polars().Series(table.target_name, table.target))
            table = Table(whole, None, name, "builtin")
            table = table.with_target(target)
    else:
        table = read_table(name, **options)
        target = _by_number(table, target)
        table = table.with_target(target)
    return table.without(drop) if drop else table


def _by_number(table: Table, target: str | None) -> str | None:
    """A column without a name can be called by its number, the last one by -1."""
    if target is None or not table.has_names or target in table.names:
        return target
    try:
        number = int(target)
    except ValueError:
        return target
    names = table.names
    if number == 0 or abs(number) > len(names):
        raise UsageError(f"there is no column number {number}; there are {len(names)}.")
    return names[number - 1 if number > 0 else number]


def builtin(name: str, source: str) -> Table:
    """One of the data sets that come with the packages."""
    if name not in BUILTIN:
        known = ", ".join(f"builtin:{each}" for each in BUILTIN)
        raise UsageError(f"there is no data set {source!r}; there are {known}.")
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


def target_of(table: Table, task: str) -> tuple[Any, str]:
    """The target as the estimators take it, and the task, told from it if that is "auto"."""
    if task == "auto":
        task = tell_task(table.target)
    if task not in ("classification", "regression"):
        raise UsageError(f"--task is classification, regression or auto, not {task!r}.")
    return as_target(table.target, task, f"the target {table.target_name!r}"), task


def writable(path: Path | None, what: str, *read: str | Path) -> None:
    """Fail before hours of work, not after; and write over none of the files that are read."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise UsageError(f"{what} {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise UsageError(f"{what} cannot be written: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{what} cannot be written: the folder {path.parent} is read-only.")
    for other in map(Path, read):
        if path.exists() and other.exists() and path.samefile(other):
            raise UsageError(f"{what} would write over {other}, which is read; name another file.")
