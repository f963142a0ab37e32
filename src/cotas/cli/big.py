"""cotas fit for tables that do not fit into memory: from pages on disk"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import cotas
from cotas.arrays import AnyArray
from cotas.cli.command import UsageError
from cotas.cli.data import TooBig
from cotas.cli.models import DEFAULTS, build, check_suits
from cotas.cli.options import ColumnOptions
from cotas.cli.outcome import model_lines, proofs, shape, show_classes, summary_lines
from cotas.cli.session import Session, watching, writing
from cotas.cli.training import (
    FEWEST_TO_SPLIT,
    Settings,
    blaming,
    check_share,
    in_lines,
    without_frequent_values,
)
from cotas.files.names import names_among
from cotas.files.problems import DataFileError, Remark, gathered
from cotas.files.table import Table
from cotas.files.tables import batches
from cotas.fitting.from_source import squared_error
from cotas.preparation.inspection import inspect_table
from cotas.preparation.preparation import Preparation
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.quality import Quality, quality_of_classes, quality_of_numbers
from cotas.preparation.recipe import Recipe
from cotas.preparation.streamed import learn, rows_to_learn_from
from cotas.preparation.targets import read_as_classes, tell_task
from cotas.report.figures import alarms_of
from cotas.running import thread_count
from cotas.scale.decoding import DecodingOptions, decoded_bytes, kind_of
from cotas.scale.pages import Pages, open_as
from cotas.source import Block, NotInBlocksError
from cotas.words import say

INDEPENDENT = (
    "Copies of rows are not looked for in pages: the bound takes the rows as independent draws."
)
# How good a model is, beyond its error, is measured on so many rows at most.
MOST_MEASURED = 250_000
# A table gives at least so many pages, so that a share of them is about that share of the rows.
FEWEST_PAGES = 64


def open_prepared(
    files: list[Path], target: str | None, preparation: Any, seed: int, bar: bool | None, **how: Any
) -> Pages:
    """Open the pages of a table as they are for every command: prepared, and many enough to
    split."""
    kinds = {kind_of(file) for file in files}
    prepared = None if kinds == {"libsvm"} else preparation
    reading = DecodingOptions(target, preparation=prepared, **how)
    return open_as(files, reading, seed, progress=bar, fewest=FEWEST_PAGES)


def text_of(options: Any) -> tuple[tuple[str, Any], ...]:
    """Tell how text tables are written, as far as it was said."""
    return tuple(sorted((name, value) for name, value in options.reading().items() if value))


def refuse_what_needs_memory(settings: Settings, columns: ColumnOptions) -> None:
    """Raise for wishes that pages do not serve, or nothing does."""
    check_share(settings.hold_out)
    wishes = {
        "--model auto": settings.model == "auto",
        "--select": settings.select is not None,
        "--group": settings.group is not None,
        "--probabilities": settings.probabilities,
        "--report": settings.report is not None,
        "--category": bool(columns.category),
    }
    for name in (name for name, asked in wishes.items() if asked):
        raise UsageError(
            "{name} needs the whole table in memory, and it does not fit: leave it out, or "
            "give a larger --memory.",
            name=name,
        )


@dataclass(frozen=True)
class Learned:
    """A description of a table by some of its rows, and the pages that were made of all."""

    pages: Pages
    preparation: Preparation
    target: str | None
    some_targets: AnyArray
    some_rows: Any = None  # a frame, where the table has named columns

    def remarks(self, task: str, keep: Sequence[str]) -> list[Remark]:
        """Return what looks suspicious about the rows drawn."""
        if self.some_rows is None:
            return []
        table = Table(self.some_rows, self.some_targets, str(self.pages.folder), "pages")
        found = inspect_table(table, self.some_targets, task, keep=keep)
        return gathered([*found, *without_frequent_values(self.preparation, found)])


@dataclass(frozen=True)
class PagedFit:
    """A model that was trained from pages, and what was measured of it."""

    learned: Learned
    training: Pages
    held_out: Pages | None
    model: Any
    seconds: float
    bound: Any
    quality: Quality
    remarks: list[Remark]

    def errors(self, task: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return the errors of the rows trained on, and of those set aside."""
        for name, pages in (("training", self.training), ("hold_out", self.held_out)):
            if pages is not None:
                yield name, _errors(self.model, pages, task)


