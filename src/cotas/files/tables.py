"""Tables of data from files of every common kind, whole or in batches.

CSV and its relatives, Parquet, Arrow (Feather), LibSVM and NumPy's .npz; gzip and zstandard around
the text formats; "-" for standard input. What a file is, is told from its first bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cotas.arrays import AnyArray
from cotas.files.compression import MAX_BYTES, Place, on_disk, open_bytes, source_name
from cotas.files.csv_tables import csv_batches, first_line, polars, polars_errors, read_csv
from cotas.files.formats import tell_format
from cotas.files.libsvm import libsvm_batches, read_sparse
from cotas.files.numpy_tables import read_npz
from cotas.files.problems import DataFileError


@dataclass(frozen=True)
class Table:
    """What was read: columns with names and types, or a matrix of numbers.

    Attributes
    ----------
    features : polars DataFrame, array or CSR matrix
    target : array or None
        The labels that LibSVM and .npz files carry, or the column split off by `with_target`.
    source, format : str
    target_name : str or None
    zero_based : bool or None
        How the indices of a LibSVM file were counted.
    """

    features: Any
    target: AnyArray | None
    source: str
    format: str
    target_name: str | None = None
    zero_based: bool | None = None

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.features.shape[0])

    @property
    def n_columns(self) -> int:
        """How many columns besides the target."""
        return int(self.features.shape[1])

    @property
    def has_names(self) -> bool:
        """Whether the features are columns with names rather than a matrix."""
        return hasattr(self.features, "columns")

    @property
    def names(self) -> list[str]:
        """The names of the columns; x0, x1, … for a matrix."""
        if self.has_names:
            return list(self.features.columns)
        return [f"x{j}" for j in range(self.n_columns)]

    def with_target(self, name: str | None) -> Table:
        """The same table with that column as its target; None keeps the labels of the file."""
        if name is None or not self.has_names:
            if self.target is None:
                raise DataFileError(
                    "which column is to be predicted? Name it as the target; there are "
                    f"{_some(self.names)}.",
                    self.source,
                )
            if name is not None and name != self.target_name:
                raise DataFileError(
                    f"there is no column {name!r}: this kind of file carries its labels itself, "
                    "so leave the target out.",
                    self.source,
                )
            return self
        if name not in self.features.columns:
            raise DataFileError(
                f"there is no column {name!r}; there are {_some(self.names)}.", self.source
            )
        column = self.features[name]
        if column.null_count():
            row = int(column.is_null().arg_true()[0]) + 1
            raise DataFileError(
                f"the target {name!r} is missing in {column.null_count()} rows, first in row "
                f"{row}. Leave those rows out.",
                self.source,
            )
        target = column.cast(polars().String) if _is_category(column) else column
        features = self.features.drop(name)
        return replace(self, features=features, target=target.to_numpy(), target_name=name)

    def without(self, names: list[str]) -> Table:
        """The same table without these columns."""
        unknown = [name for name in names if name not in self.names]
        if unknown or not self.has_names:
            raise DataFileError(
                f"there is no column {(unknown or names)[0]!r} to leave out; there are "
                f"{_some(self.names)}.",
                self.source,
            )
        return replace(self, features=self.features.drop(names))


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    max_bytes: int = MAX_BYTES,
) -> Table:
    """Read a table from a file or from standard input.

    Parameters
    ----------
    path : str or Path
        "-" is standard input. gzip and zstandard are undone on the way.
    target : str, optional
        The column to be predicted. LibSVM files, and .npz files with an array `y`, carry it.
    format : {"csv", "parquet", "arrow", "libsvm", "npz"}, optional
        What the file is, if its first bytes should not decide.
    separator : str, optional
        Between the cells of a text table; comma, semicolon, tab, bar and space are recognized.
    header : bool, optional
        Whether the first line of a text table holds names.
    n_features : int, optional
    zero_based : bool or "auto"
        Of a LibSVM file; see `read_libsvm`.
    max_bytes : int, default 16 GiB
        The most that a compressed file may decompress to. Beyond 256 MiB it may besides be at
        most 200 times as large as it was.

    Returns
    -------
    Table

    Notes
    -----
    A text table on disk is mapped rather than read, so that memory holds the columns alone: eight
    bytes for each number. From standard input or compressed it is held as text besides.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "houses.csv"
    >>> _ = file.write_text("area;rooms;price\\n106,5;3;210\\n80;2;150\\n")
    >>> table = read_table(file, target="price")
    >>> table.names, table.features["area"].to_list(), table.target.tolist()
    (['area', 'rooms'], [106.5, 80.0], [210, 150])
    """
    source = source_name(path)
    place: Place = path
    if not on_disk(path):
        with open_bytes(path, max_bytes) as stream:
            place = stream.read()
    with open_bytes(place, max_bytes) as stream:
        kind = tell_format(path, stream, source, format)
    if kind == "libsvm":
        sparse_rows = read_sparse(place, source, n_features, zero_based, False, max_bytes, None)
        X, y, first = sparse_rows
        table = Table(X, y, source, kind, "label", first == 0)
    elif kind == "npz":
        X, labels = read_npz(place, source, max_bytes)
        table = Table(X, labels, source, kind, None if labels is None else "y")
    elif kind == "csv":
        frame = read_csv(place, separator=separator, header=header, max_bytes=max_bytes)
        table = Table(frame, None, source, kind)
    else:
        table = Table(_columnar(place, kind, source, max_bytes), None, source, kind)
    if table.n_rows == 0:
        raise DataFileError("it holds no rows.", source)
    return table if target is None else table.with_target(target)


def _columnar(place: Place, kind: str, source: str, max_bytes: int) -> Any:
    """A Parquet or Arrow file as a frame."""
    pl = polars()
    try:
        if on_disk(place):
            read = pl.read_parquet if kind == "parquet" else pl.read_ipc
            return read(Path(str(place)), **({"glob": False} if kind == "parquet" else {}))
        with open_bytes(place, max_bytes) as stream:
            data = io.BytesIO(stream.read())
        return pl.read_parquet(data) if kind == "parquet" else pl.read_ipc(data)
    except polars_errors() as error:
        raise DataFileError(f"it is damaged ({first_line(error)}).", source) from None


def batches(
    path: str | Path,
    rows: int = 100_000,
    *,
    types: Mapping[str, Any] | None = None,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Iterator[Table]:
    """The same table, some rows at a time and in order, for files larger than memory.

    Parameters
    ----------
    path : str or Path
        "-" is standard input.
    rows : int
        The most rows in a batch.
    types : mapping from names to polars types, optional
        For text tables, in which a batch cannot tell what the whole column is; columns without
        one are text.
    format, separator, header, n_features, max_bytes
        As for `read_table`; a LibSVM file needs `n_features`.
    zero_based : bool
        How a LibSVM file counts its features.

    Yields
    ------
    Table
    """
    source = source_name(path)
    with open_bytes(path, max_bytes) as stream:
        kind = tell_format(path, stream, source, format)
        if kind == "libsvm":
            if n_features is None:
                raise ValueError("n_features is needed to read a LibSVM file in batches.")
            pairs = libsvm_batches(
                stream, n_features=n_features, zero_based=zero_based, source=source
            )
            for X, y in pairs:
                for start in range(0, X.shape[0], rows):
                    span = slice(start, start + rows)
                    yield Table(X[span], y[span], source, kind, "label", zero_based)
            return
        if kind == "csv":
            frames = csv_batches(
                stream, rows, types, separator=separator, header=header, source=source
            )
            for frame in frames:
                yield Table(frame, None, source, kind)
            return
    if kind in ("parquet", "arrow") and on_disk(path):
        yield from _columnar_batches(Path(path), kind, source, rows)
        return
    whole = read_table(path, format=kind, max_bytes=max_bytes)
    for start in range(0, whole.n_rows, rows):
        span = slice(start, start + rows)
        labels = None if whole.target is None else whole.target[span]
        yield replace(whole, features=whole.features[span], target=labels)


def _columnar_batches(path: Path, kind: str, source: str, rows: int) -> Iterator[Table]:
    pl = polars()
    try:
        lazy = pl.scan_parquet(path, glob=False) if kind == "parquet" else pl.scan_ipc(path)
        for frame in lazy.collect_batches(chunk_size=rows, maintain_order=True):
            yield Table(frame, None, source, kind)
    except polars_errors() as error:
        raise DataFileError(f"it is damaged ({first_line(error)}).", source) from None


def _is_category(column: Any) -> bool:
    return str(column.dtype).startswith(("Categorical", "Enum"))


def _some(names: list[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"
