"""cotas lab"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from cotas import lab as rooms
from cotas.cli.command import UsageError
from cotas.cli.session import Session
from cotas.words import current, say


def lab(
    session: Session,
    room: Annotated[
        str | None,
        typer.Argument(metavar="ROOM", help=say("One of {rooms}.", rooms=", ".join(rooms.ROOMS))),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Default: 5006, or one that is free.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> None:
    """Open the lab in a browser: move points, take steps, see the proof follow.

    It can be reached from this machine only, and it fetches nothing from elsewhere. Ctrl-C ends it.

    Example: cotas lab boundary --lang es
    """
    if room is not None and room not in rooms.ROOMS:
        known = ", ".join(rooms.ROOMS)
        raise UsageError("there is no room {room!r}; there are {known}.", room=room, known=known)
    try:
        rooms.serve(room, port=port, lang=current(), browser=not no_browser, tell=_telling(session))
    except OSError as error:
        raise UsageError("the lab cannot be opened: {error}", error=error) from None


def _telling(session: Session) -> Callable[[str], None]:
    """Print the address at once, also where nobody reads line by line."""

    def tell(address: str) -> None:
        session.result(address)
        session.out.file.flush()

    return tell
