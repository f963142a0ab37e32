"""Room 3: gradient descent on the prices of houses, seen from above."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from bokeh.models import PointDrawTool
from bokeh.plotting.contour import contour_data

import cotas
from cotas import plots
from cotas.arrays import FloatArray
from cotas.exceptions import DivergedError
from cotas.experiments.descent import objective
from cotas.lab.charts import Chart, Curve
from cotas.lab.proof import card, page
from cotas.lab.room import Room
from cotas.lab.state import Call, Menu, Slider
from cotas.lab.theme import columns, legend, plane, stack, wide
from cotas.lab.worker import LabTask
from cotas.report.markup import pairs, text
from cotas.tracing import DescentStep, Trace
from cotas.words import say

# Points of the grid on each side, and the lines of equal J.
RESOLUTION, LEVELS = 70, 14
MOST_STEPS = 2000
# So many iterations are drawn of a run that runs away, or as many as it gets.
OF_A_FLIGHT = (12, 6, 3, 1)
HUNDREDTHS = tuple(round(-1 + k / 100, 2) for k in range(201))
RAN_AWAY = "# With more iterations it runs away, and the library says so.\n"
PLACES = {"raw": (600.0, 4.0), "normalized": (900.0, 500.0)}


@dataclass(frozen=True, eq=False)
class DescentAnswer:
    """The steps of a run, its model or what became of it, and J over the plane."""

    theta: FloatArray
    objectives: FloatArray
    etas: FloatArray
    run: Trace
    lines: tuple[Any, ...]
    flight: str
    contours: dict[str, list[Any]]
    box: tuple[float, float, float, float]
    call: Call

    @property
    def model(self) -> Any:
        """Return the fitted model."""
        return self.run.model


class Descent(Room):
    """J(θ₀, θ₁) of price against area, and a descent from a start that can be dragged.

    The parameters are those of every room: `lang`, `dark` and `link`.

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Descent(link={"pace": "1"})
    >>> room.answer.model.certificate_.holds
    True
    """

    short = "Descent"
    title = "Gradient descent on the prices of houses"
    lead = (
        "J(θ) of Moreno Chávez from above: drag the start, choose step, batch and stopping rule, "
        "and watch it arrive, or run away."
    )
    FIELDS = (
        Menu("way", "gradient", "Descent", {
            "gradient": "All examples (batch)",
            "stochastic": "One example at a time",
            "mini-batch": "Mini-batches of four",
        }),
        Menu("scale", "normalized", "Area",
             {"normalized": "normalized", "raw": "in square metres"}),
        Slider("pace", 0.2, "Step η, in multiples of 1/L",
               (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 1.8, 1.95, 2.0, 2.03, 2.1, 2.3)),
        Menu("rule", "change of J", "Stop when", {
            "change of J": "J changes little",
            "change of θ": "θ moves little",
            "iterations": "the iterations are over",
        }),
        Slider("small", 1e-3, "Little is less than", (1e-9, 1e-6, 1e-3, 1e-2, 0.1, 1.0, 10.0)),
        Slider("most", 100, "Iterations at most", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        Slider("start x", -0.8, "Start, θ₀ in the picture", HUNDREDTHS),
        Slider("start y", 0.7, "Start, θ₁ in the picture", HUNDREDTHS),
    )  # fmt: skip

    def relevant(self) -> set[str]:
        return super().relevant() - ({"small"} if self.values["rule"] == "iterations" else set())

    # ---- what is computed ------------------------------------------------------------------------

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Return area and price of the eleven houses."""
        X, price = cotas.datasets.houses()
        area = X[:, :1]
        if self.values["scale"] == "normalized":
            area = (area - area.mean(axis=0)) / area.std(axis=0)
        return area, price

    def start(self) -> tuple[float, float]:
        """Compute θ₀ and θ₁ where the descent begins: a place relative to the picture."""
        best, (wide, high) = self._best(), PLACES[self.values["scale"]]
        return (
            float(f"{best[0] + wide * self.values['start x']:.5g}"),
            float(f"{best[1] + high * self.values['start y']:.5g}"),
        )

    def _best(self) -> tuple[float, float]:
        model = cotas.LeastSquares().fit(*self.rows())
        return float(model.intercept_), float(model.coef_[0])

    def call(self, step: float, most: int | None = None) -> Call:
        """Return the call that makes the model."""
        values, start = self.values, self.start()
        limit = Call("stops.MaxIterations", {"number": int(most or values["most"])})
        rules = {"change of J": "stops.ChangeOfJ", "change of θ": "stops.ChangeOfTheta"}
        given: dict[str, Any] = {
            "solver": "gradient" if values["way"] == "gradient" else "stochastic",
            "step": step,
            "start": ([start[1]], start[0]),
        }
        if values["way"] != "gradient":
            given |= {"batch_size": 1 if values["way"] == "stochastic" else 4, "random_state": 0}
        if values["rule"] == "iterations":
            return Call("LeastSquares", {**given, "stop": limit})
        small = Call(rules[values["rule"]], {"eps": values["small"]})
        return Call("LeastSquares", {**given, "stop": EitherRule(small, limit)})

    def pace(self) -> float:
        """Return the step: so many times 1/L, which is what the library takes by itself."""
        X, y = self.rows()
        auto = cotas.LeastSquares(solver="gradient", stop=cotas.stops.MaxIterations(1))
        first: Any = next(iter(cotas.trace(auto, X, y)))
        return float(f"{self.values['pace'] * first.eta:.6g}")

    def work(self) -> Callable[[LabTask], DescentAnswer]:
        X, y = self.rows()
        step, start, scale = self.pace(), self.start(), self.values["scale"]
        best = self._best()
        calls = [self.call(step), *(self.call(step, most) for most in OF_A_FLIGHT)]

        def compute(task: LabTask) -> DescentAnswer:
            run, call, flight = _run(calls, X, y)
            steps = [s for s in islice(run, MOST_STEPS) if isinstance(s, DescentStep)]
            theta = np.array([start, *((float(s.theta0), float(s.theta[0])) for s in steps)])
            found = [steps[0].objective_before, *(s.objective for s in steps)] if steps else []
            wide, high = PLACES[scale]
            box = (best[0] - wide, best[0] + wide, best[1] - high, best[1] + high)
            return DescentAnswer(
                theta, np.array(found), np.array([s.eta for s in steps]), run,
                steps[-1].lines if steps else (), flight,
                _contours(X, y, box), box, call,
            )  # fmt: skip

        return compute

    # ---- what is shown ---------------------------------------------------------------------------

    def picture(self) -> Any:
        theme = self.theme
        self.levels, self.walk = columns("xs", "ys"), columns("x", "y", name="walk")
        self.first, self.goal = columns("x", "y", name="first"), columns("x", "y")
        self.figure = plot = plane(theme, 1.35, x_axis_label="θ₀", y_axis_label="θ₁")
        plot.multi_line("xs", "ys", source=self.levels, line_color=theme.soft, line_alpha=0.7,
                        line_width=1.3)  # fmt: skip
        plot.line("x", "y", source=self.walk, color=theme.colour(3), line_width=1.8)
        plot.scatter("x", "y", source=self.walk, color=theme.colour(3), size=4.5)
        plot.scatter("x", "y", source=self.goal, marker="star", size=20, color=theme.colour(2),
                     line_color=theme.ink)  # fmt: skip
        dot = plot.scatter("x", "y", source=self.first, size=17, color=theme.colour(0),
                           line_color=theme.ink, line_width=2, nonselection_alpha=1.0)  # fmt: skip
        tool = PointDrawTool(renderers=[dot], add=False, drag=True)
        plot.add_tools(tool)
        plot.toolbar.active_drag = tool
        self.first.on_change("data", self._dragged)
        self._filling = False
        keys = legend([
            (theme.key("point", 0), say("start: drag it")),
            (theme.key("solid", 3), say("the steps")),
            # A star, in the colour of the minimum.
            (theme.key("point", 7).replace(theme.colour(7), theme.colour(2)),
             say("least J, in closed form")),
            (theme.key("soft"), say("lines of equal J")),
        ])  # fmt: skip
        self.course = Chart(theme, say("iteration"), say("J − best that is possible"),
                            log=(False, True), aspect=2.6, name="course")  # fmt: skip
        return stack(plot, wide(keys), self.course.pane())

    def show(self, answer: DescentAnswer) -> None:
        self.levels.data = answer.contours
        left, right, bottom, top = answer.box
        self.figure.x_range.update(start=left, end=right)
        self.figure.y_range.update(start=bottom, end=top)
        self.walk.data = {"x": answer.theta[:, 0].tolist(), "y": answer.theta[:, 1].tolist()}
        self._filling = True
        self.first.data = {"x": [float(answer.theta[0, 0])], "y": [float(answer.theta[0, 1])]}
        self._filling = False
        best, certificate = self._best(), answer.model.certificate_
        self.goal.data = {"x": [best[0]], "y": [best[1]]}
        above = answer.objectives - max(certificate.lower, 0.0)
        self.course.draw([Curve(self.course.y, np.arange(len(above)), above, 3)])
        flight, last = answer.flight, answer.theta[-1]
        found = {
            say("Step η"): f"{answer.etas[0]:.4g}" if len(answer.etas) else "–",
            say("Steps made"): str(len(answer.etas)),
            "θ₀": f"{last[0]:.6g}",
            "θ₁": f"{last[1]:.6g}",
            say("Ended"): say("it ran away") if flight else answer.model.stop_reason_,
        }
        head = f"<p class='problem'>{text(flight)}</p>" if flight else card(certificate)
        self.proof.object = head + pairs(found) + page(answer.run, answer.lines)

    def _dragged(self, _name: str, _old: Any, new: Any) -> None:
        """Take the start from where the visitor has put it."""
        if self._filling or len(new["x"]) != 1:
            return
        best, (wide, high) = self._best(), PLACES[self.values["scale"]]
        x, y = (new["x"][0] - best[0]) / wide, (new["y"][0] - best[1]) / high
        if not (np.isfinite(x) and np.isfinite(y)):
            return
        for name, value in (("start x", x), ("start y", y)):
            self.values[name] = round(float(np.clip(value, -1, 1)), 2)
            self.widgets[name].value = self.values[name]
        self.refresh()

    # ---- on paper --------------------------------------------------------------------------------

    def code(self) -> str:
        """Return a program that computes what is shown."""
        scaled = self.values["scale"] == "normalized"
        return (
            "import cotas\n\nX, price = cotas.datasets.houses()\narea = X[:, :1]\n"
            + ("area = (area - area.mean(axis=0)) / area.std(axis=0)\n" if scaled else "")
            + (RAN_AWAY if self.answer.flight else "")
            + f"model = {self.answer.call}\n"
            "for step in cotas.trace(model, area, price):\n    print(step.number, step.text())\n"
            "cotas.plots.convergence(model.fit(area, price))\n"
        )

    def draw(self) -> Any:
        """Return the course of J on paper."""
        return plots.convergence(self.answer.model, data=self.rows()).figure


