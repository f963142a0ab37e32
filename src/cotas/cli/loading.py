"""Loading libraries without a search for garbage among them, of which there is none."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Search for no garbage while modules are loaded, and never among what they hold.

    They stay to the end of the process. Python would look at all their objects again and again as
    they become more: an eighth of the time that they take to load.
    """
    before, searching = len(sys.modules), gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > before:
            gc.freeze()
        if searching:
            gc.enable()


def leave_at_once() -> None:
    """Give memory back to the system at the end of the process as it is.

    Python would search all of it for garbage before, which after a fit takes most of a second.
    What was registered to be done at the end is done all the same.
    """
    atexit.register(gc.freeze)  # the first to be registered is the last to be called
