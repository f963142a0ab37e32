"""Room 2: the printed algorithms, one update at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import panel as pn

import cotas
from cotas import plots
from cotas.lab.charts import Chart, Curve
from cotas.lab.plane import Plane, lines_between, no_lines, plane_of
from cotas.lab.points import DATA, SAMPLES, Points
from cotas.lab.proof import capital, card, page
from cotas.lab.room import Room
from cotas.lab.state import Call, Menu, Slider, decades
from cotas.lab.theme import columns, frame, legend, plane, stack, wide
from cotas.lab.worker import LabTask
from cotas.report.markup import pairs, text
from cotas.tracing import KernelStep, OnlineStep, PairStep, Return, RoundStep, Step
from cotas.words import lang as speaking
from cotas.words import say

# More steps than this nobody goes through one by one.
MOST_STEPS = 300
MILLISECONDS_BETWEEN_STEPS = 500
PEGASOS = {"pegasos": "1/(lam*t)", "pegasos-000": "1/t", "pegasos-004": "1/(1+t)"}
PROCEDURES = {
    "perceptron": "Perceptron",
    "averaged": "Averaged perceptron",
    "passive-aggressive": "Passive-aggressive",
    "pegasos": "PEGASOS, η = 1/(λt)",
    "pegasos-000": "PEGASOS, η = 1/t",
    "pegasos-004": "PEGASOS, η = 1/(1+t)",
    "kernel-perceptron": "Kernel perceptron",
    "smo": "SMO, pair by pair",
    "adaboost": "AdaBoost, round by round",
}


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

    The parameters are those of every room: `lang`, `dark` and `link`.

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Steps(link={"procedure": "perceptron", "at": "1"})
    >>> room.answer.step.updated
    True
    """

    short = "Step by step"
    title = "The algorithms, one update at a time"
    lead = (
        "Press step, and see which line of the printed algorithm is executed, with which numbers "
        "(of four of the documents)."
    )
    FIELDS = (
        Menu("procedure", "perceptron", "Algorithm", PROCEDURES),
        Menu("data", "groups", "Data",
             {name: DATA[name] for name in ("groups", "overlap", "moons", "rings", "xor")}),
        Slider("lam", 0.1, "λ", decades(-4, 2, 2)),
        Slider("sigma", 1.0, "Width σ of the kernel", decades(-1, 2, 4)),
        Slider("at", 1, "Step", range(MOST_STEPS + 1)),
    )  # fmt: skip

    _clock: Any = None
    player: Any = None

    # ---- the state -------------------------------------------------------------------------------

    def relevant(self) -> set[str]:
        name = self.values["procedure"]
        used = {"procedure", "data", "at"}
        used |= {"lam"} if name in (*PEGASOS, "passive-aggressive", "smo") else set()
        return used | ({"sigma"} if name in ("kernel-perceptron", "smo") else set())

    def call(self) -> Call:
        """Return the call that makes the estimator."""
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

    def set(self, name: str, value: object) -> None:
        """Change one setting; another run begins at its first step."""
        if name != "at" and self.values[name] != value:
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
        with speaking(self.lang):
            self.player.label = say("Pause")

    def pause(self) -> None:
        """Stop going on by itself."""
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
            with speaking(self.lang):
                self.player.label = say("Play")

    # ---- what is computed ------------------------------------------------------------------------

    def work(self) -> Callable[[LabTask], StepsAnswer]:
        call, name, at = self.call(), self.values["data"], int(self.values["at"])
        kept = self.kept((str(call), name), lambda _: _run(call, SAMPLES[name](0)))

        def compute(task: LabTask) -> StepsAnswer:
            run = kept(task)
            number = min(at, len(run.steps))
            step = run.steps[number - 1] if number else None
            before = run.steps[number - 2] if number > 1 else None
            now, then = (
                None if s is None else plane_of(s.model, run.points, False) for s in (step, before)
            )
            stump = no_lines()
            if isinstance(step, RoundStep):
                stump = lines_between(step.learner.predict, run.points)
            return StepsAnswer(run, step, now, then, stump)

        return compute

    # ---- what is shown ---------------------------------------------------------------------------

    def picture(self) -> Any:
        theme = self.theme
        self.source = columns("x", "y", "colour", "mark", "size", name="points")
        self.now, self.areas = columns("x", "y", name="now"), columns("xs", "ys", "colour")
        self.line, self.was, self.weak = (
            columns("xs", "ys", name=name) for name in ("line", "was", "weak")
        )
        self.figure = plot = plane(theme, 1.5, x_axis_label="x₁", y_axis_label="x₂")
        plot.multi_polygons("xs", "ys", source=self.areas, fill_color="colour", line_color=None)
        plot.multi_line("xs", "ys", source=self.was, color=theme.soft, line_dash="dashed",
                        line_width=1.6)  # fmt: skip
        plot.multi_line("xs", "ys", source=self.weak, color=theme.colour(4), line_width=3,
                        line_dash="dotdash")  # fmt: skip
        plot.multi_line("xs", "ys", source=self.line, color=theme.ink, line_width=2.4)
        plot.scatter("x", "y", source=self.now, size=22, fill_color=None, line_width=3,
                     line_color=theme.colour(3))  # fmt: skip
        plot.scatter("x", "y", source=self.source, size="size", marker="mark",
                     fill_color="colour", line_color=theme.paper, line_width=0.8)  # fmt: skip
        self.keys, self.page = wide(), wide(margin=(8, 0))
        self.player = self.button(say("Play"), self.play, color="primary")
        buttons = pn.Row(
            self.button("◀ " + say("Back"), lambda: self.go(-1)),
            self.button(say("Step") + " ▶", lambda: self.go(1)),
            self.player,
            margin=(4, 0),
        )
        self.course = Chart(theme, say("Step"), say("mistakes"), aspect=3.0, name="course")
        return stack(plot, self.keys, buttons, self.page, self.course.pane())

    def show(self, answer: StepsAnswer) -> None:
        run, step, theme, plane = answer.run, answer.step, self.theme, answer.plane
        self._fit_slider(len(run.steps))
        X, y = run.points.X, run.points.y
        self.source.data = {
            "x": X[:, 0].tolist(),
            "y": X[:, 1].tolist(),
            **theme.marks(np.searchsorted(run.points.classes, y)),
            "size": _sizes(step, len(X)),
        }
        frame(self.figure, X)
        rows = X[_rows(step)]
        self.now.data = {"x": rows[:, 0].tolist(), "y": rows[:, 1].tolist()}
        self.line.data = dict(plane.boundary) if plane else no_lines()
        self.was.data = dict(answer.before.boundary) if answer.before else no_lines()
        self.weak.data = dict(answer.stump)
        areas = plane.areas if plane else {**no_lines(), "owner": []}
        colours = [theme.mixed(theme.colour(k), 0.16) for k in areas["owner"]]
        self.areas.data = {"xs": areas["xs"], "ys": areas["ys"], "colour": colours}
        self.keys.object = legend(self._keys(answer))
        self.page.object = page(run.trace, step.lines if step else ())
        self._show_course(answer)
        self.proof.object = _numbers(answer)

    def _fit_slider(self, last: int) -> None:
        """Let the slider end where the run does."""
        slider = self.widgets["at"]
        if len(slider.options) != last + 1:
            self.values["at"] = min(self.values["at"], last)
            slider.param.update(options=list(range(last + 1)), value=self.values["at"])

    def _keys(self, answer: StepsAnswer) -> list[tuple[str, str]]:
        theme, classes = self.theme, answer.run.points.classes
        found = [(theme.key("point", k), f"y = {name}") for k, name in enumerate(classes)]
        found.append((theme.key("ink"), say("decision boundary")))
        if answer.before:
            found.append((theme.key("dashed ink"), say("before this step")))
        if answer.stump["xs"]:
            found.append((theme.key("dotdash", 4), say("the stump of this round")))
        return found

    def _show_course(self, answer: StepsAnswer) -> None:
        """Show mistakes against what the theorem allows, or the error of boosting against its
        bound."""
        kinds = (OnlineStep, KernelStep, RoundStep)
        steps: list[Any] = [step for step in answer.run.steps if isinstance(step, kinds)]
        rounds = bool(steps) and isinstance(steps[0], RoundStep)
        called = say("error" if rounds else "mistakes") if steps else ""
        made = [step.training_error if rounds else step.mistakes for step in steps]
        numbers, bounds = [step.number for step in steps], [step.bound for step in steps]
        curves = (
            [Curve(say("Training error") if rounds else called, numbers, made)] if steps else []
        )
        if steps and bounds[0] is not None and np.isfinite(bounds[0]):
            bound = "Π 2√(err(1 − err))" if rounds else say("mistakes allowed by the theorem")
            curves.append(Curve(bound, numbers, bounds, 3, "dashed"))
        self.course.call(called)
        self.course.figure.visible = bool(curves)
        at = float(answer.step.number) if answer.step and curves else None
        self.course.draw(curves, at, say("this step"))

    # ---- on paper --------------------------------------------------------------------------------

    def code(self) -> str:
        """Return a program that goes through the same steps."""
        run = self.answer.run
        at = self.answer.step.number if self.answer.step else 1
        return (
            f"import cotas\n{run.points.code()}\nrun = cotas.trace({run.call}, X, y)\n"
            f"for step in run:\n    print(step.number, step.text({self.lang!r}))\n"
            f"    if step.number == {at}:\n        break\n"
            "cotas.plots.decision_boundary(step.model, X, y)\n"
        )

    def draw(self) -> Any:
        """Return the step on paper."""
        run, step = self.answer.run, self.answer.step or self.answer.run.steps[0]
        return plots.decision_boundary(step.model, run.points.X, run.points.y, rings=False).figure


