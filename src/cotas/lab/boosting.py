"""Room 5: LS-Boost, FS_ε and R-FS, and what their theorems allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cotas import plots
from cotas.lab import tables
from cotas.lab.charts import Chart, Curve, coefficients
from cotas.lab.proof import capital, card, table
from cotas.lab.room import Room
from cotas.lab.state import Call, Menu, Slider, decades
from cotas.lab.tables import Data
from cotas.lab.theme import stack
from cotas.lab.worker import LabTask
from cotas.plots.paths import LONGEST_LEGEND, spread
from cotas.plots.proofs import ITEMS
from cotas.report.markup import pairs, text
from cotas.words import say

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

    The parameters are those of every room: `lang`, `dark` and `link`.

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Boosting(link={"algorithm": "LSBoost", "iterations": "100"})
    >>> room.answer.model.n_iter_
    100
    """

    short = "Boosting regression"
    title = "Boosting for regression, and what the theorems allow"
    lead = (
        "LS-Boost(ε), FS_ε and R-FS of Rugeles Ospina: each run against the bound of its theorem."
    )
    CSV = tables.CSV
    FIELDS = (
        Menu("numbers", "document", "Data", {**tables.NUMBERS, "own": "A CSV of one's own"}),
        Menu("algorithm", "LSBoost", "Algorithm", {
            "LSBoost": "LS-Boost(ε), Algorithm 8",
            "ForwardStagewise": "FS_ε",
            "RegularizedForwardStagewise": "R-FS_ε,δ, Algorithm 9",
        }),
        Slider("rate", 0.3, "Learning rate ε", (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)),
        Slider("eps", 1.0, "Step ε", decades(-3, 2)),
        Slider("delta", 200.0, "Length δ of ‖β‖₁", decades(0, 4, 8)),
        Slider("iterations", 200, "Iterations", (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)),
        Menu("against", "norm", "Coefficients against",
             {"norm": "‖β‖₁", "iteration": "the iteration"}),
        Menu("item", "training error", "Item of the theorem", ITEMS),
        Slider("k", 1.0, "Look at this part of the run", tuple(k / 100 for k in range(101))),
    )  # fmt: skip
    loaded: Data | None = None

    def relevant(self) -> set[str]:
        used = super().relevant() - {"rate", "eps", "delta"}
        used |= {"rate"} if self.values["algorithm"] == "LSBoost" else {"eps"}
        regularized = self.values["algorithm"] == "RegularizedForwardStagewise"
        return used | ({"delta"} if regularized else set())

    def keep_file(self, content: bytes) -> None:
        self.loaded = tables.of_numbers(content)

    def data(self) -> Data:
        """Return the data as they are now: until there is a file, those of the document."""
        if self.values["numbers"] == "own" and self.loaded is not None:
            return self.loaded
        return tables.sample(self.values["numbers"])

    def call(self) -> Call:
        """Return the call that makes the model."""
        values, used = self.values, self.relevant()
        given = {"eps": values["rate" if "rate" in used else "eps"]}
        if "delta" in used:
            given["delta"] = values["delta"]
        return Call(values["algorithm"], {**given, "max_iter": int(values["iterations"])})

    def work(self) -> Callable[[LabTask], BoostingAnswer]:
        data, call = self.data(), self.call()

        def fit(task: LabTask) -> BoostingAnswer:
            model = call.make(n_jobs=1, progress=False, callbacks=task.watch)
            model.fit(data.X, data.y)
            return BoostingAnswer(model, data, *spread(model.path_, MOST_POINTS))

        return self.kept((self.values["numbers"], id(self.loaded), str(call)), fit)

    def picture(self) -> Any:
        self.path = Chart(self.theme, "‖β‖₁", say("coefficient (unit columns)"), name="path")
        self.theorem = Chart(self.theme, say("iteration"), "", log=(True, True), name="theorem")
        return stack(self.path.pane(), self.theorem.pane())

    def show(self, answer: BoostingAnswer) -> None:
        run, names = answer.model.path_, answer.data.names
        k = round(self.values["k"] * (len(run) - 1))
        by_norm = self.values["against"] == "norm"
        self.path.figure.xaxis.axis_label = "‖β‖₁" if by_norm else say("iteration")
        self.path.draw(
            coefficients(
                names if len(names) <= LONGEST_LEGEND else [""] * len(names),
                run.lengths[answer.ks] if by_norm else answer.ks,
                answer.coefs,
            ),
            float(run.lengths[k]) if by_norm else float(k),
            f"{say('iteration')} {k}",
        )
        self._show_theorem(answer, k)
        found = {
            capital(say("iteration")): f"{k} / {len(run) - 1}",
            "‖β‖₁": f"{run.lengths[k]:.5g}",
            capital(say("coefficients that are not zero")): f"{run.nonzeros[k]:g}",
            say("Training error L_n"): f"{run.losses[k]:.5g}",
        }
        self.proof.object = card(answer.model.certificate_) + pairs(found) + self._items(answer, k)

    def _show_theorem(self, answer: BoostingAnswer, k: int) -> None:
        """Show one item of the theorem along the run."""
        certificate = answer.model.certificate_
        names = [item.name for item in certificate.at(0)]
        item = self.values["item"] if self.values["item"] in names else names[0]
        ks = [int(i) for i in answer.ks if i > 0]
        found = [certificate.at(i)[names.index(item)] for i in ks]
        self.theorem.call(say(ITEMS[item]))
        self.theorem.draw(
            [
                Curve(say("allowed by the theorem"), ks, [e.bound for e in found], 3, "dashed"),
                Curve(say("measured"), ks, [entry.measured for entry in found], 0),
            ],
            float(max(k, 1)),
            f"{say('iteration')} {k}",
        )

    def _items(self, answer: BoostingAnswer, k: int) -> str:
        """Return the whole theorem at iteration k."""
        rows = [
            (
                say(ITEMS[item.name]),
                f"{item.measured:.4g}",
                f"{item.bound:.4g}",
                say(_verdict(item)),
            )
            for item in answer.model.certificate_.at(k)
        ]
        title = text(say("The theorem at iteration {k}", k=k))
        heads = ("", say("measured"), say("allowed"), "")
        return f"<h2 class='next'>{title}</h2>" + table(("", "n", "n", "word"), heads, rows)

    def code(self) -> str:
        """Return a program that computes what is shown."""
        return (
            f"import cotas\n{self.data().source}\nmodel = {self.call()}.fit(X, y)\n"
            "print(model.certificate_)\n"
            f"cotas.plots.coefficient_path(model, against={self.values['against']!r})\n"
            "cotas.plots.certificate_trace(model)\n"
        )

    def draw(self) -> Any:
        """Return both pictures on paper."""
        axes = plots.style.panels(2, 1, (6.5, 3.8))
        model, names = self.answer.model, self.answer.data.names
        plots.coefficient_path(model, against=self.values["against"], names=names, ax=axes[0])
        plots.certificate_trace(model, ax=axes[1])
        return axes[0].figure


def _verdict(item: Any) -> str:
    if not item.holds:
        return "open"
    return "vacuous" if item.vacuous else "holds"
