"""From the record of a fit to what the report tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cotas.preparation.doubt import doubt_of
from cotas.preparation.preparation import Preparation
from cotas.preparation.quality import Quality
from cotas.preparation.record import (
    ColumnSummary,
    FitRecord,
    Rival,
    telling_parameters,
)
from cotas.report.alarms import alarms_of
from cotas.report.certificates import label_in
from cotas.report.content import Column, Content, Effects, HeldOut
from cotas.report.drawings import pictures_of
from cotas.report.figures import found, span
from cotas.report.markup import number
from cotas.report.words import remark_in, words_of

MOST_CLASSES = 10  # with a chart of coefficients of their own


def content_of(record: FitRecord, lang: str = "en") -> Content:
    """Everything the report says, in the language it says it in."""
    words = words_of(lang)
    table, estimator = record.table, record.model.estimator_
    unknown = record.table.columns or record.table.n_columns == 0
    return Content(
        source=Path(table.source).name,
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
        alarms=alarms_of(record.quality, words),
        short=[*_in_short(record, words)],
    )


def _in_short(record: FitRecord, words: Mapping[str, str]) -> Iterator[str]:
    """What is predicted, how well against doing without, what is proved, and what matters most."""
    table, quality = record.table, record.quality
    yield words["summary_what"].format(
        target=table.target or "y",
        task=words[record.task],
        columns=len(record.model.preparation_.used_columns_) or table.n_columns,
        rows=table.n_rows,
        model=type(record.model.estimator_).__name__,
    )
    if record.hold_out is not None and quality is not None:
        name = "error" if quality.classes else "RMSE"
        yield words["summary_error"].format(
            rows=quality.rows,
            measure=words[name],
            value=number(quality.measures[name].value),
            interval=span(quality.measures[name], words, quality.confidence),
            answer=quality.answer,
            baseline=number(quality.baseline.value),
        )
    names = _largest([*_effects(record, words)])
    if names:
        yield words["summary_matters"].format(names=", ".join(names))


def _largest(effects: Sequence[Effects], most: int = 3) -> list[str]:
    """The columns with the largest effects, on whichever class."""
    sizes: dict[str, float] = {}
    for one in effects:
        for size, name in zip(one.sizes, one.names, strict=True):
            if abs(size) > one.unsure:
                sizes[name] = max(abs(size), sizes.get(name, 0.0))
    return sorted(sizes, key=lambda name: -sizes[name])[:most]


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


def _held_out(record: FitRecord, words: Mapping[str, str]) -> HeldOut | None:
    bound, quality = record.bound, record.quality
    if record.hold_out is None or quality is None:
        return None
    proved = bound is not None and bound.kind != "none" and bound.holds
    figures: Mapping[str, float] = bound.figures if bound is not None else {}
    meaning = words["the_most_frequent" if quality.classes else "the_mean"]
    always = words["always"].format(answer=quality.answer)
    headings, rows = _confusion(quality, words)
    return HeldOut(
        rows=quality.rows,
        measures={
            words[name]: f"{number(one.value)} ({span(one, words, quality.confidence)})"
            for name, one in quality.measures.items()
        },
        baseline=(always, f"{number(quality.baseline.value)} ({meaning})"),
        bound=bound.upper if proved and bound is not None else None,
        confidence=figures.get("confidence", 0.95),
        tried=int(figures.get("models to choose from", 1)),
        classes=rows,
        headings=headings,
    )


def _confusion(
    quality: Quality, words: Mapping[str, str]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The confusion matrix with recall and precision beside it."""
    if quality.confusion is None:
        return (), ()
    taken = [words["taken_for"].format(label=one.label) for one in quality.classes]
    headings = [words["class"], words["rows"], words["recall"], words["precision"], *taken]
    rows = [
        [one.label, str(one.rows), *found(one, words), *map(str, counts)]
        for one, counts in zip(quality.classes, quality.confusion, strict=True)
    ]
    return headings, rows


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
        each = record.certificate.singles
        if len(each) == len(rows):
            labels, proofs = _labels(record, words), each
        else:  # one proof for all classes together
            said = words["of_the_class"]
            labels = [said.format(label=label) for label in record.model.classes_]
            proofs = (record.certificate,) * len(rows)
        parts = list(zip(labels, rows, record.model.in_original_units(), proofs, strict=True))
        for label, row, (per_unit, _), proof in parts[:MOST_CLASSES]:
            doubt = doubt_of(estimator, proof, row, len(record.training.rows))
            # The prepared columns have deviation one, so their coefficients can be compared.
            yield Effects(label, names, row.tolist(), [per_unit[name] for name in names], doubt)
    elif hasattr(estimator, "feature_importances_"):
        yield Effects("", names, np.asarray(estimator.feature_importances_).tolist())