def _numbers(answer: StepsAnswer) -> str:
    """Return the numbers of the update, and the certificate where the run has ended."""
    step, total = answer.step, len(answer.run.steps)
    number = step.number if step else 0
    heading = text(say("Step {number} of {total}", number=number, total=total))
    if step is None:
        words = text(say("Nothing has been learnt yet: press Step."))
        return f"<h2>{heading}</h2><p class='soft'>{words}</p>"
    end = card(answer.run.trace.model.certificate_) if isinstance(step, Return) else ""
    return f"<h2>{heading}</h2>{pairs(numbers_of(step))}{end}"


def numbers_of(step: Step) -> dict[str, str]:
    """Return what a step did, number by number."""
    if isinstance(step, OnlineStep):
        found = {
            say("Epoch, example"): f"{step.epoch}, {step.row + 1}",
            "yᵢ": f"{step.y:+g}",
            "yᵢ(θ·xᵢ + θ₀)": f"{step.margin:.6g}",
            "η": f"{step.eta:.6g}",
            "θ": f"{_vector(step.theta_before)} → {_vector(step.theta)}",
            "θ₀": f"{step.theta0_before:.5g} → {step.theta0:.5g}",
        }
        if step.mean is not None and step.mean0 is not None:
            found |= {"θ̄": _vector(step.mean), "θ̄₀": f"{step.mean0:.5g}"}
        return found | _mistakes(step)
    if isinstance(step, KernelStep):
        row = step.row
        return {
            say("Epoch, example"): f"{step.epoch}, {row + 1}",
            "yᵢ": f"{step.y:+g}",
            "yᵢ f(xᵢ)": f"{step.margin:.6g}",
            "αᵢ": f"{step.counts_before[row]:g} → {step.counts[row]:g}",
            "θ₀": f"{step.theta0_before:.5g} → {step.theta0:.5g}",
        } | _mistakes(step)
    if isinstance(step, PairStep):
        rows = ", ".join(str(row + 1) for row in step.rows[:6])
        found = {say("Examples"): rows, "kᵢᵢ + kⱼⱼ − 2kᵢⱼ": f"{step.curvature:.5g}"}
        moves = zip(step.rows, step.alpha_before, step.alpha, step.upper, strict=True)
        for row, before, after, most in list(moves)[:6]:
            found[f"α{row + 1} (≤ {most:.3g})"] = f"{before:.5g} → {after:.5g}"
        return found | {say("Multipliers above zero"): f"{np.count_nonzero(step.multipliers)}"}
    if isinstance(step, RoundStep):
        return {
            capital(say("round")): f"{step.round}",
            "errₘ": f"{step.error:.6g}",
            "cₘ": f"{2 * step.vote:.6g}",  # AdaBoost's, whose F is half the sum of the page
            say("Largest weight after it"): f"{step.weights.max():.4g}",
            "Π 2√(err(1 − err))": f"{step.bound:.6g}",
            say("Training error"): f"{step.training_error:.4g}",
        }
    return {}


def _mistakes(step: OnlineStep | KernelStep) -> dict[str, str]:
    found = {
        say("θ moved"): say("yes" if step.updated else "no"),
        say("Mistakes so far"): f"{step.mistakes}",
    }
    if step.bound is not None and np.isfinite(step.bound):
        found[capital(say("mistakes allowed by the theorem"))] = f"{step.bound:.6g}"
    return found


def _vector(values: Any) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in np.ravel(values)) + ")"


def _run(call: Call, points: Points) -> TracedRun:
    trace = cotas.trace(call.make(progress=False, n_jobs=1), points.X, points.y)
    return TracedRun(points, trace, list(islice(trace, MOST_STEPS)), call)


def _rows(step: Step | None) -> list[int]:
    """Return the examples that a step is about."""
    if isinstance(step, OnlineStep | KernelStep):
        return [step.row]
    return [int(row) for row in step.rows] if isinstance(step, PairStep) else []


def _sizes(step: Step | None, n: int) -> list[float]:
    """Return the size of each point: for boosting its weight before the round."""
    if not isinstance(step, RoundStep):
        return [9.0] * n
    return [float(size) for size in 9.0 * np.sqrt(np.clip(n * step.weights_before, 0.05, 30.0))]
