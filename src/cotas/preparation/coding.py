"""Columns of words as codes: each different word is then looked at once, and not in every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import IntArray
from cotas.files.frames import is_category, polars

# Rows from which it is told whether words repeat.
SOME_ROWS = 1000
_NAMESPACE = "cotas"


def coded(frame: Any) -> Any:
    """The frame with its columns of text as codes, where words repeat.

    All that asks what a column of text is, and how often its words come, takes such a column for
    the text that it stands for.

    >>> import polars as pl
    >>> frame = coded(pl.DataFrame({"town": ["Lugo", "Vigo", "Lugo", None, "Lugo"], "x": 1}))
    >>> is_coded(frame["town"]), frame["town"].to_list()
    (True, ['Lugo', 'Vigo', 'Lugo', None, 'Lugo'])
    """
    pl = polars()
    names = [column.name for column in frame if column.dtype == pl.String and _repeats(column)]
    if not names:
        return frame
    return frame.with_columns(
        pl.col(name).cast(pl.Categorical(pl.Categories.random(_NAMESPACE))) for name in names
    )


def _repeats(column: Any) -> bool:
    """Whether the words of the first rows come twice or more."""
    some = column.head(SOME_ROWS).drop_nulls()
    return bool(2 * some.n_unique() <= len(some)) and len(some) > 0


def is_coded(column: Any) -> bool:
    """Whether a column is text that `coded` made codes of."""
    pl = polars()
    dtype = column.dtype
    return isinstance(dtype, pl.Categorical) and dtype.categories.namespace() == _NAMESPACE


def uncoded(column: Any) -> Any:
    """The text of a coded column; any other as it is."""
    return column.cast(polars().String) if is_coded(column) else column


def is_text(column: Any) -> bool:
    """Whether a column is text, coded or not."""
    return column.dtype == polars().String or is_coded(column)


def different_words(column: Any) -> Any:
    """The different words of a column, as text and without the missing one."""
    return column.unique().drop_nulls().cast(polars().String)


def replaced(words: Any, kept: list[str]) -> Any:
    """The place of each word in a list, null for a word that is not in it.

    Parameters
    ----------
    words : column of text or of categories
    kept : the list
    """
    pl = polars()
    places = list(range(len(kept)))
    if not is_category(words):
        return words.replace_strict(kept, places, default=None, return_dtype=pl.Int32)
    known = words.unique().drop_nulls()
    found = known.cast(pl.String).replace_strict(kept, places, default=None, return_dtype=pl.Int32)
    codes = known.to_physical()
    table = pl.Series([None], dtype=pl.Int32).extend_constant(None, int(codes.max() or 0))
    return table.scatter(codes, found).gather(words.to_physical()).alias(words.name)


def numbered_words(column: Any) -> IntArray:
    """A number for each word of a column, the same for equal words, and 0 for none."""
    pl = polars()
    if not is_category(column):
        column = column.cast(pl.Categorical(pl.Categories.random(_NAMESPACE)))
    return np.asarray((column.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy())
