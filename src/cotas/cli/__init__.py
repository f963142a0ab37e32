"""The command line, `cotas fit`, `cotas predict` and the rest: how it begins and how it ends."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

# ---- what the exit codes mean

OK, PROOF_FAILED, WRONG_USE, BAD_DATA, BAD_MODEL, NOT_INSTALLED = 0, 1, 2, 3, 4, 5
NOT_WRITTEN, UNEXPECTED = 6, 70
INTERRUPTED, PIPE_CLOSED = 130, 141

MEANINGS = {
    OK: "everything asked for was done",
    PROOF_FAILED: "a proof failed: a certificate does not hold, or the gap was not reached",
    WRONG_USE: "wrong use: an option or a name that does not exist or does not fit",
    BAD_DATA: "the data cannot be read or used",
    BAD_MODEL: "the model file cannot be read, or does not fit",
    NOT_INSTALLED: "an optional package is missing",
    NOT_WRITTEN: "the result cannot be written, as when the disk is full",
    UNEXPECTED: "an error nobody foresaw; --debug shows where",
    INTERRUPTED: "interrupted; what was done so far was kept where that makes sense",
    PIPE_CLOSED: "whoever read the output went away",
}

# ---- loading libraries without a search for garbage among them, of which there is none

_ours = False  # whether the process is that of the command, and not of who calls it from Python


@contextmanager
def loading() -> Iterator[None]:
    """Search for no garbage while modules are loaded, and never among what they hold.

    They stay to the end of the process. Python would look at all their objects again and again as
    they become more: an eighth of the time that they take to load. In a process that is not ours
    only the first holds: what its owner has left would never be searched either. Nothing is begun
    while modules are loaded: Ctrl-C then ends our process with one line, in no language yet.
    """
    before, searching = len(sys.modules), gc.isenabled()
    gc.disable()
    try:
        yield
    except KeyboardInterrupt:
        if not _ours:
            raise
        sys.stderr.write("cotas: interrupted.\n")
        raise SystemExit(INTERRUPTED) from None
    finally:
        if _ours and len(sys.modules) > before:
            gc.freeze()
        if searching:
            gc.enable()


def leave_at_once() -> None:
    """Give memory back to the system at the end of this process, which is ours, as it is.

    Python would search all of it for garbage before, which after a fit takes most of a second.
    What was registered to be done at the end is done all the same.
    """
    global _ours
    if not _ours:
        atexit.register(gc.freeze)  # the first to be registered is the last to be called
    _ours = True


def main() -> None:
    """Run the entry point of `cotas` and of `python -m cotas`."""
    missing = [name for name in ("typer", "rich", "polars") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"cotas: the command line needs {' and '.join(missing)}: pip install 'cotas[cli]'.\n"
        )
        raise SystemExit(NOT_INSTALLED)
    leave_at_once()
    with loading():
        from cotas.cli.session import run
    run()
