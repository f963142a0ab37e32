"""Files of any size as matrices of numbers, some rows at a time."""

from __future__ import annotations

import contextlib
import csv
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Matrix
from cotas.certificates.numbers import WHOLE, refuse_inexact
from cotas.files.cells import looks_like_a_number, understood
from cotas.files.claims import rows_of_a_group
from cotas.files.compression import is_compressed, open_bytes, source_name
from cotas.files.csv_dialect import tell_format
from cotas.files.frames import polars, polars_errors
from cotas.files.libsvm import LARGEST_INDEX, libsvm_batches
from cotas.files.names import no_column
from cotas.files.names import some as some_names
from cotas.files.problems import DataFileError
from cotas.files.table import Table
from cotas.files.tables import batches, files_of, scanned
from cotas.refusals import ParameterError
from cotas.scale.shuffling import RowBatch

if TYPE_CHECKING:
    from polars import DataFrame, Series

KINDS = ("csv", "parquet", "arrow", "libsvm")
# Bytes of a batch in double precision, and rows that tell the types of a text table.
BATCH_BYTES, ROWS_FOR_TYPES = 1 << 25, 20_000
# Bytes of a text file that tell about how many lines it has, and lines that tell of their cells.
HEAD_BYTES, LINES_FOR_CELLS = 1 << 20, 100


@dataclass(frozen=True)
class DecodingOptions:
    """Options of what is read of the files.

    Attributes
    ----------
    target : the column to be predicted, or several; None where files carry labels themselves
    weights : the column of the weights, if there is one
    single : whether X is kept in single precision
    preparation : what makes numbers of a table, already fitted; None where it holds numbers only
    drop : columns that are not read
    without_target : "error" or "drop", for rows in which the target is missing
    text : how text tables are written, as for `read_table`: names and values
    """

    target: str | tuple[str, ...] | None = None
    weights: str | None = None
    single: bool = False
    preparation: Any = None
    n_features: int | None = None
    zero_based: bool | str = "auto"
    drop: tuple[str, ...] = ()
    without_target: str = "error"
    text: tuple[tuple[str, Any], ...] = ()

    @property
    def written(self) -> dict[str, Any]:
        """Return how text tables are written, with what the preparation learned of decimal
        signs."""
        commas = getattr(self.preparation, "decimal_commas_", ())
        return {**dict(self.text), "decimal_commas": commas}

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the columns to be predicted."""
        if self.target is None:
            return ()
        return (self.target,) if isinstance(self.target, str) else self.target


def input_files(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Find the files of a name, of a pattern such as data-*.csv, of a folder, or of a list of
    these."""
    if not isinstance(path, str | os.PathLike):
        return [file for each in path for file in input_files(each)]
    name = os.fspath(path)
    if name == "-" or "::" in name:
        raise DataFileError("pages are made of files on disk: name a file or a pattern.", str(name))
    if Path(name).is_dir():
        found = sorted(p for p in Path(name).iterdir() if p.is_file() and p.name[0] not in "._")
        if not found:
            raise DataFileError("the folder holds no files.", name)
        return found
    several = files_of(name)
    if not several and not Path(name).is_file():
        raise DataFileError("there is no such file.", name)
    return [Path(each) for each in several or [name]]


def kind_of(file: Path) -> str:
    """Return what a file is."""
    source = source_name(file)
    with open_bytes(file) as stream:
        kind = tell_format(file, stream, source, None)
    if kind not in KINDS:
        raise DataFileError(
            "pages are made of Parquet, Arrow, CSV and LibSVM files, and this is "
            "{kind}: read it with read_table.",
            source,
            kind=kind,
        )
    return kind


