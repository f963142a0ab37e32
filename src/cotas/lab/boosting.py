"""Room 5: LS-Boost, FS_ε and R-FS, and what their theorems allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import panel as pn

from cotas import plots
from cotas.lab import numbers
from cotas.lab.charts import Chart, Curve, dash_of
from cotas.lab.foreign import Data
from cotas.lab.proof import capital, card
from cotas.lab.room import Room
from cotas.lab.state import Call, Menu, Slider, decades
from cotas.lab.worker import LabTask
from cotas.report.markup import pairs, text

ITEMS = ("training error", "coefficients", "predictions", "gradient", "correlation",
         "length of the coefficients", "coefficients that are not zero")  # fmt: skip
# With more coefficients than this a legend would hide the picture.
LONGEST_LEGEND = 12
# Of a longer run so many iterations are drawn.
MOST_POINTS = 250


@dataclass(frozen=True, eq=False)
class BoostingAnswer:
    """A fitted model, its data, and its coefficients at some iterations."""

    model: Any
    data: Data
    ks: Any
    coefs: Any


class Boosting(Room):
    """The three algorithms of Rugeles Ospina, chapter 2, each against its theorem.

    Parameters
    ----------
    lang : "en" or "es"
    dark : bool
    link : mapping, optional

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Boosting(link={"algorithm": "LSBoost", "iterations": "100"})
    >>> room.answer.model.n_iter_
    100
    """

    slug = "boosting"
    FIELDS = (
        Menu("numbers", (*numbers.SAMPLES, "own"), "document"),
        Menu(
            "algorithm", ("LSBoost", "ForwardStagewise", "RegularizedForwardStagewise"), "LSBoost"
        ),
        Slider("rate", (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0), 0.3),
        Slider("eps", decades(-3, 2), 1.0),
        Slider("delta", decades(0, 4, 8), 200.0),
        Slider("iterations", (10, 20, 50, 100, 200, 500, 1000, 2000, 5000), 200),
        Menu("against", ("norm", "iteration"), "norm"),
        Menu("item", ITEMS, "training error"),
        Slider("k", tuple(k / 100 for k in range(101)), 1.0),
    )

    def relevant(self) -> set[str]:
        used = {"numbers", "algorithm", "iterations", "against", "item", "k"}
        used |= {"rate"} if self.values["algorithm"] == "LSBoost" else {"eps"}
        if self.values["algorithm"] == "RegularizedForwardStagewise":
            used |= {"delta"}
        return used | ({"csv"} if self.values["numbers"] == "own" else set())

    def controls(self) -> list[Any]:
        first, *others = super().controls()
        self.loaded: Data | None = None
        own = self.values["numbers"] == "own"
        self.widgets["csv"] = self.file_box(self.wording("csv numbers"), own)
        return [first, self.widgets["csv"], *others]

    def keep_file(self, content: bytes) -> None:
        self.loaded = numbers.from_csv(content)

    def data(self) -> Data:
        """The data as they are now: until there is a file, those of the document."""
        name = self.values["numbers"]
        if name == "own":
            return self.loaded or numbers.sample("document")
        return numbers.sample(name)

    def call(self) -> Call:
        """The call that makes the model."""
        values = self.values
        boost = values["algorithm"] == "LSBoost"
        given = {"eps": values["rate"] if boost else values["eps"]}
        if values["algorithm"] == "RegularizedForwardStagewise":
            given["delta"] = values["delta"]
        return Call(values["algorithm"], {**given, "max_iter": int(values["iterations"])})

    def work(self) -> Callable[[LabTask], BoostingAnswer]:
        data, call = self.data(), self.call()

        def fit(task: LabTask) -> BoostingAnswer:
            model = call.make(n_jobs=1, progress=False, callbacks=task.watch)
            model.fit(data.X, data.y)
            last = len(model.path_) - 1
            ks = np.unique(np.linspace(0, last, MOST_POINTS).round().astype(np.int64))
            coefs = np.array([model.path_.unit_coef(int(k)) for k in ks])
            return BoostingAnswer(model, data, ks, coefs)

        return self.kept((self.values["numbers"], id(self.loaded), str(call)), fit)

    def picture(self) -> Any:
        wording, looks = self.wording, self.looks
        self.path = Chart(looks, wording("norm"), wording("unit coefficient"), name="path")
        self.theorem = Chart(looks, wording("iteration"), "", log=(True, True), name="theorem")
        return pn.Column(self.path.pane(), self.theorem.pane(), sizing_mode="stretch_width",
                         margin=0)  # fmt: skip

    def show(self, answer: BoostingAnswer) -> None:
        wording, run = self.wording, answer.model.path_
        k = round(self.values["k"] * (len(run) - 1))
        by_norm = self.values["against"] == "norm"
        x = run.lengths[answer.ks] if by_norm else answer.ks
        many = len(answer.data.names) > LONGEST_LEGEND
        self.path.figure.xaxis.axis_label = wording("norm" if by_norm else "iteration")
        self.path.draw(
            (
                Curve("" if many else name, x, answer.coefs[:, j], j, dash_of(j))
                for j, name in enumerate(answer.data.names)
            ),
            float(run.lengths[k]) if by_norm else float(k),
            f"{wording('iteration')} {k}",
        )
        self._show_theorem(answer, k)
        table = {
            capital(wording("iteration")): f"{k} / {len(run) - 1}",
            wording("norm"): f"{run.lengths[k]:.5g}",
            capital(wording("item coefficients that are not zero")): f"{run.nonzeros[k]:g}",
            wording("loss at k"): f"{run.losses[k]:.5g}",
        }
        self.proof.object = (
            card(answer.model.certificate_, [], wording) + pairs(table) + self._items(answer, k)
        )

    def _show_theorem(self, answer: BoostingAnswer, k: int) -> None:
        """One item of the theorem along the run."""
        wording, certificate = self.wording, answer.model.certificate_
        names = [item.name for item in certificate.at(0)]
        item = self.values["item"] if self.values["item"] in names else names[0]
        ks = [int(i) for i in answer.ks if i > 0]
        found = [certificate.at(i)[names.index(item)] for i in ks]
        self.theorem.call(wording(f"item {item}"))
        self.theorem.draw(
            [
                Curve(wording("allowed"), ks, [entry.bound for entry in found], 3, "dashed"),
                Curve(wording("measured"), ks, [entry.measured for entry in found], 0),
            ],
            float(max(k, 1)),
            f"{wording('iteration')} {k}",
        )

    def _items(self, answer: BoostingAnswer, k: int) -> str:
        """The whole theorem at iteration k."""
        wording = self.wording
        rows = "".join(
            f"<tr><td>{text(wording(f'item {item.name}'))}</td>"
            f"<td class='n'>{item.measured:.4g}</td><td class='n'>{item.bound:.4g}</td>"
            f"<td class='word'>{text(wording(_verdict(item)))}</td></tr>"
            for item in answer.model.certificate_.at(k)
        )
        heads = "".join(
            f"<th class='n'>{text(word)}</th>"
            for word in ("", wording("measured"), wording("allowed short"), "")
        )
        title = text(wording("theorem at k", k=k))
        return f"<h2 class='next'>{title}</h2><table><tr>{heads}</tr>{rows}</table>"

    def code(self) -> str:
        """A program that computes what is shown."""
        return (
            f"import cotas\n{self.data().source}\nmodel = {self.call()}.fit(X, y)\n"
            "print(model.certificate_)\n"
            f"cotas.plots.coefficient_path(model, against={self.values['against']!r})\n"
            "cotas.plots.certificate_trace(model)\n"
        )

    def draw(self) -> Any:
        """Both pictures on paper."""
        axes = plots.style.panels(2, 1, (6.5, 3.8))
        model, names = self.answer.model, self.answer.data.names
        plots.coefficient_path(model, against=self.values["against"], names=names, ax=axes[0])
        plots.certificate_trace(model, ax=axes[1])
        return axes[0].figure


def _verdict(item: Any) -> str:
    if item.vacuous:
        return "open" if not item.holds else "says nothing"
    return "holds" if item.holds else "open"
