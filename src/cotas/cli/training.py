"""From a table to a FitRecord: the steps of `cotas fit`, one after the other.

What was asked for; the split, in which rows that belong together stay together; the training; what
the rows held out say.
"""

from __future__ import annotations

import datetime
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

import cotas
from cotas.arrays import AnyArray, BoolArray, IntArray
from cotas.certificates import Certificate
from cotas.certificates.presentation import OPTIMIZATION
from cotas.cli import UNEXPECTED
from cotas.cli.command import UsageError, code_of
from cotas.cli.models import DEFAULTS, TIMES, blend_of, build, sensible, task_of
from cotas.cli.options import ColumnOptions, FitOptions
from cotas.cli.session import Session, watching
from cotas.files.frames import coded
from cotas.files.models import versions
from cotas.files.names import meant, names_among
from cotas.files.problems import Remark, gathered, remark
from cotas.files.table import Table
from cotas.preparation.columns import ColumnWarning
from cotas.preparation.held_out import (
    CLASS_BY_CLASS,
    DECLARED,
    bound_of,
    copies,
    hold_out_rows,
    numbered,
)
from cotas.preparation.inspection import inspect_table
from cotas.preparation.preparation import Preparation
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.quality import Quality, quality_of_classes, quality_of_numbers
from cotas.preparation.record import FitRecord, Rival, Sample, summarize
from cotas.selection.blend import BLEND, members_of
from cotas.stops import Stop
from cotas.words import say

# Fewer rows than this are all needed for training.
FEWEST_TO_SPLIT = 30


@dataclass(frozen=True)
class Settings(FitOptions):
    """Settings that were asked for, the parameters of the model, and how columns are to be
    prepared."""

    given: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    preparation: Preparation = field(default_factory=Preparation)

    @property
    def differs(self) -> bool:
        """Tell whether what was given is about one model, and not about several that differ."""
        return bool(self.given.keys() - {"max_time"}) or self.select is not None


def preparation_of(table: Table, columns: ColumnOptions) -> Preparation:
    """Tell how the columns of this table are to be prepared."""
    if not table.has_names:
        return Preparation()
    keep, seconds = (
        names_among(words or [], table.names, table.source)
        for words in (columns.keep, columns.unix_seconds)
    )
    return Preparation(keep=keep, strict=columns.strict_columns, unix_seconds=seconds)


@dataclass(frozen=True)
class SplitTable:
    """The table cut into the rows to train on and the rows held out."""

    table: Table
    y: AnyArray
    train: IntArray
    test: IntArray
    groups: AnyArray | None = None

    def groups_of_training(self) -> AnyArray | None:
        """Return what must stay together, of the rows to train on."""
        return None if self.groups is None else self.groups[self.train]

    def take(self, rows: IntArray) -> tuple[Table, AnyArray]:
        """Return some rows, and their targets."""
        return self.table.take(rows), self.y[rows]


def split_and_announce(
    session: Session, table: Table, y: AnyArray, settings: Settings
) -> tuple[SplitTable, list[Remark]]:
    """Set rows aside, and say what is to be known of the columns: left out, odd, sorted."""
    rows, few = split(table, y, settings)
    keep = (*settings.preparation.keep, *settings.preparation.unix_seconds)
    seen = inspect_table(rows.table, rows.y, settings.task, (rows.train, rows.test), keep)
    session.remark(*gathered([*seen, *few]))
    return rows, [*seen, *few]


def check_share(share: float) -> None:
    """Raise unless it is a share of the rows to hold out."""
    if not 0 <= share < 1:
        raise UsageError(
            "--hold-out is a share of the rows, such as 0.2, not {share:g}.", share=share
        )


def split(table: Table, y: AnyArray, settings: Settings) -> tuple[SplitTable, list[Remark]]:
    """Return all rows to train on if none are to be held out, or if there are too few."""
    share = settings.hold_out
    check_share(share)
    if table.has_names:
        table = replace(table, features=coded(table.features))
    table, groups, said = grouped(table, y, settings)
    if share > 0 and len(y) < FEWEST_TO_SPLIT:
        words = "With {rows} rows all are trained on, and none are held out."
        share, said = 0, [*said, remark(words, "few rows", rows=len(y))]
    rows = np.arange(len(y)), np.arange(0)
    if share > 0:
        rows = hold_out_rows(y, settings.task, share, settings.seed, groups)
    return SplitTable(table, y, *rows, groups), said


