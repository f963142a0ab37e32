"""A table that was read: columns with names and types, or a matrix, and its rows as they came."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import AnyArray, IntArray
from cotas.files.cells import Understood
from cotas.files.csv_dialect import Dialect
from cotas.files.dates import without_odd_cells
from cotas.files.frames import in_words, is_category, is_text, polars
from cotas.files.names import names_among, no_column, some
from cotas.files.problems import DataFileError, Remark, UnusedWishError, asked, remark
from cotas.refusals import ParameterError
from cotas.words import in_one, say

if TYPE_CHECKING:
    from polars import DataFrame, Series

# A column with such a name is what is to be predicted, if nothing is said.
TARGETS = ("target", "label", "class", "y", "outcome", "response", "objetivo", "clase", "etiqueta")


@dataclass(frozen=True)
class Table:
    """A table that was read: columns with names and types, or a matrix of numbers.

    Attributes
    ----------
    features : polars DataFrame, array or CSR matrix
    target : array or None
        The labels that LibSVM and .npz files carry, or the column split off by `with_target`.
    source, format : str
    target_name : str or None
    zero_based : bool or None
        How the indices of a LibSVM file were counted.
    remarks : tuple of Remark
        What was noticed while it was read, such as cells that are no numbers.
    decimal_commas : tuple of str
        The columns of numbers that were written with a decimal comma.
    written : dict
        By name, what was written of a few numbers or truth values, such as "$5" or "TRUE".
    given : AsGiven or None
        Of a batch, its rows before anything in them was understood.
    """

    features: Any
    target: AnyArray | None
    source: str
    format: str
    target_name: str | None = None
    zero_based: bool | None = None
    remarks: tuple[Remark, ...] = ()
    decimal_commas: tuple[str, ...] = ()
    written: dict[str, Any] = field(default_factory=dict, repr=False)
    given: AsGiven | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        """Tell how many rows there are."""
        return int(self.features.shape[0])

    @property
    def n_columns(self) -> int:
        """Tell how many columns besides the target."""
        return int(self.features.shape[1])

    @property
    def has_names(self) -> bool:
        """Tell whether the features are columns with names rather than a matrix."""
        return hasattr(type(self.features), "columns")  # polars makes the list anew each time

    @property
    def names(self) -> list[str]:
        """Return the names of the columns; x0, x1, … for a matrix."""
        if self.has_names:
            return list(self.features.columns)
        return [f"x{j}" for j in range(self.n_columns)]

    def take(self, rows: IntArray) -> Table:
        """Return some rows, given by number, without their targets."""
        if not self.has_names or np.any(np.diff(rows) <= 0):
            features = self.features[rows]
        else:
            chosen = np.zeros(self.n_rows, dtype=np.bool_)
            chosen[rows] = True
            features = self.features.filter(chosen)  # several times as fast as by number
        return replace(self, features=features, target=None, written={})

    def predicting(
        self, target: str | None, drop: Sequence[str], text: Sequence[str], without: str
    ) -> Table:
        """Return the table with the target that people named, or that it seems to have.

        In columns of dates the few cells that are none are missing. It is done before rows are told
        apart: all are held to one measure, in the rows of the file.

        Parameters
        ----------
        target : str or None
            The name or the number of a column.
        drop, text : columns that are left out, and those that stay text
        without : as for `with_target`
        """
        name, said = self.called(target, drop)
        columns, remarks = [], [*said, *self.remarks]
        if self.has_names:
            self._refuse_infinite(name)
        for column in self.features if self.has_names else ():
            if is_text(column) and column.name not in (*text, name):
                column, odd = without_odd_cells(column)
                if odd is not None:
                    columns.append(column)
                    remarks.append(odd)
        features = self.features.with_columns(columns) if columns else self.features
        return replace(self, features=features, remarks=tuple(remarks)).with_target(name, without)

    def called(self, target: str | None, drop: Sequence[str]) -> tuple[str | None, list[Remark]]:
        """Return the name of the column to predict; if none was named, what is said of the choice.

        A column without a name can be called by its number, the last one by -1. Where none is named
        it is the one that is called so, or the last.
        """
        if not self.has_names or (target is None and self.target is not None):
            return target, []
        if target is not None:
            return self._by_number(target), []
        dropped = set(names_among(drop, self.names))
        # The last column of lines that end in a separator has neither a name nor values.
        nameless = {f"column_{k}" for k in range(1, len(self.names) + 1)}
        names = [
            name
            for name in self.names
            if name not in dropped
            and not (name in nameless and self.features[name].null_count() == self.n_rows)
        ]
        if len(names) < 2:
            words = "it has one column only; there is nothing to learn from."
            raise DataFileError(words, self.source)
        told = [name for name in names if name.lower() in TARGETS]
        chosen = told[0] if len(told) == 1 else names[-1]
        words = (
            "No target was named: {name!r} is predicted, for its name ({how} NAME for another)."
            if len(told) == 1
            else "No target was named: {name!r} is predicted, the last column ({how} NAME for "
            "another)."
        )
        return chosen, [remark(words, "target", chosen, how=asked("target"))]

    def _by_number(self, target: str) -> str:
        names = self.names
        if target in names or not re.fullmatch(r"\s*[+-]?\d+\s*", target):
            return target
        number = int(target)
        if number == 0 or abs(number) > len(names):
            raise UnusedWishError(
                "there is no column number {number}: they count from 1 to {count}, or back from "
                "-1.",
                number=number,
                count=len(names),
            )
        return names[number - 1 if number > 0 else number]

    def _refuse_infinite(self, target: str | None) -> None:
        """Raise for an infinite target while its row is still that of the file."""
        column = self.features[target] if target in self.names else None
        if column is None or not column.dtype.is_float() or not column.is_infinite().any():
            return
        raise DataFileError(
            "the target {name!r} holds an infinite number in row {row}: correct it, or leave the "
            "cell empty, as rows without a target are left out.",
            self.source,
            name=target,
            row=int(column.is_infinite().arg_true()[0]) + 1,
        )

    def with_target(self, name: str | None, without: str = "error") -> Table:
        """Return the same table with that column as its target; None keeps the labels of the file.

        Parameters
        ----------
        name : str or None
        without : {"error", "drop"}
            What becomes of rows in which the target is missing.
        """
        if name is None or not self.has_names:
            if self.target is None:
                raise DataFileError(
                    "which column is to be predicted? Name it as the target; there are {names}.",
                    self.source,
                    names=some(self.names),
                )
            if name is not None and name != self.target_name:
                raise DataFileError(
                    "there is no column {name!r}: this kind of file carries its labels "
                    "itself, so leave the target out.",
                    self.source,
                    name=name,
                )
            return self
        if name not in self.features.columns:
            raise DataFileError(no_column(name, self.names), self.source)
        whole, remarks = self._with_targets_only(name, without)
        written = {name: self.written[name]} if name in self.written else {}
        if written and whole.height < self.n_rows:
            written = {name: written[name].filter(is_there(self.features[name]))}
        pl, column = polars(), whole[name]
        target = column.cast(pl.String) if is_category(column) else column
        if target.dtype == pl.Int128:  # which NumPy does not know
            target = target.cast(pl.UInt64 if _fits(target, 0, 2**64) else pl.String)
        return replace(
            self,
            features=whole.drop(name),
            target=target.to_numpy(),
            target_name=name,
            remarks=(*self.remarks, *remarks),
            written=written,
        )

    def _with_targets_only(self, name: str, without: str) -> tuple[Any, list[Remark]]:
        """Return the rows that have a target, and what is to be said of the others."""
        if without not in ("error", "drop"):
            raise ParameterError("without", f"without must be 'error' or 'drop', not {without!r}.")
        missing = ~is_there(self.features[name])
        count = int(missing.sum())
        if count == 0:
            return self.features, []
        row = int(missing.arg_true()[0]) + 1
        if without == "error" or count == self.n_rows:
            raise DataFileError(
                "the target {name!r} is missing in {count} of {rows} rows, first in row "
                "{row}. Leave those rows out ({how})."
                if count < self.n_rows
                else "the target {name!r} is missing in all {rows} rows.",
                self.source,
                how=asked("rows-without-target", "drop"),
                name=name,
                count=count,
                rows=self.n_rows,
                row=row,
            )
        words = say(
            "The target {name!r} is missing in {count} of {rows} rows, first in row {row}; they "
            "are left out.",
            name=name,
            count=count,
            rows=self.n_rows,
            row=row,
        )
        if is_text(self.features[name]):
            kept = asked("not-missing", "None")
            more = say("If a word such as None is a class, {how} keeps it.", how=kept)
            words = in_one([words, more])
        return self.features.filter(~missing), [Remark("without target", name, words)]

    def in_words(self) -> Table:
        """Return the same table with the text of its coded columns."""
        return replace(self, features=in_words(self.features)) if self.has_names else self

    def refuse_names(self, option: str, names: Sequence[str] | None) -> None:
        """Raise if columns of a matrix are named."""
        if names and not self.has_names:
            words = say("{how} is about columns with names; this is a matrix.", how=asked(option))
            raise UnusedWishError(words, self.source)

    def without(self, names: list[str]) -> Table:
        """Return the same table without these columns; "a,b" are two."""
        if not self.has_names:
            raise DataFileError(
                "it has no column {name!r}: it is a matrix.", self.source, name=names[0]
            )
        names = names_among(names, self.names, self.source)
        stays = tuple(remark for remark in self.remarks if remark.column not in names)
        return replace(self, features=self.features.drop(names), remarks=stays)


def table_of(found: Understood, source: str, format: str, noted: Iterable[Remark]) -> Table:
    """Make the table of a frame whose text was read; `noted` comes before the remarks on its
    cells."""
    remarks = (*noted, *found.remarks)
    how: dict[str, Any] = {"decimal_commas": found.commas, "written": found.written}
    return Table(found.frame, None, source, format, remarks=remarks, **how)


def _fits(numbers: Any, low: int, high: int) -> bool:
    """Tell whether whole numbers lie between these, the upper one excluded."""
    return bool(low <= numbers.min() and numbers.max() < high)


def is_there(column: Series) -> Series:
    """Tell where a value is not missing."""
    there = column.is_not_null()
    return there & column.is_not_nan().fill_null(False) if column.dtype.is_float() else there


# ---- tables given back as they came: their own cells, with more columns beside them --------------


def rows_of_text(text: bytes, quote: str = '"') -> list[bytes]:
    """Return the rows of a text table without their line ends; one between quotes ends no row.

    >>> rows_of_text(b'a,"b' + bytes([10]) + b'c"' + bytes([10, 10]) + b"d,e")
    [b'a,"b\\nc"', b'd,e']
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    outside = np.cumsum(letters == ord(quote)) % 2 == 0
    ends = [*np.flatnonzero((letters == ord("\n")) & outside).tolist(), len(text)]
    rows = (text[start:end] for start, end in zip([0, *(k + 1 for k in ends)], ends, strict=False))
    return [row.removesuffix(b"\r") for row in rows if row.strip(b"\r\n")]


