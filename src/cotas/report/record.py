"""From the record of a fit to what the report tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cotas.certificates import Certificate
from cotas.certificates.certificate import MEAN
from cotas.preparation.doubt import doubts_of
from cotas.preparation.preparation import Preparation
from cotas.preparation.quality import Quality
from cotas.preparation.record import ColumnSummary, FitRecord, Rival
from cotas.preparation.telling import called, telling_parameters
from cotas.report.drawings import Picture, pictures_of
from cotas.report.figures import (
    MEASURES,
    about_groups,
    alarms_of,
    baseline_line,
    found,
    number,
    span,
)
from cotas.words import say


@dataclass(frozen=True)
class ColumnLine:
    """One column of the table: its name, what it holds, and a few words on its values."""

    name: str
    kind: str
    missing: int
    values: str


@dataclass(frozen=True)
class HeldOutFigures:
    """What the rows that were kept apart say about the model.

    Attributes
    ----------
    rows : how many rows were kept apart
    measures : name of each measure on them, such as the error or R², and its value in words
    baseline : name and value, in words, of doing without the model
    bound : what the error on new rows does not exceed, or None where nothing bounds it
    confidence : how often such a bound is true
    tried : how many models were compared on the same rows, which the bound pays for
    classes : for each class its name, its rows, what they were taken for, recall and precision
    headings : of these
    """

    rows: int
    measures: Mapping[str, str]
    baseline: tuple[str, str] | None = None
    bound: float | None = None
    confidence: float = 0.95
    tried: int = 1
    classes: Sequence[Sequence[str]] = ()
    headings: Sequence[str] = ()


@dataclass(frozen=True)
class Effects:
    """What each column does to the prediction.

    `sizes` are comparable from column to column, and are what the bars show; `per_unit` are the
    coefficients in the units of the columns, where the model has any. `unsure` is what the gap
    leaves open: sizes up to it are not told from zero.
    """

    label: str
    names: Sequence[str]
    sizes: Sequence[float]
    per_unit: Sequence[float] | None = None
    unsure: float = 0.0


@dataclass(frozen=True)
class Content:
    """Everything one report says, in the order in which it says it."""

    source: str
    rows: int
    width: int  # how many columns; `columns` describes those that have names
    columns: Sequence[ColumnLine]
    target: str
    task: str
    classes: Mapping[str, int]
    warnings: Sequence[str]
    model: str
    parameters: Mapping[str, str]
    preparation: Sequence[str]
    certificates: Sequence[tuple[str, Certificate]]
    held_out: HeldOutFigures | None
    effects: Sequence[Effects]
    compared: Sequence[Sequence[str]] = ()  # the first row holds the headings
    commands: Sequence[str] = ()  # by which each of them is trained again
    pictures: Sequence[Picture] = field(default_factory=tuple)
    command: str = ""
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False
    alarms: Sequence[str] = ()
    short: Sequence[str] = ()  # the whole in a few sentences


# What a column holds.
KINDS = {
    "number": "number",
    "boolean": "true or false",
    "category": "category",
    "date": "date",
    "time": "time of day",
    "other": "other",
}
MOST_CLASSES = 10  # with a chart of coefficients of their own
MOST_IN_MATRIX = 100  # classes; a page with a million cells is read by nobody


def content_of(record: FitRecord) -> Content:
    """Everything the report says, in the language of the moment."""
    table, estimator = record.table, record.model.estimator_
    unknown = record.table.columns or record.table.n_columns == 0
    return Content(
        source=Path(table.source).name,
        rows=table.n_rows,
        width=table.n_columns,
        columns=[_column(column) for column in table.columns],
        target=table.target or "y",
        task=record.task,
        classes=_classes(record),
        warnings=[*(str(remark) for remark in record.remarks), *record.warnings],
        model=called(record.model_name, estimator),
        parameters=_parameters(record),
        preparation=_preparation(record.model.preparation_)
        if unknown
        else [say("A matrix of {columns} columns without names.", columns=table.n_columns)],
        certificates=list(zip(_labels(record), record.certificate.singles, strict=True)),
        held_out=_held_out(record),
        effects=list(_effects(record)),
        compared=_compared(record.rivals, record.task),
        commands=[rival.command for rival in record.rivals if rival.command],
        pictures=pictures_of(record),
        # What a search finds in its time need not be found again; the first of it can be typed.
        command="\n".join(
            [record.command, *(rival.command for rival in record.rivals[:1])]
        ).strip(),
        seed=record.seed,
        versions=record.versions,
        interrupted=record.interrupted,
        alarms=alarms_of(record.quality),
        short=[*_in_short(record)],
    )


def _in_short(record: FitRecord) -> Iterator[str]:
    """What is predicted, how well against doing without, what is proved, and what matters most."""
    table, quality = record.table, record.quality
    yield say(
        "It predicts “{target}” ({task}) from {columns} columns of {rows} rows, by {model}.",
        target=table.target or "y",
        task=say(record.task),
        columns=len(record.model.preparation_.used_columns_) or table.n_columns,
        rows=table.n_rows,
        model=_by(record),
    )
    if record.hold_out is not None and quality is not None:
        name = "error" if quality.classes else "RMSE"
        yield say(
            "On the {rows} rows kept apart the {measure} is {value} ({interval}); "
            "answering always “{answer}” gives {baseline}.",
            rows=quality.rows,
            measure=say(MEASURES[name]),
            value=number(quality.measures[name].value),
            interval=span(quality.measures[name], quality.confidence),
            answer=quality.answer,
            baseline=number(quality.baseline.value),
        )
    names = _largest([*_effects(record)])
    if names:
        yield say("What matters most: {names}.", names=", ".join(names))
    if record.certificate.kind == MEAN:
        yield from record.certificate.notes[:1]
    if record.certificate.kind == MEAN and record.rivals:
        yield say(
            "It was chosen because the mean of its squared errors on rows kept out of training is "
            "smaller than that of each of its models, by more than a standard error."
        )


def _by(record: FitRecord) -> str:
    """The model as the object of a sentence."""
    many = getattr(record.model.estimator_, "names_", None)
    return record.model_name if many is None else say("a blend of {count} models", count=len(many))


def _largest(effects: Sequence[Effects], most: int = 3) -> list[str]:
    """The columns with the largest effects, on whichever class."""
    sizes: dict[str, float] = {}
    for one in effects:
        for size, name in zip(one.sizes, one.names, strict=True):
            if abs(size) > one.unsure:
                sizes[name] = max(abs(size), sizes.get(name, 0.0))
    return sorted(sizes, key=lambda name: -sizes[name])[:most]


def _column(column: ColumnSummary) -> ColumnLine:
    if column.mean is not None and column.smallest is not None and column.largest is not None:
        values = say(
            "{smallest} to {largest}, mean {mean}",
            smallest=number(column.smallest),
            largest=number(column.largest),
            mean=number(column.mean),
        )
    elif column.most_frequent is not None:
        values = say(
            "{distinct} values, most often {value}",
            distinct=column.distinct,
            value=column.most_frequent,
        )
    else:
        values = say("{distinct} values", distinct=column.distinct)
    return ColumnLine(column.name, say(KINDS[column.kind]), column.missing, values)


def _classes(record: FitRecord) -> dict[str, int]:
    if record.task != "classification":
        return {}
    samples = [record.training, *([record.hold_out] if record.hold_out is not None else [])]
    counts = Counter(str(label) for sample in samples for label in sample.truth)
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def _parameters(record: FitRecord) -> dict[str, str]:
    """What was given or chosen, and what came of it; parameters left as they were say nothing."""
    estimator = record.model.estimator_
    told = {
        name: number(value) if isinstance(value, float) else str(value)
        for name, value in telling_parameters(estimator, ("lam", "delta", "tol")).items()
    }
    if record.certificate.kind == MEAN:
        told = {say("weight of {name}", name=name): share for name, share in told.items()}
    support = getattr(estimator, "support_", None)
    if support is not None:
        rows = support if isinstance(support, np.ndarray) else np.concatenate(support)
        told[say("support vectors")] = f"{len(np.unique(rows))} / {len(record.training.rows)}"
    told[say("training time [s]")] = number(record.seconds)
    return told


def _preparation(preparation: Preparation) -> list[str]:
    lines = []
    count = len(preparation.number_names_)
    if count and preparation.standardize and preparation.layout_ != "sparse":
        words = "Numbers, less their mean and divided by their deviation: {count}."
        lines.append(say(words, count=count))
    else:
        lines.append(say("The numbers are used as they are."))
    marked = zip(preparation.number_names_, preparation.indicated_, strict=True)
    indicated = [name for name, there in marked if there]
    if indicated:
        words = "Missing numbers become the mean, with a column that marks them: {names}."
        lines.append(say(words, names=", ".join(indicated)))
    if preparation.category_names_:
        words = "Categories, with a column of zeros and ones for each value: {count}."
        lines.append(say(words, count=len(preparation.category_names_)))
    if preparation.dropped_:
        names = ", ".join(name for name, _ in preparation.dropped_)
        lines.append(say("Left out: {names}.", names=names))
    return lines


def _labels(record: FitRecord) -> list[str]:
    """What each certificate is about, where there are several."""
    parts = record.certificate.parts
    counts = Counter(part.member for part in parts)
    # Of a model of a blend that has one proof, its name says all.
    return [p.member if p.member and counts[p.member] == 1 else p.title for p in parts] or [""]


def _held_out(record: FitRecord) -> HeldOutFigures | None:
    bound, quality = record.bound, record.quality
    if record.hold_out is None or quality is None:
        return None
    proved = bound is not None and bound.kind != "none" and bound.holds
    figures: Mapping[str, float] = bound.figures if bound is not None else {}
    headings, rows = _confusion(quality)
    return HeldOutFigures(
        rows=quality.rows,
        measures={
            say(MEASURES[name]): f"{number(one.value)} ({span(one, quality.confidence)})"
            for name, one in quality.measures.items()
        }
        | {say("intervals"): words for words in about_groups(quality)},
        baseline=baseline_line(quality.answer, quality.baseline.value, bool(quality.classes)),
        bound=bound.upper if proved and bound is not None else None,
        confidence=figures.get("confidence", 0.95),
        tried=int(figures.get("models to choose from", 1)),
        classes=rows,
        headings=headings,
    )


def _confusion(quality: Quality) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Recall and precision of each class, with the confusion matrix beside them if it is small."""
    if quality.confusion is None:
        return (), ()
    small = len(quality.classes) <= MOST_IN_MATRIX
    taken = [say("as {label}", label=one.label) for one in quality.classes] * small
    headings = [say("class"), say("rows"), say("recall"), say("precision"), *taken]
    rows = [
        [one.label, str(one.rows), *found(one), *[str(count) for count in counts] * small]
        for one, counts in zip(quality.classes, quality.confusion, strict=True)
    ]
    return headings, rows


