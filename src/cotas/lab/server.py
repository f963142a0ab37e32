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
from cotas.lab import __getattr__ as room_class
from cotas.lab.looks import PAGE
from cotas.lab.words import Wording, speak
from cotas.lab.worker import end_all
from cotas.report.markup import text
from cotas.words import LANGUAGES

ADDRESS = "127.0.0.1"
USUAL_PORT = 5006
# Large enough for a file that is refused by its number of rows rather than by a broken line.
MOST_BYTES_OF_A_MESSAGE = 200_000_000

TEMPLATE = """
{% from macros import embed %}
<!DOCTYPE html>
<html lang="{{ lang }}" data-theme="{{ theme }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ heading | e }} · cotas</title>
<link rel="icon" href="data:,">
{% if not chosen %}<script>
if (matchMedia("(prefers-color-scheme: dark)").matches) {
  const there = new URL(location.href);
  there.searchParams.set("theme", "dark");
  location.replace(there);
}
</script>{% endif %}
<style>{{ style }}</style>
{{ bokeh_css if bokeh_css }}
{{ bokeh_js if bokeh_js }}
</head>
<body>
<a class="skip" href="#room">{{ skip | e }}</a>
<header>
<b><i>cotas</i> · {{ lab | e }}</b>
<nav aria-label="{{ rooms | e }}">{{ nav }}</nav>
<span>
<button class="turn" data-set="lang" data-to="{{ other_lang }}" lang="{{ other_lang }}">{{
  other_language | e }}</button>
<button class="turn" data-set="theme" data-to="{{ other_theme }}">{{ turn_theme | e }}</button>
</span>
</header>
<main id="room" tabindex="-1">
<h1>{{ heading | e }}</h1>
<p class="lead">{{ lead | e }}</p>
{{ body }}
{% for doc in docs %}{% for root in doc.roots %}{{ embed(root) }}{% endfor %}{% endfor %}
</main>
<script>
document.querySelector("nav [aria-current]")?.scrollIntoView({inline: "center", block: "nearest"});
for (const button of document.querySelectorAll(".turn")) button.onclick = () => {
  const there = new URL(location.href);
  there.searchParams.set(button.dataset.set, button.dataset.to);
  location.assign(there);
};
</script>
{{ plot_script }}
</body>
</html>
"""


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
    speak(lang)
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
            {"/": _entrance, **{name: _page(name) for name in ROOMS}},
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
    def page() -> Any:
        query = _query()
        lang, theme = _turn(query, "lang", LANGUAGES), _turn(query, "theme", ("light", "dark"))
        room = room_class(ROOMS[name])(lang=lang or "en", dark=theme == "dark", link=query)
        return _dressed(name, lang or "en", theme, [room])

    return page


def _entrance() -> Any:
    """The page with all rooms on it."""
    query = _query()
    lang = _turn(query, "lang", LANGUAGES) or "en"
    theme = _turn(query, "theme", ("light", "dark"))
    wording, turned = speak(lang), {"lang": lang, **({"theme": theme} if theme else {})}
    items = "".join(
        f'<li><a href="{name}?{urlencode(turned)}"><b>{text(wording(f"title {name}"))}</b>'
        f"<span>{text(wording(f'lead {name}'))}</span></a></li>"
        for name in ROOMS
    )
    return _dressed("", lang, theme, [pn.pane.HTML("")], f'<ul class="rooms">{items}</ul>')


def _dressed(name: str, lang: str, theme: str | None, roots: list[Any], body: str = "") -> Any:
    """A page with the header that all share."""
    wording, dark = speak(lang), theme == "dark"
    template = pn.Template(TEMPLATE, location=True)
    variables = {
        "lang": lang,
        "theme": theme or "light",
        "chosen": theme is not None,
        "other_lang": "en" if lang == "es" else "es",
        "other_language": wording("other language"),
        "other_theme": "light" if dark else "dark",
        "turn_theme": wording("to light" if dark else "to dark"),
        "heading": wording(f"title {name}") if name else wording("lab"),
        "lead": wording(f"lead {name}") if name else wording("welcome"),
        "lab": wording("lab"),
        "rooms": wording("rooms"),
        "skip": wording("skip"),
        "nav": _nav(name, wording, {"lang": lang, "theme": theme or "light"}),
        "style": PAGE,
        "body": body,
    }
    for key, value in variables.items():
        template.add_variable(key, value)
    for number, root in enumerate(roots):
        template.add_panel(f"room{number}", root)
    return template


def _nav(current: str, wording: Wording, turned: dict[str, str]) -> str:
    here = ' aria-current="page"'
    return "".join(
        f'<a href="{name}?{urlencode(turned)}"{here if name == current else ""}>'
        f"{text(wording(f'room {name}'))}</a>"
        for name in ROOMS
    )


def _query() -> dict[str, str]:
    """What the link says; bytes that are no text are no setting."""
    return {
        str(name): words[-1].decode("utf-8", "replace")
        for name, words in pn.state.session_args.items()
        if words
    }


def _turn(query: dict[str, str], name: str, known: tuple[str, ...]) -> str | None:
    """Take a setting of the page out of the query; what is unknown is as if it were not there."""
    word = query.pop(name, None)
    return word if word in known else None


def _free_port(asked: int | None) -> int:
    """The port asked for, or the usual one, or any that is free."""
    for port in (asked,) if asked is not None else (USUAL_PORT, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ADDRESS, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError(f"port {asked} is taken; give another one.")
