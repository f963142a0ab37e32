"""Room 4: what the penalty does, to a margin and to the coefficients of a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import BoxAnnotation

import cotas
from cotas import plots
from cotas.experiments import samples
from cotas.lab import foreign, numbers
from cotas.lab.charts import Chart, Curve, dash_of
from cotas.lab.foreign import Data
from cotas.lab.points import Points
from cotas.lab.proof import capital, card
from cotas.lab.room import Room
from cotas.lab.state import Call, Menu, Slider, decades
from cotas.lab.worker import LabTask
from cotas.report.markup import pairs, text

LAMS = decades(-4, 1, 3)
STEPS = 1000


@dataclass(frozen=True, eq=False)
class LossesOverC:
    """What `cotas.choose` and `cotas.svm_path` say over the same λ."""

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

    Parameters
    ----------
    lang : "en" or "es"
    dark : bool
    link : mapping, optional

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Penalty(link={"part of": "lasso", "numbers": "document"})
    >>> room.answer.lasso.exact
    True
    """

    slug = "penalty"
    FIELDS = (
        Menu("part of", ("loss", "lasso"), "loss"),
        Menu("classes", ("noisy", "tumours", "overlap"), "noisy"),
        Menu("judged by", ("loss", "error"), "loss"),
        Slider("at lam", LAMS, 0.1),
        Menu("numbers", numbers.SAMPLES, "diabetes"),
        Menu(
            "other path",
            ("ForwardStagewise", "LSBoost", "RegularizedForwardStagewise"),
            "ForwardStagewise",
        ),
        Slider("share of delta", tuple(k / 100 for k in range(1, 101)), 0.5),
    )

    @property
    def lasso(self) -> bool:
        """Which of the two parts is shown."""
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
        """The call of the stagewise model beside the Lasso."""
        name, data = self.values["other path"], numbers.sample(self.values["numbers"])
        if name == "LSBoost":
            return Call(name, {"eps": 0.1, "max_iter": STEPS})
        # Steps of a thousandth of the longest way there is.
        whole = float(_whole(data).deltas[-1])
        given = {"eps": float(f"{whole / STEPS:.3g}"), "max_iter": STEPS}
        if name == "RegularizedForwardStagewise":
            given["delta"] = float(f"{self.values['share of delta'] * whole:.4g}")
        return Call(name, given)

    def _paths(self) -> Callable[[LabTask], Paths]:
        data, call = numbers.sample(self.values["numbers"]), self.other()
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
        wording, looks = self.wording, self.looks
        self.losses = Chart(looks, wording("c"), "", log=(True, False), name="losses")
        self.under, self.over = (
            BoxAnnotation(fill_color=looks.colour(k), fill_alpha=0.08, line_color=None)
            for k in range(2)
        )
        for box in (self.under, self.over):
            self.losses.figure.add_layout(box)
        self.widths = Chart(
            looks, wording("c"), wording("margin of it"), log=(True, True), name="widths"
        )
        names = (wording("norm"), wording("unit coefficient"))
        self.first = Chart(looks, *names, title=wording("lasso path"), name="lasso")
        self.second = Chart(looks, *names, name="other")
        self.second.figure.x_range = self.first.figure.x_range
        self.second.figure.y_range = self.first.figure.y_range
        options = {"sizing_mode": "stretch_width", "margin": 0}
        self.of_loss = pn.Column(self.losses.pane(), self.widths.pane(), **options)
        self.of_lasso = pn.Column(self.first.pane(), self.second.pane(), **options)
        return pn.Column(self.of_loss, self.of_lasso, **options)

    def show(self, answer: Any) -> None:
        self.of_loss.visible, self.of_lasso.visible = not self.lasso, self.lasso
        if isinstance(answer, Paths):
            self._show_paths(answer)
        else:
            self._show_losses(answer)

    def _show_losses(self, answer: LossesOverC) -> None:
        wording, choice, path = self.wording, answer.choice, answer.path
        by, c = self.values["judged by"], choice.c
        index = int(np.argmin(np.abs(np.log(np.array(choice.values) / self.values["at lam"]))))
        training, validation = (getattr(choice, f"{part}_{by}") for part in
                                ("training", "validation"))  # fmt: skip
        interval = getattr(choice, f"{by}_interval")
        self.losses.call(wording(f"judged by {by}"))
        self.under.right = self.over.left = choice.best_c
        self.losses.draw(
            [
                Curve(f"{wording('training')}", c, training, 0, dots=True),
                Curve(f"{wording('validation')}", c, validation, 1, "dashed", dots=True),
                Curve(wording("lower bound"), c, interval[:, 0], 3, "dotted"),
            ],
            float(c[index]),
            f"λ = {choice.values[index]:g}",
            [(self.looks.key("area", 0), wording("regime under")),
             (self.looks.key("area", 1), wording("regime over"))],
        )  # fmt: skip
        order = [int(np.argmin(np.abs(path.lams - lam))) for lam in choice.values]
        lengths = np.linalg.norm(path.coefs.reshape(len(path.lams), -1), axis=1)[order]
        self.widths.draw([Curve(wording("margin of it"), c, 2 / lengths, 2, dots=True)],
                         float(c[index]))  # fmt: skip
        told = self._choice_in_words(choice)
        bound = choice.hold_out
        table = {
            wording("regime"): wording(f"regime {choice.regimes[index]}"),
            capital(wording("margin of it")): f"{2 / lengths[index]:.4g}",
            wording("training error"): f"{100 * choice.training_error[index]:.3g}%",
            wording("validation error"): f"{100 * choice.validation_error[index]:.3g}%",
        }
        if bound.kind != "none" and bound.holds:
            table[wording("future")] = f"{100 * bound.upper:.3g}%"
        certificate = path.certificates[order[index]]
        self.proof.object = told + card(certificate, [], wording) + pairs(table)

    def _choice_in_words(self, choice: Any) -> str:
        wording = self.wording
        heading = wording("chosen", c=choice.best_c, lam=choice.best_value)
        if choice.safe:
            proved = wording("proved choice")
        elif np.isfinite(choice.regret):
            proved = wording("open choice", regret=choice.regret)
        else:
            proved = wording("unknown choice")
        return f"<h2>{text(heading)}</h2><p class='soft'>{text(proved)}</p>"

    def _show_paths(self, answer: Paths) -> None:
        wording, lasso, run = self.wording, answer.lasso, answer.other.path_
        names, delta = answer.data.names, float(answer.fitted.delta)
        self.first.draw(
            (Curve("", lasso.deltas, lasso.coefs[:, j], j, dash_of(j)) for j in range(len(names))),
            delta,
        )
        ks = np.unique(np.linspace(0, len(run) - 1, 200).round().astype(np.int64))
        coefs = np.array([run.unit_coef(int(k)) for k in ks])
        called = self.option("other path", self.values["other path"])
        self.second.call(wording("unit coefficient"), called)
        self.second.draw(
            (
                Curve(name, run.lengths[ks], coefs[:, j], j, dash_of(j))
                for j, name in enumerate(names)
            ),
            delta,
            f"δ = {delta:.4g}",
        )
        k = int(np.argmin(np.abs(run.lengths - delta)))
        lam = lasso.lam_at(min(delta, float(lasso.deltas[-1])))
        table = {
            wording("lam at"): f"{lam:.4g}",
            capital(wording("item coefficients that are not zero")): (
                f"{np.count_nonzero(answer.fitted.coef_)} / {len(names)}"
            ),
            wording("loss there"): f"{answer.fitted.certificate_.upper:.6g}",
            wording("loss of other", name=called): f"{run.losses[k]:.6g}",
        }
        coefs = lasso.coef_at(lam)
        rows = "".join(
            f"<tr><td>{text(name)}</td><td class='n'>{a:.4g}</td><td class='n'>{b:.4g}</td></tr>"
            for name, a, b in zip(names, coefs, run.unit_coef(k), strict=True)
        )
        heads = "".join(f"<th class='n'>{text(w)}</th>" for w in (wording("lasso path"), called))
        head = f"<tr><th></th>{heads}</tr>"
        self.proof.object = (
            f"<h2>{text(wording('lasso at', delta=delta))}</h2>"
            f"{card(answer.fitted.certificate_, [], wording)}{pairs(table)}"
            f"<h2 class='next'>{text(capital(wording('unit coefficient')))}</h2>"
            f"<table>{head}{rows}</table>"
        )

    # ---- on paper --------------------------------------------------------------------------------

    def code(self) -> str:
        """A program that computes what is shown."""
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
        """The picture on paper."""
        if not self.lasso:
            by = self.values["judged by"]
            return plots.loss_against_c(self.answer.choice, measure=by).figure
        axes, names = plots.style.panels(2, 1, (6.5, 3.8)), self.answer.data.names
        plots.coefficient_path(
            self.answer.lasso, optimum=self.answer.fitted, names=names, ax=axes[0]
        )
        plots.coefficient_path(self.answer.other, names=names, ax=axes[1])
        return axes[0].figure


def classes(name: str) -> Points:
    """Examples of two classes, and others of the same kind."""
    if name == "noisy":
        made, call = samples.noisy_plane(0, n_new=400), "noisy_plane(0, n_new=400)"
        code = (
            f"from cotas.experiments.samples import noisy_plane\n\n(X, y), (X_new, y_new) = {call}"
        )
        return Points(*made.training, *made.new, source=code)
    if name == "overlap":
        code = (
            "from cotas.experiments.samples import overlapping_groups\n\n"
            "X, y = overlapping_groups(0)\nX_new, y_new = overlapping_groups(1, n=400)"
        )
        first, second = samples.overlapping_groups(0), samples.overlapping_groups(1, n=400)
        return Points(*first, *second, source=code)
    data = foreign.builtin("breast-cancer-scaled")
    code = f"{data.source}\nX, X_new, y, y_new = X[::2], X[1::2], y[::2], y[1::2]"
    return Points(data.X[::2], data.y[::2], data.X[1::2], data.y[1::2], source=code)


def _whole(data: Data) -> Any:
    return cotas.lasso_path(data.X, data.y, method="homotopy", ratio=1e-3, progress=False)
