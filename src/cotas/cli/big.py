"""cotas fit for tables that do not fit into memory: from pages on disk"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import cotas
from cotas.arrays import AnyArray, BoolArray, IntArray
from cotas.cli.data import target_name
from cotas.cli.exits import UsageError
from cotas.cli.judging import proof, upwards
from cotas.cli.models import DEFAULTS, build, task_of
from cotas.cli.options import Columns
from cotas.cli.progress import watching
from cotas.cli.session import Session
from cotas.cli.sizes import TooBig
from cotas.cli.streams import writing
from cotas.cli.training import Settings, blaming
from cotas.files.names import names_among
from cotas.files.problems import DataFileError
from cotas.files.tables import batches
from cotas.fitting.from_source import squared_error
from cotas.preparation.preparation import Preparation
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.recipe import Recipe
from cotas.preparation.streamed import draw_rows
from cotas.preparation.targets import tell_task
from cotas.scale.decoding import Reading, decoded_bytes, kind_of
from cotas.scale.pages import PAGE_BYTES, Pages, open_pages
from cotas.scale.shuffling import places
from cotas.source import Block, NotInBlocksError
from cotas.words import say

INDEPENDENT = (
    "Copies of rows, columns that give the target away and rare classes are not looked for in "
    "pages: the bound takes the rows as independent draws."
)
# A table gives at least so many pages, so that a share of them is about that share of the rows.
FEWEST_PAGES = 64


def open_prepared(
    files: list[Path], target: str | None, preparation: Any, seed: int, bar: bool | None, **how: Any
) -> Pages:
    """The pages of a table as they are for every command: prepared, and many enough to split."""
    kinds, size = {kind_of(file) for file in files}, _size(files)
    return open_pages(
        files,
        target=target,
        preparation=None if kinds == {"libsvm"} else preparation,
        seed=seed,
        page_bytes=int(np.clip(size // FEWEST_PAGES, 1 << 12, PAGE_BYTES)),
        progress=bar,
        **how,
    )


def _size(files: list[Path]) -> float:
    return sum(decoded_bytes(file, kind_of(file)) for file in files)


def refuse_what_needs_memory(settings: Settings, report: Path | None, columns: Columns) -> None:
    """Raise for wishes that pages do not serve."""
    wishes = {
        "--model auto": settings.model == "auto",
        "--select": settings.select is not None,
        "--group": settings.group is not None,
        "--probabilities": settings.probabilities,
        "--report": report is not None,
        "--category": bool(columns.category),
    }
    for name in (name for name, asked in wishes.items() if asked):
        raise UsageError(
            say(
                "{name} needs the whole table in memory, and it does not fit: leave it out, or "
                "give a larger --memory.",
                name=name,
            )
        )


@dataclass(frozen=True)
class Learned:
    """What a table is, as some of its rows tell, and the pages that were made of all."""

    pages: Pages
    preparation: Preparation
    target: str | None
    some_targets: AnyArray


def fit_from_pages(
    session: Session,
    big: TooBig,
    target: str | None,
    settings: Settings,
    columns: Columns,
    out: Path | None,
) -> Any:
    """Prepare, train, measure and say what is proved, a few pages being in memory at a time."""
    _note(session, big.words())
    learned = _learned(session, big.files, target, settings, columns)
    pages = learned.pages
    written = "{size:.2f} GB of pages were written to {folder}; cotas clean removes them."
    there = "{size:.2f} GB of pages were found in {folder}."
    place = {"size": pages.n_bytes / 1e9, "folder": pages.folder.name}
    _note(session, say(there if pages.reused else written, **place))
    if settings.task == "auto":
        settings = replace(settings, task=tell_task(learned.some_targets))
    pages.feature_names = None  # those of prepared columns, which nobody has to know
    training, held_out = (pages, None) if not settings.hold_out else pages.split(settings.hold_out)
    model, seconds = _train(session, training, learned.some_targets, settings)
    bound = None
    if held_out is not None and settings.task == "classification":
        wrong = np.concatenate(held_out.map_reduce(Wrong(model)))
        # A page that is set aside may begin with rows that the preparation was learned from.
        seen = rows_to_learn_from(pages.n_rows, settings.hold_out) - training.n_rows
        bound = cotas.hold_out_bound(wrong[max(0, seen) :], confidence=settings.confidence)
    if out is not None:
        _save(learned, model, bound, settings, out)
    _report(session, big, learned, (training, held_out), model, seconds, bound, settings, out)
    return model


def rows_to_learn_from(n_rows: int, share: float) -> int:
    """How many of the rows, in the order of the pages, come before those that are set aside.

    `Pages.split` sets aside none of them, unless a page has more rows than the share.
    """
    return int(np.clip(np.ceil((1 - share) * n_rows), 1, max(1, n_rows - 1)))


@dataclass(frozen=True)
class ToTrainOn:
    """Which rows are not set aside; their order is known before they are prepared."""

    size: float
    seed: int
    share: float

    def __call__(self, rows: IntArray, n_rows: int) -> BoolArray:
        found = places(rows, n_rows, self.size, self.seed)
        return np.asarray(found < rows_to_learn_from(n_rows, self.share))


def _note(session: Session, words: str) -> None:
    session.note(f"{say('Note')}: {words}")


def _pass_on(session: Session, caught: list[warnings.WarningMessage]) -> None:
    """Say what was warned of, each thing once."""
    words = dict.fromkeys(" ".join(str(w.message).split()) for w in caught)
    session.note(*(f"{say('Warning')}: {each}" for each in words))


def _learned(
    session: Session,
    files: list[Path],
    target: str | None,
    settings: Settings,
    columns: Columns,
) -> Learned:
    """One pass to learn how to prepare the columns, and one to write the pages, if there are none.

    A LibSVM file holds numbers alone, and is not prepared.
    """
    bar = None if session.shows_progress else False
    text = {name: value for name, value in columns.reading().items() if value}
    if kind_of(files[0]) == "libsvm":
        pages = open_prepared(files, None, None, settings.seed, bar)
        first = next(iter(pages.blocks()))
        return Learned(pages, Preparation().fit(first.X), None, np.asarray(first.y))
    head = next(iter(batches(str(files[0]), 100, types={}, **text)))
    drop = names_among(columns.drop or [], head.names, head.source)
    target = target_name(head, target, drop)
    how: dict[str, Any] = {"drop": tuple(drop), "without_target": columns.rows_without_target}
    # What the rows set aside say about the model is proved only if they had no part in it.
    share = settings.hold_out
    among = ToTrainOn(_size(files), settings.seed, share) if share else None
    reading = Reading(target, text=tuple(text.items()), **how)
    drawn = draw_rows(files, reading, settings.seed, among=among)
    keep, seconds = columns.keep or [], columns.unix_seconds or []
    preparation = Preparation(keep=keep, unix_seconds=seconds, strict=columns.strict_columns)
    preparation.fit(drawn.frame.drop(target))
    words = say(
        "How to prepare the columns was learned from {some} of {rows} rows, drawn at random.",
        some=drawn.frame.height,
        rows=drawn.n_rows,
    )
    _note(session, words)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pages = open_prepared(files, target, preparation, settings.seed, bar, text=text, **how)
    _pass_on(session, caught)
    if pages.n_rows != drawn.n_rows:
        words = say("it was changed while it was read: open it again.")
        raise DataFileError(words, str(files[0]))
    return Learned(pages, preparation, target, drawn.target(target))


def _save(learned: Learned, model: Any, bound: Any, settings: Settings, out: Path) -> None:
    recipe = Recipe(
        learned.preparation,
        task=settings.task,
        target=learned.target,
        zero_based=learned.pages.zero_based,
        n_rows=learned.pages.n_rows,
        hold_out=bound,
        command=settings.command,
        seed=settings.seed,
    )
    with writing(out):
        PreparedModel.of(learned.preparation, model).save(out, recipe=recipe)


def _report(
    session: Session,
    big: TooBig,
    learned: Learned,
    parts: tuple[Pages, Pages | None],
    model: Any,
    seconds: float,
    bound: Any,
    settings: Settings,
    out: Path | None,
) -> None:
    """The result in a few lines, or as a document."""
    pages, (training, held_out) = learned.pages, parts
    shape = {"rows": pages.n_rows, "columns": pages.n_features}
    table = say("{rows} rows, {columns} columns, target {target}", target=learned.target, **shape)
    took = say("{rows} rows in {seconds:.2g} s", rows=training.n_rows, seconds=seconds)
    lines = [
        (say("data"), f"{big.files[0].name}: {table}"),
        (say("model"), type(model).__name__),
        (say("trained on"), took),
        (say("proved"), proof(model.certificate_, model)),
        (say("training error"), _error(model, training, settings.task)),
    ]
    if held_out is not None:
        lines.append((say("held-out error"), _error(model, held_out, settings.task)))
    if bound is not None:
        words = say(
            "at most {bound:.4f} with {confidence:.0f}% confidence",
            bound=upwards(bound.upper),
            confidence=100 * settings.confidence,
        )
        lines.append((say("error on future rows"), words))
        session.note(f"{say('Note')}: {say(INDEPENDENT)}")
    if out is not None:
        lines.append((say("saved"), str(out)))
    width = max(len(name) for name, _ in lines)
    session.say(*(f"{name:<{width}}  {words}" for name, words in lines))
    session.document(
        {
            **shape,
            "pages": str(pages.folder),
            "seconds": seconds,
            "certificate": model.certificate_.to_dict(),
            "hold_out": None if bound is None else bound.to_dict(),
            "saved": None if out is None else str(out),
        }
    )


@dataclass(frozen=True)
class Wrong:
    """Whether each row of a block is predicted wrongly."""

    model: Any

    def __call__(self, block: Block) -> list[Any]:
        return [self.model.predict(block.X) != np.asarray(block.y)]


def _train(session: Session, training: Pages, y: AnyArray, settings: Settings) -> tuple[Any, float]:
    task = settings.task
    name = settings.model or DEFAULTS[task]
    if task_of(name) != task:
        raise UsageError(say("{name} is not for {task}.", name=name, task=say(task)))
    given = dict(settings.given)
    if settings.max_time is not None:
        given["max_time"] = settings.max_time
    if name == "logistic":
        given.setdefault("multiclass", "ovr")
    with watching(session, name) as watcher, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numbers = y if task == "classification" else np.asarray(y, dtype=np.float64)
        estimator, notes = build(name, numbers, settings.seed, given, watcher.callback)
        session.note(*(f"{say('Note')}: {note}" for note in notes))
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
    _pass_on(session, caught)
    return estimator, seconds


def _error(model: Any, source: Pages, task: str) -> str:
    if task == "regression":
        rms, r2 = squared_error(model, source)
        return say("{rms:.4g} (root mean square), R² = {r2:.4f}", rms=rms, r2=r2)
    share = 1.0 - model.score(source)
    wrong = round(share * source.n_rows)
    return say("{share:.4f} ({wrong} of {rows} rows)", share=share, wrong=wrong, rows=source.n_rows)
