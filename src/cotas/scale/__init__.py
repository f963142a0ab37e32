"""Rows that are not arrays of this process: pages on disk, and other machines."""

from typing import Any

__all__ = ["from_dask"]


def __getattr__(name: str) -> Any:
    if name == "from_dask":  # Dask is an extra, and not needed for pages
        from cotas.scale.dask_rows import from_dask

        return from_dask
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
