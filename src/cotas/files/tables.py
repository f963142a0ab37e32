"""Tables of data from files of every common kind, whole or in batches.

CSV and its relatives, JSON, Parquet, Arrow (Feather), spreadsheets, SQLite, LibSVM, NumPy's .npz;
gzip, zstandard and zip around the text formats; "-" for standard input; a pattern for many files.
What a file is, is told from its first bytes.
"""

from __future__ import annotations

import glob
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cotas.files.cells import understood
from cotas.files.claims import refuse_false_claims
from cotas.files.compression import (
    MAX_BYTES,
    USUAL,
    Limits,
    Place,
    on_disk,
    open_bytes,
    source_name,
)
from cotas.files.csv_dialect import Wishes, about_titles, tell_format
from cotas.files.csv_tables import csv_batches, read_csv, without_totals
from cotas.files.frames import first_line, is_category, polars, polars_errors
from cotas.files.names import names_among, without_twins
from cotas.files.other_tables import read_json, read_sheet, read_sqlite
from cotas.files.problems import DataFileError, damaged
from cotas.files.table import AsGiven, Table, table_of
from cotas.refusals import ParameterError

if TYPE_CHECKING:
    from polars import DataFrame


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    not_missing: Sequence[str] = (),
    categories: Sequence[str] = (),
    without_target: str = "error",
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    max_bytes: int = MAX_BYTES,
    max_columns: int | None = None,
    max_memory: int | None = None,
) -> Table:
    """Read a table from a file or from standard input.

    Parameters
    ----------
    path : str or Path
        "-" is standard input; "people.db::visits" is a table of an SQLite database, or a sheet of
        a spreadsheet; "2024-*.csv" are many files with the same columns, one under the other.
        gzip, zstandard and a zip with one file in it are undone on the way.
    target : str, optional
        The column to be predicted. LibSVM files, and .npz files with an array `y`, carry it.
    format : {"csv", "parquet", "arrow", "json", "excel", "sqlite", "libsvm", "npz"}, optional
        What the file is, if its first bytes should not decide.
    separator : str, optional
        Between the cells of a text table; comma, semicolon, tab, bar and space are recognized.
    header : bool, optional
        Whether the first line of a text table holds names.
    encoding : str, optional
        Of a text table; UTF-8, UTF-16, UTF-32 and the usual ones of Western languages are
        recognized.
    missing : sequence of str
        Words that stand for a missing value, besides the usual ones.
    not_missing : sequence of str
        Words that are values though they usually stand for a missing one, such as None.
    categories : sequence of str
        Columns that are read as text, also if they look like numbers; "a,b" are two.
    without_target : {"error", "drop"}
        What becomes of rows in which the target is missing.
    n_features : int, optional
    zero_based : bool or "auto"
        Of a LibSVM file; see `read_libsvm`.
    max_bytes : int, default 16 GiB
        The most that a compressed file may decompress to. Beyond 256 MiB it may besides be at
        most 200 times as large as it was.
    max_columns : int, optional
        The most columns; 100,000 if not given, and 10,000,000 for a matrix (LibSVM, .npz).
    max_memory : int, optional
        Bytes that the table may take, estimated before it is read; what the machine has if not
        given.

    Returns
    -------
    Table

    Notes
    -----
    A text table on disk is mapped rather than read, so that memory holds the columns alone: eight
    bytes for each number. From standard input or compressed it is held as text besides.

    Numbers may be written 1234.5, 1,234.5, 1.234,5, 1 234,5 or 1_234.5, with $, €, £ or %, with a
    Unicode minus or in parentheses for less than zero. A cell in a hundred of a column of numbers
    may be something else: it is taken as missing, and `Table.remarks` has its row. More of them are
    an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "houses.csv"
    >>> _ = file.write_text("area;rooms;price\\n106,5;3;210.000\\n80;2;150.500\\n")
    >>> table = read_table(file, target="price")
    >>> table.names, table.features["area"].to_list(), table.target.tolist()
    (['area', 'rooms'], [106.5, 80.0], [210000, 150500])
    """
    words = (tuple(missing), tuple(not_missing), tuple(categories))
    wishes = Wishes(separator, header, encoding, *words)
    limits = Limits(max_bytes, max_columns, max_memory)
    table = read_coded(path, wishes, limits, format, n_features, zero_based).in_words()
    table.refuse_names("category", categories)
    return table if target is None else table.with_target(target, without_target)


def read_coded(
    path: str | Path,
    wishes: Wishes = Wishes(),  # noqa: B008  # frozen
    limits: Limits = USUAL,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
) -> Table:
    """Read what `read_table` reads, with words that repeat as codes, for who asks about them
    often."""
    several = files_of(path)
    if several:
        parts = [_read(file, wishes, format, limits).in_words() for file in several]
        table = _joined(parts, str(path))
    else:
        table = _read(path, wishes, format, limits, n_features, zero_based)
    if table.n_rows == 0:
        raise DataFileError("it holds no rows.", table.source)
    return table


