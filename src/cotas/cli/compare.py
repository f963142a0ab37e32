"""cotas compare"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cotas.certificates import Certificate
from cotas.certificates.presentation import at_most
from cotas.cli.command import UsageError
from cotas.cli.data import (
    drawable,
    known_equal_rows,
    open_table,
    preparation_of,
    save_picture,
    target_of,
)
from cotas.cli.models import check_suits, sensible
from cotas.cli.options import (
    NO_WISHES,
    Columns,
    Data,
    EqualRows,
    Group,
    HoldOut,
    Seed,
    Target,
    Task,
)
from cotas.cli.session import Session
from cotas.cli.training import (
    Settings,
    SplitTable,
    bound_on_future_rows,
    rival_of,
    sample_of,
    split_and_told,
    train_one,
)
from cotas.preparation.quality import baseline
from cotas.preparation.record import Rival, Sample
from cotas.report.figures import DIGITS, baseline_line
from cotas.words import say


def compare(
    session: Session,
    data: Data,
    target: Target = None,
    models: Annotated[
        str | None, typer.Option(help="Which, separated by commas; else all that suit.")
    ] = None,
    task: Task = "auto",
    hold_out: HoldOut = 0.2,
    group: Group = None,
    equal_rows: EqualRows = "copies",
    max_time: Annotated[float | None, typer.Option(help="Seconds for each model.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the errors and save them.")] = None,
    seed: Seed = 0,
    columns: Columns = NO_WISHES,
) -> None:
    """Train all suitable models side by side: time, gap, error and its bound.

    All are judged by the same rows, and the bounds hold for all of them at once.

    Example: cotas compare builtin:breast-cancer --models svm,kernel-svm,adaboost
    """
    drawable(picture, data)
    known_equal_rows(session, equal_rows, group)
    table = open_table(data, target, columns)
    table, y, task = target_of(table, task)
    settings = Settings(
        *(None, task, {}, seed, hold_out),
        max_time=max_time,
        preparation=preparation_of(table, columns),
        group=group,
        equal_rows=equal_rows,
    )
    rows, _ = split_and_told(session, table, y, settings)
    if not len(rows.test):
        raise UsageError("comparing needs rows to judge by: at least 30, and a --hold-out.")
    names = _names(models, task, rows)
    found = []
    for name in names:
        one = train_one(session, name, rows, settings)
        sample = sample_of(one.model, rows, rows.test)
        bound = _bound(sample, rows, len(names), settings)
        found.append((rival_of(rows, one, sample), bound))
    found.sort(key=lambda pair: pair[0].error)
    rivals, bounds = [rival for rival, _ in found], [bound for _, bound in found]
    _show(session, rivals, bounds, task)
    classes = task == "classification"
    answer, error = baseline(y[rows.train], y[rows.test], classes)
    session.say(": ".join(baseline_line(answer, error, classes)))
    if picture is not None:
        draw(rivals, bounds, task, picture)
        session.say(f"{say('picture')}: {picture}")
    told = [
        {**vars(rival), "bound": None if bound is None else bound.upper} for rival, bound in found
    ]
    always = {"answer": answer, "error": error}
    document = {"task": task, "held_out": len(rows.test), "baseline": always, "models": told}
    session.document(document)


def _names(models: str | None, task: str, rows: SplitTable) -> list[str]:
    if models is None:
        return sensible(task, len(rows.train), rows.table.n_columns)
    names = [name.strip() for name in models.split(",") if name.strip()]
    if "auto" in names:
        raise UsageError("--models takes the names of models; auto is for cotas fit.")
    for name in names:
        check_suits(name, task)
    return list(dict.fromkeys(names))


def _bound(sample: Sample, rows: SplitTable, tried: int, settings: Settings) -> Certificate | None:
    if settings.task == "regression":
        return None
    wrong = sample.predictions != sample.truth
    return bound_on_future_rows(wrong, rows, settings, tried)


def _show(
    session: Session, rivals: list[Rival], bounds: list[Certificate | None], task: str
) -> None:
    kind = say("error" if task == "classification" else "rms error")
    names = [say("model"), say("seconds"), say("relative gap")]
    names += [say("training {kind}", kind=kind), say("held-out {kind}", kind=kind)]
    names += [say("at most, on future rows")] if bounds[0] is not None else []
    lines = []
    for rival, bound in zip(rivals, bounds, strict=True):
        gap = "–" if rival.relative_gap is None else f"{rival.relative_gap:.1e}"
        cells = [rival.name, f"{rival.seconds:.2f}", gap]
        cells += [f"{rival.training_error:.4g}", f"{rival.error:.4g}"]
        lines.append([*cells, at_most(bound.upper, DIGITS)] if bound is not None else cells)
    session.table(names, lines)
    for rival in rivals:
        if rival.note:
            session.note(f"{say('Warning')}: {rival.name}: {rival.note}")


def draw(rivals: list[Rival], bounds: list[Certificate | None], task: str, path: Path) -> Any:
    """The held-out errors as points, the bounds as lines to their right."""
    from cotas.plots.style import COLOURS, drawing

    with drawing(None) as ax:
        for place, (rival, bound) in enumerate(zip(rivals, bounds, strict=True)):
            if bound is not None:
                ax.plot([rival.error, bound.upper], [place, place], color=COLOURS[0], lw=2)
                ax.plot(bound.upper, place, "|", color=COLOURS[0], ms=12)
            ax.plot(rival.error, place, "o", color=COLOURS[1])
        ax.set_yticks(range(len(rivals)), [rival.name for rival in rivals])
        ax.invert_yaxis()
        words = "held-out error and its bound" if task == "classification" else "rms error"
        ax.set(xlabel=say(words), title="")
        save_picture(ax.figure, path)
    return path
