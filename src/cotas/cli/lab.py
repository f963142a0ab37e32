"""cotas lab"""

from __future__ import annotations

from typing import Annotated

import typer

from cotas import lab as rooms
from cotas.cli.exits import UsageError
from cotas.cli.options import Lang
from cotas.cli.session import Session


def lab(
    session: Session,
    room: Annotated[
        str | None, typer.Argument(metavar="ROOM", help=f"One of {', '.join(rooms.ROOMS)}.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Default: 5006, or one that is free.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    lang: Lang = "en",
) -> None:
    """Open the lab in a browser: move points, take steps, see the proof follow.

    It can be reached from this machine only, and it fetches nothing from elsewhere. Ctrl-C ends it.

    Example: cotas lab boundary --lang es
    """
    if room is not None and room not in rooms.ROOMS:
        raise UsageError(f"there is no room {room!r}; there are {', '.join(rooms.ROOMS)}.")
    try:
        rooms.serve(
            room, port=port, lang=lang, browser=not no_browser, tell=lambda at: session.result(at)
        )
    except OSError as error:
        raise UsageError(f"the lab cannot be opened: {error}") from None
