"""Numbers as people write them into cells: 1,234.50, 1.234,50, $5, (12), 7 %, 1_000, −3.

The decimal sign is told column by column: 1,5 can only have a decimal comma, 1,234.5 only a decimal
point. Where a column does not tell (1,234) the rest of the file does.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cotas.arrays import IntArray
from cotas.files.frames import changed, different_words, is_coded, is_text, polars, uncoded
from cotas.files.problems import DataFileError, Remark, asked, leaving_out, remark
from cotas.words import in_one, say

if TYPE_CHECKING:
    from polars import DataFrame, Series

# Words that stand for a value that is not there.
MISSING = (
    *("", "NA", "N/A", "n/a", "n.a.", "N.A.", "NaN", "nan", "null", "NULL", "None", "none"),
    *("?", "-", "--", ".", "#N/A", "<NA>", "NaT"),
)
# Cells of a column of numbers that may be something else, as a share of those that are not empty.
FEW_CELLS = 0.01
# A column with no more different values than this may be a category, whatever they look like.
FEW_WORDS = 20
# Different values from which it is told whether a column of words could be one of numbers.
SOME_VALUES = 1000
SHOWN = 5

_MINUS = "[\u2212\ufe63\uff0d\u2013]"
MONEY = r"(?:[$€£¥₹₩₽]|US\$|USD|EUR|GBP)"
_SPACES = r" \x{a0}\x{202f}'’"
_ONE_SPACE = f"[{_SPACES}]"
_EXPONENT = r"(?:[eE][+-]?\d+)?"


_FOREIGN_DIGIT = r"[\p{Nd}&&[^0-9]]"


@cache
def _digits() -> dict[str, str]:
    """Write the digits of other scripts, and Arabic's decimal and thousands signs, as ours."""
    letters = map(chr, range(128, sys.maxunicode + 1))
    found = {x: str(unicodedata.digit(x)) for x in letters if unicodedata.category(x) == "Nd"}
    return found | {"\u066b": ".", "\u066c": ","}


def _pattern(thousands: str, decimal: str) -> str:
    """Return a whole number, in groups of three or not, and decimals."""
    groups = "|".join(
        rf"\d{{1,3}}(?:{mark}\d{{3}})+" for mark in (re.escape(thousands), "_", _ONE_SPACE)
    )
    point = re.escape(decimal)
    return rf"^[+-]?(?:(?:{groups}|\d+){point}?\d*|{point}\d+){_EXPONENT}$"


# What is only possible with one of the two decimal signs: "," below stands for that sign.
_SURE = (
    r"^\D*(?:\d+{d}(?:\d{{1,2}}|\d{{4,}})|\d{{4,}}{d}\d{{3}}|0+{d}\d+|{d}\d+"
    r"|\d{{1,3}}(?:{t}\d{{3}})+{d}\d+|\d{{1,3}}(?:{t}\d{{3}}){{2,}})\D*$"
)
SURE_COMMA = _SURE.format(d=",", t=r"\.")
SURE_POINT = _SURE.format(d=r"\.", t=",")
_WITH_POINT, _WITH_COMMA = _pattern(",", "."), _pattern(".", ",")
_EITHER = re.compile(
    rf"\(?\s*[+\-−–]?\s*{MONEY}?\s*[+\-−–]?(?:\d[\d.,_ '’\u00a0\u202f]*|[.,]\d+){_EXPONENT}"
    rf"\s*(?:{MONEY}|%)?\s*\)?"
)


def looks_like_a_number(cell: str) -> bool:
    """Tell whether a cell could be a number in one of the ways of writing them."""
    return bool(_EITHER.fullmatch(cell.strip()))


def plain_numbers(words: Series, comma: bool) -> Series:
    """Return the words as numbers are written in programs; None where a word is no number."""
    pl = polars()
    name = words.name
    cell = pl.col(name).str.strip_chars().str.replace_all(_MINUS, "-")
    if words.str.contains(_FOREIGN_DIGIT).any():
        cell = cell.str.replace_many(list(_digits()), list(_digits().values()))
    cell = cell.str.replace(r"^\((\d.*|[$€£¥].*)\)$", "-${1}")
    cell = cell.str.replace(rf"^([+-]?)\s*{MONEY}\s*([+-]?)", "${1}${2}")
    cell = cell.str.replace(rf"\s*(?:{MONEY}|%)$", "")
    sound = cell.str.contains(_WITH_COMMA if comma else _WITH_POINT)
    groups = rf"[._{_SPACES}]" if comma else rf"[,_{_SPACES}]"
    bare = cell.str.replace_all(groups, "")
    bare = bare.str.replace(",", ".", literal=True) if comma else bare
    return words.to_frame().select(pl.when(sound).then(bare).alias(name)).to_series()


def numbers_of_words(words: Series, comma: bool) -> Series:
    """Return the words as doubles, null where a word is no number."""
    return plain_numbers(words, comma).cast(polars().Float64, strict=False)


