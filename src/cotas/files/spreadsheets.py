"""Sheets of Excel and LibreOffice, read by polars."""

from __future__ import annotations

import io
from typing import Any

from cotas.files.compression import Place, open_bytes
from cotas.files.frames import first_line, polars
from cotas.files.limits import Limits
from cotas.files.problems import DataFileError


def read_sheet(path: Place, name: str | None, source: str, limits: Limits) -> Any:
    """The sheet with this name, or the first."""
    with open_bytes(path, limits.text) as stream:
        content = io.BytesIO(limits.read(stream, source))
    try:
        import fastexcel  # noqa: F401
    except ImportError as error:
        raise ImportError("Spreadsheets need fastexcel: pip install 'cotas[excel]'.") from error
    try:
        return polars().read_excel(content, sheet_name=name, engine="calamine")
    except Exception as error:  # each reader of polars has errors of its own
        raise DataFileError(
            "its sheet cannot be read ({error}).", source, error=first_line(error)
        ) from None
