"""Tables in JSON: an object on each line, a list of objects, or an object of columns."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import numpy as np

from cotas.files.compression import Place, open_bytes
from cotas.files.frames import first_line, polars, polars_errors
from cotas.files.limits import Limits
from cotas.files.names import without_twins
from cotas.files.problems import DataFileError

DEEPEST = 64
_WORDS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def read_json(path: Place, source: str, limits: Limits) -> Any:
    """The frame; the values of objects within objects are columns such as "place.city"."""
    with open_bytes(path, limits.text) as stream:
        text = limits.read(stream, source)
    lines = _has_lines(text)
    if max(map(_deepest, text.splitlines() if lines else [text]), default=0) > DEEPEST:
        words = "it holds objects within objects, more than {most} deep."
        raise DataFileError(words, source, most=DEEPEST)
    pl = polars()
    try:
        if lines:
            return _flat(pl.read_ndjson(io.BytesIO(text), infer_schema_length=None))
        return _flat(_frame(json.loads(text)))
    except polars_errors() as error:
        raise DataFileError("it is no table ({error}).", source, error=first_line(error)) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise DataFileError(
            "it is no sound JSON ({error}); correct it, or get it again if it breaks off.",
            source,
            error=first_line(error),
        ) from None


def _deepest(text: bytes) -> int:
    """How deep lists and objects stand within one another, at most.

    What reads them goes as deep, and would end the process when its stack is full.
    """
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return 0
    letters = np.frombuffer(_WORDS.sub(b"", text), dtype=np.uint8)
    steps = np.isin(letters, list(b"{[")).astype(np.int64) - np.isin(letters, list(b"}]"))
    return int(np.cumsum(steps).max(initial=0))


def _flat(frame: Any) -> Any:
    """The frame with the fields of objects in the place of these, as deep as they go."""
    pl = polars()
    while within := [name for name, kind in frame.schema.items() if kind == pl.Struct]:
        for name in within:
            place, fields = frame.columns.index(name), frame[name].struct.unnest()
            frame = frame.drop(name)
            called = [*frame.columns, *(f"{name}.{field}" for field in fields.columns)]
            fields.columns = without_twins(called)[0][frame.width :]
            names = frame.columns
            frame = frame.hstack(fields)[[*names[:place], *fields.columns, *names[place:]]]
    return frame


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
