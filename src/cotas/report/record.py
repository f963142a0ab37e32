"""From the record of a fit to what the report tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cotas.preparation.preparation import Preparation
from cotas.preparation.record import (
    ColumnSummary,
    FitRecord,
    Rival,
    Sample,
    telling_parameters,
)
from cotas.report.certificates import label_in
from cotas.report.content import Column, Content, Effects, HeldOut
from cotas.report.drawings import pictures_of
from cotas.report.markup import number
from cotas.report.words import remark_in, words_of

MOST_CLASSES = 10  # with a chart of coefficients of their own


def content_of(record: FitRecord, lang: str = "en") -> Content:
    """Everything the report says, in the language it says it in."""
    words = words_of(lang)
    table, estimator = record.table, record.model.estimator_
    unknown = record.table.columns or record.table.n_columns == 0
    return Content(
        source=table.source,
        rows=table.n_rows,
        width=table.n_columns,
        columns=[_column(column, words) for column in table.columns],
        target=table.target or "y",
        task=record.task,
        classes=_classes(record),
        warnings=[*(remark_in(words, remark) for remark in record.remarks), *record.warnings],
        model=type(estimator).__name__,
        parameters=_parameters(record, words),
        preparation=_preparation(record.model.preparation_, words)
        if unknown
        else [words["matrix"].format(columns=table.n_columns)],
        certificates=list(zip(_labels(record, words), record.certificate.singles, strict=True)),
        held_out=_held_out(record, words),
        effects=list(_effects(record, words)),
        compared=_compared(record.rivals, words),
        pictures=pictures_of(record, words, lang),
        command=record.command,
        seed=record.seed,
        versions=record.versions,
        interrupted=record.interrupted,
    )


def _column(column: ColumnSummary, words: Mapping[str, str]) -> Column:
    if column.mean is not None and column.smallest is not None and column.largest is not None:
        values = words["mean"].format(
            smallest=number(column.smallest),
            largest=number(column.largest),
            mean=number(column.mean),
        )
    elif column.most_frequent is not None:
        values = words["most_frequent"].format(distinct=column.distinct, value=column.most_frequent)
    else:
        values = words["distinct"].format(distinct=column.distinct)
    return Column(column.name, words[column.kind], column.missing, values)


def _classes(record: FitRecord) -> dict[str, int]:
    if record.task != "classification":
        return {}
    samples = [record.training, *([record.hold_out] if record.hold_out is not None else [])]
    counts = Counter(str(label) for sample in samples for label in sample.truth)
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def _parameters(record: FitRecord, words: Mapping[str, str]) -> dict[str, str]:
    """What was given or chosen, and what came of it; parameters left as they were say nothing."""
    estimator = record.model.estimator_
    told = {
        name: number(value) if isinstance(value, float) else str(value)
        for name, value in telling_parameters(estimator, ("lam", "delta", "tol")).items()
    }
    support = getattr(estimator, "support_", None)
    if support is not None:
        rows = support if isinstance(support, np.ndarray) else np.concatenate(support)
        told[words["support"]] = f"{len(np.unique(rows))} / {len(record.training.rows)}"
    told[words["seconds"]] = number(record.seconds)
    return told


def _preparation(preparation: Preparation, words: Mapping[str, str]) -> list[str]:
    lines = []
    count = len(preparation.number_names_)
    if count and preparation.standardize and preparation.layout_ != "sparse":
        lines.append(words["standardized"].format(count=count))
    else:
        lines.append(words["as_given"])
    marked = zip(preparation.number_names_, preparation.indicated_, strict=True)
    indicated = [name for name, there in marked if there]
    if indicated:
        lines.append(words["indicated"].format(names=", ".join(indicated)))
    if preparation.category_names_:
        lines.append(words["one_hot"].format(count=len(preparation.category_names_)))
    if preparation.dropped_:
        names = ", ".join(name for name, _ in preparation.dropped_)
        lines.append(words["dropped"].format(names=names))
    return lines


def _labels(record: FitRecord, words: Mapping[str, str]) -> list[str]:
    """What each certificate is about, where there are several."""
    return [label_in(part.label, words) for part in record.certificate.parts] or [""]


def _measures(sample: Sample, task: str, words: Mapping[str, str]) -> dict[str, float]:
    if task == "classification":
        return {words["error"]: sample.error}
    found = {words["rmse"]: sample.error}
    return found if sample.r2 is None else {**found, words["r2"]: sample.r2}


def _held_out(record: FitRecord, words: Mapping[str, str]) -> HeldOut | None:
    sample, bound = record.hold_out, record.bound
    if sample is None:
        return None
    proved = bound is not None and bound.kind != "none" and bound.holds
    figures: Mapping[str, float] = bound.figures if bound is not None else {}
    return HeldOut(
        rows=len(sample.rows),
        measures=_measures(sample, record.task, words),
        bound=bound.upper if proved and bound is not None else None,
        confidence=figures.get("confidence", 0.95),
        tried=int(figures.get("models to choose from", 1)),
        confusion=_confusion(sample) if record.task == "classification" else (),
    )


def _confusion(sample: Sample) -> list[tuple[str, str, int]]:
    """How many rows of each class were taken for which, the frequent ones first."""
    pairs = Counter(zip(map(str, sample.truth), map(str, sample.predictions), strict=True))
    return [(true, taken, count) for (true, taken), count in pairs.most_common(MOST_CLASSES**2)]


def _compared(rivals: Sequence[Rival], words: Mapping[str, str]) -> list[list[str]]:
    if len(rivals) < 2:
        return []
    names = ("model", "time", "gap", "proof")
    heading = [words[f"{name}_column"] for name in names]
    noted = any(rival.note for rival in rivals)
    heading += [words["training_error"], words["validation_error"], *[words["note"]] * noted]
    standings = {True: words["holds"], False: words["fails"], None: words["none"]}
    return [heading] + [
        [
            rival.name,
            number(rival.seconds),
            "" if rival.relative_gap is None else number(rival.relative_gap),
            standings[rival.holds],
            number(rival.training_error),
            number(rival.error),
            *[rival.note] * noted,
        ]
        for rival in rivals
    ]


def _effects(record: FitRecord, words: Mapping[str, str]) -> Iterator[Effects]:
    estimator: Any = record.model.estimator_
    names = [str(name) for name in record.model.preparation_.get_feature_names_out()]
    if hasattr(estimator, "coef_"):
        rows = np.atleast_2d(estimator.coef_)
        labels = _labels(record, words) if len(rows) == len(record.certificate.singles) else [""]
        units = record.model.in_original_units()
        for label, row, (per_unit, _) in zip(labels, rows[:MOST_CLASSES], units, strict=False):
            # The prepared columns have deviation one, so their coefficients can be compared.
            yield Effects(label, names, row.tolist(), [per_unit[name] for name in names])
    elif hasattr(estimator, "feature_importances_"):
        yield Effects("", names, np.asarray(estimator.feature_importances_).tolist())
