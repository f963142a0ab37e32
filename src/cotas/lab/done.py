"""Room 6: a model of scikit-learn, and whether it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import panel as pn

from cotas.certificates.presentation import percent
from cotas.lab import apart, foreign
from cotas.lab.charts import Chart, Curve
from cotas.lab.foreign import Data, Judged, ModelField
from cotas.lab.looks import WIDGET
from cotas.lab.proof import card
from cotas.lab.room import Room
from cotas.lab.state import Menu, Refused
from cotas.lab.worker import LabTask
from cotas.plots.style import drawing
from cotas.report.certificates import has_gap
from cotas.report.markup import minus, pairs, text
from cotas.words import lang as speaking

EXAMPLES = (
    'SVC(kernel="linear", C=1)',
    "SGDClassifier(alpha=0.002, random_state=0)",
    "LogisticRegression(C=1, max_iter=100)",
    "LinearSVC(C=1, max_iter=1000, random_state=0)",
    "AdaBoostClassifier(n_estimators=50, random_state=0)",
    "Lasso(alpha=0.5)",
    "Ridge(alpha=1.0)",
    "SVR(C=10)",
)


@dataclass(frozen=True, eq=False)
class DoneAnswer:
    """What is proved of the model, and of the same with more iterations or a smaller tol."""

    written: str
    data: Data
    judged: Judged
    over: str
    refits: list[tuple[float, Judged]]


class Done(Room):
    """A model of scikit-learn, written as a call, its data, and its certificate.

    Parameters
    ----------
    lang : "en" or "es"
    dark : bool
    link : mapping, optional

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Done(link={"written": "Ridge(alpha=1.0)", "table": "diabetes"})
    >>> room.answer.judged.certificate.holds
    True
    """

    slug = "done"
    FIELDS = (
        ModelField("written", EXAMPLES[0]),
        Menu("table", (*foreign.BUILTIN, "own"), "breast-cancer"),
    )

    def relevant(self) -> set[str]:
        return {"written", "table", *({"csv"} if self.values["table"] == "own" else ())}

    def controls(self) -> list[Any]:
        options = {"stylesheets": [WIDGET], "sizing_mode": "stretch_width", "margin": (0, 0, 8, 0),
                   "css_classes": ["wide"]}  # fmt: skip
        self.loaded: Data | None = None
        self.written = pn.widgets.TextAreaInput(
            label=self.wording("written"), value=self.values["written"], rows=3, auto_grow=True,
            max_length=foreign.LONGEST, **options,
        )  # fmt: skip
        self.written.param.watch(lambda event: self.write(event.new), "value")
        self.example = pn.widgets.Select(
            label=self.wording("example"),
            options={"…": "", **{example: example for example in EXAMPLES}},
            value=_example(self.values["written"]),
            **options,
        )
        self.example.param.watch(lambda event: self._take(event.new), "value")
        own = self.values["table"] == "own"
        self.widgets["csv"] = self.file_box(self.wording("csv any"), own)
        note = self.prose(css_classes=["wide"])
        note.object = (
            f'<p class="soft">{text(self.wording("known", known=", ".join(foreign.KNOWN)))}</p>'
        )
        table = self.widget(self.FIELDS[1])
        return [self.example, self.written, table, self.widgets["csv"], note]

    def _take(self, example: str | None) -> None:
        """An example, and data that suit it."""
        if not example:
            return
        regressor = example.split("(")[0] in ("Lasso", "Ridge", "SVR")
        if regressor != (self.values["table"] == "diabetes") and self.values["table"] != "own":
            self.values["table"] = "diabetes" if regressor else "breast-cancer"
            self.widgets["table"].value = self.values["table"]
        self.written.value = example

    def write(self, written: str) -> None:
        """Take what was written, if it can be understood."""
        if self.understood(lambda: foreign.parse(written)):
            self.example.value = _example(written)
            self.set("written", written)

    def keep_file(self, content: bytes) -> None:
        self.loaded = foreign.from_csv(content)

    def data(self) -> Data:
        """The data as they are now; until there is a file, those of the tumours."""
        name = self.values["table"]
        if name == "own":
            return self.loaded or foreign.builtin("breast-cancer")
        return foreign.builtin(name)

    def work(self) -> Callable[[LabTask], DoneAnswer]:
        written, data = self.values["written"], self.data()

        def compute(task: LabTask) -> DoneAnswer:
            model = foreign.parse(written)
            foreign.suits(model, data)
            over, _ = foreign.varied(model)
            try:
                judged = apart.run(task, foreign.judge, model, data)
            except (
                apart.ProcessEnded
            ):  # by a newer change, which nobody is told of, or by the system
                raise Refused("ended by the system") from None
            answer = DoneAnswer(written, data, judged, over, [])
            task.pass_on(answer)
            for again in foreign.refits(task, model, data):
                answer = replace(answer, refits=again)
                task.pass_on(answer)
            return answer

        return compute

    def news(self, report: Any) -> None:
        """Show what is known so far."""
        with self.held(), speaking(self.lang):
            self.show(report)

    def picture(self) -> Any:
        # The browser keeps the label of an axis that changes while it draws the page at first.
        over, _ = foreign.varied(foreign.parse(self.values["written"]))
        self.chart = Chart(self.looks, over, self.wording("gap"), log=(True, True),
                           aspect=1.5, name="refits")  # fmt: skip
        self.table = self.prose(sizing_mode="stretch_width")
        return pn.Column(self.chart.pane(), self.table, sizing_mode="stretch_width", margin=0)

    def show(self, answer: DoneAnswer) -> None:
        wording = self.wording
        self.chart.figure.xaxis.axis_label = answer.over
        usable = [(v, j) for v, j in answer.refits if has_gap(j.certificate)]
        self.chart.draw([
            Curve("", [v for v, _ in usable],
                  [j.certificate.relative_gap for _, j in usable], 0, dots=True)
        ] if usable else [])  # fmt: skip
        self.chart.figure.visible = bool(usable)
        self.table.object = self._refits(answer) if usable else self._nothing(answer)
        model = answer.judged.model
        said = answer.judged.warned or wording("silence")
        iterations = getattr(model, "n_iter_", None)
        table = {wording("library said"): said}
        if iterations is not None:
            table[wording("n_iter")] = f"{int(np.max(iterations)):,}"
        self.proof.object = card(answer.judged.certificate, [], wording) + pairs(table)

    def _refits(self, answer: DoneAnswer) -> str:
        wording = self.wording
        rows = "".join(
            f"<tr><td class='n'>{value:g}</td><td class='n'>{j.certificate.upper:.6g}</td>"
            f"<td class='n'>{minus(percent(j.certificate.relative_gap))}</td>"
            f"<td class='word'>{text(wording('warned' if j.warned else 'silent'))}</td></tr>"
            for value, j in answer.refits
            if has_gap(j.certificate)
        )
        heads = (answer.over, wording("objective of it"), wording("gap"))
        head = "".join(f"<th class='n'>{text(word)}</th>" for word in heads)
        head += f"<th>{text(wording('library said'))}</th>"
        return f"<h2>{text(wording('more'))}</h2><table><tr>{head}</tr>{rows}</table>"

    def _nothing(self, answer: DoneAnswer) -> str:
        return f'<p class="soft">{text(self.wording("no refits"))}</p>'

    def code(self) -> str:
        """A program that computes the certificate."""
        model = foreign.parse(self.values["written"])
        module = type(model).__module__.split(".")[1]
        return (
            f"import cotas\nfrom sklearn.{module} import {type(model).__name__}\n"
            f"{self.data().source}\nmodel = {self.values['written'].strip()}.fit(X, y)\n"
            "print(cotas.certify(model, X, y))\n"
        )

    def draw(self) -> Any:
        """The gaps on paper, or the two bounds where nothing was varied."""
        answer = self.answer
        usable = [(v, j) for v, j in answer.refits if has_gap(j.certificate)]
        certificate = answer.judged.certificate
        with drawing(None, self.lang) as ax:
            ax.set_title(answer.written)
            if usable:
                gaps = [j.certificate.relative_gap for _, j in usable]
                ax.plot([v for v, _ in usable], gaps, "o-")
                ax.set(xlabel=answer.over, ylabel=self.wording("gap"), xscale="log", yscale="log")
            else:
                ax.plot([certificate.lower, certificate.upper], [0, 0], "o-")
                ends = ("lower", "upper") if has_gap(certificate) else ("measured", "allowed")
                ax.set(yticks=[], xlabel=" – ".join(map(self.wording, ends)))
        return ax.figure


def _example(written: str) -> str:
    """Which of the examples this is; empty if none."""
    return written if written in EXAMPLES else ""