def grouped(
    table: Table, y: AnyArray, settings: Settings
) -> tuple[Table, AnyArray | None, list[Remark]]:
    """Find what must stay on one side: the groups of a column, which is then no feature, or
    copies."""
    if settings.group is None:
        found, said = copies(table, y, settings.task)
        if settings.equal_rows == "independent" and found is not None:
            words = "{count} rows occur more than once; each counts as a draw of its own."
            count = int((np.bincount(found)[found] > 1).sum())
            return table, None, [remark(words, "duplicates", count=count)]
        return table, found, said
    table.refuse_names("group", [settings.group])
    if settings.group not in table.names:
        raise UsageError("--group: there is no column {group!r}.", group=settings.group)
    column = table.features[settings.group].cast(str).fill_null("")
    groups = numbered(column.to_numpy())
    words = "Rows with the same {name!r} are on one side of the split; it is left out."
    if groups.max(initial=-1) + 1 < len(groups):
        words = (
            "Rows with the same {name!r} are on one side of the split; it is left out, and nothing "
            "is proved of future rows, of which they are no independent draws."
        )
    return table.without([settings.group]), groups, [remark(words, "group", settings.group)]


def bound_on_future_rows(
    wrong: BoolArray, rows: SplitTable, settings: Settings, tried: int = 1
) -> Certificate | None:
    """Compute the bound that mistakes on the rows held out prove; None where rows belong
    together."""
    notes = (CLASS_BY_CLASS, *[DECLARED] * (settings.equal_rows == "independent"))
    return bound_of(wrong, rows.groups, settings.confidence, tried, notes)


@dataclass(frozen=True)
class Trained:
    """One fitted model, and what was noticed while it was trained."""

    name: str
    model: PreparedModel
    seconds: float
    warnings: tuple[str, ...]
    trace: tuple[tuple[float, float], ...]
    interrupted: bool
    choice: Any = None
    prepared: Any = field(default=None, repr=False)


def train(session: Session, table: Table, y: AnyArray, settings: Settings) -> FitRecord:
    """Split, look at the data, train, and measure on the rows that were set aside."""
    rows, seen = split_and_announce(session, table, y, settings)
    remarks = gathered(seen)
    name = settings.model or DEFAULTS[settings.task]
    y_train = rows.y[rows.train]
    rivals: list[Rival] = []
    if name == "auto":
        from cotas.cli.auto import train_auto  # which trains by what stands here

        best, rivals = train_auto(session, rows, settings)
    else:
        if task_of(name) != settings.task:
            fit = ", ".join(sensible(settings.task, rows.table.n_rows, rows.table.n_columns))
            task = say(settings.task)
            raise UsageError("{name} is not for {task}; {fit} are.", name=name, task=task, fit=fit)
        if TIMES in name:
            if settings.differs:
                words = "a blend takes no --lam, --tol, --param or --select: its models differ."
                raise UsageError(words)
            name, made = BLEND, blend_of(name, y_train, settings.seed)
        else:
            made, notes = build(name, y_train, settings.seed, settings.given, settings.select)
            session.remark(*notes)
        best = train_one(session, name, rows, settings, made)
    rare = gathered(without_frequent_values(best.model.preparation_, seen))
    session.remark(*rare)
    remarks += rare
    record = replace(_record(rows, best, settings, remarks), rivals=tuple(rivals))
    return measured(record, rows, settings)


def without_frequent_values(preparation: Preparation, said: list[Remark]) -> Iterator[Remark]:
    """Yield columns that were left out in training because no value of theirs comes often."""
    known = {one.column for one in said}
    for name, kind in preparation.dropped_:
        if kind == "text" and name not in known:
            words = "Column {name!r} is left out: it has many values, and none comes often."
            yield remark(words, "rare values", name)


def train_one(
    session: Session, name: str, rows: SplitTable, settings: Settings, made: Any
) -> Trained:
    """Return an estimator trained on the training rows, with λ chosen if that was asked for."""
    table, y = rows.take(rows.train)
    with watching(session, name) as watcher:
        estimator = watcher.listen_to(made, settings.max_time)
        try:
            estimator._check_parameters()
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from error
        choice = None
        if settings.select is not None:
            bar = None if session.shows_progress else False
            part = (table.features, y, rows.groups_of_training())
            estimator, choice = _chosen(name, estimator, part, settings, bar)
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = PreparedModel(
                estimator, settings.preparation, probabilities=settings.probabilities
            )

            def without() -> Any:
                plain = build(name, y, settings.seed, {})[0]
                return PreparedModel(plain, settings.preparation).fit(table, y)

            with blaming(settings.given, without):
                prepared = model.fit_prepared(table, y, rows.groups_of_training())
        seconds = time.perf_counter() - began
    words = in_lines(caught)
    each = members_of(model.estimator_)
    late = [one.max_time for one in each if one.stop_ is Stop.TIME]
    if late:
        limit = settings.max_time or late[0]
        words = (*words, say("The {limit:g} s were up; this is the best so far.", limit=limit))
    for one in each:
        if hasattr(one, "callbacks"):
            one.callbacks = None
    early = model.estimator_.stop_ is Stop.INTERRUPTED
    return Trained(name, model, seconds, words, tuple(watcher.trace), early, choice, prepared)