class Decoder:
    """The rows of all the files in their order; what it learns on the way is the same for all.

    Attributes
    ----------
    names : of the columns of X, where they have names
    labels : of the codes in y, where the target is text
    """

    def __init__(self, files: Sequence[Path], reading: DecodingOptions) -> None:
        self.files, self.reading = list(files), reading
        self.kinds = [kind_of(file) for file in self.files]
        if len({kind == "libsvm" for kind in self.kinds}) > 1:
            raise DataFileError("LibSVM files and tables do not go together.", str(files[0]))
        self.sparse = self.kinds[0] == "libsvm"
        if self.sparse:
            self._refuse_columns()
        self.names: list[str] | None = None
        self.labels: dict[str, int] = {}
        self.target_kind = ""
        self.n_rows = 0
        self.whole = True  # whether all targets of text tables are whole numbers
        self.lowest, self.largest = LARGEST_INDEX, -1  # indices of LibSVM files, as written
        self._columns: list[str] = []
        self._types: dict[str, Any] = {}
        self._counts: set[str] = set()  # columns of text tables that hold whole numbers

    def _refuse_columns(self) -> None:
        """Raise if something is asked of columns with names, which LibSVM files have not."""
        for name in ("preparation", "weights"):
            if getattr(self.reading, name) is not None:
                raise DataFileError(
                    "LibSVM files have neither a column of weights nor one to prepare: leave "
                    "{name} out.",
                    str(self.files[0]),
                    name=name,
                )

    def expected_bytes(self) -> float:
        """Estimate how much the rows are in memory, too much rather than too little."""
        return sum(
            decoded_bytes(file, kind) for file, kind in zip(self.files, self.kinds, strict=True)
        )

    def parts(self) -> Iterator[RowBatch]:
        """Yield all the rows."""
        if self.sparse:
            yield from self._sparse_parts()
            return
        for file in self.files:
            for table in self._tables(file):
                yield self._part(table)

    # ---- tables --------------------------------------------------------------------------------

    def _tables(self, file: Path) -> Iterator[Table]:
        if not self._columns:
            self._read_columns(file)
        rows = max(1, BATCH_BYTES // (8 * max(1, len(self._columns))))
        for table in batches(str(file), rows, types=self._types, **self.reading.written):
            table = without(table, self.reading)
            if set(table.features.columns) != set(self._columns):
                odd = sorted(set(table.features.columns) ^ set(self._columns))
                raise DataFileError(
                    "its columns are not those of {first}: {odd}.",
                    table.source,
                    first=self.files[0].name,
                    odd=odd,
                )
            self._refuse_rounded(table)
            if table.n_rows:
                yield table

    def _refuse_rounded(self, table: Table) -> None:
        """Raise if whole numbers were so large that reading them as doubles may have changed them.

        2⁵³ itself is what the next whole number is rounded to.
        """
        for name in self._counts & set(table.features.columns):
            column = table.features[name]
            if column.dtype.is_float() and (column.abs() >= WHOLE).any():
                raise DataFileError(
                    "the column {name!r} holds whole numbers above 2⁵³, which double "
                    "precision cannot hold: they would be rounded, and what is proved would "
                    "be about other data. Subtract an offset first, or leave the column "
                    "out.",
                    table.source,
                    name=name,
                )

    def _read_columns(self, file: Path) -> None:
        """Read the columns, and in a text table what their types are, from its first rows."""
        first = next(
            iter(batches(str(file), ROWS_FOR_TYPES, types={}, **self.reading.written)), None
        )
        if first is None or not first.n_rows:
            raise DataFileError("it holds no rows.", source_name(file))
        first = without(first, self.reading)
        frame, pl = first.features, polars()
        if self.kinds[0] == "csv":
            frame, *_ = understood(frame, False, first.source, gone=())
            numbers = [name for name in frame.columns if frame[name].dtype != pl.String]
            self._types = dict.fromkeys(numbers, pl.Float64)
            self._counts = {name for name in numbers if frame[name].dtype.is_integer()}
            frame = frame.with_columns(pl.col(numbers).cast(pl.Float64))
        self._columns = list(frame.columns)
        wanted = [*self._targets(), *([self.reading.weights] if self.reading.weights else [])]
        if self.reading.preparation is not None:  # which reads numbers of text itself
            self._types = {name: kind for name, kind in self._types.items() if name in wanted}
        for name in wanted:
            if name not in self._columns:
                raise DataFileError(no_column(name, self._columns), first.source)
        rest = [name for name in self._columns if name not in wanted]
        if self.reading.preparation is not None:
            self.names = self.reading.preparation.get_feature_names_out().tolist()
            return
        words = [
            n for n in rest if not (frame[n].dtype.is_numeric() or frame[n].dtype == pl.Boolean)
        ]
        if words:
            raise DataFileError(
                "the columns {names} hold no numbers: leave them out, or give a fitted "
                "Preparation that makes numbers of them.",
                first.source,
                names=some_names(words),
            )
        if not rest:
            raise DataFileError("it has no column besides the target.", first.source)
        self.names = rest

    def _targets(self) -> tuple[str, ...]:
        if not self.reading.targets:
            raise DataFileError(
                "which column is to be predicted? Name it as the target.", str(self.files[0])
            )
        return self.reading.targets

    def _part(self, table: Table) -> RowBatch:
        frame, reading = table.features, self.reading
        first, self.n_rows = self.n_rows, self.n_rows + table.n_rows
        y = [self._target(frame[name], table.source) for name in self._targets()]
        weights = None
        if reading.weights is not None:
            numbers = _numbers(frame, [reading.weights], first, table.source)
            weights = numbers[:, 0].astype(np.float64)
        dropped = [*self._targets(), *([reading.weights] if reading.weights else [])]
        if reading.preparation is not None:
            X = reading.preparation.transform(frame.drop(dropped))
            X = X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)
        else:
            assert self.names is not None
            X = _numbers(frame, self.names, first, table.source)
        rows = np.arange(first, self.n_rows)
        return RowBatch(rows, self._as_kept(X, table.source), self._together(y, table), weights)

    def _together(self, y: list[AnyArray], table: Table) -> AnyArray:
        """Return one target as it is, several as columns of numbers."""
        if isinstance(self.reading.target, str):
            if table.format == "csv" and self.target_kind == "f":
                self.whole &= bool((np.abs(y[0]) <= WHOLE).all() and (y[0] == np.rint(y[0])).all())
            return y[0]
        if self.labels:
            raise DataFileError("several targets must all be numbers.", table.source)
        self.target_kind, self.whole = "f", False
        return np.stack(y, axis=1).astype(np.float64)

    def _as_kept(self, X: Matrix, source: str) -> Matrix:
        if not self.reading.single:
            return X
        with np.errstate(over="ignore"):
            narrow = X.astype(np.float32)
        values: AnyArray = narrow.data if sparse.issparse(narrow) else narrow
        if not np.isfinite(values).all():
            raise DataFileError("a number is too large for single precision.", source)
        return narrow

    def _target(self, column: Series, source: str) -> AnyArray:
        """Return numbers as they are, and text as codes."""
        pl = polars()
        missing = column.null_count() + (
            int(column.is_nan().sum()) if column.dtype.is_float() else 0
        )
        if missing:
            raise DataFileError(
                "the target {name!r} is missing in {missing} rows. Leave those rows out.",
                source,
                name=column.name,
                missing=missing,
            )
        if column.dtype == pl.Boolean:
            found, kind = column.to_numpy().astype(np.uint8), "b"
        elif column.dtype.is_integer():
            if column.cast(pl.Int64, strict=False).null_count():
                raise DataFileError(
                    "the target {name!r} holds whole numbers of 2⁶³ or more, which pages do "
                    "not keep: write them as words, or in a smaller unit.",
                    source,
                    name=column.name,
                )
            found, kind = column.cast(pl.Int64).to_numpy(), "i"
        elif column.dtype.is_numeric():
            if column.dtype.is_decimal():
                refuse_inexact(column.to_numpy(), "target", f"the target {column.name!r}")
            found, kind = column.cast(pl.Float64).to_numpy(), "f"
        else:
            words = column.cast(pl.String)
            for word in words.unique(maintain_order=True).to_list():
                self.labels.setdefault(word, len(self.labels))
            codes = words.replace_strict(self.labels, return_dtype=pl.Int32)
            found, kind = codes.to_numpy(), "U"
        if self.target_kind and kind != self.target_kind and isinstance(self.reading.target, str):
            raise DataFileError(
                "the target {name!r} has another type here than in the first file.",
                source,
                name=column.name,
            )
        self.target_kind = kind
        return np.asarray(found)

    # ---- LibSVM --------------------------------------------------------------------------------

    def _sparse_parts(self) -> Iterator[RowBatch]:
        most = LARGEST_INDEX + 1  # which indices are too large is told when all are known
        self.target_kind = "f"
        for file in self.files:
            with open_bytes(file) as stream:
                pairs = libsvm_batches(
                    stream, n_features=most, zero_based=True, source=source_name(file)
                )
                for rows, y in pairs:
                    if rows.nnz:
                        self.lowest = min(self.lowest, int(rows.indices.min()))
                        self.largest = max(self.largest, int(rows.indices.max()))
                    first, self.n_rows = self.n_rows, self.n_rows + len(y)
                    X = self._as_kept(rows, source_name(file))
                    yield RowBatch(np.arange(first, self.n_rows), X, y, None)

    def settled(self, X: Matrix) -> Matrix:
        """Return rows with their columns as they are counted at last: in LibSVM files from one or
        zero."""
        if not sparse.issparse(X):
            return X
        first = 1 if self._counts_from_one() else 0
        shape = (X.shape[0], self.width())
        return sparse.csr_matrix((X.data, X.indices - np.int32(first), X.indptr), shape=shape)

    def _counts_from_one(self) -> bool:
        given = self.reading.zero_based
        return self.lowest >= 1 if given == "auto" else not given

    def kind_of_target(self) -> str:
        """Name the kind as NumPy does: b, i, f, or U for codes of labels; w for whole numbers as
        text."""
        text = all(kind == "csv" for kind in self.kinds)
        return "w" if text and self.whole and self.target_kind == "f" else self.target_kind

    def zero_based(self) -> bool | None:
        """Tell how LibSVM files count their features; None of others."""
        return not self._counts_from_one() if self.sparse else None

    def width(self) -> int:
        """Return the number of columns of X, when all rows have been read."""
        if not self.sparse:
            return len(self.names or [])
        return self.reading.n_features or self._largest_column()

    def _largest_column(self) -> int:
        return max(0, self.largest + (0 if self._counts_from_one() else 1))

    def refuse_width(self) -> None:
        """Raise if the indices of LibSVM files are not those of the columns that are expected."""
        source, most = str(self.files[0]), self.reading.n_features
        if not self.width():
            raise DataFileError("none of its rows has a feature.", source)
        if self.sparse and self._counts_from_one() and self.lowest < 1:
            raise DataFileError("it has an index 0, and indices are said to begin at one.", source)
        if self.sparse and most is not None and self._largest_column() > most:
            raise DataFileError(
                "it has features up to number {width}, and only {most} are expected.",
                source,
                width=self._largest_column(),
                most=most,
            )


