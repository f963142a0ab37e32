"""The frames of polars; their columns of words as codes, so that each word is looked at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import IntArray

if TYPE_CHECKING:
    from polars import DataFrame, Series

# Rows from which it is told whether words repeat.
SOME_ROWS = 1000
_NAMESPACE = "cotas"


def coded(frame: DataFrame) -> DataFrame:
    """Return the frame with its columns of text as codes, where words repeat.

    All that asks what a column of text is, and how often its words come, takes such a column for
    the text that it stands for; `in_words` has the text again.

    >>> import polars as pl
    >>> frame = coded(pl.DataFrame({"town": ["Lugo", "Vigo", "Lugo", None, "Lugo"], "x": 1}))
    >>> is_coded(frame["town"]), frame["town"].to_list()
    (True, ['Lugo', 'Vigo', 'Lugo', None, 'Lugo'])
    """
    pl = polars()
    names = [column.name for column in frame if column.dtype == pl.String and _repeats(column)]
    return frame.with_columns(pl.col(name).cast(_codes()) for name in names) if names else frame


def in_words(frame: DataFrame) -> DataFrame:
    """Return the frame with the text of its coded columns."""
    names = [column.name for column in frame if is_coded(column)]
    return frame.with_columns(frame[name].cast(polars().String) for name in names)


def _codes() -> Any:
    """Return the type of a coded column, which numbers its words for itself."""
    pl = polars()
    return pl.Categorical(pl.Categories.random(_NAMESPACE))


def _repeats(column: Series) -> bool:
    """Tell whether the words of the first rows come twice or more."""
    some = column.head(SOME_ROWS).drop_nulls()
    return bool(2 * some.n_unique() <= len(some)) and len(some) > 0


def is_coded(column: Series) -> bool:
    """Tell whether a column is text that `coded` made codes of."""
    pl = polars()
    dtype = column.dtype
    return isinstance(dtype, pl.Categorical) and dtype.categories.namespace() == _NAMESPACE


def is_text(column: Series) -> bool:
    """Tell whether a column is text, coded or not."""
    return column.dtype == polars().String or is_coded(column)


def uncoded(column: Series) -> Series:
    """Return the text of a coded column; any other as it is."""
    return column.cast(polars().String) if is_coded(column) else column


def different_words(column: Series) -> Series:
    """Return the different words of a column, as text and without the missing one."""
    return column.unique().drop_nulls().cast(polars().String)


def numbered_words(column: Series) -> IntArray:
    """Return a number for each word of a column, the same for equal words, and 0 for none."""
    pl = polars()
    column = column if is_category(column) else column.cast(_codes())
    return np.asarray((column.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy())


def for_each_word(column: Series, change: Callable[[Series], Series]) -> Series:
    """Return what a function of a column of text makes of the column, of categories word by word.

    Parameters
    ----------
    column : column of text or of categories
    change : from a column of text to one as long, where each cell depends on its word alone
    """
    if not is_category(column):
        return change(column)
    pl = polars()
    known = column.unique().drop_nulls()
    codes = known.to_physical().to_numpy()
    places = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.uint32)
    places[codes] = np.arange(len(codes), dtype=np.uint32)
    found = change(known.cast(pl.String))
    if not len(found):
        none: Series = pl.Series(column.name, [None], dtype=found.dtype)
        return none.new_from_index(0, len(column))
    return found.gather(pl.Series(places).gather(column.to_physical())).alias(column.name)


def changed(column: Series, change: Callable[[Series], Series]) -> Series:
    """Return a column of text, coded if it was, in which each word was changed into another or
    none."""
    if not is_coded(column):
        return change(column)
    return for_each_word(column, lambda words: change(words).cast(_codes()))


def polars() -> Any:
    """Return the library that reads tables, or a message on how to get it."""
    try:
        import polars
    except ImportError as error:
        raise ImportError("Reading tables needs polars: pip install 'cotas[files]'.") from error
    return polars


def polars_errors() -> tuple[type[BaseException], ...]:
    """Return what polars raises when a file is damaged; it also panics, which is no Exception."""
    pl = polars()
    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def first_line(error: BaseException) -> str:
    """Return a short form of what a library says about a file."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def is_category(column: Series) -> bool:
    """Tell whether a column holds categories: polars numbers their different words."""
    pl = polars()
    return isinstance(column.dtype, pl.Categorical | pl.Enum)
