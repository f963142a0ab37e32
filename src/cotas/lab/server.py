"""The lab in a browser: one server on this machine, one state for each visitor."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import panel as pn
from sklearn.exceptions import ConvergenceWarning

from cotas.lab import ROOMS
from cotas.lab import __getattr__ as kind_of
from cotas.lab.theme import PAGE, TEMPLATE
from cotas.lab.worker import end_all
from cotas.report.markup import text
from cotas.words import LANGUAGES, say
from cotas.words import lang as speaking

ADDRESS = "127.0.0.1"
USUAL_PORT = 5006
WELCOME = (
    "The documents, to be tried out: everything that is drawn and written here is computed by the "
    "library while you watch, and proved where there is something to prove."
)
# Large enough for a file that is refused by its number of rows rather than by a broken line.
MOST_BYTES_OF_A_MESSAGE = 200_000_000


def serve(
    room: str | None = None,
    *,
    port: int | None = None,
    lang: str = "en",
    browser: bool = True,
    threaded: bool = False,
    tell: Callable[[str], None] = print,
) -> Any:
    """Open the lab on this machine, for this machine alone.

    Parameters
    ----------
    room : str, optional
        Where to begin: "boundary", "steps", "descent", "penalty", "boosting" or "done".
    port : int, optional
        5006, or a free one if it is taken, unless one is asked for.
    lang : "en" or "es"
        The language of the first page; each page has a button for the other.
    browser : bool, default=True
        Whether to open a browser.
    threaded : bool, default=False
        Serve in a thread and return it; `.stop()` ends it. Otherwise Ctrl-C does.
    tell : callable, default=print
        What is told the address.
    """
    with speaking(lang):
        pass  # an unknown language is refused here
    if room is not None and room not in ROOMS:
        raise ValueError(f"room must be one of {', '.join(ROOMS)}, not {room!r}.")
    port = _free_port(port)
    query = {"lang": lang} if lang != "en" else {}
    address = f"http://{ADDRESS}:{port}/{room or ''}{'?' + urlencode(query) if query else ''}"
    tell(address)
    if browser:
        import webbrowser

        webbrowser.open(address)
    if not threaded:
        # A fit that has not proved its tol warns; here the certificate beside the picture says it.
        warnings.simplefilter("ignore", ConvergenceWarning)
    try:
        return pn.serve(
            {"/": _page(""), **{name: _page(name) for name in ROOMS}},
            address=ADDRESS,
            port=port,
            websocket_origin=[f"{ADDRESS}:{port}", f"localhost:{port}"],
            show=False,
            threaded=threaded,
            verbose=False,
            title="cotas",
            location=True,
            websocket_max_message_size=MOST_BYTES_OF_A_MESSAGE,
        )
    finally:
        if not threaded:
            end_all()  # Python waits for its threads before it ends


def _page(name: str) -> Callable[[], Any]:
    """Return what makes the page of a room, or the one with all rooms on it, for a visitor."""

    def page() -> Any:
        query = _query()
        lang = _choice(query, "lang", LANGUAGES) or "en"
        theme = _choice(query, "theme", ("light", "dark"))
        turned = {"lang": lang, **({"theme": theme} if theme else {})}
        with speaking(lang):
            if name:
                room = kind_of(ROOMS[name])
                return _dressed(room.title, room.lead, turned, name,
                                room(lang=lang, dark=theme == "dark", link=query))  # fmt: skip
            return _dressed("The lab", WELCOME, turned, "", pn.pane.HTML(""))

    return page


def _dressed(title: str, lead: str, turned: dict[str, str], name: str, root: Any) -> Any:
    """Return a page with the header that all share."""
    lang, theme = turned["lang"], turned.get("theme", "light")
    template = pn.Template(TEMPLATE, location=True)
    variables = {
        "lang": lang,
        "theme": theme,
        "chosen": "theme" in turned,
        "other_lang": "en" if lang == "es" else "es",
        "other_language": say("Español"),
        "other_theme": "light" if theme == "dark" else "dark",
        "turn_theme": say("Light" if theme == "dark" else "Dark"),
        "heading": say(title),
        "lead": say(lead),
        "lab": say("The lab"),
        "rooms": say("Rooms"),
        "skip": say("To the picture"),
        "nav": _links({**turned, "theme": theme}, name),
        "style": PAGE,
        "body": "" if name else _links(turned),
    }
    for key, value in variables.items():
        template.add_variable(key, value)
    template.add_panel("room", root)
    return template


def _links(turned: dict[str, str], current: str | None = None) -> str:
    """Return all rooms: in the header, where one is the current, or on a page of their own."""
    found = ""
    for name, kind in ROOMS.items():
        room, link = kind_of(kind), f'<a href="{name}?{urlencode(turned)}"'
        if current is None:
            lines = f"<b>{text(say(room.title))}</b><span>{text(say(room.lead))}</span>"
            found += f"<li>{link}>{lines}</a></li>"
        else:
            here = ' aria-current="page"' if name == current else ""
            found += f"{link}{here}>{text(say(room.short))}</a>"
    return found if current is not None else f'<ul class="rooms">{found}</ul>'


def _query() -> dict[str, str]:
    """Return what the link says; bytes that are no text are no setting."""
    return {
        str(name): words[-1].decode("utf-8", "replace")
        for name, words in pn.state.session_args.items()
        if words
    }


def _choice(query: dict[str, str], name: str, known: tuple[str, ...]) -> str | None:
    """Take a setting of the page out of the query; what is unknown is as if it were not there."""
    word = query.pop(name, None)
    return word if word in known else None


def _free_port(asked: int | None) -> int:
    """Return the port asked for, or the usual one, or any that is free."""
    for port in (asked,) if asked is not None else (USUAL_PORT, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ADDRESS, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError(f"port {asked} is taken; give another one.")
