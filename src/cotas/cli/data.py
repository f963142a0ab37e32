"""From the name of a data set to a table with its target, and whether it fits into memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cotas.cli.command import UsageError
from cotas.cli.options import ColumnOptions, TextOptions, writable
from cotas.cli.session import writing
from cotas.datasets import HOUSE_COLUMNS, houses
from cotas.files.atomic import replacing
from cotas.files.compression import physical_memory
from cotas.files.frames import polars
from cotas.files.names import names_among
from cotas.files.problems import DataFileError
from cotas.files.table import Table
from cotas.files.tables import read_coded, reading_options
from cotas.preparation.targets import tell_task
from cotas.words import say


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


def open_table(
    name: str, target: str | None, columns: ColumnOptions | None = None, **options: Any
) -> Table:
    """Open the table of a file or a built-in one, with its target and without what is to be
    dropped.

    Words that repeat in a file are coded.
    """
    columns = columns or ColumnOptions()
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
        wishes, limits = reading_options(columns.reading() | {"categories": text})
        table = read_coded(name, wishes, limits, **options)
        for option in ("category", "keep", "unix_seconds"):
            table.refuse_names(option.replace("_", "-"), getattr(columns, option))
        table = table.predicting(target, drop, text, columns.rows_without_target)
    return table.without(drop) if drop else table


def refuse_reading(name: str, text: TextOptions) -> None:
    """Raise for options about a file where there is none."""
    for option, given in text.reading().items():
        if given not in (None, ()):
            how = f"--{option.replace('_', '-')}"
            raise UsageError("{how} is about files; {name} is built in.", how=how, name=name)


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


def refuse_unsuited(table: Table, model: str, task: str) -> None:
    """Raise where a model that was named is for a task, and the target is not of it."""
    words = np.asarray(table.target).dtype.kind not in "biufmM"
    if task == "classification" and tell_task(table.target) == "regression":
        different = len(np.unique(np.asarray(table.target)))
        raise DataFileError(
            "{model} tells classes apart, and the target {target!r} holds {count} "
            "different numbers, like a quantity and no classes. Take a model for numbers "
            "(--model svr, ridge or auto), or say --task classification.",
            model=model,
            target=table.target_name,
            count=different,
        )
    if task == "regression" and words:
        raise DataFileError(
            "{model} predicts numbers, and the target {target!r} holds words. Take a model for "
            "classes (--model svm, logistic or auto); if some words stand for a missing "
            "number, name them (--missing WORD).",
            model=model,
            target=table.target_name,
        )


# ---- whether a table fits into memory, told from the sizes of its files ------------------------

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# The table, what it is prepared to, and the parts that are trained on and held out: measured with
# the SVM, 4.4 to 4.8 times the numbers of a table of numbers, and as much of one of words.
COPIES = 5
# What Python and its libraries take before there is a table, measured: 0.37 GB.
BASE = 4 * 10**8
# What Python, its libraries and a few pages take, whatever the table; see docs/scale.md.
LEAST_MEMORY = 10**9
# Of this, what does not depend on the file or the threads; each thread; and how often a row group
# of a Parquet file is in memory while it is read. Measured: 0.74 GB, 35 MB and 1.3 times.
FROM_PAGES, OF_A_THREAD, ROW_GROUPS = 8 * 10**8, 4 * 10**7, 1.5


def parse_size(words: str) -> int:
    """Return the bytes of a size such as 2GB, 500M or 1.5g.

    >>> parse_size("2GB"), parse_size("1.5 g"), parse_size("300MB")
    (2000000000, 1500000000, 300000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", words.lower())
    if found is None:
        raise UsageError("--memory takes a size such as 2GB or 800MB, not {words!r}.", words=words)
    size = int(float(found[1]) * UNITS[found[2].upper()])
    if found[1] == words.strip() and size < LEAST_MEMORY:  # as bytes it would be nothing
        text = "--memory {size} has no unit: write {size}GB or {size}MB."
        raise UsageError(text, size=found[1])
    return size


def free_memory() -> int | None:
    """Return the bytes of memory that are free; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration, ValueError):
        return physical_memory()


@dataclass(frozen=True)
class TooBig:
    """A table that does not fit: its files, about how large it is in memory, and the limit."""

    files: list[Path]
    needed: float
    allowed: int
    piece: float = 0.0  # bytes of what is read at a time

    @property
    def least(self) -> float:
        """Return what one thread needs to fit it from pages."""
        return max(LEAST_MEMORY, FROM_PAGES + OF_A_THREAD + ROW_GROUPS * self.piece)

    @property
    def threads(self) -> int:
        """Tell how many of them fit into what is allowed."""
        left = self.allowed - FROM_PAGES - ROW_GROUPS * self.piece
        return max(1, int(left // OF_A_THREAD))

    def words(self) -> str:
        """Tell why it is read from pages."""
        return say(
            "In memory this table would take about {needed:.1f} GB, and {allowed:.1f} GB are "
            "allowed: its rows are read from pages on disk.",
            needed=self.needed / 1e9,
            allowed=self.allowed / 1e9,
        )


def too_big(data: str, memory: str | None) -> TooBig | None:
    """Tell whether a table has to be read from pages, by the sizes of its files."""
    given = None if memory is None else parse_size(memory)
    if given is not None and given < LEAST_MEMORY:
        raise UsageError(
            "--memory {memory} is too little: cotas and its libraries need {least:g} GB "
            "whatever the table.",
            memory=memory,
            least=LEAST_MEMORY / 1e9,
        )
    if data.removeprefix("builtin:") in BUILTIN:
        return None
    if data == "-" or "::" in data:
        _refuse_memory(given)
        return None
    allowed = given if given is not None else free_memory()
    file = Path(data)
    if allowed is None or (file.is_file() and _surely_fit([file], allowed)):
        return None
    if not file.exists() and not any(mark in data for mark in "*?["):
        return None  # who reads it says what is wrong
    from cotas.scale.decoding import (  # it loads SciPy
        KINDS,
        decoded_bytes,
        input_files,
        kind_of,
        row_group_bytes,
    )

    try:
        files = input_files(data)
        if _surely_fit(files, allowed):
            return None
        kinds = [kind_of(file) for file in files]
        if not set(kinds) <= set(KINDS):
            _refuse_memory(given)
            return None
        sizes = [decoded_bytes(file, kind) for file, kind in zip(files, kinds, strict=True)]
    except DataFileError:
        return None
    needed = BASE + COPIES * sum(sizes)
    if needed <= allowed:
        return None
    pieces = [row_group_bytes(file) for file, kind in zip(files, kinds, strict=True)
              if kind == "parquet"]  # fmt: skip
    found = TooBig(files, needed, allowed, max(pieces, default=0.0))
    if given is not None and given < found.least:
        raise UsageError(
            "--memory {memory} is too little for this file: a row group of it, which is read "
            "in one piece, takes {piece:.1f} GB, and {least:.1f} GB are needed. "
            "Give as much, or write the file with fewer rows in a group.",
            memory=memory,
            piece=found.piece / 1e9,
            least=found.least / 1e9,
        )
    return found


def _refuse_memory(given: int | None) -> None:
    """Raise if a limit was given for what cannot be read from pages."""
    if given is not None:
        raise UsageError(
            "--memory is for files of CSV, Parquet, Arrow or LibSVM: they become pages."
        )


def _surely_fit(files: list[Path], allowed: int) -> bool:
    """Tell whether files are so small that they fit even if they are well compressed."""
    return BASE + COPIES * 20 * sum(file.stat().st_size for file in files) < allowed