def files_of(path: str | Path) -> list[str]:
    """Return the files that a pattern such as data-*.csv stands for; none if it is no pattern."""
    if not glob.has_magic(str(path)) or not on_disk(path) or Path(path).exists():
        return []
    found = sorted(glob.glob(str(path), recursive=True))
    if not found:
        raise DataFileError("no file is called like this.", str(path))
    return found


def _joined(tables: list[Table], source: str) -> Table:
    """Return one table under the other; all must have the same columns, in any order."""
    first = tables[0]
    for table in tables[1:]:
        if not (first.has_names and table.has_names):
            raise DataFileError("only tables with named columns can be joined.", source)
        if set(table.names) != set(first.names):
            odd = sorted(set(table.names) ^ set(first.names))
            raise DataFileError(
                "its columns are not those of {first}: {odd}.",
                table.source,
                first=first.source,
                odd=odd,
            )
    pl = polars()
    try:
        frame = pl.concat([t.features.select(first.names) for t in tables], how="vertical_relaxed")
    except polars_errors():
        raise DataFileError(
            "a column holds numbers in one file and words in another.", source
        ) from None
    remarks = tuple(remark for table in tables for remark in table.remarks)
    commas = dict.fromkeys(name for table in tables for name in table.decimal_commas)
    return replace(
        first, features=frame, source=source, remarks=remarks, decimal_commas=tuple(commas)
    )


def part_of(path: str | Path) -> tuple[str | Path, str | None]:
    """Return the file and what is named in it: ("people.db", "visits") for "people.db::visits"."""
    file, colons, name = str(path).rpartition("::")
    if not colons or not on_disk(path) or Path(path).exists():
        return path, None
    return file, name


def _read(
    path: str | Path,
    wishes: Wishes,
    format: str | None,
    limits: Limits,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
) -> Table:
    """Return one file, whatever it is."""
    path, name = part_of(path)
    source = source_name(path)
    place: Place = path
    if not on_disk(path):
        with open_bytes(path, limits.text) as stream:
            place = limits.read(stream, source)
    with open_bytes(place, limits.decompressed) as stream:
        kind = tell_format(path, stream, source, format)
    wishes.refuse_unused(kind, source)
    if name is not None and kind not in ("sqlite", "excel"):
        raise DataFileError(
            "only databases and spreadsheets have parts such as {name!r}.", source, name=name
        )
    # What only matrices need is loaded for them alone.
    if kind == "libsvm":
        from cotas.files.libsvm import read_sparse

        X, y, first = read_sparse(place, source, n_features, zero_based, False, limits, None)
        return Table(X, y, source, kind, "label", first == 0)
    if kind == "npz":
        from cotas.files.numpy_tables import read_npz

        X, labels = read_npz(place, source, limits)
        return Table(X, labels, source, kind, None if labels is None else "y")
    if kind == "csv":
        return read_csv(place, wishes, limits=limits)
    if kind in ("parquet", "arrow"):
        frame = _without(_columnar(place, kind, source, limits), wishes.missing)
        frame = _as_text(frame, names_among(wishes.words, frame.columns, source))
        return Table(frame, None, source, kind)
    return _loose(place, kind, name, source, wishes, limits)


def _loose(
    place: Place, kind: str, name: str | None, source: str, wishes: Wishes, limits: Limits
) -> Table:
    """Return formats in which numbers may be written as text."""
    titles = 0
    if kind == "json":
        frame = read_json(place, source, limits)
    elif kind == "excel":
        frame, titles = read_sheet(place, name, source, limits)
    elif on_disk(place):
        frame = read_sqlite(Path(str(place)), name, source)
    else:
        raise DataFileError("a database is read from its file only.", source)
    limits.check_shape(frame.height, frame.width, source)
    called = [name.strip() or f"column_{j}" for j, name in enumerate(frame.columns, 1)]
    names, renamed = without_twins(called)
    words = names_among(wishes.words, names, source)
    frame = _as_text(frame.rename(dict(zip(frame.columns, names, strict=True))), words)
    known, said = without_totals(_without(frame, wishes.missing))
    found = understood(known, False, source, wishes.gone, words)
    noted = (*about_titles(titles), *renamed, *said)
    return replace(table_of(found, source, kind, noted), given=AsGiven(frame.head(known.height)))


def _as_text(frame: DataFrame, names: list[str]) -> DataFrame:
    """Return the frame with these columns as text."""
    pl = polars()
    return frame.with_columns(pl.col(names).cast(pl.String)) if names else frame