def fit_from_pages(
    session: Session,
    big: TooBig,
    target: str | None,
    settings: Settings,
    columns: ColumnOptions,
) -> Any:
    """Prepare, train, measure and say what is proved, a few pages being in memory at a time."""
    session.remark(big.words())
    learned = _learned(session, big.files, target, settings, columns)
    pages = learned.pages
    written = "{size:.2f} GB of pages were written to {folder}; cotas clean removes them."
    there = "{size:.2f} GB of pages were found in {folder}."
    place = {"size": pages.n_bytes / 1e9, "folder": pages.folder.name}
    session.remark(say(there if pages.reused else written, **place))
    doubted: list[Remark] = []
    if settings.task == "auto":
        settings = replace(settings, task=tell_task(learned.some_targets))
        if settings.task == "classification" and settings.model is None:
            doubted = read_as_classes(learned.some_targets, learned.target)
    pages.feature_names = None  # those of prepared columns, which nobody has to know
    keep = [*(columns.keep or []), *(columns.unix_seconds or [])]
    remarks = [*doubted, *learned.remarks(settings.task, keep)]
    session.remark(*remarks)
    training, held_out = _split(session, pages, settings.hold_out)
    model, seconds = _train(session, training, learned.some_targets, settings, big.threads)
    bound = None
    if held_out is not None and settings.task == "classification":
        wrong = np.concatenate(held_out.map_reduce(Wrong(model)))
        # A page that is set aside may begin with rows that the preparation was learned from.
        seen = rows_to_learn_from(pages.n_rows, settings.hold_out) - training.n_rows
        bound = cotas.hold_out_bound(wrong[max(0, seen) :], confidence=settings.confidence)
    if settings.out is not None:
        _save(learned, model, bound, settings, remarks, settings.out, columns)
    quality = _quality(model, held_out or training, learned.some_targets, settings)
    found = PagedFit(learned, training, held_out, model, seconds, bound, quality, remarks)
    _report(session, big.files[0].name, found, settings)
    return model


def _split(session: Session, pages: Pages, share: float) -> tuple[Pages, Pages | None]:
    """Divide the pages into those to train on, and those set aside; all to train on where there are
    few rows."""
    if share and pages.n_rows < FEWEST_TO_SPLIT:
        words = "With {rows} rows all are trained on, and none are held out."
        session.remark(say(words, rows=pages.n_rows))
    return pages.split(share) if share and pages.n_rows >= FEWEST_TO_SPLIT else (pages, None)


def _quality(model: Any, pages: Pages, trained: AnyArray, settings: Settings) -> Quality:
    """Return what the first pages say about the model, against always giving the same answer.

    They are in a random order; the answer is that of the rows drawn to learn the columns from.
    """
    parts: list[tuple[Any, ...]] = []
    for block in pages.blocks():
        scores = model.decision_function(block.X) if hasattr(model, "classes_") else None
        summary_lines = model.predict_proba(block.X) if hasattr(model, "predict_proba") else None
        parts.append(
            (np.asarray(block.y), np.asarray(model.predict(block.X)), scores, summary_lines)
        )
        if sum(len(part[0]) for part in parts) >= MOST_MEASURED:
            break
    truth, predictions = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    if settings.task == "regression":
        given = (truth.astype(np.float64), predictions, np.asarray(trained, dtype=np.float64))
        return quality_of_numbers(*given, settings.confidence)
    scores = np.concatenate([part[2] for part in parts])
    summary_lines = None if parts[0][3] is None else np.concatenate([part[3] for part in parts])
    labels = np.asarray(trained).astype(model.classes_.dtype)
    return quality_of_classes(
        truth, predictions, scores, model.classes_, labels, settings.confidence, summary_lines
    )


def _learned(
    session: Session,
    files: list[Path],
    target: str | None,
    settings: Settings,
    columns: ColumnOptions,
) -> Learned:
    """Learn in one pass how to prepare the columns, and write the pages in one if there are none.

    A LibSVM file holds numbers alone, and is not prepared.
    """
    bar = None if session.shows_progress else False
    text = text_of(columns)
    if kind_of(files[0]) == "libsvm":
        _refuse_of_matrices(target, columns, files[0].name)
        pages = open_prepared(files, None, None, settings.seed, bar)
        first = next(iter(pages.blocks()))
        return Learned(pages, Preparation().fit(first.X), None, np.asarray(first.y))
    head = next(iter(batches(str(files[0]), 100, types={}, **dict(text))))
    drop = names_among(columns.drop or [], head.names, head.source)
    target, _ = head.called(target, drop)
    assert target is not None
    how: dict[str, Any] = {"drop": tuple(drop), "without_target": columns.rows_without_target}
    # What the rows set aside say about the model is proved only if they had no part in it.
    share = settings.hold_out
    reading = DecodingOptions(target, text=text, **how)
    keep, seconds = columns.keep or [], columns.unix_seconds or []
    preparation = Preparation(keep=keep, unix_seconds=seconds, strict=columns.strict_columns)
    size = sum(decoded_bytes(file, kind_of(file)) for file in files)
    foremost = (size, share) if share else None
    drawn = learn(preparation, files, reading, settings.seed, foremost)
    if not drawn.whole:
        words = say(
            "What the columns are was told from {some} of {rows} rows, drawn at random; means and "
            "categories are those of all rows to train on.",
            some=drawn.frame.height,
            rows=drawn.n_rows,
        )
        session.remark(words)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pages = open_prepared(files, target, preparation, settings.seed, bar, text=text, **how)
    session.note(*(f"{say('Warning')}: {words}" for words in in_lines(caught)))
    if pages.n_rows != drawn.n_rows:
        words = say("it was changed while it was read: open it again.")
        raise DataFileError(words, str(files[0]))
    some = drawn.frame.drop(target)
    return Learned(pages, preparation, target, drawn.target(target), some)


