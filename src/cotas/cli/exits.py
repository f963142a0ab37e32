"""How an error becomes one line and an exit code."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer

from cotas.cli.codes import (
    BAD_DATA,
    BAD_MODEL,
    INTERRUPTED,
    NOT_INSTALLED,
    NOT_WRITTEN,
    PROOF_FAILED,
    UNEXPECTED,
    WRONG_USE,
)
from cotas.cli.session import Session
from cotas.cli.streams import NotWrittenError, PipeClosedError
from cotas.cli.usage import in_words
from cotas.files.errors import ModelFileError
from cotas.files.problems import DataFileError, UnusedWishError
from cotas.words import Said, say


class SpokenError(Exception):
    """Something that is said to the user: a text of the catalogue, and what it has in braces."""

    def __init__(self, message: str, /, **values: object) -> None:
        super().__init__(message if isinstance(message, Said) else say(message, **values))


class UsageError(SpokenError):
    """The call makes no sense, in words for the user."""


def refuse(session: Session, names: Iterable[str], why: str) -> None:
    """Raise if one of these options was typed: it would change nothing.

    Parameters
    ----------
    session : Session
    names : as the function of the command calls them
    why : a sentence to follow the name of the option
    """
    for name in names:
        if name in session.given:
            raise UsageError(f"{session.given[name]} {why}")


class ProofFailedError(SpokenError):
    """What was to be proved is not so; everything about it has been said already."""


class InterruptedEarlyError(SpokenError):
    """Ctrl-C ended the work early, and the best so far was kept."""


OF_MODELS = {
    "cotas.linear.hard_margin": "NotSeparableError",
    "cotas.regression.task": "DivergedError",
}


def code_of(error: BaseException) -> int:
    """The exit code for an error."""
    kinds: tuple[tuple[type[BaseException], int], ...] = (
        (UsageError, WRONG_USE),
        (UnusedWishError, WRONG_USE),
        (ProofFailedError, PROOF_FAILED),
        (InterruptedEarlyError, INTERRUPTED),
        (ModelFileError, BAD_MODEL),
        (ImportError, NOT_INSTALLED),
        (KeyboardInterrupt, INTERRUPTED),
        (NotWrittenError, NOT_WRITTEN),
        (DataFileError, BAD_DATA),
        (OSError, BAD_DATA),
        (MemoryError, BAD_DATA),
    )
    # A model raised it only if its module is loaded.
    loaded = [(sys.modules[m], name) for m, name in OF_MODELS.items() if m in sys.modules]
    kinds += tuple((getattr(module, name), BAD_DATA) for module, name in loaded)
    return next((code for kind, code in kinds if isinstance(error, kind)), UNEXPECTED)


@contextmanager
def guarded(session: Session) -> Iterator[None]:
    """No traceback reaches the user, except with --debug."""
    try:
        yield
        session.close()
    except (typer.Exit, typer.Abort, typer.BadParameter, PipeClosedError):
        raise
    except (Exception, KeyboardInterrupt) as error:
        code = code_of(error)
        if session.debug:
            traceback.print_exc()
        session.failed(_in_words(error, code), code)
        with contextlib.suppress(NotWrittenError):  # which is what was said, if it happens again
            session.close()
        raise typer.Exit(code) from None


def _in_words(error: BaseException, code: int) -> str:
    if isinstance(error, KeyboardInterrupt):
        return say("interrupted.")
    if isinstance(error, MemoryError):
        return say("there is not enough memory for this.")
    words = " ".join(str(error).split()) or type(error).__name__
    if code == UNEXPECTED:
        return say(
            "unexpected {name}: {words} (--debug shows where it happened)",
            name=type(error).__name__,
            words=words,
        )
    return in_words(words) if code == WRONG_USE else words