def without(table: Table, reading: DecodingOptions) -> Table:
    """Return the table without the columns, and the rows, that are to be left out."""
    frame = table.features
    frame = frame.drop([name for name in reading.drop if name in frame.columns])
    if reading.without_target == "drop":
        for name in (name for name in reading.targets if name in frame.columns):
            there = frame[name].is_not_null()
            if frame[name].dtype.is_float():
                there = there & frame[name].is_not_nan()
            frame = frame.filter(there)
    elif reading.without_target != "error":
        raise ParameterError(
            "without_target",
            f"without_target must be 'error' or 'drop': {reading.without_target!r}.",
        )
    return replace(table, features=frame)


def row_group_bytes(file: Path) -> float:
    """Estimate how much a row group of a Parquet file is in memory; it is read in one piece."""
    try:
        types = polars().scan_parquet(file, glob=False).collect_schema().dtypes()
    except polars_errors():
        return 0.0
    return float(rows_of_a_group(file) * sum(map(_cell_bytes, types)))


def _cell_bytes(dtype: Any) -> int:
    """Count the bytes of a number as its type says; sixteen for a word."""
    bits = re.search(r"\d+$", str(dtype))
    if not dtype.is_numeric():
        return 16
    return int(bits[0]) // 8 if bits else 8


def decoded_bytes(file: Path, kind: str) -> float:
    """Estimate how much a file is as numbers: eight bytes for a number, twice as much for a word.

    A word becomes a column for each value that comes often, and which do is not known yet.
    """
    if kind in ("parquet", "arrow"):
        pl = polars()
        damage: tuple[type[BaseException], ...] = (DataFileError, *polars_errors())
        try:
            lazy = scanned(file, kind, str(file))
            rows = lazy.select(pl.len()).collect().item()
            types = lazy.collect_schema().dtypes()
        except damage:
            return 0.0  # damaged, as its reader will say
        return float(8 * rows * sum(1 if dtype.is_numeric() else 2 for dtype in types))
    with open_bytes(file) as stream:
        head = stream.read(HEAD_BYTES)
    # Compressed text is some five times as long.
    size = file.stat().st_size * (5.0 if is_compressed(file) else 1.0)
    found = _libsvm_bytes(head) if kind == "libsvm" else _text_bytes(head)
    return found * size / max(1, len(head))