def _compared(rivals: Sequence[Rival], task: str) -> list[list[str]]:
    if len(rivals) < 2:
        return []
    squares = "Brier score" if task == "classification" else "mean square"
    names = [
        *("model", "seconds", "relative gap", "certificate", "training error"),
        *("validation error", squares, "folds", "rows"),
    ]
    noted = any(rival.note for rival in rivals)
    heading = [*map(say, names), *[say("note")] * noted]
    standings = {True: say("proved"), False: say("not proved"), None: say("no bound")}
    return [heading] + [
        [
            rival.name,
            f"{rival.seconds:.2f}",
            "" if rival.relative_gap is None else f"{rival.relative_gap:.1e}",
            standings[rival.holds],
            "" if rival.training_error is None else number(rival.training_error),
            number(rival.error),
            "" if rival.squares is None else number(rival.squares),
            *(str(rival.folds), str(rival.rows)),
            *[rival.note] * noted,
        ]
        for rival in rivals
    ]


def _effects(record: FitRecord) -> Iterator[Effects]:
    estimator: Any = record.model.estimator_
    names = [str(name) for name in record.model.preparation_.get_feature_names_out()]
    shown = record.model.preparation_.shown_names()
    if hasattr(estimator, "coef_"):
        rows = np.atleast_2d(estimator.coef_)
        labels = _labels(record)
        if len(labels) != len(rows):  # one proof for all classes together
            labels = [say("class {label}", label=label) for label in record.model.classes_]
        doubts = doubts_of(estimator, record.certificate, len(record.training.rows))
        parts = list(zip(labels, rows, record.model.in_original_units(), doubts, strict=True))
        for label, row, (per_unit, _), doubt in parts[:MOST_CLASSES]:
            # The prepared columns have deviation one, so their coefficients can be compared.
            yield Effects(label, shown, row.tolist(), [per_unit[name] for name in names], doubt)
    elif hasattr(estimator, "feature_importances_"):
        yield Effects("", shown, np.asarray(estimator.feature_importances_).tolist())