@dataclass
class TextBlock:
    """A piece of a text table in UTF-8 that ends where a row ends."""

    text: bytes
    dialect: Dialect
    header: bool

    @cached_property
    def rows(self) -> list[bytes]:
        """Return the rows that are not blank, and the names first where they are there."""
        return rows_of_text(self.text, self.dialect.quote)

    @property
    def line_end(self) -> bytes:
        """Return what ends a line."""
        return b"\r\n" if b"\r\n" in self.text[: 2 + self.text.find(b"\n")] else b"\n"

    def written(self, frame: DataFrame) -> list[bytes]:
        """Return the names and rows of a frame in the same dialect."""
        how = self.dialect
        commas = how.decimal_comma and how.separator != ","
        style: dict[str, Any] = {
            "separator": how.separator,
            "quote_char": how.quote,
            "decimal_comma": commas,
        }
        return rows_of_text(frame.write_csv(**style).encode(), how.quote)


@dataclass(frozen=True)
class AsGiven:
    """Some rows of a table before anything in them was understood.

    Attributes
    ----------
    cells : polars DataFrame
    block : Block or None
        Where they stand, of a text table.
    start : int
        The first of them in the block.
    """

    cells: Any
    block: TextBlock | None = None
    start: int = 0

    def span(self, start: int, rows: int) -> AsGiven:
        """Return some of these rows."""
        return AsGiven(self.cells[start : start + rows], self.block, self.start + start)

    @property
    def names(self) -> bytes | None:
        """Return the line with the names of the columns, where it stands in the block."""
        return self.block.rows[0] if self.block is not None and self.block.header else None

    @property
    def lines(self) -> list[bytes] | None:
        """Return the rows as they are written; None where lines and rows do not go together."""
        if self.block is None:
            return None
        first = self.start + self.block.header
        lines = self.block.rows[first : first + self.cells.height]
        return lines if len(lines) == self.cells.height else None
