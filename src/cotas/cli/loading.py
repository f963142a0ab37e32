"""Loading libraries without a search for garbage among them, of which there is none."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cotas.cli.codes import INTERRUPTED

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
