"""Room 4: what the penalty does, to a margin and to the coefficients of a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import BoxAnnotation

import cotas
from cotas import plots
from cotas.experiments import samples
from cotas.lab import tables
from cotas.lab.charts import Chart, Curve, coefficients
from cotas.lab.points import Points
from cotas.lab.proof import capital, card, table
from cotas.lab.room import Room
from cotas.lab.state import Call, Menu, Slider, decades
from cotas.lab.tables import Data
from cotas.lab.theme import stack
from cotas.lab.worker import LabTask
from cotas.plots.paths import spread
from cotas.report.markup import pairs, text
from cotas.words import say

LAMS = decades(-4, 1, 3)
STEPS = 1000
OTHERS = {
    "ForwardStagewise": "FS_ε",
    "LSBoost": "LS-Boost(ε)",
    "RegularizedForwardStagewise": "R-FS_ε,δ",
}
MEASURES = {"loss": "hinge loss", "error": "error"}
REGIMES = {
    "under": "underfitting",
    "best": "chosen",
    "level": "as good as the one chosen",
    "over": "overfitting",
}


@dataclass(frozen=True, eq=False)
class LossesOverC:
    """Losses that `cotas.choose` and `cotas.svm_path` find over the same λ."""

    choice: Any
    path: Any


@dataclass(frozen=True, eq=False)
class Paths:
    """The Lasso for all δ, and a stagewise run beside it."""

    data: Data
    lasso: Any
    other: Any
    fitted: Any


class Penalty(Room):
    """Loss against c, and the path of the Lasso beside the stagewise ones.

    The parameters are those of every room: `lang`, `dark` and `link`.

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Penalty(link={"part of": "lasso", "numbers": "document"})
    >>> room.answer.lasso.exact
    True
    """

    short = "λ and c"
    title = "What the penalty does"
    lead = (
        "Training and validation loss against c = 1/(λn), where under- and overfitting begin, and "
        "the path of the Lasso beside the stagewise ones (Clasificación lineal, Rugeles Ospina)."
    )
    FIELDS = (
        Menu("part of", "loss", "Which of the two",
             {"loss": "Loss against c", "lasso": "Lasso and stagewise"}),
        Menu("classes", "noisy", "Data", {"noisy": "Noisy plane", "tumours": "Tumours, scaled",
                                          "overlap": "Overlapping groups"}),
        Menu("judged by", "loss", "Choose by", MEASURES),
        Slider("at lam", 0.1, "Look at λ", LAMS),
        Menu("numbers", "diabetes", "Data", tables.NUMBERS),
        Menu("other path", "ForwardStagewise", "Beside the Lasso", OTHERS),
        Slider("share of delta", 0.5, "Length δ, as a part of the path",
               tuple(k / 100 for k in range(1, 101))),
    )  # fmt: skip

    @property
    def lasso(self) -> bool:
        """Tell which of the two parts is shown."""
        return bool(self.values["part of"] == "lasso")

    def relevant(self) -> set[str]:
        if self.lasso:
            return {"part of", "numbers", "other path", "share of delta"}
        return {"part of", "classes", "judged by", "at lam"}

    # ---- what is computed ------------------------------------------------------------------------

    def work(self) -> Callable[[LabTask], Any]:
        return self._paths() if self.lasso else self._losses()

    def _losses(self) -> Callable[[LabTask], LossesOverC]:
        name, by = self.values["classes"], self.values["judged by"]

        def compute(task: LabTask) -> LossesOverC:
            data = classes(name)
            new = (data.X_new, data.y_new)
            options: dict[str, Any] = {"validation": new, "n_jobs": 1, "progress": False}
            choice = cotas.choose(
                cotas.LinearSVM(), data.X, data.y, values=LAMS, by=by, refit=False, **options
            )
            return LossesOverC(choice, cotas.svm_path(data.X, data.y, LAMS, pieces=1, **options))

        return self.kept(("loss", name, by), compute)

    def other(self) -> Call:
        """Return the call of the stagewise model beside the Lasso."""
        name, data = self.values["other path"], tables.sample(self.values["numbers"])
        if name == "LSBoost":
            return Call(name, {"eps": 0.1, "max_iter": STEPS})
        # Steps of a thousandth of the longest way there is.
        whole = float(_whole(data).deltas[-1])
        given = {"eps": float(f"{whole / STEPS:.3g}"), "max_iter": STEPS}
        if name == "RegularizedForwardStagewise":
            given["delta"] = float(f"{self.values['share of delta'] * whole:.4g}")
        return Call(name, given)

    def _paths(self) -> Callable[[LabTask], Paths]:
        data, call = tables.sample(self.values["numbers"]), self.other()
        share = self.values["share of delta"]

        def compute(task: LabTask) -> Paths:
            lasso = _whole(data)
            other = call.make(n_jobs=1, progress=False, callbacks=task.watch).fit(data.X, data.y)
            delta = max(share * float(lasso.deltas[-1]), 1e-12)
            fitted = cotas.Lasso(delta=delta, progress=False, n_jobs=1).fit(data.X, data.y)
            return Paths(data, lasso, other, fitted)

        return self.kept(("lasso", self.values["numbers"], str(call), share), compute)

    # ---- what is shown ---------------------------------------------------------------------------

    def picture(self) -> Any:
        theme, c = self.theme, "c = 1/(λn)"
        self.losses = Chart(theme, c, "", log=(True, False), name="losses")
        self.under, self.over = (
            BoxAnnotation(fill_color=theme.colour(k), fill_alpha=0.08, line_color=None)
            for k in range(2)
        )
        for box in (self.under, self.over):
            self.losses.figure.add_layout(box)
        self.widths = Chart(
            theme, c, say("width of the margin, 2/‖θ‖"), log=(True, True), name="widths"
        )
        names = ("‖β‖₁", say("coefficient (unit columns)"))
        self.first = Chart(theme, *names, title=say("The Lasso"), name="lasso")
        self.second = Chart(theme, *names, name="other")
        self.second.figure.x_range = self.first.figure.x_range
        self.second.figure.y_range = self.first.figure.y_range
        self.of_loss = stack(self.losses.pane(), self.widths.pane())
        self.of_lasso = stack(self.first.pane(), self.second.pane())
        return stack(self.of_loss, self.of_lasso)

    def show(self, answer: Any) -> None:
        self.of_loss.visible, self.of_lasso.visible = not self.lasso, self.lasso
        if isinstance(answer, Paths):
            self._show_paths(answer)
        else:
            self._show_losses(answer)

    def _show_losses(self, answer: LossesOverC) -> None:
        choice, path = answer.choice, answer.path
        by, c = self.values["judged by"], choice.c
        index = int(np.argmin(np.abs(np.log(np.array(choice.values) / self.values["at lam"]))))
        self.losses.call(say(MEASURES[by]))
        self.under.right = self.over.left = choice.best_c
        lowest = getattr(choice, f"{by}_interval")[:, 0]
        self.losses.draw(
            [
                Curve(say("training"), c, getattr(choice, f"training_{by}"), 0, dots=True),
                Curve(say("validation"), c, getattr(choice, f"validation_{by}"), 1, "dashed", True),
                Curve(say("proved: none is below"), c, lowest, 3, "dotted"),
            ],
            float(c[index]),
            f"λ = {choice.values[index]:g}",
            [(self.theme.key("area", k), say(REGIMES[regime])) for k, regime in enumerate(
                ("under", "over"))],
        )  # fmt: skip
        order = [int(np.argmin(np.abs(path.lams - lam))) for lam in choice.values]
        widths = 2 / np.linalg.norm(path.coefs.reshape(len(path.lams), -1), axis=1)[order]
        width = say("width of the margin, 2/‖θ‖")
        self.widths.draw([Curve(width, c, widths, 2, dots=True)], float(c[index]))
        bound = choice.hold_out
        found = {
            say("Regime at this λ"): say(REGIMES[choice.regimes[index]]),
            capital(width): f"{widths[index]:.4g}",
            say("Training error"): f"{100 * choice.training_error[index]:.3g}%",
            say("Validation error"): f"{100 * choice.validation_error[index]:.3g}%",
        }
        if bound.kind != "none" and bound.holds:
            found[say("Error on future rows, at most (95%)")] = f"{100 * bound.upper:.3g}%"
        certificate = path.certificates[order[index]]
        self.proof.object = _choice_in_words(choice) + card(certificate) + pairs(found)

    def _show_paths(self, answer: Paths) -> None:
        lasso, run, fitted = answer.lasso, answer.other.path_, answer.fitted
        names, delta = answer.data.names, float(fitted.delta)
        self.first.draw(coefficients([""] * len(names), lasso.deltas, lasso.coefs), delta)
        ks, coefs = spread(run, 200)
        called, unit = say(OTHERS[self.values["other path"]]), say("coefficient (unit columns)")
        self.second.call(unit, called)
        self.second.draw(coefficients(names, run.lengths[ks], coefs), delta, f"δ = {delta:.4g}")
        k = int(np.argmin(np.abs(run.lengths - delta)))
        lam = lasso.lam_at(min(delta, float(lasso.deltas[-1])))
        found = {
            say("λ there"): f"{lam:.4g}",
            capital(say("coefficients that are not zero")): (
                f"{np.count_nonzero(fitted.coef_)} / {len(names)}"
            ),
            say("Training error of the Lasso there"): f"{fitted.certificate_.upper:.6g}",
            say("Training error of {name} there", name=called): f"{run.losses[k]:.6g}",
        }
        rows = [
            (name, f"{a:.4g}", f"{b:.4g}")
            for name, a, b in zip(names, lasso.coef_at(lam), run.unit_coef(k), strict=True)
        ]
        self.proof.object = (
            f"<h2>{text(say('Lasso at δ = {delta:.4g}', delta=delta))}</h2>"
            f"{card(fitted.certificate_)}{pairs(found)}<h2 class='next'>{text(capital(unit))}</h2>"
            + table(("", "n", "n"), ("", say("The Lasso"), called), rows)
        )

    # ---- on paper --------------------------------------------------------------------------------

    def code(self) -> str:
        """Return a program that computes what is shown."""
        if self.lasso:
            delta = float(self.answer.fitted.delta)
            return (
                f"import cotas\n{self.answer.data.source}\n"
                'path = cotas.lasso_path(X, y, method="homotopy", ratio=1e-3)\n'
                f"model = {self.other()}.fit(X, y)\n"
                f"there = cotas.Lasso(delta={delta!r}).fit(X, y)\nprint(there.certificate_)\n"
                "cotas.plots.coefficient_path(path, optimum=there)\n"
                "cotas.plots.coefficient_path(model)\n"
            )
        by = self.values["judged by"]
        return (
            f"import cotas\n{classes(self.values['classes']).source}\n"
            f"choice = cotas.choose(cotas.LinearSVM(), X, y, values={list(LAMS)!r},\n"
            f"                      validation=(X_new, y_new), by={by!r}, refit=False)\n"
            f"print(choice)\ncotas.plots.loss_against_c(choice, measure={by!r})\n"
        )

    def draw(self) -> Any:
        """Return the picture on paper."""
        answer = self.answer
        if not self.lasso:
            return plots.loss_against_c(answer.choice, measure=self.values["judged by"]).figure
        axes, names = plots.style.panels(2, 1, (6.5, 3.8)), answer.data.names
        plots.coefficient_path(answer.lasso, optimum=answer.fitted, names=names, ax=axes[0])
        plots.coefficient_path(answer.other, names=names, ax=axes[1])
        return axes[0].figure


def _choice_in_words(choice: Any) -> str:
    c, lam = choice.best_c, choice.best_value
    heading = say("ĉ = {c:.4g}, that is λ = {lam:.4g}", c=c, lam=lam)
    if choice.safe:
        proved = say(
            "Proved: whatever the fits left undone, no other value has a smaller validation loss."
        )
    elif np.isfinite(choice.regret):
        regret = choice.regret
        proved = say(
            "Another of these values could be better by {regret:.2g} at most, proved.",
            regret=regret,
        )
    else:
        proved = say("Nothing is proved about the choice between these values.")
    return f"<h2>{text(heading)}</h2><p class='soft'>{text(proved)}</p>"


def classes(name: str) -> Points:
    """Draw examples of two classes, and others of the same kind."""
    draw = "from cotas.experiments.samples import "
    if name == "noisy":
        made = samples.noisy_plane(0, n_new=400)
        code = f"{draw}noisy_plane\n\n(X, y), (X_new, y_new) = noisy_plane(0, n_new=400)"
        return Points(*made.training, *made.new, source=code)
    if name == "overlap":
        first, second = samples.overlapping_groups(0), samples.overlapping_groups(1, n=400)
        code = f"{draw}overlapping_groups\n\nX, y = overlapping_groups(0)\n"
        code += "X_new, y_new = overlapping_groups(1, n=400)"
        return Points(*first, *second, source=code)
    data = tables.builtin("breast-cancer-scaled")
    code = f"{data.source}\nX, X_new, y, y_new = X[::2], X[1::2], y[::2], y[1::2]"
    return Points(data.X[::2], data.y[::2], data.X[1::2], data.y[1::2], source=code)


def _whole(data: Data) -> Any:
    return cotas.lasso_path(data.X, data.y, method="homotopy", ratio=1e-3, progress=False)