def _libsvm_bytes(head: bytes) -> float:
    """Count the bytes of the entries of some lines as a CSR matrix, with a label and a pointer for
    each row."""
    return 12.0 * head.count(b":") + 16.0 * (head.count(b"\n") + 1)


def _text_bytes(head: bytes) -> float:
    """Count the bytes of the cells of some lines; the separator is the sign that comes most often
    in the first."""
    lines = head.splitlines() or [b""]
    some = [line.decode("latin-1") for line in lines[:LINES_FOR_CELLS]]
    unquoted = re.sub('"[^"]*"', "", some[0])
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # what is wrong is told when all of it is read
        rows.extend(csv.reader(some, delimiter=max(",;\t|", key=unquoted.count)))
    columns = [*zip_longest(*(rows[1:] or rows), fillvalue="")]
    width = len(columns) + sum(map(_holds_words, columns))
    # A cell may go over several lines, of which a row has as many here as elsewhere.
    return 8.0 * width * len(rows) * len(lines) / len(some)


def _holds_words(column: Sequence[str]) -> bool:
    """Tell whether most cells of a column, of those that hold something, are no numbers."""
    numbers = [looks_like_a_number(cell) for cell in column if cell.strip()]
    return 2 * sum(numbers) < len(numbers)


def _numbers(frame: DataFrame, names: Sequence[str], first: int, source: str) -> AnyArray:
    """Return some columns as a matrix, none of whose cells is missing."""
    part = frame.select(names)
    for name in names:
        column = part[name]
        if column.null_count():
            row = first + int(column.is_null().arg_true()[0]) + 1
            raise DataFileError(
                "the column {name!r} has a missing value in row {row}: leave such rows "
                "out, or give a fitted Preparation that fills them in.",
                source,
                name=name,
                row=row,
            )
        if column.dtype.is_integer() or column.dtype.is_decimal():
            refuse_inexact(column.to_numpy(), name, f"the column {name!r}")
    same = {str(dtype) for dtype in part.dtypes} == {"Float32"}
    kind = np.float32 if same else np.float64
    values = np.ascontiguousarray(part.to_numpy(), dtype=kind)
    if not np.isfinite(values).all():
        row, place = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
        raise DataFileError(
            "the column {name!r} holds {value} in row {row}: leave such rows out.",
            source,
            name=names[place],
            value=values[row, place],
            row=first + row + 1,
        )
    return values
