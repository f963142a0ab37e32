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
from cotas.lab.looks import CONTROLS, FLOOR, PROSE, WIDGET, Looks
from cotas.lab.state import Menu, Refused, Setting, Slider, read_link, write_link
from cotas.lab.words import speak
from cotas.lab.worker import LabTask, Worker
from cotas.report.markup import text
from cotas.words import lang as speaking

FORMATS = ("svg", "pdf", "png")
# So many letters a menu can show in half the width of a telephone.
HALF_A_TELEPHONE = 18
# matplotlib has one set of settings for all threads.
_one_picture_at_a_time = threading.Lock()


class Room(pn.viewable.Viewer):
    """One page of the lab: settings on the left, a picture, and what is proved on the right.

    Parameters
    ----------
    lang : "en" or "es"
    dark : bool
    link : mapping, optional
        The state as a link has it: names and words.
    """

    slug: ClassVar[str]
    FIELDS: ClassVar[tuple[Setting, ...]]

    def __init__(
        self, *, lang: str = "en", dark: bool = False, link: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.lang, self.wording, self.looks = lang, speak(lang), Looks(dark)
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
        self.message = self.prose(sizing_mode="stretch_width", visible=False)
        self.status = self.prose(sizing_mode="stretch_width", height=22, margin=0)
        self.proof = self.prose(sizing_mode="stretch_width")
        self._code = self.prose(sizing_mode="stretch_width")
        self._problems = problems
        self.layout = pn.Column(self.message, self.floor(), sizing_mode="stretch_width", margin=0)
        self.complain(*problems)
        self.refresh()

    # ---- for each room to say --------------------------------------------------------------------

    def picture(self) -> Any:
        """What is drawn in the middle: a pane."""
        raise NotImplementedError

    def controls(self) -> list[Any]:
        """What stands on the left."""
        return [self.widget(field) for field in self.FIELDS if isinstance(field, Menu | Slider)]

    def relevant(self) -> set[str]:
        """The names of the settings that make a difference now."""
        return {field.name for field in self.FIELDS}

    def work(self) -> Callable[[LabTask], Any]:
        """What computes the answer for the present state; it runs in a thread."""
        raise NotImplementedError

    def show(self, answer: Any) -> None:
        """Draw and write the answer."""
        raise NotImplementedError

    def code(self) -> str:
        """A program that computes what is shown."""
        raise NotImplementedError

    def draw(self) -> Any:
        """The picture on paper: a figure of matplotlib, by the library's own plots."""
        raise NotImplementedError

    # ---- how the page is laid out ----------------------------------------------------------------

    def __panel__(self) -> Any:
        return self.layout

    def floor(self) -> Any:
        """Controls, picture and proof side by side, and the code below."""
        left = pn.Column(
            *self.controls(), css_classes=["controls"], stylesheets=[CONTROLS], margin=0
        )
        middle = pn.Column(self.picture(), self.status, css_classes=["picture"], margin=0,
                           sizing_mode="stretch_width")  # fmt: skip
        right = pn.Column(self.proof, css_classes=["proof"], margin=0)
        return pn.Column(left, middle, right, self._foot(), stylesheets=[FLOOR],
                         sizing_mode="stretch_width", margin=0)  # fmt: skip

    def _foot(self) -> Any:
        words = self.prose(margin=(9, 8, 4, 0))
        words.object = f'<span class="soft">{text(self.wording("save"))}</span>'
        parts = [words, *(self._saving(form) for form in FORMATS), *self._addresses()]
        row = pn.Row(*parts, stylesheets=[WRAPPED], margin=0, sizing_mode="stretch_width")
        code = self.folded(self.wording("code"), self._code)
        return pn.Column(row, code, css_classes=["below"], sizing_mode="stretch_width", margin=0)

    def _addresses(self) -> list[Any]:
        """What has to do with the address of the page; in a notebook there is none."""
        if self._location is None:
            return []
        copy, again = self.button(self.wording("copy")), self.button(self.wording("reset"))
        copy.js_on_click(
            args={"word": self.wording("copied")},
            code="navigator.clipboard.writeText(window.location.href); cb_obj.origin.label = word",
        )
        again.js_on_click(code=AGAIN)
        return [copy, again]

    def folded(self, title: str, *parts: Any) -> Any:
        """What is shown when someone asks for it."""
        heading = self.prose()
        heading.object = f"<b>{text(title)}</b>"
        return pn.Card(
            *parts, header=heading, collapsed=True, sizing_mode="stretch_width", margin=(6, 0),
            stylesheets=[WIDGET, CARD], css_classes=["wide"],
        )  # fmt: skip

    def _saving(self, form: str) -> Any:
        return pn.widgets.FileDownload(
            callback=lambda: self.saved(form),
            filename=f"cotas-{self.slug}.{form}",
            label=form.upper(),
            embed=False,
            auto=True,
            icon=None,
            stylesheets=[WIDGET],
            margin=(4, 8, 4, 0),
        )

    def saved(self, form: str) -> io.BytesIO:
        """The picture as a file."""
        import matplotlib.pyplot as plt

        found = io.BytesIO()
        with _one_picture_at_a_time, speaking(self.lang):
            figure = self.draw()
            figure.savefig(found, format=form, dpi=200)
            plt.close(figure)
        found.seek(0)
        return found

    # ---- widgets ---------------------------------------------------------------------------------

    def prose(self, **options: Any) -> Any:
        """A pane for HTML; whoever fills it escapes what is not its own."""
        return pn.pane.HTML("", stylesheets=[PROSE], **{"margin": 0, **options})

    def button(self, name: str, **options: Any) -> Any:
        """A button."""
        return pn.widgets.Button(
            label=name, stylesheets=[WIDGET], **{"margin": (4, 8, 4, 0), **options}
        )

    def widget(self, field: Menu | Slider) -> Any:
        """What sets a field: a menu or a slider."""
        common = {"label": self.wording(field.name), "stylesheets": [WIDGET],
                  "sizing_mode": "stretch_width", "margin": (0, 0, 8, 0)}  # fmt: skip
        value = self.values[field.name]
        if isinstance(field, Menu):
            options = {self.option(field.name, word): word for word in field.options}
            wide = ["wide"] if max(map(len, options)) > HALF_A_TELEPHONE else []
            made = pn.widgets.Select(options=options, value=value, css_classes=wide, **common)
        else:
            made = pn.widgets.DiscreteSlider(
                options=list(field.grid),
                value=value,
                formatter="%g",
                bar_color=self.looks.accent,
                **common,
            )
        made.visible = field.name in self.relevant()
        made.param.watch(lambda event, name=field.name: self.set(name, event.new), "value")
        self.widgets[field.name] = made
        return made

    def option(self, field: str, word: str) -> str:
        """What the menu calls an option."""
        for key in (f"{field} {word}", word):
            try:
                return self.wording(key)
            except KeyError:
                continue
        return word

    # ---- what happens ----------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
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
        self.status.object = f'<span class="soft busy">{text(self.wording("solving"))}</span>'
        self.worker.submit(_timed(self.work()), self._done, self.news)

    def refresh_widgets(self) -> None:
        """Show the settings that make a difference, and no others."""
        shown = self.relevant()
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
            said = text(self.wording("answered", milliseconds=1000 * seconds))
            self.status.object = f'<span class="soft" id="answered">{said}</span>'
            self._code.object = f"<pre>{text(self.code())}</pre>"

    def kept(self, key: Any, compute: Callable[[LabTask], Any]) -> Callable[[LabTask], Any]:
        """The same work, unless its answer for this key is still at hand."""

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
            said = self.wording("solving gap", gap=f"{certificate.relative_gap:.1e}")
            self.status.object = f'<span class="soft busy">{text(said)}</span>'

    def file_box(self, words: str, shown: bool, **options: Any) -> Any:
        """A place for a CSV file, which `load` takes, under a line of words."""
        file = pn.widgets.FileInput(
            accept=".csv,.txt,.tsv", sizing_mode="stretch_width", stylesheets=[WIDGET],
            margin=(0, 0, 8, 0), **options,
        )  # fmt: skip
        file.param.watch(lambda event: self.load(event.new), "value")
        label = self.prose()
        label.object = f'<span class="soft">{text(words)}</span>'
        return pn.Column(label, file, margin=0, sizing_mode="stretch_width", visible=shown,
                         css_classes=["wide"])  # fmt: skip

    def load(self, content: bytes | None) -> None:
        """Take what is in a file, if it can be understood."""
        if content and self.understood(lambda: self.keep_file(content)):
            self.refresh()

    def keep_file(self, content: bytes) -> None:
        """Make what is in a file the data of the room; `Refused` if that cannot be."""
        raise NotImplementedError

    def understood(self, keep: Callable[[], Any]) -> bool:
        """Whether something was kept; if it was refused, that is said."""
        try:
            keep()
        except Refused as problem:
            self.complain(problem)
            return False
        self.complain()
        return True

    def complain(self, *problems: Exception) -> None:
        """Say what was refused; nothing clears what was said before."""
        said = [f'<p class="problem" role="alert">{text(self._in_words(p))}</p>' for p in problems]
        self.message.object = "".join(said)
        self.message.visible = bool(said)

    def _in_words(self, problem: Exception) -> str:
        if isinstance(problem, Refused):
            return self.wording(problem.key, **problem.values)
        if isinstance(problem, NotSeparableError):
            return self.wording("not separable", why=" ".join(str(problem).split()))
        return self.wording("library refuses", why=" ".join(str(problem).split())[:500])

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
        own = {"lang": self.lang, "theme": "dark" if self.looks.dark else "light"}
        rest = write_link(self.FIELDS, self.values)
        with self.held():
            self._location.search = "?" + "&".join(
                [*(f"{name}={word}" for name, word in own.items()), *([rest] if rest else [])]
            )


def _timed(compute: Callable[[LabTask], Any]) -> Callable[[LabTask], tuple[Any, float]]:
    """The answer and the seconds that it took."""

    def work(task: LabTask) -> tuple[Any, float]:
        began = time.perf_counter()
        return compute(task), time.perf_counter() - began

    return work


# The room as it is without a state, in the language and the light that were chosen.
AGAIN = """
const there = new URL(window.location.href);
for (const name of [...there.searchParams.keys()])
  if (!["lang", "theme"].includes(name)) there.searchParams.delete(name);
window.location.assign(there);
"""
WRAPPED = ":host { flex-wrap: wrap; }"
CARD = """
:host, :host(.card) { border: 1px solid var(--lab-line, #d9dee3); border-radius: 8px; outline: none;
  background: transparent; box-shadow: none !important; }
.card-header { background: var(--lab-card, #f6f8fa); color: var(--lab-ink, #1b1f23); border: 0;
  padding: .45rem .6rem; }
.card-header * { color: var(--lab-ink, #1b1f23); }
.card-header:focus-visible { outline: 3px solid var(--lab-accent, #0072b2); }
"""
