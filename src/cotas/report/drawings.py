"""The pictures of a report, from the record of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from cotas.arrays import FloatArray
from cotas.plots import loss_against_c
from cotas.plots.fitted import margins_of
from cotas.plots.style import COLOURS, INK, drawing, legend, look
from cotas.preparation.record import FitRecord, Sample
from cotas.report.content import Picture
from cotas.report.figures import about_calibration
from cotas.report.pictures import drawn

# Their loss is zero from a margin of 1 on.
ASK_FOR_A_MARGIN = ("svm", "kernel-svm", "passive-aggressive", "pegasos", "kernel-pegasos")
MOST_CURVES = 8  # one for each class; more cannot be told apart
MOST_POINTS = 2000  # of a cloud; more would make the file large and the cloud a blot


def pictures_of(record: FitRecord, words: Mapping[str, str], lang: str) -> list[Picture]:
    """Those that the record has the numbers for."""
    found = []

    def add(name: str, draw: Any, more: str = "") -> None:
        svg = drawn(draw, name)
        found.append(Picture(words[f"{name}_title"], words[f"{name}_caption"] + more, svg))

    samples = {words["training"]: record.training}
    if record.hold_out is not None:
        samples[words["kept_apart"]] = record.hold_out
    judged = record.hold_out or record.training
    if record.task == "regression":
        add("fit", lambda ax: _predictions(ax, samples, words))
        add("residuals", lambda ax: _residuals(ax, judged, words))
    elif record.training.scores is not None:
        curves = _rates(judged, record.model.classes_)
        if curves:
            add("roc", lambda ax: _roc(ax, curves, words))
        if record.quality is not None and record.quality.calibration:
            about = f" {about_calibration(record.quality, words)}"
            add("calibration", lambda ax: _calibration(ax, record.quality, words), about)
        margins = {
            name: margins_of(np.asarray(sample.scores), sample.truth, record.model.classes_)
            for name, sample in samples.items()
        }
        # With several classes each has a machine of its own, and asks for it against the rest.
        asked = record.model_name in ASK_FOR_A_MARGIN and record.training.scores.ndim == 1
        more = words["margin_asked"] if asked else ""
        add("margins", lambda ax: _margins(ax, margins, words, asked), more)
    if record.choice is not None and record.choice.c is not None:
        add("curve", lambda ax: loss_against_c(record.choice, ax=ax, title="", lang=lang))
    # The trace of a choice is that of many fits one after the other.
    if len(record.trace) > 1 and record.choice is None:
        add("trace", lambda ax: _trace(ax, record.trace, words))
    return found


def _margins(
    ax: Any, margins: Mapping[str, FloatArray], words: Mapping[str, str], asked: bool
) -> None:
    """Shares, so that few rows kept apart can be compared with many trained on."""
    with drawing(ax) as (ax, _):
        together = np.concatenate(list(margins.values()))
        edges = np.histogram_bin_edges(together, bins=40)
        for k, (name, values) in enumerate(margins.items()):
            heights = np.histogram(values, bins=edges)[0] / max(1, len(values))
            ax.stairs(heights, edges, label=name, linewidth=1.8, **look(k))
        ax.axvline(0, color=INK, linewidth=1.0)
        if asked:
            ax.axvline(1, color=INK, linewidth=1.0, linestyle="--")
        ax.set(xlabel=words["margin"], ylabel=words["row_count"])
        legend(ax)


def _predictions(ax: Any, samples: Mapping[str, Sample], words: Mapping[str, str]) -> None:
    with drawing(ax) as (ax, _):
        ends = []
        for k, (name, sample) in enumerate(samples.items()):
            step = -(-len(sample.truth) // MOST_POINTS)
            truth, predicted = (np.asarray(v)[::step] for v in (sample.truth, sample.predictions))
            marker = look(k, points=True)["marker"]
            ax.scatter(truth, predicted, s=16, alpha=0.7, marker=marker, c=COLOURS[k], label=name)
            ends += [truth.min(), truth.max()]
        ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color=INK, linewidth=1.0)
        ax.set(xlabel=words["true_value"], ylabel=words["predicted_value"])
        legend(ax)


def _residuals(ax: Any, sample: Sample, words: Mapping[str, str]) -> None:
    step = -(-len(sample.truth) // MOST_POINTS)
    truth, predicted = (np.asarray(v)[::step] for v in (sample.truth, sample.predictions))
    with drawing(ax) as (ax, _):
        ax.scatter(predicted, truth - predicted, s=16, alpha=0.7, c=COLOURS[0])
        ax.axhline(0, color=INK, linewidth=1.0)
        ax.set(xlabel=words["predicted_value"], ylabel=words["residual"])


def _rates(sample: Sample, classes: Any) -> dict[str, tuple[FloatArray, FloatArray]]:
    """For each class the share of others taken for it and that of its own found, by threshold."""
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


def _roc(ax: Any, curves: Mapping[str, Any], words: Mapping[str, str]) -> None:
    with drawing(ax) as (ax, _):
        for k, (name, (false, true)) in enumerate(curves.items()):
            style = {key: value for key, value in look(k).items() if key != "marker"}
            ax.plot(false, true, label=name, linewidth=1.8, **style)
        ax.plot([0, 1], [0, 1], color=INK, linewidth=1.0, linestyle=":")
        ax.set(xlabel=words["false_rate"], ylabel=words["found_rate"])
        legend(ax)


def _calibration(ax: Any, quality: Any, words: Mapping[str, str]) -> None:
    """What was said against what was so, with the interval of each part of the rows."""
    said = np.array([one.said for one in quality.calibration])
    so = np.array([one.found.value for one in quality.calibration])
    ends = np.array([(one.found.low, one.found.high) for one in quality.calibration]).T
    with drawing(ax) as (ax, _):
        ax.plot([0, 1], [0, 1], color=INK, linewidth=1.0, linestyle=":")
        away = np.maximum(np.abs(ends - so), 0.0)
        ax.errorbar(said, so, yerr=away, fmt="o", color=COLOURS[0], capsize=3, markersize=5)
        ax.set(xlabel=words["probability_said"], ylabel=words["share_found"])


def _trace(ax: Any, trace: Any, words: Mapping[str, str]) -> None:
    seconds, gaps = np.array(trace, dtype=np.float64).T
    with drawing(ax) as (ax, _):
        seen = np.isfinite(gaps) & (gaps > 0)
        ax.plot(seconds[seen], gaps[seen], drawstyle="steps-post", **look(0))
        ax.set(xlabel=words["trace_time"], ylabel=words["trace_gap"])
        ax.set_yscale("log")