class ColumnReading(NamedTuple):
    """A reading: how a column of words is to be read: as numbers with a comma or a point, or as
    words."""

    numbers: bool
    comma: bool = False


def tell_readings(
    columns: Iterable[Any], comma: bool, commas: Collection[str] = ()
) -> dict[str, ColumnReading]:
    """Tell by name how columns of words are read: as numbers, if most of their different words are;
    else words.

    All are asked at once: to prepare the patterns takes longer than to look for them.

    Parameters
    ----------
    columns : columns of text, with different names
    comma : bool
        Whether numbers have a decimal comma, where a column does not tell.
    commas : collection of str
        Columns that are known to have one, where they do not tell themselves.
    """
    pl = polars()
    some = {
        column.name: uncoded(column.drop_nulls().unique(maintain_order=True).head(SOME_VALUES))
        for column in columns
    }
    lengths = [len(values) for values in some.values()]
    column = np.repeat(np.arange(len(some)), lengths)
    cells = pl.concat([pl.Series("cell", dtype=pl.String), *some.values()]).alias("cell")

    def counted(found: Any, where: Any = slice(None)) -> IntArray:
        weights = found.fill_null(False).to_numpy()
        return np.bincount(column[where], weights, minlength=len(some))

    had = set(commas)
    with_comma = counted(cells.str.contains(SURE_COMMA))
    with_point = counted(cells.str.contains(SURE_POINT))
    known = np.array([comma or name in had for name in some], dtype=np.bool_)
    commas_there = np.where(with_comma == with_point, known, with_comma > with_point)
    numbers = np.zeros(len(some))
    for sign in np.unique(commas_there):
        where = np.flatnonzero(commas_there[column] == sign)
        bare = numbers_of_words(cells[where], bool(sign))
        numbers += counted(bare.is_not_null(), where)
    return {
        name: ColumnReading(bool(2 * numbers[j] > lengths[j]), bool(commas_there[j]))
        for j, name in enumerate(some)
    }


def with_commas(readings: Mapping[str, ColumnReading]) -> tuple[str, ...]:
    """Return the columns of numbers that are written with a decimal comma."""
    return tuple(name for name, how in readings.items() if how.numbers and how.comma)


def in_plain_numbers(frame: DataFrame, readings: Mapping[str, ColumnReading]) -> DataFrame:
    """Find cells that are numbers, in columns that mostly hold numbers, as programs write them."""
    # All are asked at once, so that thousands of columns of plain numbers cost no pattern each.
    points = [name for name, reading in readings.items() if reading.numbers and not reading.comma]
    plain = set(as_they_are(frame.select(points)).columns)
    return frame.with_columns(
        plain_numbers(frame[name], reading.comma).fill_null(frame[name])
        for name, reading in readings.items()
        if reading.numbers and name not in plain
    )


def as_they_are(frame: DataFrame) -> DataFrame:
    """Return the columns of text whose cells are all numbers as programs write them, as doubles."""
    pl = polars()
    text = frame.select(pl.col(pl.String))
    cast = text.select(pl.all().cast(pl.Float64, strict=False))
    return cast.select(c.name for c in cast if c.null_count() == text[c.name].null_count())


def are_codes(words: Any) -> bool:
    """Tell whether these are codes, such as 08001 and 28013: as many digits in each, the first a
    0."""
    values = words.drop_nulls().unique()
    lengths = values.str.len_bytes().unique()
    return bool(
        len(lengths) == 1
        and lengths[0] > 1
        and values.str.starts_with("0").any()
        and values.str.contains("^[0-9]+$").all()
    )


def without_missing(
    frame: DataFrame, names: Iterable[str], gone: Sequence[str] = MISSING
) -> DataFrame:
    """Return the frame with no spaces around the words of these columns, null where one means
    missing.

    `gone` are the words that do.

    Columns that are not coded are changed at once: a call for each takes longer than the change.
    """
    pl = polars()

    def clean(name: str) -> Any:
        stripped = pl.col(name).str.strip_chars()
        return pl.when(~stripped.is_in(list(gone))).then(stripped)

    def clean_words(words: Any) -> Any:
        return words.to_frame().select(clean(words.name)).to_series()

    return frame.with_columns(
        changed(frame[name], clean_words) if is_coded(frame[name]) else clean(name)
        for name in names
    )


class Understood(NamedTuple):
    """A frame whose text was read, and what is known of how it was written.

    Attributes
    ----------
    frame : polars DataFrame
    remarks : on cells that are no numbers
    commas : the columns of numbers that were written with a decimal comma
    written : by name, what was written of a few numbers or truth values, such as "$5" or "TRUE"
    """

    frame: DataFrame
    remarks: list[Remark]
    commas: tuple[str, ...]
    written: dict[str, Any]


