"""The library that holds tables, and what it says when something is wrong."""

from __future__ import annotations

from typing import Any


def polars() -> Any:
    """The library that reads tables, or a message on how to get it."""
    try:
        import polars
    except ImportError as error:
        raise ImportError("Reading tables needs polars: pip install 'cotas[files]'.") from error
    return polars


def polars_errors() -> tuple[type[BaseException], ...]:
    """What polars raises when a file is damaged; it also panics, which is no Exception."""
    pl = polars()
    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def first_line(error: BaseException) -> str:
    """A short form of what a library says about a file."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def is_category(column: Any) -> bool:
    """Whether a column holds categories: polars numbers their different words."""
    pl = polars()
    return isinstance(column.dtype, pl.Categorical | pl.Enum)
