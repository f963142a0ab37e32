"""The pictures of a report, from the record of a fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_curve

from cotas.arrays import FloatArray
from cotas.plots import loss_against_c
from cotas.plots.fitted import margins_of
from cotas.plots.style import COLOURS, INK, STYLE, drawing, legend, line_style, plain
from cotas.preparation.record import FitRecord, Sample
from cotas.report.figures import about_calibration
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, with the sentence that says what to see in it."""

    title: str
    caption: str
    svg: str


IDENTIFIED = re.compile(r'(\bid="|url\(#|href="#)')


def drawn(draw: Callable[[Any], Any], name: str, size: tuple[float, float] = (6.4, 4.0)) -> str:
    """Write the SVG of what `draw` puts on an Axes; `name` keeps its identifiers apart from
    others'."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The same drawing gives the same bytes: fixed salt, no date; letters stay letters.
    style: dict[Any, Any] = {**STYLE, "svg.fonttype": "none", "svg.hashsalt": name}
    with mpl.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        out = StringIO()
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    return _of_the_page(out.getvalue(), name)


def _of_the_page(svg: str, name: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = IDENTIFIED.sub(rf"\g<1>{name}-", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    return re.sub(r'<svg ([^>]*?)height="[^"]*"', r'<svg \1role="img"', svg, count=1)


# The title and the caption of each.
PICTURES = {
    "margins": ("Margins", "Below zero the prediction is wrong."),
    "curve": (
        "Loss against c = 1/(λn)",
        "Left of the best c the model is too simple, right of it it follows the "
        "training rows too closely.",
    ),
    "trace": (
        "The proof while the training ran",
        "The relative gap that was proved, against time.",
    ),
    "fit": ("Predicted against true", "On the line the prediction is exact."),
    "roc": (
        "ROC curve",
        "How many of a class are found against how many others are taken for it, "
        "for every threshold. The diagonal is guessing.",
    ),
    "calibration": (
        "Calibration",
        "How often what was given a probability was so, in parts of the rows of equal size, with "
        "intervals. On the diagonal the probabilities mean what they say.",
    ),
    "residuals": (
        "Residuals",
        "What the prediction misses by, against the prediction. A pattern is "
        "something that the model has not learned.",
    ),
}

# Their loss is zero from a margin of 1 on.
ASK_FOR_A_MARGIN = ("svm", "kernel-svm", "passive-aggressive", "pegasos", "kernel-pegasos")
MOST_CURVES = 8  # one for each class; more cannot be told apart
MOST_POINTS = 2000  # of a cloud; more would make the file large and the cloud a blot


def pictures_of(record: FitRecord) -> list[Picture]:
    """Return those that the record has the numbers for."""
    found = []

    def add(name: str, draw: Any, more: str = "") -> None:
        svg = drawn(draw, name)
        title, caption = map(say, PICTURES[name])
        found.append(Picture(title, caption + more, svg))

    samples = {say("training rows"): record.training}
    if record.hold_out is not None:
        samples[say("rows kept apart")] = record.hold_out
    judged = record.hold_out or record.training
    if record.task == "regression":
        add("fit", lambda ax: _predictions(ax, samples))
        add("residuals", lambda ax: _residuals(ax, judged))
    elif record.training.scores is not None:
        curves = _rates(judged, record.model.classes_)
        if curves:
            add("roc", lambda ax: _roc(ax, curves))
        if record.quality is not None and record.quality.calibration:
            about = f" {about_calibration(record.quality)}"
            add("calibration", lambda ax: _calibration(ax, record.quality), about)
        margins = {
            name: margins_of(np.asarray(sample.scores), sample.truth, record.model.classes_)
            for name, sample in samples.items()
        }
        # With several classes each has a machine of its own, and asks for it against the rest.
        asked = record.model_name in ASK_FOR_A_MARGIN and record.training.scores.ndim == 1
        more = (
            say(" The dashed line at 1 is the margin that the training asks for.") if asked else ""
        )
        add("margins", lambda ax: _margins(ax, margins, asked), more)
    if record.choice is not None and record.choice.c is not None:
        add("curve", lambda ax: loss_against_c(record.choice, ax=ax, title=""))
    # The trace of a choice is that of many fits one after the other.
    if len(record.trace) > 1 and record.choice is None:
        add("trace", lambda ax: _trace(ax, record.trace))
    return found


def _margins(ax: Axes, margins: Mapping[str, FloatArray], asked: bool) -> None:
    """Draw shares, so that few rows kept apart can be compared with many trained on."""
    with drawing(ax) as ax:
        together = np.concatenate(list(margins.values()))
        edges = np.histogram_bin_edges(together, bins=40)
        for k, (name, values) in enumerate(margins.items()):
            heights = np.histogram(values, bins=edges)[0] / max(1, len(values))
            ax.stairs(heights, edges, label=name, linewidth=1.8, **line_style(k))
        ax.axvline(0, color=INK, linewidth=1.0)
        if asked:
            ax.axvline(1, color=INK, linewidth=1.0, linestyle="--")
        ax.set(
            xlabel=say("margin: score of the true class against the others"),
            ylabel=say("share of the rows"),
        )
        legend(ax)


def _predictions(ax: Axes, samples: Mapping[str, Sample]) -> None:
    with drawing(ax) as ax:
        ends = []
        for k, (name, sample) in enumerate(samples.items()):
            step = -(-len(sample.truth) // MOST_POINTS)
            truth, predicted = (np.asarray(v)[::step] for v in (sample.truth, sample.predictions))
            marker = line_style(k, points=True)["marker"]
            ax.scatter(truth, predicted, s=16, alpha=0.7, marker=marker, c=COLOURS[k], label=name)
            ends += [truth.min(), truth.max()]
        ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color=INK, linewidth=1.0)
        ax.set(xlabel=say("true value"), ylabel=say("predicted value"))
        legend(ax)


def _residuals(ax: Axes, sample: Sample) -> None:
    step = -(-len(sample.truth) // MOST_POINTS)
    truth, predicted = (np.asarray(v)[::step] for v in (sample.truth, sample.predictions))
    with drawing(ax) as ax:
        ax.scatter(predicted, truth - predicted, s=16, alpha=0.7, c=COLOURS[0])
        ax.axhline(0, color=INK, linewidth=1.0)
        ax.set(xlabel=say("predicted value"), ylabel=say("true less predicted"))


def _rates(sample: Sample, classes: Any) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Draw for each class the share of others taken for it and that of its own found, by
    threshold."""
    scores = np.asarray(sample.scores)
    if scores.ndim == 2 and sample.probabilities is not None:
        scores = sample.probabilities
    if scores.ndim == 1:
        columns = {1: scores}
    elif scores.shape[1] == len(classes) <= MOST_CURVES:
        columns = dict(enumerate(scores.T))
    else:
        return {}
    found = {}
    for k, column in columns.items():
        own = sample.truth == classes[k]
        if 0 < own.sum() < len(own):
            false, true, _ = roc_curve(own, column)
            found[str(classes[k])] = (false, true)
    return found


