"""From a table to a FitRecord: the steps of `cotas fit`, one after the other."""

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
from cotas.arrays import AnyArray, IntArray
from cotas.certificates import Certificate
from cotas.cli.codes import UNEXPECTED
from cotas.cli.command import UsageError, code_of
from cotas.cli.models import DEFAULTS, TIMES, blend_of, build, sensible, task_of
from cotas.cli.progress import watching
from cotas.cli.session import Session
from cotas.cli.splitting import Settings, SplitTable, bound_on_future_rows, split_and_told
from cotas.files.models import versions
from cotas.files.names import meant
from cotas.files.problems import Remark, gathered
from cotas.files.tables import Table
from cotas.preparation.columns import ColumnWarning
from cotas.preparation.preparation import Preparation
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.quality import Quality, quality_of_classes, quality_of_numbers
from cotas.preparation.record import FitRecord, Rival, Sample, summarize
from cotas.selection.blend import BLEND, members_of
from cotas.stops import Stop
from cotas.words import say


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
    rows, seen = split_and_told(session, table, y, settings)
    remarks = gathered(seen)
    name = settings.model or DEFAULTS[settings.task]
    rivals: list[Rival] = []
    if name == "auto":
        from cotas.cli.auto import train_auto  # which trains by what stands here

        best, rivals = train_auto(session, rows, settings)
    else:
        if task_of(name) != settings.task:
            fit = ", ".join(sensible(settings.task, rows.table.n_rows, rows.table.n_columns))
            task = say(settings.task)
            raise UsageError("{name} is not for {task}; {fit} are.", name=name, task=task, fit=fit)
        made = None
        if TIMES in name:
            if settings.given or settings.select:
                words = "a blend takes no --lam, --tol, --param or --select: its models differ."
                raise UsageError(words)
            name, made = BLEND, blend_of(name, rows.y[rows.train], settings.seed)
        best = train_one(session, name, rows, settings, made)
    rare = gathered(without_frequent_values(best.model.preparation_, seen))
    session.remark(*rare)
    remarks += rare
    record = replace(_record(rows, best, settings, remarks), rivals=tuple(rivals))
    return measured(record, rows, settings)


def without_frequent_values(preparation: Preparation, said: list[Remark]) -> Iterator[Remark]:
    """Columns that were left out in training because no value of theirs comes often."""
    known = {remark.column for remark in said}
    for name, kind in preparation.dropped_:
        if kind == "text" and name not in known:
            words = "Column {name!r} is left out: it has many values, and none comes often."
            yield Remark("rare values", name, say(words, name=name))


def train_one(
    session: Session, name: str, rows: SplitTable, settings: Settings, made: Any = None
) -> Trained:
    """One model on the training rows, with λ chosen on some of them if that was asked for.

    `made` is the estimator, where others have chosen its parameters.
    """
    X, y = rows.take(rows.train)
    with watching(session, name) as watcher:
        callback = watcher.callback
        if made is None:
            given = (settings.seed, _timed(settings), callback, settings.select)
            estimator, notes = build(name, y, *given)
            session.remark(*notes)
        else:
            estimator = _watched(made, callback, settings.max_time)
        try:
            estimator._check_parameters()
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from error
        choice = None
        if settings.select is not None:
            bar = None if session.shows_progress else False
            groups = rows.groups_of_training()
            estimator, choice = _chosen(name, estimator, (X, y, groups), settings, bar)
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = PreparedModel(
                estimator, settings.preparation, probabilities=settings.probabilities
            )

            def without() -> Any:
                plain = build(name, y, settings.seed, {})[0]
                return PreparedModel(plain, settings.preparation).fit(X, y)

            with blaming(settings.given, without):
                read = rows.table.with_features(X)
                prepared = model.fit_prepared(read, y, rows.groups_of_training())
        seconds = time.perf_counter() - began
    words = tuple(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
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


def _timed(settings: Settings) -> dict[str, Any]:
    """The parameters that were given, `max_time` among them."""
    limit = {} if settings.max_time is None else {"max_time": settings.max_time}
    return settings.given | limit


def _watched(made: Any, callback: Any, max_time: float | None) -> Any:
    """The estimator with a callback, and a limit to its time, which the models of a blend share."""
    each = members_of(made)
    for one in each:
        wanted: dict[str, Any] = {"callbacks": callback}
        wanted |= {} if max_time is None else {"max_time": max_time / len(each)}
        known = one.get_params(deep=False)
        one.set_params(**{name: value for name, value in wanted.items() if name in known})
    return made


@contextmanager
def blaming(given: dict[str, Any], without: Callable[[], Any], before: str = "") -> Iterator[None]:
    """An error is wrong use of the parameters that were given if there is none `without` them."""
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
    """The estimator with the chosen value of a parameter, and how it was chosen."""
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
    """What the model says about some rows, prepared if they are, and how wrong that is."""
    truth, estimator = rows.y[which], model.estimator_
    X = model.prepare(rows.take(which)[0]) if prepared is None else prepared
    predictions = np.asarray(estimator.predict(X))
    scores = estimator.decision_function(X) if hasattr(estimator, "decision_function") else None
    if is_classifier(model):
        error = float(np.mean(predictions != truth))
        told = model.probabilities_of(X) if model.tells_probabilities else None
        return Sample(which, truth, predictions, scores, error, probabilities=told)
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
    """The record with what the rows held out say, and the bound that they prove."""
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
    """What a sample says about the model, against always giving the same answer."""
    trained = record.training.truth
    if record.task == "regression":
        return quality_of_numbers(sample.truth, sample.predictions, trained, confidence, groups)
    classes = record.model.classes_
    answers = (sample.truth, sample.predictions, sample.scores)
    told = sample.probabilities
    return quality_of_classes(*answers, classes, trained, confidence, told, groups)


def rival_of(rows: SplitTable, one: Trained, sample: Sample) -> Rival:
    """How one of several models did."""
    certificate = one.model.certificate_
    gap = certificate.relative_gap if _has_gap(certificate) else None
    holds = certificate.holds
    note = "; ".join(one.warnings)
    training = sample_of(one.model, rows, rows.train, one.prepared).error
    return Rival(one.name, one.seconds, gap, holds, training, sample.error, note)


def _has_gap(certificate: Certificate) -> bool:
    return certificate.kind in ("duality", "gradient") and not certificate.vacuous
