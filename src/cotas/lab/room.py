"""What all rooms share: settings and their widgets, the link, the code, pictures, the worker."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import panel as pn

from cotas.exceptions import NotSeparableError
from cotas.lab.state import Menu, Refused, Setting, Slider, read_link, write_link
from cotas.lab.theme import CARD, CONTROLS, FLOOR, WIDGET, WRAPPED, Theme, prose, stack, wide
from cotas.lab.worker import LabTask, Worker
from cotas.report.markup import text
from cotas.words import lang as speaking
from cotas.words import say

FORMATS = ("svg", "pdf", "png")
# So many letters a menu can show in half the width of a telephone.
HALF_A_TELEPHONE = 18
# matplotlib has one set of settings for all threads.
_one_picture_at_a_time = threading.Lock()
# The room as it is without a state, in the language and the light that were chosen.
AGAIN = """
const there = new URL(window.location.href);
for (const name of [...there.searchParams.keys()])
  if (!["lang", "theme"].includes(name)) there.searchParams.delete(name);
window.location.assign(there);
"""
COPY = "navigator.clipboard.writeText(window.location.href); cb_obj.origin.label = word"
# How what is set stands under what is set above it.
SET = {"stylesheets": [WIDGET], "sizing_mode": "stretch_width", "margin": (0, 0, 8, 0)}


class Room(pn.viewable.Viewer):
    """One page of the lab: settings on the left, a picture, and what is proved on the right.

    Parameters
    ----------
    lang : "en" or "es"
        What the room speaks, whatever the language of the moment.
    dark : bool
    link : mapping, optional
        The state as a link has it: names and words.
    """

    # What the page is called, in a menu and above it, what can be done there, what can be set, and
    # what a file of one's own has to hold.
    short: ClassVar[str]
    title: ClassVar[str]
    lead: ClassVar[str]
    FIELDS: ClassVar[tuple[Setting, ...]]
    CSV: ClassVar[str]

    def __init__(
        self, *, lang: str = "en", dark: bool = False, link: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.lang, self.theme = lang, Theme(dark)
        self.values, problems = read_link(self.FIELDS, link or {})
        document = pn.state.curdoc
        served = document is not None and document.session_context is not None
        self.document = document if served else None
        self._location = pn.state.location if served else None
        self.worker = Worker(self._deliver, threaded=served)
        if served:
            pn.state.on_session_destroyed(lambda _: self.worker.end())
        self.widgets: dict[str, Any] = {}
        self.answer: Any = None
        self._kept: tuple[Any, Any] | None = None
        self.message, self.status = wide(visible=False), wide(height=22)
        self.proof, self._code = wide(), wide()
        with speaking(lang):
            self.layout = stack(self.message, self.floor())
        self.complain(*problems)
        self.refresh()

    # ---- for each room to say --------------------------------------------------------------------

    def picture(self) -> Any:
        """Return what is drawn in the middle: a pane."""
        raise NotImplementedError

    def controls(self) -> list[Any]:
        """Return what stands on the left: a widget for each setting, and a place for a file."""
        found = []
        for field in self.FIELDS:
            if isinstance(field, Menu | Slider):
                found.append(self.widget(field))
            if isinstance(field, Menu) and "own" in field.options:
                found.append(self.file_box())
        return found

    def relevant(self) -> set[str]:
        """Return the names of the settings that make a difference now."""
        return {field.name for field in self.FIELDS}

    def work(self) -> Callable[[LabTask], Any]:
        """Return what computes the answer for the present state; it runs in a thread."""
        raise NotImplementedError

    def show(self, answer: Any) -> None:
        """Draw and write the answer."""
        raise NotImplementedError

    def code(self) -> str:
        """Return a program that computes what is shown."""
        raise NotImplementedError

    def draw(self) -> Any:
        """Return the picture on paper: a figure of matplotlib, by the library's own plots."""
        raise NotImplementedError

    # ---- how the page is laid out ----------------------------------------------------------------

    def __panel__(self) -> Any:
        return self.layout

    def floor(self) -> Any:
        """Lay out controls, picture and proof side by side, and the code below."""
        return stack(
            pn.Column(*self.controls(), css_classes=["controls"], stylesheets=[CONTROLS], margin=0),
            stack(self.picture(), self.status, css_classes=["picture"]),
            pn.Column(self.proof, css_classes=["proof"], margin=0),
            self._foot(),
            stylesheets=[FLOOR],
        )

    def _foot(self) -> Any:
        words = prose(f'<span class="soft">{text(say("Save picture:"))}</span>',
                      margin=(9, 8, 4, 0))  # fmt: skip
        parts = [words, *(self._saving(form) for form in FORMATS), *self._addresses()]
        row = pn.Row(*parts, stylesheets=[WRAPPED], margin=0, sizing_mode="stretch_width")
        return stack(row, self.folded(say("Show the code"), self._code), css_classes=["below"])

    def _addresses(self) -> list[Any]:
        """Return what has to do with the address of the page; in a notebook there is none."""
        if self._location is None:
            return []
        copy, again = map(self.button, (say("Copy the link to this state"), say("Start again")))
        copy.js_on_click(args={"word": say("Copied")}, code=COPY)
        again.js_on_click(code=AGAIN)
        return [copy, again]

    def folded(self, title: str, *parts: Any) -> Any:
        """Return what is shown when someone asks for it."""
        return pn.Card(
            *parts, header=prose(f"<b>{text(title)}</b>"), collapsed=True, margin=(6, 0),
            sizing_mode="stretch_width", stylesheets=[WIDGET, CARD], css_classes=["wide"],
        )  # fmt: skip

    def _saving(self, form: str) -> Any:
        return pn.widgets.FileDownload(
            callback=lambda: self.saved(form), label=form.upper(), embed=False, auto=True,
            filename=f"cotas-{type(self).__name__.lower()}.{form}", icon=None,
            stylesheets=[WIDGET], margin=(4, 8, 4, 0),
        )  # fmt: skip

    def saved(self, form: str) -> io.BytesIO:
        """Return the picture as a file."""
        import matplotlib.pyplot as plt

        found = io.BytesIO()
        with _one_picture_at_a_time, speaking(self.lang):
            figure = self.draw()
            figure.savefig(found, format=form, dpi=200)
            plt.close(figure)
        found.seek(0)
        return found

    # ---- widgets ---------------------------------------------------------------------------------

    def button(self, name: str, press: Callable[[], Any] | None = None, **options: Any) -> Any:
        """Return a button, and what it does when it is pressed."""
        made = pn.widgets.Button(
            label=name, stylesheets=[WIDGET], **{"margin": (4, 8, 4, 0), **options}
        )
        if press is not None:
            made.on_click(lambda _: press())
        return made

    def widget(self, field: Menu | Slider) -> Any:
        """Return what sets a field: a menu or a slider."""
        common = {"label": say(field.label), "value": self.values[field.name], **SET}
        if isinstance(field, Menu):
            options = {
                word if word == words else say(words): word  # the name of a class stays what it is
                for word, words in field.options.items()
            }
            broad = ["wide"] if max(map(len, options)) > HALF_A_TELEPHONE else []
            made = pn.widgets.Select(options=options, css_classes=broad, **common)
        else:
            made = pn.widgets.DiscreteSlider(
                options=list(field.grid), formatter="%g", bar_color=self.theme.accent, **common
            )
        made.param.watch(lambda event: self.set(field.name, event.new), "value")
        self.widgets[field.name] = made
        return made

    def file_box(self) -> Any:
        """Return a place for a CSV file, which `load` takes, under a line of words."""
        file = pn.widgets.FileInput(accept=".csv,.txt,.tsv", **SET)
        file.param.watch(lambda event: self.load(event.new), "value")
        words = prose(f'<span class="soft">{text(say(self.CSV))}</span>')
        self.widgets["csv"] = stack(words, file, css_classes=["wide"])
        return self.widgets["csv"]

    # ---- what happens ----------------------------------------------------------------------------

    def set(self, name: str, value: object) -> None:
        """Change one setting and compute anew."""
        if self.values[name] == value:
            return
        self.values[name] = value
        self.complain()
        self.refresh()

    def refresh(self) -> None:
        """Compute what the state asks for, and show it when it is there."""
        self.refresh_widgets()
        self._write_link()
        self._busy("Solving…")
        self.worker.submit(_timed(self.work()), self._done, self.news)

    def _busy(self, words: str, **values: Any) -> None:
        with speaking(self.lang):
            self.status.object = f'<span class="soft busy">{text(say(words, **values))}</span>'

    def refresh_widgets(self) -> None:
        """Show the settings that make a difference, and no others."""
        own = any(isinstance(f, Menu) and self.values[f.name] == "own" for f in self.FIELDS)
        shown = self.relevant() | ({"csv"} if own else set())
        for name, widget in self.widgets.items():
            widget.visible = name in shown

    def _done(self, outcome: Any) -> None:
        with self.held(), speaking(self.lang):
            self.status.object = ""
            if isinstance(outcome, Exception):
                self.complain(outcome)
                return
            self.answer, seconds = outcome
            self.show(self.answer)
            took = {"milliseconds": 1000 * seconds}
            said = text(say("Solved, proved and drawn in {milliseconds:.0f} ms", **took))
            self.status.object = f'<span class="soft" id="answered">{said}</span>'
            self._code.object = f"<pre>{text(self.code())}</pre>"

    def kept(self, key: Any, compute: Callable[[LabTask], Any]) -> Callable[[LabTask], Any]:
        """Return the same work, unless its answer for this key is still at hand."""

        def work(task: LabTask) -> Any:
            if self._kept is not None and self._kept[0] == key:
                return self._kept[1]
            found = compute(task)
            if not task.overtaken:  # what was ended on the way is no answer
                self._kept = (key, found)
            return found

        return work

    def news(self, report: Any) -> None:
        """Say how far a fit has come."""
        certificate = getattr(report, "certificate", None)
        if certificate is not None and np.isfinite(certificate.relative_gap):
            gap = f"{certificate.relative_gap:.1e}"
            self._busy("Solving… the gap proved so far is {gap}", gap=gap)

    def load(self, content: bytes | None) -> None:
        """Take what is in a file, if it can be understood."""
        if content and self.understood(lambda: self.keep_file(content)):
            self.refresh()

    def keep_file(self, content: bytes) -> None:
        """Make what is in a file the data of the room; `Refused` if that cannot be."""
        raise NotImplementedError

    def understood(self, keep: Callable[[], Any]) -> bool:
        """Tell whether something was kept; if it was refused, that is said."""
        try:
            keep()
        except Refused as problem:
            self.complain(problem)
            return False
        self.complain()
        return True

    def complain(self, *problems: Exception) -> None:
        """Say what was refused; nothing clears what was said before."""
        with speaking(self.lang):
            said = [f'<p class="problem" role="alert">{text(_in_words(p))}</p>' for p in problems]
        self.message.object = "".join(said)
        self.message.visible = bool(said)

    # ---- the world outside -----------------------------------------------------------------------

    def _deliver(self, function: Callable[[], None]) -> None:
        """Run where the page may be changed; a page that was closed needs nothing."""
        if self.document is None:
            function()
        elif self.document.session_context is not None:
            self.document.add_next_tick_callback(function)

    def held(self) -> Any:
        """Send all changes of the page at once."""
        return pn.io.hold(self.document) if self.document is not None else pn.io.hold()

    def _write_link(self) -> None:
        if self._location is None:
            return
        theme = "dark" if self.theme.dark else "light"
        words = [f"lang={self.lang}", f"theme={theme}", write_link(self.FIELDS, self.values)]
        with self.held():
            self._location.search = "?" + "&".join(filter(None, words))


def _in_words(problem: Exception) -> str:
    if isinstance(problem, Refused):
        return str(problem)
    why = " ".join(str(problem).split())
    if isinstance(problem, NotSeparableError):
        return say(
            "No line separates these classes, so there is no hard margin. Proved: {why}", why=why
        )
    return say("The library refuses: {why}", why=why[:500])


def _timed(compute: Callable[[LabTask], Any]) -> Callable[[LabTask], tuple[Any, float]]:
    """Return the answer and the seconds that it took."""

    def work(task: LabTask) -> tuple[Any, float]:
        began = time.perf_counter()
        return compute(task), time.perf_counter() - began

    return work