def _refuse_of_matrices(target: str | None, columns: ColumnOptions, source: str) -> None:
    """Raise for options about columns with names, or about text, where rows are of numbers."""
    wishes = {
        "target": target,
        "drop": columns.drop,
        "keep": columns.keep,
        "unix-seconds": columns.unix_seconds,
    }
    wishes |= {name.replace("_", "-"): value for name, value in columns.reading().items() if value}
    for name in (name for name, given in wishes.items() if given):
        words = "{how} is about columns with names; this is a matrix."
        raise UsageError(f"{source}: {say(words, how=f'--{name}')}")


def _save(
    learned: Learned,
    model: Any,
    bound: Any,
    settings: Settings,
    remarks: list[Remark],
    out: Path,
    columns: ColumnOptions,
) -> None:
    recipe = Recipe(
        learned.preparation,
        remarks=tuple(remark.message for remark in remarks),
        task=settings.task,
        target=learned.target,
        zero_based=learned.pages.zero_based,
        n_rows=learned.pages.n_rows,
        hold_out=bound,
        command=settings.command,
        seed=settings.seed,
        missing=tuple(columns.missing or ()),
        not_missing=tuple(columns.not_missing or ()),
    )
    with writing(out):
        PreparedModel.of(learned.preparation, model).save(out, recipe=recipe)


def _report(session: Session, name: str, found: PagedFit, settings: Settings) -> None:
    """Report the result in a few lines, or as a document: as it is said of a table in memory."""
    out = settings.out
    pages, model, quality = found.learned.pages, found.model, found.quality
    errors, learned = dict(found.errors(settings.task)), found.learned
    columns = pages.n_features if learned.some_rows is None else learned.some_rows.width
    session.say(
        *summary_lines(
            f"{name}: {shape(pages.n_rows, columns, learned.target)}",
            model_lines(settings.model or DEFAULTS[settings.task], model),
            found.seconds,
            proofs(model.certificate_, model),
            errors,
            quality,
            found.bound,
        )
    )
    if found.bound is not None and settings.equal_rows != "independent":
        session.remark(say(INDEPENDENT))
    if out is not None:
        session.say(f"{say('saved')}: {out}")
    if found.held_out is not None:
        show_classes(session, quality)
    alarms = alarms_of(quality)
    session.alarm(*(f"{say('WARNING')}: {words}" for words in alarms))
    session.document(
        {
            "rows": pages.n_rows,
            "columns": pages.n_features,
            "pages": str(pages.folder),
            "target": found.learned.target,
            "task": settings.task,
            "command": settings.command,
            "seed": settings.seed,
            "seconds": found.seconds,
            "remarks": [vars(remark) for remark in found.remarks],
            "certificate": model.certificate_.to_dict(),
            "training": errors["training"],
            "hold_out": errors.get("hold_out"),
            "bound": None if found.bound is None else found.bound.to_dict(),
            "quality": quality.to_dict(),
            "alarms": alarms,
            "saved": None if out is None else str(out),
        }
    )


@dataclass(frozen=True)
class Wrong:
    """Mistakes: whether each row of a block is predicted wrongly."""

    model: Any

    def __call__(self, block: Block) -> list[Any]:
        return [self.model.predict(block.X) != np.asarray(block.y)]


def _train(
    session: Session, training: Pages, y: AnyArray, settings: Settings, threads: int
) -> tuple[Any, float]:
    """Return the model, in no more threads than have room, and the seconds that it took."""
    task = settings.task
    name = settings.model or DEFAULTS[task]
    check_suits(name, task)
    given = dict(settings.given)
    if threads < thread_count(None):
        given.setdefault("n_jobs", threads)
    with watching(session, name) as watcher, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numbers = y if task == "classification" else np.asarray(y, dtype=np.float64)
        estimator, notes = build(name, numbers, settings.seed, given)
        session.remark(*notes)
        watcher.listen_to(estimator)
        began = time.perf_counter()
        plain, _ = build(name, numbers, settings.seed, {})
        try:
            with blaming(given, lambda: plain.fit(training)):
                estimator.fit(training)
        except NotInBlocksError as error:
            raise UsageError(str(error)) from error
        seconds = time.perf_counter() - began
    if hasattr(estimator, "callbacks"):
        estimator.callbacks = None
    session.note(*(f"{say('Warning')}: {words}" for words in in_lines(caught)))
    return estimator, seconds


def _errors(model: Any, pages: Pages, task: str) -> dict[str, Any]:
    """Return the share of wrong predictions, or the root of the mean square and R²."""
    if task == "regression":
        rms, r2 = squared_error(model, pages)
        return {"rows": pages.n_rows, "error": rms, "r2": r2}
    return {"rows": pages.n_rows, "error": 1.0 - model.score(pages), "r2": None}
