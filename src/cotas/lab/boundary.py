"""Room 1: the boundary, the margin and the proof, while points are moved."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import CustomJS, PointDrawTool
from numpy.typing import ArrayLike

from cotas import plots
from cotas.certificates.presentation import percent
from cotas.lab import classifiers
from cotas.lab.plane import Plane, plane_of
from cotas.lab.points import DATA, SAMPLES, Points, PointsField, from_csv
from cotas.lab.proof import card
from cotas.lab.room import SET, Room
from cotas.lab.state import Menu, Refused, Slider
from cotas.lab.tables import NOT_FINITE
from cotas.lab.theme import WRAPPED, columns, frame, legend, plane, stack, wide
from cotas.lab.worker import LabTask
from cotas.report.markup import pairs
from cotas.source import MatrixLike
from cotas.words import say

# A page that is dragged over sends no more than a state in so many milliseconds.
MILLISECONDS = 40
LONGEST_NAME = 20
LIVE = f"""
const now = performance.now();
if (now - (window.cotas_told ?? 0) > {MILLISECONDS} && source.selected.indices.length) {{
  window.cotas_told = now;
  source.setv({{data: source.data}}, {{check_eq: false}});
}}
"""


@dataclass(frozen=True, eq=False)
class BoundaryAnswer:
    """A fitted classifier, what it does to the plane, and what was told while it was fitted."""

    model: Any
    points: Points
    reports: list[Any]
    plane: Plane
    errors: tuple[float, float]


class Boundary(Room):
    """Points in the plane, a classifier, its boundary and its certificate.

    The parameters are those of every room: `lang`, `dark` and `link`, which has the state:
    {"model": "LinearSVM", "lam": "0.1", "data": "groups"}.

    Examples
    --------
    >>> import cotas
    >>> room = cotas.lab.Boundary(link={"model": "LinearSVM", "data": "groups"})
    >>> room.answer.model.certificate_.holds
    True
    """

    short = "Boundary"
    title = "The boundary, the margin and the proof"
    lead = (
        "Drag a point, and see boundary, margin, support vectors and certificate follow. A click "
        "adds a point, Backspace takes the selected one away."
    )
    CSV = "CSV: two columns of numbers, then the class"
    FIELDS = (
        Menu("data", "moons", "Data", {**DATA, "own": "A CSV of one's own"}),
        Slider("seed", 0, "Another draw", range(100)),
        *classifiers.FIELDS,
        Menu("show", "certified", "Show also",
             {"certified": "certified predictions", "none": "nothing"}),
        PointsField("points", None),
    )  # fmt: skip

    # ---- the state -------------------------------------------------------------------------------

    @property
    def points(self) -> Points:
        """Return the points as they are now; those to judge by are the sample's, where there is
        one."""
        moved, name = self.values["points"], self.values["data"]
        if moved is not None and name not in SAMPLES:
            return moved  # type: ignore[no-any-return]
        sample = SAMPLES[name if name in SAMPLES else "moons"](int(self.values["seed"]))
        return sample if moved is None else sample.with_examples(moved)

    def relevant(self) -> set[str]:
        return classifiers.relevant(self.values) | {"data", "show"}

    def set(self, name: str, value: object) -> None:
        """Change one setting; other data are other points."""
        if name in ("data", "seed") and self.values[name] != value:
            self.values["points"] = None
            if value == "own":
                self.values["data"] = value
                self.refresh_widgets()
                return
        super().set(name, value)
        if name in ("data", "seed"):
            self._fill()

    # ---- what is computed ------------------------------------------------------------------------

    def work(self) -> Callable[[LabTask], BoundaryAnswer]:
        points, call = self.points, classifiers.call_of(self.values)
        certified = self.values["show"] == "certified"

        def compute(task: LabTask) -> BoundaryAnswer:
            model = call.make(callbacks=task.watch, progress=False, n_jobs=1)
            model.fit(points.X, points.y)
            plane = plane_of(model, points, certified)
            errors = tuple(
                float(np.mean(model.predict(X) != y)) if len(y) else math.nan
                for X, y in ((points.X, points.y), (points.X_new, points.y_new))
            )
            return BoundaryAnswer(model, points, task.reports, plane, (errors[0], errors[1]))

        return compute

    def code(self) -> str:
        """Return a program with the same points and the same call."""
        return (
            f"import cotas\n{'' if self.points.source else chr(10)}{self.points.code()}\n"
            f"model = {classifiers.call_of(self.values)}.fit(X, y)\n"
            "print(model.certificate_)\n"
            "cotas.plots.decision_boundary(model, X, y)\n"
        )

    def draw(self) -> Any:
        """Return the picture on paper."""
        return plots.decision_boundary(self.answer.model, self.answer.points.X,
                                       self.answer.points.y).figure  # fmt: skip

    # ---- what is shown ---------------------------------------------------------------------------

    def picture(self) -> Any:
        """Return the plane with its points."""
        theme, ink = self.theme, self.theme.ink
        self.source = columns("x", "y", "label", "colour", "mark", name="points")
        self.new, self.rings = columns("x", "y", "colour"), columns("x", "y", name="rings")
        self.areas, self.doubtful = columns("xs", "ys", "colour"), columns("xs", "ys")
        self.line, self.margins = columns("xs", "ys", name="line"), columns("xs", "ys")
        self.figure = plot = plane(theme, 1.2, tools="pan,wheel_zoom,reset",
                                   output_backend="canvas", toolbar_location="above")  # fmt: skip
        plot.multi_polygons("xs", "ys", source=self.areas, fill_color="colour", line_color=None)
        plot.multi_polygons(
            "xs", "ys", source=self.doubtful, fill_alpha=0.0, line_color=None,
            hatch_pattern="/", hatch_color=theme.soft, hatch_alpha=0.6, hatch_scale=7,
        )  # fmt: skip
        plot.multi_line("xs", "ys", source=self.line, color=ink, line_width=2.4)
        plot.multi_line("xs", "ys", source=self.margins, color=ink, line_dash="dashed",
                        line_width=1.2)  # fmt: skip
        plot.scatter("x", "y", source=self.new, size=4, color="colour", alpha=0.35)
        plot.scatter("x", "y", source=self.rings, size=16, fill_color=None, line_color=ink,
                     line_width=1.3)  # fmt: skip
        dots = plot.scatter(
            "x", "y", source=self.source, size=9, marker="mark", fill_color="colour",
            line_color=theme.paper, line_width=0.8, nonselection_alpha=1.0,
            nonselection_fill_alpha=1.0, selection_line_color=ink, selection_line_width=2.5,
        )  # fmt: skip
        self.draw_tool = PointDrawTool(renderers=[dots], add=True, drag=True)
        plot.add_tools(self.draw_tool)
        plot.toolbar.active_scroll = None
        plot.toolbar.active_drag = plot.toolbar.active_tap = self.draw_tool
        self.source.js_on_change("change", CustomJS(args={"source": self.source}, code=LIVE))
        self.source.on_change("data", self._moved)
        self._fill()
        self.legend = wide()
        return stack(plot, self.legend)

    def controls(self) -> list[Any]:
        data, csv, _seed, *others = super().controls()
        self.widgets.pop("seed")
        draw = self.button(say("Another draw"), self._draw_again, sizing_mode="stretch_width",
                           margin=(0, 0, 10, 0))  # fmt: skip
        self.label = pn.widgets.Select(label=say("Class of new points"), options=[], **SET)
        self.label.param.watch(lambda _: self._set_class_of_new_points(), "value")
        return [data, csv, draw, *others, self.label, self._by_hand()]

    def _draw_again(self) -> None:
        self.set("seed", (int(self.values["seed"]) + 1) % 100)

    def _by_hand(self) -> Any:
        """Move, add and remove points without a mouse."""
        self.number = pn.widgets.IntInput(label=say("Point"), value=1, start=1, **SET)
        self.at = [pn.widgets.FloatInput(label=axis, value=0.0, **SET) for axis in ("x₁", "x₂")]
        self.number.param.watch(lambda _: self._tell_point(), "value")
        buttons = pn.Row(
            self.button(say("Move"), lambda: self.move(self._row(), *self._place())),
            self.button(say("Add"), lambda: self.add(*self._place())),
            self.button(say("Remove"), lambda: self.remove(self._row())),
            stylesheets=[WRAPPED],
            margin=0,
        )
        return self.folded(say("Points by keyboard"), self.number, *self.at, buttons)

    def _row(self) -> int:
        """Return the row of the point that is set by hand."""
        return (self.number.value or 1) - 1

    def _place(self) -> tuple[float, float]:
        """Tell where it is to be; an empty field is none."""
        x, y = (math.nan if widget.value is None else float(widget.value) for widget in self.at)
        return x, y

    def show(self, answer: BoundaryAnswer) -> None:
        theme, plane = self.theme, answer.plane
        self.areas.data = {
            "xs": plane.areas["xs"],
            "ys": plane.areas["ys"],
            "colour": [theme.mixed(self._colour(k), 0.2) for k in plane.areas["owner"]],
        }
        self.line.data, self.margins.data = dict(plane.boundary), dict(plane.margins)
        self.doubtful.data = dict(plane.doubtful)
        rows = answer.points.X[plane.rings]
        self.rings.data = {"x": rows[:, 0].tolist(), "y": rows[:, 1].tolist()}
        self.legend.object = legend(self._keys(answer))
        certificate = card(answer.model.certificate_, answer.reports)
        self.proof.object = certificate + pairs(_figures(answer))

    def _keys(self, answer: BoundaryAnswer) -> list[tuple[str, str]]:
        """Return what the picture shows, class by class and line by line."""
        key, plane = self.theme.key, answer.plane
        found = [(key("point", k), f"y = {name}") for k, name in enumerate(self._classes)]
        lines = (
            ("ink", "decision boundary", True),
            ("dashed ink", "margins ±1", plane.margins["xs"]),
            ("ring", plane.ringed, len(plane.rings)),
            ("small", "validation", len(answer.points.X_new)),
            ("hatch", "not certified", plane.doubtful["xs"]),
        )
        return found + [(key(kind), say(words)) for kind, words, shown in lines if shown]

    def _colour(self, code: int) -> str:
        """Return the colour of a class among those of the fit, which may be fewer than there
        were."""
        label = self.answer.model.classes_[code]
        return self.theme.colour(int(np.searchsorted(self._classes, label)))

    # ---- points ----------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Put the points of the state on the page."""
        points = self.points
        self._classes = points.classes
        self.source.selected.indices = []
        X, labels = points.X, [str(label) for label in points.y]
        self._write({"x": X[:, 0].tolist(), "y": X[:, 1].tolist(), "label": labels}, points)
        self.new.data = {
            "x": points.X_new[:, 0].tolist(),
            "y": points.X_new[:, 1].tolist(),
            "colour": self.theme.marks(np.searchsorted(self._classes, points.y_new))["colour"],
        }
        frame(self.figure, X)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = map(_short, points.axes)
        if hasattr(self, "label"):
            self.label.options = {f"y = {label}": k for k, label in enumerate(self._classes)}
            self.label.value = 0
            self._set_class_of_new_points()

    def _write(self, data: dict[str, Any], points: Points) -> None:
        """Put points on the page, each with the colour and the marker of its class."""
        self._filling = True
        try:
            marks = self.theme.marks(np.searchsorted(self._classes, points.y))
            self.source.data = {**data, **marks}
        finally:
            self._filling = False

    def _set_class_of_new_points(self) -> None:
        """Set what the tool writes into the other columns of a point that is added."""
        code = self.label.value or 0
        self.draw_tool.empty_value = str(self._classes[code])

    def _moved(self, _name: str, _old: Any, new: Any) -> None:
        """Take the points that the visitor has moved, added or removed."""
        if self._filling:
            return
        names = {str(label): label for label in self._classes}
        labels = [names.get(str(label), self._classes[0]) for label in new["label"]]
        try:
            X = np.array([new["x"], new["y"]], dtype=np.float64).T.reshape(-1, 2)
            points = self.points.moved(X, np.array(labels, dtype=self._classes.dtype))
        except Refused as problem:
            self.complain(problem)
            return
        except (TypeError, ValueError):
            self.complain(Refused(NOT_FINITE))
            return
        self._keep(points)
        self.complain()
        if any(not str(colour).startswith("#") for colour in new["colour"]):  # some were added
            self._write(self.source.data, points)
        self.refresh()

    def move(self, row: int, x: float, y: float) -> None:
        """Put one point elsewhere."""
        X = self.points.X.copy()
        if 0 <= row < len(X):
            X[row] = (x, y)
            self._replace(X, self.points.y)

    def add(self, x: float, y: float) -> None:
        """Put a point of the class that is chosen for new ones."""
        label = self._classes[self.label.value or 0]
        self._replace(np.vstack([self.points.X, (x, y)]), np.append(self.points.y, label))
        self.number.value = len(self.points.X)

    def remove(self, row: int) -> None:
        """Take one point away."""
        if 0 <= row < len(self.points.X):
            self._replace(np.delete(self.points.X, row, axis=0), np.delete(self.points.y, row))

    def _replace(self, X: MatrixLike, y: ArrayLike | None) -> None:
        if self.understood(lambda: self._keep(self.points.moved(X, y))):
            self._fill()
            self.refresh()

    def _keep(self, points: Points) -> None:
        """Make these the points of the state."""
        sample = self.values["data"] in SAMPLES
        self.values["points"] = points.alone() if sample else points

    def _tell_point(self) -> None:
        row = min(self.number.value or 1, len(self.points.X)) - 1
        for widget, value in zip(self.at, self.points.X[row], strict=True):
            widget.value = float(value)

    def keep_file(self, content: bytes) -> None:
        self.values["points"] = from_csv(content)
        self._fill()


def _figures(answer: BoundaryAnswer) -> dict[str, str]:
    plane, model = answer.plane, answer.model
    found = {say("Training error"): percent(answer.errors[0])}
    if not math.isnan(answer.errors[1]):
        found[say("Validation error")] = percent(answer.errors[1])
    if plane.ringed:
        key = "Support vectors" if plane.ringed == "support vectors" else "Margins violated"
        found[say(key)] = f"{len(plane.rings)} / {len(answer.points.X)}"
    if hasattr(model, "margin_width_") and len(model.classes_) == 2:
        width = float(np.ravel(model.margin_width_)[0])
        found[say("Width of the margin, 2/‖θ‖")] = f"{width:.4g}"
    if plane.certified is not None:
        found[say("Training points certified")] = percent(float(np.mean(plane.certified)))
    return found


def _short(name: str) -> str:
    """Shorten a name to what fits along a picture on a telephone."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