def _without(frame: DataFrame, missing: Sequence[str]) -> DataFrame:
    """Return the frame with null in the place of these words, and of these numbers in columns of
    such."""
    if not missing:
        return frame
    pl = polars()
    numbers = pl.Series(list(missing), dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    text = [column.name for column in frame if column.dtype == pl.String or is_category(column)]
    counted = [column.name for column in frame if column.dtype.is_numeric()]
    word = pl.col(text).cast(pl.String).is_in(list(missing))
    number = pl.col(counted).cast(pl.Float64).is_in(numbers.to_list())
    kept = [pl.when(~word).then(pl.col(text))] if text else []
    kept += [pl.when(~number).then(pl.col(counted))] if counted else []
    return frame.with_columns(kept)


def _columnar(place: Place, kind: str, source: str, limits: Limits) -> DataFrame:
    """Return a Parquet or Arrow file as a frame."""
    pl = polars()
    held: Any = Path(str(place))
    if not on_disk(place):
        with open_bytes(place, limits.text) as stream:
            held = io.BytesIO(limits.read(stream, source))
    with _whole(source):
        lazy = scanned(held, kind, source, limits)
        rows = lazy.select(pl.len()).collect().item()
        limits.check_shape(rows, len(lazy.collect_schema()), source)
        frame: DataFrame = lazy.collect()
    return frame


def reading_options(given: Mapping[str, Any]) -> tuple[Wishes, Limits]:
    """Read how a table is written and what it may take, from arguments that `read_table` has
    too."""
    sizes = {"max_bytes": "decompressed", "max_columns": "columns", "max_memory": "memory"}
    limits = Limits(**{sizes[name]: size for name, size in given.items() if name in sizes})
    wishes = {name: value for name, value in given.items() if name not in sizes}
    return Wishes(words=tuple(wishes.pop("categories", ())), **wishes), limits


def batches(
    path: str | Path,
    rows: int = 100_000,
    *,
    types: Mapping[str, Any] | None = None,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    **given: Any,
) -> Iterator[Table]:
    """Yield the same table, some rows at a time and in order, for files larger than memory.

    Parameters
    ----------
    path : str or Path
        "-" is standard input.
    rows : int
        The most rows in a batch.
    types : mapping from names to polars types, optional
        For text tables, in which a batch cannot tell what the whole column is; columns without
        one are text.
    format, n_features : as for `read_table`; a LibSVM file needs `n_features`
    zero_based : bool
        How a LibSVM file counts its features.
    **given : how text tables are written, and limits, as for `read_table`
        And `decimal_commas`, the columns whose numbers have one, where the first rows do not tell.

    Yields
    ------
    Table
    """
    wishes, limits = reading_options(given)
    several: list[str | Path] = [*files_of(path)]
    for file in several or [path]:
        yield from _batches(file, rows, types, wishes, format, n_features, zero_based, limits)


def _batches(
    path: str | Path,
    rows: int,
    types: Mapping[str, Any] | None,
    wishes: Wishes,
    format: str | None,
    n_features: int | None,
    zero_based: bool,
    limits: Limits,
) -> Iterator[Table]:
    """Yield the batches of one file."""
    file, _ = part_of(path)
    source = source_name(file)
    with open_bytes(file, limits.decompressed) as stream:
        kind = tell_format(file, stream, source, format)
        wishes.refuse_unused(kind, source)
        if kind == "libsvm":
            if n_features is None:
                raise ParameterError(
                    "n_features", "n_features is needed to read a LibSVM file in batches."
                )
            from cotas.files.libsvm import libsvm_batches

            pairs = libsvm_batches(
                stream, n_features=n_features, zero_based=zero_based, source=source
            )
            for X, y in pairs:
                for start in range(0, X.shape[0], rows):
                    span = slice(start, start + rows)
                    yield Table(X[span], y[span], source, kind, "label", zero_based)
            return
        if kind == "csv":
            yield from csv_batches(stream, rows, types, wishes, source=source, limits=limits)
            return
    if kind in ("parquet", "arrow") and on_disk(file):
        for table in _columnar_batches(Path(file), kind, source, rows, limits):
            kept = _without(table.features, wishes.missing)
            yield replace(table, features=kept, given=AsGiven(table.features))
        return
    whole = _read(path, wishes, kind, limits)
    for start in range(0, whole.n_rows, rows):
        span = slice(start, start + rows)
        labels = None if whole.target is None else whole.target[span]
        cells = None if whole.given is None else whole.given.span(start, rows)
        yield replace(whole, features=whole.features[span], target=labels, given=cells)


def scanned(place: Path | io.BytesIO, kind: str, source: str, limits: Limits = USUAL) -> Any:
    """Return a Parquet or Arrow file of which only the description was read so far."""
    pl = polars()
    if kind == "parquet":
        return pl.scan_parquet(place, glob=False)
    refuse_false_claims(place, source, limits)
    return pl.scan_ipc(place)


def _columnar_batches(
    path: Path, kind: str, source: str, rows: int, limits: Limits
) -> Iterator[Table]:
    with _whole(source):
        lazy = scanned(path, kind, source, limits)
        limits.check_columns(len(lazy.collect_schema()), source)
        for frame in lazy.collect_batches(chunk_size=rows, maintain_order=True):
            yield Table(frame, None, source, kind)


@contextmanager
def _whole(source: str) -> Iterator[None]:
    """Say of a file that polars cannot read that it is damaged."""
    try:
        yield
    except polars_errors() as error:
        raise damaged(first_line(error), source) from None
