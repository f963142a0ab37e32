"""Room 6: a model of scikit-learn, and whether it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import panel as pn

from cotas.certificates.presentation import percent
from cotas.lab import apart, foreign, tables
from cotas.lab.charts import Chart, Curve
from cotas.lab.foreign import CertifiedFit, ModelField
from cotas.lab.proof import card, ends_of, table
from cotas.lab.room import SET, Room
from cotas.lab.state import Menu, Refused
from cotas.lab.tables import Data
from cotas.lab.theme import prose, stack, wide
from cotas.lab.worker import LabTask
from cotas.plots.style import drawing
from cotas.report.certificates import has_gap
from cotas.report.markup import pairs, text
from cotas.words import lang as speaking
from cotas.words import say

NOT_ITERATIVE = "There is nothing to vary here: this model has no iterations, or no duality gap."
ENDED = "The process in which the library computed was ended, perhaps for want of memory."
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
    """An answer: what is proved of the model, and of the same with more iterations or a smaller
    tol."""

    written: str
    data: Data
    judged: CertifiedFit
    over: str
    refits: list[tuple[float, CertifiedFit]]

    @property
    def usable(self) -> list[tuple[float, CertifiedFit]]:
        """Return those of which a gap is proved."""
        return [(value, j) for value, j in self.refits if has_gap(j.certificate)]

    def gaps(self) -> tuple[list[float], list[float]]:
        """Return what was varied, and the gap that is proved there."""
        found = [(value, j.certificate.relative_gap) for value, j in self.usable]
        return [value for value, _ in found], [gap for _, gap in found]


class Done(Room):
    """A model of scikit-learn, written as a call, its data, and its certificate.

    The parameters are those of every room: `lang`, `dark` and `link`.

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Done(link={"written": "Ridge(alpha=1.0)", "table": "diabetes"})
    >>> room.answer.judged.certificate.holds
    True
    """

    short = title = "Is your fit done?"
    lead = (
        "A model of scikit-learn, what cotas.certify proves of it, and what more iterations would "
        "do."
    )
    CSV = tables.CSV
    FIELDS = (
        ModelField("written", EXAMPLES[0]),
        Menu("table", "breast-cancer", "Data", {
            "breast-cancer": "Tumours, raw",
            "breast-cancer-scaled": "Tumours, scaled",
            "wine": "Wine, three cultivars",
            "diabetes": "Diabetes (numbers)",
            "own": "A CSV of one's own",
        }),
    )  # fmt: skip
    loaded: Data | None = None

    def controls(self) -> list[Any]:
        options = {**SET, "css_classes": ["wide"]}
        self.written = pn.widgets.TextAreaInput(
            label=say("The model, as you would write it"), value=self.values["written"], rows=3,
            auto_grow=True, max_length=foreign.LONGEST, **options,
        )  # fmt: skip
        self.written.param.watch(lambda event: self.write(event.new), "value")
        self.example = pn.widgets.Select(
            label=say("Pick one"), options={"…": "", **{example: example for example in EXAMPLES}},
            value=_example(self.values["written"]), **options,
        )  # fmt: skip
        self.example.param.watch(lambda event: self._take(event.new), "value")
        known = text(say("Known: {known}.", known=", ".join(foreign.KNOWN)))
        note = prose(f'<p class="soft">{known}</p>', css_classes=["wide"])
        return [self.example, self.written, *super().controls(), note]

    def _take(self, example: str | None) -> None:
        """Take an example, and data that suit it."""
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
        self.loaded = tables.from_csv(content)

    def data(self) -> Data:
        """Return the data as they are now; until there is a file, those of the tumours."""
        name = self.values["table"]
        if name == "own":
            return self.loaded or tables.builtin("breast-cancer")
        return tables.builtin(name)

    def work(self) -> Callable[[LabTask], DoneAnswer]:
        written, data = self.values["written"], self.data()

        def compute(task: LabTask) -> DoneAnswer:
            model = foreign.parse(written)
            foreign.suits(model, data)
            over, _ = foreign.varied(model)
            try:
                judged = apart.run(task, foreign.judge, model, data)
            except apart.ProcessEnded:  # by a newer change, which nobody is told of, or the system
                raise Refused(ENDED) from None
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
        self.chart = Chart(self.theme, over, say("relative gap proved"), log=(True, True),
                           aspect=1.5, name="refits")  # fmt: skip
        self.table = wide()
        return stack(self.chart.pane(), self.table)

    def show(self, answer: DoneAnswer) -> None:
        self.chart.figure.xaxis.axis_label = answer.over
        values, gaps = answer.gaps()
        self.chart.draw([Curve("", values, gaps, dots=True)] if gaps else [])
        self.chart.figure.visible = bool(gaps)
        self.table.object = (
            _refits(answer) if gaps else f'<p class="soft">{text(say(NOT_ITERATIVE))}</p>'
        )
        judged, said = answer.judged, say("scikit-learn says")
        found = {said: judged.warned or say("nothing: no warning")}
        iterations = getattr(judged.model, "n_iter_", None)
        if iterations is not None:
            found[say("Iterations made")] = f"{int(np.max(iterations)):,}"
        self.proof.object = card(judged.certificate) + pairs(found)

    def code(self) -> str:
        """Return a program that computes the certificate."""
        model = foreign.parse(self.values["written"])
        module = type(model).__module__.split(".")[1]
        return (
            f"import cotas\nfrom sklearn.{module} import {type(model).__name__}\n"
            f"{self.data().source}\nmodel = {self.values['written'].strip()}.fit(X, y)\n"
            "print(cotas.certify(model, X, y))\n"
        )

    def draw(self) -> Any:
        """Return the gaps on paper, or the two bounds where nothing was varied."""
        answer, certificate = self.answer, self.answer.judged.certificate
        values, gaps = answer.gaps()
        with drawing(None, self.lang) as ax:
            ax.set_title(answer.written)
            if gaps:
                ax.plot(values, gaps, "o-")
                gap = say("relative gap proved")
                ax.set(xlabel=answer.over, ylabel=gap, xscale="log", yscale="log")
            else:
                ax.plot([certificate.lower, certificate.upper], [0, 0], "o-")
                ax.set(yticks=[], xlabel=" – ".join(map(say, ends_of(certificate))))
        return ax.figure


def _refits(answer: DoneAnswer) -> str:
    rows = [
        (
            f"{value:g}",
            f"{j.certificate.upper:.6g}",
            percent(j.certificate.relative_gap),
            say("a warning" if j.warned else "nothing"),
        )
        for value, j in answer.usable
    ]
    heads = (answer.over, say("objective"), say("relative gap proved"), say("scikit-learn says"))
    return f"<h2>{text(say('What more would do'))}</h2>" + table(
        ("n", "n", "n", "word"), heads, rows
    )


def _example(written: str) -> str:
    """Tell which of the examples this is; empty if none."""
    return written if written in EXAMPLES else ""