@dataclass(frozen=True)
class EitherRule(Call):
    """One stopping rule or another."""

    name: Any
    arguments: Any

    def make(self, **others: Any) -> Any:
        return self.name.make() | self.arguments.make()

    def __str__(self) -> str:
        return f"{self.name} | {self.arguments}"


def _run(calls: Iterable[Call], X: FloatArray, y: FloatArray) -> tuple[Any, Call, str]:
    """Find the first run that does not run away, its call, and what is said of those before it."""
    said: list[DivergedError] = []
    for call in calls:
        try:
            return cotas.trace(call.make(), X, y), call, str(said[0]) if said else ""
        except DivergedError as error:
            said.append(error)
    raise said[0]


def _contours(
    X: FloatArray, y: FloatArray, box: tuple[float, float, float, float]
) -> dict[str, list[Any]]:
    """Return lines of equal J, closer to each other towards the minimum."""
    a, b = np.linspace(*box[:2], RESOLUTION), np.linspace(*box[2:], RESOLUTION)
    grid = np.stack([part.ravel() for part in np.meshgrid(a, b)], axis=1)
    J = objective(X, y, grid).reshape(RESOLUTION, RESOLUTION)
    low, high = float(J.min()), float(J.max())
    levels = low + (high - low) * np.linspace(0.03, 0.97, LEVELS) ** 2.2
    data = contour_data(a, b, J, levels.tolist(), want_fill=False).line_data
    return {"xs": list(data.xs), "ys": list(data.ys)}