def understood(
    frame: DataFrame,
    comma: bool,
    source: str,
    gone: Sequence[str] = MISSING,
    words: Sequence[str] = (),
) -> Understood:
    """Return the frame with its columns of text read as numbers where they are, and remarks on
    cells.

    Parameters
    ----------
    frame : polars DataFrame
        Its columns of text may be coded.
    comma : bool
        Whether numbers have a decimal comma, where a column does not tell.
    source : str
        For messages.
    gone : sequence of str
        The words that stand for a missing value.
    words : sequence of str
        Columns that stay text.
    """
    remarks: list[Remark] = []
    text = [column.name for column in frame if is_text(column)]
    frame = without_missing(frame, text, gone)
    text = [name for name in text if name not in words]
    read = frame.select(text)
    truths = [name for name in text if _are_truths(frame[name])]
    frame = frame.with_columns(uncoded(frame[name]).str.to_lowercase() == "true" for name in truths)
    text = [name for name in text if name not in truths]
    readings = tell_readings((frame[name] for name in text), comma)
    numbers = []
    for name, reading in readings.items():
        if reading.numbers:
            column, said = _as_numbers(uncoded(frame[name]), reading.comma, source)
            numbers.append(column)
            remarks += said
    converted = [*truths, *(column.name for column in numbers)]
    few = [name for name in converted if len(different_words(read[name])) <= FEW_WORDS]
    written = {name: read[name] for name in few}
    return Understood(frame.with_columns(numbers), remarks, with_commas(readings), written)


def as_spelled(values: Series, words: Series) -> Series:
    """Write numbers or truth values as most of their cells are written: 5 as "$5", true as
    "TRUE"."""
    pl = polars()
    pairs = pl.DataFrame({"value": values, "word": uncoded(words)}).drop_nulls()
    counted = pairs.group_by("value", "word", maintain_order=True).len()
    usual = counted.sort("len", descending=True, maintain_order=True).unique(
        "value", keep="first", maintain_order=True
    )
    return values.replace_strict(usual["value"], usual["word"], default=None)


def _are_truths(column: Series) -> bool:
    """Tell whether all words are true or false, which text tables take for no words."""
    found = different_words(column)
    return len(found) > 0 and bool(found.str.to_lowercase().is_in(["true", "false"]).all())


def _as_numbers(column: Series, comma: bool, source: str) -> tuple[Series, list[Remark]]:
    """Return a column of numbers that are written as text, with a remark on cells that are none."""
    pl = polars()
    if are_codes(column):
        return column, []
    bare = plain_numbers(column, comma)
    numbers = bare.cast(pl.Int64, strict=False)
    if numbers.null_count() > bare.null_count():
        numbers = bare.cast(pl.Float64, strict=False)
    odd = numbers.is_null() & column.is_not_null()
    if not odd.any():
        return numbers, []
    return _with_odd_cells(bare.fill_null(column), numbers, odd, source)


def _with_odd_cells(
    column: Series, numbers: Any, odd: Any, source: str
) -> tuple[Series, list[Remark]]:
    name, count, there = column.name, int(odd.sum()), len(column) - column.null_count()
    some = shown_cells(column, odd)
    if are_exceptions(count, there):
        return numbers, [Remark("cells", name, cells_in_words(column, odd, say("numbers")))]
    if numbers.n_unique() <= FEW_WORDS or column.filter(odd).n_unique() > FEW_WORDS:
        words = "Column {name!r} holds numbers and words ({some}): taken as categories."
        return column, [remark(words, "mixed", name, some=some)] if 2 * count < there else []
    found = say(
        "column {name!r} holds numbers, but {count} of its {there} cells are none ({some}).",
        name=name,
        count=count,
        there=there,
        some=some,
    )
    advice = say(
        "Correct them, name the words that mean a missing value ({missing}), take the column as "
        "categories ({category}), or leave it out{drop}.",
        drop=leaving_out(name),
        missing=asked("missing", column.filter(odd)[0][:40]),
        category=asked("category", name),
    )
    if not source:  # a frame, which is not read
        advice = say(
            "Correct them, put None where a value is missing, make the column one of categories "
            "(of pandas or polars), or leave it out."
        )
    raise DataFileError(in_one([found, advice]), source)


def are_exceptions(count: int, there: int) -> bool:
    """Tell whether so many odd cells are slips of the pen: one in a hundred, or a single one."""
    return count <= FEW_CELLS * there or (count == 1 and there >= 10)


def shown_cells(column: Series, odd: Any) -> str:
    """Return the first odd cells, each with its row."""
    rows = odd.arg_true()[:SHOWN].to_list()
    cells = [say("row {row}: {value!r}", row=row + 1, value=column[row][:40]) for row in rows]
    return in_one(cells, "; ")


def cells_in_words(column: Series, odd: Any, expected: str) -> str:
    """Return what is said of cells that are taken as missing, not being what the column holds."""
    return say(
        "Column {name!r}: cells that are no {expected} are taken as missing ({count} in all; "
        "{some}).",
        name=column.name,
        expected=expected,
        count=int(odd.sum()),
        some=shown_cells(column, odd),
    )
