"""What the exit codes mean, and how an error becomes one line and a code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click
import typer

from cotas.certificates import CertificateError
from cotas.cli.session import Session
from cotas.files.errors import ModelFileError
from cotas.files.problems import DataFileError

OK, PROOF_FAILED, WRONG_USE, BAD_DATA, BAD_MODEL, NOT_INSTALLED, UNEXPECTED = 0, 1, 2, 3, 4, 5, 70
INTERRUPTED, PIPE_CLOSED = 130, 141

MEANINGS = {
    OK: "everything asked for was done",
    PROOF_FAILED: "a proof failed: a certificate does not hold, or the gap was not reached",
    WRONG_USE: "wrong use: an option or a name that does not exist or does not fit",
    BAD_DATA: "the data cannot be read or used",
    BAD_MODEL: "the model file cannot be read, or does not fit",
    NOT_INSTALLED: "an optional package is missing",
    UNEXPECTED: "an error nobody foresaw; --debug shows where",
    INTERRUPTED: "interrupted; what was done so far was kept where that makes sense",
    PIPE_CLOSED: "whoever read the output went away",
}


class UsageError(Exception):
    """The call makes no sense, in words for the user."""


class ProofFailedError(Exception):
    """What was to be proved is not so; everything about it has been said already."""


class InterruptedEarlyError(Exception):
    """Ctrl-C ended the work early, and the best so far was kept."""


def code_of(error: BaseException) -> int:
    """The exit code for an error."""
    kinds: tuple[tuple[type[BaseException], int], ...] = (
        (UsageError, WRONG_USE),
        (ProofFailedError, PROOF_FAILED),
        (InterruptedEarlyError, INTERRUPTED),
        (ModelFileError, BAD_MODEL),
        (CertificateError, PROOF_FAILED),
        (ImportError, NOT_INSTALLED),
        (KeyboardInterrupt, INTERRUPTED),
        (BrokenPipeError, PIPE_CLOSED),
        (DataFileError, BAD_DATA),
        (OSError, BAD_DATA),
        (MemoryError, BAD_DATA),
        (ValueError, BAD_DATA),
        (TypeError, UNEXPECTED),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), UNEXPECTED)


@contextmanager
def guarded(session: Session) -> Iterator[None]:
    """No traceback reaches the user, except with --debug."""
    try:
        yield
        session.close()
    except (typer.Exit, click.exceptions.Exit, click.ClickException, click.Abort):
        raise
    except (Exception, KeyboardInterrupt) as error:
        code = code_of(error)
        if session.debug:
            traceback.print_exc()
        if code == PIPE_CLOSED:
            sys.stderr.close()
        else:
            session.failed(_in_words(error, code), code)
            session.close()
        raise typer.Exit(code) from None


def _in_words(error: BaseException, code: int) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    if isinstance(error, MemoryError):
        return "there is not enough memory for this."
    words = " ".join(str(error).split()) or type(error).__name__
    if code == UNEXPECTED:
        return f"unexpected {type(error).__name__}: {words} (--debug shows where it happened)"
    return words
