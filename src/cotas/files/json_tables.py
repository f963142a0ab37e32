"""Tables in JSON: an object on each line, a list of objects, or an object of columns."""

from __future__ import annotations

import io
import json
from typing import Any

from cotas.files.compression import Place, open_bytes
from cotas.files.frames import first_line, polars, polars_errors
from cotas.files.limits import Limits
from cotas.files.problems import DataFileError
from cotas.words import say


def read_json(path: Place, source: str, limits: Limits) -> Any:
    """The frame; values within values stay what they are."""
    with open_bytes(path, limits.text) as stream:
        text = limits.read(stream, source)
    pl = polars()
    try:
        if _has_lines(text):
            return pl.read_ndjson(io.BytesIO(text), infer_schema_length=None)
        return _frame(json.loads(text))
    except polars_errors() as error:
        raise DataFileError(
            say("it is no table ({error}).", error=first_line(error)), source
        ) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise DataFileError(
            say("it is no sound JSON ({error}).", error=first_line(error)), source
        ) from None


def _has_lines(text: bytes) -> bool:
    """Whether an object stands on each line; one object alone may be a table of columns."""
    first, _, rest = text.strip().partition(b"\n")
    return bool(rest) and first.rstrip().startswith(b"{") and first.rstrip().endswith(b"}")


def _frame(found: Any) -> Any:
    pl = polars()
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        if len(lists) == 1 and all(isinstance(row, dict) for row in lists[0]):
            found = lists[0]  # the rows stand beside remarks on them
        elif not lists:
            found = [found]
    return pl.DataFrame(found, infer_schema_length=None, strict=False)
