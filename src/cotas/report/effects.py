"""What each column does to the prediction, of models that tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.preparation.doubt import doubts_of
from cotas.preparation.record import FitRecord
from cotas.report.certificates import labels_of
from cotas.report.markup import and_more, bars, paragraph, section, text
from cotas.words import say

PER_UNIT = (
    "The number is how much the output changes for one unit of the column. The bar is that for one "
    "standard deviation, and for a category that for its presence, so that bars can be compared."
)
MOST_COEFFICIENTS = 40
MOST_CLASSES = 10  # with a chart of coefficients of their own


@dataclass(frozen=True)
class Effects:
    """Effects of each column on the prediction.

    `sizes` are comparable from column to column, and are what the bars show; `per_unit` are the
    coefficients in the units of the columns, where the model has any. `unsure` is what the gap
    leaves open: sizes up to it are not told from zero.
    """

    label: str
    names: Sequence[str]
    sizes: Sequence[float]
    per_unit: Sequence[float] | None = None
    unsure: float = 0.0


def effects_of(record: FitRecord) -> Iterator[Effects]:
    """Yield the coefficients of each class or target, or the importances."""
    estimator: Any = record.model.estimator_
    names = [str(name) for name in record.model.preparation_.get_feature_names_out()]
    shown = record.model.preparation_.shown_names()
    if hasattr(estimator, "coef_"):
        rows = np.atleast_2d(estimator.coef_)
        labels = labels_of(record.certificate)
        if len(labels) != len(rows):  # one proof for all classes together
            labels = [say("class {label}", label=label) for label in record.model.classes_]
        doubts = doubts_of(estimator, record.certificate, len(record.training.rows))
        parts = list(zip(labels, rows, record.model.in_original_units(), doubts, strict=True))
        for label, row, (per_unit, _), doubt in parts[:MOST_CLASSES]:
            # The prepared columns have deviation one, so their coefficients can be compared.
            yield Effects(label, shown, row.tolist(), [per_unit[name] for name in names], doubt)
    elif hasattr(estimator, "feature_importances_"):
        yield Effects("", shown, np.asarray(estimator.feature_importances_).tolist())


def largest(effects: Sequence[Effects], most: int = 3) -> list[str]:
    """Return the columns with the largest effects, on whichever class."""
    sizes: dict[str, float] = {}
    for one in effects:
        for size, name in zip(one.sizes, one.names, strict=True):
            if abs(size) > one.unsure:
                sizes[name] = max(abs(size), sizes.get(name, 0.0))
    return sorted(sizes, key=lambda name: -sizes[name])[:most]


def effects_section(effects: Sequence[Effects]) -> str:
    """Return a chart for each, if there are any."""
    if not effects:
        return ""
    linear = effects[0].per_unit is not None
    title = say(
        "Coefficients, in the units of the columns" if linear else "Importance of each column"
    )
    scaled = linear and any(one.sizes != one.per_unit for one in effects)
    return section(title, *[paragraph(say(PER_UNIT))] * scaled, *map(_chart, effects))


def _chart(effects: Effects) -> str:
    """Return the largest effects first; the number is the coefficient, the bar its effect."""
    shown = effects.sizes if effects.per_unit is None else effects.per_unit
    rows = sorted(zip(effects.names, shown, effects.sizes, strict=True), key=lambda r: -abs(r[2]))
    certain = [row for row in rows if abs(row[2]) > effects.unsure]
    some = certain[:MOST_COEFFICIENTS]
    heading = f"<h3>{text(effects.label)}</h3>" if effects.label else ""
    value = say("value" if effects.per_unit is None else "per unit")
    chart = bars((say("column"), value), some)
    open_ = len(rows) - len(certain)
    words = (
        "{count} more that are not told from 0: they are smaller than what the gap leaves open."
        if effects.unsure
        else "{count} more are 0."
    )
    more = paragraph(say(words, count=open_)) if open_ else ""
    return heading + chart + and_more(len(certain) - len(some)) + more
