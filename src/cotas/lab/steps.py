"""Room 2: the printed algorithms, one update at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

import cotas
from cotas import plots
from cotas.lab.charts import Chart, Curve
from cotas.lab.looks import legend
from cotas.lab.plane import Plane, lines_between, plane_of
from cotas.lab.points import SAMPLES, Points
from cotas.lab.proof import capital, card, page
from cotas.lab.room import Room
from cotas.lab.state import Call, Menu, Slider, decades
from cotas.lab.worker import LabTask
from cotas.plots.fitted import axis_of
from cotas.report.markup import pairs, text
from cotas.tracing import KernelStep, OnlineStep, PairStep, Return, RoundStep, Step

# More steps than this nobody goes through one by one.
MOST_STEPS = 300
MILLISECONDS_BETWEEN_STEPS = 500
PEGASOS = {"pegasos": "1/(lam*t)", "pegasos-000": "1/t", "pegasos-004": "1/(1+t)"}
PROCEDURES = (
    "perceptron", "averaged", "passive-aggressive", *PEGASOS, "kernel-perceptron", "smo",
    "adaboost",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TracedRun:
    """A traced run: its points, all its steps, and the page they are printed on."""

    points: Points
    trace: Any
    steps: list[Step]
    call: Call


@dataclass(frozen=True, eq=False)
class StepsAnswer:
    """One step of a run, and what the model does to the plane before and after it."""

    run: TracedRun
    step: Step | None
    plane: Plane | None
    before: Plane | None
    stump: dict[str, list[Any]]


class Steps(Room):
    """A run of an algorithm of the documents: back, step, play.

    Parameters
    ----------
    lang : "en" or "es"
    dark : bool
    link : mapping, optional

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Steps(link={"procedure": "perceptron", "at": "1"})
    >>> room.answer.step.updated
    True
    """

    slug = "steps"
    FIELDS = (
        Menu("procedure", PROCEDURES, "perceptron"),
        Menu("data", ("groups", "overlap", "moons", "rings", "xor"), "groups"),
        Slider("lam", decades(-4, 2, 2), 0.1),
        Slider("sigma", decades(-1, 2, 4), 1.0),
        Slider("at", tuple(range(MOST_STEPS + 1)), 1),
    )

    _clock: Any = None
    player: Any = None

    # ---- the state -------------------------------------------------------------------------------

    def relevant(self) -> set[str]:
        name = self.values["procedure"]
        used = {"procedure", "data", "at"}
        used |= {"lam"} if name in (*PEGASOS, "passive-aggressive", "smo") else set()
        return used | ({"sigma"} if name in ("kernel-perceptron", "smo") else set())

    def call(self) -> Call:
        """The call that makes the estimator."""
        name, lam = self.values["procedure"], self.values["lam"]
        kernel = Call("kernels.RBF", {"sigma": self.values["sigma"]})
        if name in PEGASOS:
            step = {"step": PEGASOS[name], "max_iter": 5, "random_state": 0}
            return Call("Pegasos", {"lam": lam, **step})
        made = {
            "perceptron": ("Perceptron", {"max_iter": 20}),
            "averaged": ("AveragedPerceptron", {"max_iter": 5}),
            "passive-aggressive": ("PassiveAggressive", {"lam": lam, "max_iter": 5}),
            "kernel-perceptron": ("KernelPerceptron", {"kernel": kernel, "max_iter": 10}),
            "smo": ("KernelSVM", {"kernel": kernel, "lam": lam, "solver": "smo-simple"}),
            "adaboost": ("AdaBoost", {"n_estimators": 40}),
        }
        return Call(*made[name])

    def set(self, name: str, value: Any) -> None:
        """Change one setting; another run begins at its first step."""
        if name not in ("at",) and self.values[name] != value:
            self.values["at"] = 1
            self.widgets["at"].value = 1
        super().set(name, value)

    def go(self, by: int) -> None:
        """Go so many steps on, or back."""
        last = len(self.answer.run.steps) if self.answer else MOST_STEPS
        wanted = int(np.clip(self.values["at"] + by, 0, last))
        if wanted == self.values["at"]:
            self.pause()
        self.widgets["at"].value = wanted

    def play(self) -> None:
        """Go on by itself, or stop doing so."""
        if self._clock is not None:
            self.pause()
            return
        self._clock = pn.state.add_periodic_callback(
            lambda: self.go(1), period=MILLISECONDS_BETWEEN_STEPS
        )
        self.player.label = self.wording("pause")

    def pause(self) -> None:
        """Stop going on by itself."""
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
            self.player.label = self.wording("play")

    # ---- what is computed ------------------------------------------------------------------------

    def work(self) -> Callable[[LabTask], StepsAnswer]:
        call, name, at = self.call(), self.values["data"], int(self.values["at"])
        kept = self.kept((str(call), name), lambda _: _run(call, SAMPLES[name](0)))

        def compute(task: LabTask) -> StepsAnswer:
            run = kept(task)
            number = min(at, len(run.steps))
            step = run.steps[number - 1] if number else None
            before = run.steps[number - 2] if number > 1 else None
            planes = [None if s is None else plane_of(s.model, run.points, False)
                      for s in (step, before)]  # fmt: skip
            stump = lines_between(step.learner.predict, run.points) if isinstance(
                step, RoundStep
            ) else {"xs": [], "ys": []}  # fmt: skip
            return StepsAnswer(run, step, planes[0], planes[1], stump)

        return compute

    # ---- what is shown ---------------------------------------------------------------------------

    def _buttons(self) -> Any:
        """Back, step and play."""
        back, step = (
            self.button("◀ " + self.wording("back")),
            self.button(self.wording("next") + " ▶"),
        )
        self.player = self.button(self.wording("play"), color="primary")
        back.on_click(lambda _: self.go(-1))
        step.on_click(lambda _: self.go(1))
        self.player.on_click(lambda _: self.play())
        return pn.Row(back, step, self.player, margin=(4, 0))

    def picture(self) -> Any:
        looks, wording = self.looks, self.wording
        self.source = ColumnDataSource(
            {"x": [], "y": [], "colour": [], "mark": [], "size": []}, name="points"
        )
        self.now = ColumnDataSource({"x": [], "y": []}, name="now")
        self.areas = ColumnDataSource({"xs": [], "ys": [], "colour": []})
        self.line, self.was, self.weak = (
            ColumnDataSource({"xs": [], "ys": []}, name=name) for name in ("line", "was", "weak")
        )
        self.figure = plot = figure(
            x_range=Range1d(), y_range=Range1d(), tools="", sizing_mode="scale_width",
            aspect_ratio=1.5, min_height=300, toolbar_location=None, name="plane",
            x_axis_label="x₁", y_axis_label="x₂",
        )  # fmt: skip
        plot.multi_polygons("xs", "ys", source=self.areas, fill_color="colour", line_color=None)
        plot.multi_line("xs", "ys", source=self.was, color=looks.soft, line_dash="dashed",
                        line_width=1.6)  # fmt: skip
        plot.multi_line("xs", "ys", source=self.weak, color=looks.colour(4), line_width=3,
                        line_dash="dotdash")  # fmt: skip
        plot.multi_line("xs", "ys", source=self.line, color=looks.ink, line_width=2.4)
        plot.scatter("x", "y", source=self.now, size=22, fill_color=None, line_width=3,
                     line_color=looks.colour(3))  # fmt: skip
        plot.scatter("x", "y", source=self.source, size="size", marker="mark",
                     fill_color="colour", line_color=looks.paper, line_width=0.8)  # fmt: skip
        looks.dress(plot)
        plot.grid.grid_line_color = None
        self.keys = self.prose(sizing_mode="stretch_width")
        self.page = self.prose(sizing_mode="stretch_width", margin=(8, 0))
        self.course = Chart(looks, wording("next"), wording("mistakes"), aspect=3.0, name="course")
        options = {"sizing_mode": "stretch_width", "margin": 0}
        return pn.Column(
            pn.pane.Bokeh(plot, **options), self.keys, self._buttons(), self.page,
            self.course.pane(), **options,
        )  # fmt: skip

    def show(self, answer: StepsAnswer) -> None:
        run, step, looks = answer.run, answer.step, self.looks
        self._fit_slider(len(run.steps))
        points, classes = run.points, run.points.classes
        codes = np.searchsorted(classes, points.y)
        self.source.data = {
            "x": points.X[:, 0].tolist(),
            "y": points.X[:, 1].tolist(),
            "colour": [looks.colour(int(k)) for k in codes],
            "mark": [looks.marker(int(k)) for k in codes],
            "size": _sizes(step, len(points.X)),
        }
        for axis, values in zip((self.figure.x_range, self.figure.y_range), points.X.T,
                                strict=True):  # fmt: skip
            axis.update(start=float(axis_of(values, 2)[0]), end=float(axis_of(values, 2)[1]))
        rows = points.X[_rows(step)]
        self.now.data = {"x": rows[:, 0].tolist(), "y": rows[:, 1].tolist()}
        empty: dict[str, list[Any]] = {"xs": [], "ys": []}
        plane = answer.plane
        self.line.data = dict(plane.boundary) if plane else dict(empty)
        self.was.data = dict(answer.before.boundary) if answer.before else dict(empty)
        self.weak.data = dict(answer.stump)
        areas = plane.areas if plane else {**empty, "owner": []}
        self.areas.data = {
            "xs": areas["xs"],
            "ys": areas["ys"],
            "colour": [looks.mixed(looks.colour(k), 0.16) for k in areas["owner"]],
        }
        self.keys.object = legend(self._keys(answer))
        self.page.object = page(run.trace, step.lines if step else (), self.wording, self.lang)
        self._show_course(answer)
        self.proof.object = self._numbers(answer)

    def _fit_slider(self, last: int) -> None:
        """Let the slider end where the run does."""
        slider = self.widgets["at"]
        if len(slider.options) != last + 1:
            self.values["at"] = min(self.values["at"], last)
            slider.param.update(options=list(range(last + 1)), value=self.values["at"])

    def _keys(self, answer: StepsAnswer) -> list[tuple[str, str]]:
        looks, wording = self.looks, self.wording
        classes = answer.run.points.classes
        found = [(looks.key("point", k), f"y = {name}") for k, name in enumerate(classes)]
        found.append((looks.key("ink"), wording("boundary")))
        if answer.before:
            found.append((looks.key("dashed ink"), wording("before it")))
        if answer.stump["xs"]:
            found.append((looks.key("dotdash", 4), wording("stump")))
        return found

    def _show_course(self, answer: StepsAnswer) -> None:
        """Mistakes against what the theorem allows, or the error of boosting against its bound."""
        wording, steps = self.wording, answer.run.steps
        counted = [s for s in steps if isinstance(s, OnlineStep | KernelStep)]
        rounds = [s for s in steps if isinstance(s, RoundStep)]
        at = float(answer.step.number) if answer.step else None
        if counted:
            numbers = [s.number for s in counted]
            curves = [Curve(wording("mistakes"), numbers, [s.mistakes for s in counted], 0)]
            if counted[0].bound is not None and np.isfinite(counted[0].bound):
                bound = Curve(
                    wording("mistake bound"), numbers, [s.bound for s in counted], 3, "dashed"
                )
                curves.append(bound)
            self.course.call(wording("mistakes"))
        else:
            numbers = [s.number for s in rounds]
            curves = [
                Curve(wording("training error"), numbers, [s.training_error for s in rounds], 0),
                Curve(wording("product"), numbers, [s.bound for s in rounds], 3, "dashed"),
            ] if rounds else []  # fmt: skip
            self.course.call(wording("error") if rounds else "")
        self.course.figure.visible = bool(curves)
        self.course.draw(curves, at if curves else None, wording("this step"))

    def _numbers(self, answer: StepsAnswer) -> str:
        """The numbers of the update, and the certificate where the run has ended."""
        wording, step = self.wording, answer.step
        total = len(answer.run.steps)
        heading = wording("step of", number=step.number if step else 0, total=total)
        found = f"<h2>{text(heading)}</h2>"
        if step is None:
            return found + f"<p class='soft'>{text(wording('nothing yet'))}</p>"
        found += pairs(numbers_of(step, wording))
        if isinstance(step, Return):
            found += card(answer.run.trace.model.certificate_, [], wording)
        return found

    # ---- on paper --------------------------------------------------------------------------------

    def code(self) -> str:
        """A program that goes through the same steps."""
        run = self.answer.run
        at = self.answer.step.number if self.answer.step else 1
        return (
            f"import cotas\n{run.points.code()}\nrun = cotas.trace({run.call}, X, y)\n"
            f"for step in run:\n    print(step.number, step.text({self.lang!r}))\n"
            f"    if step.number == {at}:\n        break\n"
            "cotas.plots.decision_boundary(step.model, X, y)\n"
        )

    def draw(self) -> Any:
        """The step on paper."""
        run, step = self.answer.run, self.answer.step or self.answer.run.steps[0]
        return plots.decision_boundary(step.model, run.points.X, run.points.y, rings=False).figure


def numbers_of(step: Step, wording: Any) -> dict[str, str]:
    """What a step did, number by number."""
    if isinstance(step, OnlineStep):
        found = {
            wording("epoch and row"): f"{step.epoch}, {step.row + 1}",
            "yᵢ": f"{step.y:+g}",
            "yᵢ(θ·xᵢ + θ₀)": f"{step.margin:.6g}",
            "η": f"{step.eta:.6g}",
            "θ": f"{_vector(step.theta_before)} → {_vector(step.theta)}",
            "θ₀": f"{step.theta0_before:.5g} → {step.theta0:.5g}",
        }
        if step.mean is not None and step.mean0 is not None:
            found |= {"θ̄": _vector(step.mean), "θ̄₀": f"{step.mean0:.5g}"}
        return found | _mistakes(step, wording)
    if isinstance(step, KernelStep):
        row = step.row
        return {
            wording("epoch and row"): f"{step.epoch}, {row + 1}",
            "yᵢ": f"{step.y:+g}",
            "yᵢ f(xᵢ)": f"{step.margin:.6g}",
            "αᵢ": f"{step.counts_before[row]:g} → {step.counts[row]:g}",
            "θ₀": f"{step.theta0_before:.5g} → {step.theta0:.5g}",
        } | _mistakes(step, wording)
    if isinstance(step, PairStep):
        rows = ", ".join(str(row + 1) for row in step.rows[:6])
        found = {wording("rows"): rows, "kᵢᵢ + kⱼⱼ − 2kᵢⱼ": f"{step.curvature:.5g}"}
        moves = zip(step.rows, step.alpha_before, step.alpha, step.upper, strict=True)
        for row, before, after, most in list(moves)[:6]:
            found[f"α{row + 1} (≤ {most:.3g})"] = f"{before:.5g} → {after:.5g}"
        return found | {wording("above zero"): f"{np.count_nonzero(step.multipliers)}"}
    if isinstance(step, RoundStep):
        return {
            capital(wording("round")): f"{step.round}",
            "errₘ": f"{step.error:.6g}",
            "cₘ": f"{2 * step.vote:.6g}",  # AdaBoost's, whose F is half the sum of the page
            wording("heaviest"): f"{step.weights.max():.4g}",
            "Π 2√(err(1 − err))": f"{step.bound:.6g}",
            wording("training error"): f"{step.training_error:.4g}",
        }
    return {}


def _mistakes(step: OnlineStep | KernelStep, wording: Any) -> dict[str, str]:
    found = {
        wording("updated"): wording("yes" if step.updated else "no"),
        wording("mistakes so far"): f"{step.mistakes}",
    }
    if step.bound is not None and np.isfinite(step.bound):
        found[capital(wording("mistake bound"))] = f"{step.bound:.6g}"
    return found


def _vector(values: Any) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in np.ravel(values)) + ")"


def _run(call: Call, points: Points) -> TracedRun:
    trace = cotas.trace(call.make(progress=False, n_jobs=1), points.X, points.y)
    return TracedRun(points, trace, list(islice(trace, MOST_STEPS)), call)


def _rows(step: Step | None) -> list[int]:
    """The examples that a step is about."""
    if isinstance(step, OnlineStep | KernelStep):
        return [step.row]
    return [int(row) for row in step.rows] if isinstance(step, PairStep) else []


def _sizes(step: Step | None, n: int) -> list[float]:
    """The size of each point: for boosting its weight before the round."""
    if not isinstance(step, RoundStep):
        return [9.0] * n
    return [float(size) for size in 9.0 * np.sqrt(np.clip(n * step.weights_before, 0.05, 30.0))]
