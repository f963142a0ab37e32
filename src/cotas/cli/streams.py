"""Standard output and standard error, which may be full, closed or unable to hold a letter."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cotas.words import say

STANDARD_OUTPUT = "standard output"


class PipeClosedError(Exception):
    """Whoever read the output went away."""


class NotWrittenError(Exception):
    """A result that could not be written, in words that name where it should have gone."""


@contextlib.contextmanager
def writing(place: str | Path) -> Iterator[None]:
    """Tell an error of writing from all others, with the name of what could not be written.

    A pipe that was closed and a full disk are no `OSError` from here on: rich and typer would
    take those for their own, and end with a code of their own.
    """
    try:
        yield
    except BrokenPipeError:
        raise PipeClosedError from None
    except OSError as error:
        reason = (error.strerror or str(error)).removesuffix(".")
        words = say("{place} cannot be written: {reason}.", place=say(str(place)), reason=reason)
        raise NotWrittenError(words) from error


class Output(io.TextIOWrapper):
    """Standard output: a letter that its encoding lacks is replaced, a failure is told apart."""

    def write(self, text: str, /) -> int:
        with writing(STANDARD_OUTPUT):
            return super().write(text)

    def flush(self) -> None:
        with writing(STANDARD_OUTPUT):
            super().flush()


class Remarks(io.TextIOWrapper):
    """Standard error: words that nobody can read do not end the work."""

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Use them while the command runs; what is still to be written is written at the end."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _as(Output, sys.stdout), _as(Remarks, sys.stderr)
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except (PipeClosedError, NotWrittenError):
        # Python would try once more when it closes the stream, and complain.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # it failed before, and that was told
                stream.detach()
        sys.stdout, sys.stderr = before


def _as(kind: type[io.TextIOWrapper], stream: Any) -> Any:
    """The stream as that kind, if it stands on bytes; None, where it is closed, stays None."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    return kind(
        stream.buffer,
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
    )