def in_lines(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return what was warned of, each thing once and in one line."""
    return tuple(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))


@contextmanager
def blaming(given: dict[str, Any], without: Callable[[], Any], before: str = "") -> Iterator[None]:
    """Call an error wrong use of the parameters that were given if there is none `without` them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not given or code_of(error) != UNEXPECTED or not _works(without):
            raise
        raise UsageError(f"{before}{error}") from error


def _works(attempt: Callable[[], Any]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            attempt()
        except (TypeError, ValueError):
            return False
    return True


def _chosen(
    name: str,
    estimator: Any,
    rows: tuple[Any, AnyArray, AnyArray | None],
    settings: Settings,
    bar: bool | None,
) -> tuple[Any, Any]:
    """Return the estimator with the chosen value of a parameter, and how it was chosen."""
    X, y, groups = rows
    parameter = str(settings.select)
    if parameter not in estimator.get_params():
        raise UsageError(
            "{name} has no {parameter!r} to select.{advice}",
            name=type(estimator).__name__,
            parameter=parameter,
            advice=meant(parameter, list(estimator.get_params())),
        )
    pipeline = Pipeline([("preparation", clone(settings.preparation)), ("model", estimator)])
    plain = PreparedModel(build(name, y, settings.seed, {})[0], settings.preparation)
    given = {**settings.given, parameter: None}
    with blaming(given, lambda: plain.fit(X, y), "--select: "), warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # values that only rows held out have
        choice = cotas.choose(
            *(pipeline, X, y, parameter),
            groups=groups,
            stratify=bool(np.unique(y, return_counts=True)[1].min() > 1),
            random_state=settings.seed,
            refit=False,
            progress=bar,
        )
    return estimator.set_params(**{parameter: choice.best_value}), choice


def sample_of(
    model: PreparedModel, rows: SplitTable, which: IntArray, prepared: Any = None
) -> Sample:
    """Return what the model says about some rows, prepared if they are, and how wrong that is."""
    truth, estimator = rows.y[which], model.estimator_
    X = model.preparation_.transform(rows.take(which)[0]) if prepared is None else prepared
    predictions = np.asarray(estimator.predict(X))
    scores = estimator.decision_function(X) if hasattr(estimator, "decision_function") else None
    if is_classifier(model):
        error = float(np.mean(predictions != truth))
        probabilities = model.probabilities_of(X) if model.tells_probabilities else None
        return Sample(which, truth, predictions, scores, error, probabilities=probabilities)
    residual = predictions - truth
    spread = float(np.sum((truth - truth.mean()) ** 2))
    r2 = 1.0 - float(residual @ residual) / spread if spread > 0 else None
    error = float(np.sqrt(np.mean(residual**2)))
    return Sample(which, truth, predictions, None, error, r2)


def _record(rows: SplitTable, one: Trained, settings: Settings, remarks: list[Remark]) -> FitRecord:
    return FitRecord(
        table=summarize(rows.table),
        task=settings.task,
        remarks=tuple(remarks),
        command=settings.command,
        seed=settings.seed,
        versions=versions(),
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=one.seconds,
        model_name=one.name,
        model=one.model,
        certificate=one.model.certificate_,
        training=sample_of(one.model, rows, rows.train, one.prepared),
        prepared=one.prepared,
        choice=one.choice,
        warnings=one.warnings,
        trace=one.trace,
        interrupted=one.interrupted,
    )


def measured(record: FitRecord, rows: SplitTable, settings: Settings) -> FitRecord:
    """Return the record with what the rows held out say, and the bound that they prove."""
    confidence = settings.confidence
    if len(rows.test) == 0:
        groups = rows.groups_of_training()
        return replace(record, quality=_quality(record, record.training, confidence, groups))
    groups = None if rows.groups is None else rows.groups[rows.test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # values that only rows held out have
        sample = sample_of(record.model, rows, rows.test)
    bound: Certificate | None = None
    if record.task == "classification":
        wrong = sample.predictions != sample.truth
        bound = bound_on_future_rows(wrong, rows, settings)
    quality = _quality(record, sample, confidence, groups)
    return replace(record, hold_out=sample, bound=bound, quality=quality)


def _quality(
    record: FitRecord, sample: Sample, confidence: float, groups: AnyArray | None
) -> Quality:
    """Return what a sample says about the model, against always giving the same answer."""
    trained = record.training.truth
    if record.task == "regression":
        return quality_of_numbers(sample.truth, sample.predictions, trained, confidence, groups)
    classes = np.asarray(record.model.estimator_.classes_)
    answers = (sample.truth, sample.predictions, sample.scores)
    probabilities = sample.probabilities
    return quality_of_classes(*answers, classes, trained, confidence, probabilities, groups)


def rival_of(rows: SplitTable, one: Trained, sample: Sample) -> Rival:
    """Tell how one of several models did."""
    certificate = one.model.certificate_
    has_gap = certificate.kind in OPTIMIZATION and not certificate.vacuous
    gap = certificate.relative_gap if has_gap else None
    training = sample_of(one.model, rows, rows.train, one.prepared).error
    proved = (gap, certificate.holds)
    return Rival(one.name, one.seconds, *proved, training, sample.error, "; ".join(one.warnings))