def _roc(ax: Axes, curves: Mapping[str, Any]) -> None:
    with drawing(ax) as ax:
        for k, (name, (false, true)) in enumerate(curves.items()):
            style = {key: value for key, value in line_style(k).items() if key != "marker"}
            ax.plot(false, true, label=plain(name), linewidth=1.8, **style)
        ax.plot([0, 1], [0, 1], color=INK, linewidth=1.0, linestyle=":")
        ax.set(xlabel=say("share of the others taken for it"), ylabel=say("share found"))
        legend(ax)


def _calibration(ax: Axes, quality: Any) -> None:
    """Draw what was said against what was so, with the interval of each part of the rows."""
    said = np.array([one.said for one in quality.calibration])
    so = np.array([one.found.value for one in quality.calibration])
    # Where there is no interval, as of a single group, the point stands alone.
    found = [one.found for one in quality.calibration]
    known = [(one.low, one.high) if one.low is not None else (one.value,) * 2 for one in found]
    ends = np.array(known, dtype=np.float64).T
    with drawing(ax) as ax:
        ax.plot([0, 1], [0, 1], color=INK, linewidth=1.0, linestyle=":")
        away = np.maximum(np.abs(ends - so), 0.0)
        ax.errorbar(said, so, yerr=away, fmt="o", color=COLOURS[0], capsize=3, markersize=5)
        ax.set(xlabel=say("probability given"), ylabel=say("share that was so"))


def _trace(ax: Axes, trace: Any) -> None:
    seconds, gaps = np.array(trace, dtype=np.float64).T
    with drawing(ax) as ax:
        seen = np.isfinite(gaps) & (gaps > 0)
        ax.plot(seconds[seen], gaps[seen], drawstyle="steps-post", **line_style(0))
        ax.set(xlabel=say("seconds"), ylabel=say("relative gap"))
        ax.set_yscale("log")
